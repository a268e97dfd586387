"""A long table in, one row per vote out. Its rows are votes, or stand for several.

The columns are `winner` and `loser`, with ties by an optional flag; or `a`, `b` and `outcome`, also with a column for
each outcome. Where a row stands for several votes, there is a column of counts, or one for each side's wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quietrank.errors import VotesError, option
from quietrank.promise.items import Items
from quietrank.votes.cells import Names, text
from quietrank.votes.joins import by_either_side
from quietrank.votes.shapes.counts import by_outcome, whole
from quietrank.votes.shapes.long_names import (
    ONE_HOT_NAMES,
    OUTCOME_NAMES,
    PAIR_NAMES,
    TIE_NAMES,
    WINNER_LOSER_NAMES,
    WINS_NAMES,
    known_names,
    no_comparisons,
)
from quietrank.votes.shapes.outcomes import A_WON, B_WON, COMMON, TIE, BothBad, Words
from quietrank.votes.shapes.shape import (
    COUNT_ROLE,
    PERSON_NAMES,
    UNANSWERED,
    Shape,
    called,
    carried,
    listed,
    only_one,
    require_column,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

_WINNER_LOSER = f"{option('winner')} and {option('loser')}"
_PAIR_OUTCOME = f"{option('a')}, {option('b')} and {option('outcome')}"
_WINS = f"{option('wins_a')} and {option('wins_b')}"
_PAIR_WINS = f"{option('a')}, {option('b')}, {_WINS}"

Flags = tuple[tuple[str, str], ...]
"""what each column of a one-hot answer says (`a won`, `b won`, `tie`, `both bad`), and its name"""
_SAYS = {"a won": A_WON, "b won": B_WON, "tie": TIE}


@dataclass(frozen=True)
class Long(Shape):
    """Which column means what. With no answer in `outcome`, `flags` or `wins`, a is the winner and b the loser."""

    name = "long"
    a: str
    b: str
    outcome: str | None = None
    tie: str | None = None
    """whether it was a tie; beside `wins`, how many ties there were"""
    person: str | None = None
    group: str | None = None
    flags: Flags = ()
    wins: tuple[str, str] | None = None
    """how often a won, and b"""
    count: str | None = None
    """how many votes a row stands for"""
    words: Words = COMMON

    @property
    def meaning(self) -> dict[str, str]:
        a, b = ("winner", "loser") if self._names_winner else ("a", "b")
        columns: dict[str, str | None] = {a: self.a, b: self.b, "outcome": self.outcome, **dict(self.flags)}
        if self.wins is not None:
            columns |= {"wins of a": self.wins[0], "wins of b": self.wins[1], "number of ties": self.tie}
        else:
            columns["tie"] = self.tie or columns.get("tie")
        columns |= {COUNT_ROLE: self.count, "person": self.person, "group": self.group}
        return {role: name for role, name in columns.items() if name is not None}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.a, self.b, self.person, self.group) if name is not None)

    @property
    def leaves_out(self) -> bool:
        return bool(self.outcome or self.flags) or self.words.leave_out

    @property
    def knows_pairs(self) -> bool:
        return not (self._names_winner and self.leaves_out)

    @property
    def parts(self) -> int:
        return 1 if self.wins is None else 2 + (self.tie is not None)

    @property
    def counts(self) -> bool:
        return self.wins is not None or self.count is not None

    @property
    def as_single_votes(self) -> str:
        if self.wins is None:
            return ""
        return (
            f"; if every row is one vote already, in which {self.wins[0]} is 1 or 0, say {option('a', self.a)} "
            f"{option('b', self.b)} {option('outcome', self.wins[0])} {option('outcomes', '1/0.5/0')}"
        )

    @property
    def _names_winner(self) -> bool:
        return self.outcome is None and not self.flags and self.wins is None

    def with_group(self, column: str) -> Long:
        return replace(self, group=column)

    def with_items(self, items: Items) -> Long:
        return replace(self, words=self.words.about(items.names)) if self.outcome is not None else self

    def saying(self, words: Words) -> Long:
        """The same with what the caller said about words; refused where there is no answer that they could be about."""
        if words.declared and (self.outcome is None and (self.tie is None or self.wins is not None)):
            raise VotesError(
                f"{option('outcomes')} is about a column of outcomes; give {_PAIR_OUTCOME}, or leave it out"
            )
        if words.declared and self.outcome is None and B_WON in dict(words.declared).values():
            raise VotesError(
                f"beside a winner and a loser, {option('outcomes')} says what the flag {self.tie!r} means: a (no tie), "
                "tie or missing; leave b out"
            )
        if words.missing and self.wins is not None:
            raise VotesError(f"{option('missing')} is about answers, and {_WINS} count them; leave it out, and write 0")
        if words.bothbad is BothBad.DROP and self.outcome is None and "both bad" not in dict(self.flags):
            raise VotesError(
                f"{option('bothbad', 'drop')} is about a column of outcomes that says so; give {_PAIR_OUTCOME}, or "
                "leave it out"
            )
        return replace(self, words=words)

    def rows(self, table: ir.Table, name: Names, *, numbered: bool) -> ir.Table:
        """Items, people and groups are compared exactly as written; without a column of outcomes or ties, a won."""
        roles = {"a": self.a, "b": self.b, "group": self.group}
        read = {role: name(table[column]) for role, column in roles.items() if column is not None}
        if self.person is not None:
            read["person"] = name.person(table[self.person])
        if (y := self._y(table, name, read["a"], read["b"])) is not None:
            read["y"] = y
        if self.count is not None:
            read["count"] = whole(table[self.count])
        read |= carried(table)
        if numbered:
            read |= self._as_written(table)
        if self.wins is None:
            return table.select(**read)
        columns = dict(zip((A_WON, B_WON, TIE), (*self.wins, self.tie), strict=True))
        counted = {y: column for y, column in columns.items() if column is not None}
        votes = {f"votes_{y}": whole(table[column]) for y, column in counted.items()}
        return by_outcome(table.select(**read, **votes), {y: f"votes_{y}" for y in counted})

    def items(self, table: ir.Table, *, ours: bool) -> ir.Table:
        rows = table.select(a=text(table[self.a]), b=text(table[self.b]))
        if not self.knows_pairs:
            rows = rows.filter(~self._unnamed(rows.a, rows.b))
        if ours:
            return by_either_side(rows, "").select("item").distinct()
        return rows.select(item=rows.a).union(rows.select(item=rows.b), distinct=True)

    def _y(self, table: ir.Table, name: Names, a: ir.Value, b: ir.Value) -> ir.Value | None:
        """NULL where the answer cannot be read; None where there is no column that says more than who won."""
        if self.outcome is not None:
            cell = table[self.outcome]
            return self.words.y(cell, name(cell), a, b, (self.a, self.b))
        if self.flags:
            flags = {says: table[column] for says, column in self.flags}
            known = {_SAYS[says]: cell for says, cell in flags.items() if says in _SAYS}
            return self.words.y_of_flags(known, flags.get("both bad"))
        if self.wins is not None or (self.tie is None and not self.words.leave_out):
            return None
        return self._winner_named(table)

    def _winner_named(self, table: ir.Table) -> ir.Value:
        """The outcome where a winner and a loser are named; not answered, where words say that one of them is not."""
        import ibis

        y = ibis.literal(A_WON, type="int16") if self.tie is None else self.words.y_of_flag(table[self.tie])
        if not self.words.leave_out:
            return y
        unnamed = self._unnamed(table[self.a], table[self.b])
        return ibis.ifelse(unnamed, ibis.literal(UNANSWERED, type="int16"), y)

    def _unnamed(self, winner: ir.Value, loser: ir.Value) -> ir.Value:
        return self.words.is_missing(winner) | self.words.is_missing(loser)

    def _as_written(self, table: ir.Table) -> dict[str, ir.Value]:
        """The cells of the answer and of the count, for error messages."""
        import ibis

        answer = [self.outcome or self.tie] if self.wins is None else [*self.wins, self.tie]
        columns = [column for _, column in self.flags] or [column for column in answer if column is not None]
        cells = [text(table[column]) for column in columns]
        said = {}
        if cells:
            all_cells = ibis.coalesce(cells[0], "") if len(cells) > 1 else cells[0]
            for cell in cells[1:]:
                all_cells = all_cells + ", " + ibis.coalesce(cell, "")
            said["said"] = all_cells
        if self.count is not None:
            said["counted"] = text(table[self.count])
        return said


def recognise(names: Sequence[str], **roles: str | None) -> Long:
    """The meaning of the columns: by their given roles, or by their common names."""
    for role, name in roles.items():
        require_column(names, role, name)
    person = roles["person"] or only_one(names, PERSON_NAMES)
    if not roles["tie"] and len(flags := called(names, TIE_NAMES)) > 1:
        raise VotesError(f"more than one column could flag ties ({', '.join(flags)}); choose one with {option('tie')}")
    return replace(_recognised(names, roles), person=person, count=_count(roles))


def _recognised(names: Sequence[str], roles: dict[str, str | None]) -> Long:
    if roles.get("wins_a") or roles.get("wins_b"):
        return _pair_wins(names, roles)
    if roles["winner"] or roles["loser"]:
        return _winner_loser(names, roles)
    if roles["a"] or roles["b"] or roles["outcome"]:
        return _pair_outcome(roles)
    return _by_common_names(names, roles)


def _count(roles: dict[str, str | None]) -> str | None:
    count = roles.get("count")
    if count is not None and (roles.get("wins_a") or roles.get("wins_b")):
        raise VotesError(f"{_WINS} are counts themselves; leave {option('count')} out")
    return count


def _winner_loser(names: Sequence[str], roles: dict[str, str | None]) -> Long:
    winner, loser = roles["winner"], roles["loser"]
    if winner is None or loser is None or roles["a"] or roles["b"] or roles["outcome"]:
        raise VotesError(f"give {_WINNER_LOSER} together, or {_PAIR_OUTCOME} together")
    return Long(winner, loser, tie=roles["tie"] or only_one(names, TIE_NAMES))


def _pair_outcome(roles: dict[str, str | None]) -> Long:
    a, b, outcome = roles["a"], roles["b"], roles["outcome"]
    if a is None or b is None or outcome is None:
        raise VotesError(f"give {_PAIR_OUTCOME} together, or {_WINNER_LOSER} together")
    if roles["tie"]:
        raise VotesError(f"{option('tie')} goes with {_WINNER_LOSER}; an outcome column says 'tie' itself")
    return Long(a, b, outcome=outcome)


def _pair_wins(names: Sequence[str], roles: dict[str, str | None]) -> Long:
    wins_a, wins_b, known = roles["wins_a"], roles["wins_b"], known_names(names)
    pairs = [(known[a], known[b]) for a, b in PAIR_NAMES if a in known and b in known]
    if not (roles["a"] or roles["b"]) and len(pairs) == 1:
        ((a, b),) = pairs
    else:
        a, b = roles["a"] or "", roles["b"] or ""
    if not (wins_a and wins_b and a and b) or roles["winner"] or roles["loser"] or roles["outcome"]:
        raise VotesError(f"give {_PAIR_WINS} together, and no other column of answers but {option('tie')}")
    return Long(a, b, tie=roles["tie"] or only_one(names, TIE_NAMES), wins=(wins_a, wins_b))


def _by_common_names(names: Sequence[str], roles: dict[str, str | None]) -> Long:
    readings = _readings(names, roles)
    if len(readings) == 1:
        return readings[0]
    if not readings and (reason := no_comparisons(names)):
        raise VotesError(reason)
    columns, remedy = f"the columns {listed(names)}", f"give {_WINNER_LOSER}, or {_PAIR_OUTCOME}"
    if readings:
        raise VotesError(f"{columns} can be read in more than one way; {remedy}")
    raise VotesError(
        f"{columns} do not say which column is which; {remedy}; or say with {option('shape')} that a row is not one "
        "vote, but has a column per pair (wide), or is a person's ranking (rankings), or a best-worst set"
    )


def _readings(names: Sequence[str], roles: dict[str, str | None]) -> list[Long]:
    """Everything that the common names can mean."""
    known = known_names(names)
    tie = roles["tie"] or only_one(names, TIE_NAMES)
    readings = [
        Long(known[winner], known[loser], tie=tie)
        for winner, loser in WINNER_LOSER_NAMES
        if winner in known and loser in known
    ]
    for a, b in PAIR_NAMES:
        if not (a in known and b in known):
            continue
        readings += [
            Long(known[a], known[b], tie=tie, wins=(known[wins_a], known[wins_b]))
            for wins_a, wins_b in WINS_NAMES
            if wins_a in known and wins_b in known and roles.get("count") is None
        ]
        if roles["tie"] is None:
            # Beside a loser, a winner is not the outcome of two other columns: it is read with the loser.
            said = [name for name in OUTCOME_NAMES if name in known and not (name == "winner" and "loser" in known)]
            readings += [Long(known[a], known[b], outcome=known[name]) for name in said]
            readings += _one_hot(known, a, b)
    return readings


def _one_hot(known: dict[str, str], a: str, b: str) -> list[Long]:
    """A column for each outcome: at least one for each side."""
    names = {says: [one.format(a=a, b=b) for one in common] for says, common in ONE_HOT_NAMES.items()}
    by_meaning = {says: [known[name] for name in common if name in known] for says, common in names.items()}
    if not (by_meaning["a won"] and by_meaning["b won"]):
        return []
    flags = tuple((says, columns[0]) for says, columns in by_meaning.items() if columns)
    return [Long(known[a], known[b], flags=flags)]
