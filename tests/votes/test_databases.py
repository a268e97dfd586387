"""Databases: a URL and a table or a query give the votes in it; who connects is never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from quietrank.errors import QuietrankError, VotesError
from quietrank.promise.privacy import Privacy
from quietrank.votes import databases
from quietrank.votes.private import Resources
from quietrank.votes.read import read_votes
from tests.helpers import ITEMS, Vote, columns_of, from_arrow
from tests.steps import tally_votes

VOTES: list[Vote] = [
    ("Ann", "A1", "ç", "a"),
    ("ann", "A1", "ç", "b"),
    ("Ann", "b c", "Ω", "tie"),
    ("é", "A1", "Ω", "a"),
]
PERSON = Privacy(1, "person", max_per_person=2)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A DuckDB file with votes in a schema of its own, whose column of people ignores case."""
    import duckdb
    import pyarrow as pa

    path = tmp_path / "votes.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", pa.table(columns_of(VOTES)))
        connection.execute("CREATE SCHEMA arena")
        connection.execute(
            "CREATE TABLE arena.votes (person VARCHAR COLLATE NOCASE, item_a VARCHAR, item_b VARCHAR, outcome VARCHAR)"
        )
        connection.execute("INSERT INTO arena.votes SELECT * FROM given")
    return path


@pytest.mark.parametrize(
    "where",
    [{"table": "arena.votes"}, {"table": '"arena"."votes"'}, {"query": "SELECT * FROM arena.votes;"}],
    ids=lambda where: next(iter(where.values())),
)
@pytest.mark.few(2)
def test_a_duckdb_file_counts_like_a_table(database: Path, where: dict[str, Any]) -> None:
    """By its table or by a query, bit for bit, although the column ignores case."""
    theirs = tally_votes(read_votes(connect=f"duckdb://{database}", items=ITEMS, **where), PERSON)
    ours = tally_votes(from_arrow(VOTES), PERSON)
    assert theirs.wins.tolist() == ours.wins.tolist()
    assert theirs.losses.tolist() == ours.losses.tolist()


def test_a_duckdb_file_is_only_read(database: Path) -> None:
    """Nothing is written to it, and nothing is left beside it."""
    before = database.read_bytes()
    qr.rank(read_votes(connect=f"duckdb://{database}", table="arena.votes", items=ITEMS), PERSON)
    assert database.read_bytes() == before
    assert list(database.parent.iterdir()) == [database]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "say where the votes are"),
        ({"connect": "duckdb:///x.duckdb"}, "give one of the two"),
        ({"connect": "duckdb:///x.duckdb", "table": "t", "query": "q"}, "give one of the two"),
        ({"table": "t"}, "say where the table t is"),
        ({"connect": "duckdb:///no/such.duckdb", "table": "t"}, "no DuckDB file"),
        ({"connect": "votes.db", "table": "t"}, "must be the URL of a database"),
        ({"connect": 7, "table": "t"}, "must be the URL of a database"),
        ({"source": "v.csv", "connect": "duckdb:///x", "table": "t"}, "and not both"),
        ({"source": "v.csv", "engine": "mysql"}, "must be duckdb"),
        ({"engine": "spark", "connect": "duckdb:///x", "table": "t"}, "say where the table t is"),
        ({"source": "v.csv", "engine": "spark", "threads": 2}, "for quietrank's own engine"),
    ],
    ids=str,
)
def test_words_that_contradict_each_other_are_refused(arguments: dict[str, Any], message: str) -> None:
    """Each with the word that is missing, or too much."""
    with pytest.raises(QuietrankError, match=message):
        read_votes(items=["x", "y"], **arguments)


def test_a_table_that_is_not_there_and_a_wrong_query(database: Path) -> None:
    """The name of what is missing, and no traceback."""
    with pytest.raises(VotesError, match="no table nothing there"):
        read_votes(connect=f"duckdb://{database}", table="nothing", items=ITEMS)
    with pytest.raises(VotesError, match="the query cannot be read"):
        read_votes(connect=f"duckdb://{database}", query="SELEKT 1", items=ITEMS)
    with pytest.raises(VotesError, match="must be the name of a table"):
        read_votes(connect=f"duckdb://{database}", table="a..b", items=ITEMS)


def test_another_database_is_refused_by_name_and_without_its_password() -> None:
    """The way out is a file."""
    with pytest.raises(VotesError, match=r"votes in mysql cannot be counted .* export them to a Parquet") as refused:
        read_votes(connect="mysql://root:s3cret@host/d", table="v", items=["x", "y"])
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgres://u5er:s3cret@127.0.0.1:1/d",
        "postgres://u5er:s3cret%21@127.0.0.1:1/d",
        "postgres://127.0.0.1:1/d?user=u5er&password=s3cret",
        "postgres://u5er:s3cret@[::1/d",
        "postgres://u5er:s3cret@127.0.0.1:port/d",
        "postgres://u5er:s3cret@127.0.0.1:1/d?s3cret",
        "postgresql://u5er:s3cret@127.0.0.1:1/d?sslpassword=s3cret&nonsense=s3cret",
        "postgres://u5er:s3cret?x@127.0.0.1:1/d",
    ],
)
def test_no_error_shows_who_connects(url: str) -> None:
    """A server that is not there, and URLs that cannot be read: neither user nor password is in the message."""
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    with pytest.raises(VotesError) as refused:
        read_votes(connect=url, table="v", items=["x", "y"])
    message = str(refused.value) + refused.value.in_options() + repr(refused.value)
    assert "s3cret" not in message
    assert "u5er" not in message
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_what_holds_a_url_does_not_print_it() -> None:
    """Neither the place nor the source; and what is shown of a URL has no user in it."""
    place = databases.Place("votes", connect="postgres://u:p4ss@h/d")
    assert "p4ss" not in repr(place)
    assert databases.public_url("postgres://u:p4ss@h:5/d?password=p4ss") == "postgres://h:5/d"
    assert databases.without_secrets('FATAL: user "u5er", p%21, p!', "postgres://u5er:p%21@h/d") == (
        f'FATAL: user "{databases.HIDDEN}", {databases.HIDDEN}, {databases.HIDDEN}'
    )


@pytest.mark.parametrize("password", ["p4ss?w0rd", "p4ss#w0rd", "p4ss%3Fw0rd"])
def test_a_password_may_have_signs_that_mean_something_in_other_urls(password: str) -> None:
    """PostgreSQL's driver takes all before the @ for user and password, so none of it may be shown."""
    url = f"postgres://u5er:{password}@h:5/d"
    assert databases.public_url(url) == "postgres://h:5/d"
    message = databases.without_secrets(f"FATAL: u5er with {password}", url)
    assert message == f"FATAL: {databases.HIDDEN} with {databases.HIDDEN}"


def test_the_path_of_a_duckdb_file_is_shown_as_it_is() -> None:
    assert databases.public_url("duckdb:///folder/a@b.duckdb") == "duckdb:///folder/a@b.duckdb"


# ---- how much of the machine ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("4", None, None), "size such as 4GB"), (("4 parsecs", None, None), "size such as 4GB"),
        (("1MB", None, None), "at least 100MB"), ((4, None, None), "size such as 4GB"),
        ((None, 0, None), "whole number, 1 or more"), ((None, "two", None), "whole number, 1 or more"),
        ((None, None, "/no/such/folder"), "there is no folder"),
    ],
    ids=str,
)  # fmt: skip
def test_limits_that_make_no_sense_are_refused(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(VotesError, match=message):
        Resources.of(*arguments)


def test_the_engine_keeps_within_the_limits(tmp_path: Path) -> None:
    """Its memory is below what the process may use, and its files are in the folder that was given, until it goes."""
    import gc

    votes = from_arrow(VOTES, memory_limit="1GB", threads=1, temp_dir=tmp_path)
    connection = votes.source.table.get_backend().con
    ((memory, threads, folder),) = connection.execute(
        "SELECT current_setting('memory_limit'), current_setting('threads'), current_setting('temp_directory')"
    ).fetchall()
    assert (memory, threads) == ("715.2 MiB", 1)
    assert list(tmp_path.iterdir()) == [Path(folder)]
    del votes, connection
    gc.collect()
    assert list(tmp_path.iterdir()) == []
