"""A promise with δ > 0 in, k rounds of the exponential mechanism out. docs/proofs/selection.md proves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quietrank.errors import PrivacyError, option
from quietrank.mechanisms.selection import Selection
from quietrank.noise.selection import TopNoise, gumbel_rho, gumbel_scale
from quietrank.promise.accounting import Cost, as_written, delta_of, rho_for
from quietrank.promise.promise import Promise
from quietrank.statistics.statistic import Statistic


@dataclass(frozen=True)
class Exponential(Selection):
    """Each round names an item with probability ∝ exp(count/scale), by one draw of Gumbel noise for all rounds. The
    loss of a round has a range of R_1/scale, so it costs (R_1/scale)²/8 in zCDP (Cesar and Rogers 2021)."""

    name: ClassVar[str] = "exponential"
    about: ClassVar[str] = "the same for more of them, for delta above 0"
    gumbel: ClassVar[bool] = True

    def require(self, promise: Promise, statistic: Statistic) -> None:
        super().require(promise, statistic)
        if promise.privacy.delta == 0:
            raise PrivacyError(
                f"{option('mechanism', self.name)} needs {option('delta')} above 0; add {option('delta', '1e-6')}, or "
                f"use {option('mechanism', 'permute-and-flip')}"
            )

    @property
    def _rounds(self) -> int:
        return 1

    def _scale(self, promise: Promise, steps: int) -> float:
        epsilon, delta = as_written(promise.privacy.epsilon), as_written(promise.privacy.delta)
        return gumbel_scale(self.k, steps, rho_for(epsilon, delta))

    def _loss(self, noise: TopNoise, first: int, all_rounds: int, promise: Promise) -> Cost:
        rho, epsilon = gumbel_rho(self.k, noise.scale, first), as_written(promise.privacy.epsilon)
        return Cost(epsilon, delta_of(rho, epsilon), rho)


EXPONENTIAL = Exponential()
