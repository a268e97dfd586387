"""Noisy net wins and a design in; centred Bradley–Terry scores out (pure post-processing: no votes here).

The scores minimise  Σ_{i<j} M_ij log(2 cosh((θ_i − θ_j)/2)) − s̃·θ + (γ/2)‖θ‖².

The first sum does not change when θ is shifted, so adding a constant to s̃ only shifts the minimiser. The constant
is chosen so that the bulk of the scores comes out near 0 whatever the outliers, and the mean is taken off at the end.
"""

from dataclasses import dataclass
from math import exp, isfinite, log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import roots_genlaguerre

from quietrank.errors import SolverError
from quietrank.estimators.field import Field, Floats, all_pairs
from quietrank.estimators.pairs import Pairs
from quietrank.estimators.solver import Problem, solve

ROUNDING = 1e-13  # no Newton step gets a gradient much below this, relative to the terms that cancel in it
TOLERANCE = 1e-11  # accepted once rounding stops the progress
MAX_NEWTON = 100
MAX_CG = 1000

LEAST_EXPOSURE = 1.0  # noisy exposures are clamped to this, in votes
TYPICAL_SPREAD = 0.6  # prior median of the standard deviation τ of scores, on the logit scale …
SPREAD_DECADES = 0.45  # … and the prior standard deviation of log τ
NQ = 24
SIDE = 45  #  # items are pooled into this many groups of like exposure to choose γ
EIGEN_LIMIT = 500  # up to this many items the modes of a public design are computed exactly


@dataclass(frozen=True)
class UniformDesign:
    """Pairs were drawn uniformly at random: M_ij = T/C(n, 2) for all pairs, T votes in all (T may be noisy)."""

    total: float


@dataclass(frozen=True)
class RankOneDesign:
    """Only the (noisy) number of votes on each item is known: M_ij = a_i a_j with these row sums."""

    exposure: Floats


@dataclass(frozen=True)
class PublicDesign:
    """Who met whom is public: M votes on the distinct pairs (i, j)."""

    i: NDArray[np.integer]
    j: NDArray[np.integer]
    counts: Floats


Design = UniformDesign | RankOneDesign | PublicDesign


@dataclass(frozen=True)
class Scores:
    """Centred scores θ, the γ they were made with, and the Euclidean norm of the gradient there."""

    theta: Floats
    gamma: float
    gradient_norm: float


def fit_scores(
    net_wins: ArrayLike, design: Design, *, noise_sd: float, gamma: float | Literal["auto"] = "auto", noise_kurtosis: float = 3.0
) -> Scores:
    """Bradley–Terry scores from noisy net wins s̃, whose privacy noise has the public standard deviation noise_sd."""
    s = _checked(net_wins, noise_sd, gamma)
    if s.size == 1:
        return Scores(np.zeros(1), 1.0 if gamma == "auto" else gamma, 0.0)
    if isinstance(design, PublicDesign):
        pairs = _pairs(design, s.size)
        ridge = choose_gamma(_public_evidence(s, pairs), noise_sd, noise_kurtosis) if gamma == "auto" else gamma
        solution = solve(Problem.from_tally(pairs, s, ridge))
        return Scores(solution.scores, ridge, solution.gradient_norm)
    a = _uniform_weights(s.size, design.total) if isinstance(design, UniformDesign) else rank_one(design.exposure)
    ridge = choose_gamma(_rank_one_evidence(s, a), noise_sd, noise_kurtosis) if gamma == "auto" else gamma
    return _fit_rank_one(s, a, ridge)


def _checked(net_wins: ArrayLike, noise_sd: float, gamma: float | Literal["auto"]) -> Floats:
    s = np.array(net_wins, dtype=np.float64)
    if s.ndim != 1 or s.size == 0 or not np.all(np.isfinite(s)):
        raise SolverError(f"net_wins must be a non-empty vector of finite numbers, got shape {s.shape}")
    if not (noise_sd >= 0 and isfinite(noise_sd)):
        raise SolverError(f"noise_sd must be finite and >= 0, got noise_sd={noise_sd}")
    if gamma != "auto" and not (gamma > 0 and isfinite(gamma)):
        raise SolverError(f'gamma must be finite and > 0, or "auto", got gamma={gamma}')
    return s


def _pairs(design: PublicDesign, n: int) -> Pairs:
    """The distinct pairs i < j in order; only their counts will be used."""
    i, j = np.minimum(design.i, design.j), np.maximum(design.i, design.j)
    order = np.lexsort((j, i))
    half = np.asarray(design.counts, dtype=np.float64)[order] / 2
    return Pairs(n, i[order].astype(np.int32), j[order].astype(np.int32), half, half)


def _uniform_weights(n: int, total: float) -> Floats:
    # a_i a_j = T/C(n, 2)
    return np.full(n, sqrt(max(total, LEAST_EXPOSURE) / (n * (n - 1) / 2)))


def rank_one(exposure: ArrayLike) -> Floats:
    """a > 0 with a_i (A − a_i) = d_i, A = Σa: rank-one counts a_i a_j, i ≠ j, with row sums d.

    d is clamped to at least LEAST_EXPOSURE, and to (just under) half its sum: no item can have met more
    opponents than there are votes on the others.
    """
    d = np.maximum(np.asarray(exposure, dtype=np.float64), LEAST_EXPOSURE)
    if d.size == 2:
        return np.full(2, sqrt(d.min()))
    top = int(np.argmax(d))
    d[top] = min(d[top], (1 - 1e-6) * (d.sum() - d[top]))
    top = int(np.argmax(d))
    # For given A the roots are small_i = 2d_i/(A + √(A² − 4d_i)) and A − small_i; two items cannot both take more
    # than half of A, so only the largest may take the second. Σa = A then reads Σ small = A or
    # Σ_{i≠top} small_i = small_top; at A = 2√d_top the two roots of the largest meet and decide which it is.
    sign = np.ones_like(d)
    least = 2 * sqrt(d[top])
    if (_small_roots(d, least)).sum() < least:
        sign[top] = -1

    def excess(log_a: float) -> float:
        small = _small_roots(d, exp(log_a))
        return float(sign @ small - (exp(log_a) if sign[top] > 0 else 0.0)) * exp(log_a)

    low = log(least)
    high = low + 1
    while (excess(high) > 0) == (sign[top] > 0):
        high += 1
    total = exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15))
    a = _small_roots(d, total)
    if sign[top] < 0:
        a[top] = total - a[top]
    return a


def _small_roots(d: Floats, total: float) -> Floats:
    return np.asarray(2 * d / (total + np.sqrt(np.maximum(total**2 - 4 * d, 0))))


def _fit_rank_one(s: Floats, a: Floats, gamma: float) -> Scores:
    # With equal a the scores are in the order of s, which spares the field its sorting at every step.
    order = np.argsort(s)
    problem = RankOne(_without_bulk(s[order], a[order] * a.sum()), a[order], gamma)
    solution = minimise(problem)
    theta = np.empty_like(s)
    theta[order] = solution.theta - solution.theta.mean()
    return Scores(theta, gamma, float(np.linalg.norm(solution.gradient)))


@dataclass(frozen=True)
class Evidence:
    """What the choice of γ looks at: items pooled into groups of like exposure and net wins.

    Linearised, s̃_i = κ(τ)(d_i θ_i − Σ_j M_ij θ_j) + sampling noise + privacy noise, where κ(τ) = E σ'(θ_i − θ_j).
    """

    number: Floats  # items in each group
    exposure: Floats  # d
    signal: Floats  # √(d² + Σ_j M_ij²), so that κτ·signal is the standard deviation of the first term
    square: Floats  # (s̃ − mean)²
    curvature: Floats  # the spectrum of the Laplacian of M without its 0, or the exposures in its place


def _pool(s: Floats, d: Floats, signal: Floats, curvature: Floats) -> Evidence:
    square = (s - s.mean()) ** 2
    order = np.lexsort((square, np.argsort(np.argsort(d)) * SIDE // d.size)) if d.size > SIDE**2 else np.arange(d.size)
    starts = np.unique(np.arange(SIDE**2) * d.size // SIDE**2)
    number = np.diff([*starts, d.size]).astype(np.float64)
    pooled = [np.add.reduceat(x[order], starts) / number for x in (d, signal, square)]
    return Evidence(number, *pooled, curvature)


def _rank_one_evidence(s: Floats, a: Floats) -> Evidence:
    # diag(d) minus rank one: but for the constant direction the spectrum interlaces with d
    d = a * (a.sum() - a)
    signal = np.sqrt(d**2 + a**2 * ((a**2).sum() - a**2))
    return _pool(s, d, signal, np.quantile(d, np.linspace(0, 1, 101)) if d.size > 101 else d)


def _public_evidence(s: Floats, pairs: Pairs) -> Evidence:
    d, m = pairs.exposure, pairs.counts**2
    squares = np.bincount(pairs.i, m, s.size) + np.bincount(pairs.j, m, s.size)
    return _pool(s, d, np.sqrt(d**2 + squares), _spectrum(pairs) if s.size <= EIGEN_LIMIT else d)


def _spectrum(pairs: Pairs) -> Floats:
    laplacian = np.diag(pairs.exposure)
    laplacian[pairs.i, pairs.j] = laplacian[pairs.j, pairs.i] = -pairs.counts
    return np.maximum(np.linalg.eigvalsh(laplacian)[1:], 0)


def choose_gamma(evidence: Evidence, noise_sd: float, kurtosis: float) -> float:
    spread = np.geomspace(0.02, 10, 80)
    weight = _posterior(evidence, spread, noise_sd, kurtosis)
    gamma = np.geomspace(1e-3, 1e6, 451)
    h = _kappa(spread)[:, None, None] * evidence.curvature[None, :, None]
    t, g = spread[:, None, None], gamma[None, None, :]
    risk = (((g * t) ** 2 + h + noise_sd**2) / (h + g) ** 2).mean(axis=1)
    expected = (weight / spread) @ np.sqrt(risk)
    return float(gamma[np.argmin(expected)])


def _kappa(spread: Floats) -> Floats:
    # E σ'(θ_i − θ_j) for normal scores of spread τ, with σ(x) ≈ Φ(x√(π/8)).
    return np.asarray(0.25 / np.sqrt(1 + np.pi / 4 * spread**2))


def _posterior(evidence: Evidence, spread: Floats, noise_sd: float, kurtosis: float) -> Floats:
    kappa = _kappa(spread)[:, None]
    plain = (kappa * spread[:, None] * evidence.signal) ** 2 + kappa * evidence.exposure
    factor, probability = _mixture(kurtosis)
    v = plain[None] + noise_sd**2 * factor[:, None, None]
    density = probability @ (np.exp(-0.5 * evidence.square / v) / np.sqrt(v)).reshape(factor.size, -1)
    loglik = np.log(density.reshape(plain.shape) + 1e-300) @ evidence.number
    logprior = -0.5 * (np.log(spread / TYPICAL_SPREAD) / SPREAD_DECADES) ** 2
    total = loglik + logprior
    weight = np.exp(total - total.max())
    return np.asarray(weight / weight.sum())


def _mixture(kurtosis: float):
    if kurtosis < 0.1:
        return np.ones(1), np.ones(1)
    x, w = roots_genlaguerre(NQ, 3 / kurtosis - 1)
    return x * kurtosis / 3, w / w.sum()


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
        # g_i = a_i Σ_j a_j u(θ_i − θ_j) + γθ_i − s_i;  H = diag(a_i Σ_j a_j u'_ij + γ) − (a_i a_j u'_ij)
        field = all_pairs(theta)
        pull, slope = field.pull_and_slope(problem.a)
        gradient = problem.a * pull + problem.gamma * theta - problem.net_wins
        return cls(theta, field, gradient, problem.a * slope + problem.gamma)

    def residual(self, problem: RankOne) -> float:
        """The largest entry of the gradient, each relative to its rounding error in units of the float's ulp.

        θ_i itself is only known to |θ_i| ulps, which moves the pull by up to d_i|θ_i|/4 ulps.
        """
        exposure, wins = problem.a * problem.a.sum(), np.abs(problem.net_wins)
        terms = exposure * (1 + np.abs(self.theta)) + wins + problem.gamma
        return float(np.max(np.abs(self.gradient) / terms))

    def hessian_times(self, problem: RankOne, v: Floats) -> Floats:
        return self.diagonal * v - problem.a * self.field.slope(problem.a * v)


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


def _without_bulk(net_wins: Floats, exposure: Floats) -> Floats:
    """s − c with Σ_i clip(s_i − c, ±d_i/2) = 0: beyond ±d_i/2 no pull can hold an item, so it has no say in c."""
    centre = float(np.median(net_wins))
    for _ in range(100):
        clipped = np.clip(net_wins - centre, -exposure / 2, exposure / 2)
        inside = np.count_nonzero(np.abs(clipped) < exposure / 2)
        step = float(clipped.sum()) / max(1, inside)
        centre += step
        if abs(step) <= 1e-9 * exposure.mean():
            break
    return net_wins - centre


def _start(problem: RankOne) -> Floats:
    """Every item on its own against all others at 0: γθ_i + d_i u(θ_i) = s_i, linearised at 0 for small |s_i|.

    Items that nothing holds back start where they end, so that they do not drown the rest in the first steps.
    """
    exposure, s = problem.a * problem.a.sum(), problem.net_wins
    theta = s / (exposure / 4 + problem.gamma)
    far = np.abs(s) > exposure / 4
    x, d, target = np.abs(theta[far]), exposure[far], np.abs(s[far])
    for _ in range(20):
        # Newton from the left on a concave increasing function: it rises to the root and never passes it.
        e = np.exp(-x)
        x += (target - problem.gamma * x - d / 2 * (1 - e) / (1 + e)) / (problem.gamma + d * e / (1 + e) ** 2)
    theta[far] = np.copysign(x, s[far])
    return theta


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
