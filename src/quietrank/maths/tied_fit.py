"""Exact pairs and the weight of all ties in; a non-private fit of Davidson's model out: scores, ν, and their errors.

With λ = ln ν the Hessian of the negative log-likelihood has the blocks H of the scores, b = −Σ_j M_ij·t·(p − ½), and
Σ M t(1 − t), t the chance of a tie and p the win rate. Eliminating λ, the covariance of the scores is
H⁺ + H⁺b bᵀH⁺/D, and that of λ is 1/D, with D = Σ M t(1 − t) − bᵀH⁺b.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from quietrank.arrays import Floats
from quietrank.errors import SolverError, option
from quietrank.maths.davidson import Davidson, centred_rate, tie
from quietrank.maths.fit import Fit, checked_ridge
from quietrank.maths.pairs import Pairs, scatter
from quietrank.maths.problem import Problem
from quietrank.maths.scores import expected_ties, profiled
from quietrank.maths.solver import Solution, solve


@dataclass(frozen=True, eq=False)
class TiedFit(Fit):
    """A fit of Davidson's model; not private."""

    nu: float = 0.0

    @property
    def theta(self) -> Floats:
        return self.scores

    @property
    def standard_errors(self) -> Floats:
        """Of each score minus the mean of its component; they know that ν was fitted as well."""
        return np.sqrt(np.maximum(self.covariance.diagonal(), 0.0))

    @property
    def covariance(self) -> Floats:
        """H⁺ + H⁺b bᵀH⁺/D"""
        return np.asarray(self._inverse + np.outer(self.held, self.held) / self.efficient)

    @cached_property
    def _inverse(self) -> Floats:
        return Fit.covariance.__get__(self)  # type: ignore[no-any-return]

    @cached_property
    def _chances(self) -> tuple[Floats, Floats]:
        x = self.scores[self.pairs.i] - self.scores[self.pairs.j]
        return tie(x, self.nu), centred_rate(x, self.nu)

    @cached_property
    def bent(self) -> Floats:
        """b"""
        chance, rate = self._chances
        moved, n = self.pairs.counts * chance * rate, self.pairs.n_items
        return scatter(self.pairs.j, moved, n) - scatter(self.pairs.i, moved, n)

    @cached_property
    def held(self) -> Floats:
        """H⁺b"""
        return np.asarray(self._inverse @ self.bent)

    @cached_property
    def information(self) -> float:
        """Σ M t(1 − t)"""
        chance = self._chances[0]
        return float(self.pairs.counts @ (chance * (1 - chance)))

    @cached_property
    def efficient(self) -> float:
        """D"""
        return self.information - float(self.bent @ self.held)

    def log_error(self, gradients: Floats | None = None) -> float:
        """The standard error of ln ν: of independent votes, or from each person's gradient (scores, then ln ν)."""
        if gradients is None:
            return 1 / sqrt(self.efficient)
        influence = (gradients[:, -1] - gradients[:, :-1] @ self.held) / self.efficient
        people = len(influence)
        return sqrt(people / (people - 1) * float(influence @ influence))


def fit_tied_pairs(pairs: Pairs, ties: float, ridge: float = 1.0) -> TiedFit:
    """Scores and ν by Davidson's model; `ties` is the weight of all ties, which are half wins in `pairs`."""
    gamma, total = checked_ridge(ridge), float(pairs.counts.sum())
    if not 0 < ties < total:
        raise SolverError(
            f"{option('ties', 'davidson')} needs votes that are ties and votes that are not; use "
            f"{option('ties', 'half')} where there are none of one kind"
        )
    share = ties / total
    return profiled(
        lambda nu: TiedFit(_solved(pairs, gamma, nu), nu),
        lambda theta, nu: expected_ties(theta[pairs.i] - theta[pairs.j], pairs.counts, nu),
        ties,
        2 * share / (1 - share),
    )


def _solved(pairs: Pairs, gamma: float, nu: float) -> Solution:
    return solve(Problem(pairs, gamma, Davidson(nu)))
