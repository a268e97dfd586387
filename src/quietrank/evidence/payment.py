"""A release and a ledger in, a `Payment` out: the entry that paid, its place in the chain, and the sums."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quietrank.errors import LedgerError, PrivacyError
from quietrank.evidence.noise import BoardFacts, ImpossibleNoiseError, UnknownNoiseError, recompute
from quietrank.evidence.subject import Subject
from quietrank.ledger.book import BudgetLedger
from quietrank.ledger.composition import exact, units_apart
from quietrank.ledger.history import in_words
from quietrank.ledger.records import Entry, Link, Terms, as_values
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.promise.privacy import plain_number

HISTOGRAM = "histogram of votes per person"
"""in the words of an entry that paid for a limit, before the mechanism was chosen"""


@dataclass(frozen=True)
class Payment:
    """The entry that a release names; everything about it was checked against the whole chain."""

    ledger: Path
    terms: Terms
    entry: Entry
    link: Link
    payments: int
    """how many releases the ledger has paid for"""
    spent: float
    remaining: float

    def to_dict(self) -> dict[str, Any]:
        entry, spend = self.entry, self.entry.spend
        cost = {"epsilon": float(spend.epsilon), "delta": float(spend.delta)}
        return {
            "file": self.ledger.name,
            "budget": in_words(self.terms),
            "verify": f"intact; the last entry is {self.link.last}",
            "entry": entry.id,
            "number": self.link.number,
            "of_entries": self.link.entries,
            "of_payments": self.payments,
            "when": entry.when,
            "what": entry.what,
            "promise_paid": entry.promise,
            "units": entry.k,
            "cost": cost | ({} if spend.rho is None else {"rho": float(spend.rho)}),
            "remaining_after_it": entry.remaining,
            "spent_now": self.spent,
            "remaining_now": self.remaining,
            "previous_sha256": self.link.previous,
            "content": self.link.content,
            "sha256": self.link.hash,
        }


def payment_of(subject: Subject, path: str | Path) -> Payment:
    """What paid for this release; raises a `LedgerError` if nothing did, or the history is broken."""
    ledger = BudgetLedger.open(path)
    ledger.verify()
    named = subject.result.ledger_entry
    if named is None:
        raise LedgerError(f"the release names no entry, so nothing in {path} can be shown to have paid for it")
    paid = ledger.entries()
    entry, link = next((one for one in paid if one.id == named), None), ledger.link(named)
    if entry is None or link is None:
        raise LedgerError(f"{path} has no payment {named}, which the release names; give the ledger that paid for it")
    if (wrong := _too_little(subject, ledger.terms, entry)) is not None:
        raise LedgerError(f"entry {named} of {path} {wrong}")
    return Payment(ledger.path, ledger.terms, entry, link, len(paid), ledger.spent, ledger.remaining)


def _too_little(subject: Subject, terms: Terms, entry: Entry) -> str | None:
    """Why this entry does not pay for the release; None if it does."""
    privacy = subject.privacy
    if (other := _another_promise(subject, entry)) is not None:
        return other
    try:
        units = units_apart(privacy, terms.unit, terms.neighbours)
    except PrivacyError as error:
        return f"cannot have paid for it: {error}"
    if entry.k != units or entry.spend.epsilon < units * exact(privacy.epsilon):
        return f"was charged ε = {plain_number(float(entry.spend.epsilon))}, which is less than the release costs"
    return _paid_for_another(subject, entry)


CHOSEN = ("max_per_person", "chooses_limit", "clip")
"""what is not known yet when a limit is paid for"""
WORDS = {"epsilon": "ε", "delta": "δ"}


def _another_promise(subject: Subject, entry: Entry) -> str | None:
    """In what the promise that was paid for is not that of the release, to the last figure."""
    needed, paid = as_values(subject.privacy), entry.promise
    for name in needed:
        if subject.one.limit is not None and name in CHOSEN:
            continue
        if name in paid and paid[name] != needed[name]:
            what = WORDS.get(name, name)
            return f"paid for {what} = {_said(paid[name])}, and the release has {what} = {_said(needed[name])}"
    return None


def _said(value: Any) -> str:
    return plain_number(value) if isinstance(value, float) else str(value)


def _paid_for_another(subject: Subject, entry: Entry) -> str | None:
    """Whether the words of the entry are about other noise, other groups, or another board."""
    return None if _is_about(entry.what, subject) else f"paid for something else: {entry.what}"


def _is_about(what: str, subject: Subject) -> bool:
    if subject.is_of_a_board:
        try:
            return f"board {BoardFacts.of(subject.one).board}" in what
        except UnknownNoiseError:
            return True
    if subject.one.limit is not None:
        return HISTOGRAM in what
    try:
        noise = recompute(subject, subject.one).noise
    except (UnknownNoiseError, ImpossibleNoiseError):  # of which another line speaks
        return subject.one.mechanism.name in what
    assert isinstance(noise, Calibrated)
    groups = "" if subject.groups is None else f", {len(subject.groups)} groups"
    charged = f"{noise.mechanism.charged_as(noise.statistic)}{groups}"
    return what in (charged, f"{charged}, and its scatter")
