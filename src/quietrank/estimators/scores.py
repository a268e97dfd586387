"""Noisy net wins and a design in; centred Bradley–Terry scores out (pure post-processing: no votes here).

The scores minimise  Σ_{i<j} M_ij log(2 cosh((θ_i − θ_j)/2)) − s̃·θ + (γ/2)‖θ‖².

The first sum does not change when θ is shifted, so adding a constant to s̃ only shifts the minimiser. The constant
is chosen so that the bulk of the scores comes out near 0 whatever the outliers; the mean is taken off at the end.

γ = "auto" is an empirical Bayes choice from s̃, the design and the public law of the noise; see choose_gamma.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import exp, inf, isfinite, log, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import roots_genlaguerre

from quietrank.errors import SolverError
from quietrank.estimators.field import DENSE_LIMIT, Field, Floats, all_pairs, u, u_slope
from quietrank.estimators.pairs import Pairs
from quietrank.estimators.solver import Problem, solve

ROUNDING = 1e-13  # no Newton step gets a gradient much below this, relative to the terms that cancel in it
TOLERANCE = 1e-11  # accepted once rounding stops the progress
MAX_NEWTON = 100
MAX_CG = 1000
PILOTS = 400  # pools of items that are solved first to start from, where all a are equal

LEAST_EXPOSURE = 1.0  # noisy exposures and totals are clamped to this, in votes
TYPICAL_SPREAD = 0.6  # prior median of the standard deviation τ of scores, on the logit scale …
SPREAD_LOG_SD = 0.45  # … and the prior standard deviation of log τ: surveys mostly lie between 0.25 and 1.5
POOLS = 45  # more than POOLS² items are pooled into POOLS classes of exposure × POOLS of net wins
EIGEN_LIMIT = 500  # up to this many items the spectrum of a public design is computed exactly


@dataclass(frozen=True)
class UniformDesign:
    """Pairs were drawn uniformly at random: M_ij = T/C(n, 2) for all pairs, T votes in all (T may be noisy)."""

    total: float


@dataclass(frozen=True)
class RankOneDesign:
    """Only the (noisy) number of votes on each item is known: M_ij = a_i a_j, i ≠ j, with these row sums."""

    exposure: Floats


@dataclass(frozen=True)
class PublicDesign:
    """Who met whom is public: M votes on the distinct pairs (i, j)."""

    i: NDArray[np.integer[Any]]
    j: NDArray[np.integer[Any]]
    counts: Floats


Design = UniformDesign | RankOneDesign | PublicDesign


@dataclass(frozen=True)
class Scores:
    """Centred scores θ, the γ they were made with, and the Euclidean norm of the gradient there."""

    theta: Floats
    gamma: float
    gradient_norm: float


def fit_scores(
    net_wins: ArrayLike,
    design: Design,
    *,
    gamma: float | Literal["auto"] = "auto",
    noise_sd: float,
    noise_kurtosis: float | None = None,
) -> Scores:
    """Bradley–Terry scores from noisy net wins s̃.

    noise_sd is the public standard deviation of the privacy noise in one entry of s̃ (0: none), noise_kurtosis its
    excess kurtosis: 3 for Laplace noise (the default), 3/2 for half the difference of two Laplace draws (the
    default of a rank-one design, where wins and losses are noised apart), 0 for Gaussian noise.
    """
    s = _checked(net_wins, design, noise_sd, gamma)
    joint = isinstance(design, RankOneDesign)
    kurtosis = (1.5 if joint else 3.0) if noise_kurtosis is None else noise_kurtosis
    if isinstance(design, PublicDesign):
        pairs = _pairs(design, s.size)
        if gamma == "auto":
            gamma = choose_gamma(_public_evidence(s, pairs), noise_sd, kurtosis)
        solution = solve(Problem.from_tally(pairs, s, gamma), 1e-8 * _scale(s, pairs.exposure, gamma))
        return Scores(solution.scores, gamma, solution.gradient_norm)
    a = rank_one_weights(design, s.size)
    if gamma == "auto":
        # Noise of equal size in wins and losses is twice as large in their sum as in half their difference.
        evidence = _rank_one_evidence(s, a, exposure_noise=2.0 if joint else 0.0)
        gamma = choose_gamma(evidence, noise_sd, kurtosis)
    return _fit_rank_one(s, a, gamma)


def _checked(net_wins: ArrayLike, design: Design, noise_sd: float, gamma: float | Literal["auto"]) -> Floats:
    s = np.array(net_wins, dtype=np.float64)
    if s.ndim != 1 or s.size < 2 or not np.isfinite(s).all():
        raise SolverError(f"net_wins must be a vector of at least 2 finite numbers, got shape {s.shape}")
    if not (noise_sd >= 0 and isfinite(noise_sd)):
        raise SolverError(f"noise_sd must be finite and >= 0, got noise_sd={noise_sd}")
    if gamma != "auto" and not (gamma > 0 and isfinite(gamma)):
        raise SolverError(f'gamma must be finite and > 0, or "auto", got gamma={gamma}')
    if isinstance(design, RankOneDesign) and np.shape(design.exposure) != s.shape:
        raise SolverError(f"exposure must have one entry per item, got {np.shape(design.exposure)} for {s.size}")
    return s


def _scale(s: Floats, exposure: Floats, gamma: float) -> float:
    """A lower bound of max(1, max |θ_i|): opponents pull with at most d_i/2, only γθ_i can hold the rest of s̃_i.

    Digits beyond 1e-8 of the largest score would take extended precision, and say nothing after noise like that.
    """
    return max(1.0, float(np.max(np.abs(s - s.mean()) - exposure / 2)) / gamma)


def _pairs(design: PublicDesign, n: int) -> Pairs:
    """The pairs with i < j and in order; only their counts will be used."""
    i, j = np.minimum(design.i, design.j), np.maximum(design.i, design.j)
    order = np.lexsort((j, i))
    half = np.asarray(design.counts, dtype=np.float64)[order] / 2
    return Pairs(n, i[order].astype(np.int32), j[order].astype(np.int32), half, half)


# --- the weights a of a rank-one design -----------------------------------------------------------------------


def rank_one_weights(design: UniformDesign | RankOneDesign, n: int) -> Floats:
    """a with M_ij = a_i a_j for i ≠ j."""
    if isinstance(design, UniformDesign):
        return np.full(n, sqrt(max(design.total, LEAST_EXPOSURE) / (n * (n - 1) / 2)))
    d = clamped_exposure(design.exposure)
    # The weight of the largest item, and only of it, may exceed A/2 (A = Σa): two such would exceed A.
    top = int(np.argmax(d))
    total, top_is_heavy = _total_weight(d, top)
    a = _light_root(d, total)
    if top_is_heavy:
        a[top] = total - a[top]
    return a


def clamped_exposure(exposure: ArrayLike) -> Floats:
    """Noisy exposures made possible: positive, and none above the sum of the others (nobody plays himself)."""
    d = np.maximum(np.asarray(exposure, dtype=np.float64), LEAST_EXPOSURE)
    if d.size == 2:  # one pair: both exposures count the same votes
        return np.full(2, d.mean())
    ascending = np.partition(d, [-2, -1])
    second, others = ascending[-2], ascending[:-2].sum()
    # At equality only pairs with the largest item would have met, and the other weights would vanish.
    return np.asarray(np.minimum(d, second + (1 - 1e-4) * others))


def _light_root(d: Floats, total: float) -> Floats:
    # The smaller root of a(A − a) = d, in the form that does not cancel.
    return np.asarray(2 * d / (total + np.sqrt(np.maximum(total**2 - 4 * d, 0))))


def _total_weight(d: Floats, top: int) -> tuple[float, bool]:
    """A = Σa, and whether the largest item takes the larger root A − light_top."""
    if d.size == 2:
        return 2 * sqrt(d[0]), False
    # A ≥ 2√d_top, where the roots of the largest meet. Σa = A reads Σ_i light_i = A if it is light, else
    # Σ_{i≠top} light_i = light_top. Both differences, times A, change sign once on A ≥ 2√d_top.
    least = 2 * sqrt(d[top])
    heavy = float(_light_root(d, least).sum()) < least

    def excess(log_total: float) -> float:
        total = exp(log_total)
        light = _light_root(d, total)
        return total * float(light.sum() - (2 * light[top] if heavy else total))

    low = high = log(least)
    while (excess(high) <= 0) == heavy:
        high += 1
    return exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15)), heavy


# --- gamma="auto" ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """What the choice of γ looks at: the items, or pools of items with like exposure and net wins.

    For normal scores of spread τ, s̃_i has the variance v(τ)(d_i² + Σ_j M_ij²) from the scores, where v(τ) is that of
    the expected net wins per vote; κ(τ)d_i from sampling, κ(τ) = E σ'(θ_i − θ_j), because the Fisher information of
    θ_i is the variance of s_i; and ν² from the privacy noise.
    """

    number: Floats  # items in each pool
    exposure: Floats  # d
    signal: Floats  # √(d² + Σ_j M_ij²)
    square: Floats  # (s̃ − mean)²
    curvature: Floats  # quantiles of the spectrum of the Laplacian of M, of d where that is nearly the same
    exposure_noise: float  # standard deviation of the noise in d, in units of that in s̃


def choose_gamma(evidence: Evidence, noise_sd: float, noise_kurtosis: float) -> float:
    """The γ with the least expected relative L2 error, averaged over what s̃ says about the spread τ of scores.

    Were the estimate linear, (hθ + noise)/(h + γ) with slope h = κd and noise variance h + ν², the best γ would be
    (1 + ν²/h)/τ². It is convex away from 0, where wins saturate, so the error is computed around that value.
    """
    spread = np.geomspace(0.02, 10, 64)
    weight = _posterior(evidence, spread, noise_sd, noise_kurtosis)
    spread, weight = spread[weight > 0.01], weight[weight > 0.01]
    mean = exp(float(weight @ np.log(spread) / weight.sum()))
    slope = max(float(evidence.curvature.mean()), LEAST_EXPOSURE) / 4
    gamma = (1 + noise_sd**2 / slope) / mean**2 * np.geomspace(0.1, 100, 49)
    error = [w * _relative_errors(gamma, tau, evidence, noise_sd) for w, tau in zip(weight, spread, strict=True)]
    return float(gamma[np.argmin(np.sum(error, axis=0))])


def _relative_errors(gamma: Floats, spread: float, evidence: Evidence, noise_sd: float) -> Floats:
    """√E(θ̂ − θ)²/τ for each γ, θ normal of spread τ, where θ̂ solves d·E u(θ̂ − τZ) + γθ̂ = s̃, one item at a time."""
    z, probability = _normal()
    x = 0.2 * np.sinh(np.linspace(-14, 14, 513))
    wins, theta = _against_normal(u, x, spread), spread * z
    expected, slope = _against_normal(u, theta, spread), _against_normal(u_slope, theta, spread)
    # An error η in d acts like −η·E u in s̃.
    noise = noise_sd**2 * (1 + (evidence.exposure_noise * expected) ** 2)
    squares = np.zeros(gamma.size)
    for d in evidence.curvature:
        s = d * expected[:, None] + np.sqrt(d * slope + noise)[:, None] * z
        for k, g in enumerate(gamma):
            estimate = np.interp(s, d * wins + g * x, x)
            squares[k] += probability @ (estimate - theta[:, None]) ** 2 @ probability
    return np.sqrt(squares / evidence.curvature.size) / spread


@cache
def _normal() -> tuple[Floats, Floats]:
    """Nodes z and probabilities of a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    return nodes, weights / weights.sum()


def _against_normal(f: Callable[[Floats], Floats], x: Floats, spread: float) -> Floats:
    """E f(x − τZ): what an item with score x meets on average among normal scores of spread τ."""
    z, probability = _normal()
    return np.asarray(f(x[:, None] - spread * z) @ probability)


def _posterior(evidence: Evidence, spread: Floats, noise_sd: float, noise_kurtosis: float) -> Floats:
    """Probabilities of the τ in `spread`: a log-normal prior times the likelihood of each s̃_i on its own."""
    z, probability = _normal()
    signal = np.array([_against_normal(u, tau * z, tau) ** 2 @ probability for tau in spread])
    kappa = np.array([_against_normal(u_slope, tau * z, tau) @ probability for tau in spread])
    without_noise = np.outer(signal, evidence.signal**2) + np.outer(kappa, evidence.exposure)
    density = np.zeros_like(without_noise)
    for factor, probability in zip(*_variance_mixture(noise_kurtosis), strict=True):
        variance = without_noise + factor * noise_sd**2
        density += probability * np.exp(-0.5 * evidence.square / variance) / np.sqrt(variance)
    # The floor makes an impossible s̃_i say nothing rather than everything.
    log_likelihood = np.log(np.maximum(density, 1e-300)) @ evidence.number
    log_prior = -0.5 * (np.log(spread / TYPICAL_SPREAD) / SPREAD_LOG_SD) ** 2
    weight = np.exp(log_likelihood + log_prior - (log_likelihood + log_prior).max())
    return np.asarray(weight / weight.sum())


def _variance_mixture(kurtosis: float) -> tuple[Floats, Floats]:
    """Noise as a normal of random variance ν²·E with E ~ Gamma(q, 1/q), q = 3/kurtosis: values of E, probabilities.

    q = 1 is exactly Laplace noise, q = 2 half the difference of two Laplace draws; it lets the likelihood blame
    the noise for an outlier, where a normal law would blame the spread of the scores.
    """
    if kurtosis < 0.1:
        return np.ones(1), np.ones(1)
    shape = 3 / kurtosis
    nodes, weights = roots_genlaguerre(16, shape - 1)
    return np.asarray(nodes / shape), np.asarray(weights / weights.sum())


def _rank_one_evidence(s: Floats, a: Floats, exposure_noise: float) -> Evidence:
    # The Laplacian is diag(d) less a matrix of rank one, so its spectrum interlaces with d.
    d = a * (a.sum() - a)
    return _pooled(s, d, np.sqrt(d**2 + a**2 * ((a**2).sum() - a**2)), d, exposure_noise)


def _public_evidence(s: Floats, pairs: Pairs) -> Evidence:
    d, squared = pairs.exposure, pairs.counts**2
    sum_of_squares = np.bincount(pairs.i, squared, s.size) + np.bincount(pairs.j, squared, s.size)
    spectrum = _spectrum(pairs) if s.size <= EIGEN_LIMIT else d
    return _pooled(s, d, np.sqrt(d**2 + sum_of_squares), spectrum, 0.0)


def _spectrum(pairs: Pairs) -> Floats:
    """Eigenvalues of the Laplacian of M without the 0 of the constant vector."""
    laplacian = np.diag(pairs.exposure)
    laplacian[pairs.i, pairs.j] = laplacian[pairs.j, pairs.i] = -pairs.counts
    return np.asarray(np.maximum(np.linalg.eigvalsh(laplacian)[1:], 0))


def _pooled(s: Floats, d: Floats, signal: Floats, spectrum: Floats, exposure_noise: float) -> Evidence:
    square = (s - s.mean()) ** 2
    curvature = np.quantile(spectrum, (np.arange(5) + 0.5) / 5) if np.ptp(spectrum) > 0 else spectrum[:1]
    if s.size <= POOLS**2:
        return Evidence(np.ones(s.size), d, signal, square, curvature, exposure_noise)
    order = np.argsort(square)
    if np.ptp(d) > 0:
        classes = np.searchsorted(np.quantile(d, np.arange(1, POOLS) / POOLS), d).astype(np.uint8)
        order = order[np.argsort(classes[order], kind="stable")]
    starts = np.arange(POOLS**2) * s.size // POOLS**2
    number = np.diff([*starts, s.size]).astype(np.float64)
    d, signal, square = (np.add.reduceat(x[order], starts) / number for x in (d, signal, square))
    return Evidence(number, d, signal, square, curvature, exposure_noise)


# --- the minimiser for M_ij = a_i a_j -------------------------------------------------------------------------


def _fit_rank_one(s: Floats, a: Floats, gamma: float) -> Scores:
    # With equal a the scores are in the order of s, which spares the field its sorting at every step.
    order = np.argsort(s)
    problem = RankOne(_bulk_near_zero(s[order], a[order] * a.sum()), a[order], gamma)
    solution = minimise(problem)
    theta = np.empty_like(s)
    theta[order] = solution.theta - solution.theta.mean()
    return Scores(theta, gamma, float(np.linalg.norm(solution.gradient)))


@dataclass(frozen=True)
class RankOne:
    """min over θ for M_ij = a_i a_j, i ≠ j. The pair (i, i) would only add a constant, so sums may include it."""

    net_wins: Floats
    a: Floats
    gamma: float | Floats  # one for all, or one per item


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
    """s − c with Σ_i clip(s_i − c, ±d_i/2) = 0: beyond ±d_i/2 no pull can hold an item, so it has no say in c."""

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
    """Items with equal a and equal s have equal scores: solve for pools of like s (here ascending), interpolate.

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
    pilots = minimise(RankOne(total, number * problem.a[0], number * problem.gamma))
    return np.interp(s, total / number, pilots.theta)


def _lone_start(problem: RankOne) -> Floats:
    """Every item on its own against all others at 0: γθ_i + d_i u(θ_i) = s_i, linearised at 0 for small |s_i|.

    Items that nothing holds back start where they end, so that they do not drown the rest in the first steps.
    """
    d, s = problem.a * problem.a.sum(), problem.net_wins
    theta = np.asarray(s / (d / 4 + problem.gamma))
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
    # |u''| ≤ u' makes φ(t) = objective(θ + tδ) satisfy |φ'''| ≤ Rφ'' with R = max δ − min δ, so that
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
