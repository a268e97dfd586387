"""Engines that fail in the middle: a clear error or a correct tally, nothing debited, nothing left behind."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from quietrank.errors import VotesError
from quietrank.votes import check
from quietrank.votes.read import read_votes
from tests.helpers import NotedLedger
from tests.servers.postgres import PostgresServer
from tests.servers.spark import spark_cluster
from tests.steps import tally_votes

ITEMS = ["x", "y", "z"]
PERSON = qr.Privacy(1, "person", max_per_person=3)


@contextmanager
def _refused(message: str) -> Iterator[NotedLedger]:
    """A release that fails with this message, and pays nothing."""
    ledger = NotedLedger()
    with pytest.raises(VotesError, match=message) as refused:
        yield ledger
    assert ledger.charges == []
    assert "p@ss" not in str(refused.value)


# ---- PostgreSQL -----------------------------------------------------------------------------------------------------


@pytest.fixture
def votes_table(postgres: PostgresServer) -> Iterator[str]:
    """A table of 3,000 votes of one person."""
    with postgres.superuser() as connection:
        connection.execute("DROP TABLE IF EXISTS many; CREATE TABLE many (person text, winner text, loser text)")
        connection.execute("INSERT INTO many SELECT 'big', 'x', 'y' FROM generate_series(1, 3000)")
        connection.execute("GRANT SELECT ON many TO PUBLIC")
        yield "many"
        connection.execute("DROP TABLE many")


CUT = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'quietrank'"
"""every connection of ours, at once"""


def _drop_role(connection: Any, name: str) -> None:
    """What a session has in its temporary schema goes with it."""
    connection.execute(CUT)
    connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


@pytest.mark.engines
def test_a_role_that_may_only_read_is_enough(postgres: PostgresServer, votes_table: str) -> None:
    """SELECT on the table, and what every role has; afterwards there is no table of ours in any schema."""
    with postgres.superuser() as connection:
        connection.execute("CREATE ROLE reader LOGIN PASSWORD 'r'")
        url = f"postgres://reader:r@127.0.0.1:{postgres.port}/survey"
        votes = read_votes(connect=url, table=votes_table, items=ITEMS)
        assert tally_votes(votes, PERSON).total == 3000 * (3 * 2**20 // 3000) * 2
        left = connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'quietrank%'").fetchall()
        assert left == []
        _drop_role(connection, "reader")


@pytest.mark.engines
@pytest.mark.parametrize(
    ("taken", "message"),
    [
        ("REVOKE TEMPORARY ON DATABASE survey FROM PUBLIC", "GRANT TEMPORARY ON DATABASE"),
        ("REVOKE SELECT ON many FROM PUBLIC", "GRANT SELECT ON"),
        ("ALTER ROLE limited SET default_transaction_read_only = on", "read-only"),
    ],
    ids=["temporary", "select", "read-only"],
)
def test_a_right_that_is_missing_is_named(postgres: PostgresServer, votes_table: str, taken: str, message: str) -> None:
    """And nothing is paid."""
    with postgres.superuser() as connection:
        connection.execute("CREATE ROLE limited LOGIN PASSWORD 'l'")
        connection.execute(taken)
        try:
            url = f"postgres://limited:l@127.0.0.1:{postgres.port}/survey"
            with _refused(message) as ledger:
                qr.rank(read_votes(connect=url, table=votes_table, items=ITEMS), PERSON, ledger=ledger)
        finally:
            connection.execute("GRANT TEMPORARY ON DATABASE survey TO PUBLIC")
            _drop_role(connection, "limited")


@pytest.mark.engines
@pytest.mark.parametrize("moment", ["before", "after the snapshot"])
def test_a_cut_connection_is_an_error_and_pays_nothing(
    postgres: PostgresServer, votes_table: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut by the server, before the votes are read or while they are counted."""
    with postgres.superuser() as connection:
        votes = read_votes(connect=postgres.url, table=votes_table, items=ITEMS)
        honest = check.marked

        def cut(*words: Any) -> Any:
            connection.execute(CUT)
            return honest(*words)

        if moment == "before":
            connection.execute(CUT)
        else:
            monkeypatch.setattr(check, "marked", cut)
        with _refused("connection to the database was lost") as ledger:
            qr.rank(votes, PERSON, ledger=ledger)
        left = connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'quietrank%'").fetchall()
        assert left == []


@pytest.mark.engines
def test_a_table_that_changes_under_the_query_breaks_no_bound(postgres: PostgresServer, votes_table: str) -> None:
    """Somebody adds votes all the time: the weight comes from the rows that it is applied to, every time."""
    done = threading.Event()

    def write() -> None:
        with postgres.superuser() as connection:
            while not done.is_set():
                connection.execute("INSERT INTO many SELECT 'big', 'x', 'y' FROM generate_series(1, 20)")
                time.sleep(0.002)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            counted = tally_votes(read_votes(connect=postgres.url, table=votes_table, items=ITEMS), PERSON)
            assert counted.total <= 3 * 2**21
            assert counted.total > 2.5 * 2**21
    finally:
        done.set()
        writer.join()


# ---- DuckDB ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with 8 MB of space."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("this user cannot mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_temporary_folder_is_an_error_that_names_it(small_disk: Path, tmp_path: Path) -> None:
    """Nothing is paid, and the folder is empty again."""
    import gc

    import duckdb

    duckdb.execute(
        "COPY (SELECT 'somebody-with-a-long-name-' || (i % 700000) AS person, 'x' AS winner, 'y' AS loser "
        f"FROM range(3000000) t(i)) TO '{tmp_path}/votes.parquet' (FORMAT parquet)"
    )
    with _refused("temp_dir") as ledger:
        votes = read_votes(
            tmp_path / "votes.parquet", items=ITEMS, memory_limit="110MB", threads=2, temp_dir=small_disk
        )  # fmt: skip
        qr.rank(votes, PERSON, ledger=ledger)
    votes = None  # type: ignore[assignment]
    gc.collect()
    assert list(small_disk.iterdir()) == []


# ---- Spark ----------------------------------------------------------------------------------------------------------

DRIVER = """
import os, sys, time
from pathlib import Path
import quietrank as qr
from quietrank.errors import VotesError
from quietrank.votes import check
import ibis

folder, checkpoints = Path(sys.argv[1]), sys.argv[2] == "checkpoints"
if checkpoints:
    session.sparkContext.setCheckpointDir(f"file://{folder}/checkpoints")
charges = []
class Ledger:
    def debit(self, charge):
        charges.append(charge)
        return "1"
frame = session.range(0, 40000, 1, 8).selectExpr(
    "concat('p', id % 400) AS person", "if(id % 3 = 0, 'x', 'y') AS winner", "'z' AS loser")
frame.createOrReplaceTempView("votes")
honest = check.marked
def paused(*words):
    print("kept", flush=True)
    while not (folder / "go").exists():
        time.sleep(0.1)
    return honest(*words)
check.marked = paused
votes = qr.read_votes(ibis.pyspark.connect(session).table("votes"), items=["x", "y", "z"])
try:
    from tests.steps import tally_votes
    counted = tally_votes(votes, qr.Privacy(1, "person", max_per_person=10))
    print("counted", counted.wins.tolist(), counted.losses.tolist(), flush=True)
except VotesError as error:
    print("refused", str(error), flush=True)
left = [str(path) for path in (folder / "checkpoints").rglob("*") if path.is_file()] if checkpoints else []
print("left", left, len(charges), flush=True)
"""
SHARE = 10 * 2**20 // 100
"""of one vote of a person with 100 votes"""


@pytest.mark.engines
@pytest.mark.xdist_group("spark")
@pytest.mark.slow
@pytest.mark.parametrize("kept", ["memory", "checkpoints"])
def test_a_killed_worker_is_a_refusal_or_the_right_tally(kept: str, tmp_path: Path) -> None:
    """On a cluster of a master and two workers, one of which is killed after the votes were read: without a folder of
    checkpoints its part is lost, and never read again; with one, nothing is."""
    with spark_cluster(tmp_path) as cluster:
        driver = cluster.drive(DRIVER, str(tmp_path), kept)
        cluster.wait_for(driver, "kept")
        cluster.kill_worker()
        time.sleep(3)
        (tmp_path / "go").touch()
        printed = cluster.finish(driver, 400)
    x, y = 13334 * SHARE * 2, 26666 * SHARE * 2
    right = f"counted [{x}, {y}, 0] [0, 0, {x + y}]"
    assert "left [] 0" in printed
    if kept == "checkpoints":
        assert right in printed
    else:
        assert right in printed or "an executor was lost with a part of the votes" in printed, printed


@pytest.mark.engines
@pytest.mark.xdist_group("spark")
def test_spark_is_left_as_it_was(spark: Any, tmp_path: Path) -> None:
    """Its settings, its views and its cached data; ANSI mode is on for our queries, whatever the session says."""
    import ibis
    import pyarrow as pa
    import pyarrow.parquet

    table = qr.simulate(items=4, people=30, per_person=6)
    pa.parquet.write_table(table, tmp_path / "votes.parquet")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        before = {view.name for view in spark.catalog.listTables()}
        spark.read.parquet(str(tmp_path / "votes.parquet")).createOrReplaceTempView("given")
        votes = read_votes(ibis.pyspark.connect(spark).table("given"), items=[f"item-{k}" for k in range(1, 5)])
        theirs = tally_votes(votes, PERSON)
        ours = tally_votes(read_votes(table, items=votes.items.names), PERSON)
        assert theirs.wins.tolist() == ours.wins.tolist()
        assert spark.conf.get("spark.sql.ansi.enabled") == "false"
        kept = {view.name for view in spark.catalog.listTables() if not view.name.startswith("ibis_")}
        assert kept - before == {"given"}
        assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")
        spark.catalog.dropTempView("given")
