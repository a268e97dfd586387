"""What a release costs: costs in, their sum, and the (ε, δ) that a ρ proves, out; every rounding is towards privacy.

A ρ-zCDP release is (ε, δ)-DP for every ε with the δ of Canonne, Kamath and Steinke, "The Discrete Gaussian for
Differential Privacy" (2020, proposition 1 of the part on conversions):

    δ(ε) = inf over α > 1 of  exp((α − 1)(αρ − ε)) · (1 − 1/α)^α / (α − 1)

Any α gives a true bound, so the search for the best one cannot break the promise, only loosen it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from quietrank.promise.privacy import Privacy

SLACK = 1 + 2.0**-40
"""Covers the rounding of a dozen floating-point operations, towards privacy."""


@dataclass(frozen=True)
class Cost:
    """A release is (ε, δ)-DP, and ρ-zCDP as well where ρ is not None."""

    epsilon: float
    delta: float
    rho: float | None

    def covers(self, other: Cost) -> bool:
        """Whether paying this also pays for the other, however costs are counted."""
        in_zcdp = self.rho is None or (other.rho is not None and other.rho <= self.rho)
        return other.epsilon <= self.epsilon and other.delta <= self.delta and in_zcdp

    def __add__(self, other: Cost) -> Cost:
        """Of both releases together (basic composition); rounded up."""
        rho = None if self.rho is None or other.rho is None else _sum_above(self.rho, other.rho)
        return Cost(_sum_above(self.epsilon, other.epsilon), _sum_above(self.delta, other.delta), rho)

    @classmethod
    def pure(cls, epsilon: float) -> Cost:
        """ε-DP implies ε²/2-zCDP (Bun and Steinke 2016, proposition 3.3)."""
        return cls(epsilon, 0.0, epsilon**2 / 2 * SLACK)


def _sum_above(a: float, b: float) -> float:
    total = a + b
    return total if Fraction(total) >= Fraction(a) + Fraction(b) else math.nextafter(total, math.inf)


@dataclass(frozen=True)
class Charge:
    """A release to be paid for."""

    privacy: Privacy
    """the promise it makes"""
    cost: Cost
    """what the mechanism loses, never more than was promised"""
    what: str
    """a few words for whoever reads the ledger; public"""


class Ledger(Protocol):
    """A budget that is debited before noise is drawn."""

    def debit(self, charge: Charge) -> str:
        """Pay durably and return the entry's id, or raise when the budget does not allow it."""
        ...


def as_written(epsilon: float) -> float:
    """The largest double that is at most ε as it is written: 0.1 in binary is a little more than a tenth.

    Noise is calibrated to this, and a ledger counts what is written, so that ten releases at 0.1 cost 1.
    """
    return epsilon if Fraction(epsilon) <= Fraction(repr(epsilon)) else math.nextafter(epsilon, 0.0)


def delta_of(rho: float, epsilon: float) -> float:
    """The smallest δ we can prove for a ρ-zCDP release at this ε; rounded up."""
    if rho == 0:
        return 0.0
    # u = log(α − 1); the exponent is convex in α and has one minimum, near α = (ε/ρ + 1)/2 when δ is small.
    u = lowest_point(lambda u: _log_delta(rho, epsilon, 1 + math.exp(u)), -30.0, 60.0)
    return min(1.0, math.exp(min(0.0, _log_delta(rho, epsilon, 1 + math.exp(u)))) * SLACK)


def _log_delta(rho: float, epsilon: float, alpha: float) -> float:
    """log of the bound for one α."""
    # One relative ulp of each large term may be lost; `slack` makes up for it.
    exponent = (alpha - 1) * (alpha * rho - epsilon)
    slack = 2.0**-48 * (alpha - 1) * (alpha * rho + epsilon)
    return exponent + slack + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)


def rho_for(epsilon: float, delta: float) -> float:
    """The largest ρ that we can prove to be (ε, δ)-DP; rounded down."""
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError(f"epsilon must be > 0 and delta between 0 and 1, got {epsilon} and {delta}")
    high = epsilon
    while delta_of(high, epsilon) <= delta:
        high *= 2
    low = 0.0
    while high - low > 2.0**-50 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon) <= delta else (low, middle)
    return low / SLACK


def lowest_point(f: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one minimum is smallest, by golden section."""
    golden = (math.sqrt(5) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    fa, fb = f(a), f(b)
    while high - low > 1e-9:
        if fa < fb:
            high, b, fb = b, a, fa
            a = high - golden * (high - low)
            fa = f(a)
        else:
            low, a, fa = a, b, fb
            b = low + golden * (high - low)
            fb = f(b)
    return (low + high) / 2
