"""A confidential `Tally` in, a `NoisyTally` out: the one crossing from the confidential to the public side.

The noise comes calibrated (`additive.py`). Here its privacy loss is recomputed and checked against the promise, the
ledger is debited, and only then is it drawn. A crash can waste budget; it cannot overspend it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quietrank.accounting import Charge, Ledger
from quietrank.additive import Calibrated, require_kept
from quietrank.noisy import Floats, NoisyTally, PublicPairs
from quietrank.privacy import Design, Privacy
from quietrank.sensitivity import Statistic
from quietrank.tally import PairTally, Tally


def add_noise(
    tally: Tally | PairTally, calibrated: Calibrated, *, ledger: Ledger | None = None, rows_skipped: bool = False
) -> NoisyTally:
    """The statistic of the tally with noise that keeps the promise of `calibrated.privacy`.

    A tally by pairs is needed where estimators shall know the pairs of a public design.
    """
    privacy, pairs = calibrated.privacy, None
    if isinstance(tally, PairTally):
        pairs, tally = _public_pairs(tally, privacy), tally.by_item
    require_kept(tally.items, calibrated)
    entry, what = None, f"{calibrated.mechanism} noise on {calibrated.statistic}"
    if ledger is not None:
        entry = ledger.debit(Charge(privacy, calibrated.cost, what))
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
        public_total=_public_total(tally, privacy),
        public_pairs=pairs,
        rows_skipped=rows_skipped,
        ledger_entry=entry,
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


def _public_total(tally: Tally, privacy: Privacy) -> float | None:
    """The number of votes where all neighbours share it, counted before any row is dropped."""
    if privacy.design is Design.PUBLIC:
        return tally.total * float(tally.step)
    return float(tally.rows) if privacy.votes_are_public else None
