"""Counts in, the first k items by net wins or by wins out: what selection publishes, a list of names and no counts.

Adding one number to all counts changes no choice, so what noise must cover is how far counts move apart. If counts
move by Δ and the list names ℓ₁ … ℓ_k, round t costs at most (max of Δ over the items that are left − Δ at ℓ_t)/scale.
The worst list names the k items that fall most, so all rounds together cost R_k/scale at most, where

    R_k = the largest Σ over s in S of (Δ_i − Δ_s), over an item i and k others S.

R_1 is the range of Δ, and R_k is at most k·R_1, often less. docs/proofs/selection.md proves every line here. R_k obeys
the triangle inequality, so that of two units is at most the sum.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any

from quietrank.promise.privacy import Neighbours
from quietrank.promise.promise import Limits, Promise
from quietrank.promise.rounding import root_above
from quietrank.statistics.net_wins import NetWins
from quietrank.statistics.statistic import Reading, Statistic
from quietrank.statistics.wins import Wins


class Top(Statistic):
    """An ordered list of the items whose counts are largest."""

    def l1(self, change: Neighbours, limits: Limits, share: Fraction) -> Fraction | int | None:
        return None

    def gauge(self, change: Neighbours) -> Fraction | None:
        return None

    def read(self, values: Any, share: float) -> Reading:
        raise AssertionError("a list of items has no counts")

    @abstractmethod
    def apart(self, change: Neighbours, k: int, promise: Promise) -> Fraction:
        """R_k of what one unit changes, in votes; over several tallies, the sum of theirs."""

    def apart_in_range(self, change: Neighbours, k: int, widest: Fraction) -> Fraction | None:
        """R_k where a contribution brings no two items apart by more than this; None: there is no such bound."""
        return None

    @abstractmethod
    def apart_in_norm(self, change: Neighbours, k: int, square: Fraction) -> Fraction:
        """R_k where contributions have a Euclidean norm C, C² the square."""


class TopByNetWins(Top, NetWins):
    """A vote of weight w on (i, j) moves s_i and s_j by at most w/2 each, in opposite directions."""

    name = "top-by-net-wins"

    def apart(self, change: Neighbours, k: int, promise: Promise) -> Fraction:
        """k·x_i − Σ_S x_s has (k + 1)/2 from a vote on i and one of S, and less from any other: L(k + 1)/2."""
        added = Fraction(promise.privacy.limit * (k + 1), 2)
        if promise.privacy.one_per_pair:
            added = min(added, _one_per_pair(k, promise))
        return added if change is Neighbours.ADD_REMOVE else 2 * added

    def apart_in_range(self, change: Neighbours, k: int, widest: Fraction) -> Fraction | None:
        """x_i − x_s ≤ ρ for each of S. The factor depends on answers, so it is not for a public design."""
        if change is Neighbours.OUTCOME:
            return None
        return k * widest if change is Neighbours.ADD_REMOVE else 2 * k * widest

    def apart_in_norm(self, change: Neighbours, k: int, square: Fraction) -> Fraction:
        """The vector that has k at i and −1 at S has the norm √(k² + k)."""
        added = root_above((k * k + k) * square)
        return added if change is Neighbours.ADD_REMOVE else 2 * added


class TopByWins(Top, Wins):
    """A vote of weight w gives w to one item."""

    name = "top-by-wins"

    def apart(self, change: Neighbours, k: int, promise: Promise) -> Fraction:
        """Somebody who comes adds k·w_i, at most k·min(L, deg i); who goes takes Σ_S w_s, at most L, from others. Where
        only answers change, wins move as net wins do, because exposures stay."""
        if change is Neighbours.OUTCOME:
            return TOP_BY_NET_WINS.apart(change, k, promise)
        L = promise.privacy.limit
        comes, goes = k * L, L
        if promise.privacy.one_per_pair:
            of_one, of_many = _degrees(promise)[0], _pairs_of(k, promise)
            comes, goes = k * min(L, promise.spread * of_one), min(L, promise.spread * of_many)
        return Fraction(max(comes, goes) if change is Neighbours.ADD_REMOVE else comes + goes)

    def apart_in_norm(self, change: Neighbours, k: int, square: Fraction) -> Fraction:
        """k·w_i ≤ k·C and Σ_S w_s ≤ √k·C, because wins are not negative; answers alone move net wins."""
        if change is Neighbours.OUTCOME:
            return TOP_BY_NET_WINS.apart_in_norm(change, k, square)
        comes, goes = root_above(k * k * square), root_above(k * square)
        return max(comes, goes) if change is Neighbours.ADD_REMOVE else comes + goes


def _one_per_pair(k: int, promise: Promise) -> Fraction:
    """The most that k·x_i − Σ_S x_s is, where every pair is answered once, in each tally: half of what L pairs give.

    A pair of i with one of S gives k + 1, another pair of i gives k, another pair of S gives 1.
    """
    L, groups, n = promise.privacy.limit, promise.spread, len(promise.items)
    if promise.items.pairs is None:
        return _best_pairs(L, groups, (k + 1, k), (k, n - 1 - k), (1, k * (n - 1 - k)))
    degrees = _degrees(promise)
    each = (
        _best_pairs(L, groups, (k + 1, min(k, own)), (k, max(0, own - k)), (1, sum(others[:k])))
        for own, others in ((own, degrees[:place] + degrees[place + 1 :]) for place, own in enumerate(degrees))
    )
    return min(max(each), Fraction(k * groups * _widest(promise), 2))


def _best_pairs(limit: int, groups: int, *gains: tuple[int, int]) -> Fraction:
    """Half of what `limit` pairs give at most: the best first, so many of each kind in every group."""
    total, left = 0, limit
    for gain, pairs in gains:
        used = min(left, groups * pairs)
        total, left = total + gain * used, left - used
    return Fraction(total, 2)


def _degrees(promise: Promise) -> list[int]:
    """In how many askable pairs each item is, the most first."""
    if promise.items.pairs is None:
        return [len(promise.items) - 1] * len(promise.items)
    return sorted((len(near) for near in promise.items.graph.neighbours), reverse=True)


def _pairs_of(k: int, promise: Promise) -> int:
    """In how many askable pairs k items are together, at most."""
    n = len(promise.items)
    return k * (n - 1) - k * (k - 1) // 2 if promise.items.pairs is None else sum(_degrees(promise)[:k])


def _widest(promise: Promise) -> int:
    """Twice the range of one person's answers: the largest min(L + [ij askable], deg i + deg j) over two items."""
    L, graph = promise.privacy.limit, promise.items.graph
    degree = [len(near) for near in graph.neighbours]
    joined = max(min(L + 1, degree[i] + degree[j]) for i, j in graph.edges)
    return max(joined, min(L, sum(_degrees(promise)[:2])))


TOP_BY_NET_WINS = TopByNetWins()
TOP_BY_WINS = TopByWins()
