"""Simulated people in; for each way to publish their votes, the noise and what limits leave on any day, out.

All ways make the same promise:

- a board: one promise for all of its periods;
- separate releases: each period a release of its own of all votes so far. k Gaussian releases at μ/√k each have the
  curve of one at μ (docs/proofs/gaussian.md, section 4), so each of them has √k times the noise of a single one;
- one release, at the end;
- no privacy.

A single release is a board of one period. Whatever may choose its limit C chooses the one of the least expected error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log, sqrt
from typing import Protocol

from quietrank.mechanisms.gaussian import typical_square
from quietrank.mechanisms.stream import Factor, GaussianBoardNoise
from quietrank.planning.crowd import Crowd, People
from quietrank.planning.limits import LimitedVotes, limited_votes
from quietrank.planning.scoring import NO_PRIVACY
from quietrank.planning.survey import Advance
from quietrank.promise.every import Every
from quietrank.promise.promise import Promise

CLIPS = (
    0.5, 0.6, 0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0,
    17.0, 20.0, 24.0, 28.0, 34.0, 40.0, 48.0, 56.0, 64.0, 80.0, 96.0, 112.0, 128.0,
)  # fmt: skip
STRIDE = 4
"""every so many are tried first, and then those about the best of them"""
LEAST_MOST = 4.0
"""tails are heavy"""
FOREVER = 10**6
"""days: one period that never ends"""


@dataclass(frozen=True)
class Expected:
    """What is published on one day, as expected."""

    day: int
    """up to which votes are counted"""
    noise: GaussianBoardNoise | None
    """whose promise, statistic and C it has; None without privacy"""
    noise_sd: float
    """on the net wins of an item, in votes"""
    votes: float
    """that were cast"""
    weight: float
    """of votes that is left"""
    squares: float
    signal: float
    """as in `LimitedVotes`"""

    @classmethod
    def of(
        cls, day: int, noise: GaussianBoardNoise, noise_sd: float, sums: LimitedVotes, period: int, votes: float
    ) -> Expected:
        """From what limits leave of the votes of a sample, for all the votes that are expected."""
        t = period - 1
        if not sums.votes[t] > 0:  # nobody of the sample came so early
            return cls(day, noise, noise_sd, votes, votes, votes, 1.0)
        scale = votes / float(sums.votes[t])
        weight, squares = scale * float(sums.weight[t]), scale * float(sums.squares[t])
        return cls(day, noise, noise_sd, votes, weight, squares, float(sums.signal[t]))

    @property
    def kept(self) -> float:
        """The share of votes that is left."""
        return self.weight / max(self.votes, 1e-300)

    @property
    def noise_per_vote(self) -> float:
        """The noise beside votes as they were cast: σ over the share that is left."""
        return self.noise_sd / max(self.kept, 1e-300)


@dataclass(eq=False)
class Sample:
    """Simulated people, under any promise: what limits leave of their votes is found once."""

    people: People
    crowd: Crowd
    """for which they stand"""
    promise: Promise
    """its C is a placeholder"""
    advance: Advance = lambda amount: None
    _singles: dict[tuple[int, float], tuple[GaussianBoardNoise, LimitedVotes]] = field(default_factory=dict)

    @property
    def items(self) -> int:
        return self.people.items

    def noise(self, horizon: int, clip: float) -> GaussianBoardNoise:
        """The one place where noise is calibrated."""
        return GaussianBoardNoise.calibrated(self.promise.changed(clip=clip), Factor(horizon))

    def clips(self, day: int) -> list[float]:
        """What C may be: up to twice the norm of somebody with the average number of votes up to this day."""
        squares, votes = self.noise(1, CLIPS[0]).clip.squares, self.votes(day) / self.crowd.people
        most = 2 * sqrt(typical_square(max(votes, 1.0), self.items, squares))
        return [clip for clip in CLIPS if clip <= max(most, LEAST_MOST)]

    def votes(self, day: int) -> float:
        """Expected up to a day."""
        return self.crowd.votes * day / self.crowd.days

    def singles(self, day: int, clips: Sequence[float]) -> list[tuple[GaussianBoardNoise, LimitedVotes]]:
        """One release of all votes up to a day, at each C."""
        new = [clip for clip in clips if (day, clip) not in self._singles]
        if new:
            noises = [self.noise(1, clip) for clip in new]
            sums = limited_votes(self.people.until(day), FOREVER, noises)
            self._singles |= {(day, clip): one for clip, one in zip(new, zip(noises, sums, strict=True), strict=True)}
        return [self._singles[day, clip] for clip in clips]


class Way(Protocol):
    """A way to publish."""

    @property
    def name(self) -> str: ...

    @property
    def length(self) -> int:
        """days from one time to the next"""
        ...

    def at(self, day: int) -> Expected:
        """What is there on a day."""
        ...


@dataclass(eq=False)
class OneBoard:
    """A board."""

    sample: Sample
    name: str
    every: Every
    horizon: int
    given: float | None
    """C; None: chosen"""
    days: Sequence[int]
    """on which it should be good"""

    @property
    def length(self) -> int:
        return self.every.days

    def at(self, day: int) -> Expected:
        noise, sums = self._chosen
        period = self._period(day)
        counted, noise_sd = period * self.length, noise.spread(period)
        return Expected.of(counted, noise, noise_sd, sums, period, self.sample.votes(counted))

    def _period(self, day: int) -> int:
        """The last one that is published."""
        return max(1, min(self.horizon, day // self.length))

    @property
    def clip(self) -> float:
        return float(self._chosen[0].promise.privacy.clip or 0)

    @cached_property
    def _chosen(self) -> tuple[GaussianBoardNoise, LimitedVotes]:
        if self.given is not None:
            return self._limited([self.given])[0]
        clips = self.sample.clips(self.sample.crowd.days)
        coarse = self._best(clips[::STRIDE])
        place = clips.index(float(coarse[0].promise.privacy.clip or 0))
        return self._best(clips[max(0, place - STRIDE + 1) : place + STRIDE])

    def _best(self, clips: list[float]) -> tuple[GaussianBoardNoise, LimitedVotes]:
        return min(self._limited(clips), key=lambda one: self._error(*one))

    def _limited(self, clips: list[float]) -> list[tuple[GaussianBoardNoise, LimitedVotes]]:
        noises = [self.sample.noise(self.horizon, clip) for clip in clips]
        return list(
            zip(noises, limited_votes(self.sample.people, self.length, noises, self.sample.advance), strict=True)
        )

    def _error(self, noise: GaussianBoardNoise, sums: LimitedVotes) -> float:
        """The mean of the logarithms of the errors on all days that count."""
        periods = [self._period(day) for day in self.days]
        errors = (sums.error(t, noise.spread(t), self.sample.items) for t in periods)
        return sum(map(log, errors)) / len(periods)


@dataclass(eq=False)
class Releases:
    """So many releases, of which each has all votes so far, and its own best C."""

    sample: Sample
    name: str
    every: Every
    number: int

    @property
    def length(self) -> int:
        return self.every.days

    def at(self, day: int) -> Expected:
        counted = max(1, day // self.length) * self.length
        noise, sums = min(
            self.sample.singles(counted, self.sample.clips(counted)),
            key=lambda one: one[1].error(1, self._noise_sd(one[0]), self.sample.items),
        )
        return Expected.of(counted, noise, self._noise_sd(noise), sums, 1, self.sample.votes(counted))

    def _noise_sd(self, noise: GaussianBoardNoise) -> float:
        return noise.sigma * sqrt(self.number)


@dataclass(eq=False)
class Exact:
    """Everything as it is, for comparison; every night."""

    sample: Sample
    name: str = NO_PRIVACY
    length: int = 1

    def at(self, day: int) -> Expected:
        votes = self.sample.votes(day)
        return Expected(day, None, 0.0, votes, votes, votes, 1.0)
