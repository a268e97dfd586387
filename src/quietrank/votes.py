"""A file, data frame or Ibis table in, `Votes` out: raw rows with their meaning, still in their engine.

Two shapes are read: `winner`/`loser` columns, with ties by an optional flag column; and `a`/`b`/`outcome`
columns, where the outcome says which of the two was preferred. Nothing here loads rows into Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietrank import files
from quietrank.errors import VotesError
from quietrank.items import Items, declare, declare_groups, with_pairs

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
        found = {a: self.a, b: self.b, "outcome": self.outcome, "tie": self.tie, "person": self.person}
        found["group"] = self.group
        return {role: name for role, name in found.items() if name is not None}


@dataclass(frozen=True)
class Votes:
    """Votes that have not been looked at yet, with the list of items they are about. Confidential."""

    source: files.Source
    columns: Columns
    items: Items
    skip_invalid: bool = False
    groups: tuple[str, ...] | None = None
    """the declared groups, where one ranking per group is asked for"""

    def __repr__(self) -> str:
        return f"Votes({self.source.name}, {len(self.items)} items, confidential)"

    def rows(self, *, numbered: bool = False) -> ir.Table:
        """One row per vote: a, b (text), y (2 = a won, 1 = tie, 0 = b won, NULL = unreadable), person, group.

        For error messages also the row's number, where there is one, and what was `said` of the outcome.

        Where no column can say otherwise a always won, and there is no y.
        Items and people are compared as they are written, byte by byte; an empty cell may be NULL or "".
        """
        table = self.source.numbered if numbered and self.source.numbered is not None else self.source.table
        a, b = _text(table[self.columns.a]), _text(table[self.columns.b])
        read = {"a": a, "b": b}
        if self.columns.outcome is not None or self.columns.tie is not None:
            read["y"] = self._y(table, a, b)
        if self.columns.person is not None:
            read["person"] = _text(table[self.columns.person])
        if self.columns.group is not None:
            read["group"] = _text(table[self.columns.group])
        if files.ROW in table.columns:
            read[files.ROW] = table[files.ROW]
        if numbered and (said := self.columns.outcome or self.columns.tie):
            read["said"] = _text(table[said])
        return table.select(**read)

    def _y(self, table: ir.Table, a: ir.Value, b: ir.Value) -> ir.Value:
        import ibis

        if self.columns.outcome is not None:
            word = _text(table[self.columns.outcome])
            plain = word.strip().lower()
            by_word = _cases([(plain.isin(words), y) for words, y in self._words()])
            by_name = _cases([(word == a, 2), (word == b, 0)])
            # An item may be called like a word: where the two readings differ, the outcome cannot be read.
            return ibis.ifelse(by_word != by_name, None, ibis.coalesce(by_word, by_name)).cast("int8")
        plain = _text(table[self.columns.tie]).strip().lower()
        return _cases([(plain.isin(NO), 2), (plain.isin(YES), 1)])

    def _words(self) -> list[tuple[list[str], int]]:
        """The words for each outcome: the common ones, and the names of the columns, which go before them."""
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
        found = _called(self.source.table.columns, PERSON_NAMES)
        if len(found) > 1:
            raise VotesError(
                f"more than one column could name the person ({', '.join(found)}); choose one with --person"
            )
        raise VotesError(
            "unit=person and max_per_person need a column that names the person; say which with --person "
            f"(the columns are {_listed(self.source.table.columns)})"
        )


def collect(source: files.Source, query: ir.Table) -> Any:
    """Run a query over the votes and fetch its (small) result as a pyarrow table."""
    import duckdb

    try:
        return query.to_pyarrow()
    except duckdb.Error as error:
        if isinstance(error, duckdb.InterruptException) or "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None
        raise _unreadable(source, error) from None


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
    skip_invalid: bool = False,
) -> Votes:
    """Votes from a file, a pandas, polars or pyarrow table, or any Ibis table.

    `items` is the public list of what is ranked. Without it, say `items_from_votes=True`, and only if who is on
    the list is no secret. `pairs` is the public list of pairs that people may be asked about; without it all are.
    Column names are recognised where they are common and can be given where not.
    `by` names the column of a vote's group, and `groups` is the public list of groups, for `rank_by_group`.
    With `skip_invalid`, rows that cannot be used are dropped one by one instead of being an error.
    """
    opened = _open(source, delimiter)
    columns = recognise(
        opened.table.columns, winner=winner, loser=loser, tie=tie, a=a, b=b, outcome=outcome, person=person
    )
    if items is not None and items_from_votes:
        raise VotesError("items are either declared or taken from the votes; give one of the two")
    if items is None and not items_from_votes:
        raise VotesError(
            "declare the items with --items (a file or a,b,c), or say --items-from-votes if who is on the list "
            "is no secret"
        )
    declared = _items_in(opened, columns) if items is None else declare(items)
    if pairs is not None:
        declared = with_pairs(declared, pairs)
    if (by is None) != (groups is None):
        raise VotesError("say both: --by, the column of the group, and --groups, the list of all groups")
    if by is None or groups is None:
        return Votes(opened, columns, declared, skip_invalid)
    _require_column(opened.table.columns, "by", by)
    return Votes(opened, replace(columns, group=by), declared, skip_invalid, declare_groups(groups))


def _items_in(source: files.Source, columns: Columns) -> Items:
    sides = [source.table.select(item=_text(source.table[name])).distinct() for name in (columns.a, columns.b)]
    names = sides[0].union(sides[1], distinct=True)
    found = collect(source, names.filter(names.item.notnull() & (names.item != "")))["item"].to_pylist()
    if not found:
        raise VotesError(f"{source.name} has no votes; give a file with a header and one row per vote")
    # Sorted in Python: the order of text differs between engines.
    return Items(tuple(sorted(found)), from_votes=True)


def _open(source: object, delimiter: str | None) -> files.Source:
    if isinstance(source, str | Path):
        return files.open_file(source, delimiter)
    # Told by module and not by class, so that none of these libraries is imported for nothing.
    library = type(source).__module__.partition(".")[0]
    data: Any = source
    if library == "ibis":
        return files.Source(data, None, "an Ibis table")
    if library == "pyarrow":
        return files.open_arrow(data, "a pyarrow table")
    if library == "polars":
        frame = data.collect() if hasattr(data, "collect") else data
        return files.open_arrow(frame.to_arrow(), "a polars table")
    if library == "pandas":
        return files.open_arrow(_from_pandas(data), "a pandas table")
    raise VotesError(f"cannot read votes from a {type(source).__name__}; give a path, a data frame or an Ibis table")


def _from_pandas(frame: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise VotesError(
            f"cannot read the pandas table ({files.first_line(error)}); give each column one type and its own name"
        ) from None


def recognise(names: Sequence[str], **given: str | None) -> Columns:
    """The meaning of the columns: as given, or by their common names."""
    for option, name in given.items():
        _require_column(names, option, name)
    person = given["person"] or _only_one(names, PERSON_NAMES)
    if not given["tie"] and len(found := _called(names, TIE_NAMES)) > 1:
        raise VotesError(f"more than one column could flag ties ({', '.join(found)}); choose one with --tie")
    if given["winner"] or given["loser"]:
        return _winner_loser(names, given, person)
    if given["a"] or given["b"] or given["outcome"]:
        return _pair_outcome(names, given, person)
    return _by_common_names(names, given, person)


def _require_column(names: Sequence[str], option: str, name: str | None) -> None:
    if name is not None and name not in names:
        raise VotesError(f"there is no column {name!r} for --{option}; the columns are {_listed(names)}")


def _winner_loser(names: Sequence[str], given: dict[str, str | None], person: str | None) -> Columns:
    winner, loser = given["winner"], given["loser"]
    if winner is None or loser is None or given["a"] or given["b"] or given["outcome"]:
        raise VotesError("give --winner and --loser together, or --a, --b and --outcome together")
    return Columns(winner, loser, tie=given["tie"] or _only_one(names, TIE_NAMES), person=person)


def _pair_outcome(names: Sequence[str], given: dict[str, str | None], person: str | None) -> Columns:
    a, b, outcome = given["a"], given["b"], given["outcome"]
    if a is None or b is None or outcome is None:
        raise VotesError("give --a, --b and --outcome together, or --winner and --loser together")
    if given["tie"]:
        raise VotesError("--tie goes with --winner and --loser; an outcome column says 'tie' itself")
    return Columns(a, b, outcome=outcome, person=person)


def _by_common_names(names: Sequence[str], given: dict[str, str | None], person: str | None) -> Columns:
    known = {name.lower(): name for name in names}
    tie = given["tie"] or _only_one(names, TIE_NAMES)
    found = [
        Columns(known[winner], known[loser], tie=tie, person=person)
        for winner, loser in WINNER_LOSER_NAMES
        if winner in known and loser in known
    ]
    for a, b in PAIR_NAMES if given["tie"] is None else ():
        outcomes = [known[name] for name in OUTCOME_NAMES if name in known]
        if a in known and b in known:
            found += [Columns(known[a], known[b], outcome=outcome, person=person) for outcome in outcomes]
    if len(found) == 1:
        return found[0]
    problem = "do not say which column is which" if not found else "can be read in more than one way"
    raise VotesError(f"the columns {_listed(names)} {problem}; give --winner and --loser, or --a, --b and --outcome")


def _called(names: Sequence[str], common: Sequence[str]) -> list[str]:
    """The columns that have one of the common names."""
    return [name for name in names if name.lower() in common]


def _only_one(names: Sequence[str], common: Sequence[str]) -> str | None:
    found = _called(names, common)
    return found[0] if len(found) == 1 else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _text(column: ir.Value) -> ir.Value:
    """A cell as text. A column of integers with a gap arrives as floating point: 7.0 is 7, and NaN is a gap."""
    import ibis

    if not column.type().is_floating():
        return column.cast("string")
    whole = (column == column.floor()) & (column.abs() < 2**53)
    return ibis.cases(
        (column.isnan(), ibis.null("string")),
        (whole, ibis.ifelse(whole, column, 0).cast("int64").cast("string")),
        else_=column.cast("string"),
    )


def _cases(cases: list[tuple[ir.Value, int]]) -> ir.Value:
    import ibis

    return ibis.cases(*cases, else_=None).cast("int8")


def _unreadable(source: files.Source, error: Exception) -> VotesError:
    """What DuckDB could not read, in our words."""
    first = files.first_line(error)
    if "unicode" in str(error).lower() or "utf-8" in str(error).lower():
        return files.not_utf8(source.name, first)
    bad = files.ragged_rows(source.file) if source.file is not None else []
    if bad:
        return VotesError(
            f"{source.name} has rows that do not fit its header, such as {'; '.join(bad)}; mend them, "
            "or say which character parts the columns with --delimiter"
        )
    return VotesError(f"{source.name} cannot be read ({first}); mend the file")
