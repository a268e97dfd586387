"""How often a board is published: the word in, the number of days out."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal


class Every(StrEnum):
    """How often a board is published."""

    DAY = "day"
    WEEK = "week"

    @property
    def days(self) -> int:
        return 1 if self is Every.DAY else 7


EveryWord = Literal["day", "week"]
