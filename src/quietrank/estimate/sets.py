"""A `NoisyTally` of best–worst sets in; the sets that estimates are made with, and the scores of their model out."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.errors import SolverError, option
from quietrank.estimate.noisy import NoisyTally
from quietrank.maths.scores import Scores
from quietrank.maths.sets import Sets, fit_sets
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design

MOST_SETS, SAMPLED_SETS = 40_000, 20_000
"""Of a uniform design all sets are used, or about so many that stand for them: an average over 20,000 sets of 4 of 100
items is off by 2 % of the spread of scores."""

SEED = 2026
"""Which sets stand for all is fixed: the same tally gives the same scores every time."""


def known_sets(noisy: NoisyTally) -> Sets:
    """The sets that were shown where they are public, else sets that stand for them: all of the largest size where they
    were drawn at random, or such as show each item about as often as it was shown."""
    n, m = len(noisy.items), noisy.items.shown
    if noisy.public_sets is not None:
        return Sets(n, noisy.public_sets.sets, noisy.public_sets.counts)
    if noisy.privacy.design is Design.UNIFORM or noisy.exposure is None:
        places, total = all_sets(n, m), noisy.total
    else:
        places, total = _by_exposure(noisy.exposure, m), float(noisy.exposure.sum()) / m
    return Sets(n, places, np.full(len(places), max(total or 0.0, 1.0) / len(places)))


@lru_cache(maxsize=4)
def all_sets(n: int, m: int) -> Integers:
    """All sets of m of n items; where they are too many, those of neighbours on circles of all items in random order,
    so that every item is shown equally often."""
    if comb(n, m) <= MOST_SETS:
        return np.array(list(combinations(range(n), m)), dtype=np.int64)
    rng, window = np.random.default_rng(SEED), (np.arange(n)[:, None] + np.arange(m)) % n
    circles = [rng.permutation(n)[window] for _ in range(-(-SAMPLED_SETS // n))]
    return np.concatenate(circles).astype(np.int64)


def _by_exposure(exposure: Floats, m: int) -> Integers:
    """Sets drawn without replacement in proportion to how often items were shown (Gumbel's trick)."""
    keys = np.random.default_rng(SEED).gumbel(size=(SAMPLED_SETS // 4, len(exposure)))
    keys += np.log(np.maximum(exposure, 1.0))
    return np.asarray(np.argpartition(-keys, m - 1, axis=1)[:, :m], dtype=np.int64)


def scores_of_sets(noisy: NoisyTally, gamma: float | Literal["auto"]) -> Scores:
    """The scores of the maxdiff model from noisy net wins and what is known of the sets."""
    assert noisy.net_wins is not None
    noise = noisy.law.spread
    try:
        return fit_sets(
            noisy.net_wins, known_sets(noisy), gamma=gamma, noise_sd=noise.net_wins, noise_kurtosis=noise.kurtosis
        )
    except ArithmeticError:
        raise SolverError(
            f"{option('gamma', gamma)} is too small for noise like this; use a larger one, or {option('gamma', 'auto')}"
        ) from None


def expected_rates(noisy: NoisyTally, theta: Floats) -> Floats:
    """½ + expected net wins per time shown, of each item at these scores, among the sets it was shown in."""
    sets = known_sets(noisy)
    return np.asarray(0.5 + sets.at(theta).expected / np.maximum(sets.exposure, 1e-9))


def notes_of_sets(items: Items, design: Design, method: str) -> list[str]:
    """What a reader has to know and believe where votes are best–worst sets."""
    notes = [
        f"A vote is the best and the worst of a set of up to {items.shown} items: it counts once, whatever it implies "
        "about pairs, and less where the set is smaller."
    ]
    if design is Design.PUBLIC:
        notes.append("Which sets were shown, and how often, is treated as public; what was chosen from them is not.")
    if design is Design.UNIFORM:
        notes.append(
            f"It is assumed, not checked, that every set of {items.shown} items was equally likely to be shown and "
            "answered."
        )
    if method == "bradley-terry":
        notes.append(
            "Scores are those of the maxdiff model: two items are named best and worst of a set with odds that grow "
            "with exp(score of the best - score of the worst)."
        )
    if method == "win-rate":
        notes.append("Win rates are net wins per time shown: 1 is always the best, 0 always the worst.")
        if design is not Design.UNIFORM:
            notes.append(
                "It is assumed, not checked, that items were shown beside others at random: otherwise an item that was "
                "shown beside strong ones ranks too low."
            )
    if method == "net-wins" and design is Design.PRIVATE:
        notes.append("Items are ranked by counts, which favours items that were shown more often.")
    return notes
