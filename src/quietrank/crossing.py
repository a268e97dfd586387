"""Confidential `Tallies` in, `Noised` values out: the one crossing from the confidential to the public side.

The noise comes calibrated (`mechanisms/`). `cross` checks that the votes were bounded in the way the noise was
calibrated for, recomputes the privacy loss and compares it with the promise, debits the ledger, and only then draws the
noise; of the scatter, if it was bought, last, because what it is compared with comes from the noisy counts. If the
engine fails while it is measured, the counts, which are paid for and drawn, are released without it. Where a
limit on people's votes is bought, `cross_people` debits everything first and draws the histogram; `cross` then spends
what is left. A crash can waste budget; it cannot overspend it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import PrivacyError, VotesError
from quietrank.mechanisms.horizon import BoardNoise
from quietrank.mechanisms.limit import LimitNoise
from quietrank.mechanisms.mechanism import Calibrated, Noised, PublicPairs, PublicSets
from quietrank.mechanisms.scatter import Around, ScatterNoise
from quietrank.noise.words import saturating_sum
from quietrank.promise.accounting import Charge, Cost, Ledger, as_written
from quietrank.promise.privacy import Design, Privacy
from quietrank.promise.promise import Promise
from quietrank.votes.daily.limits import Draws, Encoded
from quietrank.votes.tallies import AnyTally, PairTally, PeopleByVotes, SetTally, Tallies, Tally

if TYPE_CHECKING:
    from quietrank.arrays import Floats, Integers


@dataclass(frozen=True)
class Measured:
    """The exact scatter of one tally, in steps; confidential."""

    around: Around
    steps: int
    bits: int = 0
    """k, where it is that of the people in a sample of one in 2^k; from public or noisy values"""

    def __repr__(self) -> str:
        return "Measured(confidential)"


Measure = Callable[[Sequence[Noised]], Sequence[Measured]]
"""noisy counts in, the exact scatter of each tally out"""


@dataclass(eq=False)
class Payment:
    """What a ledger was debited for, and what of it has been spent: every draw is spent before it is made."""

    charge: Charge
    entry: str | None
    limit: LimitNoise | None = None
    """what was bought before the counts"""
    spent: list[Cost] = field(default_factory=list)

    def spend(self, loss: Cost) -> None:
        total = sum(self.spent[1:], self.spent[0]) + loss if self.spent else loss
        if not self.charge.cost.covers(total):
            raise PrivacyError("the noise costs more than was paid for; nothing more was released")
        self.spent.append(loss)


def _pay(charge: Charge, ledger: Ledger | None, limit: LimitNoise | None = None) -> Payment:
    return Payment(charge, None if ledger is None else ledger.debit(charge), limit)


def cross_people(
    people: PeopleByVotes, noise: LimitNoise, of_the_rest: Cost, ledger: Ledger | None = None
) -> tuple[Integers, Payment]:
    """A histogram of votes per person with noise, and the payment for it and for all that follows: `of_the_rest`."""
    privacy = noise.promise.privacy
    if not noise.cost.covers(noise.loss):
        raise PrivacyError("the noise of the histogram costs more than it charges; nothing was released")
    cost = noise.cost + of_the_rest
    _require_within(privacy, cost)
    # What is charged is what is written; noise is calibrated to the doubles below it.
    stated = replace(cost, epsilon=privacy.epsilon, delta=privacy.delta if cost.delta else 0.0)
    payment = _pay(Charge(privacy, stated, CHOOSING), ledger, noise)
    payment.spend(noise.loss)
    return noise.noise.add_to(people.counts), payment


CHOOSING = "noise on the counts, after a histogram of votes per person"


def cross(
    tallies: Tallies,
    calibrated: Calibrated,
    *,
    scatter: ScatterNoise | None = None,
    measure: Measure | None = None,
    ledger: Ledger | None = None,
    payment: Payment | None = None,
) -> list[Noised]:
    """The statistic of each tally with noise, and its scatter where that is bought: together they keep the promise,
    and are paid for once, before any noise.

    A unit that moves to another group changes two tallies, and a person whose votes are spread over groups may change
    all; the noise was calibrated for that (docs/proofs/groups.md). A tally by pairs is needed where estimators use the
    pairs of a public design. A `payment` was made before, where something else was bought first; then no ledger is
    debited here.
    """
    _require_bounded(tallies, calibrated)
    require_kept(calibrated, scatter, None if payment is None else payment.limit)
    vectors = [exact_values(tally, calibrated) for tally in tallies]  # refused here if 64 bits do not hold them
    payment = payment or _pay(_charge(tallies, calibrated, scatter), ledger)
    payment.spend(calibrated.mechanism.loss(calibrated))
    noised = [
        _draw_tally(tally, vector, calibrated, tallies.people, payment.entry)
        for tally, vector in zip(tallies, vectors, strict=True)
    ]
    if scatter is None or measure is None:
        return noised
    try:
        exact = measure(noised)
    except VotesError:  # not why: the counts are paid for, and all that is said is that there is no scatter
        return [replace(one, unmeasured=scatter.epsilon) for one in noised]
    payment.spend(scatter.loss)
    noisy = scatter.noise.add_to(np.array([one.steps for one in exact], dtype=np.int64))
    scatters = (scatter.released(one.around, int(steps), one.bits) for one, steps in zip(exact, noisy, strict=True))
    return [replace(one, scatter=known) for one, known in zip(noised, scatters, strict=True)]


def cross_board(noise: BoardNoise, ledger: Ledger, what: str) -> str:
    """Pay for every day of a board, before a vote of it is counted; the id of the payment."""
    _require_board(noise)
    return ledger.debit(Charge(noise.promise.privacy, noise.cost, what))


def cross_day(encoded: Encoded, noise: BoardNoise) -> tuple[Integers, Integers]:
    """What is published on one day of a board that was paid for: net wins and exposures, encoded, with noise.

    People are bounded over the whole horizon, so that all days together keep the promise (docs/proofs/boards.md).
    Whoever calls this writes the result down before anybody sees it, and the draws with it where they are used again;
    and never asks again for a day that was written.
    """
    _require_board(noise)
    if encoded.limit != noise.limit:
        raise AssertionError("these votes were not bounded in the way this noise was calibrated for")
    _draw(encoded.draws, noise)
    return with_draws(encoded, noise)


def with_draws(encoded: Encoded, noise: BoardNoise) -> tuple[Integers, Integers]:
    """The encoded counts with noise that was drawn; for checking what was published once more.

    The sums are exact, and only then cut off at 64 bits, which readers see by what is published: cutting counts off
    before noise that days share would break the promise, and an error would tell that one more vote was too many.
    """
    net_wins, exposures = encoded.draws.mixed(noise.mixing(encoded.day), len(encoded.net_wins))
    return saturating_sum(encoded.net_wins, net_wins), saturating_sum(encoded.exposures, exposures)


def _draw(draws: Draws, noise: BoardNoise) -> None:
    """Make the draws that a day uses and that were not made before; those of one law together."""
    by_law: dict[Any, list[tuple[int, int]]] = {}
    for draw, places in draws.missing.items():
        by_law.setdefault(noise.noises(draw), []).extend((draw, place) for place in places)
    for (of_net_wins, of_exposures), entries in by_law.items():
        net_wins, exposures = of_net_wins.draw_fresh(len(entries)), of_exposures.draw_fresh(len(entries))
        draws.fresh |= {
            entry: (int(net), int(met)) for entry, net, met in zip(entries, net_wins, exposures, strict=True)
        }


def _require_board(noise: BoardNoise) -> None:
    loss = noise.loss
    if not noise.cost.covers(loss):
        raise PrivacyError("the noise of the board costs more than it charges; nothing was released")
    _require_within(noise.promise.privacy, loss, "board's")


def _require_bounded(tallies: Tallies, calibrated: Calibrated) -> None:
    """The tallies must be those that the noise was calibrated for."""
    promise = calibrated.promise
    if tallies.groups != promise.groups:
        raise AssertionError("this noise was calibrated for other groups")
    bounded = promise.bounded(calibrated.clip)
    for tally in tallies:
        if tally.items != promise.items:
            raise AssertionError("this noise was calibrated for other items")
        if tally.bounded != bounded:
            raise AssertionError("these votes were not bounded in the way this noise was calibrated for")


def require_kept(calibrated: Calibrated, scatter: ScatterNoise | None = None, limit: LimitNoise | None = None) -> None:
    """Recompute the privacy loss of the noise from the sensitivity; compare it with the promise and the price."""
    loss, privacy = calibrated.mechanism.loss(calibrated), calibrated.privacy
    if not calibrated.cost.covers(loss):
        raise PrivacyError(f"the {calibrated.mechanism} noise costs more than it charges; nothing was released")
    if scatter is not None:
        if scatter.promise.changed(epsilon=privacy.epsilon) != calibrated.promise:
            raise AssertionError("the scatter and the counts were calibrated for different promises")
        if not scatter.cost.covers(scatter.loss):
            raise PrivacyError("the noise of the scatter costs more than it charges; nothing was released")
        loss, privacy = loss + scatter.loss, scatter.promise.privacy
    if limit is not None:
        if _but_for_price(limit.promise) != _but_for_price(calibrated.promise):
            raise AssertionError("the limit and the counts were bought for different promises")
        loss, privacy = limit.loss + loss, limit.promise.privacy
    _require_within(privacy, loss, calibrated.mechanism.name)


def _but_for_price(promise: Promise) -> Promise:
    """What a histogram and the counts must agree on: all but the price of each, and the limit that is being chosen."""
    return promise.changed(epsilon=1.0, delta=0.0, clip=None, max_per_person=1)


def _require_within(privacy: Privacy, loss: Cost, noise: str = "limit's") -> None:
    if not (loss.epsilon <= as_written(privacy.epsilon) and loss.delta <= as_written(privacy.delta)):
        raise PrivacyError(
            f"the {noise} noise does not keep epsilon={privacy.epsilon}, delta={privacy.delta}; nothing was released"
        )


def _charge(tallies: Tallies, calibrated: Calibrated, scatter: ScatterNoise | None) -> Charge:
    groups = "" if calibrated.promise.groups is None else f", {len(tallies)} groups"
    what = f"{calibrated.mechanism.charged_as(calibrated.statistic)}{groups}"
    if scatter is None:
        return Charge(calibrated.privacy, calibrated.cost, what)
    privacy, cost = scatter.promise.privacy, calibrated.cost + scatter.cost
    # The two add up to ε as it is written at most (`rest_of`, checked above), whatever their sum in binary says.
    return Charge(privacy, replace(cost, epsilon=privacy.epsilon), f"{what}, and its scatter")


def _draw_tally(
    tally: AnyTally, vector: Any, calibrated: Calibrated, people: int | None, ledger_entry: str | None
) -> Noised:
    """The one line that draws noise, and what is public in addition."""
    sums, public = tally.by_item, calibrated.privacy.design is Design.PUBLIC
    return Noised(
        values=calibrated.noise.add_to(vector),
        public_exposure=_in_votes(sums.exposure, tally) if public else None,
        public_total=_public_total(sums, calibrated),
        public_pairs=_pairs(tally) if public and isinstance(tally, PairTally) else None,
        public_sets=_sets(tally) if public and isinstance(tally, SetTally) else None,
        ledger_entry=ledger_entry,
        people=people if calibrated.promise.people_are_public else None,
    )


def exact_values(tally: AnyTally, calibrated: Calibrated) -> Any:
    """The statistic on the lattice of its noise, exactly; confidential."""
    statistic = calibrated.statistic
    counts = tally if statistic.by_pair else tally.by_item
    return statistic.vector(counts, int(tally.step / calibrated.step), calibrated.share)


def _public_total(sums: Tally, calibrated: Calibrated) -> float | None:
    """The number of votes, counted before any row is dropped, where it is the same for all neighbours."""
    if calibrated.privacy.design is Design.PUBLIC:
        return sums.total * float(sums.step)
    return float(sums.rows) if calibrated.promise.total_is_public else None


def public_votes(tallies: Tallies, promise: Promise) -> int | None:
    """The number of all votes, over all groups, before any row is dropped, where it is the same for all neighbours.

    Where rows may be left out it is not the number of votes that count, so nobody gets it as such.
    """
    whole = not promise.leaves_out or promise.privacy.design is Design.PUBLIC
    return tallies.rows if promise.privacy.votes_are_public and whole else None


def _pairs(tally: PairTally) -> PublicPairs:
    return PublicPairs(tally.i, tally.j, _in_votes(tally.wins_i + tally.wins_j, tally))


def _sets(tally: SetTally) -> PublicSets:
    """What was shown: the design; what was chosen from it is the answer."""
    return PublicSets(tally.sets, _in_votes(tally.weights, tally))


def _in_votes(steps: Integers, tally: AnyTally) -> Floats:
    return np.asarray(steps * float(tally.step))
