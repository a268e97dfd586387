"""Votes in, what is wrong with them out; for the data holder's eyes only.

A row is invalid when an item is missing or not declared, when an item meets itself, when the outcome cannot be
read, or, where people are protected, when nobody is named; where votes are split by group, also when its group is
missing or not declared, or when its person is in several groups. `skip_invalid` drops such rows one by one, each on
its own merits, and a person in several groups whole, so that one unit's rows never decide about another's.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    "pair not askable": "a pair is not on the declared list of askable pairs",
    "missing person": "no person is named",
    "missing group": "the group's cell is empty",
    "undeclared group": "a group is not on the declared list",
    "unknown outcome": (
        "the outcome cannot be read (known are a, b and tie, their common names, the names of the columns and of the "
        "items, unless an item is called like one of these and the two readings differ)"
    ),
    "person in several groups": "a person's votes are in more than one group",
}


@dataclass(frozen=True)
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


def items_table(items: Items) -> ir.Table:
    """The declared items as a table the engine can join: name, index."""
    return names_table(items.names)


def names_table(names: Sequence[str]) -> ir.Table:
    """Names and their places on the list as a table the engine can join: name, index."""
    import ibis
    import pyarrow as pa

    text = pa.array(names, type=pa.string())
    return ibis.memtable(pa.table({"name": text, "index": pa.array(range(len(names)), type=pa.int64())}))


def with_group_index(table: ir.Table, groups: Sequence[str]) -> ir.Table:
    """The table, which has `group`, with group_index, its place on the list of groups; NULL for others."""
    listed = names_table(groups).select(group_name="name", group_index="index")
    # Views on both sides: chained joins would else be merged into one and their keys be mixed up.
    joined = table.view().left_join(listed, [("group", "group_name")])
    return joined.select(*table.columns, "group_index").view()


def all_the_same(column: ir.Value) -> ir.Value:
    """Whether all values are the same, NULL aside; to aggregate with."""
    return column.min() == column.max()


def with_one_group(rows: ir.Table, column: str = "group") -> ir.Table:
    """The rows with `one_group`: whether their person's rows all have the same in this column; NULL for nobody."""
    people = rows.group_by("person").agg(one_group=all_the_same(rows[column]))
    known = people.select(who=people.person.nullif(""), one_group=people.one_group)
    return rows.left_join(known, [("person", "who")]).select(*rows.columns, "one_group").view()


def with_indices(table: ir.Table, items: ir.Table) -> ir.Table:
    """The table with index_a and index_b, the places of the items a and b on the list; NULL for others."""
    first = items.select(name_a="name", index_a="index")
    second = items.view().select(name_b="name", index_b="index")
    table = table.left_join(first, table.a == first.name_a)
    return table.left_join(second, table.b == second.name_b)


def with_askable(indexed: ir.Table, items: Items) -> ir.Table:
    """The table, which has index_a and index_b, with a column `askable`: whether the pair may be asked, or NULL."""
    import ibis
    import pyarrow as pa

    if items.pairs is None:
        return indexed.mutate(askable=ibis.literal(True))
    low, high = zip(*items.pairs, strict=True)
    listed = ibis.memtable(pa.table({"low": pa.array(low, pa.int64()), "high": pa.array(high, pa.int64())}))
    ordered = indexed.mutate(
        pair_low=ibis.least(indexed.index_a, indexed.index_b), pair_high=ibis.greatest(indexed.index_a, indexed.index_b)
    )
    joined = ordered.left_join(listed, [("pair_low", "low"), ("pair_high", "high")])
    return joined.select(*indexed.columns, askable=joined.low.notnull())


def require_exact_text(votes: Votes) -> None:
    """Refuse a table whose engine takes different names for the same, such as `Ann` and `ann`.

    Two people taken for one would share a weight, and one vote could count for two items. Files and data frames are
    read by an engine of our own, which compares byte by byte; other tables bring their own collation.
    """
    if votes.source.numbered is not None:
        return
    rows, items = votes.rows(), items_table(votes.items)
    lists = {"a": items, "b": items, "person": items, "group": names_table(votes.groups or ())}
    for role, declared in lists.items():
        if role not in rows.columns:
            continue
        names = rows.select(name=rows[role]).distinct()
        listed = names.join(declared.select(item="name"), [("name", "item")])
        counts = {"names": names.count(), "listed": listed.count(), "matched": listed.name.nunique()}
        if (exact := _bytes(rows[role], rows.get_backend().name)) is not None:
            counts["spellings"] = exact.nunique() + rows[role].isnull().any().cast("int64")
        found = {name: int(count.to_pyarrow().as_py() or 0) for name, count in counts.items()}
        if found["listed"] != found["matched"] or found.get("spellings", found["names"]) != found["names"]:
            raise VotesError(
                f"the engine does not tell all names in the column of {role!r} apart (it compares without regard to "
                "case or accents); give the table with a binary collation"
            )


def _bytes(text: ir.Value, engine: str) -> ir.Value | None:
    """The text as bytes, which no collation touches, where the engine is known to do that."""
    import ibis

    if engine == "duckdb":
        return ibis.udf.scalar.builtin(_encode, name="encode")(text)
    return text.cast("binary") if engine == "sqlite" else None


def _encode(text: str) -> bytes:
    raise NotImplementedError("runs in the engine")


def valid_rows(votes: Votes, privacy: Privacy) -> ir.Table:
    """The rows that can be used, each judged on its own, and people with several groups as a whole.

    Under `outcome` the design is public, and a row that vanished with its answer would change it: there an
    answer that cannot be read counts as a tie.
    """
    import ibis

    judged = _judged(votes, privacy.counts_people, privacy.unit is Unit.PERSON)
    if privacy.neighbours is Neighbours.OUTCOME and "y" in judged.columns:
        judged = judged.mutate(y=judged.y.fill_null(ibis.literal(1, type="int8")))
        usable = judged.flaw.isnull() | (judged.flaw == "unknown outcome")
    else:
        usable = judged.flaw.isnull()
    columns = [name for name in ("a", "b", "y", "person", "group") if name in judged.columns]
    return judged.filter(usable).select(*columns)


def refuse(votes: Votes, privacy: Privacy) -> NoReturn:
    """Raise the error that says how many rows are wrong, shows the first few, and names the remedy."""
    flaws, examples = _flaws(_judged(votes, privacy.counts_people, privacy.unit is Unit.PERSON, numbered=True), votes)
    counts = "; ".join(f"{FLAWS[flaw]}: {count} row{'s' * (count != 1)}" for flaw, count in flaws.items())
    remedy = "mend them, or drop them with --skip-invalid"
    if "undeclared item" in flaws:
        remedy = "declare every item with --items, mend the rows, or drop them with --skip-invalid"
    elif "undeclared group" in flaws:
        remedy = "declare every group with --groups, mend the rows, or drop them with --skip-invalid"
    elif "person in several groups" in flaws:
        remedy = "give every person one group in all their rows, or drop such people whole with --skip-invalid"
    raise VotesError(f"{votes.source.name}: {counts} (such as {'; '.join(examples)}); {remedy}")


def report(votes: Votes, *, people: bool) -> Report:
    """Everything the data holder should know before ranking; with `people`, a vote of nobody is a flaw."""
    judged = _judged(votes, people, people)
    valid = judged.filter(judged.flaw.isnull())
    flaws, examples = _flaws(_judged(votes, people, people, numbered=True), votes)
    usable = int(_row(votes, valid.agg(votes=valid.count()))["votes"])
    tied = valid.filter(valid.y == 1) if "y" in valid.columns else valid.limit(0)
    counts = _people(votes, valid) if votes.columns.person is not None else {}
    return Report(
        name=votes.source.name,
        columns=votes.columns.meaning,
        unread=tuple(name for name in votes.source.table.columns if name not in votes.columns.meaning.values()),
        rows=usable + sum(flaws.values()),
        votes=usable,
        ties=int(_row(votes, tied.agg(ties=tied.count()))["ties"]),
        items=len(votes.items),
        people=counts.pop("people", None),
        votes_per_person=counts,
        flaws=flaws,
        examples=examples,
        unmentioned=_unmentioned(votes, valid),
    )


def _unmentioned(votes: Votes, valid: ir.Table) -> tuple[str, ...]:
    """Declared items that no usable vote is about; a heading in the list of items is one of these."""
    met: set[str] = set()
    for side in ("a", "b"):
        met.update(collect(votes.source, valid.select(name=valid[side]).distinct())["name"].to_pylist())
    return tuple(name for name in votes.items if name not in met)


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


def _judged(votes: Votes, named: bool, one_group: bool, *, numbered: bool = False) -> ir.Table:
    """The rows with a column `flaw`: the first thing that is wrong with each, or NULL.

    `named`: every vote must name its person; `one_group`: all votes of a person must be in one group.
    """
    import ibis

    rows = with_indices(votes.rows(numbered=numbered), items_table(votes.items))
    if votes.items.pairs is not None:
        rows = with_askable(rows, votes.items)
    if votes.groups is not None:
        rows = with_group_index(rows, votes.groups)
    flaws = [
        (_empty(rows.a) | _empty(rows.b), "missing item"),
        (rows.index_a.isnull() | rows.index_b.isnull(), "undeclared item"),
        (rows.a == rows.b, "item against itself"),
    ]
    if votes.items.pairs is not None:
        flaws.append((~rows.askable, "pair not askable"))
    if named:
        flaws.append((_empty(rows.person), "missing person"))
    if votes.groups is not None:
        flaws += [(_empty(rows.group), "missing group"), (rows.group_index.isnull(), "undeclared group")]
    # Last, so that it stands only for rows that are otherwise sound: under `outcome` those are kept as ties.
    if "y" in rows.columns:
        flaws.append((rows.y.isnull(), "unknown outcome"))
    judged = rows.mutate(flaw=ibis.cases(*flaws, else_=ibis.null("string")))
    return _judged_by_person(judged) if one_group and votes.groups is not None else judged


def _judged_by_person(judged: ir.Table) -> ir.Table:
    """The same, where people in several groups are flawed as a whole; rows of unknown groups decide nothing.

    Neither do answers: under a public design nobody may be dropped for what they said.
    """
    import ibis

    sound = judged.flaw.isnull() | (judged.flaw == "unknown outcome")
    marked = with_one_group(judged.mutate(among=ibis.ifelse(sound, judged.group, None)), "among")
    sound = marked.flaw.isnull() | (marked.flaw == "unknown outcome")
    flaw = ibis.ifelse(sound & ~marked.one_group, "person in several groups", marked.flaw)
    return marked.select(*(name for name in judged.columns if name != "flaw"), flaw=flaw)


def _empty(cell: ir.Value) -> ir.Value:
    return cell.isnull() | (cell == "")


def _flaws(judged: ir.Table, votes: Votes) -> tuple[dict[str, int], tuple[str, ...]]:
    """How many rows have each flaw, and the first few of them with their row numbers."""
    bad = judged.filter(judged.flaw.notnull())
    counts = collect(votes.source, bad.group_by("flaw").agg(rows=bad.count())).to_pylist()
    found = {row["flaw"]: row["rows"] for row in counts}
    first = bad.order_by(files.ROW) if files.ROW in bad.columns else bad
    shown = collect(votes.source, first.limit(SHOWN)).to_pylist()
    return {flaw: found[flaw] for flaw in FLAWS if flaw in found}, tuple(_example(row) for row in shown)


def _example(row: dict[str, Any]) -> str:
    where = f"row {row[files.ROW]}: " if files.ROW in row else ""
    outcome = f", outcome {row['said']!r}" if "said" in row else ""
    person = f", person {row['person']!r}" if "person" in row else ""
    group = f", group {row['group']!r}" if "group" in row else ""
    unknown = [row[side] for side in ("a", "b") if row[f"index_{side}"] is None]
    named = f" {unknown[0]!r}" if row["flaw"] == "undeclared item" and unknown else ""
    return f"{where}{row['a']!r} against {row['b']!r}{outcome}{person}{group} ({row['flaw']}{named})"


def _row(votes: Votes, query: ir.Table) -> dict[str, Any]:
    found: dict[str, Any] = collect(votes.source, query).to_pylist()[0]
    return found
