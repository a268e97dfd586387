"""Exact rounding: what comes out does not depend on how many bits were drawn first, and is never a guess."""

from __future__ import annotations

import math
import secrets
from fractions import Fraction

import pytest
from flint import arb, ctx

from quietrank.noise import exact


class Bits:
    """A source of bits that is known in advance: the binary digits of a number, one sequence for each call order."""

    def __init__(self, value: Fraction) -> None:
        self.value = value

    def randbits(self, bits: int) -> int:
        scaled = self.value * 2**bits
        digits = int(scaled)
        self.value = scaled - digits
        return digits


@pytest.mark.parametrize("bits", [1, 2, 7, 64])
@pytest.mark.parametrize("u", [Fraction(1, 3), Fraction(1, 2**40) + Fraction(1, 3**60), Fraction(999, 1000)])
def test_the_number_of_first_bits_does_not_matter(monkeypatch: pytest.MonkeyPatch, bits: int, u: Fraction) -> None:
    """−10⁶·log u rounded to a whole number, whether one bit is known at first or many."""
    monkeypatch.setattr(exact, "FIRST_BITS", bits)
    monkeypatch.setattr(secrets, "randbits", Bits(u).randbits)
    found = exact.rounded(lambda uniforms: [-1_000_000 * uniforms[0].log()], 1)
    assert found == [round(-1_000_000 * math.log(u))]


def test_a_value_next_to_a_rounding_border_takes_more_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """u = 1/2 + 2^-500: a thousand bits settle 2u rounded as 1 and not 2; a double would not know."""
    for sign, expected in ((1, 2), (-1, 1)):
        u = Fraction(3, 4) + sign * Fraction(1, 2**500)
        monkeypatch.setattr(secrets, "randbits", Bits(u).randbits)
        assert exact.rounded(lambda uniforms: [2 * uniforms[0]], 1) == [expected]


def test_an_open_value_is_not_guessed() -> None:
    """One bit leaves 4u open: no answer rather than some answer."""
    assert exact._evaluate(lambda uniforms: [4 * uniforms[0]], [1], 1) is None
    assert exact._evaluate(lambda uniforms: [uniforms[0] / 8], [1], 1) == [0]


def test_the_precision_of_others_is_left_alone() -> None:
    """arb's precision is global; it is restored afterwards."""
    before = ctx.prec
    exact.rounded(lambda uniforms: [exact.exponential_sum(uniforms)], 3)
    assert ctx.prec == before


def test_rationals_enter_exactly() -> None:
    """1/3 is an interval around 1/3."""
    third = exact.exactly(Fraction(1, 3))
    assert (3 * third - 1).contains(arb(0))
