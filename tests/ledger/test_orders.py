"""Orders: paid for once, delivered once, fetched as often as needed, whoever is killed when."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import quietrank as qr
from quietrank.errors import BudgetError, LedgerError
from quietrank.ledger.book import BudgetLedger
from quietrank.ledger.orders import Order, ordered
from quietrank.promise.accounting import Charge, Cost


def charge(epsilon: float = 1.0, what: str = "a test") -> Charge:
    return Charge(qr.Privacy(epsilon, "comparison"), Cost.pure(epsilon), what)


@pytest.fixture
def ledger(tmp_path: Path) -> BudgetLedger:
    return BudgetLedger.create(tmp_path / "budget.db", 3, data="survey", unit="comparison")


def test_an_order_is_paid_once_however_often_it_is_placed(ledger: BudgetLedger) -> None:
    first = Order(ledger, "abc/0").debit(charge())
    again = Order(BudgetLedger.open(ledger.path), "abc/0").debit(charge())
    assert (first, ledger.spent, len(ledger.entries())) == (again, 1.0, 1)
    assert ledger.entries()[0].order == "abc/0"


def test_another_order_is_another_payment(ledger: BudgetLedger) -> None:
    assert Order(ledger, "abc/0").debit(charge()) != Order(ledger, "abc/1").debit(charge())
    assert ledger.spent == 2.0


def test_a_plain_payment_is_no_order(ledger: BudgetLedger) -> None:
    ledger.debit(charge())
    ledger.debit(charge())
    assert ledger.spent == 2.0


def test_a_payment_is_for_what_it_was_made_for(ledger: BudgetLedger) -> None:
    Order(ledger, "abc/0").debit(charge())
    with pytest.raises(LedgerError, match="another promise"):
        Order(ledger, "abc/0").debit(charge(2.0))
    assert ledger.spent == 1.0


def test_an_order_may_have_a_label(ledger: BudgetLedger) -> None:
    Order(ledger, "abc/0", "for the board").debit(charge())
    Order(ledger, "abc/0", "for the press").debit(charge())
    assert [entry.what for entry in ledger.entries()] == ["for the board: a test"]


def test_what_would_remain_is_what_remains(ledger: BudgetLedger) -> None:
    expected = ledger.remaining_after(charge())
    assert ledger.entries() == []
    ledger.debit(charge())
    assert (ledger.remaining, expected) == (2.0, 2.0)
    with pytest.raises(BudgetError, match="nothing was spent"):
        ledger.remaining_after(charge(2.5))


def test_what_was_delivered_is_never_drawn_again(ledger: BudgetLedger) -> None:
    """The fault to catch: a second draw for one payment, after the first was shown."""
    order = Order(ledger, "abc/0")
    order.debit(charge())
    assert order.delivered is None
    assert order.deliver("the result") == "the result"
    with pytest.raises(LedgerError, match="fetch it"):
        order.debit(charge())
    assert Order(BudgetLedger.open(ledger.path), "abc/0").delivered == "the result"


def test_of_two_draws_for_one_payment_only_the_first_is_ever_shown(ledger: BudgetLedger) -> None:
    """Two servers that both think that they are the one: each debits, each draws, and both show the same."""
    orders = [Order(BudgetLedger.open(ledger.path), "abc/0") for _ in range(2)]
    assert len({order.debit(charge()) for order in orders}) == 1
    assert [order.deliver(f"draw {number}") for number, order in enumerate(orders)] == ["draw 0", "draw 0"]


def test_clicks_at_the_same_time_pay_once(ledger: BudgetLedger) -> None:
    paid: list[str] = []

    def click() -> None:
        paid.append(Order(BudgetLedger.open(ledger.path), "abc/0").debit(charge()))

    threads = [threading.Thread(target=click) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(paid), len(set(paid)), ledger.spent) == (8, 1, 1.0)


def test_nothing_is_delivered_that_was_not_paid_for(ledger: BudgetLedger) -> None:
    with pytest.raises(LedgerError):
        Order(ledger, "abc/0").deliver("a gift")


def test_an_order_that_does_not_fit_is_refused(ledger: BudgetLedger) -> None:
    with pytest.raises(BudgetError):
        Order(ledger, "abc/0").debit(charge(4.0))
    assert ledger.entries() == []


def test_the_list_of_orders_says_what_can_be_fetched(ledger: BudgetLedger) -> None:
    ledger.debit(charge())
    Order(ledger, "abc/0").debit(charge())
    Order(ledger, "abc/1").debit(charge())
    Order(ledger, "abc/0").deliver("the result")
    assert [(entry.order, fetched) for entry, fetched in ordered(ledger)] == [
        (None, False), ("abc/0", True), ("abc/1", False)
    ]  # fmt: skip
    ledger.verify()


def test_a_release_takes_an_order_in_place_of_a_ledger(ledger: BudgetLedger) -> None:
    """A release that was cut off before its delivery is drawn again for the same payment; after it, it is refused."""
    votes = qr.read_votes(qr.simulate(items=3, people=20, per_person=2, seed=1), items_from_votes=True)
    privacy, order = qr.Privacy(1, "comparison"), Order(ledger, "abc/0")
    lost, kept = (qr.rank(votes, privacy, ledger=order) for _ in range(2))
    assert lost.ledger_entry == kept.ledger_entry
    order.deliver(kept.to_json())
    with pytest.raises(LedgerError, match="fetch it"):
        qr.rank(votes, privacy, ledger=order)
    assert ledger.spent == 1.0
