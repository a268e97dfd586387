"""Values and a scale in, the law of Laplace noise out; independent, or given a sum of zero.

docs/proofs/zonotope.md derives the second form.
"""

from __future__ import annotations

from math import lgamma, log

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
