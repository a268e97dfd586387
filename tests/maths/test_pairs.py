"""Votes become pairs without losing, inventing or misplacing any."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietrank.errors import VotesError
from quietrank.maths import pairs as module
from quietrank.maths.pairs import Pairs, aggregate

Vote = tuple[int, int, bool]


@st.composite
def votes(draw: st.DrawFn) -> tuple[int, list[Vote]]:
    n = draw(st.integers(2, 12))
    vote = st.tuples(st.integers(0, n - 1), st.integers(1, n - 1), st.booleans())
    return n, [(w, (w + k) % n, tie) for w, k, tie in draw(st.lists(vote, max_size=60))]


def counted(rows: list[Vote]) -> dict[tuple[int, int], tuple[float, float]]:
    """The slow, obvious count."""
    wins: Counter[tuple[int, int]] = Counter()
    for won, lost, tie in rows:
        wins[won, lost] += 1 if tie else 2
        wins[lost, won] += 1 if tie else 0
    met = {(min(p), max(p)) for p in wins}
    return {(i, j): (wins[i, j] / 2, wins[j, i] / 2) for i, j in met}


def as_dict(pairs: Pairs) -> dict[tuple[int, int], tuple[float, float]]:
    columns = (pairs.i, pairs.j, pairs.wins_i, pairs.wins_j)
    return {(i, j): (a, b) for i, j, a, b in zip(*(c.tolist() for c in columns), strict=True)}


@pytest.mark.parametrize("dense_cells", [0, 1 << 20], ids=["sorted", "table"])
@pytest.mark.parametrize("block", [3, 1 << 14])
@settings(deadline=None, max_examples=60)
@given(data=votes())
def test_aggregate_counts_like_a_dictionary(data: tuple[int, list[Vote]], block: int, dense_cells: int) -> None:
    """Both ways of aggregating, at any block size, agree with counting vote by vote; ties are halves."""
    n, rows = data
    won, lost, tie = (np.array([row[k] for row in rows], dtype=int) for k in range(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        patch.setattr(module, "DENSE_CELLS", dense_cells)
        pairs = aggregate(won, lost, n, tie=tie.astype(bool))
    assert as_dict(pairs) == counted(rows)


@given(data=votes())
@settings(deadline=None)
def test_net_wins_and_exposure(data: tuple[int, list[Vote]]) -> None:
    """s is half of wins minus losses and sums to zero; d counts the votes an item took part in."""
    n, rows = data
    s, d = np.zeros(n), np.zeros(n)
    for won, lost, tie in rows:
        s[won] += 0 if tie else 0.5
        s[lost] -= 0 if tie else 0.5
        d[[won, lost]] += 1
    winner, loser, ties = (np.array([row[k] for row in rows], dtype=int) for k in range(3))
    pairs = aggregate(winner, loser, n, tie=ties.astype(bool))
    np.testing.assert_array_equal(pairs.net_wins, s)
    np.testing.assert_array_equal(pairs.exposure, d)


def test_large_indices_survive_the_sort_keys() -> None:
    """Item indices near the limit are not mangled by packing two of them into one key."""
    top = module.MAX_ITEMS - 1
    pairs = aggregate([top, 0, 5], [0, top, top], module.MAX_ITEMS)
    assert as_dict(pairs) == {(0, top): (1.0, 1.0), (5, top): (1.0, 0.0)}


@pytest.mark.parametrize("size", [50, 3000])
def test_components_agree_with_union_find(size: int) -> None:
    """Sampling pairs first does not change which items are connected."""
    rng = np.random.default_rng(size)
    group = rng.integers(0, 4, size)
    won, lost = rng.integers(0, size, (2, 60 * size))
    keep = (group[won] == group[lost]) & (won != lost) & (won > 5) & (lost > 5)
    won, lost = np.append(won[keep], 0), np.append(lost[keep], 1)
    labels = aggregate(won, lost, size).components()
    root = list(range(size))

    def find(x: int) -> int:
        while root[x] != x:
            root[x] = root[root[x]]
            x = root[x]
        return x

    for a, b in zip(won.tolist(), lost.tolist(), strict=True):
        root[find(a)] = find(b)
    slow = np.array([find(k) for k in range(size)])
    first = {label: k for k, label in reversed(list(enumerate(labels.tolist())))}
    np.testing.assert_array_equal(slow, slow[[first[label] for label in labels.tolist()]])
    assert len(set(labels.tolist())) == len(set(slow.tolist()))


@pytest.mark.parametrize(
    ("winner", "loser", "extra", "message"),
    [
        ([0, 3], [1, 1], {}, r"winner must lie in 0\.\.2, got 0\.\.3"),
        ([0, 1], [1, -1], {}, "loser must lie in"),
        ([0, 1], [1, 1], {}, "vote 1 has winner = loser = 1"),
        ([0.0, 1.0], [1, 0], {}, "integer item indices"),
        ([0, 1], [1], {}, "equal lengths, got 2 and 1"),
        ([0, 1], [1, 0], {"tie": [True]}, "tie must have one entry per vote"),
        ([0, 1], [1, 0], {"tie": [0, 1]}, "tie must be a boolean array"),
    ],
)
def test_bad_votes_are_refused(
    winner: list[int], loser: list[int], extra: dict[str, list[float]], message: str
) -> None:
    """Each kind of bad input is refused with what was wrong."""
    with pytest.raises(VotesError, match=message):
        aggregate(winner, loser, 3, **extra)


def test_self_votes_are_refused_when_sorting() -> None:
    """An item meeting itself is refused by the sorting path too, naming the row."""
    with pytest.raises(VotesError, match="vote 2 has winner = loser = 7"):
        aggregate([0, 1, 7], [1, 0, 7], 100_000)


def test_unsorted_pairs_are_refused() -> None:
    """Hand-made pairs that are not in order cannot reach the solver."""
    i, j = np.array([1, 0], dtype=np.int32), np.array([2, 1], dtype=np.int32)
    with pytest.raises(VotesError, match="sorted"):
        Pairs(3, i, j, np.ones(2), np.ones(2))
