"""A file, data frame or Ibis table in, `Votes` out: raw rows with their meaning, still in their engine.

Two shapes are read: `winner`/`loser` columns, with ties by an optional flag column; and `a`/`b`/`outcome`
columns, where the outcome says which of the two was preferred. Nothing here loads rows into Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quietrank.errors import VotesError, either, option
from quietrank.promise.arguments import flag
from quietrank.promise.declare import declare, declare_groups, with_pairs
from quietrank.promise.items import Items
from quietrank.promise.privacy import GroupOf
from quietrank.votes import engines, files
from quietrank.votes.joins import by_either_side

if TYPE_CHECKING:
    import ibis.expr.types as ir

WINNER_LOSER_NAMES = (("winner", "loser"), ("chosen", "rejected"))
PAIR_NAMES = (("model_a", "model_b"), ("item_a", "item_b"), ("left", "right"), ("a", "b"))
OUTCOME_NAMES = ("outcome", "winner", "result", "label", "preference")
TIE_NAMES = ("tie", "tied", "is_tie", "draw")
PEOPLE = ("person", "user", "annotator", "judge", "voter", "respondent", "rater")
PERSON_NAMES = (*PEOPLE, *(f"{name}_id" for name in PEOPLE))

A_WINS = ("a", "model_a", "item_a", "left", "first")
B_WINS = ("b", "model_b", "item_b", "right", "second")
TIES = ("tie", "tie (bothbad)", "both_bad", "bothbad", "tied", "draw", "equal")
YES = ("1", "1.0", "true", "t", "yes", "y", "tie", "tied")
NO = ("0", "0.0", "false", "f", "no", "n")


_WINNER_LOSER = f"{option('winner')} and {option('loser')}"
_PAIR_OUTCOME = f"{option('a')}, {option('b')} and {option('outcome')}"


@dataclass(frozen=True)
class Columns:
    """Which column means what. With no `outcome` column, `a` is the winner and `b` the loser."""

    a: str
    b: str
    outcome: str | None = None
    tie: str | None = None
    person: str | None = None
    group: str | None = None

    @property
    def meaning(self) -> dict[str, str]:
        """What each column that is read stands for."""
        a, b = ("winner", "loser") if self.outcome is None else ("a", "b")
        columns = {a: self.a, b: self.b, "outcome": self.outcome, "tie": self.tie, "person": self.person}
        columns["group"] = self.group
        return {role: name for role, name in columns.items() if name is not None}


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
    columns: Columns
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
    def compared_as_bytes(self) -> bool:
        """Whether names are compared as bytes: where the engine is not ours and may have its own collation."""
        return not self.source.ours

    def rows(self, *, numbered: bool = False) -> ir.Table:
        """One row per vote: a, b, y (2 = a won, 1 = tie, 0 = b won, NULL = unreadable), person, group.

        For error messages also the row's number, where there is one, and `said`, the outcome as it is written.

        Without a column of outcomes or ties, a always won, and there is no y. Items, people and groups are compared
        exactly as written, byte by byte; an empty cell is NULL.
        """
        table = self.source.numbered if numbered and self.source.numbered is not None else self.source.table
        roles = {"a": self.columns.a, "b": self.columns.b, "person": self.columns.person, "group": self.columns.group}
        read = {role: self._name(table[column]) for role, column in roles.items() if column is not None}
        if self.columns.outcome is not None or self.columns.tie is not None:
            read["y"] = self._y(table, read["a"], read["b"])
        if files.ROW in table.columns:
            read[files.ROW] = table[files.ROW]
        if numbered and (column := self.columns.outcome or self.columns.tie):
            read["said"] = _text(table[column])
        return table.select(**read)

    def _name(self, column: ir.Value) -> ir.Value:
        text = _text(column).nullif("")
        return engines.as_bytes(text, self.source.engine) if self.compared_as_bytes else text

    def _y(self, table: ir.Table, a: ir.Value, b: ir.Value) -> ir.Value:
        import ibis

        if self.columns.outcome is not None:
            plain = _text(table[self.columns.outcome]).strip().lower()
            by_word = _cases([(plain.isin(words), y) for words, y in self._words()])
            name = self._name(table[self.columns.outcome])
            by_name = _cases([(name == a, 2), (name == b, 0)])
            # An item may have a word as its name: where the two readings differ, the outcome cannot be read.
            return ibis.ifelse(by_word != by_name, None, ibis.coalesce(by_word, by_name)).cast("int16")
        plain = _text(table[self.columns.tie]).strip().lower()
        return _cases([(plain.isin(NO), 2), (plain.isin(YES), 1)])

    def _words(self) -> list[tuple[list[str], int]]:
        """The words for each outcome: the common ones, and the names of the columns, which take precedence."""
        a, b = self.columns.a.strip().lower(), self.columns.b.strip().lower()
        return [
            ([a, *(word for word in A_WINS if word != b)], 2),
            ([b, *(word for word in B_WINS if word != a)], 0),
            ([word for word in TIES if word not in (a, b)], 1),
        ]

    def require_person(self) -> None:
        """Refuse to protect people when no column says who they are."""
        if self.columns.person is not None:
            return
        people = _called(self.all_columns, PERSON_NAMES)
        if len(people) > 1:
            raise VotesError(
                f"more than one column could name the person ({', '.join(people)}); choose one with {option('person')}"
            )
        raise VotesError(
            f"{option('unit', 'person')} and {option('max_per_person')} need a column that names the person; say which "
            f"with {option('person')} (the columns are {_listed(self.all_columns)})"
        )


def collect(source: files.Source, query: ir.Table) -> Any:
    """Run a query over the votes and fetch its (small) result as a pyarrow table."""
    with reading(source):
        return query.to_pyarrow()


@contextmanager
def reading(source: files.Source) -> Iterator[None]:
    """Turn the engine's errors into ours."""
    try:
        yield
    except engines.errors_of(source.engine) as error:
        if type(error).__name__ == "InterruptException" or "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None
        raise _unreadable(source, error) from None


def no_votes(source: files.Source) -> VotesError:
    """The error for an empty source, where its being empty is no secret."""
    return VotesError(f"{source.name} has no votes; give a file with a header and one row per vote")


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
    opened = _open(source, delimiter)
    columns = recognise(opened.columns, winner=winner, loser=loser, tie=tie, a=a, b=b, outcome=outcome, person=person)
    if (by is None) != (groups is None):
        raise VotesError(
            f"say both: {option('by')}, the column of the group, and {option('groups')}, the list of all groups"
        )
    group_of = _group_of(by, flag("by_person", by_person))
    if by is not None:
        _require_column(opened.columns, "by", by)
        columns = replace(columns, group=by)
    if (items is None) != flag("items_from_votes", items_from_votes):
        raise VotesError(_WHICH_ITEMS if items is None else _BOTH_ITEMS)
    read = opened.read(tuple(columns.meaning.values()))
    _require_as_written(read, columns)
    declared = _items_in(read, columns) if items is None else declare(items)
    if pairs is not None:
        declared = with_pairs(declared, pairs)
    group_names = None if groups is None else declare_groups(groups)
    return Votes(read, columns, declared, flag("skip_invalid", skip_invalid), group_names, opened.columns, group_of)


def _group_of(by: str | None, by_person: bool) -> GroupOf:
    if by is None and by_person:
        raise VotesError(f"{option('by_person', True)} is about groups; add {option('by')}, or leave it out")
    return GroupOf.PERSON if by_person else GroupOf.VOTE


_BOTH_ITEMS = "items are declared, or taken from the votes; give one of the two"
_WHICH_ITEMS = (
    f"declare the items with {either('items=[...]', '--items (a file or a,b,c)')}, or use "
    f"{option('items_from_votes', True)} if the list is no secret"
)


def _items_in(source: files.Source, columns: Columns) -> Items:
    """All names in the two columns of items. They are read separately: the list is public."""
    rows = source.table.select(a=_text(source.table[columns.a]), b=_text(source.table[columns.b]))
    if source.ours:
        names = by_either_side(rows, "").select("item").distinct()
    else:
        names = rows.select(item=rows.a).union(rows.select(item=rows.b), distinct=True)
    item_names = collect(source, names.filter(names.item.notnull() & (names.item != "")))["item"].to_pylist()
    if not item_names:
        raise no_votes(source)
    # Sorted in Python: the order of text differs between engines.
    return Items(tuple(sorted(item_names)), from_votes=True)


@dataclass(frozen=True)
class Opened:
    """A source of votes whose columns are known."""

    columns: tuple[str, ...]
    read: Callable[[tuple[str, ...]], files.Source]
    """the source, of which only these columns are needed"""


def _open(source: object, delimiter: str | None) -> Opened:
    # Recognised by module, not by class, so that none of these libraries is imported needlessly.
    library, data = type(source).__module__.partition(".")[0], source
    if isinstance(source, str | os.PathLike):
        file = files.open_file(source, delimiter)
        return Opened(tuple(file.table.columns), lambda needed: file)
    if library == "ibis" and hasattr(source, "get_backend"):
        table: Any = source
        votes = files.Source(table, None, "an Ibis table", engines.require_supported(table))
        return Opened(tuple(table.columns), lambda needed: votes)
    if library in _FRAMES:
        frame: Any = data.collect() if type(data).__name__ == "LazyFrame" else data  # type: ignore[attr-defined]
        names = getattr(frame, "column_names" if library == "pyarrow" else "columns", None)
        if names is not None:
            columns = tuple(map(str, names))
            return Opened(columns, lambda needed: _copied(frame, library, columns, needed))
    kind = f"{library}.{type(source).__name__}" if library in _FRAMES else type(source).__name__
    raise VotesError(f"cannot read votes from a {kind}; give a path, a data frame or an Ibis table")


_FRAMES = ("pandas", "polars", "pyarrow")


def _copied(frame: Any, library: str, columns: tuple[str, ...], needed: tuple[str, ...]) -> files.Source:
    """A copy of the needed columns of a data frame."""
    import pyarrow as pa

    repeated = [name for name in needed if columns.count(name) > 1]
    if repeated:
        raise VotesError(f"the {library} table has two columns called {repeated[0]!r}; rename one of them")
    places = [columns.index(name) for name in dict.fromkeys(needed)]
    try:
        if library == "pandas":
            table = pa.Table.from_pandas(frame.iloc[:, places], preserve_index=False)
        else:
            table = (frame if library == "pyarrow" else frame.to_arrow()).select(places)
        return files.open_arrow(table.rename_columns([columns[place] for place in places]), f"a {library} table")
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise VotesError(
            f"cannot read the {library} table ({files.first_line(error)}); give each column one type and its own name"
        ) from None


def _require_as_written(source: files.Source, columns: Columns) -> None:
    """Refuse columns of names whose cells the engine would change: it might take two people for one."""
    for role, name in columns.meaning.items():
        if role in ("outcome", "tie"):
            continue
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


def recognise(names: Sequence[str], **roles: str | None) -> Columns:
    """The meaning of the columns: by their given roles, or by their common names."""
    for role, name in roles.items():
        _require_column(names, role, name)
    person = roles["person"] or _only_one(names, PERSON_NAMES)
    if not roles["tie"] and len(flags := _called(names, TIE_NAMES)) > 1:
        raise VotesError(f"more than one column could flag ties ({', '.join(flags)}); choose one with {option('tie')}")
    if roles["winner"] or roles["loser"]:
        return _winner_loser(names, roles, person)
    if roles["a"] or roles["b"] or roles["outcome"]:
        return _pair_outcome(names, roles, person)
    return _by_common_names(names, roles, person)


def _require_column(names: Sequence[str], role: str, name: str | None) -> None:
    if name is not None and name not in names:
        raise VotesError(f"there is no column {name!r} for {option(role)}; the columns are {_listed(names)}")


def _winner_loser(names: Sequence[str], roles: dict[str, str | None], person: str | None) -> Columns:
    winner, loser = roles["winner"], roles["loser"]
    if winner is None or loser is None or roles["a"] or roles["b"] or roles["outcome"]:
        raise VotesError(f"give {_WINNER_LOSER} together, or {_PAIR_OUTCOME} together")
    return Columns(winner, loser, tie=roles["tie"] or _only_one(names, TIE_NAMES), person=person)


def _pair_outcome(names: Sequence[str], roles: dict[str, str | None], person: str | None) -> Columns:
    a, b, outcome = roles["a"], roles["b"], roles["outcome"]
    if a is None or b is None or outcome is None:
        raise VotesError(f"give {_PAIR_OUTCOME} together, or {_WINNER_LOSER} together")
    if roles["tie"]:
        raise VotesError(f"{option('tie')} goes with {_WINNER_LOSER}; an outcome column says 'tie' itself")
    return Columns(a, b, outcome=outcome, person=person)


def _by_common_names(names: Sequence[str], roles: dict[str, str | None], person: str | None) -> Columns:
    known = {name.lower(): name for name in names}
    tie = roles["tie"] or _only_one(names, TIE_NAMES)
    readings = [
        Columns(known[winner], known[loser], tie=tie, person=person)
        for winner, loser in WINNER_LOSER_NAMES
        if winner in known and loser in known
    ]
    for a, b in PAIR_NAMES if roles["tie"] is None else ():
        outcomes = [known[name] for name in OUTCOME_NAMES if name in known]
        if a in known and b in known:
            readings += [Columns(known[a], known[b], outcome=outcome, person=person) for outcome in outcomes]
    if len(readings) == 1:
        return readings[0]
    problem = "do not say which column is which" if not readings else "can be read in more than one way"
    raise VotesError(f"the columns {_listed(names)} {problem}; give {_WINNER_LOSER}, or {_PAIR_OUTCOME}")


def _called(names: Sequence[str], common: Sequence[str]) -> list[str]:
    """The columns that have one of the common names."""
    return [name for name in names if name.lower() in common]


def _only_one(names: Sequence[str], common: Sequence[str]) -> str | None:
    candidates = _called(names, common)
    return candidates[0] if len(candidates) == 1 else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _text(column: ir.Value) -> ir.Value:
    """A cell as text. A column of integers with a gap arrives as floating point: 7.0 is 7, and NaN is a gap."""
    import ibis

    if not column.type().is_floating():
        return column.cast("string")
    # Ibis's floor is an integer, which infinity and numbers beyond 2^53 do not have: one half stands in for them.
    small = ibis.ifelse(column.abs() < 2**53, column, 0.5)
    return ibis.cases(
        (column.isnan(), ibis.null("string")),
        (column == small.floor(), small.floor().cast("string")),
        else_=column.cast("string"),
    )


def _cases(cases: list[tuple[ir.Value, int]]) -> ir.Value:
    import ibis

    return ibis.cases(*cases, else_=None).cast("int16")


def _unreadable(source: files.Source, error: Exception) -> VotesError:
    """Our error for what DuckDB could not read."""
    first = files.first_line(error)
    if "unicode" in str(error).lower() or "utf-8" in str(error).lower():
        return files.not_utf8(source.name, first)
    bad = files.ragged_rows(source.file) if source.file is not None else []
    if bad:
        return VotesError(
            f"{source.name} has rows that do not fit its header, such as {'; '.join(bad)}; fix them, "
            f"or say which character separates the columns with {option('delimiter')}"
        )
    return VotesError(f"{source.name} cannot be read ({first}); fix the file")
