"""Work in forked children: no engine runs in the process that forks, because its threads would not survive that."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module


def in_child(work: Callable[[], str]) -> str:
    """What it says, done in a child; or "killed"."""
    said, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(said)
        with open(told, "wb") as stream:
            stream.write(work().encode())
        os._exit(0)
    os.close(told)
    with open(said, "rb") as stream:
        end = stream.read().decode()
    _, status = os.waitpid(child, 0)
    return "killed" if os.WIFSIGNALED(status) else end


def load(rehearsal: Callable[[], object]) -> None:
    """Load once what this work loads, so that not every child has to."""

    def loaded() -> str:
        rehearsal()
        return " ".join(sys.modules)

    for name in in_child(loaded).split():
        with suppress(ImportError):
            import_module(name)
