"""Counts of pairs in, Bradley–Terry scores out: what the perturbed MLE releases; no counts can be read from them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from quietrank.promise.privacy import Neighbours
from quietrank.promise.promise import Limits
from quietrank.statistics.statistic import Reading, Spread, Statistic, Sums


class Scores(Statistic):
    """The minimiser θ of a likelihood, computed after noise was added to the likelihood: there is no exact vector."""

    name = "scores"
    by_pair = True

    def l1(self, change: Neighbours, limits: Limits, share: Fraction) -> Fraction | int | None:
        return None

    def parts(self, sums: Sums) -> tuple[Any, ...]:
        raise AssertionError("scores are not sums of votes")

    def vector(self, sums: Any, finer: int, share: Fraction) -> Any:
        """The exact counts of all pairs; noise inside the likelihood turns them into scores."""
        return sums

    def read(self, values: Any, share: float) -> Reading:
        return Reading(scores=values * 1.0)

    def ranked_by(self, spread: Spread) -> float:
        return spread.value


SCORES = Scores()
