"""What the formats have in common: how a caller wants files to be read, files that are ready for the engine, and the
SQL that reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from quietrank.errors import VotesError, option
from quietrank.votes.paths import Part

if TYPE_CHECKING:
    from quietrank.votes.formats.csv import TextFile

InputFormatWord = Literal["csv", "jsonl", "json", "parquet", "xlsx"]
FILE = "__quietrank_file__"
PLAIN = "hive_partitioning=false"
"""A folder called winner=X must not fill the column `winner`."""


@dataclass(frozen=True)
class Dialect:
    """How files are to be read, where that is not detected; checked where it is used."""

    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    input_format: str | None = None
    header_rows: int | None = None
    """rows of a CSV file between the names of its columns and the votes"""


@dataclass(frozen=True)
class Ready:
    """A file that the engine can read: the file of votes itself, or a private copy of it in UTF-8."""

    part: Part
    path: Path
    compression: str = "none"
    delimiter: str | None = None
    """of a copy that was written here"""

    @property
    def name(self) -> str:
        return self.part.name


@dataclass(frozen=True)
class Scan:
    """The SQL that reads all files, and what it gives."""

    columns: tuple[str, ...]
    """needed where files are read in several ways"""
    reads: tuple[str, ...]
    """calls of table functions without their last bracket; files that are read alike are read by one"""
    inexact: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[TextFile, ...] = ()

    def sql(self, *, with_file: bool) -> str:
        """The rows of all files; `with_file`: also the path that each row was read from."""
        more = f", filename={quoted(FILE)})" if with_file else ")"
        if len(self.reads) == 1:
            return self.reads[0] + more
        names = ", ".join(map(identifier, (*self.columns, *([FILE] if with_file else []))))
        return "(" + " UNION ALL ".join(f"SELECT {names} FROM {read}{more}" for read in self.reads) + ")"


def check_header(name: str, columns: Sequence[str], delimiter: str) -> None:
    """Refuse columns without a name, or with the same."""
    if len(columns) < 2:
        raise VotesError(
            f"{name} has a single column {columns[0]!r} when split at {delimiter!r}; "
            f"say which character separates the columns with {option('delimiter')}"
        )
    blank = [str(place) for place, column in enumerate(columns, 1) if not column.strip()]
    if blank:
        raise VotesError(
            f"{name}: column {', '.join(blank)} has no name in the header; name every column (in R: write.csv(…, "
            "row.names = FALSE), in pandas: to_csv(…, index=False))"
        )
    # DuckDB's column names do not distinguish upper and lower case.
    repeated = [column for column, count in Counter(column.lower() for column in columns).items() if count > 1]
    if repeated:
        raise VotesError(f"{name}: the column name {repeated[0]!r} appears twice in the header; rename one of them")


def require_same(first: str, columns: Iterable[str], name: str, others: Iterable[str]) -> None:
    """Refuse a file whose columns are not those of the first."""
    missing, more = sorted(set(columns) - set(others)), sorted(set(others) - set(columns))
    if missing or more:
        odd = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"also has {', '.join(more)}"] * bool(more)
        raise VotesError(
            f"{name} does not have the columns of {first}: it {' and '.join(odd)}; give files with the same columns"
        )


def literal(path: Path) -> str:
    """The path for DuckDB, which would read *, ? and [ in a name as a pattern for many files."""
    return quoted("".join(f"[{c}]" if c in "*?[" else c for c in str(path)))


def literals(ready: Iterable[Ready]) -> str:
    return "[" + ", ".join(literal(one.path) for one in ready) + "]"


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def all_text(columns: Iterable[str]) -> str:
    """The columns for DuckDB, every one as text."""
    return "{" + ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in columns) + "}"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def first_line(error: Exception) -> str:
    """What an error says, in one line; its kind if it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def cannot_read(what: Path | str, error: Exception) -> VotesError:
    return VotesError(f"{what} cannot be read ({first_line(error)}); fix the file, or use CSV")
