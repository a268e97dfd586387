"""Integers in, integers with real-valued Gaussian noise, rounded to whole lattice steps, out.

The values are whole steps, so adding rounded noise is rounding the sum of value and real-valued noise: post-processing.
The draw is exact (docs/proofs/sampling.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quietrank.noise.exponential import WholeNumbers, enough, exponential, in_blocks, whole_parts
from quietrank.noise.words import (
    Reals,
    Source,
    all_heads,
    below,
    entropy,
    exponential_coins,
    fair_coins,
    halves,
    joined,
    saturating_sum,
)

if TYPE_CHECKING:
    from quietrank.arrays import Flags, Integers, Places


@dataclass(frozen=True)
class RoundedGaussianNoise:
    """Independent N(0, σ²) noise on every value, rounded to whole steps."""

    scale: float
    """σ, in lattice steps"""

    def add_to(self, values: Integers) -> Integers:
        return saturating_sum(values, self.draw_fresh(len(values)))

    def draw_fresh(self, size: int) -> Integers | list[int]:
        """The noise alone, whatever its size."""
        return rounded_normal(size, self.scale)


def rounded_normal(size: int, scale: float, source: Source = entropy) -> Integers | list[int]:
    """N(0, scale²), rounded to the nearest whole number."""
    return in_blocks(size, scale, lambda block: _rounded(block, scale, source))


def _rounded(size: int, scale: float, source: Source) -> WholeNumbers:
    """±⌊scale·|n| + ½⌋ = ±⌊(⌊2·scale·|n|⌋ + 1)/2⌋, with a fair sign."""
    sizes = whole_parts(2 * scale, *half_normal(size, source)) + 1 >> 1
    return np.where(fair_coins(size, source), -sizes, sizes)


def half_normal(size: int, source: Source) -> tuple[Integers, Reals]:
    """|n| of standard normal n, as whole parts and fractions.

    An exponential e is accepted with probability exp(−(e − 1)²/2): the density becomes that of exp(−e)·exp(−(e − 1)²/2)
    = exp(−½)·exp(−e²/2), up to a constant. In all √(π/2e), 0.76, of them are accepted.
    """
    wholes: list[Integers] = []
    fractions: list[Reals] = []
    while (missing := size - sum(map(len, wholes))) > 0:
        whole, fraction = exponential(enough(missing, 0.76), source)
        accepted = np.flatnonzero(_accepted(whole, fraction, source))
        wholes.append(whole[accepted])
        fractions.append(fraction.taken(accepted))
    return np.concatenate(wholes)[:size], joined(fractions).taken(slice(size))


def _accepted(whole: Integers, fraction: Reals, source: Source) -> Flags:
    """Heads with probability exp(−(v + x − 1)²/2).

    If v = 0 this is exp(−y²/2) with y = 1 − x; else, with m = v − 1, it is exp(−x²/2)·exp(−x)^m·exp(−½)^(m²).
    """
    mirrored = whole == 0

    def half_y(at: Places) -> Flags:
        """Heads with probability y/2."""
        below_y = below(Reals(len(at), source), fraction, at) ^ mirrored[at]
        return np.asarray(below_y & fair_coins(len(at), source))

    square = exponential_coins(fraction, np.arange(fraction.size), source, mirrored, half_y)
    m = np.where(square, np.maximum(whole - 1, 0), 0)
    mixed = all_heads(m, lambda at: exponential_coins(fraction, at, source))
    constant = all_heads(np.where(mixed, m * m, 0), lambda at: _root_coins(len(at), source))
    return np.asarray(square & mixed & constant)


def _root_coins(size: int, source: Source) -> Flags:
    """Heads with probability exp(−½)."""
    return exponential_coins(halves(size), np.arange(size), source)
