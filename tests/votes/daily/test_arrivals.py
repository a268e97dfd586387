"""What a board reads: the same person has the same key on every night, whatever else is in the table."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from quietrank.votes.daily.arrivals import ARRIVED, Calendar, arrivals
from quietrank.votes.engines.duckdb import DuckDB
from quietrank.votes.read import read_votes
from tests.servers.keepers import Keeper

LONG = 2**53 + 1
"""floating point has no such number"""


def _people(source: Any) -> set[int]:
    """The keys of all who are named."""
    votes = read_votes(source, ["tea", "coffee"], person="judge", day_column="day")
    with arrivals(votes, Calendar(date(2026, 1, 1), 7), b"secret") as db:
        return {key for (key,) in db.execute(f"SELECT person FROM {ARRIVED} WHERE person IS NOT NULL").fetchall()}


def _votes(*judges: int | None) -> pa.Table:
    number = len(judges)
    return pa.table(
        {
            "judge": pa.array(judges, pa.int64()),
            "winner": ["tea"] * number,
            "loser": ["coffee"] * number,
            "day": ["2026-01-02"] * number,
        }
    )


def test_nobody_gets_another_key_by_the_row_of_somebody_else(keeper: Keeper) -> None:
    """A row that names nobody makes no id inexact: a person with two keys would have two limits."""
    (key,) = _people(keeper.put(_votes(LONG)))
    assert _people(keeper.put(_votes(LONG, None))) == {key}
    assert _people(keeper.put(_votes(LONG - 1, None))) != {key}


def test_rows_are_fetched_as_the_engine_fetches_them(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as Ibis does, which takes those of Spark through pandas."""
    if keeper.name != "duckdb":
        pytest.skip("the test above shows it there")
    fetched, honest = list[Any](), DuckDB.fetch

    def noted(self: DuckDB, query: Any) -> Any:
        fetched.append(query)
        return honest(self, query)

    monkeypatch.setattr(DuckDB, "fetch", noted)
    _people(keeper.put(_votes(7)))
    assert len(fetched) == 1
