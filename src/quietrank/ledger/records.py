"""Terms, state and entries of a ledger in, the exact text that is hashed and written out; and back.

Every entry's hash covers its content and the previous hash; the first hash covers the terms of the ledger.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from quietrank.ledger.composition import Budget, Filter, Spend, Spent
from quietrank.ledger.file import broken
from quietrank.promise.accounting import Charge
from quietrank.promise.privacy import Neighbours, Privacy, Unit

FORMAT = "quietrank/ledger/1"


@dataclass(frozen=True)
class Terms:
    """What is fixed permanently when a ledger is made."""

    data: str
    unit: Unit
    neighbours: Neighbours
    plans: tuple[Budget, ...]
    """ways to divide δ; the first release decides which is used"""
    created: str
    salt: str

    def to_text(self) -> str:
        sums = {"epsilon": str(self.epsilon), "delta": str(self.delta), "plans": list(map(_plan_values, self.plans))}
        words = {"data": self.data, "unit": self.unit.value, "neighbours": self.neighbours.value}
        return canonical({"format": FORMAT, "created": self.created, "salt": self.salt} | words | sums)

    @classmethod
    def from_text(cls, text: str) -> Terms:
        values = json.loads(text)
        epsilon, delta = Fraction(values["epsilon"]), Fraction(values["delta"])
        plans = tuple(
            Budget(epsilon, delta, tuple(map(_filter, plan["filters"])), Fraction(plan["reserve"]))
            for plan in values["plans"]
        )
        unit, neighbours = Unit(values["unit"]), Neighbours(values["neighbours"])
        return cls(values["data"], unit, neighbours, plans, values["created"], values["salt"])

    @property
    def epsilon(self) -> Fraction:
        return self.plans[0].epsilon

    @property
    def delta(self) -> Fraction:
        return self.plans[0].delta


def _plan_values(plan: Budget) -> dict[str, Any]:
    filters = [[None if one.order is None else str(one.order), str(one.overhead)] for one in plan.filters]
    return {"filters": filters, "reserve": str(plan.reserve)}


def _filter(values: list[Any]) -> Filter:
    order, overhead = values
    return Filter(None if order is None else Fraction(order), Fraction(overhead))


@dataclass(frozen=True)
class State:
    """The current end of the history: enough to decide on the next debit without reading all of it."""

    count: int
    head: str
    spent: Spent
    plan: int = 0

    def to_text(self) -> str:
        losses = [None if loss is None else str(loss) for loss in self.spent.losses]
        sums = {"losses": losses, "delta": str(self.spent.delta), "plan": self.plan}
        return canonical({"count": self.count, "head": self.head} | sums)

    @classmethod
    def from_text(cls, text: str) -> State:
        values = json.loads(text)
        losses = tuple(None if loss is None else Fraction(loss) for loss in values["losses"])
        return cls(values["count"], values["head"], Spent(losses, Fraction(values["delta"])), values["plan"])


@dataclass(frozen=True)
class Entry:
    """One payment."""

    id: str
    when: str
    what: str
    promise: dict[str, Any]
    """the release's own privacy"""
    k: int
    """how many units of the release make up one of the ledger's"""
    spend: Spend
    """as the ledger counts it: without ρ where its plan uses none"""
    remaining: float
    """the largest ε of a release with δ = 0 that would still have fitted after it"""
    order: str | None = None
    """the name under which it was ordered, if it was (`ledger.orders`)"""


@dataclass(frozen=True)
class Link:
    """An entry's place in the chain, with all that its hash is made of: sha256 of `previous`, a newline, `content`."""

    number: int
    previous: str
    """the hash before it"""
    content: str
    """the entry as it was written"""
    hash: str
    entries: int
    """how many the ledger has in all, notes about orders and boards among them"""
    last: str
    """the id of the last one"""


def canonical(values: object) -> str:
    """JSON in a fixed form: equal values give equal text."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)


def chained(previous: str, content: str) -> str:
    """The hash of an entry: over the previous hash and the entry's content."""
    return hashlib.sha256(f"{previous}\n{content}".encode()).hexdigest()


def entry_id(number: int, hash_: str) -> str:
    """What a release carries: its number in the history, and enough of the hash to identify the entry."""
    return f"{number}-{hash_[:16]}"


def content_of(number: int, charge: Charge, k: int, spend: Spend, plan: int = 0, order: str | None = None) -> str:
    # Without the salt, the time of day could be guessed from the id, which is published.
    cost = {"epsilon": str(spend.epsilon), "delta": str(spend.delta), "rho": spend.rho and str(spend.rho)}
    return canonical(
        {"number": number, "when": now(), "salt": secrets.token_hex(16), "what": charge.what}
        | {"privacy": as_values(charge.privacy), "k": k, "cost": cost, "plan": plan}
        | ({} if order is None else {"order": order})
    )


def as_values(privacy: Privacy) -> dict[str, Any]:
    """A promise in plain values, as an entry has it."""
    return {name: str(value) if isinstance(value, str) else value for name, value in vars(privacy).items()}


def topic_of(order: str) -> str:
    """What the delivery of an order is noted under."""
    return f"order {order}"


def note_of(number: int, topic: str, position: str, plan: int) -> str:
    """An entry that costs nothing: how far something that was paid for has come."""
    cost = {"epsilon": "0", "delta": "0", "rho": "0"}
    return canonical(
        {"number": number, "when": now(), "salt": secrets.token_hex(16), "topic": topic, "position": position}
        | {"cost": cost, "plan": plan}
    )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def parsed(path: Path, content: str) -> tuple[dict[str, Any], Spend]:
    """An entry's values, and what it cost."""
    try:
        values: dict[str, Any] = json.loads(content)
        epsilon, delta = (Fraction(values["cost"][name]) for name in ("epsilon", "delta"))
        rho = values["cost"]["rho"]
        return values, Spend(epsilon, delta, None if rho is None else Fraction(rho))
    except (ValueError, KeyError, TypeError):
        raise broken(path, "an entry cannot be read") from None
