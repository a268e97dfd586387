"""Losses: exact, against probabilities summed directly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from quietrank.auditing import blackbox, losses
from quietrank.auditing.cases import make_case
from quietrank.maths.links import HYPERBOLIC_SECANT, LOGISTIC, Link
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.noise import lattice, normal
from quietrank.promise.curve import curve_mu
from quietrank.statistics.method import Method
from tests.auditing.helpers import statistics


def test_the_loss_of_laplace_noise_is_the_ratio_of_probabilities() -> None:
    case = make_case(LAPLACE, "comparison", method=Method.WINS, items=2)
    calibrated, one, other = statistics(case)
    assert isinstance(calibrated.noise, lattice.LaplaceNoise)
    outputs = np.array([[5, -3], [0, 1], [1, 1]])

    def log_probability(
        center: np.ndarray[tuple[int], np.dtype[np.int64]],
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.asarray(-np.abs(outputs - center).sum(axis=1) / calibrated.noise.scale)  # type: ignore[attr-defined]

    expected = log_probability(one) - log_probability(other)
    np.testing.assert_allclose(losses.losses(calibrated, one, other, outputs), expected, atol=1e-12)


@pytest.mark.parametrize(("epsilon", "scale"), [(0.3, 2.5), (1.0, 2.5), (2.0, 2.5), (4.0, 0.4), (0.01, 60.0)])
def test_the_tail_of_gaussian_noise_is_that_of_its_density(epsilon: float, scale: float) -> None:
    """The definition of δ(ε), ∫ (p − e^ε·p')⁺, along the line through both statistics."""
    apart = np.array([2, -1])
    x, step = np.linspace(-60 * scale, 60 * scale, 2_000_001, retstep=True)
    p, shifted = (np.exp(-((x - at) ** 2) / (2 * scale**2)) for at in (0.0, math.sqrt(5)))
    direct = np.maximum(0, p - math.exp(epsilon) * shifted).sum() * step / (scale * math.sqrt(2 * math.pi))
    assert losses.gaussian_delta(scale, apart, epsilon) == pytest.approx(direct, rel=1e-6)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 20.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_rounding_only_lowers_the_loss(scale: float, epsilon: float) -> None:
    """δ(ε) of whole numbers, summed over the lattice, is at most that of the real numbers that were rounded to them;
    on a fine lattice it is nearly the same."""
    z, apart = np.arange(-2000, 2001), np.array([3])
    p, shifted = (special.ndtr((z - at + 0.5) / scale) - special.ndtr((z - at - 0.5) / scale) for at in (0, 3))
    rounded = float(np.maximum(0, p - math.exp(epsilon) * shifted).sum())
    real = losses.gaussian_delta(scale, apart, epsilon)
    assert rounded <= real * (1 + 1e-9)
    assert scale < 20 or rounded > 0.99 * real


@given(st.floats(0.001, 20), st.floats(1e-12, 0.01))
def test_the_curve_of_the_audit_is_that_of_the_calibration(epsilon: float, delta: float) -> None:
    """Written down twice, in doubles here and in intervals there: the same ε and δ."""
    mu = curve_mu(epsilon, delta)
    assert losses.gaussian_delta(1 / mu, np.array([1]), epsilon) == pytest.approx(delta, rel=1e-9)
    assert losses.gaussian_epsilon(1 / mu, np.array([1]), delta) == pytest.approx(epsilon, rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
@pytest.mark.few(2)
def test_the_gaussian_claim_is_reached(epsilon: float, delta: float) -> None:
    """Where neighbours are as far apart as derived, the exact ε is the one that is claimed."""
    votes = make_case(GAUSSIAN, "comparison", method=Method.NET_WINS, items=2, delta=delta, epsilon=epsilon)
    people = make_case(GAUSSIAN, "person", method=Method.WINS, max_per_person=3, delta=delta, epsilon=epsilon)
    for case in (votes, people):
        calibrated, one, other = statistics(case)
        assert isinstance(calibrated.noise, normal.RoundedGaussianNoise)
        exact = losses.gaussian_epsilon(calibrated.noise.scale, other - one, delta)
        assert 0.98 * epsilon < exact <= epsilon * (1 + 1e-9)
        assert losses.gaussian_delta(calibrated.noise.scale, other - one, exact) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("link", [LOGISTIC, HYPERBOLIC_SECANT], ids=lambda link: link.name)
def test_the_density_of_the_perturbed_mle_is_that_of_its_link(link: Link) -> None:
    """Slope and curvature, written down a second time, are those that the library minimises with; far out as well."""
    x = np.append(np.linspace(-30, 30, 241), [-240.0, 240.0])
    slope, bend = losses._slope_and_bend(link.name, x)
    np.testing.assert_allclose(slope, link.grad(x), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(bend, link.curvature(x), rtol=1e-7, atol=1e-14)


def test_the_losses_of_groups_add_up() -> None:
    """Two statistics that differ in two groups lose twice what they lose in one; at every output Laplace noise says
    either +ε or −ε, or less in between, so 400 runs are enough to see both signs in both groups."""
    case = make_case(LAPLACE, "comparison", method=Method.NET_WINS, items=2)
    calibrated, one, other = statistics(case)
    alone = blackbox.scores(calibrated, one, other, 400, of_one=True)
    both = blackbox.scores(calibrated, np.array([one, one]), np.array([other, other]), 400, of_one=True)
    assert np.abs(alone).max() == pytest.approx(1)
    assert np.abs(both).max() == pytest.approx(2)
