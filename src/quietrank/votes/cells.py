"""Columns of cells in, text and outcomes out, still in their engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis.expr.types as ir


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


def nonempty(text: ir.Value) -> ir.Value:
    """The text; NULL if it is empty. By its length: a collation may take characters that are not seen for nothing."""
    import ibis

    return ibis.ifelse(text.length() > 0, text, ibis.null("string"))


def first_of(cases: list[tuple[ir.Value, int]]) -> ir.Value:
    """The number of the first condition that holds; NULL if none does."""
    import ibis

    return ibis.cases(*cases, else_=None).cast("int16")
