"""Nothing in; the time and memory for the scores of one million items, next to NumPy's time for sorting, out."""

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np

from quietrank.arrays import Floats
from quietrank.maths.field import all_pairs
from quietrank.maths.scores import Design, RankOneDesign, UniformDesign, fit_scores

VOTES_PER_ITEM = 100.0
NOISE_SCALE = 4.0  # Laplace(2/ε) at ε = 0.5


def seconds(task: Callable[[], object], repeat: int) -> float:
    """The best of several runs."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def noisy_net_wins(n: int, rng: np.random.Generator) -> Floats:
    """Expected net wins of the published strengths in a uniform design, with sampling and privacy noise."""
    strength = np.concatenate([np.ones(n // 4), rng.uniform(0.2, 0.7, n - n // 4)])
    pull = all_pairs(np.log(strength)).pull_and_slope(np.full(n, VOTES_PER_ITEM / n))[0]
    sampling = rng.normal(0, (VOTES_PER_ITEM / 4) ** 0.5, n)
    return np.asarray(pull + sampling + rng.laplace(0, NOISE_SCALE, n))


def report(name: str, s: Floats, design: Design, noise_sd: float, sort: float, repeat: int) -> None:
    """One line: seconds, the ratio to sorting, and the peak memory of the process so far."""
    fit = seconds(lambda: fit_scores(s, design, noise_sd=noise_sd), repeat)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name:9} {fit:6.2f} s = {fit / sort:5.0f} × sorting; peak memory {peak:.2f} GB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    n, rng = arguments.items, np.random.default_rng(1)
    numbers = rng.random(n)
    sort = seconds(lambda: np.sort(numbers), max(5, arguments.repeat))
    print(f"np.sort of {n} random floats: {1000 * sort:.1f} ms")
    s = noisy_net_wins(n, rng)
    uniform = UniformDesign(n * VOTES_PER_ITEM / 2)
    report("uniform", s, uniform, 2**0.5 * NOISE_SCALE, sort, arguments.repeat)
    report("lattice", np.round(2 * s) / 2, uniform, 2**0.5 * NOISE_SCALE, sort, arguments.repeat)
    exposure = rng.poisson(VOTES_PER_ITEM, n) + rng.laplace(0, 2 * NOISE_SCALE, n)
    report("rank-one", s, RankOneDesign(exposure), 2 * NOISE_SCALE, sort, arguments.repeat)


if __name__ == "__main__":
    main()
