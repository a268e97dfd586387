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
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from quietrank.boards.board import Board, confidential
from quietrank.errors import BoardError
from quietrank.ledger.book import BudgetLedger
from quietrank.votes.daily import kept as kept_files
from tests.boards.faults import counted
from tests.boards.file_layer import Disk, Effort, Loss, Note, compiled, losses, moments, notes
from tests.boards.lost_writes import DAYS, RUNS, board_of, ledger_of, prepared
from tests.effort import effort

ROOT = Path(__file__).parent.parent.parent
PUBLIC = "boards/board"
Job = dict[str, Any]
FEW, MANY = Effort(all_up_to=2, random=0, parts=1), Effort(all_up_to=7, random=12, parts=6)


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = compiled(tmp_path_factory.mktemp("layer"))
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

    ends: list[list[str]]
    """of every run of every job"""
    states: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class State:
    """What a power cut may leave behind."""

    files: dict[str, bytes]
    marks: tuple[str, ...]
    """what had begun, and what had ended"""
    shown: tuple[bytes, ...]
    """every state of the public file up to then"""

    @property
    def days(self) -> int:
        """Of how many days something was seen."""
        return max((shown.count(b'{"day":') for shown in self.shown), default=0)

    def __hash__(self) -> int:
        return hash((tuple((name, hash(data)) for name, data in sorted(self.files.items())), self.marks, self.shown))


@dataclass(frozen=True)
class Explored:
    """One job, played again, with a power cut at each moment."""

    folder: Path
    job: Job
    played: list[Note]
    wanted: list[Any]
    """what is counted in the end without a fault"""

    @property
    def place(self) -> Path:
        return self.folder / str(self.job["name"])

    def disk(self) -> Disk:
        return Disk.of(self.place, files_of(self.folder / f"{self.job['name']}.before"))

    def require_complete(self) -> None:
        """What was noted must lead to what is there now."""
        disk = self.disk()
        for note in self.played:
            disk.play(note)
        assert disk.visible() == files_of(self.place), "the layer missed something"

    def states(self, effort: Effort, seed: int, most: int = 0) -> Iterator[State]:
        """Everything that may be left, each once for all that was seen before; or so many of them, spread evenly."""
        every = max(1, sum(1 for _ in self._losses(effort, seed)) // most) if most else 1
        tried = set()
        for disk, loss, shown in islice(self._losses(effort, seed), every // 2, None, every):
            state = State(disk.left(loss), tuple(disk.marks), tuple(shown))
            if hash(state) not in tried:
                tried.add(hash(state))
                yield state

    def _losses(self, effort: Effort, seed: int) -> Iterator[tuple[Disk, Loss, list[bytes]]]:
        rng, disk = random.Random(seed), self.disk()
        shown: list[bytes] = []
        for moment in moments(disk, self._watched(disk, shown)):
            for loss in losses(moment, effort, rng):
                yield moment, loss, shown

    def _watched(self, disk: Disk, shown: list[bytes]) -> Iterator[Note]:
        """What was noted, with a look at the public file after each of it."""
        for note in self.played:
            yield note
            public = disk.seen.get(str(self.place / PUBLIC))
            if public is not None and public.seen not in shown[-1:]:
                shown.append(public.seen)

    def fault(self, state: State) -> str | None:
        """What is wrong after this loss; None if nothing is."""
        restore(self.place, state.files)
        try:
            self._require_known_to_the_ledger(state)
            if state.marks[-1:] == ("end publish",) and state.files[PUBLIC] != state.shown[-1]:
                return "an update had returned, and what it published was not durable"
            self._recover(state)
            return self._require_the_same(state)
        except Exception as error:  # noqa: BLE001  whatever goes wrong is reported with the loss that led to it
            return f"{type(error).__name__}: {error}"

    def _require_known_to_the_ledger(self, state: State) -> None:
        book = BudgetLedger.open(ledger_of(self.place))
        if not state.days:
            return
        position = book.position(f"board {json.loads(state.shown[-1].splitlines()[0])['board']}")
        if position is None or int(position.split()[1]) < state.days:
            raise BoardError(f"day {state.days} was seen, and the ledger is at {position}")

    def _recover(self, state: State) -> None:
        """The same commands again, and then all days; making a board again may say that it is there."""
        for run in dict.fromkeys(run["do"] for run in self.job["runs"]):
            if f"end {run}" not in state.marks:
                with suppress(*[BoardError] * (run == "make" and board_of(self.place).exists())):
                    RUNS[run](self.place)
            if run == "forget":
                self._require_forgotten()
        if self.job["runs"][-1]["do"] != "publish" or state.marks[-1:] == ("end publish",):
            RUNS["publish"](self.place)

    def _require_forgotten(self) -> None:
        """Nothing of the votes of p1 is in any file; those of somebody else are."""
        everything = b"".join(files_of(self.place).values())
        forgotten, other = (hashlib.md5(f"i{vote}".encode()).digest() in everything for vote in ("1-1", "2-1"))
        if forgotten or not other:
            raise BoardError("somebody was forgotten, and is still in the files")

    def _require_the_same(self, state: State) -> str | None:
        board = Board.open(board_of(self.place))
        board.verify()
        public = board.path.read_bytes()
        if not all(public.startswith(shown) for shown in state.shown):
            return "what was seen has changed"
        if [day.number for day in board.log.days] != list(range(1, DAYS + 1)) or counted(board) != self.wanted:
            return "other votes were counted"
        if len(BudgetLedger.open(ledger_of(self.place)).entries()) != 1:
            return "it was not paid for once"
        left = {path.name for path in board.path.parent.iterdir()} - {board.path.name, confidential(board.path).name}
        # A draft from before there was a board has nothing of anybody in it.
        if any(not name.startswith(".quietrank-") for name in left) or confidential(board.path).stat().st_nlink > 1:
            return f"left behind: {sorted(left)}"
        return None


@cache
def wanted(folder: Path, *runs: str) -> list[Any]:
    """What is counted if nothing goes wrong."""
    place = folder / "-".join(("wanted", *runs))
    prepared(place, list(runs))
    return counted(Board.open(board_of(place)))


def explore(layer: Path, folder: Path, jobs: list[Job], effort: Effort, *, most: int = 0, deaf: str = "") -> Found:
    """Record the jobs, and try every loss, or so many of each job, spread evenly; `deaf`: the disk ignores syncs of
    files whose names end like this, and the first fault is enough."""
    found = Found(ends=record(layer, folder, jobs))
    for number, job in enumerate(jobs):
        played = notes(folder / f"{job['name']}.notes")
        heard = [note for note in played if not (deaf and note.kind == "S" and note.name.endswith(deaf))]
        runs = dict.fromkeys((*job["before"], *(run["do"] for run in job["runs"]), "publish"))
        explored = Explored(folder, job, heard, wanted(folder, *runs))
        explored.require_complete()
        for state in explored.states(effort, number, most):
            found.states += 1
            if (fault := explored.fault(state)) is not None:
                found.faults.append(f"{job['name']}, after {state.marks}, {sorted(state.files)}: {fault}")
                if deaf or job.get("mutant"):
                    return found
    return found


# ---- the tests ------------------------------------------------------------------------------------------------------


def job(name: str, before: str, *runs: dict[str, Any], mutant: str = "") -> Job:
    return {"name": name, "before": before.split(), "runs": list(runs), "mutant": mutant}


MAKE, UPDATE = job("make", "", {"do": "make"}), job("update", "make", {"do": "publish"})
JOIN, WIDE = job("join", "make first", {"do": "join"}), job("wide", "make first join", {"do": "publish"})
FORGET = job("forget", "make first", {"do": "forget"})


def report(what: str, found: Found) -> None:
    print(f"{what}: {found.states} states")
    assert found.states > 0
    assert found.faults == []


def test_whatever_was_not_synced_may_be_lost(layer: Path, tmp_path: Path) -> None:
    """A few of the losses while a board is made, updated, given long lines, and somebody is forgotten."""
    report("few", explore(layer, tmp_path, [MAKE, WIDE, FORGET], FEW, most=effort(1, 3)))


@pytest.mark.slow
@pytest.mark.parametrize("work", [MAKE, UPDATE, JOIN, WIDE, FORGET], ids=lambda work: str(work["name"]))
def test_whatever_was_not_synced_may_be_lost_in_every_order(work: Job, layer: Path, tmp_path: Path) -> None:
    """All subsets of few changes; of many, single losses, single survivors, prefixes and random ones; writes cut."""
    report(work["name"], explore(layer, tmp_path, [work], MANY))


@pytest.mark.parametrize(
    ("mutant", "deaf"),
    [
        ("copied-before-the-commit", ""), ("", ".wal"), ("ledger-after-the-copy", ""), ("", "/boards"),
        ("", "/boards/board"), ("changed-in-place", ""), ("line-and-end-at-once", ""),
    ],
    ids=[
        "copied before the commit", "copied before the commit is synced", "ledger after the copy",
        "no sync of the folder", "no sync of the public file", "checkpoint in place", "a line and its end at once",
    ],
)  # fmt: skip
@pytest.mark.few(1)
def test_each_planted_fault_is_noticed(mutant: str, deaf: str, layer: Path, tmp_path: Path) -> None:
    """Each order of steps matters: broken on purpose, some loss leads to what must not be."""
    planted = job("planted", "make first join", {"do": "publish"}, mutant=mutant)
    found = explore(layer, tmp_path, [planted], Effort(4, 4, 2), deaf=deaf)
    print(f"{mutant or deaf}: noticed after {found.states} states: {found.faults}")
    assert found.faults != []


def test_a_forgotten_person_who_is_still_there_is_noticed(tmp_path: Path) -> None:
    """The check itself: without writing the file anew, unused parts of it still have the votes."""
    place = tmp_path / "board"
    prepared(place, ["make", "first"])
    with kept_files.opened(confidential(board_of(place))) as kept:
        kept.forget("p1")
    explored = Explored(tmp_path, job("board", "", {"do": "forget"}), [], [])
    with pytest.raises(BoardError, match="still in the files"):
        explored._require_forgotten()
    kept_files.rewrite(confidential(board_of(place)))
    explored._require_forgotten()


# ---- one fault after another ----------------------------------------------------------------------------------------


def broken(what: str, at: int, *, for_good: bool = False) -> Job:
    """An update that is killed, or in which a write or sync fails, and the same update again."""
    first = {"do": "publish", "break": what, "at": at, "for_good": for_good}
    return job(f"{what}-{at}-{for_good}", "make", first, {"do": "publish"})


def go_on(layer: Path, folder: Path, jobs: list[Job], most: int) -> None:
    """Explore them. The first update ends with one line and a remedy, if not killed, and shows nothing after a sync has
    failed; the second goes through."""
    found = explore(layer, folder, jobs, Effort(3, 2, 1), most=most)
    assert [end for end, _ in found.ends if end.startswith("unexpected")] == []
    assert {end for _, end in found.ends} == {""}
    assert any(end for end, _ in found.ends)
    assert not any(shown_after_a_failed_sync(notes(folder / f"{one['name']}.notes")) for one in jobs)
    report(f"{len(jobs)} jobs like {jobs[0]['name']}", found)


def test_one_fault_after_another(layer: Path, tmp_path: Path) -> None:
    """A kill, and a sync that fails for good; then the same update again, and a power cut within it."""
    jobs = [broken("kill", 13), broken("sync", 5, for_good=True)]
    go_on(layer, tmp_path, jobs, most=1)


@pytest.mark.slow
def test_a_power_cut_after_a_kill_at_every_step(layer: Path, tmp_path: Path) -> None:
    """What a killed update wrote and did not sync is seen by the next, which syncs it before anybody sees it."""
    go_on(layer, tmp_path, [broken("kill", at) for at in range(1, 80)], most=8)


@pytest.mark.slow
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("what", ["write", "sync"])
def test_what_cannot_be_written_is_not_shown(what: str, for_good: bool, layer: Path, tmp_path: Path) -> None:
    """A full disk, or a sync that fails, at every place; data whose sync failed is not saved by a later sync."""
    go_on(layer, tmp_path, [broken(what, at, for_good=for_good) for at in range(1, 50)], most=3)


def shown_after_a_failed_sync(played: list[Note]) -> bool:
    """Whether the same run wrote to the public file after a sync had failed; that of a folder may be repeated."""
    failed: set[str] = set()
    public: set[int] = set()
    for note in played:
        if note.kind == "M":
            failed.clear()
        if note.kind == "F":
            failed.add(note.name)
        if note.kind == "S" and note.name.endswith(("/boards", "/money")):
            failed.discard(note.name)
        if note.kind in "OC" and note.name.endswith(PUBLIC):
            public.add(note.file)
        if failed and note.kind == "W" and note.file in public:
            return True
    return False
