"""Votes without a limit in; one reading of them, the limit that was chosen and the noise for it out, paid for.

Everything that follows is paid for with the histogram, before it is drawn (docs/proofs/limit.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from quietrank.crossing import Payment, cross_people
from quietrank.mechanisms.choose import Choice, Limited, chosen_limit
from quietrank.mechanisms.limit import BINS, ChosenLimit, LimitNoise
from quietrank.mechanisms.scatter import rest_of
from quietrank.promise.accounting import Cost, Ledger
from quietrank.promise.promise import Promise
from quietrank.votes.read import Votes
from quietrank.votes.tally import Counting, Taken, taking


@dataclass(frozen=True)
class LimitedVotes:
    """Votes that were read once, and the limit and the noise that were chosen for them."""

    reading: Taken
    choice: Choice
    limit: ChosenLimit
    payment: Payment | None
    """for the histogram and all that follows; None where there was no histogram to pay for"""

    def counted(self, *, by_pair: bool = False) -> Counting:
        noise = self.choice.noise
        may_be_empty = not noise.promise.privacy.votes_are_public
        return self.reading.counted(noise.promise.bounded(noise.clip), by_pair=by_pair, may_be_empty=may_be_empty)


@contextmanager
def limited_votes(
    votes: Votes, promise: Promise, options: Limited, histogram: LimitNoise | None, scatter_price: float,
    ledger: Ledger | None,
) -> Iterator[LimitedVotes]:  # fmt: skip
    """Read the votes once; pay for everything; draw the histogram and choose the limit from it."""
    with taking(votes, promise.bounded(None)) as reading:
        people, payment = reading.people_by_votes(BINS, one_per_pair=promise.privacy.one_per_pair), None
        counts = people.counts
        if histogram is not None:
            of_the_rest = options.cost + Cost.pure(scatter_price) if scatter_price else options.cost
            counts, payment = cross_people(people, histogram, of_the_rest, ledger)
        limit = chosen_limit(counts, histogram, options)
        yield LimitedVotes(reading, options.at(limit.limit), limit, payment)


def epsilon_after(histogram: LimitNoise | None, epsilon: float) -> float:
    """What a histogram of votes per person leaves of ε."""
    return epsilon if histogram is None else rest_of(epsilon, histogram.epsilon)
