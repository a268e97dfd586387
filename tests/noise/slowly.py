"""The samplers once more, number by number in Python's integers: the same words in, the same draws out."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from quietrank.noise.words import Source, Words

Thinning = Callable[[list[int]], list[bool]]


class Numbers:
    """Uniform numbers in [0, 1) as lists of words."""

    def __init__(self, size: int, source: Source, known: list[list[int]] | None = None) -> None:
        self.size, self.source, self.known = size, source, known or []

    def word(self, depth: int) -> list[int]:
        while len(self.known) <= depth:
            self.known.append([int(word) for word in self.source(self.size)])
        return self.known[depth]

    def taken(self, places: list[int]) -> Numbers:
        return Numbers(len(places), self.source, [[word[i] for i in places] for word in self.known])


def smaller(left: Numbers, i: int, right: Numbers, j: int) -> bool:
    depth = 0
    while left.word(depth)[i] == right.word(depth)[j]:
        depth += 1
    return left.word(depth)[i] < right.word(depth)[j]


def fair(size: int, source: Source) -> list[bool]:
    octets = b"".join(int(word).to_bytes(8, sys.byteorder) for word in source(math.ceil(size / 64)))
    return [bool(octets[k // 8] >> (7 - k % 8) & 1) for k in range(size)]


def coins(tops: Numbers, at: list[int], source: Source, mirrored: list[bool], thinning: Thinning | None) -> list[bool]:
    steps = [0] * len(at)
    running, last, place = list(range(len(at))), tops, list(at)
    while running:
        if thinning is not None:
            heads = thinning([at[i] for i in running])
            running, place = ([k for k, head in zip(some, heads, strict=True) if head] for some in (running, place))
        drawn = Numbers(len(running), source)
        on = [k for k, i in enumerate(running) if smaller(drawn, k, last, place[k]) != mirrored[i]]
        running = [running[k] for k in on]
        for i in running:
            steps[i] += 1
        last, place = drawn.taken(on), list(range(len(on)))
    return [number % 2 == 0 for number in steps]


def exponential(size: int, source: Source) -> tuple[list[int], Numbers]:
    wholes: list[int] = []
    parts: list[Numbers] = []
    failed = 0
    while (missing := size - sum(part.size for part in parts)) > 0:
        tried = Numbers(math.ceil((missing + 4 * math.sqrt(missing)) / 0.63), source)
        accepted = coins(tried, list(range(tried.size)), source, [False] * tried.size, None)
        for success in accepted:
            if success:
                wholes.append(failed)
            failed = 0 if success else failed + 1
        parts.append(tried.taken([k for k, success in enumerate(accepted) if success]))
    return wholes[:size], together(parts).taken(list(range(size)))


def together(parts: list[Numbers]) -> Numbers:
    depth = max(len(part.known) for part in parts)
    known = [[word for part in parts for word in part.word(k)] for k in range(depth)]
    return Numbers(sum(part.size for part in parts), parts[0].source, known)


def whole_parts(scale: float, wholes: list[int], x: Numbers) -> list[int]:
    """⌊scale·(v + x)⌋; where one word does not settle ⌊m·x⌋, those numbers get more, together."""
    m = Fraction(scale).numerator
    product: list[int | None] = [settled(m, [word]) for word in x.word(0)]
    open_ = [k for k, value in enumerate(product) if value is None]
    some, depth = x.taken(open_), 0
    found: list[int | None] = [None] * len(open_)
    while None in found:
        found = [settled(m, [some.word(d)[k] for d in range(depth + 1)]) for k in range(len(open_))]
        depth += 1
    for k, value in zip(open_, found, strict=True):
        product[k] = value
    return [(m * v + (p or 0)) // Fraction(scale).denominator for v, p in zip(wholes, product, strict=True)]


def settled(m: int, words: list[int]) -> int | None:
    """⌊m·x⌋ if every x that starts with these words has the same."""
    known, unit = Fraction(0), Fraction(1)
    for word in words:
        unit /= 2**64
        known += word * unit
    least, bound = math.floor(m * known), math.ceil(m * (known + unit)) - 1
    return least if least == bound else None


def discrete_laplace(size: int, scale: float, source: Source) -> list[int]:
    draws: list[int] = []
    while (missing := size - len(draws)) > 0:
        sizes = whole_parts(scale, *exponential(missing, source))
        negative = fair(missing, source)
        draws += [-z if minus else z for z, minus in zip(sizes, negative, strict=True) if z or not minus]
    return draws


def rounded_normal(size: int, scale: float, source: Source) -> list[int]:
    wholes: list[int] = []
    parts: list[Numbers] = []
    while (missing := size - len(wholes)) > 0:
        v, x = exponential(math.ceil((missing + 4 * math.sqrt(missing)) / 0.76), source)
        accepted = [k for k, head in enumerate(normal_accepted(v, x, source)) if head]
        wholes += [v[k] for k in accepted]
        parts.append(x.taken(accepted))
    doubled = whole_parts(2 * scale, wholes[:size], together(parts).taken(list(range(size))))
    rounded = [math.floor(Fraction(z, 2) + Fraction(1, 2)) for z in doubled]
    return [-z if minus else z for z, minus in zip(rounded, fair(size, source), strict=True)]


def normal_accepted(v: list[int], x: Numbers, source: Source) -> list[bool]:
    """exp(−(v + x − 1)²/2), factor by factor."""
    mirrored = [whole == 0 for whole in v]

    def half_y(at: list[int]) -> list[bool]:
        drawn = Numbers(len(at), source)
        less = [smaller(drawn, k, x, i) != mirrored[i] for k, i in enumerate(at)]
        return [a and b for a, b in zip(less, fair(len(at), source), strict=True)]

    heads = coins(x, list(range(x.size)), source, mirrored, half_y)
    mixed = [whole - 1 for whole in v]
    thrown_until_tails(heads, mixed, lambda at: coins(x, at, source, [False] * len(at), None))
    constant = [(whole - 1) ** 2 if whole else 0 for whole in v]
    thrown_until_tails(heads, constant, lambda at: roots(len(at), source))
    return heads


def thrown_until_tails(heads: list[bool], times: list[int], throw: Thinning) -> None:
    """Further coins where all were heads so far."""
    thrown = 0
    while at := [i for i, head in enumerate(heads) if head and times[i] > thrown]:
        for i, head in zip(at, throw(at), strict=True):
            heads[i] = head
        thrown += 1


def roots(size: int, source: Source) -> list[bool]:
    """exp(−½)"""
    half = Numbers(size, lambda n: np.zeros(n, dtype=np.uint64), [[2**63] * size])
    return coins(half, list(range(size)), source, [False] * size, None)


def seeded(seed: int, tied: bool = False) -> Source:
    """Words that can be repeated; where tied, nine of ten are one of four, so that comparisons need several."""
    generator = np.random.default_rng(seed)

    def words(size: int) -> Words:
        drawn = generator.integers(0, 2**64, size, dtype=np.uint64)
        few = generator.choice(np.array([0, 2**62, 2**63, 2**64 - 1], dtype=np.uint64), size)
        return np.where((generator.random(size) < 0.9) & tied, few, drawn)

    return words


def coarse(seed: int, bits: int) -> Source:
    """A few random bits per word: ties are frequent, and the order is that of uniform numbers with these digits."""
    generator = np.random.default_rng(seed)
    return lambda size: generator.integers(0, 2**bits, size, dtype=np.uint64) << np.uint64(64 - bits)
