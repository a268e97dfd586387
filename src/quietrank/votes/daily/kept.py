"""The votes of a day in, what bounded people added out, kept in the confidential file of a board.

The file says who voted when, what is left of their limits, which votes were counted, and what was drawn. One
transaction a day holds all of it; it is complete on the disk before anything is shown.

The log is the master of the public file: each of its lines is written here first, and copied afterwards.

A transaction is appended to a second file, DuckDB's write-ahead log (`.wal`), which is taken up afterwards (`settle`).
DuckDB would do that in place, in blocks of 256 KB with a checksum over all of one: a power cut within such a write
leaves neither the old block nor the new. So the file itself is never changed: a copy is, which then takes its name.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import BoardError, VotesError, option
from quietrank.publish.files import sync
from quietrank.votes.daily.arrivals import ARRIVED
from quietrank.votes.daily.limits import Draws, Entry
from quietrank.votes.snapshot import FLAWS, NO_FLAW, NUMBER

if TYPE_CHECKING:
    from quietrank.mechanisms.horizon import Limit

FORMAT = "quietrank/board-kept/1"
AT_ONCE = 2**16
"""rows that are looked at together"""
HEAVIEST = 2**31 - 1
"""votes of one person on one day and item"""
SCHEMA = """
CREATE TABLE kept.about (format VARCHAR, board VARCHAR, secret BLOB, ledger VARCHAR);
CREATE TABLE kept.log (number INTEGER, line VARCHAR);
CREATE TABLE kept.increments (person UHUGEINT, day SMALLINT, part INTEGER, item INTEGER, net INTEGER, met INTEGER,
                              weight INTEGER);
CREATE TABLE kept.turns (person UHUGEINT, day SMALLINT, weight INTEGER, square HUGEINT);
CREATE TABLE kept.counted (person UHUGEINT, vote UHUGEINT);
CREATE TABLE kept.sums (day SMALLINT, part INTEGER, item INTEGER, net HUGEINT, met HUGEINT);
CREATE TABLE kept.gone (person UHUGEINT);
CREATE TABLE kept.draws (draw INTEGER, part INTEGER, item INTEGER, net HUGEINT, met HUGEINT);
"""


def create(path: Path, board: str, ledger: str, line: str) -> None:
    """A new file for a board, completely or not at all; it never overwrites one."""
    draft = path.with_name(f".quietrank-{secrets.token_hex(6)}.part")
    if _wal(path).exists():  # it would be taken for that of the new file
        raise BoardError(f"{_wal(path)} is left of another board; move it away, or choose another name")
    try:
        with _attached(draft, new=True) as db:
            db.execute(SCHEMA)
            db.execute("INSERT INTO kept.about VALUES (?, ?, ?, ?)", [FORMAT, board, secrets.token_bytes(32), ledger])
            db.execute("INSERT INTO kept.log VALUES (1, ?)", [line])
            db.execute("CHECKPOINT kept")
        os.chmod(draft, 0o600)
        sync(draft)
        os.link(draft, path)
        sync(path.parent)
    except FileExistsError:
        raise BoardError(f"{path} exists already and is not overwritten; choose another name") from None
    except OSError as error:
        raise BoardError(f"cannot write {path}: {error.strerror or error}; choose another place") from None
    finally:
        _remove(draft)


@dataclass(frozen=True)
class Kept:
    """The open file, in the connection in which votes have arrived, or in one of its own."""

    db: Any
    path: Path
    board: str
    secret: bytes
    ledger: str
    """where the ledger was that paid"""

    @property
    def lines(self) -> list[str]:
        """The log, from its first line."""
        return [line for (line,) in self.db.execute("SELECT line FROM kept.log ORDER BY number").fetchall()]

    def append(self, line: str) -> None:
        """Write a line to the log, durably."""
        with self.transaction():
            self.write(line)

    def write(self, line: str) -> None:
        """The same within a transaction."""
        self.db.execute("INSERT INTO kept.log SELECT count(*) + 1, ? FROM kept.log", [line])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it, or nothing; it is on the disk afterwards."""
        with _explained(self.path):
            _make_wal(self.path)
            self.db.execute("BEGIN TRANSACTION")
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                with suppress(Exception):
                    self.db.execute("ROLLBACK")
                raise

    # ---- what arrived -----------------------------------------------------------------------------------------------

    def take(self, first: int, last: int, joined: Sequence[int]) -> dict[int, int]:
        """Fill the table `fresh` with the votes to count from day `first` to day `last`; late ones are of the first.

        `joined`: from which day on each item is listed; votes on it from before are not counted. Returns how many of
        the new rows have which flaw.
        """
        self.db.execute("CREATE OR REPLACE TEMP TABLE joined (item INTEGER, since INTEGER)")
        self.db.executemany("INSERT INTO joined VALUES (?, ?)", list(enumerate(joined)))
        # A row is judged only if it is new, if its day is over, and if its person was not erased.
        self.db.execute(
            f"""CREATE OR REPLACE TEMP TABLE fresh AS
            SELECT person, vote, CASE WHEN day IS NOT NULL THEN greatest(day, {first}) END AS day, a, b, y, part, flaw
            FROM (
                SELECT * FROM {ARRIVED}
                QUALIFY row_number() OVER (
                    PARTITION BY person, vote ORDER BY flaw <> {NO_FLAW}, day, a, b, y, part, flaw
                ) = 1
            ) arrived
            LEFT JOIN joined of_a ON of_a.item = a LEFT JOIN joined of_b ON of_b.item = b
            WHERE (flaw <> {NO_FLAW} OR day IS NULL OR greatest(of_a.since, of_b.since) <= day)
              AND coalesce(day, {last}) BETWEEN 1 AND {last}
              AND NOT EXISTS (SELECT 1 FROM kept.counted c WHERE c.person = arrived.person AND c.vote = arrived.vote)
              AND NOT EXISTS (SELECT 1 FROM kept.gone g WHERE g.person = arrived.person)"""
        )
        flaws = self.db.execute(
            f"SELECT CASE WHEN flaw = {NO_FLAW} AND day IS NULL THEN {NO_DAY} ELSE flaw END AS flaw, count(*) "
            "FROM fresh GROUP BY ALL"
        ).fetchall()
        self.db.execute(f"DELETE FROM fresh WHERE flaw <> {NO_FLAW} OR day IS NULL")
        return {int(flaw): int(rows) for flaw, rows in flaws if flaw > NO_FLAW}

    def undated(self) -> dict[int, int]:
        """How many of the new rows have a day that cannot be read; nothing else is judged before a day is due."""
        ((rows,),) = self.db.execute(
            f"""SELECT count(*) FROM {ARRIVED} arrived WHERE flaw = {NO_FLAW} AND day IS NULL
              AND NOT EXISTS (SELECT 1 FROM kept.counted c WHERE c.person = arrived.person AND c.vote = arrived.vote)
              AND NOT EXISTS (SELECT 1 FROM kept.gone g WHERE g.person = arrived.person)"""
        ).fetchall()
        return {NO_DAY: int(rows)} if rows else {}

    # ---- one day ----------------------------------------------------------------------------------------------------

    def count(self, day: int, gram: Sequence[int], limit: Limit) -> None:
        """Bound the votes of this day, person by person, and keep what they add; within a transaction."""
        self.db.execute(
            """CREATE OR REPLACE TEMP TABLE today AS
            SELECT person, part, item, sum(net) AS net, sum(met) AS met FROM (
                SELECT person, part, a AS item, y - 1 AS net, 1 AS met FROM fresh WHERE day = $1
                UNION ALL
                SELECT person, part, b AS item, 1 - y AS net, 1 AS met FROM fresh WHERE day = $1
            ) GROUP BY ALL""",
            [day],
        )
        self._leave_out_the_heaviest()
        weights = [(person, day, *limit.weight(n, b, a)) for person, n, b, a in self._used(gram, limit)]
        self.db.execute("CREATE OR REPLACE TEMP TABLE turn AS SELECT * FROM kept.turns LIMIT 0")
        _insert(self.db, "turn", weights)
        self.db.execute("INSERT INTO kept.turns SELECT * FROM turn")
        self.db.execute(
            "INSERT INTO kept.increments SELECT person, $1, part, item, net, met, weight FROM today JOIN turn "
            "USING (person)",
            [day],
        )
        self.db.execute(
            "INSERT INTO kept.sums SELECT $1, part, item, sum(weight * net::HUGEINT), sum(weight * met::HUGEINT) "
            "FROM today JOIN turn USING (person) GROUP BY part, item",
            [day],
        )
        self.db.execute("INSERT INTO kept.counted SELECT person, vote FROM fresh WHERE day = $1", [day])

    def _leave_out_the_heaviest(self) -> None:
        """Who has more votes on one day than the products of whole numbers can hold counts for nothing on it: an error
        would tell everybody."""
        ((most,),) = self.db.execute("SELECT coalesce(max(met), 0) FROM today").fetchall()
        if most > HEAVIEST:
            self.db.execute(f"DELETE FROM today WHERE person IN (SELECT person FROM today WHERE met > {HEAVIEST})")

    def _used(self, gram: Sequence[int], limit: Limit) -> list[tuple[int, int, int, int]]:
        """For each person who voted today, the N, B and A of `Limit.weight`: what was reached before, today mixed with
        the days before, and today alone."""
        self.db.execute("CREATE OR REPLACE TEMP TABLE gram (day SMALLINT, g BIGINT)")
        _insert(self.db, "gram", [(u, g) for u, g in enumerate(gram[:-1], 1) if g])
        product = _product(limit)
        return list(
            self.db.execute(
                f"""WITH voters AS (SELECT DISTINCT person FROM today),
                before AS (
                    SELECT person, arg_max(square, day) AS square FROM kept.turns JOIN voters USING (person)
                    GROUP BY person
                ),
                mixed AS (
                    SELECT i.person, sum(g.g * i.weight::HUGEINT * {product.format("i", "t")}) AS mixed
                    FROM kept.increments i JOIN today t USING (person, part, item) JOIN gram g ON g.day = i.day
                    GROUP BY i.person
                ),
                squares AS (
                    SELECT person,
                           {gram[-1]} * sum({product.format("t", "t")} + {limit.each} * t.met::HUGEINT) AS square
                    FROM today t GROUP BY person
                )
                SELECT v.person, coalesce(before.square, 0), coalesce(mixed.mixed, 0), squares.square
                FROM voters v JOIN squares USING (person) LEFT JOIN before USING (person) LEFT JOIN mixed USING (person)
                """
            ).fetchall()
        )

    def require_bounded(self, grams: Sequence[Sequence[int]], limit: Limit) -> None:
        """Compute what everybody had reached on every day again, from what is kept; raise if it differs."""
        self.db.execute("CREATE OR REPLACE TEMP TABLE gram (day SMALLINT, before SMALLINT, g BIGINT)")
        _insert(
            self.db, "gram", [(t, u, g) for t, gram in enumerate(grams, 1) for u, g in enumerate(gram[:-1], 1) if g]
        )
        product = _product(limit)
        people = self.db.execute(
            f"""WITH squares AS (
                SELECT person, day, sum({product.format("t", "t")} + {limit.each} * t.met::HUGEINT) AS own
                FROM kept.increments t GROUP BY person, day
            ),
            mixed AS (
                SELECT t.person, t.day, sum(g.g * i.weight::HUGEINT * {product.format("i", "t")}) AS mixed
                FROM kept.increments i JOIN kept.increments t USING (person, part, item)
                JOIN gram g ON g.day = t.day AND g.before = i.day GROUP BY t.person, t.day
            )
            SELECT person, day, coalesce(mixed, 0), own, weight, square
            FROM squares FULL JOIN kept.turns USING (person, day) LEFT JOIN mixed USING (person, day)
            ORDER BY person, day"""
        )
        whose, before = None, 0
        while rows := people.fetchmany(AT_ONCE):
            for person, day, mixed, own, *noted in rows:
                before = before if person == whose else 0
                if own is None or [*limit.weight(before, mixed, grams[day - 1][-1] * own)] != noted:
                    raise BoardError(f"{self.path} is damaged: what is kept about somebody does not agree")
                whose, before = person, noted[1]

    def sums(self, day: int, parts: int, items: int) -> tuple[Any, Any]:
        """The exact increments of all days up to this one, as (day, part, item): twice the net wins and the exposures,
        in units of 2^-20 votes; whole numbers of any size."""
        net, met = (np.zeros((day, parts, items), dtype=object) for _ in range(2))
        for at, part, item, n, m in self.db.execute("SELECT * FROM kept.sums WHERE day <= ?", [day]).fetchall():
            net[at - 1, part, item], met[at - 1, part, item] = n, m
        return net, met

    # ---- noise that is used again -----------------------------------------------------------------------------------

    def drawn(self, items: int) -> dict[Entry, tuple[int, int]]:
        """What was drawn so far, by draw and place, of so many items in each part."""
        rows = self.db.execute("SELECT draw, part, item, net, met FROM kept.draws WHERE item < ?", [items]).fetchall()
        return {(draw, part * items + item): (net, met) for draw, part, item, net, met in rows}

    def keep(self, draws: Draws, items: int) -> None:
        """Write down what was drawn today, once and for all; within a transaction."""
        rows = [(draw, *divmod(place, items), *values) for (draw, place), values in draws.fresh.items()]
        _insert(self.db, "kept.draws", rows)

    # ---- people -----------------------------------------------------------------------------------------------------

    def forget(self, person: str) -> bool:
        """Erase what is kept about a person, and leave a tombstone; whether there was anything."""
        ((key,),) = self.db.execute("SELECT md5_number($1 || encode($2))", [self.secret, person]).fetchall()
        with self.transaction():
            ((turns,),) = self.db.execute("SELECT count(*) FROM kept.turns WHERE person = ?", [key]).fetchall()
            for table in ("increments", "turns", "counted", "gone"):
                self.db.execute(f"DELETE FROM kept.{table} WHERE person = ?", [key])
            self.db.execute("INSERT INTO kept.gone VALUES (?)", [key])
        return bool(turns)


NO_DAY = 1000
"""instead of a flaw: the day cannot be read"""


def unusable(flaws: dict[int, int]) -> VotesError:
    """Why votes cannot be counted, for the data holder: how many rows have which flaw."""
    names = {number: FLAWS[flaw] for flaw, number in NUMBER.items()} | {NO_DAY: "the day cannot be read"}
    said = "; ".join(f"{names[flaw]}: {rows} rows" for flaw, rows in sorted(flaws.items()))
    return VotesError(
        f"the votes cannot be counted: {said}; fix them, list new items with `quietrank board add-items`, or use "
        f"{option('skip_invalid', True)}; nothing was counted"
    )


def _product(limit: Limit) -> str:
    """SQL for the product of what is kept about a person on two days, and one item; the days are named later."""
    return f"({limit.net} * {{0}}.net::HUGEINT * {{1}}.net + {limit.met} * {{0}}.met::HUGEINT * {{1}}.met)"


def _insert(db: Any, table: str, rows: list[tuple[Any, ...]]) -> None:
    """Many rows at once; as text, because whole numbers may be beyond 64 bits."""
    if not rows:
        return
    columns = [list(map(str, column)) for column in zip(*rows, strict=True)]
    kinds = [kind for _, kind, *_ in db.execute(f"DESCRIBE {table}").fetchall()]
    casts = ", ".join(f"CAST(unnest(${k}::VARCHAR[]) AS {kind})" for k, kind in enumerate(kinds, 1))
    db.execute(f"INSERT INTO {table} SELECT {casts}", columns)


# ---- the files ------------------------------------------------------------------------------------------------------


def settle(path: Path) -> None:
    """Take up what a run has left in the write-ahead log, durably; then there is one file again.

    DuckDB marks in the log that it was taken up, and by which state of the file. The copy has the same log under a
    second name: so whichever file is there after a crash, beside the new one the log is void, and beside the old one
    it counts.
    """
    if not _wal(path).exists():
        return
    _cut_off(path)
    # In this order: closing the stream would drop DuckDB's lock.
    with _explained(path), path.open("rb") as stream, _attached(path):
        if not _wal(path).exists():  # it was void
            return
        draft = _draft(path)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
            shutil.copyfileobj(stream, copy, 2**20)
        os.link(_wal(path), _wal(draft))
        with _attached(draft, new=True) as db:
            db.execute("FORCE CHECKPOINT kept")
        _replace(path, draft)
        _wal(path).unlink(missing_ok=True)
        sync(path.parent)


def _cut_off(path: Path) -> None:
    """Cut the write-ahead log where DuckDB cannot read on: a power cut may leave the end of a transaction without its
    middle. It was never durable, so nobody has seen it; if it was and is damaged, the ledger is ahead, and refuses.
    """
    before = _wal(path).stat()
    try:
        with _attached(path):
            return
    except BoardError as error:
        unreadable = re.search(r"Corrupt WAL file: entry at byte position (\d+)", str(error))
        if unreadable is None:
            raise
    with _explained(path), _locked(path):
        now = _wal(path).stat()
        if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
            raise _busy(path)
        with _wal(path).open("r+b") as log:
            log.truncate(int(unreadable[1]))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep others from opening the file, as DuckDB does."""
    with path.open("r+b") as stream:
        if os.name == "posix":
            import fcntl

            try:
                fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise _busy(path) from None
        yield


def rewrite(path: Path) -> None:
    """Write the file anew, so that nothing is left in it of what was erased."""
    settle(path)
    with _explained(path), _attached(path) as db:
        # The log of the old file must be gone for good before there is a new file, to which it does not belong.
        sync(path.parent)
        draft = _draft(path)
        db.execute(f"ATTACH '{_quoted(draft)}' AS fresh")
        os.chmod(draft, 0o600)
        db.execute("COPY FROM DATABASE kept TO fresh")
        db.execute("CHECKPOINT fresh")
        db.execute("DETACH fresh")
        _replace(path, draft)


def _replace(path: Path, draft: Path) -> None:
    sync(draft)
    os.replace(draft, path)
    sync(path.parent)


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def _draft(path: Path) -> Path:
    """Of a file that will take the place of this one; what is left of an earlier one is removed."""
    draft = path.with_name(f".{path.name}.part")
    _remove(draft)
    return draft


def _remove(draft: Path) -> None:
    for file in (draft, _wal(draft)):
        file.unlink(missing_ok=True)


def _remove_left(path: Path) -> None:
    """Remove what a run that was killed has left: it holds what must be gone once somebody is forgotten."""
    _remove(_draft(path))
    if path.stat().st_nlink > 1:  # killed while it was made, between its two names
        for draft in path.parent.glob(".quietrank-*.part"):
            if draft.samefile(path):
                draft.unlink()


def _make_wal(path: Path) -> None:
    """Let the name of the log be on the disk before anything is in it; nobody else can read it."""
    if not _wal(path).exists():
        os.close(os.open(_wal(path), os.O_WRONLY | os.O_CREAT, 0o600))
        sync(path.parent)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


@contextmanager
def opened(path: Path, db: Any | None = None) -> Iterator[Kept]:
    """The file of a board, in this connection or in one of its own; nobody else can open it meanwhile.

    What is read from it is on the disk, also if whoever wrote it was killed before that.
    """
    settle(path)
    with _attached(path, db) as connection:
        _remove_left(path)
        try:
            rows = connection.execute("SELECT format, board, secret, ledger FROM kept.about").fetchall()
        except Exception:  # noqa: BLE001  whatever DuckDB says about a file that is not ours
            rows = []
        if len(rows) != 1 or rows[0][0] != FORMAT:
            raise BoardError(f"{path} is not the confidential file of a board; give one made by `quietrank board new`")
        yield Kept(connection, path, rows[0][1], bytes(rows[0][2]), rows[0][3])
    with suppress(BoardError):  # all is durable as it is, and the next run will try again
        settle(path)


@contextmanager
def _attached(path: Path, db: Any | None = None, *, new: bool = False) -> Iterator[Any]:
    import duckdb

    if not (new or path.is_file()):
        raise BoardError(
            f"there is no {path}, the confidential file of this board: without it the board cannot be continued, only "
            "started anew and paid for again"
        )
    connection = duckdb.connect() if db is None else db
    try:
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("SET enable_progress_bar_print = false")
        connection.execute("SET wal_autocheckpoint = '1TB'")
        with _explained(path):
            file = 0 if new else path.stat().st_ino
            connection.execute(f"ATTACH '{_quoted(path)}' AS kept")
        try:
            if not new and path.stat().st_ino != file:  # replaced before it was locked
                raise _busy(path)
            yield connection
        finally:
            with suppress(duckdb.Error):
                connection.execute("DETACH kept")
    finally:
        if db is None:
            connection.close()


def _busy(path: Path) -> BoardError:
    return BoardError(f"the board {path} is being updated by another process; wait for it")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of the system and of DuckDB into one line with a remedy."""
    import duckdb

    try:
        yield
    except (duckdb.Error, OSError) as error:
        said = str(error)
        if "set lock" in said or "already attached" in said:
            raise _busy(path) from None
        raise BoardError(
            f"the file {path} cannot be used ({said.splitlines()[0]}); check it, and the space on the disk, and run "
            "the same again"
        ) from None
