"""A PostgreSQL server of the tests' own, where the machine has the programs for it (Debian's package postgresql).

It listens on loopback alone, on a port of its own, and asks for passwords, so that URLs can be tested as people write
them. It is stopped and its folder removed afterwards, whatever happened.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.servers.needed import die_with_parent, free_port, missing

HOST, DATABASE = "127.0.0.1", "survey"
AS_SUPERUSER: Any = {"user": "qr", "password": "only on loopback"}
USER, PASSWORD = "holder", "p@ss/word: é"
"""owns the database and nothing else; the password has signs that a URL must escape"""

PATIENCE = 60
"""seconds to start or to stop; one or two on a quiet machine"""
ATTEMPTS = 3
"""to start it: between finding a free port and using it, somebody else may take it"""


@dataclass(frozen=True)
class PostgresServer:
    """Where it listens, and ways to connect to it."""

    port: int

    @property
    def url(self) -> str:
        return f"postgres://{USER}:{quote(PASSWORD, safe='')}@{HOST}:{self.port}/{DATABASE}"

    def ibis(self) -> Any:
        """A new Ibis connection of the ordinary user."""
        import ibis

        return ibis.postgres.connect(host=HOST, port=self.port, user=USER, password=PASSWORD, database=DATABASE)

    def superuser(self) -> Any:
        """A new psycopg connection of the superuser, which commits every statement."""
        import psycopg

        return psycopg.connect(host=HOST, port=self.port, dbname=DATABASE, autocommit=True, **AS_SUPERUSER)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A new server with an empty database."""
    programs = _programs()
    _require_psycopg()
    folder = Path(tempfile.mkdtemp(prefix="qr-postgres-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        cluster = _Cluster(programs, folder)
        cluster.make()
        process, port = cluster.start()
        try:
            _make_database(port)
            yield PostgresServer(port)
        finally:
            stop(process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class _Cluster:
    """What PostgreSQL calls a cluster: a folder of data, and the one server that uses it."""

    programs: Path
    folder: Path

    def make(self) -> None:
        secret = self.folder / "password"
        secret.write_text(AS_SUPERUSER["password"])
        secret.chmod(0o644)  # read by another user, if these tests run as root
        words = [
            "-U",
            AS_SUPERUSER["user"],
            "--pwfile",
            str(secret),
            "-A",
            "scram-sha-256",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        ]
        self._run("initdb", *words, "--no-sync")

    def start(self) -> tuple[subprocess.Popen[bytes], int]:
        """The server and the port that it listens on. pg_ctl would leave it behind when the tests are killed."""
        for _ in range(ATTEMPTS):
            port = free_port()
            words = ["-h", HOST, "-p", str(port), "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "jit=off"]
            with (self.folder / "log").open("ab") as log:
                server = subprocess.Popen(
                    self._command("postgres", *words), cwd=self.folder, stdout=log, stderr=log,
                    start_new_session=True, preexec_fn=die_with_parent, **_other_user(),
                )  # fmt: skip
            if self._answers(server, port):
                return server, port
            stop(server)
        raise AssertionError(f"PostgreSQL does not start:\n{(self.folder / 'log').read_text(errors='replace')}")

    def _answers(self, server: subprocess.Popen[bytes], port: int) -> bool:
        """Wait until it does; False if it has ended."""
        import psycopg

        until = time.monotonic() + PATIENCE
        while server.poll() is None and time.monotonic() < until:
            try:
                psycopg.connect(host=HOST, port=port, dbname="postgres", **AS_SUPERUSER).close()
                return True
            except psycopg.OperationalError:
                time.sleep(0.05)
        return False

    def _run(self, program: str, *words: str) -> None:
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(self._command(program, *words), check=True, cwd=self.folder, **quiet, **_other_user())

    def _command(self, program: str, *words: str) -> list[str]:
        return [str(self.programs / program), "-D", str(self.folder / "data"), *words]


def stop(server: subprocess.Popen[bytes]) -> None:
    """At once; nothing of it is needed any more."""
    if server.poll() is None:
        server.send_signal(signal.SIGQUIT)
    server.wait(timeout=PATIENCE)


def _other_user() -> Any:
    """PostgreSQL does not run as root; Debian's package makes the user postgres."""
    return {"user": "postgres"} if os.geteuid() == 0 else {}


def _programs() -> Path:
    """The folder with initdb and pg_ctl; Debian keeps them off the path."""
    pg_ctl = shutil.which("pg_ctl")
    folders = [Path(pg_ctl).resolve().parent] if pg_ctl else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    for folder in reversed(folders):
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    missing("there is no PostgreSQL server on this machine (Debian's package postgresql)")


def _require_psycopg() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        missing("psycopg is not installed: it is in the extra postgres")


def _make_database(port: int) -> None:
    import psycopg
    from psycopg import sql

    with psycopg.connect(host=HOST, port=port, dbname="postgres", autocommit=True, **AS_SUPERUSER) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(USER), PASSWORD))
        # Turkish: wherever text is lowered or ordered by the collation instead of by itself, tests see it.
        as_in_turkish = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'"
        connection.execute(
            sql.SQL(f"CREATE DATABASE {{}} OWNER {{}} {as_in_turkish}").format(
                sql.Identifier(DATABASE), sql.Identifier(USER)
            )
        )
