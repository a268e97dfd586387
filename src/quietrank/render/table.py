"""A `Release` in, a table for the terminal out."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from quietrank.release import Release

HEADINGS = {"rank": "rank", "item": "item", "score": "score", "win_rate": "win rate", "net_wins": "net wins"}
FORMATS = {"rank": "d", "score": ".3f", "win_rate": ".3f", "net_wins": ".1f"}
MOST_ROWS = 100


def render(release: Release) -> Group:
    """The ranking with the promise under it."""
    table = Table(box=box.SIMPLE_HEAD)
    columns = [name for name in HEADINGS if getattr(release.ranking[0], name) is not None]
    if release.method in ("net-wins", "win-rate"):
        columns.remove("score")  # it would repeat the column it is ranked by
    for name in columns:
        table.add_column(HEADINGS[name], justify="left" if name == "item" else "right", overflow="fold")
    for row in release.ranking[:MOST_ROWS]:
        table.add_row(*(format(getattr(row, name), FORMATS.get(name, "")) for name in columns))
    return Group(Text(_title(release), style="bold"), table, *_notes(release))


def as_text(release: Release, width: int = 100) -> str:
    """The same as plain text."""
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None).print(render(release))
    return stream.getvalue()


def _title(release: Release) -> str:
    privacy = release.privacy
    return f"{len(release.ranking)} items by {release.method}, ε = {privacy.epsilon:g} per {privacy.unit}"


def _notes(release: Release) -> list[Text]:
    left_out = len(release.ranking) - MOST_ROWS
    notes = [Text(f"… and {left_out} more; --format csv shows all.", style="dim")] if left_out > 0 else []
    notes.append(Text(release.privacy.statement))
    notes += [Text(f"Note: {assumption}", style="dim") for assumption in release.assumptions]
    return notes
