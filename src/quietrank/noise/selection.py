"""Integers in, the places of k of the largest out: private selection, where noise decides who wins a round.

Both are OpenDP's, which decides every acceptance by integers drawn from the operating system: permute-and-flip, k
rounds, each with fresh noise and without the items chosen before; and the exponential mechanism, one draw of Gumbel
noise for all rounds. How long it takes depends on the counts; nothing else here does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import PrivacyError
from quietrank.noise.lattice import LARGEST_SCALE, opendp

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


def selection_loss(noise: TopNoise, steps: int) -> float:
    """The ε of permute-and-flip, or the ρ of the exponential mechanism, by OpenDP's own privacy map.

    `steps` is the largest range of a change. Adding a number to all counts changes no choice, so a change of this
    range is as good as one that lets no count fall and none rise by more: what OpenDP calls monotonic.
    """
    return float(_selection(noise).map(steps))


def selection_scale(k: int, steps: int, loss: float, *, gumbel: bool = False) -> float:
    """The smallest convenient scale with at most this loss: k·R/ε, or R·√(k/8ρ); rounded up, towards privacy."""
    scale = (steps * math.sqrt(k / (8 * loss)) if gumbel else k * steps / loss) if loss > 0 else math.inf
    if not 0 < scale <= LARGEST_SCALE:
        raise PrivacyError("epsilon is too small for a selection of any use; choose a larger epsilon")
    while selection_loss(TopNoise(k, scale, gumbel), steps) > loss:
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
