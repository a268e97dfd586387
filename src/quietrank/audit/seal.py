"""The perturbed MLE: a `Case` in, what is wrong with its exact loss, its solver or its seal out.

Its density is known before sealing only, so the parts are attacked one by one: the loss of the ideal mechanism, the
distance of the computed answer from the ideal one, the noise inside, and the noise of the seal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from quietrank import noise, perturbed
from quietrank.audit import losses
from quietrank.audit.cases import Case
from quietrank.audit.distribution import Fit, laplace_cdf, lattice_fit
from quietrank.audit.neighbours import Neighbouring
from quietrank.certified import Objective
from quietrank.perturbed import Plan
from quietrank.privacy import Neighbours
from quietrank.tally import PairTally

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Minimise = Callable[[Objective, float], Sequence[float | Decimal]]
FAR = 120.0
"""the scores of the two far-out items in the constructed worst case"""
PRECISION = 400
"""bits in which the gradient is computed anew"""


def plan_of(case: Case) -> Plan:
    """The constants that a release of this case would use."""
    if case.gamma is None:
        raise AssertionError("a perturbed-MLE case declares its ridge")
    return perturbed.make_plan(len(case.items), case.privacy, case.gamma)


def ideal_outputs(case: Case, tally: PairTally, draws: int) -> Floats:
    """θ̂ as computed by the library, before it is sealed."""
    plan = plan_of(case)
    return np.array([[float(x) for x in _answer(plan, tally, _inner(plan, tally))] for _ in range(draws)])


def _inner(plan: Plan, tally: PairTally) -> list[int]:
    return noise.truncated_laplace(len(tally.items), plan.lambda_ / plan.grid)


def _answer(plan: Plan, tally: PairTally, draw: Sequence[int]) -> Sequence[float | Decimal]:
    # The minimiser as the mechanism knows it, so that a fault planted there is seen.
    minimise: Minimise = perturbed.minimise  # type: ignore[attr-defined]
    return minimise(perturbed.objective_of(tally, plan, draw), plan.tolerance)


def largest_loss(plan: Plan, one: PairTally, other: PairTally, outputs: Floats) -> float:
    """The largest loss at these outputs, in either direction."""
    return float(np.abs(losses.perturbed_losses(plan, one, other, outputs)).max())


def constructed(case: Case) -> tuple[Neighbouring, Floats]:
    """Neighbours and outputs at which the loss comes near its bound.

    The unit says that item 0 beats item 1, at outputs where it was sure to lose. Two far-out items, 2 and 3, give w
    the signs that let every change count in full: 2 has beaten 0, and 1 has beaten 3, often and against all odds.
    Under `replace` the other unit says that 2 beats 3.
    """
    plan, limit = plan_of(case), case.privacy.limit
    share = np.append(np.linspace(0.3, 0.99, 24), 1 - 1e-12)
    gap = np.log1p(-share) - np.log(share)
    outputs = np.column_stack([gap / 2, -gap / 2, np.full(len(gap), -FAR), np.full(len(gap), FAR)])
    often = 2 * math.ceil(FAR * (plan.gamma + limit))
    crowd = [(f"c{k // limit}", *pair, "a") for k, pair in enumerate([(2, 0)] * often + [(1, 3)] * often)]
    replaced = case.privacy.neighbours is Neighbours.REPLACE
    other = [("u", 2, 3, "a")] * limit if replaced else []
    return Neighbouring((*crowd, *[("u", 0, 1, "a")] * limit), (*crowd, *other)), outputs


@dataclass(frozen=True)
class Flaws:
    """What is wrong with the constants, or with the solver's answers."""

    found: tuple[str, ...]
    solved: int


def flaws(case: Case, tallies: Sequence[PairTally], solves: int) -> Flaws:
    """Recompute every constant of the seal, and the gradient of every answer with many digits."""
    plan, n = plan_of(case), len(case.items)
    found = []
    beta = math.sqrt(n) * (plan.tolerance + plan.grid * math.sqrt(n)) / plan.gamma
    if plan.beta < beta:
        found.append("the distance bound forgets the tolerance or the grid")
    if plan.seal_sensitivity < math.ceil(2 * Fraction(beta) / plan.step) + n:
        found.append("the seal forgets the rounding")
    if plan.seal_scale * plan.epsilon_seal < plan.seal_sensitivity * (1 - 1e-12):
        found.append("the seal has too little noise")
    if Fraction(plan.epsilon_main) + Fraction(plan.epsilon_seal) > Fraction(case.privacy.epsilon):
        found.append("the parts of ε exceed it")
    draws = [(tally, _inner(plan, tally)) for tally in tallies for _ in range(solves)]
    if any(gradient_norm(plan, tally, draw, _answer(plan, tally, draw)) > plan.tolerance for tally, draw in draws):
        found.append("the solver stops before its tolerance")
    return Flaws(tuple(found), len(draws))


def gradient_norm(plan: Plan, tally: PairTally, draw: Sequence[int], theta: Sequence[float | Decimal]) -> float:
    """‖∇f(θ)‖₂ by interval arithmetic, rounded up; written down independently of the solver."""
    before, ctx.prec = ctx.prec, PRECISION
    try:
        x = [_exactly(Fraction(value)) for value in theta]
        gradient = [
            _exactly(Fraction(plan.gamma)) * a + _exactly(Fraction(plan.grid) * k) for a, k in zip(x, draw, strict=True)
        ]
        for i, j, won, lost in zip(tally.i, tally.j, tally.wins_i, tally.wins_j, strict=True):
            p = 1 / (1 + (x[j] - x[i]).exp())
            pull = _exactly(int(won) * tally.step) * (p - 1) + _exactly(int(lost) * tally.step) * p
            gradient[i] += pull
            gradient[j] -= pull
        return float(sum((entry * entry for entry in gradient), arb(0)).sqrt().upper())
    finally:
        ctx.prec = before


def _exactly(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def fits(case: Case, tally: PairTally, draws: int) -> list[Fit]:
    """The noise inside is truncated Laplace noise, and with that held still the seal is discrete Laplace noise."""
    plan = plan_of(case)
    scale = plan.lambda_ / plan.grid
    inside = np.array(noise.truncated_laplace(20 * draws, scale), dtype=np.float64)
    held = _inner(plan, tally)
    exact = perturbed.to_lattice(_answer(plan, tally, held), plan.step)
    with _held(held):
        released = [perturbed.perturbed_mle(tally, case.privacy, gamma=case.gamma).values - exact for _ in range(draws)]
    return [
        Fit("noise inside", lattice_fit(inside.astype(np.int64), lambda k: truncated_cdf(k, scale))),
        Fit("seal", lattice_fit(np.array(released).reshape(-1), lambda k: laplace_cdf(k, plan.seal_scale))),
    ]


def truncated_cdf(k: Floats, scale: float) -> Floats:
    """P(K ≤ k) of Laplace noise truncated towards zero: real noise below k + 1, or up to k where that is negative."""
    return np.where(k >= 0, 1 - np.exp(-(k + 1) / scale) / 2, np.exp(-np.abs(k) / scale) / 2)


@contextmanager
def _held(draw: list[int]) -> Iterator[None]:
    """Within, the noise inside the likelihood is this one: on synthetic votes, to see the seal alone."""
    fresh = noise.truncated_laplace
    noise.truncated_laplace = lambda size, scale: draw
    try:
        yield
    finally:
        noise.truncated_laplace = fresh


def released(case: Case, tally: PairTally, runs: int) -> Floats:
    """Whole releases: θ as published, one per row."""
    step = float(plan_of(case).step)
    return np.array([perturbed.perturbed_mle(tally, case.privacy, gamma=case.gamma).values * step for _ in range(runs)])
