"""A promise without δ in, Laplace noise for every day of a board out: one promise for the whole horizon.

Every day has a sum of its own, and so has every tent: days that lie around one day, the nearer ones with more weight.
The tents of neighbours overlap, and at each day their weights add up to one. A vote is in the sum of its day and in two
tents, so it pays for two sums. All of these sums with Laplace noise would keep the promise. Published is less: on day t
the board itself, as it is best read from all of them, those of the days to come included. Of sums to come only the
noise is needed: it is drawn ahead, and kept until it is used again. docs/proofs/boards.md, section 9, proves the
promise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import PrivacyError, option
from quietrank.maths.shares import best_share
from quietrank.mechanisms.horizon import GRID, BoardNoise, Weight, require_days, require_people
from quietrank.mechanisms.laplace import LAPLACE, l1_reach
from quietrank.mechanisms.mechanism import Figure
from quietrank.noise.lattice import LaplaceNoise
from quietrank.noise.words import LARGEST_SCALE
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import FINE, Promise
from quietrank.promise.rounding import float_above
from quietrank.statistics.net_wins import NET_WINS_AND_SHOWN, NetWinsAndExposures

if TYPE_CHECKING:
    from quietrank.arrays import Floats, Integers

HEIGHT = 16
"""what the weights of all tents at one day add up to: they are whole numbers"""
SHORT = 14
"""Up to this many days the sums of days alone are better than days and tents (tests/mechanisms/test_tents.py)."""
LARGEST_LIMIT = 2**10


@dataclass(frozen=True)
class Tents:
    """The sums, numbered from 1: those of the T days, then those of the tents; and how boards are read from them."""

    horizon: int
    """T"""
    window: int | None = None
    """how many days a board sums up; None: all days so far"""

    def __post_init__(self) -> None:
        require_days(self.horizon, self.window)

    @cached_property
    def heights(self) -> Integers:
        """D: the weight of each day in each tent, as (tent, day). Tents stand k = ⌊√(5T)⌋ days apart: within 1 % of the
        least noise, and the same on every machine. Of the two around a day, the later one has ⌊HEIGHT·f⌋, f the part of
        the way to it, and the earlier one the rest."""
        if self.horizon <= SHORT:
            return np.zeros((0, self.horizon), dtype=np.int64)
        apart, days = math.isqrt(5 * self.horizon), np.arange(self.horizon)
        tent, after = days // apart, days % apart
        heights = np.zeros((int(tent[-1]) + 2, self.horizon), dtype=np.int64)
        heights[tent + 1, days] = HEIGHT * (2 * after + 1) // (2 * apart)
        heights[tent, days] = HEIGHT - heights[tent + 1, days]
        return heights[heights.any(axis=1)]

    @property
    def highest(self) -> int:
        """The most that the weights of all tents at one day add up to."""
        return int(self.heights.sum(axis=0).max(initial=0))

    @cached_property
    def of_tents(self) -> Integers:
        """β·GRID, as (day, tent): the coefficients of the tents in each board.

        With the coefficients a − βD of the days, a_j = 1 for j ≤ t and else 0, any β reads the sum of x_1, …, x_t:
        (a − βD)x + β(Dx) = ax, exactly. That of the least noise, at HEIGHT times as much on a tent as on a day,
        minimises ‖a − βD‖² + HEIGHT²‖β‖²; it is rounded, which makes it no less exact.
        """
        heights = self.heights.astype(float)
        both = heights @ heights.T + HEIGHT**2 * np.eye(len(heights))
        beta = np.linalg.solve(both, np.cumsum(heights, axis=1)).T
        return np.round(GRID * beta).astype(np.int64)

    def coefficients(self, day: int) -> Integers:
        """B_t·GRID, for the days and then for the tents: how the sum of all days up to this one is read."""
        if day == 0:
            return np.zeros(self.horizon + len(self.heights), dtype=np.int64)
        of_days = GRID * (np.arange(self.horizon) < day) - self.of_tents[day - 1] @ self.heights
        return np.concatenate([of_days, self.of_tents[day - 1]])

    @cached_property
    def last_days(self) -> Integers:
        """Of each sum: the last day that is in it."""
        of_tents = [int(np.flatnonzero(row)[-1]) + 1 for row in self.heights]
        return np.array([*range(1, self.horizon + 1), *of_tents], dtype=np.int64)


@dataclass(frozen=True)
class LaplaceBoardNoise(BoardNoise):
    """Laplace noise on every sum, drawn once and kept; the promise is ε alone, with a limit L."""

    tents: Tents
    scale: float
    """b, of the noise on the net wins of a day, in steps of FINE; that of a tent is HEIGHT times as large, and both are
    1/β times as large on exposures"""
    name = LAPLACE.name
    norm = "L1"
    keeps_draws = True

    @classmethod
    def is_for(cls, privacy: Privacy) -> bool:
        return privacy.delta == 0

    @classmethod
    def over(cls, promise: Promise, horizon: int, window: int | None) -> LaplaceBoardNoise:
        _require(promise)
        share = best_share(NET_WINS_AND_SHOWN, promise, lambda one: LAPLACE.growth(promise, one))
        statistic, tents = NetWinsAndExposures(share or NET_WINS_AND_SHOWN.beta), Tents(horizon, window)
        reach = cls(promise, statistic, tents, 1.0).reach / FINE
        # Rounded up, towards privacy; HEIGHT and 1/β are powers of 2, so that the other scales are exact.
        scale = float_above(
            (1 + Fraction(tents.highest, HEIGHT)) * reach / Fraction(as_written(promise.privacy.epsilon))
        )
        if not HEIGHT * scale / float(statistic.beta) <= LARGEST_SCALE:
            raise PrivacyError("epsilon is too small for noise of any use; choose a larger one")
        return cls(promise, statistic, tents, scale)

    @property
    def limit(self) -> Weight:
        return Weight.of(self.promise.privacy.limit)

    def gram(self, day: int) -> list[int]:
        """Weights add up, whatever the days."""
        return [0] * (day - 1) + [1]

    @property
    def reach(self) -> Fraction:
        """Σ_t ‖x_t − x'_t‖₁ of (s, βd): how far one person moves the sums of all days together, in votes. The exposure
        of an item in pairs is how often it was shown."""
        return l1_reach(self.promise, NET_WINS_AND_SHOWN.with_share(self.statistic.beta))

    @property
    def sensitivity(self) -> float:
        return float(self.reach)

    @property
    def loss(self) -> Cost:
        """Δ·max_j Σ_k C_kj/b_k over the days j: that of the day itself, and those of the tents it is in."""
        of_tents = Fraction(self.tents.highest, HEIGHT)
        return Cost.pure(float_above((1 + of_tents) * self.reach / FINE / Fraction(self.scale)))

    def _scales(self, draw: int) -> tuple[float, float]:
        scale = self.scale if draw <= self.tents.horizon else HEIGHT * self.scale
        return scale, scale / float(self.statistic.beta)

    def weights(self, day: int) -> list[int]:
        return [GRID] * day

    def mixing(self, day: int) -> dict[int, int]:
        coefficients = self.tents.coefficients(day)
        return {int(k) + 1: int(coefficients[k]) for k in np.flatnonzero(coefficients)}

    def last_day(self, draw: int) -> int:
        return int(self.tents.last_days[draw - 1])

    def noises(self, draw: int) -> tuple[LaplaceNoise, LaplaceNoise]:
        of_net_wins, of_exposures = self._scales(draw)
        return LaplaceNoise(of_net_wins), LaplaceNoise(of_exposures)

    def reading(self, day: int) -> Floats:
        """What is published is the sum of all days; that of a window is a difference of two."""
        reading = self.in_all(day)
        window = self.tents.window
        if window is not None and window < day:
            reading[day - window - 1] = -1
        return reading

    def in_all(self, day: int) -> Floats:
        return np.asarray(np.eye(1, day, day - 1)[0])

    def drawn(self, day: int, joined: int = 1) -> Floats:
        before = 0 if self.tents.window is None else day - self.tents.window
        drawn = self.drawn_in_all(day) - self.drawn_in_all(before if before >= joined else 0)
        return np.where(self.tents.last_days >= joined, drawn, 0.0)

    def drawn_in_all(self, day: int) -> Floats:
        return self.tents.coefficients(day) / GRID * self._deviations

    @cached_property
    def _deviations(self) -> Floats:
        """The standard deviation of each draw, in votes: √2 scales, on so fine a lattice."""
        scales = [self._scales(draw)[0] for draw in range(1, len(self.tents.last_days) + 1)]
        return np.array(scales) * math.sqrt(2) * float(FINE)

    def equal_draws(self, day: int) -> float:
        squares = np.square(self.drawn(day))
        return float(squares.sum() ** 2 / np.square(squares).sum())

    def figures(self, spread: float) -> dict[str, Figure]:
        """The scale is that of the draw for one day."""
        return super().figures(spread) | {"scale": self.scale * float(FINE)}

    @property
    def about(self) -> dict[str, Any]:
        return {"kind": self.name, "scale": self.scale * float(FINE), "share": str(self.statistic.beta)}


def _require(promise: Promise) -> None:
    """Refuse what such a board does not promise."""
    require_people(promise)
    privacy = promise.privacy
    if privacy.clip is not None:
        raise PrivacyError(
            f"without delta people are bounded by {option('max_per_person')} over the whole horizon of a board; leave "
            f"{option('clip')} out, or use it with {option('delta')}"
        )
    if privacy.max_per_person is None or privacy.max_per_person > LARGEST_LIMIT:
        raise PrivacyError(
            f"a board without delta needs {option('max_per_person')}, at most {LARGEST_LIMIT}, such as "
            f"{option('max_per_person', 5)}"
        )
