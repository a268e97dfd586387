"""Votes in, `Tallies` out: the exact, confidential sums that everything else is computed from.

Counting is done by the votes' own engine, on integers, so the result is the same bit for bit whatever the
engine, the number of threads or the order of rows. Everything is checked and counted from one reading of the votes.

Nothing overflows: an entry is at most 2^21 steps per vote here, so 64 bits hold more than 10^12 votes; where rows stand
for several votes there are at most 2^40. On a finer lattice of the noise they may hold fewer: the crossing checks that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.arrays import Integers
from quietrank.estimate.methods import Expected
from quietrank.promise.items import Items
from quietrank.promise.privacy import Unit
from quietrank.promise.promise import Bounded
from quietrank.votes import by_row, check, one_pass
from quietrank.votes.added import distinct_sets
from quietrank.votes.bound import people_by_votes, votes_of_people, weigh
from quietrank.votes.engines import engine_of
from quietrank.votes.files import Source
from quietrank.votes.joins import by_either_side, names_table, with_place
from quietrank.votes.read import Votes
from quietrank.votes.sample import require_ids, sampled
from quietrank.votes.scatter import scatter_sums
from quietrank.votes.sets import shown_columns, sides
from quietrank.votes.snapshot import number_of_votes, snapshot
from quietrank.votes.sources import collect, collect_all, no_votes, temporary_table
from quietrank.votes.tallies import AnyTally, PairTally, PeopleByVotes, SetTally, Tallies, Tally

if TYPE_CHECKING:
    import ibis.expr.types as ir

MEASURING = "measuring how much people vary"
SUMS = ("wins", "losses", "ties", "rows")
"""of an item or a pair; a tie is in the ties of both of its items, in half votes like wins and losses"""


def count_votes(votes: Votes, bounded: Bounded, *, by_pair: bool = False, may_be_empty: bool = False) -> Tallies:
    """Check every row, bound what each unit contributes, and count by item or by pair, and by group; empty groups too.

    `may_be_empty` says that it is not public whether there are any votes, so that their absence must not be an error.
    """
    with counting(votes, bounded, by_pair=by_pair, may_be_empty=may_be_empty) as counted:
        return counted.tallies


@dataclass(frozen=True)
class Counting:
    """Tallies, while the reading they were counted from is still there."""

    tallies: Tallies
    source: Source
    weighed: ir.Table | None
    """the rows that count, with their weights, or what each person's items have won and weigh; confidential"""
    sample: Callable[[int], AbstractContextManager[ir.Table]] | None = None
    """the same of one person in 2^bits"""

    def scatter(self, expected: Sequence[Expected], most: float, bits: int = 0) -> list[int]:
        """Of each group: the sum over people of their scatter around what is expected, each at most STEPS; over one
        person in 2^bits."""
        if self.weighed is None or self.sample is None:
            raise AssertionError("votes that stand alone have no scatter")
        groups = self.tallies.groups
        with self.sample(bits) if bits else nullcontext(self.weighed) as rows:
            query = scatter_sums(rows, expected, most, grouped=groups is not None)
            sums = collect(self.source, query, MEASURING)
        steps = np.zeros(len(self.tallies), dtype=np.int64)
        place = _integers(sums["group"]) if groups is not None else np.zeros(len(sums), dtype=np.int64)
        steps[place] = _integers(sums["steps"])
        return [int(value) for value in steps]


@contextmanager
def counting(
    votes: Votes, bounded: Bounded, *, by_pair: bool = False, may_be_empty: bool = False, again: bool = False
) -> Iterator[Counting]:
    """The same, with the votes that were counted. `again`: the caller will ask about them once more, so their snapshot
    stays until this context ends."""
    alone = None if again else _count_unread(votes, bounded, by_pair=by_pair)
    if alone is not None:
        tallies = _tallies(votes, bounded, alone, by_pair=by_pair, may_be_empty=may_be_empty)
        yield Counting(tallies, votes.source, None)
        return
    if again and not by_pair and by_row.applies(votes, bounded):
        with by_row.wide_snapshot(votes) as table:
            rows = by_row.count_rows(votes, bounded, table)
            if rows is not None:
                of_items = _Sums(rows.by_item, rows.votes, rows.people)
                tallies = _tallies(votes, bounded, of_items, by_pair=False, may_be_empty=may_be_empty)
                sums = partial(by_row.item_sums, votes, bounded, table)
                yield Counting(tallies, votes.source, sums(), lambda bits: nullcontext(sums(bits)))
                return
    with taking(votes, bounded) as taken:
        yield taken.counted(bounded, by_pair=by_pair, may_be_empty=may_be_empty)


def _count_unread(votes: Votes, bounded: Bounded, *, by_pair: bool) -> _Sums | None:
    """The sums from one query, where that needs no snapshot; None if it does."""
    if _stand_alone(votes, bounded):
        return _count_alone(votes, by_pair=by_pair)
    if not by_row.applies(votes, bounded):
        return None
    rows = by_row.count_rows(votes, bounded, votes.by_row())
    return None if rows is None else _Sums(rows.by_pair if by_pair else rows.by_item, rows.votes, rows.people)


@dataclass(frozen=True)
class Taken:
    """One reading of the votes: whatever is counted from it is counted from the same rows."""

    votes: Votes
    marked: ir.Table
    """a snapshot, with the flaws of its rows and whether they count"""
    people: ir.Table | None
    """how many votes each person has, where people are named"""
    bounded: Bounded
    """what makes a row usable, whatever its limit is"""

    @property
    def usable(self) -> ir.Table:
        return self.marked.filter(self.marked.use).drop("use", "flaw").view()

    def counted(self, bounded: Bounded, *, by_pair: bool = False, may_be_empty: bool = False) -> Counting:
        """The tallies of these votes, bounded like this."""
        votes = self.votes
        if bounded.shown != votes.items.shown:
            raise AssertionError("these votes are about sets of another size than they were bounded for")
        if not by_pair and one_pass.applies(self.marked, bounded):
            counted = self._in_one_pass(bounded)
            tallies = _tallies(votes, bounded, counted, by_pair=False, may_be_empty=may_be_empty)
            return Counting(
                tallies, votes.source, one_pass.usable(self.marked, bounded), partial(self._sample, bounded)
            )
        weighed, in_sets = weigh(self.usable, bounded, self.people), votes.items.in_sets
        queries = {"sums": _pair_sums(weighed) if by_pair and not in_sets else _item_sums(weighed)}
        if by_pair and in_sets:
            queries["sets"] = _set_sums(weighed)
        if bounded.unit is Unit.PERSON and self.people is not None:
            queries["people"] = _number_of(self.people)
        rows, answers = self._answers_to(queries)
        people = int(_integers(answers["people"]["people"])[0]) if "people" in answers else None
        sets = _columns(answers["sets"]) if "sets" in answers else None
        counted = _Sums(_columns(answers["sums"]), rows, people, sets)
        tallies = _tallies(votes, bounded, counted, by_pair=by_pair, may_be_empty=may_be_empty)
        return Counting(tallies, votes.source, weighed, partial(self._sample, bounded))

    @contextmanager
    def _sample(self, bounded: Bounded, bits: int) -> Iterator[ir.Table]:
        """The votes of one person in 2^bits; a weight depends on the votes of its own person alone."""
        require_ids(self.votes, bits)
        if one_pass.applies(self.marked, bounded):
            yield one_pass.usable(sampled(self.marked, None, bits), bounded)
        elif not self.votes.source.engine.reuses_tables:
            yield weigh(sampled(self.usable, self.people, bits), bounded)
        else:
            with temporary_table(self.votes.source, sampled(self.usable, self.people, bits), MEASURING) as rows:
                yield weigh(rows, bounded)

    def _in_one_pass(self, bounded: Bounded) -> _Sums:
        import pyarrow.compute as pc

        answer = collect(self.votes.source, one_pass.everything(self.marked, bounded))
        flaws = answer.group_by("flaw").aggregate([("rows", "sum")]).rename_columns(["flaw", "rows"])
        halved = flaws.set_column(1, "rows", pc.divide(flaws["rows"], 2))  # both sides of a vote are rows
        rows = check.require_usable(self.votes, self.bounded, self.marked, halved)
        people = int(pc.sum(answer["people"]).as_py() or 0) if bounded.unit is Unit.PERSON else None
        used = answer.filter(pc.equal(answer["used"], 1)).drop_columns(["used", "flaw", "people"])
        return _Sums(_columns(used), rows, people)

    def people_by_votes(self, bins: int, *, one_per_pair: bool) -> PeopleByVotes:
        """How many people gave 1, 2 to 3, 4 to 7, … votes, or answers where those on one pair are averaged."""
        assert self.people is not None
        histogram = people_by_votes(self.usable, self.people, bins, one_per_pair=one_per_pair)
        _, answers = self._answers_to({"histogram": histogram})
        counts = np.zeros(bins, dtype=np.int64)
        counts[_integers(answers["histogram"]["bin"])] = _integers(answers["histogram"]["people"])
        return PeopleByVotes(self.votes.items, counts)

    def _answers_to(self, queries: dict[str, ir.Table]) -> tuple[int, dict[str, Any]]:
        """How many votes there are, before any is dropped, and the answers to these queries; refused if there are
        votes that cannot be used."""
        flaws = check.flaw_counts(self.marked)
        answers = collect_all(self.votes.source, {"flaws": flaws, **queries})
        rows = check.require_usable(self.votes, self.bounded, self.marked, answers.pop("flaws"))
        return rows, answers


@contextmanager
def taking(votes: Votes, bounded: Bounded) -> Iterator[Taken]:
    """A reading of the votes; `bounded` says what makes a row usable, whatever its limit is."""
    if bounded.counts_people:
        votes.require_person()
    if bounded.answers_only:
        votes.require_public_condition()
    with ExitStack() as stack:
        table = stack.enter_context(snapshot(votes, named=bounded.counts_people))
        marked, people = check.marked(votes, bounded, table), None
        if bounded.counts_people:
            people = votes_of_people(marked)
            if votes.source.engine.reuses_tables:  # it is needed more than once
                people = stack.enter_context(temporary_table(votes.source, people, "counting votes"))
        yield Taken(votes, marked, people, bounded)


def _number_of(people: ir.Table) -> ir.Table:
    """How many there are, whether or not a vote of theirs counts."""
    named = people.filter(people.person.notnull())
    return named.agg(people=named.count())


def _tallies(votes: Votes, bounded: Bounded, counted: _Sums, *, by_pair: bool, may_be_empty: bool) -> Tallies:
    if counted.rows == 0 and not may_be_empty:
        raise no_votes(votes.source)
    make = _by_pair if by_pair and not votes.items.in_sets else _by_item
    if votes.groups is None:
        tally = make(votes.items, bounded, counted.sums, counted.rows)
        return Tallies.of(_with_sets(tally, counted.sets), people=counted.people)
    rows_of_vote = 1 if by_pair or votes.items.in_sets else 2
    parts = [(part, int(part["rows"].sum()) // rows_of_vote) for part in _parts(votes.groups, counted.sums)]
    tallies = (make(votes.items, bounded, *part) for part in parts)
    of_sets = [None] * len(parts) if counted.sets is None else _parts(votes.groups, counted.sets)
    known = (_with_sets(tally, sets) for tally, sets in zip(tallies, of_sets, strict=True))
    return Tallies.of(*known, groups=votes.groups, people=counted.people, read=counted.rows)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums by item or pair (and group), and the number of rows and people before any was dropped."""

    sums: dict[str, Integers]
    rows: int
    people: int | None = None
    sets: dict[str, Integers] | None = None
    """the weight of each best–worst set, where they are counted"""


def _parts(groups: Sequence[str], sums: dict[str, Integers]) -> list[dict[str, Integers]]:
    """The sums of each declared group."""
    members = [sums["group"] == group for group in range(len(groups))]
    return [{name: column[member] for name, column in sums.items()} for member in members]


def _with_sets(tally: Tally | PairTally, sets: dict[str, Integers] | None) -> AnyTally:
    """The tally with the sets that were shown, where they were counted."""
    if sets is None or isinstance(tally, PairTally):
        return tally
    shown = np.column_stack([column for name, column in sets.items() if name.startswith("shown_")])
    return SetTally(tally.items, *distinct_sets(shown, sets["weight"]), tally)


def _by_item(items: Items, bounded: Bounded, counted: dict[str, Integers], rows: int) -> Tally:
    wins, losses = np.zeros((2, len(items)), dtype=np.int64)
    np.add.at(wins, counted["item"], counted["wins"])
    np.add.at(losses, counted["item"], counted["losses"])
    if wins.sum() != losses.sum():
        raise AssertionError("every vote is a win and a loss, but their sums differ")
    if items.in_sets:
        weight = int(counted["weight"].sum())
        return Tally(items, wins, losses, bounded.half_vote, rows, bounded, weight=weight)
    ties = int(counted["ties"].sum())
    if ties % 2:
        raise AssertionError("every tie is one of both of its items, but their sum is odd")
    return Tally(items, wins, losses, bounded.half_vote, rows, bounded, ties // 2)


def _by_pair(items: Items, bounded: Bounded, counted: dict[str, Integers], rows: int) -> PairTally:
    a, b = counted["a"], counted["b"]
    keys, place = np.unique(np.minimum(a, b) * len(items) + np.maximum(a, b), return_inverse=True)
    wins_i, wins_j = np.zeros((2, len(keys)), dtype=np.int64)
    np.add.at(wins_i, place, np.where(a < b, counted["wins"], counted["losses"]))
    np.add.at(wins_j, place, np.where(a < b, counted["losses"], counted["wins"]))
    i, j = np.divmod(keys, len(items))
    return PairTally(items, i, j, wins_i, wins_j, bounded.half_vote, rows, bounded, int(counted["ties"].sum()))


def _item_sums(rows: ir.Table) -> ir.Table:
    """Per item, and per group where there are any: the sums, in half votes.

    Each side is grouped on its own before the two are united, which is twice as fast as the opposite order.
    """
    group = _group(rows)
    if shown_columns(rows):
        return _set_item_sums(rows, group)
    if engine_of(rows).groups_sides:
        return _both_sides(rows, group)
    won, lost = (side.sum() for side in _won_and_lost(rows))
    tied, number = _tied(rows).sum(), number_of_votes(rows)
    a = rows.group_by(*group, item=rows.a).agg(wins=won, losses=lost, ties=tied, rows=number)
    b = rows.group_by(*group, item=rows.b).agg(wins=lost, losses=won, ties=tied, rows=number)
    sides = a.union(b)
    return sides.group_by(*group, "item").agg(**{name: sides[name].sum() for name in SUMS})


def _both_sides(rows: ir.Table, group: list[str]) -> ir.Table:
    """The same from one reading of the rows, whose weights may be the result of a join."""
    number = "COUNT(*)"
    if "y" in rows.columns:
        won, lost = _won_and_lost(rows)
        columns, sides, ties = {"won": won, "lost": lost, "tied": _tied(rows)}, ("SUM(won)", "SUM(lost)"), "SUM(tied)"
    else:  # nothing is summed that is known to be 0
        columns, sides, ties = {"weight": rows.weight}, ("2 * SUM(weight)", "0"), "0"
    if "count" in rows.columns:
        columns, number = columns | {"votes": rows["count"]}, "COALESCE(SUM(votes), 0)"
    else:  # of one vote: no weight is above 2^20, and sums of small numbers are faster
        columns = {name: column.cast("int32") for name, column in columns.items()}
    read = rows.select(*group, "a", "b", **columns)
    return by_either_side(read, _sql_keys(group), kind="int64", sides=sides, ties=ties, rows=number)


def _set_item_sums(rows: ir.Table, group: list[str]) -> ir.Table:
    """The same for best–worst sets, and the weight of all sets, in half votes."""
    shown = sides(rows, group, "weight")
    return shown.group_by(*group, "item").agg(
        wins=shown.won.sum(), losses=shown.lost.sum(), rows=shown["first"].sum(),
        weight=(shown.weight * shown["first"] * 2).sum(),
    )  # fmt: skip


def _set_sums(rows: ir.Table) -> ir.Table:
    """Per set as it was shown, and group: its weight, in half votes; −1 where a set has no further item."""
    names = shown_columns(rows)
    known = rows.select(*_group(rows), "weight", **{name: rows[name].fill_null(-1) for name in names}).view()
    return known.group_by(*_group(rows), *names).agg(weight=(known.weight * 2).sum())


def _pair_sums(rows: ir.Table) -> ir.Table:
    """Per pair, and group: the sums, where wins are those of a."""
    won, lost = _won_and_lost(rows)
    return rows.group_by(*_group(rows), "a", "b").agg(
        wins=won.sum(), losses=lost.sum(), ties=_tied(rows).sum(), rows=number_of_votes(rows)
    )


def _group(rows: ir.Table) -> list[str]:
    return ["group"] if "group" in rows.columns else []


def _sql_keys(group: list[str]) -> str:
    """Further columns to group by, for `by_either_side`."""
    return "".join(f'"{name}", ' for name in group)


def _won_and_lost(rows: ir.Table) -> tuple[ir.Value, ir.Value]:
    """The weight that a has won and lost in each row, in half votes."""
    if "y" not in rows.columns:
        return rows.weight * 2, rows.weight * 0
    return rows.weight * rows.y, rows.weight * (2 - rows.y)


def _tied(rows: ir.Table) -> ir.Value:
    """The weight of ties in each row, in half votes: y(2 − y) is 1 for a tie and 0 else."""
    return rows.weight * rows.y * (2 - rows.y) * 2 if "y" in rows.columns else rows.weight * 0


def _stand_alone(votes: Votes, bounded: Bounded) -> bool:
    """Whether each row counts by itself, so that no snapshot is needed.

    No weight is computed from other rows or read from a column, nothing is skipped, and the query below reads each row
    once and adds it to both of its items: whichever rows it saw, no vote moved the sums further than one vote may. A
    file that changes meanwhile is refused. Tables of other engines are read into a snapshot in any case, and so are
    votes with a condition, whose rows are counted before it.
    """
    special = votes.skip_invalid or votes.items.pairs or votes.compared_as_bytes or votes.where is not None
    shape = votes.shape
    return not (bounded.counts_people or shape.counts or shape.gives_places or shape.in_sets or special)


def _count_alone(votes: Votes, *, by_pair: bool) -> _Sums | None:
    """The sums of every row, grouped by name before the names are looked up; None if a row is invalid."""
    rows, items = votes.rows(), names_table(votes.items.names)
    if by_pair:
        known = with_place(with_place(_alone_by_pair(rows), "a", items, "place_a"), "b", items, "place_b")
        known = known.drop("a", "b").rename(a="place_a", b="place_b")
    else:
        known = with_place(_alone_by_item(rows), "item", items, "place").drop("item").rename(item="place")
    if votes.groups is not None:
        known = with_place(known, "group", names_table(votes.groups), "place_group")
        known = known.drop("group").rename(group="place_group")
    table = collect(votes.source, known)
    votes.source.require_unchanged()
    keys = [name for name in table.column_names if name not in (*SUMS, "flawed")]
    if any(table[name].null_count for name in keys) or _integers(table["flawed"]).any():
        return None  # the snapshot's checks say what is wrong
    sums = {name: _integers(table[name]) for name in (*keys, *SUMS)}
    return _Sums(sums, int(sums["rows"].sum()) // (1 if by_pair else 2))


def _alone_by_pair(rows: ir.Table) -> ir.Table:
    import ibis

    won, lost, tied, flawed = rows.count() * 2, rows.count() * 0, rows.count() * 0, rows.a == rows.b
    if "y" in rows.columns:
        won, lost, flawed = rows.y.sum(), (2 - rows.y).sum(), flawed | rows.y.isnull() | (rows.y < 0)
        tied = (rows.y * (2 - rows.y)).sum() * 2
    grouped = rows.group_by(*_group(rows), "a", "b")
    flaws = ibis.ifelse(flawed, 1, 0).sum()
    return grouped.agg(wins=won, losses=lost, ties=tied, rows=rows.count(), flawed=flaws).view()


def _alone_by_item(rows: ir.Table) -> ir.Table:
    y = "y" if "y" in rows.columns else "2"
    won, lost = f"SUM({y})", f"SUM(2 - {y})"
    return by_either_side(
        rows,
        _sql_keys(_group(rows)),
        sides=(won, lost),
        ties=f"2 * COUNT(CASE WHEN {y} = 1 THEN 1 END)",
        rows="COUNT(*)",
        flawed=f"COUNT(CASE WHEN a = b OR {y} IS NULL OR {y} < 0 THEN 1 END)",
    )


def _columns(table: Any) -> dict[str, Integers]:
    return {name: _integers(table[name]) for name in table.column_names}


def _integers(column: Any) -> Integers:
    return np.asarray(column.to_numpy(), dtype=np.int64)
