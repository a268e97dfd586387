"""What all people added on each day in; the exact counts that a day publishes with noise, and its draws, out.

People are bounded in `kept.py`, by what the noise of the board says (`mechanisms/horizon.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quietrank.mechanisms.horizon import BoardNoise, Limit

Entry = tuple[int, int]
"""which draw, and which place in the vector of all parts and items"""


@dataclass(eq=False)
class Draws:
    """The noise that a day uses: what was drawn for earlier days, and what is drawn now. Confidential."""

    wanted: list[Entry]
    """what the day uses, in order"""
    known: dict[Entry, tuple[int, int]]
    """what was drawn before, on net wins and on exposures"""
    fresh: dict[Entry, tuple[int, int]] = field(default_factory=dict)
    """what is drawn now, once, and kept if it is used again"""

    @classmethod
    def of(
        cls, noise: BoardNoise, day: int, since: Sequence[int], parts: int, known: dict[Entry, tuple[int, int]]
    ) -> Draws:
        """For the items that joined on these days: a sum that ended before an item joined has nothing to protect."""
        places = [(place, joined) for place, joined in enumerate(list(since) * parts)]
        reaching = ((draw, noise.last_day(draw)) for draw in noise.mixing(day))
        return cls([(draw, place) for draw, last in reaching for place, joined in places if joined <= last], known)

    @property
    def missing(self) -> dict[int, list[int]]:
        """The places for which a draw is to be made, by draw."""
        places: dict[int, list[int]] = {}
        for draw, place in self.wanted:
            if (draw, place) not in self.known and (draw, place) not in self.fresh:
                places.setdefault(draw, []).append(place)
        return places

    def mixed(self, mixing: dict[int, int], size: int) -> tuple[list[int], list[int]]:
        """Σ_k B_tk·z_k for each place: on net wins and on exposures, in whole numbers of any size."""
        net_wins, exposures = [0] * size, [0] * size
        for draw, place in self.wanted:
            entry = (draw, place)
            of_net_wins, of_exposures = self.fresh[entry] if entry in self.fresh else self.known[entry]
            net_wins[place] += mixing[draw] * of_net_wins
            exposures[place] += mixing[draw] * of_exposures
        return net_wins, exposures

    def __repr__(self) -> str:
        return "Draws(confidential)"


@dataclass(frozen=True, eq=False)
class Encoded:
    """The encoded counts of one day: Σ_j M_tj·x_j, in steps of the noise, whole numbers of any size. Confidential."""

    day: int
    net_wins: Any
    """for each part and item; of dtype object"""
    exposures: Any
    limit: Limit
    """by which people were bounded"""
    draws: Draws

    @classmethod
    def of(cls, net: Any, met: Any, weights: Sequence[int], limit: Limit, draws: Draws) -> Encoded:
        """From the increments of all days so far, as (day, …): twice the net wins, and the exposures."""
        net_wins, exposures = (_weighted(weights, days) for days in (net, met))
        return cls(len(net), net_wins.ravel(), 2 * exposures.ravel(), limit, draws)

    def __repr__(self) -> str:
        return "Encoded(confidential)"


def _weighted(weights: Sequence[int], days: Any) -> Any:
    return sum((weight * day for weight, day in zip(weights, days, strict=True)), days[0] * 0)
