"""Votes, a `Privacy` and a `Request` in, noisy tallies out, paid for: choose the noise, count, pay, draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quietrank.crossing import Measured, Payment, cross, public_votes
from quietrank.estimate.methods import expected_of, resolve_for_all
from quietrank.estimate.noisy import GroupedTally, NoisyTally
from quietrank.estimate.sample import bits_of
from quietrank.mechanisms.choose import Choice, choose, limited, released_by
from quietrank.mechanisms.limit import ChosenLimit, limit_noise
from quietrank.mechanisms.mechanism import Noised
from quietrank.mechanisms.scatter import rest_of, scatter_noise
from quietrank.pipeline.limit import epsilon_after, limited_votes
from quietrank.pipeline.request import Payer, Request, open_ledger, promise_for
from quietrank.promise.accounting import Ledger
from quietrank.promise.privacy import Design, Privacy
from quietrank.promise.promise import Bounded, Promise
from quietrank.statistics.method import needs_pairs
from quietrank.votes.read import Votes
from quietrank.votes.tally import Counting, counting


def make_tally(
    votes: Votes, privacy: Privacy, request: Request, ledger: Payer = None, *, to_save: bool = True
) -> NoisyTally | GroupedTally:
    """One noisy tally, or one for each group of the votes; if it is to be saved, with the pairs of a public design."""
    promise = promise_for(votes, privacy)
    request.require_groups(votes.groups)
    budget = open_ledger(ledger)
    buy = _with_chosen_limit if privacy.chooses_limit else _with_declared_limit
    tallies, votes_in_all = buy(votes, promise, request, budget, save_pairs=to_save)
    if votes.groups is None:
        return tallies[0]
    by_group = tuple(zip(votes.groups, tallies, strict=True))
    return GroupedTally(votes.shape.group or "", by_group, promise.group_of, votes_in_all)


def _with_declared_limit(
    votes: Votes, promise: Promise, request: Request, ledger: Ledger | None, *, save_pairs: bool
) -> tuple[list[NoisyTally], int | None]:
    """The tally of each group, and the number of all votes where it is public."""
    privacy, scatter_price = promise.privacy, request.price_of_scatter(promise)
    of_counts = promise.changed(epsilon=rest_of(privacy.epsilon, scatter_price)) if scatter_price else promise
    choice, bounded, by_pair = _noise_and_bounds(of_counts, request)
    by_pair = by_pair or _wants_pairs(request, privacy, save_pairs)
    may_be_empty = not privacy.votes_are_public
    with counting(votes, bounded, by_pair=by_pair, may_be_empty=may_be_empty, again=bool(scatter_price)) as counted:
        choice = choice or choose(of_counts, request.method, request.mechanism, counted.tallies.rows, request.ties)
        purchase = _Purchase(votes, request, counted, choice, privacy.epsilon, privacy.epsilon, scatter_price)
        return purchase.pay_from(ledger), public_votes(counted.tallies, promise)


def _with_chosen_limit(
    votes: Votes, promise: Promise, request: Request, ledger: Ledger | None, *, save_pairs: bool
) -> tuple[list[NoisyTally], int | None]:
    """The same: read once; pay for everything; draw the histogram, choose the limit, count with it, draw the rest."""
    privacy, scatter_price, histogram = promise.privacy, request.price_of_scatter(promise), limit_noise(promise)
    left = epsilon_after(histogram, privacy.epsilon)
    of_counts = promise.changed(epsilon=rest_of(left, scatter_price) if scatter_price else left)
    options = limited(of_counts, request.method, request.mechanism, request.ties)
    with limited_votes(votes, promise, options, histogram, scatter_price, ledger) as bought:
        choice = bought.choice
        by_pair = choice.noise.statistic.by_pair or _wants_pairs(request, privacy, save_pairs)
        counted = bought.counted(by_pair=by_pair)
        purchase = _Purchase(
            votes, request, counted, choice, privacy.epsilon, left, scatter_price, bought.limit, bought.payment
        )
        return purchase.pay_from(ledger), public_votes(counted.tallies, promise)


def _noise_and_bounds(promise: Promise, request: Request) -> tuple[Choice | None, Bounded, bool]:
    """The noise, how votes are counted for it, and whether by pair; None if it depends on the number of votes."""
    mechanism = request.mechanism
    if mechanism is not None and mechanism.uses_votes and promise.votes_are_public:
        statistic = released_by(mechanism, promise, request.method, request.ties)
        mechanism.require(promise, statistic)
        kept, clip = mechanism.keeps(promise, statistic)
        return None, kept.bounded(clip), statistic.by_pair
    choice = choose(promise, request.method, mechanism, ties=request.ties)
    return choice, choice.noise.promise.bounded(choice.noise.clip), choice.noise.statistic.by_pair


def _wants_pairs(request: Request, privacy: Privacy, save_pairs: bool) -> bool:
    """Whether who met whom is counted as well: for the method, or to be saved."""
    return needs_pairs(request.method, privacy) or (save_pairs and privacy.design is Design.PUBLIC)


@dataclass(frozen=True)
class _Purchase:
    """Counts, and the noise to be drawn for them: on the counts, and for a part of ε on their scatter."""

    votes: Votes
    request: Request
    counted: Counting
    choice: Choice
    epsilon: float
    """of everything together"""
    left: float
    """of it for the counts and their scatter"""
    scatter_price: float
    """of that for the scatter; 0: it is not bought"""
    limit: ChosenLimit | None = None
    payment: Payment | None = None
    """what was paid before, with the limit"""

    def pay_from(self, ledger: Ledger | None) -> list[NoisyTally]:
        noise, exact = self.choice.noise, self.counted.tallies
        if not self.scatter_price:
            return self._tallies(cross(exact, noise, ledger=ledger, payment=self.payment))
        scatter = scatter_noise(noise, self.left, self.scatter_price)

        def measure(noised: Sequence[Noised]) -> list[Measured]:
            tallies = self._tallies(noised)
            method = resolve_for_all(tallies, self.request.method)
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
                notes=self.votes.notes(self.choice.noise.promise.privacy.unit),
                alternatives=self.choice.alternatives, limit=self.limit, where=self.votes.condition,
            )
            for one in noised
        ]  # fmt: skip
