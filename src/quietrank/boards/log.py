"""The public log of a board: its terms, and what was published since; lines of JSON in, a `Log` out.

Each line's hash covers the line and the hash before it, so that a line that was changed alone is noticed;
not lines whose hashes were all computed anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from quietrank.arrays import Integers
from quietrank.boards.rules import Rules
from quietrank.errors import BoardError
from quietrank.ledger.records import canonical, chained
from quietrank.mechanisms.horizon import BoardNoise
from quietrank.mechanisms.registry import BOARD_NOISES
from quietrank.promise.every import Every
from quietrank.promise.items import Items
from quietrank.promise.privacy import GroupOf, Privacy
from quietrank.promise.promise import Promise
from quietrank.publish.tabular import privacy_from_dict, promise
from quietrank.votes.daily.arrivals import Calendar

FORMAT = "quietrank/board/1"


@dataclass(frozen=True)
class Terms:
    """What is fixed for the whole life of a board; public."""

    board: str
    """its id"""
    privacy: Privacy
    items: tuple[str, ...]
    """of the first day"""
    horizon: int
    every: Every
    start: date
    window: int | None = None
    by: str | None = None
    groups: tuple[str, ...] | None = None

    @property
    def calendar(self) -> Calendar:
        return Calendar(self.start, self.every.days)

    @cached_property
    def noise(self) -> BoardNoise:
        """The noise of every day; computed from these terms alone."""
        promised = Promise(self.privacy, Items(self.items), self.groups, GroupOf.VOTE, leaves_out=True)
        (kind,) = (one for one in BOARD_NOISES if one.is_for(self.privacy))
        return kind.over(promised, self.horizon, self.window)

    @property
    def topic(self) -> str:
        """What a ledger calls the board."""
        return f"board {self.board}"

    @property
    def payment(self) -> str:
        """What a ledger says about the payment for all of it."""
        return f"{self.topic}: {self.noise.name} noise on {self.horizon} {self.every}s"

    def last_day(self, day: int) -> date:
        """The last date of a day, or week, of the board."""
        return self.start + timedelta(days=day * self.every.days - 1)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT, "board": self.board, "privacy": promise(self.privacy), "items": list(self.items),
            "horizon": self.horizon, "every": self.every.value, "start": str(self.start), "window": self.window,
            "by": self.by, "groups": None if self.groups is None else list(self.groups),
            "noise": self.noise.about,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Terms:
        groups = values["groups"]
        terms = cls(
            values["board"], privacy_from_dict(values["privacy"]), tuple(values["items"]), values["horizon"],
            Every(values["every"]), date.fromisoformat(values["start"]), values["window"], values["by"],
            None if groups is None else tuple(groups),
        )  # fmt: skip
        if canonical(terms.to_dict()) != canonical(values):
            raise ValueError("its noise is not the one that its promise needs")
        return terms


@dataclass(frozen=True, eq=False)
class Day:
    """What was published on one day, for each part and item that was listed: in steps of the noise."""

    number: int
    net_wins: Integers
    exposures: Integers
    head: str
    """the hash of its line"""


@dataclass(frozen=True, eq=False)
class Log:
    """Everything that was published; public."""

    terms: Terms
    items: tuple[str, ...]
    """all that were ever listed, in the order in which they joined"""
    since: tuple[int, ...]
    """the day on which each of them joined"""
    entry: str | None = None
    """the id of the payment in the ledger"""
    retired: frozenset[str] = frozenset()
    assumed: tuple[str, ...] = ()
    """what was assumed about where votes came from, each time that votes were read"""
    rules: Rules | None = None
    """how votes are read, from the first day that was counted by these rules; earlier boards did not write them down"""
    days: tuple[Day, ...] = ()
    head: str = ""
    lines: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def new(cls, terms: Terms) -> Log:
        content = terms.to_dict()
        head = chained(FORMAT, canonical(content))
        return cls(terms, terms.items, (1,) * len(terms.items), head=head, lines=(_line(content, head),))

    @classmethod
    def of(cls, lines: Sequence[str]) -> Log:
        """From its lines, checked one by one."""
        try:
            first = _content(lines[0])
            log = cls.new(Terms.from_dict(first[0]))
            if log.head != first[1]:
                raise ValueError("its first line is not what was written")
            for line in lines[1:]:
                content, head = _content(line)
                log = log._with(content)
                if log.head != head:
                    raise ValueError(f"line {len(log.lines)} is not what was written")
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise BoardError(f"this board is damaged ({error}); use an undamaged copy of the file") from None
        return log

    @property
    def position(self) -> str | None:
        """How far it has come, for a ledger; None before the first day."""
        return f"day {self.days[-1].number} {self.days[-1].head}" if self.days else None

    def position_before(self) -> str | None:
        """The same without the last day."""
        return replace(self, days=self.days[:-1]).position

    def listed(self, day: int) -> int:
        """How many items are listed on this day; those that join later come after them."""
        return sum(since <= day for since in self.since)

    # ---- what may come next -----------------------------------------------------------------------------------------

    def with_day(self, net_wins: Integers, exposures: Integers) -> Log:
        number = len(self.days) + 1
        return self._with({"day": number, "net_wins": net_wins.tolist(), "exposures": exposures.tolist()})

    def with_items(self, names: Sequence[str]) -> Log:
        return self._with({"joined": list(names), "from": len(self.days) + 1})

    def with_payment(self, entry: str) -> Log:
        return self._with({"paid": entry})

    def with_retired(self, names: Sequence[str]) -> Log:
        return self._with({"retired": list(names)})

    def with_assumption(self, sentence: str) -> Log:
        return self._with({"assumed": sentence})

    def with_rules(self, rules: Rules) -> Log:
        return self._with({"rules": rules.to_dict()})

    def _with(self, content: dict[str, Any]) -> Log:
        head = chained(self.head, canonical(content))
        longer = replace(self, head=head, lines=(*self.lines, _line(content, head)))
        if "joined" in content:
            names, since = tuple(content["joined"]), (int(content["from"]),) * len(content["joined"])
            if content["from"] != len(self.days) + 1 or set(names) & set(self.items):
                raise ValueError("items join once, on the next day")
            return replace(longer, items=(*self.items, *names), since=(*self.since, *since))
        if "paid" in content:
            return replace(longer, entry=str(content["paid"]))
        if "retired" in content:
            return replace(longer, retired=self.retired | frozenset(content["retired"]))
        if "assumed" in content:
            return replace(longer, assumed=(*self.assumed, str(content["assumed"])))
        if "rules" in content:
            if self.rules is not None:
                raise ValueError("how votes are read is fixed once")
            return replace(longer, rules=Rules(**content["rules"]))
        size = self.listed(len(self.days) + 1) * len(self.terms.groups or ("",))
        net_wins, exposures = (np.array(content[name], dtype=np.int64) for name in ("net_wins", "exposures"))
        if content["day"] != len(self.days) + 1 or not len(net_wins) == len(exposures) == size:
            raise ValueError("a day is missing, or not of these items")
        return replace(longer, days=(*self.days, Day(content["day"], net_wins, exposures, head)))


def _line(content: dict[str, Any], head: str) -> str:
    return canonical(content | {"hash": head})


def _content(line: str) -> tuple[dict[str, Any], str]:
    values = json.loads(line)
    head = values.pop("hash")
    return values, str(head)
