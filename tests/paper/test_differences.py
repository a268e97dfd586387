"""Tests that each stated difference from the published figures is real."""

from math import log

import numpy as np
import pytest

from quietrank.paper import differences


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_one_noise_vector_understates_the_spread() -> None:
    """Means over repetitions that share their noise differ by many times the standard error stated for them."""
    spread = differences.one_noise_vector(40, 0.5, vectors=12, runs=20, rng=rng())
    assert spread.between > 10 * spread.stated_error
    assert spread.fresh_error > 3 * spread.stated_error


def test_centred_against_uncentred_has_a_floor() -> None:
    """Even the truth itself, centred, is off by about ln 0.8 from the uncentred strengths."""
    assert differences.centring_floor(16, 500, rng()) == pytest.approx(log(0.81), abs=0.02)


def test_partial_sort_misses_a_quarter() -> None:
    """The last k of a partial sort at k miss about a quarter of the top where the k largest miss next to none."""
    wrong, right = differences.partial_sort_errors(16, 2000, 200, rng())
    assert wrong == pytest.approx(0.25, abs=0.04)
    assert right < 0.01


@pytest.mark.parametrize(("n", "limit"), [(2, 1), (3, 2), (3, 3), (4, 2)])
def test_published_count_noise_is_two_epsilon(n: int, limit: int) -> None:
    """Replacing a person moves win counts by 2L in L1, so Laplace(L/ε) loses 2ε."""
    assert differences.win_count_sensitivity(n, limit) == 2 * limit
    assert differences.count_privacy_loss(n, limit, 1.0) == 2.0


def test_density_has_the_determinant_not_its_inverse() -> None:
    """With the power +1 the density integrates to one and predicts the simulation; with −1 it does neither."""
    found = differences.determinant_sign(rng(), draws=2000)
    assert found.mass == pytest.approx(1, abs=1e-3)
    assert found.simulated == pytest.approx(found.with_determinant, abs=0.04)
    assert abs(found.mass_inverse - 1) > 0.3
    assert abs(found.simulated - found.with_inverse / found.mass_inverse) > 0.05
