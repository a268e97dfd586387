"""A promise and k in, the mechanism that names the first k items best out; from public values alone.

Selection pays for the list and for nothing else, but k times; noise on the counts of all items pays once. Which is
better depends on n, k and how far one unit can move each, all of it public. So both are tried on the same made-up
items, at every distance between them at which either has something to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.errors import PrivacyError, option
from quietrank.mechanisms.choose import LEFT_BY_CLIPPING, Choice, Limited, choose
from quietrank.mechanisms.mechanism import Calibrated, Law, Mechanism
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.mechanisms.selection import Exponential, Selection, SelectionLaw
from quietrank.promise.accounting import Cost, as_written, rho_for
from quietrank.promise.promise import Promise
from quietrank.statistics.method import Method, statistic_for
from quietrank.statistics.scores import SCORES

DISTANCES = np.geomspace(0.1, 100.0, 16)
"""standard deviations of the counts of made-up items, in those of the least noise: from no chance to certainty"""
DRAWS = 200
MOST_WORK = 4_000_000
"""about how many counts are looked at; with many items there are fewer draws"""


def choose_top(promise: Promise, k: int, method: Method = Method.AUTO, mechanism: Mechanism | None = None) -> Choice:
    """The mechanism that was requested, or the one that finds most of the first k; with the share that each finds."""
    if mechanism is not None:
        return Choice(for_top(promise, k, method, mechanism))
    fitting = [for_top(promise, k, method, each) for each in top_candidates(promise, k, method)]
    if len(fitting) == 1:
        return Choice(fitting[0])
    shares = shares_found(tuple(_effective(noise) for noise in fitting), k, len(promise.items))
    best_first = sorted(zip(fitting, shares, strict=True), key=lambda pair: -pair[1])
    return Choice(best_first[0][0], tuple((noise.mechanism.name, share) for noise, share in best_first))


def top_candidates(promise: Promise, k: int, method: Method = Method.AUTO) -> list[Mechanism]:
    """The selections that keep the promise, and of all noise on counts the one with the least."""
    statistic = statistic_for(method, promise, Selection.statistics, free_total=False)
    selections = [each.of_top(k) for each in MECHANISMS.values() if isinstance(each, Selection)]
    reasons = {each: each.refusal(promise, statistic) for each in selections}
    fitting: list[Mechanism] = [each for each, reason in reasons.items() if reason is None]
    if not fitting and (reason := next(iter(reasons.values()))) is not None:
        raise reason
    try:
        return [*fitting, choose(promise, _of_counts(method)).noise.mechanism]
    except PrivacyError:
        return fitting


def for_top(promise: Promise, k: int, method: Method, mechanism: Mechanism) -> Calibrated:
    """The noise of this mechanism: selection, or noise on the counts, of which the first k are published."""
    if isinstance(mechanism, Selection):
        statistic = statistic_for(method, promise, mechanism.statistics, free_total=False)
        return mechanism.of_top(k).calibrate(promise, statistic)
    if SCORES in mechanism.statistics:
        raise PrivacyError(
            f"{option('mechanism', mechanism.name)} publishes the scores of all items, not only who is first; leave "
            f"{option('only_top')} out, or choose another mechanism"
        )
    return choose(promise, _of_counts(method), mechanism).noise


def _of_counts(method: Method) -> Method:
    return Method.WINS if method is Method.WINS else Method.NET_WINS


def _effective(noise: Calibrated) -> Law:
    """Its law, larger where clipping leaves less of the counts."""
    left = 1.0 if noise.clip is None else LEFT_BY_CLIPPING
    return noise.law.of_size(noise.law.size / left)


# ---- a limit for people ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TopLimited(Limited):
    """The selection, for any limit; what it costs is known before the limit is."""

    k: int = 1

    def at(self, limit: int) -> Choice:
        return choose_top(self.promise.changed(max_per_person=limit), self.k, self.method, self.mechanism)

    @property
    def cost(self) -> Cost:
        """Whatever is chosen."""
        epsilon, delta = self.promise.privacy.epsilon, self.promise.privacy.delta
        if isinstance(self.mechanism, Exponential):
            return Cost(epsilon, delta, rho_for(as_written(epsilon), as_written(delta)))
        pure = self.mechanism is None or isinstance(self.mechanism, Selection)
        return Cost.pure(epsilon) if pure else super().cost


def top_limited(promise: Promise, k: int, method: Method, mechanism: Mechanism | None) -> TopLimited:
    """Without a requested mechanism: the best of those without δ, because it is paid for before the limit is known."""
    return TopLimited(promise.pure if mechanism is None else promise, method, mechanism, k=k)


# ---- on made-up items ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def shares_found(laws: tuple[Law, ...], k: int, items: int) -> tuple[float, ...]:
    """Of the first k, the share that comes out with each noise, on average over distances between normal items."""
    least = min(law.spread.net_wins for law in laws)
    draws = max(10, min(DRAWS, MOST_WORK // (items * k * len(DISTANCES))))
    rng = np.random.default_rng(1)
    strengths = -np.sort(-rng.normal(size=(draws, items)), axis=1)  # the first k are the first k
    return tuple(_share_found(law, k, strengths * least, rng) for law in laws)


def _share_found(law: Law, k: int, counts: Floats, rng: np.random.Generator) -> float:
    noise = law.sample(rng, min(len(counts), law.most_draws or len(counts)))
    noise = noise[np.arange(len(counts)) % len(noise)]
    return float(np.mean([(first_places(law, k, distance * counts, noise) < k).mean() for distance in DISTANCES]))


def first_places(law: Law, k: int, counts: Floats, noise: Floats) -> Integers:
    """Who comes out first, a row for each row of counts and of noise: by selection, or by noisy counts."""
    if isinstance(law, SelectionLaw):
        return law.chosen(counts, noise)
    noisy = counts + noise[:, : counts.shape[1]]
    return np.asarray(np.argsort(-noisy, axis=1)[:, :k], dtype=np.int64)
