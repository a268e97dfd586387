"""Predicted against measured: fresh surveys through the real pipeline, with real noise."""

from __future__ import annotations

import pytest

from tests.effort import effort
from tests.planning.settings import SETTINGS, Setting, measured

SHORT = [SETTINGS[0], SETTINGS[4], SETTINGS[8], SETTINGS[11]]
"""Zonotope, Gaussian with clipping, Laplace and Gaussian; two for each unit."""


def _check(setting: Setting, releases: int, errors: float) -> None:
    """Within 15 % or 0.02, and what chance allows: real noise has no seed."""
    predicted = setting.plan().best
    error, precision = measured(setting, releases, seed=len(setting.name))
    # A few releases without any error would otherwise say that there never is one.
    rate, places = predicted.top_k_error, setting.top_k * releases
    precision = max(precision, (rate * (1 - rate) / places) ** 0.5)
    allowed = max(0.02, 0.15 * error) + errors * (precision**2 + predicted.top_k_precision**2) ** 0.5
    assert abs(predicted.top_k_error - error) <= allowed, (predicted.top_k_error, error)


@pytest.mark.parametrize("setting", SHORT, ids=lambda setting: setting.name)
@pytest.mark.few(1)
def test_the_predicted_error_is_that_of_releases(setting: Setting) -> None:
    """Fails by chance less than once in a million: five standard errors beyond the tolerance."""
    _check(setting, effort(8, 20), errors=5)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_twelve_predictions_are_within_15_per_cent_or_0_02(setting: Setting) -> None:
    """Two standard errors beyond the tolerance; where prediction and truth agree, that is four or more in total."""
    _check(setting, 500, errors=2)
