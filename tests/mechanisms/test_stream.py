"""The noise of boards: the factor in whole numbers, its reach, and what boards and changes have of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb, sqrt

import numpy as np
import pytest

from quietrank.errors import PrivacyError
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.horizon import GRID, STEP
from quietrank.mechanisms.stream import Factor, GaussianBoardNoise
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Promise
from quietrank.statistics.net_wins import NET_WINS_AND_EXPOSURES

ITEMS = Items(tuple(f"m{k}" for k in range(20)))
PRIVACY = Privacy(2, "person", delta=1e-6, clip=3)


def noise(factor: Factor, **changes: object) -> GaussianBoardNoise:
    return GaussianBoardNoise.calibrated(Promise(PRIVACY.changed(**changes), ITEMS), factor)


def matrix(factor: Factor) -> np.ndarray:
    """R̃, as the definition has it."""
    T, r = factor.horizon, factor.roots
    return np.array([[int(r[t - j]) if t >= j else 0 for j in range(T)] for t in range(T)], dtype=object)


@pytest.mark.parametrize("window", [None, 1, 7, 30])
def test_the_roots_are_those_of_the_sums(window: int | None) -> None:
    """R̃² is the matrix of sums, up to the rounding of r; r itself is C(2k, k)/4^k."""
    factor = Factor(60, window)
    r = factor.roots / GRID
    squared = np.convolve(r, r)[:60]
    sums = np.arange(60) < (60 if window is None else window)
    assert np.abs(squared - sums).max() < 60 / GRID
    if window is None:
        assert [int(k) for k in factor.roots] == [round(Fraction(GRID * comb(2 * k, k), 4**k)) for k in range(60)]


@pytest.mark.parametrize("factor", [Factor(1), Factor(9), Factor(9, 3), Factor(40, 12)])
def test_no_column_is_longer_than_the_first(factor: Factor) -> None:
    """S is the square of the longest column, and G is R̃ᵀR̃ over the whole horizon, in whole numbers."""
    R, T = matrix(factor), factor.horizon
    G = R.T @ R
    assert factor.square == max(G[t, t] for t in range(T)) == G[0, 0]
    for day in range(1, T + 1):
        assert factor.gram(day) == [G[day - 1, u] for u in range(day)]


@pytest.mark.parametrize("factor", [Factor(50), Factor(50, 10)])
def test_boards_are_read_back_by_the_rounded_roots(factor: Factor) -> None:
    """Without noise, what is read back is the sum, to the last digits; with r itself it would not be."""
    x = np.random.default_rng(1).integers(-9, 9, 50)
    y = (matrix(factor) @ x).astype(float) / GRID
    width = 50 if factor.window is None else factor.window
    for t in (0, 9, 10, 49):
        board = factor.reading[: t + 1][::-1] @ y[: t + 1]
        assert board == pytest.approx(x[max(0, t + 1 - width) : t + 1].sum(), abs=1e-9)
        assert factor.in_all[: t + 1][::-1] @ y[: t + 1] == pytest.approx(x[: t + 1].sum(), abs=1e-9)


def test_the_noise_of_a_year() -> None:
    """Over a single Gaussian release at the same C: 1.72 on day 1, 2.51 on day 30, 2.94 on day 365; changes over a day
    and a week have less noise than a board, over a month more; a year of weeks 2.32."""
    factor = Factor(365)
    single = GAUSSIAN.calibrate(Promise(PRIVACY, ITEMS), NET_WINS_AND_EXPOSURES).noise_sd
    year = noise(factor)
    assert [year.spread(t) / single for t in (1, 30, 365)] == pytest.approx([1.716, 2.514, 2.944], rel=1e-3)
    changes = [year.spread_of_days(365 - g, 365) / single for g in (1, 7, 30)]
    assert changes == pytest.approx([1.94, 2.71, 3.17], rel=3e-3)
    assert noise(Factor(52)).spread(52) / single == pytest.approx(2.3225, rel=1e-3)


@pytest.mark.parametrize("factor", [Factor(20), Factor(20, 5)])
def test_the_spread_is_that_of_what_is_read_back(factor: Factor) -> None:
    """Of boards, and of the sum of some days: from the matrices."""
    R = matrix(factor).astype(float) / GRID
    A = np.tril(np.ones((20, 20)))
    boards = (A if factor.window is None else A - np.tril(np.ones((20, 20)), -factor.window)) @ np.linalg.inv(R)
    in_all = A @ np.linalg.inv(R)
    made = noise(factor)
    for t, g in ((20, 1), (20, 7), (11, 10), (6, 6)):
        assert made.spread(t) / made.sigma == pytest.approx(np.linalg.norm(boards[t - 1]))
        start = in_all[t - g - 1] if t > g else np.zeros(20)
        assert made.spread_of_days(t - g, t) / made.sigma == pytest.approx(np.linalg.norm(in_all[t - 1] - start))


def test_a_window_pays_for_its_signs() -> None:
    """Where r has negative entries, exposures may become negative, and a person who is replaced moves twice C√S."""
    assert Factor(50).is_positive
    assert not Factor(50, 5).is_positive
    window, whole = noise(Factor(50, 5)), noise(Factor(50))
    assert window.reach == 4 * window.most
    assert whole.reach == 4 / (1 + 4 * whole.statistic.beta**2) * whole.most
    assert noise(Factor(50, 5), neighbours="add-remove").reach == window.most


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_the_loss_is_the_promise(neighbours: str) -> None:
    """Recomputed from the reach it is ε and δ, nearly all of it; with a little less noise it is more."""
    made = noise(Factor(30), neighbours=neighbours)
    assert made.loss.epsilon == 2
    assert 0.999e-6 < made.loss.delta <= 1e-6
    assert made.cost.covers(made.loss)
    assert replace(made, scale=made.scale * 0.99).loss.delta > 1e-6
    assert made.sigma == pytest.approx(sqrt(made.reach) / sqrt(2 * (made.loss.rho or 0)))
    assert made.scale * float(STEP) == made.sigma


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unit": "comparison", "clip": None}, "protects people"),
        ({"clip": None, "max_per_person": 5}, "bounded by clip .*leave max_per_person out"),
        ({"clip": 5000}, "at most 1024"),
    ],
)
def test_what_a_board_does_not_promise_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(PrivacyError, match=message):
        noise(Factor(30), **changes)


@pytest.mark.parametrize(("horizon", "window"), [(0, None), (4001, None), (10, 11), (10, 0)])
def test_a_horizon_and_a_window_have_limits(horizon: int, window: int | None) -> None:
    with pytest.raises(PrivacyError, match="whole number from 1"):
        Factor(horizon, window)
