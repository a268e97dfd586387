"""Votes in, a `Tally` out: the exact, confidential sums that everything else is computed from.

Counting is done by the votes' own engine, on integers, so the result is the same bit for bit whatever the
engine, the number of threads or the order of rows. Checks ride on the aggregated result: a bad row surfaces as
an item without an index or as a flaw counted, and only then are rows looked at one by one (`check.py`).

Nothing overflows: an entry is at most 2^21 steps per vote, so 64 bits hold more than 10^12 votes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from quietrank import check
from quietrank.bounding import weigh
from quietrank.errors import VotesError
from quietrank.estimators.pairs import Pairs
from quietrank.items import Items
from quietrank.privacy import Neighbours, Privacy
from quietrank.sensitivity import Bounded, Clip, half_vote
from quietrank.votes import Votes, collect

if TYPE_CHECKING:
    import ibis.expr.types as ir

Integers = NDArray[np.int64]
SUMS = ("wins", "losses", "rows", "flawed")


class Confidential:
    """Does not print its numbers and cannot be pickled."""

    items: Items

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.items)} items, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is confidential and cannot be pickled; publish a Release instead")


@dataclass(frozen=True, eq=False, repr=False)
class Tally(Confidential):
    """Exact wins and losses of each item, in lattice steps."""

    items: Items
    wins: Integers
    """a tie counts half; in steps"""
    losses: Integers
    step: Fraction
    """one step, in votes: half of the smallest weight"""
    rows: int
    """how many rows there were before any was dropped"""
    bounded: Bounded | None = None
    """how each unit's votes were bounded; None for counts that no release may be made of"""

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


@dataclass(frozen=True, eq=False, repr=False)
class PairTally(Confidential):
    """Exact wins of each side of each pair that was compared, in lattice steps; i < j, every pair once."""

    items: Items
    i: Integers
    j: Integers
    wins_i: Integers
    wins_j: Integers
    step: Fraction
    rows: int
    bounded: Bounded | None = None

    def in_votes(self) -> Pairs:
        """The same as floating-point votes, for the solver."""
        wins_i, wins_j = (np.asarray(wins * float(self.step), np.float64) for wins in (self.wins_i, self.wins_j))
        return Pairs(len(self.items), self.i.astype(np.int32), self.j.astype(np.int32), wins_i, wins_j)

    @property
    def by_item(self) -> Tally:
        """The same votes, added up by item."""
        n = len(self.items)
        wins, losses = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        for side, won, lost in ((self.i, self.wins_i, self.wins_j), (self.j, self.wins_j, self.wins_i)):
            np.add.at(wins, side, won)
            np.add.at(losses, side, lost)
        return Tally(self.items, wins, losses, self.step, self.rows, self.bounded)


def tally_votes(votes: Votes, privacy: Privacy, clip: Clip | None = None) -> Tally:
    """Count the votes by item, each person bounded, after checking every row."""
    counted = _count(votes, privacy, clip, _item_sums)
    rows = _rows(votes, privacy, int(counted["rows"].sum()) // 2)
    return _by_item(votes.items, privacy, clip, counted, rows)


def tally_pairs(votes: Votes, privacy: Privacy, clip: Clip | None = None) -> PairTally:
    """Count the votes by pair, each person bounded, after checking every row."""
    counted = _count(votes, privacy, clip, _pair_sums)
    rows = _rows(votes, privacy, int(counted["rows"].sum()))
    return _by_pair(votes.items, privacy, clip, counted, rows)


def tally_groups(votes: Votes, privacy: Privacy, clip: Clip | None = None) -> list[Tally]:
    """Count the votes by group and item, in the order of the declared groups; empty groups too.

    The number of rows of a group is confidential whatever the promise: no estimate may be computed from it.
    """
    counted = _count(votes, privacy, clip, _item_sums)
    _rows(votes, privacy, int(counted["rows"].sum()) // 2)
    return [_by_item(votes.items, privacy, clip, part, int(part["rows"].sum()) // 2) for part in _parts(votes, counted)]


def tally_pairs_of_groups(votes: Votes, privacy: Privacy, clip: Clip | None = None) -> list[PairTally]:
    """Count the votes by group and pair, in the order of the declared groups; empty groups too."""
    counted = _count(votes, privacy, clip, _pair_sums)
    _rows(votes, privacy, int(counted["rows"].sum()))
    return [_by_pair(votes.items, privacy, clip, part, int(part["rows"].sum())) for part in _parts(votes, counted)]


def _parts(votes: Votes, counted: dict[str, Integers]) -> list[dict[str, Integers]]:
    """The sums of each declared group."""
    if votes.groups is None:
        raise VotesError("these votes have no groups; read them with by=... and groups=[...] (--by, --groups)")
    members = [counted["group_index"] == group for group in range(len(votes.groups))]
    return [{name: column[member] for name, column in counted.items()} for member in members]


def _by_item(items: Items, privacy: Privacy, clip: Clip | None, counted: dict[str, Integers], rows: int) -> Tally:
    wins, losses = np.zeros((2, len(items)), dtype=np.int64)
    np.add.at(wins, counted["index"], counted["wins"])
    np.add.at(losses, counted["index"], counted["losses"])
    if wins.sum() != losses.sum():
        # Every vote is a win and a loss: the engine gave its two sides different weights.
        raise VotesError("the engine did not count all votes twice alike; give the votes as a file or a data frame")
    return Tally(items, wins, losses, half_vote(privacy), rows, Bounded.by(privacy, clip))


def _by_pair(items: Items, privacy: Privacy, clip: Clip | None, counted: dict[str, Integers], rows: int) -> PairTally:
    a, b = counted["index_a"], counted["index_b"]
    keys, place = np.unique(np.minimum(a, b) * len(items) + np.maximum(a, b), return_inverse=True)
    wins_i, wins_j = np.zeros((2, len(keys)), dtype=np.int64)
    np.add.at(wins_i, place, np.where(a < b, counted["wins"], counted["losses"]))
    np.add.at(wins_j, place, np.where(a < b, counted["losses"], counted["wins"]))
    i, j = np.divmod(keys, len(items))
    return PairTally(items, i, j, wins_i, wins_j, half_vote(privacy), rows, Bounded.by(privacy, clip))


def _count(
    votes: Votes, privacy: Privacy, clip: Clip | None, sums: Callable[[ir.Table, ir.Table], ir.Table]
) -> dict[str, Integers]:
    """Run the counting query and refuse if any row is bad."""
    if privacy.counts_people:
        votes.require_person()
    check.require_exact_text(votes)
    rows = check.valid_rows(votes, privacy) if votes.skip_invalid else votes.rows()
    query = sums(weigh(rows, privacy, votes.items, clip), check.items_table(votes.items))
    if votes.groups is not None:
        query = check.with_group_index(query, votes.groups).drop("group")
    found = collect(votes.source, query)
    counted = {name: _integers(found[name], missing=0 if name in SUMS else -1) for name in found.column_names}
    undeclared = any((counted[name] < 0).any() for name in counted if name not in SUMS)
    if undeclared or counted["flawed"].any():
        check.refuse(votes, privacy)
    return counted


def _item_sums(rows: ir.Table, items: ir.Table) -> ir.Table:
    """Per item index (NULL for names not declared), and per group where there are any: the sums.

    Each side is grouped on its own before the two are united, which is twice as fast as the other way round;
    flaws that concern a whole row are counted once, on the side of a.
    """
    import ibis

    won, lost = _won_and_lost(rows)
    group = _group(rows)
    a = rows.group_by(*group, item=rows.a).agg(wins=won, losses=lost, rows=rows.count(), flawed=_flawed(rows))
    b = rows.group_by(*group, item=rows.b).agg(wins=lost, losses=won, rows=rows.count())
    sides = a.union(b.mutate(flawed=ibis.literal(0, type="int64")))
    known = sides.left_join(items, sides.item == items.name)
    return known.group_by(*group, "index").agg(**{name: known[name].sum() for name in SUMS})


def _pair_sums(rows: ir.Table, items: ir.Table) -> ir.Table:
    """Per pair of item indices (NULL for names not declared), and group: the sums, wins being those of a."""
    won, lost = _won_and_lost(rows)
    group = _group(rows)
    pairs = rows.group_by(*group, "a", "b").agg(wins=won, losses=lost, rows=rows.count(), flawed=_flawed(rows))
    known = check.with_indices(pairs, items)
    return known.group_by(*group, "index_a", "index_b").agg(**{name: known[name].sum() for name in SUMS})


def _group(rows: ir.Table) -> list[str]:
    return ["group"] if "group" in rows.columns else []


def _won_and_lost(rows: ir.Table) -> tuple[ir.Value, ir.Value]:
    """The weight that a has won and lost, in half votes."""
    if "y" not in rows.columns:
        return rows.weight.sum() * 2, rows.weight.sum() * 0
    return (rows.weight * rows.y).sum(), (rows.weight * (2 - rows.y)).sum()


def _flawed(rows: ir.Table) -> ir.Value:
    """How many rows are flawed in a way that the item index does not show."""
    flawed = (rows.a == rows.b) | rows.weight.isnull()
    if "y" in rows.columns:
        flawed |= rows.y.isnull()
    return flawed.cast("int8").sum()


def _rows(votes: Votes, privacy: Privacy, counted: int) -> int:
    """The number of rows before any was dropped; none at all is refused where that number is public."""
    raw = votes.source.table
    rows = int(collect(votes.source, raw.agg(rows=raw.count()))["rows"][0].as_py()) if votes.skip_invalid else counted
    if rows == 0 and privacy.neighbours is not Neighbours.ADD_REMOVE:
        raise VotesError(f"{votes.source.name} has no votes; give a file with a header and one row per vote")
    return rows


def _integers(column: Any, missing: int) -> Integers:
    return np.asarray(column.fill_null(missing).to_numpy(), dtype=np.int64)
