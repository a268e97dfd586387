"""The work of the pages that takes longer than a moment: plain values in and out, in a process of its own (`work`).

Heavy modules are imported here, once, before the processes are copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from quietrank import pipeline
from quietrank.app import orders
from quietrank.app.wishes import Survey, Wish
from quietrank.app.work import Tell
from quietrank.boards.board import Board
from quietrank.boards.page import page
from quietrank.errors import QuietrankError
from quietrank.estimate.methods import estimate
from quietrank.estimate.noisy import GroupedTally
from quietrank.ledger.book import BudgetLedger
from quietrank.planning.forecast import Prediction
from quietrank.planning.plan import plan
from quietrank.planning.top import plan_top
from quietrank.promise.accounting import Charge
from quietrank.promise.privacy import AUTO
from quietrank.publish import tally_file
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.release import Release
from quietrank.publish.top import TopRelease, as_list
from quietrank.publish.view import View
from quietrank.render.report import summary, summary_top
from quietrank.statistics.method import Method
from quietrank.votes import check as checks
from quietrank.votes.preview import Preview, answers, preview
from quietrank.votes.watch import watching

REPETITIONS = 120
"""simulated surveys: standard errors of a few per cent, in a second or two"""


# ---- votes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Looked:
    """A file as far as it was understood. Confidential."""

    preview: Preview
    report: checks.Report | None = None
    items: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    """as written, where a column says who won"""
    problem: str | None = None
    """why it was not understood"""


def look(tell: Tell, survey: Survey) -> Looked:
    """What a file seems to hold; where it cannot be read yet, its columns, and what is missing."""
    with watching(tell):
        seen = preview(list(survey.votes), **survey.reading)
        try:
            votes = survey.read()
            report = checks.check(votes)
            return Looked(seen, report, votes.items.names, answers(votes))
        except QuietrankError as problem:
            return Looked(seen, problem=problem.in_options())


# ---- planning --------------------------------------------------------------------------------------------------------


def forecast(tell: Tell, sizes: dict[str, Any]) -> list[dict[str, Any]]:
    """What to expect of a survey: one row per ε, each that of the noise that would be used, and one without privacy."""
    expected = plan(**sizes, repetitions=REPETITIONS, curves=False, progress=partial(tell, "simulating surveys"))
    rows = [_as_row(one) for one in expected.predictions if one.chosen or expected.target is not None]
    return [*rows, _as_row(expected.without_privacy) | {"epsilon": None}]


def epsilon_for(tell: Tell, sizes: dict[str, Any], target: str) -> dict[str, Any]:
    """The smallest ε that reaches a target, and what to expect there."""
    expected = plan(
        **sizes, target=target, repetitions=REPETITIONS, curves=False, progress=partial(tell, "simulating surveys")
    )
    return _as_row(expected.best)


def _as_row(one: Prediction) -> dict[str, Any]:
    names = ("mechanism", "epsilon", "top_k_error", "rank_error", "rank_precision", "winner", "winner_precision")
    return {name: getattr(one, name) for name in names}


def chances(tell: Tell, sizes: dict[str, Any], k: int) -> list[dict[str, Any]]:
    """How often the first k come out right, by ε."""
    expected = plan_top(k=k, **sizes, repetitions=REPETITIONS, progress=partial(tell, "simulating surveys"))
    return expected.rows()


def sizes_of(report: checks.Report, wish: Wish) -> dict[str, Any]:
    """The size of this survey, for a forecast. Confidential: it is shown to the data holder, and decides nothing."""
    promise = {name: value for name, value in wish.promise.items() if name not in ("epsilon", "max_per_person")}
    if promise["unit"] != "person":
        return {"items": report.items, "votes": max(report.votes, 1), **promise}
    typical = max(1, round(report.votes_per_person.get("median", 1)))
    people = max(1, int(report.people or 1))
    limit = wish.promise.get("max_per_person")
    if promise.get("one_per_pair"):
        typical = min(typical, report.items * (report.items - 1) // 2)
    known = {} if limit in (None, AUTO) else {"max_per_person": limit}
    return {"items": report.items, "people": people, "per_person": typical, **known, **promise}


# ---- a release -------------------------------------------------------------------------------------------------------


class _QuotedError(Exception):
    def __init__(self, charge: Charge) -> None:
        super().__init__()
        self.charge = charge


class _Quote:
    """In place of a ledger: hears the price, and stops everything before it is paid."""

    def debit(self, charge: Charge) -> str:
        raise _QuotedError(charge)


@dataclass(frozen=True)
class Offer:
    """What a release would cost, and what would be left."""

    order: str
    before: int
    """how many releases of exactly this kind were delivered already"""
    statement: str
    """the promise as it will be printed"""
    exact: bool
    """whether that is certain; a limit that is yet to be chosen will be in it"""
    what: str
    epsilon: float
    delta: float
    remaining: float
    remaining_after: float
    paid: bool
    """whether it was paid for before and never delivered: it costs nothing more"""


def offer(tell: Tell, wish: Wish, ledger: Path) -> Offer:
    """Read and count the votes as for the release, up to the price; nothing is paid, and nothing is drawn."""
    book = BudgetLedger.open(ledger)
    book.require_writable()
    with watching(tell):
        charge = _price(tell, wish)
    name, before = orders.name_of(wish, book)
    paid = orders.is_paid(ledger, name)
    left = book.remaining
    after = left if paid else book.remaining_after(charge)
    said = charge.privacy.statement if wish.only_top is None else as_list(charge.privacy.statement)
    return Offer(
        name, before, said, not wish.privacy.chooses_limit, charge.what, charge.cost.epsilon, charge.cost.delta, left,
        after, paid,
    )  # fmt: skip


def _price(tell: Tell, wish: Wish) -> Charge:
    votes, privacy = wish.survey.read(), wish.privacy
    try:
        if wish.only_top is not None:
            pipeline.make_top(votes, privacy, wish.top_request(), _Quote(), partial(tell, "simulating"))
        else:
            pipeline.make_release(votes, privacy, wish.full_request(), _Quote())
    except _QuotedError as quoted:
        return quoted.charge
    raise AssertionError("a release was made that nobody paid for")


# ---- a result --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """A release as it is shown and downloaded."""

    html: str
    """headline, figure, table, promise and notes"""
    report: str
    json: str
    csv: str
    figure: str | None
    """SVG"""
    methods: tuple[str, ...] = ()
    """by which the same counts can be ranked at no cost"""
    method: str = ""
    scale: str = ""


METHODS = tuple(method.value for method in Method if method is not Method.AUTO)


def show(tell: Tell, delivered: dict[str, Any], view: dict[str, Any] | None = None) -> Shown:
    """A delivered release, or another made from the same noisy counts at no cost."""
    release = _as_delivered(delivered) if not view else _rerank(tell, delivered, view)
    return as_shown(release, _possible_methods(delivered))


def as_shown(release: Release | GroupedRelease | TopRelease, methods: tuple[str, ...] = ()) -> Shown:
    one = release.releases[0][1] if isinstance(release, GroupedRelease) else release
    scale = one.scale.value if isinstance(one, Release) else ""
    html = summary_top(release) if isinstance(release, TopRelease) else summary(release)
    return Shown(
        html, release.report(), release.to_json(), release.to_csv(), _figure(release), methods,
        one.method, scale,
    )  # fmt: skip


def _as_delivered(delivered: dict[str, Any]) -> Release | GroupedRelease | TopRelease:
    values = delivered["release"]
    if delivered["kind"] == "top":
        return TopRelease.from_dict(values)
    return GroupedRelease.from_dict(values) if "groups" in values else Release.from_dict(values)


def _rerank(tell: Tell, delivered: dict[str, Any], view: dict[str, Any]) -> Release | GroupedRelease:
    words = {"method": "auto", "level": 0.9, "simultaneous": False, "scale": "log-odds", **view}
    look = View.of(words["level"], words["simultaneous"], words["scale"], None)
    request = pipeline.Request.of("auto", words["method"], view=look)
    return pipeline.release_of(tally_file.from_dict(delivered["tally"]), request, partial(tell, "comparing items"))


def _possible_methods(delivered: dict[str, Any]) -> tuple[str, ...]:
    """The methods that the counts suffice for."""
    if delivered["tally"] is None:
        return ()
    tally = tally_file.from_dict(delivered["tally"])
    one = tally.tallies[0][1] if isinstance(tally, GroupedTally) else tally

    def suffices(method: str) -> bool:
        try:
            estimate(one, Method(method))
        except QuietrankError:
            return False
        return True

    return tuple(filter(suffices, METHODS))


def _figure(release: Release | GroupedRelease | TopRelease) -> str | None:
    if isinstance(release, TopRelease):
        return None
    written = StringIO()
    release.plot().savefig(written, format="svg", bbox_inches="tight")
    return written.getvalue()


# ---- boards ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BoardShown:
    """A board as it stands."""

    summary: str
    html: str | None
    """of the last day; None while it is hidden"""
    hidden: str | None
    report: str | None
    ends_soon: str | None


def look_at_board(tell: Tell, path: Path) -> BoardShown:
    """The last board, and how it came there."""
    board = Board.open(path)
    tell("comparing items", None)
    if (hidden := board.hidden()) is not None:
        return BoardShown(board.summary(), None, hidden, None, board.ends_soon)
    return BoardShown(board.summary(), summary(board.release()), None, page(board), board.ends_soon)


def update_board(tell: Tell, path: Path, survey: Survey, days: dict[str, Any]) -> list[int]:
    """Count and publish all days that are over; returns them."""
    board = Board.open(path)
    with watching(tell):
        return board.update(list(survey.votes), skip_invalid=survey.skip_invalid, **survey.reading, **days)


def make_ledger(path: Path, words: dict[str, Any]) -> None:
    """A new budget."""
    BudgetLedger.create(path, **words)
