"""A promise and a method in, the mechanism with the least expected error out; from public values alone.

Candidates are the mechanisms that fit the promise: Laplace noise (where a person's total weight is bounded), the
zonotope with one answer per pair, the ball, Gaussian noise only where δ > 0 was given. They are compared by the
standard deviation of the noise on what items are ranked by, relative to the weight that clipping leaves of the votes of
people with one order in mind. A clip scales these down most, which no number of people makes good: where answers are
many per item it has to buy much less noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.errors import PrivacyError, option
from quietrank.maths.shares import RATE_VARIANCE
from quietrank.mechanisms.gaussian import FIXED_ORDER, GAUSSIAN, LEFT_BY_CLIPPING, typical_square
from quietrank.mechanisms.limit import BINS, ChosenLimit, LimitNoise
from quietrank.mechanisms.mechanism import Calibrated, Mechanism
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.mechanisms.selection import left_of
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.curve import curve_rho
from quietrank.promise.privacy import Design
from quietrank.promise.promise import Promise, RangeClip
from quietrank.statistics.method import Method, Ties, statistic_for
from quietrank.statistics.statistic import Statistic

NOISE_ALONE = 1.0
"""A bin below this many scales of its noise counts as empty: a dozen empty bins would add up to a crowd."""

OPINIONS = 0.04
"""The variance, between people, of an item's win rate: so the 15 votes of a person on six items vary together 1.7 times
as much as independent ones, about as on real questionnaires."""

AS_GOOD = 1.01
"""Predicted errors up to this factor are alike: where all people cast equally many votes, L hardly matters."""

IF_EMPTY = 1
"""L where no bin stands out: few people and much noise, of which L = 1 has the least"""


@dataclass(frozen=True)
class Choice:
    """The noise to use and, where there was a choice, the expected size of every candidate's noise."""

    noise: Calibrated
    alternatives: tuple[tuple[str, float], ...] = ()


def choose(
    promise: Promise,
    method: Method,
    mechanism: Mechanism | None = None,
    votes: int | None = None,
    ties: Ties = Ties.HALF,
) -> Choice:
    """The mechanism that was requested, or the best of those that keep the promise.

    `votes`, the number of votes, may be given only where all neighbours have the same number.
    """
    if mechanism is not None:
        return Choice(mechanism.calibrate(promise, released_by(mechanism, promise, method, ties), votes))
    noises = [
        each.calibrate(promise, released_by(each, promise, method, ties)) for each in candidates(promise, method, ties)
    ]
    if not noises:
        raise PrivacyError(NOTHING_FITS)
    noises.sort(key=expected_noise)
    return Choice(noises[0], tuple((noise.mechanism.name, expected_noise(noise)) for noise in noises))


NOTHING_FITS = f"no mechanism fits: give {option('max_per_person')}, or a {option('clip')}"


def candidates(promise: Promise, method: Method, ties: Ties = Ties.HALF) -> list[Mechanism]:
    """The mechanisms that fit the promise and can serve the method; for counts, those that are best left to rates only
    where nothing else fits."""
    of_counts, every = method in (Method.NET_WINS, Method.WINS), fitting(promise, method, ties)
    return [each for each in every if not (of_counts and each.for_rates)] or every


def fitting(promise: Promise, method: Method, ties: Ties = Ties.HALF) -> list[Mechanism]:
    """All mechanisms that fit the promise and can serve the method."""
    return [
        each
        for each in MECHANISMS.values()
        if each.automatic and each.refusal(promise, released_by(each, promise, method, ties)) is None
    ]


def best_for_order(promise: Promise, method: Method = Method.NET_WINS) -> Calibrated:
    """The least noise on counts of which only the order is wanted, and no intervals."""
    every = [choose(promise, method, each).noise for each in fitting(promise, method)]
    if not every:
        raise PrivacyError(NOTHING_FITS)
    return min(every, key=noise_on_order)


def released_by(mechanism: Mechanism, promise: Promise, method: Method, ties: Ties = Ties.HALF) -> Statistic:
    """What this mechanism releases for the method."""
    free = mechanism.total_is_free(promise)
    return statistic_for(method, promise, mechanism.statistics, free_total=free, ties=ties)


def expected_noise(noise: Calibrated) -> float:
    """The standard deviation of the noise on an item's count, relative to the weight that clipping leaves of the votes
    of people with one order in mind; more where all rates have a common factor that is noisy as well
    (`maths/shares.py`)."""
    sd, spread, factor = noise.noise_sd, noise.law.spread, 1.0
    if noise.privacy.design is Design.UNIFORM and spread.exposure > 0:
        factor = math.sqrt(1 + RATE_VARIANCE * (spread.exposure / sd) ** 2 / (2 * len(noise.promise.items)))
    return sd * factor / left_by_clipping(noise, FIXED_ORDER)


def noise_on_order(noise: Calibrated) -> float:
    """The same where only the order is wanted: relative to what clipping leaves of the votes of most people."""
    return expected_noise(noise) * left_by_clipping(noise, FIXED_ORDER) / left_by_clipping(noise)


def left_by_clipping(noise: Calibrated, rates: float = RATE_VARIANCE) -> float:
    """The part of their votes that people keep whose win rates vary like this; nobody knows where there is no L."""
    promise, clip = noise.promise, noise.clip
    if clip is None:
        return 1.0
    if isinstance(clip, RangeClip):
        return left_of(clip, promise)
    if promise.privacy.max_per_person is None:
        return LEFT_BY_CLIPPING
    items, votes = promise.items, promise.privacy.max_per_person
    typical = math.sqrt(typical_square(votes, len(items), clip.squares, items.shown, rates))
    return LEFT_BY_CLIPPING * min(1.0, float(clip.norm) / typical)


# ---- a limit for people ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limited:
    """The noise on the counts, for any limit; what it costs is known before the limit is."""

    promise: Promise
    """without its limit"""
    method: Method
    mechanism: Mechanism | None
    ties: Ties = Ties.HALF

    def at(self, limit: int) -> Choice:
        return choose(self.promise.changed(max_per_person=limit), self.method, self.mechanism, ties=self.ties)

    def error(self, limit: int, people: Floats) -> float:
        """The predicted error at this limit; infinite where the mechanism has no noise for it.

        Scores are compared by the noise on counts, which grows with the limit alike.
        """
        try:
            noise = self.at(limit).noise
        except PrivacyError:
            return math.inf
        if noise.statistic.by_pair:
            noise = choose(self.promise.changed(max_per_person=limit), Method.BRADLEY_TERRY).noise
        return predicted_error(noise, limit, people)

    @property
    def cost(self) -> Cost:
        """Of the counts, whatever the limit: σ is rounded up for each, so that ρ is no more than that of the curve."""
        cost, privacy = self.at(IF_EMPTY).noise.cost, self.promise.privacy
        if cost.delta == 0:
            return cost
        epsilon, delta = as_written(privacy.epsilon), as_written(privacy.delta)
        return replace(cost, delta=delta, rho=curve_rho(epsilon, delta))


def limited(promise: Promise, method: Method, mechanism: Mechanism | None, ties: Ties = Ties.HALF) -> Limited:
    """The same noise for every limit, because it is paid for before the limit is known: Gaussian noise where δ > 0
    allows it, and the best of those without δ elsewhere."""
    if mechanism is not None or promise.privacy.delta == 0:
        return Limited(promise, method, mechanism, ties)
    known = promise.changed(max_per_person=IF_EMPTY)
    if GAUSSIAN.refusal(known, released_by(GAUSSIAN, known, method, ties)) is None:
        return Limited(promise, method, GAUSSIAN, ties)
    return Limited(promise.pure, method, None, ties)


def chosen_limit(counts: Integers, noise: LimitNoise | None, options: Limited) -> ChosenLimit:
    """The L with the least predicted error of a win rate; the largest of those that are as good."""
    scale, epsilon = (0.0, 0.0) if noise is None else (noise.noise.scale, noise.epsilon)
    people = np.where(counts > NOISE_ALONE * scale, counts, 0).astype(np.float64)
    limits = limits_for(people, options.promise)
    errors = np.array([options.error(limit, people) for limit in limits])
    usable = people.any() and math.isfinite(errors.min())
    best = limits[int(np.flatnonzero(errors <= AS_GOOD * errors.min())[-1])] if usable else IF_EMPTY
    return ChosenLimit(best, tuple(int(count) for count in counts), scale, epsilon)


def limits_for(people: Floats, promise: Promise) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, … up to the last bin that has people, and to the number of pairs if each counts once."""
    last = int(np.flatnonzero(people).max(initial=0)) + 1
    limits = sorted({limit for k in range(last) for limit in (2**k, 3 * 2**k // 2)})
    most = promise.items.askable * promise.spread if promise.privacy.one_per_pair else limits[-1]
    return sorted({min(limit, most) for limit in limits})


def predicted_error(noise: Calibrated, limit: int, people: Floats) -> float:
    """The error of a typical win rate: of the sample and of the noise, over the weight that is left.

    Somebody with c votes keeps the part f of each, f = min(1, L/c), or what the clip leaves of a typical person. The
    weight of all votes is W = Σ f·c; the net wins of one of n items vary by Σ f²·(c/2 + c(c − 1)·4v/n)/n, v the
    variance of opinions, and d = 2W/n. For best–worst sets of M items: M² instead of 4, and d = MW/n.
    """
    n, shown, votes = len(noise.promise.items), noise.promise.items.shown, typical_votes()
    kept = np.minimum(1.0, limit / votes)
    if noise.clip is not None and noise.clip.squares:
        norms = np.sqrt([typical_square(c, n, noise.clip.squares, shown) for c in votes])
        kept = np.minimum(1.0, float(noise.clip.norm) / norms)
    sampling = float(people @ (kept**2 * votes * (0.5 + (votes - 1) * shown**2 * OPINIONS / n))) / n
    weight = float(people @ (kept * votes))
    return math.sqrt(sampling + noise.noise_sd**2) * n / (shown * weight) if weight > 0 else math.inf


def typical_votes() -> Floats:
    """Of people in each bin: the geometric middle of its whole numbers."""
    first = 2.0 ** np.arange(BINS)
    return np.asarray(np.sqrt(first * (2 * first - 1)))
