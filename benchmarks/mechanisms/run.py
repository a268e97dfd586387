"""Nothing in; the time to draw the noise of one release, by mechanism and number of items, out, as one table.

The peer is NumPy: the same number of floating-point Laplace draws, which no release may use.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.zonotope import ZONOTOPE
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.simulation import item_names
from quietrank.statistics.net_wins import NET_WINS
from quietrank.statistics.wins import WINS_AND_LOSSES
from tests.steps import calibrate, for_items

SMALL = (4, 6, 10, 20, 50, 100, 200)
LARGE = (1_000, 10_000, 100_000, 1_000_000)


def milliseconds(task: Callable[[], object], least: float) -> float:
    """Mean time of a task repeated for at least so many seconds, after one run to warm up."""
    task()
    runs, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < least:
        task()
        runs += 1
    return 1000 * elapsed / runs


def draw_time(n: int, mechanism: Mechanism, joint: bool, least: float) -> float:
    """Milliseconds for the noise of one release on n items."""
    items = Items(tuple(item_names(n)))
    small = n <= max(SMALL)
    privacy = Privacy(1.0, "person", delta=1e-6, one_per_pair=small, max_per_person=15)
    statistic = WINS_AND_LOSSES if joint else NET_WINS
    calibrated = calibrate(items, for_items(privacy, items), statistic, mechanism)
    values = np.zeros(n * (1 + joint), dtype=np.int64)
    return milliseconds(lambda: calibrated.noise.add_to(values), least)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.5, help="how long to repeat each draw")
    parser.add_argument("--most-items", type=int, default=max(LARGE))
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    print("| items | laplace, ms | zonotope, ms | zonotope with exposures, ms | gaussian, ms | numpy laplace, ms |")
    print("|---|---|---|---|---|---|")
    for n in (n for n in SMALL + LARGE if n <= arguments.most_items):
        times = [draw_time(n, LAPLACE, False, arguments.seconds)]
        for joint in (False, True):
            small = n <= (100 if joint else 200)
            times.append(draw_time(n, ZONOTOPE, joint, arguments.seconds) if small else np.nan)
        times.append(draw_time(n, GAUSSIAN, False, arguments.seconds))
        times.append(milliseconds(lambda n=n: rng.laplace(size=n), 0.1))
        print(f"| {n} | " + " | ".join("–" if np.isnan(t) else f"{t:.3g}" for t in times) + " |", flush=True)


if __name__ == "__main__":
    main()
