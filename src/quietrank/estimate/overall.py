"""The noisy tallies of all groups in, one for all groups together out: their sum, with the sum of their noise.

It is post-processing of what was paid for. The noise of a sum of groups is larger than that of one tally would have
been, √G times for G groups; who wants the overall ranking alone should rank without groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.errors import PrivacyError, option
from quietrank.estimate.noisy import GroupedTally, JointScatter, NoisyTally
from quietrank.mechanisms.mechanism import Law, PublicPairs, PublicSets
from quietrank.mechanisms.scatter import Scatter
from quietrank.promise.privacy import GroupOf
from quietrank.statistics.scores import SCORES
from quietrank.statistics.statistic import Spread

OVERALL = "overall"
"""what the ranking over all groups is called"""

LARGEST = 2**63 - 1
"""noisy values saturate here, and so does their sum"""


@dataclass(frozen=True)
class SumLaw(Law):
    """The sum of `times` independent draws of one law."""

    one: Law
    times: int

    @property
    def spread(self) -> Spread:
        """Variances add up, and so do fourth cumulants: the excess kurtosis is divided by the number of draws."""
        spread, root = self.one.spread, sqrt(self.times)
        return Spread(spread.value * root, spread.net_wins * root, spread.exposure * root, spread.kurtosis / self.times)

    @property
    def size(self) -> float:
        return self.one.size

    def of_size(self, size: float) -> SumLaw:
        return replace(self, one=self.one.of_size(size))

    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        return np.asarray(sum(self.one.sample(rng, draws) for _ in range(self.times)))

    @property
    def most_draws(self) -> int | None:
        return self.one.most_draws

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "sum", "times": self.times, "of": self.one.to_dict()}


def overall(grouped: GroupedTally) -> NoisyTally:
    """The tally of all groups together."""
    names, tallies = zip(*grouped.tallies, strict=True)
    require_overall(names)
    first: NoisyTally = tallies[0]
    if first.statistic == SCORES:
        raise PrivacyError(NO_SCORES)
    return replace(
        first,
        values=_added([one.values for one in tallies]),
        figures=(*first.figures, ("groups", float(len(tallies)))),
        law=SumLaw(first.law, len(tallies)),
        public_exposure=_sum([one.public_exposure for one in tallies]),
        public_total=_total(grouped),
        public_pairs=_pairs([one.public_pairs for one in tallies], len(first.items)),
        public_sets=_sets([one.public_sets for one in tallies]),
        met=_pairs([one.met for one in tallies], len(first.items)),
        alternatives=(),
        people=None,
        scatter=None,
        scatter_of_groups=_scatter([one.scatter for one in tallies], grouped.group_of),
    )


NO_SCORES = (
    f"{option('mechanism', 'perturbed-mle')} releases scores of each group, which do not add up to scores over all "
    f"groups; leave {option('overall')} out, or choose another {option('mechanism')}"
)


def require_overall(groups: Sequence[str]) -> None:
    """Refuse a ranking over all groups that could not be told from that of a group."""
    if OVERALL in groups:
        raise PrivacyError(
            f"a group is called {OVERALL!r}, as the ranking over all groups is; rename it, or leave "
            f"{option('overall')} out"
        )


def _added(values: Sequence[Integers]) -> Integers:
    exact = np.sum([one.astype(object) for one in values], axis=0)
    return np.array([max(-LARGEST, min(LARGEST, int(value))) for value in exact], dtype=np.int64)


def _sum(parts: Sequence[Floats | None]) -> Floats | None:
    known = [part for part in parts if part is not None]
    return np.asarray(np.sum(known, axis=0)) if known else None


def _total(grouped: GroupedTally) -> float | None:
    """The number of votes in all groups, where it is public: as it was counted, or by the public design."""
    totals = [one.public_total for _, one in grouped.tallies]
    known = [total for total in totals if total is not None]
    if known:
        return sum(known)
    return None if grouped.public_votes is None else float(grouped.public_votes)


def _pairs(parts: Sequence[PublicPairs | None], items: int) -> PublicPairs | None:
    """Who met whom in any group, and how often in all, each pair once."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    keys = np.concatenate([part.i * items + part.j for part in known])
    pairs, place = np.unique(keys, return_inverse=True)
    counts = np.bincount(place, np.concatenate([part.counts for part in known]), len(pairs))
    i, j = np.divmod(pairs, items)
    return PublicPairs(i, j, counts.astype(np.float64))


def _sets(parts: Sequence[PublicSets | None]) -> PublicSets | None:
    """What was shown in any group, each set once."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    sets, place = np.unique(np.concatenate([part.sets for part in known]), axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), np.concatenate([part.counts for part in known]), len(sets))
    return PublicSets(sets, counts.astype(np.float64))


def _scatter(parts: Sequence[Scatter | None], group_of: GroupOf) -> JointScatter | None:
    known = tuple(part for part in parts if part is not None)
    return JointScatter(known, group_of) if known else None
