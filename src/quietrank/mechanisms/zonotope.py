"""A promise of one answer per person and pair in, zonotope noise out: on the tally, the K-norm mechanism of Z(G).

docs/proofs/zonotope.md proves the promise and the draw.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import inf, lgamma, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import PrivacyError, option
from quietrank.maths import zonotopes
from quietrank.mechanisms.mechanism import Calibrated, Figure, Law, Mechanism
from quietrank.noise.knorm import KNormNoise, WideZonotope, Zonotope
from quietrank.noise.tiles import Below, corner, spanning_forest
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.graph import Graph, double_cover
from quietrank.promise.items import Items
from quietrank.promise.privacy import Unit
from quietrank.promise.promise import FINE, Clip, Promise
from quietrank.promise.rounding import float_above
from quietrank.statistics.net_wins import NET_WINS, NET_WINS_AND_TOTAL
from quietrank.statistics.statistic import Spread, Statistic
from quietrank.statistics.wins import WINS_AND_LOSSES

if TYPE_CHECKING:
    from quietrank.arrays import Floats

MOST_ZONOTOPE_PAIRS = 20_000
"""A draw takes about 25 ms and 0.6 GB at this many pairs (all of 200 items), and both grow with their square."""

FEWEST_DRAWS = 100
MOST_DRAWN_EDGES = 2_000_000
"""A plan samples so many draws that their spanning trees look at about this many edges; then draws are used again."""

PRECISION = 60_000
"""How many entries are sampled to find the size of zonotope noise, which gives it to about half a per cent."""


class ZonotopeMechanism(Mechanism):
    name = "zonotope"
    about = "on the tally, calibrated to one answer per person and pair"
    statistics = (NET_WINS, NET_WINS_AND_TOTAL, WINS_AND_LOSSES)
    automatic = True
    with_ties = True

    def require(self, promise: Promise, statistic: Statistic) -> None:
        promise.require_pairs(option("mechanism", self.name))
        if promise.items.askable > MOST_ZONOTOPE_PAIRS:
            raise PrivacyError(
                f"the zonotope mechanism takes too long for {promise.items.askable} pairs (at most "
                f"{MOST_ZONOTOPE_PAIRS}); use {option('mechanism', 'laplace')} with {option('max_per_person')}, or "
                f"{option('mechanism', 'gaussian')} with {option('delta')}"
            )
        gauge_reach(promise.pure, statistic)

    def noise_for(self, promise: Promise, statistic: Statistic, clip: Clip | None, votes: int | None) -> Calibrated:
        reach, extra = gauge_reach(promise, statistic), _extra(promise, statistic)
        graph = zonotope_graph(promise.items, statistic)
        unit = reach / Fraction(as_written(promise.privacy.epsilon))  # of K, in votes
        body = Zonotope(graph, unit / FINE, extra)
        if statistic.extra > 1:
            body = WideZonotope(graph, unit / FINE, extra, statistic.extra)
        figures: dict[str, Figure] = {
            "sensitivity": float(reach),
            "norm": "zonotope of the double cover" if statistic.mirrored else "zonotope",
            "scale": float(unit),
            "dimension": float(body.dimension),
            "pairs": float(promise.items.askable),
        }
        return Calibrated(
            self, promise, statistic, KNormNoise(body, statistic.mirrored), FINE,
            ZonotopeLaw(statistic, graph, float(unit), None if extra is None else float(extra)),
            Cost.pure(promise.privacy.epsilon), tuple(figures.items()),
        )  # fmt: skip

    def loss(self, calibrated: Calibrated) -> Cost:
        """What the body costs, rounded up, if it is the body of these items' askable pairs, and wide enough for the
        total."""
        body = calibrated.noise.body if isinstance(calibrated.noise, KNormNoise) else None
        promise, statistic = calibrated.promise, calibrated.statistic
        if calibrated.share != 1:
            return Cost.pure(inf)
        if not isinstance(body, Zonotope) or body.graph != zonotope_graph(promise.items, statistic):
            return Cost.pure(inf)
        extra = _extra(promise, statistic)
        if body.extra_entries != statistic.extra or (body.extra or 0) < (extra or 0):
            return Cost.pure(inf)
        return Cost.pure(float_above(gauge_reach(promise, statistic) / (body.unit * calibrated.step)))


def gauge_reach(promise: Promise, statistic: Statistic) -> Fraction:
    """The factor by which K must be scaled to contain the difference of any two neighbours."""
    if promise.privacy.unit is Unit.COMPARISON or not promise.privacy.one_per_pair:
        raise PrivacyError(
            f"the zonotope mechanism needs {option('unit', 'person')} and {option('one_per_pair', True)}; add them, or "
            f"use {option('mechanism', 'laplace')}"
        )
    if promise.spread > 1:
        raise PrivacyError(
            "the zonotope mechanism draws the noise of each group by itself, which does not cover a person who answers "
            f"the same pair in several groups; use {option('mechanism', 'laplace')}, or {option('by_person', True)} if "
            "every person belongs to one group"
        )
    if statistic.gauge(promise.moves[0].change) is None:
        raise PrivacyError(f"the zonotope mechanism does not release {statistic}; use {option('method', 'net-wins')}")
    statistic.require_secret(promise)
    return promise.reach(lambda change: statistic.gauge(change) or 0)


def zonotope_graph(items: Items, statistic: Statistic) -> Graph:
    """The graph whose zonotope K is: of the askable pairs, or its double cover for wins and losses."""
    return double_cover(items.graph) if statistic.mirrored else items.graph


def _extra(promise: Promise, statistic: Statistic) -> Fraction | None:
    """2W, half the width of K in the entries of the total and of ties; W is the largest weight of a person. W beside
    the double cover, of which a person adds the whole, and not the half."""
    return Fraction((1 if statistic.mirrored else 2) * promise.privacy.limit) if statistic.extra else None


@dataclass(frozen=True)
class ZonotopeLaw(Law):
    """r·u, r ~ Gamma(d + 1) times a unit, u uniform on Z(G), or on Z(G) × [−t, t] for each entry beside the items'."""

    statistic: Statistic
    graph: Graph
    """of the statistic's entries: the askable pairs, or their double cover"""
    unit: float
    extra: float | None = None

    @property
    def size(self) -> float:
        return self.unit

    def of_size(self, size: float) -> ZonotopeLaw:
        return replace(self, unit=size)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "zonotope", "unit": self.unit, "extra": self.extra}

    @property
    def spread(self) -> Spread:
        one = _spread_of_one(self.of_size(1.0))
        return Spread(one.value * self.unit, one.net_wins * self.unit, one.exposure * self.unit, one.kurtosis)

    @property
    def most_draws(self) -> int | None:
        return max(FEWEST_DRAWS, MOST_DRAWN_EDGES // len(self.graph.edges))

    def log_density(self, noise: Floats) -> Floats | None:
        """−‖z‖/unit − log(d!·unit^d·volume of K): of all entries but one in each component of the graph."""
        n = self.graph.vertices
        gauges = zonotopes.gauges(self.graph, self.statistic.unsigned(noise[..., :n]))
        if gauges is None:
            return None
        d, log_volume = self.graph.dimension, zonotopes.log_volume(self.graph)
        if self.extra is not None:
            extra = self.statistic.extra
            gauges = np.maximum(gauges, np.abs(noise[..., n:]).max(axis=-1) / self.extra)
            d, log_volume = d + extra, log_volume + extra * log(2 * self.extra)
        return np.asarray(-gauges / self.unit - lgamma(d + 1) - d * log(self.unit) - log_volume)

    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        graph = self.graph
        heights = rng.random(len(graph.edges))  # in general position almost surely, and faster than powers of two
        below = _below(rng)
        points = np.empty((draws, graph.vertices))
        i, j = graph.ends
        for row in range(draws):
            forest = spanning_forest(graph, below)
            coefficient = rng.uniform(-1, 1, len(forest))
            point = corner(graph, forest, heights).astype(np.float64)
            np.add.at(point, i[forest], coefficient)
            np.subtract.at(point, j[forest], coefficient)
            points[row] = point
        points = self.statistic.unsigned(points)
        if self.extra is not None:
            others = (rng.uniform(-self.extra, self.extra, draws) for _ in range(self.statistic.extra))
            points = np.column_stack([points, *others])
        d = graph.dimension + self.statistic.extra
        return np.asarray(points * rng.gamma(d + 1, self.unit, (draws, 1)))


@lru_cache(maxsize=64)
def _spread_of_one(law: ZonotopeLaw) -> Spread:
    """The spread for a unit of 1, from a fixed pseudo-random sample; averages over items."""
    n = law.graph.vertices
    noise = law.sample(np.random.default_rng(1), max(200, PRECISION // n))
    reading = law.statistic.read(noise, 1.0)
    net_wins = noise[:, :n] if reading.net_wins is None else reading.net_wins
    exposure = np.zeros(1) if reading.exposure is None else reading.exposure
    square = float(np.mean(net_wins**2))
    kurtosis = float(np.mean(net_wins**4)) / square**2 - 3
    return Spread(sqrt(np.mean(noise[:, :n] ** 2)), sqrt(square), sqrt(np.mean(exposure**2)), max(0.0, kurtosis))


def _below(rng: np.random.Generator) -> Below:
    """Uniform integers from a pool of pseudo-random numbers: one call to the generator per step would be slow."""
    pool: list[float] = []

    def below(k: int) -> int:
        if not pool:
            pool.extend(rng.random(4096).tolist())
        return int(pool.pop() * k)

    return below


ZONOTOPE = ZonotopeMechanism()
