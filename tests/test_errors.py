"""Errors speak the words of whoever called."""

from __future__ import annotations

import pytest

from quietrank.errors import QuietrankError, VotesError, either, option


@pytest.mark.parametrize(
    ("value", "python", "command"),
    [
        (None, "give max_per_person", "give --max-per-person"),
        (5, "give max_per_person=5", "give --max-per-person 5"),
        (True, "give max_per_person=True", "give --max-per-person"),
        ("a b", "give max_per_person=a b", "give --max-per-person a b"),
        ("auto", "give max_per_person='auto'", "give --max-per-person auto"),
        ("nan", "give max_per_person=nan", "give --max-per-person nan"),
        ("'auto'", "give max_per_person='auto'", "give --max-per-person 'auto'"),
    ],
)
def test_an_option_has_two_names(value: object, python: str, command: str) -> None:
    """Python's name in str(error), the command line's where it asks for it."""
    error = VotesError(f"give {option('max_per_person', value)}")
    assert (str(error), error.in_options()) == (python, command)


def test_a_message_inside_a_message_keeps_both() -> None:
    """`message` carries both forms into the error that quotes it."""
    inner = QuietrankError(f"use {either('rank_by_group', '--by')}")
    outer = QuietrankError(f"damaged ({inner.message})")
    assert (str(outer), outer.in_options()) == ("damaged (use rank_by_group)", "damaged (use --by)")


def test_what_a_file_says_cannot_break_the_message() -> None:
    """The marks are taken out of values, which may come from anywhere."""
    error = QuietrankError(option("items", "x\ue001y\ue002z"))
    assert error.in_options() == "--items x?y?z"
