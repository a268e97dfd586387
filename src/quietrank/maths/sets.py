"""Best–worst sets and noisy net wins in; centred scores of the maxdiff model out (pure post-processing: no votes here).

P(b, v | S) = exp(θ_b − θ_v)/Z_S with Z_S = Σ_{i≠j∈S} exp(θ_i − θ_j) = (Σ_S e^θ)(Σ_S e^−θ) − |S|. The scores minimise

    f(θ) = ½ Σ_S c_S ln Z_S(θ) − s̃·θ + (γ/2)‖θ‖²,   c_S how often S was shown, s̃ the net wins:

half the negative log-likelihood, which needs nothing else. ln Z_S generates the cumulants of 2x, x = ½(e_b − e_v) what
an answer adds to s: so E[x | S] = ½∇ln Z_S and Cov(x | S) = ¼∇²ln Z_S. With A = Σe^θ, B = Σe^−θ, p_i = e^θ_i B/Z and
q_i = e^−θ_i A/Z: ∇ln Z = p − q, and ∇²ln Z = diag(p + q) − (E + Eᵀ)/Z − ∇∇ᵀ with E_ij = e^(θ_i − θ_j).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Literal

import numpy as np

from quietrank.arrays import Flags, Floats, Integers
from quietrank.errors import SolverError
from quietrank.maths.pairs import Pairs
from quietrank.maths.ridge import Evidence, choose_gamma, public_evidence, rank_one_evidence
from quietrank.maths.scores import Scores, UniformDesign, rank_one_weights

MOST_ITEMS = 3000
"""Newton's method solves a dense system of this many unknowns in a second."""

MOST_STEPS, TOLERANCE = 200, 1e-8


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of items, and how often each was shown."""

    n: int
    places: Integers
    """a row for each set: its items, then −1 where it has fewer than the largest"""
    counts: Floats

    @cached_property
    def there(self) -> Flags:
        return self.places >= 0

    @cached_property
    def sizes(self) -> Integers:
        return np.asarray(self.there.sum(axis=1))

    def by_item(self, values: Floats) -> Floats:
        """The sum over sets of one value for each of their items."""
        return np.bincount(self.places[self.there], values[self.there], self.n).astype(np.float64, copy=False)

    def by_pair(self, values: Floats) -> Floats:
        """The same for a matrix of values for each set; n by n."""
        both = self.there[:, :, None] & self.there[:, None, :]
        flat = self.places[:, :, None] * self.n + self.places[:, None, :]
        sums = np.bincount(flat[both], values[both], self.n**2).astype(np.float64, copy=False)
        return np.asarray(sums.reshape(self.n, self.n))

    @cached_property
    def exposure(self) -> Floats:
        """d, how often each item was shown."""
        return self.by_item(np.broadcast_to(self.counts[:, None], self.places.shape))

    @cached_property
    def met(self) -> Floats:
        """How often two items were shown together, a set of m being one vote on a random one of its C(m, 2) pairs:
        near θ = 0 that is a Bradley–Terry model of 2θ with the same curvature."""
        each = self.counts * 2 / (self.sizes * (self.sizes - 1))
        square = (*self.places.shape, self.places.shape[1])
        met = self.by_pair(np.broadcast_to(each[:, None, None], square))
        np.fill_diagonal(met, 0.0)
        return met

    def at(self, theta: Floats) -> Choices:
        """What the model says of each set at these scores."""
        score = np.where(self.there, theta[self.places], 0.0)
        high = np.where(self.there, score, -np.inf).max(axis=1, keepdims=True)
        low = np.where(self.there, score, np.inf).min(axis=1, keepdims=True)
        # e^(θ − high) and e^(low − θ): nothing overflows, and Z·e^(low − high) is 1 at least.
        up, down = (np.where(self.there, np.exp(x), 0.0) for x in (score - high, low - score))
        both = up.sum(axis=1) * down.sum(axis=1)
        z = both - self.sizes * np.exp(low - high)[:, 0]
        return Choices(self, up, down, z, (high - low)[:, 0] + np.log(z))


@dataclass(frozen=True, eq=False)
class Choices:
    """e^θ and e^−θ of the items of each set, Z and ln Z, each up to the factor that keeps it finite."""

    sets: Sets
    up: Floats
    down: Floats
    z: Floats
    log_z: Floats

    @cached_property
    def p(self) -> Floats:
        return np.asarray(self.up * (self.down.sum(axis=1) / self.z)[:, None])

    @cached_property
    def q(self) -> Floats:
        return np.asarray(self.down * (self.up.sum(axis=1) / self.z)[:, None])

    @property
    def gradients(self) -> Floats:
        """∇ln Z_S of each set, for its items."""
        return self.p - self.q

    @property
    def hessians(self) -> Floats:
        """∇²ln Z_S of each set, for its items."""
        e, g = self.up[:, :, None] * self.down[:, None, :] / self.z[:, None, None], self.gradients
        diagonal = (self.p + self.q)[:, :, None] * np.eye(self.p.shape[1])
        return np.asarray(diagonal - e - e.transpose(0, 2, 1) - g[:, :, None] * g[:, None, :])

    @property
    def value(self) -> float:
        """½ Σ c ln Z"""
        return float(self.sets.counts @ self.log_z) / 2

    @property
    def expected(self) -> Floats:
        """The net wins that the model expects: ½ Σ c ∇ln Z."""
        return self.sets.by_item(self.gradients * self.sets.counts[:, None]) / 2

    @property
    def curvature(self) -> Floats:
        """½ Σ c ∇²ln Z; the covariance of net wins is half of it."""
        return self.sets.by_pair(self.hessians * self.sets.counts[:, None, None]) / 2


def fit_sets(
    net_wins: Floats, sets: Sets, *, gamma: float | Literal["auto"], noise_sd: float, noise_kurtosis: float
) -> Scores:
    """Centred scores from noisy net wins s̃ and the sets, which may be actual ones or stand for what was drawn."""
    s = np.asarray(net_wins, dtype=np.float64)
    if sets.n > MOST_ITEMS:
        raise SolverError(f"scores of best-worst sets are computed for at most {MOST_ITEMS} items, not {sets.n}")
    if gamma == "auto":
        evidence = public_evidence(s, _pairs(sets.met)) if len(sets.places) else _no_evidence(s)
        # The evidence is about 2θ: (γ'/2)‖2θ‖² beside a whole log-likelihood is γ'‖θ‖² beside half of it.
        gamma = 2 * choose_gamma(evidence, noise_sd, noise_kurtosis)
    theta, norm = minimise(s - s.mean(), sets, gamma)
    return Scores(theta - theta.mean(), gamma, norm)


def _no_evidence(s: Floats) -> Evidence:
    return rank_one_evidence(s, rank_one_weights(UniformDesign(0.0), s.size), exposure_noise=0.0)


def _pairs(met: Floats) -> Pairs:
    i, j = np.nonzero(np.triu(met, 1))
    half = met[i, j] / 2
    return Pairs(len(met), i.astype(np.int32), j.astype(np.int32), half, half)


def minimise(s: Floats, sets: Sets, gamma: float) -> tuple[Floats, float]:
    """The minimiser of f and the norm of the gradient there; Newton's method with halved steps, f being convex."""
    theta, scale = np.zeros(sets.n), max(1.0, float(np.abs(s).max()))
    at = sets.at(theta)
    for _ in range(MOST_STEPS):
        gradient = at.expected - s + gamma * theta
        norm = float(np.linalg.norm(gradient))
        if norm <= TOLERANCE * scale:
            return theta, norm
        step = np.asarray(np.linalg.solve(at.curvature + gamma * np.eye(sets.n), gradient), dtype=np.float64)
        theta, at = _shorter(theta, step, at, s, gamma, float(gradient @ step), sets)
    if not (isfinite(norm) and norm <= 1e-4 * scale):
        raise ArithmeticError("the scores of the sets were not found")
    return theta, norm


def _shorter(
    theta: Floats, step: Floats, at: Choices, s: Floats, gamma: float, decrease: float, sets: Sets
) -> tuple[Floats, Choices]:
    """The next point: the whole step, or the half, the quarter … that lowers f enough."""

    def f(choices: Choices, x: Floats) -> float:
        return choices.value - float(s @ x) + gamma / 2 * float(x @ x)

    here, part = f(at, theta), 1.0
    while True:
        there = theta - part * step
        choices = sets.at(there)
        slack = 1e-12 * (1 + abs(here))
        if f(choices, there) <= here - 1e-4 * part * decrease + slack or part < 1e-10:
            return there, choices
        part /= 2
