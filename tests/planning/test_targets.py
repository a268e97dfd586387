"""Targets in words, and the smallest ε or number of people that meets them."""

from __future__ import annotations

from typing import Any

import pytest

import quietrank as qr
from quietrank.errors import QuietrankError
from quietrank.planning.targets import Target, parse_target

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


@pytest.mark.parametrize("target", ["top-3 error 0.25", "rank error 1", "winner 0.6"])
def test_the_smallest_epsilon_meets_the_target_and_a_smaller_one_does_not(target: str) -> None:
    """The answer meets the target; 10 % less misses it, on the same simulations."""
    words: dict[str, Any] = {"items": 10, "people": 300, "per_person": 10, "seed": 3, **FAST}
    solved = qr.plan(target=target, **words)
    assert solved.target is not None
    assert solved.target.met(solved.best)
    less = qr.plan(epsilon=0.9 * solved.best.epsilon, top_k=solved.question.top_k, **words)
    assert not solved.target.met(less.predictions[0])


def test_the_smallest_number_of_people_meets_the_target() -> None:
    """And 15 % fewer miss it."""
    words: dict[str, Any] = {"items": 10, "per_person": 10, "epsilon": 1.0, "design": "uniform", "seed": 3, **FAST}
    solved = qr.plan(target="top-3 error 0.2", solve="people", **words)
    assert solved.target is not None
    assert solved.target.met(solved.best)
    fewer = qr.plan(people=int(0.85 * solved.best.people), top_k=3, **words)
    assert not solved.target.met(fewer.predictions[0])


def test_a_target_beyond_the_survey_is_refused_with_the_people_it_takes() -> None:
    """Even exact counts miss it: the error says what they reach, and how many people would meet it."""
    with pytest.raises(
        QuietrankError, match=r"even without any privacy it would be 0\.\d+ with 30 people \(\d+ people would"
    ):
        qr.plan(10, 30, 10, target="top-3 error 0.05", **FAST)


def test_a_target_that_only_privacy_stands_against_is_refused() -> None:
    with pytest.raises(QuietrankError, match=r"no ε up to 20 .*--solve people"):
        qr.plan(10, 3, 2000, target="rank error 0.3", spread="clear", **FAST)


def test_no_answer_has_a_weaker_promise_than_was_asked() -> None:
    """Without δ nothing Gaussian is proposed, and δ is never larger than given."""
    without = qr.plan(10, 300, 10, target="rank error 1", **FAST)
    assert {one.mechanism for one in without.predictions} == {"laplace"}
    assert all(one.delta == 0 for one in without.predictions)
    allowed = qr.plan(10, 300, 10, delta=1e-7, target="rank error 1", **FAST)
    assert {one.mechanism: one.delta for one in allowed.predictions} == {"laplace": 0.0, "gaussian": 1e-7}
