"""People and their votes in; private releases of samples of them, and whether their intervals hold, out.

Everybody's votes are known, so the truth is: what the same method says about all of them without noise. A release is
made as the library makes it, from arrays instead of files, and with pseudo-random noise of the public law.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Literal
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from quietrank.arrays import Floats, Integers
from quietrank.estimate.methods import Estimate, Expected, estimate, expected_of
from quietrank.estimate.noisy import NoisyTally
from quietrank.estimate.uncertainty import Uncertainty, _draws, _intervals, error_of, uncertainty
from quietrank.maths import ranks
from quietrank.maths.scores import Design as ScoresDesign
from quietrank.maths.scores import PublicDesign, RankOneDesign, UniformDesign, fit_scores
from quietrank.mechanisms.choose import choose
from quietrank.mechanisms.mechanism import Calibrated, Mechanism, Noised, PublicPairs
from quietrank.mechanisms.perturbed_mle.mechanism import PERTURBED_MLE, PerturbedMLE, ScoresLaw
from quietrank.mechanisms.registry import named
from quietrank.mechanisms.scatter import Around, Scatter, ScatterNoise, price, rest_of, scatter_noise
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design, Privacy, Unit
from quietrank.promise.promise import PERSON_GRID, Promise
from quietrank.publish.release import order
from quietrank.statistics.method import Method
from quietrank.statistics.scores import SCORES

OUTCOMES = {"a": 1.0, "b": 0.0, "tie": 0.5}
LEVEL = 0.9

Booleans = NDArray[np.bool_]


# ---- people ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Population:
    """Votes on n items, in the order of the people who cast them; people are numbers from 0 on."""

    n: int
    person: Integers
    a: Integers
    b: Integers
    y: Floats
    """1 where a wins, 0 where b wins, ½ for a tie"""

    @property
    def people(self) -> int:
        return int(self.person[-1]) + 1

    @cached_property
    def pair(self) -> Integers:
        """Which pair a vote is on, whichever way round."""
        return np.asarray(np.minimum(self.a, self.b) * self.n + np.maximum(self.a, self.b))

    def by_person(self, values: Floats) -> Floats:
        """The sum of one value per vote, for each person."""
        return np.asarray(np.bincount(self.person, weights=values, minlength=self.people), dtype=np.float64)

    def by_person_and_item(self, of_a: Floats, of_b: Floats) -> Floats:
        """The sums of one value for each side of a vote: a row for each person, a column for each item."""
        size = self.people * self.n
        sums = np.bincount(self.person * self.n + self.a, weights=of_a, minlength=size)
        sums += np.bincount(self.person * self.n + self.b, weights=of_b, minlength=size)
        return np.asarray(sums.reshape(self.people, self.n))

    def with_mirror_images(self) -> Population:
        """The same people, and as many more who answer the opposite: all items are exactly equal."""
        person = np.concatenate([self.person, self.person + self.people])
        return Population(self.n, person, np.tile(self.a, 2), np.tile(self.b, 2), np.concatenate([self.y, 1 - self.y]))


def respondents(path: Path, person: str) -> Population:
    """The people of a survey; `person` is the column that names them."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    people = {name: number for number, name in enumerate(dict.fromkeys(row[person] for row in rows))}
    items = {name: number for number, name in enumerate(sorted({row[side] for row in rows for side in SIDES}))}
    rows.sort(key=lambda row: people[row[person]])
    a, b = (np.array([items[row[side]] for row in rows]) for side in SIDES)
    y = np.array([OUTCOMES[row["outcome"]] for row in rows])
    return Population(len(items), np.array([people[row[person]] for row in rows]), a, b, y)


SIDES = ("item_a", "item_b")


def simulated(rng: np.random.Generator, theta: Floats, votes: Sequence[int], tastes: float = 0.0) -> Population:
    """One person for each number of votes, who compares random pairs; people's own scores have the spread `tastes`
    around the common ones."""
    n, person = len(theta), np.repeat(np.arange(len(votes)), votes)
    a = rng.integers(0, n, len(person))
    b = (a + rng.integers(1, n, len(person))) % n
    own = theta + tastes * rng.normal(size=(len(votes), n))
    wins = rng.random(len(person)) < 1 / (1 + np.exp(own[person, b] - own[person, a]))
    return Population(n, person, a, b, wins.astype(float))


# ---- one setting ----------------------------------------------------------------------------------------------------


class Known(StrEnum):
    """What the intervals are made from, to see what each is worth."""

    BOUGHT = "scatter bought"
    LIMIT = "free limit"
    """with one answer per pair"""
    NOTHING = "votes taken as independent"


@dataclass(frozen=True, eq=False)
class Setting:
    """A survey of m people, drawn with replacement, and how it is released."""

    population: Population
    m: int
    privacy: Privacy
    method: Method
    mechanism: str = "auto"
    gamma: float | Literal["auto"] = "auto"

    @cached_property
    def promise(self) -> Promise:
        return Promise(self.privacy, Items(tuple(f"item {k}" for k in range(self.population.n))))

    @cached_property
    def part(self) -> float:
        """What the scatter costs."""
        return price("auto", self.promise)

    @cached_property
    def noise(self) -> Calibrated:
        promise = self.promise
        if self.part:
            promise = promise.changed(epsilon=rest_of(self.privacy.epsilon, self.part))
        if self.mechanism == PERTURBED_MLE.name:
            return self._perturbed_mle.calibrate(promise, SCORES, self._votes if promise.votes_are_public else None)
        return choose(promise, self.method, self._mechanism).noise

    @property
    def _mechanism(self) -> Mechanism | None:
        return named(self.mechanism)

    @property
    def _perturbed_mle(self) -> PerturbedMLE:
        """With the comparisons per item that are to be expected, where they are not public."""
        expected = float(self.met.mean()) * self.m
        declared = None if self.privacy.unit is Unit.COMPARISON else expected
        return PERTURBED_MLE.with_options(None, declared, "tight", "logistic")

    @property
    def _votes(self) -> int:
        return round(self.m * len(self.population.person) / self.population.people)

    # ---- what people contribute --------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> Floats:
        """Of each vote, so that nobody contributes more than promised (docs/proofs, votes/bound.py)."""
        people, every = self.population, np.ones(len(self.population.person))
        if self.privacy.unit is Unit.COMPARISON:
            return every
        if self.noise.clip is not None:
            return np.minimum(1, self._clip / np.sqrt(np.maximum(self._squares(every), 1e-9)))[people.person]
        repeats = every
        if self.privacy.one_per_pair:
            _, place, count = np.unique(
                people.person * people.n**2 + people.pair, return_inverse=True, return_counts=True
            )
            repeats = count[place].astype(float)
        answers = people.by_person(1 / repeats)
        return np.asarray(np.minimum(1, self.promise.limits.weight / answers)[people.person] / repeats)

    @property
    def _clip(self) -> float:
        assert self.noise.clip is not None
        return float(self.noise.clip.norm)

    def _squares(self, weights: Floats) -> Floats:
        """What a clip bounds, for each person."""
        assert self.noise.clip is not None
        net_wins, met = self._sums(weights, 0.5)
        parts = {"net_wins": net_wins, "exposure": met, "wins": met / 2 + net_wins, "losses": met / 2 - net_wins}
        squares = (float(weight) * (parts[name] ** 2).sum(axis=1) for name, weight in self.noise.clip.squares)
        return np.asarray(sum(squares), dtype=np.float64)

    def _sums(self, weights: Floats, expected: Floats | float) -> tuple[Floats, Floats]:
        """Each person's wins beyond those expected, and comparisons, of each item."""
        beyond = weights * (self.population.y - expected)
        sums = self.population.by_person_and_item
        return sums(beyond, -beyond), sums(weights, weights)

    @cached_property
    def _contributions(self) -> tuple[Floats, Floats]:
        return self._sums(self.weights, 0.5)

    @property
    def net_wins(self) -> Floats:
        """x of each person (rows)."""
        return self._contributions[0]

    @property
    def met(self) -> Floats:
        """How often each person met each item."""
        return self._contributions[1]

    @cached_property
    def truth(self) -> Floats:
        """What the method says about the whole population, if it is asked for m people; no noise, hardly a ridge."""
        everybody = np.ones(self.population.people)
        s, d = everybody @ self.net_wins, everybody @ self.met
        if self.method is Method.NET_WINS:
            return s * (self.m / self.population.people)
        if self.method is Method.WIN_RATE:
            return 0.5 + s / (d.mean() if self.privacy.design is Design.UNIFORM else d)
        return fit_scores(s, self._design(everybody, d), gamma=1e-6 * float(d.mean()), noise_sd=0.0).theta

    def _design(self, times: Floats, d: Floats) -> ScoresDesign:
        if self.privacy.design is Design.PUBLIC or self.mechanism == PERTURBED_MLE.name:
            met = self._pairs(times)
            return PublicDesign(met.i, met.j, met.counts)
        return UniformDesign(float(d.sum()) / 2) if self.privacy.design is Design.UNIFORM else RankOneDesign(d)

    def _pairs(self, times: Floats) -> PublicPairs:
        """Who met whom, where each person is counted so many times."""
        n, people = self.population.n, self.population
        counts = np.bincount(people.pair, weights=times[people.person] * self.weights, minlength=n * n)
        (pairs,) = np.nonzero(counts)
        return PublicPairs(pairs // n, pairs % n, counts[pairs].astype(float))

    # ---- a release -------------------------------------------------------------------------------------------------

    def release(self, rng: np.random.Generator) -> tuple[NoisyTally, Estimate]:
        """A random sample, its noisy tally with its scatter, and what the method makes of it."""
        picked = rng.integers(0, self.population.people, self.m)
        return self.release_of(np.bincount(picked, minlength=self.population.people).astype(float), rng)

    def release_of(self, times: Floats, rng: np.random.Generator) -> tuple[NoisyTally, Estimate]:
        """The same for a sample that has each person so many times."""
        noisy = self._noisy(times, rng)
        if self.part:
            noisy = replace(noisy, scatter=self._scatter(noisy, times, rng))
        return noisy, estimate(noisy, self.method, self.gamma)

    def knowing(self, way: Known, noisy: NoisyTally) -> NoisyTally:
        """The same tally, knowing only this; and the number of votes, without which net wins have no intervals."""
        if way is Known.BOUGHT:
            return noisy
        votes = float(self.met.sum()) / 2 * self.m / self.population.people if noisy.total is None else None
        people = noisy.people if way is Known.LIMIT else None
        return replace(noisy, scatter=None, people=people, public_total=votes or noisy.public_total)

    def with_usual_gamma(self, rng: np.random.Generator, releases: int = 3) -> Setting:
        """The same with one ridge for all releases, the median of those that `auto` gives a few: most time is spent
        on choosing it."""
        if self.method is not Method.BRADLEY_TERRY or self.mechanism == PERTURBED_MLE.name:
            return self
        chosen = [self.release(rng)[1].gamma or 0.0 for _ in range(releases)]
        return replace(self, gamma=float(np.median(chosen)))

    def _noisy(self, times: Floats, rng: np.random.Generator) -> NoisyTally:
        s, d = times @ self.net_wins, times @ self.met
        public, scores = self.privacy.design is Design.PUBLIC, isinstance(self.noise.law, ScoresLaw)
        known = self.noise.promise.votes_are_public
        noised = Noised(
            values=self._scores(times, rng) if scores else self._counts(s, d, rng),
            public_exposure=d if public else None,
            public_total=float(d.sum() / 2) if known else None,
            public_pairs=self._pairs(times) if public else None,
            ledger_entry=None,
            people=self.m if self.noise.promise.people_are_public else None,
        )
        return NoisyTally.of(self.noise, noised, epsilon=self.privacy.epsilon)

    def _counts(self, s: Floats, d: Floats, rng: np.random.Generator) -> Integers:
        """The noisy statistic, in lattice steps."""
        first, *others = self.noise.statistic.parts(_Sums(s, d))
        votes = np.concatenate([first, *(np.atleast_1d(part) for part in others)])
        votes += self.noise.law.sample(rng, 1)[0]
        votes[len(first) :] *= float(self.noise.share)
        return np.rint(votes / float(self.noise.step)).astype(np.int64)

    def _scores(self, times: Floats, rng: np.random.Generator) -> Integers:
        """The perturbed minimiser, by the solver of the mechanism itself, and its seal."""
        assert isinstance(self.noise.law, ScoresLaw)
        plan, n = self.noise.law.plan, self.population.n
        inside = np.trunc(rng.laplace(0, plan.lambda_ / plan.grid, n)).astype(int).tolist()
        seal = np.rint(rng.laplace(0, plan.seal_scale, n)).astype(np.int64)
        return plan.minimised(self._pair_wins(times), inside) + seal

    def _pair_wins(self, times: Floats) -> _PairWins:
        n, people = self.population.n, self.population
        weights = np.rint(times[people.person] * self.weights * 2 * PERSON_GRID)
        met = np.bincount(people.pair, weights=weights, minlength=n * n)
        of_first = np.where(people.a < people.b, people.y, 1 - people.y)
        wins = np.bincount(people.pair, weights=np.rint(weights * of_first), minlength=n * n)
        (pairs,) = np.nonzero(met)
        wins_i, wins_j = wins[pairs].astype(np.int64), (met - wins)[pairs].astype(np.int64)
        return _PairWins(pairs // n, pairs % n, wins_i, wins_j)

    # ---- its scatter -----------------------------------------------------------------------------------------------

    @cached_property
    def scatter_noise(self) -> ScatterNoise:
        return scatter_noise(self.noise, self.privacy.epsilon, self.part)

    def _scatter(self, noisy: NoisyTally, times: Floats, rng: np.random.Generator) -> Scatter:
        expected, noise = expected_of(noisy, self.method), self.scatter_noise
        squares = np.minimum((self._residuals(expected) ** 2).sum(axis=1), float(noise.most))
        steps = times @ squares / noise.step + rng.laplace(0, noise.noise.scale)
        return noise.released(expected.around, round(steps))

    def _residuals(self, expected: Expected) -> Floats:
        """How far each person's net wins are from what is expected of them (votes/scatter.py)."""
        if expected.around is Around.VOTES:
            return np.asarray(self.net_wins - self.met.sum(axis=1, keepdims=True) / 2 * expected.values)
        if expected.around is Around.EXPOSURES:
            return np.asarray(self.net_wins - self.met * (expected.values - 0.5))
        if expected.around is Around.PAIRS:
            people, theta = self.population, expected.values
            return self._sums(self.weights, 1 / (1 + np.exp(theta[people.b] - theta[people.a])))[0]
        return self.net_wins


@dataclass(frozen=True, eq=False)
class _Sums:
    """Exact counts of each item, in votes."""

    net_wins: Floats
    exposure: Floats

    @property
    def wins(self) -> Floats:
        return self.exposure / 2 + self.net_wins

    @property
    def losses(self) -> Floats:
        return self.exposure / 2 - self.net_wins

    @property
    def total(self) -> float:
        return float(self.exposure.sum() / 2)


@dataclass(frozen=True, eq=False)
class _PairWins:
    i: Integers
    j: Integers
    wins_i: Integers
    wins_j: Integers
    step: Fraction = Fraction(1, 2 * PERSON_GRID)


# ---- do intervals hold? ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Coverage:
    """Whether each interval of each release (rows) holds the truth, from the item that is truly first to the last."""

    held: Booleans
    rank_width: float
    """the mean of rank_high − rank_low"""
    rank_held: float
    """how often the true rank is in its set"""
    factor: float
    """the median of φ"""

    @property
    def mean(self) -> float:
        return float(self.held.mean())

    @property
    def worst(self) -> float:
        """At the worst place of the true order."""
        return float(self.held.mean(axis=0).min())


def certainty(noisy: NoisyTally, scores: Estimate, *, simultaneous: bool = False, stepwise: bool = True) -> Uncertainty:
    """What a release says about its certainty, at the usual level; with stepwise=False as after the first step."""
    places = order(scores.scores, noisy.items.names)
    with mock.patch.object(ranks, "MOST_STEPS", ranks.MOST_STEPS if stepwise else 1):
        return uncertainty(noisy, scores, places, level=LEVEL, simultaneous=simultaneous)


def coverage(setting: Setting, repetitions: int, seed: int, ways: Sequence[Known] = (Known.BOUGHT,)) -> list[Coverage]:
    """Repeated releases, and for each way whether the intervals hold; all ways look at the same releases."""
    rng, truth = np.random.default_rng(seed), setting.truth
    releases = [setting.release(rng) for _ in range(repetitions)]
    return [
        _coverage([certainty(setting.knowing(way, noisy), scores) for noisy, scores in releases], truth) for way in ways
    ]


def _coverage(said: Sequence[Uncertainty], truth: Floats) -> Coverage:
    by_rank = np.argsort(-truth)
    rank = np.empty(len(truth), dtype=int)
    rank[by_rank] = np.arange(1, len(truth) + 1)
    held = np.array([(one.low <= truth) & (truth <= one.high) for one in said])[:, by_rank]
    widths = [float((one.rank_high - one.rank_low).mean()) for one in said]
    rank_held = [float(((one.rank_low <= rank) & (rank <= one.rank_high)).mean()) for one in said]
    factors = [one.factor for one in said if one.factor is not None]
    return Coverage(held, float(np.mean(widths)), float(np.mean(rank_held)), float(np.median(factors or [np.nan])))


def interval_coverage(
    setting: Setting, repetitions: int, seed: int, ways: Sequence[Known] = (Known.BOUGHT,)
) -> list[Coverage]:
    """The same for intervals alone, which take a fraction of the time."""
    rng, truth = np.random.default_rng(seed), setting.truth
    held: dict[Known, list[Booleans]] = {way: [] for way in ways}
    for _ in range(repetitions):
        noisy, scores = setting.release(rng)
        for way in ways:
            error = error_of(setting.knowing(way, noisy), scores, _draws(setting.population.n))
            low, high = _intervals(error, LEVEL, simultaneous=False)
            held[way].append((low <= truth) & (truth <= high))
    by_rank = np.argsort(-truth)
    return [Coverage(np.array(held[way])[:, by_rank], np.nan, np.nan, np.nan) for way in ways]


def false_separations(setting: Setting, repetitions: int, seed: int) -> tuple[float, float, float]:
    """Where all items are equal: how often a given item is told apart from another in one step, how often any item is
    by sets that hold together, and how many stepwise sets are wider than those of one step (never, one hopes)."""
    rng, n = np.random.default_rng(seed), setting.population.n
    one_item, any_item, wider = [], [], []
    for _ in range(repetitions):
        release = setting.release(rng)
        single, steps = (certainty(*release, stepwise=stepwise) for stepwise in (False, True))
        together = certainty(*release, simultaneous=True, stepwise=False)
        one_item.append(_separated(single, n).mean())
        any_item.append(_separated(together, n).any())
        wider.append(((steps.rank_low < single.rank_low) | (steps.rank_high > single.rank_high)).any())
    return float(np.mean(one_item)), float(np.mean(any_item)), float(np.mean(wider))


def _separated(said: Uncertainty, n: int) -> Booleans:
    return np.asarray((said.rank_low > 1) | (said.rank_high < n))
