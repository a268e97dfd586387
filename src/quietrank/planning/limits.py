"""Simulated people and the noise of a board in, what the limit leaves of their votes out, period by period.

The weights are those of a real board: whole numbers, found by the same rule, day by day and person by person. A single
release of all votes is a board of one period.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.mechanisms.horizon import Norm
from quietrank.mechanisms.stream import Factor, GaussianBoardNoise
from quietrank.planning.crowd import People
from quietrank.planning.survey import Advance
from quietrank.promise.promise import PERSON_GRID

MOST_WORD = 2.0**62
HALF = 10
"""bits; a weight has twice as many"""


@dataclass(frozen=True, eq=False)
class LimitedVotes:
    """What a limit leaves of everybody's votes: sums over all people up to the end of each period."""

    votes: Floats
    weight: Floats
    """Σ w, w the weight of a vote"""
    squares: Floats
    """Σ w²"""
    signal: Floats
    """the share of what tells items apart that is left: people whose votes agree are scaled down more than others"""

    @property
    def share(self) -> Floats:
        """Of votes."""
        return self.weight / np.maximum(self.votes, 1e-300)

    def error(self, period: int, noise_sd: float, items: int) -> float:
        """About how far off a win rate is after so many periods: √(σ² + Σw²/(2n)) over the exposure that is left, since
        the Σw²·2/n of an item's votes have a variance of ¼ each."""
        t = period - 1
        exposure = 2 * float(self.votes[t] * self.signal[t]) / items
        return float(np.sqrt(noise_sd**2 + self.squares[t] / (2 * items))) / max(exposure, 1e-300)


def limited_votes(
    people: People, length: int, noises: Sequence[GaussianBoardNoise], advance: Advance = lambda amount: None
) -> list[LimitedVotes]:
    """What each of the limits leaves; periods have `length` days, and the limits one horizon."""
    cells = Cells.of(people, length)
    weights = cell_weights(people, cells, noises, advance)
    return [cells.summed(people, weights[row] / PERSON_GRID, noises[0].factor.horizon) for row in range(len(noises))]


@dataclass(frozen=True, eq=False)
class Cells:
    """The votes of one person in one period are one cell; sorted by person and period."""

    of_vote: Integers
    person: Integers
    period: Integers
    """from 0"""

    @classmethod
    def of(cls, people: People, length: int) -> Cells:
        period = people.day // length
        new = np.ones(len(period), dtype=bool)
        new[1:] = (np.diff(people.person) != 0) | (np.diff(period) != 0)
        return cls(np.cumsum(new) - 1, people.person[new], period[new])

    def summed(self, people: People, weight: Floats, horizon: int) -> LimitedVotes:
        """Sums over everybody, period by period; `weight` of the votes of each cell."""
        count = np.bincount(self.of_vote, minlength=len(self.person)) * people.stands_for[self.person]
        signal = np.bincount(self.of_vote, people.signal, len(self.person)) * people.stands_for[self.person]

        def until(values: Floats) -> Floats:
            return np.cumsum(np.bincount(self.period, values, horizon)[:horizon])

        votes, kept, squares = until(count), until(count * weight), until(count * weight**2)
        # Few votes tell little: as much as their sum has of chance, the share of votes takes the place of its own.
        share, chance = kept / np.maximum(votes, 1e-300), np.sqrt(until(signal**2)) + 1e-300
        told = (until(signal * weight) + chance * share) / (np.maximum(until(signal), 0) + chance)
        return LimitedVotes(votes, kept, squares, np.clip(told, 0, 1))


def cell_weights(
    people: People, cells: Cells, noises: Sequence[GaussianBoardNoise], advance: Advance = lambda amount: None
) -> Integers:
    """The weight of each cell (columns) under each limit (rows), in units of 2^-20."""
    norms, gram = [noise.limit for noise in noises], _gram(noises[0].factor)
    weights = np.empty((len(norms), len(cells.person)), dtype=np.int64)
    for place, net, met in _products(people, cells):
        days = cells.period[place]
        g = gram[np.ix_(days, days)]
        for row, norm in enumerate(norms):
            weights[row, place] = _weights(norm, _times(g, norm.net * net + norm.met * met))
        advance((place.stop - place.start) / len(cells.person))
    return weights


def _gram(factor: Factor) -> Integers:
    """G_tu·GRID², u ≤ t, as a table."""
    table = np.zeros((factor.horizon, factor.horizon), dtype=np.int64)
    for day in range(1, factor.horizon + 1):
        table[day - 1, :day] = factor.gram(day)
    return table


def _products(people: People, cells: Cells) -> Iterator[tuple[slice, Integers, Integers]]:
    """For each person: where their cells are, and ⟨X_t, X_u⟩ of twice the net wins and of the exposures."""
    starts = np.flatnonzero(np.diff(cells.person, prepend=-1))
    first_vote = np.searchsorted(cells.of_vote, [*starts, len(cells.person)])
    for k, (start, end) in enumerate(zip(starts, [*starts[1:], len(cells.person)], strict=True)):
        votes = slice(first_vote[k], first_vote[k + 1])
        place = (cells.of_vote[votes] - start) * people.items
        size = (end - start) * people.items
        won, lost = (np.bincount(place + one[votes], minlength=size) for one in (people.winner, people.loser))
        # Doubles are exact here, because no count comes near 2^53, and faster than integers.
        net, met = ((won + sign * lost).reshape(end - start, -1).astype(np.float64) for sign in (-1, 1))
        yield slice(start, end), _whole(net @ net.T), _whole(met @ met.T)


def _whole(products: Floats) -> Integers:
    return np.asarray(np.rint(products), dtype=np.int64)


def _times(gram: Integers, products: Integers) -> Any:
    """G_tu⟨X_t, X_u⟩; as whole numbers of any size where sums of them, times half a weight, could exceed 64 bits."""
    if float(gram.max()) * float(np.abs(products).sum(axis=1).max()) * 2**HALF >= MOST_WORD:
        return gram.astype(object) * products.astype(object)
    return gram * products


def _weights(norm: Norm, products: Any) -> list[int]:
    """W of one person's days, one after the other; from G_tu⟨X_t, X_u⟩."""
    weights, reached = list[int](), 0
    high, low = np.zeros((2, len(products)), dtype=np.int64)
    for t, row in enumerate(products):
        # In two halves, so that 64 bits are enough.
        mixed = (int(row[:t] @ high[:t]) << HALF) + int(row[:t] @ low[:t]) if t else 0
        weight, reached = norm.weight(reached, mixed, int(row[t]))
        high[t], low[t] = weight >> HALF, weight % 2**HALF
        weights.append(weight)
    return weights
