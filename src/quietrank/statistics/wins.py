"""Exact counts in, win counts out, where a tie counts half: alone, as in the literature, or together with losses.

One vote of weight w on (i, j) adds w(y·e_i + (1 − y)·e_j) to the wins: an L1 norm of exactly w; and w to the losses.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

from quietrank.promise.privacy import Neighbours
from quietrank.promise.promise import Limits
from quietrank.statistics.statistic import Reading, Spread, Statistic, Sums


class Wins(Statistic):
    """wins_i"""

    name = "wins"
    of_pairs = True
    sums_to_zero = False
    squares = (("wins", Fraction(1)),)

    def l1(self, change: Neighbours, limits: Limits, share: Fraction) -> Fraction | int | None:
        """Σ w·|y − y'|·‖e_i − e_j‖₁ ≤ 2m where only answers change; L where votes are added or removed, else k."""
        if change is Neighbours.OUTCOME:
            return 2 * limits.net_wins
        return limits.weight if change is Neighbours.ADD_REMOVE else limits.wins_apart

    def l2(self, change: Neighbours) -> Fraction:
        """Wins are not negative, so ‖x − x'‖² ≤ C² + C² where one replaces the other."""
        return Fraction(2) if change is Neighbours.REPLACE else super().l2(change)

    def parts(self, sums: Sums) -> tuple[Any, ...]:
        return (sums.wins,)

    def read(self, values: Any, share: float) -> Reading:
        return Reading(wins=values * 1.0)

    def ranked_by(self, spread: Spread) -> float:
        return spread.value


class WinsAndLosses(Statistic):
    """(wins, losses): gives both s and the exposure d = wins + losses"""

    name = "wins-and-losses"
    of_pairs = True
    per_item = 2
    secret = False
    mirrored = True
    squares = (("wins", Fraction(1)), ("losses", Fraction(1)))

    def l1(self, change: Neighbours, limits: Limits, share: Fraction) -> Fraction | int | None:
        """1 win and 1 loss per vote: 2L. Replaced, each moves like net wins where both people answer, else less: 4m."""
        return 2 * limits.weight if change is Neighbours.ADD_REMOVE else 4 * limits.net_wins

    def l2(self, change: Neighbours) -> Fraction:
        """Neither is negative."""
        return Fraction(2) if change is Neighbours.REPLACE else super().l2(change)

    def gauge(self, change: Neighbours) -> Fraction | None:
        """K = Z of the double cover: a person adds coefficients in [0, 1], so K covers adding and replacing alike."""
        return Fraction(1)

    def parts(self, sums: Sums) -> tuple[Any, ...]:
        return sums.wins, sums.losses

    def read(self, values: Any, share: float) -> Reading:
        n = values.shape[-1] // 2
        wins, losses = values[..., :n], values[..., n:]
        return Reading(wins=wins * 1.0, net_wins=(wins - losses) / 2, exposure=(wins + losses) * 1.0)

    def spread(self, variance: float, covariance: float, kurtosis: float, share: float) -> Spread:
        """Net wins are half the sum of wins and −losses, exposures their difference."""
        net_wins, exposure = (variance + covariance) / 2, 2 * (variance - covariance)
        return Spread(sqrt(variance), sqrt(net_wins), sqrt(exposure), kurtosis / 2)


WINS = Wins()
WINS_AND_LOSSES = WinsAndLosses()
