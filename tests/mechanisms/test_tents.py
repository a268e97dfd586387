"""The noise of boards without delta: days and tents, how boards are read from them, what they cost and lose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import isqrt, sqrt

import numpy as np
import pytest
from scipy.optimize import linprog

from quietrank.errors import PrivacyError
from quietrank.mechanisms import tents as module
from quietrank.mechanisms.horizon import GRID
from quietrank.mechanisms.laplace import l1_reach
from quietrank.mechanisms.tents import HEIGHT, SHORT, LaplaceBoardNoise, Tents
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import FINE, Promise
from quietrank.statistics.net_wins import NET_WINS_AND_SHOWN

ITEMS = Items(tuple(f"m{k}" for k in range(20)))
PRIVACY = Privacy(2, "person", max_per_person=5)


def noise(horizon: int, window: int | None = None, **changes: object) -> LaplaceBoardNoise:
    return LaplaceBoardNoise.over(Promise(PRIVACY.changed(**changes), ITEMS), horizon, window)


def single(made: LaplaceBoardNoise) -> float:
    """The standard deviation of one Laplace release of the same statistic at the same L: √2·Δ/ε."""
    statistic = NET_WINS_AND_SHOWN.with_share(made.statistic.beta)
    return sqrt(2) * float(l1_reach(made.promise, statistic)) / made.promise.privacy.epsilon


def sums(tents: Tents) -> np.ndarray:
    """C: the sum of each day, and those of the tents."""
    return np.vstack([np.eye(tents.horizon, dtype=np.int64), tents.heights])


def mixed(tents: Tents) -> np.ndarray:
    """B·GRID."""
    return np.array([tents.coefficients(day) for day in range(1, tents.horizon + 1)])


@pytest.mark.parametrize("horizon", [1, 2, SHORT, SHORT + 1, 52, 57, 365, 1000])
@pytest.mark.few(5)
def test_boards_are_read_exactly(horizon: int) -> None:
    """BC is the matrix of prefix sums in whole numbers, whatever the rounding of B."""
    tents = Tents(horizon)
    assert (mixed(tents) @ sums(tents) == GRID * np.tril(np.ones((horizon, horizon), dtype=np.int64))).all()


@pytest.mark.parametrize("horizon", range(1, 130))
def test_tents_add_up_to_one_at_each_day(horizon: int) -> None:
    """No weight is negative, no tent is empty, and a sum's last day is the last that is in it."""
    tents = Tents(horizon)
    assert (tents.heights >= 0).all()
    assert set(tents.heights.sum(axis=0)) == ({0} if horizon <= SHORT else {HEIGHT})
    assert tents.highest == (0 if horizon <= SHORT else HEIGHT)
    assert [np.flatnonzero(row)[-1] + 1 for row in sums(tents)] == tents.last_days.tolist()


def test_the_noise_of_a_year() -> None:
    """Over a single Laplace release at the same L: 6.02 in the mean square over all days, 7.33 at worst, where a tree
    has 6.6; a year of weeks 3.77 and 4.50. Changes over a day, a week and a month."""
    year, weeks = noise(365), noise(52)
    over = np.array([year.spread(day) for day in range(1, 366)]) / single(year)
    assert sqrt(np.square(over).mean()) == pytest.approx(6.02, abs=0.01)
    assert over.max() == pytest.approx(7.33, abs=0.01)
    assert [over[day - 1] for day in (1, 30, 365)] == pytest.approx([1.93, 4.44, 6.19], abs=0.01)
    of_weeks = np.array([weeks.spread(week) for week in range(1, 53)]) / single(weeks)
    assert sqrt(np.square(of_weeks).mean()) == pytest.approx(3.77, abs=0.01)
    assert of_weeks.max() == pytest.approx(4.50, abs=0.01)
    changes = [year.spread_of_days(365 - g, 365) / single(year) for g in (1, 7, 30)]
    assert changes == pytest.approx([1.92, 3.88, 5.39], abs=0.01)


def mean_square(horizon: int) -> float:
    made = noise(horizon)
    return float(np.mean([made.spread(day) ** 2 for day in range(1, horizon + 1)])) / single(made) ** 2


def test_short_boards_need_no_tents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to SHORT days the days alone have less noise, beyond it days and tents."""
    alone = {T: (T + 1) / 2 for T in (SHORT, SHORT + 1)}
    assert mean_square(SHORT) == pytest.approx(alone[SHORT])
    assert mean_square(SHORT + 1) < alone[SHORT + 1]
    monkeypatch.setattr(module, "SHORT", 0)
    assert mean_square(SHORT) > alone[SHORT]


@pytest.mark.parametrize("horizon", [30, 52, 365])
def test_tents_stand_well_apart(horizon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other distance has less noise by more than 1 %."""
    usual = mean_square(horizon)
    for apart in (isqrt(5 * horizon) * part // 8 for part in (4, 6, 7, 9, 10, 12)):
        monkeypatch.setattr("quietrank.mechanisms.tents.math.isqrt", lambda _, apart=apart: apart)
        assert usual < 1.02 * mean_square(horizon)
        monkeypatch.undo()


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("horizon", [5, 52])
def test_the_loss_is_the_promise(neighbours: str, horizon: int) -> None:
    """ε to the last digits, and no δ; with a little less noise, or without paying for tents, it is more."""
    made = noise(horizon, neighbours=neighbours)
    assert 2 * (1 - 1e-12) < made.loss.epsilon <= 2
    assert (made.loss.delta, made.cost.epsilon, made.cost.delta) == (0, 2, 0)
    assert made.cost.covers(made.loss)
    assert replace(made, scale=made.scale * 0.99).loss.epsilon > 2
    if horizon > SHORT:
        assert replace(made, scale=made.scale / 2).loss.epsilon == pytest.approx(4)
    L, beta = 5, made.statistic.beta
    assert made.reach == (2 if neighbours == "replace" else 1) * L * (1 + 2 * beta)


def test_what_is_published_loses_no_less() -> None:
    """Published are the boards alone, not all sums. A vote of day j moves them by Ae_j; whatever z has Bz = Ae_j, the
    loss is at most Σ|z_k|/b_k, and for outcomes far out it is the least of these. That is the whole ε."""
    tents = Tents(20)
    B, scales = mixed(tents) / GRID, np.array([2.0] * 20 + [2.0 * HEIGHT] * len(tents.heights))
    for day in (1, 7, 13, 20):
        moved = np.arange(1, 21) >= day
        least = linprog(np.tile(1 / scales, 2), A_eq=np.hstack([B, -B]), b_eq=moved, bounds=(0, None)).fun
        assert least == pytest.approx(1, abs=1e-6)


Stream = Callable[[list[int]], int]
"""what was published so far in, the next increment out"""


def published(tents: Tents, stream: Stream, z: np.ndarray) -> tuple[list[int], np.ndarray]:
    """A stream that reacts to what is published: all of that, and its increments."""
    y: list[int] = []
    x: list[int] = []
    for day in range(1, tents.horizon + 1):
        x.append(stream(y))
        y.append(GRID * sum(x) + int(tents.coefficients(day) @ z))
    return y, np.array(x)


@pytest.mark.parametrize("seed", range(20))
def test_streams_that_react_are_no_further_apart(seed: int) -> None:
    """The bijection of the proof, in whole numbers: if the draws are moved by C(x − x'), on the path that was seen, the
    other stream publishes the very same, though both react to it, and though later draws were used before."""
    rng = np.random.default_rng(seed)
    tents = Tents(int(rng.integers(SHORT + 1, 40)))
    one, other = (int(k) for k in rng.integers(3, 10**6, 2))
    z = rng.integers(-(10**6), 10**6, len(tents.last_days))
    y, x = published(tents, lambda seen: hash((one, *seen)) % 7, z)
    at_same = np.array([hash((other, *y[:day])) % 7 for day in range(tents.horizon)])
    again, _ = published(tents, lambda seen: hash((other, *seen)) % 7, z + sums(tents) @ (x - at_same))
    assert again == y


def test_a_window_is_a_difference() -> None:
    """Its noise is that of the difference; an item that joined within it has a shorter history."""
    made, whole = noise(52, 6), noise(52)
    y = np.random.default_rng(1).normal(size=30)
    assert made.reading(30) @ y == pytest.approx(y[29] - y[23])
    assert made.reading(4) @ y[:4] == y[3]
    assert made.spread(30) == pytest.approx(whole.spread_of_days(24, 30))
    assert made.spread(30, 27) == pytest.approx(whole.spread(30, 27))
    assert whole.spread(30, 27) < whole.spread(30)
    assert made.scale == whole.scale


def test_few_draws_are_not_normal() -> None:
    """How many equal draws a board's noise is like: few on the first days, many later on."""
    made = noise(365)
    assert made.equal_draws(1) < 2 < 10 < made.equal_draws(180)


def test_the_spread_is_that_of_the_draws() -> None:
    """In votes: the real samplers, many times."""
    made = noise(20)
    mixing = made.mixing(9)
    drawn = sum(k * np.array(made.noises(draw)[0].draw_fresh(20_000), dtype=float) for draw, k in mixing.items())
    assert float(FINE / GRID) * np.std(drawn) == pytest.approx(made.spread(9), rel=0.05)  # 6 standard errors


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unit": "comparison", "max_per_person": None}, "protects people"),
        ({"max_per_person": None, "clip": 3}, "bounded by max_per_person .*leave clip out"),
        ({"max_per_person": 5000}, "at most 1024"),
        ({"epsilon": 1e-9}, "larger"),
    ],
)
def test_what_such_a_board_does_not_promise_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(PrivacyError, match=message):
        noise(30, None, **changes)


def test_scales_are_exact() -> None:
    """HEIGHT and 1/β are powers of 2, so nothing is rounded between a day and a tent, or between both counts."""
    made = noise(52, epsilon=0.3)
    day, tent = made.noises(1), made.noises(53)
    assert Fraction(tent[0].scale) == HEIGHT * Fraction(day[0].scale)
    assert Fraction(day[1].scale) * made.statistic.beta == Fraction(day[0].scale)
