"""Votes, or a noisy tally, and a `Request` in, what is published out: a release, or one for each group."""

from __future__ import annotations

from quietrank.errors import QuietrankError
from quietrank.estimate.methods import estimate, resolve_for_all
from quietrank.estimate.noisy import GroupedTally, NoisyTally
from quietrank.estimate.overall import overall
from quietrank.maths.ranks import Tell
from quietrank.pipeline.counts import make_tally
from quietrank.pipeline.request import Payer, Request
from quietrank.promise.privacy import Privacy
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.release import Release
from quietrank.publish.release import make_release as published
from quietrank.votes.read import Votes


def make_release(
    votes: Votes, privacy: Privacy, request: Request, ledger: Payer = None, tell: Tell = lambda done: None
) -> Release | GroupedRelease:
    """Count, pay, draw, estimate: a release, or one for each group of the votes."""
    return release_of(make_tally(votes, privacy, request, ledger, to_save=False), request, tell)


def release_of(
    tally: NoisyTally | GroupedTally, request: Request, tell: Tell = lambda done: None
) -> Release | GroupedRelease:
    """The release made from noisy counts; it costs nothing."""
    if isinstance(tally, NoisyTally):
        request.require_groups(None)
        return published(tally, estimate(tally, request.method, request.gamma, request.ties), request.view, tell)
    if not isinstance(tally, GroupedTally):
        raise QuietrankError("give a noisy tally: rerank(NoisyTally.from_json(...)), or what noisy_tally returned")
    method = resolve_for_all([one for _, one in tally.tallies], request.method)

    def ranked(one: NoisyTally) -> Release:
        return published(one, estimate(one, method, request.gamma, request.ties), request.view)

    releases = tuple((group, ranked(one)) for group, one in tally.tallies)
    return GroupedRelease(tally.by, releases, tally.group_of, ranked(overall(tally)) if request.overall else None)
