"""How votes are read: the same in all updates of a board, from the first day that was counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.boards.board import Board
from quietrank.boards.log import Log
from quietrank.errors import BoardError
from quietrank.votes.daily.limits import Encoded
from tests.boards.arena import Row, day, new_board, some_votes, table, update

ROWS: list[Row] = [("u", "a", "b", "1", 1), ("v", "b", "c", "2", 2)]


def read(board: Board, until: int, **options: Any) -> list[int]:
    """The same votes with a second column for everything."""
    votes = table(ROWS)
    votes = votes.append_column("user", votes["person"]).append_column("vote", votes["id"])
    votes = votes.append_column("when", votes["day"]).append_column("lang", pa.array(["de", "en"]))
    return board.update(votes, until=day(until), **({"day_column": "day", "id": "id", "person": "person"} | options))


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        ({}, {"id": None}, "with id='id', and now they would be read without id: .*count again; .*use id='id' again"),
        ({"id": None}, {"id": "id"}, "without id, and now they would be read with id='id': .*leave id out"),
        ({}, {"id": "vote"}, "use id='id' again"),
        ({}, {"person": "user"}, "with person='person', .* person='user': .*second limit"),
        ({}, {"day_column": "when"}, "use day_column='day' again"),
        ({}, {"where": "lang = 'de'"}, "leave where out"),
        ({"where": "lang = 'de'"}, {}, 'use where="lang = .de." again'),
    ],
    ids=["no id", "an id", "other ids", "other people", "other days", "a condition", "no condition"],
)
def test_an_update_by_other_rules_is_refused(
    first: dict[str, Any], then: dict[str, Any], said: str, tmp_path: Path, exact: list[Encoded]
) -> None:
    """Whether or not a day is due, with what to do; nothing is counted, and the rules of before go on."""
    board = new_board(tmp_path)
    assert read(board, 1, **first) == [1]
    lines = board.log.lines
    for until in (1, 2):
        with pytest.raises(BoardError, match=said):
            read(Board.open(board.path), until, **then)
    assert Board.open(board.path).log.lines == lines
    assert read(Board.open(board.path), 2, **first) == [2]


def test_votes_without_ids_are_known_by_how_days_are_written(tmp_path: Path, exact: list[Encoded]) -> None:
    """The same days as text would make other votes of them; with ids it does not matter."""
    text = table(ROWS).set_column(4, "day", pa.array([str(day(1)), str(day(2))]))
    for name, vote in (("with", "id"), ("without", None)):
        (tmp_path / name).mkdir()
        board = new_board(tmp_path / name)
        assert update(board, ROWS, 1, id=vote) == [1]
        if vote is None:
            with pytest.raises(BoardError, match=r"of the type date, and now are of the type text: .*the former type"):
                board.update(text, until=day(2), day_column="day")
        else:
            assert board.update(text, until=day(2), day_column="day", id=vote) == [2]


def test_an_update_that_counts_nothing_fixes_nothing(tmp_path: Path, exact: list[Encoded]) -> None:
    """Because no day is due, or because rows were refused."""
    board = new_board(tmp_path)
    assert board.update(table(ROWS), until="2025-12-31", day_column="day") == []
    with pytest.raises(qr.QuietrankError, match="nothing was counted"):
        update(board, [("u", "a", "nobody", "1", 1)], 1, id=None)
    assert Board.open(board.path).log.rules is None
    assert update(board, ROWS, 1) == [1]
    assert board.log.rules is not None
    assert board.log.rules.id == "id"


def test_a_condition_is_stated(tmp_path: Path, exact: list[Encoded]) -> None:
    """In the public file and in every release, as it was understood; spelled otherwise it is the same."""
    board, rows = new_board(tmp_path), some_votes(2, people=2000)
    half = table(rows, lang=pa.array(["de", "en"] * (len(rows) // 2)))
    words: dict[str, Any] = {"day_column": "day", "id": "id"}
    assert board.update(half, until=day(1), where="lang = 'de'", **words) == [1]
    assert board.update(half, until=day(2), where="lang   =   'de'", **words) == [2]
    release = Board.open(board.path).release()
    assert isinstance(release, qr.Release)
    assert release.where == "lang = 'de'"
    assert "Only votes with lang = 'de' are counted" in " ".join(release.assumptions)
    assert json.loads(board.path.read_text().splitlines()[2])["rules"]["where"] == "lang = 'de'"


def test_a_board_from_before_remembers_from_its_next_update(
    tmp_path: Path, exact: list[Encoded], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boards that never wrote it down open, go on, and then hold to it."""
    board = new_board(tmp_path)
    with monkeypatch.context() as earlier:
        earlier.setattr(Log, "with_rules", lambda log, rules: log)
        assert update(board, ROWS, 1) == [1]
    assert Board.open(board.path).log.rules is None
    assert update(Board.open(board.path), ROWS, 2) == [2]
    with pytest.raises(BoardError, match="use id='id' again"):
        update(Board.open(board.path), ROWS, 3, id=None)
    Board.open(board.path).verify()
