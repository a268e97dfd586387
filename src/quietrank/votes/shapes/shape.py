"""What a shape is: somebody's table in, one row per vote out, in the same engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from quietrank.errors import VotesError, option
from quietrank.votes.cells import Names
from quietrank.votes.files import ROW
from quietrank.votes.formats.header import QUALTRICS
from quietrank.votes.formats.scan import FILE
from quietrank.votes.where import PASSES

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from quietrank.promise.items import Items

PEOPLE = ("person", "user", "annotator", "judge", "voter", "respondent", "rater")
PERSON_NAMES = (*PEOPLE, *(f"{name}_id" for name in PEOPLE))

RESPONSE_ID = "ResponseId"
"""who answered, in exports by Qualtrics: a name that says so only beside others of its columns"""

UNANSWERED = -1
"""y of a row without an answer"""
DESIGN_ROLES = ("a", "b", "person", "group")
"""what a column may stand for without telling the answer"""
COUNT_ROLE = "number of votes"
"""it tells how many gave an answer, but not which"""
DAY, VOTE_ID = "quietrank day", "quietrank vote id"
CARRIED = (FILE, ROW, PASSES, DAY, VOTE_ID)
"""the file and the number of a row, whether it meets the condition, and for a board, its day and its id"""


class Shape(ABC):
    """Which columns are read, as what, and how rows become votes. Shapes are frozen dataclasses."""

    name: ClassVar[str]
    """as in --shape"""
    person: str | None
    """the column that names the person"""
    group: str | None
    """the column of the group"""
    gives_places: ClassVar[bool] = False
    """whether `rows` has place_a and place_b, the places of the items on their list; then a and b only if numbered"""
    unasked: ClassVar[bool] = False
    """whether an empty answer may mean that the question was not put, so that it says something about the design"""
    needs_private_design: ClassVar[str] = ""
    """why which pairs were compared is an answer itself, and never public; empty if it is not"""
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
    def knows_pairs(self) -> bool:
        """Whether a row without an answer still says which pair was asked about."""
        return True

    @property
    def parts(self) -> int:
        """How many counts of votes one row of the table is read as."""
        return 1

    @property
    def counts(self) -> bool:
        """Whether a row stands for as many votes as its column of counts says."""
        return False

    @property
    def as_single_votes(self) -> str:
        """What to say instead, where rows that are read as counts may be single votes; for a message."""
        return ""

    @property
    def votes_per_row(self) -> int:
        """How many votes each row of the table becomes, answered or not; the same for every row."""
        return 1

    @property
    def row_is_person(self) -> bool:
        """Whether each row is one person's, although nobody is named."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(self.meaning.values())

    @property
    def answers(self) -> tuple[str, ...]:
        """The columns that tell the answer: all that are read, but for those of the design."""
        return tuple(column for role, column in self.meaning.items() if role not in DESIGN_ROLES)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Those of them that say who won."""
        return tuple(column for role, column in self.meaning.items() if role not in (*DESIGN_ROLES, COUNT_ROLE))

    @property
    def of_design(self) -> tuple[str, ...]:
        """The columns that must not depend on who won, where only answers differ between neighbours."""
        return tuple(column for role, column in self.meaning.items() if role in (*DESIGN_ROLES, COUNT_ROLE))

    @abstractmethod
    def rows(self, table: ir.Table, name: Names, *, numbered: bool) -> ir.Table:
        """One row per vote: a, b, y (2 = a won, 1 = tie, 0 = b won, −1 = not answered, NULL = unreadable), and
        where there are such columns, person, group and what is `carried`. Where a always wins, there is no y. Where a
        row stands for several votes, `count` says for how many, NULL if that cannot be read.
        `numbered`: for error messages, also `said`, the outcome as it is written. Where a whole row of the table can be
        wrong, `wrong` is the name of the flaw or empty, and if numbered `culprit` is the cell. The table is mentioned
        once."""

    @abstractmethod
    def items(self, table: ir.Table, *, ours: bool) -> ir.Table:
        """Every name in the cells (or columns) that name items: `item`. `ours`: the engine is quietrank's own."""

    @abstractmethod
    def with_group(self, column: str) -> Self:
        """The same with a column of groups."""

    def with_items(self, items: Items) -> Self:
        """The same for these items, once their list is known; refused if the shape does not fit it."""
        return self


def carried(table: ir.Table) -> dict[str, Any]:
    """What every row takes along, whatever its shape."""
    return {name: table[name] for name in CARRIED if name in table.columns}


def called(names: Sequence[str], common: Sequence[str]) -> list[str]:
    """The columns that have one of the common names."""
    return [name for name in names if name.lower() in common]


def only_one(names: Sequence[str], common: Sequence[str]) -> str | None:
    """The column that has one of the common names, if exactly one does."""
    candidates = called(names, common)
    return candidates[0] if len(candidates) == 1 else None


def listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def first_few(names: Sequence[str], most: int = 8) -> str:
    """A list that may be long, for a message."""
    return listed(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")


def person_column(names: Sequence[str], column: str | None) -> str | None:
    """The column that names the person: as given, or the only one with a common name; spaces count as underscores."""
    require_column(names, "person", column)
    candidates = [name for name in names if name.strip().lower().replace(" ", "_") in PERSON_NAMES]
    if not candidates and len(QUALTRICS.intersection(names)) > 1 and RESPONSE_ID in names:
        candidates = [RESPONSE_ID]
    if column is None and len(candidates) > 1:
        raise VotesError(
            f"more than one column could name the person ({', '.join(candidates)}); choose one with {option('person')}"
        )
    return column or (candidates[0] if candidates else None)


def require_column(names: Sequence[str], role: str, name: str | None) -> None:
    """Refuse a column that is not there."""
    if name is not None and name not in names:
        raise VotesError(f"there is no column {name!r} for {option(role)}; the columns are {listed(names)}")
