"""Rows of best–worst sets in, one row per item shown out, still in their engine: what the item won and lost there.

In half votes, so that all is whole: the best won 2 and lost 0, the worst the opposite, and every other item 1 and 1, so
that wins and losses add up to twice the times shown. A set without a readable answer (under a public design) is 1 and 1
for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from quietrank.votes.cells import as_number

if TYPE_CHECKING:
    import ibis.expr.types as ir


def shown_columns(rows: ir.Table) -> list[str]:
    """shown_1 to shown_M, places on the list of items; none where votes are about pairs."""
    return [name for name in rows.columns if name.startswith("shown_")]


def sides(rows: ir.Table, keys: Sequence[str], weight: str) -> ir.Table:
    """`keys`, item, won, lost (the weight in half votes), weight, and `first`: 1 in one row of each set, else 0."""
    parts = [_side(rows, k, keys, weight) for k in range(len(shown_columns(rows)))]
    return reduce(lambda one, other: one.union(other), parts)


def _side(rows: ir.Table, k: int, keys: Sequence[str], weight: str) -> ir.Table:
    import ibis

    names = shown_columns(rows)
    item, before = rows[names[k]], [rows[name].isnull() for name in names[:k]]
    won = ibis.cases((rows.y != 2, 1), (item == rows.a, 2), (item == rows.b, 0), else_=1).cast("int64")
    first: ir.Value = ibis.literal(1, type="int64")
    if before:
        first = ibis.ifelse(reduce(and_, before), 1, 0).cast("int64")
    side = rows.select(
        *keys, item=item, won=rows[weight] * won, lost=rows[weight] * (2 - won), weight=rows[weight], first=first
    )
    return side.filter(side.item.notnull())


def size(rows: ir.Table) -> ir.Value:
    """m, the number of items shown."""
    numbers = [as_number(rows[name].notnull()) for name in shown_columns(rows)]
    return reduce(lambda one, other: one + other, numbers)
