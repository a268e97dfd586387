"""DuckDB: quietrank's own engine, and other people's files and connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quietrank.errors import option
from quietrank.votes.engines.engine import Engine, builtin, bytes_of_one, text_of_one

if TYPE_CHECKING:
    import ibis.expr.types as ir


class DuckDB(Engine):
    name = "duckdb"
    title = "DuckDB"
    groups_sides = True

    def as_bytes(self, text: ir.Value) -> ir.Value:
        return builtin("encode", bytes_of_one)(text)

    def as_text(self, data: ir.Value) -> ir.Value:
        return builtin("decode", text_of_one)(data)

    def lowered(self, text: ir.Value) -> ir.Value:
        return text.replace("İ", "i̇").lower()  # as Spark and Python do; DuckDB would make it an i

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        import duckdb

        return (duckdb.Error,)

    def explained(self, error: Exception) -> str | None:
        message = str(error)
        if "No space left" in message or "max_temp_directory_size" in message:
            return f"the folder for temporary files is full; give one with more space with {option('temp_dir')}"
        if type(error).__name__ == "OutOfMemoryException":
            return (
                f"the votes do not fit into memory; give a larger {option('memory_limit')}, fewer {option('threads')}, "
                f"or a folder with more space for what does not fit with {option('temp_dir')}"
            )
        return None

    def made_by(self, backend: Any, name: str, database: str | None) -> str | None:
        # Names are the same in capitals, and what stands before a dot may be a schema or a database.
        query = (
            "SELECT count(*) FROM duckdb_views() WHERE lower(view_name) = lower($1) "
            "AND coalesce(lower($2) IN (lower(schema_name), lower(database_name)), true)"
        )
        ((views,),) = backend.con.execute(query, [name, database]).fetchall()  # all of it: the connection is free again
        return "view" if views else None

    def progress(self, backend: Any) -> float | None:
        done = float(backend.con.query_progress())
        return done / 100 if done >= 0 else None

    def _keep(self, backend: Any, name: str, rows: ir.Table, by: str | None) -> ir.Table:
        # In any order, which takes less memory: nothing that is counted depends on the order of rows.
        ((before,),) = backend.con.execute("SELECT current_setting('preserve_insertion_order')").fetchall()
        query = backend.compile(rows)
        backend._run_pre_execute_hooks(rows)  # makes public lists known; Ibis's create_table would do the rest slowly
        backend.con.execute("SET preserve_insertion_order = false")
        try:
            backend.con.execute(f'CREATE TEMP TABLE "{name}" AS {query}')
        finally:
            backend.con.execute(f"SET preserve_insertion_order = {str(before).lower()}")
        return backend.table(name, database=("temp", "main"))


DUCKDB = DuckDB()
