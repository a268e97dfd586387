"""ε in, the boards that are attacked out, and for each of them streams of votes that are neighbours.

The streams of one schedule have the same nights, items and other people, and differ in all rows of one person: votes
for and against, on many days, in several groups, late, that vanish and return, that share their ids with those of
others, that cannot be read, and of somebody who was erased and comes back. Only these votes come from a seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np

from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.tents import SHORT
from quietrank.promise.every import Every
from quietrank.promise.privacy import Neighbours, NeighboursWord, Privacy

START = date(2026, 1, 1)
ITEMS = ("x", "y", "z", "v")
"""four, so that two people can have no item in common"""
JOINED = "w"
"""an item that joins after the first night, where there are several"""
GROUPS = ("north", "south")
DELTA, CLIP, LIMIT = 1e-6, 1.5, 3
MANY = 40
"""votes of one person on one day: far more than C allows"""
OTHERS = 12
ROUNDED = 10
"""days: of fewer than 9 all r are multiples of 2^-12 as they are"""
TIGHT = 0.98
"""the part of ε that some pair of neighbours must lose"""
TIGHT_WITH_SIGNS = 0.96
"""the same where people are replaced and R has negative entries: opposite votes lose 1/√(1 + 4β²) of 2C√S, β = 1/8,
and no two people are known to lose all of it"""


@dataclass(frozen=True)
class BoardCase:
    """One board under attack; public."""

    privacy: Privacy
    horizon: int = 4
    every: Every = Every.DAY
    window: int | None = None
    groups: tuple[str, ...] | None = None

    @property
    def mechanism(self) -> Mechanism:
        return GAUSSIAN if self.privacy.delta else LAPLACE

    @property
    def neighbours(self) -> Neighbours:
        return self.privacy.neighbours

    @property
    def least(self) -> float:
        """The part of ε that some pair of neighbours must lose, so that no noise is wasted."""
        signs = self.window and self.privacy.delta and self.neighbours is Neighbours.REPLACE
        return TIGHT_WITH_SIGNS if signs else TIGHT

    @property
    def shows_draws(self) -> bool:
        """Whether what was drawn for each day can be told from what is published: not where days share draws, which
        are the same draws as on shorter boards."""
        return bool(self.privacy.delta) or self.horizon <= SHORT

    @property
    def subject(self) -> str:
        """For the report."""
        parts = [str(self.mechanism), "person", str(self.neighbours), f"a board of {self.horizon} {self.every}s"]
        parts += [f"a window of {self.window}"] * (self.window is not None)
        parts += [f"{len(self.groups or ())} groups of votes"] * (self.groups is not None)
        return ", ".join(parts)

    @property
    def name(self) -> str:
        return self.subject

    def date_of(self, day: int, later: int = 0) -> date:
        """A date within a day, or week, of the board."""
        return START + timedelta(days=(day - 1) * self.every.days + later % self.every.days)

    def last_date(self, day: int) -> date:
        """The last date of a day, or week."""
        return self.date_of(day + 1) - timedelta(days=1)

    def day_of(self, written: str) -> int | None:
        """The day of the board on which a date lies; None where there is no such date."""
        try:
            return (date.fromisoformat(written) - START).days // self.every.days + 1
        except ValueError:
            return None


def board_cases(epsilon: float, *, quick: bool) -> Iterator[BoardCase]:
    """Each relation with and without groups of votes, and with a window; days and weeks."""
    yield board_case(epsilon, "replace", horizon=ROUNDED)
    yield board_case(epsilon, "add-remove", every=Every.WEEK, groups=GROUPS)
    yield board_case(epsilon, "replace", pure=True)
    if quick:
        return
    yield board_case(epsilon, "replace", horizon=6, window=2)
    yield board_case(epsilon, "add-remove", horizon=5, window=3)
    yield board_case(epsilon, "replace", horizon=3, every=Every.WEEK, groups=GROUPS)
    yield board_case(epsilon, "add-remove", horizon=12)
    yield board_case(epsilon, "add-remove", horizon=16, pure=True)
    yield board_case(epsilon, "replace", horizon=3, every=Every.WEEK, groups=GROUPS, pure=True)


def board_case(
    epsilon: float,
    neighbours: NeighboursWord,
    *,
    horizon: int = 4,
    every: Every = Every.DAY,
    window: int | None = None,
    groups: tuple[str, ...] | None = None,
    pure: bool = False,
) -> BoardCase:
    if pure:
        privacy = Privacy(epsilon, "person", max_per_person=LIMIT, neighbours=neighbours)
    else:
        privacy = Privacy(epsilon, "person", delta=DELTA, clip=CLIP, neighbours=neighbours)
    return BoardCase(privacy, horizon, every, window, groups)


# ---- streams --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Vote:
    """One row of a table, as somebody else wrote it."""

    person: str
    a: str
    b: str
    outcome: str
    id: str
    day: str
    group: str = GROUPS[0]


@dataclass(frozen=True)
class Stream:
    """All rows of one person."""

    name: str
    nights: tuple[tuple[Vote, ...], ...]
    """which of them are in the table on each night"""
    erased_after: int | None = None
    """the night after which the person is erased, who may come back"""


@dataclass(frozen=True)
class Schedule:
    """Streams beside the same others, at the same moments."""

    until: tuple[int, ...]
    """on each night: the last day of the board that is over"""
    others: tuple[tuple[Vote, ...], ...]
    """their rows on each night"""
    streams: tuple[Stream, ...]

    def only(self, *names: str) -> Schedule:
        """The same with these streams alone."""
        return replace(self, streams=tuple(stream for stream in self.streams if stream.name in names))

    @property
    def joins_after(self) -> int | None:
        """The night after which an item joins."""
        return 0 if len(self.until) > 1 else None


def pairs(case: BoardCase, streams: Sequence[Stream]) -> Iterator[tuple[int, int]]:
    """The places of the streams that are neighbours: any two where people are replaced, else one of nobody and another.

    The first is the one of nobody.
    """
    if case.neighbours is Neighbours.REPLACE:
        yield from itertools.combinations(range(len(streams)), 2)
    else:
        yield from ((0, k) for k in range(1, len(streams)))


def first_difference(case: BoardCase, schedule: Schedule, one: Stream, other: Stream) -> int:
    """The first day of the board that may differ: no earlier one can know of rows that come, or are dated, later."""
    earliest = case.horizon + 1
    starts = [1, *(day + 1 for day in schedule.until)]
    for start, mine, yours in zip(starts, one.nights, other.nights, strict=False):
        days = (case.day_of(vote.day) for vote in set(mine) ^ set(yours))
        earliest = min([earliest, *(max(day, start) for day in days if day is not None)])
    erased = (stream.erased_after for stream in (one, other) if one.erased_after != other.erased_after)
    return min([earliest, *(starts[night + 1] for night in erased if night is not None)])


def schedules(case: BoardCase, chosen: int) -> list[Schedule]:
    """All days in one night, and night after night; with so many streams by chance. With none, a short form: the
    streams that have come nearest to the bound, or found most faults."""
    T = case.horizon
    if not chosen:
        return [at_once(case).only(*FIRST[case.neighbours]), night_after_night(case, (1, T)).only(*FIRST_BY_NIGHT)]
    by_night = night_after_night(case, tuple(sorted({1, min(2, T), T})))
    rng = np.random.default_rng(T)
    more = tuple(_by_chance(case, by_night.until, rng) for _ in range(chosen))
    return [at_once(case), replace(by_night, streams=(*by_night.streams, *more))]


FIRST = {Neighbours.REPLACE: ("for", "against", "elsewhere"), Neighbours.ADD_REMOVE: ("nobody", "for")}
FIRST_BY_NIGHT = ("nobody", "vanish and return", "erased, and back")


def at_once(case: BoardCase) -> Schedule:
    """All days in one night."""
    return Schedule((case.horizon,), (tuple(_others(case)),), tuple(_at_once(case)))


def night_after_night(case: BoardCase, until: tuple[int, ...]) -> Schedule:
    """Several nights; the first of the others' rows is not there on the second to last night."""
    others = tuple(_others(case))
    tables = tuple(others[1:] if night == len(until) - 2 else others for night in range(len(until)))
    return Schedule(until, tables, tuple(_night_after_night(case, len(until))))


def _others(case: BoardCase) -> Iterator[Vote]:
    """The votes of all other people, on every day; the person who is replaced uses the ids of these votes as well."""
    for k, day in itertools.product(range(OTHERS), range(1, case.horizon + 1)):
        a, b = ("x", "y") if (k + day) % 3 else ("z", "x")
        yield Vote(f"p{k}", a, b, "a", str(k + OTHERS * (day - 1)), str(case.date_of(day, k)), GROUPS[k % 2])


def _said(case: BoardCase, says: Sequence[tuple[int, int, int]], person: str = "u") -> tuple[Vote, ...]:
    """Votes between x and y: (day, how many, of them for x where positive), numbered throughout, in groups in turns."""
    votes: list[Vote] = []
    for day, number, sign in says:
        for _ in range(number):
            k = len(votes)
            outcome = "a" if sign > 0 else "b" if sign < 0 else "tie"
            group = GROUPS[k % 2] if case.groups is not None else GROUPS[0]
            votes.append(Vote(person, "x", "y", outcome, str(k), str(case.date_of(day, k)), group))
    return tuple(votes)


def _at_once(case: BoardCase) -> Iterator[Stream]:
    """For, against and about other items on the first day; in turns; the same on the first day, and then not; at the
    distance at which the columns of a window's R have a negative product."""
    T, apart = case.horizon, 1 + min(case.window or 1, case.horizon - 1)
    yield Stream("nobody", ((),))
    says = {
        "for": [(1, MANY, 1)],
        "against": [(1, MANY, -1)],
        "in turns": [(day, MANY, (-1) ** day) for day in range(1, T + 1)],
        "in turns, the other way": [(day, MANY, (-1) ** (day + 1)) for day in range(1, T + 1)],
        "a little, then for": [(1, 1, 1), (apart, MANY, 1)],
        "a little, then against": [(1, 1, 1), (apart, MANY, -1)],
        "the reverse of this": [(1, 1, -1), (apart, MANY, 1)],
    }
    for name, votes in says.items():
        yield Stream(name, (_said(case, votes),))
    yield Stream("elsewhere", (tuple(replace(vote, a="z", b="v") for vote in _said(case, [(1, MANY, 1)])),))


def _night_after_night(case: BoardCase, nights: int) -> Iterator[Stream]:
    """Rows that vanish and return, come late, take the ids of others, cannot be read, and somebody who was erased."""
    first, second = _said(case, [(1, MANY, 1)]), _said(case, [(1, MANY, 1), (min(2, case.horizon), MANY, 1)])
    yield Stream("nobody", ((),) * nights)
    yield Stream("against", (_said(case, [(1, MANY, -1)]),) * nights)
    yield Stream("vanish and return", _nightly(nights, first, (*second[MANY:], *_unreadable(case)), second))
    yield Stream("late", _nightly(nights, second[MANY : MANY + 1], second[1:], second))
    worse = (*first, replace(first[0], a="z"), *_unreadable(case))
    yield Stream("cannot be read", _nightly(nights, first, worse, worse))
    joined = tuple(replace(vote, a=JOINED) for vote in second)
    yield Stream("on the item that joined", _nightly(nights, (), joined, joined))
    yield Stream("erased, and back", _nightly(nights, first, second, second), erased_after=0)


def _nightly(nights: int, *tables: tuple[Vote, ...]) -> tuple[tuple[Vote, ...], ...]:
    return tables[:nights]


def _unreadable(case: BoardCase) -> Iterator[Vote]:
    """An item that nobody listed, or not yet; days that are none, or of another time; no id."""
    vote = Vote("u", "x", "y", "b", "", str(case.date_of(1)))
    yield replace(vote, a="nobody knows it", id="v1")
    yield replace(vote, a=JOINED, id="v2")
    yield replace(vote, b="x", id="v3")
    yield replace(vote, outcome="perhaps", id="v4")
    yield from (replace(vote, day=day, id=f"v5{day}") for day in ("soon", "infinity", "9999-12-31", "1999-12-31"))
    yield from (vote for _ in range(3))


def _by_chance(case: BoardCase, until: tuple[int, ...], rng: np.random.Generator) -> Stream:
    """Votes on many days, for and against, some of them in the table on some nights only."""
    says = [
        (int(rng.integers(1, case.horizon + 1)), int(rng.integers(1, MANY)), int(rng.integers(-1, 2)))
        for _ in range(int(rng.integers(1, 6)))
    ]
    votes = _said(case, says, str(rng.choice(["u", "v"])))
    nights = tuple(tuple(vote for vote in votes if rng.random() < 0.7) for _ in until)
    return Stream("by chance", nights)
