"""Noisy tallies in, k out: of how many people the scatter is measured, one in 2^k. All that is looked at is public.

Two things decide. The sample must be large, so that it is like all people; and noise that is multiplied by 2^k must not
be heard: not beside the noise on the counts, and what people vary by (docs/uncertainty.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from quietrank.estimate.noisy import NoisyTally
from quietrank.mechanisms.scatter import ScatterNoise, sample_bits

LOUDEST = 0.05
"""the noise on the scatter, as a part of the variance of all net wins"""


def bits_of(tallies: Sequence[NoisyTally], noise: ScatterNoise) -> int:
    """k, for the tallies of all groups: the same for all of them."""
    bits, loud = most_bits(tallies), math.sqrt(2.0) * noise.noise.scale * noise.step * len(tallies)
    known = LOUDEST * _variance(tallies)
    while bits and loud * 2**bits > known:
        bits -= 1
    return bits


def most_bits(tallies: Sequence[NoisyTally]) -> int:
    """The largest k that leaves enough people, over all groups together."""
    return sample_bits(max(0.0, _people(tallies)))


def _people(tallies: Sequence[NoisyTally]) -> float:
    """How many people there are, or so many at least: T/L where each has a total weight of at most L. A clip bounds no
    weight; then, and where no total is known, none."""
    known = [one.people for one in tallies if one.people is not None]
    if known:
        return sum(known)
    privacy, total = tallies[0].privacy, _total(tallies)
    return 0.0 if total is None or privacy.clip is not None else total / privacy.limit


def _variance(tallies: Sequence[NoisyTally]) -> float:
    """Of the net wins of all items, in votes²: their noise, and that of T independent votes, of which each adds ½."""
    noise = sum(len(one.items) * one.law.spread.net_wins**2 for one in tallies if one.scores is None)
    total = _total(tallies)
    return noise + max(0.0, _people(tallies) if total is None else total) / 2


def _total(tallies: Sequence[NoisyTally]) -> float | None:
    totals = [one.counted_total for one in tallies]
    known = [total for total in totals if total is not None]
    return sum(known) if len(known) == len(totals) else None
