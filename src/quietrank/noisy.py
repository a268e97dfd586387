"""The `NoisyTally`: the private statistic, and with it everything that estimators may look at.

Whatever is computed from it is post-processing: it may be wrong, it cannot leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from quietrank.items import Items
from quietrank.privacy import Design, Privacy
from quietrank.sensitivity import Statistic, total_share

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PublicPairs:
    """Under a public design: the pairs that met, i < j, and the weight of their votes."""

    i: Indices
    j: Indices
    counts: Floats


@dataclass(frozen=True, eq=False)
class NoisyTally:
    """A statistic with noise on it, what the noise was, and what was public from the start."""

    items: Items
    privacy: Privacy
    statistic: Statistic
    values: NDArray[np.int64]
    """the noisy statistic in lattice steps"""
    step: Fraction
    """one lattice step, in votes"""
    sensitivity: float
    """L1, in votes"""
    scale: float
    """of the Laplace noise on each value, in votes"""
    noise_sd: float
    """the standard deviation of that noise, in votes"""
    public_exposure: Floats | None
    """under a public design, how much weight each item's comparisons have"""
    public_total: float | None
    """the number of votes, where it is the same for all neighbours"""
    public_pairs: PublicPairs | None
    """under a public design, who met whom, if the method needs it"""
    rows_skipped: bool
    """whether unusable rows were to be skipped; not whether there were any"""
    ledger_entry: str | None = None
    """the id of the ledger's entry that paid for it"""

    def _votes(self, values: NDArray[np.int64]) -> Floats:
        return np.asarray(values * float(self.step), dtype=np.float64)

    @property
    def wins(self) -> Floats | None:
        """Noisy win counts, if they were released."""
        if self.statistic in (Statistic.WINS, Statistic.WINS_AND_LOSSES):
            return self._votes(self.values[: len(self.items)])
        return None

    @property
    def net_wins(self) -> Floats | None:
        """Noisy s = (wins − losses)/2, if it was released."""
        n = len(self.items)
        if self.statistic is Statistic.WINS:
            return None
        if self.statistic is Statistic.WINS_AND_LOSSES:
            return self._votes(self.values[:n] - self.values[n:]) / 2
        return self._votes(self.values[:n])

    @property
    def net_wins_sd(self) -> float:
        """The standard deviation of the noise on each net win; (w + l)/2 of two independent noises is one/√2."""
        joint = self.statistic is Statistic.WINS_AND_LOSSES
        return self.noise_sd / float(np.sqrt(2)) if joint else self.noise_sd

    @property
    def total(self) -> float | None:
        """T, the total weight of all votes: public, noisy, or unknown."""
        n = len(self.items)
        if self.public_total is not None:
            return self.public_total
        if self.statistic is Statistic.NET_WINS_AND_TOTAL:
            return float(self.values[n] * self.step / total_share(self.privacy))
        if self.statistic is Statistic.WINS_AND_LOSSES:
            return float(self._votes(self.values).sum()) / 2
        return None

    @property
    def exposure(self) -> Floats | None:
        """d, the weight of the comparisons each item was in: public, noisy, by the uniform design, or unknown."""
        n = len(self.items)
        if self.public_exposure is not None:
            return self.public_exposure
        if self.statistic is Statistic.WINS_AND_LOSSES:
            return self._votes(self.values[:n] + self.values[n:])
        if self.privacy.design is Design.UNIFORM and self.total is not None:
            return np.full(n, 2 * self.total / n)
        return None
