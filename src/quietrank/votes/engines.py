"""An Ibis table in; how its engine compares names, and a way to read it only once, out.

Engines differ in which names they treat as equal: DuckDB, SQLite and Spark compare bytes unless told otherwise,
PostgreSQL follows the column's collation, MySQL and SQL Server ignore case. Two people treated as one would share a
weight, so names are compared as bytes on every engine listed here, and any other engine is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from quietrank.errors import VotesError

if TYPE_CHECKING:
    import ibis.expr.types as ir

EXACT_DECIMALS = ("duckdb", "postgres", "pyspark")
"""Engines whose decimal(38, 0) is exact, which clipping needs."""


def require_supported(table: ir.Table) -> str:
    """The engine's name; an engine is refused unless it is known how to compare bytes in it."""
    import ibis.common.exceptions as ibis_errors

    try:
        engine = str(table.get_backend().name)
    except ibis_errors.IbisError:
        raise VotesError(
            "this Ibis table belongs to no connection; take it from one, for example connection.table(...)"
        ) from None
    if engine not in _BYTES:
        raise VotesError(
            f"votes in the engine {engine} cannot be counted, because it is not known how it compares names; export "
            f"them to a Parquet or CSV file (supported engines: {', '.join(_BYTES)})"
        )
    return engine


def as_bytes(text: ir.Value, engine: str) -> ir.Value:
    """The text as bytes, which no collation affects."""
    return _BYTES[engine](text)


def _encoded(text: ir.Value) -> ir.Value:
    import ibis

    return ibis.udf.scalar.builtin(_encode, name="encode")(text)


def _converted(text: ir.Value) -> ir.Value:
    import ibis

    return ibis.udf.scalar.builtin(_convert_to, name="convert_to")(text, "UTF8")


def _cast(text: ir.Value) -> ir.Value:
    return text.cast("binary")


def _encode(text: str) -> bytes:
    raise NotImplementedError("runs in the engine")


def _convert_to(text: str, encoding: str) -> bytes:
    raise NotImplementedError("runs in the engine")


_BYTES: dict[str, Callable[[Any], Any]] = {
    "duckdb": _encoded, "postgres": _converted, "pyspark": _cast, "sqlite": _cast
}  # fmt: skip


def errors_of(engine: str) -> tuple[type[Exception], ...]:
    """What the engine raises when it cannot run a query."""
    if engine == "duckdb":
        import duckdb

        return (duckdb.Error,)
    if engine == "postgres":
        import psycopg

        return (psycopg.Error,)
    if engine == "pyspark":
        from pyspark.errors import PySparkException

        return (PySparkException,)
    import sqlite3

    return (sqlite3.Error,)


@contextmanager
def read_once(rows: ir.Table) -> Iterator[ir.Table]:
    """The rows in a temporary table inside the engine, which is dropped afterwards: wherever the rows come from, they
    are read exactly once."""
    backend, name = rows.get_backend(), f"quietrank_{uuid.uuid4().hex}"
    spark = backend.name == "pyspark"
    try:
        yield _checkpoint(backend, name, rows) if spark else backend.create_table(name, rows, temp=True)
    finally:
        with suppress(*errors_of(backend.name)):  # an interrupted connection; the table disappears with it
            backend._session.catalog.dropTempView(name) if spark else backend.drop_table(name, force=True)


def _checkpoint(backend: Any, name: str, rows: ir.Table) -> ir.Table:
    """Spark has no temporary tables. A local checkpoint forgets where it came from: if it is lost, the query fails
    instead of being computed a second time."""
    backend.create_view(name, rows)  # always temporary there
    backend._session.table(name).localCheckpoint(eager=True).createOrReplaceTempView(name)
    return backend.table(name)
