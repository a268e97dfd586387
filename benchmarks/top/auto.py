"""The library's own choice, judged: `auto` of `qr.plan_top` against the best candidate, on a grid of n, k, L and ε.

    .venv/bin/python -m benchmarks.top.auto [--runs 600] [--quick]

Every candidate sees the same simulated surveys. A setting counts as below where `auto` finds less of the exact votes'
first k than another candidate by more than two standard errors of the difference.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from math import hypot
from typing import Any

import quietrank as qr
from quietrank.planning.top import TopPrediction

DESIGNS: dict[str, dict[str, Any]] = {
    "single votes": {"unit": "comparison", "votes": 4000},
    "5 votes each": {"people": 500, "per_person": 5},
    "15 votes each": {"people": 500, "per_person": 15},
    "50 votes each": {"people": 300, "per_person": 50},
    "all pairs": {"people": 200, "one_per_pair": True},
}


def settings(quick: bool) -> Iterator[tuple[str, int, int]]:
    sizes = (6, 20) if quick else (6, 10, 20, 40)
    for name, n in itertools.product(DESIGNS, sizes):
        if name == "all pairs" and n > 20:
            continue  # a minute each
        yield from ((name, n, k) for k in sorted({1, 2, 3, n // 4, n // 2} - {0}))


def shortfall(one: TopPrediction, rivals: list[TopPrediction], measure: str) -> tuple[float, float]:
    """How far below the best rival, and in standard errors."""

    def of(prediction: TopPrediction, name: str) -> float:
        return float(getattr(prediction, name))

    best = max(rivals, key=lambda rival: of(rival, measure))
    gap = of(best, measure) - of(one, measure)
    error = hypot(of(best, f"{measure}_precision"), of(one, f"{measure}_precision"))
    return gap, gap / error


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=600)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    counted, below = 0, {"exact_found": 0, "as_exact": 0}
    worst = {"exact_found": (0.0, ""), "as_exact": (0.0, "")}
    for (name, n, k), delta in itertools.product(settings(arguments.quick), (0.0, 1e-6)):
        epsilons = [0.25, 0.5, 1.0, 2.0]
        plan = qr.plan_top(n, k, epsilon=epsilons, delta=delta, repetitions=arguments.runs, **DESIGNS[name])
        for epsilon in epsilons:
            rivals = [one for one in plan.predictions if one.epsilon == epsilon]
            (chosen,) = (one for one in rivals if one.chosen)
            counted += 1
            for measure in below:
                gap, errors = shortfall(chosen, rivals, measure)
                if errors > 2:
                    below[measure] += 1
                    where = f"{name}, {n} items, k = {k}, ε = {epsilon:g}, δ = {delta:g}: {chosen.mechanism}"
                    print(f"{measure} {gap:.3f} below, {errors:.1f} standard errors: {where}", flush=True)
                    worst[measure] = max(worst[measure], (gap, where))
    for measure, number in below.items():
        print(
            f"{measure}: below in {number} of {counted} settings; worst {worst[measure][0]:.3f} ({worst[measure][1]})"
        )


if __name__ == "__main__":
    main()
