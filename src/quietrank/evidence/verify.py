"""A release file in, a `Verification` out: line by line what holds, what does not, and what cannot be checked.

Nothing is fetched and no votes are read: what follows from the promise is computed again, and compared with the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietrank import __version__
from quietrank.errors import QuietrankError, UsageError
from quietrank.evidence.noise import ImpossibleNoiseError, UnknownNoiseError, is_cut, of_all_groups
from quietrank.evidence.noisy_tally import difference
from quietrank.evidence.notes import unknown_note
from quietrank.evidence.payment import payment_of
from quietrank.evidence.subject import Subject
from quietrank.promise.arguments import file_path
from quietrank.promise.privacy import plain_number
from quietrank.publish.files import VERIFICATION
from quietrank.publish.release import Release, Row, order
from quietrank.publish.tabular import Tabular
from quietrank.publish.tally_file import load_any
from quietrank.publish.top import TopRelease
from quietrank.render.report import is_of_a_board, unchecked
from quietrank.statistics.method import Method

if TYPE_CHECKING:
    from rich.console import Group

FORMAT = "quietrank/verification/1"
ROUNDING = 1e-6
LEAST_FIRST = 0.5
"""the probability of being first that is left for the rows of a shortened ranking whose possible ranks are all shown"""
UNSEEN = (
    "without it only what follows from the promise is checked: not names, scores, intervals, probabilities, the ridge, "
    "what the scatter is, notes and the condition"
)
MADE_WITH = re.compile(r"quietrank \d+\.\d+\.\d+\w*")

Tell = Callable[[float], None]


class Verdict(StrEnum):
    """What a check found."""

    HOLDS = "holds"
    BROKEN = "BROKEN"
    UNKNOWN = "not checked"


STYLES = {Verdict.HOLDS: "green", Verdict.BROKEN: "bold red", Verdict.UNKNOWN: "dim"}


@dataclass(frozen=True)
class Line:
    """One check."""

    what: str
    verdict: Verdict
    why: str


@dataclass(frozen=True)
class Verification(Tabular):
    """All checks of one release, in the order in which they were made."""

    kind = VERIFICATION

    file: str
    sha256: str
    tally_sha256: str | None
    """of the noisy tally, if it was given"""
    lines: tuple[Line, ...]
    unchecked: tuple[str, ...]
    """what nobody can check from outside"""

    @property
    def holds(self) -> bool:
        """Whether nothing that could be checked is broken."""
        return self.reason is None

    @property
    def reason(self) -> str | None:
        """The first thing that is broken."""
        return next((f"{line.what}: {line.why}" for line in self.lines if line.verdict is Verdict.BROKEN), None)

    def rows(self) -> list[dict[str, Any]]:
        return [{"check": line.what, "verdict": line.verdict.value, "why": line.why} for line in self.lines]

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "file": self.file,
            "sha256": self.sha256,
            "tally_sha256": self.tally_sha256,
            "holds": self.holds,
            "checks": self.rows(),
            "cannot_be_checked": list(self.unchecked),
            "made_with": f"quietrank {__version__}",
        }

    def page(self) -> Group:
        return render(self)


def render(verification: Verification) -> Group:
    """The table, and what nobody can check."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from quietrank.render.screen import visible

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("check", "verdict", "why"):
        table.add_column(heading, no_wrap=heading != "why")
    for line in verification.lines:
        verdict = Text(line.verdict.value, style=STYLES[line.verdict])
        table.add_row(line.what, verdict, Text(visible(line.why)))
    result = "All that could be checked holds." if verification.holds else f"BROKEN: {verification.reason}"
    outside = [Text(f"  {visible(sentence)}") for sentence in verification.unchecked]
    return Group(table, Text(visible(result), style="bold"), Text("What cannot be checked from outside:"), *outside)


def verify(
    subject: Subject,
    *,
    ledger: str | Path | None = None,
    tally: str | Path | None = None,
    tell: Tell = lambda done: None,
) -> Verification:
    """Check all that can be checked; with the ledger that paid, and with the noisy tally that it was made from."""
    if tally is not None and isinstance(subject.result, TopRelease):
        raise UsageError("a list of names has no noisy tally; leave --tally out")
    lines = [
        *_of_the_file(subject),
        _of_the_statement(subject),
        _of_the_notes(subject),
        *_of_the_noise(subject),
        _of_the_tally(subject, tally, tell),
        _of_the_ledger(subject, ledger),
    ]
    return Verification(subject.path.name, subject.sha256, _hash(tally), tuple(lines), tuple(unchecked(subject.one)))


def _hash(tally: str | Path | None) -> str | None:
    """Of the file; None where there is none, of which its line speaks."""
    path = None if tally is None else file_path(tally)
    return sha256(path.read_bytes()).hexdigest() if path is not None and path.is_file() else None


def _line(what: str, wrong: str | None, otherwise: str) -> Line:
    return Line(what, Verdict.HOLDS, otherwise) if wrong is None else Line(what, Verdict.BROKEN, wrong)


# ---- the file -------------------------------------------------------------------------------------------------------


def _of_the_file(subject: Subject) -> Iterator[Line]:
    yield _line("format", _misread(subject), f"{subject.kind}, {subject.format}; every value was understood")
    if isinstance(subject.result, TopRelease):
        k, lists = subject.result.k, len(subject.result.lists)
        several = f"; {lists} lists" if lists > 1 else ""
        yield Line("list", Verdict.HOLDS, f"{k} of {subject.result.items} names, each once{several}")
        return
    wrong = next((_in(group, why) for group, one in subject.releases for why in _inconsistent(one)), None)
    sizes = {frozenset(row.item for row in one) for _, one in subject.releases}
    if wrong is None and len(sizes) > 1 and all(len(one) == len(subject.releases[0][1]) for _, one in subject.releases):
        wrong = None if _is_shortened(subject) else "the groups do not rank the same items"
    yield _line(
        "ranking",
        wrong,
        "ranks follow from the scores, in their intervals and rank sets; probabilities add up",
    )


def _is_shortened(subject: Subject) -> bool:
    """Whether only the first items of each group are shown, which may be others."""
    return all(is_cut(one) for _, one in subject.releases)


def _in(group: str, why: str) -> str:
    return f"{group}: {why}" if group else why


def _misread(subject: Subject) -> str | None:
    """The first thing in the file that quietrank would not have written; what other versions leave out is not known."""
    made = subject.one.made_with
    if not MADE_WITH.fullmatch(made):
        return f"made_with is {made!r}, and no version of quietrank"
    whole = made == f"quietrank {__version__}"
    return next(_unread(subject.values, subject.result.to_dict(), whole), None)


def _unread(written: Any, understood: Any, whole: bool, place: str = "") -> Iterator[str]:
    """What stands in the file and is not what quietrank would write, or is missing from a file that should be `whole`;
    the statement has a line of its own."""
    if isinstance(written, Mapping) and isinstance(understood, Mapping):
        for name in dict.fromkeys([*written, *understood]):
            here = f"{place}.{name}" if place else str(name)
            if name == "statement" and place.rpartition(".")[2] == "privacy":
                continue
            if name not in understood:
                yield f"{here} is no part of such a file"
            elif name in written:
                yield from _unread(written[name], understood[name], whole, here)
            elif whole:
                yield f"{here} is missing"
    elif isinstance(written, list) and isinstance(understood, list) and len(written) == len(understood):
        for k, (one, other) in enumerate(zip(written, understood, strict=True)):
            yield from _unread(one, other, whole, f"{place}[{k}]")
    elif written != understood:
        yield f"{place} is {written!r}, and reads as {understood!r}"


def _inconsistent(release: Release) -> Iterator[str]:
    """What does not fit together in a ranking that could be read: ranks and scores were compared on reading."""
    import numpy as np

    rows = release.ranking
    names, scores = tuple(row.item for row in rows), np.array([row.score for row in rows])
    # Rates are cut off at 0 and 1, and other scores rounded: what is equal there was not equal when it was ordered.
    counted = release.method in (Method.NET_WINS, Method.WINS)
    if counted and order(scores, names) != list(range(len(rows))):
        yield "items with equal scores are not in the order of quietrank"
    for row in rows:
        yield from (f"{row.item}: {why}" for why in _misplaced(row, release.method))
    yield from _improbable(release)
    for above, below in pairwise(rows):
        if above.tier is not None and below.tier is not None and below.tier < above.tier:
            yield f"{below.item} is in a better tier than {above.item}, which ranks above it"


def _improbable(release: Release) -> Iterator[str]:
    """One item is first and k are among the first k, so probabilities sum to 1 and to k at most; less where items are
    hidden, beyond the first few or retired from a board, but hardly where no rank beyond the rows is possible."""
    rows, certainty = release.ranking, release.certainty
    if certainty is None or any(row.probability_first is None or row.probability_top is None for row in rows):
        return
    first, top = sum(row.probability_first or 0 for row in rows), sum(row.probability_top or 0 for row in rows)
    all_shown = max(row.rank_high or 0 for row in rows) <= len(rows) and not is_of_a_board(release)
    if first > 1 + ROUNDING or (all_shown and first < LEAST_FIRST):
        yield f"the probabilities of being first sum to {first:.4g}"
    if top > certainty.top + ROUNDING:
        yield f"the probabilities of being among the first {certainty.top} sum to {top:.4g}"
    for row in rows:
        if (row.probability_first or 0) > (row.probability_top or 0) + ROUNDING:
            yield f"{row.item}: being first is likelier than being among the first {certainty.top}"


def _misplaced(row: Row, method: str) -> Iterator[str]:
    if row.rank_low is not None and row.rank_high is not None and not row.rank_low <= row.rank <= row.rank_high:
        yield f"rank {row.rank} is not among its possible ranks, {row.rank_low} to {row.rank_high}"
    if row.score_low is not None and row.score_high is not None and not row.score_low <= row.score <= row.score_high:
        yield "its score is outside of its interval"
    for name in ("probability_first", "probability_top"):
        value = getattr(row, name)
        if value is not None and not 0 <= value <= 1:
            yield f"{name} is {value}, and no probability"
    same = {Method.NET_WINS.value: row.net_wins, Method.WIN_RATE.value: row.win_rate}.get(method)
    if same is not None and same != row.score:
        yield f"its score is {row.score}, and it is ranked by {method}, which is {same}"


def _of_the_statement(subject: Subject) -> Line:
    """The sentence in the file, and in each of its groups, must be the one that follows from the promise."""
    written = [(subject.values["privacy"].get("statement"), subject.result.statement)]
    for group, release in subject.releases if subject.groups is not None else ():
        part = subject.values["groups"].get(group) or subject.values["overall"]
        written.append((part["privacy"].get("statement"), release.statement))
    wrong = next((says for says, follows in written if says != follows), None)
    said = None if wrong is None else f"it says «{wrong}», and from its promise follows «{dict(written)[wrong]}»"
    if any(says is None for says, _ in written):
        said = "there is no sentence that states the promise"
    return _line("statement", said, "the sentence is the one that follows from the promise")


def _of_the_notes(subject: Subject) -> Line:
    """Every note must be one that quietrank writes; other versions may write others."""
    every = [subject.one.assumptions, *(release.assumptions for _, release in subject.releases)]
    strange = next(filter(None, map(unknown_note, every)), None)
    if strange is None:
        return Line("notes", Verdict.HOLDS, "each begins like one that quietrank writes; not that it belongs here")
    why = f"«{strange}» is none that quietrank {__version__} writes"
    same = subject.one.made_with == f"quietrank {__version__}"
    return Line("notes", Verdict.BROKEN if same else Verdict.UNKNOWN, why)


# ---- the noise ------------------------------------------------------------------------------------------------------


def _of_the_noise(subject: Subject) -> Iterator[Line]:
    """The scale follows from the promise, and the loss of the noise keeps it."""
    try:
        every = of_all_groups(subject)
    except UnknownNoiseError as reason:
        yield Line("noise", Verdict.UNKNOWN, str(reason))
        yield Line("loss", Verdict.UNKNOWN, "without the noise its loss cannot be computed")
        return
    except ImpossibleNoiseError as reason:
        yield Line("noise", Verdict.BROKEN, str(reason))
        yield Line("loss", Verdict.UNKNOWN, "there is no such noise, so its loss is not known")
        return
    wrong = next((one.complaints[0] for _, one in every if one.complaints), None)
    figures = dict(subject.one.mechanism.figures)
    known = [f"{name} {figures[name]:.6g}" for name in ("scale", "sensitivity") if name in figures]
    _, one = every[0]
    shown = 0 if isinstance(subject.one, TopRelease) else len(subject.one)
    unseen = f"; it is that of {one.items} items, of which {shown} are shown" if 0 < shown < one.items else ""
    again = f"{' for '.join(known)}, calibrated again from the promise"
    yield _line("noise", wrong, f"{subject.one.mechanism.name} noise, {again}{unseen}")
    if wrong is not None:
        yield Line(
            "loss", Verdict.UNKNOWN, "the noise in the file is not that of its promise, so its loss is not known"
        )
        return
    loss, privacy = one.loss, subject.privacy
    delta = f", δ ≤ {loss.delta:.6g}" if privacy.delta else ""
    broken = None if one.keeps(subject) else f"the noise loses ε = {loss.epsilon:.6g}{delta}, more than is promised"
    promised = f"ε = {plain_number(privacy.epsilon)}" + (
        f", δ = {plain_number(privacy.delta)}" if privacy.delta else ""
    )
    parts = {
        "counts": one.counts_loss,
        "scatter": one.scatter and one.scatter.loss,
        "limit": one.limit and one.limit.loss,
    }
    costs = {name: cost for name, cost in parts.items() if cost is not None}
    summed = " + ".join(f"{cost.epsilon:.6g} ({name})" for name, cost in costs.items())
    total = f"{summed} = {loss.epsilon:.6g}" if len(costs) > 1 else f"{loss.epsilon:.6g}"
    yield _line("loss", broken, f"recomputed from the sensitivity: ε ≤ {total}{delta}; promised is {promised}")


# ---- what was given besides -----------------------------------------------------------------------------------------


def _of_the_tally(subject: Subject, path: str | Path | None, tell: Tell) -> Line:
    what = "tally"
    if path is None:
        if isinstance(subject.result, TopRelease):
            return Line(what, Verdict.UNKNOWN, "a list of names has none: its names and its chances are not checked")
        if subject.is_of_a_board:
            return Line(
                what, Verdict.UNKNOWN, f"{UNSEEN}; they follow from the public file of the board: quietrank board show"
            )
        if dict(subject.one.mechanism.figures).get("link") is not None:
            return Line(what, Verdict.UNKNOWN, f"{UNSEEN}: noise inside the likelihood leaves no tally")
        return Line(what, Verdict.UNKNOWN, f"{UNSEEN}; give the noisy counts as --tally TALLY.json")
    try:
        wrong = difference(subject, load_any(path), tell)
    except QuietrankError as error:
        wrong = error.in_options()
    return _line(what, wrong, "the noisy tally gives the same release again: scores, intervals, rank sets, notes")


def _of_the_ledger(subject: Subject, path: str | Path | None) -> Line:
    what, named = "ledger", subject.result.ledger_entry
    if path is None:
        if named is None:
            return Line(what, Verdict.UNKNOWN, "the release names no ledger")
        return Line(what, Verdict.UNKNOWN, f"the release names entry {named}; give the ledger as --ledger FILE")
    try:
        paid = payment_of(subject, path)
    except QuietrankError as error:
        return Line(what, Verdict.BROKEN, error.in_options())
    cost = f"ε = {plain_number(paid.entry.promise['epsilon'])}"
    place = f"entry {paid.link.number} of {paid.link.entries}"
    return Line(
        what, Verdict.HOLDS, f"{place}, {paid.entry.id}, paid {cost}; the chain is intact up to {paid.link.last}"
    )
