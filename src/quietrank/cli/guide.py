"""Answers in plain words in; the promise they make, the command and the Python lines that keep it out."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from quietrank.cli.options import VotesOptions
from quietrank.errors import UsageError
from quietrank.promise.arguments import whole_number
from quietrank.promise.privacy import AUTO, MAX_PER_PERSON, Neighbours, Privacy, Unit, plain_number
from quietrank.promise.words import DESIGNS, PUBLIC, as_options

PAIRS, UNKNOWN = "pairs", "unknown"
BUDGET = "budget.db"


@dataclass(frozen=True)
class Answers:
    """What the data holder said; the file decides nothing."""

    unit: str
    questions: str | None
    """for people: the most that one of them could answer, `pairs` (each pair once) or `unknown`"""
    repeats: bool
    """whether anybody could be asked the same pair twice"""
    asked: str
    """who was asked what: public, random or secret"""
    epsilon: float
    again: bool
    """whether there will be more than one release"""

    @property
    def limits(self) -> dict[str, Any]:
        """How a person is bounded, as arguments of `Privacy`."""
        if self.unit != Unit.PERSON:
            return {}
        if self.questions == PAIRS:
            return {"one_per_pair": True}
        limit = AUTO if self.questions == UNKNOWN else number_of_questions(self.questions or "")
        return {"max_per_person": limit, **({} if self.repeats else {"one_per_pair": True})}

    @property
    def promise(self) -> dict[str, Any]:
        """The arguments of `Privacy`, in the order in which they are read."""
        return {"unit": self.unit, "epsilon": self.epsilon, **self.limits, **DESIGNS[self.asked]}

    @property
    def privacy(self) -> Privacy:
        return Privacy(**self.promise)


def number_of_questions(answer: str) -> int:
    """A whole number of questions."""
    try:
        number = whole_number(float(answer))
    except (ValueError, OverflowError):
        number = None
    if number is None or not 1 <= number <= MAX_PER_PERSON:
        raise UsageError(f"--questions must be a whole number, {PAIRS} or {UNKNOWN}; got {answer!r}")
    return number


def commands(source: VotesOptions, answers: Answers, *, items_from_votes: bool) -> list[str]:
    """What to run, a command each."""
    given = _given(source) | ({"items_from_votes": True} if items_from_votes else {})
    words = ["quietrank", "rank", *(source.votes or ())]
    words += as_options(given | answers.promise)
    results = ["--out", "release.json", "--report", "ranking.html"]
    if not answers.again:
        return [shlex.join([*words, *results])]
    budget = ["quietrank", "ledger", "new", BUDGET, "--epsilon", plain_number(answers.epsilon)]
    of = ["--unit", answers.unit, "--data", Path(source.votes[0]).stem if source.votes else source.table or "votes"]
    if answers.asked == PUBLIC:
        of += ["--neighbours", str(Neighbours.OUTCOME)]
    return [shlex.join([*budget, *of]), shlex.join([*words, "--ledger", BUDGET, *results])]


def python(source: VotesOptions, answers: Answers, *, items_from_votes: bool) -> list[str]:
    """The same from Python, a line each."""
    read = {name: value for name, value in _given(source).items() if name not in ("items", "items_from_votes", "pairs")}
    items = "items_from_votes=True" if items_from_votes else f"items={_items_in_python(source.items or '')}"
    more = "".join(f", {name}={_literal(value)}" for name, value in read.items())
    promise = ", ".join(f"{name}={_literal(value)}" for name, value in answers.promise.items())
    ledger = f', ledger="{BUDGET}"' if answers.again else ""
    lines = ["import quietrank as qr", ""]
    if source.pairs is not None:
        lines = ["import csv", "", *lines]
        more += f", pairs=csv.reader(open({str(source.pairs)!r}))"
    return [
        *lines,
        f"votes = qr.read_votes({f'{_literal(source.votes)}, ' if source.votes else ''}{items}{more})",
        f"release = qr.rank(votes, qr.Privacy({promise}){ledger})",
        'release.to_json("release.json")',
        'release.report("ranking.html")',
    ]


def _given(source: VotesOptions) -> dict[str, Any]:
    """The options about the votes that were given; of the URL of a database, what may be shown."""
    from quietrank.votes.databases import public_url

    named = [field for field in fields(source) if field.name != "votes"]
    given = {field.name: value for field in named if (value := getattr(source, field.name)) != field.default}
    return given | {"connect": public_url(given["connect"])} if "connect" in given else given


def _literal(value: Any) -> str:
    """A value as Python writes it, in plain types."""
    if isinstance(value, list):
        return _literal(value[0]) if len(value) == 1 else f"[{', '.join(map(_literal, value))}]"
    plain = str(value) if isinstance(value, str | Path) else value
    return plain_number(plain) if isinstance(plain, float) else repr(plain)


def _items_in_python(items: str) -> str:
    """A list of names, or the lines of a file."""
    from quietrank.promise.declare import is_file

    if "," in items and not is_file(Path(items)):
        return repr([name.strip() for name in items.split(",")])
    return f"open({items!r}).read().splitlines()"
