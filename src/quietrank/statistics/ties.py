"""A statistic in, the same with K, the weight of all ties, out: for models in which a tie is an outcome of its own.

A tie adds nothing to net wins, and a decisive vote nothing to K: so beside net wins K is often free, and beside wins
and losses it has a price. It is released as κK, 0 < κ ≤ 1; whatever κ is, the reaches below are those of κK, proven in
docs/proofs/ties.md. Which κ is used follows from public values (mechanisms/).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from quietrank.promise.privacy import Neighbours
from quietrank.promise.promise import Limits, Promise, Squares
from quietrank.statistics.net_wins import NET_WINS, NET_WINS_AND_EXPOSURES, NET_WINS_AND_TOTAL
from quietrank.statistics.statistic import BY_DESIGN, Reading, Spread, Statistic
from quietrank.statistics.wins import WINS_AND_LOSSES

TIES_SHARE = Fraction(1, 4)
"""κ where K is not free in the L1 norm: beside wins and losses it costs 6 % more noise, where κ = 1 would cost 25 %."""


@dataclass(frozen=True, eq=False, repr=False)
class WithTies(Statistic):
    """(x, κK), x the `base`; objects of the same base are equal, whatever their κ is."""

    base: Statistic
    kappa: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.base not in (NET_WINS, NET_WINS_AND_TOTAL, NET_WINS_AND_EXPOSURES, WINS_AND_LOSSES):
            raise AssertionError(f"ties are not counted beside {self.base}")
        above, below = self.kappa.numerator, self.kappa.denominator
        if above != 1 or below & (below - 1):
            raise AssertionError(f"κ must be a power of ½, not {self.kappa}")
        copied = ("per_item", "by_pair", "secret", "sums_to_zero", "mirrored", "offered", "fixed", "of_pairs")
        values = {name: getattr(self.base, name) for name in copied}
        values |= {"name": f"{self.base.name}-and-ties", "extra": self.base.extra + 1, "counts_ties": True}
        for name, value in (values | {"squares": self._squares()}).items():
            object.__setattr__(self, name, value)

    def _squares(self) -> Squares:
        return (*self.base.squares, ("ties", self.kappa**2)) if self.base.squares else ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WithTies) and self.base == other.base

    def __hash__(self) -> int:
        return hash((WithTies, self.base))

    def at(self, kappa: Fraction) -> WithTies:
        """The same with another κ."""
        return replace(self, kappa=kappa)

    def with_share(self, share: Fraction) -> WithTies:
        return replace(self, base=self.base.with_share(share))

    def share(self, promise: Promise) -> Fraction:
        return self.base.share(promise)

    def lattice(self, promise: Promise) -> Fraction:
        return min(self.share(promise), self.kappa)

    def shares(self, share: float) -> tuple[float, ...]:
        """Laws are of κK, as it is released: `read` divides by κ."""
        return (*self.base.shares(share), 1.0)

    # ---- how far one unit can move it ------------------------------------------------------------------------------

    def l1(self, change: Neighbours, limits: Limits, share: Fraction) -> Fraction | int | None:
        """A unit of weight w has ties of weight K ≤ w, and net wins of norm ≤ min(m, w − K): with κ ≤ 1 both are
        largest at K = w − m, where K adds κ(L − m); and 0 where m = L. Of two units that are replaced in one tally
        only the difference of their K counts, so that one of them adds it; over several tallies, both.

        Wins and losses do not shrink with K, so there it adds κL.
        """
        without = self.base.l1(change, limits, share)
        if without is None:
            return None
        room = limits.weight if self.base == WINS_AND_LOSSES else limits.weight - limits.net_wins
        units = 1 if change is Neighbours.ADD_REMOVE or limits.spread == 1 else 2
        return without + units * self.kappa * room

    def l2(self, change: Neighbours) -> Fraction:
        """As without ties: K is not negative, so it only brings two contributions of norm C closer."""
        return self.base.l2(change)

    def gauge(self, change: Neighbours) -> Fraction | None:
        """K has an interval of its own, [−2W, 2W], of which a person adds half: as for the total."""
        return self.base.gauge(change)

    def norm(self, promise: Promise) -> Squares:
        """Under a public design the clip must not depend on the answers: K is at most the total, whatever they are."""
        by_design = promise.privacy.neighbours is Neighbours.OUTCOME
        return (*BY_DESIGN, ("total", self.kappa**2)) if by_design else self.squares

    def one_vote(self, promise: Promise) -> Fraction:
        """The larger of a decisive vote, which adds nothing to K, and a tie, which adds κ² and nothing to net wins."""
        tied = {WINS_AND_LOSSES: Fraction(1), NET_WINS_AND_EXPOSURES: 2 * self._exposure_weight()}
        return max(self.base.one_vote(promise), self.kappa**2 + tied.get(self.base, Fraction(0)))

    def _exposure_weight(self) -> Fraction:
        return dict(self.base.squares).get("exposure", Fraction(0))

    # ---- its vector, and back --------------------------------------------------------------------------------------

    def parts(self, sums: Any) -> tuple[Any, ...]:
        """As those of the base, with `ties`, the weight of all ties."""
        return (*self.base.parts(sums), sums.ties)

    def vector(self, sums: Any, finer: int, share: Fraction) -> Any:
        if sums.ties is None:
            raise AssertionError("the ties of these votes were not counted")
        if (finer * self.kappa).denominator != 1:
            raise AssertionError("the lattice is too coarse for ties")
        tied = np.array([int(sums.ties) * int(finer * self.kappa)], dtype=np.int64)  # raises where it does not fit
        return np.concatenate([self.base.vector(sums, finer, share), tied])

    def read(self, values: Any, share: float) -> Reading:
        return replace(self.base.read(values[..., :-1], share), ties=values[..., -1] / float(self.kappa))

    def unsigned(self, signed: Any) -> Any:
        return self.base.unsigned(signed)

    def spread(self, variance: float, covariance: float, kurtosis: float, share: float) -> Spread:
        return self.base.spread(variance, covariance, kurtosis, share)

    def ranked_by(self, spread: Spread) -> float:
        return self.base.ranked_by(spread)


WITH_TIES = tuple(map(WithTies, (NET_WINS, NET_WINS_AND_TOTAL, WINS_AND_LOSSES, NET_WINS_AND_EXPOSURES)))
