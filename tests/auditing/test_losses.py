"""Losses: exact, against probabilities summed directly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from quietrank.auditing import blackbox, losses
from quietrank.auditing.cases import make_case
from quietrank.maths.links import HYPERBOLIC_SECANT, LOGISTIC, Link
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.noise import lattice
from quietrank.statistics.method import Method
from tests.auditing.helpers import statistics

COARSE = make_case(GAUSSIAN, "comparison", method=Method.NET_WINS, items=2, delta=1e-3)


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


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_the_tail_of_gaussian_noise_is_the_sum_over_the_lattice(epsilon: float) -> None:
    """Two entries, all pairs of noise values, by the definition of δ(ε)."""
    scale, apart = 2.5, np.array([2, -1])
    z = np.arange(-60, 61)
    x, y = np.meshgrid(z, z)
    p = np.exp(-(x**2 + y**2) / (2 * scale**2))
    shifted = np.exp(-((x - apart[0]) ** 2 + (y - apart[1]) ** 2) / (2 * scale**2))
    direct = np.maximum(0, p - math.exp(epsilon) * shifted).sum() / p.sum()
    assert losses.gaussian_delta(scale, apart, epsilon) == pytest.approx(direct, rel=1e-9)


def test_coarse_and_fine_lattices_agree() -> None:
    """At σ = 190 steps the sum, at σ = 210 the normal distribution: the same mechanism on another lattice."""
    coarse, fine = (losses.gaussian_delta(scale, np.array([scale // 2, 0]), 0.5) for scale in (190, 210))
    assert coarse == pytest.approx(fine, rel=2e-5)


def test_the_gaussian_claim_is_kept_and_near() -> None:
    """The zCDP conversion claims 1 where 0.867 is exact."""
    calibrated, one, other = statistics(COARSE)
    assert isinstance(calibrated.noise, lattice.GaussianNoise)
    exact = losses.gaussian_epsilon(calibrated.noise.scale, other - one, 1e-3)
    assert 0.8 < exact <= 1.0
    assert losses.gaussian_delta(calibrated.noise.scale, other - one, exact) == pytest.approx(1e-3, rel=1e-6)


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
