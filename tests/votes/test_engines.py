"""Engines: what people keep their votes in gives the same tally, bit for bit, and names are compared as bytes there.

The numbers of quietrank's own DuckDB are compared with those of a DuckDB file, of PostgreSQL and of Spark.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from quietrank.demo import UNIVERSITIES, demo_votes
from quietrank.errors import VotesError
from quietrank.promise.declare import declare
from quietrank.promise.privacy import Privacy
from quietrank.votes.cells import lowered, text, trimmed
from quietrank.votes.read import read_votes
from tests.effort import effort
from tests.helpers import ITEMS as FEW
from tests.helpers import Vote, columns_of, from_arrow
from tests.servers.keepers import Keeper
from tests.servers.postgres import PostgresServer
from tests.steps import tally_votes
from tests.votes.counted import BOUNDS, Figures, figures
from tests.votes.engine_cases import ANSWERS, DESIGN, EXAMPLES, GROUPS, ITEMS, Case, cases, rankings

pytestmark = pytest.mark.few_here(2)

VOTES: list[Vote] = [
    ("Ann", "A1", "ç", "a"), ("ann", "A1", "ç", "b"), ("ann", "ç", "Ω", "tie"), ("ann ", "Ω", "A1", "a"),
    ("Ann", "b c", "ç", "b"), ("é", "A1", "Ω", "a"), ("é", "A1", "Ω", "b"), ("e\u0301", "b c", "Ω", "a"),
    *[("Ann", "A1", "b c", "a")] * 7,
]  # fmt: skip
PER_PERSON = Privacy(1, "person", max_per_person=2)

TYPICAL = ("comparison", "comparison, at most 2", "person, L = 3", "person, clipped")
"""one of each kind of bound, where all of them would take long"""
SHORT = ("comparison", "person, L = 3")


def counted(source: Any, name: str, *, items: Any = ITEMS, scatter: bool = False, **options: Any) -> Figures | str:
    """What is counted, or the complaint without the name of the source, and without rows: some engines number none."""
    if "items_from_votes" not in options:
        options["items"] = items
    try:
        votes = read_votes(source, **options)
        return figures(votes, name, scatter=scatter)
    except VotesError as error:
        return str(error).partition(": ")[2].partition(" (such as ")[0]


# ---- generated votes ------------------------------------------------------------------------------------------------

SETTINGS: dict[str, dict[str, Any]] = {
    "one tally": {},
    "groups of votes": {"by": "region", "groups": GROUPS},
    "groups of persons": {"by": "region", "groups": GROUPS, "by_person": True},
    "some pairs": {"pairs": [("A1", "a1"), ("ç", "A1"), ("Ω", "ç"), ("b c", "vodka"), ("c\u0327", "ç")]},
    "a condition": {
        "where": "region <> 's' and (lower(trim(outcome)) like 't%' or item_a in ('A1', 'ç') or person is null)"
    },
}


@cache
def ours(setting: str, name: str, number: int, *, scatter: bool) -> Figures | str:
    return counted(EXAMPLES[number], name, scatter=scatter, skip_invalid=True, **SETTINGS[setting])


@pytest.fixture(scope="module")
def examples(keeper: Keeper) -> list[Any]:
    return [keeper.put(table) for table in EXAMPLES]


def _check(keeper: Keeper, examples: list[Any], setting: str, name: str, *, scatter: bool) -> None:
    many = keeper.name != "spark" and setting == "one tally" and not scatter  # each takes seconds in Spark
    for number in range(len(EXAMPLES) if many else 1):
        theirs = counted(examples[number], name, scatter=scatter, skip_invalid=True, **SETTINGS[setting])
        assert isinstance(theirs, Figures), theirs
        assert theirs == ours(setting, name, number, scatter=scatter)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.few(1)
def test_generated_votes_are_counted_alike(keeper: Keeper, examples: list[Any], name: str) -> None:
    """By item and by pair, for every way of bounding, with rows of every kind, wrong ones among them."""
    _check(keeper, examples, "one tally", name, scatter=False)


@pytest.mark.parametrize("name", TYPICAL)
@pytest.mark.parametrize("setting", [setting for setting in SETTINGS if setting != "one tally"])
def test_groups_pairs_and_conditions_mean_the_same(
    keeper: Keeper, examples: list[Any], setting: str, name: str
) -> None:
    _check(keeper, examples, setting, name, scatter=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "name"),
    [
        (setting, name)
        for setting, name in product(SETTINGS, BOUNDS)
        if setting != "one tally" and name not in TYPICAL
        and not (setting == "a condition" and "answers only" in name)  # which is refused, because it reads answers
    ],
)  # fmt: skip
def test_groups_pairs_and_conditions_mean_the_same_under_every_bound(
    keeper: Keeper, examples: list[Any], setting: str, name: str
) -> None:
    _check(keeper, examples, setting, name, scatter=False)


@pytest.mark.parametrize(
    ("setting", "name"),
    [("one tally", "person, L = 3"), ("one tally", "person, one per pair"), ("groups of votes", "person, clipped")],
)
def test_people_scatter_alike(keeper: Keeper, examples: list[Any], setting: str, name: str) -> None:
    """The sums around zero, votes, exposures and pairs, in whole steps."""
    _check(keeper, examples, setting, name, scatter=True)


def test_the_generated_votes_have_something_to_count() -> None:
    """Most of what is drawn is wrong; a comparison of zeros would show nothing."""
    for number in range(len(EXAMPLES)):
        for name in list(BOUNDS)[:: effort(4, 1)]:
            found = ours("one tally", name, number, scatter=False)
            assert isinstance(found, Figures)
            ((wins, losses, *_),), *_ = found.by_item
            assert sum(won > 0 for won in wins) >= 5
            assert sum(lost > 0 for lost in losses) >= 5


# ---- shapes ---------------------------------------------------------------------------------------------------------

CASES = cases()


def _counted_case(case: Case, source: Any, name: str, folder: Path, *, scatter: bool) -> Figures | str:
    options = dict(case.options)
    if "design_file" in options:
        options["design_file"] = folder / "design.csv"
        options["design_file"].write_text(DESIGN, encoding="utf-8")
    return counted(source, name, items=case.items, scatter=scatter, **options)


def _check_case(keeper: Keeper, case: Case, names: Iterable[str], folder: Path, *, scatter: bool) -> None:
    table = keeper.put(case.table)
    for name in names:
        theirs = _counted_case(case, table, name, folder, scatter=scatter)
        assert theirs == _counted_case(case, case.table, name, folder, scatter=scatter)


@pytest.mark.parametrize("shape", CASES)
def test_every_shape_is_counted_alike(keeper: Keeper, shape: str, tmp_path: Path) -> None:
    """One row per vote, per number of votes, per person or per best–worst set; what is refused is refused alike."""
    case = CASES[shape]
    _check_case(keeper, case, [name for name in case.bounds if name in SHORT], tmp_path, scatter=False)


@pytest.mark.slow
@pytest.mark.parametrize("shape", CASES)
def test_every_shape_is_counted_alike_under_every_bound(keeper: Keeper, shape: str, tmp_path: Path) -> None:
    _check_case(keeper, CASES[shape], CASES[shape].bounds, tmp_path, scatter=True)


RANKINGS = rankings()


@pytest.mark.parametrize("shape", RANKINGS)
@pytest.mark.few(1)
def test_rankings_are_counted_alike(keeper: Keeper, shape: str, tmp_path: Path) -> None:
    _check_case(keeper, RANKINGS[shape], RANKINGS[shape].bounds, tmp_path, scatter=False)


@pytest.mark.parametrize("shape", [*CASES, *RANKINGS])
def test_every_case_has_something_to_count(shape: str, tmp_path: Path) -> None:
    case = (CASES | RANKINGS)[shape]
    found = _counted_case(case, case.table, case.bounds[0], tmp_path, scatter=False)
    if shape == "unreadable numbers of votes":
        assert isinstance(found, str)
        return
    assert isinstance(found, Figures), found
    ((wins, *_),), *_ = found.by_item
    assert sum(won > 0 for won in wins) >= (1 if shape == "rankings by item" else 2)


# ---- the bundled survey ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def survey(keeper: Keeper) -> Any:
    """The CEMS survey, as it lies in this engine."""
    return keeper.put(demo_votes().source.table.to_pyarrow())


@pytest.mark.parametrize("name", BOUNDS)
def test_the_survey_is_counted_alike(keeper: Keeper, survey: Any, name: str) -> None:
    theirs = figures(read_votes(survey, items=UNIVERSITIES), name, scatter=False)
    assert theirs == figures(demo_votes(), name, scatter=False)


# ---- text -----------------------------------------------------------------------------------------------------------


def test_blanks_and_lower_case_mean_the_same(keeper: Keeper) -> None:
    """Words are compared after this; Ibis's own strip takes v and f off in Spark, and İ is i in DuckDB alone."""
    import pyarrow as pa

    letters = [chr(code) for code in range(1, 0x2FF)] + ["TİE", "ΩΣ", "ДА", "\u212a", "Ａ"]
    odd = [f" {word}\t" for word in ("first", "false", "vote", "f", "v", "")] + ["a\u00a0", "\u2003a", "a\u2028"]
    written = [*letters, *odd, *(answer for answer in ANSWERS if answer is not None)]
    table = keeper.put(pa.table({"place": range(len(written)), "cell": written}))
    cells = table.select("place", trimmed=trimmed(text(table.cell)), lowered=lowered(text(table.cell)))
    read = cells.to_pyarrow().sort_by("place").to_pylist()
    assert [row["trimmed"] for row in read] == [word.strip(" \t\n\r") for word in written]
    assert [row["lowered"] for row in read] == ["".join(sign.lower() for sign in word) for word in written]


# ---- names are compared as bytes ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def blind(postgres: PostgresServer) -> Iterator[Any]:
    """A table whose collation takes Ann for ann, and é for e: nothing that PostgreSQL calls deterministic."""
    rows = ", ".join("(" + ", ".join(f"'{cell}'" for cell in vote) + ")" for vote in VOTES)
    with postgres.superuser() as connection:
        connection.execute(
            "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false);"
            "CREATE TABLE blind (person text COLLATE blind, item_a text COLLATE blind, item_b text COLLATE blind, "
            f"outcome text COLLATE blind); INSERT INTO blind VALUES {rows}; GRANT SELECT ON blind TO PUBLIC"
        )
        ibis_connection = postgres.ibis()
        yield ibis_connection.table("blind")
        ibis_connection.disconnect()
        connection.execute("DROP TABLE blind; DROP COLLATION blind")


@pytest.mark.engines
@pytest.mark.parametrize("name", BOUNDS)
def test_postgresql_compares_bytes(blind: Any, name: str) -> None:
    """Bit for bit, for every way of bounding, although the collation of every column takes Ann for ann."""
    import pyarrow as pa

    assert counted(blind, name, items=FEW) == counted(pa.table(columns_of(VOTES)), name, items=FEW)


@pytest.mark.engines
def test_postgresql_keeps_nothing(blind: Any) -> None:
    """The snapshot is a temporary table, and gone when the votes are counted."""
    tally_votes(read_votes(blind, items=FEW), PER_PERSON)
    assert not [name for name in blind.get_backend().list_tables() if "quietrank" in name]


@pytest.mark.engines
def test_postgresql_knows_people_by_uuid(postgres: PostgresServer) -> None:
    """A type that neither pyarrow nor Spark has."""
    people = [uuid.UUID(int=k % 2) for k in range(len(VOTES))]
    connection = postgres.ibis()
    rows = ", ".join(f"('{who}', '{a}', '{b}')" for who, (_, a, b, _) in zip(people, VOTES, strict=True))
    connection.raw_sql("CREATE TEMP TABLE by_uuid (person uuid, winner text, loser text)").close()
    connection.raw_sql(f"INSERT INTO by_uuid VALUES {rows}").close()
    theirs = tally_votes(read_votes(connection.table("by_uuid"), items=FEW), PER_PERSON)
    named: list[Vote] = [(str(who), a, b, "a") for who, (_, a, b, _) in zip(people, VOTES, strict=True)]
    assert theirs.wins.tolist() == tally_votes(from_arrow(named), PER_PERSON).wins.tolist()
    connection.disconnect()


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
    tally = tally_votes(votes, Privacy(1, "person", max_per_person=1))
    assert (tally.wins / 2**21).tolist() == [1.5, 0, 0.5]


CONDITIONS = (
    "outcome = 'a'", "outcome = 'A'", "lower(outcome) like 't%'", "outcome in ('a', 'tie') and length(outcome) < 3",
    "trim(person) = 'ann'", "person < 'a'", "person between 'A' and 'Z'", "item_a <> 'b c'",
    "person ilike 'A%' and outcome is not null",
)  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_mean_the_same(keeper: Keeper, condition: str) -> None:
    """The filter is built for each engine from the parsed condition; text is ordered by its bytes everywhere."""
    import pyarrow as pa

    table = pa.table(columns_of(VOTES))
    theirs = counted(keeper.put(table), "comparison", items=FEW, where=condition)
    assert theirs == counted(table, "comparison", items=FEW, where=condition)
