"""Arguments of any type in; whole numbers and values of ε out, or one sentence that says what to give."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from quietrank.errors import PrivacyError, QuietrankError, option
from quietrank.promise.arguments import whole_number
from quietrank.promise.privacy import checked_epsilon


def whole(name: str, value: object, least: int) -> int:
    """A whole number, of whatever type; not True, not 2.5, and not text."""
    number = whole_number(value)
    if number is None or number < least:
        raise QuietrankError(f"{option(name)} must be a whole number, {least} or more; got {option(name, repr(value))}")
    return number


def whole_or_none(name: str, value: object, least: int) -> int | None:
    return None if value is None else whole(name, value, least)


def epsilons(argument: object) -> list[float] | None:
    """The values of ε, ascending, each once; None if none was given."""
    if argument is None:
        return None
    values = _several(argument)
    if not values:
        raise PrivacyError(
            f"the list of {option('epsilon')} is empty; give a value, such as {option('epsilon', 1)}, or leave it out"
        )
    return sorted({checked_epsilon(value) for value in values})


def _several(argument: object) -> list[object]:
    """The argument as a list, whether it is one value or many."""
    if isinstance(argument, np.ndarray):
        return list(argument.ravel())
    return list(argument) if isinstance(argument, Iterable) and not isinstance(argument, str | bytes) else [argument]
