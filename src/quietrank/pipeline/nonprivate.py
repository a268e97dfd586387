"""Votes in, scores without noise out: NOT PRIVATE. For votes that may be looked at, and for the data holder alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quietrank.arrays import Floats
from quietrank.errors import QuietrankError, SolverError, option
from quietrank.estimate.overall import OVERALL
from quietrank.maths.clustered import ClusterError
from quietrank.maths.fit import Fit, fit_pairs
from quietrank.maths.links import LinkWord, get_link
from quietrank.maths.pairs import Pairs
from quietrank.maths.sets import Sets, fit_sets
from quietrank.maths.tied_fit import fit_tied_pairs
from quietrank.pipeline.request import is_word, ungrouped
from quietrank.promise.arguments import flag, parse
from quietrank.promise.promise import EVERY_VOTE
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.nonprivate import NonPrivateFit
from quietrank.publish.release import Release
from quietrank.publish.view import USUAL_LEVEL, Anchor, Scale, ScaleWord, View
from quietrank.statistics.method import Method, Ties, TiesWord
from quietrank.votes.added import added_up
from quietrank.votes.gradients import gradients_by_person
from quietrank.votes.read import Votes
from quietrank.votes.tallies import AnyTally, PairTally, SetTally, Tally
from quietrank.votes.tally import count_votes, counting


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
    link     the model: "logistic" (Bradley–Terry), "hyperbolic-secant", or a `maths.links.CustomLink`
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
    with counting(ungrouped(votes), EVERY_VOTE, by_pair=True, again=by_person) as counted:
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
    if not is_word(link, "logistic"):
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
