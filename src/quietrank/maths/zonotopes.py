"""Points and a graph in, their gauges in the graph's zonotope Z(G), and its volume, out; for small or complete graphs.

z is a flow through G with at most t on every edge if and only if |z(S)| ≤ t·(edges that leave S) for every set S of
vertices (Gale 1957, Hoffman 1960). So ‖z‖ = max over S of |z(S)|/cut(S), and bonds, the cuts that add one component,
are enough.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from quietrank.arrays import Floats
from quietrank.promise.graph import Graph

MOST_VERTICES = 16
"""Beyond this all cuts of a graph are too many, unless it is complete."""


@lru_cache(maxsize=64)
def cuts(graph: Graph) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Every set S of vertices, up to its complement, with the number of edges that leave it."""
    sets = itertools.chain.from_iterable(
        itertools.combinations(range(graph.vertices - 1), size) for size in range(1, graph.vertices)
    )
    return tuple((inside, sum((i in inside) != (j in inside) for i, j in graph.edges)) for inside in sets)


@lru_cache(maxsize=64)
def bonds(graph: Graph) -> tuple[Floats, Floats]:
    """The sets whose cuts are bonds, one row of 0 and 1 each, and the number of edges that leave each of them."""
    listed = [(inside, leaving) for inside, leaving in cuts(graph) if leaving and _is_bond(graph, inside)]
    matrix = np.zeros((len(listed), graph.vertices))
    for row, (inside, _) in enumerate(listed):
        matrix[row, list(inside)] = 1
    return matrix, np.array([leaving for _, leaving in listed], dtype=np.float64)


def _is_bond(graph: Graph, inside: tuple[int, ...]) -> bool:
    """Whether taking out the edges that leave S adds exactly one component, and S contains no other component."""
    remaining = tuple((i, j) for i, j in graph.edges if (i in inside) == (j in inside))
    split = Graph(graph.vertices, remaining)
    touched = {graph.component[i] for i, j in graph.edges if (i in inside) != (j in inside)}
    return graph.dimension - split.dimension == 1 and {graph.component[i] for i in inside} == touched


def gauges(graph: Graph, points: Floats) -> Floats | None:
    """‖z‖ of each row, projected to the plane of Z(G), which rounding leaves; None for graphs that are too large."""
    if graph.is_complete:
        return _complete_gauges(points)
    if graph.vertices > MOST_VERTICES:
        return None
    inside, leaving = bonds(graph)
    return np.asarray((np.abs(centred(graph, points) @ inside.T) / leaving).max(axis=1))


def _complete_gauges(points: Floats) -> Floats:
    """Of all sets of k vertices, the k largest entries go furthest: the maximum over k of their sum over k(n − k)."""
    n = points.shape[1]
    k = np.arange(1, n)
    highest = np.sort(points - points.mean(axis=1, keepdims=True), axis=1)[:, ::-1]
    return np.asarray((highest.cumsum(axis=1)[:, :-1] / (k * (n - k))).max(axis=1))


def centred(graph: Graph, points: Floats) -> Floats:
    """Each component's mean taken out."""
    label = np.array(graph.component)
    within = (label[:, None] == label[None, :]).astype(np.float64)
    return np.asarray(points - points @ (within / within.sum(axis=1, keepdims=True)).T)


def log_volume(graph: Graph) -> float:
    """Of Z(G), without one coordinate of each component: one tile of volume 2^d for each spanning forest."""
    i, j = graph.ends
    laplacian = np.diag(np.bincount(np.concatenate([i, j]), minlength=graph.vertices).astype(np.float64))
    laplacian[i, j] = laplacian[j, i] = -1
    rest = [vertex for vertex in range(graph.vertices) if graph.component[vertex] != vertex]
    return graph.dimension * math.log(2) + float(np.linalg.slogdet(laplacian[np.ix_(rest, rest)])[1])
