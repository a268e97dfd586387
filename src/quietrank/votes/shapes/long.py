"""One row per vote: the columns `winner` and `loser`, with ties by an optional flag; or `a`, `b` and `outcome`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quietrank.errors import VotesError, option
from quietrank.votes.cells import first_of, text
from quietrank.votes.joins import by_either_side
from quietrank.votes.shapes.shape import PERSON_NAMES, Name, Shape, called, carried, listed, only_one, require_column

if TYPE_CHECKING:
    import ibis.expr.types as ir

WINNER_LOSER_NAMES = (("winner", "loser"), ("chosen", "rejected"))
PAIR_NAMES = (("model_a", "model_b"), ("item_a", "item_b"), ("left", "right"), ("a", "b"))
OUTCOME_NAMES = ("outcome", "winner", "result", "label", "preference")
TIE_NAMES = ("tie", "tied", "is_tie", "draw")

A_WINS = ("a", "model_a", "item_a", "left", "first")
B_WINS = ("b", "model_b", "item_b", "right", "second")
TIES = ("tie", "tie (bothbad)", "both_bad", "bothbad", "tied", "draw", "equal")
YES = ("1", "1.0", "true", "t", "yes", "y", "tie", "tied")
NO = ("0", "0.0", "false", "f", "no", "n")


_WINNER_LOSER = f"{option('winner')} and {option('loser')}"
_PAIR_OUTCOME = f"{option('a')}, {option('b')} and {option('outcome')}"


@dataclass(frozen=True)
class Long(Shape):
    """Which column means what. With no `outcome` column, `a` is the winner and `b` the loser."""

    name = "long"
    a: str
    b: str
    outcome: str | None = None
    tie: str | None = None
    person: str | None = None
    group: str | None = None

    @property
    def meaning(self) -> dict[str, str]:
        a, b = ("winner", "loser") if self.outcome is None else ("a", "b")
        columns = {a: self.a, b: self.b, "outcome": self.outcome, "tie": self.tie, "person": self.person}
        columns["group"] = self.group
        return {role: name for role, name in columns.items() if name is not None}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for role, name in self.meaning.items() if role not in ("outcome", "tie"))

    def with_group(self, column: str) -> Long:
        return replace(self, group=column)

    def rows(self, table: ir.Table, name: Name, *, numbered: bool) -> ir.Table:
        """Items, people and groups are compared exactly as written; without a column of outcomes or ties, a won."""
        roles = {"a": self.a, "b": self.b, "person": self.person, "group": self.group}
        read = {role: name(table[column]) for role, column in roles.items() if column is not None}
        if self.outcome is not None or self.tie is not None:
            read["y"] = self._y(table, name, read["a"], read["b"])
        read |= carried(table)
        if numbered and (column := self.outcome or self.tie):
            read["said"] = text(table[column])
        return table.select(**read)

    def items(self, table: ir.Table, *, ours: bool) -> ir.Table:
        rows = table.select(a=text(table[self.a]), b=text(table[self.b]))
        if ours:
            return by_either_side(rows, "").select("item").distinct()
        return rows.select(item=rows.a).union(rows.select(item=rows.b), distinct=True)

    def _y(self, table: ir.Table, name: Name, a: ir.Value, b: ir.Value) -> ir.Value:
        import ibis

        if self.outcome is not None:
            plain = text(table[self.outcome]).strip().lower()
            by_word = first_of([(plain.isin(words), y) for words, y in self._words()])
            named = name(table[self.outcome])
            by_name = first_of([(named == a, 2), (named == b, 0)])
            # An item may have a word as its name: where the two readings differ, the outcome cannot be read.
            return ibis.ifelse(by_word != by_name, None, ibis.coalesce(by_word, by_name)).cast("int16")
        plain = text(table[self.tie]).strip().lower()
        return first_of([(plain.isin(NO), 2), (plain.isin(YES), 1)])

    def _words(self) -> list[tuple[list[str], int]]:
        """The words for each outcome: the common ones, and the names of the columns, which take precedence."""
        a, b = self.a.strip().lower(), self.b.strip().lower()
        return [
            ([a, *(word for word in A_WINS if word != b)], 2),
            ([b, *(word for word in B_WINS if word != a)], 0),
            ([word for word in TIES if word not in (a, b)], 1),
        ]


def recognise(names: Sequence[str], **roles: str | None) -> Long:
    """The meaning of the columns: by their given roles, or by their common names."""
    for role, name in roles.items():
        require_column(names, role, name)
    person = roles["person"] or only_one(names, PERSON_NAMES)
    if not roles["tie"] and len(flags := called(names, TIE_NAMES)) > 1:
        raise VotesError(f"more than one column could flag ties ({', '.join(flags)}); choose one with {option('tie')}")
    if roles["winner"] or roles["loser"]:
        return _winner_loser(names, roles, person)
    if roles["a"] or roles["b"] or roles["outcome"]:
        return _pair_outcome(names, roles, person)
    return _by_common_names(names, roles, person)


def _winner_loser(names: Sequence[str], roles: dict[str, str | None], person: str | None) -> Long:
    winner, loser = roles["winner"], roles["loser"]
    if winner is None or loser is None or roles["a"] or roles["b"] or roles["outcome"]:
        raise VotesError(f"give {_WINNER_LOSER} together, or {_PAIR_OUTCOME} together")
    return Long(winner, loser, tie=roles["tie"] or only_one(names, TIE_NAMES), person=person)


def _pair_outcome(names: Sequence[str], roles: dict[str, str | None], person: str | None) -> Long:
    a, b, outcome = roles["a"], roles["b"], roles["outcome"]
    if a is None or b is None or outcome is None:
        raise VotesError(f"give {_PAIR_OUTCOME} together, or {_WINNER_LOSER} together")
    if roles["tie"]:
        raise VotesError(f"{option('tie')} goes with {_WINNER_LOSER}; an outcome column says 'tie' itself")
    return Long(a, b, outcome=outcome, person=person)


def _by_common_names(names: Sequence[str], roles: dict[str, str | None], person: str | None) -> Long:
    known = {name.lower(): name for name in names}
    tie = roles["tie"] or only_one(names, TIE_NAMES)
    readings = [
        Long(known[winner], known[loser], tie=tie, person=person)
        for winner, loser in WINNER_LOSER_NAMES
        if winner in known and loser in known
    ]
    for a, b in PAIR_NAMES if roles["tie"] is None else ():
        outcomes = [known[name] for name in OUTCOME_NAMES if name in known]
        if a in known and b in known:
            readings += [Long(known[a], known[b], outcome=outcome, person=person) for outcome in outcomes]
    if len(readings) == 1:
        return readings[0]
    problem = "do not say which column is which" if not readings else "can be read in more than one way"
    raise VotesError(f"the columns {listed(names)} {problem}; give {_WINNER_LOSER}, or {_PAIR_OUTCOME}")
