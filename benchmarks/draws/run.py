"""Nothing in; the time of exact Laplace and Gaussian draws as a ratio to OpenDP's, by number of values, out.

Both sides get an array of integers and return one with noise; runs are interleaved, and the best of each counts.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import opendp.prelude as dp

from quietrank.arrays import Integers
from quietrank.noise.exponential import discrete_laplace
from quietrank.noise.normal import RoundedGaussianNoise
from quietrank.noise.words import saturating_sum

SIZES = (10_000, 100_000, 1_000_000)
SCALES = {"0.3": 0.3, "1": 1.0, "7.5": 7.5, "60·2^21": 60 * 2.0**21, "2^50": 2.0**50}
TYPICAL = "60·2^21"

Draw = Callable[[Integers], Integers]


def laplace(scale: float) -> tuple[Draw, Draw]:
    """Ours and OpenDP's, of the same law."""
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    peer = dp.m.make_laplace(*space, scale=scale)
    return lambda values: saturating_sum(values, discrete_laplace(len(values), scale)), _on_arrays(peer)


def gaussian(scale: float) -> tuple[Draw, Draw]:
    """Ours, real-valued and rounded, and OpenDP's discrete Gaussian."""
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return RoundedGaussianNoise(scale).add_to, _on_arrays(dp.m.make_gaussian(*space, scale=scale))


def _on_arrays(peer: Callable[[list[int]], list[int]]) -> Draw:
    return lambda values: np.array(peer(values.tolist()), dtype=np.int64)


def best_times(draws: tuple[Draw, Draw], size: int, repeat: int) -> list[float]:
    """Seconds of each, interleaved."""
    values = np.zeros(size, dtype=np.int64)
    times: list[list[float]] = [[], []]
    for _ in range(repeat):
        for draw, taken in zip(draws, times, strict=True):
            start = time.perf_counter()
            draw(values)
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--most", type=int, default=max(SIZES), help="the largest number of values")
    arguments = parser.parse_args()
    dp.enable_features("contrib")
    print("| noise | scale, steps | values | ours, s | OpenDP, s | OpenDP / ours |")
    print("|---|---|---|---|---|---|")
    for name, kind in (("Laplace", laplace), ("Gaussian", gaussian)):
        for size in (size for size in SIZES if size <= arguments.most):
            for written, scale in SCALES.items():
                if written != TYPICAL and size != 100_000:
                    continue
                ours, theirs = best_times(kind(scale), size, arguments.repeat)
                print(
                    f"| {name} | {written} | {size:,} | {ours:.4f} | {theirs:.3f} | {theirs / ours:.0f} |", flush=True
                )


if __name__ == "__main__":
    main()
