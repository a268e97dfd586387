"""A table in, the same table as wide as there is room for out: it leaves out its last columns, and says so.

Names are not broken and numbers not cut. Where there is no terminal, such as in a log file, there is room for all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table
from rich.text import Text

from quietrank.render.html import plain

if TYPE_CHECKING:
    from rich.console import RenderableType

LONGEST_NAME = 40
"""names up to this length are never broken"""
LONGEST_HEADING = 10
"""headings up to this length are not broken either, others only between words"""
NARROWEST_NAME = 8
PARAGRAPH = 100
"""the width of sentences where nothing limits it"""


class FittingTable(Table):
    """A table that leaves out its last columns where there is no room for them; `keep` columns always stay."""

    def __init__(self, *headings: Any, keep: int = 2, **look: Any) -> None:
        super().__init__(*headings, **look)
        self.keep = keep

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self._fitted(options.max_width)
        yield from Table.__rich_console__(table, console, options)
        if left_out := [plain(column.header) for column in self.columns[len(table.columns) :]]:
            listed = ", ".join(heading or "the last" for heading in left_out)
            yield Text(f"No room for: {listed}. A wider terminal or the CSV format shows all columns.", style="dim")

    def _fitted(self, room: int) -> FittingTable:
        """A copy with as many columns as there is room for, each with its width."""
        number = len(self.columns)
        while number > self.keep and self._of(number, [])._needed() > room:
            number -= 1
        fitted = self._of(number, [])
        return self._of(number, _widths(fitted.columns, room - _around(fitted)))

    def _of(self, number: int, widths: Sequence[int]) -> FittingTable:
        """A copy with the first columns; it shares their cells."""
        table = copy(self)
        table.columns = [copy(column) for column in self.columns[:number]]
        for column, width in zip(table.columns, widths, strict=False):
            column.width = width
        return table

    def _needed(self) -> int:
        return _around(self) + sum(map(_least, self.columns))


def _around(table: Table) -> int:
    """What padding and rules take at most."""
    _, right, _, left = table.padding
    return (left + right) * len(table.columns) + (len(table.columns) + 1 if table.box else 0)


def _texts(column: Column) -> list[str]:
    return [line for cell in column.cells for line in plain(cell).splitlines()]


def _natural(column: Column) -> int:
    """The width in which nothing is broken."""
    return max(map(cell_len, [plain(column.header), *_texts(column)]), default=0)


def _least(column: Column) -> int:
    """The width in which no number, no short name and no word of the heading is broken."""
    if column.no_wrap:
        return _natural(column)
    heading = plain(column.header)
    words = [heading] if cell_len(heading) <= LONGEST_HEADING else heading.split()
    longest = max(map(cell_len, _texts(column)), default=0)
    return max([min(longest, LONGEST_NAME) if is_name(column) else longest, *map(cell_len, words)])


def is_name(column: Column) -> bool:
    """Names stand on the left, numbers on the right."""
    return column.justify == "left"


def _widths(columns: Sequence[Column], room: int) -> list[int]:
    """The width of each column: names get what the others leave, and the others what names leave."""
    widths, natural = [_least(column) for column in columns], [_natural(column) for column in columns]
    spare = room - sum(widths)
    for k in sorted(range(len(columns)), key=lambda k: not is_name(columns[k])):
        if spare < 0 and is_name(columns[k]):
            change = -min(-spare, max(widths[k] - NARROWEST_NAME, 0))
        else:
            change = max(min(spare, natural[k] - widths[k]), 0)
        widths[k] += change
        spare -= change
    return widths


def fit_to_reader(console: Console, rendered: RenderableType, least: int = 0) -> None:
    """Where standard output is no terminal and nobody set COLUMNS, make room for all columns of all tables."""
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = width_of(rendered, max(least, PARAGRAPH))


def width_of(rendered: object, least: int) -> int:
    """The width in which no table is broken."""
    tables = [part for part in getattr(rendered, "renderables", [rendered]) if isinstance(part, Table)]
    return max([least, *(_natural_width(table) for table in tables)])


def _natural_width(table: Table) -> int:
    return _around(table) + sum(map(_natural, table.columns))
