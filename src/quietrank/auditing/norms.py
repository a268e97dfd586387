"""A difference of two statistics and the noise that must cover it in; how large it is, and how large it may be, out.

All in exact fractions: a weight rounded up by a millionth breaks the bound. For the L2 norm, squares are used.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.mechanisms import gaussian, laplace, zonotope
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.noise import knorm, lattice
from quietrank.promise.graph import Graph

INFINITE = Fraction(10**9)
"""represents a difference outside of the body's plane, which no factor covers"""


def allowed(calibrated: Calibrated) -> Fraction:
    """The sensitivity that was derived, in votes (squared for L2), or in units of K."""
    promise, statistic = calibrated.promise, calibrated.statistic
    if isinstance(calibrated.noise, lattice.GaussianNoise):
        return gaussian.l2_reach(promise, statistic, calibrated.clip)
    if _body(calibrated) is not None:
        return zonotope.gauge_reach(promise, statistic)
    return laplace.l1_reach(promise, statistic)


def moved(calibrated: Calibrated, difference: Integers) -> Fraction:
    """How far apart the two statistics are, in the same measure; one row for each group, whose losses add up."""
    return sum((_moved(calibrated, row) for row in np.atleast_2d(difference)), Fraction(0))


def _moved(calibrated: Calibrated, difference: Integers) -> Fraction:
    step = calibrated.step
    if isinstance(calibrated.noise, lattice.GaussianNoise):
        return sum(int(x) ** 2 for x in difference) * step**2
    body = _body(calibrated)
    if body is not None:
        return zonotope_gauge(body, signed(calibrated, difference).tolist()) * step
    return sum(abs(int(x)) for x in difference) * step


def _body(calibrated: Calibrated) -> knorm.Zonotope | None:
    noise = calibrated.noise
    return noise.body if isinstance(noise, knorm.KNormNoise) and isinstance(noise.body, knorm.Zonotope) else None


def signed(calibrated: Calibrated, values: Integers) -> Integers:
    """(wins, −losses) where the body of the noise is for these; otherwise the values unchanged."""
    if not (isinstance(calibrated.noise, knorm.KNormNoise) and calibrated.statistic.mirrored):
        return values
    half = values.shape[-1] // 2
    return np.concatenate([values[..., :half], -values[..., half:]], axis=-1)


@lru_cache(maxsize=64)
def cuts(graph: Graph) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Every set S of vertices, up to its complement, with the number of edges that leave it."""
    n = graph.vertices
    sets = []
    for size in range(1, n):
        for inside in itertools.combinations(range(n), size):
            if n - 1 not in inside:
                sets.append((inside, sum((i in inside) != (j in inside) for i, j in graph.edges)))
    return tuple(sets)


def zonotope_gauge(body: knorm.Zonotope, point: list[int]) -> Fraction:
    """The factor by which K must be scaled up to contain the point.

    z is a flow through G with at most t on every edge if and only if |z(S)| ≤ t·(edges that leave S) for every set
    S of vertices (Gale 1957, Hoffman 1960). So ‖z‖ = max over S of |z(S)|/cut(S).
    """
    n = body.graph.vertices
    if sum(point[:n]) != 0:
        return INFINITE
    largest = Fraction(0)
    for inside, leaving in cuts(body.graph):
        through = abs(sum(point[i] for i in inside))
        if through and not leaving:
            return INFINITE
        if through:
            largest = max(largest, Fraction(through, leaving))
    return largest if body.extra is None else max(largest, Fraction(abs(point[n])) / body.extra)


def zonotope_gauges(body: knorm.Zonotope, points: Floats) -> Floats:
    """The same for many real points at once; they are projected onto the plane of K, because of rounding."""
    n = body.graph.vertices
    inside, leaving = _cut_matrix(body.graph)
    through = np.abs(centred(body.graph, points[:, :n]) @ inside.T) / leaving
    gauges = np.asarray(through.max(axis=1))
    return gauges if body.extra is None else np.maximum(gauges, np.abs(points[:, n]) / float(body.extra))


def facets(body: knorm.Zonotope, points: Floats) -> Integers:
    """Which facet of K each point lies behind: the number of the cut that gives the gauge, with its sign."""
    inside, leaving = _cut_matrix(body.graph)
    through = centred(body.graph, points[:, : body.graph.vertices]) @ inside.T / leaving
    which = np.abs(through).argmax(axis=1)
    return np.asarray(2 * which + (through[np.arange(len(points)), which] > 0), dtype=np.int64)


def centred(graph: Graph, points: Floats) -> Floats:
    """The points with each component's mean subtracted."""
    label = np.array(graph.component)
    within = (label[:, None] == label[None, :]).astype(np.float64)
    return np.asarray(points - points @ (within / within.sum(axis=1, keepdims=True)).T)


@lru_cache(maxsize=64)
def _cut_matrix(graph: Graph) -> tuple[Floats, Floats]:
    """The sets that give facets: those with both sides connected within their component are enough, and are few."""
    listed = [(inside, leaving) for inside, leaving in cuts(graph) if leaving and _is_bond(graph, inside)]
    matrix = np.zeros((len(listed), graph.vertices))
    for row, (inside, _) in enumerate(listed):
        matrix[row, list(inside)] = 1
    return matrix, np.array([leaving for _, leaving in listed], dtype=np.float64)


def _is_bond(graph: Graph, inside: tuple[int, ...]) -> bool:
    """Whether removing the edges that leave S adds exactly one component, and S contains no other whole component."""
    split = Graph(graph.vertices, tuple((i, j) for i, j in graph.edges if (i in inside) == (j in inside)))
    touched = {graph.component[i] for i, j in graph.edges if (i in inside) != (j in inside)}
    return graph.dimension - split.dimension == 1 and {graph.component[i] for i in inside} == touched
