"""Confidential `Tallies` in, `Noised` values out: the one crossing from the confidential to the public side.

The noise comes calibrated (`mechanisms/`). `cross` checks that the votes were bounded in the way the noise was
calibrated for, recomputes the privacy loss and compares it with the promise, debits the ledger, and only then draws the
noise. A crash can waste budget; it cannot overspend it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import PrivacyError
from quietrank.mechanisms.mechanism import Calibrated, Noised, PublicPairs
from quietrank.promise.accounting import Charge, Ledger, as_written
from quietrank.promise.privacy import Design
from quietrank.promise.promise import Bounded
from quietrank.votes.tallies import PairTally, Tallies, Tally

if TYPE_CHECKING:
    from quietrank.arrays import Floats, Integers


def cross(tallies: Tallies, calibrated: Calibrated, *, ledger: Ledger | None = None) -> list[Noised]:
    """The statistic of each tally with noise; together they keep the promise, and are paid for once, before any noise.

    A unit is in one group, and one that moves to another changes two tallies; the noise was calibrated for that
    (docs/proofs/groups.md). A tally by pairs is needed where estimators use the pairs of a public design.
    """
    _require_bounded(tallies, calibrated)
    require_kept(calibrated)
    entry = None if ledger is None else ledger.debit(_charge(tallies, calibrated))
    return [_noised(tally, calibrated, entry) for tally in tallies]


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


def require_kept(calibrated: Calibrated) -> None:
    """Recompute the privacy loss of the noise from the sensitivity; compare it with the promise and the price."""
    loss, privacy = calibrated.mechanism.loss(calibrated), calibrated.privacy
    if not calibrated.cost.covers(loss):
        raise PrivacyError(f"the {calibrated.mechanism} noise costs more than it charges; nothing was released")
    if not (loss.epsilon <= as_written(privacy.epsilon) and loss.delta <= as_written(privacy.delta)):
        raise PrivacyError(
            f"the {calibrated.mechanism} noise does not keep epsilon={privacy.epsilon}, delta={privacy.delta}; "
            "nothing was released"
        )


def _charge(tallies: Tallies, calibrated: Calibrated) -> Charge:
    groups = "" if calibrated.promise.groups is None else f", {len(tallies)} groups"
    what = f"{calibrated.mechanism.charged_as(calibrated.statistic)}{groups}"
    return Charge(calibrated.privacy, calibrated.cost, what)


def _noised(tally: Tally | PairTally, calibrated: Calibrated, ledger_entry: str | None) -> Noised:
    """The one line that draws noise, and what is public in addition."""
    sums, public = tally.by_item, calibrated.privacy.design is Design.PUBLIC
    return Noised(
        values=calibrated.noise.add_to(exact_values(tally, calibrated)),
        public_exposure=_in_votes(sums.exposure, tally) if public else None,
        public_total=_public_total(sums, calibrated),
        public_pairs=_pairs(tally) if public and isinstance(tally, PairTally) else None,
        ledger_entry=ledger_entry,
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
