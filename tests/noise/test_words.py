"""Words: comparisons are those of the real numbers, and the coins they decide have the probabilities they claim."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quietrank.arrays import Flags, Places
from quietrank.auditing import distribution
from quietrank.noise import words
from quietrank.noise.words import LARGEST_DRAW, Reals, Source, Words, below, entropy, exponential_coins, saturating_sum
from tests.noise.slowly import coarse

COINS = 200_000
RARE = 1e-9
CERTAIN = 1e-12

Digits = st.lists(st.sampled_from([0, 1, 2**63, 2**64 - 1]), min_size=4, max_size=4)


def _fixed(rows: list[list[int]]) -> Reals:
    """Numbers whose words are all known."""
    return Reals(len(rows), _exhausted, [np.array(column, dtype=np.uint64) for column in zip(*rows, strict=True)])


def _exhausted(size: int) -> Words:
    raise AssertionError("no more words were needed")


def _value(digits: list[int]) -> Fraction:
    return sum((Fraction(digit, 2 ** (64 * k)) for k, digit in enumerate(digits, 1)), Fraction(0))


@given(st.lists(st.tuples(Digits, Digits).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=5))
def test_a_comparison_is_that_of_the_numbers(pairs: list[tuple[list[int], list[int]]]) -> None:
    """Whatever the words, also where the first ones are equal: as fractions, and at shuffled places."""
    at = np.arange(len(pairs))[::-1]
    less = below(_fixed([a for a, _ in pairs]), _fixed([pairs[k][1] for k in at]), at)
    assert less.tolist() == [_value(a) < _value(b) for a, b in pairs]


def test_a_tie_draws_more_words_and_keeps_them() -> None:
    """Both numbers get a second word, once: the next comparison sees the same numbers."""
    script = iter([[5, 5], [9, 1], [5, 5], [7, 7], [0, 0]])

    def source(size: int) -> Words:
        return np.array(next(script), dtype=np.uint64)

    x, both = Reals(2, source, [np.array([5, 5], dtype=np.uint64)]), np.arange(2)
    first = below(Reals(2, source), x, both)  # reads (5, 5) and, for the tie, (9, 1); x gets (5, 5)
    assert first.tolist() == [False, True]
    assert [word.tolist() for word in x.known] == [[5, 5], [5, 5]]
    second = below(Reals(2, source, [np.array([5, 5], dtype=np.uint64)]), x, both)  # reads (7, 7)
    assert second.tolist() == [False, False]
    assert next(script) == [0, 0]


def _share(source: Source, number: int, mirrored: bool = False, thinned: bool = False) -> int:
    """Heads among COINS coins with y = number/2^64, or 1 − y."""
    tops = Reals(COINS, lambda n: np.zeros(n, dtype=np.uint64), [np.full(COINS, number, dtype=np.uint64)])
    thinning = (lambda at: words.fair_coins(len(at), entropy)) if thinned else None
    heads = exponential_coins(tops, np.arange(COINS), source, np.full(COINS, mirrored), thinning)
    return int(heads.sum())


@pytest.mark.parametrize("thinned", [False, True])
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("sixteenths", [0, 5, 8, 15])
@pytest.mark.parametrize("ties", [False, True])
def test_a_coin_has_its_probability(ties: bool, sixteenths: int, mirrored: bool, thinned: bool) -> None:
    """exp(−p·y), also with words of four bits, where every sixteenth comparison is a tie; not that of y + 1/8."""
    source = coarse(sixteenths, 4) if ties else entropy
    heads = _share(source, sixteenths << 60, mirrored, thinned)
    y = 1 - sixteenths / 16 if mirrored else sixteenths / 16
    p = 0.5 if thinned else 1.0
    assert stats.binomtest(heads, COINS, math.exp(-p * y)).pvalue > RARE
    assert stats.binomtest(heads, COINS, math.exp(-p * (y + 1 / 8))).pvalue < CERTAIN


def test_coins_belong_to_their_places() -> None:
    """Thinning and y are those of at[i]: with tails every time at the first place, no step succeeds there."""
    tops = Reals(2, lambda n: np.zeros(n, dtype=np.uint64), [np.array([0, 2**63], dtype=np.uint64)])
    at = np.repeat([1, 0, 1], 20_000)
    heads = exponential_coins(tops, at, entropy, mirrored=at == 0, thinning=lambda places: places == 1)
    assert heads[at == 0].all()
    for half in heads.reshape(3, -1)[[0, 2]]:
        assert stats.binomtest(int(half.sum()), 20_000, math.exp(-0.5)).pvalue > RARE


def test_equal_words_taken_as_less_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """This test can fail: without further words, ties bias the coin."""
    monkeypatch.setattr(words, "below", _hasty)
    heads = _share(coarse(1, 4), 5 << 60)
    assert stats.binomtest(heads, COINS, math.exp(-5 / 16)).pvalue < CERTAIN


def _hasty(fresh: Reals, others: Reals, at: Places) -> Flags:
    return np.asarray(fresh.word(0) <= others.word(0)[at])


def test_one_half_is_one_half() -> None:
    """Half of all numbers are below it, and its further words are 0: nothing that starts alike is below."""
    assert [word.tolist() for word in (words.halves(2).word(0), words.halves(2).word(1))] == [[2**63] * 2, [0, 0]]
    close = _fixed([[2**63, 0, 1], [2**63 - 1, 2**64 - 1, 2**64 - 1]])
    assert below(close, words.halves(2), np.arange(2)).tolist() == [False, True]


def test_every_coin_of_a_row_counts() -> None:
    """k coins in a row show heads with probability ½^k, and none is thrown after tails."""
    times = np.repeat(np.arange(5), 40_000)
    thrown = np.zeros(len(times), dtype=np.int64)

    def coins(at: Places) -> Flags:
        thrown[at] += 1
        return words.fair_coins(len(at), entropy)

    heads = words.all_heads(times, coins)
    assert (thrown[heads] == times[heads]).all()
    for k in range(5):
        assert stats.binomtest(int(heads[times == k].sum()), 40_000, 0.5**k).pvalue > RARE
    assert thrown.reshape(5, -1).mean(axis=1) == pytest.approx(2 - 2 * 0.5 ** np.arange(5), rel=0.05)


def test_fair_coins_are_the_bits_of_the_words() -> None:
    """64 coins from one word, each of its bits once."""
    for k in range(64):
        bits = words.fair_coins(64, lambda n, k=k: np.full(n, 1 << k, dtype=np.uint64))  # type: ignore[misc]
        assert bits.sum() == 1
    assert words.fair_coins(65, lambda n: np.full(n, 2**64 - 1, dtype=np.uint64)).all()


Near = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(2**63 - 9, 2**63 - 1), st.integers(-(2**63), -(2**63) + 9)
)


@given(st.lists(st.tuples(Near, Near), max_size=6))
def test_sums_saturate_and_never_wrap(pairs: list[tuple[int, int]]) -> None:
    """At the 64-bit limits as everywhere; lists of Python's integers give the same."""
    values, noise = (np.array([pair[k] for pair in pairs], dtype=np.int64) for k in range(2))
    expected = [max(-LARGEST_DRAW, min(LARGEST_DRAW, a + b)) for a, b in pairs]
    assert saturating_sum(values, noise).tolist() == expected
    assert saturating_sum(values, noise.tolist()).tolist() == expected


def test_noise_beyond_64_bits_is_added_exactly() -> None:
    """2^63 + 5 does not fit, but its sum with −2^62 does."""
    values = np.array([-(2**62), 0], dtype=np.int64)
    assert saturating_sum(values, [2**63 + 5, 2**70]).tolist() == [2**62 + 5, LARGEST_DRAW]


def test_entropy_is_fresh_in_every_call_and_process() -> None:
    """Nothing is kept that a fork could copy."""
    assert (entropy(50) != entropy(50)).all()
    draws = distribution.in_children(lambda: entropy(50).tobytes())
    assert len(set(draws)) == len(draws)


def test_words_are_uniform() -> None:
    """The first and the last byte of each."""
    drawn = entropy(100_000)
    for octet in (drawn >> np.uint64(56), drawn & np.uint64(255)):
        counts = np.bincount(octet.astype(np.int64), minlength=256)
        assert distribution.pearson(counts, np.full(256, 1 / 256)) > RARE
