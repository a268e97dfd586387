"""A result in, Markdown out: a table for a README or an issue, with what has to be said about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from quietrank.publish.grouped import GroupedRelease
from quietrank.render.cells import columns
from quietrank.render.headline import headline, headline_grouped
from quietrank.render.html import cells, plain
from quietrank.render.meaning import in_one_line, notes_of
from quietrank.render.screen import visible

if TYPE_CHECKING:
    from quietrank.publish.release import Release

SIGNS = re.compile(r"([\\`*_\[\]<>|~&$])")
"""what Markdown would take as its own, within a line"""


def as_markdown(result: Release | GroupedRelease) -> str:
    """The headline, the table, the promise and the notes."""
    parts = _grouped(result) if isinstance(result, GroupedRelease) else _single(result)
    return "\n\n".join(parts) + "\n"


def _single(release: Release) -> Iterator[str]:
    yield f"**{escaped(headline(release))}**"
    yield from _ranking_and_ties(release)
    yield from _small_print(release.statement, release, release.assumptions)


def _grouped(grouped: GroupedRelease) -> Iterator[str]:
    yield f"**{escaped(headline_grouped(grouped))}**"
    for group, release in grouped:
        by = "" if release is grouped.overall else f"{escaped(visible(grouped.by))} "
        yield f"{by}**{escaped(visible(group))}**: {escaped(headline(release))}"
        yield from _ranking_and_ties(release)
    yield from _small_print(grouped.statement, grouped.releases[0][1], notes_of(grouped))


def _ranking_and_ties(release: Release) -> Iterator[str]:
    yield _ranking(release)
    if release.ties is not None:
        yield escaped(release.ties.sentence)


def _small_print(statement: str, release: Release, notes: Sequence[str]) -> Iterator[str]:
    yield f"> {escaped(visible(statement))}"
    if notes:
        yield "\n".join(f"- {escaped(visible(note))}" for note in notes)
    yield escaped(visible(in_one_line(release)))


def _ranking(release: Release) -> str:
    shown = columns(release)
    sides = [":---" if column.is_text else "---:" for column in shown]
    rows = [[column.text(row) for column in shown] for row in release.ranking]
    return _lines([column.heading for column in shown], sides, rows)


def page_as_markdown(rendered: Group) -> str:
    """What a terminal shows: the same table and sentences."""
    return "\n\n".join(map(_part, rendered.renderables)) + "\n"


def _part(part: object) -> str:
    if not isinstance(part, Table):
        bold = "**" if isinstance(part, Text) and "bold" in str(part.style) else ""
        return f"{bold}{escaped(visible(plain(part)))}{bold}"
    sides = ["---:" if column.justify == "right" else ":---" for column in part.columns]
    return _lines([plain(column.header) for column in part.columns], sides, list(cells(part)))


def _lines(heads: Sequence[str], sides: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [[escaped(head) for head in heads], sides, *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    """The text with its signs escaped, so that it reads as it is written."""
    return SIGNS.sub(r"\\\1", text)
