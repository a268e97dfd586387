"""Small releases of every kind, written to files as `rank`, `top` and boards write them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

import quietrank as qr
from quietrank.evidence.subject import Result, Subject, read_subject
from quietrank.votes.read import Votes

Values = dict[str, Any]
ITEMS = ("tea", "cocoa <b>", 'milk "ε"', "water")
PEOPLE = qr.Privacy(epsilon=1, unit="person", max_per_person=4)
PAIRS = list(itertools.combinations(ITEMS, 2))


def table() -> pa.Table:
    """Thirty people with four votes each, who live in two countries and vote in two places."""
    rows = []
    for person, k in itertools.product(range(30), range(4)):
        i, j = PAIRS[(person + 2 * k) % 5]
        won, lost = (i, j) if (person * 7 + k) % 3 else (j, i)
        rows.append((str(person), won, lost, "north" if person % 2 else "south", "ab"[k % 2]))
    names = ("person", "winner", "loser", "country", "place")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def votes(**options: Any) -> Votes:
    return qr.read_votes(table(), items=ITEMS, person="person", **options)


def by_country() -> Votes:
    return votes(by="country", groups=["north", "south"], by_person=True)


def best_worst(people: int = 20) -> Votes:
    """Each person names the best and the worst of three of five items."""
    names, rows = "vwxyz", []
    for person, k in itertools.product(range(people), range(2)):
        shown = [names[(person + k + step) % 5] for step in range(3)]
        rows.append([str(person), *shown, shown[0], shown[2]])
    columns = ("person", "item1", "item2", "item3", "best", "worst")
    data = pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
    return qr.read_votes(data, items=list(names), person="person", set_size=3)


FOLDER = TemporaryDirectory(prefix="quietrank-tests-")
"""of the board, and of the ledger that paid for it"""
PAID_BOARD = Path(FOLDER.name) / "board.db"


def board() -> Result:
    """The second week of a board, on which one item is far ahead."""
    folder = Path(FOLDER.name)
    ledger = qr.Ledger.create(PAID_BOARD, 8, 1e-6, data="arena", unit="person")
    made = qr.Board.create(
        folder / "arena.board", ["tea", "water"], epsilon=8, delta=1e-6, ledger=ledger, start="2026-01-01", horizon=4
    )
    rows = 400
    data = {"judge": [f"p{k}" for k in range(rows)], "winner": ["tea"] * rows, "loser": ["water"] * rows}
    days = ["2026-01-03" if k % 2 else "2026-01-10" for k in range(rows)]
    made.update(pa.table(data | {"when": days}), day_column="when", person="judge", until="2026-01-14")
    return made.release()


def _privacy(**words: Any) -> qr.Privacy:
    return qr.Privacy(1, words.pop("unit", "person"), **words)


MADE: dict[str, Callable[[], Result]] = {
    "people": lambda: qr.rank(votes(), PEOPLE, mechanism="laplace"),
    "single votes": lambda: qr.rank(votes(), _privacy(unit="comparison"), method="net-wins"),
    "answers": lambda: qr.rank(votes(), _privacy(one_per_pair=True), mechanism="zonotope", method="net-wins"),
    "clipped": lambda: qr.rank(votes(), _privacy(max_per_person=4, delta=1e-6), mechanism="gaussian"),
    "ball": lambda: qr.rank(votes(), PEOPLE, mechanism="ball", method="bradley-terry", scale="elo"),
    "chosen limit": lambda: qr.rank(votes(), _privacy(max_per_person="auto"), mechanism="laplace"),
    "ties": lambda: qr.rank(votes(), PEOPLE, ties="davidson", mechanism="laplace"),
    "public design": lambda: qr.rank(votes(), PEOPLE.changed(neighbours="outcome", design="public")),
    "inside": lambda: qr.rank(votes(), PEOPLE, mechanism="perturbed-mle", comparisons_per_item=60),
    "countries": lambda: qr.rank_by_group(by_country(), PEOPLE, overall=True),
    "places": lambda: qr.rank_by_group(votes(by="place", groups=["a", "b"]), PEOPLE, mechanism="laplace"),
    "sets": lambda: qr.rank(best_worst(), _privacy(max_per_person=2)),
    "shortened": lambda: qr.rank(votes(), PEOPLE, mechanism="laplace").top(2),
    "list": lambda: qr.top(votes(), PEOPLE, 2, mechanism="permute-and-flip"),
    "lists": lambda: qr.top(by_country(), PEOPLE, 1),
    "list from counts": lambda: qr.top(votes(), PEOPLE, 2, mechanism="laplace"),
    "board": board,
}


@cache
def made(kind: str) -> Result:
    """A release of this kind, made once for all tests."""
    return MADE[kind]()


def write(values: Values, path: Path) -> Path:
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def subject_of(result: Result, folder: Path) -> Subject:
    path = folder / "release.json"
    path.unlink(missing_ok=True)
    result.to_json(path)
    return read_subject(path)
