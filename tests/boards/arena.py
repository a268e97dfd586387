"""A small arena for the tests of boards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from quietrank.boards import board as boards
from quietrank.boards.board import Board
from quietrank.ledger.book import BudgetLedger
from quietrank.votes.daily.limits import Encoded

START = date(2026, 1, 1)
ITEMS = ("a", "b", "c")
Row = tuple[str, str, str, str, int]
"""person, winner, loser, id, day"""


def day(number: int) -> date:
    return START + timedelta(days=number - 1)


def table(rows: Sequence[Row], **more: Any) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    names = ("person", "winner", "loser", "id")
    said: dict[str, Any] = {n: pa.array(list(c), pa.string()) for n, c in zip(names, columns, strict=False)}
    return pa.table(said | {"day": pa.array(list(map(day, columns[4])), pa.date32())} | more)


def some_votes(days: int, people: int = 6) -> list[Row]:
    """Everybody votes every day, mostly for a."""
    return [
        (f"p{p}", *(("a", "b") if (p + t) % 3 else ("c", "a")), f"{p}-{t}", t)
        for t in range(1, days + 1)
        for p in range(people)
    ]


def new_board(folder: Path, *, horizon: int = 6, **terms: Any) -> Board:
    delta = 0.0 if terms.get("pure") else 1e-6
    if not (folder / "ledger").exists():
        BudgetLedger.create(folder / "ledger", 2, delta, data="arena", unit="person")
    options: dict[str, Any] = {"epsilon": 2, "delta": delta, "every": "day", "start": START}
    return Board.create(folder / "board", ITEMS, ledger=folder / "ledger", horizon=horizon, **(options | terms))


def update(board: Board, rows: Sequence[Row], until: int, **options: Any) -> list[int]:
    return board.update(table(rows), until=day(until), **({"day_column": "day", "id": "id"} | options))


def without_noise(monkeypatch: pytest.MonkeyPatch) -> list[Encoded]:
    """Boards publish their exact sums from now on; what they encode is noted here, day by day."""
    seen: list[Encoded] = []

    def noted(encoded: Encoded, noise: Any) -> tuple[Any, Any]:
        seen.append(encoded)
        return encoded.net_wins, encoded.exposures

    monkeypatch.setattr(boards, "cross_day", noted)
    return seen
