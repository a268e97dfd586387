"""Votes in, a `Tally` out: the exact, confidential sums that everything else is computed from.

Counting is done by the votes' own engine, on integers, so the result is the same bit for bit whatever the
engine, the number of threads or the order of rows. Checks ride on the aggregated result: a bad row surfaces as
an item without an index, and only then are rows looked at one by one (`check.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from quietrank import check
from quietrank.bounding import weigh
from quietrank.errors import VotesError
from quietrank.items import Items
from quietrank.privacy import Neighbours, Privacy, Unit
from quietrank.sensitivity import vote_weight
from quietrank.votes import Votes, collect

if TYPE_CHECKING:
    import ibis.expr.types as ir

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """Exact wins and losses of each item, in lattice steps. Confidential: does not print, cannot be pickled."""

    items: Items
    wins: Integers
    """a tie counts half; in steps"""
    losses: Integers
    step: Fraction
    """one step, in votes: half of the smallest weight"""
    rows: int
    """how many rows there were before any was dropped"""

    @property
    def net_wins(self) -> Integers:
        """s = (wins − losses)/2, in steps; exact, because a vote moves wins − losses by 0 or ±2 weights."""
        return (self.wins - self.losses) // 2

    @property
    def exposure(self) -> Integers:
        """d = wins + losses, in steps."""
        return self.wins + self.losses

    @property
    def total(self) -> int:
        """T, the total weight of all votes, in steps: every vote gives away exactly one win."""
        return int(self.wins.sum())

    def __repr__(self) -> str:
        return f"Tally({len(self.items)} items, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Tally is confidential and cannot be pickled; publish a Release instead")


def tally_votes(votes: Votes, privacy: Privacy) -> Tally:
    """Count the votes, each person bounded, after checking every row."""
    usable = usable_rows(votes, privacy)
    sums = collect(votes.source, _sums(weigh(usable, privacy), votes))
    counted = {name: _column(sums, name) for name in sums.column_names}
    listed = counted["index"] >= 0
    if counted["rows"][~listed].any() or counted["flawed"].any():
        check.refuse(votes, privacy)
    rows = int(counted["rows"].sum()) // 2
    if votes.skip_invalid:
        rows = int(collect(votes.source, votes.source.table.agg(rows=votes.source.table.count()))["rows"][0].as_py())
    if rows == 0 and privacy.neighbours is not Neighbours.ADD_REMOVE:
        raise VotesError(f"{votes.source.name} has no votes; give a file with a header and one row per vote")
    return Tally(
        items=votes.items,
        wins=_by_item(counted, "wins", listed, len(votes.items)),
        losses=_by_item(counted, "losses", listed, len(votes.items)),
        step=Fraction(1, 2 * vote_weight(privacy)),
        rows=rows,
    )


def usable_rows(votes: Votes, privacy: Privacy) -> ir.Table:
    """The rows to count: all of them, or under `skip_invalid` those that can be used."""
    if privacy.unit is Unit.PERSON:
        votes.require_person()
    return check.valid_rows(votes, privacy) if votes.skip_invalid else votes.rows()


def _sums(rows: ir.Table, votes: Votes) -> ir.Table:
    """Per item index (NULL for names not declared): wins, losses, rows, and rows with a flaw.

    Each side is grouped on its own before the two are united, which is twice as fast as the other way round;
    flaws that concern a whole row are counted once, on the side of a.
    """
    import ibis

    won, lost = rows.weight * rows.y, rows.weight * (2 - rows.y)
    flawed = (rows.a == rows.b) | rows.y.isnull() | rows.weight.isnull()
    a = rows.group_by(item=rows.a).agg(
        wins=won.sum(), losses=lost.sum(), rows=rows.count(), flawed=flawed.cast("int8").sum()
    )
    b = rows.group_by(item=rows.b).agg(wins=lost.sum(), losses=won.sum(), rows=rows.count())
    b = b.mutate(flawed=ibis.literal(0, type="int64"))
    sides = a.union(b)
    items = check.items_table(votes.items)
    known = sides.left_join(items, sides.item == items.name)
    sums = {name: known[name].sum() for name in ("wins", "losses", "rows", "flawed")}
    return known.group_by("index").agg(**sums)


def _by_item(counted: dict[str, Integers], name: str, listed: NDArray[np.bool_], n: int) -> Integers:
    values = np.zeros(n, dtype=np.int64)
    values[counted["index"][listed]] = counted[name][listed]
    return values


def _column(sums: Any, name: str) -> Integers:
    """An integer column as NumPy; a NULL index (a name that is not declared) becomes −1, a NULL sum 0."""
    column = sums[name].fill_null(-1 if name == "index" else 0)
    return np.asarray(column.to_numpy(), dtype=np.int64)
