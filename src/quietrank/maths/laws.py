"""Values and a scale in, the law of Laplace noise out, independent or given a sum of zero; and of noise of a ball.

docs/proofs/zonotope.md derives the second form, docs/proofs/ball.md the third.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import lgamma, log, pi, sqrt

import numpy as np
from scipy import special

from quietrank.arrays import Floats


def laplace_cdf(x: Floats, scale: float) -> Floats:
    """P(Z ≤ x) for density exp(−|z|/b)/2b."""
    tail = np.exp(-np.abs(x) / scale) / 2
    return np.where(x < 0, tail, 1 - tail)


def sum_zero_cdf(x: Floats, scale: float, size: int) -> Floats:
    """P(Z₁ ≤ x) for `size` Laplace variables of scale b, given that they sum to zero.

    The others sum to −Z₁, and with m = size − 1 of them the density of Z₁ is proportional to exp(−2|z|/b) times a
    polynomial in |z|. So |Z₁| is Gamma(m − k, b/2) with probability ∝ C(m − 1 + k, k), k = 0 … m − 1.
    """
    m = size - 1
    k = np.arange(m)
    weights = np.exp(special.gammaln(m + k) - special.gammaln(k + 1) - special.gammaln(2 * m) + special.gammaln(m))
    parts = special.gammainc(m - k, 2 * np.abs(np.asarray(x, dtype=np.float64))[..., None] / scale)
    return np.asarray(0.5 + 0.5 * np.sign(x) * (parts @ weights) / weights.sum())


def laplace_log_density(noise: Floats, scale: float) -> Floats:
    """Of rows of independent entries."""
    return np.asarray(-np.abs(noise).sum(axis=-1) / scale - noise.shape[-1] * log(2 * scale))


def sum_zero_log_density(noise: Floats, scale: float) -> Floats:
    """Of rows that sum to zero, as a density of all entries but one.

    The vectors of L1 norm ≤ 2 that sum to zero have the volume C(2d, d)/d! in d = n − 1 coordinates.
    """
    d = noise.shape[-1] - 1
    log_cases = lgamma(2 * d + 1) - 2 * lgamma(d + 1)
    centred = noise - noise.mean(axis=-1, keepdims=True)
    return np.asarray(-np.abs(centred).sum(axis=-1) / scale - d * log(scale / 2) - log_cases)


@dataclass(frozen=True)
class BallPart:
    """Noise of density ∝ exp(−‖z‖₂/unit) on all vectors, or on those that sum to zero."""

    size: int
    sum_zero: bool
    unit: float

    @property
    def dimension(self) -> int:
        return self.size - 1 if self.sum_zero else self.size

    @property
    def deviation(self) -> float:
        """E‖z‖² = d(d + 1) squared units, equally for all entries."""
        return self.unit * sqrt(self.dimension * (self.dimension + 1) / self.size)

    def cdf(self, x: Floats) -> Floats:
        """P(an entry ≤ x): exp(−‖z‖) is a mixture of normal densities of variance 2G, G ~ Gamma((d + 1)/2), so an entry
        is √(2G)·N, times the length of its axis within the span. The mean over G is taken at fixed points of its
        distribution."""
        along = self.unit * sqrt(self.dimension / self.size)
        points, weights = _mixture(self.dimension)
        inside = np.asarray(x, dtype=np.float64)[..., None] / (along * points)
        return np.asarray(special.ndtr(inside) @ weights)

    def log_density(self, noise: Floats) -> Floats:
        """Of rows, as a density of all entries but one where they sum to zero.

        ∫exp(−‖z‖)dz = Γ(d)·2π^(d/2)/Γ(d/2), and the plane of sum zero over its first n − 1 entries is √n as large.
        """
        d, mean = self.dimension, noise.mean(axis=-1, keepdims=True) if self.sum_zero else 0.0
        log_sphere = log(2) + d / 2 * log(pi) - lgamma(d / 2)
        log_plane = log(self.size) / 2 if self.sum_zero else 0.0
        lengths = np.linalg.norm(noise - mean, axis=-1)
        return np.asarray(-lengths / self.unit - lgamma(d) - d * log(self.unit) - log_sphere + log_plane)


@lru_cache(maxsize=64)
def _mixture(dimension: int) -> tuple[Floats, Floats]:
    """√(2G) at Gauss–Legendre points of the distribution of G, close to each other at both ends, and their weights."""
    nodes, weights = special.roots_legendre(400)
    t = (1 + nodes) / 2
    share = t**3 * (10 - 15 * t + 6 * t**2)
    return np.sqrt(2 * special.gammaincinv((dimension + 1) / 2, share)), weights / 2 * 30 * (t * (1 - t)) ** 2
