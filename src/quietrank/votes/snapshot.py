"""Votes in, one reading of them out; they are checked, bounded and counted from that reading alone.

A query that mentions its source twice may see two sets of rows: a file that grows meanwhile, a view that samples. A
person's weight would then come from other rows than those it is applied to, and would bound nothing. So the columns
that are needed are read once into a temporary table inside the engine. On the way items and groups become their
places on the public lists, and every row is judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from quietrank.votes.joins import names_table, with_askable, with_place
from quietrank.votes.read import Votes
from quietrank.votes.sample import LOT
from quietrank.votes.shapes.best_worst import ANSWER_FLAWS, SET_FLAWS
from quietrank.votes.shapes.shape import UNANSWERED
from quietrank.votes.sources import temporary_table
from quietrank.votes.where import PASSES

if TYPE_CHECKING:
    import ibis.expr.types as ir

FLAWS = {
    "unreadable count": "the number of votes is not a whole number from 0 to 2^40",
    "missing item": "an item's cell is empty",
    "undeclared item": "an item is not on the declared list",
    "item against itself": "an item is compared with itself",
    "set not in the design file": "the version and set of a row are not in the design file",
    "too many items in a set": "a set has more items than the declared number",
    "too few items in a set": "a set has fewer than two items",
    "item twice in a set": "a set shows an item twice",
    "pair not askable": "a pair is not on the declared list of askable pairs",
    "missing person": "no person is named",
    "missing group": "the group's cell is empty",
    "undeclared group": "a group is not on the declared list",
    "unknown outcome": (
        "the outcome cannot be read (allowed are a, b and tie, their common names, the names of the columns and of the "
        "items, unless an item has one of these names and the two readings differ)"
    ),
    "half an answer": "of best and worst, only one is given",
    "position beyond the set": "best or worst is not a position in the set, from 1 to the number of its items",
    "choice not in the set": "best or worst is not among the items shown",
    "best is worst": "best and worst are the same item",
    "person in several groups": "a person's votes are in more than one group",
    "item twice": "a ranking has an item twice",
    "unknown place": "a place in a ranking is not a whole number from 1 to the number of items",
}
"""What can be wrong with a row, in the order in which it is looked for; `flaw` is the place on this list, from 1."""

OF_RANKINGS = ("missing item", "undeclared item", "item twice", "unknown place")
"""what can be wrong with a whole ranking"""

OF_ONE_VOTE = ("unknown outcome", "pair not askable")
"""what can be wrong with one vote of a row that has several; anything else is wrong with all of them"""

NO_FLAW = 0
NOT_ANSWERED, FILTERED = -1, -2
"""instead of a flaw: the row is not wrong, but it is left out; under a public design one without an answer is a tie"""

NUMBER = {flaw: number for number, flaw in enumerate(FLAWS, 1)}

UNREADABLE = [NUMBER[flaw] for flaw in ("unknown outcome", *ANSWER_FLAWS)]
"""flaws of the answer alone: under a public design such a row is a tie"""


@contextmanager
def snapshot(votes: Votes, *, named: bool) -> Iterator[ir.Table]:
    """One row per vote: a, b and group (places on their lists, NULL if not listed), y, person (NULL if not named) and
    flaw (0 if there is none, below 0 if the row is left out), and where a row stands for several votes, their count.
    Temporary and confidential; `named`: every vote must name its person."""
    rows = judged(votes, named=named)
    columns = {name: rows[name] for name in ("person", LOT, "count") if name in rows.columns}
    small = {name: rows[name].cast("int8") for name in ("y", "flaw") if name in rows.columns}
    coded = _coded_sets(votes, rows) if votes.shape.in_sets else {"a": rows.place_a, "b": rows.place_b}
    if votes.groups is not None:
        coded["group"] = rows.place_group
    most = max(len(votes.items), len(votes.groups or ()))
    # A billion votes are kept for a while: no column is wider than it has to be.
    places = {name: place.cast("int16" if most < 2**15 else "int32") for name, place in coded.items()}
    with temporary_table(votes.source, rows.select(**columns, **small, **places)) as table:
        votes.source.require_unchanged()
        yield table


def judged(votes: Votes, *, named: bool, numbered: bool = False) -> ir.Table:
    """The rows with place_a, place_b and place_group, and `flaw`: the first thing that is wrong with each, or 0;
    below 0 where nothing is wrong but the row is left out.

    The votes are mentioned once, and everything else is a public list: whatever the engine does, this is one reading.
    """
    import ibis

    rows = _placed(votes, numbered)
    # First: how many votes there are is counted before anything is left out, and may be public.
    flaws = [("unreadable count", rows["count"].isnull())] if "count" in rows.columns else []
    if votes.shape.in_sets:
        flaws += _flaws_of_sets(votes, rows)
    elif not votes.shape.gives_places:
        flaws += [
            ("missing item", rows.a.isnull() | rows.b.isnull()),
            ("undeclared item", rows.place_a.isnull() | rows.place_b.isnull()),
            ("item against itself", rows.place_a == rows.place_b),
        ]
    if "wrong" in rows.columns:
        flaws += [(flaw, rows.wrong == flaw) for flaw in OF_RANKINGS]
    if votes.items.pairs is not None and not votes.shape.gives_places:
        flaws.append(("pair not askable", ~rows.askable))
    if votes.groups is not None:
        flaws += [("missing group", rows.group.isnull()), ("undeclared group", rows.place_group.isnull())]
    # Last, so that it marks only rows that are otherwise valid: under `outcome` those are counted as ties.
    if votes.shape.in_sets:
        flaws += [(flaw, rows.answer_flaw == number) for number, flaw in enumerate(ANSWER_FLAWS, 1)]
    elif "y" in rows.columns:
        flaws.append(("unknown outcome", rows.y.isnull()))
    numbers = [(condition, NUMBER[flaw]) for flaw, condition in flaws]
    if votes.leaves_out and "y" in rows.columns:
        # Where no answer means that the items are not named either, that is not what is wrong with the row.
        first = len(numbers) if votes.shape.knows_pairs else int("count" in rows.columns)
        numbers.insert(first, (rows.y == UNANSWERED, NOT_ANSWERED))
    if votes.where is not None:
        numbers.insert(0, (~rows[PASSES], FILTERED))  # whatever else is wrong with such a row does not matter
    if named:
        # Before rows are left out: how many people there are is counted over all rows, and may be public.
        numbers.insert(0, (rows.person.isnull(), NUMBER["missing person"]))
    return rows.mutate(flaw=ibis.cases(*numbers, else_=NO_FLAW).cast("int16"))


def number_of_votes(rows: ir.Table) -> ir.Value:
    """How many votes these rows stand for; a count that cannot be read stands for none."""
    import ibis

    return ibis.coalesce(rows["count"].sum(), 0) if "count" in rows.columns else rows.count()


def _placed(votes: Votes, numbered: bool) -> ir.Table:
    """The rows with the places of their items and groups, and whether their pair may be asked."""
    rows, as_bytes = votes.rows(numbered=numbered), votes.compared_as_bytes
    if not votes.shape.gives_places:
        items = names_table(votes.items.names, as_bytes=as_bytes)
        rows = with_place(with_place(rows.view(), "a", items, "place_a"), "b", items, "place_b")
        for k in _shown(votes):
            rows = with_place(rows, f"shown_{k}", items, f"place_{k}")
        if votes.items.pairs is not None:
            rows = with_askable(rows, votes.items)
    if votes.groups is not None:
        rows = with_place(rows, "group", names_table(votes.groups, as_bytes=as_bytes), "place_group")
    return rows


# ---- best–worst sets ------------------------------------------------------------------------------------------------


def _shown(votes: Votes) -> range:
    """The numbers of the columns shown_1 to shown_M."""
    return range(1, votes.shape.set_size + 1) if votes.shape.in_sets else range(0)


def _flaws_of_sets(votes: Votes, rows: ir.Table) -> list[tuple[str, ir.Value]]:
    """What is wrong with a set; best and worst are among the items shown, or the answer is wrong."""
    unknown = [rows[f"shown_{k}"].notnull() & rows[f"place_{k}"].isnull() for k in _shown(votes)]
    flaws = [(flaw, rows.set_flaw == number) for number, flaw in enumerate(SET_FLAWS, 1)]
    return [*flaws, ("undeclared item", reduce(or_, unknown))]


def _coded_sets(votes: Votes, rows: ir.Table) -> dict[str, ir.Value]:
    """The places of the best, the worst and the items shown; a set of two, as a set size, is a vote on a pair."""
    import ibis

    if votes.shape.set_size > 2:
        return {"a": rows.place_a, "b": rows.place_b, **{f"shown_{k}": rows[f"place_{k}"] for k in _shown(votes)}}
    answered = (rows.y == 2).fill_null(False)
    return {
        "a": ibis.ifelse(answered, rows.place_a, rows.place_1),
        "b": ibis.ifelse(answered, rows.place_b, rows.place_2),
    }
