"""A caller's argument in, the value it stands for out, or an error that says what can be given.

Words become members of an enum; numbers of any kind (NumPy's, fractions, decimals) become floats or whole numbers.
Paths become paths.
"""

from __future__ import annotations

import math
import os
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from numbers import Integral, Rational, Real
from pathlib import Path
from typing import TypeVar

from quietrank.errors import QuietrankError, UnknownWordError, option

Word = TypeVar("Word", bound=StrEnum)


def parse(words: type[Word], name: str, argument: object) -> Word:
    """The member of `words` that the argument `name` stands for."""
    try:
        return words(argument)  # type: ignore[arg-type]  # anything else is a ValueError as well
    except ValueError:
        known = ", ".join(words)
        raise UnknownWordError(f"{option(name)} must be one of {known}; got {option(name, repr(argument))}") from None


def number(argument: object) -> float | None:
    """A real number as a float, never rounded up; None if it is not a number, or a float cannot hold it.

    A float stands for what is written: 0.1 for a tenth. A third has no float, and becomes the one below.
    """
    if isinstance(argument, bool) or not isinstance(argument, Real | Decimal):
        return None
    try:
        value = float(argument)
        exact = Fraction(argument) if isinstance(argument, Rational | Decimal) else None
    except (OverflowError, ValueError):
        return None
    if exact is not None and math.isfinite(value) and Fraction(repr(value)) > exact:
        return math.nextafter(value, -math.inf)
    return value


def whole_number(argument: object) -> int | None:
    """A whole number, 5.0 included; None if it is not one."""
    if not isinstance(argument, bool) and isinstance(argument, Integral):
        return int(argument)  # also beyond what a float can hold
    value = number(argument)
    if value is None or not math.isfinite(value) or value != math.floor(value):
        return None
    return int(value)


def flag(name: str, argument: object) -> bool:
    """True or False, NumPy's included."""
    if isinstance(argument, bool) or type(argument).__name__ in ("bool_", "bool"):
        return bool(argument)
    raise QuietrankError(f"{option(name)} must be True or False; got {option(name, repr(argument))}")


def file_path(argument: object, name: str = "path") -> Path:
    """A valid path; `name` is that of the argument."""
    text = os.fspath(argument) if isinstance(argument, str | os.PathLike) else None
    if not isinstance(text, str) or "\0" in text:
        raise QuietrankError(f"{option(name)} must be the path of a file, as text or a Path; got {argument!r}")
    return at_home(text)


def at_home(text: str) -> Path:
    """A path in which ~ is the home of whoever runs this, as in a shell."""
    return Path(os.path.expanduser(text))  # unlike Path.expanduser it leaves ~nobody as it is
