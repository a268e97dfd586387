"""Faults for boards, run as `python -m tests.boards.faults FOLDER ROUNDS SEED [pure]`: kill -9 at random
moments of `update`, and between its steps. With the last word the board promises no delta.

Runs in a process of its own, which imports everything once and forks a child per fault. Results go to stdout as JSON.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from quietrank.boards.board import Board, confidential
from quietrank.boards.log import Log
from quietrank.errors import BoardError
from quietrank.ledger.book import BudgetLedger
from quietrank.votes.daily import kept
from tests.boards.arena import Row, new_board, some_votes, update
from tests.boards.children import in_child, load
from tests.boards.file_layer import Layer

STUCK = 10.0
"""seconds after which a child that came to no step is given up"""


def kills(folder: Path, rounds: int, seed: int, *, pure: bool = False) -> dict[str, Any]:
    """Publish day after day until so many updates were killed: one half at any time, and the other before a change or
    a sync of a file, if the file layer is there."""
    rng, horizon, layer = random.Random(seed), rounds, Layer()
    rows, whole = some_votes(horizon, people=8), folder / "undisturbed"
    whole.mkdir()
    make = partial(new_board, horizon=horizon, pure=pure)
    load(lambda: update(make(_made(folder / "rehearsal")), rows, 1))
    shutil.rmtree(folder / "rehearsal")
    duration, steps = json.loads(in_child(lambda: json.dumps(rehearsed(make(whole), rows))))
    in_child(lambda: str(make(folder)))
    board = folder / "board"
    died, broken, shown, struck = 0, [], list(Board.open(board).log.lines), Counter[str]()
    while died < rounds:
        opened = Board.open(board)
        work = partial(update, opened, rows, min(opened.days + 1, horizon))
        # An update with no day left to publish has fewer steps; it is killed at any time.
        at_step = layer.is_there and died % 2 == 1 and opened.days < horizon
        # Spread evenly over the steps; and over a little more than the time that it takes.
        step = 1 + int(steps * (died + 2 * rng.random()) / (rounds + 1)) if at_step else 0
        if killed(work, None if at_step else rng.uniform(0, 1.1 * duration), step, folder):
            died += 1
            struck[in_child(partial(where, folder, len(shown)))] += 1
        now = list(Board.open(board).log.lines)
        if now[: len(shown)] != shown:
            broken.append(f"kill {died}: what was shown has changed")
        shown = now
    ended, honest = (in_child(partial(finished, place / "board", rows, horizon)) for place in (folder, whole))
    return {
        "killed": died, "broken": broken, "days": [day.number for day in Board.open(board).log.days],
        "horizon": horizon, "same": ended == honest != "killed", "left": left_behind(folder), "struck": struck,
    }  # fmt: skip


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def finished(board: Path, rows: Sequence[Row], horizon: int) -> str:
    """The exact increments of every day, once all are published and the board is verified."""
    last = Board.open(board)
    update(last, rows, horizon)
    last.verify()
    return str(counted(last))


def rehearsed(board: Board, rows: Sequence[Row]) -> tuple[float, int]:
    """How long an update takes, and how many changes and syncs of files it makes."""
    began = time.perf_counter()
    update(board, rows, 1)
    duration, layer = time.perf_counter() - began, Layer()
    if not layer.is_there:
        return duration, 0
    layer.note(board.path.parent, Path(os.devnull))
    before = layer.steps
    update(board, rows, 2)
    layer.note(Path(""), Path(os.devnull))
    return duration, layer.steps - before


def where(folder: Path, shown: int) -> str:
    """How far a day had come when its update was killed; found out from a copy, which is repaired by looking at it."""
    copy = folder / "undisturbed" / "copy"
    copy.mkdir()
    for name in ("board", "board.confidential", "board.confidential.wal", "ledger", "ledger-journal"):
        if (folder / name).exists():
            shutil.copy(folder / name, copy / name)
    with kept.opened(copy / "board.confidential") as opened:
        log = Log.of(opened.lines)
    noted = BudgetLedger.open(copy / "ledger").position(log.terms.topic) == log.position
    lines = len(Board.open(copy / "board").log.lines)
    shutil.rmtree(copy)
    if len(log.lines) == lines:
        return "before the commit" if lines == shown else "after the copy"
    return "before the copy" if noted else "before the note"


def counted(board: Board) -> list[Any]:
    """The exact increments of every day."""
    with kept.opened(confidential(board.path)) as opened:
        return list(opened.db.execute("SELECT * FROM kept.sums ORDER BY ALL").fetchall())


def left_behind(folder: Path) -> list[str]:
    """Files that are no part of the board."""
    known = {"board", "board.confidential", "ledger", "undisturbed"}
    return sorted(path.name for path in folder.iterdir() if path.name not in known)


def killed(work: Callable[[], object], delay: float | None, step: int, folder: Path) -> int:
    """Run it in a child and kill the child after a while, or before a step; 1 if it was killed, 0 if it was done
    before."""
    child = os.fork()
    if child == 0:
        if step:
            Layer().note(folder, Path(os.devnull))
            Layer().break_("kill", step)
        try:
            work()
        except BoardError:
            os._exit(1)
        os._exit(0)
    time.sleep(delay or 0)
    until = time.monotonic() + (STUCK if delay is None else 0)
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < until:
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        ended = os.waitpid(child, 0)
        if delay is None:
            return 0
    return int(os.WIFSIGNALED(ended[1]))


if __name__ == "__main__":
    print(json.dumps(kills(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), pure="pure" in sys.argv[4:])))
