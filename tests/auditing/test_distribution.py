"""The fit of the noise: it accepts the right law and rejects scales that are off."""

from __future__ import annotations

import gc
import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from quietrank.auditing import case_lists, checks, distribution, list_law, neighbours
from quietrank.auditing.cases import Case
from quietrank.auditing.distribution import gaussian_cdf, laplace_cdf, lattice_fit, pearson
from quietrank.auditing.seal import truncated_cdf
from quietrank.noise.selection import TopNoise

ALL = list(case_lists.noise_cases(1.0, quick=False))
CASES, LISTS = (
    [case for case in ALL if isinstance(case.calibrated.noise, TopNoise) is lists] for lists in (False, True)
)
LEVEL = 1e-8


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.few(2)
def test_the_noise_of_every_kind_fits_its_law(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    """As drawn by the one crossing; and noise a quarter too small or too large does not fit."""
    calibrated = case.calibrated
    sides = checks._tallies(case, neighbours.worst(case), tmp_path_factory.mktemp("audit"))
    drawn = distribution.deviations(calibrated, sides, 1500)
    assert min(fit.p_value for fit in distribution.fits(calibrated, drawn)) > LEVEL
    for factor in (0.75, 1.3):
        off = np.round(drawn * factor).astype(np.int64)
        assert min(fit.p_value for fit in distribution.fits(calibrated, off)) < LEVEL


@pytest.mark.parametrize("case", LISTS, ids=lambda case: case.name)
@pytest.mark.few(1)
def test_lists_have_their_exact_probabilities(
    case: Case, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As drawn by the one crossing; and they do not fit those of noise three times as large."""
    sides = checks._tallies(case, neighbours.worst(case), tmp_path_factory.mktemp("audit"))
    assert min(fit.p_value for fit in distribution.list_fits(case.calibrated, sides, 1500)) > LEVEL
    honest = list_law.all_lists
    louder = lambda noise, counts: honest(replace(noise, scale=3 * noise.scale), counts)  # noqa: E731
    monkeypatch.setattr(list_law, "all_lists", louder)
    assert min(fit.p_value for fit in distribution.list_fits(case.calibrated, sides, 1500)) < LEVEL


@pytest.mark.parametrize("scale", [0.7, 3.0, 40.0])
def test_the_claimed_laws_are_those_of_the_definitions(scale: float) -> None:
    """Distribution functions against sums of the weights."""
    z = np.arange(-4000, 4001)
    some = np.array([-7.0, -1.0, 0.0, 1.0, 12.0])
    weight = np.exp(-np.abs(z) / scale)
    direct = np.cumsum(weight)[some.astype(int) + 4000] / weight.sum()
    np.testing.assert_allclose(laplace_cdf(some, scale), direct, rtol=1e-9)
    x = np.linspace(-80, 80, 1_600_001) * scale
    density = np.exp(-(x**2) / (2 * scale**2)) / (scale * np.sqrt(2 * np.pi))
    rounded = [float(density[np.floor(x + 0.5) <= k].sum() * (x[1] - x[0])) for k in some]
    np.testing.assert_allclose(gaussian_cdf(some, scale), rounded, atol=1e-4)
    q = np.exp(-1 / scale)
    size = (1 - q) * q ** np.abs(z)  # |k| is geometric, and its sign a fair coin, at 0 too
    weight = np.where(z == 0, size, size / 2)
    np.testing.assert_allclose(truncated_cdf(some, scale), np.cumsum(weight)[some.astype(int) + 4000], rtol=1e-9)


def test_p_values_are_uniform_on_sound_noise() -> None:
    """Two hundred fits of right noise: no more small p-values than there should be."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(200):
        values = np.round(rng.normal(0, 5000, 800)).astype(np.int64)
        found.append(lattice_fit(values, lambda k: gaussian_cdf(k, 5000.0)))
    assert 70 < sum(p < 0.5 for p in found) < 130
    assert min(found) > 1e-6


def test_bins_that_cannot_occur_are_noticed() -> None:
    assert pearson(np.array([500, 0, 500]), np.array([0.45, 0.1, 0.45])) < LEVEL


def test_a_copy_that_dies_has_drawn_nothing() -> None:
    """Two copies of a process that crash are not two that drew the same; copies that draw the same are seen."""

    def die() -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b"not reached"

    assert distribution.in_children(die) == []
    assert distribution.in_children(lambda: b"the same") == [b"the same"] * 2


def test_a_copy_clears_nothing_away() -> None:
    """It has the engine's objects without the engine's threads: to clear them away may crash it."""
    assert distribution.in_children(lambda: str(gc.isenabled()).encode()) == [b"False"] * 2
    assert gc.isenabled()
