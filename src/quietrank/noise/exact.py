"""A formula of uniform real numbers in; its value, exactly rounded, out.

A uniform real number is a sequence of random bits of which only the first are known: an interval. The formula is
evaluated in interval arithmetic (arb, of python-flint), and where the intervals do not settle the rounded result,
more bits are drawn. The result has exactly the distribution of the formula of real-valued uniforms, rounded.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb, ctx, fmpq, fmpz

from quietrank.noise.words import saturating_sum

if TYPE_CHECKING:
    from quietrank.arrays import Integers

Formula = Callable[[list[arb]], list[arb]]
"""uniform reals in (0, 1) to values in lattice steps; interval arithmetic throughout"""

FIRST_BITS = 128
MORE_BITS = 64
GUARD_BITS = 32


def rounded(formula: Formula, uniforms: int) -> list[int]:
    """The values of the formula for fresh uniform reals, each rounded to the nearest whole number."""
    bits = FIRST_BITS
    known = [secrets.randbits(bits) for _ in range(uniforms)]
    while True:
        values = _evaluate(formula, known, bits)
        if values is not None:
            return values
        known = [digits << MORE_BITS | secrets.randbits(MORE_BITS) for digits in known]
        bits += MORE_BITS


def _evaluate(formula: Formula, known: list[int], bits: int) -> list[int] | None:
    """The rounded values, or None if the known bits leave one of them undecided."""
    precision = ctx.prec
    ctx.prec = bits + GUARD_BITS
    try:
        half_ulp = arb(fmpq(1, 2 << bits))
        balls = [arb(fmpq(2 * digits + 1, 2 << bits)) + arb(0, 1) * half_ulp for digits in known]
        whole = [(value + arb(fmpq(1, 2))).floor().unique_fmpz() for value in formula(balls)]
    finally:
        ctx.prec = precision
    settled = [int(value) for value in whole if value is not None]
    return settled if len(settled) == len(whole) else None


def exponential_sum(uniforms: list[arb]) -> arb:
    """Gamma(k, 1) from k uniforms: −log of their product."""
    product = arb(1)
    for uniform in uniforms:
        product *= uniform
    return -product.log()


def normals(uniforms: list[arb]) -> list[arb]:
    """As many independent standard normals as there are uniforms, an even number, by Box and Muller (1958)."""
    half = len(uniforms) // 2
    lengths = [(-2 * uniform.log()).sqrt() for uniform in uniforms[:half]]
    turns = [(2 * uniform).sin_cos_pi() for uniform in uniforms[half:]]
    return [length * part for length, parts in zip(lengths, turns, strict=True) for part in parts]


def exactly(value: Fraction) -> arb:
    """A rational number as an interval."""
    return arb(fmpq(fmpz(value.numerator), fmpz(value.denominator)))


@dataclass(frozen=True)
class FormulaNoise:
    """Real-valued noise by a formula, added to exact values and rounded: for mechanisms that bring their own law."""

    formula: Formula
    uniforms: int
    """how many uniform reals the formula takes"""

    def add_to(self, values: Integers) -> Integers:
        return saturating_sum(values, rounded(self.formula, self.uniforms))
