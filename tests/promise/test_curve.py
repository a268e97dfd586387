"""The curve of Gaussian noise: never below the truth, hardly above it, and back where it started."""

from __future__ import annotations

import math
import time
from decimal import Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietrank.promise import curve
from quietrank.promise.accounting import rho_for
from quietrank.promise.curve import curve_delta, curve_epsilon, curve_mu, curve_rho
from tests.promise.zcdp import epsilon_of

epsilons = st.floats(math.log(1e-6), math.log(100)).map(math.exp)
deltas = st.floats(math.log(1e-30), math.log(0.01)).map(math.exp)

DIGITS = 120


def true_delta(epsilon: float, mu: float) -> Decimal:
    """∫ φ(x)·(1 − e^{ε − loss})⁺ dx by its own route: 120 decimal digits, and series instead of intervals."""
    with localcontext() as context:
        context.prec = DIGITS
        e, m = Decimal(epsilon), Decimal(mu)
        return _upper_tail(e / m - m / 2) - e.exp() * _upper_tail(e / m + m / 2)


def _upper_tail(x: Decimal) -> Decimal:
    """1 − Φ(x): a half less φ(x)·Σ x^(2k+1)/(1·3·5⋯(2k+1)), whose terms are all positive; digits are lost where the
    tail is small, so there are more of them than that takes."""
    with localcontext() as context:
        context.prec = DIGITS + int(x * x / 2)
        term = total = abs(x)
        k = 1
        while term > total * Decimal(10) ** -context.prec:
            term = term * x * x / (2 * k + 1)
            total, k = total + term, k + 1
        inner = total * (-x * x / 2).exp() / (2 * _pi(context.prec)).sqrt()
        return Decimal(1) / 2 - (inner if x > 0 else -inner)


def _pi(digits: int) -> Decimal:
    """Machin: π/4 = 4·arctan(1/5) − arctan(1/239)."""
    one: int = 10 ** (digits + 10)

    def arctan(n: int) -> int:
        power = total = one // n
        k, sign = 1, -1
        while power:
            power //= n * n
            total, k, sign = total + sign * (power // (2 * k + 1)), k + 1, -sign
        return total

    return Decimal(4 * (4 * arctan(5) - arctan(239))) / one


@settings(max_examples=60, deadline=None)
@given(epsilons, deltas, st.floats(0.5, 1.1))
def test_no_delta_is_below_the_truth_or_far_above_it(epsilon: float, delta: float, part: float) -> None:
    """An upper bound, within two units in the last place, against 120 digits; from noise that is too small to more."""
    mu = part * curve_mu(epsilon, delta)
    true, bound = true_delta(epsilon, mu), curve_delta(epsilon, mu)
    assert true <= Decimal(bound) <= true * (1 + Decimal(2) ** -51) + Decimal("5e-324")


@settings(max_examples=60, deadline=None)
@given(epsilons, deltas)
def test_the_largest_mu_is_the_last_that_keeps_delta(epsilon: float, delta: float) -> None:
    """It keeps δ, the next double does not, and the ε of that noise comes back."""
    mu = curve_mu(epsilon, delta)
    assert curve_delta(epsilon, mu) <= delta < curve_delta(epsilon, math.nextafter(mu, math.inf))
    back = curve_epsilon(mu, delta)
    assert back <= epsilon
    assert curve_delta(back, mu) <= delta
    # Where δ hardly depends on ε, one unit in the last place of μ is more than one of ε.
    assert curve_epsilon(mu * (1 + 2.0**-51), delta) >= epsilon


@given(epsilons, deltas, st.floats(1.0001, 3))
def test_less_noise_costs_more(epsilon: float, delta: float, more: float) -> None:
    mu = curve_mu(epsilon, delta)
    assert curve_delta(epsilon, mu / more) < curve_delta(epsilon, mu) < curve_delta(epsilon, mu * more)
    assert curve_delta(epsilon * more, mu) < curve_delta(epsilon, mu)
    assert curve_mu(epsilon * more, delta) > mu
    assert curve_rho(epsilon, delta) < curve_rho(epsilon * more, delta)


@given(st.floats(0.01, 20), st.floats(1e-12, 0.01))
def test_the_curve_is_below_the_conversion_of_zcdp(epsilon: float, delta: float) -> None:
    """Calibrated by the curve, noise has more ρ than the conversion allows, which turns it into a larger ε."""
    rho = curve_rho(epsilon, delta)
    assert rho > rho_for(epsilon, delta)
    assert epsilon < epsilon_of(rho, delta)


@pytest.mark.parametrize(("epsilon", "scale"), [(0.5, 8.058), (1.0, 4.225), (2.0, 2.231), (4.0, 1.194)])
def test_known_scales(epsilon: float, scale: float) -> None:
    """σ/Δ at δ = 10^-6, five to eight per cent below the conversion of zCDP."""
    found = 1 / curve_mu(epsilon, 1e-6)
    assert found == pytest.approx(scale, abs=6e-4)
    assert 0.91 < found * math.sqrt(2 * rho_for(epsilon, 1e-6)) < 0.95


def test_the_corners_of_what_may_be_asked() -> None:
    """The smallest and the largest ε and δ that a promise may have, and doubles beyond."""
    for epsilon in (5e-324, 1e-300, 1e-6, 1.0, 100.0, 1e9):
        for delta in (5e-324, 1e-300, 1e-30, 0.01):
            mu = curve_mu(epsilon, delta)
            assert 0 < mu < math.inf
            assert curve_delta(epsilon, mu) <= delta
    assert curve_epsilon(1e-9, 1e-3) == 5e-324  # the noise hides everything but for δ


@pytest.mark.parametrize("wrong", [(0.0, 1e-6), (1.0, 0.0), (1.0, 1.0), (-1.0, 0.1), (math.inf, 0.1), (math.nan, 0.1)])
def test_meaningless_values_are_refused(wrong: tuple[float, float]) -> None:
    for function in (curve_mu, curve_epsilon):
        with pytest.raises(ValueError, match="delta"):
            function(*wrong)
    for pair in ((0.0, 1.0), (1.0, 0.0), (math.nan, 1.0), (1.0, math.inf)):
        with pytest.raises(ValueError, match="mu"):
            curve_delta(*pair)


def test_an_interval_that_stays_wide_is_still_an_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """With far too few digits the whole interval is counted: a useless bound, never a wrong one."""
    monkeypatch.setattr(curve, "FIRST_BITS", 8)
    monkeypatch.setattr(curve, "LAST_BITS", 8)
    for epsilon, mu in ((1e-6, 1e-7), (1.0, 0.2), (100.0, 9.0)):
        assert Decimal(curve_delta(epsilon, mu)) >= true_delta(epsilon, mu)


def test_calibration_is_quick() -> None:
    """The inverse takes a few milliseconds, and is remembered."""
    curve_mu.cache_clear()
    curve_mu(1.0, 1e-5)
    start = time.perf_counter()
    for k in range(10):
        curve_mu(1.0 + k / 100, 1e-7)
    assert time.perf_counter() - start < 10 * 0.1
    assert curve_mu.cache_info().hits == 0
    curve_mu(1.0, 1e-5)
    assert curve_mu.cache_info().hits == 1
