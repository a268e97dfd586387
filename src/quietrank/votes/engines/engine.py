"""What an engine is: how it compares names, reads votes only once, answers a query, and what its errors mean.

Engines differ in which names they treat as equal: DuckDB, SQLite and Spark compare bytes unless told otherwise,
PostgreSQL follows the column's collation, MySQL and SQL Server ignore case. Two people treated as one would share a
weight, so names are compared as bytes on every engine that is listed, and any other engine is refused.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import ibis.expr.types as ir


BLANKS = " \t\n\r"
"""what is taken off the ends of a cell; every engine can be told exactly these"""


class Engine(ABC):
    """One kind of database that votes can be counted in; it knows no connection, only how to use one."""

    name: ClassVar[str]
    """as Ibis calls it"""
    title: ClassVar[str]
    """as people call it"""
    exact_decimals: ClassVar[bool] = True
    """whether decimal(38, 0) is exact, which clipping needs"""
    splits_text: ClassVar[bool] = True
    arrays: ClassVar[bool] = True
    misreads: ClassVar[tuple[str, ...]] = ()
    """what Ibis writes into a query in a way that the engine reads as something else"""
    reuses_tables: ClassVar[bool] = True
    """whether the result of a query that several others need is worth a temporary table"""
    groups_sides: ClassVar[bool] = False
    """whether it can group by a and by b in one reading (joins.by_either_side)"""
    windows: ClassVar[bool] = False
    """whether each mention of a table in a query is one more pass over it, while windows over people are cheap"""

    @abstractmethod
    def as_bytes(self, text: ir.Value) -> ir.Value:
        """The text as bytes, which no collation affects."""

    @abstractmethod
    def as_text(self, data: ir.Value) -> ir.Value:
        """Bytes in UTF-8 as text, which has no collation of a column."""

    def uncollated(self, text: ir.Value) -> ir.Value:
        """The same text, which no longer has the collation of its column."""
        return text

    def comparable(self, text: ir.Value) -> ir.Value:
        """Text in a form in which = and < compare it byte by byte."""
        return text

    def trimmed(self, text: ir.Value) -> ir.Value:
        """Text without blanks at its ends."""
        return builtin("trim", text_of_two)(text, BLANKS)

    def lowered(self, text: ir.Value) -> ir.Value:
        """Text in lower case, each character by itself, as Python does."""
        return text.lower()

    @property
    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]:
        """What the engine raises when it cannot run a query."""

    def explained(self, error: Exception) -> str | None:
        """What the engine's error means and what to do about it; None if nothing is known about it."""
        return None

    @contextmanager
    def working(self, backend: Any) -> Iterator[None]:
        """Within this the connection is set so that queries mean what they mean elsewhere; then it is set back."""
        yield

    def row_number(self) -> ir.Value:
        """A number for each row, no two of them the same."""
        import ibis

        return ibis.row_number()

    def computed_once(self, table: ir.Table) -> ir.Table:
        """The table, whose columns are computed before anything else is done with them."""
        return table.view()

    def fetch(self, query: ir.Table) -> Any:
        """The (small) result of a query, as a pyarrow table."""
        return query.to_pyarrow()

    def fetch_all(self, queries: Sequence[ir.Table]) -> list[Any]:
        """The results of several queries whose columns are whole numbers."""
        return [self.fetch(query) for query in queries]

    def made_by(self, backend: Any, name: str, database: str | None) -> str | None:
        """What makes the rows of a table, such as a view, which may depend on each other; None if it keeps them."""
        return None

    def progress(self, backend: Any) -> float | None:
        """How much of the query that is running has been done, if the engine says so; called by another thread."""
        return None

    @contextmanager
    def temporary_table(self, rows: ir.Table, by: str | None = None) -> Iterator[ir.Table]:
        """The rows in a temporary table inside the engine, which is dropped afterwards: wherever they come from, they
        are read exactly once. `by`: the column that later queries group by."""
        backend, name = rows.get_backend(), f"quietrank_{uuid.uuid4().hex}"
        try:
            with self.working(backend):
                table = self._keep(backend, name, rows, by)
            yield table
        finally:
            with suppress(*self.errors):  # an interrupted connection; the table disappears with it
                self._drop(backend, name)

    def _keep(self, backend: Any, name: str, rows: ir.Table, by: str | None) -> ir.Table:
        return backend.create_table(name, rows, temp=True)

    def _drop(self, backend: Any, name: str) -> None:
        backend.drop_table(name, force=True)


def builtin(name: str, signature: Any) -> Any:
    """A function of the engine, by its name there."""
    import ibis

    return ibis.udf.scalar.builtin(signature, name=name)


# Signatures; what they describe runs in the engine.


def text_of_two(one: str, other: str) -> str:
    raise NotImplementedError


def bytes_of_one(one: str) -> bytes:
    raise NotImplementedError


def bytes_of_two(one: str, other: str) -> bytes:
    raise NotImplementedError


def text_of_bytes(one: bytes, other: str) -> str:
    raise NotImplementedError


def number_of_bytes(one: bytes) -> int:
    raise NotImplementedError


def text_of_one(one: bytes) -> str:
    raise NotImplementedError


def number() -> int:
    raise NotImplementedError
