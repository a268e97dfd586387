"""The likelihood of best–worst sets: Z, its gradient and Hessian against their definitions, and the minimiser."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from quietrank.arrays import Floats
from quietrank.maths.sets import Sets, fit_sets, minimise


def _sets(rng: np.random.Generator, n: int = 7, k: int = 12, most: int = 4) -> Sets:
    places = np.full((k, most), -1)
    for row in places:
        m = int(rng.integers(2, most + 1))
        row[:m] = np.sort(rng.permutation(n)[:m])
    return Sets(n, places, rng.integers(1, 9, k).astype(float))


def _log_z(theta: Floats, items: list[int]) -> float:
    return float(logsumexp([theta[i] - theta[j] for i, j in itertools.permutations(items, 2)]))


def test_z_is_the_sum_over_all_answers() -> None:
    """(Σe^θ)(Σe^−θ) − m is the sum over ordered pairs, also where scores are far apart."""
    rng = np.random.default_rng(1)
    for spread in (0.0, 1.0, 30.0, 300.0):
        sets, theta = _sets(rng), rng.normal(size=7) * spread
        expected = [_log_z(theta, row[row >= 0].tolist()) for row in sets.places]
        assert sets.at(theta).log_z == pytest.approx(expected, rel=1e-12)


def test_the_gradient_and_the_hessian_are_those_of_the_likelihood() -> None:
    """By central differences, of ½ Σ c ln Z."""
    rng, h = np.random.default_rng(2), 1e-5
    sets, theta = _sets(rng), rng.normal(size=7)
    at = sets.at(theta)
    for k in range(7):
        unit = np.eye(7)[k] * h
        above, below = sets.at(theta + unit), sets.at(theta - unit)
        assert at.expected[k] == pytest.approx((above.value - below.value) / (2 * h), abs=1e-7)
        assert at.curvature[k] == pytest.approx((above.expected - below.expected) / (2 * h), abs=1e-6)


def test_expected_net_wins_and_their_covariance_are_those_of_the_model() -> None:
    """E x = ½∇ln Z and Cov x = ¼∇²ln Z, x = ½(e_best − e_worst), summed over all answers to one set."""
    theta, items = np.array([0.3, -1.1, 0.8, 0.1]), [0, 1, 2, 3]
    answers = list(itertools.permutations(items, 2))
    chance = np.exp([theta[i] - theta[j] for i, j in answers])
    chance /= chance.sum()
    x = np.array([(np.eye(4)[i] - np.eye(4)[j]) / 2 for i, j in answers])
    at = Sets(4, np.array([items]), np.ones(1)).at(theta)
    assert at.expected == pytest.approx(chance @ x)
    assert at.curvature / 2 == pytest.approx((x.T * chance) @ x - np.outer(chance @ x, chance @ x))


def test_the_minimiser_has_no_gradient_and_recovers_the_scores() -> None:
    """At the net wins that the model expects of some scores, a small ridge gives these scores back."""
    rng = np.random.default_rng(3)
    sets, theta = _sets(rng, k=60), rng.normal(size=7)
    theta -= theta.mean()
    fitted = fit_sets(sets.at(theta).expected, sets, gamma=1e-9, noise_sd=0.0, noise_kurtosis=0.0)
    assert fitted.theta == pytest.approx(theta, abs=1e-6)
    s = rng.normal(size=7) * 40  # beyond what votes can give: the ridge holds it
    found, norm = minimise(s - s.mean(), sets, 0.5)
    assert norm < 1e-5
    assert sets.at(found).expected - (s - s.mean()) + 0.5 * found == pytest.approx(np.zeros(7), abs=1e-5)


def test_two_items_are_a_bradley_terry_model_of_twice_the_scores() -> None:
    sets = Sets(2, np.array([[0, 1]]), np.array([10.0]))
    fitted = fit_sets(np.array([2.0, -2.0]), sets, gamma=1e-9, noise_sd=0.0, noise_kurtosis=0.0)
    assert 2 * (fitted.theta[0] - fitted.theta[1]) == pytest.approx(np.log(7 / 3), abs=1e-6)


def test_pairs_shown_together_add_up_to_one_vote_per_set() -> None:
    sets = _sets(np.random.default_rng(4))
    assert sets.met.sum() / 2 == pytest.approx(sets.counts.sum())
    assert sets.exposure.sum() == pytest.approx((sets.sizes * sets.counts).sum())
