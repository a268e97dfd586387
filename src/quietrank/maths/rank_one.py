"""Net wins and weights a in; the scores for M_ij = a_i a_j, i ≠ j, out, without ever forming the pairs.

The likelihood does not change when θ is shifted, so adding a constant to s only shifts the minimiser. The constant
is chosen so that the bulk of the scores is near 0 whatever the outliers; the mean is subtracted at the end.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.optimize import brentq

from quietrank.arrays import Floats
from quietrank.errors import SolverError
from quietrank.maths.field import DENSE_LIMIT, Field, all_pairs

ROUNDING = 1e-13  # no Newton step gets a gradient much below this, relative to the terms that cancel in it
TOLERANCE = 1e-11  # accepted once rounding stops the progress
MAX_NEWTON = 100
MAX_CG = 1000
PILOTS = 400  # where all a are equal, this many pools of items are solved first, as a starting point


def fit_rank_one(s: Floats, a: Floats, gamma: float, nu: float = 0.0) -> tuple[Floats, float]:
    """Centred scores, and the Euclidean norm of the gradient there; `nu` is the tie parameter of Davidson's model."""
    # With equal a the scores are in the order of s, so that the field need not sort at every step.
    order = np.argsort(s)
    problem = RankOne(_bulk_near_zero(s[order], a[order] * a.sum()), a[order], gamma, nu)
    solution = minimise(problem)
    theta = np.empty_like(s)
    theta[order] = solution.theta - solution.theta.mean()
    return theta, float(np.linalg.norm(solution.gradient))


@dataclass(frozen=True)
class RankOne:
    """min over θ for M_ij = a_i a_j, i ≠ j. The pair (i, i) would only add a constant, so sums may include it."""

    net_wins: Floats
    a: Floats
    gamma: float | Floats  # one for all, or one per item
    nu: float = 0.0  # the tie parameter


@dataclass(frozen=True)
class Iterate:
    """A point with its field, gradient and the diagonal part of its Hessian."""

    theta: Floats
    field: Field
    gradient: Floats
    diagonal: Floats

    @classmethod
    def at(cls, problem: RankOne, theta: Floats) -> "Iterate":
        # g_i = a_i Σ_j a_j u(θ_i − θ_j) + γθ_i − s_i;  H = diag(a_i Σ_j a_j u'_ij + γ) − (a_i a_j u'_ij)
        field = all_pairs(theta, problem.nu)
        pull, slope = field.pull_and_slope(problem.a)
        gradient = problem.a * pull + problem.gamma * theta - problem.net_wins
        return cls(theta, field, gradient, problem.a * slope + problem.gamma)

    def residual(self, problem: RankOne) -> float:
        """The largest entry of the gradient, each relative to the terms whose rounding makes its error.

        θ_i itself is only known to a relative ulp, which moves the pull by up to d_i|θ_i|/4 ulps.
        """
        exposure, wins = problem.a * problem.a.sum(), np.abs(problem.net_wins)
        terms = exposure * (1 + np.abs(self.theta)) + wins + problem.gamma
        return float(np.max(np.abs(self.gradient) / terms))

    def hessian_times(self, problem: RankOne, v: Floats) -> Floats:
        """Hv."""
        image = self.field.slope(problem.a * v)
        image *= -problem.a
        image += self.diagonal * v
        return image


def minimise(problem: RankOne) -> Iterate:
    """Newton's method; each direction by conjugate gradients, each step proven or checked to descend."""
    at = Iterate.at(problem, _start(problem))
    best = inf
    for _ in range(MAX_NEWTON):
        residual = at.residual(problem)
        if residual <= ROUNDING or (residual <= TOLERANCE and residual > 0.5 * best):
            return at
        best = min(best, residual)
        # Quadratic convergence asks for a direction as good as the residual, but none is needed below rounding.
        at = _newton_step(problem, at, forcing=min(0.1, max(residual, 0.1 * ROUNDING / residual)))
    raise SolverError(
        f"the scores did not converge: residual {best:.1e} > {TOLERANCE:.0e} after {MAX_NEWTON} Newton steps; "
        f"use a larger gamma than gamma={np.min(problem.gamma):g}"
    )


def _bulk_near_zero(net_wins: Floats, exposure: Floats) -> Floats:
    """s − c with Σ_i clip(s_i − c, ±d_i/2) = 0: beyond ±d_i/2 no pull can hold an item, so c does not depend on it."""

    def balance(centre: float) -> float:
        return float(np.clip(net_wins - centre, -exposure / 2, exposure / 2).sum())

    centred = net_wins - net_wins.mean()
    if np.all(np.abs(centred) <= exposure / 2):
        return np.asarray(centred)
    low, high = float(net_wins.min()), float(net_wins.max())
    return net_wins - brentq(balance, low, high, xtol=1e-12 * float(exposure.mean()))


def _start(problem: RankOne) -> Floats:
    many_alike = problem.a.size > DENSE_LIMIT and np.ptp(problem.a) == 0
    return _pooled_start(problem) if many_alike else _lone_start(problem)


def _pooled_start(problem: RankOne) -> Floats:
    """Items with equal a and equal s have equal scores: solve for pools of similar s (ascending here), interpolate.

    A pool of m items is one item with a, s and γ taken m times. Where s̃ has few values, as on a lattice of half
    votes, this is the solution already.
    """
    s = problem.net_wins
    changes = np.flatnonzero(s[1:] != s[:-1]) + 1
    if changes.size >= DENSE_LIMIT:
        # Pools of equal width in s in the bulk, and in log s far out, so that an outlier does not coarsen the rest.
        y = np.arcsinh(s / (problem.a[0] * problem.a.sum() / 8))
        label = np.floor((y - y[0]) * (PILOTS / (y[-1] - y[0])))
        changes = np.flatnonzero(label[1:] != label[:-1]) + 1
    starts = np.concatenate([[0], changes])
    number = np.diff([*starts, s.size]).astype(np.float64)
    total = np.add.reduceat(s, starts)
    pilots = minimise(RankOne(total, number * problem.a[0], number * problem.gamma, problem.nu))
    return np.interp(s, total / number, pilots.theta)


def _lone_start(problem: RankOne) -> Floats:
    """Every item on its own against all others at 0: γθ_i + d_i u(θ_i) = s_i, linearised at 0 for small |s_i|.

    Items that nothing holds back start where they will end, so that they do not drown out the rest in the first steps.
    """
    d, s = problem.a * problem.a.sum(), problem.net_wins
    theta = np.asarray(s / (d / (4 + 2 * problem.nu) + problem.gamma))
    far = np.abs(s) > d / 4
    x, d, target, gamma = np.abs(theta[far]), d[far], np.abs(s[far]), np.broadcast_to(problem.gamma, s.shape)[far]
    for _ in range(20):
        # Newton from the left on a concave increasing function: it rises to the root and never passes it.
        e = np.exp(-x)
        x += (target - gamma * x - d / 2 * (1 - e) / (1 + e)) / (gamma + d * e / (1 + e) ** 2)
    theta[far] = np.copysign(x, s[far])
    return theta


def _newton_step(problem: RankOne, at: Iterate, forcing: float) -> Iterate:
    direction = _conjugate_gradients(problem, at, forcing)
    # |u''| ≤ u', with ties too: both are cumulants of a number from −½ to ½. So φ(t) = objective(θ + tδ) satisfies
    # |φ'''| ≤ Rφ'' with R = max δ − min δ, and
    # φ(1) − φ(0) ≤ φ''(0)·((e^R − R − 1)/R² − 1) < 0 for R ≤ 1 (Bach 2010): a full step surely descends.
    if np.ptp(direction) <= 1:
        return Iterate.at(problem, at.theta + direction)
    return _line_search(problem, at, direction)


def _line_search(problem: RankOne, at: Iterate, direction: Floats) -> Iterate:
    """Bisection on the slope along the direction: up to where it changes sign the convex objective falls."""
    first = float(at.gradient @ direction)
    low, high, step = 0.0, 1.0, 1.0
    for _ in range(60):
        trial = Iterate.at(problem, at.theta + step * direction)
        slope = float(trial.gradient @ direction)
        if slope <= 0 and (step == 1 or slope >= 0.5 * first):
            return trial
        low, high = (step, high) if slope < 0 else (low, step)
        step = (low + high) / 2
    return trial


def _conjugate_gradients(problem: RankOne, at: Iterate, forcing: float) -> Floats:
    """Solves Hδ = −g. Preconditioned by its diagonal, H is the identity minus a smooth kernel: few steps."""
    x = np.zeros_like(at.theta)
    residual = -at.gradient
    scaled = residual / at.diagonal
    search = scaled.copy()
    size = float(residual @ scaled)
    enough = forcing**2 * size
    for _ in range(MAX_CG):
        image = at.hessian_times(problem, search)
        step = size / float(search @ image)
        x += step * search
        image *= step
        residual -= image
        np.divide(residual, at.diagonal, out=scaled)
        before, size = size, float(residual @ scaled)
        if size <= enough:
            break
        search *= size / before
        search += scaled
    return x
