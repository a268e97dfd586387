"""Privacy: plain words are checked and become types, and the promise is one true sentence."""

from __future__ import annotations

import math
from typing import Any

import pytest

from quietrank.errors import PrivacyError
from quietrank.promise.privacy import Design, DesignWord, Neighbours, NeighboursWord, Privacy, Unit
from tests.helpers import PRIVACIES, privacy_id


def test_words_become_types() -> None:
    """Strings at the edge are types inside."""
    privacy = Privacy(1, "person", max_per_person=5)
    assert privacy.unit is Unit.PERSON
    assert privacy.neighbours is Neighbours.REPLACE
    assert privacy.design is Design.PRIVATE


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, -math.inf])
def test_a_meaningless_epsilon_is_refused(epsilon: float) -> None:
    """epsilon must be finite and positive, and the message shows what was given."""
    with pytest.raises(PrivacyError, match=f"epsilon={epsilon}"):
        Privacy(epsilon, "comparison")


@pytest.mark.parametrize("limit", [0, -3, 0.5, 2.5, math.nan, math.inf, 2**33])
def test_a_meaningless_limit_is_refused(limit: float) -> None:
    """L must be a whole number of at least 1."""
    with pytest.raises(PrivacyError, match="max_per_person"):
        Privacy(1, "person", max_per_person=limit)


@pytest.mark.parametrize("unit", ["", "Person", "vote"])
def test_an_unknown_unit_is_refused(unit: str) -> None:
    """The words that are known are named."""
    with pytest.raises(PrivacyError, match="comparison, person"):
        Privacy(1, unit)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("neighbours", "design"),
    [("outcome", "private"), ("outcome", "uniform"), ("replace", "public"), ("add-remove", "public")],
)
def test_outcome_goes_with_public_and_only_with_it(neighbours: NeighboursWord, design: DesignWord) -> None:
    """A public design protects outcomes; other pairings promise something that is not true."""
    with pytest.raises(PrivacyError, match="does not go with"):
        Privacy(1, "comparison", neighbours=neighbours, design=design)


def test_the_limit_belongs_to_people() -> None:
    """L is needed for people and refused for comparisons."""
    with pytest.raises(PrivacyError, match="needs max_per_person"):
        Privacy(1, "person")
    with pytest.raises(PrivacyError, match="no meaning"):
        Privacy(1, "comparison", max_per_person=3)
    assert Privacy(1, "comparison", neighbours="add-remove", max_per_person=3).limit == 1


@pytest.mark.parametrize(
    "extra", [{"delta": -1e-6}, {"delta": 0.5}, {"delta": math.nan}, {"one_per_pair": True}, {"clip": 3.0}]
)
def test_options_that_cannot_be_meant_are_refused(extra: dict[str, Any]) -> None:
    """No option is accepted and then ignored."""
    with pytest.raises(PrivacyError):
        Privacy(1, "comparison", **extra)


@pytest.mark.parametrize(
    "bound", [{"max_per_person": 3}, {"one_per_pair": True}, {"clip": 2.5, "delta": 1e-6}, {"clip": 2.5}]
)
def test_a_person_is_bounded_in_one_of_three_ways(bound: dict[str, Any]) -> None:
    """Total weight, one answer per pair, or a clipped vector; the promise says which."""
    privacy = Privacy(1, "person", **bound)
    assert any(word in privacy.statement for word in ("at most 3)", "one answer per pair", "length of at most 2.5)"))
    assert privacy.changed(epsilon=2.0).epsilon == 2


def test_a_clip_needs_no_delta() -> None:
    """The ball mechanism clips and is pure: the promise says both."""
    privacy = Privacy(1, "person", clip=3.0)
    assert privacy.delta == 0
    assert "has a length of at most 3)" in privacy.statement
    assert "give or take" not in privacy.statement


@pytest.mark.parametrize("clip", [0.0, -1.0, math.nan, math.inf, 2.0**21, 5e-324])
def test_a_meaningless_clip_is_refused(clip: float) -> None:
    """C must be positive and small enough for exact arithmetic."""
    with pytest.raises(PrivacyError, match="clip"):
        Privacy(1, "person", delta=1e-6, clip=clip)


def test_a_delta_is_part_of_the_statement() -> None:
    """(ε, δ) is said as such, and δ is not left out."""
    assert "give or take 1e-06" in Privacy(1, "person", delta=1e-6, max_per_person=3).statement


@pytest.mark.parametrize("privacy", PRIVACIES, ids=privacy_id)
def test_the_statement_is_one_sentence_that_names_unit_and_factor(privacy: Privacy) -> None:
    """The promise says what is protected, how strongly, and with which limit."""
    statement = privacy.statement
    assert statement.count(". ") == 0
    assert statement.endswith(".")
    assert ("person" in statement) == (privacy.unit is Unit.PERSON)
    assert "2.72 times" in statement
    assert ("at most 3)" in statement) == (privacy.unit is Unit.PERSON)


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 0.5, 1, 3, 6.9, 7, 7.0000004, 8, 16, 50, 123.4567891])
def test_the_factor_is_rounded_towards_truth(epsilon: float) -> None:
    """The factor in the sentence is never smaller than e^ε."""
    words = Privacy(epsilon, "comparison").statement.split(" times as likely")[0].rsplit(" ", 1)[1]
    promised = float(words.removeprefix("e^")) if words.startswith("e^") else math.log(float(words.replace(",", "")))
    assert epsilon <= promised < epsilon + 0.01
    assert words.startswith("e^") == (epsilon > 16.1)


@pytest.mark.parametrize(
    ("epsilon", "delta", "weak"),
    [(1, 0, False), (3.99, 0, False), (4, 0, True), (8, 0, True), (1, 9e-5, False), (1, 1e-4, True), (1, 0.01, True)],
)
def test_a_weak_promise_does_not_sound_safe(epsilon: float, delta: float, weak: bool) -> None:
    """Neither where ε nor where δ is large: it opens with what holds."""
    statement = Privacy(epsilon, "comparison", delta=delta).statement
    assert statement.startswith("This is a weak promise: ") == weak
    assert ("can be read out" in statement) != weak


def test_a_large_factor_is_a_number() -> None:
    """As long as it can be read."""
    assert "at most 2,981 times as likely" in Privacy(8, "comparison").statement
    assert "at most e^20 times as likely" in Privacy(20, "comparison").statement


def test_only_one_count_is_public_without_a_public_design() -> None:
    """The number of votes is free for replaced comparisons and public designs, and for nothing else."""
    free = {privacy_id(privacy) for privacy in PRIVACIES if privacy.votes_are_public}
    assert free == {
        "comparison-replace-private",
        "comparison-replace-uniform",
        "comparison-outcome-public",
        "person-outcome-public",
    }


def test_a_clip_under_a_public_design_is_stated_as_it_acts() -> None:
    """There the clip is on half the exposures, and answers move the counts by up to twice as much."""
    privacy = Privacy(1, "person", delta=1e-6, clip=3.0, neighbours="outcome", design="public")
    assert "a length of at most 3, and other answers change it by at most 6)" in privacy.statement
