"""A caller's arguments in, a release or a noisy tally out: the public functions.

Each is thin: it parses its arguments once, into a `Request`, and passes that on.
"""

from __future__ import annotations

from typing import overload

from quietrank.estimate.noisy import GroupedTally, NoisyTally
from quietrank.maths.links import LinkWord
from quietrank.mechanisms.perturbed_mle.loss import CalibrationWord
from quietrank.mechanisms.registry import MechanismWord
from quietrank.mechanisms.scatter import Share
from quietrank.pipeline.counts import make_tally
from quietrank.pipeline.release import make_release, release_of
from quietrank.pipeline.request import Gamma, Payer, Request, TopRequest, by_group, ungrouped
from quietrank.pipeline.top_list import make_top
from quietrank.promise.privacy import Privacy
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.release import Release
from quietrank.publish.top import TopRelease
from quietrank.publish.view import USUAL_LEVEL, Anchor, ScaleWord, View
from quietrank.statistics.method import MethodWord, TiesWord, TopMethodWord
from quietrank.votes.read import Votes


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
    link                  the model: "logistic" (Bradley–Terry), "hyperbolic-secant", or a `maths.links.CustomLink`

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
    release = make_release(ungrouped(votes), privacy, request, ledger)
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
    """One ranking per group of votes, or of people; all keep the promise of `privacy` together, for one payment.

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
               "tight" or "published"; "logistic", "hyperbolic-secant" or a `maths.links.CustomLink`

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
    release = make_release(by_group(votes), privacy, request, ledger)
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
    tally = make_tally(ungrouped(votes), privacy, request.of_counts(), ledger)
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
    tally = make_tally(by_group(votes), privacy, request.of_counts(), ledger)
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
