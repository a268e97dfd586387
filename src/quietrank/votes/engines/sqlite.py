"""SQLite: from Python, through an Ibis table; it has no exact decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

    def is_view(self, backend: Any, name: str, database: str | None) -> bool:
        both = "(SELECT type, name FROM sqlite_master UNION ALL SELECT type, name FROM sqlite_temp_master)"
        query = f"SELECT count(*) FROM {both} WHERE type = 'view' AND lower(name) = lower(?)"
        return bool(backend.con.execute(query, (name,)).fetchone()[0])

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        import sqlite3

        return (sqlite3.Error,)


SQLITE = SQLite()
