"""A promise in, k rounds of permute-and-flip out, without δ. docs/proofs/selection.md proves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quietrank.mechanisms.selection import Selection
from quietrank.noise.selection import TopNoise, flip_loss, flip_scale
from quietrank.promise.accounting import SLACK, Cost, as_written
from quietrank.promise.promise import Promise


@dataclass(frozen=True)
class PermuteAndFlip(Selection):
    """Items in random order, each accepted with probability exp(−gap/scale), k times: R_k/scale in all."""

    name: ClassVar[str] = "permute-and-flip"
    about: ClassVar[str] = "names the first few and publishes no counts"

    @property
    def _rounds(self) -> int:
        return self.k

    def _scale(self, promise: Promise, steps: int) -> float:
        return flip_scale(steps, as_written(promise.privacy.epsilon))

    def _loss(self, noise: TopNoise, first: int, all_rounds: int, promise: Promise) -> Cost:
        """ε, and in zCDP half the sum of the squares of what each round may cost by itself, R_1/scale; not an eighth,
        as for a mechanism of bounded range, which permute-and-flip is not."""
        epsilon, each = flip_loss(noise.scale, all_rounds), flip_loss(noise.scale, first)
        return Cost(epsilon, 0.0, min(epsilon**2, self.k * each**2) / 2 * SLACK)


PERMUTE_AND_FLIP = PermuteAndFlip()
