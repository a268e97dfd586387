"""Two days of a board in; what changed between them, with intervals from the joint law of both boards, out.

Boards share noise, and votes: a change over a week has less noise than a board, one over a month more. Scores are
linearised around each board: their error is H⁺(error of s − u·error of d), H the curvature, u the net wins per
comparison. The votes up to the earlier day are in both boards, so that of the sample H_s⁺ − H_t⁺ is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from quietrank.boards.history import Reading
from quietrank.errors import BoardError, option
from quietrank.estimate.methods import estimate
from quietrank.maths.links import LOGISTIC
from quietrank.publish.tabular import Tabular
from quietrank.publish.view import ELO, ELO_CENTRE, Scale
from quietrank.render.cells import number
from quietrank.render.screen import visible
from quietrank.statistics.method import Method

if TYPE_CHECKING:
    from rich.console import Group

    from quietrank.arrays import Floats
    from quietrank.boards.log import Log


@dataclass(frozen=True)
class Change:
    """How much one item's score has changed."""

    item: str
    score: float
    """now; like the other figures on the scale of the `Changes`"""
    change: float
    low: float
    high: float


@dataclass(frozen=True)
class Changes(Tabular):
    """What changed between two days of a board."""

    columns = ("item", "score", "change", "low", "high")
    day: int
    since: int
    level: float
    changes: tuple[Change, ...]
    scale: Scale = Scale.LOG_ODDS

    def rows(self) -> list[dict[str, object]]:
        return [vars(change) for change in self.changes]

    def to_dict(self) -> dict[str, object]:
        return {
            "day": self.day,
            "since": self.since,
            "level": self.level,
            "scale": self.scale.value,
            "changes": self.rows(),
        }

    def page(self) -> Group:
        """What changed, for a terminal."""
        from rich import box
        from rich.console import Group
        from rich.text import Text

        from quietrank.render.fitting import FittingTable

        unit, score, change = FORMS[self.scale]
        table = FittingTable(box=box.SIMPLE_HEAD)
        for name in ("item", "score", "change", f"{100 * self.level:g} % interval", ""):
            table.add_column(name, justify="left" if name == "item" else "right")
        for one in self.changes:
            sure = "up" if one.low > 0 else "down" if one.high < 0 else ""
            ends = f"{signed(one.low, change)} to {signed(one.high, change)}"
            cells = (one.item, number(one.score, score), signed(one.change, change), ends, sure)
            table.add_row(*(Text(visible(cell)) for cell in cells))
        return Group(Text(f"Change from {self.since} to {self.day}, in {unit}", style="bold"), table)

    def on(self, scale: Scale) -> Changes:
        """The same changes on another scale; there is none of probabilities, which do not differ by a constant."""
        if scale is Scale.PROBABILITY:
            raise BoardError(
                f"a change has no {option('scale', scale)}: how far a chance moves depends on where it was; use "
                f"{option('scale', 'log-odds')} or {option('scale', 'elo')}"
            )
        if scale is self.scale:
            return self
        factor, centre = (ELO, ELO_CENTRE) if scale is Scale.ELO else (1 / ELO, -ELO_CENTRE / ELO)
        figures = (
            Change(one.item, centre + factor * one.score, factor * one.change, factor * one.low, factor * one.high)
            for one in self.changes
        )
        return replace(self, changes=tuple(figures), scale=scale)


FORMS = {Scale.LOG_ODDS: ("log-odds", ".2f", "+.2f"), Scale.ELO: ("Elo points", ".0f", "+.0f")}
"""of each scale: its name, and the number formats of a score and of a change"""


def signed(value: float, form: str) -> str:
    """A change with its sign, and none where it rounds to nothing."""
    text = number(value, form)
    return text.lstrip("+") if not text.strip("+0.") else text


def changes(log: Log, day: int, since: int, level: float, part: int = 0) -> Changes:
    """The change of each item's Bradley–Terry score, of the items that were listed on both days and are not retired."""
    _require_earlier(log, day, since)
    both = len(Reading(log, since, part).since)
    now, before = (_Fitted.of(Reading(log, at, part), both) for at in (day, since))
    noise = np.zeros(both)
    for k, joined in enumerate(log.since[:both]):
        of_now, of_before = (log.terms.noise.drawn(at, joined) for at in (day, since))
        # Each draw moves this item's s on both days, and that moves the scores of all items.
        weights = now.of_entry[:, k, None] * of_now - before.of_entry[:, k, None] * of_before
        noise += np.square(weights).sum(axis=1)
    sampling = np.maximum(np.diag(before.inverse) - np.diag(now.inverse), 0.0)
    reach = NormalDist().inv_cdf(0.5 + level / 2) * np.sqrt(noise + sampling)
    moved = now.theta - before.theta
    order = np.argsort(-now.theta, kind="stable")
    return Changes(
        day, since, level,
        tuple(
            Change(
                log.items[k], float(now.theta[k]), float(moved[k]), float(moved[k] - reach[k]),
                float(moved[k] + reach[k]),
            )
            for k in order
            if log.items[k] not in log.retired
        ),
    )  # fmt: skip


def _require_earlier(log: Log, day: int, since: int) -> None:
    """Refuse a change since a day that is not before the other one."""
    every = log.terms.every
    if not log.days:
        raise BoardError(f"nothing is published yet; the first change is there after the second {every}")
    if day == 1:
        raise BoardError(f"a change is since an earlier {every}, and none is published before {every} 1")
    if not 1 <= since < day:
        raise BoardError(f"a change is since an earlier {every} than {day}, from 1 on; got {since}")


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Scores of one day, centred over the items of both, and what an error of each item's counts does to them."""

    theta: Floats
    inverse: Floats
    """H⁺"""
    of_entry: Floats
    """the same with the error of the exposures: H⁺, each column times √(1 + (u/β)²)"""

    @classmethod
    def of(cls, reading: Reading, both: int) -> _Fitted:
        tally = reading.tally()
        theta = estimate(tally, Method.BRADLEY_TERRY).scores
        n, met = len(theta), np.zeros((len(theta), len(theta)))
        assert tally.met is not None
        met[tally.met.i, tally.met.j] = tally.met.counts
        met += met.T
        p = LOGISTIC.cdf(np.clip(theta[:, None] - theta, -12, 12))
        weights = met * p * (1 - p)
        size = float(weights.sum()) / n or 1.0
        inverse = np.linalg.inv(np.diag(weights.sum(axis=1)) - weights + size / n) - 1 / (size * n)
        centring = np.eye(n)[:both] - np.where(np.arange(n) < both, 1 / both, 0.0)
        net_wins, exposures = reading.board()
        u = np.clip(net_wins / np.maximum(exposures, 1.0), -0.5, 0.5)
        moved = centring @ inverse
        of_entry = moved[:, :both] * np.sqrt(1 + np.square(u[:both] / float(tally.share)))
        return cls(centring @ theta, moved @ centring.T, of_entry)
