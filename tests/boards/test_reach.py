"""How far one person moves all that a board publishes: whole streams through the real code, without the noise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from quietrank.boards.board import Board
from quietrank.ledger.book import BudgetLedger
from quietrank.mechanisms.horizon import STEP
from tests.boards.arena import without_noise

START = date(2026, 1, 1)
ITEMS = ["a", "b", "c"]
Row = tuple[str, str, str, str, int, int]
"""person, winner, loser, id, the day it says, and the day from which on it is seen"""
OTHERS: list[Row] = [
    ("x", "a", "b", "1", 1, 1),
    ("x", "b", "c", "2", 2, 2),
    ("y", "c", "a", "1", 1, 3),
    ("y", "a", "c", "7", 3, 3),
]


def streamed(
    folder: Path, rows: Sequence[Row], T: int, monkeypatch: Any, gone: dict[int, set[str]], **terms: Any
) -> Any:
    """Everything that would be published, exactly: (day, entry), in votes, exposures times β."""
    folder.mkdir(parents=True)
    neighbours = terms.get("neighbours", "replace")
    BudgetLedger.create(folder / "ledger", 2, 1e-3, data="reach", unit="person", neighbours=neighbours)
    seen = without_noise(monkeypatch)
    made = Board.create(
        folder / "board", ITEMS, epsilon=2, delta=1e-3, ledger=folder / "ledger", horizon=T, every="day", start=START,
        **terms,
    )  # fmt: skip
    for day in range(1, T + 1):
        there = [row for row in rows if row[5] <= day and row[3] not in gone.get(day, set())]
        columns = list(zip(*there, strict=True)) if there else [()] * 6
        names = ["person", "winner", "loser", "id"]
        table: dict[str, Any] = {n: pa.array(list(c), pa.string()) for n, c in zip(names, columns, strict=False)}
        table["day"] = pa.array([START + timedelta(days=k - 1) for k in columns[4]], pa.date32())
        assert made.update(pa.table(table), day_column="day", id="id", until=START + timedelta(days=day - 1)) == [day]
    noise = made.terms.noise
    beta = float(noise.statistic.beta)
    return np.array([[*e.net_wins, *(beta * e.exposures)] for e in seen]) * float(STEP), noise


def moved(tmp_path: Path, one: Sequence[Row], other: Sequence[Row], T: int, monkeypatch: Any, **options: Any) -> float:
    """The square of the distance between the streams, as a part of the square of the claimed reach."""
    gone = options.pop("gone", {})
    sides = [
        streamed(tmp_path / name, [*OTHERS, *rows], T, monkeypatch, gone, **options)
        for name, rows in (("one", one), ("other", other))
    ]
    (first, noise), (second, _) = sides
    return float(np.square(first - second).sum() / Fraction(noise.reach))


def votes(person: str, says: Sequence[tuple[str, str, int, int]]) -> list[Row]:
    return [(person, won, lost, str(k), day, seen) for k, (won, lost, day, seen) in enumerate(says)]


MANY = 40
WORST = {
    "all on the first day, and the opposite": (
        votes("u", [("a", "b", 1, 1)] * MANY), votes("u", [("b", "a", 1, 1)] * MANY), "replace"
    ),
    "every day the same, and the opposite": (
        votes("u", [("a", "b", t, t) for t in range(1, 5)] * MANY),
        votes("u", [("b", "a", t, t) for t in range(1, 5)] * MANY),
        "replace",
    ),
    "there or not": (votes("u", [("a", "b", 1, 1)] * MANY), [], "add-remove"),
    "the last day alone": (votes("u", [("a", "b", 4, 4)] * MANY), votes("u", [("b", "a", 4, 4)] * MANY), "replace"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORST)
@pytest.mark.few(1)
def test_the_claimed_reach_is_reached(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To 99 %: the bound is not slack, whenever somebody votes."""
    one, other, neighbours = WORST[name]
    assert 0.99**2 <= moved(tmp_path, one, other, 4, monkeypatch, clip=1.5, neighbours=neighbours) <= 1


def random_person(rng: np.random.Generator, T: int) -> list[Row]:
    """Votes on many days, that come late, turn round, and cancel."""
    said: list[tuple[str, str, int, int]] = []
    for _ in range(rng.integers(1, 7)):
        day = int(rng.integers(1, T + 1))
        won, lost = rng.permutation(ITEMS)[:2]
        said += [(str(won), str(lost), day, int(rng.integers(day, T + 1)))] * int(rng.integers(1, 9))
    return votes(str(rng.choice(["u", "v"])), said)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.few(1)
def test_whole_streams_move_no_further_than_claimed(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One person's rows replaced by any others: that come on many days, late, vanish, return, and share their ids with
    those of others; with a window and without, in groups of days of any length."""
    rng = np.random.default_rng(seed)
    T = int(rng.integers(2, 6))
    one, other = (random_person(rng, T) for _ in range(2))
    gone = {int(t): {str(k) for k in rng.integers(0, 9, 4)} for t in rng.integers(1, T + 1, 2)}
    window = None if seed % 2 else int(rng.integers(1, T + 1))
    assert moved(tmp_path, one, other, T, monkeypatch, clip=1.5, window=window, gone=gone) <= 1


def test_the_clip_of_a_single_release_is_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the norm of the sum. For and against in turns cancels in it, and not in what is published."""
    from quietrank.mechanisms.stream import Factor

    turns = [("a", "b", t, t) if t % 2 else ("b", "a", t, t) for t in range(1, 7)]
    one, other = (
        votes("u", turns * MANY),
        votes("u", [(lost, won, said, seen) for won, lost, said, seen in turns] * MANY),
    )
    assert moved(tmp_path / "honest", one, other, 6, monkeypatch, clip=1.5) <= 1
    monkeypatch.setattr(Factor, "gram", lambda self, day: [self.square] * day)
    assert moved(tmp_path / "planted", one, other, 6, monkeypatch, clip=1.5) > 1


def test_a_limit_per_day_is_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: everybody starts anew every day."""
    from quietrank.mechanisms.horizon import Norm

    honest = Norm.weight
    monkeypatch.setattr(Norm, "weight", lambda self, before, mixed, square: honest(self, 0, 0, square))
    one, other, _ = WORST["every day the same, and the opposite"]
    assert moved(tmp_path, one, other, 4, monkeypatch, clip=1.5) > 1


def test_duplicates_by_id_alone_are_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: whoever uses the ids of others decides whether their votes count."""
    from quietrank.votes.daily import kept

    honest = kept.Kept.take

    def by_id(self: Any, first: int, last: int, joined: Any) -> Any:
        first_of_id = "row_number() OVER (PARTITION BY vote ORDER BY y, a, b) = 1"
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE arrived AS SELECT * FROM arrived QUALIFY {first_of_id}")
        return honest(self, first, last, joined)

    monkeypatch.setattr(kept.Kept, "take", by_id)
    others = [(f"p{k}", "a", "b", str(k), 1, 1) for k in range(12)]
    one = [("u", "b", "c", "none", 1, 1)]
    other = [("u", "a", "b", str(k), 1, 1) for k in range(12)]
    assert moved(tmp_path, [*others, *one], [*others, *other], 2, monkeypatch, clip=0.5) > 1
