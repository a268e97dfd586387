"""Estimated scores and true strengths in, how far off the ranking is out: a row for each repetition, and averages."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TypedDict

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.maths.field import DENSE_LIMIT, CellField, u

NEVER_SEEN = 2
"""An event that never happened in R repetitions may still have a probability of 3.8/R: (1 − 3.8/R)^R is the 2 % that
lie beyond two standard errors. So two standard errors are never taken to be less than 4/R."""


@dataclass(frozen=True, eq=False)
class Truth:
    """What a release without any error would say; one row per repetition."""

    scores: Floats
    """centred strengths, or win rates"""
    first: Integers
    """an item's true ranks are first … last: items of equal strength may come in any order"""
    last: Integers
    as_odds: bool
    """whether the scores are strengths"""

    @classmethod
    def of(cls, theta: Floats, *, as_odds: bool) -> Truth:
        scores = theta - theta.mean(axis=1, keepdims=True) if as_odds else win_rates(theta)
        first, last = np.empty(theta.shape, dtype=np.int64), np.empty(theta.shape, dtype=np.int64)
        for row, strengths in enumerate(theta):
            ascending = np.sort(strengths)
            first[row] = len(strengths) - np.searchsorted(ascending, strengths, side="right")
            last[row] = len(strengths) - 1 - np.searchsorted(ascending, strengths, side="left")
        return cls(scores, first, last, as_odds)

    def rows(self, block: slice) -> Truth:
        """The truth of some repetitions."""
        return Truth(self.scores[block], self.first[block], self.last[block], self.as_odds)


@dataclass(frozen=True, eq=False)
class Measured:
    """One value per repetition."""

    score_error: Floats
    top_k_error: Floats
    rank_error: Floats
    winner: Floats

    @classmethod
    def joined(cls, blocks: list[Measured]) -> Measured:
        names = ("score_error", "top_k_error", "rank_error", "winner")
        return cls(*(np.concatenate([getattr(block, name) for block in blocks]) for name in names))


class Averages(TypedDict):
    """Over repetitions, each with its standard error."""

    score_error: float
    top_k_error: float
    rank_error: float
    winner: float
    score_precision: float
    top_k_precision: float
    rank_precision: float
    winner_precision: float


def averages(measured: Measured, draws: int, items: int, k: int) -> Averages:
    """Means, and of score errors the median; `draws`: after how many repetitions the noise repeats."""
    steps = smallest_steps(items, k)
    return Averages(
        score_error=float(np.median(measured.score_error)),
        top_k_error=float(measured.top_k_error.mean()),
        rank_error=float(measured.rank_error.mean()),
        winner=float(measured.winner.mean()),
        score_precision=error_of_median(measured.score_error, draws),
        top_k_precision=error_of_mean(measured.top_k_error, draws, steps["top-k error"]),
        rank_precision=error_of_mean(measured.rank_error, draws, steps["rank error"]),
        winner_precision=error_of_mean(measured.winner, draws, steps["winner"]),
    )


def measure(scores: Floats, truth: Truth, k: int) -> Measured:
    """How far the scores, and the ranking by them, are from the truth."""
    rank = ranks(scores)
    off = np.maximum(np.maximum(truth.first - rank, rank - truth.last), 0)
    published = scores if truth.as_odds else np.clip(scores, 0, 1)  # as releases show win rates
    return Measured(
        score_error=np.sqrt(np.mean((published - truth.scores) ** 2, axis=1)),
        top_k_error=_top_k_error(rank, truth.first, truth.last, k),
        rank_error=np.asarray(off.mean(axis=1)),
        winner=((rank == 0) & (truth.first == 0)).any(axis=1).astype(np.float64),
    )


def _top_k_error(rank: Integers, first: Integers, last: Integers, k: int) -> Floats:
    """1 − |Ŝ ∩ S|/k, where items that tie for the last places of S may fill them in any way."""
    chosen = rank < k
    sure, tied = last < k, (first < k) & (last >= k)
    places = k - sure.sum(axis=1)
    hits = (chosen & sure).sum(axis=1) + np.minimum(places, (chosen & tied).sum(axis=1))
    return np.asarray(1 - hits / k)


def ranks(scores: Floats) -> Integers:
    """0 for the highest score; equal scores are ordered by a fixed coin, not by their position."""
    coin = np.random.default_rng(0).random(scores.shape)
    order = np.lexsort((coin, -scores), axis=1)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(scores.shape[1])[None, :], axis=1)
    return place


def win_rates(theta: Floats) -> Floats:
    """τ_i = Σ_{j≠i} σ(θ_i − θ_j)/(n − 1): how often item i beats a random other one; σ = ½ + u."""
    n = theta.shape[1]
    return np.array([(_pull(row) + (n - 1) / 2) / (n - 1) for row in theta])


def _pull(theta: Floats) -> Floats:
    """Σ_j u(θ_i − θ_j); for many items without forming the pairs."""
    if theta.size <= DENSE_LIMIT:
        return np.asarray(u(theta[:, None] - theta).sum(axis=1))
    return CellField.at(theta).pull_and_slope(np.ones(theta.size))[0]


def smallest_steps(items: int, k: int) -> dict[str, float]:
    """By how much the measures of one repetition change when two items swap places."""
    return {"top-k error": 1 / k, "rank error": 2 / items, "winner": 1.0}


def error_of_mean(values: Floats, draws: int, least: float) -> float:
    """The standard error of the mean over repetitions; `least` is the smallest step of the measure.

    Repetitions r, r + draws, r + 2·draws, … share their noise, so only their means are independent.
    """
    share = np.arange(len(values)) % draws
    means = np.bincount(share, values) / np.bincount(share)
    return max(float(means.std(ddof=1)) / sqrt(len(means)), NEVER_SEEN * least / len(means))


def error_of_median(values: Floats, draws: int) -> float:
    """The standard error of the median: half the gap between the order statistics one standard error either side."""
    number = min(draws, len(values))
    low, high = np.quantile(values, [0.5 - 0.5 / sqrt(number), 0.5 + 0.5 / sqrt(number)])
    return float(high - low) / 2
