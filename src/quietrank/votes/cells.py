"""Columns of cells in, text and names out, still in their engine: the same text on every engine.

What Ibis calls strip and lower is not the same everywhere. Its strip takes the letters v and f off in Spark, which does
not know the escapes of \\v and \\f. Lower case follows the collation in PostgreSQL, and İ is i in one engine and i with
a dot above in another. So both are defined here, and words mean the same wherever votes are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quietrank.votes.engines import engine_of

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from quietrank.votes.engines import Engine


def text(column: ir.Value) -> ir.Value:
    """A cell as text. A column of integers with a gap arrives as floating point: 7.0 is 7, and NaN is a gap."""
    import ibis

    if not column.type().is_floating():
        return engine_of(column).uncollated(column.cast("string"))
    # Ibis's floor is an integer, which infinity and numbers beyond 2^53 do not have: one half stands in for them.
    small = ibis.ifelse(column.abs() < 2**53, column, 0.5)
    return ibis.cases(
        (column.isnan(), ibis.null("string")),
        (column == small.floor(), small.floor().cast("string")),
        else_=column.cast("string"),
    )


def nonempty(text: ir.Value) -> ir.Value:
    """The text; NULL if it is empty. By its length: a collation may take characters that are not seen for nothing."""
    import ibis

    return ibis.ifelse(text.length() > 0, text, ibis.null("string"))


def first_of(cases: list[tuple[ir.Value, int]]) -> ir.Value:
    """The number of the first condition that holds; NULL if none does."""
    import ibis

    return ibis.cases(*cases, else_=None).cast("int16")


def as_number(flag: ir.Value) -> ir.Value:
    """1 where the condition holds, 0 where it does not; PostgreSQL does not cast conditions to numbers this wide."""
    import ibis

    return ibis.ifelse(flag, ibis.literal(1, type="int64"), ibis.literal(0, type="int64"))


def trimmed(cell: ir.Value) -> ir.Value:
    """Text without blanks at its ends."""
    return engine_of(cell).trimmed(cell)


def lowered(cell: ir.Value) -> ir.Value:
    """Text in lower case, each character by itself, as Python does; of ASCII alone in SQLite, which knows no other."""
    return engine_of(cell).lowered(cell)


@dataclass(frozen=True)
class Names:
    """How cells that name items, people and groups are compared: exactly as written; an empty one is NULL."""

    engine: Engine | None = None
    """whose collation must not matter; None: text is compared byte by byte as it is"""
    lasting: bool = False
    """whether people are compared with those of other readings, where their column may have another type"""

    def __call__(self, column: ir.Value) -> ir.Value:
        """The name of an item or a group, as text or as its bytes."""
        return text(column).nullif("") if self.engine is None else self.engine.as_bytes(nonempty(text(column)))

    def person(self, column: ir.Value) -> ir.Value:
        """Who voted, by the key itself: text as above, anything else as it is. A column of whole numbers with a gap
        arrives as floating point, in which 7.0 is 7."""
        kind = column.type()
        if self.lasting and kind.is_floating():
            column = _exact(column)
        return self(column) if kind.is_string() or kind.is_floating() else column


def _exact(number: ir.Value) -> ir.Value:
    """A number that is surely what was written; NULL from where on floating point skips whole numbers."""
    import ibis

    kind = number.type()
    digits = 53 if kind.is_float64() else 24 if kind.is_float32() else 11
    return ibis.ifelse(number.abs() < 2**digits, number, ibis.null(kind))
