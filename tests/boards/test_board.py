"""Boards: each day once, late and vanished rows, ids, copies and backups, items that join, people who are forgotten."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from quietrank.boards import public_file
from quietrank.boards.board import Board, confidential
from quietrank.boards.log import Log
from quietrank.errors import BoardError, BudgetError, LedgerError, QuietrankError, VotesError
from quietrank.ledger.book import BudgetLedger
from quietrank.mechanisms.stream import Factor
from quietrank.publish.release import Release
from quietrank.votes.daily import kept
from quietrank.votes.daily.limits import Encoded
from tests.boards.arena import ITEMS, START, Row, day, new_board, some_votes, table, update


def published(board: Board) -> list[list[int]]:
    return [[*one.net_wins.tolist(), *one.exposures.tolist()] for one in board.log.days]


# ---- paying ---------------------------------------------------------------------------------------------------------


def test_a_ledger_of_exactly_the_promise_pays(tmp_path: Path) -> None:
    """Once, for the whole horizon; there is nothing left, and every day is published all the same."""
    board = new_board(tmp_path)
    ledger = BudgetLedger.open(tmp_path / "ledger")
    assert (ledger.spent, ledger.remaining, len(ledger.entries())) == (2.0, 0.0, 1)
    assert update(board, some_votes(3), 3) == [1, 2, 3]
    assert (len(ledger.entries()), ledger.spent) == (1, 2.0)
    ledger.verify()


def test_without_the_money_there_is_no_board(tmp_path: Path) -> None:
    BudgetLedger.create(tmp_path / "ledger", 1, 1e-6, data="arena", unit="person")
    with pytest.raises(BudgetError):
        new_board(tmp_path)
    assert not (tmp_path / "board").exists()


def test_a_board_whose_making_was_cut_off_is_not_paid_for_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the payment and before the public file; the same command again makes the board."""
    monkeypatch.setattr(public_file, "copy", lambda path, lines: (_ for _ in ()).throw(OSError("cut off")))
    with pytest.raises(OSError, match="cut off"):
        new_board(tmp_path)
    monkeypatch.undo()
    board = new_board(tmp_path)
    assert len(BudgetLedger.open(tmp_path / "ledger").entries()) == 1
    assert update(board, some_votes(2), 2) == [1, 2]
    with pytest.raises(BoardError, match="exists already"):
        new_board(tmp_path)


# ---- each day once --------------------------------------------------------------------------------------------------


def test_every_night_or_all_at_once_is_the_same(tmp_path: Path, exact: list[Encoded]) -> None:
    """Without late votes: nightly, twice a night, or after a gap, the same is counted."""
    rows = some_votes(5)
    for name, nights in (("nightly", [1, 2, 3, 4, 5]), ("twice", [1, 1, 3, 3, 5]), ("once", [5])):
        (tmp_path / name).mkdir()
        board = new_board(tmp_path / name)
        done = [number for night in nights for number in update(board, rows, night)]
        assert done == [1, 2, 3, 4, 5]
    streams = [published(Board.open(tmp_path / name / "board")) for name in ("nightly", "twice", "once")]
    assert streams[0] == streams[1] == streams[2]


def test_what_is_published_is_the_encoded_sum(tmp_path: Path, exact: list[Encoded]) -> None:
    """Nobody is bounded: net wins and exposures of each day, weighted by the rounded roots."""
    rows: list[Row] = [("u", "a", "b", "1", 1), ("v", "a", "c", "2", 2), ("v", "b", "c", "3", 3)]
    board = new_board(tmp_path, clip=100)
    update(board, rows, 3)
    roots = [int(r) for r in Factor(board.terms.horizon).roots[:3]]
    days = [[1, -1, 0], [1, 0, -1], [0, 1, -1]]
    for t in (1, 2, 3):
        net = np.sum([roots[t - j] * np.array(days[j - 1]) for j in range(1, t + 1)], axis=0) * 2**20
        assert board.log.days[t - 1].net_wins.tolist() == net.tolist()


def test_only_days_that_are_over_are_counted(tmp_path: Path, exact: list[Encoded]) -> None:
    """Whatever days the votes say; the future is refused, and the horizon ends."""
    board = new_board(tmp_path, horizon=3)
    with pytest.raises(BoardError, match="a day that is over"):
        board.update(table([]), until="2999-01-01", day_column="day")
    assert update(board, [("u", "a", "b", "1", 3)], 1) == [1]
    assert set(published(board)[0]) == {0}
    assert update(board, [("u", "a", "b", "1", 3)], 30) == [2, 3]
    assert published(board)[2][0] > 0
    assert update(board, some_votes(9), 40) == []


def test_weeks_are_seven_days(tmp_path: Path, exact: list[Encoded]) -> None:
    board = new_board(tmp_path, every="week", horizon=4)
    assert update(board, some_votes(20), 13) == [1]
    assert update(board, some_votes(20), 14) == [2]
    assert update(board, some_votes(20), 20) == []


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(["2026-01-02T10:00:00Z", "2026-01-02 23:59:59"]),
        pa.array(["2026-01-03T01:00:00+02:00", "2026-01-02"]),
        pa.array([1767312000, 1767398399]),
        pa.array([1767312000.5, 1767398399000.0]),
        pa.array(["1767312000", "1767398399"]),
        pa.array([1767312000, 1767398399], pa.timestamp("s")),
        pa.array([1767312000, 1767398399], pa.timestamp("s", tz="America/New_York")),
    ],
    ids=["text", "offset", "seconds", "milliseconds", "seconds as text", "times", "times with a zone"],
)
@pytest.mark.few(2)
def test_a_day_may_be_written_in_many_ways(cells: Any, tmp_path: Path, exact: list[Encoded]) -> None:
    """All of these are the second day, in UTC."""
    board = new_board(tmp_path)
    votes = pa.table({"person": ["u", "v"], "winner": ["a", "a"], "loser": ["b", "b"], "when": cells})
    assert board.update(votes, until=day(2), day_column="when") == [1, 2]
    assert [one[0] for one in published(board)] == [0, 2 * 2**32]


# ---- rows -----------------------------------------------------------------------------------------------------------


def test_late_changed_and_vanished_rows(tmp_path: Path, exact: list[Encoded]) -> None:
    """Late votes count when they are first seen; what was counted stays, whatever becomes of its row."""
    board = new_board(tmp_path)
    update(board, [("u", "a", "b", "1", 1)], 1)
    changed: Row = ("u", "b", "a", "1", 1)
    late: Row = ("v", "c", "b", "9", 1)
    update(board, [changed, late], 2)
    update(board, [], 3)
    roots = Factor(board.terms.horizon).roots
    unit = 2**20
    assert board.log.days[0].net_wins.tolist() == [unit * 2**12, -unit * 2**12, 0]
    assert board.log.days[1].net_wins.tolist() == [unit * roots[1], -unit * (roots[0] + roots[1]), unit * roots[0]]
    assert board.log.days[2].net_wins.tolist() == [unit * roots[2], -unit * (roots[1] + roots[2]), unit * roots[1]]


def test_two_people_may_share_an_id(tmp_path: Path, exact: list[Encoded]) -> None:
    """Votes are known by person and id; the same vote of one person counts once, in one reading or in two."""
    board = new_board(tmp_path)
    update(board, [("u", "a", "b", "1", 1), ("v", "a", "b", "1", 1), ("u", "a", "b", "1", 1)], 1)
    assert board.log.days[0].exposures[0] == 2 * 2 * 2**32
    update(board, [("u", "a", "b", "1", 2), ("u", "a", "b", "2", 2)], 2)
    roots = Factor(board.terms.horizon).roots
    assert board.log.days[1].exposures[0] == 2 * 2**20 * (2 * roots[1] + roots[0])


def test_without_ids_a_vote_is_what_it_says(tmp_path: Path, exact: list[Encoded]) -> None:
    """Two votes that say the same are two; the same two again are none."""
    board = new_board(tmp_path)
    rows: list[Row] = [("u", "a", "b", "", 1), ("u", "a", "b", "", 1)]
    update(board, rows, 1, id=None)
    update(board, [*rows, ("u", "a", "b", "", 1)], 2, id=None)
    roots = Factor(board.terms.horizon).roots
    assert board.log.days[1].exposures[0] == 2 * 2**20 * (2 * roots[1] + roots[0])


def test_rows_that_cannot_be_used_are_refused_or_skipped(tmp_path: Path, exact: list[Encoded]) -> None:
    """Only new rows of days that are over are looked at; nothing is counted if one is refused."""
    board = new_board(tmp_path)
    rows: list[Row] = [("u", "a", "b", "1", 1), ("v", "a", "nobody", "2", 1), ("v", "a", "nobody", "3", 2)]
    with pytest.raises(VotesError, match=r"not on the declared list: 1 rows.*add-items"):
        update(board, rows, 1)
    assert board.days == 0
    assert update(board, rows, 1, skip_invalid=True) == [1]
    odd = pa.table({"person": ["w"], "winner": ["a"], "loser": ["b"], "day": ["yesterday"], "id": ["1"]})
    with pytest.raises(VotesError, match="the day cannot be read: 1 rows"):
        board.update(odd, until=day(2), day_column="day", id="id")


def test_a_column_without_days_is_refused_before_a_day_is_due(tmp_path: Path) -> None:
    """Not only weeks later; other rows are judged once their day is over."""
    board = new_board(tmp_path, every="week")
    rows: list[Row] = [("u", "a", "b", "1", 1), ("v", "a", "nobody", "2", 2)]
    assert update(board, rows, 2) == []
    with pytest.raises(VotesError, match="the day cannot be read: 1 rows"):
        update(board, rows, 2, day_column="winner")
    with pytest.raises(VotesError, match="names the person"):
        board.update(table(rows).drop(["person"]), until=day(2), day_column="day")


def test_a_person_is_one_whatever_the_type_of_the_id(tmp_path: Path, exact: list[Encoded]) -> None:
    """7 one night and "7" the next: the limit is that of one person."""
    board = new_board(tmp_path, clip=0.5)
    number = pa.table({"person": [7] * 9, "winner": ["a"] * 9, "loser": ["b"] * 9, "day": [day(1)] * 9})
    board.update(number, until=day(1), day_column="day")
    text = pa.table({"person": ["7"] * 9, "winner": ["a"] * 9, "loser": ["b"] * 9, "day": [day(2)] * 9})
    board.update(text, until=day(2), day_column="day")
    roots = Factor(board.terms.horizon).roots
    first = board.log.days[0].net_wins[0]
    assert board.log.days[1].net_wins[0] <= first * roots[1] / roots[0] + 1e-3 * first


# ---- items ----------------------------------------------------------------------------------------------------------


def test_items_join_with_a_shorter_history(tmp_path: Path, exact: list[Encoded]) -> None:
    """From the next day on; votes on them from before are never counted, late or not."""
    board = new_board(tmp_path)
    update(board, [("u", "a", "b", "1", 1)], 1)
    board.add_items(["d"])
    before: Row = ("u", "d", "b", "2", 1)
    update(board, [before, ("v", "d", "a", "3", 2)], 2)
    assert [len(one.net_wins) for one in board.log.days] == [3, 4]
    assert board.log.days[1].net_wins[3] == 2**32
    assert Board.open(board.path).log.since == (1, 1, 1, 2)
    with pytest.raises(QuietrankError, match="declared twice"):
        board.add_items(["a"])


def test_items_are_retired(tmp_path: Path, exact: list[Encoded]) -> None:
    """They are shown no longer, and who is left moves up; their votes count as before."""
    board = new_board(tmp_path)
    update(board, some_votes(2, people=2000), 2)
    whole = board.release()
    board.retire(["b"])
    shown = board.release()
    assert isinstance(whole, Release)
    assert isinstance(shown, Release)
    assert [row.item for row in shown] == [row.item for row in whole if row.item != "b"]
    assert [row.rank for row in shown] == [1, 2]
    assert [row.score for row in shown] == [row.score for row in whole if row.item != "b"]
    assert all(1 <= (row.rank_low or 0) <= row.rank <= (row.rank_high or 0) <= 2 for row in shown)
    assert Board.open(board.path).log.retired == {"b"}
    assert sorted(one.item for one in board.changes(1).changes) == ["a", "c"]
    with pytest.raises(BoardError, match="not on this board"):
        board.retire(["z"])
    with pytest.raises(BoardError, match="no item would be left"):
        board.retire(["a", "c"])


# ---- people ---------------------------------------------------------------------------------------------------------


def test_a_forgotten_person_does_not_return(tmp_path: Path, exact: list[Encoded]) -> None:
    """Nothing is left of their increments, not even in unused parts of the file; later votes do not count."""
    board = new_board(tmp_path)
    update(board, [("u", "a", "b", "1", 1), ("v", "a", "b", "1", 1)], 1)
    assert board.forget("u")
    assert not board.forget("u")
    update(board, [("u", "a", "b", "1", 1), ("u", "a", "b", "2", 2)], 2)
    roots = Factor(board.terms.horizon).roots
    assert board.log.days[1].exposures[0] == 2 * 2**20 * 2 * roots[1]


# ---- copies, backups, and what was written --------------------------------------------------------------------------


def test_a_copy_and_a_backup_are_refused(tmp_path: Path) -> None:
    """The ledger knows how far the board has come; a restored state, or the second of two copies, is left behind."""
    board = new_board(tmp_path)
    update(board, some_votes(2), 2)
    backup = {path: path.read_bytes() for path in (board.path, confidential(board.path))}
    shutil.copytree(tmp_path, tmp_path / "copy", ignore=shutil.ignore_patterns("ledger*"))
    update(board, some_votes(3), 3)
    shown = Board.open(board.path).log.lines
    for path, data in backup.items():
        path.write_bytes(data)
    with pytest.raises(LedgerError, match="continued from a copy"):
        update(Board.open(board.path), some_votes(4), 4)
    with pytest.raises(LedgerError, match="continued from a copy"):
        update(Board.open(tmp_path / "copy" / "board"), some_votes(3), 3)
    board.path.write_text("".join(f"{line}\n" for line in shown))
    with pytest.raises(LedgerError, match="continued from a copy"):
        update(Board.open(board.path), some_votes(4), 4)


def test_a_day_that_was_committed_is_shown_and_never_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off after the commit, before the ledger; and after the ledger, before the public file."""
    board, copy = new_board(tmp_path), public_file.copy

    def no_note(*words: object) -> None:
        raise OSError("cut off")

    def no_day(path: Path, lines: list[str]) -> None:
        copy(path, lines[: len(public_file.read(path))])
        if len(lines) > len(public_file.read(path)):
            raise OSError("cut off")

    for number, (place, name, fault) in enumerate(
        [(BudgetLedger, "advance", no_note), (public_file, "copy", no_day)], 1
    ):
        before = Board.open(board.path).log.lines
        monkeypatch.setattr(place, name, fault)
        with pytest.raises(OSError, match="cut off"):
            update(Board.open(board.path), some_votes(number), number)
        monkeypatch.undo()
        with kept.opened(confidential(board.path)) as opened:
            drawn = opened.lines
        assert Board.open(board.path).log.lines == before
        assert len(drawn) == len(before) + (2 if number == 1 else 1)  # how votes are read comes with the first day
        assert update(Board.open(board.path), some_votes(number), number) == []
        assert list(Board.open(board.path).log.lines) == drawn


def test_a_board_that_was_edited_is_noticed(tmp_path: Path) -> None:
    board = new_board(tmp_path)
    update(board, some_votes(2), 2)
    lines = board.path.read_text().splitlines()
    for place, old, new in ((0, '"epsilon":2.0', '"epsilon":1.0'), (2, '"id":"id"', '"id":null'), (3, "[", "[1,")):
        edited = [line.replace(old, new, 1) if k == place else line for k, line in enumerate(lines)]
        with pytest.raises(BoardError, match="damaged"):
            Log.of(edited)
    with pytest.raises(BoardError, match="damaged"):
        Log.of([*lines[:3], lines[4]])
    board.path.write_text("\n".join([*lines[:3], *lines[4:]]) + "\n")
    with pytest.raises(BoardError, match="damaged"):
        Board.open(board.path)


def test_a_line_that_was_cut_off_was_never_shown(tmp_path: Path) -> None:
    """A torn last line of the public file is completed by the next update."""
    board = new_board(tmp_path)
    update(board, some_votes(2), 2)
    whole = board.path.read_bytes()
    board.path.write_bytes(whole[:-9])
    torn = Board.open(board.path)
    assert torn.days == 1
    assert update(torn, some_votes(2), 2) == []
    assert board.path.read_bytes() == whole


def test_boards_from_before_go_on(tmp_path: Path) -> None:
    """With delta no draw is kept: a confidential file without a place for draws will do, and the terms say the same."""
    board = new_board(tmp_path)
    update(board, some_votes(1), 1)
    with kept.opened(confidential(board.path)) as opened:
        opened.db.execute("DROP TABLE kept.draws")
    assert set(board.terms.to_dict()["noise"]) == {"sigma", "share", "reach"}
    assert update(Board.open(board.path), some_votes(2), 2) == [2]
    Board.open(board.path).verify()


def test_words_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    board = new_board(tmp_path)
    with pytest.raises(VotesError, match="day_column"):
        board.update(table([]), until=day(1))
    with pytest.raises(VotesError, match="fixed when a board is made"):
        board.update(table([]), day_column="day", items=ITEMS)
    with pytest.raises(BoardError, match="such as 2026-11-16"):
        board.update(table([]), day_column="day", until="soon")
    confidential(board.path).rename(tmp_path / "lost")
    with pytest.raises(BoardError, match="started anew and paid for again"):
        update(board, [], 1)
    with pytest.raises(BoardError, match="there is no board"):
        Board.open(tmp_path / "nothing")
    assert board.terms.start == START
