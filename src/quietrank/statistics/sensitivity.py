"""A `Privacy` and a `Statistic` in, how far one unit can move that statistic out, with its derivation.

This is the only place where sensitivities are derived, in three ways to measure: the L1 norm (Laplace noise), the L2
norm of clipped contributions (Gaussian noise) and the gauge of a zonotope. docs/proofs/noisy-tally.md, gaussian.md
and zonotope.md prove each entry.

Where votes are split by group, one unit that moves from one group to another leaves one statistic and enters
another; noise is then calibrated for the worse of the two cases, `replace` in one group or `add-remove` in two.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from quietrank.errors import PrivacyError, option
from quietrank.promise.graph import Graph, largest_cut
from quietrank.promise.privacy import Neighbours, Privacy, Unit

TOTAL_SHARE = Fraction(1, 16)
"""α: where the total T is not free it is released as αT next to the net wins.

At 1/16 the net wins get 6 % more noise than alone, and T, a sum over all items, still has little."""

EXPOSURE_SHARE = Fraction(1, 8)
"""β: clipped net wins s and exposures d are released as (s, βd).

The noise on exposures is 8 times that on net wins, which matters little after shrinkage (estimators/methods.py), and
that on net wins is only a few per cent more than without exposures."""

PERSON_GRID = 2**20
"""One full vote of a person weighs this many units; smaller weights are whole multiples of 2^-20."""


class Statistic(StrEnum):
    """A vector computed from the votes, to be published with noise."""

    NET_WINS = "net-wins"
    """s_i = (wins_i − losses_i)/2"""
    NET_WINS_AND_TOTAL = "net-wins-and-total"
    """(s, αT), with T the total weight of all votes; α = 1 where that is free"""
    WINS = "wins"
    """wins_i, a tie counting half"""
    WINS_AND_LOSSES = "wins-and-losses"
    """(wins, losses), 2n entries: gives both s and the exposure d = wins + losses"""
    NET_WINS_AND_EXPOSURES = "net-wins-and-exposures"
    """(s, βd), 2n entries; for Gaussian noise"""

    @property
    def per_item(self) -> int:
        """How many entries it has for each item."""
        return 2 if self in (Statistic.WINS_AND_LOSSES, Statistic.NET_WINS_AND_EXPOSURES) else 1

    def size(self, items: int) -> int:
        """How many entries it has in all."""
        return self.per_item * items + (self is Statistic.NET_WINS_AND_TOTAL)


@dataclass(frozen=True)
class Sensitivity:
    """The largest L1 distance between the statistics of two neighbours."""

    l1: Fraction
    """in votes"""
    step: Fraction
    """the lattice: every entry of the statistic is a whole multiple of this many votes"""
    derivation: str

    @property
    def l1_steps(self) -> int:
        """The same in lattice steps."""
        return self.in_steps(self.step)

    def in_steps(self, step: Fraction) -> int:
        """The same in steps of another lattice; exact, because lattices are chosen to contain every weight."""
        steps = self.l1 / step
        if steps.denominator != 1:
            raise AssertionError(f"the sensitivity {self.l1} is not on the lattice of step {step}")
        return steps.numerator


def vote_weight(privacy: Privacy) -> int:
    """How many weight units a full vote has: 1 when votes stand alone, 2^20 when people are bounded."""
    return 1 if privacy.unit is Unit.COMPARISON else PERSON_GRID


def half_vote(privacy: Privacy) -> Fraction:
    """The lattice of wins, losses and net wins, in votes: half of the smallest weight."""
    return Fraction(1, 2 * vote_weight(privacy))


def total_is_free(privacy: Privacy, groups: bool) -> bool:
    """Whether (s, T) moves no further than s alone, in the L1 norm."""
    return privacy.neighbours is Neighbours.REPLACE and not privacy.one_per_pair and not groups


def sensitivity(
    privacy: Privacy, statistic: Statistic, pairs: Graph | int | None = None, *, groups: bool = False
) -> Sensitivity:
    """The L1 sensitivity of `statistic` under `privacy`.

    For one answer per pair, `pairs` are the askable ones, or the number of items where all pairs are askable.
    """
    share = Fraction(1)
    if statistic is Statistic.NET_WINS_AND_TOTAL and not total_is_free(privacy, groups):
        share = TOTAL_SHARE
    table = _l1_table(*_limits(privacy, pairs), share)
    _require_secret(privacy, statistic)
    if statistic is Statistic.NET_WINS_AND_EXPOSURES:
        raise PrivacyError(f"{statistic} is for Gaussian noise; with other noise release wins-and-losses")
    l1, derivation = table[statistic, privacy.counted_as]
    if groups and privacy.counted_as is Neighbours.REPLACE:
        moved, why = table[statistic, Neighbours.ADD_REMOVE]
        l1, derivation = max((l1, derivation), (2 * moved, f"out of one group and into another, each {why}"))
    return Sensitivity(l1=Fraction(l1), step=half_vote(privacy) * share, derivation=derivation)


def _require_secret(privacy: Privacy, statistic: Statistic) -> None:
    """Under a public design exposures and totals are known: there is no sensitivity for buying them."""
    if privacy.neighbours is Neighbours.OUTCOME and statistic not in (Statistic.NET_WINS, Statistic.WINS):
        raise PrivacyError(
            f"{statistic} is public in part under {option('neighbours', privacy.neighbours)}; release net-wins"
        )


def _limits(privacy: Privacy, pairs: Graph | int | None) -> tuple[int, int, int]:
    """L, the most weight of a unit; m, the largest ‖x‖₁ of its net wins x; k, the largest ‖w − w'‖₁ of two wins.

    ‖x‖₁ and ‖w‖₁ are at most the weight, so at most L. With one answer per pair x lies in ½Z(G), whose largest L1
    norm is the largest cut of G; and a pair moves the wins by at most 1, or by 2 where the signs of the movements
    of its two items differ: |G| + maxcut(G) in all.
    """
    L = privacy.limit
    if not privacy.one_per_pair:
        return L, L, 2 * L
    if pairs is None:
        raise AssertionError("one answer per pair needs the askable pairs")
    if isinstance(pairs, int):
        asked, cut = pairs * (pairs - 1) // 2, pairs * pairs // 4
    else:
        asked, cut = len(pairs.edges), largest_cut(pairs)
    return L, min(L, cut), min(2 * L, asked + cut)


def _l1_table(
    L: int, m: int, k: int, share: Fraction
) -> dict[tuple[Statistic, Neighbours], tuple[Fraction | int, str]]:
    """In votes. One vote of weight w on (i, j) adds w(y − 1/2)(e_i − e_j) to s: L1 norm at most w. It adds
    w(y·e_i + (1 − y)·e_j) to the wins: L1 norm exactly w; and likewise w to the losses.
    """
    s, s_and_total, wins, joint = (
        Statistic.NET_WINS, Statistic.NET_WINS_AND_TOTAL, Statistic.WINS, Statistic.WINS_AND_LOSSES
    )  # fmt: skip
    replace, add_remove, outcome = Neighbours.REPLACE, Neighbours.ADD_REMOVE, Neighbours.OUTCOME
    return {
        (s, replace): (2 * m, "‖s − s'‖₁ ≤ ‖x‖₁ + ‖x'‖₁ ≤ m + m"),
        (s, add_remove): (m, "‖x‖₁ ≤ m"),
        (s, outcome): (2 * m, "Σ w·|y − y'|·‖e_i − e_j‖₁ ≤ 2m"),
        # min(w, m) + min(w', m) + α|w − w'| is largest at w = L, w' = m; for m = L and α = 1 it is 2L.
        (s_and_total, replace): (2 * m + share * (L - m), "‖x‖₁ + ‖x'‖₁ + α|w − w'| ≤ 2m + α(L − m)"),
        (s_and_total, add_remove): (m + share * L, "‖x‖₁ + αw ≤ m + αL"),
        (wins, replace): (k, "‖wins‖₁ = weight ≤ L, once out and once in"),
        (wins, add_remove): (L, "‖wins‖₁ = weight ≤ L"),
        (wins, outcome): (2 * m, "Σ w·|y − y'|·‖e_i − e_j‖₁ ≤ 2m"),
        (joint, replace): (4 * m, "wins and losses each move like net wins where both answer, else less: 4m"),
        (joint, add_remove): (2 * L, "1 win and 1 loss per vote: 2L"),
    }


# ---- clipped contributions, in the L2 norm ------------------------------------------------------------------------


@dataclass(frozen=True)
class Clip:
    """A person's contribution to the statistic is scaled down until its Euclidean norm is at most C, in votes."""

    norm: Fraction
    """C"""
    statistic: Statistic
    by_design: bool
    """Under a public design the factor must not depend on the answers: then ½‖d‖₂ ≤ C, d the person's exposures,
    bounds the norm of net wins whatever the answers are"""

    @classmethod
    def of(cls, privacy: Privacy, statistic: Statistic, norm: float) -> Clip:
        by_design = privacy.neighbours is Neighbours.OUTCOME
        return cls(Fraction(norm), statistic, by_design)


@dataclass(frozen=True)
class Bounded:
    """How one unit's votes were bounded when they were counted; noise is calibrated for this and for nothing else."""

    unit: Unit
    max_per_person: int | None
    one_per_pair: bool
    clip: Clip | None

    @classmethod
    def by(cls, privacy: Privacy, clip: Clip | None) -> Bounded:
        """What bounding.py does under this promise: a clip takes the place of L."""
        return cls(privacy.unit, None if clip else privacy.max_per_person, privacy.one_per_pair, clip)


def squared_l2(privacy: Privacy, statistic: Statistic, square: Fraction) -> Fraction:
    """The square of the L2 sensitivity of the clipped statistic, in votes²; `square` is C², the most of ‖x‖₂².

    `replace` and `outcome`: ‖x − x'‖ ≤ 2C; wins and losses are not negative, so there ‖x − x'‖² ≤ C² + C². For (s, βd)
    |s_i| ≤ d_i/2, so −⟨x, x'⟩ ≤ (1 − 4β²)·Σ|s_i||s'_i| ≤ (1 − 4β²)/(1 + 4β²)·C². A unit that changes its group moves
    two statistics by C each, C² + C² in all, which is never more.
    """
    _require_secret(privacy, statistic)
    if statistic is Statistic.NET_WINS_AND_TOTAL:
        raise PrivacyError(f"{statistic} is for other noise; with Gaussian noise release net-wins-and-exposures")
    if privacy.counted_as is Neighbours.ADD_REMOVE:
        return square
    if statistic is Statistic.NET_WINS_AND_EXPOSURES:
        return 4 * square / (1 + 4 * EXPOSURE_SHARE**2)
    not_negative = statistic in (Statistic.WINS, Statistic.WINS_AND_LOSSES)
    return (2 if not_negative and privacy.counted_as is Neighbours.REPLACE else 4) * square


def norm_of_one_vote(privacy: Privacy, statistic: Statistic) -> Fraction:
    """C² where votes stand alone: the square of the norm of what one vote adds."""
    if privacy.neighbours is Neighbours.OUTCOME:
        return Fraction(1, 2)  # half of ‖e_i − e_j‖, by which an answer moves net wins and wins alike
    return {
        Statistic.NET_WINS: Fraction(1, 2),
        Statistic.WINS: Fraction(1),
        Statistic.WINS_AND_LOSSES: Fraction(2),
        Statistic.NET_WINS_AND_EXPOSURES: Fraction(1, 2) + 2 * EXPOSURE_SHARE**2,
    }[statistic]


# ---- one answer per pair, in the gauge of a zonotope --------------------------------------------------------------


def gauge(privacy: Privacy, statistic: Statistic, *, groups: bool = False) -> Fraction:
    """How many times the body K of the statistic contains the differences of two neighbours.

    K is Z(G) for s; Z(G) × [−2W, 2W] for (s, T), W the most weight of a person; Z of the double cover of G for
    (wins, −losses). A person adds a vector of ½Z(G) × [0, W], half of K; two people differ by at most K. In the
    double cover what a person adds has coefficients in [0, 1]: all of K, alone as well as replaced.
    """
    if privacy.unit is Unit.COMPARISON or not privacy.one_per_pair:
        raise PrivacyError(
            f"the zonotope mechanism needs {option('unit', 'person')} and {option('one_per_pair', True)}; add them, or "
            f"use {option('mechanism', 'laplace')}"
        )
    if statistic in (Statistic.WINS, Statistic.NET_WINS_AND_EXPOSURES):
        raise PrivacyError(f"the zonotope mechanism does not release {statistic}; use {option('method', 'net-wins')}")
    _require_secret(privacy, statistic)
    alone = Fraction(1) if statistic is Statistic.WINS_AND_LOSSES else Fraction(1, 2)
    if privacy.neighbours is Neighbours.ADD_REMOVE:
        return alone
    return max(Fraction(1), 2 * alone) if groups else Fraction(1)
