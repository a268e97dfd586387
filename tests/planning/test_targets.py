"""Targets in words, and the smallest ε or number of people that meets them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quietrank as qr
from quietrank.errors import QuietrankError
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.planning.forecast import Prediction
from quietrank.planning.question import Question
from quietrank.planning.survey import Survey
from quietrank.planning.targets import Target, parse_target, people_numbers, smallest, two_digit_numbers
from quietrank.statistics.method import Method

FAST: dict[str, Any] = {"repetitions": 200, "curves": False}


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("top-5 error 0.1", Target("top-k error", 0.1, 5)),
        (" Top-12  error .25", Target("top-k error", 0.25, 12)),
        ("top-3 error = 0.2", Target("top-k error", 0.2, 3)),
        ("rank error 1.5", Target("rank error", 1.5)),
        ("winner 0.9", Target("winner", 0.9)),
    ],
)
def test_targets_in_words(text: str, target: Target) -> None:
    assert parse_target(text) == target


@pytest.mark.parametrize(
    "text", ["", "top 5", "error 0.1", "top-5 error", "winner 90%", "winner 1", "top-5 error 1.2", "rank error 0"]
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(QuietrankError):
        parse_target(text)


SOLVED: list[tuple[str, dict[str, Any]]] = [
    ("top-3 error 0.3", {}),
    ("winner 0.6", {"method": "bradley-terry", "repetitions": 80}),
    ("rank error 1", {"delta": 1e-6, "one_per_pair": True}),
    ("rank error 1.2", {"method": "wins", "mechanism": "gaussian", "delta": 1e-6}),
    ("winner 0.6", {"unit": "comparison", "design": "uniform", "method": "win-rate"}),
]


LONG = {"design": "public", "neighbours": "outcome", "method": "bradley-terry", "repetitions": 80}


@pytest.mark.parametrize(
    ("target", "options"),
    [*SOLVED, pytest.param("top-3 error 0.3", LONG, marks=pytest.mark.slow)],
    ids=str,
)
@pytest.mark.few(1)
def test_the_answer_is_what_plan_says_of_that_epsilon(target: str, options: dict[str, Any]) -> None:
    """Bit for bit, for every mechanism; it meets the target beyond its error, the next smaller two digits do not."""
    words: dict[str, Any] = {"items": 8, "people": 300, "per_person": 10, "top_k": 3, "seed": 3, **(FAST | options)}
    solved = qr.plan(target=target, **words)
    for answer in solved.predictions:
        before = max(number for number in two_digit_numbers(0.0009, 20) if number < answer.epsilon)
        plain = qr.plan(epsilon=[before, answer.epsilon], **words)
        less, same = (one for one in plain.predictions if one.mechanism == answer.mechanism)
        assert same == answer
        assert plain.without_privacy == solved.without_privacy
        assert _beyond(solved, same)
        assert not _beyond(solved, less)


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"method": "bradley-terry", "repetitions": 80}, marks=pytest.mark.slow),
        {"delta": 1e-6},
        {"unit": "comparison", "per_person": 1},
    ],
    ids=str,
)
@pytest.mark.few(1)
def test_the_number_of_people_is_what_plan_says_of_them(options: dict[str, Any]) -> None:
    """All that is printed is the same; fewer people do not meet the target."""
    words: dict[str, Any] = {"items": 8, "per_person": 10, "epsilon": 1.0, "top_k": 3, "seed": 3, **FAST} | options
    solved = qr.plan(target="top-3 error 0.25", solve="people", **words)
    people = solved.best.people
    before = max(number for number in people_numbers(solved.question.survey) if number < people)
    assert qr.plan(people=people, **words).rows() == solved.rows()
    assert _beyond(solved, solved.best)
    assert not _beyond(solved, qr.plan(people=before, **words).best)


def _beyond(solved: qr.Plan, one: Prediction) -> bool:
    """By two standard errors, written out."""
    assert solved.target is not None
    value = solved.target.value
    if solved.target.measure == "winner":
        return one.winner - 2 * one.winner_precision >= value
    if solved.target.measure == "rank error":
        return one.rank_error + 2 * one.rank_precision <= value
    return one.top_k_error + 2 * one.top_k_precision <= value


def test_repetitions_depend_on_the_survey_only() -> None:
    """Not on the method, the mechanism, or what is asked."""
    survey = Survey(20, 500, 15)
    for method, mechanism in product(Method, MECHANISMS.values()):
        assert Question(survey, qr.Privacy(1, "person", max_per_person=15), method, mechanism, 5).runs == 1000
    larger = replace(survey, items=2000)
    assert Question(larger, qr.Privacy(1, "person", max_per_person=15), Method.AUTO, None, 5).runs == 100


@given(st.integers(1, 400), st.integers(0, 400), st.integers(0, 500))
def test_the_search_finds_the_first_number_that_meets_the_target(size: int, first: int, start: int) -> None:
    """Wherever it starts, and with few trials."""
    trials = []

    def met(number: int) -> bool:
        trials.append(number)
        return number >= first

    assert smallest(met, range(size), start) == (first if first < size else None)
    assert len(trials) == len(set(trials)) <= 16


def test_two_digit_numbers_are_those_one_writes() -> None:
    """So that a printed ε, typed in again, is the same number."""
    numbers = two_digit_numbers(0.001, 20)
    assert numbers[:2] == [0.001, 0.0011]
    assert numbers[-2:] == [19.0, 20.0]
    assert numbers == sorted({float(f"{number:g}") for number in numbers})


def test_a_target_beyond_the_survey_is_refused_with_the_people_it_takes() -> None:
    """Even exact counts miss it: the error says what they reach, and how many people would meet it."""
    with pytest.raises(
        QuietrankError, match=r"even without any privacy it would be 0\.\d+ ± 0\.\d+ with 30 people \(\d+ people would"
    ):
        qr.plan(10, 30, 10, target="top-3 error 0.05", **FAST)


def test_a_target_that_only_privacy_stands_against_is_refused() -> None:
    with pytest.raises(QuietrankError, match=r"no ε up to 20 .*solve='people'"):
        qr.plan(10, 3, 2000, target="rank error 0.3", spread="clear", **FAST)


def test_no_answer_has_a_weaker_promise_than_was_asked() -> None:
    """Without δ nothing Gaussian is proposed, and δ is never larger than given."""
    without = qr.plan(10, 300, 10, target="rank error 1", **FAST)
    assert {one.mechanism for one in without.predictions} == {"laplace", "ball"}
    assert all(one.delta == 0 for one in without.predictions)
    allowed = qr.plan(10, 300, 10, delta=1e-7, target="rank error 1", **FAST)
    assert {one.mechanism: one.delta for one in allowed.predictions} == {"laplace": 0.0, "ball": 0.0, "gaussian": 1e-7}


@pytest.mark.parametrize(
    ("target", "repetitions"), [("winner 0.99", 400), ("top-3 error 0.01", 134), ("rank error 0.01", 80)]
)
def test_a_target_too_strict_for_the_simulation_is_refused_with_the_repetitions_it_takes(
    target: str, repetitions: int
) -> None:
    """A hundred right winners out of a hundred do not show 99 %."""
    words: dict[str, Any] = {"items": 10, "votes": 10**9, "unit": "comparison", "curves": False, "spread": 5.0}
    with pytest.raises(QuietrankError, match=f"give repetitions={repetitions} or more"):
        qr.plan(target=target, repetitions=repetitions - 1, **words)
