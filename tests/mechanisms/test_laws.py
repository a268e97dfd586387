"""Laws: what is said of the noise is what is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from quietrank.mechanisms.gaussian import GAUSSIAN, GaussianLaw
from quietrank.mechanisms.laplace import LAPLACE, LaplaceLaw
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.zonotope import ZONOTOPE, ZonotopeLaw
from quietrank.promise.graph import complete
from quietrank.promise.items import Items
from quietrank.promise.privacy import DesignWord, Privacy
from quietrank.statistics.net_wins import NET_WINS, NET_WINS_AND_EXPOSURES, NET_WINS_AND_TOTAL
from quietrank.statistics.statistic import Statistic
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES
from tests.steps import COUNTS, calibrate, for_items

ITEMS = Items(("a", "b", "c", "d"))
MECHANISMS = [LAPLACE, ZONOTOPE, GAUSSIAN]
CASES = [
    (mechanism, statistic, design)
    for mechanism in MECHANISMS
    for statistic in COUNTS
    for design in ("private", "uniform")
    if statistic is not (NET_WINS_AND_TOTAL if mechanism is GAUSSIAN else NET_WINS_AND_EXPOSURES)
    if not (mechanism is ZONOTOPE and statistic is WINS)
]


@pytest.mark.parametrize(("mechanism", "statistic", "design"), CASES)
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
