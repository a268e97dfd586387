"""Simulated counts and unit noise in, the scores of a release out: noisy tallies as the mechanisms make them.

The estimators are the real ones. Only the ridge of Bradley–Terry scores, which every release chooses anew from its own
noisy counts, is chosen once for all repetitions: it takes most of the time, and varies little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, inf, log
from statistics import median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quietrank.additive import Calibrated
from quietrank.estimators.methods import Estimate, Method, bradley_terry, estimate, statistic_for
from quietrank.items import Items
from quietrank.laws import GaussianLaw, LaplaceLaw, Law, ZonotopeLaw
from quietrank.noisy import NoisyTally, PublicPairs
from quietrank.planning.survey import Counts, Floats, pair_ends
from quietrank.privacy import Design, Privacy
from quietrank.sensitivity import Statistic, half_vote

GAMMA_SAMPLES = 5
NO_PRIVACY = "no privacy"


@dataclass(frozen=True, eq=False)
class Maker:
    """How exact counts become noisy tallies, and those scores."""

    items: Items
    privacy: Privacy
    statistic: Statistic
    step: Fraction
    share: Fraction
    mechanism: str
    epsilon: float
    law: Law

    @classmethod
    def of(cls, made: Calibrated, items: Items) -> Maker:
        name, epsilon = made.mechanism.value, made.privacy.epsilon
        return cls(items, made.privacy, made.statistic, made.step, made.share, name, epsilon, made.law)

    @classmethod
    def exact(cls, items: Items, privacy: Privacy, method: Method) -> Maker:
        """Without noise: a law of size 0."""
        statistic = statistic_for(method, privacy)
        law = LaplaceLaw(statistic, len(items), 0.0, sum_zero=False)
        return cls(items, privacy, statistic, half_vote(privacy), Fraction(1), NO_PRIVACY, inf, law)

    @property
    def entries(self) -> int:
        return self.statistic.size(len(self.items))

    @property
    def noise_sd(self) -> float:
        """Of what items are ranked by, in votes."""
        spread = self.law.spread
        return spread.value if self.statistic is Statistic.WINS else spread.net_wins

    def scores(self, method: Method, counts: Counts, noise: Floats, runs: int) -> Floats:
        """One row per repetition; counts are divided by the mean exposure, so that they read as win rates."""
        values, tallies = self._values(counts, noise, runs), []
        exposure, total = counts.exposure, counts.total
        for row in range(runs):
            tallies.append(self._tally(values[row], exposure[row], float(total[row]), _met(counts, row)))
        gamma: float | Literal["auto"] = "auto"
        if method is Method.BRADLEY_TERRY:
            gamma = _typical_gamma(tallies[:GAMMA_SAMPLES])
        mean = float(exposure.mean())
        return np.array([_on_scale(estimate(tally, method, gamma), mean) for tally in tallies])

    def _values(self, counts: Counts, noise: Floats, runs: int) -> NDArray[np.int64]:
        """The noisy statistic in lattice steps."""
        columns: dict[Statistic, Callable[[], Floats]] = {
            Statistic.NET_WINS: lambda: counts.net_wins,
            Statistic.NET_WINS_AND_TOTAL: lambda: np.column_stack([counts.net_wins, counts.total]),
            Statistic.WINS: lambda: counts.wins,
            Statistic.WINS_AND_LOSSES: lambda: np.column_stack([counts.wins, counts.losses]),
            Statistic.NET_WINS_AND_EXPOSURES: lambda: np.column_stack([counts.net_wins, counts.exposure]),
        }
        exact = columns[self.statistic]()
        per_vote = np.full(self.entries, 1 / float(self.step))
        if self.statistic in (Statistic.NET_WINS_AND_TOTAL, Statistic.NET_WINS_AND_EXPOSURES):
            per_vote[len(self.items) :] *= float(self.share)
        noisy = exact[:runs] + noise[np.arange(runs) % len(noise)]
        return np.asarray(np.rint(noisy * per_vote), dtype=np.int64)

    def _tally(
        self, values: NDArray[np.int64], exposure: Floats, total: float, pairs: PublicPairs | None
    ) -> NoisyTally:
        public = self.privacy.design is Design.PUBLIC
        return NoisyTally(
            items=self.items,
            privacy=self.privacy,
            statistic=self.statistic,
            values=values,
            step=self.step,
            share=self.share,
            mechanism=self.mechanism,
            figures=(),
            law=self.law,
            public_exposure=exposure if public else None,
            public_total=total if self.privacy.votes_are_public else None,
            public_pairs=pairs,
            rows_skipped=False,
        )


def _met(counts: Counts, row: int) -> PublicPairs | None:
    """The pairs that met, if they were kept: only a public design with Bradley–Terry scores needs them."""
    if not counts.pairs:
        return None
    weight = counts.pairs[row]
    met = np.flatnonzero(weight)
    i, j = pair_ends(counts.wins.shape[1])
    return PublicPairs(i[met], j[met], weight[met])


def _typical_gamma(tallies: list[NoisyTally]) -> float:
    return exp(median(log(bradley_terry(tally, "auto").gamma) for tally in tallies))


def _on_scale(found: Estimate, exposure: float) -> Floats:
    """Scores, or counts on the scale of win rates."""
    if found.method is Method.NET_WINS:
        return np.asarray(0.5 + found.scores / exposure)
    return np.asarray(found.scores / exposure) if found.method is Method.WINS else found.scores


# ---- noise of size one --------------------------------------------------------------------------------------------


def size(law: Law) -> float:
    """What the noise is proportional to."""
    match law:
        case LaplaceLaw():
            return law.scale
        case GaussianLaw():
            return law.sigma
        case ZonotopeLaw():
            return law.unit


def of_size_one(law: Law) -> Law:
    """The same law at size 1."""
    match law:
        case LaplaceLaw():
            return replace(law, scale=1.0)
        case GaussianLaw():
            return replace(law, sigma=1.0)
        case ZonotopeLaw():
            return replace(law, unit=1.0)
