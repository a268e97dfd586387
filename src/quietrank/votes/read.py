"""A file, data frame or Ibis table in, `Votes` out: raw rows with their meaning, still in their engine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from quietrank.errors import VotesError, either, option
from quietrank.promise.arguments import flag
from quietrank.promise.declare import declare, declare_groups, with_pairs
from quietrank.promise.items import Items
from quietrank.promise.privacy import GroupOf
from quietrank.votes import engines, files
from quietrank.votes.cells import text
from quietrank.votes.shapes.best_worst import looks_like_sets, recognise_sets
from quietrank.votes.shapes.long import recognise
from quietrank.votes.shapes.shape import PERSON_NAMES, Shape, called, listed, require_column
from quietrank.votes.sources import collect, no_votes, open_votes

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

    def __repr__(self) -> str:
        return f"Votes({self.source.name}, {len(self.items)} items, confidential)"

    @property
    def leaves_out(self) -> bool:
        """Whether rows may be left out without being wrong; a public property, never looked up in the votes."""
        return self.shape.leaves_out

    @property
    def compared_as_bytes(self) -> bool:
        """Whether names are compared as bytes: where the engine is not ours and may have its own collation."""
        return not self.source.ours

    def rows(self, *, numbered: bool = False) -> ir.Table:
        """One row per vote, as `Shape.rows` says; for error messages also the row's number and the outcome as written.

        Items, people and groups are compared exactly as written, byte by byte; an empty cell is NULL.
        """
        table = self.source.numbered if numbered and self.source.numbered is not None else self.source.table
        return self.shape.rows(table, self._name, numbered=numbered)

    def _name(self, column: ir.Value) -> ir.Value:
        written = text(column).nullif("")
        return engines.as_bytes(written, self.source.engine) if self.compared_as_bytes else written

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
    shape: ShapeWord | None = None,
    best: str | None = None,
    worst: str | None = None,
    shown: str | Sequence[str] | None = None,
    set_size: int | None = None,
    positions: bool = False,
    design_file: str | os.PathLike[str] | None = None,
    version: str | None = None,
    set: str | None = None,
    delimiter: str | None = None,
    pairs: Iterable[tuple[object, object]] | None = None,
    by: str | None = None,
    groups: Iterable[object] | None = None,
    by_person: bool = False,
    skip_invalid: bool = False,
) -> Votes:
    """Votes from a file, a pandas, polars or pyarrow table, or any Ibis table.

    source            the path of a CSV, Parquet or JSON Lines file, a pandas, polars or pyarrow table, or an Ibis table
    items             the public list of what is ranked
    items_from_votes  True: take the list from the votes, only if it is no secret
    winner, loser     the columns of the two items, where one column names the winner
    tie               the column that says whether the two were equal
    a, b, outcome     the columns of the two items and of who won: "a", "b", "tie", a column's name or an item's
    person            the column of who voted
    shape             "long": a row per vote on two items. "best-worst": a row per set of items, of which the best and
                      the worst are named (MaxDiff). None: as the names of the columns and the other arguments say.
    best, worst       the columns of the best and the worst item of a set; both empty: not answered
    shown             the items of a set: a column for each (a list of columns, or a pattern such as "item*"), or the
                      one column whose cells list them, separated by ; or | or ,
    set_size          the largest number of items in a set, which is public; None: the number of columns
    positions         True: best and worst are positions in the set, counted from 1
    design_file       a CSV file of all sets: version (if there are several), set, and their items
    version, set      the columns that say which set of the design file was shown
    delimiter         what separates the cells of a CSV file; None: detected
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
    opened = open_votes(source, delimiter)
    long = {"winner": winner, "loser": loser, "tie": tie, "a": a, "b": b, "outcome": outcome}
    sets = {
        "best": best, "worst": worst, "shown": shown, "set_size": set_size, "design_file": design_file,
        "positions": flag("positions", positions), "version": version, "set": set,
    }  # fmt: skip
    recognised = _recognise(opened.columns, shape, long, sets, person)
    if (by is None) != (groups is None):
        raise VotesError(
            f"say both: {option('by')}, the column of the group, and {option('groups')}, the list of all groups"
        )
    group_of = _group_of(by, flag("by_person", by_person))
    if by is not None:
        require_column(opened.columns, "by", by)
        recognised = recognised.with_group(by)
    if (items is None) != flag("items_from_votes", items_from_votes):
        raise VotesError(_WHICH_ITEMS if items is None else _BOTH_ITEMS)
    read = opened.read(recognised.columns)
    _require_as_written(read, recognised)
    declared = _items_in(read, recognised) if items is None else declare(items)
    if pairs is not None:
        declared = with_pairs(declared, _require_no_sets(pairs, recognised))
    if recognised.set_size != declared.shown:
        declared = replace(declared, shown=recognised.set_size)
    group_names = None if groups is None else declare_groups(groups)
    return Votes(read, recognised, declared, flag("skip_invalid", skip_invalid), group_names, opened.columns, group_of)


ShapeWord = Literal["long", "best-worst"]


def _recognise(
    columns: tuple[str, ...], shape: str | None, long: dict[str, str | None], sets: dict[str, Any], person: str | None
) -> Shape:
    """The shape that was asked for, or that the names of the columns and the options leave no doubt about."""
    if shape not in (None, *get_args(ShapeWord)):
        raise VotesError(
            f"{option('shape')} must be one of {', '.join(get_args(ShapeWord))}; got {option('shape', repr(shape))}"
        )
    of_sets, of_long = ([name for name, given in roles.items() if given] for roles in (sets, long))
    if shape is None and not of_long and (of_sets or looks_like_sets(columns)):
        shape = "best-worst"
    strange = of_long if shape == "best-worst" else of_sets
    if strange:
        raise VotesError(
            f"{option(strange[0])} is not for votes of the shape {shape or 'long'}; leave it out, or choose another "
            f"{option('shape')}"
        )
    return recognise_sets(columns, person=person, **sets) if shape == "best-worst" else (
        recognise(columns, **long, person=person)
    )  # fmt: skip


def _require_no_sets(pairs: Iterable[tuple[object, object]], shape: Shape) -> Iterable[tuple[object, object]]:
    if shape.in_sets:
        raise VotesError(f"{option('pairs')} is for votes on pairs, and these are best-worst sets; leave it out")
    return pairs


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
