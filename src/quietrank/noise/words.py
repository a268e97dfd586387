"""Random words in; uniform real numbers, comparisons between them and coins that they decide out.

A uniform real number in [0, 1) is an endless sequence of random 64-bit words, of which the first few are known. A
comparison looks at as many words as it needs: where all known words agree, it draws more. So its answer is that of the
real numbers, never an approximation, and what is not yet known stays uniform (docs/proofs/sampling.md).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from quietrank.arrays import Flags, Integers, Places

Words = NDArray[np.uint64]
Source = Callable[[int], Words]
"""n in, n independent uniform words out"""

LARGEST_SCALE = 2.0**56
"""Beyond this the noise would come near the limits of 64-bit integers, and the result would be useless anyway."""

LARGEST_DRAW = 2**63 - 1
"""Where sums saturate, OpenDP's and ours."""


def entropy(size: int) -> Words:
    """Words from the operating system, fresh in every call; nothing is kept between calls."""
    return np.frombuffer(secrets.token_bytes(8 * size), dtype=np.uint64)


@dataclass
class Reals:
    """Uniform real numbers, word by word; `source` supplies the words that are not known yet."""

    size: int
    source: Source
    known: list[Words] = field(default_factory=list)

    def word(self, depth: int) -> Words:
        """Bits 64·depth to 64·depth + 63 of every number."""
        while len(self.known) <= depth:
            self.known.append(self.source(self.size))
        return self.known[depth]

    def taken(self, places: Places | slice) -> Reals:
        """Some of the numbers. Use these or the originals afterwards, not both: each would draw its own next words."""
        known = [word[places] for word in self.known]
        return Reals(len(known[0]), self.source, known)


def joined(parts: Sequence[Reals]) -> Reals:
    """All the numbers in one."""
    depth = max(len(part.known) for part in parts)
    known = [np.concatenate([part.word(k) for part in parts]) for k in range(depth)]
    return Reals(len(known[0]), parts[0].source, known)


def halves(size: int) -> Reals:
    """The constant ½ = 0.1000… in base 2."""
    return Reals(size, lambda n: np.zeros(n, dtype=np.uint64), [np.full(size, 2**63, dtype=np.uint64)])


def below(fresh: Reals, others: Reals, at: Places) -> Flags:
    """Whether fresh[i] < others[at[i]]."""
    left, right = fresh.word(0), others.word(0)[at]
    less, equal = left < right, left == right
    depth = 0
    while equal.any():
        depth += 1
        left, right = fresh.word(depth), others.word(depth)[at]
        less |= equal & (left < right)
        equal &= left == right
    return less


def fair_coins(size: int, source: Source) -> Flags:
    """Heads or tails, one random bit each."""
    return np.unpackbits(source(-(-size // 64)).view(np.uint8), count=size).view(np.bool_)


def exponential_coins(
    tops: Reals,
    at: Places,
    source: Source,
    mirrored: Flags | None = None,
    thinning: Callable[[Places], Flags] | None = None,
) -> Flags:
    """Heads with probability exp(−p·y) for y = tops[at[i]], or 1 − tops[at[i]] where mirrored[i].

    Von Neumann's method (1951): draw z₁, z₂, … while y > z₁ > z₂ > … and the thinning coin of each step shows heads,
    which it does with probability p (1 without thinning). At least n steps succeed with probability (p·y)^n/n!, so
    their number is even with probability Σ (−p·y)^n/n!. Where mirrored, z stands for 1 − z, which is as uniform, and
    "smaller" becomes "larger".
    """
    upside_down = np.zeros(len(at), dtype=np.bool_) if mirrored is None else mirrored
    even = np.ones(len(at), dtype=np.bool_)
    running, last, place = np.arange(len(at)), tops, at
    while running.size:
        if thinning is not None:
            heads = thinning(at[running])
            running, place = running[heads], place[heads]
        drawn = Reals(running.size, source)
        goes_on = np.flatnonzero(below(drawn, last, place) ^ upside_down[running])
        running = running[goes_on]
        even[running] ^= True
        last, place = drawn.taken(goes_on), np.arange(running.size)
    return even


def all_heads(times: Integers, coins: Callable[[Places], Flags]) -> Flags:
    """Whether times[i] coins in a row show heads; no coin is thrown after the first tails."""
    heads = np.ones(len(times), dtype=np.bool_)
    at = np.flatnonzero(times > 0)
    thrown = 0
    while at.size:
        thrown += 1
        heads[at] = coins(at)
        at = at[heads[at] & (times[at] > thrown)]
    return heads


def saturating_sum(values: Integers, noise: Integers | list[int]) -> Integers:
    """Exact sums, saturating at the 64-bit limits as OpenDP's do."""
    if isinstance(noise, list):
        sums = (int(value) + z for value, z in zip(values, noise, strict=True))
        return np.array([max(-LARGEST_DRAW, min(LARGEST_DRAW, total)) for total in sums], dtype=np.int64)
    total = values + noise  # wraps: then the sum lies on the wrong side of the value
    total = np.where((noise > 0) & (total < values), LARGEST_DRAW, total)
    total = np.where((noise < 0) & (total > values), -LARGEST_DRAW, total)
    return np.asarray(np.maximum(total, -LARGEST_DRAW))
