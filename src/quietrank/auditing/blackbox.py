"""Scores of outputs under two neighbours in, a lower bound of ε that holds with a stated confidence out.

A mechanism that keeps (ε, δ)-DP has P(E) ≤ e^ε·P'(E) + δ for every event E. So ε ≥ log((P(E) − δ)/P'(E)), and
binomial confidence bounds on P and P' bound ε from below, whatever the mechanism is. The event is {score ≥ t}, where
the score is the likelihood ratio; t is chosen on one half of the runs, and the other half, which is independent of
that choice, gives the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from quietrank.arrays import Floats, Integers
from quietrank.auditing import losses
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.noise import lattice, normal

THRESHOLDS = 400
"""how many events are compared on the first half"""
TOLERANCE = 1e-9
"""scores this close count as equal: floating point blurs a loss that is constant on a half-space"""
BATCH = 200_000


@dataclass(frozen=True)
class Bound:
    """The best of both directions."""

    epsilon: float
    """the lower bound; 0 where nothing was learnt"""
    runs: int
    """per neighbour"""


def binomial_below(hits: int, runs: int, risk: float) -> float:
    """Clopper–Pearson: the probability is at least this, except with probability `risk`."""
    return 0.0 if hits == 0 else float(special.betaincinv(hits, runs - hits + 1, risk))


def binomial_above(hits: int, runs: int, risk: float) -> float:
    """Clopper–Pearson: the probability is at most this, except with probability `risk`."""
    return 1.0 if hits == runs else float(special.betaincinv(hits + 1, runs - hits, 1 - risk))


def lower_bound(one: Floats, other: Floats, *, delta: float, risk: float) -> Bound:
    """From the scores of outputs of `one` and of `other`; both directions together err with probability `risk`."""
    forth = _one_way(one, other, delta, risk / 2)
    back = _one_way(-other, -one, delta, risk / 2)
    return Bound(max(0.0, forth, back), len(one))


def _one_way(likely: Floats, unlikely: Floats, delta: float, risk: float) -> float:
    half, other_half = len(likely) // 2, len(unlikely) // 2
    threshold = _threshold(np.sort(likely[:half]), np.sort(unlikely[:other_half]), delta, risk)
    hits, misses = (int((scores >= threshold).sum()) for scores in (likely[half:], unlikely[other_half:]))
    return _bound(hits, len(likely) - half, misses, len(unlikely) - other_half, delta, risk)


def _bound(hits: int, runs: int, rare: int, rare_runs: int, delta: float, risk: float) -> float:
    """log((P − δ)/P') with P bounded from below and P' from above, at half the risk each."""
    likely = binomial_below(hits, runs, risk / 2) - delta
    return math.log(likely / binomial_above(rare, rare_runs, risk / 2)) if likely > 0 else 0.0


def _threshold(likely: Floats, unlikely: Floats, delta: float, risk: float) -> float:
    """The t whose event gives the best bound on these runs; both arrays are sorted."""
    both = np.concatenate([likely, unlikely])
    thresholds = np.unique(np.quantile(both, np.linspace(0, 1, THRESHOLDS))) - TOLERANCE
    hits = len(likely) - np.searchsorted(likely, thresholds)
    rare = len(unlikely) - np.searchsorted(unlikely, thresholds)
    bounds = [_bound(int(h), len(likely), int(r), len(unlikely), delta, risk) for h, r in zip(hits, rare, strict=True)]
    return float(thresholds[int(np.argmax(bounds))])


def draw(calibrated: Calibrated, values: Integers, runs: int) -> Integers:
    """`runs` outputs of the same noise that releases use, one per row.

    Where the noise of all entries is independent, a long vector is many runs at once.
    """
    if isinstance(calibrated.noise, lattice.LaplaceNoise | normal.RoundedGaussianNoise):
        return calibrated.noise.add_to(np.tile(values, runs)).reshape(runs, len(values))
    return np.array([calibrated.noise.add_to(values) for _ in range(runs)]).reshape(runs, -1)


def scores(calibrated: Calibrated, one: Integers, other: Integers, runs: int, *, of_one: bool) -> Floats:
    """The likelihood ratio at `runs` outputs of one side; with a row for each group, of all groups together."""
    parts = []
    for start in range(0, runs, BATCH):
        batch = np.zeros(min(BATCH, runs - start))
        for mine, theirs in zip(np.atleast_2d(one), np.atleast_2d(other), strict=True):
            outputs = draw(calibrated, mine if of_one else theirs, len(batch))
            batch += losses.losses(calibrated, mine, theirs, outputs)
        parts.append(batch)
    return np.concatenate(parts)


def attack(calibrated: Calibrated, one: Integers, other: Integers, runs: int, *, risk: float = 1e-3) -> Bound:
    """A lower bound of the ε of this noise on these two statistics, in lattice steps."""
    sides = [scores(calibrated, one, other, runs, of_one=of_one) for of_one in (True, False)]
    return lower_bound(sides[0], sides[1], delta=calibrated.privacy.delta, risk=risk)
