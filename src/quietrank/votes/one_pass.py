"""A marked snapshot in; sums by item, flaws and the number of people out, from one pass over it.

For Spark, where every mention of the snapshot in a query is one more pass over it. The snapshot is split by person, so
what is counted by person is a window that moves no row, and the two sides of a vote are two rows made of one. Weights
are those of bound.py, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quietrank.promise.privacy import GroupOf, Unit
from quietrank.promise.promise import PERSON_GRID, Bounded, Clip, RangeClip, whole_squares
from quietrank.votes.bound import (
    ANSWER_GRID,
    ONE_PER_GROUP,
    clipping_factor,
    half_of,
    of_item,
    quotient,
    range_factor,
    share_of,
    sum_of_squares,
    whole,
    with_pair,
)
from quietrank.votes.engines import engine_of
from quietrank.votes.joins import both_sides
from quietrank.votes.sets import shown_columns

if TYPE_CHECKING:
    import ibis.expr.types as ir


def applies(marked: ir.Table, bounded: Bounded) -> bool:
    """Whether the query below does what bounding and counting do; only public properties are looked at."""
    capped = bounded.unit is Unit.COMPARISON and bounded.max_per_person is not None
    plain = not capped and "count" not in marked.columns and not shown_columns(marked)
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

    if not bounded.counts_people:
        return _with_weight(rows, ibis.literal(int(1 / (2 * bounded.half_vote)), type="int64"))
    apart = ("group",) if bounded.group_of is GroupOf.VOTE and "group" in rows.columns else ()
    if bounded.clip is not None:
        return _clipped(rows, bounded, bounded.clip, apart)
    assert bounded.max_per_person is not None
    if bounded.one_per_pair:
        known = _with_answers(rows, apart)
        pairs = ibis.greatest(known.one.sum().cast("int64").over(group_by="person"), 1)
        known = known.mutate(share=share_of(bounded.max_per_person, pairs)).view()
        return _with_weight(known, quotient(known.share, known.votes)).select(*rows.columns, "weight").view()
    votes = ibis.greatest(_used(rows).over(group_by="person"), 1)
    return _with_weight(rows, share_of(bounded.max_per_person, votes))


def _with_weight(rows: ir.Table, weight: ir.Value) -> ir.Table:
    import ibis

    return rows.mutate(weight=ibis.ifelse(rows.use, weight, ibis.literal(0, type="int64")))


def _with_answers(rows: ir.Table, apart: Sequence[str]) -> ir.Table:
    """The rows with `votes`, how many their person has on the same pair, and `one`: 1 in one of these, else 0."""
    import ibis

    paired = with_pair(rows)
    answer = ("person", "low", "high", *apart)
    place = ibis.row_number().over(group_by=answer, order_by=ibis.ifelse(paired.use, 0, 1))
    one = ibis.ifelse(paired.use & (place == 0), 1, 0)
    votes = ibis.greatest(_used(paired).over(group_by=answer), 1)
    return paired.mutate(votes=votes, one=one).select(*rows.columns, "votes", "one").view()


def _clipped(rows: ir.Table, bounded: Bounded, clip: Clip, apart: Sequence[str]) -> ir.Table:
    """Every vote of a person weighs W, times its share of an answer where answers are averaged."""
    import ibis

    grid = ANSWER_GRID if bounded.one_per_pair else 1
    known = _with_answers(rows, apart) if bounded.one_per_pair else rows
    answer = ibis.literal(grid, type="int64")
    share = quotient(answer, known.votes) if bounded.one_per_pair else answer
    part = ibis.ifelse(known.use, share, ibis.literal(0, type="int64"))
    factor = _range if isinstance(clip, RangeClip) else _norm
    sides = factor(
        _sums_of_items(known.select(*rows.columns, part=part).view(), apart), clip, PERSON_GRID // grid, apart
    )
    votes = sides.filter(sides.side == 0)
    return votes.select(*rows.columns, weight=votes.part * votes.factor).view()


def _sums_of_items(rows: ir.Table, apart: Sequence[str]) -> ir.Table:
    """Both sides of every row, with `all_won` and `all_lost`: of the same person, group and item, in half votes; and
    `once`: whether it is the one row of these that stands for all of them."""
    import ibis

    # A row that does not count may have no y. Its part is 0: NULL would take the square of its person with it.
    y: ir.Value = rows.y.fill_null(0) if "y" in rows.columns else ibis.literal(2, type="int8")
    won, lost = rows.part * y, rows.part * (2 - y)
    side_a, side_b = (ibis.literal(side, type="int64") for side in (0, 1))
    sides = both_sides(
        rows,
        rows.columns,
        {"side": side_a, "item": rows.a, "won": won, "lost": lost},
        {"side": side_b, "item": rows.b, "won": lost, "lost": won},
    )
    same = ["person", *apart, "item"]
    return sides.mutate(
        all_won=sides.won.sum().cast("int64").over(group_by=same),
        all_lost=sides.lost.sum().cast("int64").over(group_by=same),
        once=ibis.row_number().over(group_by=same, order_by=sides.side) == 0,
    ).view()


def _norm(sums: ir.Table, clip: Clip, most: int, apart: Sequence[str]) -> ir.Table:
    """The rows with `factor`, from the squared norm of all that their person adds; each item counts once."""
    import ibis

    terms, nothing = whole_squares(clip)[0], ibis.literal(0, type="int64")
    square = ibis.ifelse(sums.once, sum_of_squares(of_item(sums.all_won, sums.all_lost), terms), whole(0))
    known = sums.mutate(square=square).view()
    if any(name in ONE_PER_GROUP for name in terms):
        of_a, same = known.side == 0, ["person", *apart]
        tied = (known.y == 1) if "y" in known.columns else ibis.literal(False)
        ties = ibis.ifelse(of_a & tied, known.part, nothing).sum().cast("int64").over(group_by=same)
        total = ibis.ifelse(of_a, known.part, nothing).sum().cast("int64").over(group_by=same)
        once = ibis.row_number().over(group_by=same, order_by=[known.side]) == 0
        known = known.mutate(ties=ties, total=total, once_in_group=once).view()
        columns = {name: known[name].cast("decimal(38, 0)") for name in ONE_PER_GROUP}
        more = ibis.ifelse(known.once_in_group, sum_of_squares(columns, terms), whole(0))
        known = known.mutate(square=known.square + more).view()
    known = known.mutate(square=known.square.sum().cast("decimal(38, 0)").over(group_by="person")).view()
    return known.mutate(factor=clipping_factor(known.square, clip, most)).view()


def _range(sums: ir.Table, clip: Clip, most: int, apart: Sequence[str]) -> ir.Table:
    """The rows with `factor`, from the range of their person's net wins in each group, and from the weight in all."""
    import ibis

    assert isinstance(clip, RangeClip)
    same, nothing = ["person", *apart], ibis.literal(0, type="int64")
    net = half_of(sums.all_won - sums.all_lost)
    known = sums.mutate(net=net).view()
    wide = known.net.max().over(group_by=same) - known.net.min().over(group_by=same)
    once = ibis.row_number().over(group_by=same, order_by=[known.side]) == 0
    known = known.mutate(wide=ibis.ifelse(once, wide, nothing)).view()
    everything = known.mutate(
        wide=known.wide.sum().cast("int64").over(group_by="person"),
        parts=ibis.ifelse(known.side == 0, known.part, nothing).sum().cast("int64").over(group_by="person"),
    ).view()
    return everything.mutate(factor=range_factor(everything.wide, everything.parts, clip, most)).view()


def _used(rows: ir.Table) -> ir.Value:
    """The number of rows that count."""
    import ibis

    return ibis.ifelse(rows.use, 1, 0).sum().cast("int64")


def _first_of_person(rows: ir.Table) -> ir.Value:
    """1 in one row of each person who is named, else 0."""
    import ibis

    place = ibis.row_number().over(group_by="person", order_by=rows.flaw)
    return ibis.ifelse(rows.person.notnull() & (place == 0), 1, 0).cast("int64")
