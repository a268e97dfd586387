"""A problem and a point in; the Hessian there, products with it and solutions of its linear systems, out.

Systems are solved by conjugate gradients where quick, else by the cheapest factorisation: dense, banded or sparse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from scipy import linalg
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from quietrank.arrays import Floats, Indices, Places
from quietrank.errors import SolverError
from quietrank.maths.links import LOGISTIC, TINY
from quietrank.maths.pairs import BLOCK, blocks, together
from quietrank.maths.problem import Problem
from quietrank.maths.sums import component_means, component_sums, inner, safe_ratio, sparse_times

DENSE_ITEMS = 60  # up to here dense Cholesky is the fastest
SLOW_CG = 8  # if conjugate gradients need more steps, a factorisation is tried (eight times that on graphs
# with more than 20 pairs per item, where the search is expensive and rarely succeeds)
MAX_CG = 20_000
LANCZOS = 20
MAX_WEAK = 1000


class Hessian:
    """γI + Laplacian of the pairs at the last evaluated θ, and Newton's linear systems with it.

    Dense Cholesky for few items; otherwise Jacobi-preconditioned conjugate gradients, which need about ten steps on
    graphs with short paths; a banded or sparse factorisation where they turn out to be slow (ladders, chains).
    Right-hand sides and results are orthogonal to component shifts.
    """

    def __init__(self, problem: Problem) -> None:
        pairs, n = problem.pairs, problem.pairs.n_items
        self.problem, self.n = problem, n
        self.slope = csr_array((np.empty(len(pairs.i)), pairs.j, pairs.rows), shape=(n, n))
        self.weight = csr_array((np.empty(len(pairs.i)), pairs.j, pairs.rows), shape=(n, n))
        self.slope_t, self.weight_t = self.slope.T, self.weight.T  # views on the same numbers
        self.terms = np.diff(pairs.rows) + np.bincount(pairs.j, minlength=n)  # pairs per item
        self.ones = np.ones(n)
        self.method = "dense" if n <= DENSE_ITEMS else "cg"
        self.factor: Factor | None = None

    def evaluate(self, theta: Floats) -> Floats:
        """The pair part of the gradient; remembers the weights h."""
        pairs, link = self.problem.pairs, self.problem.link
        slope, weight = self.slope.data, self.weight.data

        def work(parts: Iterable[slice]) -> None:
            buffers = np.empty((2, BLOCK))
            for part in parts:
                a, b = pairs.wins_i[part], pairs.wins_j[part]
                x = np.take(theta, pairs.i[part], out=buffers[0][: len(a)], mode="clip")
                y = np.take(theta, pairs.j[part], out=buffers[1][: len(a)], mode="clip")
                x -= y
                if link is LOGISTIC:
                    _logistic_terms(x, y, a, b, slope[part], weight[part])
                else:
                    slope[part] = b * link.grad(-x) - a * link.grad(x)
                    weight[part] = a * link.curvature(x) + b * link.curvature(-x)

        parts = list(blocks(len(slope)))
        together(lambda: work(parts[::2]), lambda: work(parts[1::2]), len(slope))
        self.factor = None
        out, into = self._both(self.weight, self.weight_t, self.ones)
        self.diagonal = out + into + self.problem.ridge
        out, into = self._both(self.slope, self.slope_t, self.ones)
        return out - into

    def apply(self, x: Floats) -> Floats:
        y = self.diagonal * x
        for product in self._both(self.weight, self.weight_t, x):
            y -= product
        return y

    def _both(self, upper: csr_array, lower: csc_array, x: Floats) -> tuple[Floats, Floats]:
        return together(lambda: sparse_times(upper, x), lambda: sparse_times(lower, x), len(upper.data))

    def solve(self, right: Floats, relative: float) -> Floats:
        """x with ‖D^-½(Hx − right)‖ ≤ relative·‖D^-½ right‖, or a factorisation's answer."""
        right = self._balanced(right)
        if self.method == "cg":
            x, steps = _conjugate_gradients(self, right, relative)
            if steps > (SLOW_CG if len(self.weight.data) <= 20 * self.n else 8 * SLOW_CG):
                self.method = _direct_method(self)
        else:
            x = self._factorised(right)
        return x - component_means(x, self.problem.components)

    def _balanced(self, right: Floats) -> Floats:
        """right, made to sum to 0 on each component at the expense of the strongly held items.

        The sum of a gradient is the rounding error of its largest entries: spread evenly, it would swamp the small
        entry of a weakly held item, and move that item's score.
        """
        labels = self.problem.components
        return right - self.diagonal * safe_ratio(component_sums(right, labels), component_sums(self.diagonal, labels))

    def _factorised(self, right: Floats) -> Floats:
        if self.factor is None:
            self.factor = _factorise(self)
        return self.factor.solve(right)

    def sure_curvature(self) -> float:
        """γ, plus n·min h if every item met every other: then L ≽ min h · (Laplacian of the complete graph)."""
        least = float(self.weight.data.min(initial=math.inf)) if self.problem.pairs.complete else 0.0
        return self.problem.ridge + (self.n * least if math.isfinite(least) else 0.0)

    @property
    def shiftless(self) -> bool:
        """No pair at all: nothing but component shifts, which are known exactly."""
        return len(self.problem.pairs.i) == 0

    @property
    def scale(self) -> Floats:
        """D^-½, D the Laplacian's diagonal; 0 for items that were never compared, whose scores are known exactly."""
        laplacian = self.diagonal - self.problem.ridge
        return np.where(laplacian > 0, 1 / np.sqrt(np.maximum(laplacian, TINY)), 0.0)

    def weak_items(self) -> Places:
        """Items held a hundred times more weakly than the typical one."""
        scale = self.scale
        return np.flatnonzero(scale > 10 * np.median(scale[scale > 0]))

    def weak_inverse(self, weak: Places, right: Floats) -> float:
        """max(H_NN⁻¹ right) over the weak items N, for right ≥ 0."""
        if len(weak) == 0:
            return 0.0
        if len(weak) > MAX_WEAK:
            return math.inf
        block = self.weight[weak][:, weak].toarray()
        matrix = np.diag(self.diagonal[weak]) - block - block.T
        return float(np.abs(np.linalg.solve(matrix, right)).max())

    def normalised_gap(self) -> float:
        """1 − the largest eigenvalue of D^-½ A D^-½ (A = D − L) apart from component shifts: a Lanczos estimate."""
        scale, labels = self.scale, self.problem.components
        trivial = np.divide(1.0, scale, out=np.zeros(self.n), where=scale > 0)  # D^½, to be projected out
        size = component_sums(trivial**2, labels)

        def project(x: Floats) -> Floats:
            return x - trivial * safe_ratio(component_sums(trivial * x, labels), size)

        def adjacency(x: Floats) -> Floats:
            y = scale * project(x.ravel())
            return project(scale * sum(self._both(self.weight, self.weight_t, y)))

        return 1 - self._largest(adjacency)

    def least_curvature(self) -> float:
        """The least eigenvalue of H orthogonal to component shifts, estimated by Lanczos on the inverse."""
        labels = self.problem.components
        largest = self._largest(lambda x: self.solve(x.ravel() - component_means(x.ravel(), labels), 1e-6))
        return 1 / largest if largest > 0 else 0.0

    def _largest(self, apply: Callable[[Floats], Floats]) -> float:
        operator = LinearOperator((self.n, self.n), matvec=apply, dtype=np.float64)
        if self.n <= 2 * LANCZOS:
            matrix = np.column_stack([apply(column) for column in np.eye(self.n)])
            return float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1])
        start = np.cos(np.arange(self.n, dtype=np.float64) ** 2)  # fixed and generic
        try:
            return float(eigsh(operator, 1, which="LA", v0=start, ncv=LANCZOS, tol=0.02, return_eigenvectors=False)[0])
        except ArpackNoConvergence:
            return math.inf

    @cached_property
    def ordering(self) -> tuple[Indices, int]:
        """The reverse Cuthill–McKee order of the items and its bandwidth."""
        pairs = self.problem.pairs
        order = reverse_cuthill_mckee(csr_array(self.weight + self.weight.T), symmetric_mode=True)
        place = np.empty_like(order)
        place[order] = np.arange(self.n, dtype=order.dtype)
        return order, int(np.abs(place[pairs.i] - place[pairs.j]).max(initial=0))

    def dense(self) -> Floats:
        """The matrix itself, upper triangle and diagonal."""
        pairs = self.problem.pairs
        matrix = np.zeros((self.n, self.n))
        matrix[pairs.i, pairs.j] = -self.weight.data
        np.fill_diagonal(matrix, self.diagonal)
        return matrix


class Factor(Protocol):
    """A factorised Hessian."""

    def solve(self, right: Floats) -> Floats:
        """H⁻¹ right, for right sides orthogonal to component shifts."""


class DenseFactor:
    """Cholesky of H + Σ_C δ·1_C 1_Cᵀ/|C|, which is H on all that is orthogonal to the 1_C, and never singular."""

    def __init__(self, hessian: Hessian) -> None:
        matrix = component_lifted(hessian)[0]
        self.cholesky = _cholesky(matrix, np.einsum("ii->i", matrix), partial(linalg.cholesky, lower=False))

    def solve(self, right: Floats) -> Floats:
        x: Floats = linalg.cho_solve((self.cholesky, False), right, check_finite=False)
        return x


def component_lifted(hessian: Hessian) -> tuple[Floats, float]:
    """H + Σ_C δ·1_C 1_Cᵀ/|C| (upper triangle) and δ, taken as the mean diagonal entry."""
    labels = hessian.problem.components
    delta = float(hessian.diagonal.mean()) or 1.0
    weight = delta / np.bincount(labels)
    matrix = hessian.dense()
    matrix += weight[0] if len(weight) == 1 else np.where(labels[:, None] == labels, weight[labels], 0.0)
    return matrix, delta


class BandedFactor:
    """Cholesky in the band that reverse Cuthill–McKee leaves."""

    def __init__(self, hessian: Hessian, order: Indices, band: int) -> None:
        pairs = hessian.problem.pairs
        self.order = order
        place = np.empty_like(order)
        place[order] = np.arange(hessian.n, dtype=order.dtype)
        p, q = place[pairs.i], place[pairs.j]
        matrix = np.zeros((band + 1, hessian.n))
        matrix[np.abs(p - q), np.minimum(p, q)] = -hessian.weight.data
        matrix[0] = _grounded(hessian)[order]
        self.cholesky = _cholesky(matrix, matrix[0], partial(linalg.cholesky_banded, lower=True))

    def solve(self, right: Floats) -> Floats:
        x = np.empty_like(right)
        x[self.order] = linalg.cho_solve_banded((self.cholesky, True), right[self.order], check_finite=False)
        return x


class SparseFactor:
    """Sparse LU with a symmetric ordering, for graphs that are nearly trees."""

    def __init__(self, hessian: Hessian) -> None:
        upper = hessian.weight
        matrix = csc_array(diags_array(_grounded(hessian)) - upper - upper.T)
        self.lu = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})

    def solve(self, right: Floats) -> Floats:
        x: Floats = self.lu.solve(right)
        return x


def _grounded(hessian: Hessian) -> Floats:
    """The diagonal; without a ridge one item per component is tied to 0, which right sides that sum to 0 allow."""
    diagonal = hessian.diagonal.copy()
    if hessian.problem.ridge == 0:
        roots = np.unique(hessian.problem.components, return_index=True)[1]
        diagonal[roots] += np.maximum(diagonal[roots], 1.0)
    return diagonal


def _cholesky(matrix: Floats, diagonal: Floats, factor: Callable[..., Floats]) -> Floats:
    """Factorise; where rounding has made the matrix indefinite, raise its diagonal (a view) a little.

    A raised factor still gives a descent direction, and the next Newton step corrects for it.
    """
    top = float(diagonal.max(initial=0.0))
    for raised in (0.0, 1e-15, 1e-13, 1e-11, 1e-9):
        diagonal += raised * top
        try:
            return factor(matrix, check_finite=False)
        except linalg.LinAlgError:
            continue
    raise SolverError("the curvature of the fit is lost in rounding; give a larger ridge")


def _factorise(hessian: Hessian) -> Factor:
    if hessian.method == "dense":
        return DenseFactor(hessian)
    if hessian.method == "sparse":
        return SparseFactor(hessian)
    return BandedFactor(hessian, *hessian.ordering)


def _direct_method(hessian: Hessian) -> str:
    """The factorisation worth its cost on this graph, or "cg" if there is none."""
    n, m = hessian.n, len(hessian.problem.pairs.i)
    band = hessian.ordering[1]
    if n * band**2 <= 4e8:
        return "banded"
    if m <= 3 * n:
        return "sparse"
    if n * band**2 <= 1e11 and n * band <= 2e8:
        return "banded"
    return "dense" if n <= 4000 else "cg"


def _conjugate_gradients(hessian: Hessian, right: Floats, relative: float) -> tuple[Floats, int]:
    """Jacobi-preconditioned conjugate gradients; the solution and the number of steps."""
    inverse = 1 / np.where(hessian.diagonal > 0, hessian.diagonal, 1.0)
    x, r = np.zeros_like(right), right.copy()
    z = inverse * r
    p, rz = z.copy(), inner(r, z)
    stop = relative**2 * rz  # in the norm ‖D^-½ r‖, in which weakly held items count
    for step in range(MAX_CG):
        if rz <= stop:
            return x, step
        q = hessian.apply(p)
        curvature = inner(p, q)
        if not curvature > 0:  # rounding: the direction so far cannot be improved
            return x, step
        alpha = rz / curvature
        x += alpha * p
        r -= alpha * q
        z = inverse * r
        rz, before = inner(r, z), rz
        p *= rz / before
        p += z
    return x, MAX_CG


def _logistic_terms(x: Floats, q: Floats, a: Floats, b: Floats, slope: Floats, weight: Floats) -> None:
    """slope = bσ(x) − aσ(−x) and weight = (a + b)σ(x)σ(−x), in place; q = σ(x), σ(−x) = e^−x σ(x)."""
    np.clip(x, -500.0, 500.0, out=x)  # a·e^500 is finite, and σ(−500) < 1e-217 is as good as any smaller number
    np.negative(x, out=x)
    e = np.exp(x, out=x)
    np.add(e, 1.0, out=q)
    np.reciprocal(q, out=q)
    np.multiply(a, e, out=slope)
    np.subtract(b, slope, out=slope)
    slope *= q
    np.add(a, b, out=weight)
    weight *= q
    weight *= q
    weight *= e
