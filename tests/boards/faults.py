"""Faults for boards: kill -9 at random moments of `update`.

Run as `python -m tests.boards.faults FOLDER ROUNDS SEED [pure]`; with the last word the board promises no delta.

Runs in a process of its own, which imports everything once and forks a child per fault. Results go to stdout as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from quietrank.boards.board import Board, confidential
from quietrank.errors import BoardError
from quietrank.votes.daily import kept
from tests.boards.arena import new_board, some_votes, update


def kills(folder: Path, rounds: int, seed: int, *, pure: bool = False) -> dict[str, Any]:
    """Publish day after day, and kill most of the updates; now and then one is let through."""
    rng, horizon = random.Random(seed), rounds
    rows = some_votes(horizon, people=8)
    board, whole = new_board(folder, horizon=horizon, pure=pure), folder / "undisturbed"
    whole.mkdir()
    undisturbed = new_board(whole, horizon=horizon, pure=pure)
    began = time.perf_counter()
    update(undisturbed, rows, 1)
    duration, died, broken, shown = time.perf_counter() - began, 0, [], list(board.log.lines)
    for number in range(rounds):
        day = number + 1
        died += killed(partial(update, Board.open(board.path), rows, day), rng.uniform(0, 0.5 * duration))
        now = list(Board.open(board.path).log.lines)
        if now[: len(shown)] != shown:
            broken.append(f"round {number}: what was shown has changed")
        shown = now
    last = Board.open(board.path)
    update(last, rows, horizon)
    last.verify()
    update(undisturbed, rows, horizon)
    return {
        "killed": died, "broken": broken, "days": [day.number for day in last.log.days], "horizon": horizon,
        "same": counted(last) == counted(undisturbed), "left": left_behind(folder),
    }  # fmt: skip


def counted(board: Board) -> list[Any]:
    """The exact increments of every day."""
    with kept.opened(confidential(board.path)) as opened:
        return list(opened.db.execute("SELECT * FROM kept.sums ORDER BY ALL").fetchall())


def left_behind(folder: Path) -> list[str]:
    """Files that are no part of the board."""
    known = {"board", "board.confidential", "ledger", "undisturbed"}
    return sorted(path.name for path in folder.iterdir() if path.name not in known)


def killed(work: Callable[[], object], delay: float) -> int:
    """Run it in a child and kill the child after a while; 1 if it was killed, 0 if it was done before."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BoardError:
            os._exit(1)
        os._exit(0)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return int(os.WIFSIGNALED(status))


if __name__ == "__main__":
    print(json.dumps(kills(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), pure="pure" in sys.argv[4:])))
