"""Bodies: forests are uniform, and their tiles cover the zonotope exactly once."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from quietrank.arrays import Floats, Integers
from quietrank.noise.tiles import corner, generic_heights, positive_weights, spanning_forest
from quietrank.promise.graph import Graph, complete, double_cover, from_pairs
from tests.helpers import zonotope_gauge
from tests.promise.test_graph import CYCLE_WITH_CHORD, K4_LESS_ONE, TWO_PARTS

SMALL = [complete(2), complete(3), complete(4), K4_LESS_ONE, CYCLE_WITH_CHORD, TWO_PARTS, double_cover(complete(3))]


def _forests(graph: Graph) -> list[list[int]]:
    """All spanning forests, by trying all sets of edges."""
    i, j = graph.ends
    generators = np.eye(graph.vertices)[i] - np.eye(graph.vertices)[j]
    choices = itertools.combinations(range(len(graph.edges)), graph.dimension)
    return [list(edges) for edges in choices if np.linalg.matrix_rank(generators[list(edges)]) == graph.dimension]


def _tiles(graph: Graph, points: Floats) -> Integers:
    """In how many tiles each point lies."""
    i, j = graph.ends
    generators = np.eye(graph.vertices)[i] - np.eye(graph.vertices)[j]
    number = np.zeros(len(points), dtype=np.int64)
    for forest in _forests(graph):
        offset = points - corner(graph, forest, generic_heights(len(graph.edges)))
        coefficients = np.linalg.lstsq(generators[forest].T, offset.T, rcond=None)[0]
        number += (np.abs(coefficients) <= 1).all(axis=0)
    return number


@pytest.mark.parametrize("graph", SMALL)
def test_every_point_of_the_zonotope_lies_in_exactly_one_tile(graph: Graph) -> None:
    """Random combinations of the generators, which fill Z(G), and points just outside it, which no tile holds."""
    rng = np.random.default_rng(5)
    i, j = graph.ends
    generators = np.eye(graph.vertices)[i] - np.eye(graph.vertices)[j]
    inside = rng.uniform(-1, 1, (300, len(graph.edges))) ** 3 @ generators
    assert (_tiles(graph, inside) == 1).all()
    outside = np.array([1.001 * point / zonotope_gauge(graph, point.tolist()) for point in inside[:30]])
    assert (_tiles(graph, outside) == 0).all()


@pytest.mark.parametrize("graph", [complete(4), K4_LESS_ONE, CYCLE_WITH_CHORD, TWO_PARTS])
def test_forests_are_uniform(graph: Graph) -> None:
    """Each of them occurs equally often: a chi-square statistic within six standard deviations."""
    rng = np.random.default_rng(7)
    draws = 4000
    found = Counter(tuple(sorted(spanning_forest(graph, lambda k: int(rng.integers(k))))) for _ in range(draws))
    forests = {tuple(forest) for forest in _forests(graph)}
    assert set(found) <= forests
    expected = draws / len(forests)
    chi_square = sum((found[forest] - expected) ** 2 / expected for forest in forests)
    freedom = len(forests) - 1
    assert abs(chi_square - freedom) < 6 * np.sqrt(2 * freedom)


def test_a_walk_without_loop_erasure_would_be_noticed() -> None:
    """The test above can fail: trees from a random order of edges are not uniform on a cycle with a chord."""
    graph, rng, draws = K4_LESS_ONE, np.random.default_rng(7), 4000

    def greedy() -> tuple[int, ...]:
        label = list(range(graph.vertices))
        forest = []
        for edge in rng.permutation(len(graph.edges)):
            i, j = graph.edges[edge]
            if label[i] != label[j]:
                label = [label[i] if other == label[j] else other for other in label]
                forest.append(int(edge))
        return tuple(sorted(forest))

    found = Counter(greedy() for _ in range(draws))
    forests = {tuple(forest) for forest in _forests(graph)}
    expected = draws / len(forests)
    chi_square = sum((found[forest] - expected) ** 2 / expected for forest in forests)
    assert chi_square - len(forests) + 1 > 6 * np.sqrt(2 * len(forests))


def test_heights_never_cancel_on_a_cycle() -> None:
    """Signed sums of distinct powers of two are not zero."""
    heights = generic_heights(10).tolist()
    for edges in itertools.combinations(range(10), 4):
        for signs in itertools.product((1, -1), repeat=4):
            assert sum(sign * heights[edge] for sign, edge in zip(signs, edges, strict=True)) != 0


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_positive_entries_are_weighed_by_volume(size: int) -> None:
    """Against the share of points with k positive entries among uniform points of the body, by rejection."""
    rng = np.random.default_rng(11)
    free = rng.uniform(-1, 1, (400_000, size - 1))
    points = np.column_stack([free, -free.sum(axis=1)])
    points = points[np.abs(points).sum(axis=1) <= 2]
    share = np.bincount((points > 0).sum(axis=1), minlength=size)[1:size] / len(points)
    weights = np.array(positive_weights(size)) / sum(positive_weights(size))
    assert np.abs(share - weights).max() < 6 * np.sqrt(0.25 / len(points))


def test_a_path_has_one_forest() -> None:
    """A tree is its own and only spanning tree."""
    graph = from_pairs(4, [(0, 1), (1, 2), (2, 3)])
    rng = np.random.default_rng(0)
    assert sorted(spanning_forest(graph, lambda k: int(rng.integers(k)))) == [0, 1, 2]
