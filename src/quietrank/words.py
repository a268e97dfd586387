"""A word from the edge in, the type it stands for out, or an error that lists the words there are."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from quietrank.errors import PrivacyError

Word = TypeVar("Word", bound=StrEnum)


def parse(words: type[Word], name: str, given: str) -> Word:
    """The member of `words` that was given for the option `name`."""
    try:
        return words(given)
    except ValueError:
        raise PrivacyError(f"{name} must be one of {', '.join(words)}; got {name}={given!r}") from None
