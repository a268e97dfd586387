"""A `Privacy`, the items and the groups in, a `Promise` out: who may change what, and by how much.

Votes are split by group or not; either way a unit can change tallies in a few ways only, the `moves`. Whatever noise is
calibrated for is the largest reach over all moves, so nothing else has to know about groups (docs/proofs/groups.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from quietrank.errors import PrivacyError, option
from quietrank.promise.graph import largest_cut
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design, GroupOf, Neighbours, Privacy, Unit

PERSON_GRID = 2**20
"""One full vote of a person weighs this many units; smaller weights are whole multiples of 2^-20."""

FINE = Fraction(1, 2 * PERSON_GRID)
"""The lattice of noise that is a rounded real number, in votes: fine whatever the unit."""


Squares = tuple[tuple[str, Fraction], ...]
"""a weighted sum of squares of what a unit adds to the `wins`, `losses`, `net_wins` or `exposure` of items"""


@dataclass(frozen=True)
class Move:
    """One way in which neighbours can differ: a unit's contribution to this many tallies changes in this way."""

    change: Neighbours
    tallies: int = 1


@dataclass(frozen=True)
class Limits:
    """How much one unit can contribute, in votes.

    ‖x‖₁ of net wins x and ‖w‖₁ of wins w are at most the weight, so at most L. With one answer per pair x lies in
    ½Z(G), whose largest L1 norm is the largest cut of G; and a pair moves the wins by at most 1, or by 2 where the
    signs of the movements of its two items differ: |G| + maxcut(G) in all. Where each pair may be answered once in each
    of several groups, the graph is that many copies of G side by side, and so many times its edges and its cut.
    """

    weight: int
    """L"""
    net_wins: int
    """m, the largest ‖x‖₁"""
    wins_apart: int
    """k, the largest ‖w − w'‖₁"""
    spread: int = 1
    """over how many tallies the unit's votes may be spread; norms are those of all of these tallies together"""
    shown: int = 2
    """M, how many items a vote is about at most; ‖d‖₁ of exposures d is at most M times the weight"""


@dataclass(frozen=True)
class Promise:
    """What is promised for these items and groups; with one answer per pair, L is at most the number of pairs."""

    privacy: Privacy
    """with L filled in"""
    items: Items
    groups: tuple[str, ...] | None = None
    """the public list of groups, if the votes are split by group"""
    group_of: GroupOf = GroupOf.VOTE
    """whose group it is; where single votes are protected, each has its own in any case"""
    leaves_out: bool = False
    """whether rows may be left out without being wrong, such as those without an answer; whether any were is secret"""

    def __post_init__(self) -> None:
        if self.privacy.unit is Unit.COMPARISON:
            object.__setattr__(self, "group_of", GroupOf.VOTE)
        if self.privacy.one_per_pair:
            self.require_pairs(option("one_per_pair", True))
        if self.privacy.one_per_pair and not self.privacy.chooses_limit:
            pairs = self.items.askable * self.spread
            limit = min(self.privacy.max_per_person or pairs, pairs)
            object.__setattr__(self, "privacy", self.privacy.changed(max_per_person=limit))

    def changed(self, **values: object) -> Promise:
        """The same with these values of its `privacy` changed."""
        return replace(self, privacy=self.privacy.changed(**values))

    @cached_property
    def pure(self) -> Promise:
        """The part of the promise that mechanisms without δ keep."""
        return self.changed(delta=0.0, clip=None)

    def require_pairs(self, what: str) -> None:
        """Refuse what is about pairs where votes are best–worst sets: their answers are no answers to pairs."""
        if self.items.in_sets:
            raise PrivacyError(
                f"{what} is for votes on pairs, and these are best-worst sets of up to {self.items.shown} items; leave "
                "it out"
            )

    @property
    def spread(self) -> int:
        """Over how many tallies one unit's votes may be spread; each pair may be answered once in each of them."""
        alone = self.groups is None or self.privacy.unit is Unit.COMPARISON or self.group_of is GroupOf.PERSON
        return 1 if alone else len(self.groups or ())

    @property
    def tallies_changed(self) -> int:
        """In how many tallies neighbours can differ, at most."""
        return 1 if self.groups is None else max(2, self.spread)

    @property
    def moves(self) -> tuple[Move, ...]:
        """What can change between neighbours: a unit in its tally, or a unit that leaves one group for another.

        Where one person's votes are spread over groups, the tallies of all groups are one vector, bounded as a whole,
        and every change is one change of that vector, not a sum (docs/proofs/groups.md, section 3).
        """
        change = self.privacy.counted_as
        if self.groups is None or change is not Neighbours.REPLACE or self.spread > 1:
            return (Move(change),)
        return Move(change), Move(Neighbours.ADD_REMOVE, tallies=2)

    def reach(self, measure: Callable[[Neighbours], Fraction | int]) -> Fraction:
        """The most by which neighbours differ, in a measure of one changed tally that adds up over tallies."""
        return max(Fraction(move.tallies * measure(move.change)) for move in self.moves)

    @cached_property
    def limits(self) -> Limits:
        L = self.privacy.limit
        if not self.privacy.one_per_pair:
            return Limits(L, L, 2 * L, self.spread, self.items.shown)
        n = len(self.items)
        cut = self.spread * (n * n // 4 if self.items.pairs is None else largest_cut(self.items.graph))
        return Limits(L, min(L, cut), min(2 * L, self.spread * self.items.askable + cut), self.spread)

    @property
    def half_vote(self) -> Fraction:
        """The lattice of wins, losses and net wins, in votes."""
        return self.bounded(None).half_vote

    def bounded(self, clip: Clip | None) -> Bounded:
        """How votes must be counted for noise that keeps this promise."""
        group_of = GroupOf.VOTE if self.spread > 1 else GroupOf.PERSON
        return Bounded.by(self.privacy, clip, group_of, self.items.shown)

    @property
    def total_is_free(self) -> bool:
        """Whether (s, T) moves no further than s alone, in the L1 norm."""
        return self.privacy.neighbours is Neighbours.REPLACE and not self.privacy.one_per_pair and self.groups is None

    @property
    def people_are_public(self) -> bool:
        """Whether the number of people in a tally is the same for all neighbours."""
        privacy = self.privacy
        return privacy.unit is Unit.PERSON and privacy.neighbours is not Neighbours.ADD_REMOVE and self.groups is None

    @property
    def votes_are_public(self) -> bool:
        """Whether the number of votes in a tally is the same for all neighbours; for one group it seldom is."""
        return self.privacy.votes_are_public and (self.groups is None or self.privacy.design is Design.PUBLIC)

    @property
    def total_is_public(self) -> bool:
        """Whether the number of votes that are counted is the same for all neighbours.

        Where rows may be left out it is not: a vote may be replaced by one that is. Only a public design leaves out no
        row for its answer.
        """
        return self.votes_are_public and (not self.leaves_out or self.privacy.design is Design.PUBLIC)


@dataclass(frozen=True)
class Clip:
    """A person's contribution is scaled down until its Euclidean norm is at most C, in votes."""

    norm: Fraction
    """C"""
    squares: Squares
    """the terms of the squared norm"""


WHOLE = ("exposure", "ties", "total")
"""what is counted in votes, and not in half votes, where norms are computed"""


def whole_squares(clip: Clip) -> tuple[dict[str, int], int]:
    """The clip's sum of squares with whole coefficients, and the factor by which the vector was scaled up for that.

    Columns of counts hold twice the wins, losses and net wins of a person, and the others themselves.
    """
    finer = 1
    if any(weight.denominator & (weight.denominator - 1) for _, weight in clip.squares):
        raise AssertionError("the weights of a clip's squares must be multiples of powers of a half")
    while True:
        terms = {name: weight * finer**2 * (4 if name in WHOLE else 1) for name, weight in clip.squares}
        if all(weight.denominator == 1 for weight in terms.values()):
            return {name: int(weight) for name, weight in terms.items()}, finer
        finer *= 2


@dataclass(frozen=True)
class RangeClip(Clip):
    """A person's contribution is scaled down until it brings no two items of a tally apart by more than `norm` votes,
    the sum over tallies; and in any case to the total weight L."""

    limit: int = 1
    """L"""


@dataclass(frozen=True)
class Bounded:
    """How votes are counted, so that no unit contributes more than promised; noise is calibrated for exactly this."""

    unit: Unit
    max_per_person: int | None = None
    """L, if it bounds"""
    one_per_pair: bool = False
    clip: Clip | None = None
    """takes the place of L"""
    answers_only: bool = False
    """only answers differ between neighbours, so no row may be dropped for its answer"""
    group_of: GroupOf = GroupOf.PERSON
    """PERSON: a person's votes are all in one tally. VOTE: they may be in several, and are bounded over all of them;
    an answer is per group and pair, and a clip is taken of the vector over all groups and items, never of its sum"""
    shown: int = 2
    """M: a vote on a set of m items weighs (m − 1)/(M − 1) of a full one"""

    @classmethod
    def by(cls, privacy: Privacy, clip: Clip | None, group_of: GroupOf = GroupOf.PERSON, shown: int = 2) -> Bounded:
        """The bounds that this promise requires."""
        answers_only = privacy.neighbours is Neighbours.OUTCOME
        limit = None if clip is not None and not isinstance(clip, RangeClip) else privacy.max_per_person
        return cls(privacy.unit, limit, privacy.one_per_pair, clip, answers_only, group_of, shown)

    @property
    def counts_people(self) -> bool:
        """Whether it matters who cast a vote, so that every vote must name its person."""
        return self.unit is Unit.PERSON or self.max_per_person is not None

    @property
    def half_vote(self) -> Fraction:
        """The lattice of wins, losses and net wins, in votes: half of the smallest weight."""
        return Fraction(1, 2 if self.unit is Unit.COMPARISON and self.shown == 2 else 2 * PERSON_GRID)


EVERY_VOTE = Bounded(Unit.COMPARISON)
"""Each vote counts once, whoever cast it."""
