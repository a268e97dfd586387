"""Tests of the published methods and of the noise for one answer per pair."""

from math import inf, sqrt

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from quietrank.paper import methods
from quietrank.paper.data import graph_duels, strengths, win_probabilities


def chain(n: int, p: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return methods.transition_matrix(graph_duels(win_probabilities(strengths(n, rng)), p, rng), p)


@pytest.mark.parametrize(("n", "p"), [(8, 1.0), (20, 0.5), (40, 0.9), (60, 1.0)])
def test_ergodicity_is_half_the_largest_row_distance(n: int, p: float) -> None:
    """The fast form equals all pairwise L1 distances taken one by one."""
    matrix = chain(n, p, seed=n)
    assert methods.ergodicity(matrix) == pytest.approx(pdist(matrix, "cityblock").max() / 2)


def test_stationary_distribution_is_stationary() -> None:
    """πP = π, π sums to one, rows of P sum to one."""
    matrix = chain(40, 1.0, seed=3)
    pi = methods.stationary(matrix)
    assert np.allclose(pi @ matrix, pi)
    assert pi.sum() == pytest.approx(1)
    assert np.allclose(matrix.sum(axis=1), 1)


def test_spectral_scores_find_the_strong() -> None:
    """Without noise the stationary distribution orders items by strength, mostly."""
    rng = np.random.default_rng(0)
    theta = strengths(200, rng)
    duels = graph_duels(win_probabilities(theta), 1.0, rng)
    pi = methods.stationary(methods.transition_matrix(duels, 1.0))
    assert np.corrcoef(pi, np.exp(theta))[0, 1] > 0.8


def test_one_shot_scale_is_the_published_one() -> None:
    """8·s·√(k ln n³)/ε with s = 2/(np(1 − ρ)); no noise at ε = ∞, no finite noise at ρ = 1."""
    assert methods.one_shot_scale(100, 25, 1.0, 0.5, 2.0) == pytest.approx(8 * 0.04 * sqrt(25 * 3 * np.log(100)) / 2)
    assert methods.one_shot_scale(100, 25, 1.0, 0.5, inf) == 0
    assert methods.one_shot_scale(100, 25, 1.0, 1.0, 1.0) == inf


def test_edge_ridge_is_the_published_one() -> None:
    """γ = 2√(np log n)."""
    assert methods.edge_ridge(300, 0.5) == pytest.approx(2 * sqrt(150 * np.log(300)))


@pytest.mark.parametrize(("n", "sd"), [(4, 7.0), (6, 16.5)])
def test_zonotope_noise_has_the_designs_size(n: int, sd: float) -> None:
    """Standard deviation per item at ε = 1 as the design page states, and not that of 30 % more noise."""
    rng = np.random.default_rng(1)
    noise = np.array([methods.zonotope_noise(n, 1.0, rng) for _ in range(4000)])
    assert noise.std() == pytest.approx(sd, rel=0.05)
    assert np.abs(noise.sum(axis=1)).max() < 1e-9
