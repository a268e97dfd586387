"""Vote arrays or pairs in; non-private Bradley–Terry scores with standard errors out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from quietrank.arrays import Floats, Indices
from quietrank.errors import SolverError, option
from quietrank.maths.hessian import BandedFactor, Hessian, component_lifted
from quietrank.maths.links import Link, LinkWord, get_link
from quietrank.maths.pairs import Pairs, aggregate
from quietrank.maths.problem import Problem
from quietrank.maths.solver import Solution, solve
from quietrank.promise.arguments import number

SMALL = 256
MAX_STANDARD_ERRORS = 5000  # a dense inverse of this size takes seconds and 200 MB


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit that is NOT private: its scores, how certain they are, and what may be compared."""

    solution: Solution

    @property
    def scores(self) -> Floats:
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
    def components(self) -> Indices:
        """Component of the comparison graph for each item; compare scores only within a component."""
        return self.solution.components

    @property
    def comparable(self) -> bool:
        """Whether any two scores may be compared."""
        return self.solution.comparable

    @cached_property
    def standard_errors(self) -> Floats:
        """Standard error of each score minus the mean score of its component: √diag(P H⁻¹ P).

        H is the Hessian with the ridge, P removes component means. The errors are conditional on the model
        and, with a ridge, read it as a Gaussian prior of variance 1/γ.
        """
        hessian, n = self._hessian, self.pairs.n_items
        if n > SMALL and n**2 * hessian.ordering[1] <= 2e9:
            return np.sqrt(_banded_variances(hessian))
        self._require_dense("standard errors")
        return np.sqrt(_dense_variances(hessian))

    def _require_dense(self, what: str) -> None:
        """Refuse what takes an n-by-n inverse for more items than that is sensible for."""
        if (n := self.pairs.n_items) > MAX_STANDARD_ERRORS:
            raise SolverError(
                f"{what} of all {n} items need an n-by-n inverse; ask for the items you want with "
                f"standard_errors_of(items), or fit at most {MAX_STANDARD_ERRORS} items"
            )

    @property
    def covariance(self) -> Floats:
        """P H⁻¹ P, of all scores at once: their covariance if the model holds and all votes are independent."""
        self._require_dense("the covariance")
        return _dense_covariance(self._hessian)

    def standard_errors_of(self, items: ArrayLike) -> Floats:
        """The standard errors of some items, one linear system each: for fits with very many items."""
        chosen = np.asarray(items).ravel()
        if chosen.dtype.kind not in "iu" or (
            chosen.size and not 0 <= chosen.min() <= chosen.max() < self.pairs.n_items
        ):
            raise SolverError(f"items must be indices from 0 to {self.pairs.n_items - 1}; got {items!r}")
        return np.array([self._variance(int(k)) for k in chosen]) ** 0.5

    def _variance(self, item: int) -> float:
        same = self.components == self.components[item]
        unit = np.where(same, -1 / same.sum(), 0.0)  # P e_i
        unit[item] += 1.0
        return float(max(self._hessian.solve(unit, 1e-10)[item], 0.0))

    @cached_property
    def _hessian(self) -> Hessian:
        hessian = Hessian(self.solution.problem)
        hessian.evaluate(self.scores)
        return hessian


def _dense_variances(hessian: Hessian) -> Floats:
    """The diagonal of P H⁻¹ P."""
    inverse, excess = _lifted_inverse(hessian)
    return np.maximum(inverse.diagonal() - excess, 0.0)


def _dense_covariance(hessian: Hessian) -> Floats:
    """P H⁻¹ P."""
    inverse, excess = _lifted_inverse(hessian)
    labels = hessian.problem.components
    whole = np.triu(inverse) + np.triu(inverse, 1).T
    whole -= np.where(labels[:, None] == labels, excess, 0.0)
    return whole


def _lifted_inverse(hessian: Hessian) -> tuple[Floats, Floats]:
    """The inverse of H + Σ_C δ·1_C 1_Cᵀ/|C| (upper triangle), and its excess over P H⁻¹ P: 1/(|C|(γ + δ)) within C."""
    matrix, delta = component_lifted(hessian)
    if len(matrix) <= SMALL:
        inverse = _sweep(np.triu(matrix) + np.triu(matrix, 1).T)
    else:
        inverse = linalg.lapack.dpotri(linalg.cholesky(matrix, check_finite=False))[0]
    labels = hessian.problem.components
    return inverse, 1 / (np.bincount(labels)[labels] * (hessian.problem.ridge + delta))


def _sweep(matrix: Floats) -> Floats:
    """Inverse of a positive definite matrix by Gauss–Jordan sweeps.

    For a few hundred items this always takes milliseconds, whereas LAPACK starts threads and, on a busy machine,
    may wait a second for them.
    """
    for k in range(len(matrix)):
        pivot, column = matrix[k, k], matrix[:, k].copy()
        matrix -= np.multiply.outer(column / pivot, column)
        matrix[:, k] = matrix[k] = column / pivot
        matrix[k, k] = -1 / pivot
    return -matrix


def _banded_variances(hessian: Hessian) -> Floats:
    """Solve for P e_i, a block of items at a time, in the band of the comparison graph."""
    n, factor, labels = hessian.n, BandedFactor(hessian, *hessian.ordering), hessian.problem.components
    share = 1 / np.bincount(labels)[labels]
    variances = np.empty(n)
    for start in range(0, n, 256):
        block = np.arange(start, min(start + 256, n))
        right = -np.where(labels[:, None] == labels[block], share[block], 0.0)
        right[block, block - start] += 1.0
        x = factor.solve(right)
        variances[block] = np.einsum("ij,ij->j", right, x)  # (P e_i)·H⁻¹ P e_i
    return np.maximum(variances, 0.0)


def fit_arrays(
    winner: ArrayLike,
    loser: ArrayLike,
    n_items: int,
    ridge: float = 1.0,
    tie: ArrayLike | None = None,
    link: LinkWord = "logistic",
) -> Fit:
    """Bradley–Terry scores of integer vote arrays, right to 1e-8. Not private.

    winner, loser  one index from 0 to n_items − 1 per vote
    n_items        how many items there are
    ridge          γ in (γ/2)‖θ‖²; 0 gives the maximum-likelihood fit where it exists, else a SolverError
    tie            one True or False per vote; None: there are no ties
    link           the model: "logistic" (Bradley–Terry), "hyperbolic-secant", or a `maths.links.CustomLink`

    >>> from quietrank import estimators
    >>> estimators.fit_arrays([0, 0, 1], [1, 1, 0], n_items=2, ridge=0).scores.round(3).tolist()
    [0.347, -0.347]
    """
    return fit_pairs(aggregate(winner, loser, n_items, tie), ridge, link)


def fit_pairs(pairs: Pairs, ridge: float = 1.0, link: LinkWord = "logistic") -> Fit:
    """The same from aggregated pairs. Not private."""
    return Fit(solve(Problem(pairs, checked_ridge(ridge), get_link(link))))


def checked_ridge(ridge: object) -> float:
    value = number(ridge)
    if value is None:
        raise SolverError(f"{option('ridge')} must be a number, 0 or above; got {option('ridge', repr(ridge))}")
    return value
