"""Files, a data frame, an Ibis table or a database in, `Votes` out: raw rows with their meaning, in their engine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from quietrank.errors import PrivacyError, VotesError, VotesUsageError, either, option
from quietrank.promise.arguments import flag
from quietrank.promise.declare import declare, declare_groups, with_pairs
from quietrank.promise.items import Items
from quietrank.promise.privacy import GroupOf, Neighbours, Privacy, Unit
from quietrank.votes import files
from quietrank.votes.cells import Names, text
from quietrank.votes.databases import Place
from quietrank.votes.formats.scan import Dialect, InputFormatWord
from quietrank.votes.private import Resources
from quietrank.votes.queries import MadeFrom
from quietrank.votes.shapes.answer_names import ANSWER_NAMES
from quietrank.votes.shapes.long_names import underscored
from quietrank.votes.shapes.outcomes import BothBad, BothBadWord, Missing, Outcomes, Words
from quietrank.votes.shapes.pair_columns import PairColumns
from quietrank.votes.shapes.registry import Request, recognise
from quietrank.votes.shapes.shape import DAY, PERSON_NAMES, VOTE_ID, Shape, called, listed, require_column
from quietrank.votes.shapes.wide import Wide
from quietrank.votes.sources import collect, no_votes, open_votes
from quietrank.votes.where import PASSES, Marked, Where, parse_where

if TYPE_CHECKING:
    import ibis.expr.types as ir

ShapeWord = Literal["long", "wide", "rankings", "best-worst"]
UnrankedWord = Literal["missing", "last"]
EngineWord = Literal["duckdb", "spark"]


@dataclass(frozen=True)
class Daily:
    """The columns that a board needs besides."""

    day: str
    """when a vote was cast"""
    id: str | None = None
    """which vote it is, among those of its person"""

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.day,) if self.id is None else (self.day, self.id)

    def marked(self, table: ir.Table) -> ir.Table:
        """The same rows with both in columns that every shape carries along; the day as it is, the id as text."""
        of_id = {} if self.id is None else {VOTE_ID: text(table[self.id])}
        return table.mutate(**{DAY: table[self.day]}, **of_id)


@dataclass(frozen=True)
class Votes:
    """Votes that have not been looked at yet, with the list of items they are about. Confidential.

    `read_votes` makes them; `rank`, `noisy_tally`, `fit` and `check` take them.

    >>> import quietrank as qr
    >>> votes = qr.read_votes(qr.simulate(items=3, people=5, per_person=2), items_from_votes=True)
    >>> votes.items.names
    ('item-1', 'item-2', 'item-3')
    """

    source: files.Source
    shape: Shape
    items: Items
    skip_invalid: bool = False
    groups: tuple[str, ...] | None = None
    """the declared groups, for one ranking per group"""
    all_columns: tuple[str, ...] = ()
    """also those that are not read"""
    group_of: GroupOf = GroupOf.VOTE
    """whose group the column of groups names"""
    drops_bothbad: bool = False
    """whether answers that both are bad are left out"""
    where: Where | None = None
    """the condition that rows have to meet to be counted"""
    daily: Daily | None = None
    """for a board: where a row says when it was cast, and which vote it is"""
    made_from: MadeFrom = field(default_factory=dict)
    """what each column of a query was made from"""

    def __repr__(self) -> str:
        return f"Votes({self.source.name}, {len(self.items)} items, confidential)"

    @property
    def leaves_out(self) -> bool:
        """Whether rows may be left out without being wrong; a public property, never looked up in the votes."""
        return self.shape.leaves_out or self.where is not None

    @property
    def condition(self) -> str | None:
        """The condition in words, which are public."""
        return None if self.where is None else self.where.text

    @property
    def compared_as_bytes(self) -> bool:
        """Whether names are compared as bytes: where the engine is not ours and may have its own collation."""
        return not self.source.ours

    def rows(self, *, numbered: bool = False) -> ir.Table:
        """One row per vote, as `Shape.rows` says; for error messages also the row's number and the outcome as written,
        and where there is a condition, whether the row meets it.

        Items, people and groups are compared exactly as written, byte by byte; an empty cell is NULL.
        """
        table = self.source.numbered if numbered and self.source.numbered is not None else self.source.table
        if self.where is not None:
            table = self.where.marked(table)
        if self.daily is not None:
            table = self.daily.marked(table)
        rows = self.shape.rows(table, self._name, numbered=numbered)
        if any(name in table.columns and name not in rows.columns for name in (PASSES, DAY, VOTE_ID)):
            raise AssertionError("this shape of votes does not carry the condition, the day or the id along")
        return rows

    def by_row(self) -> ir.Table:
        """One row per row of a wide table, as `Wide.by_row` says."""
        if not isinstance(self.shape, Wide):
            raise AssertionError("only wide tables have a column per answer")
        return self.shape.by_row(self.source.table, self._name)

    @property
    def _name(self) -> Names:
        return Names(self.source.engine if self.compared_as_bytes else None, lasting=self.daily is not None)

    @property
    def names_people(self) -> bool:
        """Whether it is known who cast each vote."""
        return self.shape.person is not None or self.shape.row_is_person

    def notes(self, unit: Unit = Unit.PERSON) -> tuple[str, ...]:
        """How the votes were read, as far as readers of a release must know it."""
        of_people = (ROW_IS_PERSON,) if self.shape.row_is_person and unit is Unit.PERSON else ()
        return of_people if self.source.assumed is None else (*of_people, self.source.assumed)

    def require_fits(self, privacy: Privacy) -> None:
        """Refuse votes that cannot be counted under this promise; decided by what was asked for, never by the votes."""
        if privacy.unit is Unit.PERSON or privacy.max_per_person is not None:
            self.require_uncounted()
        if privacy.neighbours is Neighbours.OUTCOME:
            self._require_public_design()
        if privacy.unit is Unit.COMPARISON and privacy.neighbours is Neighbours.REPLACE:
            self._require_countable_votes()

    def _require_countable_votes(self) -> None:
        """Refuse a sheet in which an empty row may be a vote, where the number of votes is public."""
        may_be_empty = self.skip_invalid or self.where is not None or not self.shape.knows_pairs
        if self.source.is_sheet and self.shape.person is None and may_be_empty:
            raise VotesError(
                f"the number of votes is public here, and a sheet does not say whether it ends with a vote that is "
                f"left out; save {self.source.name} as CSV, name the person with {option('person')}, or use "
                f"{option('neighbours', 'add-remove')}"
            )

    def _require_public_design(self) -> None:
        """Refuse a public design where which rows are counted, or who was compared with whom, is an answer itself."""
        if reason := self.shape.needs_private_design:
            raise VotesError(
                f"{option('design', 'public')} does not go with {option('shape', self.shape.name)}: {reason}; use "
                f"{option('neighbours', 'replace')} and {option('design', 'private')}"
            )
        if self.drops_bothbad:
            raise PrivacyError(
                f"{option('bothbad', 'drop')} leaves votes out for their answer, which would change the public design; "
                f"leave it out, or use {option('neighbours', 'replace')}"
            )
        if self.shape.group is not None and self._tells_the_answer(self.shape.group, self.shape.answers):
            raise PrivacyError(
                f"{option('by')} names the column {self.shape.group!r}, which tells the answer, and how many votes a "
                f"group has is public here; group by something else, or use {option('neighbours', 'replace')}"
            )
        for column in self.shape.of_design:
            if self._tells_the_answer(column, self.shape.verdicts):
                raise PrivacyError(
                    f"the column {column!r} tells the answer, or is made from what tells it, and who was asked what is "
                    f"public here; read another column, or use {option('neighbours', 'replace')}"
                )
        if not self.shape.knows_pairs:
            raise PrivacyError(
                f"{option('missing')} beside a winner and a loser leaves rows out that do not say which pair was asked "
                f"about, which would change the public design; give {option('a')}, {option('b')} and "
                f"{option('outcome')}, or use {option('neighbours', 'replace')}"
            )

    def require_uncounted(self) -> None:
        """Refuse to protect people where rows stand for several votes: nothing says whose they are."""
        if self.shape.counts:
            raise VotesError(
                "these votes are counted in rows that stand for several, so it is not known whose they are; use "
                f"{option('unit', 'comparison')} without {option('max_per_person')}, or give one row per vote"
                f"{self.shape.as_single_votes}"
            )

    def require_public_condition(self) -> None:
        """Refuse a condition on answers where only answers differ between neighbours: which rows count is public."""
        for column in () if self.where is None else self.where.columns:
            if self._tells_the_answer(column, self.shape.answers, in_query=isinstance(self.where, Marked)):
                raise VotesError(
                    f"{option('where')} looks at the column {column!r}, which tells the answer; with "
                    f"{option('neighbours', 'outcome')} which rows are counted is public, so it may look at the design "
                    f"only: leave it out, or use {option('neighbours', 'replace')}"
                )

    def _tells_the_answer(self, column: str, answers: Sequence[str], *, in_query: bool = False) -> bool:
        """Whether a column is one of the answers, or called like one, or was made from what one of them was made from.
        `in_query`: it is a column of the table that was asked, not of the query."""
        origins = {column} if in_query else self._origins(column)
        alike = any(underscored(name) in ANSWER_NAMES for name in (column, *origins))
        return alike or any(origins & self._origins(answer) for answer in answers)

    def _origins(self, column: str) -> set[str]:
        """The columns of the table that a column is made from: itself, where no query made it."""
        return set(self.made_from.get(column, (column,)))

    def require_person(self) -> None:
        """Refuse to protect people when no column says who they are."""
        self.require_uncounted()
        if self.names_people:
            return
        people = called(self.all_columns, PERSON_NAMES)
        if len(people) > 1:
            raise VotesError(
                f"more than one column could name the person ({', '.join(people)}); choose one with {option('person')}"
            )
        raise VotesError(
            f"{option('unit', 'person')} and {option('max_per_person')} need a column that names the person; say which "
            f"with {option('person')} (the columns are {listed(self.all_columns)})"
        )


ROW_IS_PERSON = (
    "No column was read as the person: each row is taken to be one person, and what is promised holds for each row."
)


def read_votes(
    source: object = None,
    items: Iterable[object] | None = None,
    *,
    connect: str | None = None,
    table: str | None = None,
    query: str | None = None,
    engine: EngineWord | None = None,
    trust_query: bool = False,
    items_from_votes: bool = False,
    winner: str | None = None,
    loser: str | None = None,
    tie: str | None = None,
    a: str | None = None,
    b: str | None = None,
    outcome: str | None = None,
    outcomes: Outcomes = None,
    missing: Missing = None,
    bothbad: BothBadWord = "tie",
    count: str | None = None,
    wins_a: str | None = None,
    wins_b: str | None = None,
    person: str | None = None,
    shape: ShapeWord | None = None,
    pair_columns: PairColumns = None,
    ranking: str | None = None,
    unranked: UnrankedWord | None = None,
    best: str | None = None,
    worst: str | None = None,
    shown: str | Sequence[str] | None = None,
    set_size: int | None = None,
    positions: bool = False,
    design_file: str | os.PathLike[str] | None = None,
    version: str | None = None,
    set: str | None = None,
    delimiter: str | None = None,
    header_rows: int | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    input_format: InputFormatWord | None = None,
    where: str | None = None,
    pairs: Iterable[tuple[object, object]] | None = None,
    by: str | None = None,
    groups: Iterable[object] | None = None,
    by_person: bool = False,
    day_column: str | None = None,
    id: str | None = None,
    skip_invalid: bool = False,
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_dir: str | os.PathLike[str] | None = None,
) -> Votes:
    """Votes from files, a pandas, polars or pyarrow table, a database, or any Ibis table.

    source            the path of a CSV, Parquet, JSON or Excel file, of a folder of such files, or a pattern such as
                      "votes/*.parquet"; a list of these; "-" for standard input; a pandas, polars or pyarrow table; or
                      an Ibis table. Several files must have the same columns. Below a folder that is given, the names
                      of folders like language=de are columns of text. People with the same id in two files are one.
                      None: `connect` and `table` say where the votes are
    connect           the URL of a database, "postgres://user@host:5432/database" or "duckdb:///folder/votes.duckdb";
                      the votes are counted there. A password may stand in it, in PGPASSWORD or in ~/.pgpass.
    table, query      what to read there: the name of a table or view, such as "schema.votes", or a SELECT over
                      one table that looks at a row's own columns only; its WHERE is treated as `where` is
    trust_query       True: read any other query too, because each row that it gives comes from one vote and depends on
                      no other person's rows; that is not checked, and the release says that it is assumed
    engine            what reads files and counts: "duckdb" (also None), which is quietrank's own, or "spark", with the
                      settings of Spark's own session; with `table` or `query`, a table of that session
    items             the public list of what is ranked
    items_from_votes  True: take the list from the votes, only if it is no secret
    winner, loser     the columns of the two items, where one column names the winner
    tie               the column that says whether the two were equal; an empty cell is refused, unless `outcomes` or
                      `missing` says what it means
    a, b, outcome     the columns of the two items and of who won: "a", "b", "tie", a column's name or an item's
    outcomes          what the values of that column mean, {1: "a", 2: "b", 0: "tie"}, also "missing"; or a coding by
                      its name: "1/-1/0", "1/0.5/0", "1/2/0", "1/0". None: common words are known; a 0 is refused,
                      because it is a tie in one coding and a loss in another
    missing           words that mean "not answered", such as ["skipped"]. Such rows, and those whose answer is empty,
                      are not counted, or count as ties under neighbours="outcome"
    bothbad           what "both bad" counts as: "tie", or "drop" to leave such votes out
    count             the column of how many votes a row stands for; for unit="comparison" alone
    wins_a, wins_b    the columns of how often each of the two won, and `tie` that of ties; for unit="comparison" alone
    person            the column of who voted
    shape             what a row is. "long": one vote. "wide": a person, with a column per pair of items. "rankings": a
                      person's ranking of items. "best-worst": a set of items, of which the best and the worst are named
                      (MaxDiff). None: as the names of the columns and the other arguments say
    pair_columns      for "wide": how columns are named after pairs, such as "q_{a}_{b}", or a CSV file with the header
                      column,a,b, or its rows. None: a:b, a vs b, a_b or a-b, of declared items
    ranking           for "rankings": the column with rankings such as A>B=C. None: there is a column per place (1st,
                      2nd, …), or one per item with its place
    unranked          for "rankings": items that are left out are not compared ("missing", as for None), or lose to all
                      that are ranked ("last")
    best, worst       the columns of the best and the worst item of a set; both empty: not answered
    shown             the items of a set: a column for each (a list of columns, or a pattern such as "item*"), or the
                      one column whose cells list them, separated by ; or | or ,
    set_size          the largest number of items in a set, which is public; None: the number of columns
    positions         True: best and worst are positions in the set, counted from 1
    design_file       a CSV file of all sets: version (if there are several), set, and their items
    version, set      the columns that say which set of the design file was shown
    delimiter         what separates the cells of a CSV file; None: detected
    header_rows       how many rows of a CSV file stand between the names of the columns and the votes. None: those that
                      Qualtrics and SurveyMonkey write, else none
    encoding          of text files, such as "cp1252" or "utf-16"; None: UTF-8
    sheet             the sheet of an Excel workbook; None: the first
    input_format      "csv", "jsonl", "json", "parquet" or "xlsx"; None: by the file's name, and CSV from standard input
    where             a condition that rows have to meet to be counted, such as "language = 'de' and day >= '2026'":
                      public, printed in the release, and about a row's own columns only (docs/proofs/filter.md).
                      `items_from_votes` takes the items of all rows, whether or not they meet it.
    pairs             the public list of pairs that people may be asked about; None: all
    by, groups        the column of a vote's group, and the public list of all groups, for `rank_by_group`
    by_person         False: each vote has its own group. True: every person belongs to one group, and a person with
                      votes in several is an error (with skip_invalid, dropped with all their votes); for
                      one_per_pair that takes less noise. For unit="comparison" both are the same.
    day_column        for a board: the column of when a vote was cast, a date, a time, or seconds since 1970
    id                for a board: the column of which vote it is, among those of its person; a vote that comes again
                      under the same id is not counted again
    skip_invalid      True: drop rows that cannot be used, one by one; False: they are an error
    memory_limit      how much memory may be used, such as "4GB"; what does not fit goes to temporary files. None: most
                      of what the machine has
    threads           how many may count; None: one for each core
    temp_dir          the folder for temporary files; None: the system's

    Columns with common names, such as winner and loser or model_a, model_b and winner, need not be named.

    >>> import pyarrow as pa
    >>> import quietrank as qr
    >>> table = pa.table({"who": ["ana", "ben"], "winner": ["tea", "tea"], "loser": ["water", "coffee"]})
    >>> qr.read_votes(table, items=["tea", "coffee", "water"], person="who")
    Votes(a pyarrow table, 3 items, confidential)
    """
    words = Words.of(outcomes, missing, bothbad)
    opened = open_votes(
        source, Dialect(delimiter, encoding, sheet, input_format, header_rows),
        Place(table, query, connect, engine, flag("trust_query", trust_query)),
        Resources.of(memory_limit, threads, temp_dir),
    )  # fmt: skip
    roles = {
        "winner": winner, "loser": loser, "tie": tie, "a": a, "b": b, "outcome": outcome, "count": count,
        "wins_a": wins_a, "wins_b": wins_b, "person": person,
    }  # fmt: skip
    sets = {
        "best": best, "worst": worst, "shown": shown, "set_size": set_size, "design_file": design_file,
        "positions": flag("positions", positions), "version": version, "set": set,
    }  # fmt: skip
    spoken_for = () if by is None else (by,)
    request = Request(roles, shape, pair_columns, ranking, unranked, sets, words, opened.codes, spoken_for)
    if items is None and not items_from_votes and opened.codes:
        items = [name for name, _ in opened.codes]
    known = None if items is None else declare(items)
    form = recognise(opened.columns, request, known)
    if (by is None) != (groups is None):
        raise VotesUsageError(
            f"say both: {option('by')}, the column of the group, and {option('groups')}, the list of all groups"
        )
    group_of = _group_of(by, flag("by_person", by_person))
    if by is not None:
        require_column(opened.columns, "by", by)
        form = form.with_group(by)
    if (items is None) != flag("items_from_votes", items_from_votes):
        raise VotesUsageError(_WHICH_ITEMS if items is None else _BOTH_ITEMS)
    if where is not None and opened.condition is not None:
        raise VotesUsageError(f"{option('query')} has a WHERE, and {option('where')} is given too; write one condition")
    condition = opened.condition if where is None else parse_where(where, opened.columns)
    daily = _daily(opened.columns, day_column, id)
    raw = opened.read((*form.columns, *(condition.columns if condition else ()), *(daily.columns if daily else ())))
    if condition is not None:
        condition.marked(raw.table)  # refuses now what cannot be compared
    _require_countable(raw, form)
    _require_as_written(raw, form, daily)
    declared = _items_in(raw, form) if known is None else known
    if pairs is not None:
        declared = with_pairs(declared, _require_no_sets(pairs, form))
    if form.set_size != declared.shown:
        declared = replace(declared, shown=form.set_size)
    form = form.with_items(declared)
    group_names = None if groups is None else declare_groups(groups)
    return Votes(
        raw, form, declared, flag("skip_invalid", skip_invalid), group_names, opened.columns, group_of,
        words.bothbad is BothBad.DROP, condition, daily, opened.made_from,
    )  # fmt: skip


def _daily(columns: Sequence[str], day: str | None, vote: str | None) -> Daily | None:
    if day is None:
        if vote is not None:
            raise VotesUsageError(f"{option('id')} is for boards; add {option('day_column')}, or leave it out")
        return None
    require_column(columns, "day_column", day)
    require_column(columns, "id", vote)
    return Daily(day, vote)


def _require_countable(source: files.Source, shape: Shape) -> None:
    """Refuse a sheet in which an empty row is somebody: whether there is one at its end cannot be told."""
    if source.is_sheet and shape.person is None and (shape.row_is_person or shape.in_sets):
        raise VotesError(
            f"{source.name} names nobody, and a sheet does not say whether it ends with somebody who answered nothing; "
            f"add a column that names the person, and say which with {option('person')}, or save the sheet as CSV"
        )


def _require_no_sets(pairs: Iterable[tuple[object, object]], shape: Shape) -> Iterable[tuple[object, object]]:
    if shape.in_sets:
        raise VotesError(f"{option('pairs')} is for votes on pairs, and these are best-worst sets; leave it out")
    return pairs


def _group_of(by: str | None, by_person: bool) -> GroupOf:
    if by is None and by_person:
        raise VotesUsageError(f"{option('by_person', True)} is about groups; add {option('by')}, or leave it out")
    return GroupOf.PERSON if by_person else GroupOf.VOTE


_BOTH_ITEMS = "items are declared, or taken from the votes; give one of the two"
_WHICH_ITEMS = (
    f"declare the items with {either('items=[...]', '--items (a file or a,b,c)')}, or use "
    f"{option('items_from_votes', True)} if the list is no secret"
)


def _items_in(source: files.Source, shape: Shape) -> Items:
    """All names of items. They are read separately: the list is public."""
    names = shape.items(source.table, ours=source.ours)
    item_names = collect(source, names.filter(names.item.notnull() & (names.item != "")))["item"].to_pylist()
    if not item_names:
        raise no_votes(source)
    # Sorted in Python: the order of text differs between engines.
    return Items(tuple(sorted(item_names)), from_votes=True)


def _require_as_written(source: files.Source, shape: Shape, daily: Daily | None) -> None:
    """Refuse columns of names whose cells the engine would change: it might take two people for one."""
    for name in (*shape.names, *(() if daily is None or daily.id is None else (daily.id,))):
        if name in source.inexact:
            raise VotesError(
                f"the column {name!r} has cells that would not be read exactly as written, such as "
                f"{source.inexact[name]}; write them as text, in quotes"
            )
        kind = source.table[name].type()
        if not any(getattr(kind, f"is_{known}")() for known in _AS_WRITTEN):
            raise VotesError(
                f"the column {name!r} has the type {kind}, whose values are not read exactly as written; convert it "
                "to text"
            )


_AS_WRITTEN = ("string", "integer", "floating", "decimal", "boolean", "date", "timestamp", "uuid", "binary")
"""Types whose values stay distinct as text. Durations do not: they lose their nanoseconds."""
