"""A path in, transactions on the SQLite file of a ledger out; every failure becomes one line with a remedy.

The rollback journal is in DELETE mode, so that between debits the ledger is one file, and synchronous is EXTRA: FULL
alone does not sync the folder after the journal is deleted, so a power cut could bring the journal back, which would
undo a debit whose release is already out. WAL would need two more files and shared memory.

Each transaction opens and closes its own connection, so that a ledger may be used from several threads and after a
fork. The file must never be opened by other means in this process: closing it would drop the locks that SQLite holds.

A ledger has one name. SQLite names the journal after the name by which the file was opened, so a debit that was
interrupted under one name of a file is invisible under another, and when the journal is eventually found it undoes
whatever was paid in between. So a file with several names (hard links) is refused whenever it is opened, which is
before every debit; symbolic links are followed first.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from quietrank.errors import LedgerError, either

APPLICATION_ID = 0x71724C31
"""marks the SQLite file as a ledger: "qrL1" """
PATIENCE = 60.0
"""seconds to wait for other processes"""
SECOND_NAME = 1.0
"""seconds to wait for a second name to disappear: a ledger that is being made has two for a moment"""
MAKE_ONE = either("qr.Ledger.create(path, epsilon, data=..., unit=...)", "`quietrank ledger new`")
SCHEMA = (
    "CREATE TABLE header (terms TEXT NOT NULL, state TEXT NOT NULL, seal TEXT NOT NULL)",
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL)",
)


@contextlib.contextmanager
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    """An existing file, opened for reading and, where the system allows it, writing."""
    with explained(path):
        if not path.is_file():
            raise LedgerError(f"there is no ledger {path}; make one with {MAKE_ONE}")
        if path.stat().st_size == 0:
            raise LedgerError(f"{path} is empty, so it is not a ledger; give a file made by {MAKE_ONE}")
        _require_one_name(path)
        address = f"file:{quote(str(path))}?mode=rw"
        db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE)
        try:
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA synchronous = EXTRA")
            yield db
        finally:
            db.close()


@contextlib.contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """One IMMEDIATE transaction, committed at the end or rolled back: nobody else can come between read and write."""
    with connection(path) as db:
        mode = db.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        if mode != "delete":
            raise LedgerError(f"the ledger {path} is in use in journal mode {mode}; close whatever else has it open")
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")  # SQLite may have done so already
            raise
    # SQLite does the same, and goes on if it fails; then the journal could come back.
    sync_folder(path)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction, so that everything read in it is from the same moment."""
    with connection(path) as db:
        db.execute("BEGIN")
        yield db


def create(place: Path, header: tuple[str, str, str]) -> None:
    """A new file with this header, completely or not at all; it never overwrites an existing one."""
    _check_free(place)
    with explained(place), _draft(place) as draft:
        _write_new(draft, header)
        _publish(draft, place)


def require_kind(db: sqlite3.Connection, path: Path) -> None:
    """Refuse other databases, foreign tables or triggers, and truncated files."""
    ((mark,),) = db.execute("PRAGMA application_id").fetchall()
    schema = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema")}
    if mark != APPLICATION_ID or schema != set(SCHEMA):
        raise LedgerError(f"{path} is a database, but not a ledger; give a file made by {MAKE_ONE}")
    ((pages,),), ((size,),) = db.execute("PRAGMA page_count").fetchall(), db.execute("PRAGMA page_size").fetchall()
    if path.stat().st_size < pages * size:
        raise broken(path, "the file is truncated")


def broken(path: Path, what: str) -> LedgerError:
    """The error for a ledger whose contents do not agree."""
    return LedgerError(f"the ledger {path} is broken: {what}; restore it from a backup or count its budget as spent")


def _require_one_name(path: Path) -> None:
    """Refuse a file with several names: the journal of a debit is found under one of them only."""
    deadline = time.monotonic() + SECOND_NAME
    while (names := path.stat().st_nlink) > 1:
        if time.monotonic() > deadline:
            raise LedgerError(
                f"the ledger {path} has {names} names (hard links), and a debit interrupted under one of them would "
                f"be invisible under the other; remove the other names: `find / -xdev -samefile {path}` lists them"
            )
        time.sleep(0.01)


def _check_free(place: Path) -> None:
    if not place.parent.is_dir():
        raise LedgerError(f"there is no folder {place.parent}; make it, or choose another place for {place.name}")
    for taken in (place, *(place.with_name(place.name + end) for end in ("-journal", "-wal"))):
        # SQLite would apply a journal that was left behind to the new file.
        if os.path.lexists(taken):
            raise LedgerError(f"{taken} exists already and is not overwritten; choose another name, or move it away")


@contextlib.contextmanager
def _draft(place: Path) -> Iterator[Path]:
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    try:
        yield draft
    finally:
        for path in (draft, draft.with_name(draft.name + "-journal")):
            path.unlink(missing_ok=True)


def _write_new(draft: Path, header: tuple[str, str, str]) -> None:
    """Write a complete ledger without entries to the disk."""
    db = sqlite3.connect(draft, isolation_level=None)
    try:
        db.execute("PRAGMA synchronous = EXTRA")
        db.execute("BEGIN IMMEDIATE")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for statement in SCHEMA:
            db.execute(statement)
        db.execute("INSERT INTO header VALUES (?, ?, ?)", header)
        db.execute("COMMIT")
    finally:
        db.close()


def _publish(draft: Path, place: Path) -> None:
    """Give the file its name, unless the name is taken; it is on the disk when this returns.

    There is no portable way to rename without replacing, so for a moment the file has two names.
    """
    os.link(draft, place)
    draft.unlink()
    sync_folder(place)


def sync_folder(path: Path) -> None:
    """Flush the names beside this one, which say whether there is a journal, to the disk."""
    if os.name != "posix":  # elsewhere a folder cannot be synced
        return
    with explained(path):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


_REASONS = {
    sqlite3.SQLITE_NOTADB: f"is not a ledger; give a file made by {MAKE_ONE}",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore it from a backup or count its budget as spent",
    sqlite3.SQLITE_FULL: "cannot be written, the disk is full; make room and try again: nothing was released",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk and the space on it: nothing was released",
    sqlite3.SQLITE_READONLY: "cannot be written; make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; the file and its folder must be readable and writable",
    sqlite3.SQLITE_BUSY: f"has been in use by another process for {PATIENCE:g} seconds; try again",
}


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the system's errors into one line with a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        reason = _REASONS.get((code or 0) & 0xFF, f"cannot be used ({error}); check the file")
        raise LedgerError(f"the file {path} {reason}") from None
    except UnicodeDecodeError:  # damage can reach SQLite's own messages
        raise LedgerError(f"the file {path} {_REASONS[sqlite3.SQLITE_CORRUPT]}") from None
    except OSError as error:
        if error.errno == errno.EEXIST:
            raise LedgerError(f"{path} exists already and is not overwritten; choose another name") from None
        raise LedgerError(f"the file {path} cannot be used: {error.strerror}; choose another place") from None
