"""How people will vote over the days of a board in, simulated people with their votes out; nobody's real votes.

A panel answers evenly: all people cast the same number of votes, at equal distances. The judges of an arena come on
few days: each casts one vote and then as many more as a heavy tail has it, several on each visit, on random days.

Of many people a sample stands for all. The tail decides how many votes a limit leaves, so it is not left to chance:
rates are the quantiles (k + ½)/N of N people, and the sample has the busiest of them one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.errors import QuietrankError, option
from quietrank.planning.measures import win_rates
from quietrank.planning.survey import Survey

TAIL = 1.2
"""the exponent of the tail of an arena, P(more than x) ~ x^-1.2: a tenth of the judges cast two thirds of the votes"""
PER_VISIT = 4.0
"""votes on each visit, on average"""
WORLDS = 16
"""how many draws of strengths the people of a sample are spread over"""
MOST_CELLS = 20_000
"""about how many days of people, a day of a person being one, are simulated"""
FEWEST, MOST_PEOPLE = 50, 800
"""how many people are simulated"""
MOST_VOTES = 5_000_000
"""that they cast"""
LARGEST = 10_000_000
"""people; more of them would only take more memory"""


class Habit(StrEnum):
    """How votes are spread over people and days."""

    PANEL = "panel"
    ARENA = "arena"


HabitWord = Literal["panel", "arena"]


@dataclass(frozen=True)
class Crowd:
    """Who will vote, and when; all of it public."""

    people: int
    votes_per_person: float
    """over the whole horizon, on average"""
    habit: Habit
    days: int
    """of the horizon"""
    votes_per_visit: float = PER_VISIT
    """of an arena"""

    def __post_init__(self) -> None:
        if self.people > LARGEST:
            raise QuietrankError(
                f"at most {LARGEST} people can be planned for, got {option('people', self.people)}; plan for fewer: a "
                "board of more will be better than that"
            )
        if not self.votes_per_person >= 1:
            raise QuietrankError(
                f"everybody who counts casts a vote: {option('votes_per_person')} is 1 or more, over the whole "
                f"horizon; got {self.votes_per_person:g}"
            )
        if self.habit is Habit.PANEL and self.votes_per_person != int(self.votes_per_person):
            raise QuietrankError(
                f"all people of a panel cast the same number of votes: {option('votes_per_person')} is a whole number; "
                f"got {self.votes_per_person:g}"
            )
        if not self.votes_per_visit >= 1:
            raise QuietrankError(f"{option('votes_per_visit')} is 1 or more; got {self.votes_per_visit:g}")

    @property
    def votes(self) -> float:
        """Expected in all."""
        return self.people * self.votes_per_person

    def sample(self, survey: Survey, seed: int, worlds: int = WORLDS) -> People:
        """Simulated people who stand for all; items are as far apart as those of the survey."""
        rng = np.random.default_rng([seed, 2**30])
        stands_for, votes = self._numbers(rng)
        if votes.sum() > MOST_VOTES:
            raise QuietrankError(
                f"people with {self.votes_per_person:g} votes each take too long to simulate; plan with a smaller "
                f"{option('votes_per_person')}"
            )
        person = np.repeat(np.arange(len(votes)), votes)
        day = self._days(votes, rng)
        theta = np.array([survey.strengths(rng) for _ in range(worlds)])
        world = person % worlds
        i, j = rng.integers(survey.items, size=len(person)), rng.integers(survey.items - 1, size=len(person))
        j += j >= i  # uniform over the other items
        i_wins = rng.random(len(person)) < 1 / (1 + np.exp(theta[world, j] - theta[world, i]))
        winner, loser = np.where(i_wins, i, j), np.where(i_wins, j, i)
        rates = win_rates(theta)
        signal = (rates[world, winner] - rates[world, loser]) / 2
        order = np.lexsort((day, person))
        return People(theta, stands_for, person[order], day[order], winner[order], loser[order], signal[order])

    # ---- how many votes, by whom -----------------------------------------------------------------------------------

    def _numbers(self, rng: np.random.Generator) -> tuple[Floats, Integers]:
        """How many people each person of the sample stands for, and how many votes they cast."""
        if self.habit is Habit.PANEL:
            each = int(self.votes_per_person)
            cells = min(each, self.days)
            number = min(self.people, max(FEWEST, min(MOST_PEOPLE, MOST_CELLS // cells)))
            return np.full(number, self.people / number), np.full(number, each)
        size, rates = _heavy_tail(self.people)
        return size, 1 + rng.poisson((self.votes_per_person - 1) * rates)

    def _days(self, votes: Integers, rng: np.random.Generator) -> Integers:
        """The day of every vote, from 0."""
        if self.habit is Habit.PANEL:
            each = int(votes[0])
            start = rng.random((len(votes), 1))
            return np.asarray(((np.arange(each) + start) * self.days / each).astype(np.int64).ravel())
        visits = np.maximum(1, np.rint(votes / self.votes_per_visit)).astype(np.int64)
        first = np.cumsum(visits) - visits
        came = rng.integers(self.days, size=int(visits.sum()))
        visit = (rng.random(int(votes.sum())) * np.repeat(visits, votes)).astype(np.int64)
        return np.asarray(came[np.repeat(first, votes) + visit])


def _heavy_tail(people: int) -> tuple[Floats, Floats]:
    """People in blocks of similar activity, the busiest alone: their numbers, and their rates, of mean 1."""
    rank = np.arange(people)
    rates = ((rank + 0.5) / people) ** (-1 / TAIL) - 1  # Lomax quantiles, from the largest
    rates /= rates.mean() if people > 1 else 1.0
    half = MOST_PEOPLE // 2
    edges = np.concatenate([np.geomspace(1, people, half), np.linspace(1, people, half)]).astype(np.int64)
    edges = np.unique(np.concatenate([[0], edges]))
    size = np.diff(edges)
    return size.astype(np.float64), np.add.reduceat(rates, edges[:-1]) / size


@dataclass(frozen=True, eq=False)
class People:
    """Simulated people and their votes, sorted by person and day."""

    theta: Floats
    """the strengths of the items, in each of the worlds in which they vote"""
    stands_for: Floats
    """how many people each of them stands for"""
    person: Integers
    """of every vote, as are the others"""
    day: Integers
    winner: Integers
    loser: Integers
    signal: Floats
    """⟨x, v⟩ for what the vote adds to net wins, x, and the true win rates v: what helps to tell items apart"""

    def until(self, day: int) -> People:
        """The same people with their votes before a day."""
        there = self.day < day
        votes = self.person[there], self.day[there], self.winner[there], self.loser[there], self.signal[there]
        return People(self.theta, self.stands_for, *votes)

    @property
    def items(self) -> int:
        return int(self.theta.shape[1])
