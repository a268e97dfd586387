"""A problem and a point in; a rigorous upper bound of the gradient norm there, rounding included, out.

It is computed in float64 with a running error bound, or in decimal arithmetic where float64 is not precise enough.
"""

from __future__ import annotations

import math
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
from typing import TYPE_CHECKING

import numpy as np

from quietrank.maths.links import LOGISTIC, Link, U
from quietrank.maths.pairs import Pairs, blocks, scatter
from quietrank.maths.problem import Problem
from quietrank.maths.sums import euclidean, row_sums

if TYPE_CHECKING:
    from quietrank.arrays import Floats

DIGITS = 50  # decimal digits of extended precision: far below the 2^-106 that two float64 can hold
ZERO = Decimal(0)
UNDERFLOW = 1e-180


def certified_gradient_norm(problem: Problem, theta: Floats, shift: Floats | None = None) -> float:
    """An upper bound of ‖∇f(theta + shift)‖₂ for the exact sum of the two; shift is constant on components.

    Per pair t = −aψ(x) + bψ(−x) with x = fl(θ_i − θ_j), |x − (θ_i − θ_j)| ≤ U|x|. With r = link.grad_error, ψ is
    right to r·ψ, so t to (r + 2U)(aψ(x) + bψ(−x)), the 2U for a product and the difference. Summing k terms in
    any order loses at most kU/(1 − kU)·Σ|terms| (Higham, Accuracy and Stability, 4.2); an item sums its pair
    terms, c_i, γ·shift_i and γθ_i, where each product costs one more U. The factors 1.01 cover second-order terms
    and the rounding of the bound itself, UNDERFLOW whatever is too small for float64 (weights up to 1e18).
    """
    total, error = gradient_with_error(problem, theta, shift)
    return with_rounding(euclidean(total), euclidean(error), problem.pairs.n_items)


def with_rounding(norm: float, error: float, n: int) -> float:
    """norm + error, plus the rounding errors of two norms of n numbers."""
    return (norm + 1.01 * error) * (1 + 4 * (n + 10) * U) + UNDERFLOW


def gradient_with_error(problem: Problem, theta: Floats, shift: Floats | None) -> tuple[Floats, Floats]:
    pairs, link, n = problem.pairs, problem.link, problem.pairs.n_items
    slope, size = np.empty(len(pairs.i)), np.empty(len(pairs.i))
    for part in blocks(len(pairs.i)):
        x = theta[pairs.i[part]] - theta[pairs.j[part]]
        lost, won = pairs.wins_i[part] * link.grad(x), pairs.wins_j[part] * link.grad(-x)
        np.subtract(won, lost, out=slope[part])
        np.add(won, lost, out=size[part])
    total = row_sums(pairs, slope) - scatter(pairs.j, slope, n)
    sizes = row_sums(pairs, size) + scatter(pairs.j, size, n)
    for term in (problem.ridge * theta, problem.linear, None if shift is None else problem.ridge * shift):
        if term is not None:
            total, sizes = total + term, sizes + np.abs(term)
    terms = np.diff(pairs.rows) + np.bincount(pairs.j, minlength=n) + 8
    return total, (link.grad_error(float(np.ptp(theta))) + 1.01 * U * (terms + 2)) * sizes


def decimal_gradient(problem: Problem, high: Floats, low: Floats, digits: int = DIGITS) -> tuple[Floats, float]:
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
            ahead, behind = both_slopes(link, x)
            lost, won = Decimal(a) * ahead, Decimal(b) * behind
            total[i] += won - lost
            total[j] -= won - lost
            size[i] += won + lost
            size[j] += won + lost
        reach = 8 * max(map(abs, theta)) + 200 + 2 * len(pairs.i)
        slip = Decimal(10) ** (1 - digits) * reach
        norm = sum(((abs(g) + slip * s) ** 2 for g, s in zip(total, size, strict=True)), ZERO).sqrt()
        return np.array([float(g) for g in total]), math.nextafter(float(norm), math.inf) * (1 + 1e-12) + UNDERFLOW


def both_slopes(link: Link, x: Decimal) -> tuple[Decimal, Decimal]:
    """ψ(x) and ψ(−x); for the logistic link, where they sum to 1, with one exponential."""
    if link is not LOGISTIC:
        return link.grad_decimal(x), link.grad_decimal(-x)
    small = link.grad_decimal(abs(x))
    return (small, 1 - small) if x >= 0 else (1 - small, small)


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

    def in_float64(self) -> tuple[Problem, float]:
        """The problem for the solver, and how far its linear term is from g·k (L1, so an upper bound of L2)."""
        linear = np.array([float(k) for k in self.draw]) * self.grid
        lost = sum(abs(k - int(float(k))) for k in self.draw) * Fraction(self.grid)
        return Problem(self.pairs, self.gamma, self.link, linear), float(lost) * (1 + 2.0**-50)


def digits_of(digits: int) -> AbstractContextManager[Context]:
    """That many digits, and exponents wide enough for exp(−x) at every x that can occur."""
    traps = [InvalidOperation, DivisionByZero, Overflow]
    return localcontext(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=traps))


def exact_gradient(objective: Objective, theta: list[Decimal]) -> tuple[list[Decimal], list[Decimal]]:
    """∇f(θ) in the current decimal precision, and per entry a bound of its rounding error.

    With u = 10^(1−precision): x = θ_i − θ_j is right to u|x|, which moves ψ by at most κ2·u|x|, and the link
    evaluates ψ(x) to a factor 1 ± (2|x| + 100)u (Link.grad_decimal). A sum of m terms loses mu·Σ|terms|; two more
    u are for products. 10^-280 covers what underflows: ψ below 10^-300, of at most 2^53 votes.
    """
    pairs, kappa2, link = objective.pairs, Decimal(objective.link.kappa2), objective.link
    gamma, grid = Decimal(objective.gamma), Decimal(objective.grid)
    own = [(gamma * x, grid * k) for x, k in zip(theta, objective.draw, strict=True)]
    total, size = [a + b for a, b in own], [abs(a) + abs(b) for a, b in own]
    terms, error = [2] * len(theta), [ZERO] * len(theta)
    columns = (pairs.i, pairs.j, pairs.wins_i, pairs.wins_j)
    for i, j, a, b in zip(*(column.tolist() for column in columns), strict=True):
        x = theta[i] - theta[j]
        ahead, behind = both_slopes(link, x)
        lost, won = Decimal(a) * ahead, Decimal(b) * behind
        slip = Decimal(a + b) * kappa2 * abs(x) + (2 * abs(x) + 104) * (won + lost)
        for item, push in ((i, won - lost), (j, lost - won)):
            total[item] += push
            size[item] += won + lost
            error[item] += slip
            terms[item] += 1
    u = Decimal(10).scaleb(-getcontext().prec)
    slack = [2 * u * (e + (m + 4) * s) + Decimal("1e-280") for e, m, s in zip(error, terms, size, strict=True)]
    return total, slack
