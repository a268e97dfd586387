"""A release in, an audit of its promise out, and in what the promise that was attacked differs from the release.

The mechanism, unit, neighbours, design, bounds, ε and δ are those of the release. Numbers that make an attack long are
made smaller, and each time that is said: items, groups, votes per person, names on a list, days of a board.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from quietrank import __version__
from quietrank.auditing.cases import Case
from quietrank.auditing.checks import FULL, QUICK
from quietrank.auditing.report import Audit
from quietrank.auditing.run import Progress
from quietrank.auditing.single import Attack, attack
from quietrank.auditing.streams import BoardCase
from quietrank.errors import PrivacyError, QuietrankError
from quietrank.evidence.noise import (
    BoardFacts,
    ImpossibleNoiseError,
    RecomputedNoise,
    UnknownNoiseError,
    recompute,
)
from quietrank.evidence.subject import Subject
from quietrank.mechanisms.choose import released_by
from quietrank.mechanisms.mechanism import Calibrated, Mechanism
from quietrank.mechanisms.selection import Selection
from quietrank.promise.declare import declare
from quietrank.promise.privacy import Unit, plain_number
from quietrank.promise.promise import Promise
from quietrank.publish.release import Release
from quietrank.publish.top import TopRelease
from quietrank.statistics.method import Method, Ties

SMALLEST_EPSILON, LARGEST_EPSILON = 0.001, 20.0
"""beyond these an attack shows nothing: too many runs would be needed, or every result is allowed"""
ITEMS, DRAWN_ITEMS, FEWEST_ITEMS = 4, 3, 2
"""of the audit's cases: for bounds and losses, for the fit of the noise, for the black box"""
MORE_ITEMS = (13, 25)
"""tried where noise on few items has another form than that of the release"""
MOST_GROUPS, MOST_VOTES, MOST_NAMES, MOST_DAYS = 3, 50, 2, 8
METHODS = (Method.NET_WINS, Method.WINS, Method.WIN_RATE, Method.BRADLEY_TERRY, Method.AUTO)

WHY = (
    "Votes were made up, written to a file, read, bounded and counted, and real noise was drawn, all by the code that "
    "is installed here. Neighbouring files were compared: a break would be an output that tells them apart by more "
    "than is promised.",
    "Sensitivities follow from formulas in which the numbers of items, groups and votes are variables, and the code "
    "that bounds, counts and draws noise of this form is the same whatever they are: a fault there shows with few too.",
)
NOT = (
    "It is no proof: an audit can break a promise, never prove one. The proof is on the page that is named above.",
    "It is not sharp everywhere: the black box sees outputs alone, and its lower bound says how strong an attack it "
    "was. A fault that raises the loss by less than what is between that bound and the claim is for the other checks.",
    "It is no test at the size of the release: a fault that appears with many items, groups or votes only is not seen.",
    "It says nothing about the run that made the release, which nobody can repeat: not about its votes, and not about "
    "the machine that drew its noise.",
)


class NotAuditedError(QuietrankError):
    """Why a promise cannot be attacked."""


@dataclass(frozen=True)
class PromiseAudit:
    """What the audit found about the promise of a release."""

    audit: Audit | None
    """None where it could not be run"""
    reason: str
    """why not"""
    same: tuple[str, ...] = ()
    """what is as in the release"""
    differs: tuple[str, ...] = ()
    """what is smaller, and why that is said"""

    @property
    def passed(self) -> bool | None:
        """None where nothing was attacked."""
        return None if self.audit is None else self.audit.passed


def audit_promise(
    subject: Subject, *, full: bool = False, workers: int | None = None, progress: Progress | None = None
) -> PromiseAudit:
    """Attack exactly this promise, here and now; what cannot be attacked says so."""
    try:
        promise, same, differs = attack_on(subject)
        audit = attack(promise, FULL if full else QUICK, workers=workers, progress=progress)
    except (NotAuditedError, UnknownNoiseError, ImpossibleNoiseError, PrivacyError) as reason:
        return PromiseAudit(None, str(reason))
    return PromiseAudit(audit, "", tuple(same), tuple(differs))


def attack_on(subject: Subject) -> tuple[Attack | BoardCase, list[str], list[str]]:
    """The attack, what is as in the release, and what is not."""
    one = recompute(subject, subject.one)
    if one.complaints:
        raise NotAuditedError(f"the noise of the release is not that of its promise: {one.complaints[0]}")
    if not SMALLEST_EPSILON <= one.epsilon <= LARGEST_EPSILON:
        raise NotAuditedError(
            f"an attack shows something for ε from {SMALLEST_EPSILON} to {LARGEST_EPSILON:g}; this one has "
            f"{plain_number(one.epsilon)}"
        )
    differs = [*_other_version(subject), *_parts(subject, one)]
    if subject.is_of_a_board and isinstance(subject.one, Release):
        board, smaller = _board(subject, BoardFacts.of(subject.one))
        return board, _same(subject), [*differs, *smaller]
    cases = [_case(subject, one, items) for items in (ITEMS, DRAWN_ITEMS, FEWEST_ITEMS)]
    return Attack(*cases), _same(subject), [*differs, *_smaller(subject, one, cases)]


# ---- cases ----------------------------------------------------------------------------------------------------------


def _case(subject: Subject, one: RecomputedNoise, items: int) -> Case:
    """With this many items, or as many more as it takes that the noise has the form it has in the release."""
    wanted = dict(subject.one.mechanism.figures).get("form")
    sets = subject.one.set_size if isinstance(subject.one, Release) else 2
    least = 2 * sets if sets > 2 else 2  # two sets without a common item
    tried = [max(least, min(items, one.items))]
    tried += [more for more in (*MORE_ITEMS, one.items) if more > tried[0]]
    for number in tried:
        for case in _cases(subject, one, number, sets):
            if dict(case.calibrated.figures).get("form") == wanted:
                return case
    raise NotAuditedError("the audit has no case with few items that draws the same kind of noise")


def _cases(subject: Subject, one: RecomputedNoise, items: int, sets: int) -> Iterator[Case]:
    """Cases that release the same statistic."""
    assert isinstance(one.noise, Calibrated)
    listed = replace(declare([f"item {k}" for k in range(items)]), shown=sets)
    kept, release = one.noise.promise.privacy, subject.one
    if kept.unit is Unit.PERSON and kept.max_per_person is not None:
        kept = kept.changed(max_per_person=min(kept.max_per_person, MOST_VOTES))
    groups = None if subject.groups is None else tuple(f"group {k}" for k in range(_groups(subject)))
    mechanism = _mechanism(one.noise.mechanism, items)
    ties = Ties.DAVIDSON if one.noise.statistic.counts_ties else Ties.HALF
    for leaves_out in (sets > 2, True):
        promise = Promise(kept, listed, groups, subject.group_of, leaves_out)
        for method in (Method(release.method), *METHODS):
            try:
                statistic = released_by(mechanism, promise, method, ties)
            except PrivacyError:
                continue
            if statistic == one.noise.statistic and mechanism.refusal(promise, statistic) is None:
                yield Case(mechanism, promise, method, ties)
                break


def _mechanism(mechanism: Mechanism, items: int) -> Mechanism:
    """The mechanism for so many items: one that names more of them than there are names fewer."""
    return mechanism.of_top(_names(mechanism, items)) if isinstance(mechanism, Selection) else mechanism


def _names(selection: Selection, items: int) -> int:
    return min(selection.k, MOST_NAMES, items - 1)


def _groups(subject: Subject) -> int:
    return min(len(subject.groups or ()), MOST_GROUPS)


def _board(subject: Subject, facts: BoardFacts) -> tuple[BoardCase, list[str]]:
    horizon = min(facts.horizon, MOST_DAYS)
    window = None if facts.window is None else min(facts.window, max(1, horizon // 2))
    groups = None if subject.groups is None else ("north", "south")[: max(1, min(2, _groups(subject)))]
    smaller = []
    if horizon < facts.horizon:
        smaller.append(f"{horizon} {facts.every}s are published; the board has {facts.horizon}.")
    if window != facts.window:
        smaller.append(f"Each sums up the last {window}; the board sums up {facts.window}.")
    if groups is not None and len(groups) != len(subject.groups or ()):
        smaller.append(f"There are {len(groups)} groups; the board has {len(subject.groups or ())}.")
    smaller.append(f"There are four items, and a fifth joins; this release ranks {len(subject.releases[0][1])}.")
    return BoardCase(subject.privacy, horizon, facts.every, window, groups), smaller


# ---- in words -------------------------------------------------------------------------------------------------------


def _same(subject: Subject) -> list[str]:
    privacy, release = subject.privacy, subject.one
    bounds = {
        "max_per_person": privacy.max_per_person,
        "one_per_pair": privacy.one_per_pair or None,
        "clip": privacy.clip,
    }
    words = [f"mechanism {release.mechanism.name}", f"unit {privacy.unit}", f"neighbours {privacy.neighbours}"]
    words += [f"design {privacy.design}", f"δ = {plain_number(privacy.delta)}"]
    words += [f"{name} = {value}" for name, value in bounds.items() if value is not None]
    figures = dict(release.mechanism.figures)
    words += [f"statistic {figures['statistic']}"] if "statistic" in figures else []
    return words


def _other_version(subject: Subject) -> list[str]:
    here = f"quietrank {__version__}"
    made = subject.one.made_with
    return [] if made == here else [f"The release was made with {made}; what is attacked is {here}."]


def _parts(subject: Subject, one: RecomputedNoise) -> list[str]:
    """Of ε, a part may have bought something beside the counts."""
    whole = subject.privacy.epsilon
    if one.epsilon == whole:
        return []
    bought = {"the width of the intervals": one.scatter, "choosing the limit": one.limit}
    spent = [f"{plain_number(part.epsilon)} for {what}" for what, part in bought.items() if part is not None]
    rest = f", beside {' and '.join(spent)}, whose movements are measured beside it" if spent else ""
    return [
        f"Attacked is the noise on the counts with its own part of ε = {plain_number(whole)}: {one.epsilon:.6g}{rest}."
    ]


def _smaller(subject: Subject, one: RecomputedNoise, cases: list[Case]) -> list[str]:
    """What is smaller than in the release, in sentences."""
    case, release = cases[0], subject.one
    sizes = sorted({len(each.items) for each in cases})
    said = []
    if sizes != [one.items]:
        fewer = " and ".join(([", ".join(map(str, sizes[:-1]))] if sizes[:-1] else []) + [str(sizes[-1])])
        said.append(f"There are {fewer} items; the release has {one.items}.")
    if subject.groups is not None and len(subject.groups) != _groups(subject):
        said.append(f"There are {_groups(subject)} groups; the release has {len(subject.groups)}.")
    limit, here = subject.privacy.max_per_person, case.privacy.max_per_person
    if limit != here:
        said.append(f"A person has at most {here} votes; in the release it is {limit}.")
    if isinstance(release, TopRelease):
        named = case.selection.k if case.selection is not None else release.k
        if case.selection is None:
            said.append("Attacked are the noisy counts that the list was taken from, which say more than the list.")
        elif named != release.k:
            said.append(f"{named} items are named; in the release {release.k} are.")
    if subject.one.where is not None:
        said.append(
            "All votes are counted; in the release only those that meet its condition are (docs/proofs/filter.md)."
        )
    return [*said, _of_the_scale(one, case)]


def _of_the_scale(one: RecomputedNoise, case: Case) -> str:
    """Whether the noise that was attacked is that of the release, figure by figure."""
    assert isinstance(one.noise, Calibrated)
    theirs, ours = (dict(noise.figures)["scale"] for noise in (one.noise, case.calibrated))
    if theirs == ours:
        return f"The noise that was attacked has the scale of the release, {theirs:.6g}."
    return (
        f"The noise that was attacked has the scale {ours:.6g}, and that of the release {theirs:.6g}: both were "
        "calibrated by the same formula, each for its own sizes."
    )
