"""Ball noise: nobody moves the counts further than its reach, its draws have its law, and releases carry it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import quietrank as qr
from quietrank.arrays import Floats
from quietrank.auditing import norms
from quietrank.errors import PrivacyError
from quietrank.maths.laws import BallPart
from quietrank.mechanisms import ball
from quietrank.mechanisms.ball import BALL, l2_sum_reach, sampled, usual_clip, usual_weights
from quietrank.mechanisms.choose import left_by_clipping
from quietrank.mechanisms.gaussian import GAUSSIAN, default_clip
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.noise.knorm import Ball, BallNoise
from quietrank.promise.declare import declare
from quietrank.promise.privacy import GroupOf, Privacy
from quietrank.promise.promise import Clip, Promise
from quietrank.statistics.method import Method
from quietrank.statistics.net_wins import NET_WINS, NET_WINS_AND_EXPOSURES, NET_WINS_AND_SHOWN
from quietrank.statistics.statistic import Statistic
from quietrank.statistics.ties import WithTies
from quietrank.statistics.wins import WINS
from tests.steps import choose

GROUPS = ("north", "south", "west")
PEOPLE = {"unit": "person", "max_per_person": 15}
WITH_TIES = WithTies(NET_WINS_AND_EXPOSURES, Fraction(1, 4))
ALMOST_NEVER = 1e-7


def _promise(items: int = 6, group_of: GroupOf | None = None, **words: Any) -> Promise:
    usual: dict[str, Any] = {"epsilon": 1.0, "unit": "person", "clip": 2.0}
    privacy = Privacy(**(usual | words))
    whose = group_of or GroupOf.PERSON
    return Promise(privacy, declare(range(items)), None if group_of is None else GROUPS, whose)


def _reach(promise: Promise, statistic: Statistic, weights: ball.Weights | None = None) -> float:
    kept, clip = BALL.keeps(promise, statistic)
    return float(l2_sum_reach(kept, statistic, clip, weights or usual_weights(kept, statistic)))


# ---- how far one unit can move the counts ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "reach"),
    [
        ({}, 4.0),
        ({"neighbours": "add-remove"}, 2.0),
        ({"neighbours": "outcome", "design": "public"}, 4.0),
        ({"group_of": GroupOf.PERSON}, 4.0),
        ({"group_of": GroupOf.VOTE}, 4 * math.sqrt(3)),
        ({"group_of": GroupOf.VOTE, "neighbours": "add-remove"}, 2 * math.sqrt(3)),
        ({"unit": "comparison", "clip": None}, math.sqrt(2)),
        ({"unit": "comparison", "clip": None, "neighbours": "add-remove"}, math.sqrt(1 / 2)),
        ({"unit": "comparison", "clip": None, "group_of": GroupOf.VOTE}, math.sqrt(2)),
    ],
)
def test_the_reach_of_net_wins(words: dict[str, Any], reach: float) -> None:
    """2C, and C where somebody joins or leaves; a move between groups costs C twice, and G groups of votes √G times."""
    assert _reach(_promise(**words), NET_WINS) == pytest.approx(reach, rel=1e-12)


def test_wins_are_not_negative() -> None:
    """So two people are √2·C apart; where one moves to another group, C twice."""
    assert _reach(_promise(), WINS) == pytest.approx(2 * math.sqrt(2))
    assert _reach(_promise(group_of=GroupOf.PERSON), WINS) == pytest.approx(4)


def _said(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, float]:
    """Net wins, exposures and ties of somebody who answers a few pairs, many times each, a part of them with ties."""
    s, d, tied = np.zeros(n), np.zeros(n), 0.0
    for _ in range(rng.integers(1, 5)):
        i, j = rng.choice(n, 2, replace=False)
        weight, kind = 2.0 ** rng.integers(0, 5), rng.integers(3)
        s[i], s[j] = s[i] + weight * (kind == 0) / 2, s[j] - weight * (kind == 0) / 2
        d[[i, j]] += weight
        tied += weight * (kind == 1)
    return s, d, tied


def _clipped(person: tuple[Floats, Floats, float], statistic: Statistic, shares: tuple[float, float]) -> list[Floats]:
    """The parts of what somebody adds to a statistic, scaled to norm 1."""
    s, d, tied = person
    parts = {"net_wins": s, "exposure": d * shares[0], "ties": np.array([tied * shares[1]]), "wins": d / 2 + s}
    named = [parts[name] for name, _ in statistic.squares]
    length = math.sqrt(sum(float((part**2).sum()) for part in named))
    return [part / length for part in named] if length else named


@pytest.mark.parametrize("statistic", [NET_WINS, NET_WINS_AND_EXPOSURES, WINS, WITH_TIES], ids=str)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.few(2)
def test_nobody_moves_the_parts_further(statistic: Statistic, neighbours: str) -> None:
    """Random people scaled to norm C, for random weights of the parts; some come near the reach."""
    rng, promise = np.random.default_rng(5), _promise(neighbours=neighbours, clip=1.0)
    shares = (float(NET_WINS_AND_EXPOSURES.share(promise)), 0.25)
    people = [_clipped(_said(rng, 6), statistic, shares) for _ in range(150)]
    people += [[-part if k == 0 and statistic is not WINS else part for k, part in enumerate(one)] for one in people]
    apart = np.array([[np.linalg.norm(a - b) for a, b in zip(x, y, strict=True)] for x in people[::2] for y in people])
    if neighbours == "add-remove":
        apart = np.array([[np.linalg.norm(a) for a in x] for x in people])
    for weights in [usual_weights(promise, statistic), *(_some_weights(rng, apart.shape[1]) for _ in range(5))]:
        furthest = float((apart @ np.array([float(weight) for weight in weights])).max())
        reach = _reach(promise, statistic, weights)
        assert 0.85 * reach < furthest <= reach * (1 + 1e-12)


def _some_weights(rng: np.random.Generator, parts: int) -> ball.Weights:
    return tuple(Fraction(1) if k == 0 else Fraction(int(rng.integers(1, 9)), 8) for k in range(parts))


# ---- the promise that is kept ---------------------------------------------------------------------------------------


@given(
    st.floats(1e-4, 50),
    st.floats(0.1, 1000),
    st.sampled_from([NET_WINS, WINS, NET_WINS_AND_EXPOSURES, NET_WINS_AND_SHOWN, WITH_TIES]),
    st.sampled_from([None, GroupOf.PERSON, GroupOf.VOTE]),
)
def test_what_is_calibrated_is_kept(epsilon: float, clip: float, statistic: Statistic, whose: GroupOf | None) -> None:
    """The loss, computed again, is at most ε, and hardly less; there is no δ, and the clip is stated."""
    noise = BALL.calibrate(_promise(epsilon=epsilon, clip=clip, delta=1e-6, group_of=whose), statistic)
    assert epsilon * (1 - 1e-12) < BALL.loss(noise).epsilon <= epsilon
    assert (noise.privacy.delta, noise.privacy.clip, noise.cost.delta) == (0, clip, 0)
    assert "what one person adds to all counts together has a length of at most" in noise.privacy.statement
    assert "give or take" not in noise.privacy.statement


def _first_ball(noise: BallNoise, **values: Any) -> BallNoise:
    return BallNoise((replace(noise.balls[0], **values), *noise.balls[1:]))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda noise: _first_ball(noise, unit=noise.balls[0].unit / 2),
        lambda noise: _first_ball(noise, sum_zero=False),
        lambda noise: _first_ball(noise, size=5),
        lambda noise: BallNoise(noise.balls[:1]),
        lambda noise: BallNoise(noise.balls[::-1]),
    ],
)
def test_other_balls_do_not_pass_for_these(wrong: Callable[[BallNoise], BallNoise]) -> None:
    """Half of the unit, another dimension, a part without noise: the loss is above ε."""
    noise = BALL.calibrate(_promise(), NET_WINS_AND_EXPOSURES)
    assert isinstance(noise.noise, BallNoise)
    assert BALL.loss(replace(noise, noise=wrong(noise.noise))).epsilon > 1


def test_votes_that_were_not_clipped_are_refused() -> None:
    """Or clipped in another norm."""
    noise = BALL.calibrate(_promise(), NET_WINS_AND_EXPOSURES)
    for clip in (None, Clip(Fraction(2), (("net_wins", Fraction(1)),))):
        with pytest.raises(AssertionError, match="clipped in another norm"):
            BALL.loss(replace(noise, clip=clip))


def test_values_that_do_not_sum_to_zero_are_seen() -> None:
    """A contribution cut item by item leaves the plane of the noise: no ε covers that."""
    noise = BALL.calibrate(_promise(4), NET_WINS)
    assert norms.moved(noise, np.array([5, -5, 0, 0])) < 1
    assert norms.moved(noise, np.array([5, -4, 0, 0])) == norms.INFINITE


def test_what_it_does_not_release_is_refused() -> None:
    votes = _promise(unit="comparison", clip=None)
    for promise, statistic, reason in (
        (votes, NET_WINS_AND_EXPOSURES, "of single votes .* mechanism='laplace'"),
        (_promise(neighbours="outcome", design="public"), NET_WINS_AND_EXPOSURES, "public in part"),
    ):
        with pytest.raises(PrivacyError, match=reason):
            BALL.calibrate(promise, statistic)
    assert BALL.refusal(votes, NET_WINS) is None


def test_other_noise_needs_a_limit_beside_a_clip() -> None:
    """The reason names the remedy; with `auto`, ball noise is taken."""
    privacy, items = Privacy(1, "person", clip=2.0), declare(range(6))
    with pytest.raises(PrivacyError, match="needs max_per_person"):
        choose(items, privacy, Method.NET_WINS, LAPLACE)
    assert choose(items, privacy, Method.NET_WINS).noise.mechanism == BALL


def test_the_usual_clip_is_below_a_typical_norm() -> None:
    """From public values, to two digits; and `auto` knows what it leaves of the votes."""
    promise = _promise(20, clip=None, max_per_person=15)
    assert usual_clip(promise, NET_WINS) == pytest.approx(0.8 * default_clip(promise, NET_WINS), rel=0.03)
    by_hand = [BALL.calibrate(promise.changed(clip=clip), NET_WINS) for clip in (None, 0.1, 100.0)]
    assert [left_by_clipping(noise) for noise in by_hand] == pytest.approx([0.72, 0.09 / 2.87, 0.9], rel=0.03)


def _p_value(values: Floats, cdf: Any) -> float:
    """By Kolmogorov and Smirnov."""
    return float(stats.kstest(values, cdf).pvalue)


# ---- the law, and the draw ------------------------------------------------------------------------------------------

PARTS = [BallPart(2, True, 2.0), BallPart(5, True, 0.5), BallPart(1, False, 3.0), BallPart(4, False, 1.0)]


@pytest.mark.parametrize("part", PARTS)
def test_the_law_of_an_entry(part: BallPart) -> None:
    """Its distribution, deviation and kurtosis, by a sample; a deviation 20 % off would be rejected."""
    sample = sampled(part, np.random.default_rng(2), 100_000)[:, 0]
    entry = sample[:8000]
    assert _p_value(entry, part.cdf) > 1e-4
    assert _p_value(entry * 1.2, part.cdf) < 1e-5
    square = float((sample**2).mean())
    assert math.sqrt(square) == pytest.approx(part.deviation, rel=0.03)
    assert float((sample**4).mean()) / square**2 - 3 == pytest.approx(6 / (part.dimension + 1), abs=0.4)


@pytest.mark.parametrize("part", [BallPart(2, True, 0.7), BallPart(3, True, 0.7), BallPart(2, False, 0.7)])
def test_the_density_is_one(part: BallPart) -> None:
    """Over all entries but one where they sum to zero."""
    axis = np.linspace(-15, 15, 1201)
    free = np.stack(np.meshgrid(*[axis] * part.dimension, indexing="ij"), axis=-1).reshape(-1, part.dimension)
    points = np.column_stack([free, -free.sum(axis=1)]) if part.sum_zero else free
    total = np.exp(part.log_density(points)).sum() * (axis[1] - axis[0]) ** part.dimension
    assert total == pytest.approx(1, abs=1e-3)


def test_two_items_have_laplace_noise() -> None:
    """One dimension: |z|·√2/unit is exponential."""
    x = np.linspace(-4, 4, 41)
    assert BallPart(2, True, 1.0).cdf(x) == pytest.approx(stats.laplace(scale=1 / math.sqrt(2)).cdf(x), abs=1e-9)


@pytest.mark.parametrize(("size", "sum_zero"), [(2, True), (4, True), (3, False)])
@pytest.mark.few(2)
def test_the_draw_has_the_law(size: int, sum_zero: bool) -> None:
    """‖z‖ is Gamma(d), and any direction within the span has the same law; Gamma(d ± 1) is rejected."""
    body = Ball(size, Fraction(2**30), sum_zero)
    drawn = np.array([body.draw() for _ in range(2500)], dtype=np.float64) / 2**30
    lengths, d = np.linalg.norm(drawn, axis=1), body.dimension
    assert _p_value(lengths, stats.gamma(d).cdf) > ALMOST_NEVER
    assert all(_p_value(lengths, stats.gamma(d + other).cdf) < ALMOST_NEVER for other in (-0.5, 1))
    part = BallPart(size, sum_zero, 1.0)
    assert _p_value(drawn[:, 0], part.cdf) > ALMOST_NEVER
    if sum_zero:
        assert np.abs(drawn.sum(axis=1)).max() < size / 2**30
    rng = np.random.default_rng(3)
    others = sampled(part, rng, 2500)
    for direction in rng.normal(size=(3, size)):
        assert stats.ks_2samp(drawn @ direction, others @ direction).pvalue > ALMOST_NEVER


def test_many_items_take_no_longer_than_they_must() -> None:
    """10,000 of them: an eighth of a second alone on a core. Their length is Gamma(9,999), within six deviations."""
    noise = np.array(Ball(10_000, Fraction(2**30), sum_zero=True).draw(), dtype=np.float64) / 2**30
    assert np.linalg.norm(noise) == pytest.approx(9_999, abs=6 * 100)


# ---- releases -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def votes() -> qr.Votes:
    return qr.read_votes(qr.simulate(items=8, people=60, per_person=20, seed=3), items_from_votes=True)


def test_a_release_is_saved_and_ranked_again(votes: qr.Votes, tmp_path: Path) -> None:
    """The promise states the clip and no δ; the file comes back exactly, and an edited one is refused."""
    privacy = qr.Privacy(1.0, "person", max_per_person=20)
    tally = qr.noisy_tally(votes, privacy, mechanism="ball")
    assert (tally.mechanism, tally.privacy.delta, tally.privacy.clip is None) == ("ball", 0, False)
    tally.to_json(tmp_path / "tally.json")
    again = qr.NoisyTally.from_json(tmp_path / "tally.json")
    assert again.law == tally.law
    assert qr.rerank(again).to_dict() == qr.rerank(tally).to_dict()
    saved = json.loads((tmp_path / "tally.json").read_text())
    saved["privacy"]["clip"] /= 2
    (tmp_path / "edited.json").write_text(json.dumps(saved))
    with pytest.raises(qr.QuietrankError, match="not the one that its promise needs"):
        qr.NoisyTally.from_json(tmp_path / "edited.json")


def test_a_ledger_is_charged_without_delta(votes: qr.Votes, tmp_path: Path) -> None:
    """At exactly the budget, of which nothing is left."""
    book = qr.Ledger.create(tmp_path / "book.json", data="votes", epsilon=0.7, unit="person")
    qr.rank(votes, qr.Privacy(0.7, "person", clip=2.0), mechanism="ball", ledger=book)
    with pytest.raises(qr.QuietrankError):
        qr.rank(votes, qr.Privacy(0.01, "person", clip=2.0), mechanism="ball", ledger=book)


def test_a_chosen_limit_gives_the_clip(votes: qr.Votes) -> None:
    """The clip follows from the L that a noisy histogram gave; without δ, and with it where ball noise is asked for."""
    for delta in (0.0, 1e-6):
        privacy = qr.Privacy(8.0, "person", max_per_person="auto", delta=delta, design="uniform")
        release = qr.rank(votes, privacy, mechanism="ball", method="net-wins")
        limit = release.privacy.max_per_person
        assert limit is not None
        promise = Promise(Privacy(1.0, "person", max_per_person=limit, design="uniform"), votes.items)
        assert release.privacy.clip == usual_clip(promise, NET_WINS)
        assert release.privacy.delta == 0


def test_auto_takes_the_least_noise() -> None:
    """Ball noise for many votes on few items, Laplace noise for few, with δ Gaussian noise for many items; for counts,
    which clipping would change, Laplace noise."""
    chosen = {
        (n, limit, delta): choose(
            declare(range(n)), Privacy(1.0, "person", delta=delta, max_per_person=limit, design="uniform"), method
        ).noise.mechanism
        for n, limit, delta, method in (
            (20, 15, 0.0, Method.AUTO),
            (20, 2, 0.0, Method.AUTO),
            (60, 50, 1e-6, Method.AUTO),
            (20, 16, 0.0, Method.NET_WINS),
        )
    }
    assert list(chosen.values()) == [BALL, LAPLACE, GAUSSIAN, LAPLACE]
