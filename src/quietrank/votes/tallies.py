"""Exact, confidential sums in, types that guard them out: `Tally` by item, `PairTally` by pair, `Tallies` by group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from quietrank.promise.items import Items
from quietrank.promise.promise import Bounded

if TYPE_CHECKING:
    from quietrank.arrays import Integers


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
    """how each unit's votes were bounded; None for counts that must not be released"""
    ties: int | None = None
    """K, the weight of all ties, in steps; None: not counted"""
    weight: int | None = None
    """the total weight of all votes, in steps, where it is not the sum of wins: of best–worst sets"""

    @property
    def by_item(self) -> Tally:
        return self

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
        """T, the total weight of all votes, in steps: every vote gives exactly one win."""
        return int(self.wins.sum()) if self.weight is None else self.weight


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
    ties: int | None = None

    @cached_property
    def by_item(self) -> Tally:
        """The same votes, added up by item."""
        n = len(self.items)
        wins, losses = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        for side, won, lost in ((self.i, self.wins_i, self.wins_j), (self.j, self.wins_j, self.wins_i)):
            np.add.at(wins, side, won)
            np.add.at(losses, side, lost)
        return Tally(self.items, wins, losses, self.step, self.rows, self.bounded, self.ties)


@dataclass(frozen=True, eq=False, repr=False)
class SetTally(Confidential):
    """Exact weights of each best–worst set that was shown, in lattice steps, and the counts of items. What was chosen
    from a set is counted by item alone: the sets may be public, the answers never are."""

    items: Items
    sets: Integers
    """a row for each set: its items in ascending order, then −1 where it has fewer than the largest"""
    weights: Integers
    by_item: Tally

    @property
    def step(self) -> Fraction:
        return self.by_item.step

    @property
    def rows(self) -> int:
        return self.by_item.rows

    @property
    def bounded(self) -> Bounded | None:
        return self.by_item.bounded


AnyTally = Tally | PairTally | SetTally


@dataclass(frozen=True, eq=False, repr=False)
class PeopleByVotes(Confidential):
    """Exact numbers of people by how many votes (or answers) they gave, in bins that double."""

    items: Items
    counts: Integers


@dataclass(frozen=True, eq=False, repr=False)
class Tallies(Confidential):
    """One tally for each group, in the order in which the groups were declared; a single one where there are none.

    The number of rows of a group is confidential whatever the promise: no estimate may be computed from it.
    """

    by_group: tuple[tuple[str, AnyTally], ...]
    """the name of the group is empty where votes are not split"""
    people: int | None = None
    """how many people there were in all, before any row was dropped; None: not counted"""
    read: int | None = None
    """how many rows there were in all, before any was dropped; None: as many as in the tallies"""

    @classmethod
    def of(
        cls,
        *tallies: AnyTally,
        groups: tuple[str, ...] = ("",),
        people: int | None = None,
        read: int | None = None,
    ) -> Tallies:
        return cls(tuple(zip(groups, tallies, strict=True)), people, read)

    @property
    def items(self) -> Items:  # type: ignore[override]
        return self.by_group[0][1].items

    @property
    def groups(self) -> tuple[str, ...] | None:
        """The groups, or None where votes are not split."""
        names = tuple(group for group, _ in self.by_group)
        return None if names == ("",) else names

    @property
    def rows(self) -> int:
        """How many rows there were in all, before any was dropped."""
        return sum(tally.rows for _, tally in self.by_group) if self.read is None else self.read

    def __iter__(self) -> Iterator[AnyTally]:
        return (tally for _, tally in self.by_group)

    def __len__(self) -> int:
        return len(self.by_group)
