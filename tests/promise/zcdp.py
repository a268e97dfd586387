"""ρ and δ in, the ε that they prove out: the inverse of `delta_of`. No release needs it; it is a yardstick of tests."""

from __future__ import annotations

import math

from quietrank.promise.accounting import SLACK, delta_of


def epsilon_of(rho: float, delta: float) -> float:
    """The smallest ε we can prove for a ρ-zCDP release at this δ; rounded up."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta}")
    # At ε = ρ + 2√(ρ log(1/δ)) the bound holds already (Bun and Steinke).
    high = rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1e-300
    low, high = 0.0, high * SLACK
    while high - low > 2.0**-50 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(rho, middle) <= delta else (middle, high)
    return high * SLACK
