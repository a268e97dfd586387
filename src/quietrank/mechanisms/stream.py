"""A promise with δ in, Gaussian noise for every day of a board out: one promise for the whole horizon.

Day t's increments x_t of the tally are published as y_t = Σ_{j ≤ t} r_{t−j}·x_j + fresh noise, with r the power series
of a square root of what a board sums up: all days, or the days of a sliding window. A board is then read back as
A·R⁻¹·y, which is post-processing. r is rounded to multiples of 2^-12, and the rounded r is used everywhere: in what
people are bounded by, in the reach, and for reading back. docs/proofs/boards.md proves the promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import PrivacyError, option
from quietrank.mechanisms.gaussian import GAUSSIAN, scale_for
from quietrank.mechanisms.horizon import GRID, STEP, BoardNoise, Norm, require_days, require_people
from quietrank.mechanisms.mechanism import Figure
from quietrank.noise.normal import RoundedGaussianNoise
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.curve import curve_delta, curve_mu
from quietrank.promise.privacy import Neighbours, Privacy
from quietrank.promise.promise import Clip, Promise
from quietrank.promise.rounding import float_above, root_above
from quietrank.statistics.net_wins import NET_WINS_AND_EXPOSURES, NetWinsAndExposures

if TYPE_CHECKING:
    from quietrank.arrays import Floats, Integers

LARGEST_CLIP = 2**10


@dataclass(frozen=True)
class Factor:
    """R, lower triangular with r_{t−j} at day t and day j, in whole numbers of 1/GRID."""

    horizon: int
    """T"""
    window: int | None = None
    """how many days a board sums up; None: all days so far"""

    def __post_init__(self) -> None:
        require_days(self.horizon, self.window)

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
class GaussianBoardNoise(BoardNoise):
    """Fresh Gaussian noise on every y; the promise is (ε, δ), with the clip filled in."""

    factor: Factor
    scale: float
    """σ on net wins, in steps of STEP; on exposures 1/β times as much"""
    name = GAUSSIAN.name
    norm = "L2"
    keeps_draws = False

    @classmethod
    def is_for(cls, privacy: Privacy) -> bool:
        return privacy.delta > 0

    @classmethod
    def over(cls, promise: Promise, horizon: int, window: int | None) -> GaussianBoardNoise:
        return cls.calibrated(promise, Factor(horizon, window))

    @classmethod
    def calibrated(cls, promise: Promise, factor: Factor) -> GaussianBoardNoise:
        """The least noise that keeps the promise over the whole horizon."""
        _require(promise)
        base = GAUSSIAN.calibrate(promise, NET_WINS_AND_EXPOSURES)
        assert isinstance(base.statistic, NetWinsAndExposures)
        reach = cls(base.promise, base.statistic, factor, 1.0).reach
        mu = curve_mu(as_written(promise.privacy.epsilon), as_written(promise.privacy.delta))
        return cls(base.promise, base.statistic, factor, scale_for(reach / STEP**2, mu))

    @property
    def clip(self) -> Clip:
        return Clip(Fraction(self.promise.privacy.clip or 0), self.statistic.norm(self.promise))

    @property
    def limit(self) -> Norm:
        return Norm.of(self.clip, self.factor.square)

    def gram(self, day: int) -> list[int]:
        return self.factor.gram(day)

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
    def sensitivity(self) -> float:
        return sqrt(self.reach)

    @property
    def loss(self) -> Cost:
        squared, epsilon = self.reach / (STEP * Fraction(self.scale)) ** 2, as_written(self.promise.privacy.epsilon)
        return Cost(epsilon, curve_delta(epsilon, float_above(root_above(squared))), float_above(squared / 2))

    @property
    def sigma(self) -> float:
        """Of the noise on the net wins of one y, in votes."""
        return self.scale * float(STEP)

    def weights(self, day: int) -> list[int]:
        return [int(root) for root in self.factor.roots[:day][::-1]]

    def mixing(self, day: int) -> dict[int, int]:
        return {day: 1}

    def last_day(self, draw: int) -> int:
        return draw

    def noises(self, draw: int) -> tuple[RoundedGaussianNoise, RoundedGaussianNoise]:
        return RoundedGaussianNoise(self.scale), RoundedGaussianNoise(self.scale / float(self.statistic.beta))

    def reading(self, day: int) -> Floats:
        return self.factor.reading[:day][::-1]

    def in_all(self, day: int) -> Floats:
        return self.factor.in_all[:day][::-1]

    def drawn(self, day: int, joined: int = 1) -> Floats:
        drawn = np.zeros(self.factor.horizon)
        drawn[joined - 1 : day] = self.sigma * self.reading(day - joined + 1)
        return drawn

    def drawn_in_all(self, day: int) -> Floats:
        drawn = np.zeros(self.factor.horizon)
        drawn[:day] = self.sigma * self.in_all(day)
        return drawn

    def figures(self, spread: float) -> dict[str, Figure]:
        return super().figures(spread) | {"rho": self.loss.rho or 0.0}

    @property
    def about(self) -> dict[str, Any]:
        return {"sigma": self.sigma, "share": str(self.statistic.beta), "reach": str(self.factor.square)}


def _require(promise: Promise) -> None:
    """Refuse what such a board does not promise."""
    require_people(promise)
    privacy = promise.privacy
    if privacy.max_per_person is not None:
        raise PrivacyError(
            f"with {option('delta')} people are bounded by {option('clip')} over the whole horizon of a board; leave "
            f"{option('max_per_person')} out, or use it with {option('pure', True)}"
        )
    if privacy.clip is None or not privacy.clip <= LARGEST_CLIP:
        raise PrivacyError(f"a board needs a {option('clip')}, at most {LARGEST_CLIP}, such as {option('clip', 3)}")
