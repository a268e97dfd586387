"""A snapshot in; the rows that can be used out, or what is wrong with them, for the data holder only.

A row is invalid when an item is missing or not declared, when an item meets itself, when the outcome cannot be
read, or, where people are protected, when nobody is named; where votes are split by group, also when its group is
missing or not declared; and where each person belongs to one group, when its person is in several. `skip_invalid`
drops such rows one by one, each on its own merits, and people in several groups with all their rows, so that one unit's
rows never decide about another's.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from quietrank.errors import QuietrankError, VotesError, option
from quietrank.promise.arguments import parse
from quietrank.promise.privacy import GroupOf, Unit, UnitWord
from quietrank.promise.promise import Bounded
from quietrank.render.screen import visible
from quietrank.votes import files
from quietrank.votes.joins import with_one_group
from quietrank.votes.read import Votes
from quietrank.votes.sets import shown_columns
from quietrank.votes.snapshot import FLAWS, NO_FLAW, NOT_ANSWERED, NUMBER, UNREADABLE, judged, snapshot
from quietrank.votes.sources import collect, no_votes

if TYPE_CHECKING:
    import ibis.expr.types as ir

SHOWN = 3


CONFIDENTIAL = "Confidential: exact counts, for the data holder only; do not publish."


@dataclass(frozen=True, repr=False)
class Report:
    """What is in a file of votes. Confidential: exact counts, for the data holder only."""

    name: str
    columns: dict[str, str]
    """which column was read as what"""
    unread: tuple[str, ...]
    rows: int
    votes: int
    ties: int
    items: int
    people: float | None
    votes_per_person: dict[str, float] = field(default_factory=dict)
    flaws: dict[str, int] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    unmentioned: tuple[str, ...] = ()
    """declared items without votes"""

    def __repr__(self) -> str:
        return "\n".join([CONFIDENTIAL, *self.lines()])

    def lines(self) -> list[str]:
        """The columns, the counts, and examples of what is wrong, a line each, for a terminal."""
        columns = {f"column read as {role}": visible(name) for role, name in self.columns.items()}
        if self.unread:
            columns["columns not read"] = visible(", ".join(self.unread))
        lines = [f"{name:28}{value:>12}" for name, value in (columns | self._counts()).items()]
        if self.unmentioned:
            some = visible(", ".join(self.unmentioned[:5])) + (", …" if len(self.unmentioned) > 5 else "")
            lines.append(f"{'items without votes':28}{len(self.unmentioned):>12}  ({some})")
        return [*lines, *(f"  {visible(example)}" for example in self.examples)]

    def _counts(self) -> dict[str, float]:
        counts: dict[str, float] = {
            "rows": self.rows, "usable votes": self.votes, "of them ties": self.ties, "items": self.items
        }  # fmt: skip
        if self.people is not None:
            counts["people"] = self.people
            counts |= {f"votes per person, {name}": value for name, value in self.votes_per_person.items()}
        return counts | {f"invalid: {flaw}": count for flaw, count in self.flaws.items()}


def check(votes: Votes, *, unit: UnitWord | None = None) -> Report:
    """What is in the votes and what is wrong with them. Confidential: for the data holder only.

    votes  what `read_votes` returned
    unit   "person": a vote without a person is a flaw too. "comparison" or None: votes need not name anybody.

    Invalid rows are counted by what is wrong with them, and shown by example; they raise no error.

    >>> import pyarrow as pa
    >>> import quietrank as qr
    >>> table = pa.table({"winner": ["tea", "tea", "tae"], "loser": ["water", "water", "water"]})
    >>> report = qr.check(qr.read_votes(table, ["tea", "water"]))
    >>> report.votes, report.flaws
    (2, {'undeclared item': 1})
    """
    if not isinstance(votes, Votes):
        raise QuietrankError("give what read_votes returned: check(read_votes(...))")
    people = unit is not None and parse(Unit, "unit", unit) is Unit.PERSON
    if people:
        votes.require_person()
    return report(votes, people=people)


def usable(votes: Votes, bounded: Bounded, rows: ir.Table) -> tuple[ir.Table, int]:
    """The rows of a snapshot that count, and how many rows there were; refused if some do not and are not skipped.

    Where only answers differ between neighbours the design is public, and a row that vanished with its answer would
    change it: there an answer that cannot be read counts as a tie.
    """
    grouped = votes.groups is not None and bounded.unit is Unit.PERSON and bounded.group_of is GroupOf.PERSON
    counts = _counts(votes, rows)
    if not votes.skip_invalid and (flaws := _flaws(votes, rows, counts, grouped=grouped)):
        _refuse(votes, flaws, named=bounded.counts_people)
    return _kept(votes, rows, bounded, grouped), sum(counts.values())


def _kept(votes: Votes, rows: ir.Table, bounded: Bounded, grouped: bool) -> ir.Table:
    """The rows that are sound and answered, each judged on its own, and people with several groups as a whole."""
    import ibis

    if not (votes.skip_invalid or votes.leaves_out):
        return rows
    if bounded.answers_only and "y" in rows.columns:
        unread = rows.flaw.isin([*UNREADABLE, NOT_ANSWERED])
        rows = rows.mutate(
            y=ibis.ifelse(unread, ibis.literal(1, type="int16"), rows.y), flaw=ibis.ifelse(unread, NO_FLAW, rows.flaw)
        )
    rows = rows.filter(rows.flaw == NO_FLAW)
    if not grouped:
        return rows
    marked = with_one_group(rows)
    return marked.filter(marked.one_group)


def report(votes: Votes, *, people: bool) -> Report:
    """Everything the data holder should know before ranking; with `people`, a vote without a person is a flaw."""
    with snapshot(votes, named=people) as rows:
        counts = _counts(votes, rows)
        if not counts and not people:
            raise no_votes(votes.source)
        grouped = people and votes.groups is not None and votes.group_of is GroupOf.PERSON
        flaws = _flaws(votes, rows, counts, grouped=grouped)
        sound = rows.filter(rows.flaw == NO_FLAW)
        tied = (sound.y == 1).sum() if "y" in sound.columns else sound.count() * 0
        first = collect(votes.source, sound.group_by("a").agg(ties=tied))
        met = {place for side in _sides(sound) for place in collect(votes.source, side)["item"].to_pylist()}
        named = _people(votes, sound) if votes.shape.person is not None else {}
        examples = _examples(votes, flaws, named=people) if flaws else ()
    return Report(
        name=votes.source.name,
        columns=votes.shape.meaning,
        unread=tuple(name for name in votes.all_columns if name not in votes.shape.meaning.values()),
        rows=sum(counts.values()),
        votes=counts.get(NO_FLAW, 0) - flaws.get("person in several groups", 0),
        ties=sum(first["ties"].to_pylist()),
        items=len(votes.items),
        people=named.pop("people", None),
        votes_per_person=named,
        flaws=flaws,
        examples=examples,
        unmentioned=tuple(name for place, name in enumerate(votes.items) if place not in met),
    )


def _sides(rows: ir.Table) -> list[ir.Table]:
    """The items of each side, or that were shown: `item`."""
    return [rows.select(item=rows[name]).distinct() for name in shown_columns(rows) or ("a", "b")]


def most_votes(votes: Votes) -> int:
    """The most votes that any one person cast; confidential, for the data holder only."""
    rows = votes.rows()
    named = rows.filter(rows.person.notnull())
    each = named.group_by("person").agg(votes=named.count())
    return int(_row(votes, each.agg(most=each.votes.max()))["most"] or 0)


def _people(votes: Votes, sound: ir.Table) -> dict[str, float]:
    named = sound.filter(sound.person.notnull())
    each = named.group_by("person").agg(votes=named.count())
    figures = _row(
        votes,
        each.agg(
            people=each.count(),
            least=each.votes.min(),
            median=each.votes.quantile(0.5),
            most=each.votes.max(),
        ),
    )
    return {name: value or 0 for name, value in figures.items()}


# ---- what is wrong ------------------------------------------------------------------------------------------------


def _counts(votes: Votes, rows: ir.Table) -> dict[int, int]:
    """How many rows of the snapshot have each flaw, by its number; without any, 0."""
    counts = collect(votes.source, rows.group_by("flaw").agg(rows=rows.count())).to_pylist()
    return {int(row["flaw"]): int(row["rows"]) for row in counts}


def _flaws(votes: Votes, rows: ir.Table, counts: dict[int, int], *, grouped: bool) -> dict[str, int]:
    """How many rows have each flaw; with `grouped`, a person's sound rows must be in one group."""
    flaws = {flaw: counts[number] for flaw, number in NUMBER.items() if number in counts}
    if grouped:
        sound = rows.filter(rows.flaw == NO_FLAW)
        people = sound.group_by("person").agg(rows=sound.count(), first=sound.group.min(), last=sound.group.max())
        moving = people.filter(people["first"] != people["last"])
        if several := int(_row(votes, moving.agg(rows=moving.rows.sum()))["rows"] or 0):
            flaws["person in several groups"] = several
    return flaws


def _refuse(votes: Votes, flaws: dict[str, int], *, named: bool) -> NoReturn:
    """Raise the error that says how many rows are wrong, shows the first few, and names the remedy."""
    counts = "; ".join(f"{FLAWS[flaw]}: {count} row{'s' * (count != 1)}" for flaw, count in flaws.items())
    examples = "; ".join(_examples(votes, flaws, named=named))
    raise VotesError(f"{votes.source.name}: {counts}{f' (such as {examples})' if examples else ''}; {_remedy(flaws)}")


def _remedy(flaws: dict[str, int]) -> str:
    """What to do about the first of these flaws that has a remedy of its own."""
    drop = option("skip_invalid", True)
    several = f"leave {option('by_person')} out if votes, not people, have groups"
    remedies = {
        "undeclared item": f"declare every item with {option('items')}, fix the rows",
        "undeclared group": f"declare every group with {option('groups')}, fix the rows",
        "set not in the design file": f"give the {option('design_file')} that these sets come from, fix the rows",
        "too many items in a set": f"give a larger {option('set_size')}, fix the rows",
        "choice not in the set": f"fix them, say {option('positions', True)} if these are positions",
        "person in several groups": f"give every person one group in all their rows; {several};",
    }
    remedy = next((remedies[flaw] for flaw in remedies if flaw in flaws), "fix them")
    if remedy.endswith(";"):
        return f"{remedy} or drop such people entirely with {drop}"
    return f"{remedy}, or drop them with {drop}"


def _examples(votes: Votes, flaws: dict[str, int], *, named: bool) -> tuple[str, ...]:
    """The first few invalid rows as they are written. Nothing is released then, so they are looked up again."""
    rows = judged(votes, named=named, numbered=True)
    bad = rows.filter(rows.flaw != NO_FLAW)
    if list(flaws) == ["person in several groups"]:
        people = rows.group_by("person").agg(first=rows.place_group.min(), last=rows.place_group.max())
        moving = people.filter(people["first"] != people["last"]).select(who="person")
        bad = rows.join(moving, [("person", "who")]).mutate(flaw=NUMBER["person in several groups"])
    ordered = bad.order_by(files.ROW) if files.ROW in bad.columns else bad
    return tuple(_example(votes, row) for row in collect(votes.source, ordered.limit(SHOWN)).to_pylist())


def _example(votes: Votes, row: dict[str, Any]) -> str:
    where = f"row {row[files.ROW]}: " if files.ROW in row else ""
    if votes.shape.in_sets:
        return f"{where}{_example_of_set(votes, row)}"
    cells = {"outcome": row.get("said"), "person": row.get("person"), "group": row.get("group")}
    columns = {"outcome": "said", "person": "person", "group": "group"}
    more = "".join(f", {role} {_written(cells[role])}" for role, column in columns.items() if column in row)
    flaw = list(FLAWS)[row["flaw"] - 1]
    unknown = [row[side] for side in ("a", "b") if row[f"place_{side}"] is None]
    named = f" {_written(unknown[0])}{_near(votes, unknown[0])}" if flaw == "undeclared item" and unknown else ""
    return f"{where}{_written(row['a'])} against {_written(row['b'])}{more} ({flaw}{named})"


def _example_of_set(votes: Votes, row: dict[str, Any]) -> str:
    numbers = [k for k in range(1, votes.shape.set_size + 1) if row[f"shown_{k}"] is not None]
    shown = ", ".join(_written(row[f"shown_{k}"]) for k in numbers) or "no items"
    unknown = [row[f"shown_{k}"] for k in numbers if row[f"place_{k}"] is None]
    flaw = list(FLAWS)[row["flaw"] - 1]
    named = f" {_written(unknown[0])}{_near(votes, unknown[0])}" if flaw == "undeclared item" and unknown else ""
    more = "".join(f", {role} {_written(row[role])}" for role in ("person", "group") if role in row)
    return f"best {_written(row['best'])} and worst {_written(row['worst'])} of {shown}{more} ({flaw}{named})"


def _written(cell: object) -> str:
    return repr(cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell)


def _near(votes: Votes, name: str | bytes) -> str:
    """The declared item that differs from this name only in what is hard to see, if there is one."""
    text = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
    for declared in votes.items:
        if _folded(declared) == _folded(text):
            return f", which differs from the declared {declared!r} only by spaces, case or Unicode form"
    return ""


def _folded(name: str) -> str:
    """Without what is hard to see: spaces, case, and the form in which accents are written."""
    return "".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())


def _row(votes: Votes, query: ir.Table) -> dict[str, Any]:
    row: dict[str, Any] = collect(votes.source, query).to_pylist()[0]
    return row
