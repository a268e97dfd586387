"""Rankings in every engine: the same rows, bit for bit, as a definition in plain Python gives them."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import quietrank as qr
from quietrank.errors import VotesError
from quietrank.promise.privacy import Privacy
from tests.conftest import ON_POSTGRES, ON_SPARK
from tests.servers.postgres import PostgresServer
from tests.steps import tally_groups, tally_votes

pytestmark = pytest.mark.few_here(2)

Columns = dict[str, list[str | None]]
Put = Callable[[Columns], Any]
"""a table with these columns of text, in some engine"""

NAMES = ["tea", "Tea", "té", "te\u0301", "o'ne\\il", "a b", "100%_", "🍵", "\x01x"]
"""what collations, quotes, patterns and marks could confuse"""
LETTERS = list("ABCDEFGHI")
"""names of columns, which engines tell apart"""
OTHERS = [
    "", " ", "milk", "TEA", "\u00a0tea", "tea\t", "tea\n", "tea \n", "\x01", "\x02", "te\x02a", "\u2028",
    "\x0bté",
]  # fmt: skip
NUMBERS = [
    "", " 3", "3 ", "\t2\n", "\x0b4\x0c", "4.0", "04", "5.", "0", "10", "1.5", "x", "3v", "f3", "1e1", "-1", "+1",
    "9999999999", "3\u2028", "3.0\u2028", "٣", ".0", "1\x01", "\u00a03",
]  # fmt: skip
PEOPLE = ["ann", "Ann", "ann ", "é", "e\u0301", None, ""]
REGIONS = ["north", "South", "south", None]
GROUPS = ["north", "South"]
DRINKS = ["tea", "coffee", "water"]
PERSON = Privacy(1, "person", one_per_pair=True, max_per_person=7)
SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
ROWS = 250

# ---- engines --------------------------------------------------------------------------------------------------------


def _arrow(columns: Columns) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})


@pytest.fixture(scope="module")
def duckdb() -> Iterator[Put]:
    """Somebody's own DuckDB, in which text is compared without regard to case."""
    import ibis

    connection = ibis.duckdb.connect()
    connection.raw_sql("SET default_collation = 'nocase'")
    numbers = itertools.count()

    def put(columns: Columns) -> Any:
        name, source = f"votes_{next(numbers)}", _arrow(columns)
        kinds = ", ".join(f'"{column}" VARCHAR COLLATE NOCASE' for column in columns)
        connection.raw_sql(f"CREATE TABLE {name} ({kinds})")
        connection.con.register("source", source)
        connection.raw_sql(f"INSERT INTO {name} SELECT * FROM source")
        return connection.table(name)

    yield put
    connection.disconnect()


@pytest.fixture(scope="module")
def in_postgres(postgres: PostgresServer) -> Iterator[Put]:
    """Columns whose collation takes Tea for tea, and é for e: functions of text refuse it, or follow it."""
    connection = postgres.ibis()
    connection.raw_sql(
        "CREATE COLLATION IF NOT EXISTS blind_to_case "
        "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
    ).close()
    numbers = itertools.count()

    def put(columns: Columns) -> Any:
        name = f"rankings_{next(numbers)}"
        kinds = ", ".join(f'"{column}" text COLLATE blind_to_case' for column in columns)
        with connection.con.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {name} ({kinds})")
            with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in zip(*columns.values(), strict=True):
                    copy.write_row(row)
        connection.con.commit()
        return connection.table(name)

    yield put
    connection.disconnect()


@pytest.fixture(scope="module")
def in_spark(spark: Any) -> Put:
    import ibis

    connection, numbers = ibis.pyspark.connect(spark), itertools.count()

    def put(columns: Columns) -> Any:
        name = f"rankings_{next(numbers)}"
        frame = connection._session.createDataFrame(_arrow(columns)).repartition(3)
        frame.createOrReplaceTempView(name)
        return connection.table(name)

    return put


def _put_into(request: pytest.FixtureRequest) -> Put:
    if request.param == "ours":
        return _arrow
    put: Put = request.getfixturevalue(request.param if request.param == "duckdb" else f"in_{request.param}")
    return put


@pytest.fixture(params=["ours", "duckdb", ON_POSTGRES, ON_SPARK])
def put(request: pytest.FixtureRequest) -> Put:
    return _put_into(request)


@pytest.fixture(
    params=["ours", "duckdb", ON_POSTGRES, pytest.param("spark", marks=[*ON_SPARK.marks, pytest.mark.slow])]
)
def put_mostly(request: pytest.FixtureRequest) -> Put:
    """As `put`; Spark takes seconds for each query, however few rows there are, and so only in long runs."""
    return _put_into(request)


# ---- the definition -------------------------------------------------------------------------------------------------

Places = dict[str, int]


def _of_ranking(cell: str | None, names: list[str]) -> tuple[Places, str]:
    if not (cell or "").strip(SPACES):
        return {}, ""
    tiers = [[name.strip(SPACES) for name in tier.split("=")] for tier in (cell or "").split(">")]
    places = {name: place for place, tier in reversed(list(enumerate(tiers))) for name in tier}
    return places, _flaw([name for tier in tiers for name in tier], names)


def _of_places(cells: list[str | None], names: list[str]) -> tuple[Places, str]:
    places = {cell: place for place, cell in reversed(list(enumerate(cells))) if cell}
    return places, _flaw([cell for cell in cells if cell], names)


def _flaw(flat: list[str], names: list[str]) -> str:
    if "" in flat:
        return "missing item"
    if set(flat) - set(names):
        return "undeclared item"
    return "item twice" if len(set(flat)) < len(flat) else ""


def _of_items(cells: list[str | None], names: list[str]) -> tuple[Places, str]:
    places = {}
    for name, cell in zip(names, cells, strict=True):
        plain = (cell or "").strip(" \t\n\r\v\f")
        number = re.fullmatch(r"([0-9]{1,9})(\.0+)?", plain)
        if plain and not (number and 1 <= int(number[1]) <= len(names)):
            return {}, "unknown place"
        if number:
            places[name] = int(number[1])
    return places, ""


def _answer(places: Places, a: str, b: str, *, last: bool) -> int:
    if a in places and b in places:
        return 1 + (places[a] < places[b]) - (places[a] > places[b])
    if not last or (a not in places and b not in places):
        return -1
    return 2 if a in places else 0


def _expected(rankings: list[tuple[Places, str]], names: list[str], *, last: bool) -> list[tuple[Any, ...]]:
    """The number of the ranking, place_a, place_b, y and wrong, for all pairs."""
    return [
        (row, i, j, None if wrong else _answer(places, names[i], names[j], last=last), wrong)
        for row, (places, wrong) in enumerate(rankings)
        for i, j in itertools.combinations(range(len(names)), 2)
    ]


# ---- generated rankings ---------------------------------------------------------------------------------------------


def _some(chance: random.Random, most: int) -> list[str]:
    pool = NAMES if chance.random() < 0.7 else NAMES + OTHERS
    number = chance.randint(0, most)
    return chance.sample(pool, number) if chance.random() < 0.8 else chance.choices(pool, k=number)


def _ranking(chance: random.Random) -> str | None:
    signs = [">", " > ", "=", "= ", "\u2003>\u3000"]
    cell = "".join(name + chance.choice(signs) for name in _some(chance, 6))
    ends = ["", " ", "\u00a0"]
    whole = cell.rstrip(SPACES).rstrip(">=") if chance.random() < 0.95 else cell
    return None if chance.random() < 0.05 else chance.choice(ends) + whole + chance.choice(ends)


def _by_place(chance: random.Random, places: int) -> list[str | None]:
    cells: list[str | None] = [*_some(chance, places)]
    cells += [None] * (places - len(cells))
    if chance.random() < 0.3:
        chance.shuffle(cells)
    return cells


def _by_item(chance: random.Random) -> list[str | None]:
    cells: list[str | None] = [chance.choice([None, "", *map(str, range(1, 10))]) for _ in LETTERS]
    if chance.random() < 0.5:
        cells[chance.randrange(len(cells))] = chance.choice(NUMBERS)
    return cells


def _columns(rows: list[list[str | None]], names: list[str]) -> Columns:
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def _generated(form: str) -> tuple[Columns, list[tuple[Places, str]], list[str]]:
    """Columns, the rankings that they mean, and the items."""
    chance = random.Random(form)
    if form == "ranking":
        cells = [_ranking(chance) for _ in range(ROWS)]
        return {"ranking": cells}, [_of_ranking(cell, NAMES) for cell in cells], NAMES
    if form == "by place":
        rows = [_by_place(chance, 5) for _ in range(ROWS)]
        return _columns(rows, [f"rank {k}" for k in range(1, 6)]), [_of_places(row, NAMES) for row in rows], NAMES
    rows = [_by_item(chance) for _ in range(ROWS)]
    return _columns(rows, LETTERS), [_of_items(row, LETTERS) for row in rows], LETTERS


def _plain(cell: Any) -> Any:
    """A cell of an answer: bytes as text, and whole numbers that pandas made floating point of."""
    if isinstance(cell, bytes | bytearray):
        return bytes(cell).decode()
    if isinstance(cell, float):
        return None if cell != cell else int(cell)
    return cell


def _rows(votes: qr.Votes) -> list[tuple[Any, ...]]:
    rows = votes.rows().select("person", "place_a", "place_b", "y", "wrong").to_pyarrow().to_pylist()
    return [tuple(_plain(cell) for cell in row.values()) for row in rows]


@pytest.mark.parametrize("last", [False, True], ids=["missing", "last"])
@pytest.mark.parametrize("form", ["ranking", "by place", "by item"])
def test_every_engine_reads_the_same_rows(put: Put, form: str, last: bool) -> None:
    """Full and partial rankings, ties, spaces, empty rows, and everything that can be wrong."""
    columns, rankings, names = _generated(form)
    assert len({wrong for _, wrong in rankings}) == {"ranking": 4, "by place": 3, "by item": 2}[form]
    people: list[str | None] = [str(row) for row in range(ROWS)]
    votes = qr.read_votes(
        put({"person": people, **columns}), names, shape="rankings", unranked="last" if last else "missing"
    )
    rows = [(int(person), *rest) for person, *rest in _rows(votes)]
    assert sorted(rows, key=lambda row: row[:3]) == _expected(rankings, names, last=last)


@pytest.mark.parametrize("form", ["ranking", "by place", "by item"])
def test_where_nobody_is_named_each_row_is_a_person(put: Put, form: str) -> None:
    """As many people as rows, each with all pairs of one ranking."""
    columns, rankings, names = _generated(form)
    votes = qr.read_votes(put(columns), names, shape="rankings")
    ballots: dict[Any, dict[Any, Any]] = {}
    for person, i, j, *said in _rows(votes):
        ballots.setdefault(person, {})[i, j] = tuple(said)
    expected: dict[int, dict[Any, Any]] = {}
    for row, i, j, *said in _expected(rankings, names, last=False):
        expected.setdefault(row, {})[i, j] = tuple(said)
    assert sorted(map(repr, ballots.values())) == sorted(map(repr, expected.values()))


def _people(chance: random.Random) -> Columns:
    return {
        "person": chance.choices(PEOPLE, k=ROWS), "region": chance.choices(REGIONS, k=ROWS),
        "language": chance.choices(["de", "en", None], k=ROWS),
    }  # fmt: skip


@pytest.mark.parametrize("form", ["ranking", "by place", "by item"])
def test_every_engine_counts_the_same(put_mostly: Put, form: str) -> None:
    """People with several rankings or without a name, groups, a condition, rows that are dropped: bit for bit."""
    columns, _, names = _generated(form)
    columns = _people(random.Random(form)) | columns
    words: dict[str, Any] = {"by": "region", "groups": GROUPS, "where": "language = 'de'", "skip_invalid": True}
    ours, theirs = (
        tally_groups(qr.read_votes(table, names, shape="rankings", **words), PERSON)
        for table in (_arrow(columns), put_mostly(columns))
    )
    assert any(tally.wins.any() for tally in ours)
    for one, other in zip(ours, theirs, strict=True):
        assert one.wins.tolist() == other.wins.tolist()
        assert one.losses.tolist() == other.losses.tolist()
        assert one.rows == other.rows


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"ranking": ["tea>coffee", "tea>milk > tea"]}, r"'tea>milk > tea'.*\(undeclared item 'milk'\)"),
        ({"ranking": ["tea>Tea"]}, "'Tea', which differs from the declared 'tea' only by spaces, case"),
        ({"ranking": ["water > tea > water"]}, r"\(item twice 'water'\)"),
        ({"ranking": ["tea>>water>>"]}, r"an item's cell is empty: 1 row.*'tea>>water>>'.*\(missing item\)"),
        ({"1st": ["rum"], "2nd": [None], "3rd": ["tea"]}, r"'rum > tea'.*undeclared item 'rum'"),
        ({"1st": ["tea"], "2nd": ["water"], "3rd": ["tea"]}, r"'tea > water > tea'.*item twice 'tea'"),
        ({"tea": ["1"], "coffee": ["4 "], "water": ["x"]}, r"unknown place '4'"),
    ],
)
def test_every_engine_says_what_is_wrong(put_mostly: Put, columns: Columns, message: str) -> None:
    votes = qr.read_votes(put_mostly(columns), DRINKS, shape="rankings")
    with pytest.raises(VotesError, match=message):
        tally_votes(votes, PERSON)


def test_every_engine_says_what_it_understood(put_mostly: Put) -> None:
    report = qr.check(qr.read_votes(put_mostly({"person": ["ana"], "ranking": ["tea>coffee = water"]}), DRINKS))
    assert [line.removeprefix("row 1: ") for line in report.understood] == [
        "ana preferred tea to coffee", "ana preferred tea to water", "ana found coffee and water equal"
    ]  # fmt: skip


def test_every_engine_finds_the_items(put_mostly: Put) -> None:
    """Exactly as written, also those that a collation takes for one."""
    cells: list[str | None] = ["tea > Tea=té", "\u2003te\u0301>100%_ ", "", None, " "]
    names = sorted(["tea", "Tea", "té", "te\u0301", "100%_"])
    assert list(qr.read_votes(put_mostly({"ranking": cells}), items_from_votes=True).items) == names
    places: Columns = {"1st": ["tea", "Tea", ""], "2nd": ["té", "te\u0301", None], "3rd": ["100%_", None, "tea"]}
    assert list(qr.read_votes(put_mostly(places), items_from_votes=True).items) == names


@pytest.mark.parametrize("form", ["ranking", "by place", "by item"])
def test_the_votes_are_mentioned_once(put: Put, form: str) -> None:
    """So that whatever the engine does, it is one reading."""
    import ibis

    columns, _, names = _generated(form)
    votes = qr.read_votes(put(columns), names, shape="rankings")
    source = votes.source.table.op()
    assert len(votes.rows().op().find(type(source))) == 1
    sql = ibis.to_sql(votes.rows(), dialect=votes.source.engine.name)
    assert len(re.findall(rf"\b{re.escape(source.name)}\b", sql)) == 1


@pytest.mark.parametrize("name", ["te\va", "te\fa", "te\aa", "${env:HOME}"])
@pytest.mark.engines
@pytest.mark.xdist_group("spark")
def test_spark_refuses_names_that_it_would_misread(in_spark: Put, name: str) -> None:
    """Ibis writes a vertical tab as a backslash and a v, which Spark takes for v: the item would be another one."""
    votes = qr.read_votes(in_spark({"ranking": ["teva > tea"]}), ["tea", name])
    with pytest.raises(VotesError, match="cannot be written in a query of Spark; rename it"):
        votes.rows()
    assert qr.read_votes(_arrow({"ranking": [f"tea > {name}"]}), ["tea", name]).rows().y.sum().execute() == 2


def test_many_items_make_no_deep_query() -> None:
    """Parsers limit how deep an expression may be; sums over items are balanced trees."""
    names = [f"item {k}" for k in range(150)]
    votes = qr.read_votes(_arrow({"ranking": [" > ".join(names)]}), names)
    tally = tally_votes(votes, Privacy(1, "comparison"))
    assert tally.rows == 150 * 149 // 2
    assert [int(wins * tally.step) for wins in tally.wins] == list(range(149, -1, -1))
