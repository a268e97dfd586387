"""What a caller gave in, the value it stands for out, or an error that says what can be given.

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

from quietrank.errors import PrivacyError, QuietrankError, option

Word = TypeVar("Word", bound=StrEnum)


def parse(words: type[Word], name: str, given: object) -> Word:
    """The member of `words` that was given for the option `name`."""
    try:
        return words(given)  # type: ignore[arg-type]  # anything else is a ValueError as well
    except ValueError:
        known = ", ".join(words)
        raise PrivacyError(f"{option(name)} must be one of {known}; got {option(name, repr(given))}") from None


def number(given: object) -> float | None:
    """A real number as a float, at most what was given; None if it is no number, or none that a float can hold.

    A float stands for what is written: 0.1 for a tenth. A third has no float, and becomes the one below.
    """
    if isinstance(given, bool) or not isinstance(given, Real | Decimal):
        return None
    try:
        value = float(given)
        exact = Fraction(given) if isinstance(given, Rational | Decimal) else None
    except (OverflowError, ValueError):
        return None
    if exact is not None and math.isfinite(value) and Fraction(repr(value)) > exact:
        return math.nextafter(value, -math.inf)
    return value


def whole_number(given: object) -> int | None:
    """A whole number, also as 5.0; None if it is none."""
    if not isinstance(given, bool) and isinstance(given, Integral):
        return int(given)  # also beyond what a float can hold
    value = number(given)
    if value is None or not math.isfinite(value) or value != math.floor(value):
        return None
    return int(value)


def flag(name: str, given: object) -> bool:
    """True or False, also NumPy's."""
    if isinstance(given, bool) or type(given).__name__ in ("bool_", "bool"):
        return bool(given)
    raise QuietrankError(f"{option(name)} must be True or False; got {option(name, repr(given))}")


def file_path(given: object, name: str = "path") -> Path:
    """A path that a system could have; `name` is that of the argument."""
    text = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(text, str) or "\0" in text:
        raise QuietrankError(f"{option(name)} must be the path of a file, as text or a Path; got {given!r}")
    return Path(text)
