"""A function in, its result out of a process of its own, which tells how far it is and can be stopped at any moment."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection
from typing import Any

from quietrank.errors import QuietrankError

Tell = Callable[[str, float | None], None]
"""called with what is being done, and how much of it is done if that is known"""

# Copies of a process that has everything imported start within a tenth of a second; elsewhere from scratch.
_START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
PREPARED = [
    "quietrank.app.tasks", "ibis.backends.duckdb", "ibis.backends.duckdb.converter", "pyarrow.dataset",
    "matplotlib.figure", "matplotlib.backends.backend_svg",
]  # fmt: skip
"""what jobs use, also what is only imported where it is used: with the first alone, each takes a second longer"""


def prepare() -> None:
    """Import everything now, in the background, so that the first job need not wait for it."""
    threading.Thread(target=Job, args=(_nothing,), daemon=True).start()  # a first job waits until it is imported


def finish() -> None:
    """End all jobs."""
    children = multiprocessing.active_children()
    for child in children:
        child.kill()
    for child in children:
        child.join(1)


def _nothing(tell: Tell) -> None:
    pass


OFTEN = 0.1
"""seconds between two words of a job, and between two looks at one that nobody watches"""


class State(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Failure:
    """Why a job has no result, in words a person can act on."""

    message: str


class Job:
    """One call of a function that takes `tell` first; `poll` brings its state up to date."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        context: Any = multiprocessing.get_context(_START)
        if _START == "forkserver":
            context.set_forkserver_preload(PREPARED)
        self._pipe, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(theirs, function, arguments), daemon=True)
        self._process.start()
        theirs.close()
        self._lock = threading.Lock()
        self.state = State.RUNNING
        self.doing = "starting"
        self.share: float | None = None
        self.result: Any = None
        self.failure: Failure | None = None

    def attend(self) -> None:
        """Read what the job says in the background, also where no page shows it: a job waits until it is read."""

        def listen() -> None:
            while self.poll() is State.RUNNING:
                time.sleep(OFTEN)

        threading.Thread(target=listen, daemon=True).start()

    def poll(self) -> State:
        """Hear what the process has said since."""
        with self._lock:
            return self._heard()

    def _heard(self) -> State:
        while self.state is State.RUNNING:
            try:
                if not self._pipe.poll():
                    break
                kind, *said = self._pipe.recv()
            except (EOFError, OSError):
                self._end(State.FAILED, failure=Failure("this ended before it was done; try again"))
                break
            if kind == "progress":
                self.doing, self.share = said
            elif kind == "result":
                self._end(State.DONE, said[0])
            else:
                self._end(State.FAILED, failure=Failure(said[0]))
        return self.state

    def stop(self) -> None:
        """End it wherever it is; what it has paid for is in its ledger, and is finished by the next to ask."""
        with self._lock:
            if self._heard() is State.RUNNING:
                self._process.kill()
                self._end(State.STOPPED)

    def wait(self, seconds: float = 60.0) -> Any:
        """The result; raises its failure as an error."""
        until = time.monotonic() + seconds
        while self.poll() is State.RUNNING:
            if time.monotonic() > until:
                self.stop()
            time.sleep(0.01)
        if self.failure is not None:
            raise QuietrankError(self.failure.message)
        return self.result

    def _end(self, state: State, result: Any = None, failure: Failure | None = None) -> None:
        self.state, self.result, self.failure = state, result, failure
        self._pipe.close()
        self._process.join(5)


def _run(pipe: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """In the new process."""
    _end_with_parent()

    last: list[tuple[float, str]] = [(0.0, "")]

    def tell(doing: str, share: float | None = None) -> None:
        now, (then, before) = time.monotonic(), last[0]
        if doing == before and now - then < OFTEN:
            return
        last[0] = now, doing
        with suppress(BrokenPipeError):
            pipe.send(("progress", doing, share))

    try:
        said: tuple[str, Any] = ("result", function(tell, *arguments))
    except QuietrankError as error:
        said = ("failure", error.in_options())
    except OSError as error:
        said = ("failure", f"cannot write or read: {error}; check the path and the free space")
    except MemoryError:
        said = ("failure", "there is not enough memory for this; close other programs, or use a smaller file")
    with suppress(BrokenPipeError):  # nobody waits for it any more
        pipe.send(said)


def _end_with_parent() -> None:
    """Do not outlive the server: a release that is cut off is finished when it starts again."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
