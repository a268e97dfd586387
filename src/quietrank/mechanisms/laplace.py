"""A promise in, Laplace noise out: on the tally, calibrated in the L1 norm; given a sum of zero where items are few.

docs/proofs/noisy-tally.md proves the promise, docs/proofs/zonotope.md the form that is conditioned to sum to zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import PrivacyError
from quietrank.maths import laws
from quietrank.mechanisms.mechanism import Calibrated, Figure, Law, Mechanism, Noise
from quietrank.noise.knorm import KNormNoise, SumZero
from quietrank.noise.lattice import LaplaceNoise, laplace_privacy_loss, laplace_scale
from quietrank.noise.tiles import positive_weights
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.promise import FINE, Clip, Promise
from quietrank.promise.rounding import float_above
from quietrank.statistics.net_wins import NET_WINS, NET_WINS_AND_SHOWN, NET_WINS_AND_TOTAL
from quietrank.statistics.statistic import Spread, Statistic
from quietrank.statistics.ties import TIES_SHARE, WithTies
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES

if TYPE_CHECKING:
    from quietrank.arrays import Floats

MOST_SUM_ZERO = 24
"""Up to this many entries, the noise is drawn conditioned to sum to zero, as net wins do.

At n entries its standard deviation is √((2n − 1)(n − 1)/(n(n + 1))) scales, while centred independent noise has
√(2(1 − 1/n)): 16 % less at n = 4, 7 % at 10, 3 % at 24. docs/proofs/zonotope.md has the table."""


class Laplace(Mechanism):
    name = "laplace"
    about = "on the tally, calibrated in the L1 norm"
    statistics = (WINS, NET_WINS, NET_WINS_AND_TOTAL, WINS_AND_LOSSES, NET_WINS_AND_SHOWN)
    automatic = True
    with_ties = True

    def require(self, promise: Promise, statistic: Statistic) -> None:
        l1_reach(promise.pure, statistic)

    def total_is_free(self, promise: Promise) -> bool:
        return promise.total_is_free

    def growth(self, promise: Promise, statistic: Statistic) -> float:
        return float(l1_reach(promise.pure, statistic)) ** 2

    def ties_share(self, promise: Promise, statistic: WithTies) -> Fraction:
        """1 where that makes the reach no larger than without ties."""
        pure = promise.pure
        free = l1_reach(pure, statistic.at(Fraction(1))) == l1_reach(pure, statistic.base)
        return Fraction(1) if free else TIES_SHARE

    def noise_for(self, promise: Promise, statistic: Statistic, clip: Clip | None, votes: int | None) -> Calibrated:
        reach, share = l1_reach(promise, statistic), statistic.share(promise)
        size = statistic.per_item * len(promise.items)
        sum_zero = statistic.sums_to_zero and size <= MOST_SUM_ZERO
        lattice = promise.half_vote * statistic.lattice(promise)
        step = min(lattice, FINE) if sum_zero else lattice
        scale = laplace_scale(_whole(reach / step), as_written(promise.privacy.epsilon))
        figures: dict[str, Figure] = {
            "sensitivity": float(reach),
            "norm": "L1",
            "scale": scale * float(step),
            "form": "given a sum of zero" if sum_zero else "independent",
        }
        return Calibrated(
            self, promise, statistic, _noise(statistic, size, scale) if sum_zero else LaplaceNoise(scale), step,
            LaplaceLaw(statistic, len(promise.items), scale * float(step), sum_zero, float(share)),
            Cost.pure(promise.privacy.epsilon), tuple(figures.items()), share,
        )  # fmt: skip

    def loss(self, calibrated: Calibrated) -> Cost:
        self.require_share(calibrated)
        steps = _whole(l1_reach(calibrated.promise, calibrated.statistic) / calibrated.step)
        return Cost.pure(max(laplace_privacy_loss(scale, steps) for scale in _scales(calibrated.noise)))


def l1_reach(promise: Promise, statistic: Statistic) -> Fraction:
    """The L1 sensitivity, in votes."""
    limits, share = promise.limits, statistic.share(promise)
    statistic.require_secret(promise)
    if statistic.l1(promise.moves[0].change, limits, share) is None:
        raise PrivacyError(f"{statistic} is for Gaussian noise; with other noise release wins-and-losses")
    return promise.reach(lambda change: statistic.l1(change, limits, share) or 0)


def _whole(steps: Fraction) -> int:
    """A reach in lattice steps; exact, because lattices are chosen to contain every weight."""
    if steps.denominator != 1:
        raise AssertionError(f"the sensitivity, {steps} steps, is not on its lattice")
    return steps.numerator


def _noise(statistic: Statistic, size: int, scale: float) -> Noise:
    """Noise conditioned to sum to zero, and independent noise on the total, if there is one."""
    total = LaplaceNoise(scale) if statistic.extra else None
    return KNormNoise(SumZero(size, Fraction(scale)), losses_mirrored=statistic.mirrored, total=total)


def _scales(noise: Noise) -> list[float]:
    """The scales of all Laplace parts. That of a body is a fraction: rounded down, towards privacy, and exact where it
    was made from a float."""
    if isinstance(noise, LaplaceNoise):
        return [noise.scale]
    if isinstance(noise, KNormNoise) and isinstance(noise.body, SumZero):
        return [-float_above(-noise.body.scale), *([] if noise.total is None else [noise.total.scale])]
    raise AssertionError(f"{type(noise).__name__} is not Laplace noise")


@dataclass(frozen=True)
class LaplaceLaw(Law):
    """Laplace noise on every entry; with `sum_zero`, conditioned on the noise on net wins summing to zero."""

    statistic: Statistic
    items: int
    scale: float
    sum_zero: bool
    share: float = 1.0

    @property
    def size(self) -> float:
        return self.scale

    def of_size(self, size: float) -> LaplaceLaw:
        return replace(self, scale=size)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "laplace", "scale": self.scale, "sum_zero": self.sum_zero}

    def cdf(self, x: Floats) -> Floats | None:
        size = self.statistic.per_item * self.items
        return laws.sum_zero_cdf(x, self.scale, size) if self.sum_zero else laws.laplace_cdf(x, self.scale)

    def log_density(self, noise: Floats) -> Floats | None:
        size = self.statistic.per_item * self.items
        if self.sum_zero:
            density = laws.sum_zero_log_density(self.statistic.unsigned(noise[..., :size]), self.scale)
        else:
            exposures = laws.laplace_log_density(noise[..., self.items : size], self.scale / self.share)
            density = laws.laplace_log_density(noise[..., : self.items], self.scale) + exposures
        for place, share in enumerate(self.statistic.shares(self.share)):
            entry = noise[..., size + place : size + place + 1]
            density = density + laws.laplace_log_density(entry, self.scale / share)
        return density

    @property
    def spread(self) -> Spread:
        size = self.statistic.per_item * self.items
        # Conditioned to sum to zero, the variance is (2N − 1)(N − 1)/(N(N + 1)) squared scales instead of 2.
        variance = self.scale**2 * ((2 * size - 1) * (size - 1) / (size * (size + 1)) if self.sum_zero else 2)
        covariance = -variance / (size - 1) if self.sum_zero else 0.0
        return self.statistic.spread(variance, covariance, 3.0, self.share)

    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        size = self.statistic.per_item * self.items
        if self.sum_zero:
            noise = self.statistic.unsigned(self._given_a_sum_of_zero(rng, (draws, size)))
        else:
            noise = rng.laplace(0, self.scale, (draws, size))
            noise[:, self.items :] /= self.share  # exposures are released as βd
        if not self.statistic.extra:
            return noise
        others = (rng.laplace(0, self.scale / share, draws) for share in self.statistic.shares(self.share))
        return np.column_stack([noise, *others])

    def _given_a_sum_of_zero(self, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        """P(k positive) and the two simplices of noise/knorm.py, all rows at once."""
        draws, size = shape
        weights = np.array(positive_weights(size), dtype=np.float64)
        number = rng.choice(np.arange(1, size), size=draws, p=weights / weights.sum())
        positive = rng.random(shape).argsort(axis=1) < number[:, None]
        parts = rng.exponential(size=shape)
        up = np.where(positive, parts, 0)
        down = parts - up
        rho = rng.gamma(size - 1, self.scale / 2, (draws, 1))
        return np.asarray(rho * (up / up.sum(axis=1, keepdims=True) - down / down.sum(axis=1, keepdims=True)))


LAPLACE = Laplace()
