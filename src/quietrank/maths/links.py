"""A score difference x in; the probability F(x) of winning and the derivatives of log F out.

Every link here has F(x) = 1 − F(−x), so one side's formulas serve both sides of a pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, getcontext, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np

from quietrank.errors import SolverError, either, option

if TYPE_CHECKING:
    from quietrank.arrays import Floats

U = 2.0**-53  # unit roundoff of float64
TINY = 1e-300  # covers results that underflow

# A generous bound on the rounding of the library functions used below, in units of U: NumPy documents exp within
# 1 ulp (2 U) on every dispatch path, and glibc's arctan is within 1 ulp. 8 U are allowed for each call.
CALL_ERROR = 8.0


@runtime_checkable
class Link(Protocol):
    """F with F(x) = 1 − F(−x), F'/(F(1−F)) ≤ κ1 and 0 < −(log F)'' ≤ κ2."""

    @property
    def name(self) -> str: ...
    @property
    def kappa1(self) -> float: ...
    @property
    def kappa2(self) -> float: ...
    def cdf(self, x: Floats) -> Floats:
        """F(x)."""

    def nll(self, x: Floats) -> Floats:
        """−log F(x)."""

    def grad(self, x: Floats) -> Floats:
        """ψ(x) = (log F)'(x) > 0."""

    def curvature(self, x: Floats) -> Floats:
        """−(log F)''(x) > 0."""

    def grad_error(self, reach: float) -> float:
        """r with |computed ψ(x̂) − ψ(x)| ≤ r·ψ(x) + TINY over |x| ≤ reach, |x̂ − x| ≤ U|x|; inf if unknown."""

    def grad_decimal(self, x: Decimal) -> Decimal:
        """ψ(x) in the current decimal context, relative error ≤ (2|x| + 100)·10^(1−precision) or below TINY."""


@dataclass(frozen=True)
class Logistic:
    """F(x) = 1/(1 + e^−x). F' = F(1−F), so κ1 = 1; −(log F)'' = F(1−F) ≤ κ2 = 1/4."""

    name: str = "logistic"
    kappa1: float = 1.0
    kappa2: float = 0.25

    def cdf(self, x: Floats) -> Floats:
        e = np.exp(-np.abs(x))
        return np.where(x >= 0, 1.0, e) / (1.0 + e)

    def nll(self, x: Floats) -> Floats:
        return np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0.0)

    def grad(self, x: Floats) -> Floats:
        return self.cdf(-x)  # (log F)' = 1 − F

    def curvature(self, x: Floats) -> Floats:
        e = np.exp(-np.abs(x))
        return e / (1.0 + e) ** 2

    def grad_error(self, reach: float) -> float:
        # |(log ψ)'| = F ≤ 1, so moving x by U|x| changes ψ by a factor within e^(±U|x|);
        # exp (in numerator and denominator), one addition and one division: 2·CALL_ERROR + 2.
        return 1.01 * U * (reach + 2 * CALL_ERROR + 2)

    def grad_decimal(self, x: Decimal) -> Decimal:
        e = (-abs(x)).exp()
        return (e if x >= 0 else Decimal(1)) / (1 + e)


@dataclass(frozen=True)
class HyperbolicSecant:
    """F(x) = (2/π)·arctan(e^t), t = πx/2.

    With β = 2·arctan(e^t) in (0, π): F = β/π, F' = sin(β)/2, dβ/dx = (π/2)·sin β. Hence
    - F'/(F(1−F)) = (π²/2)·sin β/(β(π−β)) ≤ κ1 = 2, because sin β ≤ 4β(π−β)/π² on [0, π], equal at π/2;
    - ψ = (π/2)·sin β/β and −(log F)'' = (π²/4)·sin β·(sin β − β cos β)/β². Its maximum 1.027383…, at
      β = 1.7529…, has no closed form; κ2 is rounded up to 1.0274 (a test brackets it with a Lipschitz bound);
    - |(log ψ)'| = (π/2)·|cos β − sin β/β| < 1.68.
    """

    name: str = "hyperbolic-secant"
    kappa1: float = 2.0
    kappa2: float = 1.0274

    def cdf(self, x: Floats) -> Floats:
        below = np.arctan(_tail(x)) * (2 / np.pi)
        return np.where(x >= 0, 1.0 - below, below)

    def nll(self, x: Floats) -> Floats:
        v = _tail(x)
        # x < 0: log F = log(2/π) + t + log(arctan(v)/v), which does not underflow with v
        negative = math.log(np.pi / 2) + (np.pi / 2) * np.abs(x) - np.log1p(-_one_minus_atan_ratio(v))
        return np.where(x >= 0, -np.log1p(-np.arctan(v) * (2 / np.pi)), negative)

    def grad(self, x: Floats) -> Floats:
        v = _tail(x)
        atan = np.arctan(v)
        ratio = np.divide(v, atan, out=np.ones_like(v), where=v > TINY)
        return np.where(x >= 0, v / (1.0 - atan * (2 / np.pi)), (np.pi / 2) * ratio) / (1.0 + v * v)

    def curvature(self, x: Floats) -> Floats:
        # −(log F)'' = ψ(ψ + (π/2)·tanh t); for x < 0 the bracket is (π/2)(v/arctan v − 1 + v²)/(1 + v²)
        v = _tail(x)
        psi = self.grad(x)
        less = _one_minus_atan_ratio(v)
        bracket = np.where(x >= 0, psi + (np.pi / 2) * (1 - v * v) / (1 + v * v), 0.0)
        below = (np.pi / 2) * (less / (1 - less) + v * v) / (1 + v * v)
        return psi * np.where(x >= 0, bracket, below)

    def grad_error(self, reach: float) -> float:
        # |(log ψ)'| < 1.68: moving x costs 1.68·U|x|; rounding π/2 and the product moves t by at most 2U|t|, as
        # if x moved by 2U|x|: 3.36·U|x|. Errors of exp enter through v, arctan v and 1 + v², those of arctan
        # through arctan v or 1 − (2/π)arctan v ≥ 1/2; nine elementary operations.
        return 1.01 * U * (5.1 * reach + 5 * CALL_ERROR + 20)

    def grad_decimal(self, x: Decimal) -> Decimal:
        half_pi = pi_decimal() / 2
        v = (-abs(x) * half_pi).exp()
        if v == 0:  # underflow, far below 10^-999000
            return v if x >= 0 else half_pi
        atan = _atan_decimal(v)
        beats = atan / half_pi
        return v / (1 + v * v) / ((1 - beats) if x >= 0 else beats)


@dataclass(frozen=True)
class CustomLink:
    """A user's own link. κ1 and κ2 are declared: check_link can refute them but not prove them.

    Without `error` (see Link.grad_error) gradients cannot be certified, and without `exact` (see
    Link.grad_decimal) they cannot be certified beyond float64, so the perturbed MLE needs both.
    """

    name: str
    kappa1: float
    kappa2: float
    F: Callable[[Floats], Floats]
    minus_log: Callable[[Floats], Floats]
    derivative: Callable[[Floats], Floats]
    second: Callable[[Floats], Floats]
    error: Callable[[float], float] | None = None
    exact: Callable[[Decimal], Decimal] | None = None

    def cdf(self, x: Floats) -> Floats:
        return self.F(x)

    def nll(self, x: Floats) -> Floats:
        return self.minus_log(x)

    def grad(self, x: Floats) -> Floats:
        return self.derivative(x)

    def curvature(self, x: Floats) -> Floats:
        return self.second(x)

    def grad_error(self, reach: float) -> float:
        return math.inf if self.error is None else self.error(reach)

    def grad_decimal(self, x: Decimal) -> Decimal:
        if self.exact is None:
            raise SolverError(
                f"link {self.name!r} has no extended-precision derivative; give CustomLink(exact=...), or use "
                f"{option('link', 'logistic')} or {option('link', 'hyperbolic-secant')}"
            )
        return self.exact(x)


LOGISTIC = Logistic()
HYPERBOLIC_SECANT = HyperbolicSecant()
_BY_NAME: dict[str, Link] = {link.name: link for link in (LOGISTIC, HYPERBOLIC_SECANT)}


def is_built_in(link: Link) -> bool:
    """Whether it is one of the links of this module, whose constants are proven."""
    return any(link is one for one in _BY_NAME.values())


LinkWord = Link | Literal["logistic", "hyperbolic-secant"]
"""what callers may write: a name, or a link of their own"""


def get_link(link: str | Link) -> Link:
    """The link of that name; a user's own link is checked first."""
    if not isinstance(link, str) and hasattr(link, "cdf"):
        return check_link(link)
    if link == "probit":
        raise SolverError(
            "the probit link is refused: F'/(F(1−F)) is unbounded, so no noise scale makes it private; use "
            f"{option('link', 'logistic')} or {option('link', 'hyperbolic-secant')}"
        )
    if not isinstance(link, str) or link not in _BY_NAME:
        raise SolverError(
            f"unknown {option('link')} {link!r}; use {option('link', 'logistic')} or "
            f"{option('link', 'hyperbolic-secant')}{either(', or an object with the methods of Link', '')}"
        )
    return _BY_NAME[link]


def check_link(link: Link) -> Link:
    """Try to refute a link on a grid over [−30, 30]; passing proves nothing about κ1 and κ2.

    Checked: symmetry, F strictly increasing, derivatives that agree with differences of −log F,
    0 < −(log F)'' ≤ κ2, and F'/(F(1−F)) = ψ(x) + ψ(−x) ≤ κ1 (because F' = ψ(x)F(x) = ψ(−x)F(−x)).
    The built-in links are proven, and their names say so in every release, so no other link may use these names.
    """
    for one in _BY_NAME.values():
        if type(link) is type(one) and link == one:
            return one
    taken = str(link.name).strip().casefold() in _BY_NAME
    _refute(link, taken, "this is the name of a built-in link, and the link is not that one", "choose another name")
    x = np.linspace(-30.0, 30.0, 20001)
    F, psi, curve, nll = link.cdf(x), link.grad(x), link.curvature(x), link.nll(x)
    for name, values in (("cdf", F), ("grad", psi), ("curvature", curve), ("nll", nll)):
        _refute(link, values.shape != x.shape or not np.isfinite(values).all(), f"{name} must be finite on the grid")
    _refute(link, np.abs(F + F[::-1] - 1).max() > 1e-12, "F(x) = 1 − F(−x) does not hold")
    _refute(link, np.any(np.diff(nll[x <= 0]) >= 0), "F is not strictly increasing")
    _refute(link, np.abs(np.exp(-nll) - F).max() > 1e-10, "nll is not −log(cdf)")
    _refute(link, _mismatch(nll, -psi, x) > 1e-4, "grad is not the derivative of log F")
    _refute(link, _mismatch(psi, -curve, x) > 1e-4, "curvature is not −(log F)''")
    _refute(link, bool(np.any(curve <= 0)), "−(log F)'' must be > 0: F must be strictly log-concave")
    slack = 1 + 1e-9
    _refute(link, curve.max() > link.kappa2 * slack, f"−(log F)'' reaches {curve.max():.6g} > kappa2={link.kappa2:g}")
    odds = (psi + psi[::-1]).max()
    _refute(link, odds > link.kappa1 * slack, f"F'/(F(1−F)) reaches {odds:.6g} > kappa1={link.kappa1:g}")
    return link


def check_decimals(link: Link) -> None:
    """Try to refute ψ in decimal arithmetic: it must exist, converge as digits are added, and agree with float64.

    Its differences over 10^-25 must match −(log F)'': a ψ computed in float64 would have none.
    """
    for text in ("0", "1e-30", "0.3", "-2", "7", "-29", "400", "-400", "1e6", "-1e6", "1e13"):
        x, step = Decimal(text), Decimal("1e-25")
        rough, fine, shifted = (_slope_with(link, *at) for at in ((x, 60), (x, 120), (x + step, 120)))
        settled = fine >= 0 and abs(rough - fine) <= (2 * abs(x) + 100) * Decimal("1e-59") * fine + Decimal(TINY)
        _refute(link, not settled, f"grad_decimal is not right to 60 digits at x = {text}")
        if abs(x) < 30:
            slope, curvature = (float(f(np.array([float(x)]))[0]) for f in (link.grad, link.curvature))
            agree = math.isclose(fine, slope, rel_tol=1e-6)
            agree &= math.isclose((fine - shifted) / step, curvature, rel_tol=1e-4)
            _refute(link, not agree, f"grad_decimal is not grad with more digits at x = {text}")


def _slope_with(link: Link, x: Decimal, digits: int) -> Decimal:
    with localcontext(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        return link.grad_decimal(x)


def _refute(
    link: Link, wrong: bool | np.bool_, reason: str, remedy: str = "correct the link or its declared constants"
) -> None:
    if wrong:
        raise SolverError(f"link {link.name!r} is refused: {reason}; {remedy}")


def _mismatch(f: Floats, derivative: Floats, x: Floats) -> float:
    """Largest gap between differences of f and the trapezoid integral of its claimed derivative, scaled."""
    step = np.diff(x)
    gap = np.abs(np.diff(f) - step * (derivative[1:] + derivative[:-1]) / 2) / step
    return float((gap / (1e-3 + np.abs(derivative).max())).max())


def _tail(x: Floats) -> Floats:
    """v = e^(−π|x|/2)."""
    return np.exp(np.abs(x) * (-np.pi / 2))


def _one_minus_atan_ratio(v: Floats) -> Floats:
    """1 − arctan(v)/v for 0 ≤ v ≤ 1, by its series where the difference would cancel."""
    q = np.minimum(v, 0.1) ** 2
    series = q * (1 / 3 - q * (1 / 5 - q * (1 / 7 - q * (1 / 9 - q * (1 / 11 - q * (1 / 13 - q / 15))))))
    return np.where(v < 0.1, series, 1 - np.arctan(v) / np.maximum(v, 0.1))


def pi_decimal() -> Decimal:
    """π in the current decimal precision."""
    return +_pi(getcontext().prec)


@lru_cache(maxsize=16)
def _pi(precision: int) -> Decimal:
    with localcontext() as context:  # Machin: π = 16·arctan(1/5) − 4·arctan(1/239)
        context.prec = precision + 10
        return 16 * _atan_series(Decimal(1) / 5) - 4 * _atan_series(Decimal(1) / 239)


def _atan_decimal(v: Decimal) -> Decimal:
    """arctan on [0, 1], relative error below 30·10^(1−precision): three halvings, then the series."""
    for _ in range(3):  # arctan v = 2·arctan(v/(1 + √(1 + v²)))
        v = v / (1 + (1 + v * v).sqrt())
    return 8 * _atan_series(v)


def _atan_series(v: Decimal) -> Decimal:
    square, power, total, k = v * v, v, v, 1
    while True:
        power *= -square
        k += 2
        if total + power / k == total:
            return total
        total += power / k
