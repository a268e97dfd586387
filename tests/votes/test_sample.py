"""The sample of people: the same people on every engine, whatever the type of their ids; and an engine that is lost."""

from __future__ import annotations

import datetime
import hashlib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.estimate.methods import Expected
from quietrank.mechanisms.scatter import MOST_BITS, Around
from quietrank.promise.items import Items
from quietrank.promise.promise import Bounded, Promise
from quietrank.votes import tally
from quietrank.votes.read import Votes
from quietrank.votes.sample import in_sample, lot, sampled
from quietrank.votes.scatter import scatter_sums
from quietrank.votes.tally import counting
from tests.helpers import COLUMNS, ITEMS, Vote, columns_of
from tests.servers.postgres import AS_SUPERUSER, postgres_server

IDS = [f"{word}{k}" for k in range(40) for word in ("Ann", "ann", "é", "e\u0301", "'", "🐘 ", "")]
NUMBERS = list(range(-5, 200))
UUIDS = [uuid.UUID(int=k * 0x1234567890ABCDEF1234567890ABCDEF % 2**128) for k in range(200)]
DATES = [datetime.date(1999, 12, 1) + datetime.timedelta(days=k) for k in range(200)]
PROMISES = [qr.Privacy(1, "person", max_per_person=2), qr.Privacy(1, "person", one_per_pair=True, max_per_person=3)]


def _votes() -> list[Vote]:
    rng = np.random.default_rng(5)
    said = ["a", "a", "b", "tie"]
    return [(person, *rng.permutation(ITEMS)[:2].tolist(), str(rng.choice(said))) for person in IDS for _ in range(3)]


VOTES = _votes()


def _expected(ids: list[Any], bits: int) -> set[str]:
    """By Python's own MD5, of the text."""
    return {str(one) for one in ids if int(hashlib.md5(str(one).encode()).hexdigest(), 16) < 2 ** (128 - bits)}


@pytest.mark.parametrize("ids", [IDS, NUMBERS, UUIDS, DATES], ids=["text", "numbers", "uuids", "dates"])
@pytest.mark.few(3)
def test_ids_of_every_type_are_hashed_as_text(ids: list[Any]) -> None:
    """7 is "7", as it is in an engine or a file that has nothing but text."""
    import ibis

    kinds = {str: "string", int: "int64", uuid.UUID: "uuid", datetime.date: "date"}
    connection = ibis.duckdb.connect()
    connection.create_table("written", pa.table({"written": [str(one) for one in ids]}))
    table = connection.table("written")
    people = table.select(person=table.written.cast(kinds[type(ids[0])]), written=table.written)
    for bits in range(1, 7):
        chosen = people.filter(in_sample(people.person, bits)).to_pyarrow()["written"].to_pylist()
        assert set(chosen) == _expected(ids, bits)
        assert 0 < len(chosen) < len(ids)
    lots = people.select("written", lot=lot(people.person)).to_pyarrow()
    pairs = zip(lots["written"].to_pylist(), lots["lot"].to_pylist(), strict=True)
    assert {name for name, zeros in pairs if zeros >= 4} == _expected(ids, 4)
    assert max(lots["lot"].to_pylist()) <= MOST_BITS


def test_the_table_of_people_may_know_more() -> None:
    """It may have people without rows, several times, and columns of its own; rows come out as they were."""
    import ibis

    connection = ibis.duckdb.connect()
    connection.create_table("votes", pa.table({"person": ["a", "b", "b", None], "who": [1, 2, 3, 4]}))
    connection.create_table("people", pa.table({"person": [*"abcdefgh", *"abcdefgh", None], "votes": [1] * 17}))
    rows, people = connection.table("votes"), connection.table("people")
    for bits in range(3):
        found = sampled(rows, people, bits).order_by("who").to_pyarrow().to_pylist()
        chosen = _expected(["a", "b"], bits) | ({None} if bits == 0 else set())
        assert [row["who"] for row in found] == [k for k, name in enumerate("abb", 1) if name in chosen] + [4] * (
            bits == 0
        )


# ---- the same on every engine ----------------------------------------------------------------------------------------


@contextmanager
def _postgres(tmp_path: Path) -> Iterator[Any]:
    with postgres_server() as server:
        connection = server.ibis()
        connection.raw_sql(
            "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        ).close()
        connection.raw_sql(
            "CREATE TABLE votes (person text COLLATE blind, item_a text, item_b text, outcome text)"
        ).close()
        with connection.con.cursor() as cursor:
            cursor.executemany("INSERT INTO votes VALUES (%s, %s, %s, %s)", VOTES)
        yield connection.table("votes")


@contextmanager
def _sqlite(tmp_path: Path) -> Iterator[Any]:
    import sqlite3

    import ibis

    path = tmp_path / "votes.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE votes (person TEXT COLLATE NOCASE, item_a TEXT, item_b TEXT, outcome TEXT)")
        db.executemany("INSERT INTO votes VALUES (?, ?, ?, ?)", VOTES)
    db.close()
    yield ibis.sqlite.connect(path).table("votes")


@contextmanager
def _duckdb(tmp_path: Path) -> Iterator[Any]:
    import ibis

    connection = ibis.duckdb.connect(tmp_path / "votes.duckdb")
    connection.create_table("votes", pa.table(columns_of(VOTES)))
    yield connection.table("votes")


@contextmanager
def _spark(tmp_path: Path) -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="the extra `spark` is not installed")
    import ibis
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("quietrank-tests")
    for name, value in {
        "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": str(tmp_path),
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
    }.items():  # fmt: skip
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        session.createDataFrame(VOTES, list(COLUMNS)).createOrReplaceTempView("votes")
        yield ibis.pyspark.connect(session).table("votes")
    finally:
        session.stop()


def _scatters(votes: Votes, privacy: qr.Privacy, asked: list[tuple[Around, int]]) -> list[int]:
    promise, expected = Promise(privacy, Items(ITEMS)), np.array([0.4, 0.1, -0.2, -0.3])
    with counting(votes, Bounded.by(promise.privacy, None), again=True) as counted:
        return [counted.scatter([Expected(around, expected)], 2.0, bits)[0] for around, bits in asked]


SAMPLES = [(Around.VOTES, 0), (Around.VOTES, 1), (Around.VOTES, 3), (Around.ZERO, 4), (Around.PAIRS, 2)]


@pytest.mark.parametrize(
    ("engine", "promises", "samples"),
    [
        (_duckdb, PROMISES, SAMPLES),
        (_postgres, PROMISES, SAMPLES),
        (_sqlite, PROMISES, SAMPLES[:-1]),  # whose parser gives up on what is expected of pairs
        pytest.param(_spark, PROMISES[:1], SAMPLES[1:3], marks=pytest.mark.slow),
    ],
    ids=["duckdb", "postgres", "sqlite", "spark"],
)
@pytest.mark.few(1)
def test_every_engine_draws_the_same_people(engine: Any, promises: Any, samples: Any, tmp_path: Path) -> None:
    """Bit for bit the sums of our own engine, although a collation takes Ann for ann."""
    with engine(tmp_path) as table:
        for privacy in promises:
            ours = _scatters(qr.read_votes(pa.table(columns_of(VOTES)), ITEMS), privacy, samples)
            theirs = _scatters(qr.read_votes(table, ITEMS), privacy, samples)
            assert ours == theirs
            assert len(set(ours)) == len(ours)


def test_a_cut_connection_leaves_the_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server ends the session while the scatter is measured: the counts, which are paid for, come out."""
    with _postgres(tmp_path) as table:
        backend = table.get_backend()
        honest = scatter_sums

        def cut(*arguments: Any, **options: Any) -> Any:
            import psycopg

            where = {"host": backend.con.info.host, "port": backend.con.info.port, "dbname": "postgres"}
            with psycopg.connect(**where, **AS_SUPERUSER) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [backend.con.info.backend_pid])
            return honest(*arguments, **options)

        monkeypatch.setattr(tally, "scatter_sums", cut)
        release = qr.rank(qr.read_votes(table, ITEMS), PROMISES[0])
        assert release.scatter is None
        assert any("could not be measured afterwards" in note for note in release.assumptions)
