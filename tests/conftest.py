"""Settings for all tests: generated examples are the same in every run, no test is timed, and long tables of cases are
run in part."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "quietrank", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("quietrank")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked `few(n)`, n cases that lie evenly among all are always run; the others are slow."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few") is not None and item.get_closest_marker("slow") is None:
            cases[item.nodeid.partition("[")[0]].append(item)
    for same in cases.values():
        marker = same[0].get_closest_marker("few")
        assert marker is not None
        kept = {k * len(same) // marker.args[0] for k in range(marker.args[0])}
        for place, item in enumerate(same):
            if place not in kept:
                item.add_marker(pytest.mark.slow)
