"""How far a ranking is off, by hand and with ties in the truth."""

from __future__ import annotations

import numpy as np
import pytest

from quietrank.planning.measures import Truth, error_of_mean, error_of_median, measure, ranks, win_rates

THETA = np.array([[3.0, 2.0, 1.0, 0.0]])
TRUTH = Truth.of(THETA, as_odds=True)


@pytest.mark.parametrize(
    ("scores", "top_k", "rank", "winner"),
    [
        ([4, 3, 2, 1], 0.0, 0.0, 1.0),
        ([1, 2, 3, 4], 1.0, 2.0, 0.0),
        ([3, 4, 1, 2], 0.0, 1.0, 0.0),
        ([4, 1, 3, 2], 0.5, 1.0, 1.0),
    ],
)
def test_errors_by_hand(scores: list[float], top_k: float, rank: float, winner: float) -> None:
    found = measure(np.array([scores], dtype=float), TRUTH, 2)
    assert (found.top_k_error[0], found.rank_error[0], found.winner[0]) == (top_k, rank, winner)


def test_equal_strengths_may_come_in_any_order() -> None:
    """Three equal items: no order among them is an error, and two of them fill the top two."""
    truth = Truth.of(np.array([[1.0, 1.0, 1.0, 0.0]]), as_odds=True)
    for scores in ([3, 2, 1, 0], [1, 2, 3, 0], [2, 1, 3, 0]):
        found = measure(np.array([scores], dtype=float), truth, 2)
        assert (found.top_k_error[0], found.rank_error[0], found.winner[0]) == (0, 0, 1)
    found = measure(np.array([[3.0, 2.0, 0.0, 2.5]]), truth, 2)
    assert (found.top_k_error[0], found.rank_error[0]) == (0.5, (2 + 1) / 4)  # the last is second, an equal one fourth


def test_score_errors_are_on_the_scale_of_the_method() -> None:
    rates = win_rates(THETA)
    assert rates.mean() == pytest.approx(0.5)
    assert rates[0, 0] == pytest.approx(np.mean([1 / (1 + np.exp(-d)) for d in (1, 2, 3)]))
    assert measure(rates + 0.1, Truth.of(THETA, as_odds=False), 1).score_error[0] == pytest.approx(0.1)
    assert measure(THETA - 1.5 + 0.2, TRUTH, 1).score_error[0] == pytest.approx(0.2)


def test_a_coin_decides_between_equal_scores() -> None:
    """Not the place in the list: every item is first about equally often."""
    first = np.bincount(np.argmin(ranks(np.zeros((4000, 4))), axis=1), minlength=4)
    assert (abs(first - 1000) < 5 * 27.4).all()


def test_many_items_have_the_win_rates_of_few() -> None:
    """The sums without pairs agree with the sums over pairs."""
    theta = np.random.default_rng(1).normal(0, 2, (1, 1500))
    beats = 1 / (1 + np.exp(theta[0][None, :] - theta[0][:, None]))
    np.testing.assert_allclose(win_rates(theta)[0], (beats.sum(axis=1) - 0.5) / 1499, rtol=1e-9)


def test_the_error_of_a_mean_counts_shared_noise_once() -> None:
    """Forty draws used five times each are forty independent values, not two hundred."""
    draws = np.random.default_rng(2).normal(size=40)
    assert error_of_mean(np.tile(draws, 5), 40, 0.0) == pytest.approx(draws.std(ddof=1) / 40**0.5)
    assert error_of_mean(draws, 1000, 0.0) == pytest.approx(draws.std(ddof=1) / 40**0.5)


def test_the_errors_of_mean_and_median_are_those_of_repeated_simulations() -> None:
    """Two thousand simulations of two hundred exponential values: both standard errors to a few per cent."""
    values = np.random.default_rng(3).exponential(size=(2000, 200))
    means, medians = values.mean(axis=1), np.median(values, axis=1)
    assert np.mean([error_of_mean(row, 200, 0.0) for row in values]) == pytest.approx(means.std(), rel=0.06)
    assert np.mean([error_of_median(row, 200) for row in values]) == pytest.approx(medians.std(), rel=0.06)


def test_what_never_happened_may_still_happen() -> None:
    """A thousand right winners prove 99.6 %, ten prove 60 %."""
    assert error_of_mean(np.ones(1000), 1000, 1.0) == pytest.approx(0.002)
    assert error_of_mean(np.ones(10), 10, 1.0) == pytest.approx(0.2)
