"""What a shape is: how the rows of somebody's table become votes, one row each, without leaving the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from quietrank.errors import VotesError, option

if TYPE_CHECKING:
    import ibis.expr.types as ir

PEOPLE = ("person", "user", "annotator", "judge", "voter", "respondent", "rater")
PERSON_NAMES = (*PEOPLE, *(f"{name}_id" for name in PEOPLE))

Name = Callable[[Any], Any]
"""how a cell that names an item, a person or a group is compared: as text or as bytes; an empty one is NULL"""


class Shape(ABC):
    """Which columns are read, as what, and how rows become votes. Shapes are frozen dataclasses."""

    name: ClassVar[str]
    """as in --shape"""
    person: str | None
    """the column that names the person"""
    group: str | None
    """the column of the group"""
    set_size: int = 2
    """how many items a vote is about, at most: more than 2 for best–worst sets; public"""
    in_sets: ClassVar[bool] = False
    """whether rows also have the items that were shown, and what is wrong with them (best_worst.py)"""

    @property
    @abstractmethod
    def meaning(self) -> dict[str, str]:
        """What each column that is read stands for, by role."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns whose cells name items, people or groups, and must be preserved exactly as written."""

    @property
    def leaves_out(self) -> bool:
        """Whether a row may have no answer, and is then left out."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(self.meaning.values())

    @abstractmethod
    def rows(self, table: ir.Table, name: Name, *, numbered: bool) -> ir.Table:
        """One row per vote: a, b, y (2 = a won, 1 = tie, 0 = b won, −1 = not answered, NULL = unreadable), and
        where there are such columns, person, group and the row's number. Where a always wins, there is no y.
        `numbered`: for error messages, also `said`, the outcome as it is written. The table is mentioned once."""

    @abstractmethod
    def items(self, table: ir.Table, *, ours: bool) -> ir.Table:
        """Every name in the cells (or columns) that name items: `item`. `ours`: the engine is quietrank's own."""

    @abstractmethod
    def with_group(self, column: str) -> Self:
        """The same with a column of groups."""


def called(names: Sequence[str], common: Sequence[str]) -> list[str]:
    """The columns that have one of the common names."""
    return [name for name in names if name.lower() in common]


def only_one(names: Sequence[str], common: Sequence[str]) -> str | None:
    """The column that has one of the common names, if exactly one does."""
    candidates = called(names, common)
    return candidates[0] if len(candidates) == 1 else None


def listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def require_column(names: Sequence[str], role: str, name: str | None) -> None:
    """Refuse a column that is not there."""
    if name is not None and name not in names:
        raise VotesError(f"there is no column {name!r} for {option(role)}; the columns are {listed(names)}")
