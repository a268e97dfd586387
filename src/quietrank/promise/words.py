"""Plain answers in, the words of a promise out; and arguments in, the options of the command line out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quietrank.promise.privacy import Design, Neighbours, plain_number

PUBLIC, RANDOM, SECRET = "public", "random", "secret"

DESIGNS: dict[str, dict[str, str]] = {
    PUBLIC: {"neighbours": Neighbours.OUTCOME, "design": Design.PUBLIC},
    RANDOM: {"design": Design.UNIFORM},
    SECRET: {},
}
"""who was asked what, as an answer, and as a promise"""


def as_options(arguments: Mapping[str, Any]) -> list[str]:
    """Arguments by their names in Python as words of the command line; what is None or False is left out."""
    return [word for name, value in arguments.items() for word in _option(name, value)]


def _option(name: str, value: Any) -> list[str]:
    """A switch alone, others with what they are given."""
    if value is None or value is False:
        return []
    option = f"--{name.replace('_', '-')}"
    if value is True:
        return [option]
    return [option, plain_number(value) if isinstance(value, float) else str(value)]
