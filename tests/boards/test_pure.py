"""Boards without delta: what one person moves of all sums, exact boards, draws that are kept, and what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from quietrank.boards.board import Board, confidential
from quietrank.boards.history import Reading
from quietrank.crossing import cross_board
from quietrank.errors import BoardError, PrivacyError, QuietrankError
from quietrank.ledger.book import BudgetLedger
from quietrank.mechanisms import tents as tents_module
from quietrank.mechanisms.horizon import GRID, STEP, Weight
from quietrank.mechanisms.tents import LaplaceBoardNoise, Tents
from quietrank.promise.promise import FINE
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.release import Release
from quietrank.votes.daily import kept
from quietrank.votes.daily.limits import Encoded
from tests.boards.arena import START, Row, day, new_board, some_votes, table, update

FOUR = ["a", "b", "c", "d"]
Seen = tuple[str, str, str, str, int, int]
"""as a row of the arena, and the day from which on it is seen"""


@pytest.fixture
def with_tents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tents on boards of a few days, so that tests need not be long."""
    monkeypatch.setattr(tents_module, "SHORT", 1)


# ---- how far one person moves all sums ------------------------------------------------------------------------------


def increments(folder: Path, rows: Sequence[Seen], T: int, exact: list[Encoded], **terms: Any) -> tuple[Any, Board]:
    """What is counted on each day by the real code, in steps: (day, entry), net wins and then exposures."""
    folder.mkdir(parents=True)
    exact.clear()
    BudgetLedger.create(
        folder / "ledger", 2, 0.0, data="a", unit="person", neighbours=terms.get("neighbours", "replace")
    )
    made = Board.create(
        folder / "board", FOUR, epsilon=2, pure=True, ledger=folder / "ledger", horizon=T, every="day", start=START,
        **terms,
    )  # fmt: skip
    for t in range(1, T + 1):
        assert update(made, [row[:5] for row in rows if row[5] <= t], t) == [t]
    boards_so_far = np.array([[*one.net_wins, *one.exposures] for one in exact]) // GRID
    return np.diff(boards_so_far, axis=0, prepend=0), made


def loss(folder: Path, one: Sequence[Seen], other: Sequence[Seen], T: int, exact: list[Encoded], **terms: Any) -> float:
    """The privacy loss of all sums between two streams, as a part of ε: Σ_k |C(x − x')|_k/b_k, over both counts."""
    others: list[Seen] = [("x", "a", "b", "1", 1, 1), ("y", "c", "a", "1", 1, T)]
    x, made = increments(folder / "one", [*others, *one], T, exact, **terms)
    x_, _ = increments(folder / "other", [*others, *other], T, exact, **terms)
    noise = made.terms.noise
    assert isinstance(noise, LaplaceBoardNoise)
    C = np.vstack([np.eye(T, dtype=np.int64), noise.tents.heights])
    half = x.shape[1] // 2
    scales = np.array([[side.scale for side in noise.noises(k + 1) for _ in range(half)] for k in range(len(C))])
    return float((np.abs(C @ (x - x_)) / scales).sum()) / 2


def votes(person: str, says: Sequence[tuple[str, str, int, int]]) -> list[Seen]:
    return [(person, won, lost, str(k), on, seen) for k, (won, lost, on, seen) in enumerate(says)]


MANY = 9
T = 4
WORST = {
    "all on the first day, and others": (votes("u", [("a", "b", 1, 1)] * MANY), votes("u", [("c", "d", 1, 1)] * MANY)),
    "every day": (
        votes("u", [("a", "b", t, t) for t in range(1, T + 1)] * MANY),
        votes("u", [("c", "d", t, t) for t in range(1, T + 1)] * MANY),
    ),
    "the last day alone": (votes("u", [("a", "b", T, T)] * MANY), votes("u", [("d", "c", T, T)] * MANY)),
    "the first day, and the last": (votes("u", [("a", "b", 1, 1)] * MANY), votes("u", [("a", "b", T, T)] * MANY)),
}  # fmt: skip


@pytest.mark.usefixtures("with_tents")
@pytest.mark.parametrize("name", WORST)
@pytest.mark.few(1)
def test_the_whole_loss_is_reached(name: str, tmp_path: Path, exact: list[Encoded]) -> None:
    """To 99 %, whenever somebody votes; votes that only move to another day stay in part in the same tents."""
    found = loss(tmp_path, *WORST[name], T, exact, max_per_person=3)
    assert 0.99 * (0.7 if "and the last" in name else 1) <= found <= 1


@pytest.mark.usefixtures("with_tents")
def test_the_whole_loss_is_reached_where_somebody_joins(tmp_path: Path, exact: list[Encoded]) -> None:
    one = votes("u", [("a", "b", 2, 2)] * MANY)
    assert 0.99 <= loss(tmp_path, one, [], 3, exact, max_per_person=3, neighbours="add-remove") <= 1


def random_person(rng: np.random.Generator) -> list[Seen]:
    """Votes on many days, that come late, turn round, and cancel."""
    said: list[tuple[str, str, int, int]] = []
    for _ in range(rng.integers(1, 7)):
        on = int(rng.integers(1, T + 1))
        won, lost = rng.permutation(FOUR)[:2]
        said += [(str(won), str(lost), on, int(rng.integers(on, T + 1)))] * int(rng.integers(1, 5))
    return votes(str(rng.choice(["u", "v"])), said)


@pytest.mark.usefixtures("with_tents")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.few(1)
def test_whole_streams_lose_no_more_than_promised(seed: int, tmp_path: Path, exact: list[Encoded]) -> None:
    """One person's rows replaced by any others, on any days, late or not, with a window and without."""
    rng = np.random.default_rng(seed)
    one, other = (random_person(rng) for _ in range(2))
    assert loss(tmp_path, one, other, T, exact, max_per_person=3, window=2 if seed % 2 else None) <= 1


@pytest.mark.usefixtures("with_tents")
def test_a_limit_per_day_is_not_enough(tmp_path: Path, exact: list[Encoded], monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: everybody starts anew every day."""
    honest = Weight.weight
    monkeypatch.setattr(Weight, "weight", lambda self, before, mixed, added: honest(self, 0, mixed, added))
    assert loss(tmp_path, *WORST["every day"], T, exact, max_per_person=3) > 3


@pytest.mark.usefixtures("with_tents")
def test_noise_for_days_alone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the scale is that of the days, as if votes were not in tents as well. Neither is such noise paid
    for, nor is a board opened that has it."""
    with monkeypatch.context() as planted:
        planted.setattr(Tents, "highest", 0)
        board = new_board(tmp_path, pure=True)
        noise = board.terms.noise
    assert noise.loss.epsilon == pytest.approx(4)
    with pytest.raises(PrivacyError, match="costs more than it charges"):
        cross_board(noise, BudgetLedger.open(tmp_path / "ledger"), "planted")
    with pytest.raises(BoardError, match="its noise is not the one that its promise needs"):
        update(board, some_votes(1), 1)


# ---- what is published ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("with_tents")
def test_boards_are_the_exact_bounded_sums(tmp_path: Path, exact: list[Encoded]) -> None:
    """Day after day, with late votes, a window, and somebody who comes to the end of their limit."""
    rows: list[Row] = [("u", "a", "b", str(k), 1 + k // 2) for k in range(10)]
    board = new_board(tmp_path, horizon=5, pure=True, max_per_person=3, window=2)
    for t in range(1, 6):
        update(board, rows, t)
    counted = [2, 1, 0, 0, 0]
    for t in range(1, 6):
        net_wins, exposures = Reading(board.log, t).board()
        within = sum(counted[max(0, t - 2) : t])
        assert net_wins.tolist() == [within / 2, -within / 2, 0]
        assert exposures.tolist() == [within, within, 0]
    assert Reading(board.log, 5)._exposures_until(3).tolist() == [3, 3, 0]


def recomputed(board: Board) -> list[list[int]]:
    """What every day should have published: the exact sums, and every draw as it is kept."""
    days = []
    with kept.opened(confidential(board.path)) as opened:
        for number, one in enumerate(board.log.days, 1):
            n, noise = board.log.listed(number), board.terms.noise
            net, met = opened.sums(number, 1, n)
            y = [*(GRID * net.sum(axis=0)[0]), *(2 * GRID * met.sum(axis=0)[0])]
            for (draw, place), values in opened.drawn(n).items():
                if draw in noise.mixing(number) and place < n:
                    for side in (0, 1):
                        y[place + side * n] += noise.mixing(number)[draw] * values[side]
            assert len(one.net_wins) == n
            days.append(y)
    return days


def published(board: Board) -> list[list[int]]:
    return [[*one.net_wins.tolist(), *one.exposures.tolist()] for one in board.log.days]


@pytest.mark.usefixtures("with_tents")
def test_every_draw_is_made_once(tmp_path: Path) -> None:
    """With the real noise: all days agree with the draws that are kept, over several updates and for an item that
    joined, which has no draws for sums that ended before."""
    board = new_board(tmp_path, horizon=6, pure=True)
    update(board, some_votes(2), 2)
    board.add_items(["d"])
    update(board, some_votes(6), 4)
    update(board, some_votes(6), 6)
    assert published(board) == recomputed(board)
    with kept.opened(confidential(board.path)) as opened:
        keys = opened.db.execute("SELECT draw, part, item FROM kept.draws").fetchall()
    assert len(keys) == len(set(keys))
    assert {draw for draw, _, item in keys if item == 3 and draw <= 6} <= {3, 4, 5, 6}
    board.verify()


@pytest.mark.usefixtures("with_tents")
def test_draws_of_groups_stay_with_their_items(tmp_path: Path) -> None:
    """Where items join, those of the second group move to other places in the vector; their draws move with them."""
    board = new_board(tmp_path, pure=True, by="lang", groups=["en", "de"])
    for t in (1, 2):
        votes_of_day: list[Row] = [(f"p{k}", "a", "b", f"{t}-{k}", t) for k in range(4)]
        langs = {"lang": pa.array(["en", "de"] * 2)}
        board.update(table(votes_of_day, **langs), until=day(t), day_column="day", id="id")
        board.add_items([f"new{t}"])
    board.update(table(votes_of_day, **langs), until=day(4), day_column="day", id="id")
    board.verify()


@pytest.mark.usefixtures("with_tents")
def test_a_draw_that_is_made_twice_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: what was drawn for earlier days is forgotten. Two draws for one sum average out."""
    board = new_board(tmp_path, horizon=6, pure=True)
    update(board, some_votes(2), 1)
    honest = kept.Kept.drawn
    monkeypatch.setattr(kept.Kept, "drawn", lambda self, items: {})
    update(board, some_votes(2), 2)
    monkeypatch.setattr(kept.Kept, "drawn", honest)
    with kept.opened(confidential(board.path)) as opened:
        keys = opened.db.execute("SELECT draw, part, item FROM kept.draws").fetchall()
    assert len(keys) > len(set(keys))
    assert published(board) != recomputed(board)
    with pytest.raises(BoardError, match="is not the one that is kept"):
        board.verify()


def test_the_noise_has_the_size_it_should_have(tmp_path: Path) -> None:
    """Of one day with many items and no votes: within a factor that fails less than once in a million runs."""
    names = [f"m{k}" for k in range(400)]
    BudgetLedger.create(tmp_path / "ledger", 2, 0.0, data="arena", unit="person")
    board = Board.create(
        tmp_path / "board", names, epsilon=2, delta=0, ledger=tmp_path / "ledger", horizon=20, every="day", start=START
    )
    update(board, [], 2)
    reading = Reading(board.log, 2)
    net_wins, exposures = reading.board()
    beta = float(board.terms.noise.statistic.beta)
    assert np.std(net_wins) == pytest.approx(reading.spreads[0], rel=0.4)
    assert np.std(exposures) == pytest.approx(reading.spreads[0] / beta, rel=0.4)
    assert board.hidden() is not None


# ---- paying, groups, and what is shown ------------------------------------------------------------------------------


def test_a_ledger_of_exactly_epsilon_pays(tmp_path: Path) -> None:
    """Once, with nothing of δ; the promise names none, and counts a person's votes over all days."""
    board = new_board(tmp_path, horizon=20, pure=True)
    ledger = BudgetLedger.open(tmp_path / "ledger")
    assert (ledger.spent, ledger.remaining) == (2.0, 0.0)
    assert "laplace noise on 20 days" in str(ledger.entries()[0])
    assert board.summary().endswith("ε = 2 per person for all 20 days together")
    rng = np.random.default_rng(1)
    rows: list[Row] = []
    for k in range(4000):
        i, j = rng.permutation(3)[:2]
        won, lost = (min(i, j), max(i, j)) if rng.random() < 0.8 else (i, j)
        rows.append((f"p{k}", "abc"[won], "abc"[lost], str(k), 1 + k % 2))
    update(board, rows, 2)
    release = board.release()
    assert isinstance(release, Release)
    assert [row.item for row in release] == ["a", "b", "c"]
    assert release.privacy.delta == 0
    assert "total weight of at most 5" in release.privacy.statement
    assert "for all 20 days together" in " ".join(release.assumptions)
    changed = board.changes(1)
    assert all(one.low < one.change < one.high for one in changed.changes)
    assert all((row.score_low or 0) < row.score < (row.score_high or 0) for row in release)


def test_groups_of_votes_are_bounded_as_one(tmp_path: Path, exact: list[Encoded]) -> None:
    """The weight is that of all groups together; a board for each."""
    board = new_board(tmp_path, pure=True, max_per_person=2, by="lang", groups=["en", "de"])
    rows: list[Row] = [("u", "a", "b", str(k), 1) for k in range(4)]
    langs = {"lang": pa.array(["en", "de", "de", "de"])}
    board.update(table(rows, **langs), until=day(1), day_column="day", id="id")
    assert [Reading(board.log, 1, part).board()[1].tolist() for part in (0, 1)] == [[0.5, 0.5, 0], [1.5, 1.5, 0]]
    many: list[Row] = [(f"p{k}", *(("a", "b"), ("b", "c"), ("a", "c"))[k % 3], f"n{k}", 2) for k in range(6000)]
    both = {"lang": pa.array(["en", "de"] * 3000)}
    board.update(table(many, **both), until=day(2), day_column="day", id="id")
    assert isinstance(board.release(), GroupedRelease)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"pure": True, "delta": 1e-6}, "leave delta out"),
        ({"pure": False, "delta": None}, "pure=True"),
        ({"pure": True, "delta": None, "clip": 3}, "leave clip out"),
        ({"max_per_person": 3}, "leave max_per_person out"),
        ({"pure": True, "max_per_person": 0}, "max_per_person must be a whole number"),
        ({"clip": 0}, "clip must be"),
    ],
)
def test_which_bound_goes_with_which_promise(terms: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(QuietrankError, match=message):
        new_board(tmp_path, **terms)
    assert not (tmp_path / "board").exists()


def test_delta_zero_is_pure(tmp_path: Path) -> None:
    board = new_board(tmp_path, delta=0)
    assert board.terms.noise.name == "laplace"
    assert float(STEP * GRID) == float(FINE)
    with pytest.raises(BoardError, match="exists already"):
        new_board(tmp_path, delta=0, max_per_person=6)
