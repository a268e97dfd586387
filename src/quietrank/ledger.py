"""A path and charges in, durable entries out: a privacy budget in one SQLite file that outlives the process.

A debit is one IMMEDIATE transaction, committed before `debit` returns and so before any noise is drawn; there is no
refund. The rollback journal is kept in DELETE mode, so that between debits the ledger is one file, and with
synchronous=EXTRA: FULL alone does not sync the folder after the journal is deleted, and a power cut could bring the
journal back and with it undo a debit whose release is already out. WAL would need two more files and shared memory.

Every entry's hash covers its content and the hash before it, the first one the terms of the ledger; the header
holds the count, the last hash and the running sums, sealed by a hash of their own. Each operation opens and closes
its own connection, so that a ledger may be used from several threads and after a fork. The file must never be opened
by other means in this process: closing it would drop the locks that SQLite holds on it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

from quietrank.accounting import Charge
from quietrank.composition import Budget, Filter, Spend, Spent, delta_of_filter, exact, spend_of, units_apart
from quietrank.errors import BudgetError, LedgerError, PrivacyError
from quietrank.privacy import Neighbours, Privacy, Unit, plain_number
from quietrank.words import parse

FORMAT = "quietrank/ledger/1"
APPLICATION_ID = 0x71724C31
"""marks the SQLite file as a ledger: "qrL1" """
PATIENCE = 60.0
"""seconds to wait for other processes"""
SCHEMA = (
    "CREATE TABLE header (terms TEXT NOT NULL, state TEXT NOT NULL, seal TEXT NOT NULL)",
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL)",
)


# ---- what is written -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Terms:
    """What a ledger fixes for good when it is made."""

    data: str
    unit: Unit
    neighbours: Neighbours
    plans: tuple[Budget, ...]
    """ways to divide δ; the first release decides which it is"""
    created: str
    salt: str

    def to_text(self) -> str:
        sums = {"epsilon": str(self.epsilon), "delta": str(self.delta), "plans": list(map(_plan_values, self.plans))}
        words = {"data": self.data, "unit": self.unit.value, "neighbours": self.neighbours.value}
        return canonical({"format": FORMAT, "created": self.created, "salt": self.salt} | words | sums)

    @classmethod
    def from_text(cls, text: str) -> Terms:
        values = json.loads(text)
        epsilon, delta = Fraction(values["epsilon"]), Fraction(values["delta"])
        plans = tuple(
            Budget(epsilon, delta, tuple(map(_filter, plan["filters"])), Fraction(plan["reserve"]))
            for plan in values["plans"]
        )
        unit, neighbours = Unit(values["unit"]), Neighbours(values["neighbours"])
        return cls(values["data"], unit, neighbours, plans, values["created"], values["salt"])

    @property
    def epsilon(self) -> Fraction:
        return self.plans[0].epsilon

    @property
    def delta(self) -> Fraction:
        return self.plans[0].delta


def _plan_values(plan: Budget) -> dict[str, Any]:
    filters = [[None if one.order is None else str(one.order), str(one.overhead)] for one in plan.filters]
    return {"filters": filters, "reserve": str(plan.reserve)}


def _filter(values: list[Any]) -> Filter:
    order, overhead = values
    return Filter(None if order is None else Fraction(order), Fraction(overhead))


@dataclass(frozen=True)
class State:
    """Where the history stands: enough to decide on the next debit without reading all of it."""

    count: int
    head: str
    spent: Spent
    plan: int = 0

    def to_text(self) -> str:
        losses = [None if loss is None else str(loss) for loss in self.spent.losses]
        sums = {"losses": losses, "delta": str(self.spent.delta), "plan": self.plan}
        return canonical({"count": self.count, "head": self.head} | sums)

    @classmethod
    def from_text(cls, text: str) -> State:
        values = json.loads(text)
        losses = tuple(None if loss is None else Fraction(loss) for loss in values["losses"])
        return cls(values["count"], values["head"], Spent(losses, Fraction(values["delta"])), values["plan"])


@dataclass(frozen=True)
class Entry:
    """One payment."""

    id: str
    when: str
    what: str
    promise: dict[str, Any]
    """the release's own privacy"""
    k: int
    """how many units of the release make one of the ledger"""
    spend: Spend
    remaining: float
    """the largest ε of a release with δ = 0 that still fitted after it"""


def canonical(values: object) -> str:
    """The same text for the same values."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)


def chained(previous: str, content: str) -> str:
    """The hash of an entry: over the hash before it and its own content."""
    return hashlib.sha256(f"{previous}\n{content}".encode()).hexdigest()


def entry_id(number: int, hash_: str) -> str:
    """What a release carries: where it stands in the history, and enough of the hash to tie it to it."""
    return f"{number}-{hash_[:16]}"


def _content(number: int, charge: Charge, k: int, spend: Spend, plan: int = 0) -> str:
    # The salt keeps the time of day from being guessed from the id, which is published.
    privacy = {name: str(v) if isinstance(v, str) else v for name, v in vars(charge.privacy).items()}
    cost = {"epsilon": str(spend.epsilon), "delta": str(spend.delta), "rho": spend.rho and str(spend.rho)}
    return canonical(
        {"number": number, "when": _now(), "salt": secrets.token_hex(16), "what": charge.what}
        | {"privacy": privacy, "k": k, "cost": cost, "plan": plan}
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# ---- the ledger ------------------------------------------------------------------------------------------------


class BudgetLedger:
    """A budget (ε, δ) for one set of votes, kept in a file; see `create` and `open`."""

    def __init__(self, path: Path, terms: Terms) -> None:
        self.path, self.terms = path, terms

    @classmethod
    def create(
        cls, path: str | Path, epsilon: float, delta: float = 0.0, *, data: str, unit: str, neighbours: str = "replace"
    ) -> BudgetLedger:
        """Make a new ledger, whole or not at all; never over an existing file."""
        checked = Privacy(epsilon, "comparison", delta)  # for its checks of ε and δ
        plans = Budget.plans(checked.epsilon, checked.delta)
        kinds = parse(Unit, "unit", unit), parse(Neighbours, "neighbours", neighbours)
        if not data.strip():
            raise LedgerError("say which votes the budget is for: a name (--data NAME)")
        terms = Terms(data, *kinds, plans, _now(), secrets.token_hex(16))
        place = Path(path).absolute()
        _check_free(place)
        with _explained(place), _draft(place) as draft:
            _write_new(draft, terms)
            _publish(draft, place)
        return cls(place, terms)

    @classmethod
    def open(cls, path: str | Path) -> BudgetLedger:
        """Open a ledger; its header and its last entry must hold together."""
        # SQLite names the journal after the file itself, so links are followed first.
        place = Path(path).resolve()
        with _reading(place) as db:
            terms, _ = _checked(db, place)
        return cls(place, terms)

    def require_writable(self) -> None:
        """Refuse now what would fail at the first debit."""
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            raise LedgerError(
                f"the ledger {self.path} cannot be written; make the file and its folder writable (SQLite keeps a "
                "journal beside it)"
            )

    def debit(self, charge: Charge) -> str:
        """Pay durably and return the entry's id; raise, and spend nothing, when the budget does not allow it."""
        k = units_apart(charge.privacy, self.terms.unit, self.terms.neighbours)
        spend = spend_of(charge.cost, k)
        with _writing(self.path) as db:
            state = self._state(db)
            plan, spent = self._covered(state, charge, k, spend)
            number = state.count + 1
            content = _content(number, charge, k, spend, plan)
            head = chained(state.head, content)
            db.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, content, head))
            new = State(number, head, spent, plan).to_text()
            db.execute("UPDATE header SET state = ?, seal = ?", (new, chained(self.terms.to_text(), new)))
        return entry_id(number, head)

    def _covered(self, state: State, charge: Charge, k: int, spend: Spend) -> tuple[int, Spent]:
        """The plan that covers the release, and what is then spent; or a refusal.

        Only the first release may choose among plans: it is asked for before there is any result to choose by.
        """
        plans = dict(enumerate(self.terms.plans))
        if state.count > 0:
            plans = {state.plan: plans[state.plan]}
        before = {n: state.spent if state.count > 0 else plan.untouched for n, plan in plans.items()}
        for number, plan in plans.items():
            after = plan.after(before[number], spend)
            if plan.covers(after):
                return number, after
        raise _refusal([(plan, before[number]) for number, plan in plans.items()], charge, k, spend)

    def _state(self, db: sqlite3.Connection) -> State:
        terms, state = _checked(db, self.path)
        if terms != self.terms:
            raise LedgerError(f"{self.path} was replaced by another ledger since it was opened; open it again")
        return state

    @property
    def spent(self) -> float:
        """The smallest ε that the releases so far are proven to keep, with the δ of the ledger."""
        with _reading(self.path) as db:
            state = self._state(db)
            return float(self.terms.plans[state.plan].proven(state.spent))

    @property
    def remaining(self) -> float:
        """The largest ε of one more release with δ = 0 (of the ledger's own unit and neighbours) that fits."""
        with _reading(self.path) as db:
            state = self._state(db)
            return self.terms.plans[state.plan].remaining(state.spent)

    def entries(self) -> list[Entry]:
        """The history from the first payment on, checked as by `verify`."""
        with _reading(self.path) as db:
            remaining = self.terms.plans[self._state(db).plan].remaining
            return [
                Entry(id_, values["when"], values["what"], values["privacy"], values["k"], spend, remaining(spent))
                for id_, values, spend, spent in self._history(db)
            ]

    def verify(self) -> str:
        """Check the whole history and return the id of its last entry ("0-…" for none); raise if it is broken.

        An entry that was edited, removed, moved or cut off is noticed. Whoever rewrites all hashes as well is found
        out by the id: it is also in the last release.
        """
        with _reading(self.path) as db:
            for _ in self._history(db):
                pass
            ((health,),) = db.execute("PRAGMA integrity_check(1)").fetchall()
            if health != "ok":
                raise _broken(self.path, f"SQLite says: {health}")
            state = self._state(db)
            return entry_id(state.count, state.head)

    def _history(self, db: sqlite3.Connection) -> Iterator[tuple[str, dict[str, Any], Spend, Spent]]:
        """Each entry and what is spent after it, with hashes and sums computed anew and compared with the header."""
        state = self._state(db)
        budget = self.terms.plans[state.plan]
        if sum(map(delta_of_filter, budget.filters)) + float(budget.reserve) > float(budget.delta) * (1 + 1e-9):
            raise _broken(self.path, "its filters need more δ than the budget has")
        head, spent, count = chained(FORMAT, self.terms.to_text()), budget.untouched, 0
        for number, content, hash_ in db.execute("SELECT number, content, hash FROM entries ORDER BY number"):
            count, head = count + 1, chained(head, content)
            if number != count or head != hash_:
                raise _broken(self.path, f"entry {count} is missing, or not what was written")
            values, spend = _parsed(self.path, content)
            if values["plan"] != state.plan:
                raise _broken(self.path, f"entry {count} was paid by another plan than the header says")
            spent = budget.after(spent, spend)
            yield entry_id(number, head), values, spend, spent
        if (count, head, spent) != (state.count, state.head, state.spent):
            raise _broken(self.path, f"it has {count} entries whose sums are not those of its header")
        if not budget.covers(spent):
            raise _broken(self.path, "its entries add up to more than its budget")


def _refusal(plans: list[tuple[Budget, Spent]], charge: Charge, k: int, spend: Spend) -> PrivacyError:
    """Why a release is not covered by any of the plans, and what would be."""
    if spend.delta > 0 and plans[0][0].delta == 0:
        return PrivacyError(
            f"this ledger allows no delta, and the release asks for delta={plain_number(charge.cost.delta)}; make it "
            "with delta=0 (Laplace noise), or use a ledger made with --delta"
        )
    left = max(plan.reserve - spent.delta for plan, spent in plans)
    if spend.delta > left and spend.rho is None:
        return PrivacyError(
            f"the release asks for delta={plain_number(float(spend.delta))} and has no ρ; of the ledger's delta "
            f"{plain_number(float(left))} is left for such releases; choose a smaller delta"
        )
    gaussian, delta = spend.delta > 0 and spend.rho is not None, charge.cost.delta
    largest = max(
        plan.remaining_gaussian(spent, delta, k) if gaussian else plan.remaining(spent, k) for plan, spent in plans
    )
    requested, remaining = float(spend.epsilon), k * exact(largest)
    times = "" if k == 1 else f" ({k} × {plain_number(charge.cost.epsilon)} in the unit of the ledger)"
    at = f" at delta={plain_number(charge.cost.delta)}" if gaussian else ""
    advice = (
        f"the largest epsilon that still fits is {plain_number(largest)}" if largest > 0 else "nothing more will fit"
    )
    return BudgetError(
        f"the budget does not cover this release{at}: requested ε = {plain_number(requested)}{times}, remaining "
        f"ε = {plain_number(float(remaining))}, {plain_number(float(spend.epsilon - remaining))} too much; {advice}; "
        "nothing was spent",
        requested, float(remaining), largest,
    )  # fmt: skip


# ---- the file --------------------------------------------------------------------------------------------------


def _checked(db: sqlite3.Connection, path: Path) -> tuple[Terms, State]:
    """Terms and state, after the cheap checks: right kind of file, sealed header, last entry in its place."""
    ((mark,),) = db.execute("PRAGMA application_id").fetchall()
    schema = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema")}
    if mark != APPLICATION_ID or schema != set(SCHEMA):
        raise LedgerError(f"{path} is a database, but no ledger; give a file made by `quietrank ledger new`")
    ((pages,),), ((size,),) = db.execute("PRAGMA page_count").fetchall(), db.execute("PRAGMA page_size").fetchall()
    if path.stat().st_size < pages * size:
        raise _broken(path, "the file was cut short")
    rows = db.execute("SELECT terms, state, seal FROM header").fetchall()
    if len(rows) != 1 or rows[0][2] != chained(rows[0][0], rows[0][1]):
        raise _broken(path, "its header is not what was written")
    try:
        terms, state = Terms.from_text(rows[0][0]), State.from_text(rows[0][1])
        terms.plans[state.plan]
    except (ValueError, LookupError, TypeError):
        raise _broken(path, "its header cannot be read") from None
    _check_tail(db, path, terms, state)
    return terms, state


def _check_tail(db: sqlite3.Connection, path: Path, terms: Terms, state: State) -> None:
    """The last entry is the one that the header ends with."""
    last = db.execute("SELECT number, content, hash FROM entries ORDER BY number DESC LIMIT 2").fetchall()
    head = chained(FORMAT, terms.to_text()) if len(last) < 2 else last[1][2]
    if last:
        head = chained(head, last[0][1])
    numbers = [number for number, _, _ in last]
    expected = [n for n in (state.count, state.count - 1) if n > 0]
    if numbers != expected or head != state.head or (last and last[0][2] != head):
        raise _broken(path, "its last entry is not the one that was written last")


def _broken(path: Path, what: str) -> LedgerError:
    return LedgerError(f"the ledger {path} is broken: {what}; restore it from a backup or count its budget as spent")


def _parsed(path: Path, content: str) -> tuple[dict[str, Any], Spend]:
    """An entry's values, and what it cost."""
    try:
        values: dict[str, Any] = json.loads(content)
        epsilon, delta = (Fraction(values["cost"][name]) for name in ("epsilon", "delta"))
        rho = values["cost"]["rho"]
        return values, Spend(epsilon, delta, None if rho is None else Fraction(rho))
    except (ValueError, KeyError, TypeError):
        raise _broken(path, "an entry cannot be read") from None


@contextlib.contextmanager
def _connection(path: Path) -> Iterator[sqlite3.Connection]:
    """An existing file, opened for reading and, where the system allows it, writing."""
    with _explained(path):
        if not path.is_file():
            raise LedgerError(f"there is no ledger {path}; make one with `quietrank ledger new`")
        if path.stat().st_size == 0:
            raise LedgerError(f"{path} is empty, so no ledger; give a file made by `quietrank ledger new`")
        address = f"file:{quote(str(path))}?mode=rw"
        db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE)
        try:
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA synchronous = EXTRA")
            yield db
        finally:
            db.close()


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    """One IMMEDIATE transaction, committed at the end or rolled back: nobody else can come between read and write."""
    with _connection(path) as db:
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


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction, so that all that is read is of the same moment."""
    with _connection(path) as db:
        db.execute("BEGIN")
        yield db


def _check_free(place: Path) -> None:
    if not place.parent.is_dir():
        raise LedgerError(f"there is no folder {place.parent}; make it, or choose another place for {place.name}")
    for taken in (place, *(place.with_name(place.name + end) for end in ("-journal", "-wal"))):
        # SQLite would play a journal that was left behind into the new file.
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


def _write_new(draft: Path, terms: Terms) -> None:
    """A complete ledger without entries, on the disk."""
    text = terms.to_text()
    state = State(0, chained(FORMAT, text), terms.plans[0].untouched).to_text()
    db = sqlite3.connect(draft, isolation_level=None)
    try:
        db.execute("PRAGMA synchronous = EXTRA")
        db.execute("BEGIN IMMEDIATE")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for statement in SCHEMA:
            db.execute(statement)
        db.execute("INSERT INTO header VALUES (?, ?, ?)", (text, state, chained(text, state)))
        db.execute("COMMIT")
    finally:
        db.close()


def _publish(draft: Path, place: Path) -> None:
    """Give the file its name, unless the name is taken; on the disk when this returns."""
    os.link(draft, place)
    draft.unlink()
    if os.name == "posix":  # elsewhere a folder cannot be synced
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


_REASONS = {
    sqlite3.SQLITE_NOTADB: "is no ledger; give a file made by `quietrank ledger new`",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore it from a backup or count its budget as spent",
    sqlite3.SQLITE_FULL: "cannot be written, the disk is full; make room and try again: nothing was released",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk and the space on it: nothing was released",
    sqlite3.SQLITE_READONLY: "cannot be written; make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; the file and its folder must be readable and writable",
    sqlite3.SQLITE_BUSY: f"has been in use by another process for {PATIENCE:g} seconds; try again",
}


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What the system says, as one line with a remedy."""
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
