"""Boards after a power cut: whatever was not synced may be lost, in any order, below DuckDB, SQLite and Python alike.

What a reader could have seen is every state of the public file, from the first byte on, as soon as it was written.
After each loss: the ledger knows every day of which a byte was seen; after the same commands again every byte that was
seen is there as it was, each day once, the same votes are counted as without a fault, the board is paid for once, and
`verify` is content.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest

from quietrank.boards.board import Board, confidential
from quietrank.errors import BoardError, QuietrankError
from quietrank.ledger.book import BudgetLedger
from tests.boards.faults import counted
from tests.boards.file_layer import Disk, Effort, Note, compiled, losses, moments, notes
from tests.boards.lost_writes import DAYS, RUNS, board_of, ledger_of, prepared

ROOT = Path(__file__).parent.parent.parent
PUBLIC = "boards/board"
Job = dict[str, Any]
FEW, MANY = Effort(all_up_to=2, random=0, parts=1), Effort(all_up_to=7, random=12, parts=6)


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = compiled(tmp_path_factory.mktemp("layer")) if sys.platform == "linux" else None
    if library is None:
        pytest.skip("needs Linux and a C compiler, for a layer below the files")
    return library


def record(layer: Path, folder: Path, jobs: list[Job]) -> list[list[str]]:
    """Do these jobs above the layer; how each of their runs ended."""
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-m", "tests.boards.lost_writes", str(folder)], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": paths, "LD_PRELOAD": str(layer)}, input=json.dumps(jobs), timeout=3600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [job["ends"] for job in json.loads(done.stdout.splitlines()[-1])]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def restore(folder: Path, files: dict[str, bytes]) -> None:
    """Let the folder hold these files, and nothing else."""
    for place in (board_of(folder).parent, ledger_of(folder).parent):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


# ---- what must hold after each loss ---------------------------------------------------------------------------------


@dataclass
class Found:
    """What was tried, and what was wrong."""

    states: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass
class Explored:
    """One job, played again, with a power cut at each moment."""

    folder: Path
    job: Job
    wanted: list[Any]
    """what is counted in the end without a fault"""
    shown: list[bytes] = field(default_factory=list)
    """every state of the public file up to the power cut"""

    def disk(self) -> Disk:
        return Disk.of(self.place, files_of(self.folder / f"{self.job['name']}.before"))

    @property
    def place(self) -> Path:
        return self.folder / str(self.job["name"])

    def states(self, effort: Effort, seed: int, played: list[Note]) -> Iterator[tuple[dict[str, bytes], list[str]]]:
        """Each folder that may be left, with the marks before it; once for everything that was seen."""
        rng, disk, tried = random.Random(seed), self._replayed(played), set()
        for moment in moments(disk, self._watched(disk, played)):
            for files in losses(moment, effort, rng):
                key = _digest(files, self.shown, moment.marks)
                if key not in tried:
                    tried.add(key)
                    yield files, list(moment.marks)

    def _replayed(self, played: list[Note]) -> Disk:
        """The disk from before, once it is sure that what was noted leads to what is there now."""
        disk = self.disk()
        for note in played:
            disk.play(note)
        assert disk.visible() == files_of(self.place), "the layer missed something"
        return self.disk()

    def _watched(self, disk: Disk, played: list[Note]) -> Iterator[Note]:
        for note in played:
            yield note
            public = disk.visible().get(PUBLIC, b"")
            if public not in self.shown:
                self.shown.append(public)

    def fault(self, files: dict[str, bytes], marks: list[str]) -> str | None:
        """What is wrong after this loss; None if nothing is."""
        restore(self.place, files)
        try:
            self._require_known_to_the_ledger()
            if marks[-1:] == ["end publish"] and files[PUBLIC] != self.shown[-1]:
                return "an update had returned, and what it published was not durable"
            self._recover(marks)
            return self._require_the_same()
        except (QuietrankError, duckdb.Error) as error:
            return f"{type(error).__name__}: {error}"

    def _require_known_to_the_ledger(self) -> None:
        days = max((shown.count(b'{"day":') for shown in self.shown), default=0)
        book = BudgetLedger.open(ledger_of(self.place))
        if not days:
            return
        topic = f"board {json.loads(self.shown[-1].splitlines()[0])['board']}"
        position = book.position(topic)
        if position is None or int(position.split()[1]) < days:
            raise BoardError(f"day {days} was seen, and the ledger is at {position}")

    def _recover(self, marks: list[str]) -> None:
        """The same commands again, and then all days; making a board again may say that it is there."""
        for run in self.job["runs"]:
            if f"end {run['do']}" not in marks:
                with suppress(BoardError) if run["do"] == "make" and board_of(self.place).exists() else suppress():
                    RUNS[run["do"]](self.place)
        RUNS["publish"](self.place)

    def _require_the_same(self) -> str | None:
        board = Board.open(board_of(self.place))
        board.verify()
        public = board.path.read_bytes()
        if not all(public.startswith(shown) for shown in self.shown):
            return "what was seen has changed"
        if [day.number for day in board.log.days] != list(range(1, DAYS + 1)) or counted(board) != self.wanted:
            return "other votes were counted"
        if len(BudgetLedger.open(ledger_of(self.place)).entries()) != 1:
            return "it was not paid for once"
        left = {path.name for path in board.path.parent.iterdir()} - {board.path.name, confidential(board.path).name}
        if left:
            return f"left behind: {sorted(left)}"
        return None


def _digest(files: dict[str, bytes], shown: list[bytes], marks: list[str]) -> str:
    parts = [*(part for name in sorted(files) for part in (name.encode(), files[name])), *shown, repr(marks).encode()]
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest()


def wanted(folder: Path, job: Job) -> list[Any]:
    """What is counted if nothing goes wrong."""
    place = folder / f"{job['name']}.wanted"
    prepared(place, [*job["before"], *dict.fromkeys(run["do"] for run in job["runs"]), "publish"])
    return counted(Board.open(board_of(place)))


def explore(layer: Path, folder: Path, jobs: list[Job], effort: Effort, *, deaf: str = "") -> Found:
    """Record the jobs, and try every loss; `deaf`: the disk ignores syncs of files whose names end like this."""
    found = Found()
    record(layer, folder, jobs)
    for number, job in enumerate(jobs):
        played = [
            note for note in notes(folder / f"{job['name']}.notes")
            if not (deaf and note.kind == "S" and note.name.endswith(deaf))
        ]  # fmt: skip
        explored = Explored(folder, job, wanted(folder, job))
        for files, marks in explored.states(effort, number, played):
            found.states += 1
            fault = explored.fault(files, marks)
            if fault is not None:
                found.faults.append(f"{job['name']}, {marks}, {sorted(files)}: {fault}")
    return found
