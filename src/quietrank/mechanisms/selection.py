"""A promise and k in, noise that selects the first k items out, in order; nobody pays for the counts of all items.

What permute-and-flip and the exponential mechanism have in common. Both are calibrated to how far apart one unit moves
the counts (statistics/top.py). docs/proofs/selection.md proves the promise.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from quietrank.errors import PrivacyError, either, option
from quietrank.mechanisms.gaussian import LEFT_BY_CLIPPING, default_clip
from quietrank.mechanisms.mechanism import Calibrated, Figure, Law, Mechanism
from quietrank.noise.selection import TopNoise
from quietrank.promise.accounting import Cost
from quietrank.promise.arguments import whole_number
from quietrank.promise.privacy import Neighbours, Unit
from quietrank.promise.promise import Clip, Promise, RangeClip
from quietrank.statistics.statistic import Spread, Statistic
from quietrank.statistics.top import TOP_BY_NET_WINS, TOP_BY_WINS, Top

if TYPE_CHECKING:
    from quietrank.arrays import Floats, Integers

NAMED = either("k", "--only-top")
"""how callers say how many are to be named"""

WORTH_CLIPPING = 0.9
"""People's votes are kept together where that makes R, relative to what is left of their votes, a tenth smaller."""

PART_OF_RANGE = 0.6
"""ρ as a part of a typical person's range: a third to all of it is about as good (benchmarks/top)."""

SIMULATED_PEOPLE, MOST_SIMULATED_VOTES = 600, 2_000


@dataclass(frozen=True)
class Selection(Mechanism):
    """Selection of the first k items."""

    k: int = 1

    statistics: ClassVar[tuple[Statistic, ...]] = (TOP_BY_NET_WINS, TOP_BY_WINS)
    gumbel: ClassVar[bool] = False
    """whether noise is drawn once for all rounds"""

    def of_top(self, k: int) -> Selection:
        """The same for the first k."""
        return replace(self, k=k)

    def require(self, promise: Promise, statistic: Statistic) -> None:
        if not isinstance(statistic, Top):
            raise PrivacyError(
                f"{option('mechanism', self.name)} publishes only who is first; "
                f"{either('use top', 'add --only-top K')}, or choose another mechanism"
            )
        checked_k(self.k, len(promise.items))
        apart_reach(promise, statistic, self.keeps(promise, statistic)[1], self.k)

    def keeps(self, promise: Promise, statistic: Statistic) -> tuple[Promise, Clip | None]:
        """People are bounded by L, and where that is better their votes are kept together; or clipped as requested."""
        pure, privacy = promise if self.gumbel else promise.changed(delta=0.0), promise.privacy
        if privacy.unit is Unit.COMPARISON:
            return pure, None
        if privacy.clip is not None:
            return pure, Clip(Fraction(privacy.clip), statistic.norm(promise))
        clip, left = self._narrower(promise, statistic)
        narrow, bounded = (float(apart_reach(promise, statistic, by, self._rounds)) for by in (clip, None))
        if narrow / left > WORTH_CLIPPING * bounded:
            return pure, None
        return pure if isinstance(clip, RangeClip) else pure.changed(clip=float(clip.norm)), clip

    def _narrower(self, promise: Promise, statistic: Statistic) -> tuple[Clip, float]:
        """How people could be bounded more narrowly than by L, and what that leaves of their votes."""
        in_range = isinstance(statistic, Top) and statistic.apart_in_range(promise.moves[0].change, 1, Fraction(1))
        if in_range:
            together = kept_together(promise)
            return together, left_of(together, promise)
        return Clip(Fraction(default_clip(promise, statistic)), statistic.norm(promise)), LEFT_BY_CLIPPING

    def noise_for(self, promise: Promise, statistic: Statistic, clip: Clip | None, votes: int | None) -> Calibrated:
        reach, step, privacy = apart_reach(promise, statistic, clip, self._rounds), promise.half_vote, promise.privacy
        noise = TopNoise(self.k, self._scale(promise, ceil(reach / step)), self.gumbel)
        loss = self._loss(noise, *self._steps(promise, statistic, clip, step), promise)
        figures: dict[str, Figure] = {
            "sensitivity": float(reach), "norm": "range" if self._rounds == 1 else f"R of {self.k} rounds",
            "scale": noise.scale * float(step), "top": float(self.k),
        }  # fmt: skip
        if isinstance(clip, RangeClip):
            figures["person_range"] = float(clip.norm)
        law = SelectionLaw(len(promise.items), self.k, noise.scale * float(step), self.gumbel)
        cost = replace(loss, epsilon=privacy.epsilon, delta=privacy.delta)
        return Calibrated(self, promise, statistic, noise, step, law, cost, tuple(figures.items()), clip=clip)

    def loss(self, calibrated: Calibrated) -> Cost:
        noise, promise, clip = calibrated.noise, calibrated.promise, calibrated.clip
        if not isinstance(noise, TopNoise) or noise.gumbel is not self.gumbel or noise.k != self.k:
            raise AssertionError(f"{noise} does not select the first {self.k} by {self.name}")
        if isinstance(clip, RangeClip) and clip.limit != promise.privacy.limit:
            raise AssertionError("people are kept together for another limit")
        if clip is not None and not isinstance(clip, RangeClip) and clip.squares != calibrated.statistic.norm(promise):
            raise AssertionError("people are clipped in another norm than that of the statistic")
        return self._loss(noise, *self._steps(promise, calibrated.statistic, clip, calibrated.step), promise)

    def _steps(self, promise: Promise, statistic: Statistic, clip: Clip | None, step: Fraction) -> tuple[int, int]:
        """R of one round and of all, in steps."""
        first, all_rounds = (ceil(apart_reach(promise, statistic, clip, rounds) / step) for rounds in (1, self.k))
        return first, all_rounds

    @property
    @abstractmethod
    def _rounds(self) -> int:
        """For how many rounds together R is taken."""

    @abstractmethod
    def _scale(self, promise: Promise, steps: int) -> float:
        """The scale for R in steps."""

    @abstractmethod
    def _loss(self, noise: TopNoise, first: int, all_rounds: int, promise: Promise) -> Cost:
        """What the noise costs, given R of one round and of all."""

    def charged_as(self, statistic: Statistic) -> str:
        return f"{self.name}, the first {self.k} by {'wins' if statistic == TOP_BY_WINS else 'net wins'}"


def checked_k(k: object, items: int) -> int:
    """How many are named: not all, because who is last would follow."""
    value = whole_number(k)
    if value is None or not 1 <= value < items:
        raise PrivacyError(f"{NAMED} must be a whole number from 1 to {items - 1}, one less than the items; got {k!r}")
    return value


def apart_reach(promise: Promise, statistic: Statistic, clip: Clip | None, rounds: int) -> Fraction:
    """R in votes: how far apart one unit moves the counts, summed over the tallies it changes; never too small."""
    if not isinstance(statistic, Top):
        raise PrivacyError(f"selection does not release {statistic}; it names the top by net wins or by wins")
    if clip is None:
        return promise.reach(lambda change: statistic.apart(change, rounds, promise))
    if isinstance(clip, RangeClip):
        return promise.reach(lambda change: _within(statistic, change, rounds, promise, clip.norm))
    # Over G tallies that share one clip, the sum of their R is at most √G times that of one, by Cauchy and Schwarz.
    square = promise.spread * clip.norm**2
    return promise.reach(lambda change: statistic.apart_in_norm(change, rounds, square))


def _within(statistic: Top, change: Neighbours, rounds: int, promise: Promise, widest: Fraction) -> Fraction:
    """The smaller of both bounds, which both hold."""
    in_range = statistic.apart_in_range(change, rounds, widest)
    if in_range is None:
        raise PrivacyError(f"{statistic} cannot be kept together under {option('neighbours', change)}")
    return min(in_range, statistic.apart(change, rounds, promise))


# ---- how far apart a typical person brings items ---------------------------------------------------------------------


def kept_together(promise: Promise) -> RangeClip:
    """ρ from public values: a part of the range of typical people, to two digits, and at least one vote."""
    limit = promise.privacy.limit
    typical = float(np.median(_ranges(len(promise.items), promise.items.shown, limit)))
    return RangeClip(Fraction(f"{max(1.0, PART_OF_RANGE * typical):.2g}"), (), limit)


def left_of(clip: RangeClip, promise: Promise) -> float:
    """The part of typical people's votes that is left."""
    ranges = _ranges(len(promise.items), promise.items.shown, clip.limit)
    return float(np.minimum(1.0, float(clip.norm) / ranges).mean())


@lru_cache(maxsize=256)
def _ranges(items: int, shown: int, limit: int) -> Floats:
    """max x − min x of people who cast L votes on random pairs, or sets, each by a ranking of their own."""
    votes, rng = min(limit, MOST_SIMULATED_VOTES), np.random.default_rng(1)
    ranges = np.empty(SIMULATED_PEOPLE)
    for person in range(SIMULATED_PEOPLE):
        asked = np.sort(rng.random((votes, shown)), axis=1)  # of a ranking of all, the places of those that are shown
        best, worst = ((place * items).astype(np.int64) for place in (asked[:, 0], asked[:, -1]))
        net = (np.bincount(best, minlength=items) - np.bincount(worst, minlength=items)) / 2
        ranges[person] = max(net.max() - net.min(), 1.0)
    return ranges * (limit / votes)


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
