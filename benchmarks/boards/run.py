"""Nothing in; a year of a simulated arena, published every week or night, out: time per update, and errors against
single and separate releases, as a table and a figure.

100 models, of which 40 join during the year and are stronger the later they come, 200,000 judges whose numbers of votes
have a heavy tail, 2 million votes. Errors are mean absolute differences between the rank of a model on the board and
among all models by their true strength, for the models of the first day.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import quietrank as qr
from quietrank.boards.board import Board
from quietrank.boards.history import Reading
from quietrank.estimate.methods import estimate
from quietrank.statistics.method import Method

HERE = Path(__file__).parent
START = date(2025, 1, 1)
MODELS, JOINING, JUDGES, VOTES, DAYS = 100, 40, 200_000, 2_000_000, 364
EPSILON, DELTA = 2.0, 1e-6


def arena(seed: int, votes: int = VOTES) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """The votes, the true strengths, and the day on which each model joins."""
    rng = np.random.default_rng(seed)
    joins = np.concatenate([np.zeros(MODELS - JOINING), np.sort(rng.integers(1, DAYS - 30, JOINING))]).astype(int)
    strength = rng.normal(0, 0.6, MODELS) + joins / DAYS
    day = np.sort(rng.integers(0, DAYS, votes))
    activity = rng.pareto(1.2, JUDGES) + 0.2
    judge = rng.choice(JUDGES, votes, p=activity / activity.sum())
    listed = np.searchsorted(joins, day, side="right")  # models are in the order in which they join
    a, b = (rng.random((2, votes)) * listed).astype(int)
    b = np.where(a == b, (b + 1) % listed, b)
    won = rng.random(votes) < 1 / (1 + np.exp(strength[b] - strength[a]))
    names = np.array([f"model-{k:03d}" for k in range(MODELS)])
    table = pa.table(
        {
            "judge": judge, "winner": names[np.where(won, a, b)], "loser": names[np.where(won, b, a)],
            "day": pa.array([START + timedelta(days=int(k)) for k in day], pa.date32()), "id": np.arange(votes),
        }
    )  # fmt: skip
    return table, strength, joins


def rank_error(scores: np.ndarray, strength: np.ndarray, first: int) -> float:
    """Of the models of the first day, among all that are listed."""
    of_scores, of_strength = (np.argsort(np.argsort(-values)) for values in (scores, strength[: len(scores)]))
    return float(np.abs(of_scores - of_strength)[:first].mean())


def board_year(folder: Path, table: pa.Table, joins: np.ndarray, every: str, clip: float) -> tuple[Board, list[float]]:
    """The board of a year, updated as it would be, from files that grow; seconds per update."""
    length, names = (1 if every == "day" else 7), [f"model-{k:03d}" for k in range(MODELS)]
    qr.Ledger.create(folder / "budget.db", EPSILON, DELTA, data="arena", unit="person")
    board = Board.create(
        folder / "arena.board", names[: MODELS - JOINING], epsilon=EPSILON, delta=DELTA, ledger=folder / "budget.db",
        horizon=DAYS // length, every=every, clip=clip, start=START,
    )  # fmt: skip
    (folder / "votes").mkdir()
    days = np.array(table["day"].to_numpy().astype("datetime64[D]") - np.datetime64(START), dtype=int)
    times = []
    for period in range(DAYS // length):
        begin, end = period * length, (period + 1) * length
        low, high = np.searchsorted(days, [begin, end])
        pq.write_table(table.slice(low, high - low), folder / "votes" / f"part-{period:04d}.parquet")
        new = [names[k] for k in np.flatnonzero((joins >= begin) & (joins < end)) if names[k] not in board.items]
        if new:
            board.add_items(new)
        began = time.perf_counter()
        board.update(
            str(folder / "votes"), until=START + timedelta(days=end - 1), day_column="day", id="id", person="judge",
            skip_invalid=True,
        )  # fmt: skip
        times.append(time.perf_counter() - began)
        if period % 30 == 0:
            print(f"  {every} {period + 1}: {times[-1]:.2f} s", flush=True)
    return board, times


def scores_of(board: Board, day: int) -> np.ndarray:
    return estimate(Reading(board.log, day).tally(), Method.BRADLEY_TERRY).scores


def single(table: pa.Table, until: int, epsilon: float, clip: float, names: list[str]) -> np.ndarray:
    """One release of all votes up to a day."""
    days = np.array(table["day"].to_numpy().astype("datetime64[D]") - np.datetime64(START), dtype=int)
    part = table.slice(0, int(np.searchsorted(days, until)))
    votes = qr.read_votes(part, names, person="judge", skip_invalid=True)
    privacy = qr.Privacy(epsilon, "person", delta=DELTA, clip=clip)
    tally = qr.noisy_tally(votes, privacy, mechanism="gaussian", method="bradley-terry", sampling_share=0)
    return estimate(tally, Method.BRADLEY_TERRY).scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", default="week", choices=("week", "day"))
    parser.add_argument("--clip", type=float, default=3.0)
    parser.add_argument("--votes", type=lambda text: int(float(text)), default=VOTES)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    table, strength, joins = arena(arguments.seed, arguments.votes)
    names, first = [f"model-{k:03d}" for k in range(MODELS)], MODELS - JOINING
    with tempfile.TemporaryDirectory() as temporary:
        board, times = board_year(Path(temporary), table, joins, arguments.every, arguments.clip)
        length = board.terms.every.days
        rows: list[dict[str, Any]] = []
        for day in (28, 91, 182, 273, 364):
            listed = board.log.listed(day // length)
            shown = Reading(board.log, day // length).ranks_are_shown
            row = {"every": arguments.every, "day": day, "models": listed, "shown": shown}
            row["board"] = rank_error(scores_of(board, day // length), strength, first)
            row["single"] = rank_error(single(table, day, EPSILON, arguments.clip, names[:listed]), strength, first)
            row["exact"] = rank_error(single(table, day, 1e6, 1000.0, names[:listed]), strength, first)
            rows.append(row)
            print(
                {name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()},
                flush=True,
            )
        thirds = [float(np.median(part)) for part in np.array_split(times, 3)]
        print(f"seconds per update: median {np.median(times):.2f}, largest {max(times):.2f}, by thirds {thirds}")
        board.verify()
        with (HERE / f"results-{arguments.every}.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
