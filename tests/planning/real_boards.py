"""The people of a plan on a real board: the same votes, the real limits, the real noise."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from quietrank.boards.board import Board, confidential
from quietrank.estimate.methods import estimate
from quietrank.ledger.book import BudgetLedger
from quietrank.planning.crowd import People
from quietrank.planning.measures import Truth, measure
from quietrank.promise.every import Every
from quietrank.simulation import item_names
from quietrank.statistics.method import Method
from quietrank.votes.daily.kept import opened

START = date(2026, 1, 1)


def real_board(folder: Path, people: People, horizon: int, every: Every, clip: float) -> Board:
    """All of its periods, published."""
    folder.mkdir(parents=True)
    BudgetLedger.create(folder / "ledger", 2, 1e-6, data="plan", unit="person")
    names = np.array(item_names(people.items))
    board = Board.create(
        folder / "board", names.tolist(), epsilon=2, delta=1e-6, ledger=folder / "ledger", horizon=horizon,
        every=every.value, clip=clip, start=START,
    )  # fmt: skip
    votes = pa.table(
        {
            "person": people.person.astype(str), "winner": names[people.winner], "loser": names[people.loser],
            "day": pa.array([START + timedelta(days=int(day)) for day in people.day], pa.date32()),
            "id": np.arange(len(people.day)),
        }
    )  # fmt: skip
    board.update(votes, until=START + timedelta(days=horizon * every.days - 1), day_column="day", id="id")
    return board


def kept_weight(board: Board) -> list[int]:
    """The weight of all votes up to each period, in units of 2^-20: whole numbers from the confidential file."""
    with opened(confidential(board.path)) as kept:
        rows = kept.db.execute("SELECT day, sum(weight * met::HUGEINT) FROM kept.increments GROUP BY day").fetchall()
    by_period = dict(rows)
    weight = [int(by_period.get(period, 0)) // 2 for period in range(1, board.terms.horizon + 1)]
    return list(accumulate(weight))


def rank_error(board: Board, period: int, theta: Any) -> float:
    """By how many places items are off on this board."""
    tally = board.tally(period)
    scores = estimate(tally, Method.BRADLEY_TERRY).scores  # type: ignore[arg-type]  # there are no groups
    return float(measure(scores[None, :], Truth.of(theta, as_odds=True), 5).rank_error[0])
