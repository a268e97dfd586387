"""A path and charges in, durable entries out: a privacy budget in one SQLite file that outlives the process.

A debit is one IMMEDIATE transaction, committed before `debit` returns and so before any noise is drawn; there is no
refund. The header holds the count, the last hash and the running sums, sealed by a hash of their own, so that a
debit need not read the whole history; `verify` does.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quietrank.errors import BudgetError, LedgerError, PrivacyError, either, option
from quietrank.ledger import file as ledger_file
from quietrank.ledger.composition import Budget, Spend, Spent, delta_of_filter, exact, spend_of, units_apart
from quietrank.ledger.file import broken, reading, writing
from quietrank.ledger.records import (
    FORMAT,
    Entry,
    Link,
    State,
    Terms,
    as_values,
    chained,
    content_of,
    entry_id,
    note_of,
    now,
    parsed,
    topic_of,
)
from quietrank.promise.accounting import Charge
from quietrank.promise.arguments import file_path, parse
from quietrank.promise.privacy import (
    Neighbours,
    NeighboursWord,
    Unit,
    UnitWord,
    checked_delta,
    checked_epsilon,
    plain_number,
)


class BudgetLedger:
    """A budget (ε, δ) for one set of votes, stored in a file; make one with `create`, or `open` one.

    >>> import quietrank as qr, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = qr.Ledger.create(f"{folder.name}/budget.db", epsilon=4, data="student survey", unit="person")
    >>> votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
    >>> release = qr.rank(votes, qr.Privacy(epsilon=1, unit="person", max_per_person=6), ledger=ledger)
    >>> ledger.spent, ledger.remaining, ledger.entries()[0].id == release.ledger_entry
    (1.0, 3.0, True)
    """

    def __init__(self, path: Path, terms: Terms) -> None:
        self.path, self.terms = path, terms

    def __repr__(self) -> str:
        terms = self.terms
        delta = f", δ = {plain_number(float(terms.delta))}" if terms.delta else ""
        strength = f"{terms.unit}, ε = {plain_number(float(terms.epsilon))}{delta}"
        return f"<Ledger: {strength}, for {terms.data!r}, in {str(self.path)!r}>"

    @classmethod
    def create(
        cls, path: str | Path, epsilon: float, delta: float = 0.0, *, data: str, unit: UnitWord,
        neighbours: NeighboursWord = "replace",
    ) -> BudgetLedger:  # fmt: skip
        """Make a new ledger, completely or not at all; it never overwrites an existing file.

        path            where to put the file
        epsilon, delta  the budget of all releases together; with a delta above 0, many small ones cost less
        data            which votes it is for, in your words
        unit            who is protected: each "comparison", or each "person"
        neighbours      "replace": one of them becomes any other. "add-remove": one more or less. "outcome": only
                        the answers change.
        """
        plans = Budget.plans(checked_epsilon(epsilon), checked_delta(delta))
        kinds = parse(Unit, "unit", unit), parse(Neighbours, "neighbours", neighbours)
        if not (isinstance(data, str) and data.strip()):
            name = either('data="student survey"', "--data NAME")
            raise LedgerError(f"say which votes the budget is for, in your words: {name}")
        terms = Terms(data, *kinds, plans, now(), secrets.token_hex(16))
        place, text = file_path(path).absolute(), terms.to_text()
        state = State(0, chained(FORMAT, text), plans[0].untouched).to_text()
        ledger_file.create(place, (text, state, chained(text, state)))
        return cls(place, terms)

    @classmethod
    def open(cls, path: str | Path) -> BudgetLedger:
        """Open a ledger; its header and its last entry must agree."""
        # SQLite names the journal after the file itself, so links are followed first.
        place = file_path(path).resolve()
        with reading(place) as db:
            terms, _ = _checked(db, place)
        return cls(place, terms)

    def require_writable(self) -> None:
        """Refuse now, rather than at the first debit, a file that cannot be written."""
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            raise LedgerError(
                f"the ledger {self.path} cannot be written; make the file and its folder writable (SQLite writes a "
                "journal next to it)"
            )

    def settle(self) -> None:
        """Make durable what can be read: whoever wrote it may have been killed right before the last sync."""
        ledger_file.sync_folder(self.path)

    def debit(self, charge: Charge, order: str | None = None) -> str:
        """Pay durably and return the entry's id; raise, and spend nothing, when the budget does not allow it.

        Under the name of an `order`, what was paid before and not delivered is not paid again: `ledger.orders`.
        """
        k = units_apart(charge.privacy, self.terms.unit, self.terms.neighbours)
        spend = spend_of(charge.cost, k)
        with writing(self.path) as db:
            state = self._state(db)
            if order is not None and (paid := self._paid_order(db, order, charge, k, spend)) is not None:
                return paid
            plan, spent = self._covered(state, charge, k, spend)
            content = content_of(state.count + 1, charge, k, spend, plan, order)
            return self._appended(db, content, state, spent, plan)

    def remaining_after(self, charge: Charge) -> float:
        """What `remaining` would be after this payment, which is not made; raises as `debit` would."""
        k = units_apart(charge.privacy, self.terms.unit, self.terms.neighbours)
        with reading(self.path) as db:
            plan, spent = self._covered(self._state(db), charge, k, spend_of(charge.cost, k))
            return self.terms.plans[plan].remaining(spent)

    def _paid_order(self, db: sqlite3.Connection, order: str, charge: Charge, k: int, spend: Spend) -> str | None:
        """The id of the payment for this order, if there is one; refused if it was for something else, or delivered."""
        query = "SELECT number, content, hash FROM entries WHERE json_extract(content, '$.order') = ?"
        for number, content, head in db.execute(query, (order,)).fetchall():
            values, paid = parsed(self.path, content)
            if (values["privacy"], values["k"], paid) != (as_values(charge.privacy), k, spend):
                raise LedgerError(
                    f"the ledger {self.path} has an order {order} that was paid for another promise; nothing was spent"
                )
            if self._position(db, topic_of(order)) is not None:
                raise LedgerError(f"order {order} was paid for and delivered; fetch it, nothing was spent")
            return entry_id(number, head)
        return None

    def _appended(self, db: sqlite3.Connection, content: str, state: State, spent: Spent, plan: int) -> str:
        """Write an entry at the end of the history, and return its id."""
        number, head = state.count + 1, chained(state.head, content)
        db.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, content, head))
        new = State(number, head, spent, plan).to_text()
        db.execute("UPDATE header SET state = ?, seal = ?", (new, chained(self.terms.to_text(), new)))
        return entry_id(number, head)

    def advance(self, topic: str, position: str, expected: str | None) -> str:
        """Note durably how far something that was paid for has come; it costs nothing, and is part of the history.

        Refused unless it is at `expected`: of two copies that go on from the same position, one is left behind.
        """
        with writing(self.path) as db:
            state = self._state(db)
            if state.count == 0 or self._position(db, topic) != expected:
                raise LedgerError(
                    f"the ledger {self.path} has {topic} at another position: it was continued from a copy, or this is "
                    "an older state of it; nothing was released"
                )
            return self._appended(
                db, note_of(state.count + 1, topic, position, state.plan), state, state.spent, state.plan
            )

    def position(self, topic: str) -> str | None:
        """How far something has come, as `advance` last noted it; None if it never did."""
        with reading(self.path) as db:
            self._state(db)
            return self._position(db, topic)

    def _position(self, db: sqlite3.Connection, topic: str) -> str | None:
        query = "SELECT content FROM entries WHERE json_extract(content, '$.topic') = ? ORDER BY number DESC LIMIT 1"
        rows = db.execute(query, (topic,)).fetchall()
        return None if not rows else str(parsed(self.path, rows[0][0])[0]["position"])

    def positions(self, prefix: str) -> set[str]:
        """The topics, of those that begin with these words, that `advance` has noted anything about."""
        query = "SELECT DISTINCT json_extract(content, '$.topic') AS topic FROM entries WHERE topic IS NOT NULL"
        with reading(self.path) as db:
            self._state(db)
            return {topic for (topic,) in db.execute(query) if topic.startswith(prefix)}

    def paid(self, what: str) -> str | None:
        """The id of the last payment whose words contain these; None if there is none."""
        return next((entry.id for entry in reversed(self.entries()) if what in entry.what), None)

    def _covered(self, state: State, charge: Charge, k: int, spend: Spend) -> tuple[int, Spent]:
        """The plan that covers the release, and what is then spent; raises a refusal if none does.

        Only the first release may choose among plans: it is requested before any result could guide the choice.
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
        """The smallest ε that the releases so far provably keep, with the δ of the ledger."""
        with reading(self.path) as db:
            state = self._state(db)
            return float(self.terms.plans[state.plan].proven(state.spent))

    @property
    def remaining(self) -> float:
        """The largest ε of one more release with δ = 0 (of the ledger's own unit and neighbours) that fits."""
        with reading(self.path) as db:
            state = self._state(db)
            return self.terms.plans[state.plan].remaining(state.spent)

    def entries(self) -> list[Entry]:
        """The history from the first payment on, checked as by `verify`."""
        with reading(self.path) as db:
            plan = self.terms.plans[self._state(db).plan]
            return [
                Entry(
                    id_, values["when"], values["what"], values["privacy"], values["k"], plan.counted(spend),
                    plan.remaining(spent), values.get("order"),
                )
                for id_, values, spend, spent in self._history(db)
                if "topic" not in values
            ]  # fmt: skip

    def link(self, entry: str) -> Link | None:
        """The place in the chain of the entry with this id; None if there is no such entry."""
        query = "SELECT number, content, hash FROM entries ORDER BY number"
        with reading(self.path) as db:
            state, previous = self._state(db), chained(FORMAT, self.terms.to_text())
            for number, content, head in db.execute(query):
                if entry_id(number, head) == entry:
                    last = entry_id(state.count, state.head)
                    return Link(number, previous, content, head, state.count, last)
                previous = head
        return None

    def verify(self) -> str:
        """Check the whole history and return the id of its last entry ("0-…" for none); raise if it is broken.

        An entry that was edited, removed, moved or cut off is noticed. If all hashes were computed anew as well, or an
        old copy was put in its place, nothing here tells; only a release that carries an id which is no longer there.
        """
        with reading(self.path) as db:
            for _ in self._history(db):
                pass
            ((health,),) = db.execute("PRAGMA integrity_check(1)").fetchall()
            if health != "ok":
                raise broken(self.path, f"SQLite says: {health}")
            state = self._state(db)
            return entry_id(state.count, state.head)

    def _history(self, db: sqlite3.Connection) -> Iterator[tuple[str, dict[str, Any], Spend, Spent]]:
        """Each entry and what is spent after it, with hashes and sums recomputed and compared with the header."""
        state = self._state(db)
        budget = self.terms.plans[state.plan]
        if sum(map(delta_of_filter, budget.filters)) + float(budget.reserve) > float(budget.delta) * (1 + 1e-9):
            raise broken(self.path, "its filters need more δ than the budget has")
        head, spent, count = chained(FORMAT, self.terms.to_text()), budget.untouched, 0
        for number, content, hash_ in db.execute("SELECT number, content, hash FROM entries ORDER BY number"):
            count, head = count + 1, chained(head, content)
            if number != count or head != hash_:
                raise broken(self.path, f"entry {count} is missing, or not what was written")
            values, spend = parsed(self.path, content)
            if values["plan"] != state.plan:
                raise broken(self.path, f"entry {count} was paid under a different plan from the header's")
            spent = budget.after(spent, spend)
            yield entry_id(number, head), values, spend, spent
        if (count, head, spent) != (state.count, state.head, state.spent):
            raise broken(self.path, f"it has {count} entries whose sums differ from those in its header")
        if not budget.covers(spent):
            raise broken(self.path, "its entries add up to more than its budget")


Ledger = BudgetLedger
"""its public name, `quietrank.Ledger`"""


def _refusal(plans: list[tuple[Budget, Spent]], charge: Charge, k: int, spend: Spend) -> PrivacyError:
    """Why a release is not covered by any of the plans, and what would be."""
    if spend.delta > 0 and plans[0][0].delta == 0:
        return PrivacyError(
            "this ledger allows no delta, and the release asks for "
            f"{option('delta', plain_number(charge.cost.delta))}; make it with {option('delta', 0)}, or use a ledger "
            f"made with {option('delta')}"
        )
    gaussian, delta = spend.delta > 0 and spend.rho is not None, charge.cost.delta
    largest = max(
        plan.remaining_gaussian(spent, delta, k) if gaussian else plan.remaining(spent, k) for plan, spent in plans
    )
    pure = max(plan.remaining(spent, k) for plan, spent in plans)
    left = max(plan.reserve - spent.delta for plan, spent in plans)
    fits = spend.epsilon <= k * exact(pure)  # where ε is used up as well, that is what to say
    if fits and spend.delta > left and all(plan.counted(spend).rho is None for plan, _ in plans):
        by_pairs = "has no ρ" if spend.rho is None else "is counted by its (ε, δ), as the first one was"
        return PrivacyError(
            f"the release asks for {option('delta', plain_number(float(spend.delta)))} and {by_pairs}; of the ledger's "
            f"delta {plain_number(float(left))} is left for such releases; choose a smaller {option('delta')}"
        )
    requested, remaining = float(spend.epsilon), k * exact(largest)
    times = "" if k == 1 else f" ({k} × {plain_number(charge.cost.epsilon)} in the unit of the ledger)"
    at = f" at {option('delta', plain_number(charge.cost.delta))}" if gaussian else ""
    advice = "nothing more will fit"
    if largest > 0:
        advice = f"the largest {option('epsilon')} that still fits is {plain_number(largest)}"
    return BudgetError(
        f"the budget does not cover this release{at}: requested ε = {plain_number(requested)}{times}, remaining "
        f"ε = {plain_number(float(remaining))}, {plain_number(float(spend.epsilon - remaining))} too much; {advice}; "
        "nothing was spent",
        requested, float(remaining), largest,
    )  # fmt: skip


def _checked(db: sqlite3.Connection, path: Path) -> tuple[Terms, State]:
    """Terms and state, after the cheap checks: right kind of file, sealed header, last entry in its place."""
    ledger_file.require_kind(db, path)
    rows = db.execute("SELECT terms, state, seal FROM header").fetchall()
    if len(rows) != 1 or rows[0][2] != chained(rows[0][0], rows[0][1]):
        raise broken(path, "its header is not what was written")
    try:
        terms, state = Terms.from_text(rows[0][0]), State.from_text(rows[0][1])
        terms.plans[state.plan]
    except (ValueError, LookupError, TypeError):
        raise broken(path, "its header cannot be read") from None
    _check_tail(db, path, terms, state)
    return terms, state


def _check_tail(db: sqlite3.Connection, path: Path, terms: Terms, state: State) -> None:
    """Require the last entry to be the one that the header names."""
    last = db.execute("SELECT number, content, hash FROM entries ORDER BY number DESC LIMIT 2").fetchall()
    head = chained(FORMAT, terms.to_text()) if len(last) < 2 else last[1][2]
    if last:
        head = chained(head, last[0][1])
    numbers = [number for number, _, _ in last]
    expected = [n for n in (state.count, state.count - 1) if n > 0]
    if numbers != expected or head != state.head or (last and last[0][2] != head):
        raise broken(path, "its last entry is not the one that was written last")
