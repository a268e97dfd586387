"""Whose votes they are, night after night: one person's rows change nobody else's votes, and nobody has two limits."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from quietrank.boards.board import Board, confidential
from quietrank.boards.history import Reading
from quietrank.crossing import cross_day
from quietrank.errors import BoardError, VotesError
from quietrank.mechanisms.horizon import GRID
from quietrank.votes.daily import kept
from quietrank.votes.daily.limits import Draws, Encoded
from tests.boards.arena import Row, day, new_board, some_votes, update


def counted(board: Board) -> tuple[int, int]:
    """How many people, and how many votes, were counted."""
    with kept.opened(confidential(board.path)) as opened:
        query = "SELECT count(DISTINCT person), count(*) FROM kept.counted"
        return tuple(opened.db.execute(query).fetchone())


def cast(board: Board, on: int, people: pa.Array, **words: Any) -> None:
    votes = pa.table({"person": people, "winner": ["a"] * len(people), "loser": ["b"] * len(people)})
    dated = votes.append_column("day", pa.array([day(on)] * len(people)))
    board.update(dated, until=day(on), day_column="day", **words)


LARGE = 1234567890123456789


@pytest.mark.parametrize(
    ("first", "second", "people"),
    [
        (pa.array([7]), pa.array(["7"]), 1),
        (pa.array([7]), pa.array([Decimal("7.00")], pa.decimal128(10, 2)), 1),
        (pa.array([Decimal("7.50")], pa.decimal128(10, 2)), pa.array([7.5]), 1),
        (pa.array([70]), pa.array([Decimal("70")], pa.decimal128(10, 0)), 1),
        (pa.array([7]), pa.array([7.0, 8.0]), 2),
        (pa.array([b"u"]), pa.array(["u"]), 1),
        (pa.array([LARGE]), pa.array([LARGE], pa.uint64()), 1),
        (pa.array(["u"]).dictionary_encode(), pa.array(["u"], pa.large_string()), 1),
    ],
)
@pytest.mark.few(1)
def test_an_id_is_the_same_whatever_its_type(first: pa.Array, second: pa.Array, people: int, tmp_path: Path) -> None:
    """One table has whole numbers, the next decimals or text: splitting a person would give them two limits."""
    board = new_board(tmp_path)
    cast(board, 1, first)
    cast(board, 2, second)
    assert counted(board)[0] == people


@pytest.mark.parametrize(("kind", "large"), [(pa.float64(), LARGE), (pa.float32(), 2**24 + 1)])
def test_an_id_that_floating_point_has_changed_names_nobody(kind: Any, large: int, tmp_path: Path) -> None:
    """A gap turns a column of whole numbers into floating point, in which large ids are others: not counted."""
    board = new_board(tmp_path)
    cast(board, 1, pa.array([large]))
    cast(board, 2, pa.array([float(large), 7.0], kind), skip_invalid=True)
    assert counted(board) == (2, 2)
    with pytest.raises(VotesError, match="no person is named: 1 rows"):
        cast(board, 3, pa.array([float(large)], kind))


def test_each_row_has_to_name_its_person(tmp_path: Path) -> None:
    """Rankings and wide tables without a column of people: the number of a row changes with the rows of others."""
    board = new_board(tmp_path)
    votes = pa.table({"ranking": ["a>b>c", "b>a"], "day": [day(1)] * 2})
    with pytest.raises(VotesError, match="each row has to name its person"):
        board.update(votes, until=day(1), day_column="day", shape="rankings", ranking="ranking")
    sets = pa.table(
        {"person": ["u"], "best": ["a"], "worst": ["b"], "s1": ["a"], "s2": ["b"], "s3": ["c"], "day": [day(1)]}
    )
    with pytest.raises(VotesError, match="votes on pairs"):
        board.update(
            sets, until=day(1), day_column="day", shape="best-worst", best="best", worst="worst",
            shown=["s1", "s2", "s3"],
        )  # fmt: skip
    assert board.days == 0


def test_a_ranking_is_several_votes_under_one_id(tmp_path: Path) -> None:
    """Its three pairs are counted once, whether or not the row comes again."""
    board = new_board(tmp_path)
    for on in (1, 2):
        votes = pa.table({"person": ["u"], "ranking": ["a>b>c"], "day": [day(1)], "id": ["1"]})
        board.update(votes, until=day(on), day_column="day", id="id", shape="rankings", ranking="ranking")
    assert counted(board) == (1, 3)


@pytest.mark.parametrize("id_column", [None, "id"])
def test_rows_that_are_left_out_take_no_votes_place(id_column: str | None, tmp_path: Path) -> None:
    """Six rows say the same, three of them meet the condition: three votes, in whatever order the rows come."""
    board = new_board(tmp_path)
    for on, order in ((1, (0, 1, 2, 3, 4, 5)), (2, (5, 4, 3, 2, 1, 0)), (3, (1, 3, 5, 0, 2, 4))):
        rows = {"person": ["u"] * 6, "winner": ["a"] * 6, "loser": ["b"] * 6, "day": [day(1)] * 6}
        # Of the two rows with the same id, one meets the condition.
        more = {"id": [str(k // 2) for k in order], "met": [k % 2 for k in order]}
        board.update(pa.table(rows | more), until=day(on), day_column="day", id=id_column, where="met = 1")
        assert counted(board) == (1, 3)


def test_whoever_votes_too_often_counts_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond what the products can hold there is no error, which everybody would see; others count as before."""
    monkeypatch.setattr(kept, "HEAVIEST", 5)
    board = new_board(tmp_path)
    heavy: list[Row] = [("u", "a", "b", str(k), 1) for k in range(6)]
    update(board, [*heavy, ("v", "a", "b", "1", 1)], 1)
    with kept.opened(confidential(board.path)) as opened:
        assert opened.db.execute("SELECT count(*) FROM kept.turns").fetchone() == (1,)
    assert update(board, [("u", "a", "b", "9", 2)], 2) == [2]
    board.verify()


def test_sums_that_do_not_fit_are_cut_off(tmp_path: Path) -> None:
    """After the noise, which is added exactly; readers are told, by what is published."""
    board = new_board(tmp_path)
    update(board, some_votes(1), 1)
    noise, huge = board.terms.noise, 2**70
    days = np.array([[[huge, -huge, 5]]], dtype=object)
    draws = Draws.of(noise, 1, (1, 1, 1), 1, {})
    encoded = Encoded.of(days, abs(days), noise.weights(1), noise.limit, draws)
    assert encoded.net_wins.tolist() == [huge * GRID, -huge * GRID, 5 * GRID]
    net_wins, exposures = cross_day(encoded, noise)
    assert net_wins[:2].tolist() == [2**63 - 1, 1 - 2**63]
    log = board.log.with_day(net_wins, exposures)
    assert Reading(log, 1).board()[0].shape == (3,)
    with pytest.raises(BoardError, match="more votes than a board can hold"):
        Reading(log, 2).board()
