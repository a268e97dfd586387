"""A convex problem over pairs (`problem.py`) in; its minimiser, certified, or a clear error, out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from quietrank.arrays import Floats, Indices
from quietrank.errors import SolverError, option
from quietrank.maths.certificate import (
    DIGITS,
    certified_gradient_norm,
    decimal_gradient,
    gradient_with_error,
    with_rounding,
)
from quietrank.maths.hessian import Hessian
from quietrank.maths.links import U
from quietrank.maths.problem import Problem
from quietrank.maths.sums import add_exactly, component_means, euclidean, inner, two_sum

ACCURACY = 1e-8  # default distance of each score to its exact value
MAX_NEWTON = 300
MAX_REFINE = 40
FEWER_DIGITS = 30  # enough to place float64 scores, and twice as fast
LEAST_GAP = 0.02


@dataclass(frozen=True, eq=False)
class Solution:
    """The minimiser, as float64 `theta`; solve_nearly may add `theta_low`, the part below float64's precision."""

    problem: Problem
    theta: Floats
    scores: Floats  # theta − mean(theta), computed before large component shifts can destroy digits
    gradient_norm: float  # certified: at least the Euclidean norm of the true gradient at theta + theta_low
    error_bound: float  # of every score
    converged: bool
    components: Indices
    theta_low: Floats | None = None

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


def solve_nearly(problem: Problem, tolerance: float) -> Solution:
    """The minimiser with certified ‖gradient at theta + theta_low‖₂ ≤ tolerance, raising precision as needed.

    First float64; then decimal gradients, with θ stored as the sum of two float64. Only the rounding of that sum
    remains, so a tolerance of at least limit = 2^-100·√n·(κ2·D + γ)·R is reached, with D the largest exposure
    and R = max|θ| ≤ ‖∇f(0)‖/γ; Newton's linear systems, in float64, are good enough for it while D/γ < 1e12.
    So a caller with public bounds of D and of |c| can choose a tolerance that is met whatever the votes. Where it is
    not met, the result is the point that came nearest, with `converged` false.
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
    return replace(newton.solution(norm / problem.ridge, norm, keep_low=True), converged=norm <= tolerance)


def require_minimiser(problem: Problem) -> None:
    """Without a ridge a minimiser exists only if, within each component, everyone beats everyone indirectly (Ford)."""
    if problem.ridge > 0:
        return
    strong = problem.pairs.strong_components()
    if int(strong.max(initial=0)) != int(problem.components.max(initial=0)):
        raise SolverError(
            "without a ridge these votes have no finite scores: some group of items never lost to (or never beat) "
            f"the items it met; give a {option('ridge')} above 0, for example {option('ridge', '1.0')}"
        )


class _Newton:
    """Damped truncated Newton on the part of θ orthogonal to component shifts."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.hessian = Hessian(problem)
        parts = problem.ridge * problem.shift, np.zeros(1) if problem.linear is None else problem.linear
        self.constant, self.sizes = parts[0] + parts[1], np.abs(parts[0]) + np.abs(parts[1])
        self.theta = np.zeros(problem.pairs.n_items)
        self.mu = 0.0
        self.extended: tuple[Floats, Floats] | None = None
        self.gradient = self.evaluate(self.theta)

    def evaluate(self, theta: Floats) -> Floats:
        return self.hessian.evaluate(theta) + self.problem.ridge * theta + self.constant

    def ridge_bound(self, accuracy: float) -> tuple[float, float]:
        """Newton's method to ‖g‖ ≤ accuracy·μ; the certified ‖g‖ and the distance it proves."""
        self.run(lambda: accuracy * self.hessian.sure_curvature() / 2)
        mu = self.hessian.sure_curvature()
        certificate = self.certificate(accuracy * mu)
        return certificate, certificate / mu if mu > 0 else 0.0 if self.hessian.shiftless else math.inf

    def scaled_bound(self, accuracy: float) -> tuple[float, float]:
        """Bound (2) of solve, for the largest error of a score.

        Take z = H⁻¹g, which sums to 0 on each component, and z' = z − c there. The strongly held items (set S) have
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
        total, error = gradient_with_error(self.problem, self.theta, self.problem.shift)
        scale, weak = hessian.scale, hessian.weak_items()
        held = with_rounding(euclidean(scale * total), euclidean(scale * error), n) / gap
        held *= float(np.delete(scale, weak).max())
        loose = hessian.weak_inverse(weak, (np.abs(total) + 1.01 * error)[weak])
        sizes, strong = np.bincount(labels), np.bincount(np.delete(labels, weak), minlength=int(labels.max()) + 1)
        crowd = float((sizes[strong > 0] / strong[strong > 0]).max())
        return with_rounding(euclidean(total), euclidean(error), n), 2 * (2 * held + loose) * crowd

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
        sizes = problem.link.kappa1 * problem.pairs.exposure + np.abs(problem.ridge * self.theta) + self.sizes
        relative = 2 * problem.link.grad_error(float(np.ptp(self.theta))) + 1.01 * U * (self.hessian.terms + 12)
        quick = with_rounding(euclidean(self.gradient), euclidean(relative * sizes), n)
        return quick if quick <= enough else certified_gradient_norm(problem, self.theta, problem.shift)

    def run(self, goal: Callable[[], float], scale: Floats | float = 1.0) -> None:
        """Step until ‖scale·gradient‖ ≤ goal, or until rounding hides all progress."""
        noise = U * euclidean(scale * self.problem.link.kappa1 * self.problem.pairs.exposure)
        first = norm = best = euclidean(scale * self.gradient)
        stalled = 0
        for _ in range(MAX_NEWTON):
            target = max(goal(), noise / 4)
            if norm <= target or stalled >= 3:
                return
            # solve no better than this step can use: superlinear, but not below the target
            forcing = max(min(0.1, math.sqrt(norm / first)), 0.3 * target / norm)
            self.step(self.hessian.solve(-self.gradient, forcing))
            norm = euclidean(scale * self.gradient)
            # Compared with the last norm, not the best, one that rounding moves to and fro improves every other time.
            stalled = stalled + 1 if norm > 0.7 * best and norm < 1e4 * noise else 0
            best = min(best, norm)

    def step(self, direction: Floats) -> None:
        """Line search on the slope g·p, which increases along the line because f is convex.

        A step is taken where the slope has lost at least a tenth of its size and has not turned uphill.
        """
        slope = abs(inner(self.gradient, direction))
        alpha, low, high = 1.0, 0.0, math.inf
        for _ in range(60):
            theta = self.theta + alpha * direction
            gradient = self.evaluate(theta)
            ahead = inner(gradient, direction)
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
        high, low = two_sum(self.theta, problem.shift)
        best = math.inf
        for _ in range(MAX_REFINE):
            gradient, norm = decimal_gradient(problem, high, low, digits)
            if norm < best:
                best, self.extended = norm, (high, low)
            if norm <= target or norm > 4 * best:
                break
            means = component_means(gradient, problem.components)
            step = self.hessian.solve(means - gradient, 1e-10)
            high, low = add_exactly(high, low, step - means / ridge if ridge > 0 else step)
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
