"""The weight of a person's votes on one day: the largest that the limit allows, in whole numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietrank.mechanisms.horizon import Norm, Weight
from quietrank.promise.promise import PERSON_GRID

BIG = st.integers(0, 10**40)


@given(most=BIG, part=st.floats(0, 1), mixed=st.integers(-(10**30), 10**30), square=st.integers(0, 10**40))
def test_the_weight_is_the_largest(most: int, part: float, mixed: int, square: int) -> None:
    """N + 2WB + W²A ≤ K holds, and with W + 1 it does not; what is then reached is its left side."""
    norm, before = Norm(1, 1, most), int(most * part)
    before = min(before, most)
    if square == 0:
        mixed = 0  # what adds nothing mixes with nothing
    weight, reached = norm.weight(before, mixed, square)

    def left(w: int) -> int:
        return before + 2 * w * mixed + w * w * square

    assert 0 <= weight <= PERSON_GRID
    assert reached == left(weight) <= most
    assert weight == PERSON_GRID or left(weight + 1) > most


@given(limit=st.integers(1, 1024), days=st.lists(st.integers(1, 5000), max_size=9))
def test_weights_add_up_to_the_limit_at_most(limit: int, days: list[int]) -> None:
    """Over all days, in whole units; on each day the weight is the largest that what is left allows."""
    bound, reached, total = Weight.of(limit), 0, 0
    for votes in days:
        weight, reached = bound.weight(reached, 0, 2 * votes)
        total += weight * votes
        assert total <= limit * PERSON_GRID
        assert weight == PERSON_GRID or total + votes > limit * PERSON_GRID


def test_a_limit_that_was_exceeded_is_noticed() -> None:
    with pytest.raises(AssertionError, match="exceeded before"):
        Norm(1, 1, 10).weight(11, 0, 1)
    with pytest.raises(AssertionError, match="exceeded before"):
        Weight(10).weight(11, 0, 1)
