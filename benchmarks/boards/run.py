"""Nothing in; a year of a simulated arena, published every week or night, out: time per update, and errors against
single and separate releases, as a table and a figure.

100 models, of which 40 join during the year and are stronger the later they come, 200,000 judges whose numbers of votes
have a heavy tail, 2 million votes. Errors are mean absolute differences between the rank of a model on the board and
among all models by their true strength, for the models of the first day.
"""

from __future__ import annotations

import argparse
import csv
import math
import tempfile
import time
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import quietrank as qr
from quietrank.boards.board import Board
from quietrank.boards.history import Reading
from quietrank.estimate.methods import estimate
from quietrank.promise.curve import curve_epsilon, curve_mu
from quietrank.statistics.method import Method

HERE = Path(__file__).parent
START = date(2025, 1, 1)
MODELS, JOINING, JUDGES, VOTES, DAYS = 100, 40, 200_000, 2_000_000, 364
EPSILON, DELTA = 2.0, 1e-6
SPREAD = 1.0
"""of strengths, in log-odds"""
CLIPS, REPEATED = (0.5, 1.0, 1.5, 2.0, 3.0), 2
"""limits of separate releases, and how often each release is made"""


def arena(seed: int, votes: int = VOTES) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """The votes, the true strengths, and the day on which each model joins."""
    rng = np.random.default_rng(seed)
    joins = np.concatenate([np.zeros(MODELS - JOINING), np.sort(rng.integers(1, DAYS - 30, JOINING))]).astype(int)
    strength = rng.normal(0, SPREAD, MODELS) + joins / DAYS
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


def board_year(
    folder: Path, table: pa.Table, joins: np.ndarray, every: str, clip: float, *, new_only: bool = False,
    seldom: bool = False,
) -> tuple[Board, list[float]]:  # fmt: skip
    """The board of a year, updated as it would be: from a folder of all votes so far, or of the new ones; seconds per
    update. `seldom`: only before models join, and at the end, which publishes the same days."""
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
        part = folder / "votes" / f"part-{period:04d}.parquet"
        pq.write_table(table.slice(low, high - low), part)
        new = [names[k] for k in np.flatnonzero((joins >= begin) & (joins < end)) if names[k] not in board.items]
        if new:
            board.add_items(new)
        joining = ((joins >= end) & (joins < end + length)).any()
        if seldom and not joining and period + 1 < DAYS // length:
            continue
        began = time.perf_counter()
        board.update(
            str(part if new_only else folder / "votes"), until=START + timedelta(days=end - 1), day_column="day",
            id="id", person="judge", skip_invalid=True,
        )  # fmt: skip
        times.append(time.perf_counter() - began)
        if seldom or period % 30 == 0:
            print(f"  {every} {period + 1}: {times[-1]:.2f} s", flush=True)
    return board, times


def scores_of(board: Board, day: int) -> np.ndarray:
    return estimate(Reading(board.log, day).tally(), Method.BRADLEY_TERRY).scores


def single(table: pa.Table, until: int, epsilon: float, clip: float, names: list[str]) -> np.ndarray:
    """One release of all votes up to a day."""
    votes = qr.read_votes(up_to(table, until), names, person="judge", skip_invalid=True)
    privacy = qr.Privacy(epsilon, "person", delta=DELTA, clip=clip)
    tally = qr.noisy_tally(votes, privacy, mechanism="gaussian", method="bradley-terry", sampling_share=0)
    return estimate(tally, Method.BRADLEY_TERRY).scores


def exact(table: pa.Table, until: int, names: list[str]) -> np.ndarray:
    """The same without privacy, every vote in full."""
    votes = qr.read_votes(up_to(table, until), names, person="judge", skip_invalid=True)
    scores = {row["item"]: row["score"] for row in qr.fit(votes, ridge=0.1, cluster=False).rows()}
    return np.array([scores[name] for name in names])


def up_to(table: pa.Table, until: int) -> pa.Table:
    days = np.array(table["day"].to_numpy().astype("datetime64[D]") - np.datetime64(START), dtype=int)
    return table.slice(0, int(np.searchsorted(days, until)))


def errors_on(day: int, board: Board, table: pa.Table, strength: np.ndarray, clip: float) -> dict[str, Any]:
    """Of the board; of one release with all of ε; of one of as many separate releases as the board has days, which
    together keep the same promise, at the best of several limits; and without privacy."""
    period, horizon, first = day // board.terms.every.days, board.terms.horizon, MODELS - JOINING
    names = list(board.items[: board.log.listed(period)])
    each = curve_epsilon(curve_mu(EPSILON, DELTA) / math.sqrt(horizon), DELTA)
    of = partial(rank_error, strength=strength, first=first)
    separate = {c: float(np.mean([of(single(table, day, each, c, names)) for _ in range(REPEATED)])) for c in CLIPS}
    best = min(separate, key=lambda c: separate[c])
    return {
        "every": board.terms.every.value, "day": day, "models": len(names),
        "shown": Reading(board.log, period).ranks_are_shown, "board": of(scores_of(board, period)),
        "single": float(np.mean([of(single(table, day, EPSILON, clip, names)) for _ in range(REPEATED)])),
        "separate": separate[best], "separate_clip": best, "exact": of(exact(table, day, names)),
    }  # fmt: skip


def draw(path: Path) -> None:
    """The figure of the docs, from all results that there are."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.subplots()
    lines = {
        ("day", "separate"): ("364 separate releases, nightly", "C3", ":"),
        ("week", "separate"): ("52 separate releases, weekly", "C1", ":"),
        ("day", "board"): ("nightly board", "C0", "-"),
        ("week", "board"): ("weekly board", "C2", "-"),
        ("week", "single"): ("one single release on this day", "0.45", "--"),
        ("week", "exact"): ("without privacy", "0.45", "-"),
    }
    for (every, column), (label, colour, style) in lines.items():
        source = HERE / f"results-{every}.csv"
        if source.exists():
            with source.open(newline="") as stream:
                rows = [(int(row["day"]), float(row[column])) for row in csv.DictReader(stream)]
            axes.plot(*zip(*rows, strict=True), style, color=colour, label=label, marker="o", markersize=3)
    axes.set(xlabel="day", ylabel="mean rank error, models of the first day", yscale="log")
    axes.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", default="week", choices=("week", "day"))
    parser.add_argument("--clip", type=float, default=3.0)
    parser.add_argument("--votes", type=lambda text: int(float(text)), default=VOTES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--new-only", action="store_true", help="give each update only its new votes, and look at times"
    )
    parser.add_argument(
        "--seldom", action="store_true", help="publish the days in a few updates, and only look at errors"
    )
    arguments = parser.parse_args()
    table, strength, joins = arena(arguments.seed, arguments.votes)
    with tempfile.TemporaryDirectory() as temporary:
        board, times = board_year(
            Path(temporary),
            table,
            joins,
            arguments.every,
            arguments.clip,
            new_only=arguments.new_only,
            seldom=arguments.seldom,
        )
        size = sum(path.stat().st_size for path in Path(temporary).glob("arena.board*")) / 1e6
        thirds = [round(float(np.median(part)), 2) for part in np.array_split(times, 3)]
        print(f"seconds per update: median {np.median(times):.2f}, largest {max(times):.2f}, by thirds {thirds}")
        print(f"files of the board: {size:.0f} MB", flush=True)
        if not arguments.seldom:
            board.verify()
        if arguments.new_only:
            return
        rows: list[dict[str, Any]] = []
        for day in (14, 28, 56, 91, 182, 273, 364):
            rows.append(errors_on(day, board, table, strength, arguments.clip))
            print({name: round(v, 3) if isinstance(v, float) else v for name, v in rows[-1].items()}, flush=True)
    with (HERE / f"results-{arguments.every}.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows({name: round(v, 4) if isinstance(v, float) else v for name, v in row.items()} for row in rows)
    draw(HERE.parent.parent / "docs" / "boards" / "year.png")


if __name__ == "__main__":
    main()
