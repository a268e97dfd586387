"""Roots and doubles are rounded up, by as little as can be."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from quietrank.promise.rounding import float_above, root_above

POSITIVE = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12)


@given(POSITIVE)
def test_roots_round_up(square: Fraction) -> None:
    """By less than 2^-60 of themselves, and not at all where they are rational."""
    root = root_above(square)
    assert square <= root**2 <= square * (1 + Fraction(1, 2**60))
    assert root_above(square**2) == square


@given(POSITIVE)
def test_doubles_round_up(value: Fraction) -> None:
    """No less than the exact value, and the next double below is less; so for the root as well."""
    double, root = float_above(value), float_above(root_above(value))
    assert Fraction(math.nextafter(double, 0)) < value <= Fraction(double)
    assert Fraction(math.nextafter(root, 0)) ** 2 < value <= Fraction(root) ** 2
