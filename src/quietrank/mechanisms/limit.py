"""A promise without a limit in, noise for a histogram of votes per person out; choose.py makes a limit of it.

Where nobody knows how many votes a person casts, a part of ε buys a noisy histogram: how many people cast 1, 2 to 3, 4
to 7, … votes. The bins are fixed, and every person is in one of them at most. So one person moves the histogram by 2 at
most (`replace`), or by 1 (`add-remove`). docs/proofs/limit.md has the argument.
"""

from __future__ import annotations

from dataclasses import dataclass

from quietrank.noise.lattice import LaplaceNoise, laplace_privacy_loss, laplace_scale
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.privacy import Neighbours
from quietrank.promise.promise import Promise

BINS = 16
"""Bin k has the people with 2^k to 2^(k+1) − 1 votes; the last also those with more."""

SHARE = 0.05
"""of ε, for the histogram"""


@dataclass(frozen=True)
class ChosenLimit:
    """The limit, and the noisy histogram that it was chosen from; public."""

    limit: int
    counts: tuple[int, ...]
    """people by their number of votes, in bins that double"""
    scale: float
    """of the Laplace noise on each; 0 where votes per person are public"""
    epsilon: float
    """what it cost"""

    @property
    def note(self) -> str:
        """What a release says about it."""
        source = "numbers of votes, which are public" if self.epsilon == 0 else (
            f"a noisy histogram of votes per person, which cost ε = {self.epsilon:g} of the whole"
        )  # fmt: skip
        return f"The limit of {self.limit} votes a person was chosen from {source}."


@dataclass(frozen=True)
class LimitNoise:
    """Calibrated noise for the histogram, beside counts and scatter that have the rest of ε."""

    promise: Promise
    """the promise that all of them keep together, without its limit"""
    epsilon: float
    """what the histogram costs"""

    @property
    def noise(self) -> LaplaceNoise:
        return LaplaceNoise(laplace_scale(_reach(self.promise), as_written(self.epsilon)))

    @property
    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)

    @property
    def loss(self) -> Cost:
        """The privacy loss of this noise, recomputed from the sensitivity before every draw."""
        return Cost.pure(laplace_privacy_loss(self.noise.scale, _reach(self.promise)))


def _reach(promise: Promise) -> int:
    """A person leaves one bin and enters another; a move between groups does the same in the one histogram of all."""
    return int(promise.reach(lambda change: 1 if change is Neighbours.ADD_REMOVE else 2))


def limit_noise(promise: Promise) -> LimitNoise | None:
    """The noise of the histogram for the usual part of ε; None where votes per person are public."""
    if promise.privacy.neighbours is Neighbours.OUTCOME:
        return None
    return LimitNoise(promise, float(f"{SHARE * promise.privacy.epsilon:.2g}"))
