"""Integer vote arrays in; the distinct pairs that met, with how often each side won, out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from quietrank.arrays import Flags, Floats, Indices, Places
from quietrank.errors import VotesError
from quietrank.promise.arguments import whole_number

IntArray = NDArray[np.signedinteger[Any]]
T = TypeVar("T")

MAX_ITEMS = 2**30  # a sort key holds two indices and two bits of outcome in 63 bits
BLOCK = 1 << 14  # votes or pairs handled at a time, so that temporaries stay in the cache
PARALLEL = 200_000  # the number of votes or pairs from which a second thread pays off
DENSE_CELLS = 1 << 20  # below this many cells an n-by-n table of counts beats sorting


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct pairs i < j in lexicographic order, and the weighted wins of each side; a tie is half and half."""

    n_items: int
    i: Indices
    j: Indices
    wins_i: Floats
    wins_j: Floats

    def __post_init__(self) -> None:
        lengths = {len(self.i), len(self.j), len(self.wins_i), len(self.wins_j)}
        if len(lengths) != 1:
            raise VotesError(f"i, j, wins_i and wins_j must have equal lengths, got {sorted(lengths)}")
        if self.i.dtype != np.int32 or self.j.dtype != np.int32:
            raise VotesError(f"i and j must be int32 arrays, got {self.i.dtype} and {self.j.dtype}")
        for part in blocks(len(self.i), overlap=1):
            i, j, a, b = self.i[part], self.j[part], self.wins_i[part], self.wins_j[part]
            if i[0] < 0 or j.max() >= self.n_items or not np.all(i < j):
                raise VotesError(f"pairs need 0 <= i < j < n_items = {self.n_items}; use aggregate()")
            if not np.all((i[1:] > i[:-1]) | ((i[1:] == i[:-1]) & (j[1:] > j[:-1]))):
                raise VotesError("pairs must be distinct and sorted by (i, j); use aggregate()")
            if not (a.min() >= 0 and b.min() >= 0 and math.isfinite(a.sum() + b.sum())):
                raise VotesError("wins must be finite and >= 0; use aggregate()")

    @property
    def counts(self) -> Floats:
        """M: votes per pair."""
        return self.wins_i + self.wins_j

    @property
    def net_wins(self) -> Floats:
        """s_i = (wins_i − losses_i)/2."""
        return self._scatter(half := (self.wins_i - self.wins_j) / 2, -half)

    @cached_property
    def exposure(self) -> Floats:
        """d_i: votes in which item i took part."""
        return self._scatter(self.counts, self.counts)

    @cached_property
    def rows(self) -> Indices:
        """rows[k]:rows[k + 1] are the pairs with i = k."""
        return np.searchsorted(self.i, np.arange(self.n_items + 1, dtype=np.int32)).astype(np.int32)

    def components(self) -> Indices:
        """Label of the connected component of each item; only scores with equal labels can be compared.

        A sample of the pairs joins nearly everything, so only the pairs between its components remain to be checked.
        """
        if self.complete:
            return np.zeros(self.n_items, dtype=np.int32)
        stride = max(1, len(self.i) // (4 * self.n_items))
        labels = _labels(self.n_items, self.i[::stride], self.j[::stride], "weak")
        if stride == 1 or not labels.any():
            return labels
        ends = [(labels[self.i[part]], labels[self.j[part]]) for part in blocks(len(self.i))]
        bridges = [(p[p != q], q[p != q]) for p, q in ends]
        heads, tails = (np.concatenate(side) for side in zip(*bridges, strict=True))
        return _labels(int(labels.max()) + 1, heads, tails, "weak")[labels]

    @property
    def complete(self) -> bool:
        """Whether every item met every other."""
        return len(self.i) == self.n_items * (self.n_items - 1) // 2

    def strong_components(self) -> Indices:
        """Label of the strongly connected component of each item in the graph "has beaten at least once"."""
        forward, backward = self.wins_i > 0, self.wins_j > 0
        if forward.all() and backward.all():
            return self.components()
        heads = np.concatenate([self.i[forward], self.j[backward]])
        tails = np.concatenate([self.j[forward], self.i[backward]])
        return _labels(self.n_items, heads, tails, "strong")

    def _scatter(self, to_i: Floats, to_j: Floats) -> Floats:
        return scatter(self.i, to_i, self.n_items) + scatter(self.j, to_j, self.n_items)


def scatter(index: Indices, values: Floats, n: int) -> Floats:
    """Sum of values per index, as n floats."""
    return np.bincount(index, weights=values, minlength=n).astype(np.float64, copy=False)


def blocks(length: int, overlap: int = 0) -> Iterator[slice]:
    """Slices small enough for their temporaries to stay in the cache."""
    return (slice(max(0, start - overlap), start + BLOCK) for start in range(0, length, BLOCK))


def together(first: Callable[[], T], second: Callable[[], T], size: int) -> tuple[T, T]:
    """Both results, from two threads if the arrays are long: NumPy and SciPy release Python's lock in loops."""
    if size < PARALLEL:
        return first(), second()
    later = _second_thread().submit(second)
    return first(), later.result()


@lru_cache(maxsize=1)
def _second_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "quietrank-solver")


def _labels(n: int, heads: Indices, tails: Indices, connection: Literal["weak", "strong"]) -> Indices:
    graph = csr_array((np.ones(len(heads), dtype=np.int8), (heads, tails)), shape=(n, n))
    labels: Indices = connected_components(graph, directed=True, connection=connection)[1]
    return labels


def aggregate(
    winner: ArrayLike,
    loser: ArrayLike,
    n_items: int,
    tie: ArrayLike | None = None,
) -> Pairs:
    """Count votes per pair. `tie[k]` true makes vote k half a win for each side."""
    n_items, winner, loser = _number_of_items(n_items), _array("winner", winner), _array("loser", loser)
    won, lost = together(
        lambda: _indices("winner", winner, n_items), lambda: _indices("loser", loser, n_items), np.size(winner)
    )
    if len(won) != len(lost):
        raise VotesError(f"winner and loser must have equal lengths, got {len(won)} and {len(lost)}")
    ties = None if tie is None else _flags("tie", tie, len(won))
    if n_items**2 <= max(DENSE_CELLS, len(won) // 2):
        return _aggregate_table(won, lost, n_items, ties)
    return _aggregate_sorted(won, lost, n_items, ties)


def _number_of_items(argument: object) -> int:
    n_items = whole_number(argument)
    if n_items is None or not 1 <= n_items <= MAX_ITEMS:
        raise VotesError(f"n_items must be a whole number between 1 and 2**30, got n_items={argument!r}")
    return n_items


def _array(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:  # rows of different lengths
        raise VotesError(f"{name} must be a one-dimensional array of integer item indices, not of lists") from None


def _indices(name: str, values: ArrayLike, n_items: int) -> IntArray:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise VotesError(
            f"{name} must be a one-dimensional array of integer item indices, "
            f"got shape {array.shape} of {array.dtype}; map item names to 0..n_items-1 first"
        )
    if not _all_below(array, n_items):
        low, high = int(array.min()), int(array.max())
        raise VotesError(f"{name} must lie in 0..{n_items - 1}, got {low}..{high}; raise n_items or fix the indices")
    return array if array.dtype.kind == "i" else array.astype(np.int64)


def _all_below(array: IntArray, n: int) -> bool:
    """0 <= array < n, in one pass: seen as unsigned, a negative number is a huge one."""
    return int(array.view(f"u{array.dtype.itemsize}").max()) < n


def _flags(name: str, values: ArrayLike, length: int) -> Flags:
    array = _array(name, values)
    if array.size and array.dtype != np.bool_:
        raise VotesError(f"{name} must be a boolean array, got {array.dtype}")
    if array.shape != (length,):
        raise VotesError(f"{name} must have one entry per vote: {length}, got shape {array.shape}")
    return array.astype(np.bool_, copy=False)


def _refuse_self_votes(row: int, item: int) -> None:
    raise VotesError(f"an item cannot meet itself: vote {row} has winner = loser = {item}; drop such votes")


def _aggregate_table(winner: IntArray, loser: IntArray, n: int, tie: Flags | None) -> Pairs:
    if tie is None:
        wins = _table(winner, loser, n)
    else:
        tied, decided = _table(winner[tie], loser[tie], n), _table(winner[~tie], loser[~tie], n)
        wins = decided + (tied + tied.T) / 2
    if np.any(met := wins.diagonal() > 0):
        row = int(np.flatnonzero((winner == loser) & met[winner])[0])
        _refuse_self_votes(row, int(winner[row]))
    i, j = np.nonzero(np.triu(wins + wins.T, 1))
    return Pairs(n, i.astype(np.int32), j.astype(np.int32), wins[i, j], wins[j, i])


def _table(winner: IntArray, loser: IntArray, n: int) -> Floats:
    """wins[i, j]: how often i beat j.

    SciPy's sum of coordinates into an array, block by block, takes half the time of np.bincount(winner·n + loser).
    It trusts the indices: they have been checked.
    """
    winner, loser = winner.astype(np.int64, copy=False), loser.astype(np.int64, copy=False)
    step = max(8 * BLOCK, n * n)
    ones = np.ones(min(step, len(winner)))

    def count(starts: range) -> Floats:
        wins, votes = np.zeros((n, n)), coo_array((n, n))
        for start in starts:
            part = slice(start, start + step)
            votes.coords = (winner[part], loser[part])
            votes.data = ones[: len(winner[part])]
            wins += votes.toarray()
        return wins

    starts = range(0, len(winner), step)
    even, odd = together(lambda: count(starts[::2]), lambda: count(starts[1::2]), len(winner))
    return even + odd


def _aggregate_sorted(winner: IntArray, loser: IntArray, n: int, tie: Flags | None) -> Pairs:
    bits = max(1, (n - 1).bit_length())
    keys = _keys(winner, loser, bits, tie)
    keys.sort()
    i, j = np.empty(len(keys), dtype=np.int32), np.empty(len(keys), dtype=np.int32)
    wins_i, wins_j = np.empty(len(keys)), np.empty(len(keys))
    filled = start = 0
    while start < len(keys):
        stop = _end_of_pair(keys, start + BLOCK)
        pair, won, lost = _sum_runs(keys[start:stop])
        part = slice(filled, filled := filled + len(pair))
        i[part], j[part] = pair >> bits, pair & ((1 << bits) - 1)
        wins_i[part], wins_j[part] = won, lost
        start = stop
    i, j, wins_i, wins_j = i[:filled], j[:filled], wins_i[:filled], wins_j[:filled]
    if np.any(same := i == j):
        item = i[same][0]
        _refuse_self_votes(int(np.flatnonzero((winner == item) & (loser == item))[0]), int(item))
    return Pairs(n, i, j, wins_i, wins_j)


def _end_of_pair(keys: IntArray, stop: int) -> int:
    """The first position, starting at `stop`, where a new pair begins."""
    if stop >= len(keys):
        return len(keys)
    return int(np.searchsorted(keys, keys[stop - 1] | 3, side="right"))


def _sum_runs(keys: IntArray) -> tuple[IntArray, Floats, Floats]:
    """Distinct pairs of sorted keys, and the wins of each side."""
    starts = _run_starts(keys)
    runs = keys[starts]
    size = np.diff(starts, append=len(keys))
    pair, share = runs >> 2, runs & 3
    first = _run_starts(pair)
    won, lost = (np.add.reduceat(size * half_wins, first) / 2 for half_wins in (2 - share, share))
    return pair[first], won, lost


def _run_starts(values: IntArray) -> Places:
    return np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1])


def _keys(winner: IntArray, loser: IntArray, bits: int, tie: Flags | None) -> IntArray:
    """(smaller index, larger index, outcome) as one integer; outcome is twice the larger index's share."""
    dtype = np.int32 if 2 * bits + 2 < 32 else np.int64  # shorter keys sort faster
    keys: IntArray = np.empty(len(winner), dtype=dtype)
    for part in blocks(len(winner)):
        a, b = winner[part].astype(dtype, copy=False), loser[part].astype(dtype, copy=False)
        key = np.minimum(a, b) << bits
        key |= np.maximum(a, b)
        key <<= 2
        outcome = np.greater(a, b).astype(dtype) << 1
        key |= outcome if tie is None else np.where(tie[part], 1, outcome).astype(dtype)
        keys[part] = key
    return keys
