"""Rows of votes in, the same rows with an integer weight out, so that no person weighs more than L.

Each of a person's c votes weighs min(2^20, ⌊L·2^20/c⌋) units of 2^-20: every vote counts, nothing is drawn at
random, and c such weights never add up to more than L·2^20. A vote of no known person weighs NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quietrank.privacy import Privacy, Unit
from quietrank.sensitivity import vote_weight

if TYPE_CHECKING:
    import ibis.expr.types as ir


def weigh(rows: ir.Table, privacy: Privacy) -> ir.Table:
    """The columns a, b, y (if any) and `weight`: 1 when votes stand alone, bounded when people are protected."""
    import ibis

    if privacy.unit is Unit.COMPARISON:
        return rows.mutate(weight=ibis.literal(1, type="int64"))
    people = rows.group_by("person").agg(votes=rows.count())
    # Integer division here is FLOOR(a / b) in double precision, which is exact below 2^53; L·2^20 is (privacy.py).
    full = vote_weight(privacy)
    share = (ibis.literal(privacy.limit * full, type="int64") // people.votes).cast("int64")
    named = people.person.nullif("")
    weights = people.select(who=named, weight=ibis.least(share, ibis.literal(full, type="int64")))
    # A select, and not a drop, lets Ibis name this query once, so that it is run once.
    columns = [name for name in ("a", "b", "y") if name in rows.columns]
    return rows.left_join(weights, rows.person == weights.who).select(*columns, "weight")
