"""A wide file of 100,000 people and 190 pairs to a tally, as a ratio to DuckDB's own UNPIVOT and group-by.

Usage: .venv/bin/python -m benchmarks.wide.run [--people N] [--items N] [--repeat R]
"""

from __future__ import annotations

import argparse
import itertools
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

import quietrank as qr
from quietrank.promise.privacy import Privacy
from tests.steps import tally_votes

LIMIT = 50
ALLOWED_RATIO = 3.0
BY_HAND = "SELECT name, value, count(*) FROM (UNPIVOT (SELECT * EXCLUDE person FROM {scan}) ON COLUMNS(*)) GROUP BY ALL"


def write_votes(folder: Path, people: int, items: list[str]) -> tuple[Path, Path]:
    """Random answers 1, 2 and 0, a tenth of them empty: as Parquet with whole numbers, and as CSV."""
    cells = ", ".join(
        f'CAST([NULL, 0, 1, 1, 1, 1, 2, 2, 2, 2][1 + CAST(floor(random() * 10) AS INT)] AS TINYINT) AS "{a}:{b}"'
        for a, b in itertools.combinations(items, 2)
    )
    wide, text = folder / "wide.parquet", folder / "wide.csv"
    engine = duckdb.connect()
    person = "'person-' || lpad(CAST(i AS VARCHAR), 6, '0') AS person"
    engine.execute(f"COPY (SELECT {person}, {cells} FROM range({people}) t(i)) TO '{wide}' (FORMAT parquet)")
    engine.execute(f"COPY (SELECT * FROM '{wide}') TO '{text}' (HEADER)")
    return wide, text


def seconds(run: Callable[[], object]) -> tuple[float, float]:
    """By the clock, and of all processors: the second is fair on a busy machine."""
    start, used = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--items", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    items = [f"item-{k:02d}" for k in range(options.items)]
    privacy = Privacy(1.0, "person", max_per_person=LIMIT)
    print(f"{options.people:,} people, {len(items)} items, {options.repeat} warm runs, median seconds")
    with tempfile.TemporaryDirectory() as folder:
        for path in write_votes(Path(folder), options.people, items):
            compare(path, items, privacy, options.repeat)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def compare(path: Path, items: list[str], privacy: Privacy, repeat: int) -> None:
    engine = duckdb.connect()
    scan = f"'{path}'" if path.suffix == ".parquet" else f"read_csv('{path}', all_varchar=true)"
    query, times = BY_HAND.format(scan=scan), dict[str, list[tuple[float, float]]]()

    def read() -> qr.Votes:
        return qr.read_votes(path, items, outcomes="1/2/0")

    runs: dict[str, Callable[[], object]] = {
        "SQL": lambda: engine.execute(query).fetchall(),
        "tally": lambda: tally_votes(read(), privacy),
        "rank, nothing bought for intervals": lambda: qr.rank(read(), privacy, sampling_share=0),
        "rank": lambda: qr.rank(read(), privacy),
    }
    for _ in range(repeat):  # interleaved, so that a busy machine is unfair to neither
        for name, run in runs.items():
            times.setdefault(name, []).append(seconds(run))
    medians = {
        name: [statistics.median(column) for column in zip(*measured, strict=True)] for name, measured in times.items()
    }
    for name, (clock, processors) in medians.items():
        ratio, busy = clock / medians["SQL"][0], processors / medians["SQL"][1]
        verdict = "" if name != "tally" else ": within" if ratio <= ALLOWED_RATIO else ": OVER"
        print(
            f"{path.suffix[1:]:8}  {name:35}  {clock:6.2f}  ratio {ratio:5.2f}{verdict}; "
            f"processors {processors:6.2f}  ratio {busy:5.2f}"
        )


if __name__ == "__main__":
    main()
