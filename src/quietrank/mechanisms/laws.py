"""The public law of the noise on a released statistic: how large it is, and pseudo-random samples of it.

Nothing here touches a release: releases are drawn by `noise/`, exactly and from the operating system's entropy. The
laws serve planning, intervals and estimators, which need to know how far off a noisy value may be. All in votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from quietrank.noise.tiles import Below, corner, positive_weights, spanning_forest
from quietrank.promise.graph import Graph
from quietrank.statistics.sensitivity import Statistic

Floats = NDArray[np.float64]

PRECISION = 60_000
"""How many entries are sampled to find the size of zonotope noise: its standard deviation to about half a per cent."""


@dataclass(frozen=True)
class Spread:
    """Standard deviations of the noise, and the excess kurtosis of that on net wins."""

    value: float
    """of each released value, the total aside"""
    net_wins: float
    exposure: float
    """of wins + losses, where both are released; else 0"""
    kurtosis: float


@dataclass(frozen=True)
class LaplaceLaw:
    """Laplace noise on every entry; with `sum_zero`, given that the noise on net wins sums to zero."""

    statistic: Statistic
    items: int
    scale: float
    sum_zero: bool
    share: float = 1.0

    @property
    def spread(self) -> Spread:
        size = self.statistic.per_item * self.items
        # Given a sum of zero, the variance is (2N − 1)(N − 1)/(N(N + 1)) squared scales instead of 2.
        variance = self.scale**2 * ((2 * size - 1) * (size - 1) / (size * (size + 1)) if self.sum_zero else 2)
        covariance = -variance / (size - 1) if self.sum_zero else 0.0
        return _spread(self.statistic, variance, covariance, 3.0)

    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        """`draws` rows of noise."""
        size = self.statistic.per_item * self.items
        if not self.sum_zero:
            return self._with_total(rng, rng.laplace(0, self.scale, (draws, size)))
        # P(k positive) and the two simplices of noise/knorm.py, all rows at once.
        weights = np.array(positive_weights(size), dtype=np.float64)
        number = rng.choice(np.arange(1, size), size=draws, p=weights / weights.sum())
        positive = rng.random((draws, size)).argsort(axis=1) < number[:, None]
        parts = rng.exponential(size=(draws, size))
        up = np.where(positive, parts, 0)
        down = parts - up
        rho = rng.gamma(size - 1, self.scale / 2, (draws, 1))
        signed = rho * (up / up.sum(axis=1, keepdims=True) - down / down.sum(axis=1, keepdims=True))
        return self._with_total(rng, _unsigned(self.statistic, signed))

    def _with_total(self, rng: np.random.Generator, noise: Floats) -> Floats:
        if self.statistic is not Statistic.NET_WINS_AND_TOTAL:
            return noise
        return np.column_stack([noise, rng.laplace(0, self.scale / self.share, len(noise))])


@dataclass(frozen=True)
class GaussianLaw:
    """Gaussian noise on every entry."""

    statistic: Statistic
    items: int
    sigma: float
    share: float = 1.0

    @property
    def spread(self) -> Spread:
        if self.statistic is Statistic.NET_WINS_AND_EXPOSURES:
            return Spread(self.sigma, self.sigma, self.sigma / self.share, 0.0)
        return _spread(self.statistic, self.sigma**2, 0.0, 0.0)

    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        """`draws` rows of noise."""
        noise = rng.normal(0, self.sigma, (draws, self.statistic.per_item * self.items))
        noise[:, self.items :] /= self.share
        return noise


@dataclass(frozen=True)
class ZonotopeLaw:
    """r·u, r ~ Gamma(d + 1) times a unit, u uniform on Z(G), or on Z(G) × [−t, t]."""

    statistic: Statistic
    graph: Graph
    """of the statistic's entries: the askable pairs, or their double cover"""
    unit: float
    extra: float | None = None

    @property
    def spread(self) -> Spread:
        value, net_wins, exposure, kurtosis = _zonotope_spread(self.statistic, self.graph, self.extra)
        return Spread(value * self.unit, net_wins * self.unit, exposure * self.unit, kurtosis)

    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        """`draws` rows of noise."""
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
        points = _unsigned(self.statistic, points)
        if self.extra is not None:
            points = np.column_stack([points, rng.uniform(-self.extra, self.extra, draws)])
        d = graph.dimension + (self.extra is not None)
        return np.asarray(points * rng.gamma(d + 1, self.unit, (draws, 1)))


Law = LaplaceLaw | GaussianLaw | ZonotopeLaw


def _spread(statistic: Statistic, variance: float, covariance: float, kurtosis: float) -> Spread:
    """From the variance of an entry and its covariance with the others; losses count with a minus sign.

    Net wins are half the sum of a win and a minus-loss, exposures their difference.
    """
    if statistic is not Statistic.WINS_AND_LOSSES:
        return Spread(sqrt(variance), sqrt(variance), 0.0, kurtosis)
    net_wins, exposure = (variance + covariance) / 2, 2 * (variance - covariance)
    return Spread(sqrt(variance), sqrt(net_wins), sqrt(exposure), kurtosis / 2)


@lru_cache(maxsize=64)
def _zonotope_spread(statistic: Statistic, graph: Graph, extra: float | None) -> tuple[float, float, float, float]:
    """The spread for a unit of 1, from a fixed pseudo-random sample; averages over items."""
    n = graph.vertices
    noise = ZonotopeLaw(statistic, graph, 1.0, extra).sample(np.random.default_rng(1), max(200, PRECISION // n))
    noise = noise[:, :n]
    joint = statistic is Statistic.WINS_AND_LOSSES
    net_wins = (noise[:, : n // 2] - noise[:, n // 2 :]) / 2 if joint else noise
    exposure = noise[:, : n // 2] + noise[:, n // 2 :] if joint else np.zeros(1)
    square = float(np.mean(net_wins**2))
    kurtosis = float(np.mean(net_wins**4)) / square**2 - 3
    return sqrt(np.mean(noise**2)), sqrt(square), sqrt(np.mean(exposure**2)), max(0.0, kurtosis)


def _unsigned(statistic: Statistic, signed: Floats) -> Floats:
    """(wins, −losses) to (wins, losses); other statistics as they are."""
    if statistic is not Statistic.WINS_AND_LOSSES:
        return signed
    n = signed.shape[1] // 2
    return np.column_stack([signed[:, :n], -signed[:, n:]])


def _below(rng: np.random.Generator) -> Below:
    """Uniform integers from a pool of pseudo-random ones: a call per step of a walk would be slow."""
    pool: list[float] = []

    def below(k: int) -> int:
        if not pool:
            pool.extend(rng.random(4096).tolist())
        return int(pool.pop() * k)

    return below
