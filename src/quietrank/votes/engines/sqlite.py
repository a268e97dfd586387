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

    def made_by(self, backend: Any, name: str, database: str | None) -> str | None:
        schemas = ("main", "temp") if database is None else (database.replace('"', '""'),)
        known = " UNION ALL ".join(f'SELECT type, name, sql FROM "{schema}".sqlite_master' for schema in schemas)
        made = "type = 'view' OR sql LIKE 'CREATE VIRTUAL%'"
        query = f"SELECT count(*) FROM ({known}) WHERE ({made}) AND lower(name) = lower(?)"
        return "view" if backend.con.execute(query, (name,)).fetchone()[0] else None

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        import sqlite3

        return (sqlite3.Error,)


SQLITE = SQLite()
