"""Predictions: they move as they must, use what releases use, and look at no votes."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quietrank as qr
import quietrank.planning as planning
from quietrank.errors import PrivacyError, QuietrankError
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.zonotope import ZONOTOPE
from quietrank.planning.forecast import Prediction
from quietrank.statistics.method import MethodWord
from quietrank.statistics.net_wins import NET_WINS_AND_EXPOSURES, NET_WINS_AND_TOTAL
from tests.imports import imports
from tests.test_boundaries import SOURCES

FAST: dict[str, Any] = {"repetitions": 200, "curves": False}
CONFIDENTIAL = {"votes", "crossing", "pipeline", "noise"}


def _by_mechanism(plan: qr.Plan) -> dict[str, list[Prediction]]:
    found: dict[str, list[Prediction]] = {}
    for one in plan.predictions:
        found.setdefault(one.mechanism, []).append(one)
    return found


@pytest.mark.parametrize("method", ["auto", "net-wins", "wins", "win-rate", "bradley-terry"])
@pytest.mark.parametrize(
    "promise",
    [
        {"design": "private"},
        {"design": "uniform", "neighbours": "add-remove"},
        {"design": "public", "neighbours": "outcome"},
        {"design": "private", "one_per_pair": True},
        {"unit": "comparison"},
    ],
    ids=str,
)
@pytest.mark.few(2)
def test_more_epsilon_is_more_accurate_and_never_better_than_no_privacy(
    method: MethodWord, promise: dict[str, Any]
) -> None:
    """For every method and kind of promise, by every mechanism that fits."""
    epsilons = (0.02, 0.1, 0.5) if "unit" in promise else (0.2, 1.0, 5.0)
    plan = qr.plan(8, 200, 10, epsilon=epsilons, delta=1e-6, method=method, repetitions=60, curves=False, **promise)
    for curve in _by_mechanism(plan).values():
        assert tuple(one.epsilon for one in curve) == epsilons
        assert curve[0].rank_error > curve[1].rank_error > curve[2].rank_error > 0.8 * plan.without_privacy.rank_error
        assert curve[0].noise_sd > curve[1].noise_sd > curve[2].noise_sd > 0
    assert plan.without_privacy.noise_sd == 0
    assert sum(one.chosen for one in plan.predictions) == 3


def test_the_same_seed_gives_the_same_plan() -> None:
    first, second, other = (qr.plan(6, 100, 8, seed=seed, **FAST) for seed in (1, 1, 2))
    assert first.rows() == second.rows()
    assert first.rows() != other.rows()


def test_without_noise_many_votes_find_the_truth() -> None:
    """A survey of a million votes on clear differences has hardly an error, with privacy or without."""
    plan = qr.plan(6, votes=10**6, unit="comparison", spread="clear", epsilon=1.0, **FAST)
    assert plan.predictions[0].rank_error < 0.05
    assert plan.without_privacy.rank_error < 0.05


def test_nothing_but_noise_is_guessing() -> None:
    """At ε = 0.001 ten items come in any order: top-3 error 0.7, rank error (n² − 1)/3n = 3.3, a winner by luck."""
    for one in qr.plan(10, 50, 10, epsilon=0.001, top_k=3, repetitions=2000, curves=False).predictions:
        assert one.top_k_error == pytest.approx(0.7, abs=5 * one.top_k_precision)
        assert one.rank_error == pytest.approx(3.3, abs=5 * one.rank_precision)
        assert one.winner == pytest.approx(0.1, abs=5 * one.winner_precision)


def test_auto_marks_what_a_release_would_use() -> None:
    """Few items and all pairs: the zonotope; many votes each on many items: Gaussian."""
    few = qr.plan(5, 100, one_per_pair=True, design="uniform", delta=1e-6, epsilon=1.0, **FAST)
    assert [one.mechanism for one in few.predictions if one.chosen] == ["zonotope"]
    many = qr.plan(60, 500, 100, delta=1e-6, epsilon=1.0, repetitions=50, curves=False)
    (gaussian,) = (one for one in many.predictions if one.chosen)
    (laplace,) = (one for one in many.predictions if one.mechanism == "laplace")
    assert gaussian.mechanism == "gaussian"
    assert gaussian.score_error <= laplace.score_error / 2


@pytest.mark.parametrize("mechanism", [LAPLACE, ZONOTOPE, GAUSSIAN])
def test_noise_of_size_one_scales_to_the_law(mechanism: Mechanism) -> None:
    """Sampling at size 1 and scaling is sampling: the same seed gives the same draws."""
    from quietrank.promise.items import Items
    from tests.steps import calibrate

    items = Items(("a", "b", "c", "d"))
    privacy = qr.Privacy(0.7, "person", delta=1e-6, one_per_pair=True, max_per_person=6)
    gaussian = mechanism is GAUSSIAN
    statistic = NET_WINS_AND_EXPOSURES if gaussian else NET_WINS_AND_TOTAL
    law = calibrate(items, privacy, statistic, mechanism).law
    direct, scaled = law.sample(np.random.default_rng(1), 50), law.of_size(1.0).sample(np.random.default_rng(1), 50)
    np.testing.assert_allclose(scaled * law.size, direct)


def test_planning_touches_no_votes() -> None:
    """No module of the planner imports what reads votes, sees a tally or draws the noise of a release."""
    modules = [name for name in SOURCES if name.partition(".")[0] == "planning"]
    assert len(modules) > 5
    for name in modules:
        assert not {other.partition(".")[0] for other in imports(name, SOURCES)} & CONFIDENTIAL, name
    for path in Path(planning.__path__[0]).glob("*.py"):
        calls = {ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)}
        assert not any(call.endswith("add_to") for call in calls), path


@pytest.mark.parametrize(
    ("options", "error", "remedy"),
    [
        ({"mechanism": "perturbed-mle"}, PrivacyError, "use auto"),
        ({"mechanism": "gaussian"}, PrivacyError, "delta"),
        ({"mechanism": "zonotope"}, PrivacyError, "one_per_pair"),
        ({"top_k": 10}, QuietrankError, "from 1 to 9"),
        ({"epsilon": 0.0}, PrivacyError, "> 0"),
        ({"spread": "wide"}, QuietrankError, "close, typical, clear"),
        ({"design": "public"}, PrivacyError, "outcome"),
        ({"votes": 10}, QuietrankError, "unit='comparison'"),
        ({"unit": "comparison", "one_per_pair": True}, PrivacyError, "leave them out"),
        ({"people": None}, QuietrankError, "people=500"),
        ({"per_person": None}, QuietrankError, "per_person=15"),
        ({"target": "winner 0.5", "epsilon": 1.0}, QuietrankError, "leave epsilon out"),
        ({"target": "winner 0.5", "solve": "people"}, QuietrankError, "one epsilon"),
        ({"target": "winner 0.5", "solve": "people", "epsilon": 1}, QuietrankError, "leave people and votes out"),
        ({"target": "top-3 error 0.5", "top_k": 4}, QuietrankError, "top 3, not top_k=4"),
        ({"unit": "comparison", "max_per_person": 3}, QuietrankError, "leave it out"),
        ({"solve": "luck"}, QuietrankError, "epsilon or people"),
    ],
    ids=str,
)
def test_what_cannot_be_planned_is_refused(options: dict[str, Any], error: type[Exception], remedy: str) -> None:
    """Each error names the remedy."""
    with pytest.raises(error, match=remedy):
        qr.plan(**({"items": 10, "people": 100, "per_person": 10} | options), **FAST)
