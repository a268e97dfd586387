"""A setting and a gap in; the separation thresholds, and whether the top k were found at that gap, out.

Minimax thresholds for the gap between the k-th and the next average win rate, up to constants:
√(log n/(np)) + log n/(npε) for a comparison, √(n log n/m) + n log n/(mε) for a person.

With the constants of noisy net wins. Item i takes part in d votes (np, or 2mL/n). Its noisy net wins are d·τ_i plus
sampling noise of variance d/4, near normal, plus Laplace(b), b = 2/ε or 2L/ε. The largest of N such noises is typically
t(N), exceeded with probability 1/N each, so the top k are separated from the others when the gap exceeds
(t(k) + t(n − k))/d. For large n this is √2·√(log n/d) without privacy and 4 log n/(dε) where privacy dominates, up to
lower-order terms: the two published terms, each with its constant, and everything in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np

from quietrank.paper.data import Duels, graph_duels, hard_instance, people_duels, top_size
from quietrank.paper.metrics import top

GAPS = (0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.75)  # in units of the sharp threshold
PER_PERSON = 5


def comparison_threshold(n: int, p: float, epsilon: float) -> float:
    """√(log n/(np)) + log n/(npε)."""
    return sqrt(log(n) / (n * p)) + log(n) / (n * p * epsilon)


def person_threshold(n: int, m: int, epsilon: float) -> float:
    """√(n log n/m) + n log n/(mε)."""
    return sqrt(n * log(n) / m) + n * log(n) / (m * epsilon)


@dataclass(frozen=True)
class Setting:
    """A comparison graph (p) or m people; the other of the two is None."""

    n: int
    epsilon: float
    p: float | None = None
    m: int | None = None

    @property
    def k(self) -> int:
        return top_size(self.n)

    @property
    def votes_per_item(self) -> float:
        """d."""
        return 2 * self.m * PER_PERSON / self.n if self.m else self.n * (self.p or 1.0)

    @property
    def scale(self) -> float:
        """b: the Laplace noise's scale."""
        return 2 * (PER_PERSON if self.m else 1) / self.epsilon

    @property
    def published(self) -> float:
        """The minimax threshold, without constants."""
        if self.m:
            return person_threshold(self.n, self.m, self.epsilon)
        return comparison_threshold(self.n, self.p or 1.0, self.epsilon)

    @property
    def sharp(self) -> float:
        """The threshold with the constants of noisy net wins."""
        return (self._largest(self.k) + self._largest(self.n - self.k)) / self.votes_per_item

    def _largest(self, number: int) -> float:
        """t(N): P(noise > t) = 1/N."""
        from scipy.optimize import brentq

        sigma, b = sqrt(self.votes_per_item) / 2, self.scale
        highest = (sigma + b) * (20 + 2 * log(number))
        return float(brentq(lambda t: tail(t, sigma, b) - 1 / number, 0.0, highest, rtol=1e-12))


def tail(t: float, sigma: float, b: float) -> float:
    """P(N(0, σ²) + Laplace(b) > t), by integrating the Laplace tail against the normal density:

    Q(t/σ) + e^{σ²/2b²}/2 · [e^{−t/b} Φ(t/σ − σ/b) − e^{t/b} Φ(−t/σ − σ/b)].
    """
    from scipy.special import log_ndtr, ndtr

    # exponents are added before exponentiating: one alone may overflow
    ratio = sigma / b
    if ratio > 1e4:  # the Laplace noise is negligible, and ratio² would swallow the other exponents
        return float(ndtr(-t / sigma))
    upper = exp(float(log_ndtr(t / sigma - ratio)) + ratio**2 / 2 - t / b)
    lower = exp(float(log_ndtr(-t / sigma - ratio)) + ratio**2 / 2 + t / b)
    return float(ndtr(-t / sigma)) + (upper - lower) / 2


def draw(setting: Setting, gap: float, rng: np.random.Generator) -> Duels:
    """Votes on the hard instance with the top k ahead by that many sharp thresholds (Δ is at most 1/2)."""
    delta = gap * setting.sharp * (setting.n - 1) / setting.n  # Δ between the blocks makes win rates differ by Δn/(n−1)
    probability = hard_instance(setting.n, setting.k, min(delta, 0.5))
    if setting.m:
        return people_duels(probability, setting.m, PER_PERSON, rng)
    return graph_duels(probability, setting.p or 1.0, rng)


def recovered(setting: Setting, gap: float, rng: np.random.Generator) -> float:
    """1 if noisy net wins find exactly the top k, else 0."""
    noisy = draw(setting, gap, rng).net_wins + rng.laplace(scale=setting.scale, size=setting.n)
    return float(np.all(top(noisy, setting.k, rng.random(setting.n)) < setting.k))
