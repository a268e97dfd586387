"""Askable pairs in, a `Graph` out, with the few facts about it that privacy depends on; public, no randomness.

The zonotope of a graph, Z(G) = Σ over edges (i, j) of [−1, 1](e_i − e_j), has dimension n − (number of components).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from quietrank.arrays import Integers


EXACT_CUT = 22
"""up to this many vertices the largest cut is found by trying all"""


@dataclass(frozen=True)
class Graph:
    """Vertices 0 … n − 1 and distinct edges (i, j), i < j."""

    vertices: int
    edges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if len(set(self.edges)) != len(self.edges) or not all(0 <= i < j < self.vertices for i, j in self.edges):
            raise ValueError("edges must be distinct pairs i < j of vertices")

    @cached_property
    def ends(self) -> tuple[Integers, Integers]:
        """The two ends of every edge."""
        both = np.array(self.edges, dtype=np.int64).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    @cached_property
    def neighbours(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For every vertex its (neighbour, edge) pairs."""
        adjacent: list[list[tuple[int, int]]] = [[] for _ in range(self.vertices)]
        for edge, (i, j) in enumerate(self.edges):
            adjacent[i].append((j, edge))
            adjacent[j].append((i, edge))
        return tuple(map(tuple, adjacent))

    @cached_property
    def component(self) -> tuple[int, ...]:
        """For every vertex the smallest vertex it is connected with."""
        label = [-1] * self.vertices
        for start in range(self.vertices):
            reached = [start] if label[start] < 0 else []
            while reached:
                vertex = reached.pop()
                if label[vertex] < 0:
                    label[vertex] = start
                    reached += [other for other, _ in self.neighbours[vertex]]
        return tuple(label)

    @property
    def dimension(self) -> int:
        """d = n − (number of components): the dimension of Z(G)."""
        return self.vertices - len(set(self.component))

    @property
    def is_complete(self) -> bool:
        return len(self.edges) == self.vertices * (self.vertices - 1) // 2


@lru_cache(maxsize=32)
def complete(n: int) -> Graph:
    """All pairs of n vertices."""
    return Graph(n, tuple((i, j) for i in range(n) for j in range(i + 1, n)))


def from_pairs(n: int, pairs: Iterable[tuple[int, int]]) -> Graph:
    """The graph of these pairs, with its edges sorted."""
    return Graph(n, tuple(sorted({(min(pair), max(pair)) for pair in pairs})))


@lru_cache(maxsize=32)
def double_cover(graph: Graph) -> Graph:
    """Vertices "i wins" (i) and "j loses" (n + j), with an edge for every way an askable pair can go."""
    n = graph.vertices
    edges = [edge for i, j in graph.edges for edge in ((i, n + j), (j, n + i))]
    return Graph(2 * n, tuple(sorted(edges)))


@lru_cache(maxsize=64)
def largest_cut(graph: Graph) -> int:
    """The most edges that a split of the vertices in two can cut; an upper bound where the exact one is too hard.

    It is the largest L1 norm in ½Z(G): the maximum over signs σ of Σ ½|σ_i − σ_j|.
    """
    n = graph.vertices
    if graph.is_complete:
        return n * n // 4
    if n <= EXACT_CUT:
        return _cut_by_trying(graph)
    return min(len(graph.edges), _spectral_cut(graph))


def _cut_by_trying(graph: Graph) -> int:
    splits = np.arange(1 << (graph.vertices - 1), dtype=np.int64)  # the last vertex stays on one side
    cut = np.zeros(len(splits), dtype=np.int64)
    for i, j in graph.edges:
        cut += (splits >> i ^ splits >> j) & 1
    return int(cut.max())


def _spectral_cut(graph: Graph) -> int:
    """⌊n·λ/4⌋ with λ the largest eigenvalue of the Laplacian, rounded up beyond the error of the eigenvalue."""
    i, j = graph.ends
    degree = np.bincount(np.concatenate([i, j]), minlength=graph.vertices)
    laplacian = np.diag(degree.astype(np.float64))
    laplacian[i, j] = laplacian[j, i] = -1
    largest = float(np.linalg.eigvalsh(laplacian)[-1])
    return int(graph.vertices * (largest + 1e-6 * (1 + largest)) / 4)
