"""A PostgreSQL server of the tests' own, where the machine has the programs for it (Debian's package postgresql).

It listens on loopback alone, on a port of its own, and asks for passwords, so that URLs can be tested as people write
them. It is stopped and its folder removed afterwards, whatever happened.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.servers.needed import free_port, missing

HOST, DATABASE = "127.0.0.1", "survey"
SUPERUSER, SUPERUSER_PASSWORD = "qr", "only on loopback"
USER, PASSWORD = "holder", "p@ss/word: é"
"""owns the database and nothing else; the password has signs that a URL must escape"""

ATTEMPTS = 3
"""to start it: between finding a free port and using it, somebody else may take it"""


@dataclass(frozen=True)
class PostgresServer:
    """Where it listens, and ways to connect to it."""

    port: int

    @property
    def url(self) -> str:
        return f"postgres://{USER}:{quote(PASSWORD, safe='')}@{HOST}:{self.port}/{DATABASE}"

    @property
    def url_without_password(self) -> str:
        return f"postgres://{USER}@{HOST}:{self.port}/{DATABASE}"

    def ibis(self) -> Any:
        """A new Ibis connection of the ordinary user."""
        import ibis

        return ibis.postgres.connect(host=HOST, port=self.port, user=USER, password=PASSWORD, database=DATABASE)

    def superuser(self) -> Any:
        """A new psycopg connection of the superuser, which commits every statement."""
        import psycopg

        words = {"user": SUPERUSER, "password": SUPERUSER_PASSWORD}
        return psycopg.connect(host=HOST, port=self.port, dbname=DATABASE, autocommit=True, **words)


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
        try:
            server = PostgresServer(cluster.start())
            _make_database(server)
            yield server
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class _Cluster:
    """What PostgreSQL calls a cluster: a folder of data, and the one server that uses it."""

    programs: Path
    folder: Path

    def make(self) -> None:
        secret = self.folder / "password"
        secret.write_text(SUPERUSER_PASSWORD)
        secret.chmod(0o644)  # read by another user, if these tests run as root
        words = ["-U", SUPERUSER, "--pwfile", str(secret), "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8"]
        self._run("initdb", *words, "--no-sync")

    def start(self) -> int:
        """The port that it listens on."""
        for attempt in range(ATTEMPTS):
            port = free_port()
            options = f"-h {HOST} -p {port} -c unix_socket_directories='' -c fsync=off -c full_page_writes=off"
            try:
                self._run("pg_ctl", "-o", options, "-w", "-l", str(self.folder / "log"), "start")
                return port
            except subprocess.CalledProcessError:
                if attempt == ATTEMPTS - 1:
                    raise AssertionError(f"PostgreSQL does not start:\n{self._log()}") from None
        raise AssertionError("unreachable")

    def stop(self) -> None:
        if (self.folder / "data" / "postmaster.pid").exists():
            self._run("pg_ctl", "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *words: str) -> None:
        # PostgreSQL does not run as root; Debian's package makes the user postgres.
        other: Any = {"user": "postgres"} if os.geteuid() == 0 else {}
        command = [str(self.programs / program), "-D", str(self.folder / "data"), *words]
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, check=True, cwd=self.folder, **quiet, **other)

    def _log(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace") if log.exists() else "there is no log"


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


def _make_database(server: PostgresServer) -> None:
    import psycopg
    from psycopg import sql

    words = {"user": SUPERUSER, "password": SUPERUSER_PASSWORD, "dbname": "postgres"}
    with psycopg.connect(host=HOST, port=server.port, autocommit=True, **words) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(USER), PASSWORD))
        # Turkish: wherever text is lowered or ordered by the collation instead of by itself, tests see it.
        as_in_turkish = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'"
        connection.execute(
            sql.SQL(f"CREATE DATABASE {{}} OWNER {{}} {as_in_turkish}").format(
                sql.Identifier(DATABASE), sql.Identifier(USER)
            )
        )
