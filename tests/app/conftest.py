"""A Chromium, servers and windows for the browser tests of the app; without a Chromium they are skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import quietrank as qr
from tests.app.browsing import Budget, Visit, Window, launched, visit


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as one:
        yield one


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where screenshots are kept."""
    return Path(os.environ.get("QUIETRANK_SCREENSHOTS") or tmp_path / "screenshots")


@pytest.fixture(scope="module")
def shared(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """A server for all tests that do not end it."""
    folder = tmp_path_factory.mktemp("shared")
    with visit(browser, folder, folder) as one:
        one.enter()
        yield one


@pytest.fixture
def house(shared: Visit) -> Iterator[Visit]:
    """The shared server; the windows of each test are its own, and checked at its end."""
    yield shared
    shared.leave()


@pytest.fixture
def window(house: Visit) -> Window:
    return house.another()


@pytest.fixture
def budget(house: Visit, request: pytest.FixtureRequest) -> Budget:
    """A budget of this test alone."""
    return Budget.make(house.folder, name=f"{request.node.name.partition('[')[0]}.db")


@pytest.fixture
def visited(browser: Any, tmp_path: Path, pictures: Path) -> Iterator[Visit]:
    with visit(browser, tmp_path, pictures) as one:
        yield one


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """A file with a row per vote."""
    path = tmp_path / "survey.csv"
    pyarrow.csv.write_csv(qr.simulate(items=4, people=60, per_person=6, seed=1), path)
    return path
