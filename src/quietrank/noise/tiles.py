"""A graph or a size in, points of the zonotope and of the sum-zero Laplace body out; callers supply random integers.

The zonotope Z(G) is tiled by one parallelepiped per spanning forest T, all of the same volume:

    tile(T) = Σ over e in T of [−1, 1]·g_e + Σ over e not in T of sign(π_i − π_j − h_e)·g_e,   g_e = e_i − e_j,

where h is a vector of heights in general position and π the potentials with π_i − π_j = h_e on the edges of T
(docs/proofs/zonotope.md). Heights 2^k, k the edge's index, are in general position: they do not cancel on any cycle.
The L1 ball among the vectors that sum to zero is split by which entries are positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from quietrank.promise.graph import Graph

if TYPE_CHECKING:
    from quietrank.arrays import Integers

Below = Callable[[int], int]
"""k in, a uniform integer from 0 to k − 1 out"""


def spanning_forest(graph: Graph, below: Below) -> list[int]:
    """The edges of a uniform spanning forest, by Wilson's algorithm: loop-erased walks to vertices already joined."""
    joined = [vertex == root for vertex, root in enumerate(graph.component)]
    forest: list[int] = []
    for start in range(graph.vertices):
        left_by: dict[int, tuple[int, int]] = {}  # the last exit of each vertex; overwriting it erases the loop
        vertex = start
        while not joined[vertex]:
            around = graph.neighbours[vertex]
            left_by[vertex] = around[below(len(around))]
            vertex = left_by[vertex][0]
        vertex = start
        while not joined[vertex]:
            joined[vertex] = True
            vertex, edge = left_by[vertex]
            forest.append(edge)
    return forest


@lru_cache(maxsize=8)
def generic_heights(edges: int) -> NDArray[Any]:
    """2^k for the k-th edge, exactly."""
    return np.array([1 << k for k in range(edges)], dtype=object)


def corner(graph: Graph, forest: list[int], heights: NDArray[Any]) -> Integers:
    """Σ over e not in the forest of sign(π_i − π_j − h_e)·g_e, the centre of the forest's tile."""
    i, j = graph.ends
    potential = _potentials(graph, forest, heights)
    sign = np.where(potential[i] - potential[j] > heights, 1, -1)
    sign[forest] = 0
    centre = np.zeros(graph.vertices, dtype=np.int64)
    np.add.at(centre, i, sign)
    np.subtract.at(centre, j, sign)
    return centre


def _potentials(graph: Graph, forest: list[int], heights: NDArray[Any]) -> NDArray[Any]:
    """π with π_i − π_j = h_e on every edge (i, j) of the forest, and 0 at each root."""
    within: list[list[tuple[int, Any]]] = [[] for _ in range(graph.vertices)]
    for edge in forest:
        i, j = graph.edges[edge]
        within[i].append((j, -heights[edge]))
        within[j].append((i, heights[edge]))
    potential = np.zeros(graph.vertices, dtype=heights.dtype)
    reached = [(root, -1) for root in sorted(set(graph.component))]
    while reached:
        vertex, came_from = reached.pop()
        for other, rise in within[vertex]:
            if other != came_from:
                potential[other] = potential[vertex] + rise
                reached.append((other, vertex))
    return potential


def positive_weights(size: int) -> list[int]:
    """C(n, k)·C(n − 2, k − 1) for k = 1 … n − 1: relative volumes of the vectors that sum to zero, ‖x‖₁ ≤ 2, with k
    positive entries: C(n, k) choices of these, and ∫ρ^(n−2)dρ over two simplices of volume 1/(k − 1)!·1/(n − k − 1)!.
    """
    return [math.comb(size, k) * math.comb(size - 2, k - 1) for k in range(1, size)]
