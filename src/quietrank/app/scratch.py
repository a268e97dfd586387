"""A private temporary folder for a run of the app, and what is left of runs that were killed.

Uploaded votes and what engines spill are confidential. All of it lies in one folder, `quietrank-app-…` in the system's
temporary folder, which only its owner can open and which goes with the process. A lock says that the process lives; it
ends with the process, however that ends. The next run removes folders whose lock nobody holds, but not before the
orders in them were handed over: they may have been paid for. For the same reason they outlive Ctrl-C.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PREFIX = "quietrank-app-"
LOCK = "lock"
ORDERS = "orders"
VARIABLES = ("TMPDIR", "TEMP", "TMP")
ATTEMPTS = 10


@dataclass
class Scratch:
    """A folder whose lock this process holds."""

    path: Path
    _lock: int | None
    """the open file of the lock; None when it was given back"""
    _before: dict[str, str | None] | None = field(default=None)
    """the variables that named the temporary folder before, if this one took its place"""

    @classmethod
    def make(cls) -> Scratch:
        """A new folder, which is the temporary folder of this process and its children from now on."""
        for _ in range(ATTEMPTS):  # a run that starts now may take the new folder for an abandoned one
            path = Path(tempfile.mkdtemp(prefix=PREFIX))
            if (lock := _locked(path)) is not None:
                scratch = cls(path, lock, {name: os.environ.get(name) for name in VARIABLES})
                _use(dict.fromkeys(VARIABLES, str(path)), str(path))
                return scratch
        raise OSError(f"cannot lock a new folder in {tempfile.gettempdir()}")

    @classmethod
    def adopt(cls, path: Path) -> Scratch | None:
        """The folder of a process that is gone; None if it still lives, or another process was quicker."""
        lock = _locked(path)
        return None if lock is None else cls(path, lock)

    def clear(self, *, but: tuple[str, ...] = ()) -> None:
        """Remove what is in it, except the lock and these."""
        for entry in _entries(self.path):
            if entry.name not in (LOCK, *but):
                remove_tree(entry)

    def release(self) -> None:
        """Give the lock back, and leave the folder as it is."""
        if self._lock is not None:
            _give_back(self._lock)
            self._lock = None

    def remove(self) -> None:
        """Remove the folder with all that is in it; the temporary folder is what it was before."""
        self._step_back()
        self.clear()
        self.release()  # Windows removes no open file
        remove_tree(self.path)

    def end(self) -> bool:
        """Remove the folder, unless there are orders in it: these stay for the next run. Whether it was removed."""
        if not _entries(self.path / ORDERS):
            self.remove()
            return True
        self._step_back()
        self.clear(but=(ORDERS,))
        self.release()
        return False

    def _step_back(self) -> None:
        if self._before is not None:
            _use(self._before, None)
            self._before = None


def _use(variables: dict[str, str | None] | dict[str, str], folder: str | None) -> None:
    """Set the variables that name the temporary folder, and Python's own notion of it."""
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    tempfile.tempdir = folder


# ---- abandoned folders -----------------------------------------------------------------------------------------------


def sweep(recover: Callable[[Path], None], place: Path | None = None) -> list[tuple[Path, Exception]]:
    """Remove abandoned folders, after `recover` was called with the orders in them.

    All but the orders is removed at once. Recovering may take long; if it fails, the orders stay for the next run.
    Returns these folders, with the errors.
    """
    adopted = [scratch for path in _candidates(place) if (scratch := Scratch.adopt(path)) is not None]
    for scratch in adopted:
        scratch.clear(but=(ORDERS,))
    failures = []
    for scratch in adopted:
        try:
            if _is_own_folder(scratch.path / ORDERS):
                recover(scratch.path / ORDERS)
            scratch.remove()
        except Exception as error:  # noqa: BLE001  whatever it is, the orders must stay
            failures.append((scratch.path, error))
            scratch.release()
    return failures


def _candidates(place: Path | None) -> Iterator[Path]:
    """Folders that are named as ours, and belong to this user."""
    for path in _entries(Path(tempfile.gettempdir()) if place is None else place):
        if path.name.startswith(PREFIX) and _is_own_folder(path):
            yield path


def _is_own_folder(path: Path) -> bool:
    """Whether it is a folder, and not a link to one, of this user."""
    try:
        about = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and (sys.platform == "win32" or about.st_uid == os.getuid())


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def remove_tree(path: Path) -> None:
    """Remove a file, or a folder with all that is in it; others may remove or still write files there meanwhile.

    What cannot be removed stays, for the next run.
    """
    for _ in range(ATTEMPTS):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            _unlink(path)
        if not os.path.lexists(path):
            return
        time.sleep(0.05)


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:  # tried again by the caller
        return


# ---- locks -----------------------------------------------------------------------------------------------------------


def _locked(folder: Path) -> int | None:
    """The open file of the folder's lock, which this process now holds; None if another one holds it.

    Whoever held it before may have removed the folder in the meantime; then the file has no name any more.
    """
    path = folder / LOCK
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError:
        return None
    try:
        _take(lock)
        if os.path.samestat(os.fstat(lock), os.stat(path)):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _take(lock: int) -> None:
    """Lock an open file for this process; an OSError if another holds it."""
    if sys.platform == "win32":
        msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _give_back(lock: int) -> None:
    """Unlock and close it; closing alone would leave it locked if a forked child has the same file open."""
    if sys.platform == "win32":
        msvcrt.locking(lock, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)
