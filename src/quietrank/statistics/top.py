"""The first k items by net wins or by wins: what selection publishes; no counts can be read from a list of names.

Selection is unchanged when the same number is added to all counts, so what noise must cover is not how far the counts
move but how far apart two of their movements are: the range max Δ_i − min Δ_i. docs/proofs/selection.md proves every
line; `range` of a vector obeys the triangle inequality, so that of two units is at most the sum.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from quietrank.promise.privacy import Neighbours
from quietrank.promise.promise import Limits, Promise
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

    def range(self, change: Neighbours, promise: Promise) -> Fraction:
        """The largest range of what one unit changes, in votes; over several tallies, the sum of their ranges."""
        raise NotImplementedError

    def range_of_norm(self, change: Neighbours) -> int:
        """The square of the largest range of a change, where contributions have norm C, in units of C²."""
        raise NotImplementedError


class TopByNetWins(Top, NetWins):
    """A vote of weight w on (i, j) moves s_i and s_j by at most w/2 each, in opposite directions: a range of w."""

    name = "top-by-net-wins"

    def range(self, change: Neighbours, promise: Promise) -> Fraction:
        """L, and twice that for two people. With one answer per pair, x_i − x_j has 1 from the pair (i, j) and ½ from
        every other pair of i or of j: half of min(L + [ij askable], deg i + deg j)."""
        L, privacy = promise.privacy.limit, promise.privacy
        added = Fraction(promise.spread * _widest(promise), 2) if privacy.one_per_pair else Fraction(L)
        if privacy.one_per_pair and promise.spread > 1:  # the pair (i, j) counts once in each of the groups
            added = min(added, Fraction(L + min(promise.spread, L), 2))
        return added if change is Neighbours.ADD_REMOVE else 2 * added

    def range_of_norm(self, change: Neighbours) -> int:
        """x_i − x_j ≤ √2·‖x‖."""
        return 2 if change is Neighbours.ADD_REMOVE else 8


class TopByWins(Top, Wins):
    """A vote of weight w gives w to one item."""

    name = "top-by-wins"

    def range(self, change: Neighbours, promise: Promise) -> Fraction:
        """w_i ≤ min(L, deg i) for one person, and w_i + w'_j for two. Where only answers change, wins move as net wins
        do, because exposures stay."""
        if change is Neighbours.OUTCOME:
            return TOP_BY_NET_WINS.range(change, promise)
        L = promise.privacy.limit
        most = [L, L]
        if promise.privacy.one_per_pair:
            most = [min(L, promise.spread * degree) for degree in _degrees(promise)[:2]]
        return Fraction(most[0] if change is Neighbours.ADD_REMOVE else sum(most))

    def range_of_norm(self, change: Neighbours) -> int:
        """max w − min w ≤ ‖w‖, because wins are not negative, and w_i + w'_j ≤ 2C; answers alone move net wins."""
        return {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE: 4, Neighbours.OUTCOME: 8}[change]


def _degrees(promise: Promise) -> list[int]:
    """In how many askable pairs each item is, the most first."""
    if promise.items.pairs is None:
        return [len(promise.items) - 1] * len(promise.items)
    return sorted((len(near) for near in promise.items.graph.neighbours), reverse=True)


def _widest(promise: Promise) -> int:
    """The largest min(L + [ij askable], deg i + deg j) over two items; L is that of all tallies together."""
    L, n = promise.privacy.limit, len(promise.items)
    if promise.items.pairs is None:
        return min(L + 1, 2 * (n - 1))
    graph = promise.items.graph
    degree = [len(near) for near in graph.neighbours]
    joined = max(min(L + 1, degree[i] + degree[j]) for i, j in graph.edges)
    first, second = _degrees(promise)[:2]
    return max(joined, min(L, first + second))


TOP_BY_NET_WINS = TopByNetWins()
TOP_BY_WINS = TopByWins()
