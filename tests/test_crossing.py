"""Mechanism: for every promise the released values carry noise of the derived scale, and the ledger comes first."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quietrank as qr
from quietrank import crossing
from quietrank.arrays import Integers
from quietrank.crossing import exact_values
from quietrank.errors import PrivacyError
from quietrank.estimate.noisy import NoisyTally
from quietrank.mechanisms import laplace
from quietrank.mechanisms.choose import choose
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.zonotope import ZONOTOPE
from quietrank.noise import knorm, lattice, normal
from quietrank.promise.accounting import Charge
from quietrank.promise.declare import declare, with_pairs
from quietrank.promise.privacy import Design, Privacy
from quietrank.promise.promise import Bounded, Promise
from quietrank.statistics.method import Method, Ties
from quietrank.statistics.net_wins import NET_WINS
from quietrank.statistics.statistic import Statistic, _finer
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES
from quietrank.votes.tallies import Tallies, Tally
from tests.helpers import PRIVACIES, add_laplace_noise, make_tally, privacy_id, silence
from tests.steps import add_noise, calibrate, half_vote, statistic_for

ITEMS, DRAWS = 60, 70
ADDITIVE = (LAPLACE, ZONOTOPE, GAUSSIAN)

# The L1 sensitivities of the design page, in votes per unit of L, written out independently of the code.
EXPECTED = {
    ("replace", "net-wins"): 2,
    ("replace", "net-wins-and-total"): 2,
    ("replace", "wins"): 2,
    ("replace", "wins-and-losses"): 4,
    ("add-remove", "net-wins"): 1,
    ("add-remove", "net-wins-and-total"): 65 / 64,
    ("add-remove", "wins"): 1,
    ("add-remove", "wins-and-losses"): 2,
    ("outcome", "net-wins"): 2,
    ("outcome", "wins"): 2,
}
CASES = sorted(
    {(privacy_id(p), statistic_for(method, p)) for p in PRIVACIES for method in Method},
    key=str,
)
BY_ID = {privacy_id(privacy): privacy for privacy in PRIVACIES}


def _deviations(privacy: Privacy, statistic: Statistic) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Released values minus the true ones, in votes, over many draws."""
    wins = [10 + k for k in range(ITEMS)]
    tally = make_tally(wins, wins[::-1], privacy)
    calibrated = calibrate(tally.items, privacy, statistic, LAPLACE)
    exact = exact_values(tally, calibrated)
    draws = []
    for _ in range(DRAWS):
        released = add_noise(tally, calibrated)
        draws.append((released.values - exact) * float(released.step))
    return np.concatenate(draws)


def _has_scale(deviations: np.ndarray[tuple[int], np.dtype[np.float64]], scale: float, step: float) -> bool:
    """Whether the mean absolute deviation is within 10 % of that of discrete Laplace noise.

    |Z| has a standard deviation of about its mean, so with 4 200 draws 10 % is more than 6 standard errors: a
    right scale fails less than once in a hundred million runs, and one 25 % off passes as rarely.
    """
    q = math.exp(-step / scale)
    expected = step * 2 * q / (1 - q * q)
    return bool(abs(np.abs(deviations).mean() / expected - 1) < 0.10)


@pytest.mark.parametrize(("which", "statistic"), CASES)
@pytest.mark.few(7)
def test_the_released_noise_has_the_derived_scale(which: str, statistic: Statistic) -> None:
    """For every unit × neighbours × design the noise is Laplace(Δ/ε); scales 25 % off either way are rejected."""
    privacy = BY_ID[which]
    scale = EXPECTED[privacy.neighbours, statistic.name] * privacy.limit / privacy.epsilon
    step = float(half_vote(privacy) * (1 if EXPECTED[privacy.neighbours, statistic.name] != 65 / 64 else 1 / 64))
    deviations = _deviations(privacy, statistic)
    assert _has_scale(deviations, scale, step)
    assert not _has_scale(deviations, scale * 1.25, step)
    assert not _has_scale(deviations, scale * 0.75, step)


@pytest.mark.parametrize("factor", [0.75, 1.25])
def test_a_planted_wrong_scale_is_noticed(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    """The test above can fail: noise 25 % off is told from the right one."""
    privacy = BY_ID["person-replace-private"]
    draw = lattice.add_laplace
    monkeypatch.setattr(lattice, "add_laplace", lambda values, scale: draw(values, scale * factor))
    assert not _has_scale(_deviations(privacy, WINS_AND_LOSSES), 12.0, 2**-21)


def test_too_little_noise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """If calibration ever returned half the scale, the mechanism's own privacy map would stop the release."""
    scale = lattice.laplace_scale
    monkeypatch.setattr(laplace, "laplace_scale", lambda sensitivity, epsilon: scale(sensitivity, epsilon) / 2)
    with pytest.raises(PrivacyError, match="nothing was released"):
        add_laplace_noise(make_tally([1, 2], [2, 1], PRIVACIES[0]), PRIVACIES[0], NET_WINS)


class Recorder:
    """A ledger that writes down when it was debited."""

    def __init__(self, events: list[str], refuse: bool = False) -> None:
        self.events, self.refuse = events, refuse

    def debit(self, charge: Charge) -> str:
        self.events.append(f"debit {charge.cost.epsilon:g}")
        if self.refuse:
            raise PrivacyError("the budget is spent")
        return "1"


@pytest.mark.parametrize("mechanism", ADDITIVE)
@pytest.mark.parametrize(("refuse", "expected"), [(False, ["debit 1", "draw"]), (True, ["debit 1"])])
def test_the_ledger_is_debited_before_noise_is_drawn(
    monkeypatch: pytest.MonkeyPatch, mechanism: Mechanism, refuse: bool, expected: list[str]
) -> None:
    """Debit, then draw; and no draw when the debit is refused."""
    privacy = Privacy(1.0, "person", delta=1e-6, max_per_person=1, one_per_pair=True)
    events: list[str] = []

    def drawn(_: object, values: Integers) -> Integers:
        events.append("draw")
        return values

    for kind in (lattice.LaplaceNoise, knorm.KNormNoise, knorm.BallNoise, normal.RoundedGaussianNoise):
        monkeypatch.setattr(kind, "add_to", drawn)
    tally = make_tally([1, 2], [2, 1], privacy)
    calibrated = calibrate(tally.items, privacy, NET_WINS, mechanism)
    tally = replace(tally, bounded=Bounded.by(calibrated.privacy, calibrated.clip))
    if refuse:
        with pytest.raises(PrivacyError, match="spent"):
            add_noise(tally, calibrated, ledger=Recorder(events, refuse))
    else:
        add_noise(tally, calibrated, ledger=Recorder(events))
    assert events == expected


def _quiet(monkeypatch: pytest.MonkeyPatch, privacy: Privacy, method: Method) -> NoisyTally:
    """The noisy tally of a small tournament with the noise switched off."""
    silence(monkeypatch)
    tally = make_tally([5, 1, 0], [1, 2, 3], privacy)
    return add_laplace_noise(tally, privacy, statistic_for(method, privacy))


@pytest.mark.parametrize("privacy", PRIVACIES, ids=privacy_id)
def test_without_noise_every_quantity_is_exact(monkeypatch: pytest.MonkeyPatch, privacy: Privacy) -> None:
    """Lattice, shares and halves cancel: net wins, exposures and totals come back in votes."""
    noisy = _quiet(monkeypatch, privacy, Method.WIN_RATE)
    assert noisy.net_wins is not None
    assert noisy.net_wins.tolist() == [2, -0.5, -1.5]
    assert noisy.total == 6
    uniform = privacy.design is Design.UNIFORM
    exposure = noisy.exposure if noisy.released_exposure is None else noisy.released_exposure
    assert exposure is not None
    assert exposure.tolist() == ([4, 4, 4] if uniform else [6, 3, 3])


@pytest.mark.parametrize("privacy", PRIVACIES, ids=privacy_id)
def test_plain_win_counts_are_exact_without_noise(monkeypatch: pytest.MonkeyPatch, privacy: Privacy) -> None:
    """The published statistic: wins, and nothing else but what is public."""
    noisy = _quiet(monkeypatch, privacy, Method.WINS)
    assert noisy.wins is not None
    assert noisy.wins.tolist() == [5, 1, 0]
    assert noisy.net_wins is None


@pytest.mark.parametrize("privacy", PRIVACIES, ids=privacy_id)
def test_only_free_totals_are_exact(privacy: Privacy) -> None:
    """With noise on, the total is exact where it is public and noisy or absent elsewhere."""
    tally = make_tally([500, 100, 0], [100, 200, 300], privacy)
    totals = {add_laplace_noise(tally, privacy, statistic_for(Method.WIN_RATE, privacy)).total for _ in range(40)}
    assert (totals == {600.0}) == privacy.votes_are_public
    assert add_laplace_noise(tally, privacy, WINS).total == (600.0 if privacy.votes_are_public else None)


@pytest.mark.parametrize("mechanism", ADDITIVE)
def test_votes_bounded_in_another_way_are_refused(mechanism: Mechanism) -> None:
    """Noise for L = 1 on votes bounded at 50, or for clipped votes on votes that were not: nothing is drawn."""
    promised = Privacy(1.0, "person", delta=1e-6, max_per_person=1, one_per_pair=True)
    tally = make_tally([1, 2, 3], [2, 1, 3], promised.changed(max_per_person=50))
    calibrated = calibrate(tally.items, promised, NET_WINS, mechanism)
    events: list[str] = []
    with pytest.raises(AssertionError, match="not bounded"):
        add_noise(tally, calibrated, ledger=Recorder(events))
    assert events == []


def test_a_zonotope_of_other_pairs_is_refused() -> None:
    """A vote on a pair that the noise does not know of would come out exactly."""
    tally = make_tally([1, 2, 3, 0], [2, 1, 0, 3], Privacy(1.0, "person", one_per_pair=True, max_per_person=1))
    few = with_pairs(tally.items, [("item 0", "item 1"), ("item 2", "item 3")])
    promise = Privacy(1.0, "person", one_per_pair=True, max_per_person=1)
    noise = calibrate(few, promise, NET_WINS, ZONOTOPE)
    with pytest.raises(AssertionError, match="other items"):
        add_noise(tally, noise)
    with pytest.raises(PrivacyError, match="nothing was released"):
        add_noise(tally, replace(noise, promise=replace(noise.promise, items=tally.items)))


def test_counts_that_no_lattice_holds_are_refused_before_the_debit() -> None:
    """A fine lattice holds fewer votes than 64 bits count: nothing is paid and nothing drawn."""
    items, events = declare([f"item {k}" for k in range(100)]), list[str]()
    promise = Promise(Privacy(1.0, "person", delta=1e-6, max_per_person=1000), items)
    noise = choose(promise, Method.BRADLEY_TERRY, GAUSSIAN, ties=Ties.DAVIDSON).noise
    bounded = promise.bounded(noise.clip)
    wins = np.zeros(100, dtype=np.int64)
    wins[0] = 2**60
    tally = Tally(items, wins, wins[::-1].copy(), bounded.half_vote, 1, bounded, 0)
    assert float(2**60 * tally.step) < 10**12
    with pytest.raises(PrivacyError, match="too large for the lattice"):
        crossing.cross(Tallies.of(tally, people=1), noise, ledger=Recorder(events))
    assert events == []


@pytest.mark.parametrize("mechanism", ["laplace", "ball", "gaussian"])
def test_counts_do_not_wrap_around_on_a_finer_lattice(mechanism: Any) -> None:
    """One vote more than 2^39 keeps its sign; sums that no lattice could hold are refused, not wrapped."""
    for last in (2**39 - 1, 2**39):
        table = pa.table({"winner": ["a", "a"], "loser": ["b", "b"], "n": [2**39, last]})
        votes = qr.read_votes(table, ["a", "b"], count="n")
        delta = 1e-6 if mechanism == "gaussian" else 0.0
        privacy = qr.Privacy(1, "comparison", delta=delta, neighbours="add-remove")
        release = qr.rank(votes, privacy, mechanism=mechanism, method="net-wins")
        assert [row.item for row in release] == ["a", "b"]
        assert release.ranking[0].score == pytest.approx(2**39, rel=1e-6)
    with pytest.raises(PrivacyError, match="too large"):
        _finer(np.array([2**43, -(2**43)]), 2**20)
