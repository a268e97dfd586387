"""Exact fractions in, roots and doubles out: rounded up, towards privacy, and exact wherever they can be."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isqrt, nextafter

PRECISION = 64
"""binary digits of a root that is not rational"""


def root_above(square: Fraction) -> Fraction:
    """√, or a little more."""
    scaled = square.numerator * square.denominator << 2 * PRECISION
    root = isqrt(scaled)
    return Fraction(root + (root * root < scaled), square.denominator << PRECISION)


def float_above(value: Fraction) -> float:
    """The smallest double that is no smaller."""
    near = float(value)
    return near if Fraction(near) >= value else nextafter(near, inf)
