"""Integers in, integers with discrete Laplace noise out.

P(z) ∝ exp(−|z|/scale) on the integers, sampled exactly from the operating system's entropy; no floating point touches a
sample. OpenDP draws it, except on many values (`exponential.py`).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import PrivacyError
from quietrank.noise.exponential import discrete_laplace
from quietrank.noise.words import LARGEST_DRAW, LARGEST_SCALE, saturating_sum

if TYPE_CHECKING:
    from quietrank.arrays import Integers

MANY = 10_000
"""From here on our own sampler draws Laplace noise: the same law, more than ten times as fast (benchmarks/draws)."""


def laplace_scale(sensitivity: int, epsilon: float) -> float:
    """The smallest convenient scale, in lattice steps, whose privacy loss is at most `epsilon`.

    Δ/ε in floating point can be one ulp too small, so it is rounded up, towards privacy, until the mechanism's
    own privacy map agrees.
    """
    if sensitivity < 1:
        raise PrivacyError(f"sensitivity must be at least one lattice step, got {sensitivity}")
    scale = sensitivity / epsilon
    if not 0 < scale <= LARGEST_SCALE:
        raise PrivacyError(f"epsilon={epsilon} is too small for noise of any use; choose a larger epsilon")
    while laplace_privacy_loss(scale, sensitivity) > epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale


def laplace_privacy_loss(scale: float, sensitivity: int) -> float:
    """The ε that OpenDP's own privacy map gives this scale at this L1 sensitivity."""
    return float(_laplace(scale).map(sensitivity))


def add_laplace(values: Integers, scale: float) -> Integers:
    """Each value plus fresh discrete Laplace noise; saturates at the 64-bit limits, never wraps."""
    if len(values) > MANY:
        return saturating_sum(values, discrete_laplace(len(values), scale))
    noisy = _laplace(scale)(values.tolist())
    return np.array(noisy, dtype=np.int64)


def truncated_laplace(size: int, scale: float) -> list[int]:
    """`size` draws of real-valued Laplace noise, truncated towards zero to whole steps; exact, whatever their size.

    ⌊|x|⌋ of Laplace noise x is geometric, P(k) = (1 − q)q^k with q = exp(−1/scale), and its sign is a fair coin.
    """
    heads = secrets.token_bytes(size)
    return [k if coin & 1 else -k for k, coin in zip(_geometric(size, scale), heads, strict=True)]


def _geometric(size: int, scale: float) -> list[int]:
    """P(k) = (1 − q)q^k from discrete Laplace draws z: both z given z ≥ 0 and −z − 1 given z < 0 have this law.

    OpenDP saturates at the 64-bit limits; a draw there means "at least that much", and a geometric variable has no
    memory, so the rest of it is a fresh draw.
    """
    if not scale <= LARGEST_SCALE:
        raise PrivacyError(f"noise of {scale:g} steps is too much to be of use; choose a larger epsilon")
    draws = [z if z >= 0 else -z - 1 for z in _laplace(scale)([0] * size)]
    return [k if k < LARGEST_DRAW else k + _geometric(1, scale)[0] for k in draws]


@dataclass(frozen=True)
class LaplaceNoise:
    """Independent discrete Laplace noise on every value."""

    scale: float
    """in lattice steps"""

    def add_to(self, values: Integers) -> Integers:
        return add_laplace(values, self.scale)

    def draw_fresh(self, size: int) -> Integers | list[int]:
        """The noise alone, whatever its size."""
        return discrete_laplace(size, self.scale)


@dataclass(frozen=True)
class ObjectiveNoise:
    """The noise of the perturbed MLE: inside an objective, and discrete Laplace noise on its minimiser."""

    size: int
    scale: float
    """of the noise inside, truncated Laplace noise, in steps of its own grid"""
    minimised: Callable[[Any, list[int]], Integers]
    """exact votes and the noise inside in, the minimiser on its lattice out"""
    seal: LaplaceNoise

    def add_to(self, values: Any) -> Integers:
        return self.seal.add_to(self.minimised(values, truncated_laplace(self.size, self.scale)))


@lru_cache(maxsize=64)
def _laplace(scale: float) -> Any:
    dp = opendp(scale)
    return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale)


def opendp(scale: float) -> Any:
    """The library, once the scale is known to make sense: OpenDP accepts 0, with an infinite privacy map."""
    if not (math.isfinite(scale) and scale > 0):
        raise PrivacyError(f"the noise scale must be finite and > 0, got {scale}")
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp
