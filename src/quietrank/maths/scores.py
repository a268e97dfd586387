"""Noisy net wins and a design in; centred Bradley–Terry scores out (pure post-processing: no votes here).

The scores minimise  Σ_{i<j} M_ij log(2 cosh((θ_i − θ_j)/2)) − s̃·θ + (γ/2)‖θ‖².

With a tie parameter ν the logarithm is that of 2 cosh((θ_i − θ_j)/2) + ν (davidson.py), and ν is found from K, the
weight of all ties: the likelihood is jointly concave in the scores and ln ν.

γ = "auto" is an empirical Bayes choice from s̃, the design and the public law of the noise; see ridge.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import exp, inf, isfinite, log, sqrt
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from quietrank.arrays import Floats
from quietrank.errors import SolverError
from quietrank.maths.davidson import Davidson, equal_chance, tie
from quietrank.maths.field import all_pairs
from quietrank.maths.links import LOGISTIC
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
    nu: float = 0.0
    """the tie parameter of Davidson's model; 0: ties are half wins"""


def fit_scores(
    net_wins: ArrayLike,
    design: Design,
    *,
    gamma: float | Literal["auto"] = "auto",
    noise_sd: float,
    noise_kurtosis: float | None = None,
    nu: float = 0.0,
) -> Scores:
    """Bradley–Terry scores from noisy net wins s̃.

    noise_sd is the public standard deviation of the privacy noise in one entry of s̃ (0: none), noise_kurtosis its
    excess kurtosis: 3 for Laplace noise (the default), 3/2 for half the difference of two Laplace draws (the
    default for a rank-one design, where wins and losses have separate noise), 0 for Gaussian noise. nu is the tie
    parameter of Davidson's model, if it is known; `fit_with_ties` finds it.
    """
    s = _checked(net_wins, design, noise_sd, gamma)
    joint = isinstance(design, RankOneDesign)
    kurtosis = (1.5 if joint else 3.0) if noise_kurtosis is None else noise_kurtosis
    if isinstance(design, PublicDesign):
        pairs = _pairs(design, s.size)
        if gamma == "auto":
            gamma = choose_gamma(public_evidence(s, pairs), noise_sd, kurtosis, nu)
        link = Davidson(nu) if nu > 0 else LOGISTIC
        solution = solve(Problem.from_tally(pairs, s, gamma, link), 1e-8 * _scale(s, pairs.exposure, gamma))
        return Scores(solution.scores, gamma, solution.gradient_norm, nu)
    a = rank_one_weights(design, s.size)
    if gamma == "auto":
        # Noise of equal size in wins and losses is twice as large in their sum as in half their difference.
        evidence = rank_one_evidence(s, a, exposure_noise=2.0 if joint else 0.0)
        gamma = choose_gamma(evidence, noise_sd, kurtosis, nu)
    theta, gradient_norm = fit_rank_one(s, a, gamma, nu)
    return Scores(theta, gamma, gradient_norm, nu)


def ties_expected(theta: Floats, nu: float, design: Design) -> float:
    """How many ties are expected at these scores."""
    return _Met.of(design, theta.size).ties(theta, nu)[0]


def nu_for(theta: Floats, ties: float, design: Design, nu: float) -> float:
    """The ν at which as many ties are expected at these scores, starting at a ν; 0 or infinity where there is none."""
    met = _Met.of(design, theta.size)
    if not 0 < ties < met.total:
        return 0.0 if ties <= 0 else inf
    return profiled(lambda at: Scores(theta, 0.0, 0.0, at), met.ties, met.possible(ties), nu).nu


LEAST_TIES = 0.5  # votes: no tie at all, and nothing but ties, would be infinite on the scale of ln ν
MOST_ROUNDS = 60
LARGEST_NU = 1000.0


def fit_with_ties(
    net_wins: ArrayLike,
    ties: float,
    design: Design,
    *,
    gamma: float | Literal["auto"] = "auto",
    noise_sd: float,
    noise_kurtosis: float | None = None,
) -> Scores:
    """Scores and ν by Davidson's model, from noisy net wins and the noisy weight of all ties, which is clamped."""
    met = _Met.of(design, np.size(net_wins))
    known = met.possible(ties)
    fit = partial(fit_scores, net_wins, design, noise_sd=noise_sd, noise_kurtosis=noise_kurtosis)
    equal = known / met.total
    nu = 2 * equal / (1 - equal)  # as if all items were equally good
    if gamma != "auto":
        return profiled(partial(_at, partial(fit, gamma=gamma)), met.ties, known, nu)
    # The ridge depends on ν a little, and ν on the ridge hardly.
    for _ in range(2):
        ridge = fit(nu=nu).gamma
        fitted = profiled(partial(_at, partial(fit, gamma=ridge)), met.ties, known, nu)
        nu = fitted.nu
    return fitted


def _at(fit: Callable[..., Scores], nu: float) -> Scores:
    return fit(nu=nu)


class _HasScores(Protocol):
    """A fit at a given ν."""

    @property
    def theta(self) -> Floats: ...


F = TypeVar("F", bound=_HasScores)
Expected = Callable[[Floats, float], tuple[float, float]]


def profiled(fit: Callable[[float], F], expected: Expected, ties: float, nu: float) -> F:
    """The fit at the ν at which as many ties are expected as there were, starting at a ν.

    `expected` gives the expected ties, and their derivative by ln ν while the scores stay. That of the profile is
    smaller, so that steps by it do not pass the root; two of them give a secant, which is longer. Sides are kept, for
    the expected ties of the profile grow with ν. Beyond LARGEST_NU nothing is looked for: noise has left only ties.
    """
    low, high, at = -inf, inf, log(min(nu, LARGEST_NU))
    before: tuple[float, float] | None = None
    for _ in range(MOST_ROUNDS):
        fitted = fit(exp(at))
        value, slope = expected(fitted.theta, exp(at))
        excess = value - ties
        if abs(excess) <= 1e-10 * max(1.0, ties):
            break
        low, high = (at, high) if excess < 0 else (low, at)
        if before is not None and (excess - before[1]) * (at - before[0]) > 0:
            slope = min(slope, (excess - before[1]) / (at - before[0]))
        before = (at, excess)
        step = min(max(-excess / slope, -3.0), 3.0)
        at += step
        if not low < at < high:
            at = (low + high) / 2 if isfinite(low + high) else before[0] + step
        at = min(at, log(LARGEST_NU))
        if abs(at - before[0]) <= 1e-13:
            break
    return fitted


@dataclass(frozen=True, eq=False)
class _Met:
    """Who met whom, as far as it is known."""

    total: float
    ties: Expected
    """the expected weight of ties at these scores and this ν, and its derivative by ln ν"""

    @classmethod
    def of(cls, design: Design, n: int) -> "_Met":
        if isinstance(design, PublicDesign):
            counts = np.asarray(design.counts, dtype=np.float64)

            def actual(theta: Floats, nu: float) -> tuple[float, float]:
                return expected_ties(theta[design.i] - theta[design.j], counts, nu)

            return cls(float(counts.sum()), actual)
        a = rank_one_weights(design, n)

        def rank_one(theta: Floats, nu: float) -> tuple[float, float]:
            tied = (a @ all_pairs(theta, nu).ties(a) - a @ a * equal_chance(nu)) / 2
            return float(tied), float(tied)  # Σ M t(1 − t) ≤ Σ M t: steps by it are safe as well

        return cls(float(a.sum() ** 2 - a @ a) / 2, rank_one)

    def possible(self, ties: float) -> float:
        """The noisy weight of ties, moved to a value that is possible."""
        least = min(LEAST_TIES, self.total / 4)
        return min(max(ties, least), self.total - least)


def expected_ties(difference: Floats, counts: Floats, nu: float) -> tuple[float, float]:
    """The expected weight of ties, and its derivative by ln ν."""
    chance = tie(difference, nu)
    return float(counts @ chance), float(counts @ (chance * (1 - chance)))


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
