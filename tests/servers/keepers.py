"""Where people keep their votes: every engine that must count alike, and a way to put a table into each."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers.postgres import PostgresServer


@dataclass
class Keeper:
    """A connection that tables are put into; they are dropped by `empty`."""

    name: str
    connection: Any
    _put: Callable[[str, Any], None]
    _drop: Callable[[str], None]
    names: list[str] = field(default_factory=list)

    def put(self, table: Any) -> Any:
        """The Ibis table of a pyarrow table, under a new name."""
        name = f"votes_{uuid.uuid4().hex[:8]}"
        self._put(name, table)
        self.names.append(name)
        return self.connection.table(name)

    def empty(self) -> None:
        while self.names:
            self._drop(self.names.pop())


@contextmanager
def duckdb_file(folder: Path) -> Iterator[Keeper]:
    """A DuckDB file, which is somebody else's: only quietrank's own DuckDB is known to compare bytes."""
    import ibis

    connection = ibis.duckdb.connect(folder / "votes.duckdb")
    try:
        yield Keeper("duckdb", connection, connection.create_table, connection.drop_table)
    finally:
        connection.disconnect()


@contextmanager
def postgres_database(server: PostgresServer) -> Iterator[Keeper]:
    connection = server.ibis()
    try:
        yield Keeper("postgres", connection, connection.create_table, connection.drop_table)
    finally:
        connection.disconnect()


@contextmanager
def spark_views(session: Any) -> Iterator[Keeper]:
    import ibis

    def put(name: str, table: Any) -> None:
        session.createDataFrame(table).createOrReplaceTempView(name)

    yield Keeper("spark", ibis.pyspark.connect(session), put, session.catalog.dropTempView)
