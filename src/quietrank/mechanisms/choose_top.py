"""A promise and k in, the mechanism that names the first k items best out; from public values alone.

Selection pays for the list and for nothing else; noise on the counts of all items pays for all of them. Both find the
top better the further items are apart, relative to their noise. Averaged over distances on a logarithmic scale,
selection with exponential noise of mean b is as good as noise of standard deviation κ⁻¹·b on the counts; κ depends on
n and k, hardly on anything else, and is 0.7 to 1.15 (benchmarks/top has the table, and judges the rule on a grid).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.errors import PrivacyError, option
from quietrank.mechanisms.choose import (
    IF_EMPTY,
    Choice,
    Limited,
    best_for_order,
    choose,
    left_by_clipping,
    noise_on_order,
)
from quietrank.mechanisms.exponential import Exponential
from quietrank.mechanisms.mechanism import Calibrated, Law, Mechanism
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.mechanisms.selection import NAMED, Selection, SelectionLaw
from quietrank.promise.accounting import Cost, as_written, rho_for
from quietrank.promise.promise import Promise
from quietrank.statistics.method import Method, statistic_for
from quietrank.statistics.scores import SCORES

KAPPA = 0.8, 1.2
"""κ = 0.8 + 1.2/n"""

GUMBEL = 1.15
"""Gumbel noise of scale b is about as good as exponential noise of mean 1.15·b."""


def choose_top(promise: Promise, k: int, method: Method = Method.AUTO, mechanism: Mechanism | None = None) -> Choice:
    """The mechanism that was requested, or the one that should find most of the first k."""
    if mechanism is not None:
        return Choice(for_top(promise, k, method, mechanism))
    fitting = sorted((for_top(promise, k, method, each) for each in top_candidates(promise, k, method)), key=blur)
    return Choice(fitting[0], tuple((noise.mechanism.name, blur(noise)) for noise in fitting))


def blur(noise: Calibrated) -> float:
    """How much noise stands between the counts and the list, as a standard deviation of noise on counts."""
    law, (many, few) = noise.law, KAPPA
    if not isinstance(law, SelectionLaw):
        return noise_on_order(noise)
    return law.scale * (GUMBEL if law.gumbel else 1.0) / (many + few / law.items) / left_by_clipping(noise)


def top_candidates(promise: Promise, k: int, method: Method = Method.AUTO) -> list[Mechanism]:
    """The selections that keep the promise, and of all noise on counts the one with the least."""
    statistic = statistic_for(method, promise, Selection.statistics, free_total=False)
    selections = [each.of_top(k) for each in MECHANISMS.values() if isinstance(each, Selection)]
    reasons = {each: each.refusal(promise, statistic) for each in selections}
    fitting: list[Mechanism] = [each for each, reason in reasons.items() if reason is None]
    if not fitting and (reason := next(iter(reasons.values()))) is not None:
        raise reason
    try:
        return [*fitting, best_for_order(promise, method_of_counts(method)).mechanism]
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
            f"{NAMED} out, or choose another mechanism"
        )
    return choose(promise, method_of_counts(method), mechanism).noise


def method_of_counts(method: Method) -> Method:
    """What decides who is first: net wins, unless wins were asked for."""
    return Method.WINS if method is Method.WINS else Method.NET_WINS


# ---- a limit for people ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TopLimited(Limited):
    """The selection, for any limit; what it costs is known before the limit is."""

    k: int = 1

    def at(self, limit: int) -> Choice:
        return choose_top(self.promise.changed(max_per_person=limit), self.k, self.method, self.mechanism)

    @property
    def cost(self) -> Cost:
        """Whatever is chosen; what would be refused at any limit is refused here, before anything is paid for."""
        self.at(IF_EMPTY)
        epsilon, delta = self.promise.privacy.epsilon, as_written(self.promise.privacy.delta)
        if isinstance(self.mechanism, Exponential):
            return Cost(epsilon, delta, rho_for(as_written(epsilon), delta))
        pure = self.mechanism is None or isinstance(self.mechanism, Selection)
        return Cost.pure(epsilon) if pure else super().cost


def top_limited(promise: Promise, k: int, method: Method, mechanism: Mechanism | None) -> TopLimited:
    """Without a requested mechanism: the best of those without δ, because it is paid for before the limit is known."""
    return TopLimited(promise.pure if mechanism is None else promise, method, mechanism, k=k)


# ---- who comes out ---------------------------------------------------------------------------------------------------


def first_places(law: Law, k: int, counts: Floats, noise: Floats) -> Integers:
    """Who comes out first, a row for each row of counts and of noise: by selection, or by noisy counts."""
    if isinstance(law, SelectionLaw):
        return law.chosen(counts, noise)
    noisy = counts + noise[:, : counts.shape[1]]
    return np.asarray(np.argsort(-noisy, axis=1)[:, :k], dtype=np.int64)
