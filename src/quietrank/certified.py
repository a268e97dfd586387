"""An `Objective` made of exact votes and exact noise in; its minimiser, certified, out. It never gives up.

Confidential: the minimiser has not been sealed yet (`perturbed.py` does that). An error whose probability depends on
the votes would be a leak, so where float64 is not enough decimal arithmetic goes on, with as many digits as it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    getcontext,
    localcontext,
)
from fractions import Fraction

import numpy as np

from quietrank.errors import SolverError
from quietrank.estimators.links import Link
from quietrank.estimators.pairs import Pairs
from quietrank.estimators.problem import Problem
from quietrank.estimators.solver import solve_certified
from quietrank.tally import PairTally

LARGEST_TALLY = 2**53
"""Wins of a pair saturate here, in steps, so that they are exact in float64 however many votes there are.

min(·, 2^53) turns the votes of a unit into lighter votes on the same pairs, so neighbours stay neighbours."""

ZERO = Decimal(0)


@dataclass(frozen=True, eq=False, repr=False)
class Objective:
    """f(θ) = Σ [wins_i·φ(θ_i − θ_j) + wins_j·φ(θ_j − θ_i)] + (γ/2)‖θ‖² + g·k·θ, φ = −log F, with no rounding in it."""

    pairs: Pairs
    """wins in votes: integers below 2^53 times a power of two, so exact"""
    draw: Sequence[int]
    """k"""
    grid: float
    gamma: float
    link: Link

    @classmethod
    def of(cls, tally: PairTally, draw: Sequence[int], *, grid: float, gamma: float, link: Link) -> Objective:
        order = np.lexsort((tally.j, tally.i))
        i, j = (index[order].astype(np.int32) for index in (tally.i, tally.j))
        wins_i, wins_j = (
            np.minimum(wins[order], LARGEST_TALLY) * float(tally.step) for wins in (tally.wins_i, tally.wins_j)
        )
        return cls(Pairs(len(tally.items), i, j, wins_i, wins_j), draw, grid, gamma, link)

    def in_float64(self) -> tuple[Problem, float]:
        """The problem for the solver, and how far its linear term is from g·k (L1, so an upper bound of L2)."""
        linear = np.array([float(k) for k in self.draw]) * self.grid
        lost = sum(abs(k - int(float(k))) for k in self.draw) * Fraction(self.grid)
        return Problem(self.pairs, self.gamma, self.link, linear), float(lost) * (1 + 2.0**-50)


def minimise(objective: Objective, tolerance: float) -> Sequence[float | Decimal]:
    """θ with ‖∇f(θ)‖₂ ≤ τ, certified. It never gives up: an error whose probability depends on votes is a leak.

    float64 is enough for ordinary sizes. Where it is not, or the solver refuses for whatever reason, decimal
    arithmetic goes on from where it stopped, with as many digits as the votes ask for.
    """
    problem, lost = objective.in_float64()
    start: list[Decimal] = [ZERO] * len(objective.draw)
    try:
        with np.errstate(all="ignore"):
            found = solve_certified(problem, tolerance - lost)
    except (SolverError, ArithmeticError, ValueError, RuntimeError):  # LinAlgError is a ValueError
        return minimise_exactly(objective, tolerance, start)
    if found.theta_low is None and found.gradient_norm + lost <= tolerance:
        return [float(x) for x in found.theta]
    low = np.zeros_like(found.theta) if found.theta_low is None else found.theta_low
    if np.isfinite(found.theta).all() and np.isfinite(low).all():
        with _digits(60):
            start = [Decimal(a) + Decimal(b) for a, b in zip(found.theta.tolist(), low.tolist(), strict=True)]
    return minimise_exactly(objective, tolerance, start)


# ---- the same in decimal arithmetic, slow and unstoppable ------------------------------------------------------


def _digits(digits: int) -> AbstractContextManager[Context]:
    """That many digits, and exponents wide enough for exp(−x) at every x that can occur."""
    traps = [InvalidOperation, DivisionByZero, Overflow]
    return localcontext(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=traps))


def minimise_exactly(objective: Objective, tolerance: float, start: list[Decimal]) -> list[Decimal]:
    """Damped Newton with more and more digits, until the certificate holds.

    f is smooth and strongly convex, so with exact arithmetic every step with the line search below makes progress
    from any start; where rounding stops it, the digits are doubled.
    """
    digits, theta = 60, start
    while True:
        with _digits(digits):
            theta, certified = _newton(objective, Decimal(tolerance), [+x for x in theta])
        if certified:
            return theta
        digits *= 2


def _newton(objective: Objective, tolerance: Decimal, theta: list[Decimal]) -> tuple[list[Decimal], bool]:
    """Newton steps until ‖∇f‖₂ is certainly at most τ; False if these digits cannot tell or do not get there."""
    for _ in range(100):
        gradient, slack = exact_gradient(objective, theta)
        if _norm([abs(a) + b for a, b in zip(gradient, slack, strict=True)]) <= tolerance:
            return theta, True
        if _norm(slack) > tolerance / 4:
            return theta, False
        theta = _line_search(objective, theta, gradient, _newton_direction(objective, theta, gradient))
    return theta, False


def exact_gradient(objective: Objective, theta: list[Decimal]) -> tuple[list[Decimal], list[Decimal]]:
    """∇f(θ) in the current decimal precision, and per entry a bound of its rounding error.

    With u = 10^(1−precision): x = θ_i − θ_j is right to u|x|, which moves ψ by at most κ2·u|x|, and the link
    evaluates ψ(x) to a factor 1 ± (2|x| + 100)u (Link.grad_decimal). A sum of m terms loses mu·Σ|terms|; two more
    u are for products. 10^-1000 covers what underflows.
    """
    pairs, kappa2, link = objective.pairs, Decimal(objective.link.kappa2), objective.link
    gamma, grid = Decimal(objective.gamma), Decimal(objective.grid)
    own = [(gamma * x, grid * k) for x, k in zip(theta, objective.draw, strict=True)]
    total, size = [a + b for a, b in own], [abs(a) + abs(b) for a, b in own]
    terms, error = [2] * len(theta), [ZERO] * len(theta)
    columns = (pairs.i, pairs.j, pairs.wins_i, pairs.wins_j)
    for i, j, a, b in zip(*(column.tolist() for column in columns), strict=True):
        x = theta[i] - theta[j]
        lost, won = Decimal(a) * link.grad_decimal(x), Decimal(b) * link.grad_decimal(-x)
        slip = Decimal(a + b) * kappa2 * abs(x) + (2 * abs(x) + 104) * (won + lost)
        for item, push in ((i, won - lost), (j, lost - won)):
            total[item] += push
            size[item] += won + lost
            error[item] += slip
            terms[item] += 1
    u = Decimal(10).scaleb(-getcontext().prec)
    slack = [2 * u * (e + (m + 4) * s) + Decimal("1e-1000") for e, m, s in zip(error, terms, size, strict=True)]
    return total, slack


def _newton_direction(objective: Objective, theta: list[Decimal], gradient: list[Decimal]) -> list[Decimal]:
    """−H⁻¹∇f, factorised in decimal, where no condition number is too large.

    The curvatures are from float64: each right to some digits, which keeps H right to as many in every direction.
    """
    pairs, link = objective.pairs, objective.link
    x = np.array([float(theta[i] - theta[j]) for i, j in zip(pairs.i.tolist(), pairs.j.tolist(), strict=True)])
    with np.errstate(all="ignore"):
        weight = np.nan_to_num(pairs.wins_i * link.curvature(x) + pairs.wins_j * link.curvature(-x))
    diagonal = [Decimal(objective.gamma)] * len(theta)
    upper: list[dict[int, Decimal]] = [{} for _ in theta]
    for i, j, h in zip(pairs.i.tolist(), pairs.j.tolist(), weight.tolist(), strict=True):
        diagonal[i] += Decimal(h)
        diagonal[j] += Decimal(h)
        if h:
            upper[i][j] = -Decimal(h)
    return _eliminate(diagonal, upper, [-g for g in gradient])


def _eliminate(diagonal: list[Decimal], upper: list[dict[int, Decimal]], right: list[Decimal]) -> list[Decimal]:
    """Solve a symmetric positive definite system, given as diagonal and upper[row] = {column > row: entry}."""
    for k, row in enumerate(upper):
        for r, entry in row.items():
            factor = entry / diagonal[k]
            right[r] -= factor * right[k]
            diagonal[r] -= factor * entry
            for c, other in row.items():
                if c > r:
                    upper[r][c] = upper[r].get(c, ZERO) - factor * other
    for k in reversed(range(len(right))):
        known = sum((entry * right[c] for c, entry in upper[k].items()), ZERO)
        right[k] = (right[k] - known) / diagonal[k]
    return right


def _line_search(
    objective: Objective, theta: list[Decimal], gradient: list[Decimal], direction: list[Decimal]
) -> list[Decimal]:
    """Go where the slope along the direction, which only increases, has lost a tenth and not turned uphill by more."""
    slope = abs(_dot(gradient, direction))
    length, low = Decimal(1), ZERO
    high: Decimal | None = None
    ahead = theta
    for _ in range(200):
        ahead = [x + length * p for x, p in zip(theta, direction, strict=True)]
        here = _dot(exact_gradient(objective, ahead)[0], direction)
        if -slope * 9 <= here * 10 <= slope:
            break
        low, high = (low, length) if here > 0 else (length, high)
        length = 2 * length if high is None else (low + high) / 2
    return ahead


def _dot(a: list[Decimal], b: list[Decimal]) -> Decimal:
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def _norm(values: list[Decimal]) -> Decimal:
    """The Euclidean norm; the factor covers its own rounding."""
    return _dot(values, values).sqrt() * (1 + Decimal("1e-40"))
