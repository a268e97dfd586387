"""Orders: placed, paid, delivered and fetched, with a crash at every step in between."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from quietrank.app import orders
from quietrank.app.orders import Placed
from quietrank.app.wishes import Survey, Wish
from quietrank.errors import QuietrankError
from quietrank.ledger.orders import Order, ordered
from tests.helpers import write_csv

PROMISE = {"unit": "person", "epsilon": 1.0, "one_per_pair": True}
CRASHES = ["before the payment", "after the payment", "after the draw", "after the delivery"]


class CrashError(BaseException):
    """Not an error that anybody handles."""


def nobody(doing: str, share: float | None) -> None:
    pass


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    (folder / "upload").mkdir(parents=True)
    return folder


@pytest.fixture
def wish(scratch: Path) -> Wish:
    rows = [(f"p{k}", *(("tea", "coffee") if k % 3 else ("water", "tea"))) for k in range(30)]
    path = write_csv(scratch / "upload" / "0.csv", rows, ("person", "winner", "loser"))
    return Wish(Survey((str(path),), "votes.csv", {}, ("tea", "coffee", "water")), PROMISE)


@pytest.fixture
def ledger(tmp_path: Path) -> qr.Ledger:
    return qr.Ledger.create(tmp_path / "budget.db", 3, data="test", unit="person")


def placed(wish: Wish, ledger: qr.Ledger, number: int | None = None) -> Placed:
    name = orders.name_of(wish, ledger)[0] if number is None else f"{wish.name}/{number}"
    return Placed(wish, ledger.path, name, "for a test")


def place(scratch: Path, one: Placed) -> Path:
    return orders.place(scratch / "orders", one, scratch)


def test_an_order_is_delivered_and_fetched(scratch: Path, wish: Wish, ledger: qr.Ledger) -> None:
    one = placed(wish, ledger)
    folder = place(scratch, one)
    orders.fulfil(nobody, folder)
    assert not folder.exists()
    values = orders.fetch(ledger.path, one.name)
    release = qr.Release.from_json(_file(scratch, values["release"]))
    assert [row.rank for row in release] == [1, 2, 3]
    assert values == orders.fetch(ledger.path, one.name)
    assert ledger.entries()[0].what.startswith("for a test: ")
    assert values["release"]["privacy"]["epsilon"] == 1.0


def _file(folder: Path, values: dict[str, Any]) -> Path:
    path = folder / "release.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "more",
    [{"only_top": 1}, {"request": {"mechanism": "perturbed-mle", "comparisons_per_item": 20}}],
    ids=["top", "mle"],
)
def test_what_has_no_counts_is_delivered_too(
    scratch: Path, wish: Wish, ledger: qr.Ledger, more: dict[str, Any]
) -> None:
    promise = {"unit": "person", "epsilon": 1.0, "max_per_person": 1}
    one = placed(replace(wish, promise=promise, **more), ledger)
    orders.fulfil(nobody, place(scratch, one))
    assert orders.fetch(ledger.path, one.name)["tally"] is None


def test_the_window_closes_and_the_order_goes_on(scratch: Path, wish: Wish, ledger: qr.Ledger) -> None:
    """The uploaded file is removed with the window; the order has kept it."""
    one = placed(wish, ledger)
    folder = place(scratch, one)
    Path(wish.survey.votes[0]).unlink()
    orders.fulfil(nobody, folder)
    assert orders.fetch(ledger.path, one.name)["kind"] == "release"


def test_a_file_elsewhere_is_read_where_it_is(tmp_path: Path, scratch: Path, wish: Wish, ledger: qr.Ledger) -> None:
    elsewhere = Path(wish.survey.votes[0]).rename(tmp_path / "votes.csv")
    folder = place(scratch, placed(wish.moved((elsewhere,)), ledger))
    assert [path.name for path in folder.iterdir()] == [orders.WISH]
    orders.fulfil(nobody, folder)
    assert elsewhere.exists()


def test_a_copy_that_was_cut_off_is_made_again(
    scratch: Path, wish: Wish, ledger: qr.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where files cannot be linked they are copied; half a copy is never taken for the votes."""

    def refuse(source: Path, target: Path) -> None:
        raise FileExistsError if target.exists() else PermissionError

    def fill_the_disk(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:40])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", refuse)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", fill_the_disk)
        with pytest.raises(OSError, match="No space"):
            place(scratch, placed(wish, ledger))
    upload = Path(wish.survey.votes[0])
    folder = place(scratch, placed(wish, ledger))
    assert (folder / upload.name).read_bytes() == upload.read_bytes()


def test_a_second_click_is_the_same_order(scratch: Path, wish: Wish, ledger: qr.Ledger) -> None:
    one, two = placed(wish, ledger), placed(wish, ledger)
    assert place(scratch, one) == place(scratch, two)
    orders.fulfil(nobody, place(scratch, one))
    orders.fulfil(nobody, place(scratch, two))
    assert (ledger.spent, len(ledger.entries())) == (1.0, 1)


def test_once_more_is_another_order(scratch: Path, wish: Wish, ledger: qr.Ledger) -> None:
    for number in range(2):
        name, before = orders.name_of(wish, ledger)
        assert before == number
        orders.fulfil(nobody, place(scratch, Placed(wish, ledger.path, name)))
    assert ledger.spent == 2.0


def test_two_ledgers_have_two_orders(tmp_path: Path, scratch: Path, wish: Wish, ledger: qr.Ledger) -> None:
    other = qr.Ledger.create(tmp_path / "other.db", 3, data="test", unit="person")
    folders = {place(scratch, placed(wish, one)) for one in (ledger, other)}
    assert len(folders) == 2


def test_an_order_that_fails_is_forgotten_unless_it_was_paid_for(scratch: Path, wish: Wish, ledger: qr.Ledger) -> None:
    """A file that cannot be read; and a budget that does not suffice."""
    unknown = replace(wish, survey=replace(wish.survey, items=("tea", "coffee")))
    dear = replace(wish, promise={**PROMISE, "epsilon": 9.0})
    for one in (unknown, dear):
        folder = place(scratch, placed(one, ledger))
        with pytest.raises(QuietrankError):
            orders.fulfil(nobody, folder)
        assert not folder.exists()
    assert ledger.entries() == []


@pytest.mark.parametrize("when", CRASHES)
@pytest.mark.few(2)
def test_a_crash_at_every_step(
    scratch: Path, wish: Wish, ledger: qr.Ledger, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the restart, what was paid for can be fetched, and nothing was paid twice."""
    folder = place(scratch, placed(wish, ledger))
    with monkeypatch.context() as patch:
        _crash(patch, when)
        with pytest.raises(CrashError):
            orders.fulfil(nobody, folder)
    paid = when != "before the payment"
    assert len(ledger.entries()) == paid
    orders.recover(scratch / "orders")
    assert [fetched for _, fetched in ordered(ledger)] == [True] * paid
    assert not folder.exists()
    # Whoever asks once more pays nothing for what was paid for.
    orders.fulfil(nobody, place(scratch, placed(wish, ledger, 0)))
    assert ledger.spent == 1.0


def _crash(patch: pytest.MonkeyPatch, when: str) -> None:
    """Where the process ends."""

    def instead(before: Callable[..., Any] | None) -> Callable[..., Any]:
        def crash(*arguments: Any, **more: Any) -> Any:
            if before is not None:
                before(*arguments, **more)
            raise CrashError

        return crash

    if when == "after the delivery":
        patch.setattr(orders, "remove_tree", instead(None))
    elif when == "after the draw":
        patch.setattr(Order, "deliver", instead(None))
    else:
        patch.setattr(Order, "debit", instead(Order.debit if when == "after the payment" else None))


def test_an_order_that_was_not_written_down_whole_is_dropped(scratch: Path, ledger: qr.Ledger) -> None:
    (scratch / "orders" / "half").mkdir(parents=True)
    orders.recover(scratch / "orders")
    assert list((scratch / "orders").iterdir()) == []
    orders.recover(scratch / "no orders")


def test_an_order_whose_votes_are_gone_stays(
    tmp_path: Path, scratch: Path, wish: Wish, ledger: qr.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is paid for: the next start tries again, and the same order from the same votes costs nothing more."""
    elsewhere = Path(wish.survey.votes[0]).rename(tmp_path / "votes.csv")
    moved = wish.moved((elsewhere,))
    folder = place(scratch, placed(moved, ledger))
    with monkeypatch.context() as patch:
        _crash(patch, "after the payment")
        with pytest.raises(CrashError):
            orders.fulfil(nobody, folder)
    away = elsewhere.rename(tmp_path / "away.csv")
    with pytest.raises(QuietrankError):
        orders.recover(scratch / "orders")
    assert folder.exists()
    away.rename(elsewhere)
    orders.recover(scratch / "orders")
    assert [fetched for _, fetched in ordered(ledger)] == [True]


def test_only_deliveries_are_opened(ledger: qr.Ledger) -> None:
    with pytest.raises(QuietrankError, match="not been delivered"):
        orders.fetch(ledger.path, "abc/0")
    with pytest.raises(QuietrankError, match="another version"):
        orders.read_delivery('{"format": "quietrank/delivery/9"}')
