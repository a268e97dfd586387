"""A `NoisyTally` and its `Estimate` in; draws of what they are off by out: the noise, and the sample of people.

The noise was drawn from a public law. The people, or votes, are a sample: the covariance of their net wins has the
shape that independent votes would give it, and the size that the scatter says, because the votes of one person hang
together. docs/uncertainty.md derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.sparse import csgraph

from quietrank.arrays import Floats
from quietrank.estimate.methods import Estimate, around_of, design_of
from quietrank.estimate.noisy import JointScatter, NoisyTally, kept_share
from quietrank.maths.scores import PublicDesign, RankOneDesign, rank_one_weights
from quietrank.mechanisms.mechanism import Law
from quietrank.mechanisms.scatter import Around, largest_square
from quietrank.promise.privacy import Design, GroupOf, Unit
from quietrank.promise.promise import Promise
from quietrank.statistics.method import Method
from quietrank.statistics.statistic import Reading

LEAST_TRACE = 1e-9
"""of a covariance, in votes²: without votes nothing varies"""

SEED = 2025
"""All draws are of public laws; a fixed seed makes the same tally give the same intervals every time."""


class NoError(Exception):
    """There is nothing to say about the error, for this reason."""


@dataclass(frozen=True, eq=False)
class Sources:
    """What an estimate may be off by, as draws: the noise, and the sample of people."""

    noisy: NoisyTally
    estimate: Estimate
    draws: int

    @property
    def n(self) -> int:
        return len(self.noisy.items)

    @property
    def of_net_wins(self) -> Floats:
        """Draws of the noise on net wins."""
        assert self.noise.net_wins is not None
        return self.noise.net_wins

    @cached_property
    def noise(self) -> Reading:
        """Draws of the noise on what was released."""
        law = self.noisy.law
        draws = min(self.draws, law.most_draws or self.draws)
        unit = _noise_of_one(law.of_size(1.0), draws)
        return self.noisy.statistic.read(np.resize(unit, (self.draws, unit.shape[1])) * law.size, 1.0)

    @property
    def of_other_votes(self) -> Floats:
        """Standard normal draws for what the sample does to a number of its own, beside the net wins."""
        return np.random.default_rng(SEED + 100).normal(size=self.draws)

    def sampling(
        self, shape: Floats, around: Around, measured: float | None = None
    ) -> tuple[Floats, float, tuple[str, ...]]:
        """Draws of the sampling error of net wins, the factor φ, and what was assumed; `shape` is the covariance that
        independent votes would give them, or the variances alone, and `measured` the trace of the covariance around
        what the scatter was measured around, if that is another one."""
        values, vectors = np.linalg.eigh(shape) if shape.ndim == 2 else (shape, None)
        root = np.sqrt(np.maximum(values, 0.0))
        independent = max(float(np.square(root).sum()) if measured is None else measured, LEAST_TRACE)
        trace, notes = self._trace(independent, around)
        normal = np.random.default_rng(SEED + 1).normal(size=(self.draws, self.n)) * root
        factor = trace / independent
        sampling = (normal if vectors is None else normal @ vectors.T) * np.sqrt(factor)[:, None]
        return sampling, float(np.median(factor)), notes

    def _trace(self, independent: float, around: Around) -> tuple[Floats, tuple[str, ...]]:
        """Draws of the trace of the sampling covariance, and what was assumed; `independent`: if votes were that."""
        noisy, people, scatter = self.noisy, self.noisy.people, self.noisy.scatter
        if (joint := noisy.scatter_of_groups) is not None:
            return self._added_up(joint), (AS_ONE,) if joint.group_of is GroupOf.VOTE else ()
        if scatter is not None:
            most = math.inf if people is None else people * scatter.most
            values = _between(scatter.value, scatter.scale, most, self.draws)
            if scatter.around is Around.ZERO:
                return self._centred(values), ()
            return values, (EQUAL_VOTES,) if around is Around.ZERO else ()
        if noisy.privacy.unit is Unit.COMPARISON:
            return np.full(self.draws, independent), (INDEPENDENT_VOTES,)
        if has_limit(noisy) and people is not None:
            square = largest_square(Promise(noisy.privacy, noisy.items), None)
            return self._centred(np.full(self.draws, people * float(square))), (AT_MOST.format(self._why),)
        return np.full(self.draws, independent), (INDEPENDENT_ANSWERS.format(self._why),)

    @property
    def _why(self) -> str:
        """Why it is not known how much the votes of people vary."""
        return "what was bought could not be measured" if self.noisy.unmeasured else "nothing was spent on knowing"

    def _added_up(self, joint: JointScatter) -> Floats:
        """Σ‖Σ_g r_g‖² over people: where each is in one group, the sum of the groups' Σ‖r_g‖².

        Otherwise what one person said in several groups may hang together; √Σ‖Σ_g r_g‖² ≤ Σ_g √Σ‖r_g‖² however it does.
        """
        each = np.array(
            [_between(one.value, one.scale, math.inf, self.draws, k) for k, one in enumerate(joint.scatters)]
        )
        return np.asarray(each.sum(axis=0) if joint.group_of is GroupOf.PERSON else np.sqrt(each).sum(axis=0) ** 2)

    def _centred(self, values: Floats) -> Floats:
        """Σ‖x − mean‖² from Σ‖x‖², where the number of people is known."""
        noisy, s = self.noisy, self.noisy.net_wins
        if not noisy.people or s is None:
            return values
        square = max(0.0, float(s @ s) - len(s) * noisy.law.spread.net_wins**2)
        return np.maximum(values - square / noisy.people, 0.0)

    @cached_property
    def met(self) -> Floats:
        """M, how often each pair met; once each where nothing is known about it."""
        n, noisy = self.n, self.noisy
        if noisy.exposure is None and noisy.public_pairs is None:
            return np.ones((n, n)) - np.eye(n)
        design = design_of(noisy)
        if noisy.exposure is not None and self.estimate.method is not Method.BRADLEY_TERRY:
            design = RankOneDesign(noisy.exposure)  # counts and rates use no pairs, whether or not these were saved
        if isinstance(design, PublicDesign):
            met = np.zeros((n, n))
            np.add.at(met, (design.i, design.j), design.counts)
            return met + met.T
        a = rank_one_weights(design, n)
        return np.outer(a, a) - np.diag(a * a)


def has_limit(noisy: NoisyTally) -> bool:
    """Whether it is known how much the votes of people can vary at most, and real people come near it."""
    return noisy.privacy.one_per_pair and noisy.people is not None


EQUAL_VOTES = "For the intervals it is assumed that people cast about equally many votes."
AS_ONE = (
    "For the intervals over all groups it is assumed that what a person said in one group hangs together with what "
    "they said in another as much as it can: these intervals are rather too wide than too narrow."
)
AT_MOST = "For the intervals it is assumed that each person's answers hang together as much as answers can: {}."
INDEPENDENT_VOTES = (
    "For the intervals votes are taken to be independent: where people cast several, intervals are too narrow."
)
INDEPENDENT_ANSWERS = (
    "For the intervals the votes of one person are taken to be independent, which they seldom are: {}, so intervals "
    "may be too narrow."
)


@lru_cache(maxsize=16)
def _noise_of_one(law: Law, draws: int) -> Floats:
    return law.sample(np.random.default_rng(SEED), draws)


def _between(value: float, scale: float, most: float, draws: int, place: int = 0) -> Floats:
    """Draws of what a scalar from 0 to `most` may be, of which Laplace noise of this scale has left `value`."""
    value = min(max(value, -30 * scale), most + 30 * scale)
    low, high = _below(-value / scale), 1.0 if math.isinf(most) else _below((most - value) / scale)
    p = low + (high - low) * np.random.default_rng(SEED + 2 + place).random(draws)
    z = np.where(p < 0.5, np.log(2 * p), -np.log(2 * (1 - p)))
    return np.clip(value + scale * z, 0.0, most)


def _below(z: float) -> float:
    return math.exp(z) / 2 if z < 0 else 1 - math.exp(-z) / 2


# ---- who met whom ---------------------------------------------------------------------------------------------------


def given_design(
    sources: Sources, met: Floats, expected: Floats, square: Floats | float = 0.25
) -> tuple[Floats, Around]:
    """The covariance of the net wins of independent votes, given what the method takes as known about who met whom.

    `expected` is p − ½ of each pair, `square` the mean of (y − ½)², which is below ¼ where ties have a model. One vote
    adds (y − ½)(e_i − e_j). Given the pairs its covariance is the variance of y times (e_i − e_j)(e_i − e_j)ᵀ; else the
    pair varies as well, around T votes in all, or around the exposures.
    """
    around = around_of(sources.noisy, sources.estimate.method)
    if around is Around.PAIRS:
        return laplacian(met * (square - expected**2)), around
    s, d = (met * expected).sum(axis=1), met.sum(axis=1)
    if around is Around.VOTES:
        return laplacian(met * square) - 2 * np.outer(s, s) / d.sum(), around
    u = s / d
    shape = met * (expected * (u[:, None] - u) + np.outer(u, u) - square)
    return shape + np.diag((met * square).sum(axis=1) - d * u**2), around


def exposures(sources: Sources) -> tuple[Floats, Floats]:
    """d as far as it is known, and draws of its error."""
    noisy, n, noise = sources.noisy, sources.n, sources.noise
    exposure = noisy.exposure
    assert exposure is not None
    if noisy.public_exposure is not None:
        return np.maximum(exposure, 1.0), np.zeros((1, n))
    if noisy.privacy.design is Design.UNIFORM:
        shown, of_total = noisy.items.shown, np.zeros((1, 1))
        if noisy.public_total is None and noise.total is not None:
            of_total = noise.total[:, None]
        elif noisy.public_total is None and noise.exposure is not None:
            of_total = noise.exposure.sum(axis=1, keepdims=True) / shown
        total = max(noisy.counted_total or 0.0, 1.0)
        return np.full(n, shown * total / n), np.repeat(shown * of_total / n, n, axis=1)
    assert noise.exposure is not None
    assert noisy.released_exposure is not None
    sd = noisy.law.spread.exposure
    least = max(float(exposure.mean()), 1.0)  # exposures vary at least like counts, whatever the noise has left of it
    kept = kept_share(noisy.released_exposure, sd)
    if noisy.met is not None and sources.estimate.method is Method.BRADLEY_TERRY:
        # The design took so much noise away from exposures as they now differ from what was released.
        exposure = sources.met.sum(axis=1)
        taken = (noisy.released_exposure - exposure) / noise.exposure.std(axis=0)
        kept = 1 - float(np.square(taken - taken.mean()).mean())
    kept = max(kept, least / (least + sd**2))
    mean = noise.exposure.mean(axis=1, keepdims=True)
    return np.maximum(exposure, 1.0), mean + math.sqrt(kept) * (noise.exposure - mean)


def require_connected(met: Floats) -> None:
    if csgraph.connected_components(met > 0, directed=False)[0] > 1:
        raise NoError("There are no intervals: some items never met the others, directly or through others.")


def laplacian(weights: Floats) -> Floats:
    return np.asarray(np.diag(weights.sum(axis=1)) - weights)


def centred_inverse(matrix: Floats, trace: float) -> Floats:
    """The pseudo-inverse of a matrix whose kernel are the constant vectors: J/n, the projection on these, is added
    before it is inverted, at the size of a typical eigenvalue, and taken out again."""
    n, size = len(matrix), trace / len(matrix) or 1.0
    return np.asarray(np.linalg.inv(matrix + size / n) - 1 / (size * n))
