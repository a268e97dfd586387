"""The size of a board's noise in, its law out; public, for intervals and estimators. No release draws from it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.mechanisms.gaussian import GaussianLaw
from quietrank.statistics.statistic import Spread

if TYPE_CHECKING:
    from quietrank.arrays import Floats


@dataclass(frozen=True)
class BoardLaw(GaussianLaw):
    """The noise of a board: less on items that joined later, which have a shorter history.

    A sum of q equal draws of Laplace noise is normal noise times the root of a Gamma variable of shape q and mean 1;
    the sum of unequal ones has the variance and the kurtosis of that with q = (Σc²)²/Σc⁴. q = ∞ is normal noise.
    """

    relative: tuple[float, ...] = ()
    """of each item, to the largest"""
    draws: float = inf
    """q"""

    @property
    def spread(self) -> Spread:
        return self.statistic.spread(self.sigma**2, 0.0, 3 / self.draws, self.share)

    def cdf(self, x: Floats) -> Floats | None:
        return super().cdf(x) if self.draws == inf else None

    def log_density(self, noise: Floats) -> Floats | None:
        return super().log_density(noise) if self.draws == inf else None

    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        noise = super().sample(rng, draws)
        if self.draws == inf:
            return noise
        return np.asarray(noise * np.sqrt(rng.gamma(self.draws, 1 / self.draws, noise.shape)))

    def to_dict(self) -> dict[str, Any]:
        return (
            super().to_dict() if self.draws == inf else {"kind": "laplace-sum", "sd": self.sigma, "draws": self.draws}
        )

    def _sigmas(self) -> Floats:
        return np.asarray(super()._sigmas() * np.resize(self.relative, self.statistic.per_item * self.items))
