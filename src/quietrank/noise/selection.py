"""Integers in, the places of k of the largest out: private selection, where noise decides who wins a round.

Both are OpenDP's, which decides every acceptance by integers drawn from the operating system: permute-and-flip, k
rounds, each with fresh noise and without the items chosen before; and the exponential mechanism, one draw of Gumbel
noise for all rounds. How long it takes depends on the counts; nothing else here does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import PrivacyError
from quietrank.noise.lattice import opendp
from quietrank.noise.words import LARGEST_SCALE
from quietrank.promise.rounding import float_above

if TYPE_CHECKING:
    from quietrank.arrays import Integers


@dataclass(frozen=True)
class TopNoise:
    """Selection of the first k; in each round an item is chosen with a chance that falls by e for every `scale` steps
    that its count is behind."""

    k: int
    scale: float
    """in lattice steps"""
    gumbel: bool = False
    """the exponential mechanism, instead of permute-and-flip"""

    def add_to(self, values: Integers) -> Integers:
        return np.array(_selection(self)(values.tolist()), dtype=np.int64)


def flip_scale(steps: int, epsilon: float) -> float:
    """The smallest convenient scale of permute-and-flip for R_k, in steps: R_k/ε, rounded up, towards privacy."""
    return _scale(steps / epsilon, lambda scale: flip_loss(scale, steps) > epsilon)


def flip_loss(scale: float, steps: int) -> float:
    """The ε of all rounds of permute-and-flip: R_k/scale, rounded up."""
    return float_above(Fraction(steps) / Fraction(scale))


def gumbel_scale(k: int, steps: int, rho: float) -> float:
    """The smallest convenient scale of the exponential mechanism for the range R, in steps: R·√(k/8ρ), rounded up."""
    return _scale(steps * math.sqrt(k / (8 * rho)), lambda scale: gumbel_rho(k, scale, steps) > rho)


def gumbel_rho(k: int, scale: float, steps: int) -> float:
    """The ρ of k rounds of the exponential mechanism, k·(R/scale)²/8, by OpenDP's own privacy map.

    Adding a number to all counts changes no choice, so a change of range R is as good as one that lets no count fall
    and none rise by more than R: what OpenDP calls monotonic.
    """
    return float(_selection(TopNoise(k, scale, gumbel=True)).map(steps))


def _scale(scale: float, too_small: Callable[[float], bool]) -> float:
    if not 0 < scale <= LARGEST_SCALE:
        raise PrivacyError("epsilon is too small for a selection of any use; choose a larger epsilon")
    while too_small(scale):
        scale = math.nextafter(scale, math.inf)
    return scale


@lru_cache(maxsize=64)
def _selection(noise: TopNoise) -> Any:
    dp = opendp(noise.scale)
    measure = dp.zero_concentrated_divergence() if noise.gumbel else dp.max_divergence()
    distance = dp.linf_distance(T="i64", monotonic=True)
    return dp.m.make_noisy_top_k(
        dp.vector_domain(dp.atom_domain(T="i64")), distance, measure, k=noise.k, scale=noise.scale
    )
