"""What a person has used up of their limit, and the votes of a day, in; the largest weight of that day's votes out.

Over the whole horizon the square of a person's encoded norm, Σ_tu G_tu⟨x_t, x_u⟩, stays at most C²·S. On day t all
votes of a person get one weight W of at most 2^20 units, the largest with

    N + 2W·B + W²·A ≤ K,

where N is what was reached before, B = Σ_{u<t} G_tu·W_u·⟨X_u, X_t⟩ and A = G_tt·‖X_t‖², X the votes themselves. All of
these are whole numbers, of any size (docs/proofs/boards.md, section 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.mechanisms.stream import FULL
from quietrank.promise.promise import PERSON_GRID, whole_squares

if TYPE_CHECKING:
    from quietrank.arrays import Integers
    from quietrank.mechanisms.stream import BoardNoise


@dataclass(frozen=True, eq=False)
class Encoded:
    """The encoded counts of one day: Σ_j r_{t−j}·x_j, in steps of the noise. Confidential."""

    net_wins: Integers
    exposures: Integers
    norm: Norm
    """in which people were bounded"""

    @classmethod
    def of(cls, net: Any, met: Any, roots: Integers, norm: Norm) -> Encoded:
        """From the increments of all days so far, as (day, …): twice the net wins, and the exposures."""
        back = [int(root) for root in roots[: len(net)][::-1]]
        net_wins, exposures = (_weighted(back, days) for days in (net, met))
        return cls(_in_words(net_wins), _in_words(2 * exposures), norm)

    def __repr__(self) -> str:
        return "Encoded(confidential)"


def _weighted(weights: list[int], days: Any) -> Any:
    return sum((weight * day for weight, day in zip(weights, days, strict=True)), days[0] * 0)


def _in_words(values: Any) -> Integers:
    """In 64 bits, with room for noise. What does not fit is cut off, entry by entry, which moves no two sums further
    apart; an error would tell that one more vote was too many. Readers are told by what is published."""
    return np.array([max(-FULL, min(FULL, value)) for value in values.ravel().tolist()], dtype=np.int64)


@dataclass(frozen=True)
class Norm:
    """The squared norm of a contribution in whole numbers, and K."""

    net: int
    """the weight of the squares of twice the net wins"""
    met: int
    """of the squares of exposures"""
    most: int
    """K"""

    @classmethod
    def of(cls, noise: BoardNoise) -> Norm:
        terms, finer = whole_squares(noise.clip)
        room = (2 * noise.clip.norm * PERSON_GRID * finer) ** 2 * noise.factor.square
        return cls(terms["net_wins"], terms["exposure"], math.floor(room))

    def weight(self, before: int, mixed: int, square: int) -> tuple[int, int]:
        """W, and what is then reached: from N, B and A."""
        room = self.most - before
        if room < 0 or square < 0:
            raise AssertionError("somebody's limit was exceeded before")
        if square == 0:
            return PERSON_GRID, before  # what adds nothing is not bounded
        # m ≤ (√(B² + A·room) − B)/A for whole m, if and only if mA + B ≤ ⌊√…⌋.
        largest = (math.isqrt(mixed * mixed + square * room) - mixed) // square
        chosen = max(0, min(PERSON_GRID, largest))
        return chosen, before + 2 * chosen * mixed + chosen * chosen * square
