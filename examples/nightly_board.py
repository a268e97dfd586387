"""A board that is published every night for one promise: made, updated night by night, with a model that joins."""

from __future__ import annotations

import tempfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

import quietrank as qr

MODELS, STRENGTHS = ["atlas", "birch", "cedar", "delta"], np.array([1.0, 0.4, -0.2, -0.6])
START, NIGHTS = date(2026, 1, 1), 5


def votes_of(night: int, models: int) -> pa.Table:
    """What 4000 judges said on one night."""
    chance = np.random.default_rng(night)
    one = chance.integers(0, models, 4000)
    other = (one + chance.integers(1, models, 4000)) % models
    won = chance.random(4000) < 1 / (1 + np.exp(STRENGTHS[other] - STRENGTHS[one]))
    names = np.array(MODELS)
    day = (START + timedelta(days=night)).isoformat()
    columns = {"winner": np.where(won, names[one], names[other]), "loser": np.where(won, names[other], names[one])}
    judges = [f"j{k}" for k in chance.integers(0, 20_000, 4000)]
    return pa.table({"judge": judges, "day": [day] * 4000, "id": [f"{night}-{k}" for k in range(4000)], **columns})


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    ledger = qr.Ledger.create(folder / "budget.db", 2, 1e-6, data="arena 2026", unit="person")
    board = qr.Board.create(
        folder / "arena.board", MODELS[:3], epsilon=2, delta=1e-6, ledger=ledger, every="day", horizon=365, start=START
    )
    for night in range(NIGHTS):
        if night == 2:
            board.add_items(["delta"])  # from this night on
        models = 4 if night >= 2 else 3
        until = START + timedelta(days=night)
        board.update(votes_of(night, models), day_column="day", id="id", person="judge", until=until)
        print(board.summary())
    if board.hidden() is None:
        print(board.release())
    board.verify()
    print(f"spent once, for the whole year: ε = {ledger.spent:g}")
