"""The `NoisyTally`: the private statistic, and with it everything that estimators may look at.

Whatever is computed from it is post-processing: it may be wrong, it cannot leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quietrank.mechanisms.laws import Law
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design, Privacy
from quietrank.statistics.sensitivity import Statistic

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def read_only(*arrays: NDArray[Any] | None) -> None:
    """What was released stays as it was: writing into these arrays is an error from now on."""
    for array in arrays:
        if array is not None:
            array.flags.writeable = False


@dataclass(frozen=True, eq=False)
class PublicPairs:
    """Under a public design: the pairs that met, i < j, and the weight of their votes."""

    i: Indices
    j: Indices
    counts: Floats

    def __post_init__(self) -> None:
        read_only(self.i, self.j, self.counts)


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
    share: Fraction
    """α or β, where the statistic is (s, αT) or (s, βd); else 1"""
    mechanism: str
    figures: tuple[tuple[str, float | str], ...]
    """what is public about the noise: sensitivity, scale and the like"""
    law: Law
    """how the noise on the values is distributed"""
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
    alternatives: tuple[tuple[str, float], ...] = ()
    """where the mechanism was chosen: the noise on counts that each candidate would have had (standard deviation)"""

    def __post_init__(self) -> None:
        read_only(self.values, self.public_exposure)

    def to_json(self, path: str | Path | None = None) -> str:
        """The noisy tally as JSON text; also written to `path`, whole or not at all."""
        from quietrank.publish.tally_file import save

        return save(self, path)

    @classmethod
    def from_json(cls, path: str | Path) -> NoisyTally:
        """Read a noisy tally from a file."""
        from quietrank.publish.tally_file import load

        return load(path, cls)

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
    def count_sd(self) -> float:
        """The standard deviation of the noise on what items are ranked by: net wins, or wins."""
        return self.law.spread.value if self.statistic is Statistic.WINS else self.law.spread.net_wins

    @property
    def total(self) -> float | None:
        """T, the total weight of all votes: public, noisy, or unknown."""
        n = len(self.items)
        if self.public_total is not None:
            return self.public_total
        if self.statistic is Statistic.NET_WINS_AND_TOTAL:
            found = float(self.values[n] * self.step / self.share)
        elif self.released_exposure is not None:
            found = float(self.released_exposure.sum()) / 2
        else:
            return None
        if self.privacy.design is not Design.UNIFORM or self.net_wins is None:
            return found
        # s_i = d_i(τ_i − ½) with d_i = 2T/n for all items: a total at which a win rate passes 1 is too small.
        return max(found, n * float(np.abs(self.net_wins).max()))

    @property
    def released_exposure(self) -> Floats | None:
        """d with noise on it, if it was released."""
        n = len(self.items)
        if self.statistic is Statistic.WINS_AND_LOSSES:
            return self._votes(self.values[:n] + self.values[n:])
        if self.statistic is Statistic.NET_WINS_AND_EXPOSURES:
            return self._votes(self.values[n:]) / float(self.share)
        return None

    @property
    def exposure(self) -> Floats | None:
        """d, the weight of the comparisons each item was in: public, noisy, by the uniform design, or unknown."""
        n = len(self.items)
        if self.public_exposure is not None:
            return self.public_exposure
        if self.privacy.design is Design.UNIFORM and self.total is not None:
            return np.full(n, 2 * self.total / n)
        if self.released_exposure is not None:
            return shrunk(self.released_exposure, self.law.spread.exposure)
        return None


def shrunk(noisy: Floats, noise_sd: float) -> Floats:
    """Noisy exposures moved towards their mean, the more so the more of their variance is noise (empirical Bayes)."""
    mean, variance = noisy.mean(), noisy.var()
    signal = max(0.0, variance - noise_sd**2)
    return np.asarray(mean + (noisy - mean) * (signal / variance if variance > 0 else 1.0))


@dataclass(frozen=True, eq=False)
class GroupedTally:
    """One noisy tally per group, which keep one promise together."""

    by: str
    """what the votes were split by"""
    tallies: tuple[tuple[str, NoisyTally], ...]
    """each group with its tally, in the order in which the groups were declared"""

    def to_json(self, path: str | Path | None = None) -> str:
        """All groups as JSON text; also written to `path`, whole or not at all."""
        from quietrank.publish.tally_file import save

        return save(self, path)

    @classmethod
    def from_json(cls, path: str | Path) -> GroupedTally:
        """Read the noisy tallies of all groups from a file."""
        from quietrank.publish.tally_file import load

        return load(path, cls)
