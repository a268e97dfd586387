"""A reader's choices in, a checked `View` out: the level of intervals and the scale of scores. Changing it is free."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np

from quietrank.arrays import Floats
from quietrank.errors import ReleaseError, either, option
from quietrank.maths.davidson import win_rate
from quietrank.promise.arguments import flag, number, parse
from quietrank.promise.items import Items
from quietrank.statistics.method import Method

ELO = 400 / math.log(10)
"""points per unit of log-odds: 400 for odds of ten to one"""

ELO_CENTRE = 1000.0

USUAL_LEVEL, USUAL_TOP = 0.9, 3


class Scale(StrEnum):
    """What Bradley–Terry scores are given in."""

    LOG_ODDS = "log-odds"
    ELO = "elo"
    PROBABILITY = "probability"
    """of winning against an average item"""


ScaleWord = Scale | Literal["log-odds", "elo", "probability"]
"""what callers may write: the word, or the member it stands for"""

Anchor = tuple[str, float] | None
"""an item and its score"""


@dataclass(frozen=True)
class View:
    """The reader's choices, checked."""

    level: float = USUAL_LEVEL
    simultaneous: bool = False
    scale: Scale = Scale.LOG_ODDS
    anchor: tuple[str, float] | None = None
    """an item, and the score it is given"""

    @classmethod
    def of(cls, level: object, simultaneous: object, scale: object, anchor: object) -> View:
        """From a caller's arguments, of whatever type."""
        share = number(level)
        if share is None or not 0.5 <= share <= 0.999:
            raise ReleaseError(
                f"{option('level')} must be a number from 0.5 to 0.999, such as 0.9; got {option('level', repr(level))}"
            )
        chosen = parse(Scale, "scale", scale)
        return cls(share, flag("simultaneous", simultaneous), chosen, _anchor(anchor, chosen))

    def require_for(self, method: Method) -> None:
        """Refuse a scale for figures that are on no model's scale."""
        if self.scale is not Scale.LOG_ODDS and method is not Method.BRADLEY_TERRY:
            raise ReleaseError(
                f"{option('scale', self.scale)} is for Bradley-Terry scores; use {option('method', 'bradley-terry')}, "
                f"or leave out {option('scale')} (items are ranked by {option('method', method)})"
            )

    def place_of_anchor(self, items: Items) -> int | None:
        """The position of the anchor on the list."""
        if self.anchor is None:
            return None
        if self.anchor[0] not in items.names:
            raise ReleaseError(f"{option('anchor')} names {self.anchor[0]!r}, which is not an item; give one that is")
        return items.names.index(self.anchor[0])

    def scaled(self, scores: Floats, nu: float = 0.0) -> Floats:
        """Log-odds, centred or relative to the anchor, on the chosen scale; keeps their order.

        `nu` is the tie parameter of Davidson's model: a probability is then that of winning, and half that of a tie.
        """
        if self.scale is Scale.ELO:
            return np.asarray((ELO_CENTRE if self.anchor is None else self.anchor[1]) + ELO * scores)
        if self.scale is Scale.PROBABILITY:
            return win_rate(scores, nu) if nu > 0 else np.asarray(1 / (1 + np.exp(-scores)))
        return scores


USUAL = View()


_EXAMPLE = either("('item', 1000)", "item=1000")


def _anchor(anchor: object, scale: Scale) -> tuple[str, float] | None:
    """('item', 1000), or the text item=1000."""
    if anchor is None:
        return None
    if scale is not Scale.ELO:
        raise ReleaseError(f"{option('anchor')} belongs to {option('scale', 'elo')}; add it, or leave the anchor out")
    item, _, points = anchor.rpartition("=") if isinstance(anchor, str) else ("", "", "")
    if isinstance(anchor, tuple) and len(anchor) == 2 and isinstance(anchor[0], str):
        item, points = anchor
    try:
        value = number(float(points))
    except (TypeError, ValueError):
        value = None
    if not item or value is None or not math.isfinite(value):
        raise ReleaseError(
            f"{option('anchor')} must be an item and its score, such as {_EXAMPLE}; "
            f"got {option('anchor', repr(anchor))}"
        )
    return item, value
