"""Tests of the error measures."""

import numpy as np
import pytest

from quietrank.paper import metrics

THETA = np.array([1.0, 0.5, -0.5, -1.0])
COIN = np.array([0.1, 0.2, 0.3, 0.4])


def test_log_relative_errors_of_zero_scores_are_zero() -> None:
    """Saying 0 for every strength is an error of 100 %, whose logarithm is 0."""
    assert metrics.log_rel_l2(np.zeros(4), THETA) == pytest.approx(0)
    assert metrics.log_rel_linf(np.zeros(4), THETA) == pytest.approx(0)


def test_log_relative_linf_is_the_worst_item() -> None:
    """One item off by half the largest strength gives ln 1/2."""
    assert metrics.log_rel_linf(THETA + np.array([0.5, 0, 0, 0]), THETA) == pytest.approx(np.log(0.5))


def test_topk_error_counts_the_missing() -> None:
    """One of two top items missed is an error of 1/2."""
    assert metrics.topk_error(THETA, 2, COIN) == 0
    assert metrics.topk_error(np.array([3.0, 0, 2, 1]), 2, COIN) == 0.5
    assert metrics.topk_error(-THETA, 2, COIN) == 1


def test_ties_are_broken_by_the_coin_not_the_position() -> None:
    """With all values equal the top k is random: no credit for the true top coming first."""
    rng = np.random.default_rng(0)
    errors = [metrics.topk_error(np.zeros(8), 2, rng.random(8)) for _ in range(2000)]
    assert np.mean(errors) == pytest.approx(0.75, abs=0.03)


def test_rank_difference_is_the_mean_move() -> None:
    """Swapping first and last of four moves two items by three places."""
    assert metrics.rank_difference(np.array([-1.0, 0.5, -0.5, 1.0]), THETA, COIN) == 6 / 4
    assert metrics.rank_difference(THETA, THETA, COIN) == 0
