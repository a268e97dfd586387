"""Parquet files in, a scan out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from quietrank.errors import VotesError
from quietrank.votes.formats.scan import PLAIN, Ready, Scan, literals, require_same
from quietrank.votes.private import start_engine

MARK = b"PAR1"


def scan_parquet(ready: Sequence[Ready]) -> Scan:
    """All files; the order of columns may differ between them, and types only in columns that name nothing."""
    for file in ready:
        _require_mark(file)
    schemas = [_schema(file) for file in ready] if len(ready) > 1 else []
    inexact: dict[str, str] = {}
    for file, schema in zip(ready, schemas, strict=False):
        require_same(ready[0].name, schemas[0], file.name, schema)
        for column, kind in schema.items():
            if kind != schemas[0][column]:
                inexact.setdefault(column, f"{schemas[0][column]} in {ready[0].name} and {kind} in {file.name}")
    return Scan(tuple(schemas[0]) if schemas else (), (f"read_parquet({literals(ready)}, {PLAIN}",), inexact)


def _require_mark(file: Ready) -> None:
    """Refuse a file that does not begin and end as every Parquet file does."""
    try:
        with file.path.open("rb") as stream:
            marks = [stream.read(len(MARK))]
            stream.seek(-len(MARK), os.SEEK_END)
            marks.append(stream.read(len(MARK)))
    except OSError:
        marks = []
    if marks != [MARK, MARK]:
        raise _not_parquet(file)


def _schema(file: Ready) -> dict[str, Any]:
    """The columns with their types, from the file's end."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        schema = pa.parquet.read_schema(file.path)
    except (pa.ArrowException, OSError, ValueError):
        raise _not_parquet(file) from None
    return dict(zip(schema.names, schema.types, strict=True))


def first_damaged(ready: Sequence[Ready]) -> Ready | None:
    """The first file of which not every cell can be read; for an error message, after a query has failed."""
    import duckdb

    connection = start_engine().connection.con
    for file in ready:
        try:
            connection.execute(
                f"SELECT bit_xor(hash(v)) FROM read_parquet({literals([file])}, {PLAIN}) AS v"
            ).fetchall()
        except duckdb.Error:
            return file
    return None


def _not_parquet(file: Ready) -> VotesError:
    return VotesError(f"{file.name} is not a Parquet file that can be read; write it again, or use CSV")
