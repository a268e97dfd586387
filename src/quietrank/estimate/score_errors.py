"""`Sources` of error in, the `Error` of Bradley–Terry scores out, also of those of the perturbed MLE.

A score follows from the rate at which an item wins against its opponents, along the curve of the model. Intervals are
made for the rate and carried over: the curve is steep where an item hardly ever wins or loses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quietrank.arrays import Floats
from quietrank.estimate.errors import Error, Rates, TieModel, tie_free, typical
from quietrank.estimate.sources import (
    SEED,
    NoError,
    Sources,
    centred_inverse,
    exposures,
    given_design,
    laplacian,
    require_connected,
)
from quietrank.maths.davidson import tie
from quietrank.maths.links import Link
from quietrank.mechanisms.perturbed_mle.mechanism import ScoresLaw
from quietrank.mechanisms.scatter import Around
from quietrank.promise.privacy import Design


def scores(sources: Sources) -> Error:
    """Linearised: θ̂ + γH⁺θ̂ − θ ≈ H⁺(error of s), H the curvature without the ridge, whose bias is undone."""
    noisy, theta, met = sources.noisy, sources.estimate.scores, sources.met
    s, gamma = noisy.net_wins, sources.estimate.gamma
    assert s is not None
    assert gamma is not None
    require_connected(met)
    estimate, difference = sources.estimate, _differences(theta)
    expected = estimate.model.cdf(difference) - 0.5
    square = 0.25 if estimate.nu is None else tie_free(estimate, difference)
    sampling, factor, notes = sources.sampling(*given_design(sources, met, expected, square))
    of_s, curvature = sampling + sources.of_net_wins, met * (square - expected**2)
    if noisy.privacy.design is Design.PUBLIC:
        d, of_d = met.sum(axis=1), np.zeros((1, sources.n))
    else:
        d, of_d = exposures(sources)
        of_s = of_s - _of_others(met * expected, d, of_d)
    inverse, of_ties = _inverse(curvature), None
    if estimate.nu is not None:
        known = _tie_model(met, tie(difference, estimate.nu), expected, inverse, noisy.privacy.design is Design.PUBLIC)
        of_log = known.of_log_nu(sources, factor, of_d, of_s - sampling - of_d * (s / d))
        of_s, of_ties, notes = of_s - of_log[:, None] * known.bent, of_log * known.information, (*notes, TIES_ALIKE)
    noise = typical((of_s - sampling - of_d * (s / d)) @ inverse)
    own = curvature.sum(axis=1)
    draws, rates = _of_scores(_Model(met, theta, estimate.model), s - s.mean(), d, of_s, of_d, inverse, own)
    return Error(theta + gamma * (inverse @ theta), draws, noise, factor, notes, rates, of_ties)


TIES_ALIKE = (
    "For the interval of the chance of a tie it is assumed that the ties of one person hang together as much as their "
    "other answers do."
)


def _tie_model(met: Floats, chance: Floats, expected: Floats, inverse: Floats, pairs_known: bool) -> TieModel:
    bent, total = -(met * chance * expected).sum(axis=1), float(met.sum()) / 2
    information, share = float((met * chance * (1 - chance)).sum()) / 2, float((met * chance).sum()) / 2 / total
    return TieModel(bent, information, total, share, bent @ inverse, pairs_known)


def _differences(theta: Floats) -> Floats:
    """θ_i − θ_j, as far as it matters: beyond, one of the two always wins, and there would be no curvature left."""
    return np.clip(theta[:, None] - theta, -FARTHEST, FARTHEST)


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
    # Nobody's score is known beyond half a vote lost, of as many as there may have been.
    most = 0.5 - 0.5 / np.maximum(d + 2 * of_d.std(axis=0), 2.0)
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


def released_scores(sources: Sources) -> Error:
    """Scores of the perturbed MLE: as if s − w had been released, w the noise inside; and the seal was added."""
    law, theta, n = sources.noisy.law, sources.estimate.scores, sources.n
    assert isinstance(law, ScoresLaw)
    plan, (met, note) = law.plan, _stated_design(sources, law)
    difference = _differences(theta)
    curvature = met * plan.link.curvature(difference)
    sampling, factor, notes = sources.sampling(laplacian(curvature), Around.PAIRS)
    rng = np.random.default_rng(SEED)
    inside = rng.laplace(0, plan.lambda_, (sources.draws, n))
    seal = rng.laplace(0, plan.seal_scale * float(plan.step), (sources.draws, n))
    of_s = sampling - inside + seal @ (laplacian(curvature) + plan.gamma * np.eye(n))
    s = (met * (plan.link.cdf(difference) - 0.5)).sum(axis=1) + plan.gamma * theta
    inverse, d = _inverse(curvature), met.sum(axis=1)
    centre = theta + plan.gamma * (inverse @ theta)
    model = _Model(met, centre, plan.link)  # opponents without the pull of the ridge
    noise = typical((of_s - sampling) @ inverse)
    own = curvature.sum(axis=1)
    draws, rates = _of_scores(model, s - s.mean(), d, of_s, np.zeros((1, n)), inverse, own)
    return Error(centre, draws, noise, factor, (*note, *notes), rates)


def _stated_design(sources: Sources, law: ScoresLaw) -> tuple[Floats, tuple[str, ...]]:
    """M where it is public, else the same for all pairs: from the number of votes, public or declared."""
    n, per_item = sources.n, law.per_item or law.declared
    if sources.noisy.public_pairs is not None:
        require_connected(sources.met)
        return sources.met, ()
    if per_item is None:
        raise NoError("There are no intervals: the number of votes is not public, and none was declared.")
    note = f"For the intervals it is assumed that every pair met equally often, {per_item / (n - 1):.3g} times."
    return (np.ones((n, n)) - np.eye(n)) * (per_item / (n - 1)), (note,)


def _inverse(weights: Floats) -> Floats:
    """The pseudo-inverse of the Laplacian of these weights of pairs, which connect all items."""
    return centred_inverse(laplacian(weights), float(weights.sum()))
