"""SQLite: from Python, through an Ibis table; it has no exact decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quietrank.votes.engines.engine import Engine

if TYPE_CHECKING:
    import ibis.expr.types as ir


class SQLite(Engine):
    name = "sqlite"
    title = "SQLite"
    exact_decimals = False
    splits_text = False
    arrays = False

    def as_bytes(self, text: ir.Value) -> ir.Value:
        return text.cast("binary")

    def as_text(self, data: ir.Value) -> ir.Value:
        return data.cast("string")

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        import sqlite3

        return (sqlite3.Error,)


SQLITE = SQLite()
