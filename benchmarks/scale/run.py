"""Nothing in; time and memory of whole releases by number of votes, items and people, and by engine, out.

Votes are written to Parquet parts once (--folder keeps them). Each release is made in a process of its own, with two
threads and a limit of 4 GB, next to the bare scan-and-group query on the same engine and limits: how many votes each
person has, which any bounding of people needs. Results go to results.csv, where they replace those of the same case,
and figures to growth.png.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ORDER = ("engine", "bounding", "votes", "items", "people")
MEMORY, THREADS = "4GB", 2
PRIVACY: dict[str, dict[str, Any]] = {
    "comparison": {"unit": "comparison"},
    "person": {"unit": "person", "max_per_person": 20},
    "one-per-pair": {"unit": "person", "one_per_pair": True, "max_per_person": 20},
    "clipped": {"unit": "person", "max_per_person": 20, "delta": 1e-6, "clip": 3.0},
}
BARE = "SELECT count(*), sum(votes) FROM (SELECT judge, count(*) AS votes FROM {votes} GROUP BY judge) AS people"
BARE_ITEMS = "SELECT count(*), sum(votes) FROM (SELECT winner, count(*) AS votes FROM {votes} GROUP BY winner) AS items"


@dataclass(frozen=True)
class Case:
    votes: int
    items: int
    people: int
    bounding: str
    engine: str = "duckdb"

    @property
    def name(self) -> str:
        return f"v{self.votes}-i{self.items}-p{self.people}"


def cases(most: int, engines: list[str]) -> list[Case]:
    """By votes, with 20 of each person; by items and by people, at 10 million votes; by engine, at 10 million votes."""
    sizes = [n for n in (10**6, 10**7, 10**8) if n <= most]
    middle = min(10**7, most)
    by_votes = [Case(n, 10_000, n // 20, bounding) for bounding in PRIVACY for n in sizes]
    by_items = [Case(middle, n, middle // 20, "person") for n in (10**3, 10**5, 10**6)]
    by_people = [Case(middle, 10_000, n, "person") for n in (10**4, 10**5, 10**6, 10**7) if n <= middle]
    by_engine = [Case(middle, 10_000, middle // 20, "person", engine) for engine in engines]
    return list(dict.fromkeys([*by_votes, *by_items, *by_people, *by_engine]))


# ---- votes ----------------------------------------------------------------------------------------------------------


def written(case: Case, folder: Path) -> Path:
    """A folder of Parquet parts of ten million votes each: judge, winner, loser, drawn by a hash of the row number."""
    import duckdb

    target = folder / case.name
    if target.exists():
        return target
    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}; SET memory_limit = '3GB'; SET temp_directory = '{folder}'")
    making = folder / f"{case.name}.part"
    making.mkdir()
    size = min(case.votes, 10**7)
    for part in range(case.votes // size):
        connection.execute(f"""
            COPY (SELECT 'judge-' || lpad((hash(3 * i + 1) % {case.people})::VARCHAR, 8, '0') AS judge,
                         'model-' || lpad(x::VARCHAR, 7, '0') AS winner,
                         'model-' || lpad(((x + z) % {case.items})::VARCHAR, 7, '0') AS loser
                  FROM (SELECT i, (hash(5 * i + 2) % {case.items})::BIGINT AS x,
                               (1 + hash(7 * i + 5) % {case.items - 1})::BIGINT AS z
                        FROM range({part * size}, {(part + 1) * size}) t(i)))
            TO '{making}/part-{part}.parquet' (FORMAT parquet)""")
    making.rename(target)
    return target


def items_file(case: Case, folder: Path) -> Path:
    path = folder / f"items-{case.items}.txt"
    path.write_text("".join(f"model-{k:07d}\n" for k in range(case.items)))
    return path


# ---- one release, in a process of its own ---------------------------------------------------------------------------


def release(case: Case, folder: Path, url: str | None) -> dict[str, float]:
    """Seconds from the files to a release, of which so many until the votes were counted, and the peak memory."""
    import quietrank as qr
    from quietrank.votes.watch import watching

    steps: list[tuple[str, float]] = []
    start = time.perf_counter()
    names = items_file(case, folder).read_text().splitlines()
    where: dict[str, Any] = {"source": str(folder / case.name), "memory_limit": MEMORY, "threads": THREADS}
    if case.engine == "spark":
        where = {"source": str(folder / case.name), "engine": "spark"}
    elif case.engine == "postgres":
        where = {"connect": url, "table": "votes"}
    with watching(lambda doing, done: steps.append((doing, time.perf_counter()))):
        votes = qr.read_votes(items=names, winner="winner", loser="loser", person="judge", **where)
        made = qr.rank(votes, qr.Privacy(epsilon=1, **PRIVACY[case.bounding]))
    assert len(made) == case.items
    total = time.perf_counter() - start
    return {"seconds": total, "engine_seconds": steps[-1][1] - start, "memory": _peak()}


def bare(case: Case, folder: Path, url: str | None) -> dict[str, float]:
    """Seconds of the bare query on the same engine."""
    query = BARE_ITEMS if case.bounding == "comparison" else BARE
    files = f"'{folder / case.name}/*.parquet'"
    start = time.perf_counter()
    if case.engine == "spark":
        session = _spark()
        start = time.perf_counter()
        session.sql(query.format(votes=f"parquet.`{folder / case.name}`")).collect()
    elif case.engine == "postgres":
        import psycopg

        with psycopg.connect(str(url)) as connection:
            start = time.perf_counter()
            connection.execute(query.format(votes="votes")).fetchall()
    else:
        import duckdb

        engine = duckdb.connect()
        engine.execute(f"SET threads = {THREADS}; SET memory_limit = '3GB'; SET temp_directory = '{folder}/spill'")
        start = time.perf_counter()
        engine.execute(query.format(votes=files)).fetchall()
    return {"seconds": time.perf_counter() - start, "memory": _peak()}


def _spark() -> Any:
    from quietrank.votes.spark_files import connect_spark

    return connect_spark()._session


def _peak() -> float:
    """Of this process, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measured(what: str, case: Case, folder: Path, url: str | None) -> dict[str, float]:
    """The same in a new process."""
    words = [sys.executable, __file__, "--one", what, "--case", json.dumps(asdict(case)), "--folder", str(folder)]
    events = Path(tempfile.mkdtemp(dir=folder))
    environment = os.environ | {"SPARK_LOCAL_DIRS": str(folder), "PYSPARK_SUBMIT_ARGS": SPARK.format(events=events)}
    if url is not None:
        environment["QUIETRANK_BENCH_URL"] = url
    answer = subprocess.run(words, capture_output=True, text=True, env=environment)
    if answer.returncode:
        raise SystemExit(f"{case}: {answer.stderr[-2000:]}")
    if case.engine == "spark" and what == "release":
        print("Spark moved {} bytes in {} stages".format(*shuffled(events)), flush=True)
    return dict(json.loads(answer.stdout.strip().splitlines()[-1]))


SPARK = (
    f"--master local[{THREADS}] --driver-memory 4g --conf spark.ui.enabled=false "
    "--conf spark.sql.shuffle.partitions=16 --conf spark.eventLog.enabled=true --conf spark.eventLog.compress=false "
    "--conf spark.eventLog.rolling.enabled=false --conf spark.eventLog.dir=file://{events} pyspark-shell"
)
"""Spark's own settings, as a user would give them; its log of events says what was moved"""


def shuffled(events: Path) -> tuple[int, int]:
    """The bytes that Spark wrote to be moved between executors, and the number of stages that ran."""
    moved, stages = 0, set()
    for line in (line for path in events.iterdir() for line in path.read_text().splitlines()):
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd":
            stages.add(event["Stage ID"])
            moved += event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return moved, len(stages)


# ---- PostgreSQL -----------------------------------------------------------------------------------------------------


def filled(case: Case, folder: Path, url: str) -> None:
    """The votes in the table `votes`, copied there once by DuckDB and psycopg."""
    import duckdb
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS votes")
        cursor.execute("CREATE UNLOGGED TABLE votes (judge text, winner text, loser text)")
        path = folder / "votes.csv"
        duckdb.execute(f"COPY (SELECT * FROM '{folder / case.name}/*.parquet') TO '{path}' (HEADER false)")
        with cursor.copy("COPY votes FROM STDIN (FORMAT csv)") as copy, path.open("rb") as stream:
            while block := stream.read(2**20):
                copy.write(block)
        path.unlink()
        cursor.execute("ANALYZE votes")


# ---- results --------------------------------------------------------------------------------------------------------


def known() -> list[dict[str, Any]]:
    """What was measured before."""
    path, kinds = HERE / "results.csv", {"votes": int, "items": int, "people": int, "bounding": str, "engine": str}
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return [{name: kinds.get(name, float)(value) for name, value in row.items()} for row in csv.DictReader(stream)]


def exponent(rows: list[dict[str, Any]], bounding: str) -> float:
    """The slope of log time over log votes, from the second smallest number of votes on: fixed costs are not growth."""
    import numpy as np

    chosen = [
        r for r in rows if r["bounding"] == bounding and r["engine"] == "duckdb" and r["people"] * 20 == r["votes"]
    ]
    chosen = sorted((r for r in chosen if r["items"] == 10_000), key=lambda r: r["votes"])
    sizes, times = (np.log([float(r[name]) for r in chosen]) for name in ("votes", "seconds"))
    return float(np.polyfit(sizes[-2:], times[-2:], 1)[0]) if len(chosen) > 1 else float("nan")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    ours = [r for r in rows if r["engine"] == "duckdb"]
    for bounding in PRIVACY:
        line = [
            r for r in ours if r["bounding"] == bounding and r["items"] == 10_000 and r["people"] * 20 == r["votes"]
        ]
        line.sort(key=lambda r: r["votes"])
        axes[0].plot([r["votes"] for r in line], [r["seconds"] for r in line], "o-", label=bounding)
    middle = max((r["votes"] for r in ours if r["items"] != 10_000), default=0)
    for axis, name, others in ((axes[1], "items", "people"), (axes[2], "people", "items")):
        usual = {"people": middle // 20, "items": 10_000}[others]
        line = [r for r in ours if r["bounding"] == "person" and r["votes"] == middle and r[others] == usual]
        line.sort(key=lambda r: r[name])
        axis.plot([r[name] for r in line], [r["seconds"] for r in line], "o-", color="C1")
    for axis, name in zip(axes, ("votes", "items", "people"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel=name)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("seconds, from files to release")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where votes are written, and kept; without it a temporary one")
    parser.add_argument("--most", type=lambda text: int(float(text)), default=10**8, help="the largest number of votes")
    parser.add_argument("--postgres", help="the URL of a PostgreSQL database that may be written to")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--only", help="only this way of bounding, or only this engine")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        case, url = Case(**json.loads(arguments.case)), os.environ.get("QUIETRANK_BENCH_URL")
        print(json.dumps((release if arguments.one == "release" else bare)(case, arguments.folder, url)))
        return
    engines = ["postgres"] * bool(arguments.postgres) + ["spark"] * arguments.spark
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = known()
        for case in cases(arguments.most, engines):
            if arguments.only and arguments.only not in (case.bounding, case.engine):
                continue
            written(case, folder)
            if case.engine == "postgres":
                filled(case, folder, arguments.postgres)
            least, whole = (measured(what, case, folder, arguments.postgres) for what in ("bare", "release"))
            row = asdict(case) | {name: round(value, 2) for name, value in whole.items()}
            row |= {"bare_seconds": round(least["seconds"], 2), "ratio": round(whole["seconds"] / least["seconds"], 2)}
            rows = [other for other in rows if any(other[name] != row[name] for name in asdict(case))] + [row]
            print(row, flush=True)
            with (HERE / "results.csv").open("w", newline="") as stream:
                writer = csv.DictWriter(stream, list(row))
                writer.writeheader()
                writer.writerows(sorted(rows, key=lambda r: [r[name] for name in ORDER]))
    for bounding in PRIVACY:
        print(f"{bounding}: time grows as votes^{exponent(rows, bounding):.2f}")
    draw(rows, HERE / "growth.png")


if __name__ == "__main__":
    main()
