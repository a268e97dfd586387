"""K-norm noise: the radius is gamma, the shape uniform, the density exp(−ε‖z‖); and other noise is rejected."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from quietrank.arrays import Flags, Floats
from quietrank.mechanisms.laplace import LaplaceLaw
from quietrank.mechanisms.zonotope import ZonotopeLaw
from quietrank.noise.knorm import KNormNoise, SumZero, Zonotope
from quietrank.noise.lattice import LaplaceNoise
from quietrank.noise.words import saturating_sum
from quietrank.promise.graph import Graph, complete, double_cover
from quietrank.statistics.net_wins import NET_WINS
from tests.effort import effort
from tests.helpers import zonotope_gauge
from tests.promise.test_graph import CYCLE_WITH_CHORD, K4_LESS_ONE, TWO_PARTS

ALMOST_NEVER = 1e-7
"""the p-value below which a test of freshly drawn noise fails"""
UNIT = Fraction(2**30)
"""lattice steps per unit of K: rounding is then far below what the tests see"""


def draws(body: Zonotope | SumZero, number: int) -> Floats:
    return np.array([body.draw() for _ in range(number)], dtype=np.float64) / float(UNIT)


def rejected(graph: Graph, number: int, rng: np.random.Generator) -> Floats:
    """Uniform points of Z(G) by rejection from a box, in coordinates that leave out one vertex of each part."""
    roots = set(graph.component)
    free = [vertex for vertex in range(graph.vertices) if vertex not in roots]
    degree = np.array([len(graph.neighbours[vertex]) for vertex in free])
    found: list[Floats] = []
    while sum(map(len, found)) < number:
        points = np.zeros((2000, graph.vertices))
        points[:, free] = rng.uniform(-1, 1, (2000, len(free))) * degree
        for root in roots:
            others = [v for v in free if graph.component[v] == root]
            points[:, root] = -points[:, others].sum(axis=1)
        found.append(points[_inside(graph, points)])
    return np.concatenate(found)[:number]


def _inside(graph: Graph, points: Floats) -> Flags:
    """Z(G) by its facets: for every set S of vertices, x(S) ≤ the number of edges that leave S."""
    within = np.ones(len(points), dtype=bool)
    for size in range(1, graph.vertices + 1):
        for chosen in itertools.combinations(range(graph.vertices), size):
            leaving = sum((i in chosen) != (j in chosen) for i, j in graph.edges)
            within &= points[:, chosen].sum(axis=1) <= leaving
    return within


@pytest.mark.parametrize("graph", [complete(3), complete(4), K4_LESS_ONE, CYCLE_WITH_CHORD, TWO_PARTS])
@pytest.mark.few(1)
def test_the_shape_is_uniform_and_the_radius_gamma(graph: Graph) -> None:
    """u = z/r against rejection sampling: marginals, a random direction and the gauge, by Kolmogorov and Smirnov.

    The gauge of z is Gamma(d), because ‖u‖^d is uniform and independent of r ~ Gamma(d + 1); and z/‖z‖ is the
    direction of a uniform point.
    """
    rng = np.random.default_rng(1)
    drawn = draws(Zonotope(graph, UNIT), effort(700, 1500))
    gauges = np.array([zonotope_gauge(graph, point.tolist()) for point in drawn])
    assert stats.kstest(gauges, stats.gamma(graph.dimension).cdf).pvalue > ALMOST_NEVER
    boundary = drawn / gauges[:, None]
    uniform = rejected(graph, effort(700, 1500), rng)
    expected = uniform / np.array([zonotope_gauge(graph, point.tolist()) for point in uniform])[:, None]
    for direction in [*np.eye(graph.vertices), rng.normal(size=graph.vertices)]:
        assert stats.ks_2samp(boundary @ direction, expected @ direction).pvalue > ALMOST_NEVER


def test_a_wrong_radius_would_be_noticed() -> None:
    """Gamma(d) instead of Gamma(d + 1), or half the noise: both are rejected by the test above."""
    graph = complete(4)
    gauges = np.array(
        [zonotope_gauge(graph, point.tolist()) for point in draws(Zonotope(graph, UNIT), effort(700, 1500))]
    )
    assert stats.kstest(gauges, stats.gamma(graph.dimension - 1).cdf).pvalue < ALMOST_NEVER
    assert stats.kstest(gauges / 2, stats.gamma(graph.dimension).cdf).pvalue < ALMOST_NEVER


@pytest.mark.parametrize(("n", "most"), [(4, 7.3), (6, 17.2), (10, 50), (20, 212)])
@pytest.mark.few(2)
def test_the_zonotope_is_as_small_as_promised(n: int, most: float) -> None:
    """Standard deviation per item at ε = 1 under `replace`, all pairs: from the law, and drawn."""
    assert ZonotopeLaw(NET_WINS, complete(n), 1.0).spread.net_wins <= most
    drawn = draws(Zonotope(complete(n), UNIT), 2000)
    assert np.sqrt((drawn**2).mean()) < most * 1.2


def test_the_gauge_of_two_items_is_laplace() -> None:
    """n = 2: the zonotope is a segment, and its K-norm noise is Laplace noise of scale 1/ε on s_1."""
    drawn = draws(Zonotope(complete(2), UNIT), 4000)
    assert (drawn[:, 0] + drawn[:, 1] == 0).all()
    assert stats.kstest(drawn[:, 0], stats.laplace(scale=1).cdf).pvalue > ALMOST_NEVER
    assert stats.kstest(drawn[:, 0] * 2, stats.laplace(scale=1).cdf).pvalue < ALMOST_NEVER


@pytest.mark.parametrize("graph", [complete(2), complete(3), double_cover(complete(2))])
@pytest.mark.few(2)
def test_the_density_changes_by_at_most_epsilon_between_neighbours(graph: Graph) -> None:
    """On a grid: ‖z‖ − ‖z − x‖ ≤ 1 for every vertex x of K, with equality somewhere."""
    i, j = graph.ends
    generators = np.eye(graph.vertices)[i] - np.eye(graph.vertices)[j]
    basis = generators[: graph.dimension]
    grid = [np.array(c) @ basis for c in itertools.product(np.linspace(-3, 3, 7), repeat=graph.dimension)]
    corners = [np.array(signs) @ generators for signs in itertools.product((1, -1), repeat=len(graph.edges))]
    losses = [
        zonotope_gauge(graph, z.tolist()) - zonotope_gauge(graph, (z - corner).tolist())
        for z in grid
        for corner in corners
    ]
    assert max(losses) == pytest.approx(1)
    assert max(losses) <= 1 + 1e-9


def test_the_density_is_the_k_norms() -> None:
    """∫ over r of Gamma(d + 1) times 1[z ∈ rK]/(r^d·vol) is proportional to exp(−‖z‖): checked numerically, d = 2."""
    d = 2
    r = np.linspace(1e-6, 60, 400_001)
    weight = stats.gamma(d + 1).pdf(r) / r**d
    for gauge in (0.1, 0.5, 1.0, 2.0, 5.0):
        density = np.trapezoid(np.where(r >= gauge, weight, 0), r)
        assert density == pytest.approx(math.exp(-gauge) / math.factorial(d), rel=1e-3)


@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.few(2)
def test_sum_zero_noise_is_laplace_noise_given_its_sum(size: int) -> None:
    """‖z‖₁/2 is Gamma(n − 1, scale/2), the entries have the conditional variance, and sum to zero but for rounding."""
    drawn = draws(SumZero(size, UNIT), 4000)
    assert np.abs(drawn.sum(axis=1)).max() <= size / 2 / float(UNIT)
    assert stats.kstest(np.abs(drawn).sum(axis=1) / 2, stats.gamma(size - 1, scale=0.5).cdf).pvalue > ALMOST_NEVER
    assert stats.binomtest(int((drawn[:, 0] > 0).sum()), len(drawn)).pvalue > ALMOST_NEVER
    variance = (2 * size - 1) * (size - 1) / (size * (size + 1))
    squares = (drawn**2).mean(axis=1)
    assert abs(squares.mean() - variance) < 6 * squares.std() / math.sqrt(len(squares))


@pytest.mark.parametrize("size", [3, 4])
def test_sum_zero_noise_agrees_with_conditioning(size: int) -> None:
    """Independent Laplace noise whose sum happens to be nearly zero has the same marginals."""
    rng = np.random.default_rng(2)
    independent = rng.laplace(size=(1_500_000, size))
    given = independent[np.abs(independent.sum(axis=1)) < 0.01][:, 0]
    drawn = draws(SumZero(size, UNIT), 3000)[:, 0]
    assert stats.ks_2samp(drawn, given).pvalue > ALMOST_NEVER
    assert stats.ks_2samp(drawn * 2, given).pvalue < ALMOST_NEVER


def test_losses_are_mirrored_and_the_total_is_apart() -> None:
    """(wins, losses): wins − losses of the noise sum to zero; the last value gets noise of its own."""
    zeros = np.zeros(6, dtype=np.int64)
    for body in (SumZero(6, UNIT), Zonotope(double_cover(complete(3)), UNIT)):
        noisy = KNormNoise(body, losses_mirrored=True).add_to(zeros)
        assert abs(int(noisy[:3].sum() - noisy[3:].sum())) <= 3
    with_total = KNormNoise(SumZero(3, UNIT), total=LaplaceNoise(float(UNIT))).add_to(np.zeros(4, dtype=np.int64))
    assert abs(int(with_total[:3].sum())) <= 2
    assert with_total[3] != 0


def test_the_further_entry_of_the_zonotope_shares_the_radius() -> None:
    """K = Z(G) × [−t, t]: the gauge, the larger of the two, is Gamma(d + 1)."""
    graph, half_width = complete(3), 4
    drawn = draws(Zonotope(graph, UNIT, Fraction(half_width)), 1500)
    gauges = [max(zonotope_gauge(graph, point[:3].tolist()), abs(point[3]) / half_width) for point in drawn]
    assert stats.kstest(gauges, stats.gamma(3).cdf).pvalue > ALMOST_NEVER


def test_sums_saturate_and_never_wrap() -> None:
    """At the 64-bit limits, as OpenDP's do."""
    edge = np.array([2**63 - 1, -(2**63) + 1, 5], dtype=np.int64)
    assert saturating_sum(edge, [10, -10, -7]).tolist() == [2**63 - 1, -(2**63) + 1, -2]


def test_every_draw_is_fresh() -> None:
    """Two draws differ: there is no seed."""
    for body in (SumZero(3, UNIT), Zonotope(complete(3), UNIT)):
        assert body.draw() != body.draw()


def test_the_law_of_sum_zero_noise_is_the_noise() -> None:
    """The pseudo-random sampler that planning uses agrees with what releases draw."""
    rng = np.random.default_rng(4)
    law = LaplaceLaw(NET_WINS, 4, 1.0, sum_zero=True)
    assert stats.ks_2samp(law.sample(rng, 20_000)[:, 0], draws(SumZero(4, UNIT), 3000)[:, 0]).pvalue > ALMOST_NEVER
