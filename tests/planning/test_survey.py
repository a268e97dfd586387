"""Simulated counts: weights as the confidential side gives them, and shortcuts that agree with the long way."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.errors import QuietrankError
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.planning import survey as surveys
from quietrank.planning.survey import Counts, Group, Survey, simulate, spread_of
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.simulation import item_names
from quietrank.statistics.net_wins import NET_WINS, NET_WINS_AND_TOTAL
from quietrank.statistics.statistic import Statistic
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES
from tests.steps import COUNTS, calibrate, clip_of, tally_pairs, tally_votes

FEW = Survey(items=5, people=40, per_person=6)


def _privacy(**options: Any) -> Privacy:
    return Privacy(1.0, "person", **({"max_per_person": 6} | options))


def _as_votes(group: Group) -> qr.Votes:
    names = np.array(item_names(group.items))
    people, each = group.winner.shape
    person = np.repeat(np.arange(people), each).astype(str)
    table = pa.table({"person": person, "winner": names[group.winner.ravel()], "loser": names[group.loser.ravel()]})
    return qr.read_votes(table, items=names.tolist())


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize(
    ("neighbours", "statistic"),
    [
        *(("replace", statistic) for statistic in COUNTS if statistic is not NET_WINS_AND_TOTAL),
        ("outcome", NET_WINS),
        ("outcome", WINS),
    ],
)
@pytest.mark.few(4)
def test_clipped_counts_are_those_of_the_engine(distinct: bool, neighbours: str, statistic: Statistic) -> None:
    """The same simulated answers through bounding.py and through numpy: the same counts, up to the grid."""
    design = "public" if neighbours == "outcome" else "private"
    privacy = _privacy(delta=1e-6, neighbours=neighbours, design=design, one_per_pair=distinct, clip=1.7)
    clip = clip_of(privacy, statistic, 1.7)
    asked = replace(FEW, distinct=distinct)
    theta = np.linspace(-1, 1, 5)
    group = surveys._ask(asked, theta, asked.people, np.random.default_rng(3))
    exact = tally_pairs(_as_votes(group), privacy, clip)
    mine = group.clipped(clip, keep_pairs=True)
    step = float(exact.step)
    np.testing.assert_allclose(mine.wins, exact.by_item.wins * step, atol=1e-4)
    np.testing.assert_allclose(mine.losses, exact.by_item.losses * step, atol=1e-4)
    assert mine.pairs is not None
    np.testing.assert_allclose(mine.pairs.weight, (exact.wins_i + exact.wins_j) * step, atol=1e-4)
    assert mine.wins.sum() < 0.95 * asked.votes  # clipping did bite


@pytest.mark.parametrize("limit", [4, 6])
def test_plain_counts_are_those_of_the_engine(limit: int) -> None:
    """All of a person's votes weigh min(1, L/c)."""
    privacy = _privacy(max_per_person=limit)
    group = surveys._ask(FEW, np.linspace(-1, 1, 5), FEW.people, np.random.default_rng(4))
    exact = tally_votes(_as_votes(group), privacy)
    mine = group.counted(surveys.plain_weight(FEW, privacy), keep_pairs=False)
    np.testing.assert_allclose(mine.wins, exact.wins * float(exact.step), rtol=1e-12)


def _stacked(rows: list[Any]) -> Counts:
    return Counts(np.array([row.wins for row in rows]), np.array([row.losses for row in rows]), [])


def _moments(counts: Counts) -> np.ndarray[Any, Any]:
    """Mean net wins, and standard deviations of net wins and exposures."""
    return np.concatenate([counts.net_wins.mean(axis=0), counts.net_wins.std(axis=0), counts.exposure.std(axis=0)])


@pytest.mark.parametrize("distinct", [False, True])
def test_counting_pairs_at_once_is_the_same_law(distinct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Multinomial, or normal, pair counts have the moments of votes cast one by one."""
    asked = replace(FEW, people=300, distinct=distinct)
    theta = np.linspace(-1, 1, 5)
    monkeypatch.setattr(Survey, "strengths", lambda self, rng: theta)
    rngs = [np.random.default_rng([7, k]) for k in range(3000)]
    long = _stacked([surveys._ask(asked, theta, 300, rng).counted(1.0, False) for rng in rngs])
    short = _stacked([surveys._count_pairs(asked, theta, 1.0, False, rng) for rng in rngs])
    # 3000 draws: a standard deviation is known to 1.3 %, a mean to 1.8 % of one; 7 % is five times both.
    spread = _moments(long)[5:].min()
    np.testing.assert_allclose(_moments(short), _moments(long), atol=0.12 * spread, rtol=0.07)


def test_a_sample_of_people_tells_what_clipping_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large surveys: the shortcut is within a per cent of clipping everybody."""
    asked = Survey(items=8, people=2000, per_person=20)
    privacy = _privacy(delta=1e-6, max_per_person=20)
    items = Items(tuple(item_names(8)))
    clip = calibrate(items, privacy, WINS_AND_LOSSES, GAUSSIAN).clip
    whole = simulate(asked, privacy, clip, 30, 1).clipped
    monkeypatch.setattr(surveys, "MOST_BY_PERSON", 1000)
    short = simulate(asked, privacy, clip, 30, 1).clipped
    assert whole is not None
    assert short is not None
    assert short.exposure.mean() == pytest.approx(whole.exposure.mean(), rel=0.01)
    assert (short.net_wins**2).mean() == pytest.approx((whole.net_wins**2).mean(), rel=0.03)


def test_different_questions_are_different(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one answer per pair nobody is asked a pair twice, however many are asked; all pairs are equally likely."""
    for each, shuffled in product((2, 5, 6, 10), (0, 10**6)):
        monkeypatch.setattr(surveys, "MOST_SHUFFLED", shuffled)
        drawn = surveys._distinct(10, (4000, each), np.random.default_rng(1))
        assert all(len(set(row)) == each for row in drawn.tolist())
        share = np.bincount(drawn.ravel(), minlength=10) / 4000
        np.testing.assert_allclose(share, each / 10, atol=5 * 0.5 / 4000**0.5)


def test_repetitions_do_not_depend_on_their_number() -> None:
    """The first of many are the same as few: what one question simulates, another may use."""
    few, many = (simulate(FEW, _privacy(), None, number, 5) for number in (3, 8))
    np.testing.assert_array_equal(few.plain.wins, many.plain.wins[:3])
    np.testing.assert_array_equal(few.theta, many.theta[:3])


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"items": 1}, "at least two items"),
        ({"people": 0}, "needs people"),
        ({"distinct": True, "per_person": 11}, "per_person=10 or less"),
        ({"items": 100_000, "people": 10**9}, "fewer"),
    ],
)
def test_impossible_surveys_are_refused(options: dict[str, Any], remedy: str) -> None:
    """Each error says what to do."""
    with pytest.raises(QuietrankError, match=remedy):
        replace(FEW, **options)


def test_words_for_the_spread() -> None:
    assert [spread_of(word) for word in ("close", "typical", "clear", "0.9", 2, "paper")] == [
        0.3,
        0.6,
        1.2,
        0.9,
        2,
        "paper",
    ]
    for wrong in ("wide", "-1", "nan", 0):
        with pytest.raises(QuietrankError, match="close, typical, clear, paper"):
            spread_of(wrong)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_pairs_by_number(n: int) -> None:
    """All pairs in order, there and back."""
    first, second = np.triu_indices(n, 1)
    number = np.arange(len(first))
    np.testing.assert_array_equal(surveys.pair_ends(n, number), (first, second))
    np.testing.assert_array_equal(surveys.pair_index(n, first, second), number)


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("people", [40, 30_000])
def test_counts_do_not_depend_on_clipping_beside_them(distinct: bool, people: int) -> None:
    """So what is said of one mechanism does not change with the others that are asked about."""
    asked, privacy = replace(FEW, people=people, distinct=distinct), _privacy(delta=1e-6)
    clip = clip_of(privacy, NET_WINS, 1.7)
    alone, beside = (simulate(asked, privacy, each, 3, 5) for each in (None, clip))
    np.testing.assert_array_equal(alone.plain.wins, beside.plain.wins)
    assert beside.clipped is not None
