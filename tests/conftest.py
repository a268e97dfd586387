"""Settings for all tests: generated examples are the same in every run, no test is timed, and long tables of cases are
run in part."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.effort import effort
from tests.servers.keepers import Keeper, duckdb_file, postgres_database, spark_views
from tests.servers.postgres import PostgresServer, postgres_server
from tests.servers.spark import spark_session

QUIET: dict[str, Any] = {
    "derandomize": True, "deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]
}  # fmt: skip
settings.register_profile("quietrank", max_examples=effort(6, 100), **QUIET)
settings.load_profile("quietrank")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked `few(n)`, n cases that lie evenly among all are always run, here and on servers; the others are
    slow. Of one marked `few_here(n)`, whose other cases are on servers, the others are run with these."""
    _keep_few(items, "few", pytest.mark.slow)
    _keep_few(items, "few_here", pytest.mark.engines)


def _keep_few(items: list[pytest.Item], name: str, others: pytest.MarkDecorator) -> None:
    cases: dict[tuple[str, bool], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker(name) is not None and item.get_closest_marker(others.name) is None:
            on_servers = item.get_closest_marker("engines") is not None
            cases[item.nodeid.partition("[")[0], on_servers].append(item)
    for same in cases.values():
        marker = same[0].get_closest_marker(name)
        assert marker is not None
        kept = {k * len(same) // marker.args[0] for k in range(marker.args[0])}
        for place, item in enumerate(same):
            if place not in kept:
                item.add_marker(others)


def pytest_collection_finish() -> None:
    """What is loaded by now stays, so the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


ON_POSTGRES = pytest.param("postgres", marks=pytest.mark.engines)
ON_SPARK = pytest.param("spark", marks=[pytest.mark.engines, pytest.mark.xdist_group("spark")])
"""Spark takes long to start: its tests are all run by one process (pytest -n … --dist loadgroup)."""


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server; a test that uses it is marked `engines`."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark session; a test that uses it is marked `engines` and xdist_group("spark")."""
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="session", params=["duckdb", ON_POSTGRES, ON_SPARK])
def keeper(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keeper]:
    """Every engine that votes may lie in, one after the other."""
    if request.param == "duckdb":
        opened = duckdb_file(tmp_path_factory.mktemp("duckdb"))
    elif request.param == "postgres":
        opened = postgres_database(request.getfixturevalue("postgres"))
    else:
        opened = spark_views(request.getfixturevalue("spark"))
    with opened as where:
        yield where
        where.empty()
