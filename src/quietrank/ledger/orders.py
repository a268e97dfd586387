"""A name and a ledger in; what was bought under that name out: paid for once, delivered once, fetched at any time.

An order survives crashes, second clicks and second windows. Its payment carries its name, so that paying again under
that name costs nothing. What was drawn for it is written into the ledger before anybody sees it, and only what is
written there is ever shown: of two draws for one payment, the second is thrown away unseen. An order that was paid for
and not delivered has shown nothing, so it may be drawn again (docs/proofs/composition.md, section 8).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from quietrank.errors import LedgerError
from quietrank.ledger.book import BudgetLedger
from quietrank.ledger.records import Entry, topic_of
from quietrank.promise.accounting import Charge


@dataclass(frozen=True)
class Order:
    """A purchase with a name, which a release takes in place of its ledger."""

    ledger: BudgetLedger
    name: str
    label: str = ""
    """what the history of the ledger calls it, before what it is"""

    def debit(self, charge: Charge) -> str:
        """Pay, unless this order is paid for; refused once it is delivered."""
        what = f"{self.label}: {charge.what}" if self.label else charge.what
        return self.ledger.debit(replace(charge, what=what), self.name)

    def deliver(self, text: str) -> str:
        """Write down durably what was bought, and return it; if something was delivered before, that instead."""
        try:
            self.ledger.advance(topic_of(self.name), text, expected=None)
        except LedgerError:
            if (before := self.delivered) is None:
                raise
            return before
        return text

    @property
    def delivered(self) -> str | None:
        """What was delivered, durably; None if nothing was."""
        text = self.ledger.position(topic_of(self.name))
        if text is not None:
            self.ledger.settle()
        return text


def ordered(ledger: BudgetLedger) -> list[tuple[Entry, bool]]:
    """All payments from the first on, and whether what was ordered with each can be fetched."""
    delivered = ledger.positions(topic_of(""))
    return [(entry, entry.order is not None and topic_of(entry.order) in delivered) for entry in ledger.entries()]
