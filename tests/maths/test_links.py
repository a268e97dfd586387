"""Links: their derivatives, their constants, and the refusal of links that do not qualify."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest

from quietrank.arrays import Floats
from quietrank.errors import SolverError
from quietrank.maths.fit import fit_arrays
from quietrank.maths.links import (
    HYPERBOLIC_SECANT,
    LOGISTIC,
    TINY,
    CustomLink,
    HyperbolicSecant,
    Link,
    Logistic,
    U,
    check_link,
    get_link,
    pi_decimal,
)
from quietrank.mechanisms.perturbed_mle.mechanism import make_plan
from quietrank.promise.privacy import Privacy

BOTH = pytest.mark.parametrize("link", [LOGISTIC, HYPERBOLIC_SECANT], ids=lambda link: link.name)
GRID = np.linspace(-12, 12, 4801)


@BOTH
def test_derivatives_agree_with_differences(link: Link) -> None:
    """grad and curvature are the first and minus the second derivative of log F."""
    h = 1e-5
    slope = (link.nll(GRID - h) - link.nll(GRID + h)) / (2 * h)
    bend = (link.grad(GRID - h) - link.grad(GRID + h)) / (2 * h)
    np.testing.assert_allclose(link.grad(GRID), slope, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(link.curvature(GRID), bend, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(np.exp(-link.nll(GRID)), link.cdf(GRID), rtol=1e-12)
    np.testing.assert_allclose(link.cdf(GRID) + link.cdf(-GRID), 1, atol=1e-15)


@BOTH
def test_constants_are_attained_and_not_exceeded(link: Link) -> None:
    """κ1 and κ2 bound the two ratios on a fine grid and are within 1e-4 of their suprema."""
    x = np.linspace(-40, 40, 800_001)
    odds = link.grad(x) + link.grad(-x)
    assert odds.max() <= link.kappa1 * (1 + 1e-14)
    assert odds.max() >= link.kappa1 * (1 - 1e-8)
    assert link.curvature(x).max() <= link.kappa2
    assert link.curvature(x).max() >= link.kappa2 * (1 - 1e-4)


def test_secant_kappa2_holds_between_grid_points() -> None:
    """q(β) = (π²/4) sin β (sin β − β cos β)/β² stays below κ2 on all of (0, π): grid maximum plus Lipschitz slack.

    sin β − β cos β ≤ β³/3 and sin β ≤ β give q ≤ π²β²/12 < 0.9 below β = 1; above, |q'| ≤ (π²/4)(5 + 2·5) < 40.
    """
    beta = np.linspace(1, math.pi, 3_000_001)
    q = (math.pi**2 / 4) * np.sin(beta) * (np.sin(beta) - beta * np.cos(beta)) / beta**2
    slack = 40 * (beta[1] - beta[0]) / 2
    assert q.max() + slack < HYPERBOLIC_SECANT.kappa2 + 3e-6
    assert q.max() < HYPERBOLIC_SECANT.kappa2 - 1e-5
    assert math.pi**2 / 12 < 0.9


@BOTH
def test_extreme_differences_do_not_overflow(link: Link) -> None:
    """|x| up to 1e4 gives finite numbers without warnings, and −log F keeps growing linearly."""
    x = np.array([-1e4, -800.0, 800.0, 1e4])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        values = [link.cdf(x), link.nll(x), link.grad(x), link.curvature(x)]
    assert all(np.isfinite(v).all() for v in values)
    assert link.nll(x)[0] / link.nll(x)[1] == pytest.approx(12.5, rel=1e-2)


@BOTH
def test_decimal_gradient_is_right_and_float_error_is_bounded(link: Link) -> None:
    """grad differs from the 60-digit value by no more than grad_error says, also for a rounded argument."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0, s, 300) for s in (1e-8, 0.1, 1, 5, 30, 200)])
    moved = x * (1 + rng.uniform(-U, U, len(x)))
    bound = link.grad_error(float(np.abs(x).max()))
    with localcontext() as context:
        context.prec = 60
        for value, computed in zip(x.tolist(), link.grad(moved).tolist(), strict=True):
            exact = link.grad_decimal(Decimal(value))
            assert abs(Decimal(computed) - exact) <= Decimal(bound) * exact + Decimal(TINY)


@BOTH
def test_decimal_gradient_converges_with_its_digits(link: Link) -> None:
    """50 digits differ from 80 digits by less than the contract of grad_decimal."""
    for x in ("-300", "-3.7", "-1e-9", "0", "0.4", "25", "300"):
        with localcontext() as context:
            context.prec = 50
            low = link.grad_decimal(Decimal(x))
            context.prec = 80
            high = link.grad_decimal(Decimal(x))
            assert abs(low - high) <= (2 * abs(Decimal(x)) + 100) * Decimal(10) ** -49 * high


def test_pi() -> None:
    """π to fifty digits."""
    with localcontext() as context:
        context.prec = 50
        assert str(pi_decimal()) == "3.1415926535897932384626433832795028841971693993751"


def test_probit_is_refused_with_the_reason() -> None:
    """The probit link is refused because F'/(F(1−F)) is unbounded."""
    with pytest.raises(SolverError, match="unbounded"):
        get_link("probit")
    with pytest.raises(SolverError, match="unknown link 'cauchit'"):
        get_link("cauchit")


def _scaled(factor: float) -> CustomLink:
    """The logistic link in other units: F(x) = σ(factor·x)."""

    def times(f: float, g: str) -> object:
        return lambda x: f * getattr(LOGISTIC, g)(factor * x)

    parts = [times(factor**k, g) for k, g in ((0, "cdf"), (0, "nll"), (1, "grad"), (2, "curvature"))]
    return CustomLink("scaled", factor, factor**2 / 4, *parts)  # type: ignore[arg-type]


def test_own_link_with_true_constants_passes() -> None:
    """A user's correct link is accepted as it is."""
    link = _scaled(0.8)
    assert get_link(link) is link


@pytest.mark.parametrize("name", ["logistic", "hyperbolic-secant", " Logistic "])
def test_own_link_may_not_take_a_built_in_name(name: str) -> None:
    """A release names its link: under a built-in name that must be the built-in link, wherever links are accepted."""
    own = replace(_scaled(0.8), name=name)
    uses = (get_link, check_link, lambda link: fit_arrays([0, 1], [1, 0], 2, ridge=1.0, link=link))
    for accept in (*uses, lambda link: make_plan(3, Privacy(1.0, "comparison"), 10.0, link=link)):
        with pytest.raises(SolverError, match=r"this is the name of a built-in link.*; choose another name"):
            accept(own)


def test_a_changed_or_derived_built_in_link_is_not_built_in() -> None:
    """Other constants, or other functions behind the same name; an equal copy is the link itself."""

    class Derived(Logistic):
        def grad(self, x: Floats) -> Floats:
            return 0 * x

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = Logistic.__hash__

    for other in (Logistic(kappa1=0.1), Logistic(kappa2=0.1), Derived(), HyperbolicSecant(kappa1=0.5)):
        with pytest.raises(SolverError, match="name of a built-in link"):
            get_link(other)
    assert get_link(Logistic()) is LOGISTIC
    assert get_link(HyperbolicSecant()) is HYPERBOLIC_SECANT


def _squared(x: Floats) -> Floats:
    return LOGISTIC.cdf(x) ** 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kappa1": 0.79}, "kappa1"),
        ({"kappa2": 0.159}, "kappa2"),
        ({"F": _squared}, "F\\(x\\) = 1"),
        ({"derivative": LOGISTIC.grad}, "grad is not the derivative"),
        ({"second": LOGISTIC.curvature}, "curvature is not"),
        ({"minus_log": LOGISTIC.nll}, "nll is not"),
    ],
)
def test_wrong_links_are_refuted(change: dict[str, object], reason: str) -> None:
    """Each planted fault of a user's link is found and named."""
    with pytest.raises(SolverError, match=reason):
        check_link(replace(_scaled(0.8), **change))  # type: ignore[arg-type]


def test_probit_as_own_link_is_refuted() -> None:
    """Declaring finite constants for the probit link does not get it past the check."""
    from scipy.special import log_ndtr, ndtr

    def psi(x: Floats) -> Floats:
        result: Floats = np.exp(-(x**2) / 2 - log_ndtr(x)) / math.sqrt(2 * math.pi)
        return result

    probit = CustomLink("own-probit", 2.0, 1.0, ndtr, lambda x: -log_ndtr(x), psi, lambda x: psi(x) * (psi(x) + x))
    with pytest.raises(SolverError, match="own-probit"):
        check_link(probit)


def test_link_without_error_bounds_cannot_be_certified() -> None:
    """A user's link that states no rounding error is not certified by accident."""
    link = _scaled(0.8)
    assert link.grad_error(1.0) == math.inf
    with pytest.raises(SolverError, match="extended-precision"):
        link.grad_decimal(Decimal(1))
