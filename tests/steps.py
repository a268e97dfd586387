"""The steps of the chain, one at a time, in the plain words of a test: a `Privacy` and groups or not, no `Promise`.

Each only puts the pieces of the library together, as the pipeline does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from quietrank import crossing
from quietrank.arrays import Floats, Integers
from quietrank.crossing import cross
from quietrank.estimate.noisy import NoisyTally
from quietrank.maths.links import Link
from quietrank.mechanisms import choose as choosing
from quietrank.mechanisms import gaussian, laplace, zonotope
from quietrank.mechanisms.choose import Choice
from quietrank.mechanisms.mechanism import Calibrated, Mechanism
from quietrank.mechanisms.perturbed_mle.mechanism import PERTURBED_MLE, Plan, ScoresLaw
from quietrank.promise.accounting import Ledger
from quietrank.promise.declare import declare
from quietrank.promise.graph import Graph
from quietrank.promise.items import Items
from quietrank.promise.privacy import GroupOf, Privacy, Unit
from quietrank.promise.promise import Bounded, Clip, Promise
from quietrank.statistics.method import STATISTICS, Method
from quietrank.statistics.net_wins import NET_WINS_AND_SHOWN
from quietrank.statistics.scores import SCORES
from quietrank.statistics.statistic import Statistic
from quietrank.statistics.top import TOP_BY_NET_WINS, TOP_BY_WINS
from quietrank.votes.read import Votes
from quietrank.votes.tallies import PairTally, Tallies, Tally
from quietrank.votes.tally import count_votes

OTHERS = (SCORES, NET_WINS_AND_SHOWN, TOP_BY_NET_WINS, TOP_BY_WINS)
COUNTS = [statistic for statistic in STATISTICS.values() if statistic not in OTHERS]
"""every statistic that is counted from votes on pairs, and published as counts"""

GROUPS = ("north", "south")
"""some groups, where it does not matter which"""


def promise_of(privacy: Privacy, items: Items, groups: bool | GroupOf = False) -> Promise:
    """`groups`: whose groups there are; True: those of people, each of whom is in one."""
    whose = groups if isinstance(groups, GroupOf) else GroupOf.PERSON
    return Promise(privacy, items, GROUPS if groups else None, whose)


def for_items(privacy: Privacy, items: Items) -> Privacy:
    """The promise with L filled in."""
    return Promise(privacy, items).privacy


def half_vote(privacy: Privacy) -> Fraction:
    return Bounded.by(privacy, None).half_vote


def vote_weight(privacy: Privacy) -> int:
    """How many weight units a full vote has."""
    return int(1 / (2 * half_vote(privacy)))


# ---- how far one unit can move a statistic --------------------------------------------------------------------------


@dataclass(frozen=True)
class Sensitivity:
    l1: Fraction
    step: Fraction

    @property
    def l1_steps(self) -> int:
        steps = self.l1 / self.step
        assert steps.denominator == 1
        return int(steps)


def _items_of(pairs: Graph | int | None) -> Items:
    if isinstance(pairs, Graph):
        return Items(tuple(f"item {k}" for k in range(pairs.vertices)), pairs=pairs.edges)
    return declare(range(pairs or 4))


def sensitivity(
    privacy: Privacy, statistic: Statistic, pairs: Graph | int | None = None, *, groups: bool | GroupOf = False
) -> Sensitivity:
    """In the L1 norm; `pairs` are the askable ones, or the number of items where all pairs are."""
    promise = promise_of(privacy, _items_of(pairs), groups)
    reach = laplace.l1_reach(promise, statistic)
    return Sensitivity(reach, promise.half_vote * statistic.share(promise))


def squared_l2(privacy: Privacy, statistic: Statistic, square: Fraction) -> Fraction:
    """In the L2 norm, squared, of contributions whose squared norm is at most `square`."""
    promise = promise_of(privacy, declare(range(4)))
    return gaussian.l2_reach(promise, statistic, None) / statistic.one_vote(promise) * square


def gauge(privacy: Privacy, statistic: Statistic, *, groups: bool | GroupOf = False) -> Fraction:
    """In the gauge of the statistic's body."""
    return zonotope.gauge_reach(promise_of(privacy, declare(range(4)), groups), statistic)


def norm_of_one_vote(privacy: Privacy, statistic: Statistic) -> Fraction:
    return statistic.one_vote(promise_of(privacy, declare(range(4))))


def default_clip(items: Items, privacy: Privacy, statistic: Statistic) -> float:
    return gaussian.default_clip(Promise(privacy, items), statistic)


def clip_of(privacy: Privacy, statistic: Statistic, norm: float) -> Clip:
    return Clip(Fraction(norm), statistic.norm(promise_of(privacy, declare(range(4)))))


# ---- noise ----------------------------------------------------------------------------------------------------------


def calibrate(
    items: Items, privacy: Privacy, statistic: Statistic, mechanism: Mechanism, *, groups: bool | GroupOf = False
) -> Calibrated:
    return mechanism.calibrate(promise_of(privacy, items, groups), statistic)


def choose(
    items: Items,
    privacy: Privacy,
    method: Method,
    mechanism: Mechanism | None = None,
    *,
    groups: bool | GroupOf = False,
) -> Choice:
    return choosing.choose(promise_of(privacy, items, groups), method, mechanism)


def candidates(items: Items, privacy: Privacy, method: Method) -> list[Mechanism]:
    return choosing.candidates(Promise(privacy, items), method)


def statistic_for(
    method: Method,
    privacy: Privacy,
    *,
    free_total: bool = True,
    cheap_exposures: bool = False,
    groups: bool | GroupOf = False,
) -> Statistic:
    """What has to be released for this method, by Laplace noise or, with `cheap_exposures`, by Gaussian noise."""
    offered = gaussian.GAUSSIAN.statistics if cheap_exposures else laplace.LAPLACE.statistics
    promise = promise_of(privacy, declare(range(4)), groups)
    return choosing.statistic_for(method, promise, offered, free_total=free_total)  # type: ignore[attr-defined]


def require_kept(items: Items, calibrated: Calibrated) -> None:
    """What the crossing checks: the noise keeps the promise for these items."""
    crossing.require_kept(replace(calibrated, promise=replace(calibrated.promise, items=items)))


# ---- counting -------------------------------------------------------------------------------------------------------


def _tallies(votes: Votes, privacy: Privacy, clip: Clip | None, by_pair: bool) -> Tallies:
    empty = not privacy.votes_are_public
    whose = GroupOf.PERSON if votes.groups is None or privacy.unit is Unit.COMPARISON else votes.group_of
    return count_votes(votes, Bounded.by(privacy, clip, whose), by_pair=by_pair, may_be_empty=empty)


def tally_votes(votes: Votes, privacy: Privacy, clip: Clip | None = None) -> Tally:
    (tally,) = _tallies(votes, privacy, clip, by_pair=False)
    assert isinstance(tally, Tally)
    return tally


def tally_pairs(votes: Votes, privacy: Privacy, clip: Clip | None = None) -> PairTally:
    (tally,) = _tallies(votes, privacy, clip, by_pair=True)
    assert isinstance(tally, PairTally)
    return tally


def tally_groups(votes: Votes, privacy: Privacy, clip: Clip | None = None) -> list[Tally]:
    return [tally for tally in _tallies(votes, privacy, clip, by_pair=False) if isinstance(tally, Tally)]


def tally_pairs_of_groups(votes: Votes, privacy: Privacy, clip: Clip | None = None) -> list[PairTally]:
    return [tally for tally in _tallies(votes, privacy, clip, by_pair=True) if isinstance(tally, PairTally)]


# ---- the crossing ---------------------------------------------------------------------------------------------------


def add_noise(
    tally: Tally | PairTally, calibrated: Calibrated, *, ledger: Ledger | None = None, rows_skipped: bool = False
) -> NoisyTally:
    (noised,) = cross(Tallies.of(tally), calibrated, ledger=ledger)
    return NoisyTally.of(calibrated, noised, rows_skipped=rows_skipped)


def add_noise_to_groups(
    tallies: Sequence[Tally | PairTally],
    calibrated: Calibrated,
    *,
    ledger: Ledger | None = None,
    rows_skipped: bool = False,
) -> list[NoisyTally]:
    noised = cross(Tallies.of(*tallies, groups=calibrated.promise.groups or ("",)), calibrated, ledger=ledger)
    return [NoisyTally.of(calibrated, one, rows_skipped=rows_skipped) for one in noised]


@dataclass(frozen=True, eq=False)
class PerturbedScores:
    """Private scores, and how they were made."""

    tally: NoisyTally

    @property
    def law(self) -> ScoresLaw:
        assert isinstance(self.tally.law, ScoresLaw)
        return self.tally.law

    @property
    def plan(self) -> Plan:
        return self.law.plan

    @property
    def scores(self) -> Floats:
        assert self.tally.scores is not None
        return self.tally.scores

    @property
    def noise_sd(self) -> float:
        return self.tally.count_sd

    @property
    def values(self) -> Integers:
        return self.tally.values

    @property
    def privacy(self) -> Privacy:
        return self.tally.privacy


def perturbed_mle(tally: PairTally, privacy: Privacy, **options: Any) -> PerturbedScores:
    """Scores of the items; options are gamma, per_item, calibration, link, ledger and rows_skipped."""
    (scores,) = _perturbed([tally], privacy, None, **options)
    return scores


def perturbed_mle_of_groups(tallies: Sequence[PairTally], privacy: Privacy, **options: Any) -> list[PerturbedScores]:
    groups = tuple(f"group {k}" for k in range(len(tallies)))
    return _perturbed(tallies, privacy, groups, **options)


def _perturbed(
    tallies: Sequence[PairTally],
    privacy: Privacy,
    groups: tuple[str, ...] | None,
    *,
    gamma: float | None = None,
    per_item: float | None = None,
    calibration: str = "tight",
    link: str | Link = "logistic",
    ledger: Ledger | None = None,
    rows_skipped: bool = False,
) -> list[PerturbedScores]:
    promise = Promise(privacy, tallies[0].items, groups, GroupOf.PERSON)
    counted = Tallies.of(*tallies, groups=groups or ("",))
    votes = counted.rows if promise.votes_are_public else None
    mechanism = PERTURBED_MLE.with_options(gamma, per_item, calibration, link)
    calibrated = mechanism.calibrate(promise, SCORES, votes)
    noised = cross(counted, calibrated, ledger=ledger)
    return [PerturbedScores(NoisyTally.of(calibrated, one, rows_skipped=rows_skipped)) for one in noised]
