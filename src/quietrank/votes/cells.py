"""Columns of cells in, text and outcomes out, still in their engine: the same text on every engine.

What Ibis calls strip and lower is not the same everywhere. Its strip takes the letters v and f off in Spark, which does
not know the escapes of \\v and \\f. Lower case follows the collation in PostgreSQL, and İ is i in one engine and i with
a dot above in another. So both are defined here, and words mean the same wherever votes are kept.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ibis.expr.types as ir


def text(column: ir.Value) -> ir.Value:
    """A cell as text. A column of integers with a gap arrives as floating point: 7.0 is 7, and NaN is a gap."""
    import ibis

    if not column.type().is_floating():
        return _uncollated(column.cast("string"))
    # Ibis's floor is an integer, which infinity and numbers beyond 2^53 do not have: one half stands in for them.
    small = ibis.ifelse(column.abs() < 2**53, column, 0.5)
    return ibis.cases(
        (column.isnan(), ibis.null("string")),
        (column == small.floor(), small.floor().cast("string")),
        else_=column.cast("string"),
    )


def first_of(cases: list[tuple[ir.Value, int]]) -> ir.Value:
    """The number of the first condition that holds; NULL if none does."""
    import ibis

    return ibis.cases(*cases, else_=None).cast("int16")


def as_number(flag: ir.Value) -> ir.Value:
    """1 where the condition holds, 0 where it does not; PostgreSQL does not cast conditions to numbers this wide."""
    import ibis

    return ibis.ifelse(flag, ibis.literal(1, type="int64"), ibis.literal(0, type="int64"))


def _uncollated(cell: ir.Value) -> ir.Value:
    """The same text, which no longer has the collation of its column: in PostgreSQL that may take A for a, and then
    refuses to search in it."""
    if _engine(cell) != "postgres":
        return cell
    return _builtin("convert_from", _decoded)(by_bytes(cell, "postgres"), "UTF8")


def by_bytes(cell: ir.Value, engine: str) -> ir.Value:
    """The text as it is compared and ordered: by its bytes, on PostgreSQL too, where a collation would decide."""
    return _builtin("convert_to", _encoded)(cell, "UTF8") if engine == "postgres" else cell


BLANKS = " \t\n\r"
"""what is taken off the ends of a cell; every engine can be told exactly these"""


def trimmed(cell: ir.Value) -> ir.Value:
    """Text without blanks at its ends."""
    return _builtin("trim" if _engine(cell) in ("duckdb", "sqlite") else "btrim", _trim)(cell, BLANKS)


def lowered(cell: ir.Value) -> ir.Value:
    """Text in lower case, each character by itself, as Python does; of ASCII alone in SQLite, which knows no other."""
    import ibis

    if _engine(cell) == "pyspark":
        return cell.replace("Σ", "σ").lower()  # Java would make it another letter at the end of a word
    if _engine(cell) == "sqlite":
        return cell.lower()
    dotted = cell.replace("İ", "i̇")  # as Spark and Python do; DuckDB would make it an i
    if _engine(cell) == "duckdb":
        return dotted.lower()
    # Whatever the collation: in a Turkish one, PostgreSQL would make I a letter without a dot. Text of ASCII alone,
    # which has as many bytes as characters, goes through the short list.
    capitals = _capitals()
    smalls = "".join(sign.lower() for sign in capitals)  # one by one: at the end of a word Σ would be another letter
    in_bytes = _builtin("octet_length", _length)(by_bytes(dotted, "postgres"))
    return ibis.ifelse(
        in_bytes == dotted.length(), dotted.translate(capitals[:26], smalls[:26]), dotted.translate(capitals, smalls)
    )


@cache
def _capitals() -> str:
    """Every character that is another one in lower case, those of ASCII first."""
    others = map(chr, range(128, sys.maxunicode + 1))
    ascii_first = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return ascii_first + "".join(sign for sign in others if len(sign.lower()) == 1 and sign.lower() != sign)


def _engine(cell: ir.Value) -> str:
    return str(cell.get_backend().name)


def _builtin(name: str, signature: Any) -> Any:
    """A function of the engine, called by its name."""
    import ibis

    return ibis.udf.scalar.builtin(signature, name=name)


def _trim(text: str, signs: str) -> str:
    raise NotImplementedError("runs in the engine")


def _decoded(text: bytes, encoding: str) -> str:
    raise NotImplementedError("runs in the engine")


def _encoded(text: str, encoding: str) -> bytes:
    raise NotImplementedError("runs in the engine")


def _length(text: bytes) -> int:
    raise NotImplementedError("runs in the engine")
