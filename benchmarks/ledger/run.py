"""A debit with 100 000 entries in the ledger, as a ratio to a bare SQLite INSERT with synchronous=FULL, interleaved."""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from quietrank.ledger import book as ledgers
from quietrank.ledger.book import BudgetLedger
from quietrank.ledger.composition import spend_of
from quietrank.ledger.records import State, chained
from quietrank.promise.accounting import Charge, Cost
from quietrank.promise.privacy import Privacy

ENTRIES, REPEAT, ALLOWED = 100_000, 200, 20.0
EPSILON = 1e-5
CHARGE = Charge(Privacy(EPSILON, "person", max_per_person=15), Cost.pure(EPSILON), "laplace noise on net-wins")


def fill(ledger: BudgetLedger, entries: int) -> None:
    """The entries that as many debits would have made, in one transaction."""
    spend, budget = spend_of(CHARGE.cost), ledger.terms.plans[0]
    with ledgers.writing(ledger.path) as db:
        state = ledger._state(db)
        for number in range(1, entries + 1):
            content = ledgers.content_of(number, CHARGE, 1, spend)
            state = State(number, chained(state.head, content), budget.after(state.spent, spend))
            db.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, content, state.head))
        text = state.to_text()
        db.execute("UPDATE header SET state = ?, seal = ?", (text, chained(ledger.terms.to_text(), text)))


def peer(folder: Path) -> Callable[[], object]:
    """One INSERT of a row as long as an entry, committed, on a connection that stays open."""
    db = sqlite3.connect(folder / "peer.db", isolation_level=None)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL)")
    content = ledgers.content_of(1, CHARGE, 1, spend_of(CHARGE.cost))
    row = (content, "0" * 64)
    db.execute("BEGIN")
    db.executemany("INSERT INTO entries (content, hash) VALUES (?, ?)", [row] * ENTRIES)
    db.execute("COMMIT")
    return lambda: db.execute("INSERT INTO entries (content, hash) VALUES (?, ?)", row)


def milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def main(folder: Path) -> None:
    for delta in (0.0, 1e-6):
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            measure(Path(scratch), delta)


def measure(folder: Path, delta: float) -> None:
    ledger = BudgetLedger.create(folder / "budget.db", 2.0, delta, data="benchmark", unit="person")
    fill(ledger, ENTRIES)
    insert, debit = peer(folder), lambda: ledger.debit(CHARGE)
    times = [(milliseconds(debit), milliseconds(insert)) for _ in range(REPEAT)]
    ours, theirs = ([pair[k] for pair in times] for k in (0, 1))
    verify = milliseconds(ledger.verify) / 1000
    middle, bare, worst = statistics.median(ours), statistics.median(theirs), max(ours)
    print(
        f"δ = {delta:g}: debit {middle:.2f} ms (slowest of {REPEAT}: {worst:.2f}), bare INSERT {bare:.2f} ms:", end=" "
    )
    print(f"ratio {middle / bare:.2f}; allowed {ALLOWED:g} ms; verify of all {ENTRIES + REPEAT} entries {verify:.1f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
