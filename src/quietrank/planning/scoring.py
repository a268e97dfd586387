"""Simulated counts and unit noise in, the scores of a release out: noisy tallies as the mechanisms make them.

The estimators are those of real releases. Only the ridge of Bradley–Terry scores, which every release chooses from its
own noisy counts, is chosen once for all repetitions: that choice takes most of the time, and varies little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log
from statistics import median
from typing import Literal

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.errors import PrivacyError, option
from quietrank.estimate.methods import Estimate, bradley_terry, estimate
from quietrank.estimate.noisy import NoisyTally
from quietrank.mechanisms.laplace import LAPLACE, LaplaceLaw
from quietrank.mechanisms.mechanism import Calibrated, Law, PublicPairs
from quietrank.planning.survey import Counts, pair_ends
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design
from quietrank.promise.promise import Promise
from quietrank.statistics.method import Method, statistic_for
from quietrank.statistics.statistic import Statistic

GAMMA_SAMPLES = 5
NO_PRIVACY = "no privacy"
BLOCK = 500_000
"""About how many scores are worked on at a time."""
LARGEST_VALUE = 2.0**62
"""Counts are held in 64-bit integers."""


@dataclass(frozen=True, eq=False)
class Noise:
    """Draws of unit size, to be scaled and used in turn."""

    unit: Floats
    size: float

    @property
    def draws(self) -> int | None:
        """After how many repetitions the noise repeats; None where there is no noise."""
        return len(self.unit) if self.size > 0 else None

    def rows(self, block: slice) -> Floats:
        return np.asarray(self.unit[np.arange(block.start, block.stop) % len(self.unit)] * self.size)


@dataclass(frozen=True, eq=False)
class Maker:
    """Turns exact counts into noisy tallies, and noisy tallies into scores."""

    promise: Promise
    statistic: Statistic
    step: Fraction
    share: Fraction
    mechanism: str
    epsilon: float
    law: Law

    @classmethod
    def of(cls, noise: Calibrated) -> Maker:
        epsilon = noise.privacy.epsilon
        return cls(noise.promise, noise.statistic, noise.step, noise.share, noise.mechanism.name, epsilon, noise.law)

    @classmethod
    def exact(cls, promise: Promise, method: Method) -> Maker:
        """Without noise: a law of size 0."""
        statistic = statistic_for(method, promise, LAPLACE.statistics, free_total=True)
        law = LaplaceLaw(statistic, len(promise.items), 0.0, sum_zero=False)
        return cls(promise, statistic, promise.half_vote, Fraction(1), NO_PRIVACY, inf, law)

    @property
    def items(self) -> Items:
        return self.promise.items

    @property
    def entries(self) -> int:
        return self.statistic.size(len(self.items))

    @property
    def noise_sd(self) -> float:
        """Of what items are ranked by, in votes."""
        return self.statistic.ranked_by(self.law.spread)

    def scores(self, method: Method, counts: Counts, noise: Noise) -> Iterator[tuple[slice, Floats]]:
        """Blocks of repetitions and their scores; counts are divided by the mean exposure, to read as win rates."""
        gamma: float | Literal["auto"] = "auto"
        if method is Method.BRADLEY_TERRY:
            gamma = _typical_gamma(self._tallies(counts, noise, slice(0, min(GAMMA_SAMPLES, len(counts.wins)))))
        mean = float(2 * counts.total.mean() / len(self.items))
        for block in blocks(*counts.wins.shape):
            tallies = self._tallies(counts, noise, block)
            yield block, np.array([_on_scale(estimate(tally, method, gamma), mean) for tally in tallies])

    def _tallies(self, counts: Counts, noise: Noise, block: slice) -> list[NoisyTally]:
        some = counts.rows(block)
        rows = zip(self._values(some, noise.rows(block)), some.exposure, some.total, strict=True)
        return [self._tally(*row, _met(some, place)) for place, row in enumerate(rows)]

    def _values(self, counts: Counts, noise: Floats) -> Integers:
        """The noisy statistic in lattice steps."""
        per_vote = np.full(self.entries, 1 / float(self.step))
        per_vote[len(self.items) :] *= float(self.share)
        steps = np.rint((np.column_stack(self.statistic.parts(counts)) + noise) * per_vote)
        if not np.abs(steps).max() < LARGEST_VALUE:
            raise PrivacyError(f"at {option('epsilon', self.epsilon)} the noise drowns any count; give a larger one")
        return np.asarray(steps, dtype=np.int64)

    def _tally(self, values: Integers, exposure: Floats, total: float, pairs: PublicPairs | None) -> NoisyTally:
        public = self.promise.privacy.design is Design.PUBLIC
        return NoisyTally(
            items=self.items,
            privacy=self.promise.privacy,
            statistic=self.statistic,
            values=values,
            step=self.step,
            share=self.share,
            mechanism=self.mechanism,
            figures=(),
            law=self.law,
            public_exposure=exposure if public else None,
            public_total=float(total) if self.promise.total_is_public else None,
            public_pairs=pairs,
            rows_skipped=False,
        )


def blocks(rows: int, columns: int) -> Iterator[slice]:
    """All rows, some at a time."""
    step = max(1, BLOCK // columns)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _met(counts: Counts, row: int) -> PublicPairs | None:
    """The pairs that met, if they were saved: only a public design with Bradley–Terry scores needs them."""
    if not counts.pairs:
        return None
    met = counts.pairs[row]
    return PublicPairs(*pair_ends(counts.wins.shape[1], met.pair), met.weight)


def _typical_gamma(tallies: list[NoisyTally]) -> float:
    return exp(median(log(bradley_terry(tally, "auto").gamma) for tally in tallies))


def _on_scale(estimated: Estimate, exposure: float) -> Floats:
    """Scores, or counts on the scale of win rates."""
    if estimated.method is Method.NET_WINS:
        return np.asarray(0.5 + estimated.scores / exposure)
    return np.asarray(estimated.scores / exposure) if estimated.method is Method.WINS else estimated.scores
