"""Graphs: dimensions, covers and cuts, against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from quietrank.promise import graph as graphs
from quietrank.promise.graph import Graph, complete, double_cover, from_pairs, largest_cut

K4_LESS_ONE = from_pairs(4, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])
CYCLE_WITH_CHORD = from_pairs(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)])
TWO_PARTS = from_pairs(6, [(0, 1), (1, 2), (0, 2), (3, 4)])
GRAPHS = [complete(2), complete(3), complete(4), complete(5), K4_LESS_ONE, CYCLE_WITH_CHORD, TWO_PARTS]


def _cut(graph: Graph) -> int:
    signs = itertools.product((0, 1), repeat=graph.vertices)
    return max(sum(side[i] != side[j] for i, j in graph.edges) for side in signs)


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_largest_cut_is_the_largest(graph: Graph) -> None:
    """By trying all splits; ⌊n²/4⌋ for all pairs."""
    assert largest_cut(graph) == _cut(graph)


def test_the_spectral_bound_is_never_below_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where trying all is too much an upper bound takes its place, and it is a bound."""
    rng = np.random.default_rng(3)
    monkeypatch.setattr(graphs, "EXACT_CUT", 0)
    largest_cut.cache_clear()
    for _ in range(30):
        n = int(rng.integers(3, 9))
        pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.5] or [(0, 1)]
        graph = from_pairs(n, pairs)
        assert _cut(graph) <= largest_cut(graph) <= len(graph.edges)
    largest_cut.cache_clear()


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_dimension_is_the_rank_of_the_generators(graph: Graph) -> None:
    """d = n − components is the rank of the vectors e_i − e_j, also for the double cover."""
    for each in (graph, double_cover(graph)):
        i, j = each.ends
        generators = np.eye(each.vertices)[i] - np.eye(each.vertices)[j]
        assert each.dimension == np.linalg.matrix_rank(generators)


def test_the_double_cover_has_an_edge_for_every_way_a_pair_can_go() -> None:
    """i wins, j loses; an item never against itself."""
    assert double_cover(complete(3)).edges == ((0, 4), (0, 5), (1, 3), (1, 5), (2, 3), (2, 4))


@pytest.mark.parametrize("edges", [((0, 0),), ((1, 0),), ((0, 1), (0, 1)), ((0, 5),)])
def test_what_is_no_graph_is_refused(edges: tuple[tuple[int, int], ...]) -> None:
    """Loops, wrong order, repeated edges, unknown vertices."""
    with pytest.raises(ValueError, match="distinct"):
        Graph(3, edges)
