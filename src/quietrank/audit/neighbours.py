"""A `Case` in, neighbouring sets of votes out: the extremes that a bound must allow for, then random ones.

The votes are synthetic, so a seed is no danger: it makes a failed audit repeatable. Nothing else in the audit is
seeded; noise is drawn as in releases.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quietrank.audit.cases import Case
from quietrank.privacy import Neighbours, Unit

Answer = tuple[int, int, str]
"""two items and `a`, `b`, `tie`, or `?` for what nobody can read"""
Saying = tuple[Answer, ...]
"""all that one unit said"""
Row = tuple[str, int, int, str]
"""a person, two items, the answer"""

SEED = 6
TURNED = {"a": "b", "b": "a", "tie": "tie", "?": "?"}


@dataclass(frozen=True)
class Neighbouring:
    """Two sets of votes that differ in one unit."""

    one: tuple[Row, ...]
    other: tuple[Row, ...]
    skip_invalid: bool = False
    by_winner: bool = False
    """written with winner, loser and a tie flag, instead of two items and an outcome"""


def neighbouring(case: Case, number: int, seed: int = SEED) -> Iterator[Neighbouring]:
    """All extremes, each in front of a crowd, and then random pairs until there are `number`, or just the first."""
    rng = np.random.default_rng(seed)
    units = itertools.chain(_extremes(case), _random_units(case, rng))
    for index, (said, instead, skip) in enumerate(itertools.islice(units, number)):
        crowd = () if index == 0 and case.privacy.neighbours is not Neighbours.REPLACE else _crowd(case, rng)
        # The replaced unit stands elsewhere in the file and, where it is another person, under another name.
        renamed = case.privacy.neighbours is Neighbours.REPLACE and index % 2 == 1
        one = (*crowd, *_rows("u", said))
        other = (*_rows("v 2" if renamed else "u", instead), *crowd) if renamed else (*crowd, *_rows("u", instead))
        yield Neighbouring(one, other, skip, by_winner=index % 3 == 2)


def worst(case: Case) -> Neighbouring:
    """The first extreme with nobody else around: for the black box, where only the difference matters."""
    said, instead, _ = next(_extremes(case))
    return Neighbouring(_rows("u", said), _rows("u", instead))


def _rows(person: str, said: Saying) -> tuple[Row, ...]:
    return tuple((person, i, j, answer) for i, j, answer in said)


def _crowd(case: Case, rng: np.random.Generator) -> tuple[Row, ...]:
    """A few people who never mention the last item: only the unit may."""
    known = max(2, len(case.items) - 1)
    return tuple(
        (f"p{person}", *_pair(rng, known), str(rng.choice(["a", "b", "tie"])))
        for person in range(3)
        for _ in range(rng.integers(1, 8))
    )


def _pair(rng: np.random.Generator, items: int) -> tuple[int, int]:
    i, j = rng.choice(items, 2, replace=False)
    return int(i), int(j)


def _turned(said: Saying) -> Saying:
    return tuple((i, j, TURNED[answer]) for i, j, answer in said)


def _extremes(case: Case) -> Iterator[tuple[Saying, Saying, bool]]:
    """(what a unit said, what it says instead, whether unreadable rows are skipped), the worst first."""
    constructed = _constructed(case)
    # What nobody can read, where such rows are to be skipped: the map acts on this unit alone.
    said = constructed[0][0]
    unread = tuple((i, j, "?") for i, j, _ in said)
    plain = [_related(case, said, instead, skip=False) for said, instead in constructed]
    yield from (*plain[:2], _related(case, said, unread, skip=True), *plain[2:])


def _related(case: Case, said: Saying, instead: Saying, *, skip: bool) -> tuple[Saying, Saying, bool]:
    """What is said instead, as far as the relation allows it."""
    if case.privacy.neighbours is Neighbours.ADD_REMOVE:
        return said, (), skip
    if case.privacy.neighbours is Neighbours.OUTCOME:
        return said, instead if skip else _turned(said), skip
    return said, instead, skip


def _constructed(case: Case) -> list[tuple[Saying, Saying]]:
    n = len(case.items)
    last = n - 1
    one: Saying = ((0, 1, "a"),)
    tie: Saying = ((0, 1, "tie"),)
    if case.privacy.unit is Unit.COMPARISON:
        return [(one, _turned(one)), (tie, ((0, last, "a"),)), (one, tie), (((last, 0, "a"),), one)]
    all_pairs = tuple((i, j, "a") for i in range(n) for j in range(i + 1, n))
    cut, first, second = _split(n)
    within_tied = tuple((i, j, "tie") for i, j, _ in (*first, *second))
    limit = case.privacy.limit
    # The first pairs differ in their number of rows too, and in who is mentioned: neither may show.
    whole = [(all_pairs, _turned(all_pairs) * 2), ((*cut, *first), (*_turned(cut), *second)), (cut, _turned(cut))]
    many = [
        (one * limit, _turned(one) * (20 * limit + 1)),
        # 7 and 5 do not divide 2^20: a weight that is rounded up shows.
        (one * 7, ((0, last, "b"),) * 5),
        (one * (20 * limit + 1), _turned(one) * (20 * limit + 1)),
    ]
    rest = [
        ((*cut, *within_tied), _turned(cut)),
        (tie * limit, ((last, 0, "b"),) * limit),
        (one * 5 + _turned(one) * 2, ((last, 0, "tie"), (0, last, "a"), (1, 0, "a"))),
    ]
    return [*whole, *many, *rest] if case.privacy.one_per_pair else [*many, *whole, *rest]


def _split(n: int) -> tuple[Saying, Saying, Saying]:
    """The pairs across the middle of the list, those within the first half and those within the second."""
    half = (n + 1) // 2
    across = tuple((i, j, "a") for i in range(half) for j in range(half, n))
    first = tuple((i, j, "a") for i in range(half) for j in range(i + 1, half))
    second = tuple((i, j, "a") for i in range(half, n) for j in range(i + 1, n))
    return across, first, second


def _random_units(case: Case, rng: np.random.Generator) -> Iterator[tuple[Saying, Saying, bool]]:
    while True:
        said, instead = _random_saying(case, rng), _random_saying(case, rng)
        if case.privacy.neighbours is Neighbours.OUTCOME:
            instead = tuple((i, j, str(rng.choice(["a", "b", "tie"]))) for i, j, _ in said)
        elif case.privacy.neighbours is Neighbours.ADD_REMOVE:
            instead = ()
        yield said, instead, False


def _random_saying(case: Case, rng: np.random.Generator) -> Saying:
    most = 1 if case.privacy.unit is Unit.COMPARISON else 4 * case.privacy.limit
    return tuple(
        (*_pair(rng, len(case.items)), str(rng.choice(["a", "b", "tie"]))) for _ in range(rng.integers(1, most + 1))
    )
