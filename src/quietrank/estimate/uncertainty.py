"""A `NoisyTally` and its `Estimate` in, an `Uncertainty` out: intervals, rank sets, tiers, the chance of being first.

All of it is post-processing of what was paid for: `errors.py` draws what the estimate may be off by, maths/ranks.py
says what follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.estimate.errors import MOST_DENSE, Error, Rates, net_wins, of_many, win_rates
from quietrank.estimate.methods import Estimate, design_of
from quietrank.estimate.noisy import NoisyTally
from quietrank.estimate.score_errors import released_scores, scores
from quietrank.estimate.set_errors import error_of_sets
from quietrank.estimate.sources import NoError, Sources
from quietrank.maths import ranks
from quietrank.maths.davidson import equal_chance
from quietrank.maths.scores import nu_for, ties_expected
from quietrank.statistics.method import Method

MANY_DRAWS, FEW_DRAWS, MANY_ITEMS = 4000, 1000, 50
"""Draws of the error; fewer for more items than these. The level is met to half a per cent, and to one."""

FEWEST_DRAWS = 250
"""for more items than have all their differences looked at"""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How sure a ranking is, in the order of the items."""

    low: Floats
    high: Floats
    rank_low: Integers
    rank_high: Integers
    tier: Integers
    first: Floats
    """the probability of being first"""
    top: Floats
    """the probability of being among the first few"""
    noise_sd: float
    factor: float | None
    notes: tuple[str, ...]
    ties: tuple[float, float] | None = None
    """the interval of the chance of a tie of equal items, where ties have a model"""


def uncertainty(
    noisy: NoisyTally,
    estimate: Estimate,
    order: list[int],
    *,
    level: float = 0.9,
    simultaneous: bool = False,
    anchor: int | None = None,
    top: int = 3,
    tell: ranks.Tell = lambda done: None,
) -> Uncertainty:
    """Everything that is said about the certainty of this order; raises NoError with the reason where it cannot be.

    `anchor` is the item that scores are given relative to.
    """
    error = _finite(error_of(noisy, estimate, _draws(len(noisy.items))))
    low, high = _intervals(error if anchor is None else error.relative_to(anchor), level, simultaneous)
    if len(noisy.items) <= MOST_DENSE:
        family = ranks.all_told_apart if simultaneous else ranks.told_apart
        apart = family(error.centre, error.draws, level, tell=tell)
        rank_sets, tier = ranks.rank_sets(error.centre, apart), ranks.tiers(order, apart)
    else:
        wide = _intervals(error, level, simultaneous=True)
        rank_sets, tier = ranks.rank_sets_of_intervals(*wide), ranks.tiers_of_intervals(order, *wide)
    first, among = ranks.chances(error.centre, error.draws, top)
    ties = None if error.of_ties is None else _chance_of_ties(noisy, estimate, error.of_ties, level)
    return Uncertainty(low, high, *rank_sets, tier, first, among, error.noise_sd, error.factor, error.notes, ties)


def _chance_of_ties(noisy: NoisyTally, estimate: Estimate, of_ties: Floats, level: float) -> tuple[float, float]:
    """An interval of the weight of all ties, carried over to ν, and from there to the chance of equal items."""
    theta, nu, design = estimate.scores, estimate.nu or 0.0, design_of(noisy)
    reach = float(ranks.critical_values(np.abs(of_ties)[:, None], level)[0])
    middle = ties_expected(theta, nu, design)
    low, high = (nu_for(theta, middle + sign * reach, design, nu) for sign in (-1, 1))
    return equal_chance(low), 1.0 if np.isinf(high) else equal_chance(high)


def error_of(noisy: NoisyTally, estimate: Estimate, draws: int) -> Error:
    """What the estimate is off by; raises NoError with the reason where that cannot be said."""
    sources = Sources(noisy, estimate, draws)
    if noisy.items.in_sets:
        return error_of_sets(sources)
    if len(noisy.items) > MOST_DENSE:
        return of_many(sources)
    if noisy.scores is not None:
        return released_scores(sources)
    of_method = {Method.NET_WINS: net_wins, Method.WIN_RATE: win_rates, Method.BRADLEY_TERRY: scores}
    if estimate.method not in of_method:
        raise NoError("Win counts carry no intervals; rank by net wins, win rates or scores for these.")
    return of_method[estimate.method](sources)


def _finite(error: Error) -> Error:
    """The error, unless it is beyond all numbers; a release that was paid for must not be lost for want of it."""
    if not (np.isfinite(error.centre).all() and np.isfinite(error.draws).all()):
        raise NoError("There are no intervals: the noise has moved the scores too far apart.")
    return error


def _draws(items: int) -> int:
    if items > MOST_DENSE:
        return FEWEST_DRAWS
    return MANY_DRAWS if items <= MANY_ITEMS else FEW_DRAWS


def _intervals(error: Error, level: float, simultaneous: bool) -> tuple[Floats, Floats]:
    spread = error.draws.std(axis=0)
    sizes = np.abs(error.draws) / np.where(spread > 0, spread, 1)
    if simultaneous:
        sizes = sizes.max(axis=1, keepdims=True)
    multiple = np.broadcast_to(ranks.critical_values(sizes, level), spread.shape)
    if error.rates is not None:
        low, high = _rate_intervals(error.rates, multiple)
        return error.rates.value(low), error.rates.value(high)
    return error.centre - multiple * spread, error.centre + multiple * spread


def _rate_intervals(rates: Rates, multiple: Floats) -> tuple[Floats, Floats]:
    """Fieller's: all u from −½ to ½ with (s − ud)² ≤ multiple²·Var(error of s − u·error of d)."""
    of_s, of_d = (of - of.mean(axis=0) for of in (rates.of_net_wins, rates.of_exposure))
    a, b, c = (
        value - multiple**2 * variance
        for value, variance in (
            (rates.exposure**2, (of_d**2).mean(axis=0)),
            (rates.net_wins * rates.exposure, (of_s * of_d).mean(axis=0)),
            (rates.net_wins**2, (of_s**2).mean(axis=0)),
        )
    )
    # The roots of au² − 2bu + c, in the form that does not cancel. With a > 0 the set lies between them; otherwise d is
    # lost in its noise, and the set is what lies outside of them, or everything.
    root = np.sqrt(np.maximum(b**2 - a * c, 0))
    larger = b + np.where(b >= 0, root, -root)
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = np.nan_to_num(np.stack([larger / a, c / larger]), posinf=np.inf, neginf=-np.inf)
    left, right = roots.min(axis=0), roots.max(axis=0)
    # A win rate is at most 1: an interval all beyond that, of the luckiest of many items, is moved to where it ends.
    width = np.where(a > 0, np.minimum(right - left, 1.0), 0.0)
    left, right = np.where(left > 0.5, 0.5 - width, left), np.where(right < -0.5, width - 0.5, right)
    left, right = np.clip(left, -0.5, 0.5), np.clip(right, -0.5, 0.5)
    everything = (a <= 0) & ((b**2 < a * c) | ((left > -0.5) & (right < 0.5)))
    low = np.where(a > 0, left, np.where(left > -0.5, -0.5, right))
    high = np.where(a > 0, right, np.where(left > -0.5, left, 0.5))
    return np.where(everything, -0.5, low), np.where(everything, 0.5, high)
