"""What a shape is: how the rows of somebody's table become votes, one row each, without leaving the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from quietrank.errors import VotesError, option
from quietrank.votes.files import FILE, ROW
from quietrank.votes.where import PASSES

if TYPE_CHECKING:
    import ibis.expr.types as ir

PEOPLE = ("person", "user", "annotator", "judge", "voter", "respondent", "rater")
PERSON_NAMES = (*PEOPLE, *(f"{name}_id" for name in PEOPLE))

UNANSWERED = -1
"""y of a row without an answer"""
DESIGN_ROLES = ("a", "b", "person", "group")
"""what a column may stand for without telling the answer"""
ANSWER_NAMES = (
    "winner", "loser", "chosen", "rejected", "outcome", "result", "label", "preference", "tie", "tied", "is_tie",
    "draw",
)  # fmt: skip
"""what columns are called that tell the answer, even if they are not read"""

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
    def knows_pairs(self) -> bool:
        """Whether a row without an answer still says which pair was asked about."""
        return True

    @property
    def parts(self) -> int:
        """How many votes, or counts of votes, one row of the table is read as."""
        return 1

    @property
    def counts(self) -> bool:
        """Whether a row stands for as many votes as its column of counts says."""
        return False

    def about(self, items: Sequence[str]) -> Self:
        """The same for these items, whose list is public."""
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(self.meaning.values())

    @property
    def answers(self) -> tuple[str, ...]:
        """The columns that tell the answer: all that are read, but for those of the design."""
        return tuple(column for role, column in self.meaning.items() if role not in DESIGN_ROLES)

    @abstractmethod
    def rows(self, table: ir.Table, name: Name, *, numbered: bool) -> ir.Table:
        """One row per vote: a, b, y (2 = a won, 1 = tie, 0 = b won, −1 = not answered, NULL = unreadable), and
        where there are such columns, person, group and what is `carried`. Where a always wins, there is no y. Where a
        row stands for several votes, `count` says for how many, NULL if that cannot be read.
        `numbered`: for error messages, also `said`, the outcome as it is written. The table is mentioned once."""

    @abstractmethod
    def items(self, table: ir.Table, *, ours: bool) -> ir.Table:
        """Every name in the cells (or columns) that name items: `item`. `ours`: the engine is quietrank's own."""

    @abstractmethod
    def with_group(self, column: str) -> Self:
        """The same with a column of groups."""


def carried(table: ir.Table) -> dict[str, Any]:
    """What every row takes along, whatever its shape: its file and number, and whether it meets the condition."""
    return {name: table[name] for name in (FILE, ROW, PASSES) if name in table.columns}


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
