"""The whole chain, votes in, release out; shared by the API, the command line and the app.

The public functions are thin: each parses its arguments into a `Request`, once, and passes it to one of two functions,
`make_tally` (counts that are paid for) and `make_release` (what is published).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, overload

import numpy as np

from quietrank.arrays import Floats
from quietrank.crossing import Measured, Payment, cross, cross_people, public_votes
from quietrank.errors import PrivacyError, QuietrankError, SolverError, either, option
from quietrank.estimate.methods import assumptions, estimate, expected_of, resolve
from quietrank.estimate.noisy import GroupedTally, NoisyTally
from quietrank.estimate.overall import NO_SCORES, OVERALL, overall, require_overall
from quietrank.estimate.sample import bits_of
from quietrank.maths.clustered import ClusterError
from quietrank.maths.fit import Fit, fit_pairs
from quietrank.maths.links import Link, LinkWord, get_link
from quietrank.maths.pairs import Pairs
from quietrank.maths.sets import Sets, fit_sets
from quietrank.maths.tied_fit import fit_tied_pairs
from quietrank.mechanisms.choose import Choice, Limited, choose, chosen_limit, limited, released_by
from quietrank.mechanisms.choose_top import choose_top, top_limited
from quietrank.mechanisms.limit import BINS, ChosenLimit, LimitNoise, limit_noise
from quietrank.mechanisms.mechanism import Mechanism, Noised
from quietrank.mechanisms.perturbed_mle.loss import CalibrationWord
from quietrank.mechanisms.perturbed_mle.mechanism import PerturbedMLE
from quietrank.mechanisms.registry import MechanismWord, named
from quietrank.mechanisms.scatter import Share, price, rest_of, scatter_noise
from quietrank.mechanisms.selection import Selection
from quietrank.promise.accounting import Cost, Ledger
from quietrank.promise.arguments import file_path, flag, number, parse, whole_number
from quietrank.promise.privacy import Design, Privacy, Unit
from quietrank.promise.promise import EVERY_VOTE, Bounded, Promise
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.nonprivate import NonPrivateFit
from quietrank.publish.release import Release, order
from quietrank.publish.release import make_release as published
from quietrank.publish.tabular import NoiseRecord
from quietrank.publish.top import TopRelease
from quietrank.publish.view import USUAL, USUAL_LEVEL, Anchor, Scale, ScaleWord, View
from quietrank.statistics.method import (
    NO_TIES,
    Method,
    MethodWord,
    Ties,
    TiesWord,
    TopMethodWord,
    needs_pairs,
    require_counts,
)
from quietrank.statistics.wins import WINS
from quietrank.votes.added import added_up
from quietrank.votes.gradients import gradients_by_person
from quietrank.votes.read import Votes
from quietrank.votes.tallies import AnyTally, PairTally, SetTally, Tallies, Tally
from quietrank.votes.tally import Counting, Taken, count_votes, counting, taking

Gamma = float | Literal["auto"]
LARGEST_SHARE = 0.5
"""of ε, for the scatter"""
Tell = Callable[[float], None]
"""called with the part of the work that is done"""
Payer = Ledger | str | os.PathLike[str] | None
"""an open ledger, the path of one, or none"""


def rank(
    votes: Votes,
    privacy: Privacy,
    *,
    mechanism: MechanismWord = "auto",
    method: MethodWord = "auto",
    ties: TiesWord = "half",
    gamma: Gamma = "auto",
    comparisons_per_item: float | None = None,
    calibration: CalibrationWord = "tight",
    link: LinkWord = "logistic",
    ledger: Payer = None,
    level: float = USUAL_LEVEL,
    simultaneous: bool = False,
    scale: ScaleWord = "log-odds",
    anchor: Anchor = None,
    sampling_share: Share = "auto",
) -> Release:
    """Rank the items of `votes` and keep the promise of `privacy`.

    votes      what `read_votes` returned
    privacy    the promise, a `Privacy`
    mechanism  the noise. "auto": the least of those that keep the promise. "laplace": always possible. "zonotope":
               for one_per_pair. "ball": for people with many votes, who are clipped. "gaussian": the same for a delta
               above 0. "perturbed-mle": noise inside the likelihood, so that scores use who met whom. Or a `Mechanism`
               of your own.
    method     what items are ranked by. "net-wins": wins minus losses. "wins". "win-rate": wins per comparison.
               "bradley-terry": scores on the log-odds scale. "auto": net wins if all items were compared equally
               often, else the win rate.
    ties       "half": a tie is half a win for each side. "davidson": a tie is an outcome of its own, by Davidson's
               model of Bradley–Terry scores, and the release has the chance of a tie. Often free (docs/proofs/ties.md).
    gamma      the ridge of Bradley–Terry scores, a number above 0; "auto" chooses it from the noisy counts
    ledger     the budget that pays: an open `Ledger`, or its path. It is debited after the votes are checked
               and before any noise is drawn. None: there is no ledger.

    How sure the ranking is, which costs nothing but the sampling share (docs/uncertainty.md):

    level           of intervals and rank sets, such as 0.9 or 0.95
    simultaneous    False: they hold for each item by itself. True: for all items together.
    scale           of Bradley–Terry scores: "log-odds", "elo" (400 points for odds of ten to one, around 1000), or
                    "probability" (of winning against an average item)
    anchor          for "elo": an item and its score, ("item", 1000); None: the average item has 1000
    sampling_share  the part of ε that buys how much the votes of people vary, so that intervals know people: "auto"
                    (at most 0.05), or a number; 0 buys nothing, and the release says what was assumed. For
                    unit="comparison" nothing is bought: votes are taken to be independent.

    For mechanism="perturbed-mle" only:

    comparisons_per_item  how many comparisons of each item were expected before the votes came in
    calibration           "tight": the least noise that is proven to suffice. "published": that of the paper.
    link                  the model: "logistic" (Bradley–Terry), "hyperbolic-secant", or a link of your own

    >>> import quietrank as qr
    >>> votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
    >>> release = qr.rank(votes, qr.Privacy(epsilon=1, unit="person", max_per_person=6))
    >>> sorted(row.item for row in release)
    ['item-1', 'item-2', 'item-3', 'item-4']
    """
    request = Request.of(
        mechanism, method, gamma, comparisons_per_item, calibration, link,
        view=View.of(level, simultaneous, scale, anchor), sampling_share=sampling_share, ties=ties,
    )  # fmt: skip
    release = make_release(_ungrouped(votes), privacy, request, ledger)
    assert isinstance(release, Release)
    return release


def top(
    votes: Votes,
    privacy: Privacy,
    k: int,
    *,
    mechanism: MechanismWord = "auto",
    method: TopMethodWord = "auto",
    ledger: Payer = None,
) -> TopRelease:
    """Name the first k items in order, and publish no counts: more often right than the top of a whole ranking.

    votes      what `read_votes` returned; with groups there is a list for each
    privacy    the promise, a `Privacy`, for all lists together
    k          how many are named; 1 is "who is first"
    mechanism  "auto": what finds most of them, judged from public values. "permute-and-flip": selection, which pays for
               the list alone. "exponential": the same for many items, with a delta above 0. "laplace", "zonotope",
               "ball", "gaussian": noise on all counts, of which only the order of the first k is published.
               Not "perturbed-mle".
    method     what decides who is first: "net-wins" (also "auto") or "wins"
    ledger     the budget that pays: an open `Ledger`, its path, or None

    >>> import quietrank as qr
    >>> votes = qr.read_votes(qr.simulate(items=6, people=300, per_person=6), items_from_votes=True)
    >>> release = qr.top(votes, qr.Privacy(epsilon=1, unit="person", max_per_person=6), 1)
    >>> len(release.names), release.mechanism.name
    (1, 'permute-and-flip')
    """
    return make_top(votes, privacy, TopRequest.of(k, mechanism, method), ledger)


def rank_by_group(
    votes: Votes,
    privacy: Privacy,
    *,
    mechanism: MechanismWord = "auto",
    method: MethodWord = "auto",
    ties: TiesWord = "half",
    gamma: Gamma = "auto",
    comparisons_per_item: float | None = None,
    calibration: CalibrationWord = "tight",
    link: LinkWord = "logistic",
    ledger: Payer = None,
    level: float = USUAL_LEVEL,
    simultaneous: bool = False,
    scale: ScaleWord = "log-odds",
    anchor: Anchor = None,
    sampling_share: Share = "auto",
    overall: bool = False,
) -> GroupedRelease:
    """One ranking per group of votes, or of voters; all keep the promise of `privacy` together, for one payment.

    votes      what `read_votes` returned for `by`, the column of the group, and `groups`, the public list of all
               groups: each of them is released, whether or not it has votes. The group is that of each vote, so that
               one person's votes may be in several groups; or with `by_person=True` that of the person.
    privacy    the promise, a `Privacy`, for all groups together
    overall    True: also one ranking over all groups together, from the same noisy counts, at no further cost; not for
               "perturbed-mle"

    The others are as for `rank`:

    mechanism  "auto", "laplace", "zonotope", "ball", "gaussian", "perturbed-mle", or a `Mechanism`
    method     "auto", "net-wins", "wins", "win-rate", "bradley-terry"; the same for all groups
    ties       "half" or "davidson"; each group has its own chance of a tie
    gamma      a number above 0, or "auto"
    ledger     an open `Ledger`, its path, or None
    level, simultaneous, anchor, sampling_share  how sure each ranking is
    scale      of Bradley–Terry scores: "log-odds", "elo" or "probability"
    comparisons_per_item, calibration, link  for "perturbed-mle": the comparisons per item expected in one group;
               "tight" or "published"; "logistic", "hyperbolic-secant" or a link of your own

    >>> import pyarrow as pa
    >>> import quietrank as qr
    >>> table = pa.table({"winner": ["tea", "tea"], "loser": ["water", "water"], "country": ["fr", "de"]})
    >>> votes = qr.read_votes(table, ["tea", "water"], by="country", groups=["de", "fr"])
    >>> releases = qr.rank_by_group(votes, qr.Privacy(epsilon=1, unit="comparison"))
    >>> [(country, len(release)) for country, release in releases]
    [('de', 2), ('fr', 2)]
    """
    request = Request.of(
        mechanism, method, gamma, comparisons_per_item, calibration, link,
        view=View.of(level, simultaneous, scale, anchor), sampling_share=sampling_share, overall=overall,
        ties=ties,
    )  # fmt: skip
    release = make_release(_by_group(votes), privacy, request, ledger)
    assert isinstance(release, GroupedRelease)
    return release


def noisy_tally(
    votes: Votes,
    privacy: Privacy,
    *,
    mechanism: MechanismWord = "auto",
    method: MethodWord = "auto",
    ties: TiesWord = "half",
    ledger: Payer = None,
    sampling_share: Share = "auto",
) -> NoisyTally:
    """What `rank` computes its release from, to be saved: `rerank` makes any release from it at no further cost.

    votes      what `read_votes` returned
    privacy    the promise, a `Privacy`
    mechanism  the noise: "auto", "laplace", "zonotope", "ball", "gaussian", or a `Mechanism`; see `rank`.
               "perturbed-mle" has no counts to save, and is refused.
    method     what the counts must suffice for: "auto", "net-wins", "wins", "win-rate", "bradley-terry"
    ties       "davidson": the weight of all ties is counted as well, for `rerank` with it; "half": it is not
    ledger     the budget that pays: an open `Ledger`, its path, or None
    sampling_share  the part of ε that makes intervals know people; see `rank`

    Under a public design the pairs that met are saved as well.

    >>> import quietrank as qr
    >>> votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
    >>> tally = qr.noisy_tally(votes, qr.Privacy(epsilon=1, unit="person", max_per_person=6))
    >>> [qr.rerank(tally, method=method).method for method in ("net-wins", "bradley-terry")]
    ['net-wins', 'bradley-terry']
    """
    request = Request.of(mechanism, method, sampling_share=sampling_share, ties=ties)
    tally = make_tally(_ungrouped(votes), privacy, request.of_counts(), ledger)
    assert isinstance(tally, NoisyTally)
    return tally


def noisy_tally_by_group(
    votes: Votes,
    privacy: Privacy,
    *,
    mechanism: MechanismWord = "auto",
    method: MethodWord = "auto",
    ties: TiesWord = "half",
    ledger: Payer = None,
    sampling_share: Share = "auto",
) -> GroupedTally:
    """What `rank_by_group` computes its releases from, to be saved for `rerank`.

    votes      what `read_votes` returned for `by` and `groups`
    privacy    the promise, a `Privacy`, for all groups together
    mechanism  the noise: "auto", "laplace", "zonotope", "ball", "gaussian", or a `Mechanism`; not
               "perturbed-mle"
    method     what the counts must suffice for: "auto", "net-wins", "wins", "win-rate", "bradley-terry"
    ties       "davidson": the weight of all ties is counted as well, for `rerank` with it; "half": it is not
    ledger     the budget that pays: an open `Ledger`, its path, or None
    sampling_share  the part of ε that makes intervals know people; see `rank`

    >>> import pyarrow as pa
    >>> import quietrank as qr
    >>> table = pa.table({"winner": ["tea", "tea"], "loser": ["water", "water"], "country": ["fr", "de"]})
    >>> votes = qr.read_votes(table, ["tea", "water"], by="country", groups=["de", "fr"])
    >>> tally = qr.noisy_tally_by_group(votes, qr.Privacy(epsilon=1, unit="comparison"))
    >>> qr.rerank(tally, method="net-wins").groups
    ('de', 'fr')
    """
    request = Request.of(mechanism, method, sampling_share=sampling_share, ties=ties)
    tally = make_tally(_by_group(votes), privacy, request.of_counts(), ledger)
    assert isinstance(tally, GroupedTally)
    return tally


@overload
def rerank(
    tally: NoisyTally,
    *,
    method: MethodWord = "auto",
    ties: TiesWord = "half",
    gamma: Gamma = "auto",
    level: float = USUAL_LEVEL,
    simultaneous: bool = False,
    scale: ScaleWord = "log-odds",
    anchor: Anchor = None,
) -> Release: ...
@overload
def rerank(
    tally: GroupedTally,
    *,
    method: MethodWord = "auto",
    ties: TiesWord = "half",
    gamma: Gamma = "auto",
    level: float = USUAL_LEVEL,
    simultaneous: bool = False,
    scale: ScaleWord = "log-odds",
    anchor: Anchor = None,
    overall: bool = False,
) -> GroupedRelease: ...
def rerank(
    tally: NoisyTally | GroupedTally,
    *,
    method: MethodWord = "auto",
    ties: TiesWord = "half",
    gamma: Gamma = "auto",
    level: float = USUAL_LEVEL,
    simultaneous: bool = False,
    scale: ScaleWord = "log-odds",
    anchor: Anchor = None,
    overall: bool = False,
) -> Release | GroupedRelease:
    """A release from a noisy tally that has been paid for; costs nothing, however often it is done.

    tally   what `noisy_tally` or `noisy_tally_by_group` returned, or `NoisyTally.from_json` read
    method  what items are ranked by: "auto", "net-wins", "wins", "win-rate", "bradley-terry"; see `rank`. The counts
            must suffice for it: they were released for one method, and some need more than others.
    ties    what a tie is to Bradley–Terry scores: "half" a win for each side, or an outcome of its own by the model of
            "davidson", for counts that were released for it
    gamma   the ridge of Bradley–Terry scores: a number above 0, or "auto"
    level, simultaneous, anchor  how sure the ranking is: as for `rank`
    scale   of Bradley–Terry scores: "log-odds", "elo" or "probability"
    overall True: for tallies of groups, also one ranking over all groups together

    >>> import quietrank as qr
    >>> votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
    >>> tally = qr.noisy_tally(votes, qr.Privacy(epsilon=1, unit="comparison"))
    >>> qr.rerank(tally, method="bradley-terry", gamma=2, level=0.95).certainty.level
    0.95
    """
    view = View.of(level, simultaneous, scale, anchor)
    return release_of(tally, Request.of("auto", method, gamma, view=view, overall=overall, ties=ties))


def fit(
    votes: Votes,
    *,
    ridge: float = 0.0,
    link: LinkWord = "logistic",
    ties: TiesWord = "half",
    cluster: bool | None = None,
    level: float = USUAL_LEVEL,
    scale: ScaleWord = "log-odds",
    anchor: Anchor = None,
) -> NonPrivateFit:
    """Bradley–Terry scores with standard errors, WITHOUT any privacy: for votes you may look at.

    votes    what `read_votes` returned
    ridge    γ in (γ/2)‖θ‖²; 0 is maximum likelihood, which needs every item to have won and lost
    link     the model: "logistic" (Bradley–Terry), "hyperbolic-secant", or a link of your own
    ties     "half": a tie is half a win for each side. "davidson": an outcome of its own, by Davidson's model, whose
             tie parameter is fitted as well; with the logistic link only
    cluster  whether standard errors are clustered by person, which allows for votes of one person that hang together.
             None: if people are named, and it can be done. False: all votes are taken as independent.
    level    of the intervals and rank sets, from 0.5 to 0.999
    scale    of the scores in the table: "log-odds", "elo" or "probability", as for `rank`
    anchor   for elo, an item and its score, such as ("item", 1000); intervals are then relative to it

    >>> import pyarrow as pa
    >>> import quietrank as qr
    >>> table = pa.table({"winner": ["tea", "tea", "water"], "loser": ["water", "water", "tea"]})
    >>> fitted = qr.fit(qr.read_votes(table, ["tea", "water"]))
    >>> [(row["item"], round(row["score"], 3)) for row in fitted.rows()]
    [('tea', 0.347), ('water', -0.347)]
    """
    if not isinstance(votes, Votes):
        raise QuietrankError("give what read_votes returned: fit(read_votes(...))")
    if votes.items.in_sets:
        raise QuietrankError(
            "fit is for votes on pairs: Bradley-Terry scores of best-worst sets would be stretched; use rank with "
            f"{option('method', 'bradley-terry')}, which uses the likelihood of the sets"
        )
    by_person = votes.names_people if cluster is None else flag("cluster", cluster)
    view = View.of(level, False, scale, anchor)
    view.place_of_anchor(votes.items)
    with counting(_ungrouped(votes), EVERY_VOTE, by_pair=True, again=by_person) as counted:
        (exact,) = counted.tallies
        fitted = _fitted(exact, ridge, link, parse(Ties, "ties", ties))
        try:
            gradients = gradients_by_person(counted, fitted) if by_person else None
        except ClusterError as reason:
            if cluster:
                raise
            note = f"Not clustered by person: {reason}."
            return replace(NonPrivateFit.of(exact.items, fitted, level=view.level, notes=(note,)), view=view)
    return replace(NonPrivateFit.of(exact.items, fitted, gradients, level=view.level), view=view)


def _fitted(exact: AnyTally, ridge: float, link: LinkWord, ties: Ties) -> Fit:
    if ties is Ties.HALF:
        return fit_pairs(_pairs(exact), ridge, link)
    if not _is(link, "logistic"):
        raise SolverError(
            f"{option('ties', Ties.DAVIDSON)} goes with {option('link', 'logistic')}; leave {option('link')} out, or "
            f"use {option('ties', Ties.HALF)}"
        )
    return fit_tied_pairs(_pairs(exact), float(exact.step) * (exact.by_item.ties or 0), ridge)


def _pairs(exact: AnyTally) -> Pairs:
    assert isinstance(exact, PairTally)
    wins_i, wins_j = (np.asarray(wins * float(exact.step), np.float64) for wins in (exact.wins_i, exact.wins_j))
    return Pairs(len(exact.items), exact.i.astype(np.int32), exact.j.astype(np.int32), wins_i, wins_j)


def exact_scores(votes: Votes, release: Release | GroupedRelease) -> dict[str, dict[str, float]]:
    """CONFIDENTIAL: what each item scores by the release's method on every vote, without noise, for each group.

    Without groups the only key is "". For the data holder's comparison; no release may be made from it.
    """
    published_as = release if isinstance(release, Release) else release.releases[0][1]
    by_pair = published_as.method == Method.BRADLEY_TERRY
    exact = count_votes(votes, replace(EVERY_VOTE, shown=votes.items.shown), by_pair=by_pair, may_be_empty=True)
    groups = {"": release} if isinstance(release, Release) else dict(release)
    tallies = dict(exact.by_group)
    if isinstance(release, GroupedRelease) and release.overall is not None:
        tallies[OVERALL] = added_up(exact)
    return {
        group: dict(zip(tally.items.names, _exact(tally, groups[group]).tolist(), strict=True))
        for group, tally in tallies.items()
    }


def _exact(tally: AnyTally, release: Release) -> Floats:
    """Exact scores in the order of the items, on the scale of the release."""
    if isinstance(tally, SetTally):
        return _on_scale(_exact_fit_of_sets(tally, release), release)
    if release.method == Method.BRADLEY_TERRY:
        return _on_scale(_exact_fit(tally, release), release)
    step, counts = float(tally.step), tally.by_item
    if release.method == Method.WIN_RATE:
        return np.asarray(0.5 + counts.net_wins / np.maximum(counts.exposure, 1))
    return np.asarray(step * (counts.wins if release.method == Method.WINS else counts.net_wins))


def _exact_fit_of_sets(tally: SetTally, release: Release) -> Floats:
    """With the ridge of the release: without one there may be no scores."""
    step, sums = float(tally.step), tally.by_item
    sets = Sets(len(tally.items), tally.sets, np.asarray(tally.weights * step, np.float64))
    net_wins = np.asarray(sums.net_wins * step, np.float64)
    return fit_sets(net_wins, sets, gamma=release.gamma or 1.0, noise_sd=0.0, noise_kurtosis=0.0).theta


def _exact_fit(tally: Tally | PairTally, release: Release) -> Floats:
    """Maximum likelihood; where there is none, because an item won or lost always, with the ridge of the release."""
    link = get_link(str(dict(release.mechanism.figures).get("link", "logistic")))
    ties = Ties.HALF if release.ties is None else Ties.DAVIDSON
    try:
        return _fitted(tally, 0.0, "logistic" if ties is Ties.DAVIDSON else link, ties).scores
    except SolverError:
        return fit_pairs(_pairs(tally), release.gamma or 1.0, link).scores


def _on_scale(scores: Floats, release: Release) -> Floats:
    """Centred log-odds on the scale of the release; Elo points are centred as those of the release are."""
    scaled = View(scale=release.scale).scaled(scores, 0.0 if release.ties is None else release.ties.parameter)
    if release.scale is not Scale.ELO:
        return scaled
    return np.asarray(scaled + np.mean([row.score for row in release]) - np.mean(scaled))


# ---- the request ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """The caller's choices, checked: what would fail or be ignored is refused before anything is debited."""

    mechanism: Mechanism | None
    """None: the best of those that keep the promise"""
    method: Method
    gamma: Gamma
    view: View = USUAL
    sampling_share: Share = "auto"
    overall: bool = False
    """whether there is also a ranking over all groups"""
    ties: Ties = Ties.HALF

    @classmethod
    def of(
        cls,
        mechanism: object,
        method: object,
        gamma: Gamma = "auto",
        comparisons_per_item: float | None = None,
        calibration: object = "tight",
        link: str | Link = "logistic",
        *,
        view: View = USUAL,
        sampling_share: object = "auto",
        overall: object = False,
        ties: object = "half",
    ) -> Request:
        """From a caller's arguments, of whatever type."""
        chosen, ranked_by, share = named(mechanism), parse(Method, "method", method), _checked_share(sampling_share)
        if isinstance(chosen, Selection):
            raise PrivacyError(
                f"{option('mechanism', chosen.name)} names the first few items and ranks no others; "
                f"{either('use top', 'add --only-top K')}, or choose another mechanism"
            )
        all_groups, of_ties = flag("overall", overall), parse(Ties, "ties", ties)
        if of_ties is Ties.DAVIDSON:
            ranked_by = _with_ties(ranked_by, chosen)
        if ranked_by is Method.AUTO and view.scale is not Scale.LOG_ODDS and not isinstance(chosen, PerturbedMLE):
            ranked_by = Method.BRADLEY_TERRY  # nothing else has scores on a scale
        gamma = "auto" if _is(gamma, "auto") else _positive("gamma", gamma, ", or auto")
        if comparisons_per_item is not None:
            comparisons_per_item = _positive("comparisons_per_item", comparisons_per_item)
        if isinstance(chosen, PerturbedMLE):
            _require_scores(ranked_by)
            if all_groups:
                raise PrivacyError(NO_SCORES)
            ridge = None if gamma == "auto" else gamma
            with_options = chosen.with_options(ridge, comparisons_per_item, calibration, link)
            return cls(with_options, Method.AUTO, "auto", view, share)
        if not (comparisons_per_item is None and _is(calibration, "tight") and _is(link, "logistic")):
            raise PrivacyError(
                f"{option('comparisons_per_item')}, {option('calibration')} and {option('link')} belong to "
                f"{option('mechanism', 'perturbed-mle')}; leave them out"
            )
        if gamma != "auto" and ranked_by is not Method.BRADLEY_TERRY:
            raise PrivacyError(
                f"{option('gamma')} belongs to {option('method', 'bradley-terry')}; leave it out, or use that (got "
                f"{option('method', ranked_by)})"
            )
        if ranked_by is not Method.AUTO:
            view.require_for(ranked_by)
        return cls(chosen, ranked_by, gamma, view, share, all_groups, of_ties)

    def price_of_scatter(self, promise: Promise) -> float:
        """The part of ε that is spent on the intervals; nothing where there are none."""
        if promise.privacy.unit is Unit.COMPARISON and self.sampling_share not in ("auto", 0):
            raise PrivacyError(
                f"{option('sampling_share')} is for {option('unit', 'person')}: single votes are taken to be "
                "independent, and nothing is bought; leave it out"
            )
        return 0.0 if self.method is Method.WINS else price(self.sampling_share, promise)

    def require_groups(self, groups: Sequence[str] | None) -> None:
        """Refuse a ranking over all groups where there are none, or where one of them has its name."""
        if self.overall and groups is None:
            raise QuietrankError(
                f"{option('overall')} is the ranking over all groups, and there are none; leave it out, or add "
                f"{option('by')} and {option('groups')}"
            )
        if self.overall:
            require_overall(groups or ())

    def of_counts(self) -> Request:
        """The same request for counts to be saved, which the perturbed MLE does not have."""
        if isinstance(self.mechanism, PerturbedMLE):
            raise PrivacyError(
                f"{option('mechanism', 'perturbed-mle')} releases scores and no counts, so there is no tally to save; "
                f"{either('use rank', 'leave --save-tally out')}, or choose another mechanism"
            )
        return self


@dataclass(frozen=True)
class TopRequest:
    """The choices of a caller who wants to know who is first, checked."""

    k: int
    mechanism: Mechanism | None
    """None: what finds most of the first k"""
    method: Method

    @classmethod
    def of(cls, k: object, mechanism: object = "auto", method: object = "auto") -> TopRequest:
        """From a caller's arguments, of whatever type."""
        first = whole_number(k)
        if first is None or first < 1:
            raise PrivacyError(
                f"{either('k', '--only-top')} must be a whole number, 1 or more, and below the number of items; got "
                f"{k!r}"
            )
        ranked_by = parse(Method, "method", method)
        require_counts(ranked_by)
        return cls(first, named(mechanism), ranked_by)

    def require_few(self, promise: Promise) -> None:
        """Refuse a list of all items."""
        if self.k >= len(promise.items):
            raise PrivacyError(
                f"{either('k', '--only-top')} must be below the number of items, {len(promise.items)}; got {self.k}"
            )

    def choice(self, promise: Promise) -> Choice:
        """The noise, from public values."""
        self.require_few(promise)
        return choose_top(promise, self.k, self.method, self.mechanism)


def _checked_share(share: object) -> Share:
    """The part of ε for the scalar, as the user gives it."""
    if isinstance(share, str) and share == "auto":
        return "auto"
    value = number(share)
    if value is None or not 0 <= value <= LARGEST_SHARE:
        name = "sampling_share"
        raise PrivacyError(
            f"{option(name)} must be a number from 0, which buys nothing, to {LARGEST_SHARE}, or auto; got "
            f"{option(name, repr(share))}"
        )
    return value


def _require_scores(method: Method) -> None:
    if method not in (Method.AUTO, Method.BRADLEY_TERRY):
        raise PrivacyError(
            f"{option('mechanism', 'perturbed-mle')} gives Bradley-Terry scores; leave {option('method', method)} out"
        )


def _with_ties(method: Method, mechanism: Mechanism | None) -> Method:
    """Davidson's model is one of scores from counts."""
    if isinstance(mechanism, PerturbedMLE) or method not in (Method.AUTO, Method.BRADLEY_TERRY):
        raise PrivacyError(NO_TIES)
    return Method.BRADLEY_TERRY


def _is(argument: object, word: str) -> bool:
    """Whether the argument is this word; an array, for one, compares differently with text."""
    return isinstance(argument, str) and argument == word


def _positive(name: str, argument: object, otherwise: str = "") -> float:
    value = number(argument)
    if value is None or not (math.isfinite(value) and value > 0):
        raise PrivacyError(f"{option(name)} must be a finite number > 0{otherwise}; got {option(name, repr(argument))}")
    return value


def ignore(done: float) -> None:
    """Nobody is told."""


# ---- the chain ------------------------------------------------------------------------------------------------------


def make_release(
    votes: Votes, privacy: Privacy, request: Request, ledger: Payer = None, tell: Tell = ignore
) -> Release | GroupedRelease:
    """Count, pay, draw, estimate: a release, or one for each group of the votes."""
    return release_of(_noisy(votes, privacy, request, ledger, save_pairs=False), request, tell)


def make_tally(
    votes: Votes, privacy: Privacy, request: Request, ledger: Payer = None, *, to_save: bool = True
) -> NoisyTally | GroupedTally:
    """The same up to the noisy counts; if they are to be saved, with the pairs of a public design."""
    return _noisy(votes, privacy, request, ledger, save_pairs=to_save)


def make_top(
    votes: Votes, privacy: Privacy, request: TopRequest, ledger: Payer = None, tell: Tell = ignore
) -> TopRelease:
    """Choose, count, pay, select: the first items in order, of each group of the votes."""
    promise, budget = _promised(votes, privacy), _opened(ledger)
    if not privacy.chooses_limit:
        choice = request.choice(promise)
        bounded = choice.noise.promise.bounded(choice.noise.clip)
        with counting(votes, bounded, may_be_empty=not privacy.votes_are_public) as counted:
            return _selected(votes, privacy, request, choice, counted, budget, tell)
    request.require_few(promise)
    histogram = limit_noise(promise)
    rest = promise.changed(epsilon=_left_by(histogram, privacy.epsilon))
    options = top_limited(rest, request.k, request.method, request.mechanism)
    with _limited(votes, promise, options, histogram, 0.0, budget) as bought:
        return _selected(
            votes, privacy, request, bought.choice, bought.counted(), budget, tell, bought.limit, bought.payment
        )  # fmt: skip


def _selected(
    votes: Votes, privacy: Privacy, request: TopRequest, choice: Choice, counted: Counting, ledger: Ledger | None,
    tell: Tell, limit: ChosenLimit | None = None, payment: Payment | None = None,
) -> TopRelease:  # fmt: skip
    """Pay, select, and say how likely such a list is right; that is simulated before anything is paid for here."""
    from quietrank.planning.top import outlook

    noise = choice.noise
    promise = noise.promise
    expected = outlook(choice, request.k, request.method, _public_units(counted.tallies, promise), tell)
    noised = cross(counted.tallies, noise, ledger=ledger, payment=payment)
    by = Method.WINS if request.method is Method.WINS else Method.NET_WINS
    assumed = assumptions(votes.items, privacy, by, votes.skip_invalid, actual_pairs=False)
    chosen = () if limit is None else (limit.note,)
    return TopRelease(
        tuple(zip(votes.groups or ("",), (_first(one, choice, request.k) for one in noised), strict=True)),
        len(votes.items), promise.privacy.changed(epsilon=privacy.epsilon),
        NoiseRecord(noise.mechanism.name, noise.figures, expected.by_mechanism), by.value,
        (*assumed, *chosen, *expected.notes), votes.shape.group, promise.group_of, expected.chances,
        noised[0].ledger_entry, limit,
        votes.condition,
    )  # fmt: skip


def _public_units(tallies: Tallies, promise: Promise) -> int | None:
    """The number of people, or of votes where single votes are protected, if all neighbours have the same."""
    if promise.privacy.unit is Unit.COMPARISON:
        return public_votes(tallies, promise)
    return tallies.people if promise.people_are_public else None


def _first(noised: Noised, choice: Choice, k: int) -> tuple[str, ...]:
    """The names of the first k: as they were selected, or by noisy counts."""
    noise = choice.noise
    names = noise.promise.items.names
    if isinstance(noise.mechanism, Selection):
        return tuple(names[place] for place in noised.values.tolist())
    tally = NoisyTally.of(noise, noised)
    counts = tally.wins if noise.statistic == WINS else tally.net_wins
    assert counts is not None
    return tuple(names[place] for place in order(counts, names)[:k])


def release_of(tally: NoisyTally | GroupedTally, request: Request, tell: Tell = ignore) -> Release | GroupedRelease:
    """The release made from noisy counts; it costs nothing."""
    if isinstance(tally, NoisyTally):
        request.require_groups(None)
        return published(tally, estimate(tally, request.method, request.gamma, request.ties), request.view, tell)
    if not isinstance(tally, GroupedTally):
        raise QuietrankError("give a noisy tally: rerank(NoisyTally.from_json(...)), or what noisy_tally returned")
    method = _method_for_all([one for _, one in tally.tallies], request.method)

    def ranked(one: NoisyTally) -> Release:
        return published(one, estimate(one, method, request.gamma, request.ties), request.view)

    releases = tuple((group, ranked(one)) for group, one in tally.tallies)
    return GroupedRelease(tally.by, releases, tally.group_of, ranked(overall(tally)) if request.overall else None)


def _method_for_all(tallies: Sequence[NoisyTally], method: Method) -> Method:
    """`auto` may differ between groups where exposures are public: then the win rate is right for all."""
    methods = {resolve(one, method) for one in tallies}
    return methods.pop() if len(methods) == 1 else Method.WIN_RATE


def _noisy(
    votes: Votes, privacy: Privacy, request: Request, ledger: Payer, *, save_pairs: bool
) -> NoisyTally | GroupedTally:
    """Choose the noise, count, pay, draw: one noisy tally, or one for each group."""
    promise = _promised(votes, privacy)
    request.require_groups(votes.groups)
    budget = _opened(ledger)
    buy = _with_chosen_limit if privacy.chooses_limit else _with_given_limit
    tallies, in_all = buy(votes, promise, request, budget, save_pairs=save_pairs)
    if votes.groups is None:
        return tallies[0]
    by_group = tuple(zip(votes.groups, tallies, strict=True))
    return GroupedTally(votes.shape.group or "", by_group, promise.group_of, in_all)


def _promised(votes: Votes, privacy: Privacy) -> Promise:
    """What is promised for these votes, which must fit it."""
    if not (isinstance(votes, Votes) and isinstance(privacy, Privacy)):
        raise QuietrankError("give what read_votes returned, and a Privacy: rank(read_votes(...), Privacy(...))")
    votes.require_fits(privacy)
    return Promise(privacy, votes.items, votes.groups, votes.group_of, votes.leaves_out)


def _with_given_limit(
    votes: Votes, promise: Promise, request: Request, ledger: Ledger | None, *, save_pairs: bool
) -> tuple[list[NoisyTally], int | None]:
    """The tally of each group, and the number of all votes where it is public."""
    privacy, part = promise.privacy, request.price_of_scatter(promise)
    of_counts = promise.changed(epsilon=rest_of(privacy.epsilon, part)) if part else promise
    choice, bounded, by_pair = _chosen(of_counts, request)
    by_pair = by_pair or _pairs_wanted(request, privacy, save_pairs)
    may_be_empty = not privacy.votes_are_public
    with counting(votes, bounded, by_pair=by_pair, may_be_empty=may_be_empty, again=bool(part)) as counted:
        noise = choice or choose(of_counts, request.method, request.mechanism, counted.tallies.rows, request.ties)
        purchase = _Purchase(privacy.epsilon, privacy.epsilon, request, noise, part, counted, votes)
        return purchase.paid_from(ledger), public_votes(counted.tallies, promise)


def _with_chosen_limit(
    votes: Votes, promise: Promise, request: Request, ledger: Ledger | None, *, save_pairs: bool
) -> tuple[list[NoisyTally], int | None]:
    """The same: read once; pay for everything; draw the histogram, choose the limit, count with it, draw the rest."""
    privacy, part, histogram = promise.privacy, request.price_of_scatter(promise), limit_noise(promise)
    left = _left_by(histogram, privacy.epsilon)
    of_counts = promise.changed(epsilon=rest_of(left, part) if part else left)
    options = limited(of_counts, request.method, request.mechanism, request.ties)
    with _limited(votes, promise, options, histogram, part, ledger) as bought:
        choice = bought.choice
        by_pair = choice.noise.statistic.by_pair or _pairs_wanted(request, privacy, save_pairs)
        counted = bought.counted(by_pair=by_pair)
        purchase = _Purchase(
            privacy.epsilon, left, request, choice, part, counted, votes, bought.limit, bought.payment
        )  # fmt: skip
        return purchase.paid_from(ledger), public_votes(counted.tallies, promise)


def _left_by(histogram: LimitNoise | None, epsilon: float) -> float:
    """What a histogram of votes per person leaves of ε."""
    return epsilon if histogram is None else rest_of(epsilon, histogram.epsilon)


@dataclass(frozen=True)
class _Limited:
    """Votes that were read once, and the limit and the noise that were chosen for them."""

    taken: Taken
    choice: Choice
    limit: ChosenLimit
    payment: Payment | None
    """for the histogram and all that follows"""

    def counted(self, *, by_pair: bool = False) -> Counting:
        noise = self.choice.noise
        empty = not noise.promise.privacy.votes_are_public
        return self.taken.counted(noise.promise.bounded(noise.clip), by_pair=by_pair, may_be_empty=empty)


@contextmanager
def _limited(
    votes: Votes, promise: Promise, options: Limited, histogram: LimitNoise | None, part: float, ledger: Ledger | None
) -> Iterator[_Limited]:
    """Read the votes once; pay for everything; draw the histogram and choose the limit."""
    with taking(votes, promise.bounded(None)) as taken:
        people, payment = taken.people_by_votes(BINS, one_per_pair=promise.privacy.one_per_pair), None
        counts = people.counts
        if histogram is not None:
            of_the_rest = options.cost + Cost.pure(part) if part else options.cost
            counts, payment = cross_people(people, histogram, of_the_rest, ledger)
        limit = chosen_limit(counts, histogram, options)
        yield _Limited(taken, options.at(limit.limit), limit, payment)


def _pairs_wanted(request: Request, privacy: Privacy, save_pairs: bool) -> bool:
    """Whether who met whom is counted as well: for the method, or to be saved."""
    return needs_pairs(request.method, privacy) or (save_pairs and privacy.design is Design.PUBLIC)


def _chosen(promise: Promise, request: Request) -> tuple[Choice | None, Bounded, bool]:
    """The noise, how votes are counted for it, and whether by pair; None if it depends on the number of votes."""
    mechanism = request.mechanism
    if mechanism is not None and mechanism.uses_votes and promise.votes_are_public:
        statistic = released_by(mechanism, promise, request.method, request.ties)
        mechanism.require(promise, statistic)
        kept, clip = mechanism.keeps(promise, statistic)
        return None, kept.bounded(clip), statistic.by_pair
    choice = choose(promise, request.method, mechanism, ties=request.ties)
    return choice, choice.noise.promise.bounded(choice.noise.clip), choice.noise.statistic.by_pair


@dataclass(frozen=True)
class _Purchase:
    """Counts, and the noise to be drawn for them: on the counts, and for a part of ε on their scatter."""

    epsilon: float
    """of everything together"""
    left: float
    """of it for the counts and their scatter"""
    request: Request
    choice: Choice
    part: float
    counted: Counting
    votes: Votes
    limit: ChosenLimit | None = None
    payment: Payment | None = None
    """what was paid before, with the limit"""

    def paid_from(self, ledger: Ledger | None) -> list[NoisyTally]:
        noise, exact = self.choice.noise, self.counted.tallies
        if not self.part:
            return self._tallies(cross(exact, noise, ledger=ledger, payment=self.payment))
        scatter = scatter_noise(noise, self.left, self.part)

        def measure(noised: Sequence[Noised]) -> list[Measured]:
            tallies = self._tallies(noised)
            method = _method_for_all(tallies, self.request.method)
            expected = [expected_of(one, method, self.request.ties) for one in tallies]
            # Where rows name nobody, only their order tells people apart: a sample of them would change with it.
            bits = 0 if self.votes.shape.row_is_person else bits_of(tallies, scatter)
            steps = self.counted.scatter(expected, float(scatter.most), bits)
            return [Measured(one.around, value, bits) for one, value in zip(expected, steps, strict=True)]

        return self._tallies(
            cross(exact, noise, scatter=scatter, measure=measure, ledger=ledger, payment=self.payment)
        )  # fmt: skip

    def _tallies(self, noised: Sequence[Noised]) -> list[NoisyTally]:
        return [
            NoisyTally.of(
                self.choice.noise, one, epsilon=self.epsilon, rows_skipped=self.votes.skip_invalid,
                notes=self.votes.notes if self.choice.noise.promise.privacy.unit is Unit.PERSON else (),
                alternatives=self.choice.alternatives, limit=self.limit, where=self.votes.condition,
            )
            for one in noised
        ]  # fmt: skip


def _opened(ledger: Payer) -> Ledger | None:
    """The ledger, opened if it is a path; one that cannot pay is refused before the votes are read."""
    if isinstance(ledger, str | os.PathLike):
        from quietrank.ledger.book import BudgetLedger

        book = BudgetLedger.open(file_path(ledger, "ledger"))
        book.require_writable()
        return book
    if ledger is not None and (isinstance(ledger, type) or not callable(getattr(ledger, "debit", None))):
        raise QuietrankError(f"ledger must be a ledger or the path of one; got {ledger!r}")
    return ledger


def _ungrouped(votes: Votes) -> Votes:
    if isinstance(votes, Votes) and votes.groups is not None:
        raise QuietrankError("these votes were read by group; use rank_by_group, or read them without by and groups")
    return votes


def _by_group(votes: Votes) -> Votes:
    if isinstance(votes, Votes) and votes.groups is None:
        raise QuietrankError("say what the groups are: read_votes(..., by='country', groups=[...])")
    return votes
