"""A release and a ledger in, a `Payment` out: the entry that paid, its place in the chain, and the sums."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quietrank.errors import LedgerError, PrivacyError
from quietrank.evidence.noise import BoardFacts, UnknownNoiseError
from quietrank.evidence.subject import Subject
from quietrank.ledger.book import BudgetLedger
from quietrank.ledger.composition import exact, units_apart
from quietrank.ledger.history import in_words
from quietrank.ledger.records import Entry, Link, Terms
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
    privacy, promised = subject.privacy, entry.promise
    if (promised["unit"], promised["neighbours"]) != (str(privacy.unit), str(privacy.neighbours)):
        return f"paid for a promise per {promised['unit']} with neighbours {promised['neighbours']}, not for this one"
    for name, sign in (("epsilon", "ε"), ("delta", "δ")):
        paid, needed = promised[name], getattr(privacy, name)
        if exact(paid) < exact(needed):
            return f"paid for {sign} = {plain_number(paid)}, and the release has {sign} = {plain_number(needed)}"
    try:
        units = units_apart(privacy, terms.unit, terms.neighbours)
    except PrivacyError as error:
        return f"cannot have paid for it: {error}"
    if entry.k != units or entry.spend.epsilon < units * exact(privacy.epsilon):
        return f"was charged ε = {plain_number(float(entry.spend.epsilon))}, which is less than the release costs"
    return _paid_for_another(subject, entry)


def _paid_for_another(subject: Subject, entry: Entry) -> str | None:
    """Whether the words of the entry name another mechanism, or another board."""
    name = subject.one.mechanism.name
    if subject.is_of_a_board:
        try:
            name = f"board {BoardFacts.of(subject.one).board}"
        except UnknownNoiseError:
            return None
    if name in entry.what or HISTOGRAM in entry.what:
        return None
    return f"paid for something else: {entry.what}"
