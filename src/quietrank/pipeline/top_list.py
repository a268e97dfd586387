"""Votes, a `Privacy` and a `TopRequest` in, the first k names in order out, paid for: choose, count, pay, select."""

from __future__ import annotations

from quietrank.crossing import Payment, cross, public_votes
from quietrank.estimate.methods import assumptions, risky_delta
from quietrank.estimate.noisy import NoisyTally
from quietrank.maths.ranks import Tell
from quietrank.mechanisms.choose import Choice
from quietrank.mechanisms.choose_top import method_of_counts, top_limited
from quietrank.mechanisms.limit import ChosenLimit, limit_noise
from quietrank.mechanisms.mechanism import Noised
from quietrank.mechanisms.selection import Selection
from quietrank.pipeline.limit import epsilon_after, limited_votes
from quietrank.pipeline.request import Payer, TopRequest, open_ledger, promise_for
from quietrank.promise.accounting import Ledger
from quietrank.promise.privacy import Privacy, Unit
from quietrank.promise.promise import Promise
from quietrank.publish.release import order
from quietrank.publish.tabular import NoiseRecord
from quietrank.publish.top import TopRelease
from quietrank.statistics.wins import WINS
from quietrank.votes.read import Votes
from quietrank.votes.tallies import Tallies
from quietrank.votes.tally import Counting, counting


def make_top(
    votes: Votes, privacy: Privacy, request: TopRequest, ledger: Payer = None, tell: Tell = lambda done: None
) -> TopRelease:
    """The first items in order, of each group of the votes."""
    promise, budget = promise_for(votes, privacy), open_ledger(ledger)
    if not privacy.chooses_limit:
        choice = request.choice(promise)
        bounded = choice.noise.promise.bounded(choice.noise.clip)
        with counting(votes, bounded, may_be_empty=not privacy.votes_are_public) as counted:
            return _selected(votes, privacy, request, choice, counted, budget, tell)
    request.require_few(promise)
    histogram = limit_noise(promise)
    rest = promise.changed(epsilon=epsilon_after(histogram, privacy.epsilon))
    options = top_limited(rest, request.k, request.method, request.mechanism)
    with limited_votes(votes, promise, options, histogram, 0.0, budget) as bought:
        return _selected(
            votes, privacy, request, bought.choice, bought.counted(), budget, tell, bought.limit, bought.payment
        )  # fmt: skip


def _selected(
    votes: Votes, privacy: Privacy, request: TopRequest, choice: Choice, counted: Counting, ledger: Ledger | None,
    tell: Tell, limit: ChosenLimit | None = None, payment: Payment | None = None,
) -> TopRelease:  # fmt: skip
    """Pay, select, and say how likely such a list is right; that is simulated before anything is paid for here."""
    from quietrank.planning.outlook import outlook

    noise = choice.noise
    promise = noise.promise
    units = _public_units(counted.tallies, promise)
    expected = outlook(choice, request.k, request.method, units, privacy.delta, tell)
    noised = cross(counted.tallies, noise, ledger=ledger, payment=payment)
    method = method_of_counts(request.method)
    assumed = assumptions(votes.items, promise.privacy, method, votes.skip_invalid, actual_pairs=False)
    about_limit = () if limit is None else (limit.note,)
    risky = risky_delta(promise.privacy, units)
    return TopRelease(
        lists=tuple(zip(votes.groups or ("",), (_first(one, choice, request.k) for one in noised), strict=True)),
        items=len(votes.items),
        privacy=promise.privacy.changed(epsilon=privacy.epsilon),
        mechanism=NoiseRecord(noise.mechanism.name, noise.figures, expected.by_mechanism),
        method=method.value,
        assumptions=(*assumed, *votes.notes(privacy.unit), *risky, *about_limit, *expected.notes),
        by=votes.shape.group,
        group_of=promise.group_of,
        chances=expected.chances,
        ledger_entry=noised[0].ledger_entry,
        limit=limit,
        where=votes.condition,
    )


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
