"""A `NoisyTally` and its `Estimate` in, the `Error` of the estimate out: draws from what is public about it.

An estimate is off for two reasons. The noise was drawn from a public law. The people, or votes, are a sample: the
covariance of their net wins has the shape that independent votes would give it, and the size that the scatter says,
because the votes of one person hang together. docs/uncertainty.md derives it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.sparse import csgraph

from quietrank.arrays import Floats
from quietrank.estimate.methods import Estimate, around_of, design_of
from quietrank.estimate.noisy import NoisyTally, kept_share
from quietrank.maths.links import LOGISTIC, Link
from quietrank.maths.scores import PublicDesign, RankOneDesign, rank_one_weights
from quietrank.mechanisms.mechanism import Law
from quietrank.mechanisms.perturbed_mle.mechanism import ScoresLaw
from quietrank.mechanisms.scatter import Around, largest_square
from quietrank.promise.privacy import Design, Unit
from quietrank.promise.promise import Promise
from quietrank.statistics.method import Method
from quietrank.statistics.statistic import Reading

MOST_DENSE, MOST_ITEMS = 1000, 20_000
"""For more items than the first no n-by-n matrix is formed, and the errors of two items are taken as independent; for
more than the second, nothing is said."""

LEAST_TRACE = 1e-9
"""of a covariance, in votes²: without votes nothing varies"""

SEED = 2025
"""All draws are of public laws; a fixed seed makes the same tally give the same intervals every time."""


class NoError(Exception):
    """There is nothing to say about the error, for this reason."""


@dataclass(frozen=True, eq=False)
class Rates:
    """Estimates that are functions of win rates ½ + s/d: s and d of each item, and draws of what they are off by.

    Intervals are made for the rates and carried over, so that they hold however uncertain d is, and however curved the
    function: a score is far off where a rate comes close to 0 or 1.
    """

    net_wins: Floats
    exposure: Floats
    of_net_wins: Floats
    of_exposure: Floats
    value: Callable[[Floats], Floats] = lambda u: 0.5 + u
    """s/d of each item in, what is estimated out; increasing"""


@dataclass(frozen=True, eq=False)
class Error:
    """Estimates, and draws of what they are off by, a row each; in the order of the items."""

    centre: Floats
    draws: Floats
    noise_sd: float
    """of a typical estimate: what is off on purpose"""
    factor: float | None
    """φ: how many times as much as independent votes the votes vary"""
    notes: tuple[str, ...]
    """what was assumed"""
    rates: Rates | None = None
    """what intervals are made from, where that is better than the draws"""

    def relative_to(self, item: int) -> Error:
        """The same for the differences to one item."""
        centre, draws = self.centre - self.centre[item], self.draws - self.draws[:, item, None]
        return replace(self, centre=centre, draws=draws, rates=None)


def error_of(noisy: NoisyTally, estimate: Estimate, draws: int) -> Error:
    """What the estimate is off by; raises NoError with the reason where that cannot be said."""
    sources = _Sources(noisy, estimate, draws)
    if len(noisy.items) > MOST_DENSE:
        return _of_many(sources)
    if noisy.scores is not None:
        return _released_scores(sources)
    of_method = {Method.NET_WINS: _net_wins, Method.WIN_RATE: _win_rates, Method.BRADLEY_TERRY: _scores}
    if estimate.method not in of_method:
        raise NoError("Win counts carry no intervals; rank by net wins, win rates or scores for these.")
    return of_method[estimate.method](sources)


# ---- where errors come from -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sources:
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

    def sampling(self, shape: Floats, around: Around) -> tuple[Floats, float, tuple[str, ...]]:
        """Draws of the sampling error of net wins, the factor φ, and what was assumed; `shape` is the covariance that
        independent votes would give them, or the variances alone."""
        values, vectors = np.linalg.eigh(shape) if shape.ndim == 2 else (shape, None)
        root = np.sqrt(np.maximum(values, 0.0))
        independent = max(float(np.square(root).sum()), LEAST_TRACE)
        trace, notes = self._trace(independent, around)
        normal = np.random.default_rng(SEED + 1).normal(size=(self.draws, self.n)) * root
        factor = trace / independent
        sampling = (normal if vectors is None else normal @ vectors.T) * np.sqrt(factor)[:, None]
        return sampling, float(np.median(factor)), notes

    def _trace(self, independent: float, around: Around) -> tuple[Floats, tuple[str, ...]]:
        """Draws of the trace of the sampling covariance, and what was assumed; `independent`: if votes were that."""
        noisy, people, scatter = self.noisy, self.noisy.people, self.noisy.scatter
        if scatter is not None:
            most = math.inf if people is None else people * scatter.most
            values = _between(scatter.value, scatter.scale, most, self.draws)
            if scatter.around is Around.ZERO:
                return self._centred(values), ()
            return values, (EQUAL_VOTES,) if around is Around.ZERO else ()
        if noisy.privacy.unit is Unit.COMPARISON:
            return np.full(self.draws, independent), (INDEPENDENT_VOTES,)
        if _has_limit(noisy) and people is not None:
            square = largest_square(Promise(noisy.privacy, noisy.items), None)
            return self._centred(np.full(self.draws, people * float(square))), (AT_MOST,)
        return np.full(self.draws, independent), (INDEPENDENT_ANSWERS,)

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


def _has_limit(noisy: NoisyTally) -> bool:
    """Whether it is known how much the votes of people can vary at most, and real people come near it."""
    return noisy.privacy.one_per_pair and noisy.people is not None


EQUAL_VOTES = "For the intervals it is assumed that people cast about equally many votes."
AT_MOST = (
    "For the intervals it is assumed that each person's answers hang together as much as answers can: nothing was "
    "spent on knowing."
)
INDEPENDENT_VOTES = (
    "For the intervals votes are taken to be independent: where people cast several, intervals are too narrow."
)
INDEPENDENT_ANSWERS = (
    "For the intervals the votes of one person are taken to be independent, which they seldom are: nothing was spent "
    "on knowing, so intervals may be too narrow."
)


@lru_cache(maxsize=16)
def _noise_of_one(law: Law, draws: int) -> Floats:
    return law.sample(np.random.default_rng(SEED), draws)


def _between(value: float, scale: float, most: float, draws: int) -> Floats:
    """Draws of what a scalar from 0 to `most` may be, of which Laplace noise of this scale has left `value`."""
    value = min(max(value, -30 * scale), most + 30 * scale)
    low, high = _below(-value / scale), 1.0 if math.isinf(most) else _below((most - value) / scale)
    p = low + (high - low) * np.random.default_rng(SEED + 2).random(draws)
    z = np.where(p < 0.5, np.log(2 * p), -np.log(2 * (1 - p)))
    return np.clip(value + scale * z, 0.0, most)


def _below(z: float) -> float:
    return math.exp(z) / 2 if z < 0 else 1 - math.exp(-z) / 2


# ---- the error of each kind of estimate -----------------------------------------------------------------------------


def _net_wins(sources: _Sources) -> Error:
    noisy, s = sources.noisy, sources.noisy.net_wins
    assert s is not None
    if noisy.privacy.clip is not None:
        raise NoError("Net wins of clipped votes carry no intervals for all people; rank by win rates or scores.")
    if noisy.scatter is None and noisy.total is None and not _has_limit(noisy):
        raise NoError("There are no intervals: the number of votes is not known.")
    shape = _laplacian(sources.met / 4)
    if noisy.total is not None:
        shape = shape * (noisy.total / 2 / np.trace(shape))
    sampling, factor, notes = sources.sampling(shape, Around.ZERO)
    factor_known = factor if noisy.total is not None else None
    noise = sources.of_net_wins
    return Error(s, sampling + noise, _typical(noise), factor_known, notes)


def _typical(draws: Floats) -> float:
    """The standard deviation of the error of an item in the middle."""
    return float(np.median(draws.std(axis=0)))


def _win_rates(sources: _Sources) -> Error:
    """½ + s/d, linear in both errors: (error of s − u·error of d)/d with u = s/d."""
    s = sources.noisy.net_wins
    assert s is not None
    d, of_d = _exposures(sources)
    u = np.clip(s / d, -0.5, 0.5)
    expected = np.clip((u[:, None] - u) * (1 - 1 / sources.n), -0.45, 0.45)
    sampling, factor, notes = sources.sampling(*_given_design(sources, sources.met, expected))
    of_s = sampling + sources.of_net_wins
    noise = _typical((sources.of_net_wins - u * of_d) / d)
    return Error(0.5 + s / d, (of_s - u * of_d) / d, noise, factor, notes, Rates(s, d, of_s, of_d))


def _given_design(sources: _Sources, met: Floats, expected: Floats) -> tuple[Floats, Around]:
    """The covariance of the net wins of independent votes, given what the method takes as known about who met whom.

    `expected` is p − ½ of each pair. One vote adds (y − ½)(e_i − e_j). Given the pairs its covariance is p(1 − p) times
    (e_i − e_j)(e_i − e_j)ᵀ; else the pair varies as well, around T votes in all, or around the exposures.
    """
    around = around_of(sources.noisy.privacy.design, sources.estimate.method)
    if around is Around.PAIRS:
        return _laplacian(met * (0.25 - expected**2)), around
    s, d = (met * expected).sum(axis=1), met.sum(axis=1)
    if around is Around.VOTES:
        return _laplacian(met / 4) - 2 * np.outer(s, s) / d.sum(), around
    u = s / d
    shape = met * (expected * (u[:, None] - u) + np.outer(u, u) - 0.25)
    return shape + np.diag(d * (0.25 - u**2)), around


def _exposures(sources: _Sources) -> tuple[Floats, Floats]:
    """d as far as it is known, and draws of its error."""
    noisy, n, noise = sources.noisy, sources.n, sources.noise
    exposure = noisy.exposure
    assert exposure is not None
    if noisy.public_exposure is not None:
        return np.maximum(exposure, 1.0), np.zeros((1, n))
    if noisy.privacy.design is Design.UNIFORM:
        of_total = np.zeros((1, 1))
        if noisy.public_total is None and noise.total is not None:
            of_total = noise.total[:, None]
        elif noisy.public_total is None and noise.exposure is not None:
            of_total = noise.exposure.sum(axis=1, keepdims=True) / 2
        total = max(noisy.counted_total or 0.0, 1.0)
        return np.full(n, 2 * total / n), np.repeat(2 * of_total / n, n, axis=1)
    assert noise.exposure is not None
    assert noisy.released_exposure is not None
    sd = noisy.law.spread.exposure
    least = max(float(exposure.mean()), 1.0)  # exposures vary at least like counts, whatever the noise has left of it
    kept = max(kept_share(noisy.released_exposure, sd), least / (least + sd**2))
    mean = noise.exposure.mean(axis=1, keepdims=True)
    return np.maximum(exposure, 1.0), mean + math.sqrt(kept) * (noise.exposure - mean)


def _scores(sources: _Sources) -> Error:
    """Linearised: θ̂ + γH⁺θ̂ − θ ≈ H⁺(error of s), H the curvature without the ridge, whose bias is undone."""
    noisy, theta, met = sources.noisy, sources.estimate.scores, sources.met
    s, gamma = noisy.net_wins, sources.estimate.gamma
    assert s is not None
    assert gamma is not None
    _require_connected(met)
    expected = LOGISTIC.cdf(theta[:, None] - theta) - 0.5
    sampling, factor, notes = sources.sampling(*_given_design(sources, met, expected))
    of_s, curvature = sampling + sources.of_net_wins, met * (0.25 - expected**2)
    if noisy.privacy.design is Design.PUBLIC:
        d, of_d = met.sum(axis=1), np.zeros((1, sources.n))
    else:
        d, of_d = _exposures(sources)
        of_s = of_s - _of_others(met * expected, d, of_d)
    inverse = _inverse(curvature)
    noise = _typical((of_s - sampling - of_d * (s / d)) @ inverse)
    own = curvature.sum(axis=1)
    draws, rates = _of_scores(_Model(met, theta, LOGISTIC), s - s.mean(), d, of_s, of_d, inverse, own)
    return Error(theta + gamma * (inverse @ theta), draws, noise, factor, notes, rates)


def _of_others(expected: Floats, d: Floats, of_d: Floats) -> Floats:
    """What the errors of other items' exposures add to Σ_j M_ij(p_ij − ½), where M_ij is about d_i d_j/Σd."""
    total = of_d.sum(axis=1, keepdims=True)
    return np.asarray((of_d / d) @ expected.T - total * expected.sum(axis=1) / d.sum())


@dataclass(frozen=True, eq=False)
class _Model:
    """Who met whom, and the scores of all items: what one item's score follows from, given those of the others."""

    met: Floats
    theta: Floats
    link: Link

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """Scores, and at each of them, for every item (row), the win rate minus ½ against its opponents."""
        share = self.met / self.met.sum(axis=1, keepdims=True)
        low, high = self.theta.min() - FARTHEST, self.theta.max() + FARTHEST
        scores = np.linspace(low, high, min(MOST_STEPS, int((high - low) / STEP) + 2))
        rates = np.stack([(share @ self.link.cdf(score - self.theta)) - 0.5 for score in scores], axis=1)
        return scores, rates

    def score(self, u: Floats) -> Floats:
        """The score at which each item wins ½ + u against its opponents; items are the last axis."""
        scores, rates = self._table
        columns = [np.interp(u[..., k], rates[k], scores) for k in range(len(self.theta))]
        return np.stack(columns, axis=-1)


def _of_scores(
    model: _Model, s: Floats, d: Floats, of_s: Floats, of_d: Floats, inverse: Floats, own: Floats
) -> tuple[Floats, Rates]:
    """Draws of the errors of scores, and of the rates that their intervals are made from; `inverse` is H⁺, `own` is
    the diagonal of H.

    H⁺(error of s) is right where the curve from rates to scores is straight. For intervals, what the others are off by
    is added: an item that hardly ever wins may be much lower still, and as scores are centred, all others higher.
    """
    most = 0.5 - 0.5 / np.maximum(d, 2.0)  # nobody's score is known beyond half a vote lost
    u = np.clip(s / d, -most, most)
    draws = (of_s - u * of_d) @ inverse
    far = np.maximum(np.abs(u), RARE)
    bent = model.score(np.clip(u + draws * (own / d), -far, far)) - model.score(u) - draws
    others = -(bent.sum(axis=1, keepdims=True) - bent) / len(u)
    rates = Rates(s, d, (draws + others) * own + u * of_d, of_d, lambda u: model.score(np.clip(u, -most, most)))
    return draws, rates


RARE = 0.48
"""Draws of a win rate minus ½ stop here: how far a score may be beyond is not a matter of noise any more."""

FARTHEST, STEP, MOST_STEPS = 12.0, 0.125, 1000
"""Beyond this distance from all other scores an item wins or loses but once in a hundred thousand."""


def _released_scores(sources: _Sources) -> Error:
    """Scores of the perturbed MLE: as if s − w had been released, w the noise inside; and the seal was added."""
    law, theta, n = sources.noisy.law, sources.estimate.scores, sources.n
    assert isinstance(law, ScoresLaw)
    plan, (met, note) = law.plan, _stated_design(sources, law)
    difference = theta[:, None] - theta
    curvature = met * plan.link.curvature(difference)
    sampling, factor, notes = sources.sampling(_laplacian(curvature), Around.PAIRS)
    rng = np.random.default_rng(SEED)
    inside = rng.laplace(0, plan.lambda_, (sources.draws, n))
    seal = rng.laplace(0, plan.seal_scale * float(plan.step), (sources.draws, n))
    of_s = sampling - inside + seal @ (_laplacian(curvature) + plan.gamma * np.eye(n))
    s = (met * (plan.link.cdf(difference) - 0.5)).sum(axis=1) + plan.gamma * theta
    inverse, d = _inverse(curvature), met.sum(axis=1)
    centre = theta + plan.gamma * (inverse @ theta)
    model = _Model(met, centre, plan.link)  # opponents without the pull of the ridge
    noise = _typical((of_s - sampling) @ inverse)
    own = curvature.sum(axis=1)
    draws, rates = _of_scores(model, s - s.mean(), d, of_s, np.zeros((1, n)), inverse, own)
    return Error(centre, draws, noise, factor, (*note, *notes), rates)


def _stated_design(sources: _Sources, law: ScoresLaw) -> tuple[Floats, tuple[str, ...]]:
    """M where it is public, else the same for all pairs: from the number of votes, public or declared."""
    n, per_item = sources.n, law.per_item or law.declared
    if sources.noisy.public_pairs is not None:
        _require_connected(sources.met)
        return sources.met, ()
    if per_item is None:
        raise NoError("There are no intervals: the number of votes is not public, and none was declared.")
    note = f"For the intervals it is assumed that every pair met equally often, {per_item / (n - 1):.3g} times."
    return (np.ones((n, n)) - np.eye(n)) * (per_item / (n - 1)), (note,)


def _of_many(sources: _Sources) -> Error:
    """The same without a matrix: every item against all others as they are on the whole."""
    noisy, n, estimate = sources.noisy, sources.n, sources.estimate
    s, method = noisy.net_wins, estimate.method
    if n > MOST_ITEMS:
        raise NoError(f"There are no intervals for more than {MOST_ITEMS} items.")
    if s is None or noisy.public_pairs is not None or method is Method.WINS:
        raise NoError(f"There are no intervals for more than {MOST_DENSE} items, ranked like this.")
    if method is Method.NET_WINS:
        return _many_net_wins(sources, s)
    d, of_d = _exposures(sources)
    u = np.clip(s / d, -0.5, 0.5)
    sampling, factor, notes = sources.sampling(d * (0.25 - u**2), around_of(noisy.privacy.design, method))
    of_s, notes = sampling + sources.of_net_wins - u * of_d, (*notes, *_few_opponents(method))
    if method is Method.WIN_RATE:
        noise = _typical((sources.of_net_wins - u * of_d) / d)
        return Error(0.5 + s / d, of_s / d, noise, factor, notes, Rates(s, d, of_s + u * of_d, of_d))
    theta, gamma = estimate.scores, estimate.gamma or 0.0
    opponents = np.quantile(theta, (np.arange(OPPONENTS) + 0.5) / OPPONENTS)
    own = d * LOGISTIC.curvature(theta[:, None] - opponents).mean(axis=1)
    noise = _typical((of_s - sampling) / own)
    return Error(theta * (1 + gamma / own), of_s / own, noise, factor, notes)


def _many_net_wins(sources: _Sources, s: Floats) -> Error:
    noisy = sources.noisy
    if noisy.privacy.clip is not None or not (noisy.scatter or noisy.total or _has_limit(noisy)):
        return _net_wins(sources)  # which says why there is nothing to say
    d = np.ones(sources.n) if noisy.exposure is None else np.maximum(noisy.exposure, 1.0)
    sampling, factor, notes = sources.sampling(d / 4, Around.ZERO)
    noise = sources.of_net_wins
    return Error(s, sampling + noise, _typical(noise), None if noisy.exposure is None else factor, notes)


OPPONENTS = 200
"""scores that stand for those of all items, where there are many"""


def _few_opponents(method: Method) -> tuple[str, ...]:
    if method is not Method.BRADLEY_TERRY:
        return ()
    return ("For the intervals it is assumed that every item met opponents of all strengths.",)


def _require_connected(met: Floats) -> None:
    if csgraph.connected_components(met > 0, directed=False)[0] > 1:
        raise NoError("There are no intervals: some items never met the others, directly or through others.")


# ---- linear algebra -------------------------------------------------------------------------------------------------


def _laplacian(weights: Floats) -> Floats:
    return np.asarray(np.diag(weights.sum(axis=1)) - weights)


def _inverse(weights: Floats) -> Floats:
    """The pseudo-inverse of the Laplacian of these weights of pairs, which connect all items."""
    n, size = len(weights), float(weights.sum()) / len(weights) or 1.0
    return np.asarray(np.linalg.inv(_laplacian(weights) + size / n) - 1 / (size * n))
