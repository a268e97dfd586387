"""Files of votes in, an Ibis table out; the rows stay in the engine (DuckDB).

A file's name decides its format: CSV and TSV, Parquet, JSON and JSON Lines, Excel; text formats may be compressed
(.gz, .zst). Which files a path stands for is said by `paths.py`, and how each format is read by `formats/`. The list of
files is fixed when they are opened, and each must still be the same when its rows have been read.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from quietrank.errors import VotesError, either, option
from quietrank.votes import paths
from quietrank.votes.databases import without_secrets
from quietrank.votes.engines import DUCKDB, Engine
from quietrank.votes.formats import excel, text
from quietrank.votes.formats.csv import TextFile, scan_csv
from quietrank.votes.formats.json import scan_json
from quietrank.votes.formats.parquet import scan_parquet
from quietrank.votes.formats.preflib import SUFFIXES, Codes, scan_preflib
from quietrank.votes.formats.scan import (
    FILE,
    Dialect,
    InputFormatWord,
    Ready,
    Scan,
    cannot_read,
    identifier,
    quoted,
)
from quietrank.votes.paths import Part
from quietrank.votes.private import ALL_OF_IT, OwnEngine, Resources, start_engine

if TYPE_CHECKING:
    import ibis.expr.types as ir

ROW = "__quietrank_row__"

KINDS = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".xlsx": "xlsx", **dict.fromkeys(SUFFIXES, "PrefLib"),
}  # fmt: skip
"""formats by the ending of a name"""
OTHER_PROGRAMS = {
    ".sav": "SPSS", ".zsav": "SPSS", ".por": "SPSS", ".dta": "Stata", ".rds": "R", ".rda": "R", ".rdata": "R",
    ".sas7bdat": "SAS", ".xls": "old versions of Excel", ".ods": "LibreOffice",
}  # fmt: skip
INPUT_FORMATS = get_args(InputFormatWord)


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
    """with ROW and, where there are several files, FILE: rows are numbered through all of them"""
    name: str
    engine: Engine = DUCKDB
    ready: tuple[Ready, ...] = ()
    """the files, as they are read"""
    texts: tuple[TextFile, ...] = ()
    """those of them that are CSV"""
    stamps: Mapping[Path, Stamp] = field(default_factory=dict)
    """the files' stamps when they were opened"""
    inexact: Mapping[str, str] = field(default_factory=dict)
    """columns whose cells the engine would not preserve as they are written, each with an example"""
    codes: Codes = ()
    """the items, where the file itself lists them"""
    secret: str | None = field(default=None, repr=False)
    """the URL of the database, which no message may show"""
    assumed: str | None = None
    """what is assumed about where the rows come from, if that is not simply a table or files"""

    @property
    def is_sheet(self) -> bool:
        """Whether the rows come from a workbook, in which empty rows at the end are no rows."""
        return any(file.delimiter == excel.DELIMITER for file in self.ready)

    @property
    def ours(self) -> bool:
        """Whether the engine is quietrank's own, which compares text byte by byte and which nobody else changes."""
        return self.numbered is not None

    def require_unchanged(self) -> None:
        """Refuse what was read if a file has changed since it was opened."""
        for path, stamp in self.stamps.items():
            if not _is_same(path, stamp):
                raise VotesError(
                    f"{path} was changed after it was opened; wait until nobody writes to it, or copy it, and "
                    f"{either('read it again with read_votes', 'run the command again')}"
                )

    def called(self, path: str) -> str:
        """What the file is called that the engine reads from this path."""
        return next((file.name for file in self.ready if str(file.path) == path), path)

    def in_words(self, message: str) -> str:
        """The engine's message, with the names of files instead of those of private copies, and without passwords."""
        if self.secret is not None:
            message = without_secrets(message, self.secret)
        for file in self.ready:
            if str(file.path) != file.name:
                message = message.replace(str(file.path), file.name)
        return message


def _is_same(path: Path, stamp: Stamp) -> bool:
    try:
        return Stamp.of(path) == stamp
    except OSError:
        return False


def open_files(source: object, dialect: Dialect, resources: Resources = ALL_OF_IT) -> Source:
    """Open all files that a path, a folder, a pattern, or a list of these stands for."""
    parts = paths.find(source)
    stamps = stamps_of(parts)
    kind = kind_of(parts, dialect.input_format)
    _check_dialect(kind, dialect)
    engine = start_engine(resources)
    ready = tuple(_ready(engine, part, place, kind, dialect) for place, part in enumerate(parts))
    if kind == "PrefLib":
        return _preflib(engine, ready, stamps)
    scan = _scan(kind, ready, dialect, engine)
    return _source(engine, scan, paths.name_of([part.name for part in parts]), ready, stamps)


def open_arrow(data: Any, name: str, resources: Resources = ALL_OF_IT) -> Source:
    """Open a copy of a pyarrow table: later changes to its memory by its owner must not change the votes."""
    import pyarrow as pa

    # A column with nothing but missing values has a type of its own, which the engine does not know how to compare.
    texts = [field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in data.schema]
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, pa.schema(texts)) as writer:
        writer.write_table(data.cast(pa.schema(texts)))
    engine = start_engine(resources)
    engine.connection.con.register("votes", pa.ipc.open_stream(stream.getvalue()).read_all())
    return _source(engine, Scan((), ("(SELECT * FROM votes",)), name)


# ---- which files, and what they are ----------------------------------------------------------------------------------


def stamps_of(parts: Sequence[Part]) -> dict[Path, Stamp]:
    """The stamp of every file, before anything is read; the same file twice would count its votes twice."""
    stamps: dict[Path, Stamp] = {}
    seen: dict[tuple[int, int], str] = {}
    for name, count in Counter(part.name for part in parts).items():
        if count > 1:
            raise VotesError(f"{name} is given twice; give every file once")
    for part in parts:
        if part.is_standard_input:
            continue
        stamp = stamps[part.path] = _stamp(part.path)
        if (other := seen.setdefault((stamp.device, stamp.inode), part.name)) != part.name:
            raise VotesError(f"{part.name} is the same file as {other}; give every file once")
    return stamps


def _stamp(path: Path) -> Stamp:
    try:
        stamp = Stamp.of(path)
    except OSError as error:
        raise VotesError(f"cannot read {path}: {error.strerror}; check the file") from None
    if stamp.size == 0:
        raise VotesError(f"{path} is empty; give a file with a header and one row per vote")
    return stamp


def kind_of(parts: Sequence[Part], input_format: str | None) -> str:
    """The format of all files."""
    if input_format is not None:
        if input_format not in INPUT_FORMATS:
            raise VotesError(
                f"{option('input_format')} must be one of {', '.join(INPUT_FORMATS)}; got {input_format!r}"
            )
        return input_format
    kinds = {part.name: _kind(part, alone=len(parts) == 1) for part in parts}
    first = parts[0].name
    for name, kind in kinds.items():
        if kind[:4] != kinds[first][:4]:  # .json may hold lines as well
            raise VotesError(
                f"{name} is {kind} and {first} is {kinds[first]}; give files of one format, for example by a pattern "
                "such as 'votes/*.parquet'"
            )
    return "json" if "json" in kinds.values() else kinds[first]


def _kind(part: Part, *, alone: bool) -> str:
    suffixes = [suffix.lower() for suffix in part.path.suffixes]
    if suffixes and suffixes[-1] in text.COMPRESSIONS:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    if part.is_standard_input:
        return "csv"
    if last in OTHER_PROGRAMS:
        raise VotesError(
            f"{part.path.name} is a file of {OTHER_PROGRAMS[last]}, which quietrank does not read; export it as CSV "
            f"from {OTHER_PROGRAMS[last]}"
        )
    if last not in KINDS:
        other = "" if alone else "; or leave it out, for example by a pattern such as 'votes/*.parquet'"
        raise VotesError(
            f"cannot tell the format of {part.path.name}: name it .csv, .tsv, .parquet, .jsonl, .json or .xlsx "
            f"(.csv.gz, .csv.zst and so on too), or say it with {option('input_format')}{other}"
        )
    return KINDS[last]


def _check_dialect(kind: str, dialect: Dialect) -> None:
    if dialect.sheet is not None and kind != "xlsx":
        raise VotesError(f"{option('sheet')} is for Excel workbooks, and these votes are {kind}; leave it out")
    if dialect.encoding is not None:
        if kind in ("parquet", "xlsx"):
            raise VotesError(f"{option('encoding')} is for text files, and these votes are {kind}; leave it out")
        text.require_encoding(dialect.encoding)


# ---- ready for the engine --------------------------------------------------------------------------------------------


def _ready(engine: OwnEngine, part: Part, place: int, kind: str, dialect: Dialect) -> Ready:
    """The file itself, or a private copy where the engine cannot read it, or would read it wrongly.

    DuckDB reads zstd, but takes a file that was cut off for one that ends there: so it is decompressed here.
    """
    if part.is_standard_input:
        part_path = _copy(engine, f"{place}.input", lambda target: shutil.copyfileobj(sys.stdin.buffer, target))
    else:
        part_path = part.path
    if kind == "parquet":
        return Ready(part, part_path)
    if kind == "xlsx":
        sheet = _copy(
            engine, f"{place}.csv", lambda target: excel.write_sheet(part_path, part.name, dialect.sheet, target)
        )
        return Ready(part, sheet, delimiter=excel.DELIMITER)
    compression = text.compression_of(part_path)
    encoding = "utf-8" if dialect.encoding is None else text.require_encoding(dialect.encoding)
    if encoding == "utf-8" and compression != "zstd":
        return Ready(part, part_path, compression)

    def write(target: Any) -> None:
        with text.open_bytes(part_path, part.name, compression) as stream:
            if encoding == "utf-8":
                shutil.copyfileobj(stream, target)
            else:
                text.copy_as_utf8(stream, target, part.name, encoding)

    return Ready(part, _copy(engine, f"{place}.text", write))


def _copy(engine: OwnEngine, name: str, write: Callable[[Any], None]) -> Path:
    """A new private file with what `write` writes into it."""
    with engine.new_file(name) as target:
        write(target)
    return engine.folder / name


def _scan(kind: str, ready: Sequence[Ready], dialect: Dialect, engine: OwnEngine) -> Scan:
    if kind == "parquet":
        return scan_parquet(ready)
    if kind in ("json", "jsonl"):
        return scan_json(ready, kind, engine.connection)
    return scan_csv(ready, dialect)


# ---- the table -------------------------------------------------------------------------------------------------------


def _source(
    engine: OwnEngine,
    scan: Scan,
    name: str,
    ready: tuple[Ready, ...] = (),
    stamps: Mapping[Path, Stamp] | None = None,
) -> Source:
    import duckdb

    keyed = any(file.part.keys for file in ready)
    plain, numbered = scan.sql(with_file=keyed), _numbered(scan.sql(with_file=keyed or len(ready) > 1))
    try:
        if keyed:
            _require_new_columns(engine.connection, scan, ready)
            plain, numbered = _with_keys(plain, ready, f"v.* EXCLUDE ({FILE})"), _with_keys(numbered, ready, "v.*")
        votes, rows = _views(engine, plain, numbered)
    except duckdb.Error as error:
        raise cannot_read(name, error) from None
    return Source(votes, rows, name, ready=ready, texts=scan.texts, stamps=stamps or {}, inexact=scan.inexact)


def _numbered(rows: str) -> str:
    return f"(SELECT *, row_number() OVER () AS {ROW} FROM {rows})"


def _views(engine: OwnEngine, plain: str, numbered: str) -> tuple[ir.Table, ir.Table]:
    """The rows, and the numbered rows, as tables of the engine."""
    views = {"quietrank_votes": plain, "quietrank_rows": numbered}
    for name, rows in views.items():
        engine.connection.raw_sql(f"CREATE TEMP VIEW {name} AS SELECT * FROM {rows}")
    votes, rows_in_order = map(engine.connection.table, views)
    return votes, rows_in_order


def _preflib(engine: OwnEngine, ready: tuple[Ready, ...], stamps: Mapping[Path, Stamp]) -> Source:
    """The voters of one PrefLib file, whose header names the items."""
    import duckdb

    if len(ready) > 1:
        raise VotesError("PrefLib files number their items each by itself, so they are read one at a time; give one")
    (file,) = ready
    scan = scan_preflib(file, engine.connection)
    try:
        votes, rows = _views(engine, scan.voters, _numbered(scan.lines))
    except duckdb.Error as error:
        raise cannot_read(file.name, error) from None
    return Source(votes, rows, file.name, ready=ready, stamps=stamps, codes=scan.codes)


def _require_new_columns(connection: Any, scan: Scan, ready: Sequence[Ready]) -> None:
    """Refuse a folder whose key is also a column of the files: one of the two would hide the other."""
    columns = connection.con.execute(f"SELECT * FROM {scan.sql(with_file=False)} LIMIT 0").description
    known = {column[0].lower() for column in columns}
    for key, value in ready[0].part.keys:
        if key.lower() in known:
            raise VotesError(
                f"the column {key!r} is in {ready[0].name} and also in the name of its folder, {key}={value}; rename "
                "one of them, or give the files themselves"
            )


def _with_keys(rows: str, ready: Sequence[Ready], columns: str) -> str:
    """The rows with the keys of their files' folders, as text."""
    names = [key for key, _ in ready[0].part.keys]
    values = ", ".join(
        f"({quoted(str(file.path))}, {', '.join(_value(dict(file.part.keys)[name]) for name in names)})"
        for file in ready
    )
    unknown = "error('a file that was not listed was read')"
    keys = ", ".join(
        f"CASE WHEN k.{FILE} IS NULL THEN {unknown} ELSE k.{identifier(name)} END AS {identifier(name)}"
        for name in names
    )
    listed = f"(VALUES {values}) AS k({FILE}, {', '.join(map(identifier, names))})"
    return f"(SELECT {columns}, {keys} FROM {rows} AS v LEFT JOIN {listed} ON v.{FILE} = k.{FILE})"


def _value(value: str | None) -> str:
    return "NULL::VARCHAR" if value is None else f"{quoted(value)}::VARCHAR"
