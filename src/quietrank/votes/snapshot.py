"""Votes in, one reading of them out; they are checked, bounded and counted from that reading alone.

A query that mentions its source twice may see two sets of rows: a file that grows meanwhile, a view that samples. A
person's weight would then come from other rows than those it is applied to, and would bound nothing. So the columns
that are needed are read once into a temporary table inside the engine. On the way items and groups become their
places on the public lists, and every row is judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quietrank.votes import engines
from quietrank.votes.joins import names_table, with_askable, with_place
from quietrank.votes.read import Votes
from quietrank.votes.sources import reading

if TYPE_CHECKING:
    import ibis.expr.types as ir

FLAWS = {
    "missing item": "an item's cell is empty",
    "undeclared item": "an item is not on the declared list",
    "item against itself": "an item is compared with itself",
    "pair not askable": "a pair is not on the declared list of askable pairs",
    "missing person": "no person is named",
    "missing group": "the group's cell is empty",
    "undeclared group": "a group is not on the declared list",
    "unknown outcome": (
        "the outcome cannot be read (allowed are a, b and tie, their common names, the names of the columns and of the "
        "items, unless an item has one of these names and the two readings differ)"
    ),
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

UNANSWERED = -1
"""y of a row without an answer"""

NUMBER = {flaw: number for number, flaw in enumerate(FLAWS, 1)}


@contextmanager
def snapshot(votes: Votes, *, named: bool) -> Iterator[ir.Table]:
    """One row per vote: a, b and group (places on their lists, NULL if not listed), y, person (NULL if not named) and
    flaw (0 if there is none, below 0 if the row is left out). Temporary and confidential; `named`: every vote must name
    its person."""
    rows = judged(votes, named=named)
    columns = [name for name in ("y", "person") if name in rows.columns]
    coded = {"a": rows.place_a, "b": rows.place_b}
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
    flaws = (
        []
        if votes.shape.gives_places
        else [
            ("missing item", rows.a.isnull() | rows.b.isnull()),
            ("undeclared item", rows.place_a.isnull() | rows.place_b.isnull()),
            ("item against itself", rows.place_a == rows.place_b),
        ]
    )
    if "wrong" in rows.columns:
        flaws += [(flaw, rows.wrong == flaw) for flaw in OF_RANKINGS]
    if votes.items.pairs is not None and not votes.shape.gives_places:
        flaws.append(("pair not askable", ~rows.askable))
    if named:
        flaws.append(("missing person", rows.person.isnull()))
    if votes.groups is not None:
        flaws += [("missing group", rows.group.isnull()), ("undeclared group", rows.place_group.isnull())]
    # Last, so that it marks only rows that are otherwise valid: under `outcome` those are counted as ties.
    if "y" in rows.columns:
        flaws.append(("unknown outcome", rows.y.isnull()))
    numbers = [(condition, NUMBER[flaw]) for flaw, condition in flaws]
    if votes.leaves_out and "y" in rows.columns:
        numbers.append((rows.y == UNANSWERED, NOT_ANSWERED))
    return rows.mutate(flaw=ibis.cases(*numbers, else_=NO_FLAW).cast("int16"))


def _placed(votes: Votes, numbered: bool) -> ir.Table:
    """The rows with the places of their items and groups, and whether their pair may be asked."""
    rows, as_bytes = votes.rows(numbered=numbered), votes.compared_as_bytes
    if not votes.shape.gives_places:
        items = names_table(votes.items.names, as_bytes=as_bytes)
        rows = with_place(with_place(rows.view(), "a", items, "place_a"), "b", items, "place_b")
        if votes.items.pairs is not None:
            rows = with_askable(rows, votes.items)
    if votes.groups is not None:
        rows = with_place(rows, "group", names_table(votes.groups, as_bytes=as_bytes), "place_group")
    return rows
