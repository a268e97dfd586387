"""Gaussian noise for a board that is published again and again: one promise for the whole horizon.

Day t's increments x_t of the tally are published as y_t = Σ_{j ≤ t} r_{t−j}·x_j + fresh noise, with r the power series
of a square root of what a board sums up: all days, or the days of a sliding window. A board is then read back as
A·R⁻¹·y, which is post-processing. r is rounded to multiples of 2^-12, and the rounded r is used everywhere: in what
people are bounded by, in the reach, and for reading back. docs/proofs/boards.md proves the promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import floor, isqrt, sqrt
from typing import TYPE_CHECKING

import numpy as np

from quietrank.errors import PrivacyError, option
from quietrank.mechanisms.gaussian import GAUSSIAN, scale_for
from quietrank.noise.normal import RoundedGaussianNoise
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.curve import curve_delta, curve_mu
from quietrank.promise.privacy import Neighbours, Unit
from quietrank.promise.promise import FINE, PERSON_GRID, Clip, Promise, whole_squares
from quietrank.promise.rounding import float_above, root_above
from quietrank.statistics.net_wins import NET_WINS_AND_EXPOSURES, NetWinsAndExposures

if TYPE_CHECKING:
    from quietrank.arrays import Floats, Integers

GRID = 2**12
"""r is a whole number of 1/GRID; with people's weights of 2^-20 and 64 bits, an item may have 2^29 votes"""
FULL = 2**62
"""steps: no sum is published beyond this many, and none is shown beyond half of them"""
LONGEST = 4000
"""days of a horizon"""
LARGEST_CLIP = 2**10
STEP = FINE / GRID
"""the lattice of what is published, in votes"""


@dataclass(frozen=True)
class Factor:
    """R, lower triangular with r_{t−j} at day t and day j, in whole numbers of 1/GRID."""

    horizon: int
    """T"""
    window: int | None = None
    """how many days a board sums up; None: all days so far"""

    def __post_init__(self) -> None:
        if not 1 <= self.horizon <= LONGEST:
            raise PrivacyError(f"{option('horizon')} must be a whole number from 1 to {LONGEST}; got {self.horizon}")
        if self.window is not None and not 1 <= self.window <= self.horizon:
            raise PrivacyError(
                f"{option('window')} must be a whole number from 1 to the horizon, {self.horizon}; got {self.window}"
            )

    @cached_property
    def roots(self) -> Integers:
        """r_0, …, r_{T−1}, rounded; r_0 is exactly GRID."""
        return np.array([round(GRID * r) for r in _exact_roots(self.horizon, self.window)], dtype=np.int64)

    @property
    def square(self) -> int:
        """S·GRID²: the square of the norm of R's first column, which no column exceeds."""
        return sum(int(r) ** 2 for r in self.roots)

    @property
    def is_positive(self) -> bool:
        """Whether no entry is negative, so that R keeps signs."""
        return bool((self.roots >= 0).all())

    def gram(self, day: int) -> list[int]:
        """G_tu·GRID² for u = 1, …, t, G = RᵀR over the whole horizon: what day t's increments add to the square of the
        encoded norm together with those of day u."""
        rest = self.roots[: self.horizon - day + 1]
        return [int(rest @ self.roots[day - u : day - u + len(rest)]) for u in range(1, day + 1)]

    @cached_property
    def reading(self) -> Floats:
        """c_0, …, c_{T−1} with board_t = Σ_k c_k·y_{t−k}: the power series of A/R."""
        return self._over_roots(self.horizon if self.window is None else self.window)

    @cached_property
    def in_all(self) -> Floats:
        """The same for the sum of all days so far, whatever the window."""
        return self.reading if self.window is None else self._over_roots(self.horizon)

    def _over_roots(self, summed: int) -> Floats:
        """The power series of (1 + z + … + z^(summed − 1))/R."""
        r, c = self.roots / GRID, np.zeros(self.horizon)
        for k in range(self.horizon):
            c[k] = float(k < summed) - r[1 : k + 1] @ c[:k][::-1]
        return c

    def spread(self, days: int) -> float:
        """The standard deviation of the noise on a board after so many days of history, over that of one y."""
        return sqrt(float(np.square(self.reading[:days]).sum()))

    def spread_of_change(self, days: int, since: int) -> float:
        """The same of the difference between this board and the one `since` days before; they share noise."""
        return _norm_of_change(self.reading[:days], since)

    def spread_of_days(self, days: int, since: int) -> float:
        """The same of the sum of the last `since` days, whatever the window."""
        return _norm_of_change(self.in_all[:days], since)


def _norm_of_change(c: Floats, since: int) -> float:
    before = np.zeros(len(c))
    before[since:] = c[: len(c) - since]
    return sqrt(float(np.square(c - before).sum()))


@lru_cache(maxsize=8)
def _exact_roots(horizon: int, window: int | None) -> tuple[Fraction, ...]:
    """The power series of (1 − z)^-½, times that of (1 − z^w)^½ for a window of w days."""
    whole = [Fraction(1)]
    for k in range(1, horizon):
        whole.append(whole[-1] * Fraction(2 * k - 1, 2 * k))
    if window is None:
        return tuple(whole)
    ends = [Fraction(1)]
    while len(ends) * window < horizon:
        k = len(ends)
        ends.append(ends[-1] * Fraction(2 * k - 3, 2 * k))
    return tuple(
        sum((end * whole[k - j * window] for j, end in enumerate(ends) if j * window <= k), Fraction(0))
        for k in range(horizon)
    )


@dataclass(frozen=True)
class BoardNoise:
    """The noise of every day of a board, and everything that is public about it."""

    promise: Promise
    """the clip filled in"""
    statistic: NetWinsAndExposures
    factor: Factor
    scale: float
    """σ on net wins, in steps of STEP; on exposures 1/β times as much"""

    @classmethod
    def calibrated(cls, promise: Promise, factor: Factor) -> BoardNoise:
        """The least noise that keeps the promise over the whole horizon."""
        _require(promise)
        base = GAUSSIAN.calibrate(promise, NET_WINS_AND_EXPOSURES)
        assert isinstance(base.statistic, NetWinsAndExposures)
        made = cls(base.promise, base.statistic, factor, 1.0)
        mu = curve_mu(as_written(promise.privacy.epsilon), as_written(promise.privacy.delta))
        return cls(base.promise, base.statistic, factor, scale_for(made.reach / STEP**2, mu))

    @property
    def clip(self) -> Clip:
        return Clip(Fraction(self.promise.privacy.clip or 0), self.statistic.norm(self.promise))

    @property
    def most(self) -> Fraction:
        """C²·S: what the square of a person's encoded norm is bounded by, in votes²."""
        return self.clip.norm**2 * Fraction(self.factor.square, GRID**2)

    @property
    def reach(self) -> Fraction:
        """The square of how far one person moves all y together, in votes². A person who is replaced moves them less
        far than twice their norm where exposures stay positive: only if R keeps signs."""
        factor = self.promise.reach(self.statistic.l2)
        if not self.factor.is_positive and self.promise.privacy.neighbours is Neighbours.REPLACE:
            factor = Fraction(4)
        return factor * self.most

    @property
    def loss(self) -> Cost:
        """Of all days together; recomputed before every draw."""
        squared, epsilon = self.reach / (STEP * Fraction(self.scale)) ** 2, as_written(self.promise.privacy.epsilon)
        return Cost(epsilon, curve_delta(epsilon, float_above(root_above(squared))), float_above(squared / 2))

    @property
    def cost(self) -> Cost:
        """What the whole horizon is charged."""
        privacy = self.promise.privacy
        return Cost(privacy.epsilon, privacy.delta, self.loss.rho)

    @property
    def sigma(self) -> float:
        """Of the noise on the net wins of one y, in votes."""
        return self.scale * float(STEP)

    def noises(self) -> tuple[RoundedGaussianNoise, RoundedGaussianNoise]:
        """On net wins and on exposures, in steps."""
        return RoundedGaussianNoise(self.scale), RoundedGaussianNoise(self.scale / float(self.statistic.beta))


@dataclass(frozen=True)
class Norm:
    """The squared norm of a contribution in whole numbers, K, and the rule by which people are bounded day by day.

    Over the whole horizon the square of a person's encoded norm, Σ_tu G_tu⟨x_t, x_u⟩, stays at most C²·S. On day t all
    votes of a person get one weight W of at most 2^20 units, the largest with N + 2W·B + W²·A ≤ K, where N is what was
    reached before, B = Σ_{u<t} G_tu·W_u·⟨X_u, X_t⟩ and A = G_tt·‖X_t‖², X the votes themselves. All of these are whole
    numbers, of any size (docs/proofs/boards.md, section 2).
    """

    net: int
    """the weight of the squares of twice the net wins"""
    met: int
    """of the squares of exposures"""
    most: int
    """K"""

    @classmethod
    def of(cls, noise: BoardNoise) -> Norm:
        terms, finer = whole_squares(noise.clip)
        room = (2 * noise.clip.norm * PERSON_GRID * finer) ** 2 * noise.factor.square
        return cls(terms["net_wins"], terms["exposure"], floor(room))

    def weight(self, before: int, mixed: int, square: int) -> tuple[int, int]:
        """W, and what is then reached: from N, B and A."""
        room = self.most - before
        if room < 0 or square < 0:
            raise AssertionError("somebody's limit was exceeded before")
        if square == 0:
            return PERSON_GRID, before  # what adds nothing is not bounded
        # m ≤ (√(B² + A·room) − B)/A for whole m, if and only if mA + B ≤ ⌊√…⌋.
        largest = (isqrt(mixed * mixed + square * room) - mixed) // square
        chosen = max(0, min(PERSON_GRID, largest))
        return chosen, before + 2 * chosen * mixed + chosen * chosen * square


def _require(promise: Promise) -> None:
    """Refuse what a board does not promise."""
    privacy = promise.privacy
    if privacy.unit is not Unit.PERSON or privacy.neighbours is Neighbours.OUTCOME:
        raise PrivacyError(
            f"a board protects people: use {option('unit', 'person')}, and {option('neighbours')} replace or add-remove"
        )
    if privacy.one_per_pair or privacy.max_per_person is not None or privacy.chooses_limit:
        raise PrivacyError(
            f"on a board people are bounded by {option('clip')} over the whole horizon; leave "
            f"{option('max_per_person')} and {option('one_per_pair')} out"
        )
    if privacy.clip is None or not privacy.clip <= LARGEST_CLIP:
        raise PrivacyError(f"a board needs a {option('clip')}, at most {LARGEST_CLIP}, such as {option('clip', 3)}")
    promise.require_pairs("a board")
