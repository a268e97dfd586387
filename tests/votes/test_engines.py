"""Engines: what people keep their votes in gives the same tally, and names are compared as bytes there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.promise.declare import declare
from quietrank.promise.privacy import Privacy
from quietrank.statistics.method import Method
from quietrank.votes.read import Votes, read_votes
from quietrank.votes.tallies import Tally
from tests.helpers import ITEMS, Vote, columns_of, from_arrow
from tests.servers.postgres import postgres_server
from tests.steps import choose, for_items, tally_pairs, tally_votes

VOTES: list[Vote] = [
    ("Ann", "A1", "ç", "a"), ("ann", "A1", "ç", "b"), ("ann", "ç", "Ω", "tie"), ("ann ", "Ω", "A1", "a"),
    ("Ann", "b c", "ç", "b"), ("é", "A1", "Ω", "a"), ("é", "A1", "Ω", "b"), ("e\u0301", "b c", "Ω", "a"),
    *[("Ann", "A1", "b c", "a")] * 7,
]  # fmt: skip
PROMISES = [
    Privacy(1, "comparison"),
    Privacy(1, "comparison", neighbours="add-remove", max_per_person=2),
    Privacy(1, "person", max_per_person=2),
    Privacy(1, "person", one_per_pair=True, max_per_person=3),
    Privacy(1, "person", max_per_person=3, delta=1e-6, clip=1.3),
]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    with postgres_server() as server:
        connection = server.ibis()
        # A collation that takes Ann for ann, and é for e: nothing that PostgreSQL calls deterministic.
        connection.raw_sql(
            "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        ).close()
        connection.raw_sql(
            "CREATE TABLE votes (person text COLLATE blind, item_a text COLLATE blind, item_b text COLLATE blind, "
            "outcome text)"
        ).close()
        rows = ", ".join("(" + ", ".join(f"'{cell}'" for cell in vote) + ")" for vote in VOTES)
        connection.raw_sql(f"INSERT INTO votes VALUES {rows}").close()
        yield connection


def _counted(votes: Votes, privacy: Privacy) -> Tally:
    clip = None
    if privacy.delta:
        noise = choose(votes.items, privacy, Method.NET_WINS, GAUSSIAN).noise
        privacy, clip = noise.privacy, noise.clip
    return tally_votes(votes, for_items(privacy, votes.items), clip)


@pytest.mark.parametrize("privacy", PROMISES, ids=lambda privacy: f"{privacy.unit}-{privacy.neighbours}")
def test_postgresql_counts_like_our_own_engine(postgres: Any, privacy: Privacy) -> None:
    """Bit for bit, for every way of bounding, although the column's collation takes Ann for ann."""
    import pyarrow as pa

    ours = _counted(read_votes(pa.table(columns_of(VOTES)), items=ITEMS), privacy)
    theirs = _counted(read_votes(postgres.table("votes"), items=ITEMS), privacy)
    assert ours.wins.tolist() == theirs.wins.tolist()
    assert ours.losses.tolist() == theirs.losses.tolist()
    pairs = tally_pairs(read_votes(postgres.table("votes"), items=ITEMS), Privacy(1, "comparison"))
    assert int(pairs.wins_i.sum() + pairs.wins_j.sum()) == 2 * len(VOTES)


def test_postgresql_keeps_nothing(postgres: Any) -> None:
    """The snapshot is a temporary table, and gone when the votes are counted."""
    _counted(read_votes(postgres.table("votes"), items=ITEMS), PROMISES[2])
    assert {name for name in postgres.list_tables() if "memtable" not in name} == {"votes"}


def test_sqlite_compares_bytes(tmp_path: Path) -> None:
    """Also where a column is declared to ignore case."""
    import sqlite3

    import ibis

    path = tmp_path / "votes.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE votes (person TEXT COLLATE NOCASE, winner TEXT COLLATE NOCASE, loser TEXT)")
        db.executemany("INSERT INTO votes VALUES (?, ?, ?)", [("Ann", "x", "y"), ("ann", "x", "y"), ("ann", "X", "y")])
    db.close()
    votes = read_votes(ibis.sqlite.connect(path).table("votes"), items=declare(["x", "y", "X"]))
    counted = tally_votes(votes, Privacy(1, "person", max_per_person=1))
    assert (counted.wins / 2**21).tolist() == [1.5, 0, 0.5]


def test_conditions_mean_the_same_in_postgresql(postgres: Any) -> None:
    """The filter is built for each engine from the parsed condition; what is counted is the same as in our own."""
    for condition in ("outcome = 'a'", "lower(outcome) like 't%'", "outcome in ('a', 'tie') and length(outcome) < 3"):
        table = postgres.table("votes")
        theirs = tally_votes(read_votes(table, items=ITEMS, where=condition), PROMISES[2])
        ours = tally_votes(from_arrow(VOTES, where=condition), PROMISES[2])
        assert theirs.wins.tolist() == ours.wins.tolist()
        assert theirs.rows == ours.rows == len(VOTES)
