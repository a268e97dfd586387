"""Fixtures of the tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import COLUMNS, GOOD, Run
from tests.helpers import write_csv


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(monkeypatch, capsys)


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "votes.csv", GOOD, COLUMNS)


@pytest.fixture
def lands(tmp_path: Path) -> Path:
    rows = [(*row, "n" if row[0] == "1" else "s") for row in GOOD]
    return write_csv(tmp_path / "lands.csv", rows, (*COLUMNS, "land"))
