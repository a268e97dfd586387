"""Votes of simulated people in; times and coverage of 90 % intervals, ours and two peers', out.

    make peers
    build/peers/bin/python -m benchmarks.intervals.run [--tools "ours;evalica"] [--rounds 3] [--sets 40]

Every tool runs in a process of its own. Votes are made anew in each process, from the same seeds.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ITEMS, PEOPLE, PER_PERSON = 200, 2_000, 50
COMMON, OWN = 0.6, 1.0  # spread of the scores all people share, and of each person's own around them
LEVEL, ROUNDS_OF_BOOTSTRAP, EPSILON = 0.9, 100, 1.0
DESIGNS = {"any": ITEMS, "few": 10}  # of how many items, drawn at random, a person is asked
REPEAT, ENOUGH, LONG = 3, 3, 30  # calls in one process: at least so many and so many seconds, if it takes no longer
MEASURED = ("seconds", "cpu", "first call")
Interval = tuple[np.ndarray, np.ndarray]
Row = dict[str, Any]


@dataclass(frozen=True)
class Votes:
    """Places on the list of items, and of people, one entry per vote; what all items score on average over people."""

    person: np.ndarray
    winner: np.ndarray
    loser: np.ndarray
    truth: np.ndarray

    def named(self) -> dict[str, np.ndarray]:
        """The same with names, as a table of votes has them."""
        items, people = np.array(names()), np.array([f"person-{k}" for k in range(PEOPLE)])
        return {"person": people[self.person], "winner": items[self.winner], "loser": items[self.loser]}


def names() -> list[str]:
    return [f"item-{k:03}" for k in range(ITEMS)]  # in the order of the alphabet, which peers return


def votes(design: str, seed: int) -> Votes:
    """Each person has scores of their own, and votes on random pairs of the items they are asked about."""
    rng = np.random.default_rng([seed, len(design)])
    common = rng.normal(0, COMMON, ITEMS)
    scores = common + rng.normal(0, OWN, (PEOPLE, ITEMS))
    asked = rng.random((PEOPLE, ITEMS)).argsort(axis=1)[:, : DESIGNS[design]]
    first = rng.integers(0, DESIGNS[design], (PEOPLE, PER_PERSON))
    second = (first + rng.integers(1, DESIGNS[design], first.shape)) % DESIGNS[design]
    i, j = (np.take_along_axis(asked, side, axis=1) for side in (first, second))
    x = np.take_along_axis(scores, i, axis=1) - np.take_along_axis(scores, j, axis=1)
    won = rng.random(x.shape) < sigmoid(x)
    person = np.repeat(np.arange(PEOPLE), PER_PERSON)
    return Votes(person, np.where(won, i, j).ravel(), np.where(won, j, i).ravel(), limit(common))


def limit(common: np.ndarray) -> np.ndarray:
    """What Bradley–Terry scores tend to with ever more people: Σ_j F(θ_i − θ_j) = Σ_j P(i beats j) for every i.

    P averages over people, whose x = θ_i − θ_j varies with variance 2·OWN²: Gauss–Hermite; then Newton. None of it
    is the library's code.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    x = np.subtract.outer(common, common)
    wins = sum(w * sigmoid(x + np.sqrt(2) * OWN * z) for z, w in zip(nodes, weights / weights.sum(), strict=True))
    scores = np.zeros(len(common))
    for _ in range(30):
        p = sigmoid(np.subtract.outer(scores, scores))
        slope = p * (1 - p)
        step = np.linalg.solve(np.diag(slope.sum(axis=1)) - slope + 1, (wins - p).sum(axis=1))
        scores = scores + step
    assert np.abs(step).max() < 1e-12
    return np.asarray(scores - scores.mean())


def sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-x)))


# ---- the tools: what is not timed, then what is; centred log-odds out ------------------------------------------------

Timed = Callable[[], Interval]


def ours(data: Votes) -> Timed:
    """Scores, standard errors clustered by person, intervals, rank sets and tiers, from a table in memory."""
    fitted = _fitted(data)
    return lambda: _columns(fitted().rows())


def ours_intervals(data: Votes) -> Timed:
    """The same without rank sets and tiers, which no peer has."""
    return _intervals_of(_fitted(data))


def ours_unclustered(data: Votes) -> Timed:
    """The same for votes that are taken as independent."""
    return _intervals_of(_fitted(data, cluster=False))


def ours_private(data: Votes) -> Timed:
    """A private release, from a table in memory: counts, noise, scores, intervals, rank sets, tiers, probabilities."""
    import quietrank as qr

    read, privacy = _read(data), _privacy()
    return lambda: _columns(qr.rank(read(), privacy, method="bradley-terry", level=LEVEL).rows())


def ours_rerank(data: Votes) -> Timed:
    """The same from a noisy tally that was saved: everything that follows the noise."""
    import quietrank as qr

    tally = qr.noisy_tally(_read(data)(), _privacy(), method="bradley-terry")
    return lambda: _columns(qr.rerank(tally, method="bradley-terry", level=LEVEL).rows())


def _privacy() -> Any:
    import quietrank as qr

    return qr.Privacy(epsilon=EPSILON, unit="person", max_per_person=PER_PERSON)


def _read(data: Votes) -> Callable[[], Any]:
    import pyarrow as pa

    import quietrank as qr

    table, items = pa.table(data.named()), names()
    return lambda: qr.read_votes(table, items, person="person")


def _fitted(data: Votes, cluster: bool | None = None) -> Callable[[], Any]:
    import quietrank as qr

    read = _read(data)
    return lambda: qr.fit(read(), cluster=cluster, level=LEVEL)


def _intervals_of(fitted: Callable[[], Any]) -> Timed:
    from quietrank.estimate.fitted import intervals

    def timed() -> Interval:
        fit = fitted()
        return intervals(fit.scores, fit.standard_errors, LEVEL)

    return timed


def _columns(rows: list[Row]) -> Interval:
    """The intervals in the order of the items."""
    rows = sorted(rows, key=lambda row: str(row["item"]))
    low, high = (np.array([row[name] for row in rows]) for name in ("score_low", "score_high"))
    return low, high


def arena_rank(data: Votes) -> Timed:
    """Its sandwich, the default: every vote is independent. From a data frame, as its README does it."""
    return _arena_rank(data, "sandwich")


def _arena_rank(data: Votes, method: str) -> Timed:
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    columns = data.named()
    frame = pd.DataFrame({"model_a": columns["winner"], "model_b": columns["loser"], "winner": "model_a"})

    def timed() -> Interval:
        dataset = PairDataset.from_pandas(frame)
        model = BradleyTerry(n_competitors=len(dataset.competitors))
        result = model.compute_ratings_and_cis(dataset, significance_level=1 - LEVEL, ci_method=method)
        ratings, low, high = (np.asarray(result[name]) for name in ("ratings", "rating_lower", "rating_upper"))
        return (low - ratings.mean()) / model.alpha, (high - ratings.mean()) / model.alpha

    return timed


def evalica(data: Votes) -> Timed:
    """Its bootstrap of votes, from names."""
    columns = data.named()
    return _evalica(columns["winner"].astype(object), columns["loser"].astype(object))


def evalica_numbers(data: Votes) -> Timed:
    """The same from numbers of items, which spares it looking up names in every round."""
    return _evalica(data.winner, data.loser)


def _evalica(winner: np.ndarray, loser: np.ndarray) -> Timed:
    import evalica as peer

    outcomes = [peer.Winner.X] * len(winner)

    def timed() -> Interval:
        result = peer.bootstrap(
            peer.bradley_terry, winner, loser, outcomes, n_resamples=ROUNDS_OF_BOOTSTRAP, confidence_level=LEVEL,
            bootstrap_method="percentile", random_state=1,
        )  # fmt: skip
        rounds = np.log(result.distribution.sort_index(axis=1).to_numpy())
        low, high = np.quantile(rounds - rounds.mean(axis=1, keepdims=True), [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        return low, high

    return timed


TOOLS: dict[str, Callable[[Votes], Timed]] = {
    "ours": ours,
    "ours, intervals only": ours_intervals,
    "ours, unclustered": ours_unclustered,
    "ours, private": ours_private,
    "ours, rerank": ours_rerank,
    "arena-rank": arena_rank,
    "evalica": evalica,
    "evalica, numbers": evalica_numbers,
}
COVERAGE = ("ours, intervals only", "ours, unclustered", "ours, private", "arena-rank", "evalica, numbers")
"""the others compute the same intervals as one of these"""
QUICK = ("ours, intervals only", "ours, unclustered")


# ---- what a child process measures -----------------------------------------------------------------------------------


def timing(tool: str) -> Row:
    """The best of several calls on the same votes, and the first."""
    timed, seconds, cpu = TOOLS[tool](votes("any", 0)), [], []
    while (len(seconds) < REPEAT or sum(seconds) < ENOUGH) and sum(seconds) < LONG:
        start, used = time.perf_counter(), time.process_time()
        timed()
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return {"seconds": min(seconds), "cpu": min(cpu), "first call": seconds[0]}


def coverage(tool: str, design: str, sets: int) -> Row:
    """The share of items, over all sets of votes, whose true score is in the interval; and how wide intervals are."""
    inside, widths = [], []
    for seed in range(1, sets + 1):
        data = votes(design, seed)
        low, high = TOOLS[tool](data)()
        inside.append(np.mean((low <= data.truth) & (data.truth <= high)))
        widths.append(np.median(high - low))
    error = float(np.std(inside, ddof=1) / np.sqrt(sets))
    return {"coverage": float(np.mean(inside)), "error": error, "width": float(np.mean(widths)), "sets": sets}


def child(tool: str, *what: str) -> Row:
    """In a process of its own: timing, or coverage of a design over so many sets."""
    command = [sys.executable, __file__, "--child", tool, *what]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ).stdout
    return dict(json.loads(output.splitlines()[-1]))


# ---- the whole run ---------------------------------------------------------------------------------------------------


def timings(tools: list[str], rounds: int) -> dict[str, Row]:
    """All tools in turn, several times over, so that a busy moment of the machine hits none of them alone."""
    best: dict[str, Row] = {tool: dict.fromkeys(MEASURED, np.inf) for tool in tools}
    for _ in range(rounds):
        for tool in tools:
            again = child(tool, "timing")
            best[tool] = {key: min(best[tool][key], again[key]) for key in MEASURED}
    return best


def show(rows: Iterable[Row], out: Path) -> None:
    """Print the rows as they come, and write them all to a file."""
    shown: list[Row] = []
    for row in rows:
        if not shown:
            print("  ".join(f"{name:>20}" for name in row))
        shown.append({key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()})
        print("  ".join(f"{value:>20}" for value in shown[-1].values()), flush=True)
    with out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(shown[0]))
        writer.writeheader()
        writer.writerows(shown)


def times(tools: list[str], rounds: int) -> Iterator[Row]:
    """With ratios to both of ours: the whole, and intervals only, which is what peers compute."""
    measured = timings(tools, rounds)
    for tool, row in measured.items():
        ratios = {
            f"{key} / {base}": row[key] / measured[base][key]
            for base in ("ours", "ours, intervals only")
            if base in measured
            for key in ("seconds", "cpu")
        }
        yield {"tool": tool, **row, **ratios}


def coverages(tools: list[str], sets: int, slow_sets: int) -> Iterator[Row]:
    for design in DESIGNS:
        for tool in tools:
            if tool in COVERAGE:
                row = child(tool, design, str(sets if tool in QUICK else slow_sets))
                yield {"design": design, "tool": tool, **row}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default=";".join(TOOLS), help="separated by semicolons")
    parser.add_argument("--rounds", type=int, default=3, help="of timing; 0: none")
    parser.add_argument("--sets", type=int, default=40, help="of votes that coverage is averaged over; 0: none")
    parser.add_argument("--slow-sets", type=int, default=10, help="the same for peers and private releases")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=HERE)
    args = parser.parse_args()
    if args.child:
        warnings.simplefilter("ignore")
        tool, what, *sets = args.child
        print(json.dumps(timing(tool) if what == "timing" else coverage(tool, what, int(sets[0]))))
        return
    tools = args.tools.split(";")
    if args.sets:
        show(coverages(tools, args.sets, args.slow_sets), args.out / "coverage.csv")
    if args.rounds:
        show(times(tools, args.rounds), args.out / "times.csv")


if __name__ == "__main__":
    main()
