"""Exact scores and their covariance in; intervals, rank sets and tiers out. For fits, which are not private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from quietrank.arrays import Floats, Integers
from quietrank.estimate.uncertainty import FEW_DRAWS, MANY_DRAWS, MANY_ITEMS
from quietrank.maths import ranks

SEED = 2025
"""the same votes give the same rank sets every time"""


@dataclass(frozen=True, eq=False)
class RankSets:
    """The ranks that each item may have, and its tier; in the order of the items."""

    low: Integers
    high: Integers
    tier: Integers


def intervals(scores: Floats, standard_errors: Floats, level: float) -> tuple[Floats, Floats]:
    """Each score ± z standard errors: normal intervals, for one item at a time."""
    reach = ndtri((1 + level) / 2) * standard_errors
    return scores - reach, scores + reach


def rank_sets(scores: Floats, covariance: Floats, order: list[int], level: float) -> RankSets:
    """What may be said about the ranks if the errors of the scores are normal with this covariance."""
    draws = MANY_DRAWS if len(scores) <= MANY_ITEMS else FEW_DRAWS
    apart = ranks.told_apart(scores, _normal_draws(covariance, draws), level)
    return RankSets(*ranks.rank_sets(scores, apart), ranks.tiers(order, apart))


def _normal_draws(covariance: Floats, draws: int) -> Floats:
    """A row per draw; the covariance may be singular, and is, because scores are centred."""
    values, vectors = np.linalg.eigh(covariance)
    standard = np.random.default_rng(SEED).standard_normal((draws, len(values)))
    return np.asarray(standard * np.sqrt(np.maximum(values, 0.0)) @ vectors.T)
