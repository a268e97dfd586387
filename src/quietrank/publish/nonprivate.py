"""Exact pairs in, a non-private fit out: scores with standard errors, for votes the reader may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quietrank.arrays import Floats
from quietrank.errors import SolverError
from quietrank.maths.fit import Fit, fit_pairs
from quietrank.maths.links import LinkWord
from quietrank.maths.pairs import Pairs
from quietrank.promise.items import Items
from quietrank.publish.files import FIT
from quietrank.publish.release import order
from quietrank.publish.tabular import Tabular

if TYPE_CHECKING:
    from rich.console import Group

WARNING = "Not private: exact scores from exact votes. Do not publish where the votes are confidential."


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

    @classmethod
    def of(cls, items: Items, pairs: Pairs, ridge: float, link: LinkWord) -> NonPrivateFit:
        fitted = fit_pairs(pairs, ridge, link)
        try:
            return cls(items, fitted, fitted.standard_errors)
        except SolverError:
            return cls(items, fitted, None)

    @property
    def scores(self) -> Floats:
        """Centred scores, in the order of the items."""
        return self.fitted.scores

    @property
    def comparable(self) -> bool:
        """Whether any two scores may be compared; if not, only those within a component of the comparison graph."""
        return self.fitted.comparable

    def rows(self) -> list[dict[str, Any]]:
        """rank, item, score, standard error, and the component where there is more than one."""
        rows = []
        for rank, k in enumerate(order(self.scores, self.items.names), 1):
            row: dict[str, Any] = {"rank": rank, "item": self.items.names[k], "score": float(self.scores[k])}
            if self.standard_errors is not None:
                row["standard_error"] = float(self.standard_errors[k])
            if not self.comparable:
                row["component"] = int(self.fitted.components[k]) + 1
            rows.append(row)
        return rows

    def _page(self) -> Group:
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
        }
