"""Work on a board above the file layer, run with it as `python -m tests.boards.lost_writes FOLDER` and jobs on stdin.

Runs in a process of its own, which imports everything once and forks a child per run. A job is a list of runs on one
board, each undisturbed, with an error, or killed before a step; what they did to the files is noted in one file.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from quietrank.boards import public_file
from quietrank.boards.board import Board
from quietrank.boards.log import Log
from quietrank.errors import QuietrankError
from quietrank.ledger.book import BudgetLedger
from quietrank.votes.daily import kept as kept_files
from tests.boards.arena import ITEMS, START, some_votes, update
from tests.boards.children import in_child, load
from tests.boards.file_layer import Layer

DAYS, PEOPLE = 2, 3
SEVERAL = tuple(f"a model whose name is long enough for a line of several pages, {k}" for k in range(120))
"""items that join: their line, and those of the days after, are longer than a page"""


def ledger_of(folder: Path) -> Path:
    return folder / "money" / "ledger"


def board_of(folder: Path) -> Path:
    return folder / "boards" / "board"


# ---- runs -----------------------------------------------------------------------------------------------------------


def make(folder: Path) -> Board:
    """A new board; the ledger is in a folder of its own, so that no sync of one folder is one of the other."""
    return Board.create(
        board_of(folder), ITEMS, epsilon=2, delta=1e-6, ledger=ledger_of(folder), horizon=DAYS + 1, every="day",
        start=START,
    )  # fmt: skip


def publish(folder: Path, days: int = DAYS) -> Board:
    board = Board.open(board_of(folder))
    update(board, some_votes(days, PEOPLE), days)
    return board


def join(folder: Path) -> None:
    try:
        Board.open(board_of(folder)).add_items(SEVERAL)
    except QuietrankError:
        if SEVERAL[-1] not in Board.open(board_of(folder)).items:  # or else it was done, and cut off
            raise


def forget(folder: Path) -> None:
    Board.open(board_of(folder)).forget("p1")


RUNS: dict[str, Callable[[Path], object]] = {
    "make": make, "publish": publish, "first": lambda folder: publish(folder, 1), "join": join, "forget": forget,
}  # fmt: skip


def prepared(folder: Path, runs: list[str]) -> str:
    """A folder with a ledger, and what was done before; "ready" once it is there."""
    board_of(folder).parent.mkdir(parents=True)
    ledger_of(folder).parent.mkdir()
    BudgetLedger.create(ledger_of(folder), 2, 1e-6, data="arena", unit="person")
    for run in runs:
        RUNS[run](folder)
    return "ready"


# ---- planted faults -------------------------------------------------------------------------------------------------


def copied_before_the_commit() -> None:
    write = kept_files.Kept.write

    def early(self: kept_files.Kept, line: str) -> None:
        write(self, line)
        public_file.copy(self.path.with_name(self.path.name.removesuffix(".confidential")), self.lines)

    kept_files.Kept.write = early  # type: ignore[method-assign]


def ledger_after_the_copy() -> None:
    def late(self: Board, log: Log, book: BudgetLedger) -> None:
        public_file.copy(self.path, log.lines)
        if book.position(log.terms.topic) != log.position:
            book.advance(log.terms.topic, str(log.position), log.position_before())
        self.log = log

    Board._show = late  # type: ignore[method-assign]


def changed_in_place() -> None:
    def in_place(path: Path) -> None:
        with kept_files._attached(path) as db:
            db.execute("FORCE CHECKPOINT kept")

    kept_files.settle = in_place


def line_and_end_at_once() -> None:
    def at_once(path: Path, lines: Sequence[str]) -> None:
        there = public_file.read(path)
        with path.open("ab") as stream:
            stream.write("".join(f"{line}\n" for line in lines[len(there) :]).encode())
            public_file._flush(stream)

    public_file.copy = at_once


MUTANTS: dict[str, Callable[[], None]] = {
    "copied-before-the-commit": copied_before_the_commit,
    "ledger-after-the-copy": ledger_after_the_copy,
    "changed-in-place": changed_in_place,
    "line-and-end-at-once": line_and_end_at_once,
}


# ---- the process ----------------------------------------------------------------------------------------------------


def done(folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Prepare a board in this folder, and keep a copy of it; do the runs of a job, and note what they do."""
    place = folder / job["name"]
    assert in_child(lambda: prepared(place, job["before"])) == "ready"
    shutil.copytree(place, folder / f"{job['name']}.before")
    ends = [in_child(partial(_run, folder, job, run)) for run in job["runs"]]
    return {"name": job["name"], "ends": ends}


def _run(folder: Path, job: dict[str, Any], run: dict[str, Any]) -> str:
    if job.get("mutant"):
        MUTANTS[job["mutant"]]()
    layer = Layer()
    layer.note(folder / job["name"], folder / f"{job['name']}.notes")
    layer.mark(f"begin {run['do']}")
    layer.break_(run.get("break", ""), run.get("at", 0), for_good=run.get("for_good", False))
    try:
        RUNS[run["do"]](folder / job["name"])
    except QuietrankError as error:
        return f"{type(error).__name__}: {error}"
    except BaseException as error:  # noqa: BLE001  whatever it is, the test hears of it
        return f"unexpected {type(error).__name__}: {error}"
    layer.mark(f"end {run['do']}")
    return ""


if __name__ == "__main__":
    place_ = Path(sys.argv[1])
    load(lambda: prepared(place_ / "rehearsal", ["make", "first"]))
    print(json.dumps([done(place_, job) for job in json.load(sys.stdin)]))
