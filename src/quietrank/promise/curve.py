"""The exact privacy of Gaussian noise: μ = Δ/σ and ε in, the δ that is kept out, and back; certified bounds.

Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy" (2018, theorem 8): real-valued noise
N(0, σ²) on values of L2 sensitivity Δ is (ε, δ)-DP if and only if δ is at least

    δ(ε; μ) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ),   μ = Δ/σ.

It grows with μ and falls with ε. It is evaluated in interval arithmetic (arb), with more digits until the interval is
narrow, and its upper end is used: whatever the cancellation, no δ is too small (docs/proofs/gaussian.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from quietrank.promise.rounding import float_above

if TYPE_CHECKING:
    from flint import arb

FIRST_BITS, LAST_BITS = 128, 2**14
"""of precision; the last are enough for every double ε and μ"""

NARROW = 64
"""bits of δ that must be certain"""


def curve_delta(epsilon: float, mu: float) -> float:
    """The δ of Gaussian noise with Δ/σ = μ at this ε; rounded up."""
    if not (0 < epsilon < math.inf and 0 < mu < math.inf):
        raise ValueError(f"epsilon and mu must be > 0 and finite, got {epsilon} and {mu}")
    bits = FIRST_BITS
    while (value := _evaluate(epsilon, mu, bits)).rel_accuracy_bits() < NARROW and bits < LAST_BITS:
        bits *= 2
    return _above(value)


def _evaluate(epsilon: float, mu: float, bits: int) -> arb:
    """An interval that contains δ(ε; μ), by Φ(x) = erfc(−x/√2)/2."""
    from flint import arb, ctx

    precision, ctx.prec = ctx.prec, bits
    try:
        e, m, root = arb(epsilon), arb(mu), arb(2).sqrt()
        near, far = (e / m - m / 2) / root, (e / m + m / 2) / root
        return (near.erfc() - e.exp() * far.erfc()) / 2
    finally:
        ctx.prec = precision


def _above(value: arb) -> float:
    """A double that is certainly no less than anything in the interval, as no δ is above 1."""
    if not value.is_finite():
        return 1.0
    bound = max(0.0, float(value.upper()))
    # True only where it is certain for the whole interval.
    while bound < 1 and not value <= bound:
        bound = math.nextafter(bound, math.inf)
    return bound if bound < 1 else 1.0


@lru_cache(maxsize=256)
def curve_mu(epsilon: float, delta: float) -> float:
    """The largest μ whose noise we can prove to be (ε, δ)-DP; rounded down."""
    _require(epsilon, delta)
    # Where to start: ρ = μ²/2 with ρ + 2√(ρ·log(1/δ)) = ε (Bun and Steinke), or δ(0; μ) ≈ μ/√(2π).
    log = -math.log(delta)
    start = max(math.sqrt(2) * epsilon / (math.sqrt(log + epsilon) + math.sqrt(log)), math.sqrt(2 * math.pi) * delta)
    return _last(start, lambda mu: curve_delta(epsilon, mu) <= delta)


@lru_cache(maxsize=256)
def curve_epsilon(mu: float, delta: float) -> float:
    """The smallest ε that noise with Δ/σ = μ provably keeps with this δ; rounded up."""
    _require(mu, delta)
    start = mu**2 / 2 + mu * math.sqrt(-2 * math.log(delta))
    return math.nextafter(_last(start, lambda epsilon: curve_delta(epsilon, mu) > delta), math.inf)


def curve_rho(epsilon: float, delta: float) -> float:
    """The ρ of Gaussian noise that is calibrated to (ε, δ): μ²/2, rounded up, and so no less than that of any such
    noise once σ is rounded up."""
    return float_above(Fraction(curve_mu(epsilon, delta)) ** 2 / 2)


def _require(positive: float, delta: float) -> None:
    if not (0 < positive < math.inf and 0 < delta < 1):
        raise ValueError(f"epsilon or mu must be > 0 and delta between 0 and 1, got {positive} and {delta}")


def _last(start: float, holds: Callable[[float], bool]) -> float:
    """The largest double that satisfies a condition which holds up to some point and not beyond; 0 if none does."""
    low = high = start
    while low > 0 and not holds(low):
        low, high = low / 2, low
    while high == low or holds(high):
        low, high = high, 2 * high
    while math.nextafter(low, math.inf) < high:
        middle = low + (high - low) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
