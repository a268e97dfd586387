"""Accounting: conversions are tight, never beyond what is true, and come back where they started."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietrank.promise.accounting import Cost, as_written, delta_of, rho_for
from tests.promise.zcdp import epsilon_of


@given(st.floats(0.01, 20), st.floats(1e-12, 0.01))
def test_there_and_back(epsilon: float, delta: float) -> None:
    """ρ for (ε, δ) converts to no more than ε and δ, and to no less than 99.99 % of ε."""
    rho = rho_for(epsilon, delta)
    assert delta_of(rho, epsilon) <= delta
    assert epsilon * 0.9999 <= epsilon_of(rho, delta) <= epsilon * (1 + 1e-9)


@given(st.floats(0.001, 10), st.floats(0.01, 20))
def test_no_order_gives_a_smaller_delta(rho: float, epsilon: float) -> None:
    """A dense grid of orders α finds nothing better than the search did."""
    alpha = 1 + np.geomspace(1e-6, 1e6, 20_000)
    bound = (alpha - 1) * (alpha * rho - epsilon) + alpha * np.log1p(-1 / alpha) - np.log(alpha - 1)
    best = math.exp(min(0.0, float(bound.min())))
    assert delta_of(rho, epsilon) == pytest.approx(min(1.0, best), rel=1e-3, abs=1e-300)


@given(st.floats(0.001, 2), st.floats(0.1, 5))
def test_the_true_delta_of_gaussian_noise_is_no_larger(rho: float, epsilon: float) -> None:
    """Continuous Gaussian noise of this ρ has a known δ (Balle and Wang 2018); ours is an upper bound of it."""
    mu = math.sqrt(2 * rho)
    below, above = (0.5 * math.erfc(-x / math.sqrt(2)) for x in (mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu))
    exact = below - math.exp(epsilon) * above
    assert exact <= delta_of(rho, epsilon) * (1 + 1e-12)


def test_the_conversion_agrees_with_opendp() -> None:
    """An independent implementation of the same formula."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    for scale in (1.0, 10.0, 200.0):
        gaussian = dp.m.make_gaussian(*space, scale=scale)
        profile = dp.c.make_zCDP_to_approxDP(gaussian).map(2.0)
        for delta in (1e-3, 1e-6, 1e-9):
            assert epsilon_of(2.0 / scale**2, delta) == pytest.approx(profile.epsilon(delta=delta), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 20.0])
def test_a_pure_cost_is_covered_by_its_rho(epsilon: float) -> None:
    """Randomised response, the worst ε-DP mechanism: every Rényi divergence is at most αρ."""
    rho = Cost.pure(epsilon).rho
    assert rho is not None
    p = 1 / (1 + math.exp(-epsilon))
    for alpha in (1.01, 1.5, 2.0, 5.0, 30.0):
        divergence = math.log(p**alpha * (1 - p) ** (1 - alpha) + (1 - p) ** alpha * p ** (1 - alpha)) / (alpha - 1)
        assert divergence <= alpha * rho


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (1.0, 0.0), (1.0, 1.0), (-1.0, 0.1)])
def test_meaningless_budgets_are_refused(epsilon: float, delta: float) -> None:
    """No ρ without a positive ε and a δ between 0 and 1."""
    with pytest.raises(ValueError, match="delta"):
        rho_for(epsilon, delta)


@given(st.floats(1e-6, 100))
def test_noise_is_calibrated_to_no_more_than_what_is_written(epsilon: float) -> None:
    """At most the decimal, and within one unit in the last place of it."""
    kept = as_written(epsilon)
    assert Fraction(kept) <= Fraction(repr(epsilon))
    assert kept >= math.nextafter(epsilon, 0)


def test_a_tenth_in_binary_is_more_than_a_tenth() -> None:
    """The reason for it: ten releases at the double 0.1 would lose more than 1."""
    assert 10 * Fraction(0.1) > 1 >= 10 * Fraction(as_written(0.1))
