"""A statistic and how noise grows with its share in, the α or β of the least expected error out.

(s, αT) and (s, βd) pay for T and d with noise on s. Let v be the variance of win rates ½ + s_i/d_i over items, and let
the noise on s have the variance σ²(β): it grows with β, and that on d is σ²/β². To first order the square of the error
of a win rate is, in units of 1/d̄²,

    σ²(β)·(1 + v·k/β²),

k the part of the noise on d that reaches it: (s_i/d_i)² times the relative variance of d_i, on average over items.

- Where pairs were drawn uniformly, d_i is MT/n for all items, M the items of a vote. From αT: the variance of T is
  σ²/α² and T = n·d̄/M, so k = (M/n)². From βd the total is a sum over n items, so k = 1/n. Either way the noise is a
  factor that all rates have in common: it spoils their size, and adds nothing to errors of their order. A release is
  read for both, so the error is the mean of the two squares: what is common counts half.
- Where the design is private, d_i is moved towards its mean, which has 1/n of the noise. Of the rest, the part
  h/(h + σ²/β²) stays, h the variance of true exposures: nothing where all items met equally often, nearly all where
  that differs by more than the noise. Which is the case is not public, so another share must be the better one for
  little and for much of it, `OWN_NOISE`: with the first, exposures may cost at most 2.6 % more noise on net wins, where
  items are many. Left out is that dividing by the mean keeps the rates of items that seldom met others from running
  wild: where noise is about as large as the differences between items, better exposures make rates worse, not better,
  and ranks neither (benchmarks/shares).

ε, the number of people and the sample do not occur. Where the sample errs more than the noise, no share matters much;
where the noise errs more, this is the error. All of it is public: items, L, M and the promise. Nobody has to trust what
comes out: a statistic takes no share that its reach is not derived for, and the loss is computed at the one it has.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from quietrank.promise.privacy import Design
from quietrank.promise.promise import Promise
from quietrank.statistics.statistic import Statistic

RATE_VARIANCE = 0.018
"""v: the variance of win rates among items of typical spread (scores with a standard deviation of 0.6)."""

OWN_NOISE = (1 / 16, 1 / 4)
"""The part of the noise on an item's own exposure that shrinkage leaves, where that is little and where it is much."""

WORTH_IT = 0.99
"""The usual share stays, unless another has at most this part of its error."""

Growth = Callable[[Statistic], float]
"""what the variance of the noise on net wins is proportional to"""


def best_share(statistic: Statistic, promise: Promise, growth: Growth) -> Fraction | None:
    """The best of the shares that the statistic offers; None where its share is chosen already, where it has none, or
    where the usual one is as good."""
    if statistic.fixed is not None or not statistic.offered:
        return None

    def compared(candidate: Statistic) -> float:
        errors = ([squared_error(one, promise, growth, own) for one in (candidate, statistic)] for own in OWN_NOISE)
        return max(its / usual for its, usual in errors)

    best = min(map(statistic.with_share, statistic.offered), key=compared)
    return best.fixed if compared(best) <= WORTH_IT**2 else None


def squared_error(statistic: Statistic, promise: Promise, growth: Growth, own: float) -> float:
    """The square of the expected error of win rates and of their order, up to a factor."""
    share, shown = float(statistic.share(promise)), promise.items.shown
    return growth(statistic) * (1 + rate_variance(shown) * _reaching(statistic, promise, own) / share**2)


def _reaching(statistic: Statistic, promise: Promise, own: float) -> float:
    """k, where what all rates have in common counts half."""
    n, shown = len(promise.items), promise.items.shown
    if statistic.per_item == 1:
        return (shown / n) ** 2 / 2
    return 1 / (2 * n) + (0 if promise.privacy.design is Design.UNIFORM else (1 - 1 / n) * own)


def rate_variance(shown: int) -> float:
    """v in sets of M items: an item with the score θ is best in (1 + θ(1 − 1/M))/M of its sets and worst in
    (1 − θ(1 − 1/M))/M, so s_i/d_i is θ(M − 1)/M² to first order; in pairs θ/4."""
    return float(RATE_VARIANCE * (4 * (shown - 1) / shown**2) ** 2)
