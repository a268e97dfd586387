"""The exponential sampler: exact multiples, exact law, the same numbers as a slow reference."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quietrank.arrays import Floats, Integers
from quietrank.auditing import distribution
from quietrank.errors import PrivacyError
from quietrank.noise import exponential, words
from quietrank.noise.exponential import discrete_laplace, whole_parts
from quietrank.noise.words import LARGEST_SCALE, Reals, Source, entropy
from tests.noise import slowly
from tests.noise.test_words import CERTAIN, RARE, _hasty

DRAWS = 200_000
SCALES = [0.3, 1.0, 7.5, 60 * 2.0**21, 2.0**50, LARGEST_SCALE]


def p_value(draws: Integers | list[int], scale: float) -> float:
    """The audit's chi-square against P(z) ∝ exp(−|z|/scale)."""
    return distribution.lattice_fit(np.asarray(draws), lambda k: distribution.laplace_cdf(k, scale))


@pytest.mark.parametrize("scale", SCALES)
def test_draws_have_the_discrete_laplace_law_and_no_other(scale: float) -> None:
    """The right scale passes, a scale 5 % off does not."""
    draws = discrete_laplace(DRAWS, scale)
    assert p_value(draws, scale) > RARE
    assert p_value(draws, scale * 1.05) < CERTAIN
    assert p_value(draws, scale / 1.05) < CERTAIN


def test_a_second_zero_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """This test can fail: a fair sign without drawing −0 again makes zero too likely."""
    monkeypatch.setattr(exponential, "_two_sided", _with_two_zeros)
    assert p_value(discrete_laplace(DRAWS, 1.0), 1.0) < CERTAIN


def _with_two_zeros(size: int, scale: float, source: Source) -> Integers:
    sizes = whole_parts(scale, *exponential.exponential(size, source))
    return np.where(words.fair_coins(size, source), -sizes, sizes)


def coarse_values(whole: Integers, fraction: Reals) -> Floats:
    """v + x, where each word carries one bit."""
    x = sum((fraction.word(k) >> np.uint64(63)).astype(np.float64) / 2 ** (k + 1) for k in range(40))
    return np.asarray(whole + x)


@pytest.mark.parametrize("hasty", [False, True])
def test_the_law_holds_when_every_second_comparison_is_a_tie(hasty: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kolmogorov–Smirnov on words of one bit; ties that count as less are found."""
    if hasty:
        monkeypatch.setattr(words, "below", _hasty)
    fit = stats.kstest(coarse_values(*exponential.exponential(DRAWS, slowly.coarse(0, 1))), "expon").pvalue
    assert fit < CERTAIN if hasty else fit > RARE


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("scale", [*SCALES, 1e-5, 3.3e15])
def test_draws_are_those_of_the_slow_reference(scale: float, tied: bool) -> None:
    """The same words make the same numbers, also where most comparisons are ties."""
    ours = discrete_laplace(200, scale, slowly.seeded(3, tied))
    assert list(ours) == slowly.discrete_laplace(200, scale, slowly.seeded(3, tied))


Scales = st.one_of(
    st.floats(2.0**-30, 2.0**57), st.integers(-1074, 57).map(lambda k: 2.0**k), st.floats(0, 1, exclude_min=True)
)
Word = st.one_of(st.integers(0, 2**64 - 1), st.integers(2**64 - 2**12, 2**64 - 1), st.integers(0, 2**12))


@given(Scales, st.lists(st.tuples(st.integers(0, 300), Word, Word), min_size=1, max_size=5))
def test_whole_parts_are_exact(scale: float, numbers: list[tuple[int, int, int]]) -> None:
    """⌊scale·(v + x)⌋ by fractions, from the smallest double to 2^57, and where a second word decides."""
    whole = np.array([v for v, _, _ in numbers], dtype=np.int64)
    known = [np.array([number[k] for number in numbers], dtype=np.uint64) for k in (1, 2)]
    middle = slowly.seeded(len(numbers))
    drawn = whole_parts(scale, whole, Reals(len(numbers), middle, known))
    for z, (v, first, second) in zip(drawn.tolist(), numbers, strict=True):
        x = Fraction(first, 2**64) + Fraction(second, 2**128)
        low, high = (math.floor(Fraction(scale) * (v + x + extra)) for extra in (Fraction(0), Fraction(1, 2**128)))
        assert low <= z <= high


def test_a_multiple_on_the_edge_waits_for_the_word_that_decides() -> None:
    """3·x with x = 0.333…, known to 64 bits, is 0 or 1: the second word, one more than a third or one less, decides."""
    third = (2**64 - 1) // 3
    for second, expected in ((third + 1, 1), (third - 1, 0)):
        known = [np.array([word], dtype=np.uint64) for word in (third, second)]
        assert whole_parts(3.0, np.zeros(1, dtype=np.int64), Reals(1, entropy, known)).tolist() == [expected]


def test_draws_beyond_64_bits_are_pythons_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^56·(200 + ½) is exact, and so is the whole block."""
    far = np.array([200, 1], dtype=np.int64)
    monkeypatch.setattr(exponential, "exponential", lambda size, source: (far, words.halves(2)))
    monkeypatch.setattr(exponential, "fair_coins", lambda size, source: np.array([True, False]))
    assert discrete_laplace(2, 2.0**56) == [-(401 << 55), 3 << 55]


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**57])
def test_a_scale_of_no_use_is_refused(scale: float) -> None:
    with pytest.raises(PrivacyError):
        discrete_laplace(3, scale)


@pytest.mark.parametrize("size", [0, 1, 2, exponential.BLOCK - 1, exponential.BLOCK + 1])
def test_there_are_as_many_draws_as_asked_for(size: int) -> None:
    assert len(discrete_laplace(size, 2.0)) == size


def test_low_bits_are_uniform() -> None:
    """At a large scale the last six bits have all values equally often: x has enough digits."""
    draws = np.asarray(discrete_laplace(DRAWS, 2.0**55 / 3))
    assert distribution.pearson(np.bincount(draws & 63, minlength=64), np.full(64, 1 / 64)) > RARE
