"""A marked snapshot in; sums by item, flaws and the number of people out, from one pass over it.

For Spark, where every mention of the snapshot in a query is one more pass over it. The snapshot is split by person, so
what is counted by person is a window that moves no row, and the two sides of a vote are two rows made of one. Weights
are those of bound.py, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quietrank.promise.privacy import GroupOf, Unit
from quietrank.promise.promise import Bounded
from quietrank.votes.bound import quotient, share_of, with_pair
from quietrank.votes.engines import engine_of
from quietrank.votes.joins import both_sides
from quietrank.votes.sets import shown_columns

if TYPE_CHECKING:
    import ibis.expr.types as ir


def applies(marked: ir.Table, bounded: Bounded) -> bool:
    """Whether the query below does what bounding and counting do; only public properties are looked at."""
    capped = bounded.unit is Unit.COMPARISON and bounded.max_per_person is not None
    plain = bounded.clip is None and not capped and "count" not in marked.columns and not shown_columns(marked)
    return engine_of(marked).windows and plain


def everything(marked: ir.Table, bounded: Bounded) -> ir.Table:
    """used, flaw, group, item: wins, losses and ties (in half votes), rows (two for each vote), and `people`, the
    number of people whose first row is among them; rows that do not count have no item."""
    import ibis

    weighed, zero = _weighed(marked, bounded), ibis.literal(0, type="int64")
    y: ir.Value = weighed.y if "y" in marked.columns else ibis.literal(2, type="int8")
    first = _first_of_person(weighed) if bounded.counts_people else zero
    group = ["group"] if "group" in marked.columns else []
    won, lost, tied = weighed.weight * y, weighed.weight * (2 - y), weighed.weight * y * (2 - y) * 2
    rows = weighed.mutate(won=won, lost=lost, tied=tied, first=first, used=ibis.ifelse(weighed.use, 1, 0)).view()
    sides = both_sides(
        rows,
        ["used", "flaw", *group],
        {
            "item": _item(rows, rows.a),
            "wins": rows.won,
            "losses": rows.lost,
            "ties": rows.tied,
            "people": rows["first"],
        },
        {"item": _item(rows, rows.b), "wins": rows.lost, "losses": rows.won, "ties": rows.tied, "people": zero},
    )
    sums = {name: sides[name].sum().cast("int64") for name in ("wins", "losses", "ties", "people")}
    return sides.group_by("used", "flaw", *group, "item").agg(**sums, rows=sides.count())


def _item(rows: ir.Table, place: ir.Value) -> ir.Value:
    import ibis

    return ibis.ifelse(rows.use, place, ibis.null(place.type()))


def usable(marked: ir.Table, bounded: Bounded) -> ir.Table:
    """The rows that count, with their `weight`."""
    weighed = _weighed(marked, bounded)
    return weighed.filter(weighed.use).drop("use", "flaw").view()


def _weighed(rows: ir.Table, bounded: Bounded) -> ir.Table:
    """The rows with `weight`, 0 where they do not count."""
    import ibis

    full = ibis.literal(int(1 / (2 * bounded.half_vote)), type="int64")
    if not bounded.counts_people:
        return rows.mutate(weight=ibis.ifelse(rows.use, full, 0).cast("int64"))
    assert bounded.max_per_person is not None
    if not bounded.one_per_pair:
        votes = _used(rows).over(group_by="person")
        return rows.mutate(weight=_if_used(rows, share_of(bounded.max_per_person, ibis.greatest(votes, 1))))
    apart = ("group",) if bounded.group_of is GroupOf.VOTE and "group" in rows.columns else ()
    paired = with_pair(rows)
    answer: Sequence[str] = ("person", "low", "high", *apart)
    order = [ibis.ifelse(paired.use, 0, 1)]
    place = ibis.row_number().over(group_by=answer, order_by=order)
    one = ibis.ifelse(paired.use & (place == 0), 1, 0)
    known = paired.mutate(votes=_used(paired).over(group_by=answer), one=one).view()
    pairs = ibis.greatest(known.one.sum().cast("int64").over(group_by="person"), 1)
    answer_weight = share_of(bounded.max_per_person, pairs)
    weight = _if_used(known, quotient(answer_weight, ibis.greatest(known.votes, 1)))
    return known.mutate(weight=weight).select(*rows.columns, "weight").view()


def _used(rows: ir.Table) -> ir.Value:
    """The number of rows that count."""
    import ibis

    return ibis.ifelse(rows.use, 1, 0).sum().cast("int64")


def _if_used(rows: ir.Table, weight: ir.Value) -> ir.Value:
    import ibis

    return ibis.ifelse(rows.use, weight, ibis.literal(0, type="int64"))


def _first_of_person(rows: ir.Table) -> ir.Value:
    """1 in one row of each person who is named, else 0."""
    import ibis

    place = ibis.row_number().over(group_by="person", order_by=rows.flaw)
    return ibis.ifelse(rows.person.notnull() & (place == 0), 1, 0).cast("int64")
