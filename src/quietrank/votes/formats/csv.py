"""CSV files in, a scan out. Automatic detection of dialects guesses wrong on ragged or quoted files, so headers are
read here and DuckDB is told the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from quietrank.errors import VotesError, VotesUsageError, option
from quietrank.votes.formats import header
from quietrank.votes.formats.scan import (
    PLAIN,
    Dialect,
    Ready,
    Scan,
    all_text,
    check_header,
    literals,
    quoted,
    require_same,
)
from quietrank.votes.formats.text import head
from quietrank.votes.private import start_engine

DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class TextFile:
    """A CSV file that DuckDB reads without guessing."""

    file: Ready
    delimiter: str
    columns: tuple[str, ...]
    skip: int = 1
    """records before the votes: the header, whatever else survey tools write there, and a line such as sep=;"""

    def alike(self) -> tuple[object, ...]:
        """What files must have in common to be read together."""
        return self.delimiter, self.columns, self.skip, self.file.compression


def scan_csv(ready: Sequence[Ready], dialect: Dialect) -> Scan:
    """All files; the order of columns may differ between them."""
    texts = [_text_file(file, dialect) for file in ready]
    first = texts[0]
    for text in texts:
        require_same(first.file.name, first.columns, text.file.name, text.columns)
    reads = tuple(_read(list(group)) for _, group in groupby(texts, TextFile.alike))
    return Scan(first.columns, reads, texts=tuple(texts))


def _read(texts: Sequence[TextFile], **options: str) -> str:
    """The SQL that reads these files, every column as text, without its last bracket."""
    one = texts[0]
    extra = "".join(f", {key}={value}" for key, value in options.items())
    return (
        f"read_csv({literals(text.file for text in texts)}, auto_detect=false, header=false, skip={one.skip}, "
        f"delim={quoted(one.delimiter)}, quote='\"', escape='\"', compression={quoted(one.file.compression)}, "
        f"columns={all_text(one.columns)}, {PLAIN}{extra}"
    )


def _text_file(file: Ready, dialect: Dialect) -> TextFile:
    text = head(file)
    if text[0] in "\r\n":
        raise VotesError(f"{file.name} begins with an empty line; its first line must name the columns")
    said, text = _separator(text)
    delimiter = dialect.delimiter if dialect.delimiter is not None else file.delimiter or said or _guessed(text)
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise VotesUsageError(f"{option('delimiter')} must be a single character, such as ';'; got {delimiter!r}")
    columns, more = header.read(file.name, text, delimiter, dialect.header_rows)
    check_header(file.name, columns, delimiter)
    return TextFile(file, delimiter, columns, (said is not None) + 1 + more)


def _separator(text: str) -> tuple[str | None, str]:
    """The character that a first line such as sep=; says, which Excel writes, and the text after that line."""
    line, _, rest = text.replace("\r\n", "\n").partition("\n")
    if len(line) == 5 and line.lower().startswith("sep=") and rest:
        return line[4], rest
    return None, text


def _guessed(text: str) -> str:
    """The character that splits the first line into the most columns."""
    line = text.replace("\r", "\n").split("\n", 1)[0]
    return max(DELIMITERS, key=line.count)


def ragged_rows(text: TextFile, most: int = 3) -> list[str]:
    """What DuckDB says about the first rows of a CSV file that it cannot read, if it says anything."""
    import duckdb

    connection = start_engine().connection.con
    scan = _read([text], store_rejects="true", rejects_limit=str(most)) + ")"
    first = (
        "SELECT line, any_value(error_type), any_value(csv_line) FROM reject_errors GROUP BY line ORDER BY line LIMIT ?"
    )
    try:
        connection.execute(f"SELECT count(*) FROM (SELECT * FROM {scan})").fetchall()
        rejected = connection.execute(first, [most]).fetchall()
    except duckdb.Error:
        return []
    return [f"line {line} ({str(kind).lower().replace('_', ' ')}): {text!r}" for line, kind, text in rejected]
