"""Limits on memory, threads and temporary files in, a DuckDB engine of our own out.

It has a private folder for what does not fit into memory, and for copies of votes in another form. The folder is
deleted with the engine's connection or, at the latest, with the process.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from quietrank.errors import VotesError, option
from quietrank.promise.arguments import file_path, whole_number

LEAST_MEMORY = 100 * 2**20
"""below that the engine itself does not run"""
ENGINE_PART = 0.75
"""of the memory that may be used: the engine's limit does not cover all that it allocates, nor the rest of the
process"""
PROGRESS = {"enable_progress_bar": True, "enable_progress_bar_print": False}
"""the engine keeps count of how far a query is, and leaves it to us to show it"""
UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclass(frozen=True)
class Resources:
    """How much of this machine quietrank's own engine may use; None: as the engine thinks fit."""

    memory: int | None = None
    """in bytes, of the whole process"""
    threads: int | None = None
    folder: Path | None = None
    """where what does not fit into memory goes"""

    @classmethod
    def of(cls, memory_limit: object, threads: object, temp_dir: object) -> Resources:
        """From a caller's arguments, of whatever type."""
        return cls(
            None if memory_limit is None else _bytes(memory_limit),
            None if threads is None else _threads(threads),
            None if temp_dir is None else _folder(temp_dir),
        )

    def require_none(self, engine: str) -> None:
        """Refuse what only quietrank's own engine would follow."""
        limits = {"memory_limit": self.memory, "threads": self.threads, "temp_dir": self.folder}
        for name, value in limits.items():
            if value is not None:
                raise VotesError(
                    f"{option(name)} is for quietrank's own engine, and these votes are counted in {engine}; leave it "
                    "out, and say there how much may be used"
                )

    def apply(self, connection: Any) -> Path:
        """Set what a connection to DuckDB may use; its new private folder, which goes with the connection."""
        # By default DuckDB would use the current folder.
        try:
            folder = tempfile.mkdtemp(prefix="quietrank-", dir=self.folder)
        except OSError as error:
            where = tempfile.gettempdir() if self.folder is None else self.folder
            raise VotesError(
                f"cannot make a temporary folder in {where} ({error.strerror}); give another one with "
                f"{option('temp_dir')}"
            ) from None
        weakref.finalize(connection.con, shutil.rmtree, folder, ignore_errors=True)
        settings: dict[str, object] = {"temp_directory": folder, **PROGRESS}
        if self.memory is not None:
            settings["memory_limit"] = f"{int(self.memory * ENGINE_PART / 10**6)}MB"
        if self.threads is not None:
            settings["threads"] = self.threads
        for name, value in settings.items():
            connection.con.execute(f"SET {name} = '{str(value).replace(chr(39), 2 * chr(39))}'")
        return Path(folder)


ALL_OF_IT = Resources()


def _bytes(argument: object) -> int:
    """A number of bytes, such as 4GB."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", argument) if isinstance(argument, str) else None
    number = 0 if match is None else int(float(match[1]) * UNITS.get(match[2].upper(), 0))
    if number < LEAST_MEMORY:
        raise VotesError(
            f"{option('memory_limit')} must be a size such as 4GB, of at least 100MB; got "
            f"{option('memory_limit', repr(argument))}"
        )
    return number


def _threads(argument: object) -> int:
    number = whole_number(argument)
    if number is None or not 1 <= number <= 4096:
        raise VotesError(f"{option('threads')} must be a whole number, 1 or more; got {argument!r}")
    return number


def _folder(argument: object) -> Path:
    folder = file_path(argument, "temp_dir")
    if not folder.is_dir():
        raise VotesError(f"{option('temp_dir')}: there is no folder {folder}; make it, or give another one")
    return folder


@dataclass(frozen=True)
class OwnEngine:
    """A connection to DuckDB, and its folder."""

    connection: Any
    folder: Path

    def new_file(self, name: str) -> BinaryIO:
        """A new file in the folder, which only this user can read."""
        handle = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        return os.fdopen(handle, "wb")


def start_engine(resources: Resources = ALL_OF_IT) -> OwnEngine:
    """A new engine in memory, which nobody else uses."""
    import ibis

    connection = ibis.duckdb.connect()
    known: set[str] = set()
    connection._register_in_memory_table = lambda op: _keep_list(connection.con, op, known)
    return OwnEngine(connection, resources.apply(connection))


def _keep_list(connection: Any, op: Any, known: set[str]) -> None:
    """A public list as a table: of a list in memory the engine does not know the size, and then neither how far it is
    with a query, nor which side of a join is small."""
    if op.name in known:
        return
    connection.register("quietrank_list", op.data.to_pyarrow(op.schema))
    connection.execute(f'CREATE TEMP TABLE "{op.name}" AS SELECT * FROM quietrank_list')
    connection.unregister("quietrank_list")
    known.add(op.name)
