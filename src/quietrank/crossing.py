"""A confidential `Tally` in, a `NoisyTally` out: the one crossing from the confidential to the public side.

The noise comes calibrated (`additive.py`). Here its privacy loss is recomputed and checked against the promise, the
ledger is debited, and only then is it drawn. A crash can waste budget; it cannot overspend it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quietrank.estimate.noisy import Floats, NoisyTally, PublicPairs
from quietrank.mechanisms.additive import Calibrated, require_kept
from quietrank.promise.accounting import Charge, Ledger
from quietrank.promise.privacy import Design, Privacy
from quietrank.statistics.sensitivity import Bounded, Statistic
from quietrank.votes.tally import PairTally, Tally


def add_noise(
    tally: Tally | PairTally, calibrated: Calibrated, *, ledger: Ledger | None = None, rows_skipped: bool = False
) -> NoisyTally:
    """The statistic of the tally with noise that keeps the promise of `calibrated.privacy`.

    A tally by pairs is needed where estimators shall know the pairs of a public design.
    """
    if calibrated.groups:
        raise AssertionError("this noise is for votes split by group: use add_noise_to_groups")
    entry = _pay([tally], calibrated, ledger, "")
    return _with_noise(tally, calibrated, entry, rows_skipped)


def add_noise_to_groups(
    tallies: Sequence[Tally | PairTally],
    calibrated: Calibrated,
    *,
    ledger: Ledger | None = None,
    rows_skipped: bool = False,
) -> list[NoisyTally]:
    """The same for one tally per group: they keep the promise together, and are paid for once, before any noise.

    A unit is in one group, and one that moves to another changes two tallies; the noise was calibrated for that
    (docs/proofs/groups.md).
    """
    if not calibrated.groups:
        raise AssertionError("this noise was not calibrated for votes split by group")
    entry = _pay(tallies, calibrated, ledger, f", {len(tallies)} groups")
    return [_with_noise(tally, calibrated, entry, rows_skipped) for tally in tallies]


def _pay(
    tallies: Sequence[Tally | PairTally], calibrated: Calibrated, ledger: Ledger | None, groups: str
) -> str | None:
    """Check that the promise is kept and debit the ledger; only then may noise be drawn."""
    for tally in tallies:
        require_kept(tally.items, calibrated)
        if tally.bounded != Bounded.by(calibrated.privacy, calibrated.clip):
            raise AssertionError("these votes were not bounded in the way this noise was calibrated for")
    if ledger is None:
        return None
    what = f"{calibrated.mechanism} noise on {calibrated.statistic}{groups}"
    return ledger.debit(Charge(calibrated.privacy, calibrated.cost, what))


def _with_noise(
    tally: Tally | PairTally, calibrated: Calibrated, ledger_entry: str | None, rows_skipped: bool
) -> NoisyTally:
    privacy, pairs = calibrated.privacy, None
    if isinstance(tally, PairTally):
        pairs, tally = _public_pairs(tally, privacy), tally.by_item
    return NoisyTally(
        items=tally.items,
        privacy=privacy,
        statistic=calibrated.statistic,
        values=calibrated.noise.add(exact_values(tally, calibrated)),
        step=calibrated.step,
        share=calibrated.share,
        mechanism=calibrated.mechanism.value,
        figures=calibrated.figures,
        law=calibrated.law,
        public_exposure=_public_exposure(tally, privacy),
        public_total=_public_total(tally, calibrated),
        public_pairs=pairs,
        rows_skipped=rows_skipped,
        ledger_entry=ledger_entry,
    )


def exact_values(tally: Tally, calibrated: Calibrated) -> NDArray[np.int64]:
    """The statistic on the lattice of its noise, exactly."""
    finer = int(tally.step / calibrated.step)
    if calibrated.statistic is Statistic.NET_WINS:
        return tally.net_wins * finer
    if calibrated.statistic is Statistic.WINS:
        return tally.wins * finer
    if calibrated.statistic is Statistic.WINS_AND_LOSSES:
        return np.concatenate([tally.wins, tally.losses]) * finer
    beside = tally.exposure if calibrated.statistic is Statistic.NET_WINS_AND_EXPOSURES else tally.total
    # Of the share itself there are finer·share steps in a step of the tally, a whole number.
    return np.append(tally.net_wins * finer, np.asarray(beside) * int(finer * calibrated.share))


def _public_pairs(tally: PairTally, privacy: Privacy) -> PublicPairs | None:
    counts = np.asarray((tally.wins_i + tally.wins_j) * float(tally.step))
    return PublicPairs(tally.i, tally.j, counts) if privacy.design is Design.PUBLIC else None


def _public_exposure(tally: Tally, privacy: Privacy) -> Floats | None:
    return np.asarray(tally.exposure * float(tally.step)) if privacy.design is Design.PUBLIC else None


def _public_total(tally: Tally, calibrated: Calibrated) -> float | None:
    """The number of votes where all neighbours share it, counted before any row is dropped; a group's never is."""
    if calibrated.privacy.design is Design.PUBLIC:
        return tally.total * float(tally.step)
    return float(tally.rows) if calibrated.privacy.votes_are_public and not calibrated.groups else None
