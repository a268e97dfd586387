"""Laws: what is said of the noise is what is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietrank.maths import zonotopes
from quietrank.mechanisms import registry
from quietrank.mechanisms.ball import BALL
from quietrank.mechanisms.gaussian import GAUSSIAN, GaussianLaw
from quietrank.mechanisms.laplace import LaplaceLaw
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.zonotope import ZONOTOPE, ZonotopeLaw
from quietrank.promise.graph import complete, double_cover, from_pairs
from quietrank.promise.items import Items
from quietrank.promise.privacy import DesignWord, Privacy
from quietrank.statistics.net_wins import NET_WINS, NET_WINS_AND_EXPOSURES, NET_WINS_AND_TOTAL
from quietrank.statistics.statistic import Statistic
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES
from tests.steps import COUNTS, calibrate, for_items

ITEMS = Items(("a", "b", "c", "d"))
MECHANISMS = [mechanism for mechanism in registry.MECHANISMS.values() if mechanism.automatic]
CASES = [
    (mechanism, statistic, design)
    for mechanism in MECHANISMS
    for statistic in COUNTS
    for design in ("private", "uniform")
    if statistic is not (NET_WINS_AND_TOTAL if mechanism in (GAUSSIAN, BALL) else NET_WINS_AND_EXPOSURES)
    if not (mechanism is ZONOTOPE and statistic is WINS)
    if mechanism is not BALL or statistic in BALL.statistics
]


@pytest.mark.parametrize(("mechanism", "statistic", "design"), CASES)
@pytest.mark.few(2)
def test_the_law_is_that_of_the_draws(mechanism: Mechanism, statistic: Statistic, design: DesignWord) -> None:
    """Every entry of the noise that releases draw has the standard deviation of the law's samples, and its total."""
    privacy = for_items(Privacy(1.0, "person", delta=1e-6, one_per_pair=True, design=design), ITEMS)
    calibrated = calibrate(ITEMS, privacy, statistic, mechanism)
    sizes = {WINS_AND_LOSSES: 8, NET_WINS_AND_EXPOSURES: 8, NET_WINS_AND_TOTAL: 5}
    size = sizes.get(statistic, 4)
    zeros = np.zeros(size, dtype=np.int64)
    drawn = np.array([calibrated.noise.add_to(zeros) for _ in range(4000)]) * float(calibrated.step)
    drawn[:, 4:] /= float(calibrated.share)
    sampled = calibrated.law.sample(np.random.default_rng(1), 6000)
    assert sampled.shape == (6000, size)
    for column in range(size):
        ratio = np.sqrt((drawn[:, column] ** 2).mean() / (sampled[:, column] ** 2).mean())
        assert ratio == pytest.approx(1, abs=0.17)  # six standard errors of heavy-tailed squares
    assert np.sqrt((drawn[:, :4] ** 2).mean()) == pytest.approx(calibrated.law.spread.value, rel=0.1)


@pytest.mark.parametrize(
    "law",
    [
        LaplaceLaw(WINS_AND_LOSSES, 5, 2.0, sum_zero=False),
        LaplaceLaw(WINS_AND_LOSSES, 5, 2.0, sum_zero=True),
        LaplaceLaw(NET_WINS, 6, 2.0, sum_zero=True),
        GaussianLaw(WINS_AND_LOSSES, 5, 3.0),
        GaussianLaw(NET_WINS, 5, 3.0),
        GaussianLaw(NET_WINS_AND_EXPOSURES, 5, 3.0, 0.125),
        ZonotopeLaw(NET_WINS, complete(5), 0.5),
    ],
)
def test_the_spread_is_that_of_the_samples(law: LaplaceLaw | GaussianLaw | ZonotopeLaw) -> None:
    """Net wins and exposures computed from samples have the standard deviations of the formulas."""
    noise = law.sample(np.random.default_rng(3), 10_000 if isinstance(law, ZonotopeLaw) else 60_000)
    n = noise.shape[1] // 2
    joint = law.statistic is WINS_AND_LOSSES
    if law.statistic is NET_WINS_AND_EXPOSURES:
        assert noise[:, n:].std() == pytest.approx(law.spread.exposure, rel=0.03)
        noise = noise[:, :n]
    net_wins = (noise[:, :n] - noise[:, n:]) / 2 if joint else noise
    assert net_wins.std() == pytest.approx(law.spread.net_wins, rel=0.03)
    if joint:
        assert (noise[:, :n] + noise[:, n:]).std() == pytest.approx(law.spread.exposure, rel=0.03)


@pytest.mark.parametrize(("n", "gain"), [(4, 0.16), (6, 0.11), (10, 0.07), (24, 0.03)])
def test_sum_zero_noise_gains_what_is_said(n: int, gain: float) -> None:
    """Standard deviation against centred independent noise of the same scale."""
    spread = LaplaceLaw(NET_WINS, n, 1.0, sum_zero=True).spread.net_wins
    assert 1 - spread / np.sqrt(2 * (1 - 1 / n)) == pytest.approx(gain, abs=0.006)


PATH = from_pairs(4, [(0, 1), (1, 2), (2, 3)])
APART = from_pairs(5, [(0, 1), (1, 2), (0, 2), (3, 4)])
DENSITIES: dict[str, tuple[LaplaceLaw | GaussianLaw | ZonotopeLaw, tuple[int, ...]]] = {
    "laplace": (LaplaceLaw(NET_WINS, 3, 2.0, sum_zero=False), (0, 1, 2)),
    "laplace, sum zero": (LaplaceLaw(NET_WINS, 4, 2.0, sum_zero=True), (1, 2, 3)),
    "laplace, sum zero, losses": (LaplaceLaw(WINS_AND_LOSSES, 2, 2.0, sum_zero=True), (1, 2, 3)),
    "laplace, total": (LaplaceLaw(NET_WINS_AND_TOTAL, 3, 2.0, sum_zero=True, share=0.25), (0, 2, 3)),
    "gaussian": (GaussianLaw(NET_WINS, 3, 2.0), (0, 1, 2)),
    "gaussian, exposures": (GaussianLaw(NET_WINS_AND_EXPOSURES, 2, 2.0, 0.5), (0, 1, 2, 3)),
    "zonotope": (ZonotopeLaw(NET_WINS, complete(4), 0.7), (0, 1, 2)),
    "zonotope of a path": (ZonotopeLaw(NET_WINS, PATH, 0.7), (0, 1, 3)),
    "zonotope in two parts": (ZonotopeLaw(NET_WINS, APART, 0.7), (0, 1, 3)),
    "zonotope, total": (ZonotopeLaw(NET_WINS_AND_TOTAL, complete(3), 0.7, 6.0), (0, 1, 3)),
    "zonotope, losses": (ZonotopeLaw(WINS_AND_LOSSES, double_cover(complete(3)), 0.7), (1, 2, 3, 4, 5)),
}


@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.few(3)
def test_densities_are_those_of_the_samples(name: str) -> None:
    """E[q/p] = 1 over samples of p, for a normal density q of the free coordinates; within six standard errors."""
    law, free = DENSITIES[name]
    noise = law.sample(np.random.default_rng(5), 20_000 if isinstance(law, ZonotopeLaw) else 400_000)
    within = noise[:, free] / (sd := noise[:, free].std(axis=0) / 2)
    log_normal = -(within**2).sum(axis=1) / 2 - np.log(sd * np.sqrt(2 * np.pi)).sum()
    log_density = law.log_density(noise)
    assert log_density is not None
    ratio = np.exp(log_normal - log_density)
    assert ratio.std() / np.sqrt(len(ratio)) < 0.02
    assert ratio.mean() == pytest.approx(1, abs=6 * ratio.std() / np.sqrt(len(ratio)))


@pytest.mark.parametrize("name", [name for name in DENSITIES if "zonotope" not in name])
def test_distribution_functions_are_those_of_the_samples(name: str) -> None:
    """At five points, within six standard errors; and quantiles lead back."""
    law, _ = DENSITIES[name]
    entry = law.sample(np.random.default_rng(7), 200_000)[:, 0]
    points = law.spread.value * np.array([-1.5, -0.4, 0.0, 0.7, 2.0])
    expected = law.cdf(points)
    assert expected is not None
    assert (entry[:, None] <= points).mean(axis=0) == pytest.approx(expected, abs=6 * 0.5 / np.sqrt(len(entry)))
    for point, p in zip(points, expected, strict=True):
        assert law.quantile(float(p)) == pytest.approx(point, abs=1e-6 * law.spread.value)


def test_what_is_not_known_is_none() -> None:
    """A single entry of zonotope noise has no formula, and a large graph that is not complete has too many cuts."""
    law = ZonotopeLaw(NET_WINS, from_pairs(30, [(k, k + 1) for k in range(29)]), 1.0)
    assert law.cdf(np.zeros(1)) is None
    assert law.quantile(0.9) is None
    assert law.log_density(np.zeros((1, 30))) is None


@given(st.lists(st.floats(-50, 50), min_size=5, max_size=5))
def test_the_gauge_of_all_pairs_is_that_of_all_cuts(point: list[float]) -> None:
    """The short formula for complete graphs against the maximum over bonds."""
    points = np.array([point])
    inside, leaving = zonotopes.bonds(complete(5))
    long = (np.abs(zonotopes.centred(complete(5), points) @ inside.T) / leaving).max(axis=1)
    short = zonotopes.gauges(complete(5), points)
    assert short is not None
    np.testing.assert_allclose(short, long, atol=1e-12)
