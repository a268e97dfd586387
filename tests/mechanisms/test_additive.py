"""Additive noise: calibrated from public values, checked against its own privacy map, and no larger than promised."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from math import sqrt
from typing import Any

import pytest

from quietrank import crossing
from quietrank.errors import PrivacyError
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.mechanism import Calibrated, Mechanism
from quietrank.mechanisms.zonotope import ZONOTOPE
from quietrank.noise import knorm
from quietrank.promise.curve import curve_delta
from quietrank.promise.declare import declare, with_pairs
from quietrank.promise.items import Items
from quietrank.promise.privacy import DesignWord, NeighboursWord, Privacy
from quietrank.promise.promise import Clip
from quietrank.simulation import item_names
from quietrank.statistics.net_wins import NET_WINS, NET_WINS_AND_EXPOSURES, NET_WINS_AND_TOTAL
from quietrank.statistics.statistic import Statistic
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES
from tests.steps import COUNTS, calibrate, clip_of, default_clip, for_items, require_kept, sensitivity

SIX = Items(tuple("abcdef"))
PROMISES: list[dict[str, Any]] = [
    {"neighbours": neighbours, "design": design, "unit": unit, **bound}
    for unit, bound in (("comparison", {}), ("person", {"max_per_person": 5}), ("person", {"one_per_pair": True}))
    for neighbours, design in (("replace", "private"), ("add-remove", "uniform"), ("outcome", "public"))
]


def _calibrations(items: Items, **promise: Any) -> list[Calibrated]:
    """All mechanisms and statistics that this promise can have."""
    found = []
    for mechanism in (LAPLACE, ZONOTOPE, GAUSSIAN):
        for statistic in COUNTS:
            privacy = for_items(Privacy(0.7, delta=1e-5, **promise), items)
            for groups in (False, True):
                try:
                    found.append(calibrate(items, privacy, statistic, mechanism, groups=groups))
                except PrivacyError:
                    continue
    return found


@pytest.mark.parametrize("promise", PROMISES, ids=lambda p: "-".join(map(str, p.values())))
def test_what_is_calibrated_is_kept_and_not_by_a_wide_margin(promise: dict[str, Any]) -> None:
    """Every calibration passes the check; the same with one per cent less noise does not."""
    found = _calibrations(SIX, **promise)
    assert len(found) >= 8
    for calibrated in found:
        require_kept(SIX, calibrated)
        assert calibrated.cost.epsilon == 0.7
        assert (calibrated.cost.delta > 0) == (calibrated.mechanism is GAUSSIAN)
        with pytest.raises(PrivacyError, match="nothing was released"):
            require_kept(SIX, dataclasses.replace(calibrated, noise=_quieter(calibrated.noise, Fraction(99, 100))))


def _quieter(drawn: Any, factor: Fraction) -> Any:
    if isinstance(drawn, knorm.KNormNoise):
        body = drawn.body
        if isinstance(body, knorm.Zonotope):
            return dataclasses.replace(drawn, body=dataclasses.replace(body, unit=body.unit * factor))
        return dataclasses.replace(drawn, body=dataclasses.replace(body, scale=body.scale * factor))
    return dataclasses.replace(drawn, scale=drawn.scale * float(factor))


@pytest.mark.parametrize("mechanism", [LAPLACE, ZONOTOPE])
def test_a_loss_is_rounded_up(mechanism: Mechanism) -> None:
    """Noise that is too small by far less than a float can tell is refused: its loss is more than was promised."""
    privacy = for_items(Privacy(0.5, "person", one_per_pair=True), SIX)
    calibrated = calibrate(SIX, privacy, NET_WINS, mechanism)
    require_kept(SIX, calibrated)
    with pytest.raises(PrivacyError, match="nothing was released"):
        require_kept(SIX, dataclasses.replace(calibrated, noise=_quieter(calibrated.noise, 1 - Fraction(1, 2**80))))


def test_the_gaussian_states_what_its_curve_says() -> None:
    """ρ = μ²/2 inside, (ε, δ) outside: the curve is tight and never beyond δ."""
    privacy = Privacy(1.0, "person", delta=1e-6, max_per_person=10)
    cost = calibrate(SIX, privacy, NET_WINS, GAUSSIAN).cost
    assert cost.rho is not None
    assert 0.999999e-6 < curve_delta(1.0, sqrt(2 * cost.rho)) <= 1.000001e-6


def test_pure_mechanisms_promise_no_delta() -> None:
    """A δ that was allowed and not used is not in the promise."""
    privacy = for_items(Privacy(1.0, "person", delta=1e-6, one_per_pair=True), SIX)
    for mechanism in (LAPLACE, ZONOTOPE):
        kept = calibrate(SIX, privacy, NET_WINS, mechanism)
        assert (kept.privacy.delta, kept.cost.delta) == (0, 0)


def test_the_gaussian_needs_a_delta() -> None:
    """Without one it is refused, with the remedy."""
    with pytest.raises(PrivacyError, match="needs delta above 0"):
        calibrate(SIX, Privacy(1.0, "person", max_per_person=3), NET_WINS, GAUSSIAN)


@pytest.mark.parametrize("promise", [{"max_per_person": 3}, {"one_per_pair": True}])
def test_the_zonotope_needs_one_answer_per_pair_and_net_wins(promise: dict[str, Any]) -> None:
    """Refused for people who may answer often, and for plain wins."""
    statistic = NET_WINS if "max_per_person" in promise else WINS
    with pytest.raises(PrivacyError, match=r"one_per_pair=True|does not release wins"):
        calibrate(SIX, for_items(Privacy(1.0, "person", **promise), SIX), statistic, ZONOTOPE)


def test_the_limit_is_filled_in_from_the_askable_pairs() -> None:
    """One answer per pair: nobody weighs more than all pairs; a smaller limit is unchanged."""
    assert for_items(Privacy(1, "person", one_per_pair=True), SIX).limit == 15
    assert for_items(Privacy(1, "person", one_per_pair=True, max_per_person=4), SIX).limit == 4
    assert for_items(Privacy(1, "person", one_per_pair=True, max_per_person=99), SIX).limit == 15
    few = with_pairs(declare("abcdef"[k] for k in range(6)), [("a", "b"), ("b", "a"), ("c", "d"), ("e", "f")])
    assert for_items(Privacy(1, "person", one_per_pair=True), few).limit == 3


@pytest.mark.parametrize(
    ("statistic", "neighbours", "design"),
    [
        (NET_WINS, "replace", "uniform"),
        (WINS_AND_LOSSES, "replace", "private"),
        (NET_WINS_AND_EXPOSURES, "replace", "private"),
        (NET_WINS, "outcome", "public"),
        (NET_WINS_AND_EXPOSURES, "replace", "uniform"),
        (WINS, "replace", "private"),
    ],
)
def test_the_default_clip_is_a_typical_norm(
    statistic: Statistic, neighbours: NeighboursWord, design: DesignWord
) -> None:
    """Between a third of the largest norm that a person with L votes can have and that norm."""
    items, L = Items(tuple(item_names(20))), 40
    privacy = Privacy(1, "person", delta=1e-6, neighbours=neighbours, design=design, max_per_person=L)
    largest = {WINS: L, WINS_AND_LOSSES: L * 2**0.5}.get(statistic, L / 2**0.5)
    assert largest / 8 < default_clip(items, privacy, statistic) < largest


def test_all_pairs_of_many_items_need_no_graph() -> None:
    """Ten thousand items with one answer per pair: the cut of all pairs is known without listing them."""
    many = Items(tuple(item_names(10_000)))
    privacy = for_items(Privacy(1.0, "person", one_per_pair=True, max_per_person=20), many)
    assert calibrate(many, privacy, NET_WINS, LAPLACE).law.spread.net_wins > 40
    few = for_items(Privacy(1.0, "person", one_per_pair=True), SIX)
    for statistic in (NET_WINS, WINS, WINS_AND_LOSSES, NET_WINS_AND_TOTAL):
        assert sensitivity(few, statistic, 6) == sensitivity(few, statistic, SIX.graph)


@pytest.mark.parametrize("clip", [None, clip_of(Privacy(1, "person", max_per_person=3, delta=1e-6), WINS, 1.0)])
def test_gaussian_noise_for_another_clip_is_refused(clip: Clip | None) -> None:
    """People who were clipped in another norm, or not at all, could move further than the noise covers."""
    noise = calibrate(SIX, Privacy(1, "person", max_per_person=3, delta=1e-6), NET_WINS, GAUSSIAN)
    crossing.require_kept(noise)
    with pytest.raises(AssertionError, match="another norm"):
        crossing.require_kept(dataclasses.replace(noise, clip=clip))
