"""Benchmarks are not run by the tests, but each can be started in the way that its page says, and is listed."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/run.py"))


@pytest.mark.parametrize("name", NAMES)
def test_it_starts_from_the_root_of_the_repository(name: str) -> None:
    """Whatever it imports is there, also what it shares with the tests."""
    assert callable(importlib.import_module(f"benchmarks.{name}.run").main)


@pytest.mark.parametrize("name", NAMES)
def test_its_page_says_how_to_start_it(name: str) -> None:
    assert f"-m benchmarks.{name}.run" in (FOLDER / name / "README.md").read_text(encoding="utf-8")


def test_every_benchmark_is_listed() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(line.split("/`")[0][3:] for line in page.splitlines() if line.startswith("| `")) == NAMES
