"""A step of counting in, a call to whoever watches it out: for a progress bar on a terminal, or in the app."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

Tell = Callable[[str, float | None], None]
"""called with what is being done, and how much of it is done if that is known"""

OFTEN = 0.2
"""seconds between two looks"""

_watcher: ContextVar[Tell | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(tell: Tell) -> Iterator[None]:
    """Within this, every step of counting is told."""
    before = _watcher.set(tell)
    try:
        yield
    finally:
        _watcher.reset(before)


@contextmanager
def step(doing: str, progress: Callable[[], float | None]) -> Iterator[None]:
    """One step, of which `progress` says how far it is; it is asked by a thread of its own, while the engine works."""
    tell = _watcher.get()
    if tell is None:
        yield
        return
    done = threading.Event()

    def look() -> None:
        while not done.wait(OFTEN):
            with suppress(Exception):  # what is only shown must not stop what is done
                tell(doing, progress())

    tell(doing, None)
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
