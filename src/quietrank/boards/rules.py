"""Votes as an update reads them in, the rules of that out: public, and the same in every update of a board.

People are known again by their ids, and votes by theirs, or by all that their rows say. By another column somebody
would have a second limit, and a vote that was counted would count again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from quietrank.errors import BoardError, option

if TYPE_CHECKING:
    from quietrank.votes.read import Votes


@dataclass(frozen=True)
class Rules:
    """What all updates of a board have in common; the fields are called as the options are."""

    shape: str
    person: str | None
    day_column: str
    id: str | None
    where: str | None
    """as it was understood"""
    days: str | None = None
    """the type of the days, if there are no ids: a vote is then known by how its day is written, among other things"""

    @classmethod
    def of(cls, votes: Votes) -> Rules:
        assert votes.daily is not None
        day, vote = votes.daily.day, votes.daily.id
        days = None if vote is not None else _kind(votes.source.table[day].type())
        return cls(votes.shape.name, votes.shape.person, day, vote, votes.condition, days)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def require_same(self, now: Rules) -> None:
        """Refuse to read votes by other rules, `now`, than they were counted by."""
        for name, why in WHY.items():
            before, given = getattr(self, name), getattr(now, name)
            if before != given:
                again = f"leave {option(name)} out" if before is None else f"use {_given(name, before)} again"
                raise BoardError(
                    f"this board has counted votes {_with(name, before)}, and now they would be read "
                    f"{_with(name, given)}: {why}; {again}"
                )
        if self.days != now.days:
            raise BoardError(
                f"the days of this board's votes were of the type {self.days}, and now are of the type {now.days}: "
                f"without {option('id')} a vote is known by what its row says, and would count again; give "
                f"{option('day_column', self.day_column)} in the former type"
            )


RENAMED = "if the column was only renamed, give it its former name in the votes"
WHY = {
    "shape": "a vote that was counted would not be known, and count again",
    "person": f"whoever votes would not be known, and have a second limit; {RENAMED}",
    "day_column": f"votes would belong to other days; {RENAMED}",
    "id": f"a vote that was counted would not be known, and count again; {RENAMED}",
    "where": "the releases of a board state one condition for all votes; it need not say which are new",
}
"""why each of them must stay the same"""


def _with(name: str, value: str | None) -> str:
    return f"without {option(name)}" if value is None else f"with {_given(name, value)}"


def _given(name: str, value: str) -> str:
    return option(name, f'"{value}"' if " " in value else value)


def _kind(dtype: Any) -> str:
    """The type of a column in a word, the same for times of any precision and for numbers of any size."""
    kinds = {"is_string": "text", "is_date": "date", "is_timestamp": "time", "is_numeric": "number"}
    return next((kind for check, kind in kinds.items() if getattr(dtype, check)()), str(dtype))
