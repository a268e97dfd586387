"""A confidential `Tally` in, a `NoisyTally` out: the one crossing from the confidential to the public side.

In this order: derive the sensitivity, calibrate the noise, check the mechanism's own privacy map against ε,
debit the ledger, and only then draw. A crash can waste budget; it cannot overspend it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quietrank import noise
from quietrank.accounting import Charge, Cost, Ledger
from quietrank.errors import PrivacyError
from quietrank.noisy import Floats, NoisyTally, PublicPairs
from quietrank.privacy import Design, Privacy
from quietrank.sensitivity import Statistic, sensitivity, total_share
from quietrank.tally import PairTally, Tally


def add_noise(
    tally: Tally | PairTally,
    privacy: Privacy,
    statistic: Statistic,
    *,
    ledger: Ledger | None = None,
    rows_skipped: bool = False,
) -> NoisyTally:
    """The statistic of the tally with discrete Laplace noise that keeps the promise of `privacy`.

    A tally by pairs is needed where estimators shall know the pairs of a public design.
    """
    pairs = None
    if isinstance(tally, PairTally):
        pairs, tally = _public_pairs(tally, privacy), tally.by_item
    reach = sensitivity(privacy, statistic)
    scale = noise.laplace_scale(reach.l1_steps, privacy.epsilon)
    if noise.laplace_privacy_loss(scale, reach.l1_steps) > privacy.epsilon:
        raise PrivacyError(
            f"noise of scale {scale} does not keep epsilon={privacy.epsilon} at sensitivity {reach.l1_steps}; "
            "nothing was released"
        )
    entry = None
    if ledger is not None:
        entry = ledger.debit(Charge(privacy, Cost.pure(privacy.epsilon), f"laplace noise on {statistic}"))
    step = float(reach.step)
    return NoisyTally(
        items=tally.items,
        privacy=privacy,
        statistic=statistic,
        values=noise.add_laplace(_vector(tally, privacy, statistic), scale),
        step=reach.step,
        sensitivity=float(reach.l1),
        scale=scale * step,
        noise_sd=noise.laplace_standard_deviation(scale) * step,
        public_exposure=_public_exposure(tally, privacy),
        public_total=_public_total(tally, privacy),
        public_pairs=pairs,
        rows_skipped=rows_skipped,
        ledger_entry=entry,
    )


def _vector(tally: Tally, privacy: Privacy, statistic: Statistic) -> NDArray[np.int64]:
    """The statistic on its lattice, exactly."""
    if statistic is Statistic.NET_WINS:
        return tally.net_wins
    if statistic is Statistic.WINS:
        return tally.wins
    if statistic is Statistic.WINS_AND_LOSSES:
        return np.concatenate([tally.wins, tally.losses])
    # (s, αT) on a lattice 1/α times finer: (s/α, T) in its steps.
    finer = int(1 / total_share(privacy))
    return np.append(tally.net_wins * finer, tally.total)


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
