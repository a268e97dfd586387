"""Votes and a way to bound people in, every number that is counted from them out, to be compared between engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from quietrank.estimate.methods import Expected
from quietrank.mechanisms.scatter import Around
from quietrank.promise.privacy import GroupOf, Unit
from quietrank.promise.promise import Bounded, Clip, RangeClip
from quietrank.votes.read import Votes
from quietrank.votes.tallies import AnyTally, PairTally, SetTally, Tallies, Tally
from quietrank.votes.tally import counting

NET_WINS = (("net_wins", Fraction(1)),)
EVERYTHING = (
    ("wins", Fraction(1, 4)), ("losses", Fraction(2)), ("net_wins", Fraction(1)), ("exposure", Fraction(1, 2)),
    ("ties", Fraction(3, 4)), ("total", Fraction(1, 16)),
)  # fmt: skip
"""a norm of all that a clip can be about, with coefficients that have to be scaled up"""

BOUNDS = {
    "comparison": Bounded(Unit.COMPARISON),
    "comparison, answers only": Bounded(Unit.COMPARISON, answers_only=True),
    "comparison, at most 2": Bounded(Unit.COMPARISON, 2),
    "person, L = 3": Bounded(Unit.PERSON, 3),
    "person, L = 3, answers only": Bounded(Unit.PERSON, 3, answers_only=True),
    "person, one per pair": Bounded(Unit.PERSON, 6, one_per_pair=True),
    "person, one per pair, L = 2": Bounded(Unit.PERSON, 2, one_per_pair=True),
    "person, clipped": Bounded(Unit.PERSON, clip=Clip(Fraction(13, 10), NET_WINS)),
    "person, clipped in every norm": Bounded(Unit.PERSON, clip=Clip(Fraction(17, 10), EVERYTHING)),
    "person, one per pair, clipped": Bounded(Unit.PERSON, one_per_pair=True, clip=Clip(Fraction(13, 10), NET_WINS)),
    "person, kept together": Bounded(Unit.PERSON, 3, clip=RangeClip(Fraction(12, 10), (), 3)),
    "person, one per pair, kept together": Bounded(
        Unit.PERSON, 6, one_per_pair=True, clip=RangeClip(Fraction(12, 10), (), 6)
    ),
}
OF_SETS = [name for name in BOUNDS if "per pair" not in name and "every norm" not in name]
"""best–worst sets have no pairs, and no ties"""
ALONE = [name for name, bounded in BOUNDS.items() if not bounded.counts_people]
"""where nobody is named, or rows stand for several votes"""


@dataclass(frozen=True)
class Figures:
    """Everything that is counted, in plain numbers."""

    by_item: Any
    by_pair: Any
    scatter: Any


def bounded_for(votes: Votes, name: str) -> Bounded:
    """The bound of this name, for these votes: the size of their sets, and whose their groups are."""
    bounded = BOUNDS[name]
    whose = GroupOf.PERSON if votes.groups is None or bounded.unit is Unit.COMPARISON else votes.group_of
    return replace(bounded, group_of=whose, shown=votes.items.shown)


def figures(votes: Votes, name: str, *, scatter: bool = True) -> Figures:
    """All tallies, and the scatter around everything that it is measured around, where people are counted."""
    bounded = bounded_for(votes, name)
    people = scatter and bounded.unit is Unit.PERSON
    with counting(votes, bounded, may_be_empty=True, again=True) as counted:
        by_item = _numbers(counted.tallies)
        around = [counted.scatter(each, MOST) for each in (_of_items(votes) if people else ())]
    with counting(votes, bounded, may_be_empty=True, by_pair=True, again=people) as counted:
        by_pair = _numbers(counted.tallies)
        around += [counted.scatter(each, MOST) for each in (_of_pairs(votes) if people else ())]
    return Figures(by_item, by_pair, around)


MOST = 5.3
"""C² of the scatter, in votes²: some people are cut off"""


def _odd(votes: Votes) -> list[Any]:
    """Numbers of no meaning for every group, from −1 to 1: whether doubles are rounded alike shows in them."""
    return [np.sin(np.arange(len(votes.items)) * 1.7 + group) for group in range(len(votes.groups or ("",)))]


def _of_items(votes: Votes) -> list[list[Expected]]:
    odd = _odd(votes)
    rates = {Around.ZERO: odd, Around.VOTES: [v / 2 for v in odd], Around.EXPOSURES: [(1 + v) / 2 for v in odd]}
    return [[Expected(around, values) for values in each] for around, each in rates.items()]


def _of_pairs(votes: Votes) -> list[list[Expected]]:
    """With ties as half wins, and by Davidson's model; sets have no pairs."""
    if votes.items.in_sets:
        return []
    return [[Expected(Around.PAIRS, 3 * values, nu) for values in _odd(votes)] for nu in (0.0, 0.7)]


def _numbers(tallies: Tallies) -> Any:
    return [_of_tally(tally) for tally in tallies], tallies.people, tallies.read, tallies.rows


def _of_tally(tally: AnyTally) -> Sequence[Any]:
    if isinstance(tally, SetTally):
        return tally.sets.tolist(), tally.weights.tolist(), _of_tally(tally.by_item)
    if isinstance(tally, PairTally):
        return tally.i.tolist(), tally.j.tolist(), tally.wins_i.tolist(), tally.wins_j.tolist(), tally.rows, tally.ties
    assert isinstance(tally, Tally)
    return tally.wins.tolist(), tally.losses.tolist(), tally.rows, tally.ties, tally.weight
