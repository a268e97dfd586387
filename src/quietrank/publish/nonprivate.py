"""Exact pairs in, a non-private fit out: scores with standard errors, for votes the reader may look at."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from quietrank.arrays import Floats
from quietrank.errors import SolverError
from quietrank.estimate.fitted import RankSets, intervals, rank_sets
from quietrank.maths.clustered import FEW_PEOPLE, clustered_covariance
from quietrank.maths.davidson import equal_chance
from quietrank.maths.fit import Fit
from quietrank.maths.tied_fit import TiedFit
from quietrank.promise.items import Items
from quietrank.publish.files import FIT
from quietrank.publish.release import TieModel, order
from quietrank.publish.tabular import Tabular
from quietrank.publish.view import ELO, USUAL, USUAL_LEVEL, Scale, View
from quietrank.statistics.method import Ties

if TYPE_CHECKING:
    from rich.console import Group
    from scipy.sparse import csr_array

WARNING = "Not private: exact scores from exact votes. Do not publish where the votes are confidential."
MOST_COMPARED = 1000
"""for more items no rank sets are computed, which takes all differences between items"""


@dataclass(frozen=True, eq=False, repr=False)
class NonPrivateFit(Tabular):
    """Bradley–Terry scores of exact votes. NOT private; `fit` makes it.

    >>> import pyarrow as pa
    >>> import quietrank as qr
    >>> table = pa.table({"winner": ["tea", "tea", "water"], "loser": ["water", "water", "tea"]})
    >>> qr.fit(qr.read_votes(table, ["tea", "water"])).scores.round(3).tolist()
    [0.347, -0.347]
    """

    kind = FIT

    items: Items
    fitted: Fit
    standard_errors: Floats | None
    """None where there are too many items to compute them all"""
    clustered: bool = False
    """whether the errors allow for votes of one person that hang together, or take all votes as independent"""
    covariance: Floats | None = None
    """of the scores; None where there are more than a thousand items"""
    level: float = USUAL_LEVEL
    """of the intervals and rank sets"""
    notes: tuple[str, ...] = ()
    ties: TieModel | None = None
    """the model of ties, where they are not half wins"""
    view: View = USUAL
    """the scale of the scores in the table, and the item that they are relative to"""

    @classmethod
    def of(
        cls,
        items: Items,
        fitted: Fit,
        gradients: csr_array | None = None,
        *,
        level: float = USUAL_LEVEL,
        notes: tuple[str, ...] = (),
    ) -> NonPrivateFit:
        """The fit with its errors: clustered, if each person's gradient is given, else those of independent votes."""
        few = len(items) <= MOST_COMPARED
        if gradients is not None:
            covariance = clustered_covariance(fitted, gradients)
            people, errors = gradients.shape[0], np.sqrt(np.maximum(covariance.diagonal(), 0.0))
            notes += (f"With only {people} people, clustered errors may be too small.",) if people < FEW_PEOPLE else ()
            ties = _ties(fitted, level, gradients)
            return cls(items, fitted, errors, True, covariance if few else None, level, notes, ties)
        try:
            errors = fitted.standard_errors
        except SolverError:
            return cls(items, fitted, None, level=level, notes=notes, ties=_ties(fitted, None))
        ties = _ties(fitted, level)
        return cls(items, fitted, errors, False, fitted.covariance if few else None, level, notes, ties)

    @property
    def scores(self) -> Floats:
        """Centred scores in log-odds, in the order of the items, whatever the scale of the table."""
        return self.fitted.scores

    @property
    def comparable(self) -> bool:
        """Whether any two scores may be compared; if not, only those within a component of the comparison graph."""
        return self.fitted.comparable

    @property
    def error_kind(self) -> str:
        """What the standard errors take as given, in one sentence."""
        if self.clustered:
            return "Standard errors clustered by person: the votes of one person may hang together."
        return "Standard errors are model-based: all votes are taken as independent."

    @cached_property
    def order(self) -> list[int]:
        """The items from the highest score to the lowest, by their places on the list."""
        return order(self.scores, self.items.names)

    @cached_property
    def rank_sets(self) -> RankSets | None:
        """Which ranks each item may have; None where scores cannot be compared, or there are too many of them."""
        if self.covariance is None or not self.comparable:
            return None
        return rank_sets(self.scores, self.covariance, self.order, self.level)

    def rows(self) -> list[dict[str, Any]]:
        """rank, item, score and how sure that is, and the component where there is more than one."""
        scores, errors = self._relative()
        columns: dict[str, Any] = {"score": self._scaled(scores)}
        if errors is not None:
            low, high = intervals(scores, errors, self.level)
            if self.view.scale is not Scale.PROBABILITY:  # on which no error is the same up and down
                columns["standard_error"] = errors * (ELO if self.view.scale is Scale.ELO else 1.0)
            columns |= {"score_low": self._scaled(low), "score_high": self._scaled(high)}
        if (sets := self.rank_sets) is not None:
            columns |= {"rank_low": sets.low, "rank_high": sets.high, "tier": sets.tier}
        if not self.comparable:
            columns["component"] = self.fitted.components + 1
        return [
            {"rank": rank, "item": self.items.names[k]} | {name: column[k].item() for name, column in columns.items()}
            for rank, k in enumerate(self.order, 1)
        ]

    def _relative(self) -> tuple[Floats, Floats | None]:
        """The scores, relative to the anchor if there is one, and the standard errors of that."""
        anchor = self.view.place_of_anchor(self.items)
        if anchor is None:
            return self.scores, self.standard_errors
        shown = self.scores - self.scores[anchor]
        if self.covariance is None:
            return shown, None
        variances = self.covariance.diagonal()
        return shown, np.sqrt(np.maximum(variances + variances[anchor] - 2 * self.covariance[anchor], 0.0))

    def _scaled(self, scores: Floats) -> Floats:
        return self.view.scaled(scores, 0.0 if self.ties is None else self.ties.parameter)

    def page(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        from quietrank.render.table import render_fit

        return Group(*render_fit(self).renderables, Text(WARNING, style="bold"))

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": "quietrank/fit/1",
            "private": False,
            "warning": WARNING,
            "ranking": self.rows(),
            "ridge": self.fitted.ridge,
            "link": self.fitted.link.name,
            "converged": self.fitted.converged,
            "gradient_norm": self.fitted.gradient_norm,
            "comparable": self.comparable,
            "standard_errors": None if self.standard_errors is None else self.error_kind,
            "clustered": self.clustered,
            "level": self.level,
            "scale": self.view.scale.value,
            "anchor": None if self.view.anchor is None else list(self.view.anchor),
            "notes": list(self.notes),
            "ties": None if self.ties is None else asdict(self.ties),
        }


def _ties(fitted: Fit, level: float | None, gradients: csr_array | None = None) -> TieModel | None:
    """ν and the chance of a tie, with an interval from the standard error of ln ν."""
    if not isinstance(fitted, TiedFit):
        return None
    known = TieModel(Ties.DAVIDSON.value, fitted.nu, equal_chance(fitted.nu))
    if level is None:
        return known
    error = fitted.log_error(None if gradients is None else gradients.toarray())
    factor = float(np.exp(ndtri((1 + level) / 2) * error))
    return replace(known, chance_low=equal_chance(fitted.nu / factor), chance_high=equal_chance(fitted.nu * factor))
