"""A PostgreSQL server of the tests' own, where the machine has the programs for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

QUIET: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def _programs() -> Path:
    """The folder with initdb and pg_ctl; Debian keeps them off the path."""
    pg_ctl = shutil.which("pg_ctl")
    folders = [Path(pg_ctl).resolve().parent] if pg_ctl else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    for folder in reversed(folders):
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    pytest.skip("there is no PostgreSQL server on this machine (Debian's package postgresql)")


@contextmanager
def server() -> Iterator[Any]:
    """An Ibis connection to a new server, which listens on a socket in a folder of its own and nowhere else."""
    ibis = pytest.importorskip("ibis")
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    programs, folder = _programs(), tempfile.mkdtemp(prefix="qr-")
    other: Any = {"user": "postgres"} if os.geteuid() == 0 else {}  # PostgreSQL does not run as root
    if other:
        shutil.chown(folder, "postgres")

    def run(program: str, *words: str) -> None:
        subprocess.run([programs / program, "-D", f"{folder}/data", *words], check=True, cwd=folder, **QUIET, **other)

    try:
        run("initdb", "-U", "qr", "-E", "UTF8", "--locale=C.UTF-8", "-A", "trust")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        run("pg_ctl", "-o", options, "-w", "-l", f"{folder}/log", "start")
        connection = ibis.postgres.connect(host=folder, user="qr", database="postgres")
        yield connection
        connection.disconnect()
        run("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
