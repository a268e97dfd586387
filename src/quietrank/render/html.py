"""What is shown in a terminal in, HTML for a notebook out: the same table and sentences, every text escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from rich.console import Group
from rich.table import Table
from rich.text import Text


def as_html(rendered: Group) -> str:
    """A plain table and paragraphs, without styles or scripts that a page would have to trust."""
    return "<div>\n" + "\n".join(_part(part) for part in rendered.renderables) + "\n</div>"


def _part(part: object) -> str:
    return _table(part) if isinstance(part, Table) else f"<p>{_marked(part)}</p>"


def _marked(part: object) -> str:
    """A sentence, bold or dim as in the terminal."""
    style = str(part.style) if isinstance(part, Text) else ""
    tag = "b" if "bold" in style else "small" if "dim" in style else ""
    text = escape(plain(part))
    return f"<{tag}>{text}</{tag}>" if tag else text


def _table(table: Table) -> str:
    sides: list[str] = [column.justify for column in table.columns]
    heading = _row("th", sides, [plain(column.header) for column in table.columns])
    rows = [_row("td", sides, texts) for texts in cells(table)]
    caption = f"\n<p><small>{escape(plain(table.caption))}</small></p>" if table.caption else ""
    body = "\n".join(rows)
    return f"<table>\n<thead>\n{heading}\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>{caption}"


def cells(table: Table) -> Iterator[list[str]]:
    """The texts of the table, a row at a time."""
    for row in zip(*(column.cells for column in table.columns), strict=True):
        yield [plain(cell) for cell in row]


def _row(tag: str, sides: list[str], cells: list[str]) -> str:
    return "<tr>" + "".join(map(_cell, [tag] * len(cells), sides, cells)) + "</tr>"


def _cell(tag: str, side: str, text: str) -> str:
    return f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'


def plain(part: object) -> str:
    return part.plain if isinstance(part, Text) else str(part)
