"""Columns of a table in; text that is compared and searched byte by byte, and tables whose columns are computed once,
out: what has to be written differently for each engine.

A column may have a collation that ignores case or accents, and functions such as `replace` and `position` follow it, or
refuse to work. Text that was bytes before has no such collation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from quietrank.errors import VotesError
from quietrank.votes import engines
from quietrank.votes.cells import nonempty, text

if TYPE_CHECKING:
    import ibis.expr.types as ir

ARRAYS = ("duckdb", "postgres", "pyspark")
"""engines with arrays"""
MISREAD = "\a\v\f"
"""what Ibis writes in a way that Spark does not know"""
ALL_ROWS = 2**62


def engine_of(table: ir.Table) -> str:
    return str(table.get_backend().name)


def exact_text(name: ir.Value, engine: str) -> ir.Value:
    """A name, as bytes or as text that is compared byte by byte anyway, as text that no collation affects."""
    return _TEXT[engine](name) if name.type().is_binary() else name


def written_text(column: ir.Value, *, ours: bool) -> ir.Value:
    """A cell as it is written, as text that no collation affects; an empty one is NULL."""
    if ours:
        return text(column).nullif("")
    engine = str(column.get_backend().name)
    return exact_text(engines.as_bytes(nonempty(text(column)), engine), engine)


def require_quotable(names: Iterable[str], engine: str) -> None:
    """Refuse names that would be another text inside a query: Spark takes \\v for v, and fills in ${variables}."""
    if engine != "pyspark":
        return
    for name in names:
        if "${" in name or any(character in name for character in MISREAD):
            raise VotesError(f"the item {name!r} cannot be written in a query of Spark; rename it")


def computed_once(table: ir.Table) -> ir.Table:
    """The table, whose columns are computed before anything else is done with them.

    PostgreSQL would otherwise put their expressions wherever they are mentioned, and evaluate them there again and
    again; a limit, however high, prevents it. Other engines do not.
    """
    return table.limit(ALL_ROWS).view() if engine_of(table) == "postgres" else table.view()


def _decoded(name: ir.Value) -> ir.Value:
    import ibis

    return ibis.udf.scalar.builtin(_decode, name="decode")(name)


def _converted(name: ir.Value) -> ir.Value:
    import ibis

    return ibis.udf.scalar.builtin(_convert_from, name="convert_from")(name, "UTF8")


def _cast(name: ir.Value) -> ir.Value:
    return name.cast("string")


def _decode(data: bytes) -> str:
    raise NotImplementedError("runs in the engine")


def _convert_from(data: bytes, encoding: str) -> str:
    raise NotImplementedError("runs in the engine")


_TEXT: dict[str, Callable[[Any], Any]] = {
    "duckdb": _decoded, "postgres": _converted, "pyspark": _cast, "sqlite": _cast
}  # fmt: skip
