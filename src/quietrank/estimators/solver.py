"""A convex problem over pairs in; its minimiser with a certified gradient norm, or a clear error, out.

Minimised:  f(θ) = Σ_{i<j} [a_ij φ(θ_i − θ_j) + b_ij φ(θ_j − θ_i)] + c·θ + (γ/2)‖θ‖²,  φ = −log F,
with a, b the wins of i and of j, γ the ridge and c a linear term. Two readings:
- votes: c = 0, or the noise w of the perturbed MLE;
- a noisy tally with the logistic link: log(2 cosh(x/2)) = (φ(x) + φ(−x))/2, so a = b = M/2 and c = −s.

Gradient: pair (i, j) adds t = −aψ(x) + bψ(−x) to i and −t to j, with ψ = (log F)' and x = θ_i − θ_j.
Hessian: γI plus the graph Laplacian with weights h = −a(log F)''(x) − b(log F)''(−x).
The pair terms do not see a shift of a whole component C of the comparison graph, so the mean of θ over C
is −mean_C(c)/γ exactly, and Newton's method only works on what is left, orthogonal to every 1_C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from quietrank.errors import SolverError
from quietrank.estimators.links import LOGISTIC, TINY, Link, U
from quietrank.estimators.pairs import BLOCK, FloatArray, IndexArray, Pairs, blocks, scatter, together

ACCURACY = 1e-8  # default distance of each score to its exact value
DENSE_ITEMS = 60  # up to here dense Cholesky is the fastest
SLOW_CG = 8  # conjugate gradients that need more steps make us look for a factorisation (eight times that
# on graphs with more than 20 pairs per item, where the search is dear and seldom finds one)
MAX_CG = 20_000
MAX_NEWTON = 300
MAX_REFINE = 40
DIGITS = 50  # decimal digits of extended precision: far below the 2^-106 that two float64 can hold
FEWER_DIGITS = 30  # enough to place float64 scores, and twice as fast
LANCZOS = 20
LEAST_GAP = 0.02
MAX_WEAK = 1000
ZERO = Decimal(0)
UNDERFLOW = 1e-180


@dataclass(frozen=True, eq=False)
class Problem:
    """Pairs with the wins of each side, a ridge γ ≥ 0, a link, and an optional linear term c."""

    pairs: Pairs
    ridge: float
    link: Link = LOGISTIC
    linear: FloatArray | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.ridge) and self.ridge >= 0):
            raise SolverError(f"ridge must be finite and >= 0, got ridge={self.ridge}")
        if self.linear is None:
            return
        if self.linear.shape != (self.pairs.n_items,) or not np.isfinite(self.linear).all():
            raise SolverError(f"the linear term must be {self.pairs.n_items} finite numbers, one per item")
        if self.ridge == 0:
            raise SolverError("with noise in the objective a minimiser may not exist: give a ridge > 0")

    @classmethod
    def from_tally(cls, pairs: Pairs, net_wins: FloatArray, ridge: float) -> Problem:
        """Σ M log(2 cosh(x/2)) − s·θ + (γ/2)‖θ‖²: only the counts M of `pairs` are used, s may be noisy."""
        half = pairs.counts / 2
        split = Pairs(pairs.n_items, pairs.i, pairs.j, half, half)
        return cls(split, ridge, LOGISTIC, -np.asarray(net_wins, dtype=np.float64))

    @cached_property
    def components(self) -> IndexArray:
        """Component labels of the comparison graph."""
        return self.pairs.components()

    @cached_property
    def shift(self) -> FloatArray:
        """−mean_C(c)/γ for the component C of each item: the exact mean of the minimiser over C."""
        if self.linear is None:
            return np.zeros(self.pairs.n_items)
        return _exact_means(self.linear, self.components) / -self.ridge


@dataclass(frozen=True, eq=False)
class Solution:
    """The minimiser, as float64 `theta`; solve_certified may add `theta_low`, what theta could not hold."""

    problem: Problem
    theta: FloatArray
    scores: FloatArray  # theta − mean(theta), computed before large component shifts can swallow digits
    gradient_norm: float  # certified: at least the Euclidean norm of the true gradient at theta + theta_low
    error_bound: float  # of every score
    converged: bool
    components: IndexArray
    theta_low: FloatArray | None = None

    @property
    def comparable(self) -> bool:
        """Whether all scores may be compared: the comparison graph is connected."""
        return int(self.components.max(initial=0)) == 0


def solve(problem: Problem, accuracy: float = ACCURACY) -> Solution:
    """The minimiser with every score right to `accuracy`, or a SolverError.

    With g the gradient, H the Hessian, D the Laplacian's diagonal and g summing to 0 on components, the distance
    to the minimiser is at most each of
    (1) ‖g‖/γ, or ‖g‖/(γ + n·min h) if every item met every other;
    (2) about ‖D^-½ g‖/(λ √D), λ the least eigenvalue > 0 of D^-½ L D^-½: not hurt by single weakly held items;
    (3) ‖g‖/μ, μ the least eigenvalue of H orthogonal to component shifts;
    (1) is rigorous; (2) and (3) use half of an eigenvalue estimate (on the way to the minimiser H hardly
    changes: by a factor within 1 ± 4·accuracy). They are tried in this order in float64; then (3) again with
    gradients in decimal arithmetic.
    """
    require_minimiser(problem)
    if not math.isfinite(problem.link.grad_error(1.0)):
        raise SolverError(f"link {problem.link.name!r} states no rounding error; give CustomLink(error=...)")
    newton = _Newton(problem)
    for bound in (newton.ridge_bound, newton.scaled_bound, newton.curvature_bound, newton.extended_bound):
        certificate, error = bound(accuracy)
        if error <= accuracy:
            return newton.solution(error, certificate)
    raise SolverError(
        f"the fit is only certain to {error:.2g}, not to {accuracy:g} (certified gradient {certificate:.2g}): "
        "these votes hold some items too weakly for this ridge; give a larger ridge"
    )


def solve_certified(problem: Problem, tolerance: float) -> Solution:
    """The minimiser with certified ‖gradient at theta + theta_low‖₂ ≤ tolerance, raising precision as needed.

    First float64; then decimal gradients, with θ kept as the sum of two float64. Only the rounding of that sum
    remains, so a tolerance of at least limit = 2^-100·√n·(κ2·D + γ)·R is reached, with D the largest exposure
    and R = max|θ| ≤ ‖∇f(0)‖/γ; Newton's linear systems, in float64, are good enough for it while D/γ < 1e12.
    A caller with public bounds of D and of |c| can so choose a tolerance that is met whatever the votes.
    """
    if not problem.ridge > 0:
        raise SolverError("a gradient certified for every data set needs a ridge > 0")
    if not tolerance > 0:
        raise SolverError(f"tolerance must be > 0, got tolerance={tolerance}")
    newton = _Newton(problem)
    newton.run(lambda: tolerance / 2)
    theta = newton.theta + problem.shift
    if not (norm := certified_gradient_norm(problem, theta)) <= tolerance:
        norm = newton.refine(tolerance)
    if not norm <= tolerance:
        raise SolverError(f"tolerance {tolerance:g} is below what two float64 per score can hold: reached {norm:.2g}")
    return newton.solution(norm / problem.ridge, norm, keep_low=True)


def require_minimiser(problem: Problem) -> None:
    """Without a ridge a minimiser exists only if, within each component, everyone beats everyone indirectly (Ford)."""
    if problem.ridge > 0:
        return
    strong = problem.pairs.strong_components()
    if int(strong.max(initial=0)) != int(problem.components.max(initial=0)):
        raise SolverError(
            "without a ridge these votes have no finite scores: some group of items never lost to (or never beat) "
            "the items it met; give a ridge > 0, for example ridge=1.0"
        )


def certified_gradient_norm(problem: Problem, theta: FloatArray, shift: FloatArray | None = None) -> float:
    """An upper bound of ‖∇f(theta + shift)‖₂ for the real sum of the two, shift being constant on components.

    Per pair t = −aψ(x) + bψ(−x) with x = fl(θ_i − θ_j), |x − (θ_i − θ_j)| ≤ U|x|. With r = link.grad_error, ψ is
    right to r·ψ, so t to (r + 2U)(aψ(x) + bψ(−x)), the 2U for a product and the difference. Summing k terms in
    any order loses at most kU/(1 − kU)·Σ|terms| (Higham, Accuracy and Stability, 4.2); an item sums its pair
    terms, c_i, γ·shift_i and γθ_i, each product being one more U. The factors 1.01 cover second-order terms and
    the rounding of the bound itself, UNDERFLOW what is too small for float64 (weights up to 1e18).
    """
    total, error = _gradient_and_error(problem, theta, shift)
    return _bound(_norm(total), _norm(error), problem.pairs.n_items)


def _bound(norm: float, error: float, n: int) -> float:
    """norm + error, with the rounding of two norms of n numbers."""
    return (norm + 1.01 * error) * (1 + 4 * (n + 10) * U) + UNDERFLOW


def _gradient_and_error(problem: Problem, theta: FloatArray, shift: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    pairs, link, n = problem.pairs, problem.link, problem.pairs.n_items
    slope, size = np.empty(len(pairs.i)), np.empty(len(pairs.i))
    for part in blocks(len(pairs.i)):
        x = theta[pairs.i[part]] - theta[pairs.j[part]]
        lost, won = pairs.wins_i[part] * link.grad(x), pairs.wins_j[part] * link.grad(-x)
        np.subtract(won, lost, out=slope[part])
        np.add(won, lost, out=size[part])
    total = _row_sums(pairs, slope) - scatter(pairs.j, slope, n)
    sizes = _row_sums(pairs, size) + scatter(pairs.j, size, n)
    for term in (problem.ridge * theta, problem.linear, None if shift is None else problem.ridge * shift):
        if term is not None:
            total, sizes = total + term, sizes + np.abs(term)
    terms = np.diff(pairs.rows) + np.bincount(pairs.j, minlength=n) + 8
    return total, (link.grad_error(float(np.ptp(theta))) + 1.01 * U * (terms + 2)) * sizes


def decimal_gradient(
    problem: Problem, high: FloatArray, low: FloatArray, digits: int = DIGITS
) -> tuple[FloatArray, float]:
    """∇f(high + low) rounded to float64, and a certified bound of its Euclidean norm.

    With p digits each operation is right to a factor 1 ± 10^(1−p), x to 10^(1−p)·(|high_i| + |high_j| + …), and
    ψ to (2|x| + 100)·10^(1−p) by the contract of Link.grad_decimal; |(log ψ)'| ≤ 2 for the built-in links
    turns the error of x into one of ψ. With R = max|θ| every term t is right to
    (8R + 200)·10^(1−p)·(aψ(x) + bψ(−x)), and a node's sum to (number of terms)·10^(1−p)·Σ|terms| more.
    """
    pairs, link, n = problem.pairs, problem.link, problem.pairs.n_items
    with localcontext() as context:
        context.prec = digits
        theta = [Decimal(a) + Decimal(b) for a, b in zip(high.tolist(), low.tolist(), strict=True)]
        ridge, linear = Decimal(problem.ridge), (np.zeros(n) if problem.linear is None else problem.linear)
        total = [ridge * t + Decimal(c) for t, c in zip(theta, linear.tolist(), strict=True)]
        size = [abs(ridge * t) + abs(Decimal(c)) for t, c in zip(theta, linear.tolist(), strict=True)]
        columns = (pairs.i, pairs.j, pairs.wins_i, pairs.wins_j)
        for i, j, a, b in zip(*(column.tolist() for column in columns), strict=True):
            x = theta[i] - theta[j]
            ahead, behind = _both_slopes(link, x)
            lost, won = Decimal(a) * ahead, Decimal(b) * behind
            total[i] += won - lost
            total[j] -= won - lost
            size[i] += won + lost
            size[j] += won + lost
        reach = 8 * max(map(abs, theta)) + 200 + 2 * len(pairs.i)
        slip = Decimal(10) ** (1 - digits) * reach
        norm = sum(((abs(g) + slip * s) ** 2 for g, s in zip(total, size, strict=True)), ZERO).sqrt()
        return np.array([float(g) for g in total]), math.nextafter(float(norm), math.inf) * (1 + 1e-12) + UNDERFLOW


def _both_slopes(link: Link, x: Decimal) -> tuple[Decimal, Decimal]:
    """ψ(x) and ψ(−x); for the logistic link, where they sum to 1, with one exponential."""
    if link is not LOGISTIC:
        return link.grad_decimal(x), link.grad_decimal(-x)
    small = link.grad_decimal(abs(x))
    return (small, 1 - small) if x >= 0 else (1 - small, small)


class _Newton:
    """Damped truncated Newton on the part of θ orthogonal to component shifts."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.hessian = Hessian(problem)
        parts = problem.ridge * problem.shift, np.zeros(1) if problem.linear is None else problem.linear
        self.constant, self.sizes = parts[0] + parts[1], np.abs(parts[0]) + np.abs(parts[1])
        self.theta = np.zeros(problem.pairs.n_items)
        self.mu = 0.0
        self.extended: tuple[FloatArray, FloatArray] | None = None
        self.gradient = self.evaluate(self.theta)

    def evaluate(self, theta: FloatArray) -> FloatArray:
        return self.hessian.evaluate(theta) + self.problem.ridge * theta + self.constant

    def ridge_bound(self, accuracy: float) -> tuple[float, float]:
        """Newton's method to ‖g‖ ≤ accuracy·μ; the certified ‖g‖ and the distance it proves."""
        self.run(lambda: accuracy * self.hessian.sure_curvature() / 2)
        mu = self.hessian.sure_curvature()
        certificate = self.certificate(accuracy * mu)
        return certificate, certificate / mu if mu > 0 else 0.0 if self.hessian.shiftless else math.inf

    def scaled_bound(self, accuracy: float) -> tuple[float, float]:
        """Bound (2) of solve, for the largest error of a score.

        Take z = H⁻¹g, which sums to 0 on each component, and z' = z − c there. The items held well (set S) have
        |z'_S| ≤ ‖D^-½ g‖/(λ√D_i) for some shift c. The others (set N) solve H_NN z'_N = g_N − cγ + (weights to
        S)·z'_S, and H_NN is an M-matrix whose rows outweigh γ plus those weights, so by the maximum principle
        |z'_N| ≤ max|z'_S| + max(H_NN⁻¹|g_N|) + |c|. As c = −mean(z'), that is |z'_N| ≤ (2·max|z'_S| +
        max(H_NN⁻¹|g_N|))·|C|/|S ∩ C|. Centring at most doubles it. A component all in N needs no c.
        """
        hessian, n, labels = self.hessian, self.problem.pairs.n_items, self.problem.components
        if np.any((hessian.scale == 0) & (hessian.terms > 0)):  # pairs so one-sided that their weight is lost
            return math.inf, math.inf
        gap = hessian.normalised_gap() / 2
        if not gap >= LEAST_GAP:  # conjugate gradients and this bound are both poor on such graphs
            return math.inf, math.inf
        self.run(lambda: accuracy * gap / float(hessian.scale.max()) / 8, hessian.scale)
        total, error = _gradient_and_error(self.problem, self.theta, self.problem.shift)
        scale, weak = hessian.scale, hessian.weak_items()
        held = _bound(_norm(scale * total), _norm(scale * error), n) / gap
        held *= float(np.delete(scale, weak).max())
        loose = hessian.weak_inverse(weak, (np.abs(total) + 1.01 * error)[weak])
        sizes, strong = np.bincount(labels), np.bincount(np.delete(labels, weak), minlength=int(labels.max()) + 1)
        crowd = float((sizes[strong > 0] / strong[strong > 0]).max())
        return _bound(_norm(total), _norm(error), n), 2 * (2 * held + loose) * crowd

    def curvature_bound(self, accuracy: float) -> tuple[float, float]:
        self.mu = max(self.problem.ridge, self.hessian.least_curvature() / 2)
        if self.mu == 0:
            return math.inf, math.inf
        self.run(lambda: accuracy * self.mu / 4)
        certificate = self.certificate(accuracy * self.mu)
        return certificate, certificate / self.mu

    def extended_bound(self, accuracy: float) -> tuple[float, float]:
        if self.mu == 0:
            return math.inf, math.inf
        certificate = self.refine(accuracy * self.mu / 4, FEWER_DIGITS)
        return certificate, certificate / self.mu

    def certificate(self, enough: float) -> float:
        """A certified bound of the gradient norm at theta + shift; the first that is `enough`, or the sharp one.

        The quick one is ‖gradient‖ plus the error bound of certified_gradient_norm with ψ ≤ κ1 for every term;
        r is doubled because aσ(−x) is evaluated as a·e^−x·σ(x), two factors that each err.
        """
        problem, n = self.problem, self.problem.pairs.n_items
        sizes = problem.link.kappa1 * self.hessian.exposure + np.abs(problem.ridge * self.theta) + self.sizes
        relative = 2 * problem.link.grad_error(float(np.ptp(self.theta))) + 1.01 * U * (self.hessian.terms + 12)
        quick = _bound(_norm(self.gradient), _norm(relative * sizes), n)
        return quick if quick <= enough else certified_gradient_norm(problem, self.theta, problem.shift)

    def run(self, goal: Callable[[], float], scale: FloatArray | float = 1.0) -> None:
        """Step until ‖scale·gradient‖ ≤ goal, or to where rounding hides all progress."""
        noise = U * _norm(scale * self.problem.link.kappa1 * self.hessian.exposure)
        first = norm = _norm(scale * self.gradient)
        stalled = 0
        for _ in range(MAX_NEWTON):
            target = max(goal(), noise / 4)
            if norm <= target or stalled >= 3:
                return
            # solve no better than this step can use: superlinear, but not below the target
            forcing = max(min(0.1, math.sqrt(norm / first)), 0.3 * target / norm)
            self.step(self.hessian.solve(-self.gradient, forcing))
            before, norm = norm, _norm(scale * self.gradient)
            stalled = stalled + 1 if norm > 0.7 * before and norm < 1e4 * noise else 0

    def step(self, direction: FloatArray) -> None:
        """Line search on the slope g·p, which increases along the line because f is convex.

        A step is taken where the slope has lost at least a tenth of its size and has not turned uphill.
        """
        slope = abs(_dot(self.gradient, direction))
        alpha, low, high = 1.0, 0.0, math.inf
        for _ in range(60):
            theta = self.theta + alpha * direction
            gradient = self.evaluate(theta)
            ahead = _dot(gradient, direction)
            if -0.9 * slope <= ahead <= 0.1 * slope:
                break
            if ahead > 0:
                high = alpha
                alpha = low + (high - low) * min(0.9, max(0.1, slope / (slope + ahead)))
            else:
                low = alpha
                alpha = 2 * alpha if math.isinf(high) else (low + high) / 2
        self.theta, self.gradient = theta, gradient

    def refine(self, target: float, digits: int = DIGITS) -> float:
        """Iterative refinement: decimal gradients, float64 Newton steps, θ as high + low; the norm reached."""
        problem, ridge = self.problem, self.problem.ridge
        high, low = _two_sum(self.theta, problem.shift)
        best = math.inf
        for _ in range(MAX_REFINE):
            gradient, norm = decimal_gradient(problem, high, low, digits)
            if norm < best:
                best, self.extended = norm, (high, low)
            if norm <= target or norm > 4 * best:
                break
            means = _component_means(gradient, problem.components)
            step = self.hessian.solve(means - gradient, 1e-10)
            high, low = _add(high, low, step - means / ridge if ridge > 0 else step)
        return best

    def solution(self, error: float, certificate: float, keep_low: bool = False) -> Solution:
        problem, shift = self.problem, self.problem.shift
        theta, low, scores = self.theta + shift, None, self.theta + (shift - shift.mean())
        if self.extended is not None:
            theta, low = self.extended
            scores = (theta - shift) + low + (shift - shift.mean())
            low = low if keep_low else None
        if low is None and (self.extended is not None or shift.any()):
            certificate = certified_gradient_norm(problem, theta)  # the certificate was for an unrounded sum
        scores = scores - scores.mean()
        error += 8 * U * float(max(np.abs(scores).max(initial=0.0), np.abs(shift).max(initial=0.0)))  # rounding
        return Solution(problem, theta, scores, certificate, error, True, problem.components, low)


class Hessian:
    """γI + Laplacian of the pairs at the last evaluated θ, and Newton's linear systems with it.

    Dense Cholesky for few items; else Jacobi-preconditioned conjugate gradients, which on graphs with short
    paths need some ten steps; where they turn out slow (ladders, chains) a banded or sparse factorisation.
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

    def evaluate(self, theta: FloatArray) -> FloatArray:
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

    @cached_property
    def exposure(self) -> FloatArray:
        """Votes per item."""
        return self.problem.pairs.exposure

    def apply(self, x: FloatArray) -> FloatArray:
        y = self.diagonal * x
        for product in self._both(self.weight, self.weight_t, x):
            y -= product
        return y

    def _both(self, upper: csr_array, lower: csc_array, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return together(lambda: _times(upper, x), lambda: _times(lower, x), len(upper.data))

    def solve(self, right: FloatArray, relative: float) -> FloatArray:
        """x with ‖D^-½(Hx − right)‖ ≤ relative·‖D^-½ right‖, or a factorisation's answer."""
        right = self._balanced(right)
        if self.method == "cg":
            x, steps = _conjugate_gradients(self, right, relative)
            if steps > (SLOW_CG if len(self.weight.data) <= 20 * self.n else 8 * SLOW_CG):
                self.method = _direct_method(self)
        else:
            x = self._factorised(right)
        return x - _component_means(x, self.problem.components)

    def _balanced(self, right: FloatArray) -> FloatArray:
        """right, made to sum to 0 on each component at the expense of the strongly held items.

        What a gradient sums to is the rounding of its largest entries: spread evenly, it would swamp the small
        entry of a weakly held item, and move that item's score.
        """
        labels = self.problem.components
        return right - self.diagonal * _safe_ratio(_sums(right, labels), _sums(self.diagonal, labels))

    def _factorised(self, right: FloatArray) -> FloatArray:
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
    def scale(self) -> FloatArray:
        """D^-½, D the Laplacian's diagonal; 0 for items that met nobody, whose scores are known exactly."""
        laplacian = self.diagonal - self.problem.ridge
        return np.where(laplacian > 0, 1 / np.sqrt(np.maximum(laplacian, TINY)), 0.0)

    def weak_items(self) -> NDArray[np.intp]:
        """Items held a hundred times more weakly than the typical one."""
        scale = self.scale
        return np.flatnonzero(scale > 10 * np.median(scale[scale > 0]))

    def weak_inverse(self, weak: NDArray[np.intp], right: FloatArray) -> float:
        """max(H_NN⁻¹ right) over the weak items N, for right ≥ 0."""
        if len(weak) == 0:
            return 0.0
        if len(weak) > MAX_WEAK:
            return math.inf
        block = self.weight[weak][:, weak].toarray()
        matrix = np.diag(self.diagonal[weak]) - block - block.T
        return float(np.abs(np.linalg.solve(matrix, right)).max())

    def normalised_gap(self) -> float:
        """1 − the largest eigenvalue of D^-½ A D^-½ (A = D − L) but for component shifts: Lanczos, an estimate."""
        scale, labels = self.scale, self.problem.components
        trivial = np.divide(1.0, scale, out=np.zeros(self.n), where=scale > 0)  # D^½, to be projected out
        size = _sums(trivial**2, labels)

        def project(x: FloatArray) -> FloatArray:
            return x - trivial * _safe_ratio(_sums(trivial * x, labels), size)

        def adjacency(x: FloatArray) -> FloatArray:
            y = scale * project(x.ravel())
            return project(scale * sum(self._both(self.weight, self.weight_t, y)))

        return 1 - self._largest(adjacency)

    def least_curvature(self) -> float:
        """The least eigenvalue of H orthogonal to component shifts: Lanczos on the inverse, an estimate."""
        labels = self.problem.components
        largest = self._largest(lambda x: self.solve(x.ravel() - _component_means(x.ravel(), labels), 1e-6))
        return 1 / largest if largest > 0 else 0.0

    def _largest(self, apply: Callable[[FloatArray], FloatArray]) -> float:
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
    def ordering(self) -> tuple[IndexArray, int]:
        """The reverse Cuthill–McKee order of the items and its bandwidth."""
        pairs = self.problem.pairs
        order = reverse_cuthill_mckee(csr_array(self.weight + self.weight.T), symmetric_mode=True)
        place = np.empty_like(order)
        place[order] = np.arange(self.n, dtype=order.dtype)
        return order, int(np.abs(place[pairs.i] - place[pairs.j]).max(initial=0))

    def dense(self) -> FloatArray:
        """The matrix itself, upper triangle and diagonal."""
        pairs = self.problem.pairs
        matrix = np.zeros((self.n, self.n))
        matrix[pairs.i, pairs.j] = -self.weight.data
        np.fill_diagonal(matrix, self.diagonal)
        return matrix


class Factor(Protocol):
    """A factorised Hessian."""

    def solve(self, right: FloatArray) -> FloatArray:
        """H⁻¹ right, for right sides orthogonal to component shifts."""


class DenseFactor:
    """Cholesky of H + Σ_C δ·1_C 1_Cᵀ/|C|, which is H on all that is orthogonal to the 1_C, and never singular."""

    def __init__(self, hessian: Hessian) -> None:
        matrix = component_lifted(hessian)[0]
        self.cholesky = _cholesky(matrix, np.einsum("ii->i", matrix), _dense_cholesky)

    def solve(self, right: FloatArray) -> FloatArray:
        x: FloatArray = linalg.cho_solve((self.cholesky, False), right, check_finite=False)
        return x


def component_lifted(hessian: Hessian) -> tuple[FloatArray, float]:
    """H + Σ_C δ·1_C 1_Cᵀ/|C| (upper triangle) and δ, taken as the mean diagonal entry."""
    labels = hessian.problem.components
    delta = float(hessian.diagonal.mean()) or 1.0
    weight = delta / np.bincount(labels)
    matrix = hessian.dense()
    matrix += weight[0] if len(weight) == 1 else np.where(labels[:, None] == labels, weight[labels], 0.0)
    return matrix, delta


class BandedFactor:
    """Cholesky in the band that reverse Cuthill–McKee leaves."""

    def __init__(self, hessian: Hessian, order: IndexArray, band: int) -> None:
        pairs = hessian.problem.pairs
        self.order = order
        place = np.empty_like(order)
        place[order] = np.arange(hessian.n, dtype=order.dtype)
        p, q = place[pairs.i], place[pairs.j]
        matrix = np.zeros((band + 1, hessian.n))
        matrix[np.abs(p - q), np.minimum(p, q)] = -hessian.weight.data
        matrix[0] = _grounded(hessian)[order]
        self.cholesky = _cholesky(matrix, matrix[0], _banded_cholesky)

    def solve(self, right: FloatArray) -> FloatArray:
        x = np.empty_like(right)
        x[self.order] = linalg.cho_solve_banded((self.cholesky, True), right[self.order], check_finite=False)
        return x


class SparseFactor:
    """Sparse LU with a symmetric ordering, for graphs that are nearly trees."""

    def __init__(self, hessian: Hessian) -> None:
        upper = hessian.weight
        matrix = csc_array(diags_array(_grounded(hessian)) - upper - upper.T)
        self.lu = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})

    def solve(self, right: FloatArray) -> FloatArray:
        x: FloatArray = self.lu.solve(right)
        return x


def _grounded(hessian: Hessian) -> FloatArray:
    """The diagonal; without a ridge one item per component is tied to 0, which right sides summing to 0 never feel."""
    diagonal = hessian.diagonal.copy()
    if hessian.problem.ridge == 0:
        roots = np.unique(hessian.problem.components, return_index=True)[1]
        diagonal[roots] += np.maximum(diagonal[roots], 1.0)
    return diagonal


def _dense_cholesky(matrix: FloatArray) -> FloatArray:
    factor: FloatArray = linalg.cholesky(matrix, lower=False, check_finite=False)
    return factor


def _banded_cholesky(matrix: FloatArray) -> FloatArray:
    factor: FloatArray = linalg.cholesky_banded(matrix, lower=True, check_finite=False)
    return factor


def _cholesky(matrix: FloatArray, diagonal: FloatArray, factor: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Factorise; where rounding has made the matrix indefinite, raise its diagonal (a view) a little.

    A raised factor still gives a descent direction, and the next Newton step corrects for it.
    """
    top = float(diagonal.max(initial=0.0))
    for raised in (0.0, 1e-15, 1e-13, 1e-11, 1e-9):
        diagonal += raised * top
        try:
            return factor(matrix)
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


def _conjugate_gradients(hessian: Hessian, right: FloatArray, relative: float) -> tuple[FloatArray, int]:
    """Jacobi-preconditioned conjugate gradients; the solution and the number of steps."""
    inverse = 1 / np.where(hessian.diagonal > 0, hessian.diagonal, 1.0)
    x, r = np.zeros_like(right), right.copy()
    z = inverse * r
    p, rz = z.copy(), _dot(r, z)
    stop = relative**2 * rz  # in the norm ‖D^-½ r‖, in which weakly held items count
    for step in range(MAX_CG):
        if rz <= stop:
            return x, step
        q = hessian.apply(p)
        curvature = _dot(p, q)
        if not curvature > 0:  # rounding: the direction so far is all there is to have
            return x, step
        alpha = rz / curvature
        x += alpha * p
        r -= alpha * q
        z = inverse * r
        rz, before = _dot(r, z), rz
        p *= rz / before
        p += z
    return x, MAX_CG


def _logistic_terms(
    x: FloatArray, q: FloatArray, a: FloatArray, b: FloatArray, slope: FloatArray, weight: FloatArray
) -> None:
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


def _row_sums(pairs: Pairs, values: FloatArray) -> FloatArray:
    n = pairs.n_items
    return _times(csr_array((values, pairs.j, pairs.rows), shape=(n, n)), np.ones(n))


def _times(matrix: csr_array | csc_array, x: FloatArray) -> FloatArray:
    return np.asarray(matrix @ x, dtype=np.float64)


def _safe_ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _dot(a: FloatArray, b: FloatArray) -> float:
    # not a @ b: BLAS starts its threads for long vectors, and on a busy machine waits for them far too long
    return float(np.einsum("i,i->", a, b))


def _norm(a: FloatArray) -> float:
    return math.sqrt(_dot(a, a))


def _component_means(values: FloatArray, labels: IndexArray) -> FloatArray:
    if labels.max(initial=0) == 0:
        return np.full_like(values, values.mean())
    return _sums(values, labels) / np.bincount(labels)[labels]


def _exact_means(values: FloatArray, labels: IndexArray) -> FloatArray:
    """Component means without the rounding of a sum, which a small ridge would blow up to a visible shift."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    parts = np.split(values[order], np.cumsum(sizes)[:-1])
    return (np.array([math.fsum(part.tolist()) for part in parts]) / sizes)[labels]


def _sums(values: FloatArray, labels: IndexArray) -> FloatArray:
    """The sum of each item's component."""
    return scatter(labels, values, 0)[labels]


def _two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a + b = sum + rest exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _add(high: FloatArray, low: FloatArray, step: FloatArray) -> tuple[FloatArray, FloatArray]:
    total, rest = _two_sum(high, step)
    return _two_sum(total, rest + low)
