"""Arguments of any type in; whole numbers and values of ε out, or one sentence that says what to give."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from math import isfinite
from numbers import Integral, Real

import numpy as np

from quietrank.errors import PrivacyError, QuietrankError, option

LARGEST = 1e300
"""Whole numbers may be larger than any float."""


def whole(name: str, value: object, least: int) -> int:
    """A whole number, of whatever type; not True, not 2.5, and not text."""
    number = _number(value)
    if number is None or number != int(number) or number < least:
        raise QuietrankError(f"{option(name)} must be a whole number, {least} or more; got {option(name, repr(value))}")
    return int(number)


def whole_or_none(name: str, value: object, least: int) -> int | None:
    return None if value is None else whole(name, value, least)


def yes_or_no(name: str, value: object) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise QuietrankError(f"{option(name)} must be True or False; got {option(name, repr(value))}")
    return bool(value)


def epsilons(given: object) -> list[float] | None:
    """The values of ε, ascending, each once; None if none was given."""
    if given is None:
        return None
    values = _several(given)
    if not values:
        raise PrivacyError(
            f"the list of {option('epsilon')} is empty; give a value, such as {option('epsilon', 1)}, or leave it out"
        )
    return sorted({_epsilon(value) for value in values})


def _several(given: object) -> list[object]:
    """A list of what was given: one value, or many."""
    if isinstance(given, np.ndarray):
        return list(given.ravel())
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]


def _epsilon(value: object) -> float:
    number = _number(value)
    if number is None or not 0 < number <= LARGEST:
        raise PrivacyError(
            f"{option('epsilon')} must be a finite number > 0, such as 1; got {option('epsilon', repr(value))}"
        )
    return float(number)


def _number(value: object) -> int | float | None:
    """A finite number, exact if it is whole; None for anything else."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal):
        return None
    if isinstance(value, Integral):
        return int(value)
    number = float(value)
    return number if isfinite(number) else None
