"""A file, data frame or Ibis table in, `Votes` out: raw rows with their meaning, still in their engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quietrank.errors import VotesError, either, option
from quietrank.promise.arguments import flag
from quietrank.promise.declare import declare, declare_groups, with_pairs
from quietrank.promise.items import Items
from quietrank.promise.privacy import GroupOf
from quietrank.votes import engines, files
from quietrank.votes.cells import text
from quietrank.votes.formats.scan import Dialect, InputFormatWord
from quietrank.votes.shapes.long import recognise
from quietrank.votes.shapes.shape import ANSWER_NAMES, PERSON_NAMES, Shape, called, listed, require_column
from quietrank.votes.sources import collect, no_votes, open_votes
from quietrank.votes.where import PASSES, Where, parse_where

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True)
class Votes:
    """Votes that have not been looked at yet, with the list of items they are about. Confidential.

    `read_votes` makes them; `rank`, `noisy_tally`, `fit` and `check` take them.

    >>> import quietrank as qr
    >>> votes = qr.read_votes(qr.simulate(items=3, people=5, per_person=2), items_from_votes=True)
    >>> votes.items.names
    ('item-1', 'item-2', 'item-3')
    """

    source: files.Source
    shape: Shape
    items: Items
    skip_invalid: bool = False
    groups: tuple[str, ...] | None = None
    """the declared groups, for one ranking per group"""
    all_columns: tuple[str, ...] = ()
    """also those that are not read"""
    group_of: GroupOf = GroupOf.VOTE
    """whose group the column of groups names"""
    where: Where | None = None
    """the condition that rows have to meet to be counted"""

    def __repr__(self) -> str:
        return f"Votes({self.source.name}, {len(self.items)} items, confidential)"

    @property
    def leaves_out(self) -> bool:
        """Whether rows may be left out without being wrong; a public property, never looked up in the votes."""
        return self.shape.leaves_out or self.where is not None

    @property
    def condition(self) -> str | None:
        """The condition in words, which are public."""
        return None if self.where is None else self.where.text

    @property
    def compared_as_bytes(self) -> bool:
        """Whether names are compared as bytes: where the engine is not ours and may have its own collation."""
        return not self.source.ours

    def rows(self, *, numbered: bool = False) -> ir.Table:
        """One row per vote, as `Shape.rows` says; for error messages also the row's number and the outcome as written,
        and where there is a condition, whether the row meets it.

        Items, people and groups are compared exactly as written, byte by byte; an empty cell is NULL.
        """
        table = self.source.numbered if numbered and self.source.numbered is not None else self.source.table
        if self.where is None:
            return self.shape.rows(table, self._name, numbered=numbered)
        rows = self.shape.rows(self.where.marked(table), self._name, numbered=numbered)
        if PASSES not in rows.columns:
            raise AssertionError("this shape of votes does not carry the condition along")
        return rows

    def _name(self, column: ir.Value) -> ir.Value:
        written = text(column).nullif("")
        return engines.as_bytes(written, self.source.engine) if self.compared_as_bytes else written

    def require_public_condition(self) -> None:
        """Refuse a condition on answers where only answers differ between neighbours: which rows count is public."""
        for column in () if self.where is None else self.where.columns:
            if column in self.shape.answers or column.lower() in ANSWER_NAMES:
                raise VotesError(
                    f"{option('where')} looks at the column {column!r}, which tells the answer; with "
                    f"{option('neighbours', 'outcome')} which rows are counted is public, so it may look at the design "
                    f"only: leave it out, or use {option('neighbours', 'replace')}"
                )

    def require_person(self) -> None:
        """Refuse to protect people when no column says who they are."""
        if self.shape.person is not None:
            return
        people = called(self.all_columns, PERSON_NAMES)
        if len(people) > 1:
            raise VotesError(
                f"more than one column could name the person ({', '.join(people)}); choose one with {option('person')}"
            )
        raise VotesError(
            f"{option('unit', 'person')} and {option('max_per_person')} need a column that names the person; say which "
            f"with {option('person')} (the columns are {listed(self.all_columns)})"
        )


def read_votes(
    source: object,
    items: Iterable[object] | None = None,
    *,
    items_from_votes: bool = False,
    winner: str | None = None,
    loser: str | None = None,
    tie: str | None = None,
    a: str | None = None,
    b: str | None = None,
    outcome: str | None = None,
    person: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    input_format: InputFormatWord | None = None,
    where: str | None = None,
    pairs: Iterable[tuple[object, object]] | None = None,
    by: str | None = None,
    groups: Iterable[object] | None = None,
    by_person: bool = False,
    skip_invalid: bool = False,
) -> Votes:
    """Votes from files, a pandas, polars or pyarrow table, or any Ibis table.

    source            the path of a CSV, Parquet, JSON or Excel file, of a folder of such files, or a pattern such as
                      "votes/*.parquet"; a list of these; "-" for standard input; a pandas, polars or pyarrow table; or
                      an Ibis table. Several files must have the same columns. Below a folder that is given, the names
                      of folders like language=de are columns of text. People with the same id in two files are one.
    items             the public list of what is ranked
    items_from_votes  True: take the list from the votes, only if it is no secret
    winner, loser     the columns of the two items, where one column names the winner
    tie               the column that says whether the two were equal
    a, b, outcome     the columns of the two items and of who won: "a", "b", "tie", a column's name or an item's
    person            the column of who voted
    delimiter         what separates the cells of a CSV file; None: detected
    encoding          of text files, such as "cp1252" or "utf-16"; None: UTF-8
    sheet             the sheet of an Excel workbook; None: the first
    input_format      "csv", "jsonl", "json", "parquet" or "xlsx"; None: by the file's name, and CSV from standard input
    where             a condition that rows have to meet to be counted, such as "language = 'de' and day >= '2026'":
                      public, printed in the release, and about a row's own columns only (docs/proofs/filter.md).
                      `items_from_votes` takes the items of all rows, whether or not they meet it.
    pairs             the public list of pairs that people may be asked about; None: all
    by, groups        the column of a vote's group, and the public list of all groups, for `rank_by_group`
    by_person         False: each vote has its own group. True: every person belongs to one group, and a person with
                      votes in several is an error (with skip_invalid, dropped with all their votes); for
                      one_per_pair that takes less noise. For unit="comparison" both are the same.
    skip_invalid      True: drop rows that cannot be used, one by one; False: they are an error

    Columns with common names, such as winner and loser or model_a, model_b and winner, need not be named.

    >>> import pyarrow as pa
    >>> import quietrank as qr
    >>> table = pa.table({"who": ["ana", "ben"], "winner": ["tea", "tea"], "loser": ["water", "coffee"]})
    >>> qr.read_votes(table, items=["tea", "coffee", "water"], person="who")
    Votes(a pyarrow table, 3 items, confidential)
    """
    opened = open_votes(source, Dialect(delimiter, encoding, sheet, input_format))
    shape = recognise(opened.columns, winner=winner, loser=loser, tie=tie, a=a, b=b, outcome=outcome, person=person)
    if (by is None) != (groups is None):
        raise VotesError(
            f"say both: {option('by')}, the column of the group, and {option('groups')}, the list of all groups"
        )
    group_of = _group_of(by, flag("by_person", by_person))
    if by is not None:
        require_column(opened.columns, "by", by)
        shape = shape.with_group(by)
    if (items is None) != flag("items_from_votes", items_from_votes):
        raise VotesError(_WHICH_ITEMS if items is None else _BOTH_ITEMS)
    condition = None if where is None else parse_where(where, opened.columns)
    read = opened.read((*shape.columns, *(condition.columns if condition else ())))
    if condition is not None:
        condition.marked(read.table)  # refuses now what cannot be compared
    _require_as_written(read, shape)
    declared = _items_in(read, shape) if items is None else declare(items)
    if pairs is not None:
        declared = with_pairs(declared, pairs)
    group_names = None if groups is None else declare_groups(groups)
    skip = flag("skip_invalid", skip_invalid)
    return Votes(read, shape, declared, skip, group_names, opened.columns, group_of, condition)


def _group_of(by: str | None, by_person: bool) -> GroupOf:
    if by is None and by_person:
        raise VotesError(f"{option('by_person', True)} is about groups; add {option('by')}, or leave it out")
    return GroupOf.PERSON if by_person else GroupOf.VOTE


_BOTH_ITEMS = "items are declared, or taken from the votes; give one of the two"
_WHICH_ITEMS = (
    f"declare the items with {either('items=[...]', '--items (a file or a,b,c)')}, or use "
    f"{option('items_from_votes', True)} if the list is no secret"
)


def _items_in(source: files.Source, shape: Shape) -> Items:
    """All names of items. They are read separately: the list is public."""
    names = shape.items(source.table, ours=source.ours)
    item_names = collect(source, names.filter(names.item.notnull() & (names.item != "")))["item"].to_pylist()
    if not item_names:
        raise no_votes(source)
    # Sorted in Python: the order of text differs between engines.
    return Items(tuple(sorted(item_names)), from_votes=True)


def _require_as_written(source: files.Source, shape: Shape) -> None:
    """Refuse columns of names whose cells the engine would change: it might take two people for one."""
    for name in shape.names:
        if name in source.inexact:
            raise VotesError(
                f"the column {name!r} has cells that would not be read exactly as written, such as "
                f"{source.inexact[name]}; write them as text, in quotes"
            )
        kind = source.table[name].type()
        if not any(getattr(kind, f"is_{known}")() for known in _AS_WRITTEN):
            raise VotesError(
                f"the column {name!r} has the type {kind}, whose values are not read exactly as written; convert it "
                "to text"
            )


_AS_WRITTEN = ("string", "integer", "floating", "decimal", "boolean", "date", "timestamp", "uuid", "binary")
"""Types whose values stay distinct as text. Durations do not: they lose their nanoseconds."""
