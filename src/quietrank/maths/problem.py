"""Pairs, a link, a ridge and a linear term in; the convex problem whose solution is the scores, out.

Minimised:  f(θ) = Σ_{i<j} [a_ij φ(θ_i − θ_j) + b_ij φ(θ_j − θ_i)] + c·θ + (γ/2)‖θ‖²,  φ = −log F,
with a, b the wins of i and of j, γ the ridge and c a linear term. Two readings:
- votes: c = 0, or the noise w of the perturbed MLE;
- a noisy tally with the logistic link: log(2 cosh(x/2)) = (φ(x) + φ(−x))/2, so a = b = M/2 and c = −s.

Gradient: pair (i, j) adds t = −aψ(x) + bψ(−x) to i and −t to j, with ψ = (log F)' and x = θ_i − θ_j.
Hessian: γI plus the graph Laplacian with weights h = −a(log F)''(x) − b(log F)''(−x).
Shifting a whole component C of the comparison graph does not change the pair terms, so the mean of θ over C
is −mean_C(c)/γ exactly, and Newton's method only works on the rest, orthogonal to every 1_C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quietrank.arrays import Floats, Indices
from quietrank.errors import SolverError, option
from quietrank.maths.links import LOGISTIC, Link
from quietrank.maths.pairs import Pairs
from quietrank.maths.sums import exact_means


def require_ridge(ridge: float) -> None:
    if not (math.isfinite(ridge) and ridge >= 0):
        raise SolverError(f"{option('ridge')} must be finite and >= 0; got {option('ridge', ridge)}")


@dataclass(frozen=True, eq=False)
class Problem:
    """Pairs with the wins of each side, a ridge γ ≥ 0, a link, and an optional linear term c."""

    pairs: Pairs
    ridge: float
    link: Link = LOGISTIC
    linear: Floats | None = None

    def __post_init__(self) -> None:
        require_ridge(self.ridge)
        if self.linear is None:
            return
        if self.linear.shape != (self.pairs.n_items,) or not np.isfinite(self.linear).all():
            raise SolverError(f"the linear term must be {self.pairs.n_items} finite numbers, one per item")
        if self.ridge == 0:
            raise SolverError("with noise in the objective a minimiser may not exist: give a ridge > 0")

    @classmethod
    def from_tally(cls, pairs: Pairs, net_wins: Floats, ridge: float, link: Link = LOGISTIC) -> Problem:
        """Σ M log(2 cosh(x/2)) − s·θ + (γ/2)‖θ‖²: only the counts M of `pairs` are used, s may be noisy.

        With Davidson's model it is log(2 cosh(x/2) + ν).
        """
        half = pairs.counts / 2
        split = Pairs(pairs.n_items, pairs.i, pairs.j, half, half)
        return cls(split, ridge, link, -np.asarray(net_wins, dtype=np.float64))

    @cached_property
    def components(self) -> Indices:
        """Component labels of the comparison graph."""
        return self.pairs.components()

    @cached_property
    def shift(self) -> Floats:
        """−mean_C(c)/γ for the component C of each item: the exact mean of the minimiser over C."""
        if self.linear is None:
            return np.zeros(self.pairs.n_items)
        return exact_means(self.linear, self.components) / -self.ridge
