"""The plan of a board: what it predicts against real boards, its arguments, and its table, JSON, CSV and figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quietrank as qr
from quietrank.boards.board import Board
from quietrank.errors import QuietrankError
from quietrank.planning.board import BoardForecast, plan_board
from quietrank.planning.board_result import BoardPlan
from quietrank.planning.crowd import Crowd, Habit
from quietrank.planning.scoring import NO_PRIVACY
from quietrank.planning.survey import Survey
from quietrank.promise.every import Every
from quietrank.publish.files import PICTURE, PLAN
from tests.planning.real_boards import rank_error, real_board

SMALL: dict[str, Any] = {
    "items": 20, "people": 300, "votes_per_person": 12, "epsilon": 2, "delta": 1e-6, "horizon": 12, "habit": "panel"
}  # fmt: skip
QUICK: dict[str, Any] = SMALL | {
    "items": 6, "people": 100, "clip": 2, "repetitions": 20, "curves": False, "method": "win-rate"
}  # fmt: skip


# ---- against real boards --------------------------------------------------------------------------------------------


def check_real_boards(folder: Path, boards: int, errors: float) -> tuple[BoardPlan, list[Board]]:
    """Predicted rank errors after 4 and after 12 weeks, within 15 % of the mean over real boards and what chance
    allows; each board has fresh items, people, votes and noise."""
    plan = plan_board(**SMALL, clip=2.0, curves=False)
    real, measured = list[Board](), []
    for number in range(boards):
        people = Crowd(300, 12, Habit.PANEL, 84).sample(Survey(20, 1, 1), 100 + number, worlds=1)
        real.append(real_board(folder / str(number), people, 12, Every.WEEK, 2.0))
        measured.append([rank_error(real[-1], week, people.theta) for week in (4, 12)])
    for one, mean in zip(plan.board, np.mean(measured, axis=0), strict=True):
        of_one = one.rank_precision * plan.question.repetitions**0.5  # the spread from board to board
        allowed = 0.15 * mean + errors * of_one * (1 / boards + 1 / plan.question.repetitions) ** 0.5
        print(f"day {one.day}: predicted {one.rank_error:.2f}, mean of {boards} {mean:.2f}, allowed {allowed:.2f}")
        assert abs(one.rank_error - mean) <= allowed
    return plan, real


def shown(boards: list[Board], week: int) -> float:
    """Which part of the boards shows ranks after so many weeks."""
    return sum(board.hidden(week) is None for board in boards) / len(boards)


def test_predictions_are_those_of_real_boards(tmp_path: Path) -> None:
    """Four standard errors beyond the tolerance, because real noise has no seed. Not all show ranks in the first week,
    nor hide them in the last."""
    plan, boards = check_real_boards(tmp_path, 3, errors=4)
    assert plan.shown_from == 28
    assert shown(boards, 1) < 1
    assert shown(boards, 12) > 0


@pytest.mark.slow
def test_predictions_are_those_of_forty_real_boards(tmp_path: Path) -> None:
    """Two standard errors beyond the tolerance. About half show ranks on the predicted day: 0.2 to 0.8 is 3.8 standard
    errors; few do three weeks before, and most do four weeks later."""
    plan, boards = check_real_boards(tmp_path, 40, errors=2)
    assert plan.shown_from == 28
    print("shown after 1, 4, 8 weeks", [shown(boards, week) for week in (1, 4, 8)])
    assert shown(boards, 1) < 0.4
    assert 0.2 <= shown(boards, 4) <= 0.8
    assert shown(boards, 8) > 0.6


# ---- what it says ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plan() -> BoardPlan:
    return plan_board(**QUICK | {"curves": True})


def test_all_ways_are_compared(plan: BoardPlan) -> None:
    """After a month and at the end; the one release at the end only. Less noise than separately, more than once."""
    ways = {one.way: [other.day for other in plan.predictions if other.way == one.way] for one in plan.predictions}
    assert ways == {
        "weekly board": [28, 84], "nightly board": [30, 84], "separate": [28, 84], "one release": [84],
        NO_PRIVACY: [30, 84],
    }  # fmt: skip
    board, separate, single = (plan.end(way) for way in ("weekly board", "separate", "one release"))
    assert single.noise_per_vote < board.noise_per_vote < separate.noise_per_vote
    assert single.relative_noise == 1
    assert separate.relative_noise == pytest.approx(12**0.5)
    assert plan.end(NO_PRIVACY).noise_sd == 0
    assert max(plan.end(NO_PRIVACY).rank_error, single.rank_error) < separate.rank_error


def test_nightly_is_compared_with_weekly() -> None:
    nightly = plan_board(**QUICK | {"every": "day", "horizon": 28, "votes_per_person": 4})
    assert [one.way for one in nightly.predictions][:2] == ["nightly board", "weekly board"]
    assert nightly.end("separate").relative_noise == pytest.approx(28**0.5)
    short = plan_board(**QUICK | {"every": "day", "horizon": 6, "votes_per_person": 2})
    assert "weekly board" not in {one.way for one in short.predictions}


def test_the_same_seed_gives_the_same_numbers() -> None:
    assert plan_board(**QUICK).rows() == plan_board(**QUICK).rows()
    assert plan_board(**QUICK).rows() != plan_board(**QUICK, seed=2).rows()


def test_the_plan_as_files(plan: BoardPlan, tmp_path: Path) -> None:
    """JSON and CSV hold every prediction; files are ours, and the figure is one."""
    values = json.loads(plan.to_json(tmp_path / "plan.json"))
    assert values["format"] == "quietrank/board-plan/1"
    assert (values["clip_was_chosen"], values["privacy"]["clip"], values["shown_from"]) == (False, 2, plan.shown_from)
    assert values["predictions"] == plan.rows()
    assert len(plan.to_csv().splitlines()) == 1 + len(plan.predictions)
    assert PLAN.is_ours(tmp_path / "plan.json")
    plan.plot(tmp_path / "plan.png")
    assert PICTURE.is_ours(tmp_path / "plan.png")


def test_the_page_says_what_to_run(plan: BoardPlan) -> None:
    text = " ".join(str(plan).split())
    assert (
        "quietrank board new BOARD --items ITEMS --epsilon 2 --delta 1e-06 --clip 2 --horizon 12 --every week" in text
    )
    assert f"from about day {plan.shown_from} on" in text


def test_a_board_of_noise_alone_never_shows_ranks() -> None:
    hopeless = plan_board(**QUICK | {"people": 3, "epsilon": 0.1})
    assert hopeless.shown_from is None
    assert "on no day" in str(hopeless)


def test_progress_reaches_the_end() -> None:
    heard: list[float] = []
    plan_board(**QUICK, progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1


def test_without_curves_there_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(QuietrankError, match="curves=True"):
        plan_board(**QUICK).plot(tmp_path / "plan.png")


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"items": 1}, "items must be a whole number, 2 or more"),
        ({"people": 0}, "people must be a whole number, 1 or more"),
        ({"votes_per_person": "many"}, "votes_per_person must be a number"),
        ({"clip": "much"}, "clip must be a number, or auto"),
        ({"clip": 5000}, "at most 1024"),
        ({"days": [100]}, "ends on day 84"),
        ({"days": [0]}, "days must be a whole number, 1 or more"),
        ({"votes_per_visit": 2}, "is for habit='arena'"),
        ({"habit": "crowd"}, "one of panel, arena"),
        ({"every": "month"}, "one of day, week"),
        ({"horizon": 5000}, "from 1 to 4000"),
        ({"delta": 0}, "delta"),
        ({"top_k": 6}, "from 1 to 5"),
        ({"repetitions": 5}, "10 or more"),
    ],
)
def test_wrong_arguments_are_refused_with_a_remedy(options: dict[str, Any], remedy: str) -> None:
    with pytest.raises(QuietrankError, match=remedy):
        plan_board(**QUICK | options)


def test_it_is_at_the_edge_of_the_package() -> None:
    assert qr.plan_board is plan_board
    assert qr.BoardPlan is BoardPlan
    assert BoardForecast.__doc__
