"""Faults for the ledger, run as `python -m tests.ledger.faults`: kill -9 within releases, a rush, a full disk.

Runs in a process of its own, which imports everything once and forks a child per fault. Results go to stdout as JSON.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from quietrank import pipeline
from quietrank.errors import BudgetError, QuietrankError
from quietrank.ledger import book as ledgers
from quietrank.ledger import file as ledger_file
from quietrank.ledger import records as ledger_records
from quietrank.ledger.book import BudgetLedger
from quietrank.noise import knorm
from quietrank.promise.accounting import Charge, Cost
from quietrank.promise.privacy import Privacy
from quietrank.votes.read import Votes, read_votes

EPSILON = 0.01
PRIVACY = Privacy(EPSILON, "comparison")
PER_ROUND = 10
"""how many releases the budget holds per kill; more than a child makes in its time"""


def charge() -> Charge:
    return Charge(PRIVACY, Cost.pure(EPSILON), "fault test")


# ---- releases that die -----------------------------------------------------------------------------------------


class Doomed:
    """A ledger for one release; with `steps`, kill -9 strikes at that call of a function after the debit began."""

    def __init__(self, path: Path, steps: int | None, began: Path | None = None) -> None:
        self.ledger, self.steps, self.began, self.later = BudgetLedger.open(path), steps, began, False

    def debit(self, charge: Charge) -> str:
        if self.began is not None:
            self.began.touch()
        if self.steps is not None:
            sys.setprofile(self._step)
        if self.later:  # the mutant
            return "1-0"
        return self.ledger.debit(charge)

    def _step(self, frame: Any, event: str, argument: Any) -> None:
        assert self.steps is not None
        self.steps -= 1
        if self.steps <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


def release_once(folder: Path, votes: Votes, steps: int | None, mutant: str, began: Path | None = None) -> int:
    """One release as `quietrank rank --ledger … --out …` makes it, noting each draw of noise."""
    draw, doomed = knorm.KNormNoise.add_to, Doomed(folder / "ledger", steps, began)
    doomed.later = mutant == "debit-after-draw"

    def noted(self: knorm.KNormNoise, values: Any) -> Any:
        with open(folder / "draws", "ab", buffering=0) as stream:
            stream.write(b".")
        return draw(self, values)

    knorm.KNormNoise.add_to = noted  # type: ignore[method-assign]
    try:
        release = pipeline.rank(votes, PRIVACY, ledger=doomed)
        if mutant == "debit-after-draw":
            doomed.ledger.debit(charge())
        if mutant == "refund":
            refund(doomed.ledger)
        if release.ledger_entry is not None:
            release.to_json(folder / f"{release.ledger_entry}.json", overwrite=True)
    finally:
        sys.setprofile(None)
        knorm.KNormNoise.add_to = draw  # type: ignore[method-assign]
    return doomed.steps or 0


def refund(ledger: BudgetLedger) -> None:
    """The mutant: the last entry is taken out again, and the header made to agree."""
    history = [
        ledger_records.State(
            0, ledger_records.chained(ledger_records.FORMAT, ledger.terms.to_text()), ledger.terms.plans[0].untouched
        )
    ]
    with ledger_file.writing(ledger.path) as db:
        state = ledger._state(db)
        for content, head in db.execute("SELECT content, hash FROM entries ORDER BY number"):
            spend = ledger_records.parsed(ledger.path, content)[1]
            last = history[-1]
            history.append(ledger_records.State(last.count + 1, head, ledger.terms.plans[0].after(last.spent, spend)))
        db.execute("DELETE FROM entries WHERE number = ?", (state.count,))
        text = history[-2].to_text()
        db.execute(
            "UPDATE header SET state = ?, seal = ?", (text, ledger_records.chained(ledger.terms.to_text(), text))
        )


def kills(folder: Path, rounds: int, mutant: str, seed: int) -> dict[str, Any]:
    """Kill releases: a third at a chosen step from the debit to the output, a third a few milliseconds after the
    debit began, when it is being written to the disk, and a third at any time."""
    rng = random.Random(seed)
    (folder / "votes.csv").write_text("person,winner,loser\nana,tea,coffee\nben,tea,water\neve,coffee,water\n")
    votes = read_votes(folder / "votes.csv", items=["tea", "coffee", "water"])
    BudgetLedger.create(folder / "ledger", round(PER_ROUND * rounds * EPSILON, 6), data="faults", unit="comparison")
    duration, steps = rehearse(folder, votes, mutant)
    died = 0
    for number in range(rounds):
        at, began, delay = None, folder / f"began-{number}", rng.uniform(0, 1.5 * duration)
        if number % 3 == 0:  # spread evenly over the steps
            at = 1 + int(steps * (number + 3 * rng.random()) / (rounds + 2))
        elif number % 3 == 1:
            delay = rng.uniform(0, 0.006)
        release = partial(endless, folder, votes, at, mutant, began)
        died += killed(release, delay, at, began if number % 3 == 1 else None)
    return {"killed": died, **observed(folder)}


def endless(folder: Path, votes: Votes, steps: int | None, mutant: str, began: Path) -> None:
    while True:
        release_once(folder, votes, steps, mutant, began)


def rehearse(folder: Path, votes: Votes, mutant: str) -> tuple[float, int]:
    """How long a release takes, and how many calls it makes after the debit began."""

    def measure() -> None:
        start = time.perf_counter()
        release_once(folder, votes, None, mutant)
        (folder / "duration").write_text(str(time.perf_counter() - start))

    def count() -> None:
        enough = 10**9  # never used up
        (folder / "steps").write_text(str(enough - release_once(folder, votes, enough, mutant)))

    for rehearsal in (measure, count):
        assert os.waitpid(forked(rehearsal), 0)[1] == 0
    return float((folder / "duration").read_text()), int((folder / "steps").read_text())


def forked(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except QuietrankError as error:
            print(error, file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child


def killed(work: Callable[[], object], delay: float, at: int | None, wait_for: Path | None) -> bool:
    """Run in a child and kill it, unless it kills itself; whether it died of that."""
    child = forked(work)
    while wait_for is not None and not wait_for.exists():
        pass  # no sleep: the moment matters
    if at is None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def observed(folder: Path) -> dict[str, Any]:
    """What is left: noise drawn, releases written, entries in a ledger that verifies, and how many more fit in it."""
    ledger = BudgetLedger.open(folder / "ledger")
    ledger.verify()
    entries = ledger.entries()
    outputs = [json.loads(path.read_text())["ledger_entry"] for path in folder.glob("*-*.json")]
    unpaid = set(outputs) - {entry.id for entry in entries}
    draws, more = (folder / "draws").stat().st_size, 0
    with suppress(BudgetError):
        while True:
            ledger.debit(charge())
            more += 1
    ledger.verify()
    return {"entries": len(entries), "draws": draws, "outputs": len(outputs), "unpaid": len(unpaid), "more": more}


# ---- many at once, and no room ---------------------------------------------------------------------------------


@contextmanager
def no_transaction(path: Path) -> Any:
    """The mutant: every statement for itself."""
    with ledger_file.connection(path) as db:
        yield db


def rush(folder: Path, debtors: int, mutant: str) -> dict[str, Any]:
    """All debtors debit one ledger at once until it is empty; how many debits went through, and other errors."""
    if mutant == "no-transaction":
        vars(ledgers)["writing"] = no_transaction
    children = [forked(lambda who=who: debtor(folder, who)) for who in range(debtors)]  # type: ignore[misc]
    while len(list(folder.glob("ready-*"))) < debtors:
        time.sleep(0.001)
    (folder / "go").touch()
    for child in children:
        os.waitpid(child, 0)
    told = [json.loads((folder / f"debtor-{who}").read_text()) for who in range(debtors)]
    return {"paid": sum(t["paid"] for t in told), "errors": [e for t in told for e in t["errors"]], "each": told}


def debtor(folder: Path, who: int) -> None:
    paid = 0
    errors: list[str] = []
    (folder / f"ready-{who}").touch()
    while not (folder / "go").exists():
        time.sleep(0.001)
    while len(errors) < 5:
        try:
            BudgetLedger.open(folder / "ledger").debit(charge())
            paid += 1
        except BudgetError:
            break
        except (QuietrankError, sqlite3.Error) as error:
            errors.append(str(error))
    (folder / f"debtor-{who}").write_text(json.dumps({"paid": paid, "errors": errors}))


def fill(path: Path, limit: int) -> dict[str, Any]:
    """Debit until there is no room: a limit on the size of files, or (limit 0) until the disk is full."""
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    paid, ledger = 0, BudgetLedger.open(path)
    errors: list[str] = []
    while len(errors) < 3:
        try:
            ledger.debit(charge())
            paid += 1
        except QuietrankError as error:
            errors.append(str(error))
    return {"paid": paid, "errors": errors}


if __name__ == "__main__":
    work, folder_, number_, *rest = sys.argv[1:]
    if work == "kills":
        found = kills(Path(folder_), int(number_), rest[0], int(rest[1]))
    elif work == "rush":
        found = rush(Path(folder_), int(number_), rest[0])
    else:
        found = fill(Path(folder_), int(number_))
    print(json.dumps(found))
