"""Data frames: what one person's cell holds does not change how the cells of all others are read."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

import quietrank as qr
from quietrank.promise.promise import Promise
from quietrank.votes.frames import EXACT
from quietrank.votes.read import read_votes
from quietrank.votes.tally import count_votes

PERSON = qr.Privacy(1, "person", max_per_person=2)
PAIR = {"a": ["x"] * 4, "b": ["y"] * 4, "outcome": ["a"] * 4}


def weight(columns: dict[str, Any], **words: Any) -> int:
    """How many of four people's votes are counted; those whose cells cannot be read are dropped."""
    frame = pd.DataFrame({"person": list("pqrs"), **PAIR, **columns}, index=[0, 0, 1, 1])
    votes = read_votes(frame, ["x", "y"], skip_invalid=True, **words)
    promise = Promise(PERSON, votes.items, votes.groups, votes.group_of, votes.leaves_out)
    tallies = count_votes(votes, promise.bounded(None), may_be_empty=True)
    return sum(int(tally.by_item.total * tally.by_item.step) for tally in tallies)


@pytest.mark.parametrize("last", ["7", "7.5", "7.000", "-0.0", "1e-30", None])
@pytest.mark.parametrize(
    "words", [{"by": "g", "groups": ["7"]}, {"where": "CAST(g AS DOUBLE) = 7"}, {"where": "g = '7'"}]
)
def test_one_decimal_does_not_lengthen_the_others(last: str | None, words: dict[str, Any]) -> None:
    """As a group and in a condition, every 7 stays 7."""
    cell = None if last is None else Decimal(last)
    seven = int(cell == 7)
    assert weight({"g": [Decimal("7"), Decimal("7.00"), Decimal("7"), cell]}, **words) == 3 + seven


@pytest.mark.parametrize("last", [Decimal("1"), Decimal("0.500"), Decimal("1.0")])
def test_decimals_are_outcomes(last: Decimal) -> None:
    assert weight({"outcome": [Decimal("1"), Decimal("0.5"), Decimal("0.50"), last]}, outcomes="1/0.5/0") == 4


@pytest.mark.parametrize("role", ["winner", "person", "session"])
def test_whole_numbers_that_a_gap_may_have_changed_are_refused(role: str) -> None:
    """From 2^53 on they may be others in floating point; below, or with gaps of their own, they are what they are."""
    columns: dict[str, Any] = {"person": [1, 2, 3], "winner": [5, 5, 6], "loser": [6, 6, 5], "session": [1, 1, 1]}
    words: dict[str, Any] = {"where": "session > 0"} if role == "session" else {}
    large, small = [EXACT + 1, EXACT + 3, None], [EXACT - 1, 5, None]
    with pytest.raises(qr.QuietrankError, match=rf"'{role}' holds whole numbers of 2\^53 or more"):
        read_votes(pd.DataFrame(columns | {role: large}), ["5", "6"], **words)
    for cells in (small, pd.array(large, dtype="Int64"), pd.Series(large, dtype=object)):
        votes = read_votes(pd.DataFrame(columns | {role: cells}), ["5", "6"], **words)
        assert len(votes.items) == 2


@pytest.mark.parametrize("last", [dt.datetime(2026, 1, 1, 5), "x", True, b"x", Decimal("1")])
def test_python_objects_are_of_one_kind(last: object) -> None:
    """A date beside a time was read as whichever came first."""
    with pytest.raises(qr.QuietrankError, match="'g' has cells of several types"):
        weight({"g": [dt.date(2026, 1, 1), dt.date(2026, 1, 2), None, last]}, where="g = '7'")


def test_what_duckdb_gives_is_read_as_a_table_or_names_the_remedy() -> None:
    """A reader of Arrow's is read once; a relation or a connection says what to give instead."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE votes AS SELECT 'p' AS person, 'x' AS winner, 'y' AS loser")
    relation = connection.table("votes")
    table = relation.to_arrow_table()
    for source in (table, table.to_reader()):
        assert qr.check(read_votes(source, ["x", "y"])).rows == 1
    for source in (relation, connection):
        with pytest.raises(qr.QuietrankError, match=r"give relation.to_arrow_table\(\) or relation.pl\(\)"):
            read_votes(source, ["x", "y"])
