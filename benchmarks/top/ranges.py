"""A promise in, how far apart neighbours can be in what a selector maximises, out; all for `replace` (half if added).

Δ is the change of net wins between neighbours. k rounds that each choose an item of the rest, with exponential or
Gumbel noise of scale b, lose at most Σ_r (Δ_{s_r} − min Δ)/b: add −min Δ to all scores, which changes nothing, so that
none falls. The growth of the others only lowers the chance of s_r; its own growth raises the chance by no more than
exp((Δ_{s_r} − min Δ)/b). So b = R_k/ε with

    R_k = max over Δ of (sum of the k largest Δ_i) − k·min Δ  ≤  k·R,    R = R_1 = max Δ − min Δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Reach:
    """What one person can change: L votes in all, perhaps one answer per pair, perhaps clipped to a range ρ."""

    n: int
    votes: int
    one_per_pair: bool = False
    clip: float | None = None
    """ρ: a person's net wins, scaled down as a whole, satisfy max x − min x ≤ ρ"""

    @cached_property
    def pairs(self) -> int:
        return self.n * (self.n - 1) // 2

    def rounds(self, k: int) -> float:
        """R_k. One answer per pair: w = 1 on k items, −k on another; Δ·w is the sum of the L largest |w_i − w_j|."""
        k = min(k, self.n - 1)
        reach = float(self.votes * (k + 1))
        if self.one_per_pair:
            rest = self.n - 1 - k
            steps = ((k + 1, k), (k, rest), (1, k * rest))
            left, reach = self.votes, 0.0
            for size, number in steps:
                reach, left = reach + size * min(left, number), left - min(left, number)
        return reach if self.clip is None else min(reach, 2 * k * self.clip)

    @property
    def full(self) -> bool:
        return self.one_per_pair and self.votes >= self.pairs

    def joint(self, k: int) -> float:
        """Range of u = −max_i (c_(i) − c_{s_i}): 2R; by brute force 1.5 R with a weight L, 2R − 2 with all pairs."""
        r = self.rounds(1)
        if k == 1:
            return r
        if self.clip is None and not self.one_per_pair:
            return 1.5 * r
        return 2 * r - 2 if self.full and self.clip is None else 2 * r

    def lipschitz(self, k: int) -> float:
        """Range of the loss of sets: 2R; by brute force R with a weight L, 2R − 4 with all pairs."""
        r = self.rounds(1)
        if k == 1 or (self.clip is None and not self.one_per_pair):
            return r
        return 2 * r - 4 if self.full and self.clip is None and self.n >= 4 else 2 * r

    def total(self, k: int) -> float:
        """Range of Σ_{i ∈ S} c_i: ‖Δ‖₁ ≤ 2L; one answer per pair: k(n − k) pairs twice at most, and k² of L twice."""
        k = min(k, self.n - k) if k < self.n else 1
        r = 2.0 * self.votes
        if self.one_per_pair:
            r = min(self.votes + min(self.votes, k * k), 2.0 * k * (self.n - k))
        return r if self.clip is None else min(r, 2 * k * self.clip)


def of(selector: str, reach: Reach, k: int) -> float:
    """The range that the scale of a selector of `selection.PURE` is made of."""
    ranges = {"clm": reach.lipschitz, "joint": reach.joint, "joint-pf": reach.joint, "sum": reach.total}
    return ranges.get(selector, reach.rounds)(k)
