"""The increments of all days so far in, what is encoded of them on one day out, in the words that noise is added to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.mechanisms.stream import FULL

if TYPE_CHECKING:
    from quietrank.arrays import Integers
    from quietrank.mechanisms.stream import Norm


@dataclass(frozen=True, eq=False)
class Encoded:
    """The encoded counts of one day: Σ_j r_{t−j}·x_j, in steps of the noise. Confidential."""

    net_wins: Integers
    exposures: Integers
    norm: Norm
    """in which people were bounded"""

    @classmethod
    def of(cls, net: Any, met: Any, roots: Integers, norm: Norm) -> Encoded:
        """From the increments of all days so far, as (day, …): twice the net wins, and the exposures."""
        back = [int(root) for root in roots[: len(net)][::-1]]
        net_wins, exposures = (_weighted(back, days) for days in (net, met))
        return cls(_in_words(net_wins), _in_words(2 * exposures), norm)

    def __repr__(self) -> str:
        return "Encoded(confidential)"


def _weighted(weights: list[int], days: Any) -> Any:
    return sum((weight * day for weight, day in zip(weights, days, strict=True)), days[0] * 0)


def _in_words(values: Any) -> Integers:
    """In 64 bits, with room for noise. What does not fit is cut off, entry by entry, which moves no two sums further
    apart; an error would tell that one more vote was too many. Readers are told by what is published."""
    return np.array([max(-FULL, min(FULL, value)) for value in values.ravel().tolist()], dtype=np.int64)
