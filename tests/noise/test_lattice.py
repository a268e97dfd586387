"""Noise: calibrated from the privacy map upwards, and distributed as it says."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietrank.arrays import Integers
from quietrank.auditing import distribution
from quietrank.errors import PrivacyError
from quietrank.noise import lattice
from quietrank.noise.words import LARGEST_DRAW, LARGEST_SCALE


@given(st.integers(1, 2**48), st.floats(0.01, 100))
def test_the_scale_is_the_smallest_that_keeps_epsilon(sensitivity: int, epsilon: float) -> None:
    """Calibrate, then recompute: the map gives at most ε, and a scale a millionth smaller gives more."""
    scale = lattice.laplace_scale(sensitivity, epsilon)
    assert lattice.laplace_privacy_loss(scale, sensitivity) <= epsilon
    assert lattice.laplace_privacy_loss(scale * (1 - 1e-6), sensitivity) > epsilon


def test_division_alone_would_miss_epsilon() -> None:
    """The reason for rounding up: Δ/ε in floating point can lose more than ε."""
    misses = [e for e in np.arange(1, 1000) / 100 if lattice.laplace_privacy_loss(4 / e, 4) > e]
    assert misses
    assert all(lattice.laplace_privacy_loss(lattice.laplace_scale(4, e), 4) <= e for e in misses)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_noise_of_no_scale_is_refused(scale: float) -> None:
    """OpenDP accepts scale 0, with an infinite loss; we do not."""
    with pytest.raises(PrivacyError):
        lattice.add_laplace(np.zeros(3, dtype=np.int64), scale)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(0, 1.0), (4, 1e-300), (2**54, 1e-9)])
def test_useless_calibrations_are_refused(sensitivity: int, epsilon: float) -> None:
    """A vanishing ε says so instead of returning noise near the 64-bit limits."""
    with pytest.raises(PrivacyError):
        lattice.laplace_scale(sensitivity, epsilon)


def test_every_draw_is_fresh() -> None:
    """Two draws of the same values differ: there is no seed."""
    values = np.zeros(100, dtype=np.int64)
    assert (lattice.add_laplace(values, 1e6) != lattice.add_laplace(values, 1e6)).any()


@pytest.mark.parametrize("scale", [0.8, 60 * 2.0**21])
def test_many_values_get_the_same_law(scale: float) -> None:
    """Above MANY our own sampler draws: the audit's chi-square accepts its scale, and no scale 5 % off."""
    zeros = np.zeros(24 * lattice.MANY, dtype=np.int64)
    noises = lattice.LaplaceNoise(scale).add_to(zeros).reshape(-1, 4)
    for claimed in (scale, scale * 1.05):
        audited: Any = SimpleNamespace(noise=lattice.LaplaceNoise(claimed))
        fits = {fit.part: fit.p_value for fit in distribution.fits(audited, noises)}
        assert fits.keys() == {"all entries", "first entry", "in turns"}
        assert (min(fits.values()) > 1e-9) == (claimed == scale)
        assert claimed == scale or fits["all entries"] < 1e-12


def test_who_draws_depends_on_the_number_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenDP up to MANY values, our sampler above."""
    sizes = []

    def noise(size: int, scale: float) -> Integers:
        sizes.append(size)
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(lattice, "discrete_laplace", noise)
    for size in (1, lattice.MANY, lattice.MANY + 1):
        lattice.add_laplace(np.zeros(size, dtype=np.int64), 3.0)
    assert sizes == [lattice.MANY + 1]


def test_many_sums_do_not_wrap() -> None:
    """At the 64-bit limits the sum saturates, as OpenDP's does."""
    edge = np.full(lattice.MANY + 1, LARGEST_DRAW, dtype=np.int64)
    assert (lattice.LaplaceNoise(LARGEST_SCALE).add_to(edge) > 0).all()
    assert (lattice.LaplaceNoise(LARGEST_SCALE).add_to(-edge) < 0).all()


def test_many_draws_are_fresh_in_every_process() -> None:
    """Two calls and two forked processes differ."""
    values = np.zeros(lattice.MANY + 1, dtype=np.int64)
    assert (lattice.add_laplace(values, 1e6) != lattice.add_laplace(values, 1e6)).any()
    draws = distribution.in_children(lambda: lattice.add_laplace(values, 1e6)[:50].tobytes())
    assert len(set(draws)) == len(draws)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_many_values_of_no_scale_are_refused(scale: float) -> None:
    with pytest.raises(PrivacyError):
        lattice.add_laplace(np.zeros(lattice.MANY + 1, dtype=np.int64), scale)
