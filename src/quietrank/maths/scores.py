"""Noisy net wins and a design in; centred Bradley–Terry scores out (pure post-processing: no votes here).

The scores minimise  Σ_{i<j} M_ij log(2 cosh((θ_i − θ_j)/2)) − s̃·θ + (γ/2)‖θ‖².

γ = "auto" is an empirical Bayes choice from s̃, the design and the public law of the noise; see ridge.py.
"""

from dataclasses import dataclass
from math import exp, isfinite, log, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from quietrank.arrays import Floats
from quietrank.errors import SolverError
from quietrank.maths.pairs import Pairs
from quietrank.maths.problem import Problem
from quietrank.maths.rank_one import fit_rank_one
from quietrank.maths.ridge import LEAST_EXPOSURE, choose_gamma, public_evidence, rank_one_evidence
from quietrank.maths.solver import solve


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
    default for a rank-one design, where wins and losses have separate noise), 0 for Gaussian noise.
    """
    s = _checked(net_wins, design, noise_sd, gamma)
    joint = isinstance(design, RankOneDesign)
    kurtosis = (1.5 if joint else 3.0) if noise_kurtosis is None else noise_kurtosis
    if isinstance(design, PublicDesign):
        pairs = _pairs(design, s.size)
        if gamma == "auto":
            gamma = choose_gamma(public_evidence(s, pairs), noise_sd, kurtosis)
        solution = solve(Problem.from_tally(pairs, s, gamma), 1e-8 * _scale(s, pairs.exposure, gamma))
        return Scores(solution.scores, gamma, solution.gradient_norm)
    a = rank_one_weights(design, s.size)
    if gamma == "auto":
        # Noise of equal size in wins and losses is twice as large in their sum as in half their difference.
        evidence = rank_one_evidence(s, a, exposure_noise=2.0 if joint else 0.0)
        gamma = choose_gamma(evidence, noise_sd, kurtosis)
    theta, gradient_norm = fit_rank_one(s, a, gamma)
    return Scores(theta, gamma, gradient_norm)


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

    Digits beyond 1e-8 of the largest score would take extended precision, and mean nothing after that much noise.
    """
    return max(1.0, float(np.max(np.abs(s - s.mean()) - exposure / 2)) / gamma)


def _pairs(design: PublicDesign, n: int) -> Pairs:
    """The pairs with i < j and in order; only their counts will be used."""
    i, j = np.minimum(design.i, design.j), np.maximum(design.i, design.j)
    order = np.lexsort((j, i))
    half = np.asarray(design.counts, dtype=np.float64)[order] / 2
    return Pairs(n, i[order].astype(np.int32), j[order].astype(np.int32), half, half)


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
    """Noisy exposures moved to possible values: positive, and none above the sum of the others."""
    d = np.maximum(np.asarray(exposure, dtype=np.float64), LEAST_EXPOSURE)
    if d.size == 2:  # one pair: both exposures count the same votes
        return np.full(2, d.mean())
    ascending = np.partition(d, [-2, -1])
    second, others = ascending[-2], ascending[:-2].sum()
    # At equality all pairs that met would include the largest item, and the other weights would vanish.
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
