"""Integers in, integers with real-valued Gaussian noise, rounded to whole steps, out.

Stand-in: Box and Muller's formula in interval arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from quietrank.noise.exact import exactly, rounded, saturating_sum

if TYPE_CHECKING:
    from quietrank.arrays import Integers


@dataclass(frozen=True)
class RoundedGaussianNoise:
    """Independent Gaussian noise on every value, rounded to whole steps."""

    scale: float
    """σ, in lattice steps"""

    def add_to(self, values: Integers) -> Integers:
        noise = [z for _ in range((len(values) + 1) // 2) for z in rounded(self._pair, 2)]
        return saturating_sum(values, noise[: len(values)])

    def _pair(self, uniforms: list[arb]) -> list[arb]:
        radius = (-2 * uniforms[0].log()).sqrt() * exactly(Fraction(self.scale))
        angle = 2 * uniforms[1]
        return [radius * angle.cos_pi(), radius * angle.sin_pi()]
