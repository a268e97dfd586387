"""Only the top: who the first k items are, in order, without paying for everybody's counts.

Permute-and-flip keeps ε; where δ > 0, the exponential mechanism costs less in zCDP. Both are calibrated to R, the
largest range of what one unit changes (statistics/top.py). docs/proofs/selection.md proves the promise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from quietrank.errors import PrivacyError, option
from quietrank.mechanisms.gaussian import default_clip
from quietrank.mechanisms.mechanism import Calibrated, Figure, Law, Mechanism
from quietrank.noise.selection import TopNoise, selection_loss, selection_scale
from quietrank.promise.accounting import SLACK, Cost, as_written, delta_of, rho_for
from quietrank.promise.privacy import Unit
from quietrank.promise.promise import Clip, Promise
from quietrank.statistics.statistic import Spread, Statistic
from quietrank.statistics.top import TOP_BY_NET_WINS, TOP_BY_WINS, Top

if TYPE_CHECKING:
    from quietrank.arrays import Floats, Integers

WORTH_CLIPPING = 0.8
"""People are clipped where that makes R at least a fifth smaller: it also takes about a tenth off their votes."""


@dataclass(frozen=True)
class Selection(Mechanism):
    """Selection of the first k items."""

    k: int = 1

    statistics: ClassVar[tuple[Statistic, ...]] = (TOP_BY_NET_WINS, TOP_BY_WINS)
    gumbel: ClassVar[bool] = False

    def of_top(self, k: int) -> Selection:
        """The same for the first k."""
        return replace(self, k=k)

    def require(self, promise: Promise, statistic: Statistic) -> None:
        if not isinstance(statistic, Top):
            raise PrivacyError(
                f"{option('mechanism', self.name)} publishes only who is first; add {option('only_top')}, or choose "
                "another mechanism"
            )
        if not 1 <= self.k < len(promise.items):
            raise PrivacyError(
                f"{option('only_top')} must be a whole number from 1 to {len(promise.items) - 1}, one less than the "
                f"items; got {option('only_top', self.k)}"
            )
        range_reach(promise, statistic, self.keeps(promise, statistic)[1])

    def keeps(self, promise: Promise, statistic: Statistic) -> tuple[Promise, Clip | None]:
        """People are bounded by L, or where that is better or was asked for, clipped to C."""
        pure = promise if self.gumbel else promise.changed(delta=0.0)
        if promise.privacy.unit is Unit.COMPARISON:
            return pure, None
        if promise.privacy.clip is not None:
            return pure, Clip(Fraction(promise.privacy.clip), statistic.norm(promise))
        norm = default_clip(promise, statistic)
        clip, bounded = Clip(Fraction(norm), statistic.norm(promise)), range_reach(promise, statistic, None)
        if range_reach(promise, statistic, clip) > WORTH_CLIPPING * float(bounded):
            return pure, None
        return pure.changed(clip=norm), clip

    def noise_for(self, promise: Promise, statistic: Statistic, clip: Clip | None, votes: int | None) -> Calibrated:
        reach, step = range_reach(promise, statistic, clip), promise.half_vote
        scale = selection_scale(self.k, math.ceil(reach / step), self._price(promise), gumbel=self.gumbel)
        noise = TopNoise(self.k, scale, self.gumbel)
        cost = self._cost(noise, math.ceil(reach / step), promise)
        figures: dict[str, Figure] = {
            "sensitivity": float(reach), "norm": "range", "scale": scale * float(step), "top": float(self.k)
        }  # fmt: skip
        law = SelectionLaw(len(promise.items), self.k, scale * float(step), self.gumbel)
        stated = replace(cost, epsilon=promise.privacy.epsilon, delta=promise.privacy.delta)
        return Calibrated(self, promise, statistic, noise, step, law, stated, tuple(figures.items()), clip=clip)

    def loss(self, calibrated: Calibrated) -> Cost:
        noise, promise = calibrated.noise, calibrated.promise
        if not isinstance(noise, TopNoise) or noise.gumbel is not self.gumbel or noise.k != self.k:
            raise AssertionError(f"{noise} does not select the first {self.k} by {self.name}")
        if calibrated.clip is not None and calibrated.clip.squares != calibrated.statistic.norm(promise):
            raise AssertionError("people are clipped in another norm than that of the statistic")
        steps = math.ceil(range_reach(promise, calibrated.statistic, calibrated.clip) / calibrated.step)
        return self._cost(noise, steps, promise)

    def _price(self, promise: Promise) -> float:
        """What the noise is calibrated to: ε."""
        return as_written(promise.privacy.epsilon)

    def _cost(self, noise: TopNoise, steps: int, promise: Promise) -> Cost:
        """k rounds of ε/k-DP: ε, and k·(ε/k)²/2 in zCDP; not k·(ε/k)²/8, because the range is not bounded by ε/k."""
        epsilon = selection_loss(noise, steps)
        return Cost(epsilon, 0.0, epsilon**2 / (2 * self.k) * SLACK)

    def charged_as(self, statistic: Statistic) -> str:
        return f"{self.name}, the first {self.k} by {'wins' if statistic == TOP_BY_WINS else 'net wins'}"


@dataclass(frozen=True)
class PermuteAndFlip(Selection):
    """Items in random order, each accepted with probability exp(−gap/scale); k rounds at ε/k."""

    name: ClassVar[str] = "permute-and-flip"
    about: ClassVar[str] = "selects the first few and publishes no counts"


@dataclass(frozen=True)
class Exponential(Selection):
    """Each round chooses an item with probability ∝ exp(count/scale): its range is bounded by R/scale, so a round
    costs (R/scale)²/8 in zCDP (Cesar and Rogers 2021), and k of them one draw of Gumbel noise."""

    name: ClassVar[str] = "exponential"
    about: ClassVar[str] = "the same for many items, for delta above 0"
    gumbel: ClassVar[bool] = True

    def require(self, promise: Promise, statistic: Statistic) -> None:
        super().require(promise, statistic)
        if promise.privacy.delta == 0:
            raise PrivacyError(
                f"{option('mechanism', self.name)} needs {option('delta')} above 0; add {option('delta', '1e-6')}, or "
                f"use {option('mechanism', 'permute-and-flip')}"
            )

    def _price(self, promise: Promise) -> float:
        """The ρ that is (ε, δ)-DP."""
        return rho_for(as_written(promise.privacy.epsilon), as_written(promise.privacy.delta))

    def _cost(self, noise: TopNoise, steps: int, promise: Promise) -> Cost:
        rho, epsilon = selection_loss(noise, steps), as_written(promise.privacy.epsilon)
        return Cost(epsilon, delta_of(rho, epsilon), rho)


def range_reach(promise: Promise, statistic: Statistic, clip: Clip | None) -> Fraction:
    """R in votes: the largest range of a change, summed over the tallies it is spread over; never too small."""
    if not isinstance(statistic, Top):
        raise PrivacyError(f"selection does not release {statistic}; it releases the top by net wins or by wins")
    if clip is None:
        return promise.reach(lambda change: statistic.range(change, promise))
    # Over tallies that share one clip, Σ_g range_g ≤ √G·(range of norm)·C by the inequality of Cauchy and Schwarz.
    square = promise.spread * clip.norm**2
    return promise.reach(lambda change: root_above(statistic.range_of_norm(change) * square))


def root_above(square: Fraction) -> Fraction:
    """√ rounded up, towards privacy, to a multiple of 2^-30."""
    grain = 2**30
    root = math.isqrt(math.floor(square * grain**2))
    return Fraction(root if root * root == square * grain**2 else root + 1, grain)


@dataclass(frozen=True)
class SelectionLaw(Law):
    """How a choice is made, as noise on counts: the largest sum of count and noise wins a round. Exponential noise
    does what permute-and-flip does (Ding et al. 2021), fresh for every round; Gumbel noise is drawn once for all."""

    items: int
    k: int
    scale: float
    gumbel: bool = False

    @property
    def size(self) -> float:
        return self.scale

    def of_size(self, size: float) -> SelectionLaw:
        return replace(self, scale=size)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "gumbel" if self.gumbel else "exponential", "scale": self.scale, "top": self.k}

    @property
    def spread(self) -> Spread:
        """Of one round."""
        deviation = self.scale * (math.pi / math.sqrt(6) if self.gumbel else 1.0)
        return Spread(deviation, deviation, 0.0, 2.4 if self.gumbel else 6.0)

    @property
    def rounds(self) -> int:
        """How often noise is drawn."""
        return 1 if self.gumbel else self.k

    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        shape = draws, self.rounds * self.items
        return rng.gumbel(0, self.scale, shape) if self.gumbel else rng.exponential(self.scale, shape)

    def chosen(self, counts: Floats, noise: Floats) -> Integers:
        """The k places that come out, a row for each row of counts and of sampled noise."""
        by_round = noise.reshape(len(noise), self.rounds, self.items)
        left, rows = np.array(counts, dtype=np.float64), np.arange(len(counts))
        places = np.empty((len(counts), self.k), dtype=np.int64)
        for turn in range(self.k):
            places[:, turn] = (left + by_round[:, min(turn, self.rounds - 1)]).argmax(axis=1)
            left[rows, places[:, turn]] = -np.inf
        return places


PERMUTE_AND_FLIP = PermuteAndFlip()
EXPONENTIAL = Exponential()
