"""The files of a board: one at rest, only one process at a time, and a log that is lost or of another file."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from quietrank.boards.board import Board, confidential
from quietrank.errors import BoardError, LedgerError
from quietrank.votes.daily import kept
from tests.boards.arena import new_board, some_votes, update


def wal(board: Board) -> Path:
    return confidential(board.path).with_name(f"{confidential(board.path).name}.wal")


def cut_off(board: Board, day: int, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An update after which the log was not taken up; returns the log."""
    with monkeypatch.context() as patched:
        patched.setattr(kept, "settle", lambda path: None)
        update(board, some_votes(day), day)
    return wal(board).read_bytes()


def test_at_rest_there_is_one_file_that_nobody_else_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is there only while it is needed; neither it nor the file is open to others."""
    board = new_board(tmp_path)
    update(board, some_votes(1), 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board", "board.confidential", "ledger"]
    cut_off(board, 2, monkeypatch)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (confidential(board.path), wal(board))] == [0o600, 0o600]
    update(board, some_votes(3), 3)
    assert not wal(board).exists()
    assert stat.S_IMODE(confidential(board.path).stat().st_mode) == 0o600
    Board.open(board.path).verify()


def test_a_log_that_is_lost_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is ahead; nothing is drawn again. With the log the board goes on."""
    board = new_board(tmp_path)
    log = cut_off(board, 2, monkeypatch)
    wal(board).unlink()
    with pytest.raises(LedgerError, match="older state"):
        update(Board.open(board.path), some_votes(3), 3)
    wal(board).write_bytes(log)
    assert update(Board.open(board.path), some_votes(3), 3) == [3]


def test_a_log_of_an_earlier_state_or_of_another_board_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = new_board(tmp_path)
    earlier = cut_off(board, 1, monkeypatch)
    update(board, some_votes(2), 2)
    (tmp_path / "other").mkdir()
    other = cut_off(new_board(tmp_path / "other"), 1, monkeypatch)
    for log in (earlier, other):
        wal(board).write_bytes(log)
        with pytest.raises(BoardError, match="cannot be used"):
            update(Board.open(board.path), some_votes(3), 3)
    wal(board).unlink()
    assert update(Board.open(board.path), some_votes(3), 3) == [3]


def test_a_new_board_beside_the_log_of_another_is_refused(tmp_path: Path) -> None:
    (tmp_path / "board.confidential.wal").write_bytes(b"left")
    with pytest.raises(BoardError, match="left of another board"):
        new_board(tmp_path)


def test_one_update_at_a_time(tmp_path: Path) -> None:
    """In this process and in another, and by another name."""
    board = new_board(tmp_path)
    (tmp_path / "link").symlink_to(board.path)
    with kept.opened(confidential(board.path)):
        for name in ("board", "link"):
            with pytest.raises(BoardError, match="being updated"):
                update(Board.open(tmp_path / name), some_votes(1), 1)
        words = "import sys; from quietrank.boards.board import Board; Board.open(sys.argv[1]).add_items(['z'])"
        other = subprocess.run([sys.executable, "-c", words, tmp_path / "link"], capture_output=True, text=True)
        assert "BoardError" in other.stderr
        assert "being updated by another process" in other.stderr
    assert update(Board.open(tmp_path / "link"), some_votes(1), 1) == [1]


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    """A half-written copy has everybody in it; so does a second name of the file."""
    board = new_board(tmp_path)
    draft, second = tmp_path / ".board.confidential.part", tmp_path / ".quietrank-0123456789ab.part"
    shutil.copy(confidential(board.path), draft)
    os.link(confidential(board.path), second)
    board.forget("somebody")
    assert not draft.exists()
    assert not second.exists()
