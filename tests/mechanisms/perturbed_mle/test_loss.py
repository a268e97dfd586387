"""The noise scale of the perturbed MLE: right, smallest, and refused where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietrank.errors import PrivacyError
from quietrank.maths.links import HYPERBOLIC_SECANT, LOGISTIC, Link
from quietrank.mechanisms.perturbed_mle.loss import (
    Calibration,
    default_gamma,
    noise_scale,
    privacy_loss,
    smallest_gamma,
)
from quietrank.promise.arguments import parse
from quietrank.promise.privacy import Neighbours, NeighboursWord, Privacy, Unit

TIGHT, PUBLISHED = Calibration.TIGHT, Calibration.PUBLISHED

PROMISES = [
    Privacy(1.0, "comparison"),
    Privacy(1.0, "comparison", neighbours="add-remove"),
    Privacy(1.0, "person", max_per_person=3),
    Privacy(1.0, "person", max_per_person=3, neighbours="add-remove"),
]


def by_name(privacy: Privacy) -> str:
    return f"{privacy.unit}-{privacy.neighbours}"


def brute_force_loss(scale: float, gamma: float, privacy: Privacy) -> float:
    """L·(max_d g(d) [+ 2/λ]) of the logistic link on a fine grid of p = 1 − σ(d), written out again."""
    p = np.linspace(0, 1, 400_001)
    excess = 2 * p * (1 - p) / gamma
    g = 2 * p / scale + (np.log1p(excess) if privacy.unit is Unit.COMPARISON else excess)
    return float(privacy.limit * (g.max() + (2 / scale if privacy.neighbours is Neighbours.REPLACE else 0)))


@pytest.mark.parametrize("privacy", PROMISES, ids=by_name)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("relative_gamma", [0.55, 1.0, 2.0, 5.0, 100.0])
def test_calibrating_and_recomputing_by_brute_force_comes_back(
    privacy: Privacy, epsilon: float, relative_gamma: float
) -> None:
    gamma = relative_gamma * privacy.limit / epsilon
    loss = brute_force_loss(noise_scale(privacy, epsilon, gamma, TIGHT, LOGISTIC), gamma, privacy)
    assert loss == pytest.approx(epsilon, rel=1e-9)
    assert loss <= epsilon


@given(st.floats(1e-3, 20), st.floats(-3, 8), st.sampled_from(PROMISES))
def test_the_scale_is_the_smallest(epsilon: float, log_gamma: float, privacy: Privacy) -> None:
    gamma = max(math.exp(log_gamma), smallest_gamma(privacy, epsilon, TIGHT, LOGISTIC))
    scale = noise_scale(privacy, epsilon, gamma, TIGHT, LOGISTIC)
    assert privacy_loss(scale, gamma, privacy, LOGISTIC) <= epsilon
    assert privacy_loss(scale * (1 - 1e-9), gamma, privacy, LOGISTIC) > epsilon


@pytest.mark.parametrize(("neighbours", "factor"), [("replace", 4), ("add-remove", 2)])
def test_with_enough_ridge_the_determinant_is_free(neighbours: NeighboursWord, factor: int) -> None:
    """λ = 4L/ε or 2L/ε as soon as γ ≥ λ."""
    privacy = Privacy(0.5, "person", neighbours=neighbours, max_per_person=7)
    free = factor * 7 / 0.5
    assert noise_scale(privacy, 0.5, free * (1 + 1e-9), TIGHT, LOGISTIC) == pytest.approx(free, rel=1e-10)
    assert noise_scale(privacy, 0.5, free * 0.5, TIGHT, LOGISTIC) > free * 1.001


@pytest.mark.parametrize("gamma", [3.0, 6.0, 20.0])
def test_linear_form_has_the_closed_form_solution(gamma: float) -> None:
    """γ < λ: (1 + r)²/(2γ) [+ 2r/γ] = ε/L with r = γ/λ is a quadratic equation in r."""
    L, epsilon = 5, 1.0
    for neighbours, r in (
        (Neighbours.ADD_REMOVE, math.sqrt(2 * gamma * epsilon / L) - 1),
        (Neighbours.REPLACE, math.sqrt(8 + 2 * gamma * epsilon / L) - 3),
    ):
        privacy = Privacy(epsilon, "person", neighbours=neighbours, max_per_person=L)
        expected = gamma / r if r < 1 else (2 if neighbours == "add-remove" else 4) * L / epsilon
        assert noise_scale(privacy, epsilon, gamma, TIGHT, LOGISTIC) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_tight_is_half_the_published_noise(epsilon: float) -> None:
    privacy, gamma = Privacy(epsilon, "comparison"), 4 / epsilon
    published = noise_scale(privacy, epsilon, gamma, PUBLISHED, LOGISTIC)
    assert published == pytest.approx(8 / epsilon, rel=1e-10)
    assert noise_scale(privacy, epsilon, gamma, TIGHT, LOGISTIC) / published == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("privacy", PROMISES, ids=by_name)
@pytest.mark.parametrize("link", [LOGISTIC, HYPERBOLIC_SECANT], ids=lambda link: link.name)
def test_published_constants_are_covered_by_the_sharper_bound(privacy: Privacy, link: Link) -> None:
    """The published λ and its smallest γ keep ε by our own derivation, and tight never needs more noise."""
    for epsilon in (0.01, 1.0, 10.0):
        gamma = smallest_gamma(privacy, epsilon, PUBLISHED, link)
        published = noise_scale(privacy, epsilon, gamma, PUBLISHED, link)
        assert published == pytest.approx(8 * privacy.limit * link.kappa1 / epsilon)
        assert privacy_loss(published, gamma, privacy, link) <= epsilon
        assert noise_scale(privacy, epsilon, gamma, TIGHT, link) <= published


def test_published_ridge_is_as_published() -> None:
    assert smallest_gamma(PROMISES[0], 0.5, PUBLISHED, LOGISTIC) == pytest.approx(4 * 0.25 / 0.5, rel=1e-3)
    assert smallest_gamma(PROMISES[2], 0.5, PUBLISHED, LOGISTIC) == pytest.approx(8 * 3 * 0.25 / 0.5, rel=1e-3)


@pytest.mark.parametrize("privacy", PROMISES, ids=by_name)
@pytest.mark.parametrize("calibration", list(Calibration))
@pytest.mark.parametrize("epsilon", [0.01, 0.7, 30.0])
def test_infeasible_ridge_is_refused_with_one_that_works(
    privacy: Privacy, calibration: Calibration, epsilon: float
) -> None:
    least = smallest_gamma(privacy, epsilon, calibration, LOGISTIC)
    with pytest.raises(PrivacyError, match=f"smallest gamma that works is {least:g},".replace("+", r"\+")) as refused:
        noise_scale(privacy, epsilon, least * 0.99, calibration, LOGISTIC)
    named = float(str(refused.value).split("works is ")[1].split(",")[0])
    scale = noise_scale(privacy, epsilon, named, calibration, LOGISTIC)
    assert privacy_loss(scale, named, privacy, LOGISTIC) <= epsilon


@pytest.mark.parametrize("privacy", PROMISES, ids=by_name)
def test_the_refusal_is_not_too_strict(privacy: Privacy) -> None:
    """Half a percent below the smallest γ the determinant alone exceeds ε."""
    epsilon = 0.7
    gamma = smallest_gamma(privacy, epsilon, TIGHT, LOGISTIC) * 0.995
    assert brute_force_loss(1e12, gamma, privacy) > epsilon


@pytest.mark.parametrize("gamma", [0.0, -1.0, math.inf, math.nan])
def test_a_ridge_that_is_no_number_is_refused(gamma: float) -> None:
    with pytest.raises(PrivacyError, match="gamma must be a finite number > 0"):
        noise_scale(PROMISES[0], 1.0, gamma, TIGHT, LOGISTIC)


def test_public_designs_are_sent_elsewhere() -> None:
    privacy = Privacy(1.0, "comparison", neighbours="outcome", design="public")
    with pytest.raises(PrivacyError, match="method='bradley-terry'"):
        noise_scale(privacy, 1.0, 10.0, TIGHT, LOGISTIC)


def test_an_unknown_calibration_is_refused() -> None:
    with pytest.raises(PrivacyError, match="one of tight, published"):
        parse(Calibration, "calibration", "loose")


def test_default_ridge_follows_the_published_order() -> None:
    """With much data it is c·√(comparisons per item · log n), whatever ε."""
    for calibration, c in ((TIGHT, 0.2), (PUBLISHED, 2.0)):
        gamma = default_gamma(PROMISES[0], 1.0, calibration, LOGISTIC, 300, 1e6)
        assert gamma == pytest.approx(c * math.sqrt(1e6 * math.log(300)), rel=1e-4)


def test_default_ridge_grows_with_the_noise() -> None:
    """Comparisons, replace: 8λ²/(d·τ²) more, λ = 4/ε and τ = 1/2, so that noise does not swamp the scores."""
    privacy = Privacy(0.5, "comparison")
    gamma = default_gamma(privacy, 0.5, TIGHT, LOGISTIC, 300, 30.0)
    assert gamma == pytest.approx(0.2 * math.sqrt(30 * math.log(300)) + 8 * 8.0**2 / (30 * 0.25))


@pytest.mark.parametrize("privacy", PROMISES, ids=by_name)
@pytest.mark.parametrize("calibration", list(Calibration))
def test_default_ridge_is_always_feasible(privacy: Privacy, calibration: Calibration) -> None:
    for epsilon in (1e-3, 1.0, 50.0):
        gamma = default_gamma(privacy, epsilon, calibration, LOGISTIC, 2, 1e-3)
        scale = noise_scale(privacy, epsilon, gamma, calibration, LOGISTIC)
        assert scale <= 8.001 * privacy.limit / epsilon  # raised far enough for the noise to be no worse than published


def test_default_ridge_needs_a_sensible_count() -> None:
    with pytest.raises(PrivacyError, match="expected comparisons per item"):
        default_gamma(PROMISES[0], 1.0, TIGHT, LOGISTIC, 10, 0.0)
