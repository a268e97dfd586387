"""The exact tallies of several groups in, one tally of all of them out; confidential, for the data holder alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from quietrank.votes.tallies import AnyTally, PairTally, SetTally, Tallies, Tally

if TYPE_CHECKING:
    from quietrank.arrays import Integers


def added_up(tallies: Tallies) -> AnyTally:
    """One tally of the votes of all groups; not for release: it says nothing about how units were bounded."""
    each = list(tallies)
    sets = [tally for tally in each if isinstance(tally, SetTally)]
    if sets:
        return _all_sets(sets)
    pairs = [tally for tally in each if isinstance(tally, PairTally)]
    return _all_pairs(pairs) if pairs else _all_items([tally.by_item for tally in each])


def _all_items(tallies: Sequence[Tally]) -> Tally:
    wins, losses = (sum(getattr(tally, name) for tally in tallies) for name in ("wins", "losses"))
    weight = None if tallies[0].weight is None else sum(tally.total for tally in tallies)
    rows, ties = sum(tally.rows for tally in tallies), _all_ties(tallies)
    return replace(tallies[0], wins=wins, losses=losses, rows=rows, bounded=None, ties=ties, weight=weight)


def _all_ties(tallies: Sequence[Tally | PairTally]) -> int | None:
    counted = [tally.ties for tally in tallies if tally.ties is not None]
    return sum(counted) if len(counted) == len(tallies) else None


def _all_sets(tallies: Sequence[SetTally]) -> SetTally:
    shown = np.concatenate([tally.sets for tally in tallies]), np.concatenate([tally.weights for tally in tallies])
    return SetTally(tallies[0].items, *distinct_sets(*shown), _all_items([tally.by_item for tally in tallies]))


def distinct_sets(sets: Integers, weights: Integers) -> tuple[Integers, Integers]:
    """Each set once, its items in ascending order and −1 last, with the sum of its weights; none without items."""
    last = np.where(sets < 0, np.iinfo(np.int64).max, sets)
    ordered = np.sort(last, axis=1)
    ordered[ordered == np.iinfo(np.int64).max] = -1
    some = ordered[:, 1] >= 0
    distinct, place = np.unique(ordered[some], axis=0, return_inverse=True)
    sums = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(sums, place.ravel(), weights[some])
    return distinct, sums


def _all_pairs(tallies: Sequence[PairTally]) -> PairTally:
    items = len(tallies[0].items)
    keys, place = np.unique(np.concatenate([tally.i * items + tally.j for tally in tallies]), return_inverse=True)
    wins_i, wins_j = np.zeros((2, len(keys)), dtype=np.int64)
    np.add.at(wins_i, place, np.concatenate([tally.wins_i for tally in tallies]))
    np.add.at(wins_j, place, np.concatenate([tally.wins_j for tally in tallies]))
    i, j = np.divmod(keys, items)
    rows, ties = sum(tally.rows for tally in tallies), _all_ties(tallies)
    return replace(tallies[0], i=i, j=j, wins_i=wins_i, wins_j=wins_j, rows=rows, bounded=None, ties=ties)
