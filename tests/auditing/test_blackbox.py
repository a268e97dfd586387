"""The black box: its confidence bounds hold, and it finds what is there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from quietrank.auditing import blackbox
from quietrank.auditing.blackbox import binomial_above, binomial_below


@pytest.mark.parametrize(("hits", "runs"), [(1, 10), (5, 10), (37, 1000), (999, 1000)])
def test_confidence_bounds_are_exact(hits: int, runs: int) -> None:
    """At the lower bound, that many hits or more have exactly the risk as their probability; and so above."""
    assert stats.binom.sf(hits - 1, runs, binomial_below(hits, runs, 1e-3)) == pytest.approx(1e-3)
    assert stats.binom.cdf(hits, runs, binomial_above(hits, runs, 1e-3)) == pytest.approx(1e-3)
    assert binomial_below(0, runs, 1e-3) == 0.0
    assert binomial_above(runs, runs, 1e-3) == 1.0


def test_equal_outputs_give_no_bound() -> None:
    """The same distribution on both sides: nothing above what chance allows."""
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=(2, 20_000))
    assert blackbox.lower_bound(one, other, delta=0.0, risk=1e-9).epsilon == 0.0


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_known_loss_is_found_and_not_exceeded(epsilon: float) -> None:
    """Laplace noise on values ε scales apart."""
    rng = np.random.default_rng(4)
    outputs = rng.laplace(size=60_000), rng.laplace(size=60_000) + epsilon
    one, other = (np.abs(u - epsilon) - np.abs(u) for u in outputs)
    found = blackbox.lower_bound(one, other, delta=0.0, risk=1e-6)
    assert 0.9 * epsilon - 0.05 < found.epsilon <= epsilon


def test_delta_is_taken_off() -> None:
    """One run in a hundred gives all away: no bound at δ = 0.02, and one at δ = 0."""
    rng = np.random.default_rng(5)
    given_away = np.where(rng.random(50_000) < 0.01, 100.0, 0.0)
    assert blackbox.lower_bound(given_away, np.zeros(50_000), delta=0.02, risk=1e-6).epsilon < 0.05
    assert blackbox.lower_bound(given_away, np.zeros(50_000), delta=0.0, risk=1e-6).epsilon > 2
