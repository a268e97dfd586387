"""Tests of the dense Newton solver of the experiments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietrank.arrays import Floats
from quietrank.errors import SolverError
from quietrank.maths.pairs import Pairs
from quietrank.maths.problem import Problem
from quietrank.maths.solver import solve
from quietrank.paper import dense
from quietrank.paper.data import Duels, graph_duels, strengths, win_probabilities


def library(duels: Duels, noise: Floats, gamma: float) -> Floats:
    i, j = np.nonzero(np.triu(duels.counts, 1))
    pairs = Pairs(duels.n, i.astype(np.int32), j.astype(np.int32), duels.wins[i, j], duels.wins[j, i])
    return solve(Problem(pairs, gamma, linear=noise)).scores


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(3, 40),
    p=st.floats(0.05, 1),
    gamma=st.floats(0.5, 60),
    noise_to_gamma=st.floats(0, 8),  # twice what any experiment has
    seed=st.integers(0, 99),
)
def test_agrees_with_the_library(n: int, p: float, gamma: float, noise_to_gamma: float, seed: int) -> None:
    """Two independent solvers, one minimiser, to 1e-8."""
    rng = np.random.default_rng(seed)
    duels = graph_duels(win_probabilities(strengths(n, rng)), p, rng)
    noise = rng.laplace(size=n) * noise_to_gamma * gamma
    assert np.abs(dense.fit(duels.counts, duels.net_wins - noise, gamma) - library(duels, noise, gamma)).max() < 1e-8


def test_start_does_not_matter() -> None:
    """A warm start changes the time, not the answer."""
    rng = np.random.default_rng(1)
    duels = graph_duels(win_probabilities(strengths(30, rng)), 1.0, rng)
    cold = dense.fit(duels.counts, duels.net_wins, 2.0)
    warm = dense.fit(duels.counts, duels.net_wins, 2.0, start=rng.normal(size=30) * 5)
    assert np.abs(cold - warm).max() < 1e-9


def test_no_finite_scores_is_an_error() -> None:
    """Without a ridge an item that always wins has no finite score."""
    duels = Duels(np.array([[0.0, 2, 2], [0, 0, 1], [0, 1, 0]]))
    with pytest.raises(SolverError):
        dense.fit(duels.counts, duels.net_wins, 0.0)
