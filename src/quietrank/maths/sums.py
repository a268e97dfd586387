"""Arrays of floats in, sums, norms and error-free sums out: small helpers of the solver."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csc_array, csr_array

from quietrank.arrays import Floats, Indices
from quietrank.maths.pairs import Pairs, scatter


def row_sums(pairs: Pairs, values: Floats) -> Floats:
    n = pairs.n_items
    return sparse_times(csr_array((values, pairs.j, pairs.rows), shape=(n, n)), np.ones(n))


def sparse_times(matrix: csr_array | csc_array, x: Floats) -> Floats:
    return np.asarray(matrix @ x, dtype=np.float64)


def safe_ratio(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def inner(a: Floats, b: Floats) -> float:
    # not a @ b: BLAS starts its threads for long vectors, and on a busy machine waits for them far too long
    return float(np.einsum("i,i->", a, b))


def euclidean(a: Floats) -> float:
    return math.sqrt(inner(a, a))


def component_means(values: Floats, labels: Indices) -> Floats:
    if labels.max(initial=0) == 0:
        return np.full_like(values, values.mean())
    return component_sums(values, labels) / np.bincount(labels)[labels]


def exact_means(values: Floats, labels: Indices) -> Floats:
    """Component means without the rounding of a sum, which a small ridge would turn into a visible shift."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    parts = np.split(values[order], np.cumsum(sizes)[:-1])
    return (np.array([math.fsum(part.tolist()) for part in parts]) / sizes)[labels]


def component_sums(values: Floats, labels: Indices) -> Floats:
    """The sum of each item's component."""
    return scatter(labels, values, 0)[labels]


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a + b = sum + rest exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def add_exactly(high: Floats, low: Floats, step: Floats) -> tuple[Floats, Floats]:
    total, rest = two_sum(high, step)
    return two_sum(total, rest + low)
