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

from quietrank.votes import engines
from quietrank.votes.joins import names_table, with_askable, with_place
from quietrank.votes.read import Votes
from quietrank.votes.shapes.best_worst import ANSWER_FLAWS, SET_FLAWS
from quietrank.votes.sources import reading

if TYPE_CHECKING:
    import ibis.expr.types as ir

FLAWS = {
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
}
"""What can be wrong with a row, in the order in which it is looked for; `flaw` is the place on this list, from 1."""

NO_FLAW = 0
NOT_ANSWERED, FILTERED = -1, -2
"""instead of a flaw: the row is not wrong, but it is left out; under a public design one without an answer is a tie"""

UNANSWERED = -1
"""y of a row without an answer"""

NUMBER = {flaw: number for number, flaw in enumerate(FLAWS, 1)}

UNREADABLE = [NUMBER[flaw] for flaw in ("unknown outcome", *ANSWER_FLAWS)]
"""flaws of the answer alone: under a public design such a row is a tie"""


@contextmanager
def snapshot(votes: Votes, *, named: bool) -> Iterator[ir.Table]:
    """One row per vote: a, b and group (places on their lists, NULL if not listed), y, person (NULL if not named) and
    flaw (0 if there is none, below 0 if the row is left out). Temporary and confidential; `named`: every vote must name
    its person."""
    rows = judged(votes, named=named)
    columns = [name for name in ("y", "person") if name in rows.columns]
    coded = _coded_sets(votes, rows) if votes.shape.in_sets else {"a": rows.place_a, "b": rows.place_b}
    if votes.groups is not None:
        coded["group"] = rows.place_group
    with reading(votes.source), engines.read_once(rows.select(*columns, "flaw", **coded)) as table:
        votes.source.require_unchanged()
        yield table


def judged(votes: Votes, *, named: bool, numbered: bool = False) -> ir.Table:
    """The rows with place_a, place_b and place_group, and `flaw`: the first thing that is wrong with each, or 0;
    below 0 where nothing is wrong but the row is left out.

    The votes are mentioned once, and everything else is a public list: whatever the engine does, this is one reading.
    """
    import ibis

    rows = _placed(votes, numbered)
    flaws = _flaws_of_sets(votes, rows) if votes.shape.in_sets else [
        ("missing item", rows.a.isnull() | rows.b.isnull()),
        ("undeclared item", rows.place_a.isnull() | rows.place_b.isnull()),
        ("item against itself", rows.place_a == rows.place_b),
    ]  # fmt: skip
    if votes.items.pairs is not None:
        flaws.append(("pair not askable", ~rows.askable))
    if named:
        flaws.append(("missing person", rows.person.isnull()))
    if votes.groups is not None:
        flaws += [("missing group", rows.group.isnull()), ("undeclared group", rows.place_group.isnull())]
    # Last, so that it marks only rows that are otherwise valid: under `outcome` those are counted as ties.
    if votes.shape.in_sets:
        flaws += [(flaw, rows.answer_flaw == number) for number, flaw in enumerate(ANSWER_FLAWS, 1)]
    elif "y" in rows.columns:
        flaws.append(("unknown outcome", rows.y.isnull()))
    numbers = [(condition, NUMBER[flaw]) for flaw, condition in flaws]
    if votes.leaves_out and "y" in rows.columns:
        numbers.append((rows.y == UNANSWERED, NOT_ANSWERED))
    return rows.mutate(flaw=ibis.cases(*numbers, else_=NO_FLAW).cast("int16"))


def _placed(votes: Votes, numbered: bool) -> ir.Table:
    """The rows with the places of their items and groups, and whether their pair may be asked."""
    rows, as_bytes = votes.rows(numbered=numbered), votes.compared_as_bytes
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
