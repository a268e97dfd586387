"""A fit and each person's gradient in; the covariance of the scores, clustered by person, out (the sandwich)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from quietrank.arrays import Floats
from quietrank.errors import SolverError
from quietrank.maths.fit import MAX_STANDARD_ERRORS, Fit
from quietrank.maths.tied_fit import TiedFit

FEW_PEOPLE = 30
"""below about as many the sandwich tends to be too small"""


SPARSE, BLOCK = 0.02, 4_000_000
"""the share of entries below which a matrix is sparse; entries of a dense part of it"""


class ClusterError(SolverError):
    """Errors cannot be clustered by person, for this reason."""


def clustered_covariance(fit: Fit, gradients: csr_array) -> Floats:
    """P H⁻¹ (Σ_p g_p g_pᵀ) H⁻¹ P · m/(m − 1); the rows of `gradients` are the g_p of m people.

    The votes of one person may hang together in any way; people are independent (Liang and Zeger 1986). A g_p sums to
    0 on every component, so P g_p = g_p.
    """
    people = gradients.shape[0]
    if isinstance(fit, TiedFit):
        gradients = _given_ties(fit, gradients)
    bread, meat = fit.covariance, _squared(gradients)
    return np.asarray(people / (people - 1) * (bread @ (meat @ bread)))


def _given_ties(fit: TiedFit, gradients: csr_array) -> csr_array:
    """g − b·g_λ/Σ M t(1 − t), g_λ the last column: times the covariance of the scores, which knows that ν was fitted,
    it is a person's part in the error of the scores."""
    people, entries = gradients.shape
    if people * (entries - 1) > MOST_DENSE_ENTRIES:
        raise ClusterError(f"there are more than {MOST_DENSE_ENTRIES} combinations of a person and an item")
    whole = gradients.toarray()
    return csr_array(whole[:, :-1] - np.outer(whole[:, -1], fit.bent / fit.information))


MOST_DENSE_ENTRIES = 50_000_000
"""of a matrix in memory: 400 megabytes"""


def _squared(gradients: csr_array) -> Floats | csr_array:
    """Σ_p g_p g_pᵀ; a matrix that is not very sparse is multiplied faster as a dense one, some people at a time."""
    people, items = gradients.shape
    if gradients.nnz < SPARSE * people * items:
        return csr_array(gradients.T @ gradients)
    square, rows = np.zeros((items, items)), max(1, BLOCK // items)
    for start in range(0, people, rows):
        block = gradients[start : start + rows].toarray()
        square += block.T @ block
    return square


def require_clusters(items: int, people: int) -> None:
    """Refuse what has no clustered errors: a single person, or more items than a matrix is made for."""
    if people < 2:
        raise ClusterError("there is only one person, so nothing shows how people differ")
    if items > MAX_STANDARD_ERRORS:
        raise ClusterError(f"there are more than {MAX_STANDARD_ERRORS} items")
