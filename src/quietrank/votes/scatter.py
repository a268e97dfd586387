"""Weighed rows in, their scatter out: how far each person's net wins are from what is expected, squared and summed.

Each person counts with a whole number from 0 to STEPS, computed from that person's votes alone, and people are added up
as whole numbers: so one person moves the sum by at most STEPS, on every engine and in every order of rows. A person
with votes in several groups counts with at most STEPS in all of them together. Within a person, too, only whole numbers
are added up; the few products of doubles are rounded alike everywhere (IEEE 754).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from quietrank.estimate.methods import Expected
from quietrank.maths.davidson import win_rate
from quietrank.mechanisms.scatter import STEPS, Around
from quietrank.promise.promise import PERSON_GRID
from quietrank.votes.joins import both_sides
from quietrank.votes.public_table import public_table
from quietrank.votes.sets import shown_columns, sides

if TYPE_CHECKING:
    import ibis.expr.types as ir

SCORE, FARTHEST = 2**6, 2**10
"""Scores are rounded to multiples of 2^-6; chances are tabulated at differences of up to 2^10 of them."""

LARGEST = 2.0**62
"""Of a whole number within a person; votes beyond 10^12 saturate."""


def scatter_sums(rows: ir.Table, expected: Sequence[Expected], most: float, *, grouped: bool) -> ir.Table:
    """`steps` by `group`: the sum over people of min(‖residual‖², C²), in STEPS to C²; C² comes in votes².

    The rows are votes with their weights, or what each person's items have won and weigh.
    """
    import ibis

    if not grouped:
        rows = rows.mutate(group=ibis.literal(0, type="int64"))
    around, scale = expected[0].around, STEPS / most
    residuals = _around_pairs(rows, expected) if around is Around.PAIRS else _around_items(rows, expected)
    votes = residuals.residual.cast("float64") / PERSON_GRID
    parts = residuals.mutate(part=_rounded(votes * votes * scale, 4.0 * STEPS))
    people = parts.group_by("person", "group").agg(
        steps=parts.part.sum().cast("int64"), weight=parts.weight.sum().cast("int64"),
        along=parts.along.sum().cast("int64"),
    )  # fmt: skip
    if around is Around.VOTES:
        people = _off_the_line(people, expected, scale, len(shown_columns(rows)) or 2)
    capped = people.mutate(steps=ibis.greatest(ibis.least(people.steps, STEPS), 0))
    if grouped:
        capped = _scaled_together(capped)
    return capped.group_by("group").agg(steps=capped.steps.sum().cast("int64"))


def _scaled_together(people: ir.Table) -> ir.Table:
    """The steps of each person and group, scaled down where those of one person add up to more than STEPS.

    ⌊steps·STEPS/sum⌋ add up to STEPS at most. A product of two numbers up to 2^22 is exact in a double, and so is the
    floor of its quotient.
    """
    import ibis

    totals = people.group_by("person").agg(total=people.steps.sum().cast("int64"))
    known = people.left_join(totals.rename(who="person"), [("person", "who")])
    total = ibis.greatest(known.total, 1).cast("float64")
    shared = (known.steps.cast("float64") * float(STEPS) / total).floor().cast("int64")
    steps = ibis.ifelse(known.total > STEPS, shared, known.steps)
    return known.select("person", "group", steps=steps).view()


def _around_items(rows: ir.Table, expected: Sequence[Expected]) -> ir.Table:
    """Per person and item, in units of 2^-20 votes: the wins beyond those expected at a win rate, or at ½; the weight
    of the votes; and the net wins times those expected per vote."""
    sums = rows if "item" in rows.columns else _by_item(_sides(rows))
    around = expected[0].around
    known = sums.left_join(_of_items(expected), [("group", "of_group"), ("item", "of_item")])
    rate = known.value if around is Around.EXPOSURES else 0.5
    won, weight = known.won.cast("float64") / 2.0, known.weight.cast("float64")
    along = known.value * (won - weight * 0.5) if around is Around.VOTES else weight * 0.0
    return known.select(
        "person", "group", "weight", residual=_rounded(won - weight * rate, LARGEST), along=_rounded(along, LARGEST)
    )


def _by_item(sides: ir.Table) -> ir.Table:
    return sides.group_by("person", "group", "item").agg(
        won=sides.won.sum().cast("int64"), weight=sides.weight.sum().cast("int64")
    )


def _sides(rows: ir.Table) -> ir.Table:
    """What each item of a vote has won, in half votes, and the vote's weight."""
    if shown_columns(rows):
        return sides(rows, ["person", "group"], "weight")
    y, weight = rows.y if "y" in rows.columns else 2, rows.weight
    return both_sides(
        rows, ["person", "group"], {"item": rows.a, "won": weight * y, "weight": weight},
        {"item": rows.b, "won": weight * (2 - y), "weight": weight},
    )  # fmt: skip


def _off_the_line(people: ir.Table, expected: Sequence[Expected], scale: float, shown: int) -> ir.Table:
    """‖x − wμ‖² = ‖x‖² − 2w⟨x, μ⟩ + w²‖μ‖², for people with w votes in all and μ expected of each."""
    lengths = np.array([np.square(one.values).sum() for one in expected])
    squares = public_table(of_group=np.arange(len(expected)), square=lengths).view()
    known = people.left_join(squares, [("group", "of_group")])
    w = known.weight.cast("float64") / (float(shown) * PERSON_GRID)  # every vote has so many items
    change = w * (w * known.square - 2.0 * (known.along.cast("float64") / PERSON_GRID))
    return known.select("person", "group", steps=known.steps + _rounded(change * scale, 4.0 * STEPS))


def _around_pairs(rows: ir.Table, expected: Sequence[Expected]) -> ir.Table:
    """Per person and item, in units of 2^-20 votes: the wins beyond those expected of each pair at these scores."""
    import ibis

    y = rows.y if "y" in rows.columns else 2
    won = rows.group_by("person", "group", "a", "b").agg(
        won=(rows.weight * y).sum().cast("int64"), weight=rows.weight.sum().cast("int64")
    )
    nus = [e.nu for e in expected]
    places = [Expected(e.around, np.rint(np.clip(e.values, -FARTHEST, FARTHEST) * SCORE)) for e in expected]
    for side in ("a", "b"):
        scores = _of_items(places).rename({f"of_{side}": "of_item", f"score_{side}": "value"})
        joined = won.left_join(scores, [("group", "of_group"), (side, f"of_{side}")])
        won = joined.select(*won.columns, f"score_{side}").view()
    gap = ibis.greatest(ibis.least(won.score_a - won.score_b, float(FARTHEST)), float(-FARTHEST))
    known = won.mutate(gap=gap).left_join(_chances(nus), [("gap", "difference"), ("group", "of_group")])
    beyond = _rounded(known.won.cast("float64") / 2.0 - known.weight.cast("float64") * known.chance, LARGEST)
    pairs = known.select("person", "group", "a", "b", beyond=beyond).view()
    sides = both_sides(
        pairs, ["person", "group"], {"item": pairs.a, "beyond": pairs.beyond},
        {"item": pairs.b, "beyond": -pairs.beyond},
    )  # fmt: skip
    sums = sides.group_by("person", "group", "item").agg(residual=sides.beyond.sum().cast("int64"))
    zero = ibis.literal(0, type="int64")
    return sums.mutate(weight=zero, along=zero)


def _chances(nus: Sequence[float]) -> ir.Table:
    """The win rates at all differences of scores, in each group."""
    gaps = np.arange(-FARTHEST, FARTHEST + 1, dtype=np.float64)
    rates = [win_rate(gaps / SCORE, nu) if nu > 0 else 1 / (1 + np.exp(-gaps / SCORE)) for nu in nus]
    return public_table(
        difference=np.tile(gaps, len(nus)), of_group=np.repeat(np.arange(len(nus)), len(gaps)),
        chance=np.concatenate(rates),
    ).view()  # fmt: skip


def _of_items(expected: Sequence[Expected]) -> ir.Table:
    """What is expected, by group and item."""
    n = len(expected[0].values)
    return public_table(
        of_group=np.repeat(np.arange(len(expected)), n),
        of_item=np.tile(np.arange(n), len(expected)),
        value=np.concatenate([np.asarray(one.values, dtype=np.float64) for one in expected]),
    ).view()


def _rounded(value: ir.Value, most: float) -> ir.Value:
    """The nearest whole number, between −most and most."""
    import ibis

    return (ibis.greatest(ibis.least(value, most), -most) + 0.5).floor().cast("int64")
