"""Nothing in; an engine of our own out, with a private folder for what does not fit into memory and for copies of
votes in another form. The folder is deleted with the engine's connection or, at the latest, with the process."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO


@dataclass(frozen=True)
class Engine:
    """A connection to DuckDB, and its folder."""

    connection: Any
    folder: Path

    def new_file(self, name: str) -> BinaryIO:
        """A new file in the folder, which only this user can read."""
        handle = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        return os.fdopen(handle, "wb")


def start_engine() -> Engine:
    import ibis

    # By default DuckDB would use the current folder.
    folder = tempfile.mkdtemp(prefix="quietrank-")
    connection = ibis.duckdb.connect(temp_directory=folder)
    weakref.finalize(connection.con, shutil.rmtree, folder, ignore_errors=True)
    connection.raw_sql("SET enable_progress_bar = false")
    return Engine(connection, Path(folder))
