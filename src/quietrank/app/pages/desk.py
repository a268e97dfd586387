"""What the pages share: the folder of ledgers and boards for all windows, and what one window is about."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shiny import reactive
from shiny.session import Session

from quietrank.app import orders
from quietrank.app.scratch import ORDERS
from quietrank.app.tasks import Looked
from quietrank.app.wishes import Survey
from quietrank.app.work import Job, State
from quietrank.errors import QuietrankError
from quietrank.ledger.book import BudgetLedger

OFTEN = 0.25
"""seconds between two looks at a job"""
MOST_KEPT = 300
USUAL_EPSILON = 1
"""in the fields of the plan and of the release, until somebody says otherwise"""


@dataclass
class House:
    """All windows together: one user, one folder, and orders that outlive the windows they were placed in."""

    folder: Path
    scratch: Path
    known: dict[Any, Any] = field(default_factory=dict)
    """forecasts that were made before"""
    running: dict[tuple[Path, str], Job] = field(default_factory=dict)
    """orders, by ledger and name"""
    lock: threading.Lock = field(default_factory=threading.Lock)
    latest: tuple[Path, str] | None = None
    """the last order that was delivered: ledger and name"""

    def ledgers(self) -> dict[str, BudgetLedger]:
        """The ledgers of the folder, by the names of their files."""
        found = {}
        for path in sorted(self.folder.glob("*.db")):
            try:
                found[path.name] = BudgetLedger.open(path)
            except QuietrankError:  # another kind of file
                continue
        return found

    def boards(self) -> list[str]:
        return [path.name for path in sorted(self.folder.glob("*.board"))]

    def order(self, placed: orders.Placed) -> Job:
        """Start an order, or join it if it was started, from whichever window."""
        key = placed.ledger, placed.name
        with self.lock:
            job = self.running.get(key)
            if job is None or job.poll() is not State.RUNNING:
                folder = orders.place(self.scratch / ORDERS, placed, self.scratch)
                job = self.running[key] = Job(orders.fulfil, folder)
                job.attend()  # its window may close
            return job

    def forget(self, placed: orders.Placed) -> bool:
        """After an order was stopped: drop it if it was not paid for; whether it was dropped."""
        folder = orders.folder_of(self.scratch / ORDERS, placed)
        return not folder.exists() or orders.drop(folder)

    def remember(self, key: Any, value: Any) -> Any:
        """Keep a forecast, and forget the oldest."""
        self.known[key] = value
        while len(self.known) > MOST_KEPT:
            self.known.pop(next(iter(self.known)))
        return value


class Desk:
    """One window."""

    def __init__(self, house: House, session: Session) -> None:
        self.house, self.session = house, session
        # Values have names here and on all pages: Shiny would search the stack for one, which takes it 20 ms each.
        self.survey: reactive.Value[Survey | None] = reactive.Value(None, name="survey")
        self.looked: reactive.Value[Looked | None] = reactive.Value(None, name="looked")
        self.epsilon: reactive.Value[float | None] = reactive.Value(None, name="epsilon")
        """as the plan suggests"""
        self.result: reactive.Value[tuple[Path, str] | None] = reactive.Value(house.latest, name="result")
        """which release is shown: ledger and order"""
        self.ledgers: reactive.Value[int] = reactive.Value(0, name="ledgers")
        """changes when a ledger was made or debited"""

    async def go(self, step: str) -> None:
        await self.session.send_custom_message("step", {"step": step})

    async def say(self, text: str) -> None:
        """To those who hear the page rather than see it."""
        await self.session.send_custom_message("said", {"text": text})

    async def complain(self, form: str, errors: dict[str, str]) -> None:
        """Show messages beside the fields of a form, and take others away."""
        await self.session.send_custom_message("errors", {"form": form, "errors": errors})


Then = Callable[[Job], Any]


async def _tell_nobody(done: Job) -> None:
    pass


class Runner:
    """One kind of work of a page, one at a time; its progress is shown at `place`."""

    def __init__(self, desk: Desk, place: str) -> None:
        self.desk, self.place = desk, place
        self.outlives_window = False
        self._now: reactive.Value[tuple[Job, Then] | None] = reactive.Value(None, name="now")
        self._ticks: reactive.Value[int] = reactive.Value(0, name="ticks")
        self._timer: asyncio.Task[None] | None = None
        desk.session.on_ended(self._end)
        reactive.effect(self._watch)

    def start(self, job: Job, then: Then, *, outlives_window: bool = False) -> None:
        """Watch a job, in place of the one before, and call `then` with it when it has ended."""
        self._end()
        self.outlives_window = outlives_window
        self._now.set((job, then))

    def stop(self) -> None:
        """End what is running, because nobody asks for it any more: its result, even if it just came, is not told."""
        if self.outlives_window:
            return
        self.cancel()
        with reactive.isolate():
            now = self._now()
        if now is not None:
            self._now.set((now[0], _tell_nobody))

    def _end(self) -> None:
        """End what is running; an order that others may wait for is left alone."""
        if not self.outlives_window:
            self.cancel()

    def cancel(self) -> None:
        """End what is running, because somebody said so."""
        with reactive.isolate():
            now = self._now()
        if now is not None:
            now[0].stop()

    async def _tick(self) -> None:
        """Look again in a while. Shiny's `invalidate_later` prints a traceback if it is cut short at a bad moment."""
        await asyncio.sleep(OFTEN)
        async with reactive.lock():
            self._timer = None
            with reactive.isolate():
                self._ticks.set(self._ticks() + 1)
            await reactive.flush()

    async def _watch(self) -> None:
        self._ticks()
        now = self._now()
        if now is None:
            return
        job, then = now
        state = job.poll()
        await self.desk.session.send_custom_message(
            "progress",
            {"place": self.place, "doing": job.doing, "share": job.share, "running": state is State.RUNNING},
        )
        if state is State.RUNNING:
            if self._timer is None:
                self._timer = asyncio.create_task(self._tick())
            return
        with reactive.isolate():
            if self._now() is now:
                self._now.set(None)
        await then(job)
