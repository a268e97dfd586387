"""What limits leave: the same numbers as on real boards, to the last unit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.mechanisms.stream import Factor, GaussianBoardNoise
from quietrank.planning import limits
from quietrank.planning.crowd import Crowd, Habit, People
from quietrank.planning.limits import Cells, cell_weights, limited_votes
from quietrank.planning.survey import Survey
from quietrank.promise.every import Every
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Promise
from quietrank.simulation import item_names
from tests.planning.real_boards import kept_weight, real_board
from tests.steps import tally_votes

SURVEY = Survey(20, 1, 1)
PRIVACY = Privacy(2, "person", delta=1e-6, clip=2)


def noise(horizon: int, clip: float, items: int = 20) -> GaussianBoardNoise:
    promise = Promise(PRIVACY.changed(clip=clip), Items(tuple(item_names(items))), leaves_out=True)
    return GaussianBoardNoise.calibrated(promise, Factor(horizon))


BOARDS = {
    "a panel, weekly": (Crowd(300, 12, Habit.PANEL, 84), Every.WEEK, 2.0),
    "an arena, nightly": (Crowd(60, 10, Habit.ARENA, 21), Every.DAY, 1.2),
}


@pytest.mark.parametrize("name", BOARDS)
def test_the_kept_share_is_that_of_a_real_board(name: str, tmp_path: Path) -> None:
    """The same people, on every day: equal in whole numbers, and many are scaled down."""
    crowd, every, clip = BOARDS[name]
    people, horizon = crowd.sample(SURVEY, 3), crowd.days // every.days
    board = real_board(tmp_path / "real", people, horizon, every, clip)
    cells, noise = Cells.of(people, every.days), board.terms.noise
    assert isinstance(noise, GaussianBoardNoise)
    (weights,) = cell_weights(people, cells, [noise])
    mine = np.bincount(cells.period, weights * np.bincount(cells.of_vote), horizon)
    assert np.cumsum(mine).tolist() == kept_weight(board)
    (sums,) = limited_votes(people, every.days, [noise])
    assert sums.share[-1] == kept_weight(board)[-1] / 2**20 / len(people.day)
    assert sums.share[-1] < 0.8


def test_a_single_release_is_a_board_of_one_period() -> None:
    """The weight that real clipping leaves, from the tally of a release: net wins and exposures of all people."""
    people = Crowd(50, 15, Habit.ARENA, 60).sample(SURVEY, 2)
    one = noise(1, 1.5)
    cells = Cells.of(people, 10**6)
    (weights,) = cell_weights(people, cells, [one])
    names = np.array(item_names(20))
    table = {
        "person": people.person.astype(str), "winner": names[people.winner], "loser": names[people.loser]
    }  # fmt: skip
    votes = qr.read_votes(pa.table(table), items=names.tolist())
    exact = tally_votes(votes, one.promise.privacy, one.clip)
    of_vote = weights[cells.of_vote]
    assert np.bincount(people.winner, of_vote, 20).tolist() == (exact.wins * float(exact.step) * 2**20).tolist()
    assert np.bincount(people.loser, of_vote, 20).tolist() == (exact.losses * float(exact.step) * 2**20).tolist()


def test_words_of_64_bits_and_larger_numbers_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    people = Crowd(40, 30, Habit.ARENA, 50).sample(SURVEY, 4)
    cells, noises = Cells.of(people, 1), [noise(50, clip) for clip in (0.7, 2.0)]
    in_words = cell_weights(people, cells, noises)
    monkeypatch.setattr(limits, "MOST_WORD", 1.0)
    assert np.array_equal(cell_weights(people, cells, noises), in_words)


def test_sums_over_people_and_votes() -> None:
    """By hand: one who stands for three is scaled down on the second day, and another is not there before it."""
    signal = np.array([0.1, 0.2, -0.1])
    zero = np.zeros(3, dtype=np.int64)
    people = People(
        np.zeros((1, 2)), np.array([3.0, 1.0]), np.array([0, 0, 1]), np.array([0, 1, 1]), zero, zero + 1, signal
    )
    sums = Cells.of(people, 1).summed(people, np.array([1.0, 0.5, 1.0]), 2)
    assert sums.votes.tolist() == [3, 7]
    assert sums.weight.tolist() == [3, 5.5]
    assert sums.squares.tolist() == [3, 4.75]
    chance = (0.3**2 + 0.6**2 + 0.1**2) ** 0.5
    told = (0.3 + 0.3 - 0.1 + chance * 5.5 / 7) / (0.3 + 0.6 - 0.1 + chance)
    assert sums.signal == pytest.approx([1, told])
    # √(σ² + Σw²/(2n)) over 2·votes·signal/n
    assert sums.error(1, 2.0, 2) == pytest.approx((4 + 3 / 4) ** 0.5 / 3)
