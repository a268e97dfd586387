"""Integer vote arrays in; the distinct pairs that met, with how often each side won, out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from quietrank.errors import VotesError

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int32]
IntArray = NDArray[np.signedinteger[Any]]

MAX_ITEMS = 2**30  # a sort key holds two indices and two bits of outcome in 63 bits
BLOCK = 1 << 15  # votes handled at a time, so that temporaries stay in the cache
DENSE_CELLS = 1 << 20  # below this many cells an n-by-n table of counts beats sorting


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct pairs i < j in lexicographic order, and the (weighted) wins of each side; a tie is half and half."""

    n_items: int
    i: IndexArray
    j: IndexArray
    wins_i: FloatArray
    wins_j: FloatArray

    def __post_init__(self) -> None:
        lengths = {len(self.i), len(self.j), len(self.wins_i), len(self.wins_j)}
        if len(lengths) != 1:
            raise VotesError(f"i, j, wins_i and wins_j must have equal lengths, got {sorted(lengths)}")
        if len(self.i) and not (
            self.i.min() >= 0 and np.all(self.i < self.j) and self.j.max() < self.n_items
        ):
            raise VotesError(f"pairs need 0 <= i < j < n_items = {self.n_items}; build them with aggregate()")
        step = np.diff(self.i)
        if np.any(step < 0) or np.any((step == 0) & (np.diff(self.j) <= 0)):
            raise VotesError("pairs must be distinct and sorted by (i, j); build them with aggregate()")

    @property
    def counts(self) -> FloatArray:
        """M: votes per pair."""
        return self.wins_i + self.wins_j

    @property
    def net_wins(self) -> FloatArray:
        """s_i = (wins_i − losses_i)/2."""
        return self._scatter(half := (self.wins_i - self.wins_j) / 2, -half)

    @property
    def exposure(self) -> FloatArray:
        """d_i: votes in which item i took part."""
        return self._scatter(self.counts, self.counts)

    @cached_property
    def n_components(self) -> int:
        """Number of connected components of the comparison graph."""
        return int(self.components().max(initial=-1)) + 1

    def components(self) -> IndexArray:
        """Label of the connected component of each item; only scores with equal labels can be compared."""
        return _labels(self, self.i, self.j, "weak")

    def strong_components(self) -> IndexArray:
        """Label of the strongly connected component of each item in the graph "has beaten at least once"."""
        forward, backward = self.wins_i > 0, self.wins_j > 0
        heads = np.concatenate([self.i[forward], self.j[backward]])
        tails = np.concatenate([self.j[forward], self.i[backward]])
        return _labels(self, heads, tails, "strong")

    def _scatter(self, to_i: FloatArray, to_j: FloatArray) -> FloatArray:
        at_i = np.bincount(self.i, weights=to_i, minlength=self.n_items)
        return at_i + np.bincount(self.j, weights=to_j, minlength=self.n_items)


def _labels(pairs: Pairs, heads: IndexArray, tails: IndexArray, connection: str) -> IndexArray:
    n = pairs.n_items
    graph = csr_array((np.ones(len(heads), dtype=np.int8), (heads, tails)), shape=(n, n))
    labels: IndexArray = connected_components(graph, directed=True, connection=connection)[1]
    return labels


def aggregate(
    winner: ArrayLike,
    loser: ArrayLike,
    n_items: int,
    tie: ArrayLike | None = None,
    weight: ArrayLike | None = None,
) -> Pairs:
    """Count votes per pair. `tie[k]` true makes vote k half a win for each side; `weight` defaults to 1."""
    w, l = _indices("winner", winner, n_items), _indices("loser", loser, n_items)
    ties = None if tie is None else _column("tie", tie, len(w), np.bool_)
    weights = None if weight is None else _column("weight", weight, len(w), np.float64)
    if len(w) != len(l):
        raise VotesError(f"winner and loser must have equal lengths, got {len(w)} and {len(l)}")
    if weights is not None and not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise VotesError("weight must be finite and >= 0; drop or repair the votes with other weights")
    if n_items**2 <= max(DENSE_CELLS, len(w) // 2):
        return _aggregate_table(w, l, n_items, ties, weights)
    return _aggregate_sorted(w, l, n_items, ties, weights)


def _indices(name: str, values: ArrayLike, n_items: int) -> IntArray:
    array = np.asarray(values)
    if not 1 <= n_items <= MAX_ITEMS:
        raise VotesError(f"n_items must be between 1 and 2**30, got n_items={n_items}")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise VotesError(
            f"{name} must be a one-dimensional array of integer item indices, "
            f"got shape {array.shape} of {array.dtype}; map item names to 0..n_items-1 first"
        )
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= n_items:
        raise VotesError(
            f"{name} must lie in 0..{n_items - 1}, got {low}..{high}; raise n_items or fix the indices"
        )
    return array if array.dtype.kind == "i" else array.astype(np.int64)


def _column(name: str, values: ArrayLike, length: int, dtype: type[np.generic]) -> NDArray[Any]:
    array = np.asarray(values)
    if dtype is np.bool_ and array.size and array.dtype != np.bool_:
        raise VotesError(f"{name} must be a boolean array, got {array.dtype}")
    if array.shape != (length,):
        raise VotesError(f"{name} must have one entry per vote: {length}, got shape {array.shape}")
    return array.astype(dtype, copy=False)


def _refuse_self_votes(row: int, item: int) -> None:
    raise VotesError(f"an item cannot meet itself: vote {row} has winner = loser = {item}; drop such votes")


def _aggregate_table(
    w: IntArray, l: IntArray, n: int, tie: NDArray[np.bool_] | None, weight: FloatArray | None
) -> Pairs:
    cell = w * np.int64(n) + l
    votes = _table(cell, n, weight)
    if np.any(met := votes.diagonal() > 0):
        row = int(np.flatnonzero((w == l) & met[w])[0])
        _refuse_self_votes(row, int(w[row]))
    wins = votes.astype(np.float64)
    if tie is not None:
        tied = _table(cell[tie], n, None if weight is None else weight[tie])
        wins = (votes - tied) + (tied + tied.T) / 2
    i, j = np.nonzero(np.triu(wins + wins.T, 1))
    return Pairs(n, i.astype(np.int32), j.astype(np.int32), wins[i, j], wins[j, i])


def _table(cell: IntArray, n: int, weight: FloatArray | None) -> NDArray[Any]:
    return np.bincount(cell, weights=weight, minlength=n * n).reshape(n, n)


def _aggregate_sorted(
    w: IntArray, l: IntArray, n: int, tie: NDArray[np.bool_] | None, weight: FloatArray | None
) -> Pairs:
    bits = max(1, (n - 1).bit_length())
    keys = _keys(w, l, bits, tie)
    if weight is None:
        keys.sort()  # sorting bare keys is several times faster than sorting with a payload
        starts = _run_starts(keys)
        runs, run_weight = keys[starts], np.diff(starts, append=len(keys)).astype(np.float64)
    else:
        order = np.argsort(keys, kind="stable")
        starts = _run_starts(keys := keys[order])
        runs, run_weight = keys[starts], np.add.reduceat(weight[order], starts) if len(keys) else weight
    pair, outcome = runs >> 2, runs & 3
    first = _run_starts(pair)
    # each side is summed on its own: total minus the other side could leave a rounding residue where 0 is true
    wins_i = np.add.reduceat(run_weight * (2 - outcome), first) / 2 if len(pair) else run_weight
    wins_j = np.add.reduceat(run_weight * outcome, first) / 2 if len(pair) else run_weight
    pair = pair[first]
    i, j = (pair >> bits).astype(np.int32), (pair & ((1 << bits) - 1)).astype(np.int32)
    if np.any(same := i == j):
        item = int(i[same][0])
        _refuse_self_votes(int(np.flatnonzero((w == item) & (l == item))[0]), item)
    keep = (wins_i > 0) | (wins_j > 0)  # a pair met only with weight 0 has not met
    if not keep.all():
        i, j, wins_i, wins_j = i[keep], j[keep], wins_i[keep], wins_j[keep]
    return Pairs(n, i, j, wins_i, wins_j)


def _keys(w: IntArray, l: IntArray, bits: int, tie: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """(smaller index, larger index, outcome) as one integer; outcome is twice the larger index's share."""
    keys = np.empty(len(w), dtype=np.int64)
    for start in range(0, len(w), BLOCK):
        part = slice(start, start + BLOCK)
        a, b = w[part], l[part]
        key = np.minimum(a, b).astype(np.int64, copy=False) << bits
        key |= np.maximum(a, b)
        key <<= 2
        outcome = (a > b).astype(np.int64) << 1
        key |= outcome if tie is None else np.where(tie[part], 1, outcome)
        keys[part] = key
    return keys


def _run_starts(values: NDArray[np.int64]) -> NDArray[np.intp]:
    if len(values) == 0:
        return np.zeros(0, dtype=np.intp)
    return np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1])
