"""Votes with their days in, one reading of them in an engine of our own out: who, which vote, when, and what was said.

Whatever engine the votes are in, they are read once. From then on a person is the MD5 of a secret of the board and of
their id, and a vote is the MD5 of its own id; without one, of all that it says, and of how many the person cast before
that say the same. Ids that differ in their type alone, 7, 7.00 and "7", are one person: merging two is safe, and
splitting one is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from quietrank.errors import VotesError, option
from quietrank.votes.cells import text
from quietrank.votes.private import start_engine
from quietrank.votes.read import Votes
from quietrank.votes.shapes.shape import DAY, VOTE_ID
from quietrank.votes.snapshot import judged
from quietrank.votes.sources import reading, temporary_table

if TYPE_CHECKING:
    import ibis.expr.types as ir

ARRIVED = "arrived"
"""the table of what was read: person, vote, day (NULL if it cannot be read), a, b, y, part, flaw"""
MILLISECONDS = 1e11
"""seconds since 1970 are fewer, for thousands of years; from here on they are milliseconds"""


@dataclass(frozen=True)
class Calendar:
    """Days, or weeks, of a board: numbered from 1."""

    start: date
    length: int
    """in days"""

    def number(self, day: date) -> int:
        """Of the period that this day is in; below 1 before the start."""
        return (day - self.start).days // self.length + 1

    def sql(self, day: str) -> str:
        """The same for a column of dates."""
        return f"CAST(floor((date_diff('day', DATE '{self.start}', {day})) / {self.length}) AS INTEGER) + 1"


@contextmanager
def arrivals(votes: Votes, calendar: Calendar, secret: bytes) -> Iterator[Any]:
    """A connection to our own engine, in which `ARRIVED` is one reading of the votes."""
    require_known(votes)
    with ExitStack() as stack:
        connection, staged = stack.enter_context(_staged(votes))
        votes.source.require_unchanged()
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {ARRIVED} AS {_coded(connection, staged, calendar, _vote_id(votes))}",
            [secret],
        )
        yield connection


def require_known(votes: Votes) -> None:
    """Refuse votes of which it is not known, night after night, whose they are; and those that are not on pairs."""
    votes.require_person()
    if votes.shape.person is None:
        # The number of a row depends on the rows of others: another person's limit would become this one's.
        raise VotesError(
            f"on a board people have a limit over all days, so each row has to name its person; say which column does "
            f"with {option('person')}"
        )
    if votes.shape.in_sets:
        raise VotesError("a board counts votes on pairs of items; best–worst sets can only be ranked at once")


def _vote_id(votes: Votes) -> str:
    """Which vote it is among its person's: where a row holds several, the id is that of the row."""
    return "id || '|' || concat_ws('|', least(a, b), greatest(a, b))" if votes.shape.gives_places else "id"


@contextmanager
def _staged(votes: Votes) -> Iterator[tuple[Any, str]]:
    """The rows in a table of a DuckDB connection that is ours: where they are, or fetched."""
    rows = _said(votes)
    with temporary_table(votes.source, rows) as table:
        if votes.source.ours:
            yield table.get_backend().con, table.op().name
            return
        own = start_engine()
        with reading(votes.source, "fetching votes"):
            # The engine's own way: Ibis would take Spark's rows through pandas, where one row that names nobody makes
            # all ids floating point, and somebody with a long id would be another person that night.
            own.connection.con.register("fetched", votes.source.engine.fetch(table))
            own.connection.con.execute("CREATE TEMP TABLE staged AS SELECT * FROM fetched")
            own.connection.con.unregister("fetched")
        yield own.connection.con, "staged"


def _said(votes: Votes) -> ir.Table:
    import ibis

    rows = judged(votes, named=True)
    said = {"person": rows.person, "day": rows[DAY], "a": rows.place_a, "b": rows.place_b, "flaw": rows.flaw}
    said["y"] = rows.y if "y" in rows.columns else ibis.literal(2, type="int16")
    said["part"] = rows.place_group if votes.groups is not None else ibis.literal(0, type="int32")
    said["id"] = rows[VOTE_ID] if VOTE_ID in rows.columns else ibis.literal("", type="string")
    said["written"] = text(rows[DAY])
    return rows.select(**said)


def _coded(connection: Any, staged: str, calendar: Calendar, vote_id: str) -> str:
    kinds = {name: kind for name, kind, *_ in connection.execute(f'DESCRIBE "{staged}"').fetchall()}
    who = _bytes("person", kinds["person"])
    # With what is wrong with them: of rows that are alike in all of this it does not matter which is numbered first.
    said = "concat_ws('|', written, a, b, y, part, flaw)"
    vote = f"CASE WHEN id <> '' THEN md5_number('i' || {vote_id}) ELSE md5_number('s' || {said} || '|' || again) END"
    return f"""
        SELECT md5_number($1 || {who}) AS person, {vote} AS vote, {calendar.sql(_date("day", kinds["day"]))} AS day,
               CAST(a AS INTEGER) AS a, CAST(b AS INTEGER) AS b, CAST(y AS INTEGER) AS y, CAST(part AS INTEGER) AS part,
               CAST(flaw AS INTEGER) AS flaw
        FROM (SELECT *, row_number() OVER (PARTITION BY {who}, id, {said}) AS again FROM "{staged}")"""


def _bytes(column: str, kind: str) -> str:
    if kind == "BLOB":
        return column
    written = f"CAST({column} AS VARCHAR)"
    if kind.startswith("DECIMAL") and not kind.endswith(",0)"):
        written = f"rtrim(rtrim({written}, '0'), '.')"
    return f"encode({written})"


def _date(column: str, kind: str) -> str:
    """The date of a cell, in UTC; NULL if it cannot be read."""
    if kind == "DATE":
        return column
    if kind.startswith("TIMESTAMP") and "ZONE" not in kind:
        return f"CAST({column} AS DATE)"
    if kind.startswith("TIMESTAMP"):
        return _of_microseconds(f"epoch_us({column})")
    number = f"TRY_CAST({column} AS DOUBLE)"
    seconds = f"CASE WHEN abs({number}) < {MILLISECONDS} THEN {number} ELSE {number} / 1000 END"
    # Beyond some 30,000 years there is no date.
    counted = f"CASE WHEN abs({seconds}) < 1e12 THEN {_of_microseconds(f'{seconds} * 1000000')} END"
    if kind != "VARCHAR":
        return counted
    written = f"TRY_CAST(trim({column}) AS TIMESTAMPTZ)"
    return f"coalesce({_of_microseconds(f'epoch_us({written})')}, {counted})"


def _of_microseconds(value: str) -> str:
    return f"DATE '1970-01-01' + CAST(floor(({value}) / 86400000000) AS INTEGER)"
