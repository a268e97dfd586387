"""Ways to publish: the noise of each, and the comparisons that are claimed for boards."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import pytest

from quietrank.boards.history import Reading
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.planning import crowd as crowds
from quietrank.planning.crowd import Crowd, Habit
from quietrank.planning.survey import Survey
from quietrank.planning.ways import CLIPS, Exact, OneBoard, Releases, Sample
from quietrank.promise.every import Every
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Promise
from quietrank.simulation import item_names
from quietrank.statistics.net_wins import NET_WINS_AND_EXPOSURES
from tests.planning.real_boards import real_board


def sample_of(crowd: Crowd, items: int, seed: int = 1) -> Sample:
    promise = Promise(Privacy(2, "person", delta=1e-6, clip=3), Items(tuple(item_names(items))), leaves_out=True)
    return Sample(crowd.sample(Survey(items, 1, 1), seed), crowd, promise)


def test_the_noise_is_that_of_a_real_board(tmp_path: Path) -> None:
    """Equal on every week, not only close: the law is computed from public values."""
    sample = sample_of(Crowd(30, 6, Habit.PANEL, 42), 8)
    board = OneBoard(sample, "board", Every.WEEK, 6, 2.5, (42,))
    real = real_board(tmp_path / "real", sample.people, 6, Every.WEEK, 2.5)
    for week in range(1, 7):
        assert board.at(7 * week).noise_sd == Reading(real.log, week).spreads[0]


def test_separate_releases_have_the_noise_of_one_times_the_root_of_their_number() -> None:
    """And one of them that of a release by `rank`, at the same C and with the same statistic."""
    sample = sample_of(Crowd(30, 6, Habit.PANEL, 42), 8)
    one, many = (Releases(sample, "releases", Every.WEEK, number).at(42) for number in (1, 6))
    assert one.noise is not None
    assert many.noise is not None
    calibrated = GAUSSIAN.calibrate(sample.promise.changed(clip=float(one.noise.clip.norm)), NET_WINS_AND_EXPOSURES)
    assert one.noise_sd == pytest.approx(calibrated.law.size, rel=1e-9)
    assert many.noise_sd == pytest.approx(sqrt(6) * many.noise.sigma, rel=1e-12)
    assert many.noise.clip.norm <= one.noise.clip.norm


def test_the_chosen_limit_is_the_best() -> None:
    """No other C of the grid has a smaller error on the days that count."""
    sample = sample_of(Crowd(200, 20, Habit.ARENA, 84), 10)
    board = OneBoard(sample, "board", Every.WEEK, 12, None, (28, 84))
    errors = {float(noise.clip.norm): board._error(noise, sums) for noise, sums in board._limited(list(CLIPS[:20]))}
    assert errors[board.clip] == min(errors.values())


def test_a_weekly_board_is_as_old_as_its_last_week() -> None:
    sample = sample_of(Crowd(30, 6, Habit.PANEL, 42), 8)
    assert OneBoard(sample, "board", Every.WEEK, 6, 2.0, (42,)).at(30).day == 28
    assert Releases(sample, "releases", Every.WEEK, 6).at(30).day == 28
    assert Exact(sample).at(30).votes == pytest.approx(30 * 6 * 30 / 42)


# ---- what is claimed ------------------------------------------------------------------------------------------------


def per_vote(board: OneBoard, day: int) -> float:
    """Noise per vote that is kept, over that of a single release of the same votes at the same C."""
    there = board.at(day)
    ((noise, sums),) = board.sample.singles(there.day, [board.clip])
    return there.noise_per_vote / (noise.sigma / float(sums.share[0]))


def test_a_panel_has_at_most_twice_the_noise_of_a_single_release() -> None:
    """52 weeks, 20 items, one vote a week, per vote that is kept: at the same C, and at the best C of each."""
    sample = sample_of(Crowd(500, 52, Habit.PANEL, 364), 20)
    board = OneBoard(sample, "board", Every.WEEK, 52, None, (364,))
    single = Releases(sample, "one release", Every.WEEK, 1).at(364)
    assert board.clip == 5.5
    assert per_vote(board, 364) <= 2
    assert board.at(364).noise_per_vote / single.noise_per_vote <= 2


ARENA = [(364, 4.0), (30, 4.0), (91, 4.0), (364, 1.0), (30, 1.0), (91, 1.0)]
"""days, and votes on each visit: with 1, as in benchmarks/boards, every vote has its own day"""


def check_arena(people: int, day: int, votes_per_visit: float) -> None:
    """A year of an arena, published every night, C = 2: at most 4 times the noise of a single release per vote that is
    kept; and separate releases, each at its own best C, have at least 4 times that of the board."""
    sample = sample_of(Crowd(people, 10, Habit.ARENA, 364, votes_per_visit), 100)
    board = OneBoard(sample, "board", Every.DAY, 364, 2.0, (day,))
    separate = Releases(sample, "separate", Every.DAY, 364).at(day)
    print(day, votes_per_visit, per_vote(board, day), separate.noise_per_vote / board.at(day).noise_per_vote)
    assert per_vote(board, day) <= 4
    assert separate.noise_per_vote / board.at(day).noise_per_vote >= 4


@pytest.mark.parametrize(("day", "votes_per_visit"), ARENA)
@pytest.mark.few(1)
def test_an_arena_has_a_quarter_of_the_noise_of_separate_releases(day: int, votes_per_visit: float) -> None:
    check_arena(200_000, day, votes_per_visit)


@pytest.fixture
def everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sample: all people one by one."""
    monkeypatch.setattr(crowds, "MOST_PEOPLE", 10**6)


@pytest.mark.slow
@pytest.mark.usefixtures("everybody")
@pytest.mark.parametrize("votes_per_visit", [1.0, 4.0])
def test_the_arena_without_sampling(votes_per_visit: float) -> None:
    """20,000 judges, each simulated."""
    check_arena(20_000, 364, votes_per_visit)
