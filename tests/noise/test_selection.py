"""Selection draws with the exact law, whatever the counts, and its scales are rounded towards privacy."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from quietrank.auditing import list_law
from quietrank.auditing.distribution import pearson
from quietrank.errors import PrivacyError
from quietrank.mechanisms.selection import SelectionLaw
from quietrank.noise.selection import TopNoise, flip_loss, flip_scale, gumbel_rho, gumbel_scale

COUNTS = np.array([40, 38, 31, 30])
LEVEL = 1e-7


def _p_value(drawn: TopNoise, claimed: TopNoise, draws: int = 4000) -> float:
    seen = Counter(tuple(drawn.add_to(COUNTS).tolist()) for _ in range(draws))
    known = list_law.all_lists(claimed, tuple(COUNTS.tolist()))
    likely_first = sorted(known.items(), key=lambda pair: -pair[1])
    counts = np.array([seen[names] for names, _ in likely_first])
    return pearson(counts, np.array([share for _, share in likely_first]))


@pytest.mark.parametrize("gumbel", [False, True])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.few(2)
def test_the_draws_have_the_exact_law(gumbel: bool, k: int) -> None:
    """Lists come out as often as their exact probabilities say."""
    noise = TopNoise(k, 7.0, gumbel)
    assert _p_value(noise, noise) > LEVEL


@pytest.mark.parametrize("claimed", [TopNoise(1, 4.0), TopNoise(1, 7.0, gumbel=True)])
def test_another_law_is_noticed(claimed: TopNoise) -> None:
    """A scale that is too small, and Gumbel noise in place of permute-and-flip."""
    assert _p_value(TopNoise(1, 7.0), claimed) < LEVEL


@pytest.mark.parametrize("gumbel", [False, True])
def test_the_two_forms_are_one_law(gumbel: bool) -> None:
    """What planners sample, the largest of counts and noise, has the law of what is drawn."""
    law = SelectionLaw(len(COUNTS), 2, 7.0, gumbel)
    draws = 20_000
    noise = law.sample(np.random.default_rng(1), draws)
    lists = Counter(map(tuple, law.chosen(np.tile(COUNTS, (draws, 1)).astype(float), noise).tolist()))
    known = list_law.all_lists(TopNoise(2, 7.0, gumbel), tuple(COUNTS.tolist()))
    assert pearson(np.array([lists[names] for names in known]), np.array(list(known.values()))) > LEVEL


def test_probabilities_add_up() -> None:
    """All lists together are certain, and equal items equally likely."""
    for gumbel in (False, True):
        known = list_law.all_lists(TopNoise(2, 5.0, gumbel), (3, 3, 3, 3))
        assert sum(known.values()) == pytest.approx(1)
        assert np.allclose(list(known.values()), 1 / 12)


def test_scales_keep_their_price() -> None:
    """The loss at the scale that is returned is never above what was asked for, and hardly below."""
    for steps in (1, 3, 7_777_777, 38 * 2**21):
        for epsilon in (0.1, 0.3, 1.0, 7.7):
            scale = flip_scale(steps, epsilon)
            assert Fraction(steps) / Fraction(scale) <= Fraction(epsilon)
            assert flip_loss(scale, steps) == pytest.approx(epsilon, rel=1e-12)
        scale = gumbel_scale(5, steps, 0.02)
        assert gumbel_rho(5, scale, steps) <= 0.02
        assert 5 * (steps / scale) ** 2 / 8 == pytest.approx(0.02, rel=1e-9)
    with pytest.raises(PrivacyError, match="larger epsilon"):
        flip_scale(2**40, 1e-9)


@pytest.mark.parametrize("gumbel", [False, True])
def test_extreme_counts(gumbel: bool) -> None:
    """Counts at the limits of 64 bits are compared exactly."""
    counts = np.array([2**63 - 1, -(2**63), 0])
    assert TopNoise(2, 5.0, gumbel).add_to(counts).tolist() == [0, 2]
