"""Names of columns in, the pairs they are about out: only names are looked at, which are as public as the questions."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from quietrank.errors import VotesError, option
from quietrank.promise.arguments import at_home
from quietrank.promise.items import Items
from quietrank.votes.shapes.shape import first_few

PairColumns = str | os.PathLike[str] | Iterable[tuple[str, str, str]] | None
"""a pattern such as q_{a}_{b}, the path of a CSV file column,a,b, or its rows"""

PLAIN = (":", " vs ", " vs. ", " versus ", "_vs_")
"""separators that hardly anything but a pair has"""
COMMON = ("_", "-", "/", "|", " - ", ".")
"""separators that other columns have as well: both sides must be declared items"""


@dataclass(frozen=True)
class PairColumn:
    """A column, and the two items it compares."""

    column: str
    a: str
    b: str


@dataclass(frozen=True)
class Pattern:
    """How a column's name is made from two items."""

    before: str
    between: str
    after: str
    turned: bool = False
    """b comes first"""

    @classmethod
    def parse(cls, written: str) -> Pattern:
        """From text with {a} and {b}, each once."""
        if written.count("{a}") != 1 or written.count("{b}") != 1:
            raise VotesError(
                f"{option('pair_columns')} must be a pattern with {{a}} and {{b}}, such as q_{{a}}_{{b}}, or a CSV "
                f"file with the header column,a,b; got {written!r}"
            )
        first, second = sorted(("{a}", "{b}"), key=written.index)
        before, rest = written.split(first)
        between, after = rest.split(second)
        return cls(before, between, after, turned=first == "{b}")

    def sides(self, column: str) -> Iterator[tuple[str, str]]:
        """Every way to read the name."""
        if not (column.startswith(self.before) and column.endswith(self.after)):
            return
        core = column[len(self.before) : len(column) - len(self.after)]
        for place in range(1, len(core) - len(self.between)):
            if core.startswith(self.between, place):
                a, b = core[:place].strip(), core[place + len(self.between) :].strip()
                if a and b:
                    yield (b, a) if self.turned else (a, b)


def pairs_of(names: Sequence[str], given: PairColumns, items: Items | None) -> tuple[PairColumn, ...]:
    """The columns that are about pairs: as given, or by the items' names in them. Without items, these come from the
    names of columns. Empty if there are none; refused where there is doubt."""
    if isinstance(given, str | os.PathLike) and "{" not in os.fspath(given):
        return _as_listed(names, _read(at_home(os.fspath(given))), items)
    if given is not None and not isinstance(given, str | os.PathLike):
        return _as_listed(names, [PairColumn(*map(str, row)) for row in given], items)
    patterns = [Pattern("", between, "") for between in (*PLAIN, *COMMON)]
    if given is not None:
        patterns = [Pattern.parse(os.fspath(given))]
    if items is None:
        return _by_name_alone(names, patterns if given is not None else patterns[: len(PLAIN)])
    return _of_declared(names, patterns, items, strict=given is not None)


def _of_declared(
    names: Sequence[str], patterns: Sequence[Pattern], items: Items, *, strict: bool
) -> tuple[PairColumn, ...]:
    """Columns both of whose sides are declared; one that looks like them and is not is refused."""
    declared, pairs, used = set(items.names), list[PairColumn](), set[Pattern]()
    for column in names:
        readings = {sides: one for one in patterns for sides in one.sides(column) if declared.issuperset(sides)}
        if len(readings) > 1:
            raise _torn(column, list(readings))
        for (a, b), pattern in readings.items():
            pairs.append(_apart(PairColumn(column, a, b)))
            used.add(pattern)
    pair_names = {pair.column for pair in pairs}
    alike = set(patterns[: len(PLAIN)]) | used if pairs or strict else set()
    for column in names:
        if column not in pair_names:
            _require_other(column, alike, declared, strict)
    return tuple(pairs)


def _require_other(column: str, patterns: Iterable[Pattern], declared: set[str], strict: bool) -> None:
    """Refuse a column that is named like a pair, but with an item that is not declared."""
    for pattern in patterns:
        for a, b in pattern.sides(column):
            known = [side for side in (a, b) if side in declared]
            plain = pattern.between in PLAIN and not pattern.before + pattern.after
            if known or strict or plain:
                unknown = a if a not in declared else b
                raise VotesError(
                    f"the column {column!r} looks like a pair, but {unknown!r} is not a declared item; declare it with "
                    f"{option('items')}, or name the columns to read with {option('pair_columns')}"
                )


def _by_name_alone(names: Sequence[str], patterns: Sequence[Pattern]) -> tuple[PairColumn, ...]:
    """Columns whose names can be split in one way only."""
    pairs = []
    for column in names:
        readings = list(dict.fromkeys(sides for pattern in patterns for sides in pattern.sides(column)))
        if len(readings) > 1:
            raise _torn(column, readings)
        pairs += [_apart(PairColumn(column, a, b)) for a, b in readings]
    return tuple(pairs)


def _apart(pair: PairColumn) -> PairColumn:
    if pair.a == pair.b:
        raise VotesError(f"the column {pair.column!r} compares {pair.a!r} with itself; rename or remove it")
    return pair


def _torn(column: str, readings: Sequence[tuple[str, str]]) -> VotesError:
    ways = " or ".join(f"{a!r} against {b!r}" for a, b in readings[:3])
    return VotesError(
        f"the column {column!r} can be read as {ways}; say which with {option('pair_columns')} and a CSV file with the "
        "header column,a,b"
    )


def _as_listed(names: Sequence[str], listed: Sequence[PairColumn], items: Items | None) -> tuple[PairColumn, ...]:
    """The columns of a list, which must be there, each once, with declared items."""
    seen = set[str]()
    for pair in listed:
        if pair.column not in names:
            raise VotesError(
                f"{option('pair_columns')} lists {pair.column!r}, but there is no such column; the columns are "
                f"{first_few(names)}"
            )
        if pair.column in seen:
            raise VotesError(f"{option('pair_columns')} lists {pair.column!r} twice; list every column once")
        seen.add(pair.column)
        for side in (pair.a, pair.b):
            if items is not None and side not in items.names:
                raise VotesError(
                    f"{option('pair_columns')} says that {pair.column!r} is about {side!r}, which is not a declared "
                    f"item; declare it with {option('items')}, or correct the list"
                )
        _apart(pair)
    return tuple(listed)


def _read(path: Path) -> list[PairColumn]:
    """A CSV file with the header column,a,b; or with semicolons or tabs, if its header has them."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline()
            stream.seek(0)
            between = next((mark for mark in ",;\t" if mark in first), ",")
            header, *rows = [row for row in csv.reader(stream, delimiter=between) if row] or [[]]
    except (OSError, ValueError, csv.Error):
        raise VotesError(
            f"{option('pair_columns')} is no pattern with {{a}} and {{b}} and no CSV file that can be read: {path}"
        ) from None
    if [name.strip().lower() for name in header] != ["column", "a", "b"] or any(len(row) != 3 for row in rows):
        raise VotesError(f"{path} must be a CSV file with the header column,a,b and three cells in every row; fix it")
    return [PairColumn(*row) for row in rows]
