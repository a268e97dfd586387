"""Ten million votes in a Parquet file to a release, as a ratio to hand-written SQL with no checks.

Usage: .venv/bin/python -m benchmarks.ingest.run [--votes N] [--repeat R]
"""

from __future__ import annotations

import argparse
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

ITEMS, PEOPLE, LIMIT = 2_000, 200_000, 20
ALLOWED_RATIO, ALLOWED_SECONDS = 1.5, 0.3

SQL = {
    "comparison": """
        SELECT item, sum(wins), sum(losses) FROM (
            SELECT winner AS item, count(*) AS wins, 0 AS losses FROM '{file}' GROUP BY 1
            UNION ALL SELECT loser, 0, count(*) FROM '{file}' GROUP BY 1) GROUP BY 1""",
    "person": """
        WITH weights AS (SELECT person, least(1048576, {limit} * 1048576 // count(*)) AS weight
                         FROM '{file}' GROUP BY person),
             votes AS (SELECT winner, loser, weight FROM '{file}' JOIN weights USING (person))
        SELECT item, sum(wins), sum(losses) FROM (
            SELECT winner AS item, sum(weight) AS wins, 0 AS losses FROM votes GROUP BY 1
            UNION ALL SELECT loser, 0, sum(weight) FROM votes GROUP BY 1) GROUP BY 1""",
}
PRIVACY = {
    "comparison": Privacy(1.0, "comparison"),
    "person": Privacy(1.0, "person", max_per_person=LIMIT),
}


def write_votes(path: Path, votes: int) -> None:
    """Random votes with names as text, straight from DuckDB."""
    duckdb.connect().execute(f"""
        COPY (SELECT 'person-' || lpad(floor(random() * {PEOPLE})::INT::VARCHAR, 6, '0') AS person,
                     'item-' || lpad(i::VARCHAR, 4, '0') AS winner,
                     'item-' || lpad(((i + 1 + floor(random() * {ITEMS - 1})::INT) % {ITEMS})::VARCHAR, 4, '0') AS loser
              FROM (SELECT floor(random() * {ITEMS})::INT AS i FROM range({votes}))) TO '{path}' (FORMAT parquet)""")


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def check_same(path: Path, unit: str, items: list[str], by_hand: list[tuple[str, int, int]]) -> None:
    """Both sides count the same thing."""
    tally = tally_votes(qr.read_votes(path, items=items), PRIVACY[unit])
    expected = {item: (2 * wins, 2 * losses) for item, wins, losses in by_hand}
    assert expected == dict(zip(items, zip(tally.wins.tolist(), tally.losses.tolist(), strict=True), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    items = [f"item-{k:04d}" for k in range(ITEMS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.parquet"
        write_votes(path, options.votes)
        engine = duckdb.connect()
        print(
            f"{options.votes:,} votes, {ITEMS:,} items, {PEOPLE:,} people, {options.repeat} warm runs, median seconds"
        )
        for unit, sql in SQL.items():
            query = sql.format(file=path, limit=LIMIT)
            check_same(path, unit, items, engine.execute(query).fetchall())
            ours, theirs = [], []
            for _ in range(options.repeat):  # interleaved, so that a busy machine is unfair to neither
                theirs.append(seconds(lambda query=query: engine.execute(query).fetchall()))
                ours.append(seconds(lambda unit=unit: qr.rank(qr.read_votes(path, items=items), PRIVACY[unit])))
            hand, rank = statistics.median(theirs), statistics.median(ours)
            allowed = ALLOWED_RATIO * hand + ALLOWED_SECONDS
            verdict = "within" if rank <= allowed else "OVER"
            print(
                f"{unit:10}  SQL {hand:.2f}  qr.rank {rank:.2f}  ratio {rank / hand:.2f}  "
                f"allowed {allowed:.2f}: {verdict}"
            )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
