"""People with heavy tails of votes in; the error at the limit that `auto` chooses over that of the best limit out.

    .venv/bin/python -m benchmarks.limit.run [--samples 10]

For every limit the error of win rates is measured on releases (the library's own bounding, noise of the public law).
The best limit in hindsight is the one with the least error at the whole ε; `auto` has what the histogram leaves.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from quietrank.mechanisms.choose import chosen_limit, limited
from quietrank.mechanisms.limit import BINS, limit_noise
from quietrank.mechanisms.scatter import rest_of
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Promise
from quietrank.statistics.method import Method
from tests.people import Setting, simulated

HERE = Path(__file__).parent
ITEMS, EPSILONS, PEOPLE = 10, (0.5, 1.0, 4.0), (5000, 300)
LIMITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024)
TAILS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "Pareto 1.1": lambda rng, m: np.minimum(np.floor((1 - rng.random(m)) ** (-1 / 1.1)), 2000),
    "Pareto 1.6": lambda rng, m: np.minimum(np.floor(2 * (1 - rng.random(m)) ** (-1 / 1.6)), 2000),
    "log-normal": lambda rng, m: np.clip(np.rint(np.exp(rng.normal(1.5, 1.5, m))), 1, 2000),
    "3 or 100": lambda rng, m: np.where(rng.random(m) < 0.8, 3, 100),
}
"""how many votes people cast"""
TASTES = 1.0
"""the spread of people's own scores around the common ones"""
NOISES = 5
"""draws of the noise for each sample of people"""


def errors(
    votes: Any, theta: Any, truth: Any, promises: dict[int, Privacy], samples: int, seed: int
) -> dict[int, float]:
    """By limit: the root of the mean square of what win rates are off by, over samples of people and noise. All limits
    see the same people."""
    squares: dict[int, list[float]] = {limit: [] for limit in promises}
    for sample in range(samples):
        people = simulated(np.random.default_rng([seed, sample]), theta, votes.astype(int).tolist(), tastes=TASTES)
        for limit, privacy in promises.items():
            mechanism = "gaussian" if privacy.delta else "laplace"
            setting = Setting(people, len(votes), privacy, Method.WIN_RATE, mechanism)
            squares[limit] += released(setting, truth, np.random.default_rng([seed, sample, limit]))
    return {limit: float(np.sqrt(np.mean(one))) for limit, one in squares.items()}


def released(setting: Setting, truth: Any, rng: np.random.Generator) -> list[float]:
    everybody, squares = np.ones(setting.population.people), []
    for _ in range(NOISES):
        noisy = setting._noisy(everybody, rng)
        assert noisy.net_wins is not None
        exposure = 2 * max(noisy.total or 0.0, 1.0) / ITEMS
        squares.append(float(np.square(np.clip(0.5 + noisy.net_wins / exposure, 0, 1) - truth).mean()))
    return squares


def chosen(votes: Any, epsilon: float, delta: float, rng: np.random.Generator, times: int) -> list[int]:
    """What `auto` chooses, several times over."""
    privacy = Privacy(epsilon, "person", max_per_person="auto", delta=delta, design="uniform")
    promise = Promise(privacy, Items(tuple(f"item {k}" for k in range(ITEMS))))
    noise = limit_noise(promise)
    assert noise is not None
    options = limited(promise.changed(epsilon=rest_of(epsilon, noise.epsilon)), Method.WIN_RATE, None)
    exact = np.bincount(np.minimum(np.log2(votes).astype(int), BINS - 1), minlength=BINS)
    draws = np.rint(exact + rng.laplace(0, noise.noise.scale, (times, BINS))).astype(np.int64)
    return [chosen_limit(counts, noise, options).limit for counts in draws]


def promised(limit: int, epsilon: float, delta: float) -> Privacy:
    return Privacy(epsilon, "person", max_per_person=limit, delta=delta, design="uniform")


def measure(tail: str, people: int, epsilon: float, delta: float, samples: int) -> dict[str, Any]:
    seed = 100 * people + 10 * list(TAILS).index(tail) + int(epsilon)
    rng = np.random.default_rng(seed)
    theta = rng.normal(0, 0.6, ITEMS)
    many = simulated(rng, theta, [40] * 20_000, tastes=TASTES)
    truth = many.by_person_and_item(many.y, 1 - many.y).sum(axis=0) / np.bincount(np.r_[many.a, many.b])
    votes = TAILS[tail](rng, people)
    whole, left = (
        errors(votes, theta, truth, {L: promised(L, part * epsilon, delta) for L in LIMITS}, samples, seed)
        for part in (1.0, 0.95)
    )
    best = min(whole, key=whole.__getitem__)
    limits = chosen(votes, epsilon, delta, rng, 40)
    ratios = [left[min(LIMITS, key=lambda one, L=L: abs(np.log(one / L)))] / whole[best] for L in limits]  # type: ignore[misc]
    high = min(LIMITS, key=lambda one: abs(one - np.quantile(votes, 0.99)))
    return {
        "tail": tail, "people": people, "epsilon": epsilon, "delta": delta, "best limit": best,
        "chosen (median)": int(np.median(limits)), "ratio (median)": round(float(np.median(ratios)), 3),
        "ratio (95 %)": round(float(np.quantile(ratios, 0.95)), 3),
        "99th percentile instead": round(whole[high] / whole[best], 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10)
    options = parser.parse_args()
    rows = []
    for people in PEOPLE:
        for tail in TAILS:
            for delta in (0.0, 1e-6):
                for epsilon in EPSILONS:
                    rows.append(measure(tail, people, epsilon, delta, options.samples))
                    print(rows[-1], flush=True)
    with (HERE / "results.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for people in PEOPLE:
        ratios = [row["ratio (median)"] for row in rows if row["people"] == people]
        print(people, "people: median ratio", np.median(ratios), "largest", max(ratios))


if __name__ == "__main__":
    main()
