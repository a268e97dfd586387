"""A promise in, noise for the scatter out: one scalar that says how much people's votes vary, for a small share of ε.

Each unit adds min(‖r‖², C²), r what it adds to the net wins or how far that is from what the release expects, so the
scalar moves by at most C² whatever r is. Where there are very many people, it is measured on those whose ids have k
leading zero bits in their MD5, with the same noise, and both are multiplied by 2^k afterwards. docs/proofs/scatter.md
derives C², the sample and the composition with the tally.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from quietrank.noise.lattice import LaplaceNoise, laplace_privacy_loss, laplace_scale
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.privacy import Neighbours, Unit
from quietrank.promise.promise import Clip, Promise

if TYPE_CHECKING:
    from quietrank.mechanisms.mechanism import Calibrated

STEPS = 2**22
"""C² in lattice steps: a thousand billion units of this many steps fit 64 bits."""

SHARE_FACTOR, LARGEST_SHARE = 0.22, 0.05
"""the share is 0.22·√(ε/n), at most 5 %: there the error of the scalar disappears in that of the counts"""

SAMPLE = 50_000
"""people are enough: there the scalar of a sample is off by about 1 % (docs/uncertainty.md)"""
MOST_BITS = 30
"""of an MD5 that are looked at"""

Share = float | Literal["auto"]


class Around(StrEnum):
    """What a unit's contribution is compared with: what the release expects of it, given what the method takes as
    known."""

    ZERO = "zero"
    VOTES = "votes"
    """its number of votes: pairs were drawn at random"""
    EXPOSURES = "exposures"
    """how often it met each item: opponents were drawn at random"""
    PAIRS = "pairs"
    """which pairs it met"""


@dataclass(frozen=True)
class Scatter:
    """The scalar as it was released, in votes²."""

    around: Around
    value: float
    scale: float
    """of its Laplace noise"""
    most: float
    """C², the most that one unit adds"""
    epsilon: float
    """what it cost"""
    part: float = 1.0
    """of the people that it was measured on, 2^-k; value and scale are 2^k times those of the sample"""

    @property
    def bits(self) -> int:
        """k"""
        return -int(math.log2(self.part))


@dataclass(frozen=True)
class ScatterNoise:
    """Calibrated noise for the scalar of each tally, beside counts whose noise has the rest of ε."""

    promise: Promise
    """the promise that both keep together"""
    epsilon: float
    """what the scalar costs"""
    most: Fraction
    """C², in votes²"""
    noise: LaplaceNoise

    @property
    def step(self) -> float:
        """One lattice step, in votes²."""
        return float(self.most) / STEPS

    @property
    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)

    @property
    def loss(self) -> Cost:
        """The privacy loss of this noise, recomputed from the sensitivity before every draw."""
        return Cost.pure(laplace_privacy_loss(self.noise.scale, _reach(self.promise)))

    def released(self, around: Around, noisy: int, bits: int = 0) -> Scatter:
        """The noisy value, in votes², and what is public about its noise; the value of a sample, one person in 2^bits,
        with noise on it already, stands for everybody."""
        unit = self.step * 2**bits
        return Scatter(around, noisy * unit, self.noise.scale * unit, float(self.most), self.epsilon, 2.0**-bits)


def scatter_noise(counts: Calibrated, epsilon: float, part: float) -> ScatterNoise:
    """The noise of the scalar for this part of ε, beside these counts, which must have the rest."""
    promise = counts.promise.changed(epsilon=epsilon)
    noise = LaplaceNoise(laplace_scale(_reach(promise), as_written(part)))
    return ScatterNoise(promise, part, largest_square(promise, counts.clip), noise)


def _reach(promise: Promise) -> int:
    """A unit's part lies between 0 and C², so it moves a tally's scalar by at most C², however it changes.

    Where a unit has parts in several tallies they add up to C² at most, and may change from one tally to another.
    """
    apart = 2 if promise.spread > 1 else 1
    return int(promise.reach(lambda change: STEPS if change is Neighbours.ADD_REMOVE else apart * STEPS))


def largest_square(promise: Promise, clip: Clip | None) -> Fraction:
    """C²: the largest square of the norm of what one unit adds to the net wins of all tallies, in votes²."""
    if promise.privacy.unit is Unit.COMPARISON:
        return Fraction(1, 2)
    if clip is not None:  # (w − l)²/4 ≤ (w² + l²)/4 where neither is negative
        return clip.norm**2 / (4 if {"wins", "losses"} <= {name for name, _ in clip.squares} else 1)
    L, n = promise.limits.weight, len(promise.items)
    if not promise.privacy.one_per_pair:
        return Fraction(L * L, 2)
    squares = [Fraction(L * (L + 1), 4), Fraction(promise.spread * n * (n * n - 1), 12)]
    if promise.items.pairs is not None:
        degrees = (len(near) for near in promise.items.graph.neighbours)
        squares.append(Fraction(promise.spread * sum(degree**2 for degree in degrees), 4))
    return min(squares)


def sample_bits(people: float) -> int:
    """k, so that of this many people 50,000 to 100,000 are expected in a sample of one in 2^k; 0 where all are."""
    return min(MOST_BITS, max(0, (int(people) // SAMPLE).bit_length() - 1))


def is_part(part: float) -> bool:
    """Whether it is 2^-k, of a sample that can be drawn."""
    return part in {2.0**-bits for bits in range(MOST_BITS + 1)}


def price(share: Share, promise: Promise) -> float:
    """What the scalar costs, from public values; single votes are taken to be independent, so nothing is bought."""
    epsilon = promise.privacy.epsilon
    if promise.privacy.unit is Unit.COMPARISON:
        return 0.0
    usual = min(LARGEST_SHARE, SHARE_FACTOR * math.sqrt(epsilon / len(promise.items)))
    return float(f"{epsilon * (usual if share == 'auto' else share):.2g}")


def rest_of(epsilon: float, part: float) -> float:
    """What is left of ε for the counts; rounded so that the two add up to ε at most."""
    rest = as_written(epsilon) - part
    while Fraction(rest) + Fraction(part) > Fraction(as_written(epsilon)):
        rest = math.nextafter(rest, 0)
    return rest
