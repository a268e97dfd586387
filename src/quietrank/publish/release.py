"""An `Estimate` in, a `Release` out: the published ranking with its promise; to and from JSON.

A release holds nothing that was not paid for: no true counts, no timings, no convergence records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank import __version__
from quietrank.arrays import Floats
from quietrank.errors import ReleaseError, UnknownItemError, either
from quietrank.estimate.methods import Estimate, risky_delta
from quietrank.estimate.noisy import NoisyTally
from quietrank.estimate.sources import NoError
from quietrank.estimate.uncertainty import Uncertainty, uncertainty
from quietrank.maths.davidson import equal_chance
from quietrank.mechanisms.limit import ChosenLimit
from quietrank.mechanisms.scatter import Scatter
from quietrank.promise.arguments import whole_number
from quietrank.promise.items import check_names
from quietrank.promise.privacy import Privacy, Unit, plain_number
from quietrank.publish.published import Published
from quietrank.publish.tabular import (
    DAMAGE,
    NoiseRecord,
    a_list,
    damage,
    figure,
    limit_from_dict,
    limit_to_dict,
    privacy_from_dict,
    promise,
    read_json,
    require_format,
    scatter_from_dict,
    scatter_to_dict,
    text,
)
from quietrank.publish.view import USUAL, USUAL_TOP, Scale, View
from quietrank.statistics.method import Method, Ties

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

    from quietrank.render.plot import ThemeWord

FORMAT = "quietrank/release/1"


@dataclass(frozen=True)
class Row:
    """One line of the ranking; figures that were not released are None."""

    rank: int
    item: str
    score: float
    win_rate: float | None = None
    net_wins: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    score_low: float | None = None
    score_high: float | None = None
    tier: int | None = None
    """items of one tier cannot be told apart from the first of them"""
    probability_first: float | None = None
    probability_top: float | None = None
    """of being among the first few; how many is in `Certainty.top`"""


@dataclass(frozen=True)
class Certainty:
    """What the intervals, rank sets, tiers and probabilities of a release mean."""

    level: float
    """of the intervals and rank sets, such as 0.9"""
    simultaneous: bool
    """whether they hold for all items together, or for each item by itself"""
    top: int
    """how many items are the top, for `probability_top`"""
    noise_sd: float
    """how far off a typical score is on purpose (standard deviation), on the scale of the scores"""
    factor: float | None
    """φ: how much the votes vary, relative to independent votes; None where that cannot be said"""


@dataclass(frozen=True)
class TieModel:
    """What a release says about ties, where they have a model of their own."""

    model: str
    """"davidson": of two items, the odds of a tie are ν√(π_i π_j), π the strength e^score of each"""
    parameter: float
    """ν"""
    chance: float
    """that two equal items tie: ν/(2 + ν)"""
    chance_low: float | None = None
    chance_high: float | None = None

    @property
    def sentence(self) -> str:
        """The chance of a tie in one sentence."""
        known = ""
        if self.chance_low is not None and self.chance_high is not None:
            known = f" ({100 * self.chance_low:.3g} to {100 * self.chance_high:.3g} %)"
        return f"Two equal items tie with an estimated chance of {100 * self.chance:.3g} %{known}."


@dataclass(frozen=True, repr=False)
class Release(Published):
    """A private ranking, ready to publish; `rank` and `rerank` make it, `print` shows it, and so does a notebook.

    Iterating over it gives its rows, from the best item to the last; the name of an item in brackets gives its row.

    >>> import quietrank as qr
    >>> votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
    >>> release = qr.rank(votes, qr.Privacy(epsilon=1, unit="comparison"))
    >>> [row.rank for row in release], len(release), release.privacy.epsilon
    ([1, 2, 3, 4], 4, 1.0)
    >>> release[release.ranking[0].item].rank
    1
    >>> qr.Release.from_dict(release.to_dict()) == release
    True
    """

    ranking: tuple[Row, ...]
    privacy: Privacy
    mechanism: NoiseRecord
    method: str
    assumptions: tuple[str, ...] = ()
    gamma: float | None = None
    """the ridge of Bradley–Terry scores, where these were fitted"""
    made_with: str = f"quietrank {__version__}"
    ledger_entry: str | None = None
    """the id of the ledger's entry that paid for it, where there is a ledger"""
    scale: Scale = Scale.LOG_ODDS
    """of Bradley–Terry scores"""
    certainty: Certainty | None = None
    """None where nothing can be said; the assumptions have the reason"""
    scatter: Scatter | None = None
    """how much the votes of people vary, where that was bought for the intervals"""
    limit: ChosenLimit | None = None
    """how the limit on people's votes was chosen, where it was not given"""
    ties: TieModel | None = None
    """the model of ties, where they are not half wins"""
    where: str | None = None
    """the condition that rows had to meet to be counted"""
    set_size: int = 2
    """how many items a vote was about, at most: more than 2 for best–worst sets"""
    anchor: tuple[str, float] | None = None
    """of Elo points: the item that scores and intervals are relative to, shown or not, and its score"""

    def __len__(self) -> int:
        return len(self.ranking)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.ranking)

    def __getitem__(self, item: str) -> Row:
        """The row of an item, by its name; `ranking` has the rows by place."""
        if not isinstance(item, str):
            raise ReleaseError(f"a release has rows by item, as in release['tea']; got {item!r}: use release.ranking")
        row = next((row for row in self.ranking if row.item == item), None)
        if row is None:
            near = get_close_matches(item, [row.item for row in self.ranking], 1)
            meant = f", but {near[0]!r}" if near else ""
            raise UnknownItemError(
                f"there is no item {item!r} in this release{meant}; its {len(self)} items are those of "
                "[row.item for row in release]"
            )
        return row

    def __contains__(self, item: object) -> bool:
        return any(item in (row.item, row) for row in self.ranking)

    def __repr__(self) -> str:
        from quietrank.render.screen import visible

        first = f"{visible(self.ranking[0].item)} first of {len(self)} items"
        return f"<Release: {first}; {self.privacy.strength}, {self.mechanism.name}>"

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        return self.privacy.statement

    def top(self, k: int) -> Release:
        """The same release with only the first k items shown: they are public already, so it costs nothing."""
        first = whole_number(k)
        if first is None or not 1 <= first <= len(self.ranking):
            raise ReleaseError(
                f"{either('k', '--top')} must be a whole number from 1 to the {len(self.ranking)} items; got {k!r}"
            )
        return replace(self, ranking=self.ranking[:first])

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values, in the published format."""
        return {
            "format": FORMAT,
            "ranking": [asdict(row) for row in self.ranking],
            "privacy": promise(self.privacy),
            "mechanism": self.mechanism.to_dict(),
            "method": self.method,
            "gamma": self.gamma,
            "assumptions": list(self.assumptions),
            "made_with": self.made_with,
            "ledger_entry": self.ledger_entry,
            "scale": self.scale.value,
            "certainty": None if self.certainty is None else asdict(self.certainty),
            "scatter": scatter_to_dict(self.scatter),
            "limit": limit_to_dict(self.limit),
            "ties": None if self.ties is None else asdict(self.ties),
            "where": self.where,
            **({"set_size": self.set_size} if self.set_size > 2 else {}),
            **({} if self.anchor is None else {"anchor": list(self.anchor)}),
        }

    def rows(self) -> list[dict[str, Any]]:
        """The rows without the columns that this release does not have."""
        rows = [asdict(row) for row in self.ranking]
        known = [name for name in rows[0] if any(row[name] is not None for row in rows)]
        return [{name: row[name] for name in known} for row in rows]

    def plot(self, path: str | Path | None = None, *, theme: ThemeWord = "light", overwrite: bool = False) -> Figure:
        """A figure of the ranking: scores with their intervals, rank sets and tiers; costs nothing.

        path       where it is also written, whole or not at all: .png, .svg or .pdf; None: nowhere
        theme      "light" or "dark"
        overwrite  True: in place of an earlier picture; never of a file of another kind

        >>> import quietrank as qr
        >>> votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
        >>> figure = qr.rank(votes, qr.Privacy(epsilon=1, unit="comparison")).plot(theme="dark")
        >>> [axes.get_xlabel() for axes in figure.axes][1]
        'win rate'
        """
        from quietrank.render.plot import plot

        return plot(self, path, theme, overwrite=overwrite)

    def page(self) -> Group:
        from quietrank.render.table import render

        return render(self)

    @classmethod
    def from_json(cls, path: str | Path) -> Release:
        """Read a release from a file, or from the text of one."""
        return cls.from_dict(read_json(path))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Release:
        """Read a release from plain values, and check them."""
        require_format(values, FORMAT, "a release")
        try:
            return cls(
                ranking=_ranking(values["ranking"]),
                privacy=privacy_from_dict(values["privacy"]),
                mechanism=NoiseRecord.from_dict(values["mechanism"]),
                method=text(values["method"]),
                gamma=figure(values["gamma"]),
                assumptions=tuple(text(note) for note in a_list(values["assumptions"])),
                made_with=text(values["made_with"]),
                ledger_entry=None if values.get("ledger_entry") is None else text(values["ledger_entry"]),
                scale=Scale(values.get("scale", Scale.LOG_ODDS)),
                certainty=_certainty(values.get("certainty")),
                scatter=scatter_from_dict(values.get("scatter")),
                limit=limit_from_dict(values.get("limit")),
                ties=_ties(values.get("ties")),
                where=None if values.get("where") is None else text(values["where"]),
                set_size=_set_size(values.get("set_size", 2)),
                anchor=_anchor(values.get("anchor")),
            )
        except DAMAGE as error:
            raise ReleaseError(f"this release is damaged ({damage(error)}); use an undamaged copy") from None


def _ranking(rows: Any) -> tuple[Row, ...]:
    """The rows of a file, if they are a ranking: ranks from 1 on, every item once, scores descending."""
    ranking = tuple(_row(row) for row in a_list(rows))
    check_names([row.item for row in ranking])
    if [row.rank for row in ranking] != list(range(1, len(ranking) + 1)) or not ranking:
        raise ValueError("its ranks are not 1, 2, 3 and so on")
    scores = [row.score for row in ranking]
    if any(score is None for score in scores):
        raise ValueError("a score is not a number")
    if any(above < below for above, below in pairwise(scores)):
        raise ValueError("its ranks do not follow from its scores")
    return ranking


def _row(values: Mapping[str, Any]) -> Row:
    figures = {name: figure(value) for name, value in values.items() if name != "item"}
    return Row(**{"item": text(values["item"]), **figures})  # type: ignore[arg-type]  # ranks are checked as a whole


def _set_size(value: Any) -> int:
    size = whole_number(value)
    if size is None or size < 2:
        raise ValueError("its sets have no size")
    return size


def _anchor(values: Any) -> tuple[str, float] | None:
    if values is None:
        return None
    item, score = a_list(values)
    points = figure(score)
    if points is None:
        raise ValueError("its anchor has no score")
    return text(item), points


def _certainty(values: Any) -> Certainty | None:
    if values is None:
        return None
    level, top, noise, factor = (figure(values[name]) for name in ("level", "top", "noise_sd", "factor"))
    simultaneous = values["simultaneous"]
    readable = level is not None and 0 < level < 1 and whole_number(top) is not None and noise is not None
    if not readable or not isinstance(simultaneous, bool):
        raise ValueError("its certainty cannot be read")
    return Certainty(level or 0.0, simultaneous, int(top or 0), noise or 0.0, factor)


def _ties(values: Any) -> TieModel | None:
    """The model of ties; files of earlier versions have none."""
    if values is None:
        return None
    figures = [figure(values[name]) for name in ("parameter", "chance", "chance_low", "chance_high")]
    parameter, chance, low, high = figures
    shares = [share for share in (chance, low, high) if share is not None]
    if parameter is None or parameter < 0 or chance is None or not all(0 <= share <= 1 for share in shares):
        raise ValueError("its model of ties cannot be read")
    if values["model"] != Ties.DAVIDSON:
        raise ValueError("its model of ties is not known here")
    return TieModel(text(values["model"]), parameter, chance, low, high)


UNMEASURED = (
    "Of ε, {} was spent on how much the votes of people vary, which could not be measured afterwards; it stays spent."
)


def make_release(
    noisy: NoisyTally, estimate: Estimate, view: View = USUAL, tell: Callable[[float], None] = lambda done: None
) -> Release:
    """Rank the items by their scores, say how sure that is, and attach the promise."""
    view.require_for(estimate.method)
    places, anchor = order(estimate.scores, noisy.items.names), view.place_of_anchor(noisy.items)
    rows, top = _rows(noisy, estimate, places, view, anchor), min(USUAL_TOP, len(places) - 1)
    certainty: Certainty | None
    ties = _tie_model(estimate)
    try:
        known = uncertainty(
            noisy, estimate, places, level=view.level, simultaneous=view.simultaneous, anchor=anchor, top=top,
            tell=tell,
        )  # fmt: skip
    except NoError as reason:
        certainty, notes = None, [str(reason)]
    else:
        rows = _with_intervals(rows, places, known, view, estimate.nu or 0.0)
        certainty, notes = _certain(view, top, known, estimate.nu or 0.0), list(known.notes)
        if ties is not None and known.ties is not None:
            low, high = known.ties
            ties = replace(ties, chance_low=min(low, ties.chance), chance_high=max(high, ties.chance))
    if noisy.unmeasured:
        notes.append(UNMEASURED.format(plain_number(noisy.unmeasured)))
    notes += risky_delta(noisy.privacy, noisy.people if noisy.privacy.unit is Unit.PERSON else noisy.public_total)
    if noisy.limit is not None:
        notes.append(noisy.limit.note)
    if noisy.where is not None:
        notes.append(f"Only votes with {noisy.where} are counted; how many others there were is not published.")
    return Release(
        tuple(rows), noisy.privacy, noisy.record, estimate.method.value, (*estimate.assumptions, *notes),
        estimate.gamma, ledger_entry=noisy.ledger_entry, scale=view.scale, certainty=certainty, scatter=noisy.scatter,
        limit=noisy.limit, ties=ties, where=noisy.where, set_size=noisy.items.shown, anchor=view.anchor,
    )  # fmt: skip


def _tie_model(estimate: Estimate) -> TieModel | None:
    if estimate.nu is None:
        return None
    return TieModel(Ties.DAVIDSON.value, estimate.nu, equal_chance(estimate.nu))


def _certain(view: View, top: int, known: Uncertainty, nu: float) -> Certainty:
    per_unit = float(np.diff(view.scaled(np.array([-0.5, 0.5]), nu))[0])  # around an average item
    return Certainty(view.level, view.simultaneous, top, per_unit * known.noise_sd, known.factor)


def _rows(noisy: NoisyTally, estimate: Estimate, places: list[int], view: View, anchor: int | None) -> list[Row]:
    shown = estimate.scores if anchor is None else estimate.scores - estimate.scores[anchor]
    scores = view.scaled(shown, estimate.nu or 0.0)
    if estimate.method is Method.WIN_RATE and estimate.win_rate is not None:
        scores = estimate.win_rate  # between 0 and 1, as everybody expects of a rate; the order is that of s/d
    return [
        Row(place, noisy.items.names[k], float(scores[k]), _at(estimate.win_rate, k), _at(estimate.net_wins, k))
        for place, k in enumerate(places, 1)
    ]


def _with_intervals(rows: list[Row], places: list[int], known: Uncertainty, view: View, nu: float) -> list[Row]:
    """The rows with what is known about their certainty; an interval is widened to contain its score, if need be.

    Scores are shrunk by their ridge, and intervals are not: where the noise is large, a score may lie beside them.
    """
    low, high = view.scaled(known.low, nu), view.scaled(known.high, nu)
    return [
        replace(
            row,
            rank_low=min(int(known.rank_low[k]), row.rank),
            rank_high=max(int(known.rank_high[k]), row.rank),
            score_low=min(float(low[k]), row.score),
            score_high=max(float(high[k]), row.score),
            tier=int(known.tier[k]),
            probability_first=float(known.first[k]),
            probability_top=float(known.top[k]),
        )
        for row, k in zip(rows, places, strict=True)
    ]


def order(scores: Floats, names: tuple[str, ...]) -> list[int]:
    """Indices from the highest score to the lowest.

    Ties are broken by a hash of the name, which depends neither on the data nor on the order in which items were
    given, and favours no part of the alphabet.
    """
    digests = [hashlib.sha256(name.encode()).digest() for name in names]
    return sorted(range(len(names)), key=lambda index: (-scores[index], digests[index]))


def _at(values: Floats | None, index: int) -> float | None:
    return None if values is None else float(np.asarray(values)[index])
