"""A `Privacy` and a `Statistic` in, how far one unit can move that statistic out, with its derivation.

This is the only place where sensitivities are derived; docs/proofs/noisy-tally.md proves each entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from quietrank.errors import PrivacyError
from quietrank.privacy import Neighbours, Privacy, Unit

TOTAL_SHARE = Fraction(1, 16)
"""α: under `add-remove` the total T is released as αT next to the net wins, which costs (1 + α)L.

At 1/16 the net wins get 6 % more noise than alone, and T, a sum over all items, still has little."""

PERSON_GRID = 2**20
"""One full vote of a person weighs this many units; smaller weights are whole multiples of 2^-20."""


class Statistic(StrEnum):
    """A vector computed from the votes, to be published with noise."""

    NET_WINS = "net-wins"
    """s_i = (wins_i − losses_i)/2"""
    NET_WINS_AND_TOTAL = "net-wins-and-total"
    """(s, T), with T the total weight of all votes; (s, αT) under `add-remove`"""
    WINS = "wins"
    """wins_i, a tie counting half"""
    WINS_AND_LOSSES = "wins-and-losses"
    """(wins, losses), 2n entries: gives both s and the exposure d = wins + losses"""


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
        """The same in lattice steps; exact, because the lattice was chosen to contain every weight."""
        steps = self.l1 / self.step
        if steps.denominator != 1:
            raise AssertionError(f"the sensitivity {self.l1} is not on the lattice of step {self.step}")
        return steps.numerator


def vote_weight(privacy: Privacy) -> int:
    """How many weight units a full vote has: 1 when votes stand alone, 2^20 when people are bounded."""
    return 1 if privacy.unit is Unit.COMPARISON else PERSON_GRID


def total_share(privacy: Privacy) -> Fraction:
    """The factor on T in (s, αT): 1 where T is free, α where it is paid for."""
    return TOTAL_SHARE if privacy.neighbours is Neighbours.ADD_REMOVE else Fraction(1)


def sensitivity(privacy: Privacy, statistic: Statistic) -> Sensitivity:
    """The L1 sensitivity of `statistic` under `privacy`.

    Each entry below is per unit of weight; a person's votes weigh at most L together, so it is scaled by L.
    """
    if (statistic, privacy.neighbours) not in _PER_WEIGHT:
        raise PrivacyError(f"{statistic} is public in part under neighbours={privacy.neighbours}; release net-wins")
    factor, derivation = _PER_WEIGHT[statistic, privacy.neighbours]
    half_vote = Fraction(1, 2 * vote_weight(privacy))
    fine = total_share(privacy) if statistic is Statistic.NET_WINS_AND_TOTAL else Fraction(1)
    return Sensitivity(l1=factor * privacy.limit, step=half_vote * fine, derivation=derivation)


# One vote of weight 1 on (i, j) adds (y − 1/2)(e_i − e_j) to s: L1 norm at most 1.
# It adds y·e_i + (1 − y)·e_j to the wins: L1 norm exactly 1; and likewise 1 to the losses.
_PER_WEIGHT: dict[tuple[Statistic, Neighbours], tuple[Fraction, str]] = {
    (Statistic.NET_WINS, Neighbours.REPLACE): (Fraction(2), "‖s − s'‖₁ ≤ ‖x‖₁ + ‖x'‖₁ ≤ L + L"),
    (Statistic.NET_WINS, Neighbours.ADD_REMOVE): (Fraction(1), "‖x‖₁ ≤ L"),
    (Statistic.NET_WINS, Neighbours.OUTCOME): (Fraction(2), "Σ w·|y − y'|·‖e_i − e_j‖₁ ≤ 2L"),
    (Statistic.WINS, Neighbours.REPLACE): (Fraction(2), "‖wins‖₁ = weight ≤ L, once out and once in"),
    (Statistic.WINS, Neighbours.ADD_REMOVE): (Fraction(1), "‖wins‖₁ = weight ≤ L"),
    (Statistic.WINS, Neighbours.OUTCOME): (Fraction(2), "Σ w·|y − y'|·‖e_i − e_j‖₁ ≤ 2L"),
    (Statistic.NET_WINS_AND_TOTAL, Neighbours.REPLACE): (
        Fraction(2),
        "‖x‖₁ + ‖x'‖₁ + |w − w'| ≤ w + w' + |w − w'| = 2·max(w, w') ≤ 2L",
    ),
    (Statistic.NET_WINS_AND_TOTAL, Neighbours.ADD_REMOVE): (1 + TOTAL_SHARE, "‖x‖₁ + αw ≤ (1 + α)L"),
    (Statistic.WINS_AND_LOSSES, Neighbours.REPLACE): (Fraction(4), "2 per vote, once out and once in: 4L"),
    (Statistic.WINS_AND_LOSSES, Neighbours.ADD_REMOVE): (Fraction(2), "1 win and 1 loss per vote: 2L"),
}
