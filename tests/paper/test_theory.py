"""Tests of thresholds, the hard instance's phase transition and the score attack."""

from math import log, sinh, sqrt

import numpy as np
import pytest

from quietrank.paper import attack, phase
from quietrank.paper.data import graph_duels, strengths, win_probabilities
from quietrank.paper.dense import fit
from quietrank.paper.methods import score_estimate
from quietrank.paper.phase import Setting
from tests.effort import effort


def test_thresholds_are_the_published_ones() -> None:
    """√(log n/(np)) + log n/(npε) and √(n log n/m) + n log n/(mε)."""
    assert phase.comparison_threshold(100, 0.5, 2.0) == pytest.approx(sqrt(log(100) / 50) + log(100) / 100)
    assert phase.person_threshold(10, 1000, 2.0) == pytest.approx(sqrt(log(10) / 100) + log(10) / 200)


def test_sharp_threshold_has_the_right_limits() -> None:
    """√2·√(log n/(np)) without privacy and 4 log n/(npε) where privacy dominates, up to lower-order terms."""
    n = 10**9
    free, private = Setting(n, 1e9, p=1.0).sharp, Setting(n, 1e-6, p=1.0).sharp
    assert free == pytest.approx(sqrt(2 * log(n) / n), rel=0.15)
    assert private == pytest.approx(4 * log(n) / (n * 1e-6), rel=0.25)


def test_tail_is_that_of_normal_plus_laplace() -> None:
    """The closed form agrees with simulation, and is 1/2 at 0."""
    rng = np.random.default_rng(0)
    noise = rng.normal(scale=2, size=200000) + rng.laplace(scale=1.5, size=200000)
    for t in (0.0, 2.0, 6.0):
        assert phase.tail(t, 2.0, 1.5) == pytest.approx((noise > t).mean(), abs=0.004)
    assert phase.tail(30.0, 1e-3, 1.0) == pytest.approx(np.exp(-30) / 2)


@pytest.mark.parametrize("setting", [Setting(100, 2.0, p=1.0), Setting(16, 1.0, m=1000)])
def test_recovery_goes_from_never_to_always(setting: Setting) -> None:
    """Far below the threshold the top k are not found, far above they are."""
    rng = np.random.default_rng(0)
    low = np.mean([phase.recovered(setting, 0.5, rng) for _ in range(60)])
    high = np.mean([phase.recovered(setting, 2.5, rng) for _ in range(60)])
    assert low < 0.1
    assert high > 0.9


def test_curves_collapse_for_both_units() -> None:
    """At 1.1 thresholds recovery is about as likely whatever n and ε."""
    rng = np.random.default_rng(0)
    sizes = [Setting(n, e, p=1.0) for n in (100, 300) for e in (1.0, 4.0)]
    sizes += [Setting(n, e, m=m) for n, m in ((16, 1000), (32, 4000)) for e in (0.3, 4.0)]
    chances = [np.mean([phase.recovered(s, 1.1, rng) for _ in range(100)]) for s in sizes]
    assert min(chances) > 0.2
    assert max(chances) < 0.8


def test_attack_without_privacy_is_the_slope_of_the_expectation() -> None:
    """For a near-unbiased estimate the attack's mean is about 1 per item (less the share lost to centring)."""
    rng = np.random.default_rng(0)
    theta = strengths(24, rng)
    found = []
    for _ in range(300):
        duels = graph_duels(win_probabilities(theta), 1.0, rng)
        found.append(attack.attack(duels, theta, fit(duels.counts, duels.net_wins, 0.5)))
    assert 0.75 < np.mean(found) < 1.2


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
@pytest.mark.few(1)
def test_attack_on_a_private_estimate_stays_below_its_bound(epsilon: float) -> None:
    """The mean attack is at most the mean bound; the same estimate without noise breaks it at ε = 0.1."""
    rng = np.random.default_rng(0)
    theta = strengths(24, rng)
    excess: dict[str, list[float]] = {"private": [], "open": []}
    runs = effort(30, 60)
    for _ in range(runs):
        duels = graph_duels(win_probabilities(theta), 1.0, rng)
        noisy = duels.net_wins + rng.laplace(scale=2 / epsilon, size=24)
        for name, scores in (
            ("private", score_estimate(duels, noisy, 2 / epsilon)),
            ("open", score_estimate(duels, duels.net_wins, 0.0)),
        ):
            excess[name].append(attack.attack(duels, theta, scores) - attack.bound(theta, scores, epsilon))
    error = np.std(excess["private"]) / sqrt(runs)
    assert np.mean(excess["private"]) < 2 * error
    if epsilon == 0.1:
        assert np.mean(excess["open"]) > 4 * np.std(excess["open"]) / sqrt(runs)


def test_bound_grows_like_sinh() -> None:
    """The bound is sinh(ε) times the weighted error."""
    theta, scores = np.array([0.5, 0.0, -0.5]), np.zeros(3)
    ratio = attack.bound(theta, scores, 2.0) / attack.bound(theta, scores, 1.0)
    assert ratio == pytest.approx(sinh(2) / sinh(1))
