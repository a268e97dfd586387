"""What the formats have in common."""

from __future__ import annotations

from quietrank.votes.formats.scan import first_line


def test_an_error_that_says_nothing_is_called_by_its_kind() -> None:
    """The error that is reported must not be another one, about a line that is not there."""
    assert first_line(ValueError(" one\ntwo")) == "one"
    assert first_line(ValueError("")) == "ValueError"
