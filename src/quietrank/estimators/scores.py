"""Noisy net wins and a design in; centred Bradley–Terry scores out (pure post-processing: no votes here).

The scores minimise  Σ_{i<j} M_ij log(2 cosh((θ_i − θ_j)/2)) − s̃·θ + (γ/2)‖θ‖².

The first sum does not change when θ is shifted, so the centred minimiser only depends on the centred s̃, and it
also minimises the shift-free objective with (γ/2)‖θ − mean(θ)‖². That one is solved, with θ near 0 for the bulk of
the items whatever the outliers, because one absurd s̃_i would move a mean, and all digits of the others with it.
"""

from dataclasses import dataclass

import numpy as np

from quietrank.errors import SolverError
from quietrank.estimators.field import Field, Floats, all_pairs

ROUNDING = 1e-13  # no Newton step gets a gradient much below this, relative to the terms that cancel in it
TOLERANCE = 1e-11  # accepted once rounding stops the progress
MAX_NEWTON = 100
MAX_CG = 1000


@dataclass(frozen=True)
class RankOne:
    """min over θ for M_ij = a_i a_j, i ≠ j. The pair (i, i) would only add a constant, so sums may include it."""

    net_wins: Floats
    a: Floats
    gamma: float


@dataclass(frozen=True)
class Iterate:
    """A point with its field, gradient and the diagonal part of its Hessian."""

    theta: Floats
    field: Field
    gradient: Floats
    diagonal: Floats

    @classmethod
    def at(cls, problem: RankOne, theta: Floats) -> "Iterate":
        # g = C(a_i Σ_j a_j u(θ_i − θ_j) + γθ_i − s_i), where C takes off the mean; the pulls have mean 0 anyway.
        # H = C(diag(a_i Σ_j a_j u'_ij + γ) − (a_i a_j u'_ij)).
        field = all_pairs(theta)
        pull, slope = field.pull_and_slope(problem.a)
        gradient = problem.a * pull + problem.gamma * theta - problem.net_wins
        return cls(theta, field, gradient - gradient.mean(), problem.a * slope + problem.gamma)

    def residual(self, problem: RankOne) -> float:
        """The largest entry of the gradient, each relative to its rounding error in units of the float's ulp.

        θ_i itself is only known to |θ_i| ulps, which moves the pull by up to d_i|θ_i|/4 ulps.
        """
        exposure, wins = problem.a * problem.a.sum(), np.abs(problem.net_wins)
        terms = exposure * (1 + np.abs(self.theta)) + wins + wins.mean() + problem.gamma
        return float(np.max(np.abs(self.gradient) / terms))

    def hessian_times(self, problem: RankOne, v: Floats) -> Floats:
        image = self.diagonal * v - problem.a * self.field.slope(problem.a * v)
        return np.asarray(image - image.mean())


def minimise(problem: RankOne) -> Iterate:
    """Newton's method; each direction by conjugate gradients, each step proven or checked to descend."""
    at = Iterate.at(problem, _start(problem))
    best = np.inf
    for _ in range(MAX_NEWTON):
        residual = at.residual(problem)
        if residual <= ROUNDING or (residual <= TOLERANCE and residual > 0.5 * best):
            return at
        best = min(best, residual)
        at = _newton_step(problem, at, forcing=min(0.1, residual))
    raise SolverError(
        f"the scores did not converge: residual {best:.1e} > {TOLERANCE:.0e} after {MAX_NEWTON} Newton steps; "
        f"use a larger gamma than gamma={problem.gamma:g}"
    )


def _start(problem: RankOne) -> Floats:
    # At θ = 0 the Hessian is diag(d/4 + γ) but for one rank.
    return (problem.net_wins - np.median(problem.net_wins)) / (problem.a * problem.a.sum() / 4 + problem.gamma)


def _newton_step(problem: RankOne, at: Iterate, forcing: float) -> Iterate:
    direction = _conjugate_gradients(problem, at, forcing)
    # |u''| ≤ u' makes φ(t) = objective(θ + tδ) satisfy |φ'''| ≤ Rφ'' with R = max δ − min δ, so that
    # φ(1) − φ(0) ≤ φ''(0)·((e^R − R − 1)/R² − 1) < 0 for R ≤ 1 (Bach 2010): a full step surely descends.
    if np.ptp(direction) <= 1:
        return Iterate.at(problem, at.theta + direction)
    return _line_search(problem, at, direction)


def _line_search(problem: RankOne, at: Iterate, direction: Floats) -> Iterate:
    # Bisection on the slope along the direction: up to where it changes sign the convex objective falls.
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
    # Solves Hδ = −g. Preconditioned by its diagonal, H is the identity minus a smooth kernel: few steps.
    x = np.zeros_like(at.theta)
    residual = -at.gradient
    scaled = residual / at.diagonal
    search = scaled
    size = float(residual @ scaled)
    enough = forcing**2 * size
    for _ in range(MAX_CG):
        image = at.hessian_times(problem, search)
        step = size / float(search @ image)
        x += step * search
        residual -= step * image
        scaled = residual / at.diagonal
        before, size = size, float(residual @ scaled)
        if size <= enough:
            break
        search = scaled + (size / before) * search
    return x
