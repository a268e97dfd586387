"""Files in; their columns, first rows and answers as they are written out, for the data holder who says what they mean.

Confidential: raw cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quietrank.votes.cells import text
from quietrank.votes.databases import Place
from quietrank.votes.formats.scan import Dialect
from quietrank.votes.private import ALL_OF_IT
from quietrank.votes.read import Votes
from quietrank.votes.shapes.long import Long
from quietrank.votes.shapes.wide import Wide
from quietrank.votes.sources import collect, open_votes

ROWS, MOST_COLUMNS, MOST_WORDS, LONGEST = 4, 60, 24, 80


@dataclass(frozen=True, repr=False)
class Preview:
    """What a file looks like."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """the first few, of the first columns"""


def preview(
    source: object,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    input_format: str | None = None,
    header_rows: int | None = None,
    **_: Any,
) -> Preview:
    """The columns and the first rows of a file, whatever it means; other words of `read_votes` change nothing."""
    dialect = Dialect(delimiter, encoding, sheet, input_format, header_rows)
    opened = open_votes(source, dialect, Place(), ALL_OF_IT)
    shown = opened.columns[:MOST_COLUMNS]
    raw = opened.read(shown)
    table = raw.table.select([text(raw.table[name]).name(f"c{place}") for place, name in enumerate(shown)])
    rows = collect(raw, table.limit(ROWS), "looking at the first rows").to_pylist()
    return Preview(opened.columns, tuple(tuple(map(_cell, row.values())) for row in rows))


def _cell(value: object) -> str:
    written = "" if value is None else str(value)
    return written if len(written) <= LONGEST else written[: LONGEST - 1] + "…"


def answers(votes: Votes) -> tuple[str, ...]:
    """The different answers in the columns that say who won, as written; none where items themselves are named there,
    or if there are too many to be answers."""
    import ibis

    columns = _answer_columns(votes)
    if not columns:
        return ()
    table = votes.source.table
    words = [table.select(word=text(table[name])).distinct() for name in columns[:MOST_COLUMNS]]
    distinct = (words[0] if len(words) == 1 else ibis.union(*words, distinct=True)).limit(MOST_WORDS + 1)
    answered = [word for word in collect(votes.source, distinct, "looking at the answers")["word"].to_pylist() if word]
    return () if len(answered) > MOST_WORDS else tuple(sorted(answered))


def _answer_columns(votes: Votes) -> Sequence[str]:
    shape = votes.shape
    if isinstance(shape, Wide):
        return [column for column in shape.columns if column not in (shape.person, shape.group)]
    return [shape.outcome] if isinstance(shape, Long) and shape.outcome is not None else []
