"""A wish and a ledger in, a release out that is paid for once and can always be fetched, whatever happens.

An order is written down in the temporary folder, with its votes, before it is paid for. Its name follows from the wish,
so that a second click, or a second window, places the same order. What was drawn is delivered into the ledger, and only
what is there is shown (`ledger.orders`). After a crash, orders that were paid for and not delivered are finished.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from quietrank import pipeline
from quietrank.app.scratch import remove_tree
from quietrank.app.wishes import Wish
from quietrank.app.work import Tell
from quietrank.errors import QuietrankError
from quietrank.ledger.book import BudgetLedger
from quietrank.ledger.orders import Order, ordered
from quietrank.mechanisms.perturbed_mle.mechanism import PerturbedMLE
from quietrank.publish import tally_file
from quietrank.publish.files import sync
from quietrank.votes.watch import watching

FORMAT = "quietrank/delivery/1"
WISH = "wish.json"


@dataclass(frozen=True)
class Placed:
    """An order: what is wished for, from which ledger, under which name."""

    wish: Wish
    ledger: Path
    name: str
    label: str = ""

    def to_text(self) -> str:
        words = {"ledger": str(self.ledger), "name": self.name, "label": self.label}
        return json.dumps({**words, "wish": self.wish.to_dict()})

    @classmethod
    def from_text(cls, text: str) -> Placed:
        values = json.loads(text)
        return cls(Wish.from_dict(values["wish"]), Path(values["ledger"]), values["name"], values["label"])

    @property
    def order(self) -> Order:
        return Order(BudgetLedger.open(self.ledger), self.name, self.label)


def name_of(wish: Wish, ledger: BudgetLedger) -> tuple[str, int]:
    """The name of the next order for this wish, and how many were delivered before it.

    One that was paid for and not delivered is the next one: it costs nothing more.
    """
    before = {entry.order for entry, fetched in ordered(ledger) if fetched}
    number = 0
    while (name := f"{wish.name}/{number}") in before:
        number += 1
    return name, number


def place(orders: Path, placed: Placed, temporary: Path) -> Path:
    """Write an order down, durably, in a folder of its own, which is returned; uploaded votes are kept there."""
    folder = folder_of(orders, placed)
    if (folder / WISH).exists():
        return folder  # placed before
    folder.mkdir(parents=True, exist_ok=True)
    votes = tuple(_keep(Path(path), folder, temporary) for path in placed.wish.survey.votes)
    text = Placed(placed.wish.moved(votes), placed.ledger, placed.name, placed.label).to_text()
    unfinished = folder / f".{WISH}.{os.getpid()}"
    unfinished.write_text(text, encoding="utf-8")
    sync(unfinished)
    os.replace(unfinished, folder / WISH)
    return folder


def folder_of(orders: Path, placed: Placed) -> Path:
    """Where an order is written down. The same order paid from two ledgers is two orders."""
    return orders / f"{placed.name.replace('/', '-')}-{sha256(str(placed.ledger).encode()).hexdigest()[:8]}"


def _keep(path: Path, folder: Path, temporary: Path) -> Path:
    """Where these votes can be read when their window is closed: an upload is taken into the folder of the order."""
    if not path.is_relative_to(temporary):
        return path
    place = folder / path.name
    try:
        os.link(path, place)
    except FileExistsError:
        pass
    except OSError:  # a file system without links; a copy that is cut off must never be taken for the votes
        unfinished = folder / f".{path.name}.{os.getpid()}"
        shutil.copyfile(path, unfinished)
        os.replace(unfinished, place)
    return place


def fulfil(tell: Tell, folder: Path) -> None:
    """Pay for an order, unless it is paid for, draw, and deliver."""
    placed = _read_order(folder)
    order = placed.order
    if order.delivered is None:
        try:
            with watching(tell):
                order.deliver(json.dumps(draw(placed.wish, order, tell)))
        except QuietrankError:
            drop(folder)
            raise
    remove_tree(folder)


def _read_order(folder: Path) -> Placed:
    return Placed.from_text((folder / WISH).read_text(encoding="utf-8"))


def drop(folder: Path) -> bool:
    """Forget an order that was not paid for; whether it was forgotten."""
    placed = _read_order(folder)
    if is_paid(placed.ledger, placed.name):
        return False
    remove_tree(folder)
    return True


def is_paid(ledger: Path, name: str) -> bool:
    """Whether an order was paid for; then it will be delivered, if it was not."""
    return any(entry.order == name for entry in BudgetLedger.open(ledger).entries())


def draw(wish: Wish, order: Order, tell: Tell) -> dict[str, Any]:
    """A release, and the noisy counts from which others can be made, as plain values."""

    def comparing(done: float) -> None:
        tell("comparing items", done)

    votes = wish.survey.read()
    if wish.only_top is not None:
        top = pipeline.make_top(votes, wish.privacy, wish.top_request(), order, comparing)
        return {"format": FORMAT, "kind": "top", "release": top.to_dict(), "tally": None}
    request = wish.full_request()
    if isinstance(request.mechanism, PerturbedMLE):
        release = pipeline.make_release(votes, wish.privacy, request, order, comparing)
        return {"format": FORMAT, "kind": "release", "release": release.to_dict(), "tally": None}
    tally = pipeline.make_tally(votes, wish.privacy, request, order)
    release = pipeline.release_of(tally, request, comparing)
    saved = json.loads(tally_file.save(tally))
    return {"format": FORMAT, "kind": "release", "release": release.to_dict(), "tally": saved}


def read_delivery(text: str) -> dict[str, Any]:
    """What was delivered, from its text."""
    values: dict[str, Any] = json.loads(text)
    if not isinstance(values, Mapping) or values.get("format") != FORMAT:
        raise QuietrankError("this was delivered by another version of quietrank, and cannot be shown here")
    return values


def fetch(ledger: Path, name: str) -> dict[str, Any]:
    """What was bought under this name."""
    text = Order(BudgetLedger.open(ledger), name).delivered
    if text is None:
        raise QuietrankError("this was paid for and has not been delivered; order the same again, which costs nothing")
    return read_delivery(text)


def recover(orders: Path) -> None:
    """Finish what a crash left: orders that are paid for are drawn and delivered, others are dropped.

    An order that cannot be finished now, because its votes are gone for one, stays; the first reason is raised.
    """
    reasons = []
    for folder in sorted(orders.iterdir()) if orders.is_dir() else []:
        try:
            _recover(folder)
        except (QuietrankError, OSError) as reason:
            reasons.append(reason)
    if reasons:
        raise reasons[0]


def _recover(folder: Path) -> None:
    if not (folder / WISH).exists():  # it was being written down
        remove_tree(folder)
    elif not drop(folder):
        fulfil(_nobody, folder)


def _nobody(doing: str, share: float | None) -> None:
    """Nobody is told."""
