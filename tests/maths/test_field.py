"""The fast all-pairs sums against the direct ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietrank.arrays import Floats
from quietrank.maths import field
from quietrank.maths.field import ERROR_BOUND, CellField, DenseField

ROUNDING = 1e-14  # of the direct sums themselves, relative to the total mass


def points(seed: int, n: int, shape: str, spread: float) -> Floats:
    rng = np.random.default_rng(seed)
    theta = {
        "normal": lambda: rng.standard_normal(n),
        "clusters": lambda: rng.choice([-1.0, 0.0, 0.3], n) + 1e-9 * rng.standard_normal(n),
        "ties": lambda: np.round(rng.standard_normal(n), 1),
        "heavy": lambda: rng.standard_cauchy(n),
    }[shape]()
    return np.asarray(spread * theta)


def relative_errors(theta: Floats, mass: Floats) -> Floats:
    fast, direct = CellField.at(theta).pull_and_slope(mass), DenseField.at(theta).pull_and_slope(mass)
    worst = [np.abs(f - d).max() for f, d in zip(fast, direct, strict=True)]
    return np.asarray(np.array(worst) / np.abs(mass).sum())


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 300),
    shape=st.sampled_from(["normal", "clusters", "ties", "heavy"]),
    spread=st.sampled_from([1e-8, 0.3, 2.0, 50.0, 1e4, 1e12]),
    signed=st.booleans(),
    zeros=st.floats(0, 0.9),
)
def test_sums_keep_the_stated_bound(seed: int, n: int, shape: str, spread: float, signed: bool, zeros: float) -> None:
    """|fast − direct| ≤ ERROR_BOUND · Σ|m| for any spread, clusters, ties, signs and zero masses."""
    rng = np.random.default_rng(seed + 1)
    mass = rng.standard_normal(n) if signed else rng.random(n)
    mass[rng.random(n) < zeros] = 0
    mass[0] = 1
    assert np.all(relative_errors(points(seed, n, shape, spread), mass) <= ERROR_BOUND + ROUNDING)


def test_bound_is_small_and_covers_the_worst_pair() -> None:
    """For single pairs at all distances, inside and across cells, the bound holds and is at most 1e-10."""
    assert ERROR_BOUND <= 1e-10
    gaps = np.concatenate([np.linspace(0, 3, 301), np.linspace(3, 45, 211)])
    mass = np.zeros(gaps.size)
    mass[0] = 1
    for left in np.linspace(0, 0.4999, 11):
        for theta in (left + gaps, left - gaps):
            assert np.all(relative_errors(theta, mass) <= ERROR_BOUND + ROUNDING)


def test_bound_would_catch_too_few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With three nodes fewer the sums break the bound of the ten: the test above is able to fail."""
    theta = np.linspace(0, 5, 400)
    mass = np.zeros(400)
    mass[100] = 1
    assert np.all(relative_errors(theta, mass) <= ERROR_BOUND)
    monkeypatch.setattr(field, "NODES", 7)
    field._tables.cache_clear()
    try:
        assert relative_errors(theta, mass).max() > ERROR_BOUND
    finally:
        field._tables.cache_clear()


def test_slope_alone_is_the_same_slope() -> None:
    """slope(m) is the second result of pull_and_slope(m), for both fields."""
    theta, mass = points(3, 200, "normal", 3.0), np.random.default_rng(3).random(200)
    for kind in (CellField, DenseField):
        at = kind.at(theta)
        np.testing.assert_allclose(at.slope(mass), at.pull_and_slope(mass)[1], rtol=1e-13)


def test_pulls_balance() -> None:
    """Σ_i m_i Σ_j m_j u(θ_i − θ_j) = 0: what one item gains another loses."""
    theta, mass = points(4, 5000, "heavy", 2.0), np.random.default_rng(4).random(5000)
    pull = CellField.at(theta).pull_and_slope(mass)[0]
    assert abs(mass @ pull) <= 1e-13 * mass.sum() ** 2


def test_order_of_points_does_not_matter() -> None:
    """Shuffled points give the shuffled sums."""
    theta, mass = np.sort(points(5, 3000, "normal", 4.0)), np.random.default_rng(5).random(3000)
    shuffle = np.random.default_rng(6).permutation(3000)
    ordered = np.array(CellField.at(theta).pull_and_slope(mass))
    shuffled = np.array(CellField.at(theta[shuffle]).pull_and_slope(mass[shuffle]))
    np.testing.assert_allclose(shuffled, ordered[:, shuffle], atol=1e-13 * mass.sum())
