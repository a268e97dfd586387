"""Estimates and draws of their errors in; intervals, rank sets, tiers and the chance of being first out.

An item's rank set follows from simultaneous intervals for its differences to all others (Mogstad, Romano, Shaikh and
Wilhelm 2024): it is 1 + the number of items certainly above it, to n − the number certainly below. The critical value
is lowered step by step (Romano and Wolf 2005): what has been told apart need not be allowed for any more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from quietrank.arrays import Floats, Integers

MOST_STEPS = 10
"""Stopping early is safe: every further step can only tell more items apart."""

THREADS = 2
"""NumPy's loops over large arrays do not hold the interpreter's lock."""

Booleans = NDArray[np.bool_]
Tell = Callable[[float], None]
"""called with the part of the work that is done"""


def critical_values(sizes: NDArray[np.floating], level: float) -> Floats:
    """The value that at least `level` of the rows of |errors| stay below, for each column."""
    rows = len(sizes)
    place = min(rows - 1, math.ceil((rows + 1) * level) - 1)
    return np.asarray(np.partition(sizes, place, axis=0)[place])


def told_apart(estimates: Floats, errors: Floats, level: float, *, tell: Tell = lambda done: None) -> Booleans:
    """Whether item i (row) is certainly different from item j (column), in the family of all differences to item i."""
    n, inverse, small = len(estimates), _inverse_spread(errors), np.ascontiguousarray(errors.T, dtype=np.float32)
    apart = np.zeros((n, n), dtype=bool)

    def one_item(i: int) -> None:
        observed = np.abs(estimates - estimates[i]) * inverse[i]
        # What is left after a step is what was observed to be nearest, the first rows of this order: nothing is copied.
        nearest = np.argsort(observed, kind="stable")
        observed, sizes = observed[nearest], small[nearest]
        sizes -= small[i]
        np.abs(sizes, out=sizes)
        sizes *= inverse[i, nearest, None]
        left = n
        for _ in range(MOST_STEPS):
            critical = critical_values(sizes[:left].max(axis=0), level)
            before, left = left, int(np.searchsorted(observed[:left], critical, side="right"))
            if left in (0, before):
                break
        apart[i, nearest[left:]] = True

    with ThreadPoolExecutor(THREADS) as pool:
        for done, _ in enumerate(pool.map(one_item, range(n)), 1):
            tell(done / n)
    return apart


def all_told_apart(estimates: Floats, errors: Floats, level: float, *, tell: Tell = lambda done: None) -> Booleans:
    """The same in the family of all differences between any two items: all of them hold together at this level."""
    n, inverse, small = len(estimates), _inverse_spread(errors), errors.astype(np.float32)
    observed = np.abs(estimates[:, None] - estimates) * inverse
    apart = np.zeros((n, n), dtype=bool)
    for step in range(MOST_STEPS):
        largest = np.zeros(len(small), dtype=np.float32)
        for i in range(n - 1):
            left = ~apart[i, i + 1 :]
            if left.any():
                sizes = np.abs(small[:, i + 1 :][:, left] - small[:, i : i + 1]) * inverse[i, i + 1 :][left]
                np.maximum(largest, sizes.max(axis=1), out=largest)
            tell((step + i / n) / MOST_STEPS)
        rejected = ~apart & (observed > critical_values(largest, level))
        apart |= rejected
        if not rejected.any() or apart.sum() == n * (n - 1):
            break
    return apart


def _inverse_spread(errors: Floats) -> NDArray[np.float32]:
    """1 over the standard deviation of every difference; 0 where two items cannot differ."""
    covariance = np.cov(errors, rowvar=False)
    variance = np.add.outer(covariance.diagonal(), covariance.diagonal()) - 2 * covariance
    positive = variance > 1e-12 * covariance.diagonal().max()
    return np.where(positive, 1 / np.sqrt(np.where(positive, variance, 1)), 0).astype(np.float32)


def rank_sets(estimates: Floats, apart: Booleans) -> tuple[Integers, Integers]:
    """The highest and the lowest rank that each item may have."""
    higher = estimates[None, :] > estimates[:, None]
    above, below = (apart & higher).sum(axis=1), (apart & ~higher).sum(axis=1)
    return 1 + above, len(estimates) - below


def rank_sets_of_intervals(low: Floats, high: Floats) -> tuple[Integers, Integers]:
    """The same from intervals that hold together: for more items than have all their differences looked at."""
    above = len(low) - np.searchsorted(np.sort(low), high, side="right")
    below = np.searchsorted(np.sort(high), low, side="left")
    return 1 + above, len(low) - below


def tiers(order: list[int], apart: Booleans) -> Integers:
    """The tier of each item, from 1: one starts at the first item that is told apart from the tier's first member."""
    return _tiers(order, lambda first, item: bool(apart[first, item]))


def tiers_of_intervals(order: list[int], low: Floats, high: Floats) -> Integers:
    """The same from intervals that hold together."""
    return _tiers(order, lambda first, item: bool(high[item] < low[first]))


def _tiers(order: list[int], are_apart: Callable[[int, int], bool]) -> Integers:
    tier = np.zeros(len(order), dtype=np.int64)
    first, number = order[0], 1
    for item in order:
        if are_apart(first, item):
            first, number = item, number + 1
        tier[item] = number
    return tier


def chances(estimates: Floats, errors: Floats, top: int) -> tuple[Floats, Floats]:
    """The probability that each item is first, and that it is among the first `top`; empirical Bayes.

    Draws around the estimates would be overconfident: of many noisy estimates, the highest is one that was lucky. True
    values are taken to be normal with a spread that the estimates tell; each draw has a spread of its own from what
    they say about it, and moves the estimates towards their mean by as much as it asks for.
    """
    centred, variance = estimates - estimates.mean(), errors.var(axis=0)
    spread = _spreads(centred, variance, len(errors))[:, None] ** 2
    kept = spread / (spread + variance)
    truth = kept * centred + np.sqrt(kept) * errors
    n = len(estimates)
    first = np.bincount(truth.argmax(axis=1), minlength=n) / len(errors)
    if top >= n:
        return first, np.ones(n)
    among = np.argpartition(-truth, top - 1, axis=1)[:, :top]
    return first, np.bincount(among.ravel(), minlength=n) / len(errors)


def _spreads(centred: Floats, variance: Floats, draws: int) -> Floats:
    """Standard deviations of the true values, as many as asked for, in the proportions in which they are likely."""
    largest = math.sqrt(float(np.mean(centred**2) + variance.mean())) or 1.0
    grid = np.linspace(0.02, 3, 150) * largest
    total = grid[:, None] ** 2 + variance
    log_likelihood = -(np.log(total) + centred**2 / total).sum(axis=1) / 2
    weight = np.cumsum(np.exp(log_likelihood - log_likelihood.max()))
    places = np.searchsorted(weight / weight[-1], (np.arange(draws) + 0.5) / draws)
    # Scattered, so that neighbouring draws of the errors do not share a spread: a fixed step that is prime to most.
    return np.asarray(grid[places][(np.arange(draws) * 7919) % draws])
