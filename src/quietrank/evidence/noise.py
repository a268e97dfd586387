"""A release in, the noise that its promise needs out: calibrated again from public values, and compared with its own.

A release says what its noise was. All of that follows from the promise, the numbers of items and groups and the choice
of mechanism, but for what a release does not hold: the list of askable pairs, and how many items there are where only
the first are shown. Those are looked for, as far as they can be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from quietrank.errors import PrivacyError, QuietrankError
from quietrank.estimate.overall import SumLaw
from quietrank.evidence.subject import Subject
from quietrank.mechanisms.choose_top import for_top
from quietrank.mechanisms.horizon import BoardNoise
from quietrank.mechanisms.limit import LimitNoise, limit_noise
from quietrank.mechanisms.mechanism import Calibrated, Figure, Mechanism
from quietrank.mechanisms.perturbed_mle.mechanism import PERTURBED_MLE, PerturbedMLE
from quietrank.mechanisms.registry import BOARD_NOISES, MECHANISMS
from quietrank.mechanisms.scatter import ScatterNoise, rest_of, scatter_noise
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.every import Every
from quietrank.promise.items import Items
from quietrank.promise.privacy import GroupOf
from quietrank.promise.promise import Promise
from quietrank.publish.release import UNMEASURED, Release
from quietrank.publish.tally_file import at_its_price, is_bought, is_chosen
from quietrank.publish.top import TopRelease
from quietrank.statistics.method import Method, statistic_named
from quietrank.statistics.scores import SCORES
from quietrank.statistics.statistic import Statistic

ALIKE = 1e-9
"""how far a figure may be from the one computed here, relative: the rounding of another machine"""
SAMPLED = 0.03
"""the same for a standard deviation that is found by sampling a law"""
FROM_VOTES = ("score_noise_sd", "score_noise_for")
"""figures of the perturbed MLE that use the number of votes, where it is public; a release does not say it"""
FORMS = 26
"""up to so many items noise may have a form that depends on their number: conditioned to sum to zero, or not"""
MOST_UNSEEN = 400
"""so many more items are tried for the perturbed MLE, all of whose constants depend on their number"""


class UnknownNoiseError(QuietrankError):
    """What cannot be recomputed from this release, and why."""


class ImpossibleNoiseError(QuietrankError):
    """Why no such noise can have been drawn."""


@dataclass(frozen=True)
class RecomputedNoise:
    """The noise that one ranking's promise needs, and in what the release disagrees."""

    noise: Calibrated | BoardNoise
    scatter: ScatterNoise | None = None
    limit: LimitNoise | None = None
    complaints: tuple[str, ...] = ()
    items: int = 0
    """of how many items there are"""

    @property
    def counts_loss(self) -> Cost:
        """What the noise on the counts, or on the list, costs by itself."""
        if isinstance(self.noise, BoardNoise):
            return self.noise.loss
        return self.noise.mechanism.loss(self.noise)

    @property
    def loss(self) -> Cost:
        """Of everything that was drawn, recomputed from the sensitivity."""
        total = self.counts_loss
        for part in (self.scatter, self.limit):
            total = total if part is None else total + part.loss
        return total

    @property
    def epsilon(self) -> float:
        """The part of ε that the counts, or the list, have."""
        return self.noise.promise.privacy.epsilon

    def keeps(self, subject: Subject) -> bool:
        """Whether the promise of the release is kept by this noise."""
        loss, privacy = self.loss, subject.privacy
        return loss.epsilon <= as_written(privacy.epsilon) and loss.delta <= as_written(privacy.delta)


def recompute(subject: Subject, release: Release | TopRelease) -> RecomputedNoise:
    """The noise of one ranking of the subject; raises `UnknownNoiseError` where the release does not say enough."""
    if subject.is_of_a_board and isinstance(release, Release):
        return _of_a_board(subject, release)
    mechanism = _mechanism(release)
    closest: RecomputedNoise | None = None
    try:
        for items in _sizes(release):
            for one in _calibrations(subject, release, mechanism, items):
                if not one.complaints:
                    return one
                closest = closest or one
    except KeyError as error:
        raise UnknownNoiseError(f"no statistic is called {error} here, so its noise is not known") from None
    except PrivacyError as error:
        raise ImpossibleNoiseError(f"no such noise can have been drawn: {error}") from None
    assert closest is not None
    if _may_have_pairs(release) and _in_proportion(release, closest):
        raise UnknownNoiseError(
            "with one answer per pair the noise depends on which pairs may be asked, and a release does not say which; "
            f"for all pairs {closest.complaints[0]}; give the noisy tally, which knows them, as --tally"
        )
    return closest


def _mechanism(release: Release | TopRelease) -> Mechanism:
    name, figures = release.mechanism.name, dict(release.mechanism.figures)
    if name not in MECHANISMS:
        raise UnknownNoiseError(
            f"its mechanism, {name}, is not one of quietrank's own; whoever registered it can recompute it"
        )
    mechanism = MECHANISMS[name]
    if not isinstance(mechanism, PerturbedMLE) or not isinstance(release, Release):
        return mechanism
    try:
        options = str(figures.get("calibration")), str(figures.get("link"))
        return PERTURBED_MLE.with_options(release.gamma, None, *options)
    except QuietrankError as error:
        raise UnknownNoiseError(f"its link or calibration is not known here: {error}") from None


# ---- how many items there are ---------------------------------------------------------------------------------------


def _sizes(release: Release | TopRelease) -> Iterator[int]:
    """How many items there may be: those that are shown, or more, because a release need not say that it shows only the
    first."""
    if isinstance(release, TopRelease):
        yield release.items
        return
    shown, figures = len(release), dict(release.mechanism.figures)
    sizes = [shown, *_hinted(figures, release)]
    if "pairs" not in figures:
        sizes += range(shown + 1, FORMS)
    if "link" in figures:
        sizes += range(FORMS, shown + MOST_UNSEEN)
    yield from (size for size in dict.fromkeys(sizes) if size >= max(2, shown))


def _hinted(figures: Mapping[str, Figure], release: Release) -> Iterator[int]:
    """How many items there are, by figures that follow from their number."""
    answers = release.privacy.max_per_person if release.privacy.one_per_pair else None
    for pairs in (figures.get("pairs"), answers):
        if isinstance(pairs, int | float):
            yield round((1 + math.sqrt(1 + 8 * pairs)) / 2)  # n(n − 1)/2 pairs
    if isinstance(dimension := figures.get("dimension"), float):
        yield from (int(dimension), int(dimension) + 1)


def is_cut(release: Release) -> bool:
    """Whether items are missing: somebody must be first, and nobody can be further down than last."""
    rows = release.ranking
    first = [row.probability_first for row in rows if row.probability_first is not None]
    lowest = max((row.rank_high or 0 for row in rows), default=0)
    return len(rows) < 2 or lowest > len(rows) or (bool(first) and sum(first) < 1 - 1e-6)


def _may_have_pairs(release: Release | TopRelease) -> bool:
    """Whether the list of askable pairs may explain other noise: with one answer per pair they change it, and a list
    that leaves some out also leaves a person fewer answers."""
    privacy, items = release.privacy, release.items if isinstance(release, TopRelease) else len(release)
    if not privacy.one_per_pair:
        return False
    pairs = dict(release.mechanism.figures).get("pairs", privacy.max_per_person)
    return isinstance(pairs, int | float) and pairs < items * (items - 1) // 2


def _in_proportion(release: Release | TopRelease, one: RecomputedNoise) -> bool:
    """Whether the scale is to the sensitivity as ε and δ demand, whatever the pairs are."""
    assert isinstance(one.noise, Calibrated)
    sides = (dict(release.mechanism.figures), dict(one.noise.figures))
    ratios = [_number(figures.get("scale")) / (_number(figures.get("sensitivity")) or math.inf) for figures in sides]
    return math.isclose(ratios[0], ratios[1], rel_tol=1e-6)


def _number(figure: Figure | None) -> float:
    return float(figure) if isinstance(figure, int | float) else 0.0


# ---- noise ----------------------------------------------------------------------------------------------------------


def _calibrations(
    subject: Subject, release: Release | TopRelease, mechanism: Mechanism, items: int
) -> Iterator[RecomputedNoise]:
    """The noise for this many items, by every share that the statistic offers, with what differs from the release."""
    whole = _promise(subject, release, items)
    left, wrong = release.privacy.epsilon, list[str]()
    histogram = limit_noise(whole) if release.limit is not None else None
    if release.limit is not None and not is_chosen(release.limit, whole):
        wrong.append("the histogram behind its limit does not have the noise that was paid for")
    if histogram is not None:
        left = _rest(left, histogram.epsilon)
    part = unmeasured(release) if release.scatter is None else release.scatter.epsilon
    counts = whole.changed(epsilon=_rest(left, part) if part else left)
    for noise in _each(release, mechanism, counts):
        described = dict(release.mechanism.figures)
        noise = at_its_price(noise, described)
        complaints = [*wrong, *_different(described, _figures(noise, described), noise.law.most_draws is not None)]
        scatter = None
        if release.scatter is not None:
            scatter = scatter_noise(noise, left, part)
            if not is_bought(release.scatter, noise, left):
                complaints.append("the scatter does not have the noise that its part of ε buys")
        yield RecomputedNoise(noise, scatter, histogram, tuple(complaints), items)


def _promise(subject: Subject, release: Release | TopRelease, items: int) -> Promise:
    shown = release.set_size if isinstance(release, Release) else 2
    names = tuple(f"item {k}" for k in range(items))
    return Promise(release.privacy, Items(names, shown=shown), subject.groups, subject.group_of, shown > 2)


def _rest(epsilon: float, part: float) -> float:
    if part >= epsilon:
        raise PrivacyError(f"a part of {part:g} is not left of ε = {epsilon:g}")
    return rest_of(epsilon, part)


def unmeasured(release: Release | TopRelease) -> float:
    """What was spent on a scatter that could not be measured, which only a note says."""
    pattern = re.escape(UNMEASURED).replace(re.escape("{}"), r"([\d.e-]+)")
    noted = (re.fullmatch(pattern, note) for note in release.assumptions)
    return next((float(one.group(1)) for one in noted if one is not None), 0.0)


def _each(release: Release | TopRelease, mechanism: Mechanism, promise: Promise) -> Iterator[Calibrated]:
    if isinstance(release, TopRelease):
        yield for_top(promise, release.k, Method(release.method), mechanism)
        return
    statistic: Statistic = SCORES
    if SCORES not in mechanism.statistics:
        statistic = statistic_named(str(dict(release.mechanism.figures)["statistic"]))
    yield mechanism.calibrate(promise, statistic)
    for share in statistic.offered:  # earlier versions chose others; whatever it is, the reach is that of this share
        yield mechanism.calibrate(promise, statistic.with_share(share))


def _figures(noise: Calibrated, described: Mapping[str, Figure]) -> dict[str, Figure]:
    """What a release says about this noise; that of a list of names says less."""
    figures = dict(noise.figures)
    if "step" in described:
        figures["step"] = float(noise.step)
    if "noise_sd" in described:
        groups = described.get("groups")
        law = noise.law if groups is None else SumLaw(noise.law, int(groups))
        figures |= {"statistic": noise.statistic.name, "noise_sd": noise.statistic.ranked_by(law.spread)}
    return figures


def _different(described: Mapping[str, Figure], needed: Mapping[str, Figure], sampled: bool) -> list[str]:
    """In which figures a release is not what its promise needs."""
    wrong = []
    for name in dict.fromkeys([*needed, *described]):
        if name in FROM_VOTES or (name == "groups" and name not in needed):
            continue
        one, other = described.get(name), needed.get(name)
        tolerance = SAMPLED if sampled and name == "noise_sd" else ALIKE
        if not _alike(one, other, tolerance):
            wrong.append(f"{name} is {_shown(one)}, and the promise needs {_shown(other)}")
    return wrong


def _alike(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return bool(one == other)
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=0.0)


def _shown(figure: Figure | None) -> str:
    return "not given" if figure is None else figure if isinstance(figure, str) else f"{figure:.10g}"


# ---- boards ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BoardFacts:
    """What the release of a board says about the board."""

    board: str
    every: Every
    day: int
    horizon: int
    window: int | None

    @classmethod
    def of(cls, release: Release | TopRelease) -> BoardFacts:
        figures = dict(release.mechanism.figures)
        try:
            every = next(every for every in Every if every.value in figures)
            day, horizon = int(figures[every.value]), int(figures["horizon"])
        except (StopIteration, LookupError, ValueError):
            raise UnknownNoiseError("it does not say on which day of its board it was made") from None
        about = next((note for note in release.assumptions if note.startswith(f"This is {every} {day} of a board")), "")
        last = re.search(r"over the votes of the last (\d+) ", about)
        if last is None and "over all votes up to" not in about:
            raise UnknownNoiseError("it does not say which days of its board are summed up")
        return cls(str(figures["board"]), every, day, horizon, None if last is None else int(last.group(1)))


def _of_a_board(subject: Subject, release: Release) -> RecomputedNoise:
    """The noise of the board; that of an item which joined later is less, so the largest is what the release states."""
    facts, described = BoardFacts.of(release), dict(release.mechanism.figures)
    names = tuple(f"item {k}" for k in range(max(2, len(release))))
    promise = Promise(release.privacy, Items(names), subject.groups, GroupOf.VOTE, leaves_out=True)
    try:
        (kind,) = (one for one in BOARD_NOISES if one.is_for(release.privacy))
        noise = kind.over(promise, facts.horizon, facts.window)
        needed = noise.figures(noise.spread(facts.day))
    except PrivacyError as error:
        raise ImpossibleNoiseError(f"no such noise can have been drawn: {error}") from None
    stated = {name: figure for name, figure in described.items() if name in needed}
    wrong = _different(stated, needed, sampled=False)
    if release.mechanism.name != noise.name:
        wrong.insert(0, f"the mechanism is {release.mechanism.name}, and the promise needs {noise.name}")
    if not 1 <= facts.day <= facts.horizon:
        wrong.insert(0, f"it is {facts.every} {facts.day} of {facts.horizon}")
    return RecomputedNoise(noise, complaints=tuple(wrong), items=len(release))


def of_all_groups(subject: Subject) -> list[tuple[str, RecomputedNoise]]:
    """The noise of every ranking, or of the list; rankings over all groups have the noise of their groups."""
    if isinstance(subject.result, TopRelease):
        return [("", recompute(subject, subject.result))]
    first = next((one for _, one in subject.releases if not _is_overall(one)), subject.releases[0][1])
    # What was bought beside the counts was bought in the groups, so a ranking over all of them has none of its own.
    every = (
        (group, replace(one, scatter=first.scatter, limit=first.limit) if _is_overall(one) else one)
        for group, one in subject.releases
    )
    return [(group, _named(recompute(subject, release), group)) for group, release in every]


def _is_overall(release: Release) -> bool:
    return "groups" in dict(release.mechanism.figures)


def _named(one: RecomputedNoise, group: str) -> RecomputedNoise:
    return replace(one, complaints=tuple(f"{group}: {what}" for what in one.complaints)) if group else one
