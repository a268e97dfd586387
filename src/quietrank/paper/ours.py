"""People and a promise in; noisy net wins, scores and the list of the first k, with the noise that `auto` takes, out.

Which noise that is, and how people are clipped for it, follows from public values alone (mechanisms/choose.py and
choose_top.py). It is drawn from its public law by a seeded generator: right for measuring accuracy, not for a release.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.errors import QuietrankError
from quietrank.maths.scores import UniformDesign, fit_scores
from quietrank.mechanisms.choose import best_for_order
from quietrank.mechanisms.choose_top import choose_top
from quietrank.mechanisms.laplace import LaplaceLaw
from quietrank.mechanisms.mechanism import Calibrated, Law
from quietrank.mechanisms.selection import SelectionLaw
from quietrank.paper.data import crowd, win_probabilities
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design, Privacy, Unit
from quietrank.promise.promise import Clip, Promise, RangeClip
from quietrank.statistics.net_wins import NET_WINS

TYPICAL_SPREAD = 0.6
"""the standard deviation of the scores of typical items, as in mechanisms/gaussian.py"""

TYPICAL_CROWDS, TYPICAL_PEOPLE = 50, 1000


def random_pairs(n: int, epsilon: float, per_person: int) -> Promise:
    """Experiments 5 to 7: people who answer L pairs drawn at random; neighbours `replace`."""
    return _promise(n, Privacy(epsilon, Unit.PERSON, max_per_person=per_person, design=Design.UNIFORM))


def every_pair_once(n: int, epsilon: float) -> Promise:
    """Experiment 8: people who answer each pair at most once; neighbours `replace`."""
    return _promise(n, Privacy(epsilon, Unit.PERSON, one_per_pair=True))


def _promise(n: int, privacy: Privacy) -> Promise:
    return Promise(privacy, Items(tuple(f"item {number}" for number in range(n))))


@cache
def noise_on_counts(promise: Promise) -> Calibrated:
    """What `auto` takes for net wins."""
    return best_for_order(promise)


@cache
def noise_on_top(promise: Promise, k: int) -> Calibrated:
    """What `auto` takes for the first k alone: a selection, or the noise on net wins."""
    return choose_top(promise, k).noise


def noisy_net_wins(noise: Calibrated, people: Floats, unit: Floats, rng: np.random.Generator) -> Floats:
    """Clipped as the mechanism requires, and with its noise; `unit` is the Laplace noise that other methods have."""
    return clipped(people, noise.clip) + dealt(noise.law, unit, rng)


def clipped(people: Floats, clip: Clip | None) -> Floats:
    """The net wins of all, each person's scaled down to the clip; nobody here casts more than L votes."""
    if clip is None:
        return np.asarray(people.sum(axis=0))
    if not isinstance(clip, RangeClip) and clip.squares != NET_WINS.squares:
        raise QuietrankError(f"people are clipped by their net wins here, not by {clip.squares}")
    size = np.ptp(people, axis=1) if isinstance(clip, RangeClip) else np.linalg.norm(people, axis=1)
    return np.asarray(np.minimum(1.0, float(clip.norm) / np.maximum(size, 1e-12)) @ people)


def dealt(law: Law, unit: Floats, rng: np.random.Generator) -> Floats:
    """Noise of this law, in the order of the Laplace noise `unit`, or that noise itself where it is of this law.

    No law here tells items apart, so any order that was drawn without a look at the noise leaves it as it is; the
    same order for all methods makes differences between them differences of methods.
    """
    if isinstance(law, LaplaceLaw) and not law.sum_zero:
        return np.asarray(unit * law.scale)
    noise = law.sample(rng, 1)[0, : len(unit)]
    return np.asarray(np.sort(noise)[unit.argsort().argsort()])


def scores(noise: Calibrated, noisy: Floats, people: int) -> Floats:
    """Bradley–Terry scores under the uniform design: T = mL, of which clipping leaves a part that is known roughly."""
    votes, spread = noise.promise.privacy.limit, noise.law.spread
    total = people * votes * share_left(noise.clip, len(noisy), votes)
    design = UniformDesign(total)
    return fit_scores(noisy, design, noise_sd=spread.net_wins, noise_kurtosis=spread.kurtosis).theta


@cache
def share_left(clip: Clip | None, n: int, votes: int) -> float:
    """The part of net wins that clipping leaves of people who vote on random pairs of typical items; public."""
    if clip is None:
        return 1.0
    rng = np.random.default_rng(1)
    whole = left = 0.0
    for _ in range(TYPICAL_CROWDS):
        chances = win_probabilities(rng.normal(scale=TYPICAL_SPREAD, size=n))
        people = crowd(chances, TYPICAL_PEOPLE, votes, rng).net_wins
        exact = people.sum(axis=0)
        whole, left = whole + float(exact @ exact), left + float(clipped(people, clip) @ exact)
    return left / whole


def selected(noise: Calibrated, people: Floats, rng: np.random.Generator) -> Integers | None:
    """The places of the first k, where `auto` selects them; None where it ranks by noisy net wins."""
    if not isinstance(noise.law, SelectionLaw):
        return None
    counts = clipped(people, noise.clip)[None, :]
    return np.asarray(noise.law.chosen(counts, noise.law.sample(rng, 1))[0])
