"""A file of best–worst sets in (version, set, items), a table that votes can be joined with out.

The file is declared, like the list of items: it is no file of votes, and its largest set may be known.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quietrank.errors import VotesError, option
from quietrank.promise.arguments import file_path
from quietrank.votes.public_table import public_table

if TYPE_CHECKING:
    import ibis.expr.types as ir

VERSION_NAMES = ("version", "block", "design_version")
SET_NAMES = ("set", "task", "question", "set_number")
SEPARATORS = (";", "|", ",")
"""of items in one cell; the first of them that is in the cell separates"""

Key = tuple[str, ...]
"""version and set, or the set alone"""


@dataclass(frozen=True)
class DesignFile:
    """Which items each set shows, in order."""

    sets: tuple[tuple[Key, tuple[str, ...]], ...]
    has_versions: bool

    @property
    def largest(self) -> int:
        return max(len(items) for _, items in self.sets)

    @classmethod
    def read(cls, path: object, version: str | None, set: str | None) -> DesignFile:
        """From a CSV file with a header: version (if there are several), set, and the items in columns or one cell."""
        file = file_path(path, "design_file")
        header, rows = _cells(file)
        version_at, set_at = _place(header, version, VERSION_NAMES), _place(header, set, SET_NAMES)
        if set_at is None:
            raise VotesError(
                f"{file} has no column that numbers its sets; call it set, or name it with {option('set')} (the "
                f"columns are {', '.join(header)})"
            )
        keys = [place for place in (version_at, set_at) if place is not None]
        sets: dict[Key, tuple[str, ...]] = {}
        for line, row in rows:
            key = tuple(row[place] for place in keys)
            items = _items([cell for place, cell in enumerate(row) if place not in keys])
            _require_sound(file, line, key, items, sets)
            sets[key] = items
        if not sets:
            raise VotesError(f"{file} has no sets; give a header and one set per line")
        return cls(tuple(sets.items()), version_at is not None)

    def items(self) -> ir.Table:
        """Every name in it: `item`."""
        return public_table(item=sorted({item for _, items in self.sets for item in items}))

    def joined(self, rows: ir.Table, size: int) -> ir.Table:
        """The rows, whose of_version and of_set name a set, with shown_1 to shown_M, empty where a set has no
        further item, and `known`, NULL if it is not in the file."""
        names = ("version", "set") if self.has_versions else ("set",)
        columns: dict[str, Sequence[str]] = {
            f"in_{name}": [key[place] for key, _ in self.sets] for place, name in enumerate(names)
        }
        for k in range(size):
            # Empty, not NULL: on its way to Spark, Ibis turns a NULL in such a table into the text NaN.
            columns[f"shown_{k + 1}"] = [items[k] if k < len(items) else "" for _, items in self.sets]
        sets = public_table(**columns)
        joined = rows.left_join(sets.view(), [(f"of_{name}", f"in_{name}") for name in names])
        shown = [f"shown_{k + 1}" for k in range(size)]
        return joined.select(*rows.columns, *shown, known=joined.in_set).view()


def _cells(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header, and every other row with the number of its line; empty lines are left out."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = stream.read().splitlines()
    except UnicodeDecodeError:
        raise VotesError(f"{path} is not UTF-8 text; save the design file as UTF-8") from None
    except OSError:
        raise VotesError(f"there is no design file {path}; give a CSV file with version, set and items") from None
    if not "".join(lines).strip():
        raise VotesError(f"{path} is empty; give a header and one set per line")
    delimiter = max((",", ";", "\t"), key=lines[0].count)
    reader = csv.reader(lines, delimiter=delimiter)
    (_, header), *rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    for line, row in rows:
        if len(row) != len(header):
            raise VotesError(f"line {line} of {path} has {len(row)} cells, and the header {len(header)}; fix the file")
    return header, rows


def _place(header: Sequence[str], name: str | None, common: Sequence[str]) -> int | None:
    """Where the column is: by the name that it has in the votes, or by a common one."""
    if name is not None and name in header:
        return header.index(name)
    places = [place for place, column in enumerate(header) if column.lower() in common]
    return places[0] if len(places) == 1 else None


def _items(cells: Sequence[str]) -> tuple[str, ...]:
    """Items in columns, or all in one cell, separated by ; or | or ,"""
    if len(cells) == 1:
        separator = next((sign for sign in SEPARATORS if sign in cells[0]), SEPARATORS[0])
        cells = cells[0].split(separator)
    return tuple(cell.strip() for cell in cells if cell.strip())


def _require_sound(file: Path, line: int, key: Key, items: Sequence[str], sets: dict[Key, tuple[str, ...]]) -> None:
    named = f"line {line} of {file}"
    if key in sets:
        raise VotesError(f"{named} is the set {' '.join(key)} for the second time; number every set once")
    if len(items) < 2:
        raise VotesError(f"{named} has {len(items)} items; a set needs at least 2")
    repeated = [item for item in items if items.count(item) > 1]
    if repeated:
        raise VotesError(f"{named} has {repeated[0]!r} twice; show every item once in a set")
