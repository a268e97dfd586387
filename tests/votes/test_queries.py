"""Queries: what looks at one row at a time is read, everything else only if it is trusted, and the release says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from quietrank.errors import VotesError
from quietrank.votes.engines import DUCKDB
from quietrank.votes.queries import ALONE, EXPRESSION, MADE, PERHAPS_A_VIEW, QUERY, VIEW
from tests.servers.postgres import PostgresServer
from tests.steps import tally_votes

ITEMS = ["x", "y", "z"]
PERSON = qr.Privacy(1, "person", neighbours="add-remove", max_per_person=2)
OUTCOME = qr.Privacy(1, "person", neighbours="outcome", design="public", max_per_person=2)
PLANTED = "select v.person, v.winner, v.loser from votes v where exists (select 1 from votes u where u.person = 'p7')"
"""it shows at once whether p7 voted: with them all votes are there, without them none"""
NOT_BY_ROW = [
    PLANTED,
    "SELECT * FROM votes LIMIT 5",
    "SELECT * FROM votes OFFSET 5",
    "SELECT * FROM votes ORDER BY person LIMIT 5",
    "SELECT DISTINCT person, winner, loser FROM votes",
    "SELECT person, winner, loser FROM votes GROUP BY ALL",
    "SELECT person, winner, loser FROM votes GROUP BY 1, 2, 3 HAVING count(*) > 1",
    "SELECT max(person) AS person, winner, loser FROM votes GROUP BY winner, loser",
    "SELECT *, row_number() OVER () AS n FROM votes",
    "SELECT * FROM votes QUALIFY row_number() OVER (PARTITION BY person) = 1",
    "SELECT * FROM votes TABLESAMPLE 50 PERCENT",
    "SELECT * FROM votes USING SAMPLE 5",
    "SELECT * FROM votes UNION ALL SELECT * FROM votes",
    "SELECT v.* FROM votes v JOIN votes u ON u.person = v.person",
    "SELECT v.* FROM votes v, votes u",
    "WITH w AS (SELECT * FROM votes) SELECT * FROM w",
    "SELECT * FROM (SELECT * FROM votes)",
    "SELECT * FROM votes WHERE random() < 0.5",
    "SELECT * FROM votes WHERE person IN (SELECT person FROM votes)",
    "SELECT (SELECT max(person) FROM votes) AS person, winner, loser FROM votes",
    "SELECT * FROM votes WHERE rowid < 3",
    "SELECT * FROM votes WHERE day < current_date",
    "SELECT person, winner, nextval('s') AS loser FROM votes",
    "SELECT * EXCLUDE (day) FROM votes",
    "SELECT * REPLACE (random()::text AS person) FROM votes",
    "SELECT COLUMNS('p.*') FROM votes",
    "SELECT * FROM read_csv('votes.csv')",
    "FROM votes SELECT * LIMIT 1",
    "TABLE votes",
    "SELECT * FROM votes; SELECT 1",
    "PIVOT votes ON winner",
]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ten people with a vote each, in a DuckDB file, and a view of them."""
    import duckdb

    path = tmp_path_factory.mktemp("database") / "votes.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE votes (person VARCHAR, winner VARCHAR, loser VARCHAR, day DATE, n INTEGER)")
        for k in range(10):
            row = [f"p{k}", "x" if k % 3 else "y", "z", f"2026-01-{k + 1:02}", k]
            connection.execute("INSERT INTO votes VALUES (?, ?, ?, ?, ?)", row)
        connection.execute(f"CREATE VIEW watched AS {PLANTED}")
        connection.execute("CREATE SEQUENCE s")
    return f"duckdb://{path}"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ten people who were asked about a pair each, in a DuckDB file."""
    import duckdb

    path = tmp_path_factory.mktemp("pairs") / "votes.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE votes (person VARCHAR, item_a VARCHAR, item_b VARCHAR, choice VARCHAR, n INTEGER)"
        )
        for k in range(10):
            connection.execute("INSERT INTO votes VALUES (?, 'x', 'y', ?, 1)", [f"p{k}", "x" if k % 3 else "y"])
    return f"duckdb://{path}"


def votes_of(database: str, **words: Any) -> qr.Votes:
    return qr.read_votes(connect=database, items=ITEMS, **words)


@pytest.mark.parametrize("query", NOT_BY_ROW)
def test_a_query_that_looks_at_other_rows_is_refused(database: str, query: str) -> None:
    """The remedy is named; nothing has been read by then."""
    with pytest.raises(VotesError, match="or say trust_query=True if each row comes from one vote") as refused:
        votes_of(database, query=query)
    assert "--trust-query" in refused.value.in_options()


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT * FROM votes", 10), ("select person, winner, loser from votes;", 10),
        ("SELECT v.person, v.winner, v.loser FROM main.votes AS v WHERE v.day >= '2026-01-06'", 5),
        ("SELECT lower(person) AS person, winner, loser FROM votes WHERE n BETWEEN 2 AND 4 OR person = 'p9'", 4),
        ("SELECT n + 1 AS person, winner, loser FROM Votes WHERE Winner = 'y'", 4),
        ("SELECT CAST(n AS TEXT) AS person, winner, loser FROM votes WHERE n > NULL", 0),
    ],
)  # fmt: skip
def test_a_query_by_row_counts_what_it_says(database: str, query: str, rows: int) -> None:
    """Columns, other names for them, what may be in a condition, and a WHERE; NULL is no."""
    tally = tally_votes(votes_of(database, query=query), PERSON)
    assert int(tally.wins.sum() * tally.step) == rows


def test_what_a_query_leaves_out_is_left_out_as_by_a_condition(database: str) -> None:
    """People are counted before the WHERE, so that their public number does not tell who meets it."""
    votes = votes_of(database, query="SELECT person, winner, loser FROM votes WHERE n < 4")
    privacy = qr.Privacy(1, "person", max_per_person=2)
    tally = qr.noisy_tally(votes, privacy, sampling_share=0)
    assert (tally.people, tally.where, votes.leaves_out) == (10, "n < 4", True)
    with pytest.raises(VotesError, match="write one condition"):
        votes_of(database, query="SELECT * FROM votes WHERE n < 4", where="n > 1")


def test_under_outcome_the_where_of_a_query_sees_the_design_only(pairs: str) -> None:
    """Also under another name."""
    asked = {"a": "item_a", "b": "item_b", "outcome": "who"}
    query = "SELECT person, item_a, item_b, {} AS who FROM votes WHERE {} = '1'"
    for column, seen in (("choice", "choice"), ("upper(n::text)", "n::text")):
        with pytest.raises(VotesError, match=r"where looks at the column .*, which tells the answer"):
            qr.rank(votes_of(pairs, query=query.format(column, seen), **asked), OUTCOME)


def test_a_trusted_query_is_read_and_the_release_says_so(database: str) -> None:
    """In the assumptions of rankings and lists; a query by row needs no trust, and assumes nothing."""
    votes = votes_of(database, query=PLANTED, trust_query=True)
    for unit in (PERSON, qr.Privacy(1, "comparison")):
        assert QUERY in qr.rank(votes, unit).assumptions
        assert QUERY in qr.top(votes, unit, 1).assumptions
    assert QUERY in qr.rank(votes, PERSON).report()
    plain = votes_of(database, query="SELECT * FROM votes", trust_query=True)
    assert not {QUERY, VIEW} & {*qr.rank(plain, PERSON).assumptions}
    with pytest.raises(VotesError, match="trust_query=True is about query"):
        votes_of(database, table="votes", trust_query=True)


def test_a_view_is_an_assumption(database: str) -> None:
    """By its name, and under a query by row."""
    for words in (
        {"table": "watched"}, {"query": "SELECT * FROM watched WHERE person <> 'p1'"},
        {"table": "Watched"}, {"table": '"WATCHED"'}, {"table": "Main.Watched"}, {"table": "votes.main.Watched"},
        {"query": 'SELECT * FROM MAIN."WATCHED"'},
    ):  # fmt: skip
        assert VIEW in qr.rank(votes_of(database, **words), PERSON).assumptions
    assert VIEW not in qr.rank(votes_of(database, table="votes"), PERSON).assumptions


def test_where_the_engine_does_not_say_the_release_does(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may read a table may not be allowed to ask what it is."""
    import duckdb

    def refused(*_: Any) -> str:
        raise duckdb.PermissionException("permission denied")

    monkeypatch.setattr(type(DUCKDB), "made_by", refused)
    assert PERHAPS_A_VIEW in qr.rank(votes_of(database, table="votes"), PERSON).assumptions


def test_an_ibis_expression_is_an_assumption(database: str, tmp_path: Path) -> None:
    """A table is none; a view is one too, in SQLite as well."""
    import ibis

    connection = ibis.duckdb.connect(database.removeprefix("duckdb://"), read_only=True)
    table = connection.table("votes")
    for source, assumed in (
        (table, set()), (connection.table("watched"), {VIEW}), (table.filter(table.n > 2), {EXPRESSION}),
        (connection.sql("SELECT * FROM votes", dialect="duckdb", schema=table.schema()), {EXPRESSION}),
    ):  # fmt: skip
        votes = qr.read_votes(source, ITEMS)
        assert {VIEW, EXPRESSION} & {*qr.rank(votes, PERSON).assumptions} == assumed
    sqlite = ibis.sqlite.connect(tmp_path / "votes.db")
    sqlite.create_table("votes", table.drop("day").to_pyarrow())
    sqlite.raw_sql("CREATE VIEW watched AS SELECT * FROM votes LIMIT 3").close()
    for name, expected in (("votes", None), ("watched", VIEW)):
        assert qr.read_votes(sqlite.table(name), ITEMS).source.assumed == expected


def test_a_board_says_what_it_assumed(database: str, tmp_path: Path) -> None:
    """Once, in its public file, from the first day on which it was assumed."""
    qr.Ledger.create(tmp_path / "budget.db", 100, 1e-6, data="votes", unit="person")
    board = qr.Board.create(
        tmp_path / "b.board", ITEMS, epsilon=100, delta=1e-6, ledger=tmp_path / "budget.db", start="2026-01-01",
        every="day", horizon=4,
    )  # fmt: skip
    trusted = "SELECT person, winner, loser, day AS cast_on FROM votes ORDER BY day"
    for until in ("2026-01-02", "2026-01-03"):
        board.update(connect=database, query=trusted, trust_query=True, day_column="cast_on", until=until)
    again = qr.Board.open(tmp_path / "b.board")
    assert again.log.assumed == (QUERY,)
    tally = again.tally()
    assert isinstance(tally, qr.NoisyTally)
    assert QUERY in tally.notes


@pytest.mark.engines
def test_postgresql_takes_queries_by_row_and_knows_its_views(postgres: PostgresServer) -> None:
    """Names without quotes are in lower case; views, materialised too, are assumptions; a row's place is no column."""
    with postgres.superuser() as connection:
        connection.execute("CREATE TABLE votes_by_query (person text, winner text, loser text, n integer)")
        connection.execute("INSERT INTO votes_by_query SELECT 'p' || k, 'x', 'y', k FROM generate_series(0, 9) AS k")
        connection.execute("CREATE VIEW seen_by_query AS SELECT * FROM votes_by_query LIMIT 3")
        connection.execute("CREATE MATERIALIZED VIEW kept_by_query AS SELECT * FROM votes_by_query")
        connection.execute('CREATE VIEW "Seen_By" AS SELECT * FROM votes_by_query')
        connection.execute('GRANT SELECT ON votes_by_query, "Seen_By", seen_by_query, kept_by_query TO PUBLIC')
        try:
            votes = votes_of(postgres.url, query="SELECT v.* FROM public.Votes_by_query v WHERE v.N < 4")
            assert (votes.source.assumed, votes.condition) == (None, "N < 4")
            tally = tally_votes(votes, PERSON)
            assert int(tally.wins.sum() * tally.step) == 4
            made = {"seen_by_query": "view", "kept_by_query": "materialised view", '"Seen_By"': "view"}
            for name, kind in made.items():
                for full in (name, f"public.{name}"):
                    assert votes_of(postgres.url, table=full).source.assumed == ALONE.format(MADE.format(kind))
            connection.execute("CREATE POLICY few ON votes_by_query USING (n < (SELECT 5))")
            connection.execute("ALTER TABLE votes_by_query ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
            assert "row-level security" in str(votes_of(postgres.url, table="votes_by_query").source.assumed)
            connection.execute("ALTER TABLE votes_by_query DISABLE ROW LEVEL SECURITY")
            assert votes_of(postgres.url, table="votes_by_query").source.assumed is None
            for query in ("SELECT * FROM {} WHERE ctid = '(0,1)'", "SELECT v FROM {} v", "SELECT * FROM {} LIMIT 1"):
                with pytest.raises(VotesError, match="trust_query"):
                    votes_of(postgres.url, query=query.format("votes_by_query"))
        finally:
            connection.execute("DROP TABLE votes_by_query CASCADE")


@pytest.mark.engines
@pytest.mark.xdist_group("spark")
def test_spark_takes_queries_by_row_and_knows_its_views(spark: Any) -> None:
    """Everything in a session without a catalogue of its own is a view."""
    spark.sql("SELECT 'p1' AS person, 'x' AS winner, 'y' AS loser, 1 AS n").createOrReplaceTempView("seen_by_spark")
    votes = qr.read_votes(engine="spark", query="SELECT * FROM seen_by_spark WHERE n = 1", items=ITEMS)
    assert (votes.source.assumed, votes.condition) == (VIEW, "n = 1")
    with pytest.raises(VotesError, match="trust_query"):
        qr.read_votes(engine="spark", query="SELECT * FROM seen_by_spark LIMIT 1", items=ITEMS)


@pytest.mark.parametrize("side", ["choice AS side", "choice = 'x' AS side"])
@pytest.mark.parametrize(
    "words", [{"by": "side", "groups": ["x", "y", "true", "false"]}, {"where": "side IS NOT NULL"}]
)
def test_an_answer_under_another_name_is_no_group_and_no_condition(
    pairs: str, side: str, words: dict[str, Any]
) -> None:
    """What a column of a query is made from is known, whatever it is called there."""
    query = f"SELECT *, {side} FROM votes"
    votes = votes_of(pairs, query=query, a="item_a", b="item_b", outcome="choice", **words)
    with pytest.raises(qr.QuietrankError, match="'side', which tells the answer"):
        (qr.rank_by_group if "by" in words else qr.rank)(votes, OUTCOME)


@pytest.mark.parametrize(
    "columns",
    [
        "person, choice AS item_a, item_b, choice AS outcome",
        "lower(choice) AS person, item_a, item_b, choice AS outcome",
        "person, choice AS item_a, item_b, n = 1 AS outcome",
    ],
)
def test_no_column_of_the_design_is_made_from_the_answer(pairs: str, columns: str) -> None:
    """Who was asked about which pair is public under `outcome`."""
    votes = votes_of(pairs, query=f"SELECT {columns} FROM votes", outcomes={"x": "a", "y": "b", "true": "a"})
    with pytest.raises(qr.QuietrankError, match="tells the answer, or is made from"):
        qr.rank(votes, OUTCOME)


def test_a_design_under_other_names_is_a_design(pairs: str) -> None:
    """Names that the engine gives, and columns that are changed by themselves."""
    query = "SELECT lower(person), item_a AS first, item_b AS second, lower(choice) AS who, n + 1 FROM votes"
    words = {"a": "first", "b": "second", "outcome": "who", "person": "lower(person)"}
    votes = votes_of(pairs, query=query, where='"(n + 1)" > 1', **words)
    assert votes.made_from["(n + 1)"] == ("n",)
    assert qr.noisy_tally(votes, OUTCOME).public_total == 10
