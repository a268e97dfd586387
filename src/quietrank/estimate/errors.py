"""`Sources` of error in, the `Error` of net wins and win rates out: estimates, with draws of what they are off by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from quietrank.arrays import Floats
from quietrank.estimate.methods import Estimate, around_of
from quietrank.estimate.sources import NoError, Sources, exposures, given_design, has_limit, laplacian
from quietrank.maths.davidson import tie
from quietrank.mechanisms.scatter import Around
from quietrank.statistics.method import Method

MOST_DENSE, MOST_ITEMS = 1000, 20_000
"""For more items than the first no n-by-n matrix is formed, and the errors of two items are taken as independent; for
more than the second, nothing is said."""


@dataclass(frozen=True, eq=False)
class Rates:
    """Estimates that are functions of win rates ½ + s/d: s and d of each item, and draws of what they are off by.

    Intervals are made for the rates and carried over, so that they hold however uncertain d is, and however curved the
    function: a score is far off where a rate comes close to 0 or 1.
    """

    net_wins: Floats
    exposure: Floats
    of_net_wins: Floats
    of_exposure: Floats
    value: Callable[[Floats], Floats] = lambda u: 0.5 + u
    """s/d of each item in, what is estimated out; increasing"""


@dataclass(frozen=True, eq=False)
class Error:
    """Estimates, and draws of what they are off by, a row each; in the order of the items."""

    centre: Floats
    draws: Floats
    noise_sd: float
    """of a typical estimate: what is off on purpose"""
    factor: float | None
    """φ: how many times as much as independent votes the votes vary"""
    notes: tuple[str, ...]
    """what was assumed"""
    rates: Rates | None = None
    """what intervals are made from, where that is better than the draws"""
    of_ties: Floats | None = None
    """draws of the error of the weight of all ties, given the scores; where these have a model"""

    def relative_to(self, item: int) -> Error:
        """The same for the differences to one item."""
        centre, draws = self.centre - self.centre[item], self.draws - self.draws[:, item, None]
        return replace(self, centre=centre, draws=draws, rates=None)


def net_wins(sources: Sources) -> Error:
    noisy, s = sources.noisy, sources.noisy.net_wins
    assert s is not None
    if noisy.privacy.clip is not None:
        raise NoError("Net wins of clipped votes carry no intervals for all people; rank by win rates or scores.")
    if not noisy.knows_people and noisy.total is None and not has_limit(noisy):
        raise NoError("There are no intervals: the number of votes is not known.")
    shape = laplacian(sources.met / 4)
    if noisy.total is not None:
        shape = shape * (noisy.total / 2 / np.trace(shape))
    sampling, factor, notes = sources.sampling(shape, Around.ZERO)
    factor_known = factor if noisy.total is not None else None
    noise = sources.of_net_wins
    return Error(s, sampling + noise, typical(noise), factor_known, notes)


def typical(draws: Floats) -> float:
    """The standard deviation of the error of an item in the middle."""
    return float(np.median(draws.std(axis=0)))


def win_rates(sources: Sources) -> Error:
    """½ + s/d, linear in both errors: (error of s − u·error of d)/d with u = s/d."""
    s = sources.noisy.net_wins
    assert s is not None
    d, of_d = exposures(sources)
    u = np.clip(s / d, -0.5, 0.5)
    expected = np.clip((u[:, None] - u) * (1 - 1 / sources.n), -0.45, 0.45)
    sampling, factor, notes = sources.sampling(*given_design(sources, sources.met, expected))
    of_s = sampling + sources.of_net_wins
    noise = typical((sources.of_net_wins - u * of_d) / d)
    return Error(0.5 + s / d, (of_s - u * of_d) / d, noise, factor, notes, Rates(s, d, of_s, of_d))


def of_many(sources: Sources) -> Error:
    """The same without a matrix: every item against all others as they are on the whole."""
    noisy, n, estimate = sources.noisy, sources.n, sources.estimate
    s, method = noisy.net_wins, estimate.method
    if n > MOST_ITEMS:
        raise NoError(f"There are no intervals for more than {MOST_ITEMS} items.")
    if s is None or noisy.public_pairs is not None or method is Method.WINS:
        raise NoError(f"There are no intervals for more than {MOST_DENSE} items, ranked like this.")
    if method is Method.NET_WINS:
        return _many_net_wins(sources, s)
    d, of_d = exposures(sources)
    u = np.clip(s / d, -0.5, 0.5)
    theta, model = estimate.scores, estimate.model
    opponents = np.quantile(theta, (np.arange(OPPONENTS) + 0.5) / OPPONENTS)
    difference = theta[:, None] - opponents
    square = tie_free(estimate, difference).mean(axis=1) if estimate.nu is not None else 0.25
    sampling, factor, notes = sources.sampling(d * (square - u**2), around_of(noisy, method))
    of_s, notes = sampling + sources.of_net_wins - u * of_d, (*notes, *_few_opponents(method))
    if method is Method.WIN_RATE:
        noise = typical((sources.of_net_wins - u * of_d) / d)
        return Error(0.5 + s / d, of_s / d, noise, factor, notes, Rates(s, d, of_s + u * of_d, of_d))
    gamma = estimate.gamma or 0.0
    own = d * model.curvature(difference).mean(axis=1)
    noise, of_ties = typical((of_s - sampling) / own), None
    if estimate.nu is not None:
        chance, rate = tie(difference, estimate.nu), model.cdf(difference) - 0.5
        known = TieModel.of_means(d, chance, rate)
        of_log = known.of_log_nu(sources, factor, of_d, np.zeros((1, len(d))))
        of_s, of_ties = of_s - of_log[:, None] * known.bent, of_log * known.information
    return Error(theta * (1 + gamma / own), of_s / own, noise, factor, notes, of_ties=of_ties)


def tie_free(estimate: Estimate, difference: Floats) -> Floats:
    """The mean of (y − ½)²: a quarter of the chance that there is no tie."""
    return np.asarray((1 - tie(difference, estimate.nu or 0.0)) / 4)


@dataclass(frozen=True, eq=False)
class TieModel:
    """What the likelihood says about ln ν beside the scores."""

    bent: Floats
    """b: how the expected net wins of each item change with ln ν while scores stay, −Σ_j M_ij·t·(p − ½)"""
    information: float
    """Σ M t(1 − t): how the expected ties change with ln ν"""
    total: float
    share: float
    """of votes that are expected to be ties"""
    hold: Floats | None = None
    """bᵀH⁺, H the curvature of the scores; None: left out"""
    pairs_known: bool = False

    @classmethod
    def of_means(cls, d: Floats, chance: Floats, rate: Floats) -> TieModel:
        """For many items: every item against some opponents, a column each."""
        tied = float(d @ chance.mean(axis=1)) / 2
        information = float(d @ (chance * (1 - chance)).mean(axis=1)) / 2
        return cls(-d * (chance * rate).mean(axis=1), information, float(d.sum()) / 2, 2 * tied / float(d.sum()))

    def of_log_nu(self, sources: Sources, factor: float, of_d: Floats, of_s: Floats) -> Floats:
        """Draws of the error of ln ν; `of_s` are those of net wins but for the sample.

        The efficient information is D = Σ M t(1 − t) − bᵀH⁺b. Of K − bᵀH⁺s the sample varies by D where the pairs are
        known, and else by the variance of K among all votes, less bᵀH⁺b; φ times as much where votes hang together.
        """
        held = 0.0 if self.hold is None else float(self.hold @ self.bent)
        information = max(self.information - held, 1e-3 * self.information, LEAST_INFORMATION)
        spread = self.information if self.pairs_known else self.total * self.share * (1 - self.share)
        noise = sources.noise.ties
        error = sources.of_other_votes * np.sqrt(factor * max(spread - held, information))
        if noise is not None:
            error = error + noise
        error = error - self.share * of_d.sum(axis=1) / 2
        if self.hold is not None:
            error = error - of_s @ self.hold
        return np.asarray(error / information)


LEAST_INFORMATION = 1e-6


def _many_net_wins(sources: Sources, s: Floats) -> Error:
    noisy = sources.noisy
    if noisy.privacy.clip is not None or not (noisy.knows_people or noisy.total or has_limit(noisy)):
        return net_wins(sources)  # which says why there is nothing to say
    d = np.ones(sources.n) if noisy.exposure is None else np.maximum(noisy.exposure, 1.0)
    sampling, factor, notes = sources.sampling(d / 4, Around.ZERO)
    noise = sources.of_net_wins
    return Error(s, sampling + noise, typical(noise), None if noisy.exposure is None else factor, notes)


OPPONENTS = 200
"""scores that stand for those of all items, where there are many"""


def _few_opponents(method: Method) -> tuple[str, ...]:
    if method is not Method.BRADLEY_TERRY:
        return ()
    return ("For the intervals it is assumed that every item met opponents of all strengths.",)
