"""A snapshot in; the rows that can be used out, or what is wrong with them, for the data holder only.

A row is invalid when an item is missing or not declared, when an item meets itself, when the outcome cannot be
read, or, where people are protected, when nobody is named; where votes are split by group, also when its group is
missing or not declared; and where each person belongs to one group, when its person is in several. `skip_invalid`
drops such rows one by one, each on its own merits, and people in several groups with all their rows, so that one unit's
rows never decide about another's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from quietrank.errors import QuietrankError, VotesError, option
from quietrank.promise.arguments import parse
from quietrank.promise.privacy import GroupOf, Unit, UnitWord
from quietrank.promise.promise import Bounded
from quietrank.render.screen import visible
from quietrank.votes import hints
from quietrank.votes.files import ROW
from quietrank.votes.formats.scan import FILE
from quietrank.votes.hints import written
from quietrank.votes.joins import with_one_group
from quietrank.votes.read import Votes
from quietrank.votes.sentences import sentences
from quietrank.votes.sets import shown_columns, size
from quietrank.votes.shapes.counts import LARGEST_TOTAL
from quietrank.votes.shapes.shape import PERSON_NAMES, UNANSWERED, called, first_few
from quietrank.votes.snapshot import (
    FILTERED,
    FLAWS,
    NO_FLAW,
    NOT_ANSWERED,
    NUMBER,
    OF_ONE_VOTE,
    UNREADABLE,
    judged,
    number_of_votes,
    snapshot,
)
from quietrank.votes.sources import collect, no_votes
from quietrank.votes.where import PASSES

if TYPE_CHECKING:
    import ibis.expr.types as ir

SHOWN = 3
MOST_ITEMS = 40
"""whose blanks are shown: those with the most"""
WIDEST = 48
"""columns of a terminal for what a number is about"""


CONFIDENTIAL = "Confidential: exact counts, for the data holder only; do not publish."


@dataclass(frozen=True, repr=False)
class Report:
    """What is in a file of votes. Confidential: exact counts, for the data holder only."""

    name: str
    shape: str
    """how rows were read, as in --shape"""
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
    votes_per_row: int = 1
    """answered or not"""
    not_answered: int = 0
    """votes that are not wrong, but are left out, because there is no answer that counts"""
    filtered: int | None = None
    """rows that do not meet the condition; None without one"""
    codings: tuple[str, ...] = ()
    """which codings fit outcomes that cannot be read"""
    understood: tuple[str, ...] = ()
    """the first rows, in words"""
    unknown: tuple[str, ...] = ()
    """answers and items that are not known, with how many rows have them, and what to do"""
    blanks: dict[str, tuple[int, int]] = field(default_factory=dict)
    """of a wide table: how many answers and blanks there are on each item"""
    repeated: int = 0
    """rows that are the same as another row in every column"""
    alike: str = ""
    """about ids that differ only in what is hard to see"""
    notes: tuple[str, ...] = ()
    """what readers of a release will be told about how the votes were read"""

    def __repr__(self) -> str:
        return "\n".join([CONFIDENTIAL, *self.lines()])

    def lines(self) -> list[str]:
        """The columns, the counts, and examples of what is wrong, a line each, for a terminal."""
        columns = {"shape": self.shape}
        columns |= {f"column read as {role}": visible(name) for role, name in self.columns.items()}
        if self.unread:
            columns["columns not read"] = visible(", ".join(self.unread))
        named = {visible(name): value for name, value in (columns | self.counts()).items()}
        width = min(max(28, *(len(name) + 2 for name in named)), WIDEST)
        lines = [f"{f'{name}  ':{width}}{value:>12}" for name, value in named.items()]
        if self.unmentioned:
            some = visible(", ".join(self.unmentioned[:5])) + (", …" if len(self.unmentioned) > 5 else "")
            lines.append(f"{'items without votes':{width}}{len(self.unmentioned):>12}  ({some})")
        lines += self._blanks(width)
        alike = (self.alike,) if self.alike else ()
        lines += [f"  {visible(line)}" for line in (*alike, *self.examples, *self.unknown, *self.codings)]
        lines += [f"note: {note}" for note in self.notes]
        if self.understood:
            lines += ["as understood:", *(f"  {visible(sentence)}" for sentence in self.understood)]
        return lines

    def _blanks(self, width: int) -> list[str]:
        """Answers and blanks on each item: where they are unlike, not every pair was equally likely to be answered."""
        if not any(blank for _, blank in self.blanks.values()):
            return []
        worst = sorted(self.blanks, key=lambda name: -self.blanks[name][1])[:MOST_ITEMS]
        return [
            f"{visible(f'answers on {name}')[: width - 2]:{width}}{answers:>12}  ({blank} blank)"
            for name, (answers, blank) in self.blanks.items() if name in worst
        ]  # fmt: skip

    def counts(self) -> dict[str, float]:
        counts: dict[str, float] = {
            "rows": self.rows, "usable votes": self.votes, "of them ties": self.ties, "items": self.items
        }  # fmt: skip
        if self.filtered is not None:
            counts = {"rows": self.rows, "left out by --where": self.filtered} | counts
        if self.votes_per_row > 1:
            counts = {"rows": self.rows, "questions per row": self.votes_per_row} | counts
        if self.not_answered:
            counts["not answered"] = self.not_answered
        if self.repeated:
            counts["rows that repeat another"] = self.repeated
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


def marked(votes: Votes, bounded: Bounded, rows: ir.Table) -> ir.Table:
    """The rows of a snapshot with `use`: whether they count, each judged on its own, and people with several groups as
    a whole.

    Where only answers differ between neighbours the design is public, and a row that vanished with its answer would
    change it: there an answer that cannot be read counts as a tie.
    """
    import ibis

    use = rows.flaw == NO_FLAW
    if bounded.answers_only and "y" in rows.columns and (votes.skip_invalid or votes.leaves_out):
        unread = rows.flaw.isin([*UNREADABLE, NOT_ANSWERED]) & _has_question(rows)
        rows = rows.mutate(y=ibis.ifelse(unread, ibis.literal(1, type="int8"), rows.y), use=use | unread)
    else:
        rows = rows.mutate(use=use)
    if not _by_person(votes, bounded):
        return rows
    known = with_one_group(rows, rows.filter(rows.use))
    return known.mutate(use=known.use & known.one_group.fill_null(False)).drop("one_group").view()


def _by_person(votes: Votes, bounded: Bounded) -> bool:
    """Whether every person that is protected belongs to one group."""
    return votes.groups is not None and bounded.unit is Unit.PERSON and bounded.group_of is GroupOf.PERSON


def _groups_are_of_people(votes: Votes) -> bool:
    """Whether the data holder says that every person belongs to one group."""
    return votes.groups is not None and votes.group_of is GroupOf.PERSON


def flaw_counts(rows: ir.Table) -> ir.Table:
    """How many rows of a snapshot have each flaw: flaw, rows."""
    return rows.group_by("flaw").agg(rows=rows.count())


def require_usable(votes: Votes, bounded: Bounded, rows: ir.Table, counted: Any) -> int:
    """How many votes there are in a snapshot, before any is dropped; refused if some rows cannot be used and are not
    skipped. `counted` is the answer to `flaw_counts`."""
    counts = _by_number(votes, counted)
    if bounded.answers_only and votes.shape.unasked and NOT_ANSWERED in counts:
        raise VotesError(_UNASKED.format(name=votes.source.name, cells=counts[NOT_ANSWERED]))
    never_skipped = NUMBER["unreadable count"] in counts  # the number of votes may be public
    if (never_skipped or not votes.skip_invalid) and (
        flaws := _flaws(votes, rows, counts, grouped=_by_person(votes, bounded))
    ):
        _refuse(votes, flaws, named=bounded.counts_people)
    if bounded.answers_only and not votes.shape.knows_pairs:
        raise AssertionError("rows without an answer do not say which pair they would be ties of")
    return _added_up(votes, rows) if votes.shape.counts else sum(counts.values())


def skipped(votes: Votes, *, people: bool) -> dict[str, int]:
    """How many rows `skip_invalid` drops, by what is wrong with them; with `people`, every vote must name its person.

    Confidential, for the data holder only.
    """
    with snapshot(votes, named=people) as rows:
        return _flaws(votes, rows, _counts(votes, rows), grouped=people and _groups_are_of_people(votes))


def _added_up(votes: Votes, rows: ir.Table) -> int:
    """The sum of all counts; in floating point first, which cannot overflow."""
    about = float(_row(votes, rows.agg(votes=rows["count"].cast("float64").sum()))["votes"] or 0)
    if about > LARGEST_TOTAL:
        raise VotesError(f"{votes.source.name} counts more than 2^40 votes in all; correct its counts")
    return int(_row(votes, rows.agg(votes=number_of_votes(rows).cast("int64")))["votes"] or 0)


def _has_question(rows: ir.Table) -> ir.Value:
    """Whether a row says which items it is about. A best–worst set without items never counts, whatever its answer."""
    return size(rows) > 0 if shown_columns(rows) else rows.a.notnull() & rows.b.notnull()


def report(votes: Votes, *, people: bool) -> Report:
    """Everything the data holder should know before ranking; with `people`, a vote without a person is a flaw."""
    with snapshot(votes, named=people) as rows:
        counts = _counts(votes, rows)
        if not counts and not people:
            raise no_votes(votes.source)
        flaws = _flaws(votes, rows, counts, grouped=people and _groups_are_of_people(votes))
        sound = rows.filter(rows.flaw == NO_FLAW)
        first = collect(votes.source, sound.group_by("a").agg(votes=number_of_votes(sound), ties=_ties(sound)))
        met = {place for side in _sides(sound) for place in collect(votes.source, side)["item"].to_pylist()}
        named = _people(votes, sound) if votes.names_people else {}
        examples = _examples(votes, flaws, named=people) if flaws else ()
        codings = hints.codings(votes) if "unknown outcome" in flaws else ()
        words = hints.unknown_words(votes, flaws, named=people)
        blanks = hints.blanks(votes, rows)
        number = sum(counts.values()) // votes.shape.votes_per_row
    return Report(
        name=votes.source.name,
        shape=votes.shape.name,
        columns=votes.shape.meaning,
        unread=tuple(name for name in votes.all_columns if name not in votes.shape.columns),
        rows=number,
        votes=int(sum(first["votes"].to_pylist())) - flaws.get("person in several groups", 0),
        ties=int(sum(first["ties"].to_pylist())),
        items=len(votes.items),
        people=named.pop("people", None),
        votes_per_person=named,
        flaws=flaws,
        examples=examples,
        unmentioned=tuple(name for place, name in enumerate(votes.items) if place not in met),
        votes_per_row=votes.shape.votes_per_row,
        not_answered=counts.get(NOT_ANSWERED, 0),
        filtered=None if votes.where is None else counts.get(FILTERED, 0) // votes.shape.votes_per_row,
        codings=codings,
        understood=_understood(votes),
        unknown=_unknown(votes, words),
        blanks=blanks,
        repeated=hints.repeated(votes, number),
        alike=hints.alike(votes),
        notes=(*votes.notes(), *_unnamed(votes), *hints.same_content(votes)),
    )


def _unnamed(votes: Votes) -> tuple[str, ...]:
    """Where no column was read as the person: those that may name people after all."""
    others = [name for name in votes.all_columns if name not in votes.shape.columns]
    people = called(votes.all_columns, PERSON_NAMES)
    if not votes.names_people and len(people) > 1:
        return (f"more than one column could name the person: {visible(', '.join(people))}; name it with --person",)
    if not votes.shape.row_is_person or not others:
        return ()
    return (f"if one of {visible(first_few(others))} names people, say which with --person",)


def _ties(sound: ir.Table) -> ir.Value:
    import ibis

    if "y" not in sound.columns:
        return sound.count() * 0
    one = sound["count"] if "count" in sound.columns else ibis.literal(1, type="int64")
    return ibis.ifelse(sound.y == 1, one, ibis.literal(0, type="int64")).sum()


def _unknown(votes: Votes, words: dict[str, hints.Words]) -> tuple[str, ...]:
    """Unknown answers and items, and what to do about the answers, in the words of the command line."""
    lines = [f"{UNKNOWN[flaw]}: {hints.listed(votes, found)}" for flaw, found in words.items()]
    if remedy := hints.about_answers(votes, words.get("unknown outcome", [])) if "unknown outcome" in words else "":
        lines.append(VotesError(remedy).in_options())
    return tuple(lines)


UNKNOWN = {"unknown outcome": "unknown answers", "undeclared item": "unknown items"}


def _sides(rows: ir.Table) -> list[ir.Table]:
    """The items of each side, or that were shown: `item`."""
    return [rows.select(item=rows[name]).distinct() for name in shown_columns(rows) or ("a", "b")]


def most_votes(votes: Votes) -> int:
    """The most votes that any one person cast; confidential, for the data holder only."""
    rows = votes.rows()
    counted = rows if votes.where is None else rows.filter(rows[PASSES])
    named = counted.filter(counted.person.notnull())
    if votes.leaves_out and "y" in rows.columns:
        named = named.filter(named.y.isnull() | (named.y != UNANSWERED))
    each = named.group_by("person").agg(votes=number_of_votes(named))
    return int(_row(votes, each.agg(most=each.votes.max()))["most"] or 0)


def _people(votes: Votes, sound: ir.Table) -> dict[str, float]:
    named = sound.filter(sound.person.notnull())
    each = named.group_by("person").agg(votes=number_of_votes(named))
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
    return _by_number(votes, collect(votes.source, flaw_counts(rows)))


def _by_number(votes: Votes, counted: Any) -> dict[int, int]:
    return {int(row["flaw"]): int(row["rows"]) // votes.shape.parts for row in counted.to_pylist()}


def _flaws(votes: Votes, rows: ir.Table, counts: dict[int, int], *, grouped: bool) -> dict[str, int]:
    """How many rows have each flaw; with `grouped`, a person's sound rows must be in one group."""
    each = votes.shape.votes_per_row
    flaws = {
        flaw: counts[number] // (1 if flaw in OF_ONE_VOTE else each)
        for flaw, number in NUMBER.items() if number in counts
    }  # fmt: skip
    if grouped:
        sound = rows.filter(rows.flaw == NO_FLAW)
        moving = _in_several_groups(sound, sound.group)
        if several := int(_row(votes, moving.agg(rows=moving.rows.sum()))["rows"] or 0):
            flaws["person in several groups"] = several
    return flaws


def _in_several_groups(sound: ir.Table, group: ir.Value) -> ir.Table:
    """The people whose rows are in more than one group, with their number of `rows`."""
    people = sound.group_by("person").agg(rows=sound.count(), first=group.min(), last=group.max())
    return people.filter(people["first"] != people["last"])


_UNASKED = (
    "{name}: {cells} of the cells are empty, which may mean that a question was not put to somebody; who was asked "
    f"what is public under {option('neighbours', 'outcome')}, so that must be known; use "
    f"{option('neighbours', 'replace')} and {option('design', 'private')}, give one row per question that was put, or "
    "keep only people with all answers"
)


def _refuse(votes: Votes, flaws: dict[str, int], *, named: bool) -> NoReturn:
    """Raise the error that says how many rows are wrong, shows the first few, and names the remedy."""
    counts = "; ".join(f"{FLAWS[flaw]}: {count} row{'s' * (count != 1)}" for flaw, count in flaws.items())
    examples = "; ".join(_examples(votes, flaws, named=named))
    words = hints.unknown_words(votes, flaws, named=named)
    unknown = "".join(f"; {UNKNOWN[flaw]}: {hints.listed(votes, found)}" for flaw, found in words.items())
    shown = f" (such as {examples})" if examples else ""
    raise VotesError(f"{votes.source.name}: {counts}{shown}{unknown}; {_remedy(votes, flaws, words)}")


def _remedy(votes: Votes, flaws: dict[str, int], words: dict[str, hints.Words]) -> str:
    """What to do about the first of these flaws that has a remedy of its own."""
    drop = option("skip_invalid", True)
    if "unreadable count" in flaws:
        return "write whole numbers, and 0 where there was no vote; such rows are never dropped"
    several = f"leave {option('by_person')} out if votes, not people, have groups"
    remedies = {
        "undeclared item": f"declare every item with {option('items')}, fix the rows",
        "undeclared group": f"declare every group with {option('groups')}, fix the rows",
        "set not in the design file": f"give the {option('design_file')} that these sets come from, fix the rows",
        "too many items in a set": f"give a larger {option('set_size')}, fix the rows",
        "choice not in the set": f"fix them, say {option('positions', True)} if these are positions",
        "person in several groups": f"give every person one group in all their rows; {several};",
    }
    if about := hints.about_answers(votes, words.get("unknown outcome", [])):
        remedies["unknown outcome"] = f"{about}, or fix them"
    remedy = next((remedies[flaw] for flaw in remedies if flaw in flaws), "fix them")
    if remedy.endswith(";"):
        return f"{remedy} or drop such people entirely with {drop}"
    if remedy == remedies.get("unknown outcome"):
        return f"{remedy}; {drop} would leave out every vote with such an answer"
    return f"{remedy}, or drop them with {drop}"


def _examples(votes: Votes, flaws: dict[str, int], *, named: bool) -> tuple[str, ...]:
    """The first few invalid rows as they are written. Nothing is released then, so they are looked up again."""
    rows = judged(votes, named=named, numbered=True)
    bad = rows.filter(rows.flaw > NO_FLAW)
    if list(flaws) == ["person in several groups"]:
        rows = rows.filter(rows.flaw == NO_FLAW)
        moving = _in_several_groups(rows, rows.place_group).select(who="person")
        bad = rows.join(moving, [("person", "who")]).mutate(flaw=NUMBER["person in several groups"])
    ordered = bad.order_by(ROW) if ROW in bad.columns else bad
    shown = collect(votes.source, ordered.limit(SHOWN * votes.shape.parts)).to_pylist()
    starts = _starts(votes, {row[FILE] for row in shown if FILE in row})
    return tuple(dict.fromkeys(_example(votes, row, starts) for row in shown))


def _starts(votes: Votes, paths: set[str]) -> dict[str, int]:
    """The number of rows before each of these files: rows are numbered through all of them."""
    table = votes.source.numbered
    if table is None or not paths:
        return {}
    some = table.filter(table[FILE].isin(sorted(paths)))
    first = some.group_by(FILE).agg(first=some[ROW].min())
    return {row[FILE]: row["first"] - 1 for row in collect(votes.source, first).to_pylist()}


def _place(votes: Votes, row: dict[str, Any], starts: dict[str, int]) -> str:
    if ROW not in row:
        return ""
    if (path := row.get(FILE)) is None:
        return f"row {row[ROW]}: "
    return f"{votes.source.called(path)}, row {row[ROW] - starts[path]}: "


def _example(votes: Votes, row: dict[str, Any], starts: dict[str, int]) -> str:
    where = _place(votes, row, starts)
    if votes.shape.in_sets:
        return f"{where}{_example_of_set(votes, row)}"
    columns = {"outcome": "said", "count": "counted", **_of_whom(votes), "group": "group"}
    more = "".join(f", {role} {written(row[column])}" for role, column in columns.items() if column in row)
    flaw = list(FLAWS)[row["flaw"] - 1]
    if row.get("wrong"):
        near = _near(votes, row["culprit"]) if flaw == "undeclared item" else ""
        culprit = f" {written(row['culprit'])}{near}" if row["culprit"] else ""
        said = "ranking" if row["said"] is None else written(row["said"])
        who = "".join(f", {role} {written(row[role])}" for role in _of_whom(votes))
        return f"{where}{said}{who} ({flaw}{culprit})"
    unknown = [row[side] for side in ("a", "b") if row[f"place_{side}"] is None]
    named = f" {written(unknown[0])}{_near(votes, unknown[0])}" if flaw == "undeclared item" and unknown else ""
    return f"{where}{written(row['a'])} against {written(row['b'])}{more} ({flaw}{named})"


def _example_of_set(votes: Votes, row: dict[str, Any]) -> str:
    numbers = [k for k in range(1, votes.shape.set_size + 1) if row[f"shown_{k}"] is not None]
    shown = ", ".join(written(row[f"shown_{k}"]) for k in numbers) or "no items"
    unknown = [row[f"shown_{k}"] for k in numbers if row[f"place_{k}"] is None]
    flaw = list(FLAWS)[row["flaw"] - 1]
    named = f" {written(unknown[0])}{_near(votes, unknown[0])}" if flaw == "undeclared item" and unknown else ""
    more = "".join(f", {role} {written(row[role])}" for role in ("person", "group") if role in row)
    best, worst = (
        f"{role} is empty" if row[role] is None else f"{role} {written(row[role])}" for role in ("best", "worst")
    )
    return f"{best} and {worst} of {shown}{more} ({flaw}{named})"


def _of_whom(votes: Votes) -> dict[str, str]:
    """The column that names the person; none where a row is a person, whose number would be no name."""
    return {} if votes.shape.person is None else {"person": "person"}


def _near(votes: Votes, name: str | bytes) -> str:
    """The declared item that differs from this name only in what is hard to see, if there is one."""
    declared = hints.near(votes.items.names, hints.as_text(name))
    return (
        ""
        if declared is None
        else f", which differs from the declared {declared!r} only by spaces, case or Unicode form"
    )


def _understood(votes: Votes) -> tuple[str, ...]:
    """The first rows in words; looked up again, for the data holder only."""
    source, first = votes.source, votes.source.numbered
    if first is None:
        few = replace(source, table=source.table.limit(SHOWN))
    else:
        few = replace(source, numbered=first.order_by(ROW).limit(SHOWN))
    rows = judged(replace(votes, source=few), named=False, numbered=True)
    order = [name for name in (ROW, "place_a", "place_b") if name in rows.columns]
    return sentences(collect(source, rows.order_by(order)).to_pylist(), named=votes.shape.person is not None)


def _row(votes: Votes, query: ir.Table) -> dict[str, Any]:
    row: dict[str, Any] = collect(votes.source, query).to_pylist()[0]
    return row
