"""Vote arrays or pairs in; non-private Bradley–Terry scores with standard errors out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from quietrank.errors import SolverError
from quietrank.estimators.links import Link, get_link
from quietrank.estimators.pairs import FloatArray, IndexArray, Pairs, aggregate
from quietrank.estimators.solver import DenseFactor, Hessian, Problem, Solution, solve

MAX_STANDARD_ERRORS = 5000  # a dense inverse of this size takes seconds and 200 MB


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit that is NOT private: its scores, how certain they are, and what may be compared."""

    solution: Solution

    @property
    def scores(self) -> FloatArray:
        """Centred scores."""
        return self.solution.scores

    @property
    def ridge(self) -> float:
        return self.solution.problem.ridge

    @property
    def link(self) -> Link:
        return self.solution.problem.link

    @property
    def pairs(self) -> Pairs:
        return self.solution.problem.pairs

    @property
    def converged(self) -> bool:
        """Always true: a fit that does not reach its accuracy is a SolverError."""
        return self.solution.converged

    @property
    def gradient_norm(self) -> float:
        """Certified upper bound of the gradient's Euclidean norm at the scores."""
        return self.solution.gradient_norm

    @property
    def components(self) -> IndexArray:
        """Component of the comparison graph for each item; compare scores only within a component."""
        return self.solution.components

    @property
    def comparable(self) -> bool:
        """Whether any two scores may be compared."""
        return self.solution.comparable

    @cached_property
    def standard_errors(self) -> FloatArray:
        """Standard error of each score minus the mean score of its component: √diag(P H⁻¹ P).

        H is the Hessian with the ridge, P removes component means. The errors are conditional on the model and,
        with a ridge, read it as a Gaussian prior of variance 1/γ.
        """
        n = self.pairs.n_items
        if n > MAX_STANDARD_ERRORS:
            raise SolverError(
                f"standard errors of all {n} items need an n-by-n inverse; ask for the items you want with "
                f"standard_errors_of(items), or fit at most {MAX_STANDARD_ERRORS} items"
            )
        factor = DenseFactor(self._hessian)
        # DenseFactor holds H + Σ_C δ·1_C 1_Cᵀ/|C|, whose inverse exceeds P H⁻¹ P by 1_C 1_Cᵀ/(|C|(γ + δ))
        excess = 1 / (np.bincount(self.components)[self.components] * (self.ridge + factor.delta))
        return np.sqrt(np.maximum(factor.inverse_diagonal() - excess, 0.0))

    def standard_errors_of(self, items: ArrayLike) -> FloatArray:
        """The standard errors of some items, one linear system each: for fits with very many items."""
        return np.array([self._variance(int(k)) for k in np.asarray(items).ravel()]) ** 0.5

    def _variance(self, item: int) -> float:
        unit = np.zeros(self.pairs.n_items)
        unit[item] = 1.0
        return float(max(self._hessian.solve(unit, 1e-10)[item], 0.0))

    @cached_property
    def _hessian(self) -> Hessian:
        hessian = Hessian(self.solution.problem)
        hessian.evaluate(self.scores)
        return hessian


def fit_arrays(
    winner: ArrayLike,
    loser: ArrayLike,
    n_items: int,
    ridge: float = 1.0,
    tie: ArrayLike | None = None,
    link: str | Link = "logistic",
) -> Fit:
    """Bradley–Terry scores of integer vote arrays, right to 1e-8. Not private.

    `ridge` is γ in (γ/2)‖θ‖²; 0 gives the maximum-likelihood fit where it exists, else a SolverError.
    """
    return fit_pairs(aggregate(winner, loser, n_items, tie), ridge, link)


def fit_pairs(pairs: Pairs, ridge: float = 1.0, link: str | Link = "logistic") -> Fit:
    """The same from aggregated pairs. Not private."""
    return Fit(solve(Problem(pairs, float(ridge), get_link(link))))
