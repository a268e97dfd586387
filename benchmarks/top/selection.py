"""Scores of items and a noise scale in, the ordered top k of each repetition out; floating point, for comparison only.

Every selector takes scores of shape (repetitions, n) and gives indices of shape (repetitions, k), the first-ranked
first. None of this may be used for a release: the draws are pseudo-random and not exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Selector = Callable[[Floats, int, float, np.random.Generator], Integers]
"""scores, k, scale, generator; the scale is the range of what is maximised between neighbours, over ε (`ranges.py`)"""


# ---- one item after the other ---------------------------------------------------------------------------------------


def permute_and_flip(scores: Floats, k: int, scale: float, rng: np.random.Generator) -> Integers:
    """k rounds: the largest score plus exponential noise, fresh in each round; scale R_k/ε."""
    left, chosen = scores.astype(np.float64), np.empty((len(scores), k), dtype=np.int64)
    rows = np.arange(len(scores))
    for turn in range(k):
        chosen[:, turn] = (left + rng.exponential(scale, left.shape)).argmax(axis=1)
        left[rows, chosen[:, turn]] = -np.inf
    return chosen


def gumbel(scores: Floats, k: int, scale: float, rng: np.random.Generator) -> Integers:
    """k rounds of the exponential mechanism, in one shot: Gumbel noise; scale R_k/ε, or R/ε₀ in zCDP."""
    return best(scores + rng.gumbel(0, scale, scores.shape), k)


def best(values: Floats, k: int) -> Integers:
    """The indices of the k largest values of each row, the largest first."""
    return np.asarray(np.argsort(-values, axis=1, kind="stable")[:, :k])


# ---- all k at once --------------------------------------------------------------------------------------------------


def joint(scores: Floats, k: int, scale: float, rng: np.random.Generator, flip: bool = False) -> Integers:
    """The joint mechanism of Gillenwater et al. (2022): u = −max_i (c_(i) − c_{s_i}), scale (range of u)/ε.

    Entries (i, j), sorted by c_(i) − c_(j) (ties: larger i first, then smaller j), open item j for place i. At any time
    the n_i items open for place i are the n_i best, and n_1 ≤ n_2 ≤ …, so the lists that have just become possible
    with entry (i, j), j at place i, are Π_{i' ≠ i} (n_i' − i' + 1). `flip`: exponential noise in place of Gumbel.
    """
    reps, n = scores.shape
    order = best(scores, n)
    c = np.take_along_axis(scores, order, axis=1)
    loss = (c[:, :k, None] - c[:, None, :])[:, ::-1, :].reshape(reps, k * n)  # larger i first
    place, item = np.repeat(np.arange(k)[::-1], n), np.tile(np.arange(n), k)
    by_loss = np.argsort(loss, axis=1, kind="stable")
    i, j = place[by_loss], item[by_loss]
    free = j - i + 1.0  # n_i − i + 1 after this entry, n_i = j + 1 counted from one
    after, before = np.log(np.maximum(free, 1)), np.log(np.maximum(free - 1, 1))
    total = np.cumsum(after - before, axis=1)
    closed = k - np.cumsum(free == 1, axis=1)
    lists = np.where((closed == 0) & (free >= 1), total - after, -np.inf)
    utility = -np.maximum(np.take_along_axis(loss, by_loss, axis=1), 0) / scale
    entry = best_class(utility, lists, rng, flip)
    return np.asarray(np.take_along_axis(order, lists_of(entry, i, j, k, rng), axis=1))


def lists_of(entry: Integers, i: Integers, j: Integers, k: int, rng: np.random.Generator) -> Integers:
    """A uniform list of the class of each repetition: item j at place i, open items elsewhere."""
    reps, rows = len(entry), np.arange(len(entry))
    passed = np.arange(i.shape[1])[None, :] <= entry[:, None]
    fixed_place, fixed_item = i[rows, entry], j[rows, entry]
    n = int(j.max()) + 1
    used = np.zeros((reps, n), dtype=bool)
    used[rows, fixed_item] = True
    chosen = np.empty((reps, k), dtype=np.int64)
    for turn in range(k):
        opened = (passed & (i == turn)).sum(axis=1)
        usable = (np.arange(n)[None, :] < opened[:, None]) & ~used
        drawn = np.where(usable, rng.random((reps, n)), -1.0).argmax(axis=1)
        chosen[:, turn] = np.where(fixed_place == turn, fixed_item, drawn)
        used[rows, chosen[:, turn]] = True
    return chosen


def lipschitz(scores: Floats, k: int, scale: float, rng: np.random.Generator, flip: bool = True) -> Integers:
    """A canonical Lipschitz mechanism (after Shekelyan and Loukides 2022): a set S, scale (range of loss)/ε.

    loss(S) = max(0, max outside S − min inside S): times 1/R, how many units must change before S is the top k. Sets
    that hold the h best, not the next one, and whose last member is the t-th, all have loss c_(h+1) − c_(t), and there
    are C(t − h − 2, k − h − 1) of them. A set has no order: its members are listed as they are drawn, which is random.
    """
    reps, n = scores.shape
    order = best(scores, n)
    c = np.take_along_axis(scores, order, axis=1)
    h, t = (axis.ravel() for axis in np.meshgrid(np.arange(k), np.arange(k + 1, n + 1), indexing="ij"))
    log_sets = np.concatenate([[0.0], log_choose(t - h - 2, k - h - 1)])
    losses = np.concatenate([np.zeros((reps, 1)), c[:, h] - c[:, t - 1]], axis=1)
    drawn = best_class(-losses / scale, np.broadcast_to(log_sets, losses.shape), rng, flip)
    head, tail = np.concatenate([[k], h])[drawn], np.concatenate([[k], t])[drawn]
    index = np.arange(n)[None, :]
    key = rng.random((reps, n))
    key[index < head[:, None]] += 2
    key[(index == head[:, None]) | (index >= tail[:, None])] = -1
    key[index == tail[:, None] - 1] = 3
    return np.asarray(np.take_along_axis(order, best(key, k), axis=1))


def best_class(utility: Floats, log_size: Floats, rng: np.random.Generator, flip: bool) -> Integers:
    """Report noisy max over classes of equal utility: the noise of a class is the largest of as many draws as it has
    members; Gumbel + ln m, or for exponential noise −ln(1 − U^(1/m)) = −ln(1 − exp(−E/m)), E exponential."""
    if flip:
        log_e = np.log(rng.exponential(size=utility.shape)) - log_size
        noise = np.where(log_e < -30, -log_e, -np.log(-np.expm1(-np.exp(np.minimum(log_e, 700)))))
        noise = np.where(np.isneginf(log_size), -np.inf, noise)
    else:
        noise = rng.gumbel(size=utility.shape) + log_size
    return np.asarray((utility + noise).argmax(axis=1))


def log_choose(n: Integers, k: Integers) -> Floats:
    inside = (k >= 0) & (k <= n)
    top, low = np.where(inside, n, 0), np.where(inside, k, 0)
    return np.where(inside, gammaln(top + 1) - gammaln(low + 1) - gammaln(top - low + 1), -np.inf)


def joint_flip(scores: Floats, k: int, scale: float, rng: np.random.Generator) -> Integers:
    return joint(scores, k, scale, rng, flip=True)


def by_sum(scores: Floats, k: int, scale: float, rng: np.random.Generator) -> Integers:
    """A set S with weights exp(Σ_{i ∈ S} c_i/scale): conditional Poisson sampling; no order.

    The range of Σ_S is no more than ‖Δ‖₁: with a total weight L it is R itself, for every k.
    """
    reps, n = scores.shape
    weight = (scores - scores.max(axis=1, keepdims=True)) / scale
    ways = np.full((n + 1, reps, k + 1), -np.inf)  # ln of the elementary symmetric polynomials of items i, i + 1, …
    ways[n, :, 0] = 0
    for i in range(n - 1, -1, -1):
        ways[i] = ways[i + 1]
        ways[i, :, 1:] = np.logaddexp(ways[i + 1][:, 1:], weight[:, i, None] + ways[i + 1][:, :-1])
    left, rows = np.full(reps, k), np.arange(reps)
    taken = np.zeros((reps, n))
    for i in range(n):
        log_p = np.where(
            left > 0, weight[:, i] + ways[i + 1][rows, np.maximum(left - 1, 0)] - ways[i][rows, left], -np.inf
        )
        take = (np.log(rng.random(reps)) < log_p) & (left > 0)
        taken[take, i], left = 1, left - take
    return best(taken + rng.random((reps, n)) / 2, k)


PURE: dict[str, Selector] = {
    "pf": permute_and_flip, "em": gumbel, "joint": joint, "joint-pf": joint_flip, "clm": lipschitz, "sum": by_sum,
}  # fmt: skip


# ---- how good -------------------------------------------------------------------------------------------------------


def agreement(scores: Floats, chosen: Integers) -> tuple[Floats, Floats, Floats]:
    """Per repetition: share of the top k found, whether the set is right, whether the list is; equal scores alike."""
    k = chosen.shape[1]
    top = -np.sort(-scores, axis=1)[:, :k]
    got = np.take_along_axis(scores, chosen, axis=1)
    found = (got >= top[:, -1:]).mean(axis=1)
    return found, (found == 1).astype(np.float64), (got == top).all(axis=1).astype(np.float64)
