"""Columns of cells in, text and outcomes out, still in their engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from quietrank.votes.engines import Engine


def text(column: ir.Value) -> ir.Value:
    """A cell as text. A column of integers with a gap arrives as floating point: 7.0 is 7, and NaN is a gap."""
    import ibis

    if not column.type().is_floating():
        return column.cast("string")
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


@dataclass(frozen=True)
class Names:
    """How cells that name items, people and groups are compared: exactly as written; an empty one is NULL."""

    engine: Engine | None = None
    """whose collation must not matter; None: text is compared byte by byte as it is"""

    def __call__(self, column: ir.Value) -> ir.Value:
        """The name of an item or a group, as text or as its bytes."""
        written = text(column).nullif("")
        return written if self.engine is None else self.engine.as_bytes(written)

    def person(self, column: ir.Value) -> ir.Value:
        """Who voted, by the key itself: text as above, anything else as it is. A column of whole numbers with a gap
        arrives as floating point, in which 7.0 is 7."""
        kind = column.type()
        return self(column) if kind.is_string() or kind.is_floating() else column
