"""`Sources` of error in, the `Error` of net wins, rates and scores of best–worst sets out.

One answer adds x = ½(e_b − e_v) to the net wins. Given its set S, E[x | S] = ½∇ln Z_S and Cov(x | S) = ¼∇²ln Z_S at the
scores of the model (maths/sets.py). What else varies depends on what the method takes as known: the sets themselves,
how often each item was shown, or their number alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quietrank.arrays import Floats
from quietrank.estimate.errors import MOST_DENSE, Error, Rates, typical
from quietrank.estimate.methods import around_of
from quietrank.estimate.sets import known_sets, scores_of_sets
from quietrank.estimate.sources import NoError, Sources, centred_inverse, exposures, require_connected
from quietrank.maths.sets import Choices
from quietrank.mechanisms.scatter import Around
from quietrank.promise.privacy import Design
from quietrank.statistics.method import Method


def error_of_sets(sources: Sources) -> Error:
    """What the estimate is off by; raises NoError with the reason where that cannot be said."""
    if sources.n > MOST_DENSE:
        raise NoError(f"There are no intervals for more than {MOST_DENSE} items in best-worst sets.")
    of_method = {Method.NET_WINS: _net_wins, Method.WIN_RATE: _rates, Method.BRADLEY_TERRY: _scores}
    return of_method[sources.estimate.method](sources)


@dataclass(frozen=True, eq=False)
class _Answers:
    """The model's answers to the sets, and the covariances of their sum."""

    choices: Choices

    @cached_property
    def given_sets(self) -> Floats:
        """¼ Σ c ∇²ln Z"""
        return self.choices.curvature / 2

    def around(self, u: Floats) -> Floats:
        """Around u for each time that an item was shown; with u = 0 around nothing."""
        sets = self.choices.sets
        r = self.choices.gradients / 2 - np.where(sets.there, u[sets.places], 0.0)
        return self.given_sets + sets.by_pair(r[:, :, None] * r[:, None, :] * sets.counts[:, None, None])

    @property
    def of_sets(self) -> Floats:
        """Of so many sets that were drawn at random."""
        s, total = self.choices.expected, float(self.choices.sets.counts.sum())
        return self.around(np.zeros(len(s))) - np.outer(s, s) / total


def _answers(sources: Sources) -> _Answers:
    noisy, estimate = sources.noisy, sources.estimate
    theta = estimate.scores if estimate.method is Method.BRADLEY_TERRY else scores_of_sets(noisy, "auto").theta
    return _Answers(known_sets(noisy).at(theta))


def _net_wins(sources: Sources) -> Error:
    noisy, s = sources.noisy, sources.noisy.net_wins
    assert s is not None
    if noisy.privacy.clip is not None:
        raise NoError("Net wins of clipped votes carry no intervals for all people; rank by win rates or scores.")
    if not noisy.knows_people and noisy.total is None:
        raise NoError("There are no intervals: the number of votes is not known.")
    sampling, factor, notes = sources.sampling(_answers(sources).around(np.zeros(sources.n)), Around.ZERO)
    noise = sources.of_net_wins
    return Error(s, sampling + noise, typical(noise), None if noisy.total is None else factor, notes)


def _rates(sources: Sources) -> Error:
    """½ + s/d, as for pairs, d being how often an item was shown."""
    s, answers = sources.noisy.net_wins, _answers(sources)
    assert s is not None
    d, of_d = exposures(sources)
    u = np.clip(s / d, -0.5, 0.5)
    around = around_of(sources.noisy, Method.WIN_RATE)
    shape = answers.of_sets if around is Around.VOTES else answers.around(u)
    sampling, factor, notes = sources.sampling(shape, around)
    of_s = sampling + sources.of_net_wins
    noise = typical((sources.of_net_wins - u * of_d) / d)
    return Error(0.5 + s / d, (of_s - u * of_d) / d, noise, factor, notes, Rates(s, d, of_s, of_d))


def _scores(sources: Sources) -> Error:
    """Linearised: θ̂ + γK⁺θ̂ − θ ≈ K⁺(error of s), K = ½ Σ c ∇²ln Z without the ridge, whose bias is undone."""
    noisy, theta, gamma = sources.noisy, sources.estimate.scores, sources.estimate.gamma
    assert gamma is not None
    answers, sets = _answers(sources), known_sets(noisy)
    require_connected(sets.met)
    curvature, expected = answers.choices.curvature, answers.choices.expected
    around = around_of(noisy, Method.BRADLEY_TERRY)
    if noisy.privacy.design is Design.PUBLIC:
        # Measured around the rates that the model expects; given the sets, answers vary less than that.
        measured = answers.around(expected / np.maximum(sets.exposure, 1e-9))
        sampling, factor, notes = sources.sampling(answers.given_sets, around, float(np.trace(measured)))
        of_s = sampling + sources.of_net_wins
    else:
        d, of_d = exposures(sources)
        sampling, factor, notes = sources.sampling(answers.of_sets, around)
        of_s = sampling + sources.of_net_wins - expected * (of_d / d)
    inverse = centred_inverse(curvature, float(np.trace(curvature)))
    noise = typical((of_s - sampling) @ inverse)
    return Error(theta + gamma * (inverse @ theta), of_s @ inverse, noise, factor, notes)
