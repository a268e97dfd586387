"""Rounded Gaussian noise: exact law, the same numbers as a slow reference, fresh, and never wrapped."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from quietrank.arrays import Integers
from quietrank.auditing import distribution
from quietrank.errors import PrivacyError
from quietrank.noise import normal, words
from quietrank.noise.exponential import whole_parts
from quietrank.noise.normal import RoundedGaussianNoise, half_normal, rounded_normal
from quietrank.noise.words import LARGEST_DRAW, LARGEST_SCALE, entropy
from tests.noise import slowly
from tests.noise.test_exponential import DRAWS, SCALES, coarse_values
from tests.noise.test_words import CERTAIN, RARE, _hasty


def p_value(draws: Integers | list[int], scale: float) -> float:
    """Chi-square against P(z ≤ k) = Φ((k + ½)/σ)."""
    return distribution.lattice_fit(np.asarray(draws), lambda k: np.asarray(special.ndtr((k + 0.5) / scale)))


@pytest.mark.parametrize("scale", SCALES)
def test_draws_are_normal_rounded_and_nothing_else(scale: float) -> None:
    """The right σ passes, 5 % more or less does not."""
    draws = rounded_normal(DRAWS, scale)
    assert p_value(draws, scale) > RARE
    assert p_value(draws, scale * 1.05) < CERTAIN
    assert p_value(draws, scale / 1.05) < CERTAIN


def test_draws_at_a_fine_scale_are_normal() -> None:
    """Kolmogorov–Smirnov against the real-valued distribution."""
    draws = np.asarray(rounded_normal(DRAWS, 2.0**40)) / 2.0**40
    assert stats.kstest(draws, "norm").pvalue > RARE
    assert stats.kstest(draws * 1.05, "norm").pvalue < CERTAIN


FAULTS = {
    "every exponential accepted": ("_accepted", lambda whole, fraction, source: np.ones(len(whole), dtype=np.bool_)),
    "nothing asked beyond 2": ("all_heads", lambda times, coins: np.ones(len(times), dtype=np.bool_)),
    "a constant too often": ("_root_coins", lambda size, source: np.ones(size, dtype=np.bool_)),
    "one coin instead of many": ("all_heads", lambda times, coins: words.all_heads(np.minimum(times, 1), coins)),
    "unfair coins": (
        "fair_coins",
        lambda size, source: words.fair_coins(size, source) | words.fair_coins(size, source),
    ),
    "not mirrored": ("below", lambda fresh, others, at: ~words.below(fresh, others, at)),
    "truncated, not rounded": ("whole_parts", lambda scale, whole, x: whole_parts(scale / 2, whole, x) * 2),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests can fail: each shortcut changes the law by more than chance explains."""
    monkeypatch.setattr(normal, *FAULTS[fault])
    assert p_value(rounded_normal(DRAWS, 7.5), 7.5) < CERTAIN


@pytest.mark.parametrize("hasty", [False, True])
def test_the_law_holds_when_every_second_comparison_is_a_tie(hasty: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On words of one bit the numbers are half-normal; they are not if ties count as less."""
    coins = words.fair_coins
    monkeypatch.setattr(normal, "fair_coins", lambda size, source: coins(size, entropy))  # these need 64 bits
    if hasty:
        monkeypatch.setattr(words, "below", _hasty)
        monkeypatch.setattr(normal, "below", _hasty)
    fit = stats.kstest(coarse_values(*half_normal(DRAWS, slowly.coarse(0, 1))), "halfnorm").pvalue
    assert fit < CERTAIN if hasty else fit > RARE


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("scale", [*SCALES, 1e-5, 3.3e15])
def test_draws_are_those_of_the_slow_reference(scale: float, tied: bool) -> None:
    """The same words make the same numbers, also where most comparisons are ties."""
    ours = rounded_normal(200, scale, slowly.seeded(5, tied))
    assert list(ours) == slowly.rounded_normal(200, scale, slowly.seeded(5, tied))


def test_low_bits_are_uniform() -> None:
    """At a large scale the last six bits have all values equally often: x has enough digits."""
    draws = np.asarray(rounded_normal(DRAWS, 2.0**55 / 3))
    assert distribution.pearson(np.bincount(draws & 63, minlength=64), np.full(64, 1 / 64)) > RARE


def test_noise_is_added_to_the_values() -> None:
    """Noise far below one step leaves them alone."""
    values = np.array([-5, 0, 2**62], dtype=np.int64)
    assert RoundedGaussianNoise(1e-3).add_to(values).tolist() == values.tolist()


def test_sums_do_not_wrap() -> None:
    """At the 64-bit limits the sum saturates: half the draws go beyond, none comes out on the other side."""
    for edge in (LARGEST_DRAW, -LARGEST_DRAW):
        sums = RoundedGaussianNoise(LARGEST_SCALE).add_to(np.full(1000, edge, dtype=np.int64))
        assert (np.sign(sums) == np.sign(edge)).all()
        assert 350 < (sums == edge).sum() < 650


def test_noise_beyond_64_bits_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw of 2^56·(200 + ½) is exact; the sum saturates."""
    far = np.array([200, 1], dtype=np.int64)
    monkeypatch.setattr(normal, "half_normal", lambda size, source: (far, words.halves(2)))
    monkeypatch.setattr(normal, "fair_coins", lambda size, source: np.array([True, False]))
    assert rounded_normal(2, 2.0**56) == [-(401 << 55), 3 << 55]
    assert RoundedGaussianNoise(2.0**56).add_to(far).tolist() == [-LARGEST_DRAW, 1 + (3 << 55)]


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**57])
def test_a_scale_of_no_use_is_refused(scale: float) -> None:
    with pytest.raises(PrivacyError):
        rounded_normal(3, scale)


def test_every_draw_is_fresh() -> None:
    """Between calls and in forked processes."""
    assert list(rounded_normal(20, 1e9)) != list(rounded_normal(20, 1e9))
    draws = distribution.in_children(lambda: np.asarray(rounded_normal(20, 1e9)).tobytes())
    assert len(set(draws)) == len(draws)


def test_the_words_read_do_not_depend_on_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words give the same noise, whatever it is added to."""
    noises = []
    for value in (0, 2**40, -(2**61)):
        source = slowly.seeded(8)
        monkeypatch.setattr(normal, "rounded_normal", lambda size, scale, s=source: rounded_normal(size, scale, s))
        noises.append((RoundedGaussianNoise(1e6).add_to(np.full(50, value, dtype=np.int64)) - value).tolist())
    assert noises[0] == noises[1] == noises[2]
