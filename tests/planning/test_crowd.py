"""Simulated people of boards: how many votes they cast, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quietrank.errors import QuietrankError
from quietrank.planning import crowd as crowds
from quietrank.planning.crowd import Crowd, Habit
from quietrank.planning.survey import Survey

SURVEY = Survey(10, 1, 1)


def test_a_panel_votes_evenly() -> None:
    """One vote a week: in every week exactly one vote of everybody, always on the same day of it."""
    people = Crowd(40, 12, Habit.PANEL, 84).sample(SURVEY, 1)
    assert np.array_equal(people.day.reshape(40, 12) // 7, np.tile(np.arange(12), (40, 1)))
    assert (np.ptp(people.day.reshape(40, 12) % 7, axis=1) == 0).all()
    assert (people.stands_for == 1).all()


def test_the_judges_of_an_arena_come_on_few_days() -> None:
    """The mean is as asked for, a tenth cast most of the votes, everybody casts one, and few come every day."""
    arena = Crowd(20_000, 10, Habit.ARENA, 364)
    people = arena.sample(SURVEY, 1)
    votes = np.bincount(people.person)
    assert votes.min() == 1
    assert people.stands_for.sum() == 20_000
    assert people.stands_for @ votes == pytest.approx(arena.votes, rel=0.02)
    busiest = np.argsort(-votes)
    tenth = np.cumsum(people.stands_for[busiest]) <= 2000
    assert 0.55 < (people.stands_for * votes)[busiest][tenth].sum() / arena.votes < 0.75
    visits = np.bincount(np.unique(people.person * 364 + people.day) // 364)
    few = votes < 100
    assert votes[few].sum() / visits[few].sum() == pytest.approx(4, rel=0.15)


def test_a_sample_stands_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many people cast more than so many votes: in samples as among all people one by one. Of twenty samples of
    about 750 people the mean is known to about 0.005."""
    arena, numbers = Crowd(5000, 8, Habit.ARENA, 84), np.array([1, 2, 5, 20, 100])

    def shares(seed: int) -> Any:
        people = arena.sample(SURVEY, seed)
        votes = np.bincount(people.person)
        return [people.stands_for[votes > many].sum() / 5000 for many in numbers]

    of_samples = np.mean([shares(seed) for seed in range(20)], axis=0)
    assert len(arena.sample(SURVEY, 1).stands_for) < 1000
    monkeypatch.setattr(crowds, "MOST_PEOPLE", 10**6)
    assert len(arena.sample(SURVEY, 1).stands_for) == 5000
    np.testing.assert_allclose(of_samples, np.mean([shares(seed) for seed in range(5)], axis=0), atol=0.02)


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"votes_per_person": 0.5}, "1 or more"),
        ({"votes_per_person": float("nan")}, "1 or more"),
        ({"habit": Habit.PANEL, "votes_per_person": 2.5}, "a whole number"),
        ({"votes_per_visit": 0.0}, "votes_per_visit is 1 or more"),
        ({"people": 10**8}, "plan for fewer"),
    ],
)
def test_impossible_crowds_are_refused(options: dict[str, Any], remedy: str) -> None:
    usual: dict[str, Any] = {"people": 10, "votes_per_person": 3.0, "habit": Habit.ARENA, "days": 30}
    with pytest.raises(QuietrankError, match=remedy):
        Crowd(**(usual | options))


def test_too_many_votes_are_refused_before_they_are_drawn() -> None:
    with pytest.raises(QuietrankError, match="a smaller votes_per_person"):
        Crowd(1000, 10**6, Habit.PANEL, 364).sample(SURVEY, 1)
