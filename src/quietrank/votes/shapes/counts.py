"""Cells that hold how many votes there were in, whole numbers out; one row for each outcome that was counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from quietrank.votes.cells import text, trimmed
from quietrank.votes.public_table import public_table

if TYPE_CHECKING:
    import ibis.expr.types as ir

LARGEST_COUNT = 2**40
"""of one row"""
LARGEST_TOTAL = 2**40
"""of all rows: a thousand billion. They are counted in at most 2^21 steps per vote, so no sum overflows 64 bits"""


def whole(cell: ir.Value) -> ir.Value:
    """A number of votes; NULL if it is not a whole number from 0 to LARGEST_COUNT."""
    import ibis

    plain = trimmed(ibis.coalesce(text(cell), ""))
    # The first condition leaves no end of a line, before which $ would hold in Java as well.
    digits = ~plain.re_search(r"[^0-9.]") & plain.re_search(r"^[0-9]{1,13}(\.0*)?$")
    # What is cast has digits in any case: an engine may evaluate both branches.
    number = ibis.ifelse(digits, plain.re_replace(r"\.0*$", ""), "0").cast("int64")
    return ibis.ifelse(digits & (number <= LARGEST_COUNT), number, None)


def by_outcome(rows: ir.Table, counts: Mapping[int, str]) -> ir.Table:
    """Each row once for each y with `y` and its `count`, taken from the column of that y; these columns are dropped.

    If one of the cells of a row cannot be read, none counts. The rows are mentioned once.
    """
    import ibis

    outcomes = public_table(y=np.array(list(counts), dtype=np.int16))
    each = rows.cross_join(outcomes)
    readable = None
    for column in counts.values():
        known = each[column].notnull()
        readable = known if readable is None else readable & known
    count = ibis.cases(*((each.y == y, each[column]) for y, column in counts.items()), else_=None)
    others = [name for name in rows.columns if name not in counts.values()]
    return each.select(*others, "y", count=ibis.ifelse(readable, count, None)).view()
