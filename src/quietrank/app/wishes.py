"""What somebody chose on the pages in; votes, a promise and a request out, and the command that says the same.

A `Wish` is made of plain values, so that it can be written down before anything is paid for (`orders`).
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from quietrank import pipeline
from quietrank.promise.declare import declare
from quietrank.promise.privacy import Privacy
from quietrank.promise.words import as_options
from quietrank.votes.read import Votes, read_votes

ITEMS_FILE = "items.txt"


@dataclass(frozen=True)
class Survey:
    """Which votes, and how they are read."""

    votes: tuple[str, ...]
    """paths"""
    name: str
    """of the file as its owner knows it"""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """words of `read_votes`, as far as they were chosen"""
    items: tuple[str, ...] | None = None
    """the declared list; None: not declared yet"""
    skip_invalid: bool = False

    def read(self) -> Votes:
        """The votes; as long as no list is declared, with the items that are in them."""
        return read_votes(
            list(self.votes), self.items, items_from_votes=self.items is None, skip_invalid=self.skip_invalid,
            **self.reading,
        )  # fmt: skip

    def in_words(self, message: str) -> str:
        """A message about these votes, with the name that their owner knows in place of where they lie."""
        for path in self.votes:
            message = message.replace(path, f"“{self.name}”")
        return message


@dataclass(frozen=True)
class Wish:
    """A release that somebody would like to have."""

    survey: Survey
    promise: Mapping[str, Any]
    """arguments of `Privacy`"""
    request: Mapping[str, Any] = field(default_factory=dict)
    """method, mechanism and ties, as far as they were chosen"""
    only_top: int | None = None

    @property
    def privacy(self) -> Privacy:
        return Privacy(**self.promise)

    def top_request(self) -> pipeline.TopRequest:
        words = {"mechanism": "auto", "method": "auto", **self.request}
        return pipeline.TopRequest.of(self.only_top, words["mechanism"], words["method"])

    def full_request(self) -> pipeline.Request:
        words = {"mechanism": "auto", "method": "auto", **self.request}
        return pipeline.Request.of(words.pop("mechanism"), words.pop("method"), **words)

    @property
    def name(self) -> str:
        """The same for equal wishes; it says nothing about the votes but how they are read."""
        values = self.to_dict()
        del values["survey"]["votes"], values["survey"]["name"]
        text = json.dumps(values, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def command(self, ledger: str) -> str:
        """What to type for the same release."""
        survey = self.survey
        listed = survey.items is not None and not any("," in name for name in survey.items)
        items = ",".join(survey.items or ()) if listed else ITEMS_FILE
        words = {"items": items, **reading_words(survey.reading), "skip_invalid": survey.skip_invalid}
        words |= {**self.promise, **self.request, "only_top": self.only_top, "ledger": ledger, "out": "release.json"}
        return shlex.join(["quietrank", "rank", survey.name, *as_options(words)])

    def to_dict(self) -> dict[str, Any]:
        """In values that JSON knows."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self), default=str))
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Wish:
        survey = dict(values["survey"])
        items = None if survey["items"] is None else tuple(survey["items"])
        known = Survey(**{**survey, "votes": tuple(survey["votes"]), "items": items})
        return cls(known, values["promise"], values["request"], values["only_top"])

    def moved(self, votes: tuple[Path, ...]) -> Wish:
        """The same about the same votes in other places."""
        return replace(self, survey=replace(self.survey, votes=tuple(map(str, votes))))


def reading_words(reading: Mapping[str, Any]) -> dict[str, Any]:
    """How votes are read, as the command line writes it: lists and meanings as text."""
    return {name: _option_text(value) for name, value in reading.items()}


def _option_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ",".join(f"{word}={meaning}" for word, meaning in value.items())
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


def checked_items(names: list[str]) -> tuple[str, ...]:
    """A list of items that can be ranked; refused if it is none."""
    return declare(names).names
