"""Norms: the gauge of a zonotope is exact, and agrees with a linear program."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from quietrank.auditing import norms
from quietrank.noise import knorm
from quietrank.promise.graph import Graph, complete, double_cover, from_pairs

GRAPHS = [
    complete(2),
    complete(4),
    double_cover(complete(2)),
    double_cover(complete(3)),
    from_pairs(5, [(0, 1), (1, 2), (3, 4)]),
    from_pairs(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 3)]),
]


def _by_linear_program(graph: Graph, point: list[int]) -> float:
    """The least t with point = Σ c_e g_e and |c_e| ≤ t."""
    edges = len(graph.edges)
    i, j = graph.ends
    incidence = np.zeros((graph.vertices, edges + 1))
    incidence[i, np.arange(edges)], incidence[j, np.arange(edges)] = 1, -1
    limits = np.vstack([np.hstack([sign * np.eye(edges), -np.ones((edges, 1))]) for sign in (1, -1)])
    bounds = [(None, None)] * edges + [(0, None)]
    found = linprog(np.eye(edges + 1)[-1], limits, np.zeros(2 * edges), incidence, point, bounds, method="highs")
    return float(found.fun or 0.0)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: f"{graph.vertices}-{len(graph.edges)}")
def test_the_gauge_is_that_of_a_linear_program(graph: Graph) -> None:
    """Sets of vertices and flows say the same, exactly and for real points."""
    rng = np.random.default_rng(1)
    body = knorm.Zonotope(graph, Fraction(1))
    i, j = graph.ends
    for _ in range(20):
        flow = rng.integers(-9, 10, len(graph.edges))
        point = np.zeros(graph.vertices, dtype=np.int64)
        np.add.at(point, i, flow)
        np.subtract.at(point, j, flow)
        expected = _by_linear_program(graph, point.tolist())
        assert float(norms.zonotope_gauge(body, point.tolist())) == pytest.approx(expected, abs=1e-9)
        assert norms.zonotope_gauges(body, point[None, :].astype(float))[0] == pytest.approx(expected, abs=1e-9)


def test_what_leaves_the_plane_has_no_gauge() -> None:
    """A total that moves, or weight that goes from one component to another, is covered by no factor."""
    assert norms.zonotope_gauge(knorm.Zonotope(complete(3), Fraction(1)), [1, 0, 0]) == norms.INFINITE
    parted = knorm.Zonotope(from_pairs(4, [(0, 1), (2, 3)]), Fraction(1))
    assert norms.zonotope_gauge(parted, [1, 0, -1, 0]) == norms.INFINITE


def test_the_extra_entry_has_its_own_width() -> None:
    """K = Z(G) × [−t, t]."""
    body = knorm.Zonotope(complete(2), Fraction(1), Fraction(6))
    assert norms.zonotope_gauge(body, [1, -1, 12]) == 2
    assert norms.zonotope_gauge(body, [3, -3, 12]) == 3
