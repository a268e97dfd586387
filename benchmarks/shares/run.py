"""Surveys in; the errors of win rates, ranks and scores at the share that is chosen over those at the usual one out.

    .venv/bin/python -m benchmarks.shares.run [--samples 40] [--only total]

Everybody casts L votes on random pairs or sets. The number of people is such that, at the usual share, the noise on
win rates has a standard deviation of so many times the standard deviation of the win rates themselves: `noise`. At each
share the same people are clipped as its noise requires, get noise of its public law (the same random numbers), and are
ranked by the library's own estimators. A ratio below 1 is a gain; next to it, its standard error.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.estimate.methods import estimate
from quietrank.estimate.noisy import NoisyTally
from quietrank.maths.shares import rate_variance
from quietrank.mechanisms.mechanism import Calibrated, Noised
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design, Privacy, Unit
from quietrank.promise.promise import Promise
from quietrank.statistics.method import Method
from quietrank.statistics.net_wins import NET_WINS_AND_EXPOSURES, NET_WINS_AND_SHOWN, NET_WINS_AND_TOTAL
from quietrank.statistics.statistic import Statistic

HERE = Path(__file__).parent
ITEMS = (3, 4, 6, 10, 20, 50, 100, 300)
LEVELS = (0.5, 0.15)
"""of the noise: half of the differences between win rates, which leaves few of them, and about a seventh"""
SPREAD = 0.6
UNEQUAL = 0.5
"""the standard deviation of the logarithm of how often items are drawn, where that is not equal"""
NOISES = 4
"""draws of the noise for each sample of people"""
MOST_SCORED, SCORED = 20, 32
"""up to so many items Bradley–Terry scores are fitted as well, to the first draw of the noise of so many samples"""


@dataclass(frozen=True)
class Case:
    table: str
    mechanism: str
    statistic: Statistic
    n: int
    privacy: Privacy
    shown: int = 2
    unequal: float = 0.0
    noise: float = 0.5

    @property
    def promise(self) -> Promise:
        return Promise(self.privacy, Items(tuple(f"item {k}" for k in range(self.n)), shown=self.shown))

    def calibrated(self, share: Fraction | None = None) -> Calibrated:
        statistic = self.statistic if share is None else self.statistic.with_share(share)
        return MECHANISMS[self.mechanism].calibrate(self.promise, statistic)

    @property
    def usual(self) -> Fraction:
        return self.statistic.share(self.promise)

    @cached_property
    def people(self) -> int:
        noise_sd, votes = self.calibrated(self.usual).noise_sd, self.privacy.max_per_person or 1
        exposure = noise_sd / (self.noise * sqrt(rate_variance(self.shown)))
        return ceil(exposure * self.n / (self.shown * votes))


# ---- surveys --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class People:
    """A row for each person: net wins and exposures by item."""

    net_wins: Floats
    exposure: Floats


def asked(rng: np.random.Generator, popular: Floats, votes: int, shown: int) -> Integers:
    """A row of different items for each vote, the popular ones more often."""
    keys = rng.gumbel(size=(votes, len(popular))) + np.log(popular)
    return np.asarray(np.argpartition(-keys, shown - 1, axis=1)[:, :shown])


def answered(rng: np.random.Generator, sets: Integers, theta: Floats) -> tuple[Integers, Integers]:
    """Best and worst of each set: the best by the odds e^θ, the worst of the others by the odds e^−θ."""
    rows = np.arange(len(sets))
    best = np.argmax(theta[sets] + rng.gumbel(size=sets.shape), axis=1)
    keys = -theta[sets] + rng.gumbel(size=sets.shape)
    keys[rows, best] = -np.inf
    return sets[rows, best], sets[rows, np.argmax(keys, axis=1)]


def surveyed(rng: np.random.Generator, case: Case, theta: Floats, popular: Floats) -> People:
    each = case.privacy.max_per_person or 1
    person = np.repeat(np.arange(case.people), each)
    sets = asked(rng, popular, len(person), case.shown)
    best, worst = answered(rng, sets, theta)

    def by_item(of: Integers, who: Integers) -> Floats:
        size = case.people * case.n
        return np.asarray(np.bincount(who * case.n + of, minlength=size).reshape(case.people, case.n))

    met = by_item(sets.ravel(), np.repeat(person, case.shown))
    return People((by_item(best, person) - by_item(worst, person)) / 2, met)


def true_rates(rng: np.random.Generator, case: Case, theta: Floats, popular: Floats) -> Floats:
    """½ + s/d for very many votes; of pairs exactly: both are drawn by popularity p, the second without the first."""
    if case.shown == 2:
        p = popular / popular.sum()
        often = np.outer(p, p) * np.add.outer(1 / (1 - p), 1 / (1 - p))
        np.fill_diagonal(often, 0)
        wins = often / (1 + np.exp(theta - theta[:, None]))
        return np.asarray(wins.sum(axis=1) / often.sum(axis=1))
    net, met = np.zeros(case.n), np.zeros(case.n)
    for _ in range(max(8, case.n // 4)):
        sets = asked(rng, popular, 40_000 * 10 // max(10, case.n), case.shown)
        best, worst = answered(rng, sets, theta)
        net += (np.bincount(best, minlength=case.n) - np.bincount(worst, minlength=case.n)) / 2
        met += np.bincount(sets.ravel(), minlength=case.n)
    return np.asarray(0.5 + net / met)


# ---- releases -------------------------------------------------------------------------------------------------------


def exact(people: People, calibrated: Calibrated) -> Floats:
    """The statistic of clipped people, in votes and without its share."""
    weight, clip = np.ones(len(people.net_wins)), calibrated.clip
    if clip is not None:
        columns = {"net_wins": people.net_wins, "exposure": people.exposure}
        square = sum(float(part) * (columns[name] ** 2).sum(axis=1) for name, part in clip.squares)
        weight = np.minimum(1, float(clip.norm) / np.sqrt(np.maximum(square, 1e-12)))
    net, met = weight @ people.net_wins, weight @ people.exposure
    shown = calibrated.promise.items.shown
    return np.concatenate([net, [met.sum() / shown]] if calibrated.statistic.per_item == 1 else [net, met])


def releases(people: People, calibrated: Calibrated, rng: np.random.Generator) -> Iterator[NoisyTally]:
    counts, n = exact(people, calibrated), len(calibrated.promise.items)
    per_vote = np.full(len(counts), 1 / float(calibrated.step))
    per_vote[n:] *= float(calibrated.share)
    for noise in calibrated.law.sample(rng, NOISES):
        values = np.rint((counts + noise) * per_vote).astype(np.int64)
        yield NoisyTally.of(calibrated, Noised(values, None, None, None, None))


def errors(noisy: NoisyTally, truth: Floats) -> list[float]:
    """Squares of what rates are off by, and what ranks are off by; each on average."""
    made = estimate(noisy, Method.WIN_RATE)
    assert made.win_rate is not None
    ranks = np.abs(_ranks(made.scores) - _ranks(truth)).mean()
    return [float(np.square(made.win_rate - truth).mean()), float(ranks)]


def error_of_scores(noisy: NoisyTally, theta: Floats) -> float:
    """The mean of squares."""
    return float(np.square(estimate(noisy, Method.BRADLEY_TERRY).scores - theta + theta.mean()).mean())


def _ranks(scores: Floats) -> Integers:
    return np.asarray((-scores).argsort().argsort())


def measure(case: Case, shares: list[Fraction], samples: int) -> Floats:
    """For each share and sample the three errors; all shares see the same people and random numbers."""
    noises = [case.calibrated(share) for share in shares]
    result = np.empty((len(shares), samples, 3))
    for sample in range(samples):
        rng = np.random.default_rng([sample, case.n, case.shown])
        theta, popular = rng.normal(0, SPREAD, case.n), np.exp(rng.normal(0, case.unequal, case.n))
        truth, people = true_rates(rng, case, theta, popular), surveyed(rng, case, theta, popular)
        for k, noise in enumerate(noises):
            again = np.random.default_rng([sample, case.n, 1])
            made = list(releases(people, noise, again))
            scored = sample < SCORED and case.n <= MOST_SCORED and case.shown == 2
            result[k, sample, :2] = np.mean([errors(one, truth) for one in made], axis=0)
            result[k, sample, 2] = error_of_scores(made[0], theta) if scored else np.nan
    return result


def ratio(chosen: Floats, usual: Floats, root: bool) -> tuple[float, float]:
    """Of the mean errors, and its standard error by leaving out one sample at a time."""
    chosen, usual = chosen[~np.isnan(chosen)], usual[~np.isnan(usual)]
    if not chosen.size:
        return np.nan, np.nan
    power = 0.5 if root else 1.0
    left_out = ((chosen.sum() - chosen) / (usual.sum() - usual)) ** power
    error = sqrt((len(chosen) - 1) * np.var(left_out))
    return float((chosen.sum() / usual.sum()) ** power), error


def row(case: Case, samples: int) -> dict[str, Any]:
    """With more samples where items are few, whose errors vary more."""
    chosen = case.calibrated().share
    made = measure(case, [case.usual, chosen], ceil(samples * min(4, max(0.25, 20 / case.n))))
    known = {
        "table": case.table, "mechanism": case.mechanism, "design": case.privacy.design.value,
        "neighbours": case.privacy.neighbours.value, "unit": case.privacy.unit.value, "set size": case.shown,
        "items": case.n, "L": case.privacy.max_per_person or 1, "people": case.people, "unequal": case.unequal,
        "noise": case.noise, "usual": str(case.usual), "chosen": str(chosen),
        "noise on net wins": round(case.calibrated().noise_sd / case.calibrated(case.usual).noise_sd, 3),
    }  # fmt: skip
    for place, (name, root) in enumerate((("rates", True), ("ranks", False), ("scores", True))):
        value, error = ratio(made[1, :, place], made[0, :, place], root)
        known |= {name: round(value, 3), f"± {name}": round(error, 3)}
    return known


# ---- what is measured -----------------------------------------------------------------------------------------------


def totals() -> Iterator[Case]:
    for n in ITEMS:
        for noise in LEVELS:
            privacy = Privacy(1, "person", neighbours="add-remove", design="uniform", max_per_person=5)
            yield Case("total", "laplace", NET_WINS_AND_TOTAL, n, privacy, noise=noise)


def exposures(design: Design) -> Iterator[Case]:
    for n in ITEMS:
        for limit in (None, 3, 15, 100):
            unit = Unit.COMPARISON if limit is None else Unit.PERSON
            privacy = Privacy(1, unit, delta=1e-6, design=design, max_per_person=limit)
            for unequal, noise in product((0.0, UNEQUAL) if design is Design.PRIVATE else (0.0,), LEVELS):
                if n * (limit or 1) <= 1000 or noise == max(LEVELS):
                    name = f"exposures, {design}"
                    yield Case(name, "gaussian", NET_WINS_AND_EXPOSURES, n, privacy, unequal=unequal, noise=noise)


def sets() -> Iterator[Case]:
    for mechanism, delta in (("laplace", 0.0), ("gaussian", 1e-6)):
        for n in (5, 20):
            for shown in (3, 4, 8)[: 2 if n < 8 else 3]:
                for limit in (1, 10):
                    privacy = Privacy(1, "person", delta=delta, max_per_person=limit)
                    for unequal, noise in product((0.0, UNEQUAL), LEVELS):
                        yield Case("sets", mechanism, NET_WINS_AND_SHOWN, n, privacy, shown, unequal, noise)


TABLES: dict[str, Callable[[], Iterator[Case]]] = {
    "total": totals,
    "private": lambda: exposures(Design.PRIVATE),
    "uniform": lambda: exposures(Design.UNIFORM),
    "sets": sets,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--only", choices=TABLES, action="append")
    options = parser.parse_args()
    for table in options.only or TABLES:
        rows = []
        for case in TABLES[table]():
            if case.calibrated().share != case.usual:
                rows.append(row(case, options.samples))
                print(rows[-1], flush=True)
        with (HERE / f"{table}.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
