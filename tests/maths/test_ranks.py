"""Rank sets, tiers and the chance of being first: what follows from estimates and draws of their errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from quietrank.arrays import Floats
from quietrank.maths import ranks
from quietrank.maths.ranks import (
    Booleans,
    all_told_apart,
    chances,
    critical_values,
    rank_sets,
    rank_sets_of_intervals,
    tiers,
    tiers_of_intervals,
    told_apart,
)
from tests.effort import effort

LEVEL = 0.9


def _in_one_step(family: Callable[..., Booleans], estimates: Floats, errors: Floats) -> Booleans:
    """What is told apart before the critical value is lowered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks, "MOST_STEPS", 1)
        return family(estimates, errors, LEVEL)


def _cases(draws: int = 400) -> st.SearchStrategy[tuple[Floats, Floats]]:
    """Estimates of 2 to 8 items with gaps of about their errors, which differ in size and hang together."""

    def case(n: int, seed: int, gaps: float) -> tuple[Floats, Floats]:
        rng = np.random.default_rng(seed)
        sizes = rng.uniform(0.2, 2, n)
        errors = rng.normal(size=(draws, n)) * sizes + rng.normal(size=(draws, 1)) * rng.normal(size=n)
        return gaps * rng.normal(size=n), errors

    return st.builds(case, st.integers(2, 8), st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 5.0, 20.0]))


def _booleans(n: int, seed: int) -> Booleans:
    """Some relation between items, as irregular as can be."""
    apart = np.random.default_rng(seed).random((n, n)) < 0.5
    np.fill_diagonal(apart, False)
    return apart


def _uncorrelated(draws: int, n: int, seed: int) -> Floats:
    """Draws of errors whose covariance is exactly the identity."""
    z = np.random.default_rng(seed).normal(size=(draws, n))
    q, _ = np.linalg.qr(z - z.mean(axis=0))
    return np.asarray(q * np.sqrt(draws - 1))


# ---- critical values ------------------------------------------------------------------------------------------------


@given(st.integers(20, 300), st.sampled_from([0.5, 0.9, 0.95]), st.integers(0, 1000))
def test_a_critical_value_holds_its_share_and_hardly_more(rows: int, level: float, seed: int) -> None:
    """At least `level` of the draws stay at or below it, and fewer than `level` and two draws do so by chance."""
    sizes = np.random.default_rng(seed).exponential(size=(rows, 3))
    below = (sizes <= critical_values(sizes, level)).sum(axis=0)
    assert (below >= level * rows).all()
    assert (below <= level * rows + 2).all()


def test_the_critical_value_of_normal_errors_is_the_one_of_the_tables() -> None:
    """1.645 for one item at 90 %; for the largest of six independent ones that of the level 0.9^(1/6)."""
    sizes = np.abs(np.random.default_rng(0).normal(size=(200_000, 6)))
    assert critical_values(sizes, LEVEL) == pytest.approx(np.full(6, 1.645), abs=0.03)
    expected = special.ndtri((1 + LEVEL ** (1 / 6)) / 2)
    assert critical_values(sizes.max(axis=1), LEVEL) == pytest.approx(expected, abs=0.03)


# ---- who is told apart ----------------------------------------------------------------------------------------------


def _by_hand(estimates: Floats, errors: Floats) -> Booleans:
    """One step, item by item, written as it is defined."""
    n = len(estimates)
    apart = np.zeros((n, n), dtype=bool)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        sd = {j: np.std(errors[:, j] - errors[:, i], ddof=1) for j in others}
        largest = np.max([np.abs(errors[:, j] - errors[:, i]) / sd[j] for j in others], axis=0)
        for j in others:
            apart[i, j] = abs(estimates[j] - estimates[i]) / sd[j] > critical_values(largest, LEVEL) * (1 + 1e-5)
    return apart


@settings(max_examples=30, deadline=None)
@given(_cases())
def test_one_step_is_what_its_definition_says(case: tuple[Floats, Floats]) -> None:
    """Differences to item i, each in units of its own standard deviation, against the largest of all of them."""
    sure = _by_hand(*case)
    assert (_in_one_step(told_apart, *case) >= sure).all()
    assert _in_one_step(told_apart, *case).sum() <= sure.sum() + 1  # a tie within rounding, once in a while


@settings(max_examples=40, deadline=None)
@given(_cases())
def test_further_steps_only_tell_more_items_apart(case: tuple[Floats, Floats]) -> None:
    """So rank sets made step by step are never wider, whichever the family."""
    for family in (told_apart, all_told_apart):
        one_step, stepwise = _in_one_step(family, *case), family(*case, LEVEL)
        assert (stepwise >= one_step).all()
        (low, high), (wide_low, wide_high) = rank_sets(case[0], stepwise), rank_sets(case[0], one_step)
        assert (low >= wide_low).all()
        assert (high <= wide_high).all()


@settings(max_examples=40, deadline=None)
@given(_cases())
def test_holding_for_all_items_together_costs_something(case: tuple[Floats, Floats]) -> None:
    """In one step, what is told apart among all differences is told apart among those to one item; and it is mutual."""
    together = _in_one_step(all_told_apart, *case)
    assert (_in_one_step(told_apart, *case) >= together).all()
    assert (together == together.T).all()


def test_steps_do_tell_more_apart() -> None:
    """Three items far away need not be allowed for any more: then the two in the middle are told apart."""
    errors = _uncorrelated(4000, 5, seed=1)
    estimates = np.array([0.0, 3.05, 100.0, 200.0, 300.0])
    assert not _in_one_step(told_apart, estimates, errors)[0, 1]
    assert told_apart(estimates, errors, LEVEL)[0, 1]


def test_the_work_is_reported_from_start_to_end() -> None:
    done: list[float] = []
    told_apart(np.arange(4.0), _uncorrelated(100, 4, seed=2), LEVEL, tell=done.append)
    assert done == [0.25, 0.5, 0.75, 1.0]


def test_errors_that_cannot_differ_tell_nothing_apart() -> None:
    """Two items with the same error in every draw: their difference has no spread to compare it with."""
    errors = np.repeat(np.random.default_rng(3).normal(size=(500, 1)), 3, axis=1)
    assert not told_apart(np.array([1.0, 2.0, 3.0]), errors, LEVEL).any()


@pytest.mark.parametrize("family", [told_apart, all_told_apart])
@pytest.mark.few(1)
def test_equal_items_are_told_apart_as_seldom_as_promised(family: Callable[[Floats, Floats, float], Booleans]) -> None:
    """A given item from some other, or any from any, in one release of ten; of 2000 releases ± 4 points is 6 sigma."""
    rng = np.random.default_rng(4)
    errors, wrong = rng.normal(size=(2000, 6)), []
    for _ in range(effort(800, 2000)):
        apart = family(rng.normal(size=6), errors, LEVEL)
        wrong.append((apart[0] if family is told_apart else apart).any())
    assert np.mean(wrong) == pytest.approx(1 - LEVEL, abs=0.04)


# ---- rank sets ------------------------------------------------------------------------------------------------------


def test_rank_sets_by_hand() -> None:
    """Everything apart: one rank each. Nothing apart: all ranks. One item apart from the two others: in between."""
    estimates, n = np.array([1.0, 3.0, 2.0]), 3
    everything, nothing, first = ~np.eye(n, dtype=bool), np.zeros((n, n), dtype=bool), np.zeros((n, n), dtype=bool)
    first[1] = [True, False, True]
    first[:, 1] = [True, False, True]
    for apart, low, high in (
        (everything, [3, 1, 2], [3, 1, 2]),
        (nothing, [1, 1, 1], [3, 3, 3]),
        (first, [2, 1, 2], [3, 1, 3]),
    ):
        found_low, found_high = rank_sets(estimates, apart)
        assert found_low.tolist() == low
        assert found_high.tolist() == high


@settings(max_examples=40, deadline=None)
@given(_cases())
def test_an_items_own_rank_is_in_its_set(case: tuple[Floats, Floats]) -> None:
    estimates, _ = case
    rank = 1 + (estimates[None, :] > estimates[:, None]).sum(axis=1)
    low, high = rank_sets(estimates, told_apart(*case, LEVEL))
    assert (low <= rank).all()
    assert (rank <= high).all()


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=8))
def test_rank_sets_of_intervals_by_brute_force(intervals: list[tuple[int, int]]) -> None:
    """1 + the number of intervals that lie above it altogether, n − the number below; touching is not apart."""
    low, width = np.array(intervals, dtype=float).T
    high, n = low + width, len(low)
    best, worst = rank_sets_of_intervals(low, high)
    for i in range(n):
        assert best[i] == 1 + sum(low[j] > high[i] for j in range(n))
        assert worst[i] == n - sum(high[j] < low[i] for j in range(n))


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 8), st.integers(0, 10**6))
def test_rank_sets_of_intervals_are_the_wider_ones(n: int, seed: int) -> None:
    """Two intervals of half-width q are apart beyond 2q, and the difference beyond √2·c; in every draw the largest
    |z_i − z_j|/√2 is at most √2 times the largest |z|, so c ≤ √2·q."""
    errors = _uncorrelated(500, n, seed)
    estimates = 3 * np.random.default_rng(seed).normal(size=n)
    half = critical_values(np.abs(errors).max(axis=1), LEVEL)
    wide_low, wide_high = rank_sets_of_intervals(estimates - half, estimates + half)
    low, high = rank_sets(estimates, _in_one_step(all_told_apart, estimates, errors))
    assert (wide_low <= low).all()
    assert (high <= wide_high).all()


# ---- tiers ----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 9), st.integers(0, 10**6))
def test_tiers_are_what_is_printed_about_them(n: int, seed: int) -> None:
    """Members cannot be told apart from the first of their tier; the first of the next one can."""
    apart, order = _booleans(n, seed), np.random.default_rng(seed).permutation(n).tolist()
    tier = tiers(order, apart)
    first_of: dict[int, int] = {}
    for item in order:
        first_of.setdefault(int(tier[item]), item)
        assert not apart[first_of[int(tier[item])], item]
    assert list(first_of) == list(range(1, len(first_of) + 1))
    assert all(apart[first_of[k], first_of[k + 1]] for k in range(1, len(first_of)))
    assert sorted(tier[order].tolist()) == tier[order].tolist()


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0, 4)), min_size=1, max_size=8))
def test_tiers_of_intervals_are_those_of_the_relation_they_stand_for(intervals: list[tuple[float, float]]) -> None:
    centre, half = np.array(intervals).T
    low, high = centre - half, centre + half
    order = np.argsort(-centre, kind="stable").tolist()
    assert (tiers_of_intervals(order, low, high) == tiers(order, high[None, :] < low[:, None])).all()


# ---- chances --------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(_cases(), st.integers(1, 9))
def test_somebody_is_first(case: tuple[Floats, Floats], top: int) -> None:
    """The probabilities of being first add up to 1, those of being among the first `top` to `top`, and are larger."""
    first, among = chances(*case, top)
    assert first.sum() == pytest.approx(1)
    assert among.sum() == pytest.approx(min(top, len(first)))
    assert (among >= first - 1e-12).all()


@settings(max_examples=20, deadline=None)
@given(_cases(), st.integers(0, 1000))
def test_chances_do_not_depend_on_the_order_of_items(case: tuple[Floats, Floats], seed: int) -> None:
    estimates, errors = case
    shuffled = np.random.default_rng(seed).permutation(len(estimates))
    first, among = chances(estimates, errors, 2)
    again, again_among = chances(estimates[shuffled], errors[:, shuffled], 2)
    # Sums in another order may move a spread by one step of its grid.
    assert again == pytest.approx(first[shuffled], abs=0.01)
    assert again_among == pytest.approx(among[shuffled], abs=0.01)


def test_equal_estimates_have_equal_chances() -> None:
    """1/n each, whatever the errors do: nothing distinguishes the items."""
    first, among = chances(np.zeros(5), np.random.default_rng(5).normal(size=(20_000, 5)), 2)
    assert first == pytest.approx(np.full(5, 1 / 5), abs=0.02)
    assert among == pytest.approx(np.full(5, 2 / 5), abs=0.02)


def test_a_clear_winner_is_certain() -> None:
    first, _ = chances(np.array([50.0, 0.0, -1.0]), np.random.default_rng(6).normal(size=(4000, 3)), 1)
    assert first[0] > 0.999


def _releases(n: int, spread: float, releases: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """For normal true values: the probability of being first as stated, by draws around the estimates, and whether the
    item is first."""
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(1000, n))
    stated, naive, true = [], [], []
    for _ in range(releases):
        truth = spread * rng.normal(size=n)
        estimates = truth + rng.normal(size=n)
        stated.append(chances(estimates, errors, 1)[0])
        naive.append(np.bincount((estimates + errors).argmax(axis=1), minlength=n) / len(errors))
        true.append(truth == truth.max())
    return tuple(np.concatenate(part).astype(float) for part in (stated, naive, true))  # type: ignore[return-value]


@pytest.mark.parametrize(("n", "spread"), [(6, 2.0), (6, 0.7), (20, 1.0)])
@pytest.mark.few(2)
def test_chances_are_calibrated(n: int, spread: float) -> None:
    """Of the items that are said to be first with probability p, the share p is; 0.07 is over 5 sigma of 300 entries in
    the middle, where there are most."""
    stated, _, true = _releases(n, spread, 1200, seed=7)
    place = np.minimum((stated * 10).astype(int), 9)
    judged = [place == k for k in range(10) if (place == k).sum() >= 300]
    assert len(judged) >= 3
    for within in judged:
        sigma = np.sqrt(true[within].mean() * (1 - true[within].mean()) / within.sum())
        assert stated[within].mean() == pytest.approx(true[within].mean(), abs=max(0.04, 5 * sigma))


def test_draws_around_the_estimates_would_be_overconfident() -> None:
    """The reason for the shrinkage: where estimates are mostly luck, the luckiest is not first as often as it looks."""
    stated, naive, true = _releases(20, 0.3, 600, seed=8)
    luckiest = naive.reshape(-1, 20).argmax(axis=1) + 20 * np.arange(600)
    assert naive[luckiest].mean() > true[luckiest].mean() + 0.1
    assert stated[luckiest].mean() == pytest.approx(true[luckiest].mean(), abs=0.08)
