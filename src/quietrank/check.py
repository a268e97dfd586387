"""Votes in, what is wrong with them out; for the data holder's eyes only.

A row is invalid when an item is missing or not declared, when an item meets itself, when the outcome cannot be
read, or, where people are protected, when nobody is named. `skip_invalid` drops such rows one by one, each on
its own merits, so that one unit's rows never decide about another's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from quietrank import files
from quietrank.errors import VotesError
from quietrank.items import Items
from quietrank.privacy import Neighbours, Privacy, Unit
from quietrank.votes import Votes, collect

if TYPE_CHECKING:
    import ibis.expr.types as ir

SHOWN = 3

FLAWS = {
    "missing item": "an item's cell is empty",
    "undeclared item": "an item is not on the declared list",
    "item against itself": "an item is compared with itself",
    "missing person": "no person is named",
    "unknown outcome": "the outcome cannot be read (known are a, b and tie, their common names, or the item's name)",
}


@dataclass(frozen=True)
class Report:
    """What is in a file of votes. Confidential: exact counts, for the data holder only."""

    name: str
    rows: int
    votes: int
    ties: int
    items: int
    people: float | None
    votes_per_person: dict[str, float] = field(default_factory=dict)
    flaws: dict[str, int] = field(default_factory=dict)
    examples: tuple[str, ...] = ()


def items_table(items: Items) -> ir.Table:
    """The declared items as a table the engine can join: name, index."""
    import ibis
    import pyarrow as pa

    names = pa.array(items.names, type=pa.string())
    return ibis.memtable(pa.table({"name": names, "index": pa.array(range(len(items)), type=pa.int64())}))


def valid_rows(votes: Votes, privacy: Privacy) -> ir.Table:
    """The rows that can be used, each judged on its own.

    Under `outcome` the design is public, and a row that vanished with its answer would change it: there an
    answer that cannot be read counts as a tie.
    """
    import ibis

    judged = _judged(votes, people=privacy.unit is Unit.PERSON)
    if privacy.neighbours is Neighbours.OUTCOME and "y" in judged.columns:
        judged = judged.mutate(y=judged.y.fill_null(ibis.literal(1, type="int8")))
        usable = judged.flaw.isnull() | (judged.flaw == "unknown outcome")
    else:
        usable = judged.flaw.isnull()
    columns = [name for name in ("a", "b", "y", "person") if name in judged.columns]
    return judged.filter(usable).select(*columns)


def refuse(votes: Votes, privacy: Privacy) -> NoReturn:
    """Raise the error that says how many rows are wrong, shows the first few, and names the remedy."""
    flaws, examples = _flaws(votes, people=privacy.unit is Unit.PERSON)
    counts = "; ".join(f"{FLAWS[flaw]}: {count} row{'s' * (count != 1)}" for flaw, count in flaws.items())
    remedy = "mend them, or drop them with --skip-invalid"
    if "undeclared item" in flaws:
        remedy = "declare every item with --items, mend the rows, or drop them with --skip-invalid"
    raise VotesError(f"{votes.source.name}: {counts} (such as {'; '.join(examples)}); {remedy}")


def report(votes: Votes, *, people: bool) -> Report:
    """Everything the data holder should know before ranking; with `people`, a vote of nobody is a flaw."""
    judged = _judged(votes, people=people)
    valid = judged.filter(judged.flaw.isnull())
    flaws, examples = _flaws(votes, people=people)
    usable = int(_row(votes, valid.agg(votes=valid.count()))["votes"])
    tied = valid.filter(valid.y == 1) if "y" in valid.columns else valid.limit(0)
    counts = _people(votes, valid) if votes.columns.person is not None else {}
    return Report(
        name=votes.source.name,
        rows=usable + sum(flaws.values()),
        votes=usable,
        ties=int(_row(votes, tied.agg(ties=tied.count()))["ties"]),
        items=len(votes.items),
        people=counts.pop("people", None),
        votes_per_person=counts,
        flaws=flaws,
        examples=examples,
    )


def _people(votes: Votes, valid: ir.Table) -> dict[str, float]:
    named = valid.filter(~_empty(valid.person))
    each = named.group_by("person").agg(votes=named.count())
    found = _row(
        votes,
        each.agg(
            people=each.count(),
            least=each.votes.min(),
            median=each.votes.quantile(0.5),
            most=each.votes.max(),
        ),
    )
    return {name: value or 0 for name, value in found.items()}


def _judged(votes: Votes, *, people: bool, numbered: bool = False) -> ir.Table:
    """The rows with a column `flaw`: the first thing that is wrong with each, or NULL."""
    import ibis

    rows = votes.rows(numbered=numbered)
    first, second = items_table(votes.items), items_table(votes.items)
    first = first.select(name_a=first.name, index_a=first.index)
    second = second.select(name_b=second.name, index_b=second.index)
    rows = rows.left_join(first, rows.a == first.name_a)
    rows = rows.left_join(second, rows.b == second.name_b)
    flaws = [
        (_empty(rows.a) | _empty(rows.b), "missing item"),
        (rows.index_a.isnull() | rows.index_b.isnull(), "undeclared item"),
        (rows.a == rows.b, "item against itself"),
    ]
    if people:
        flaws.append((_empty(rows.person), "missing person"))
    # Last, so that it stands only for rows that are otherwise sound: under `outcome` those are kept as ties.
    if "y" in rows.columns:
        flaws.append((rows.y.isnull(), "unknown outcome"))
    return rows.mutate(flaw=ibis.cases(*flaws, else_=ibis.null("string")))


def _empty(cell: ir.Value) -> ir.Value:
    return cell.isnull() | (cell == "")


def _flaws(votes: Votes, *, people: bool) -> tuple[dict[str, int], tuple[str, ...]]:
    """How many rows have each flaw, and the first few of them with their row numbers."""
    judged = _judged(votes, people=people, numbered=True)
    bad = judged.filter(judged.flaw.notnull())
    counts = collect(votes.source, bad.group_by("flaw").agg(rows=bad.count())).to_pylist()
    found = {row["flaw"]: row["rows"] for row in counts}
    first = bad.order_by(files.ROW) if files.ROW in bad.columns else bad
    shown = collect(votes.source, first.limit(SHOWN)).to_pylist()
    return {flaw: found[flaw] for flaw in FLAWS if flaw in found}, tuple(_example(row) for row in shown)


def _example(row: dict[str, Any]) -> str:
    where = f"row {row[files.ROW]}: " if files.ROW in row else ""
    person = f", person {row['person']!r}" if "person" in row else ""
    return f"{where}{row['a']!r} against {row['b']!r}{person} ({row['flaw']})"


def _row(votes: Votes, query: ir.Table) -> dict[str, Any]:
    found: dict[str, Any] = collect(votes.source, query).to_pylist()[0]
    return found
