"""A budget that outlives the process: charges in, durable entries out, and never more than the budget in total.

`composition` says what a sequence of releases costs, `records` and `file` how it is stored on disk, `book` puts them
together, and `commands` is the command line. The commands are imported at every start: they load nothing heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quietrank.ledger.book import BudgetLedger

__all__ = ["BudgetLedger"]


def __getattr__(name: str) -> Any:
    if name == "BudgetLedger":
        from quietrank.ledger.book import BudgetLedger

        return BudgetLedger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
