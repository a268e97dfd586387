"""Counts and lists in, the exact probability of each list out, written down apart from what draws them.

Permute-and-flip looks at items in random order and accepts item i with probability a_i = exp(−(max − q_i)/scale).
Whoever stands at time t of the order, t uniform, has every other item before it with probability t, so

    P(i) = a_i · ∫ over t from 0 to 1 of Π over j ≠ i of (1 − t·a_j).

The exponential mechanism names item i with probability ∝ exp(q_i/scale). Both go on without the items named.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.noise.selection import TopNoise

MOST_LISTS = 5_000
"""beyond this many lists their exact probabilities are too many"""


def log_probabilities(noise: TopNoise, counts: Integers, lists: Integers) -> Floats:
    """The logarithm of the probability of each list (a row of places)."""
    known = all_lists(noise, tuple(int(count) for count in counts))
    return np.array([math.log(known[tuple(row)]) for row in lists.tolist()])


@lru_cache(maxsize=64)
def all_lists(noise: TopNoise, counts: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Every list, with its probability."""
    if math.perm(len(counts), noise.k) > MOST_LISTS:
        raise AssertionError("there are too many lists to audit")
    lists = itertools.permutations(range(len(counts)), noise.k)
    return {names: _probability(noise, counts, names) for names in lists}


def _probability(noise: TopNoise, counts: tuple[int, ...], names: tuple[int, ...]) -> float:
    left, probability = list(range(len(counts))), 1.0
    for name in names:
        round_of = gumbel if noise.gumbel else flip
        probability *= round_of(np.array([counts[item] for item in left]) / noise.scale)[left.index(name)]
        left.remove(name)
    return probability


def flip(scores: Floats) -> Floats:
    """One round of permute-and-flip, for scores in scales."""
    accepted = np.exp(scores - scores.max())
    return np.array([accepted[i] * _integral(np.delete(accepted, i)) for i in range(len(scores))])


def _integral(accepted: Floats) -> float:
    """∫ over (0, 1) of Π (1 − t·a)."""
    product = np.polynomial.Polynomial([1.0])
    for a in accepted:
        product = product * np.polynomial.Polynomial([1.0, -a])
    return float(product.integ()(1.0))


def gumbel(scores: Floats) -> Floats:
    """One round of the exponential mechanism, for scores in scales."""
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def exact_epsilon(noise: TopNoise, one: Integers, other: Integers, delta: float) -> float:
    """The smallest ε with Σ (P − e^ε·P')⁺ ≤ δ, over the lists of all groups together, in both directions."""
    sides = [_jointly(noise, rows) for rows in (one, other)]
    return max(_epsilon(sides[0], sides[1], delta), _epsilon(sides[1], sides[0], delta))


def _jointly(noise: TopNoise, rows: Integers) -> Floats:
    """The probabilities of all combinations of lists, one for each row of counts."""
    each = [np.array(list(all_lists(noise, tuple(map(int, row))).values())) for row in np.atleast_2d(rows)]
    joint = each[0]
    for more in each[1:]:
        joint = np.multiply.outer(joint, more).ravel()
    return joint


def _epsilon(likely: Floats, unlikely: Floats, delta: float) -> float:
    low, high = 0.0, float(np.log(likely / unlikely).max())
    if high <= 0:
        return 0.0
    for _ in range(60 if delta > 0 else 0):
        middle = (low + high) / 2
        spent = float(np.maximum(likely - math.exp(middle) * unlikely, 0).sum())
        low, high = (middle, high) if spent > delta else (low, middle)
    return high
