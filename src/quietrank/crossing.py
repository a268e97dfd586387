"""Confidential `Tallies` in, `Noised` values out: the one crossing from the confidential to the public side.

The noise comes calibrated (`mechanisms/`). `cross` checks that the votes were bounded in the way the noise was
calibrated for, recomputes the privacy loss and compares it with the promise, debits the ledger, and only then draws the
noise; of the scatter, if it was bought, last, because what it is compared with comes from the noisy counts. A crash can
waste budget; it cannot overspend it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import PrivacyError
from quietrank.mechanisms.mechanism import Calibrated, Noised, PublicPairs
from quietrank.mechanisms.scatter import Around, ScatterNoise
from quietrank.promise.accounting import Charge, Ledger, as_written
from quietrank.promise.privacy import Design
from quietrank.promise.promise import Bounded
from quietrank.votes.tallies import PairTally, Tallies, Tally

if TYPE_CHECKING:
    from quietrank.arrays import Floats, Integers


@dataclass(frozen=True)
class Measured:
    """The exact scatter of one tally, in steps; confidential."""

    around: Around
    steps: int

    def __repr__(self) -> str:
        return "Measured(confidential)"


Measure = Callable[[Sequence[Noised]], Sequence[Measured]]
"""noisy counts in, the exact scatter of each tally out"""


def cross(
    tallies: Tallies,
    calibrated: Calibrated,
    *,
    scatter: ScatterNoise | None = None,
    measure: Measure | None = None,
    ledger: Ledger | None = None,
) -> list[Noised]:
    """The statistic of each tally with noise, and its scatter where that is bought: together they keep the promise,
    and are paid for once, before any noise.

    A unit is in one group, and one that moves to another changes two tallies; the noise was calibrated for that
    (docs/proofs/groups.md). A tally by pairs is needed where estimators use the pairs of a public design.
    """
    _require_bounded(tallies, calibrated)
    require_kept(calibrated, scatter)
    entry = None if ledger is None else ledger.debit(_charge(tallies, calibrated, scatter))
    noised = [_noised(tally, calibrated, tallies.people, entry) for tally in tallies]
    if scatter is None or measure is None:
        return noised
    exact = measure(noised)
    noisy = scatter.noise.add_to(np.array([one.steps for one in exact], dtype=np.int64))
    scatters = (scatter.released(one.around, int(steps)) for one, steps in zip(exact, noisy, strict=True))
    return [replace(one, scatter=known) for one, known in zip(noised, scatters, strict=True)]


def _require_bounded(tallies: Tallies, calibrated: Calibrated) -> None:
    """The tallies must be those that the noise was calibrated for."""
    promise = calibrated.promise
    if tallies.groups != promise.groups:
        raise AssertionError("this noise was calibrated for other groups")
    bounded = Bounded.by(promise.privacy, calibrated.clip)
    for tally in tallies:
        if tally.items != promise.items:
            raise AssertionError("this noise was calibrated for other items")
        if tally.bounded != bounded:
            raise AssertionError("these votes were not bounded in the way this noise was calibrated for")


def require_kept(calibrated: Calibrated, scatter: ScatterNoise | None = None) -> None:
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
    if not (loss.epsilon <= as_written(privacy.epsilon) and loss.delta <= as_written(privacy.delta)):
        raise PrivacyError(
            f"the {calibrated.mechanism} noise does not keep epsilon={privacy.epsilon}, delta={privacy.delta}; "
            "nothing was released"
        )


def _charge(tallies: Tallies, calibrated: Calibrated, scatter: ScatterNoise | None) -> Charge:
    groups = "" if calibrated.promise.groups is None else f", {len(tallies)} groups"
    what = f"{calibrated.mechanism.charged_as(calibrated.statistic)}{groups}"
    if scatter is None:
        return Charge(calibrated.privacy, calibrated.cost, what)
    privacy, cost = scatter.promise.privacy, calibrated.cost + scatter.cost
    # The two add up to ε as it is written at most (`rest_of`, checked above), whatever their sum in binary says.
    return Charge(privacy, replace(cost, epsilon=privacy.epsilon), f"{what}, and its scatter")


def _noised(tally: Tally | PairTally, calibrated: Calibrated, people: int | None, ledger_entry: str | None) -> Noised:
    """The one line that draws noise, and what is public in addition."""
    sums, public = tally.by_item, calibrated.privacy.design is Design.PUBLIC
    return Noised(
        values=calibrated.noise.add_to(exact_values(tally, calibrated)),
        public_exposure=_in_votes(sums.exposure, tally) if public else None,
        public_total=_public_total(sums, calibrated),
        public_pairs=_pairs(tally) if public and isinstance(tally, PairTally) else None,
        ledger_entry=ledger_entry,
        people=people if calibrated.promise.people_are_public else None,
    )


def exact_values(tally: Tally | PairTally, calibrated: Calibrated) -> Any:
    """The statistic on the lattice of its noise, exactly; confidential."""
    statistic = calibrated.statistic
    counts = tally if statistic.by_pair else tally.by_item
    return statistic.vector(counts, int(tally.step / calibrated.step), calibrated.share)


def _public_total(sums: Tally, calibrated: Calibrated) -> float | None:
    """The number of votes, counted before any row is dropped, where it is the same for all neighbours."""
    if calibrated.privacy.design is Design.PUBLIC:
        return sums.total * float(sums.step)
    return float(sums.rows) if calibrated.promise.votes_are_public else None


def _pairs(tally: PairTally) -> PublicPairs:
    return PublicPairs(tally.i, tally.j, _in_votes(tally.wins_i + tally.wins_j, tally))


def _in_votes(steps: Integers, tally: Tally | PairTally) -> Floats:
    return np.asarray(steps * float(tally.step))
