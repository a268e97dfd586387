"""How often the first names are right: selection as it is released, against the noise on all counts."""

from __future__ import annotations

import numpy as np
import pytest

from quietrank.arrays import Floats, Integers
from quietrank.mechanisms.choose import choose
from quietrank.mechanisms.choose_top import choose_top
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.mechanisms.selection import Selection
from quietrank.mechanisms.zonotope import ZONOTOPE
from quietrank.promise.declare import declare
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Promise
from quietrank.statistics.method import Method


def questionnaires(items: int, people: int, spread: float, runs: int) -> tuple[Floats, Floats]:
    """True strengths, and net wins of people who answer all pairs by rankings of their own."""
    rng = np.random.default_rng(5)
    theta = rng.normal(0, spread, (runs, items))
    net = np.empty_like(theta)
    for run in range(runs):
        tastes = theta[run] + rng.gumbel(size=(people, items))
        places = tastes.argsort(axis=1).argsort(axis=1)
        net[run] = (places - (items - 1) / 2).sum(axis=0)
    return theta, net


def named(noise: Calibrated, net: Floats, k: int) -> Integers:
    """What comes out, with the noise that releases draw."""
    steps = np.rint(net / float(noise.step)).astype(np.int64)
    drawn = [noise.noise.add_to(counts) for counts in steps]
    if isinstance(noise.mechanism, Selection):
        return np.array(drawn)
    return np.argsort(-np.array(drawn)[:, : net.shape[1]], axis=1)[:, :k]


def found(places: Integers, values: Floats) -> float:
    """The share of the truly first k that are named."""
    k = places.shape[1]
    least = -np.sort(-values, axis=1)[:, k - 1 : k]
    return float((np.take_along_axis(values, places, axis=1) >= least).mean())


SETTINGS = {
    "winner of 20 at ε = 1": (20, 300, 0.3, 1, 1.0, 0.88, 0.56),
    "winner of 20 at ε = 0.5": (20, 300, 0.3, 1, 0.5, 0.78, 0.39),
    "first 3 of 20 at ε = 1": (20, 300, 0.3, 3, 1.0, 0.77, 0.70),
    "winner of 40 at ε = 0.5": (40, 500, 0.6, 1, 0.5, 0.88, 0.41),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("runs", [60, pytest.param(600, marks=pytest.mark.slow)])
def test_selection_finds_the_top(setting: str, runs: int, capsys: pytest.CaptureFixture[str]) -> None:
    """At least as often as promised, and far more often than the top of a noisy tally does."""
    items, people, spread, k, epsilon, goal, _ = SETTINGS[setting]
    privacy = Privacy(epsilon, "person", one_per_pair=True, design="uniform")
    promise = Promise(privacy, declare([f"i{place}" for place in range(items)]))
    theta, net = questionnaires(items, people, spread, runs)
    selection, tally = choose_top(promise, k).noise, choose(promise, Method.NET_WINS, ZONOTOPE).noise
    assert isinstance(selection.mechanism, Selection)
    chosen, noisy = named(selection, net, k), named(tally, net, k)
    share, other = found(chosen, net), found(noisy, net)
    with capsys.disabled():
        print(
            f"\n{setting}: {share:.3f} of the exact votes' and {found(chosen, theta):.3f} of the true ones; "
            f"{tally.mechanism} {other:.3f}; exact votes {found(np.argsort(-net, axis=1)[:, :k], theta):.3f}"
        )
    margin = 0.0 if runs == 600 else 6 * (goal * (1 - goal) / (runs * k)) ** 0.5
    assert share >= goal - margin
    if runs == 600:
        assert share > other
