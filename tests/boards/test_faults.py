"""Boards under real faults: updates that are killed at any moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.boards.file_layer import compiled

ROOT = Path(__file__).parent.parent.parent


def kill_updates(folder: Path, rounds: int, seed: int, *words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.boards.faults", str(folder / "boards"), str(rounds), str(seed), *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    (folder / "boards").mkdir()
    layer = compiled(folder)
    if layer is not None:
        environment["LD_PRELOAD"] = str(layer)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("words", [(), ("pure",)], ids=["gaussian", "pure"])
@pytest.mark.parametrize("rounds", [5, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.few(1)
def test_every_day_is_published_once_whatever_is_killed(rounds: int, words: tuple[str, ...], tmp_path: Path) -> None:
    """kill -9 at random moments: each day once, nothing that was shown changes, the same votes are counted as without
    any fault, the files agree, and nothing is left behind."""
    found = kill_updates(tmp_path, rounds, rounds, *words)
    assert found["killed"] == rounds
    assert found["broken"] == []
    assert found["days"] == list(range(1, found["horizon"] + 1))
    assert found["same"]
    assert [name for name in found["left"] if not name.endswith((".wal", "-journal"))] == []
    print(f"survived {rounds} kills, {found['struck']}")
