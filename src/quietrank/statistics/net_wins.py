"""Exact counts in, net wins s_i = (wins_i − losses_i)/2 out: alone, with the total of all votes, or with exposures.

One vote of weight w on (i, j) adds w(y − ½)(e_i − e_j) to s: an L1 norm of at most w, and of at most m for a unit.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar, Self

from quietrank.promise.privacy import Neighbours
from quietrank.promise.promise import Limits, Promise, Squares
from quietrank.statistics.statistic import Reading, Spread, Statistic, Sums

TOTAL_SHARE = Fraction(1, 16)
"""α, as a rule: where the total T is not free, it is released as αT together with the net wins.

At 1/16 the net wins get 6 % more noise than alone, and T, a sum over all items, still has little, unless they are
few. Like the next two it is the usual share, and the only one that older files have: another is taken where public
values promise a smaller error (maths/shares.py)."""

EXPOSURE_SHARE = Fraction(1, 8)
"""β, as a rule: clipped net wins s and exposures d are released as (s, βd).

The noise on exposures is 8 times that on net wins, which matters little after shrinkage (estimate/methods.py), and
that on net wins is only a few per cent more than without exposures."""

SHOWN_SHARE = Fraction(1, 16)
"""β, as a rule: in sets of four, exposures make the Laplace noise on net wins a quarter larger. They get 16 times that
noise, which matters little: sets show items about equally often, and noisy exposures are shrunk towards their mean."""

SHARES = tuple(Fraction(1, 2**k) for k in range(7))
"""Powers of ½, so that contributions lie on a lattice of half votes and are clipped in whole numbers."""


class NetWins(Statistic):
    """s"""

    name = "net-wins"
    squares: Squares = (("net_wins", Fraction(1)),)

    def l1(self, change: Neighbours, limits: Limits, share: Fraction) -> Fraction | int | None:
        """‖x‖₁ ≤ m; ‖x − x'‖₁ ≤ m + m; Σ w·|y − y'|·‖e_i − e_j‖₁ ≤ 2m where only answers change."""
        return limits.net_wins if change is Neighbours.ADD_REMOVE else 2 * limits.net_wins

    def gauge(self, change: Neighbours) -> Fraction | None:
        """K = Z(G): a person adds a vector of ½Z(G); two people differ by at most K."""
        return Fraction(1, 2) if change is Neighbours.ADD_REMOVE else Fraction(1)

    def parts(self, sums: Sums) -> tuple[Any, ...]:
        return (sums.net_wins,)

    def read(self, values: Any, share: float) -> Reading:
        return Reading(net_wins=values * 1.0)


class NetWinsAndTotal(NetWins):
    """(s, αT), with T the total weight of all votes; α = 1 where that is free"""

    name = "net-wins-and-total"
    extra = 1
    secret = False
    squares: Squares = ()
    offered = SHARES

    def __init__(self, share: Fraction | None = None) -> None:
        self.fixed = self.checked_share(share)

    def with_share(self, share: Fraction) -> Self:
        return type(self)(share)

    def share(self, promise: Promise) -> Fraction:
        return self.fixed or (Fraction(1) if promise.total_is_free else TOTAL_SHARE)

    def l1(self, change: Neighbours, limits: Limits, share: Fraction) -> Fraction | int | None:
        """‖x‖₁ + αw ≤ m + αL. Replaced, min(w, m) + min(w', m) + α|w − w'| is largest at w = L and w' = m; for
        m = L and α = 1 it is 2L. Over several tallies, two units may have their weight in different totals."""
        L, m = limits.weight, limits.net_wins
        if change is Neighbours.ADD_REMOVE:
            return m + share * L
        return 2 * m + share * (L - m) if limits.spread == 1 else 2 * (m + share * L)

    # The body K is Z(G) × [−2W, 2W], W the most weight of a person, who adds a vector of ½Z(G) × [0, W]: half of K.

    def parts(self, sums: Sums) -> tuple[Any, ...]:
        return sums.net_wins, sums.total

    def read(self, values: Any, share: float) -> Reading:
        return Reading(net_wins=values[..., :-1] * 1.0, total=values[..., -1] / share)


class NetWinsAndExposures(NetWins):
    """(s, βd), d the weight of the comparisons that an item was in; for Gaussian noise

    β stands in the vector, in the norm that is clipped and in its reach: one object has one β, so they cannot differ.
    """

    name = "net-wins-and-exposures"
    per_item = 2
    secret = False
    offered = SHARES[1:]  # the reach below needs 4β² ≤ 1
    usual: ClassVar[Fraction] = EXPOSURE_SHARE

    def __init__(self, share: Fraction | None = None) -> None:
        self.fixed, self.beta = self.checked_share(share), share or self.usual
        self.squares = (("net_wins", Fraction(1)), ("exposure", self.beta**2))

    def with_share(self, share: Fraction) -> Self:
        return type(self)(share)

    def share(self, promise: Promise) -> Fraction:
        return self.beta

    def l1(self, change: Neighbours, limits: Limits, share: Fraction) -> Fraction | int | None:
        return None

    def l2(self, change: Neighbours) -> Fraction:
        """|s_i| ≤ d_i/2, so −⟨x, x'⟩ ≤ (1 − 4β²)·Σ|s_i||s'_i| ≤ (1 − 4β²)/(1 + 4β²)·C²."""
        return Fraction(1) if change is Neighbours.ADD_REMOVE else 4 / (1 + 4 * self.beta**2)

    def gauge(self, change: Neighbours) -> Fraction | None:
        return None

    def parts(self, sums: Sums) -> tuple[Any, ...]:
        return sums.net_wins, sums.exposure

    def read(self, values: Any, share: float) -> Reading:
        n = values.shape[-1] // 2
        return Reading(net_wins=values[..., :n] * 1.0, exposure=values[..., n:] / share)

    def spread(self, variance: float, covariance: float, kurtosis: float, share: float) -> Spread:
        return Spread(sqrt(variance), sqrt(variance), sqrt(variance) / share, kurtosis)


class NetWinsAndShown(NetWinsAndExposures):
    """(s, βd), d how often an item was shown in best–worst sets: a vote of weight w on a set S of at most M items, its
    best b and its worst v, adds ½w(e_b − e_v) to s and w to the d of each item of S (docs/proofs/best-worst.md)"""

    name = "net-wins-and-times-shown"
    sums_to_zero = False
    usual: ClassVar[Fraction] = SHOWN_SHARE

    def l1(self, change: Neighbours, limits: Limits, share: Fraction) -> Fraction | int | None:
        """‖s‖₁ + β‖d‖₁ ≤ L(1 + βM), and the triangle inequality for two of them; attained where 2M items are there."""
        one = limits.weight * (1 + share * limits.shown)
        return one if change is Neighbours.ADD_REMOVE else 2 * one


NET_WINS = NetWins()
NET_WINS_AND_TOTAL = NetWinsAndTotal()
NET_WINS_AND_EXPOSURES = NetWinsAndExposures()
NET_WINS_AND_SHOWN = NetWinsAndShown()
