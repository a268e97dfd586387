"""Published settings in, errors of five ways to private scores out, all at the same ε and the same promise.

n = 300 items, the k = 75 best to be found, each pair compared once with probability p, unit `comparison`,
`replace` (`outcome` for the public design). Every figure comes from the mechanisms as they are released, noise
from the operating system; only the votes are simulated from a seed.

Usage: .venv/bin/python -m benchmarks.accuracy.run [--repetitions R] [--seed S] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from rich.progress import track

from quietrank.arrays import Floats
from quietrank.estimate.methods import estimate
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Bounded
from quietrank.simulation import graph_votes, item_names, paper_strengths
from quietrank.statistics.method import Method
from quietrank.votes.tallies import PairTally
from tests.steps import add_noise, choose, perturbed_mle

N, K = 300, 75
DENSITIES, EPSILONS = (0.1, 0.25, 0.5, 1.0), (0.5, 1.0, 2.5)


def simulated_tally(theta: Floats, p: float, rng: np.random.Generator) -> PairTally:
    """One comparison graph, each pair at most once."""
    batches = list(graph_votes(theta, p, rng))
    winner = np.concatenate([batch.winner for batch in batches])
    loser = np.concatenate([batch.loser for batch in batches])
    i, j = np.minimum(winner, loser), np.maximum(winner, loser)
    wins_i = np.where(winner == i, 2, 0)  # in steps of half a vote
    votes = Bounded.by(Privacy(1.0, "comparison"), None)
    return PairTally(Items(tuple(item_names(N))), i, j, wins_i, 2 - wins_i, Fraction(1, 2), len(winner), votes)


def published(tally: PairTally, epsilon: float, p: float) -> Floats:
    """λ = 8/ε and γ = 2√(np log n), as published."""
    gamma = 2 * math.sqrt(N * p * math.log(N))
    privacy = Privacy(epsilon, "comparison")
    return perturbed_mle(tally, privacy, gamma=gamma, calibration="published").scores


def tight(tally: PairTally, epsilon: float, p: float) -> Floats:
    """Our calibration and our default γ."""
    return perturbed_mle(tally, Privacy(epsilon, "comparison")).scores


def from_tally(**promise: str) -> Callable[[PairTally, float, float], Floats]:
    """Bradley–Terry scores from the noisy tally under a design."""

    def scores(tally: PairTally, epsilon: float, p: float) -> Floats:
        privacy = Privacy(epsilon, "comparison", **promise)  # type: ignore[arg-type]
        noise = choose(tally.items, privacy, Method.BRADLEY_TERRY, LAPLACE).noise
        noisy = add_noise(tally, noise)
        return estimate(noisy, Method.BRADLEY_TERRY).scores

    return scores


METHODS: dict[str, Callable[[PairTally, float, float], Floats]] = {
    "perturbed MLE, published": published,
    "perturbed MLE, tight": tight,
    "scores, private design": from_tally(design="private"),
    "scores, uniform design": from_tally(design="uniform"),
    "scores, public design": from_tally(design="public", neighbours="outcome"),
}


def errors(scores: Floats, theta: Floats) -> tuple[float, float, float]:
    """Relative L2, relative L∞, and the share of the top k that is missed."""
    off = scores - theta
    top = set(np.argsort(-scores)[:K].tolist())
    return (
        float(np.linalg.norm(off) / np.linalg.norm(theta)),
        float(np.abs(off).max() / np.abs(theta).max()),
        1 - len(top & set(range(K))) / K,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    theta = paper_strengths(N, np.random.default_rng(options.seed))
    found: dict[tuple[float, float, str], list[tuple[float, float, float]]] = {}
    cells = [(p, r) for p in DENSITIES for r in range(options.repetitions)]
    for p, r in track(cells, description="simulating"):
        tally = simulated_tally(theta, p, np.random.default_rng((options.seed, int(1000 * p), r)))
        for epsilon in EPSILONS:
            for name, method in METHODS.items():
                found.setdefault((p, epsilon, name), []).append(errors(method(tally, epsilon, p), theta))
    text = report(found)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")
    sys.exit(0 if promises(found) else 1)


def report(found: dict[tuple[float, float, str], list[tuple[float, float, float]]]) -> str:
    """A table of means: L2 / L∞ / top-k."""
    lines = ["| p | ε | " + " | ".join(METHODS) + " |", "|---|---|" + "---|" * len(METHODS)]
    for p in DENSITIES:
        for epsilon in EPSILONS:
            means = [np.mean(found[p, epsilon, name], axis=0) for name in METHODS]
            cells = " | ".join(" / ".join(f"{value:.2f}" for value in mean) for mean in means)
            lines.append(f"| {p:g} | {epsilon:g} | {cells} |")
    return "\n".join(lines)


def promises(found: dict[tuple[float, float, str], list[tuple[float, float, float]]]) -> bool:
    """At p = 0.5 and ε = 0.5: uniform scores ≤ 0.6 (L2) and ≤ 0.5 (top-k) of published, tight in between."""
    l2, _, missed = np.transpose([np.mean(found[0.5, 0.5, name], axis=0) for name in METHODS])
    names = list(METHODS)
    first, middle, ours = (names.index(f"{name}") for name in (*names[:2], "scores, uniform design"))
    print(f"\nat p = 0.5, ε = 0.5, uniform against published: L2 {l2[ours] / l2[first]:.2f} (at most 0.6), ", end="")
    print(f"top-k {missed[ours] / missed[first]:.2f} (at most 0.5); tight: L2 {l2[middle] / l2[first]:.2f}, ", end="")
    print(f"top-k {missed[middle] / missed[first]:.2f}")
    between = l2[ours] <= l2[middle] <= l2[first] and missed[ours] <= missed[middle] <= missed[first]
    return bool(l2[ours] <= 0.6 * l2[first] and missed[ours] <= 0.5 * missed[first] and between)


if __name__ == "__main__":
    main()
