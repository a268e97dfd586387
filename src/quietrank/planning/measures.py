"""Estimated scores and true strengths in, how far the ranking is off, out; a row for each repetition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quietrank.planning.survey import Floats, Indices


@dataclass(frozen=True, eq=False)
class Measured:
    """One value per repetition."""

    score_error: Floats
    top_k_error: Floats
    rank_error: Floats
    winner: Floats


def measure(scores: Floats, theta: Floats, k: int, *, as_odds: bool) -> Measured:
    """`as_odds`: the scores estimate θ, else win rates. Items of equal strength may come in any order."""
    rank = ranks(scores)
    above = (theta[:, None, :] > theta[:, :, None]).sum(axis=2)
    below = (theta[:, None, :] < theta[:, :, None]).sum(axis=2)
    last = theta.shape[1] - 1 - below  # the true ranks of an item are above … last
    off = np.maximum(np.maximum(above - rank, rank - last), 0)
    truth = theta - theta.mean(axis=1, keepdims=True) if as_odds else win_rates(theta)
    shown = scores if as_odds else np.clip(scores, 0, 1)  # as releases show win rates
    return Measured(
        score_error=np.sqrt(np.mean((shown - truth) ** 2, axis=1)),
        top_k_error=_top_k_error(rank, above, last, k),
        rank_error=np.asarray(off.mean(axis=1)),
        winner=((rank == 0) & (above == 0)).any(axis=1).astype(np.float64),
    )


def _top_k_error(rank: Indices, above: Indices, last: Indices, k: int) -> Floats:
    """1 − |Ŝ ∩ S|/k, where items that tie for the last places of S may fill them in any way."""
    chosen = rank < k
    sure, tied = last < k, (above < k) & (last >= k)
    places = k - sure.sum(axis=1)
    hits = (chosen & sure).sum(axis=1) + np.minimum(places, (chosen & tied).sum(axis=1))
    return np.asarray(1 - hits / k)


def ranks(scores: Floats) -> Indices:
    """0 for the highest score; a fixed coin decides between equal ones, not their place."""
    coin = np.random.default_rng(0).random(scores.shape)
    order = np.lexsort((coin, -scores), axis=1)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(scores.shape[1])[None, :], axis=1)
    return place


def win_rates(theta: Floats) -> Floats:
    """τ_i: how often item i beats a random other one."""
    n = theta.shape[1]
    beats = 1 / (1 + np.exp(theta[:, None, :] - theta[:, :, None]))
    return np.asarray((beats.sum(axis=2) - 0.5) / (n - 1))
