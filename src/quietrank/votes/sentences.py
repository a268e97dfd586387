"""The first votes as they were understood in, a sentence about each out, for the data holder only."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from quietrank.votes import files

PER_ROW = 3
"""sentences about one row of the table"""


def sentences(votes: Iterable[dict[str, Any]], *, named: bool) -> tuple[str, ...]:
    """What each of these votes says: a, b, y, person and the row's number, as far as there are any."""
    written = []
    for _, of_row in groupby(enumerate(votes), key=lambda one: one[1].get(files.ROW, one[0])):
        sound = [vote for _, vote in of_row if vote["flaw"] <= 0]
        written += [_sentence(vote, named=named) for vote in sound[:PER_ROW]]
        if len(sound) > PER_ROW:
            written[-1] += f", and {len(sound) - PER_ROW} more"
    return tuple(written)


def _sentence(vote: dict[str, Any], *, named: bool) -> str:
    where = f"row {vote[files.ROW]}: " if files.ROW in vote else ""
    who = _text(vote["person"]) if named and vote.get("person") is not None else None
    a, b, y = _text(vote["a"]), _text(vote["b"]), vote.get("y", 2)
    if y in (0, 2):
        better, other = (a, b) if y == 2 else (b, a)
        said = f"{better} was preferred to {other}" if who is None else f"{who} preferred {better} to {other}"
    elif y == 1:
        said = f"{a} and {b} were tied" if who is None else f"{who} found {a} and {b} equal"
    else:
        said = f"{a} against {b} was not answered" + ("" if who is None else f" by {who}")
    return where + said


def _text(cell: object) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
