"""A file of votes in, an Ibis table out; the rows stay in the engine (DuckDB).

The file's name decides the format: CSV and TSV, Parquet, JSON Lines; text formats may be gzipped. Automatic
detection of CSV dialects guesses wrong on ragged or quoted files, so the header is read here and DuckDB is told
the rest.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
import weakref
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietrank.errors import VotesError, either, option
from quietrank.promise.arguments import file_path
from quietrank.promise.declare import is_file, is_folder
from quietrank.votes import header

if TYPE_CHECKING:
    import ibis.expr.types as ir

DELIMITERS = (",", ";", "\t", "|")
HEADER_BYTES = 1 << 20
ROW = "__quietrank_row__"
PLAIN = "hive_partitioning=false"
"""A folder called winner=X must not fill the column `winner`."""


@dataclass(frozen=True)
class Stamp:
    """The identity of a file at one moment: a file that was changed or replaced since has another stamp."""

    device: int
    inode: int
    size: int
    modified: int
    """in nanoseconds"""

    @classmethod
    def of(cls, path: Path) -> Stamp:
        status = path.stat()
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Source:
    """A table of raw votes and, where they have an order, the same with a row number for error messages."""

    table: ir.Table
    numbered: ir.Table | None
    name: str
    engine: str = "duckdb"
    file: TextFile | None = None
    path: Path | None = None
    stamp: Stamp | None = None
    """the file's stamp when it was opened"""
    inexact: Mapping[str, str] = field(default_factory=dict)
    """columns whose cells the engine would not preserve as they are written, each with an example"""

    @property
    def ours(self) -> bool:
        """Whether the engine is quietrank's own, which compares text byte by byte and which nobody else changes."""
        return self.numbered is not None

    def require_unchanged(self) -> None:
        """Refuse what was read if the file has changed since it was opened."""
        if self.path is None:
            return
        try:
            same = Stamp.of(self.path) == self.stamp
        except OSError:
            same = False
        if not same:
            raise VotesError(
                f"{self.path} was changed after it was opened; wait until nobody writes to it, or copy it, and "
                f"{either('read it again with read_votes', 'run the command again')}"
            )


@dataclass(frozen=True)
class TextFile:
    """A CSV file that DuckDB reads without guessing."""

    path: Path
    delimiter: str
    columns: tuple[str, ...]
    header_rows: int = 0
    """further rows of the header, after the names, which are not votes"""

    def scan(self, **options: str) -> str:
        """The SQL that reads this file, every column as text."""
        extra = "".join(f", {key}={value}" for key, value in options.items())
        return (
            f"read_csv({_literal(self.path)}, auto_detect=false, header=false, skip={1 + self.header_rows}, "
            f"delim={_quoted(self.delimiter)}, quote='\"', escape='\"', "
            f"columns={_all_text(self.columns)}, {PLAIN}{extra})"
        )


def open_file(path: str | os.PathLike[str], delimiter: str | None = None, header_rows: int | None = None) -> Source:
    """Open a file of votes, in the format that its name says; `header_rows` of a CSV file follow its names."""
    path = file_path(path, "source")
    if not is_file(path):
        raise VotesError(
            f"{path} is a folder; give a file of votes"
            if is_folder(path)
            else f"there is no file {path}; check the path"
        )
    stamp = Stamp.of(path)  # before anything is read
    if stamp.size == 0:
        raise VotesError(f"{path} is empty; give a file with a header and one row per vote")
    kind = _kind(path)
    if kind == "parquet":
        source = _open_parquet(path)
    else:
        source = _open_json_lines(path) if kind == "json" else _open_csv(path, delimiter, header_rows)
    return replace(source, path=path, stamp=stamp)


def open_arrow(data: Any, name: str) -> Source:
    """Open a copy of a pyarrow table: later changes to its memory by its owner must not change the votes."""
    import pyarrow as pa

    # A column with nothing but missing values has a type of its own, which the engine does not know how to compare.
    texts = [field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in data.schema]
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, pa.schema(texts)) as writer:
        writer.write_table(data.cast(pa.schema(texts)))
    connection = _connect()
    connection.con.register("votes", pa.ipc.open_stream(stream.getvalue()).read_all())
    return _source(connection, "votes", name)


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    kinds = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}
    kinds |= {".jsonl": "json", ".ndjson": "json", ".json": "json"}
    if last not in kinds:
        raise VotesError(
            f"cannot tell the format of {path.name}: name it .csv, .tsv, .parquet or .jsonl (.csv.gz and .jsonl.gz too)"
        )
    return kinds[last]


def _connect() -> Any:
    import ibis

    # What does not fit into memory goes to files that only this user can read, in a folder that is deleted with the
    # connection or, at the latest, with the process. By default DuckDB would use the current folder.
    folder = tempfile.mkdtemp(prefix="quietrank-")
    connection = ibis.duckdb.connect(temp_directory=folder)
    weakref.finalize(connection.con, shutil.rmtree, folder, ignore_errors=True)
    connection.raw_sql("SET enable_progress_bar = false")
    return connection


def _source(connection: Any, scan: str, name: str, file: TextFile | None = None) -> Source:
    import duckdb

    try:
        connection.raw_sql(f"CREATE TEMP VIEW quietrank_votes AS SELECT * FROM {scan}")
        connection.raw_sql(f"CREATE TEMP VIEW quietrank_rows AS SELECT *, row_number() OVER () AS {ROW} FROM {scan}")
        votes, rows = connection.table("quietrank_votes"), connection.table("quietrank_rows")
        return Source(votes, rows, name, file=file)
    except duckdb.Error as error:
        raise _cannot_read(name, error) from None


def _open_parquet(path: Path) -> Source:
    scan = f"read_parquet({_literal(path)}, {PLAIN})"
    connection = _connect()
    try:
        return _source(connection, scan, str(path))
    except VotesError:
        raise VotesError(f"{path} is not a Parquet file that can be read; write it again, or use CSV") from None


def _open_csv(path: Path, delimiter: str | None, header_rows: int | None = None) -> Source:
    head = _head(path)
    if head[0] in "\r\n":
        raise VotesError(f"{path} begins with an empty line; its first line must name the columns")
    delimiter = _guess_delimiter(head) if delimiter is None else delimiter
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise VotesError(f"{option('delimiter')} must be a single character, such as ';'; got {delimiter!r}")
    columns, extra = header.read(path, head, delimiter, header_rows)
    _check_header(path, columns, delimiter)
    file = TextFile(path, delimiter, columns, extra)
    return _source(_connect(), file.scan(), str(path), file)


def _open_json_lines(path: Path) -> Source:
    first = _head(path).lstrip().split("\n", 1)[0]
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        record = None
    if not (isinstance(record, dict) and record):
        raise VotesError(f'{path} must hold one JSON object per line, such as {{"winner": "A", "loser": "B"}}')
    _check_header(path, tuple(record), ",")
    scan = f"read_json({_literal(path)}, format='newline_delimited', columns={_all_text(record)}, {PLAIN})"
    connection = _connect()
    source = _source(connection, scan, str(path))
    _require_same_keys(connection, path, record)
    return replace(source, inexact=_inexact_numbers(connection, path, record))


def _inexact_numbers(connection: Any, path: Path, record: dict[str, Any]) -> dict[str, str]:
    """The keys with a number that the engine would write differently, such as 0.10, each with an example.

    Whole numbers and text are preserved exactly; 0.1 and 0.10 become the same.
    """
    import duckdb

    columns = "{" + ", ".join(f"{_quoted(name)}: 'JSON'" for name in record) + "}"
    rows = f"read_json({_literal(path)}, format='newline_delimited', columns={columns}, {PLAIN})"
    first = ", ".join(f"min({name}) FILTER ({_INEXACT.format(name=name)})" for name in map(_identifier, record))
    try:
        (examples,) = connection.con.execute(f"SELECT {first} FROM {rows}").fetchall()
    except duckdb.Error as error:
        raise _cannot_read(path, error) from None
    return {name: str(example) for name, example in zip(record, examples, strict=True) if example is not None}


_INEXACT = (
    "WHERE json_type({name}) IN ('OBJECT', 'ARRAY') OR (json_type({name}) = 'DOUBLE' AND {name}::VARCHAR SIMILAR TO "
    "'.*[.a-zA-Z].*')"
)
"""A fraction, an exponent or infinity; an object or a list."""


def _cannot_read(what: Path | str, error: Exception) -> VotesError:
    return VotesError(f"{what} cannot be read ({first_line(error)}); fix the file, or use CSV")


def _require_same_keys(connection: Any, path: Path, record: dict[str, Any]) -> None:
    """Every line must have the same keys: otherwise one line would decide how all others are read."""
    import duckdb

    lines = f"read_json_objects({_literal(path)}, format='newline_delimited', {PLAIN})"
    keys = ", ".join(_quoted(key) for key in record)
    other = f"list_sort(json_keys(json)) IS DISTINCT FROM list_sort([{keys}])"
    query = f"SELECT line, json FROM (SELECT json, row_number() OVER () AS line FROM {lines}) WHERE {other} LIMIT 1"
    try:
        odd = connection.con.execute(query).fetchall()
    except duckdb.Error as error:
        raise _cannot_read(path, error) from None
    if odd:
        line, text = odd[0]
        raise VotesError(
            f"{path}: every line must have the keys of the first ({', '.join(record)}), but row {line} is "
            f"{text[:80]}; write every key in every line, with null where there is nothing"
        )


def _head(path: Path) -> str:
    """The beginning of a text file, decoded; encodings are checked here first."""
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rb") as stream:
            head = stream.read(HEADER_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise VotesError(f"cannot read {path}: {error}; check the file") from None
    if b"\0" in head:
        raise VotesError(f"{path} is not text (it has NUL bytes); save it as UTF-8")
    text = _decode(head, path).removeprefix("\ufeff")
    if not text.strip():
        raise VotesError(f"{path} is empty; give a file with a header and one row per vote")
    return text


def _decode(head: bytes, path: Path) -> str:
    try:
        return head.decode("utf-8")
    except UnicodeDecodeError as error:
        # A multi-byte character cut in two by the end of the buffer is not an error.
        if error.start >= HEADER_BYTES - 4:
            return head[: error.start].decode("utf-8")
        line = head[: error.start].count(b"\n") + 1
        raise not_utf8(path, f"line {line}") from None


def first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def not_utf8(path: str | Path, where: str) -> VotesError:
    return VotesError(f"{path} is not UTF-8 text ({where}); save it as UTF-8, or convert it with iconv")


def _guess_delimiter(head: str) -> str:
    """The character that splits the first line into the most columns."""
    line = head.replace("\r", "\n").split("\n", 1)[0]
    return max(DELIMITERS, key=line.count)


def _check_header(path: Path, columns: Sequence[str], delimiter: str) -> None:
    if len(columns) < 2:
        raise VotesError(
            f"{path} has a single column {columns[0]!r} when split at {delimiter!r}; "
            f"say which character separates the columns with {option('delimiter')}"
        )
    blank = [str(place) for place, name in enumerate(columns, 1) if not name.strip()]
    if blank:
        raise VotesError(f"{path}: column {', '.join(blank)} has no name in the header; name every column")
    # DuckDB's column names do not distinguish upper and lower case.
    repeated = [name for name, count in Counter(name.lower() for name in columns).items() if count > 1]
    if repeated:
        raise VotesError(f"{path}: the column name {repeated[0]!r} appears twice in the header; rename one of them")


def _literal(path: Path) -> str:
    """The path for DuckDB, which would read *, ? and [ in a name as a pattern for many files."""
    return _quoted("".join(f"[{c}]" if c in "*?[" else c for c in str(path)))


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _all_text(columns: Iterable[str]) -> str:
    """The columns for DuckDB, every one as text."""
    return "{" + ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in columns) + "}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def ragged_rows(file: TextFile, most: int = 3) -> list[str]:
    """What DuckDB says about the first rows of a CSV file that it cannot read, if it says anything."""
    import duckdb

    connection = _connect().con
    scan = file.scan(store_rejects="true", rejects_limit=str(most))
    first = (
        "SELECT line, any_value(error_type), any_value(csv_line) FROM reject_errors GROUP BY line ORDER BY line LIMIT ?"
    )
    try:
        connection.execute(f"SELECT count(*) FROM (SELECT * FROM {scan})").fetchall()
        rejected = connection.execute(first, [most]).fetchall()
    except duckdb.Error:
        return []
    return [f"line {line} ({str(kind).lower().replace('_', ' ')}): {text!r}" for line, kind, text in rejected]
