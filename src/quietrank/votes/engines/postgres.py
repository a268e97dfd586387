"""PostgreSQL: text is compared as bytes, whatever its collation. The role must be allowed to make temporary tables."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from quietrank.votes.engines.engine import (
    BLANKS,
    Engine,
    builtin,
    bytes_of_two,
    number_of_bytes,
    text_of_bytes,
    text_of_two,
)
from quietrank.votes.formats.scan import first_line

if TYPE_CHECKING:
    import ibis.expr.types as ir

ALL_ROWS = 2**62
EXPORT = "or export the votes to a Parquet or CSV file"


class PostgreSQL(Engine):
    name = "postgres"
    title = "PostgreSQL"

    def as_bytes(self, text: ir.Value) -> ir.Value:
        return builtin("convert_to", bytes_of_two)(text, "UTF8")

    def uncollated(self, text: ir.Value) -> ir.Value:
        """A collation may take A for a, and then refuses to search in the text."""
        return self.as_text(self.as_bytes(text))

    def as_text(self, data: ir.Value) -> ir.Value:
        return builtin("convert_from", text_of_bytes)(data, "UTF8")

    def computed_once(self, table: ir.Table) -> ir.Table:
        # Otherwise expressions are put wherever they are mentioned, and evaluated again and again; a limit prevents it.
        return table.limit(ALL_ROWS).view()

    def comparable(self, text: ir.Value) -> ir.Value:
        return self.as_bytes(text)

    def trimmed(self, text: ir.Value) -> ir.Value:
        return builtin("btrim", text_of_two)(text, BLANKS)

    def lowered(self, text: ir.Value) -> ir.Value:
        """Whatever the collation: in a Turkish one, I would become a letter without a dot. Text of ASCII alone, with
        as many bytes as characters, goes through the short list."""
        import ibis

        dotted, capitals = text.replace("İ", "i̇"), _capitals()
        # One by one: at the end of a word Σ would be another letter.
        smalls = "".join(sign.lower() for sign in capitals)
        in_bytes = builtin("octet_length", number_of_bytes)(self.as_bytes(dotted))
        short, long = (dotted.translate(capitals[:most], smalls[:most]) for most in (len(ASCII), None))
        return ibis.ifelse(in_bytes == dotted.length(), short, long)

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        import psycopg

        return (psycopg.Error,)

    def explained(self, error: Exception) -> str | None:
        import psycopg
        from psycopg import errors

        if isinstance(error, errors.InsufficientPrivilege):
            return f"{first_line(error)}: {_missing_right(str(error))}, {EXPORT}"
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return (
                "the server or the session is read-only, so that the votes cannot be read once into a temporary table; "
                f"connect to the primary server, switch default_transaction_read_only off, {EXPORT}"
            )
        if isinstance(error, errors.DiskFull):
            return f"the server has no space left for temporary tables; make room there, {EXPORT}"
        if isinstance(error, errors.QueryCanceled) and "timeout" in str(error):
            return f"the server cancelled the query ({first_line(error)}); allow more time, {EXPORT}"
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return "the connection to the database was lost; nothing was counted: try again"
        return None

    def made_by(self, backend: Any, name: str, database: str | None) -> str | None:
        query = (
            "SELECT relkind, row_security_active(oid) FROM pg_class "
            "WHERE oid = to_regclass(coalesce(quote_ident(%s::text) || '.', '') || quote_ident(%s))"
        )
        kind, has_policies = backend.con.execute(query, (database, name)).fetchone() or ("?", False)
        return _MADE_BY.get(kind) or ("table with row-level security" if has_policies else None)

    def _keep(self, backend: Any, name: str, rows: ir.Table, by: str | None) -> ir.Table:
        table = super()._keep(backend, name, rows, by)
        # Nobody else does it for a temporary table, and without it the planner takes it for a small one.
        backend.raw_sql(f'ANALYZE "{name}"').close()
        return table


_MADE_BY = {"v": "view", "m": "materialised view", "f": "foreign table", "?": "table or view"}
"""by relkind"""


def _missing_right(message: str) -> str:
    if "temporary" in message:
        return "the votes are read once into a temporary table; GRANT TEMPORARY ON DATABASE … to this role"
    if "for schema" in message:
        return "GRANT USAGE ON SCHEMA … to this role"
    return "GRANT SELECT ON … to this role"


ASCII = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@cache
def _capitals() -> str:
    """Every character that is another one in lower case, those of ASCII first."""
    others = map(chr, range(128, sys.maxunicode + 1))
    return ASCII + "".join(sign for sign in others if len(sign.lower()) == 1 and sign.lower() != sign)


POSTGRES = PostgreSQL()
