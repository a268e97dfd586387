"""What noisy net wins say about the spread of scores in; the ridge γ with the least expected error out.

This is empirical Bayes, after the noise: it uses s̃, the design and the public law of the noise, and nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from math import exp

import numpy as np
from scipy.special import roots_genlaguerre

from quietrank.arrays import Floats
from quietrank.maths.field import u, u_slope
from quietrank.maths.pairs import Pairs

LEAST_EXPOSURE = 1.0  # noisy exposures and totals are clamped to this, in votes
TYPICAL_SPREAD = 0.6  # prior median of the standard deviation τ of scores, on the logit scale …
SPREAD_LOG_SD = 0.45  # … and the prior standard deviation of log τ: surveys mostly lie between 0.25 and 1.5
POOLS = 45  # more than POOLS² items are pooled into POOLS classes of exposure × POOLS of net wins
EIGEN_LIMIT = 500  # up to this many items the spectrum of a public design is computed exactly


@dataclass(frozen=True)
class Evidence:
    """What the choice of γ is based on: the items, or pools of items with similar exposure and net wins.

    For normal scores of spread τ, s̃_i has the variance v(τ)(d_i² + Σ_j M_ij²) from the scores, where v(τ) is that of
    the expected net wins per vote; κ(τ)d_i from sampling, κ(τ) = E σ'(θ_i − θ_j), because the Fisher information of
    θ_i is the variance of s_i; and ν² from the privacy noise.
    """

    number: Floats  # items in each pool
    exposure: Floats  # d
    signal: Floats  # √(d² + Σ_j M_ij²)
    square: Floats  # (s̃ − mean)²
    curvature: Floats  # quantiles of the spectrum of the Laplacian of M, or of d where that is nearly the same
    exposure_noise: float  # standard deviation of the noise in d, in units of that in s̃


def choose_gamma(evidence: Evidence, noise_sd: float, noise_kurtosis: float, nu: float = 0.0) -> float:
    """The γ with the least expected relative L2 error, averaged over what s̃ says about the spread τ of scores.

    If the estimate were linear, (hθ + noise)/(h + γ) with slope h = κd and noise variance h + ν², the best γ would be
    (1 + ν²/h)/τ². It is convex away from 0, where wins saturate, so the error is computed around that value. `nu` is
    the tie parameter of Davidson's model.
    """
    spread = np.geomspace(0.02, 10, 64)
    weight = _posterior(evidence, spread, noise_sd, noise_kurtosis, nu)
    spread, weight = spread[weight > 0.01], weight[weight > 0.01]
    mean = exp(float(weight @ np.log(spread) / weight.sum()))
    slope = max(float(evidence.curvature.mean()), LEAST_EXPOSURE) / (4 + 2 * nu)
    gamma = (1 + noise_sd**2 / slope) / mean**2 * np.geomspace(0.1, 100, 49)
    error = [w * _relative_errors(gamma, tau, evidence, noise_sd, nu) for w, tau in zip(weight, spread, strict=True)]
    return float(gamma[np.argmin(np.sum(error, axis=0))])


def _relative_errors(gamma: Floats, spread: float, evidence: Evidence, noise_sd: float, nu: float) -> Floats:
    """√E(θ̂ − θ)²/τ for each γ, θ normal of spread τ, where θ̂ solves d·E u(θ̂ − τZ) + γθ̂ = s̃, one item at a time."""
    z, probability = _normal()
    x = 0.2 * np.sinh(np.linspace(-14, 14, 513))
    rate, change = partial(u, nu=nu), partial(u_slope, nu=nu)
    wins, theta = _against_normal(rate, x, spread), spread * z
    expected, slope = _against_normal(rate, theta, spread), _against_normal(change, theta, spread)
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


def _posterior(evidence: Evidence, spread: Floats, noise_sd: float, noise_kurtosis: float, nu: float) -> Floats:
    """Probabilities of the τ in `spread`: a log-normal prior times the likelihood of each s̃_i on its own."""
    z, probability = _normal()
    rate, change = partial(u, nu=nu), partial(u_slope, nu=nu)
    signal = np.array([_against_normal(rate, tau * z, tau) ** 2 @ probability for tau in spread])
    kappa = np.array([_against_normal(change, tau * z, tau) @ probability for tau in spread])
    without_noise = np.outer(signal, evidence.signal**2) + np.outer(kappa, evidence.exposure)
    density = np.zeros_like(without_noise)
    for factor, probability in zip(*_variance_mixture(noise_kurtosis), strict=True):
        variance = without_noise + factor * noise_sd**2
        density += probability * np.exp(-0.5 * evidence.square / variance) / np.sqrt(variance)
    # Because of the floor, an impossible s̃_i says nothing rather than everything.
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


def rank_one_evidence(s: Floats, a: Floats, exposure_noise: float) -> Evidence:
    # The Laplacian is diag(d) minus a matrix of rank one, so its spectrum interlaces with d.
    d = a * (a.sum() - a)
    return _pooled(s, d, np.sqrt(d**2 + a**2 * ((a**2).sum() - a**2)), d, exposure_noise)


def public_evidence(s: Floats, pairs: Pairs) -> Evidence:
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
