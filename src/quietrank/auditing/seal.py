"""The perturbed MLE: a `Case` in, what is wrong with its exact loss, its solver or its seal out.

Its density is known only before sealing, so the parts are attacked one by one: the loss of the ideal mechanism, the
distance of the computed answer from the ideal one, the noise inside, and the noise of the seal. Tallies and outputs
are lists with one entry per group, whose losses add up, or with a single entry where votes are not split.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from quietrank.arrays import Floats
from quietrank.auditing import losses, trace
from quietrank.auditing.cases import Case
from quietrank.auditing.distribution import Fit, WatchedLedger, laplace_cdf, lattice_fit, order_of_events
from quietrank.auditing.neighbours import Neighbouring, Row
from quietrank.maths.certificate import Objective
from quietrank.mechanisms.perturbed_mle import mechanism as perturbed
from quietrank.mechanisms.perturbed_mle.mechanism import Plan, ScoresLaw
from quietrank.noise import lattice
from quietrank.noise.exact import exactly
from quietrank.promise.privacy import Neighbours
from quietrank.votes.tallies import PairTally, Tallies

Minimise = Callable[[Objective, float], Sequence[float | Decimal]]
FAR = 120.0
"""the scores of the two far-out items in the constructed worst case"""
PRECISION = 400
"""bits with which the gradient is recomputed"""


def plan_of(case: Case) -> Plan:
    """The constants that a release of this case would use."""
    law = case.calibrated.law
    if not isinstance(law, ScoresLaw):
        raise AssertionError("this case puts no noise into the likelihood")
    return law.plan


def _pairs(tallies: Tallies) -> list[PairTally]:
    return [tally for tally in tallies if isinstance(tally, PairTally)]


def ideal_outputs(case: Case, tallies: Tallies, draws: int) -> list[Floats]:
    """θ̂ as computed by the library, before it is sealed; one array per group, one row per draw."""
    plan = plan_of(case)
    return [
        np.array([[float(x) for x in _answer(plan, tally, _inner(plan, tally))] for _ in range(draws)])
        for tally in _pairs(tallies)
    ]


def _inner(plan: Plan, tally: PairTally) -> list[int]:
    return lattice.truncated_laplace(len(tally.items), plan.lambda_ / plan.grid)


def _answer(plan: Plan, tally: PairTally, draw: Sequence[int]) -> Sequence[float | Decimal]:
    # The minimiser that the mechanism itself uses, so that a fault planted there is seen.
    minimise: Minimise = perturbed.minimise  # type: ignore[attr-defined]
    return minimise(perturbed.objective_of(tally, plan, draw), plan.tolerance)


def all_losses(case: Case, one: Tallies, other: Tallies, outputs: Sequence[Floats]) -> Floats:
    """The loss at each joint output of all groups."""
    plan = plan_of(case)
    parts = zip(_pairs(one), _pairs(other), outputs, strict=True)
    return np.asarray(np.sum([losses.perturbed_losses(plan, *part) for part in parts], axis=0))


def largest_loss(case: Case, one: Tallies, other: Tallies, outputs: Sequence[Floats]) -> float:
    """The largest loss at these outputs, in either direction."""
    return float(np.abs(all_losses(case, one, other, outputs)).max())


def constructed(case: Case) -> tuple[Neighbouring, Floats]:
    """Neighbours and outputs, of each group, at which the loss comes close to its bound.

    The unit says that item 0 beats item 1, at outputs where it was sure to lose. Two items far out, 2 and 3, give w
    the signs with which every change counts in full: 2 has beaten 0, and 1 has beaten 3, often and against all odds.
    Under `replace` the other unit says that 2 beats 3, in the other group if there is one. Where only some votes of
    each person count, the vote takes the place of one for 2 over 3.
    """
    plan, limit = plan_of(case), case.privacy.limit
    share = np.append(np.linspace(0.3, 0.99, 24), 1 - 1e-12)
    gap = np.log1p(-share) - np.log(share)
    outputs = np.column_stack([gap / 2, -gap / 2, np.full(len(gap), -FAR), np.full(len(gap), FAR)])
    often = 2 * math.ceil(FAR * (plan.gamma + limit))
    groups = case.groups or ("",)
    crowd: list[Row] = [
        (f"{group} {k // limit}", *pair, "a", group)
        for group in groups
        for k, pair in enumerate([(2, 0)] * often + [(1, 3)] * often)
    ]
    votes: list[Row] = [("u", 0, 1, "a", groups[0])] * limit
    instead: list[Row] = [("u", 2, 3, "a", groups[-1])] * limit
    if case.capped:
        crowd += instead * (case.privacy.max_per_person or 0)
    return Neighbouring(
        (*crowd, *votes), (*crowd, *(instead if case.privacy.neighbours is Neighbours.REPLACE else []))
    ), outputs


def flaws(case: Case, sides: Sequence[Tallies], solves: int) -> list[str]:
    """What is wrong with the constants of the seal, or with the solver: each constant is recomputed, and so is the
    gradient of each answer, with many digits."""
    plan, n = plan_of(case), len(case.items)
    complaints = []
    beta = math.sqrt(n) * (plan.tolerance + plan.grid * math.sqrt(n)) / plan.gamma
    if plan.beta < beta:
        complaints.append("the distance bound forgets the tolerance or the grid")
    if plan.seal_sensitivity < math.ceil(2 * Fraction(beta) / plan.step) + n:
        complaints.append("the seal forgets the rounding")
    if plan.seal_scale * plan.epsilon_seal < plan.seal_sensitivity * (1 - 1e-12):
        complaints.append("the seal has too little noise")
    if Fraction(plan.epsilon_main) + case.releases_per_unit * Fraction(plan.epsilon_seal) > Fraction(
        case.privacy.epsilon
    ):
        complaints.append("the parts of ε exceed it")
    draws = [(tally, _inner(plan, tally)) for side in sides for tally in _pairs(side) for _ in range(solves)]
    if any(gradient_norm(plan, tally, draw, _answer(plan, tally, draw)) > plan.tolerance for tally, draw in draws):
        complaints.append("the solver stops before its tolerance")
    return complaints


def gradient_norm(plan: Plan, tally: PairTally, draw: Sequence[int], theta: Sequence[float | Decimal]) -> float:
    """‖∇f(θ)‖₂ by interval arithmetic, rounded up; written down independently of the solver."""
    before, ctx.prec = ctx.prec, PRECISION
    try:
        x = [exactly(Fraction(value)) for value in theta]
        gradient = [
            exactly(Fraction(plan.gamma)) * a + exactly(Fraction(plan.grid) * k) for a, k in zip(x, draw, strict=True)
        ]
        for i, j, won, lost in zip(tally.i, tally.j, tally.wins_i, tally.wins_j, strict=True):
            slope, slope_back = _slope(plan.link.name, x[i] - x[j]), _slope(plan.link.name, x[j] - x[i])
            pull = exactly(int(lost) * tally.step) * slope_back - exactly(int(won) * tally.step) * slope
            gradient[i] += pull
            gradient[j] -= pull
        return float(sum((entry * entry for entry in gradient), arb(0)).sqrt().upper())
    finally:
        ctx.prec = before


def _slope(link: str, x: arb) -> arb:
    """ψ(x) = (log F)'(x), as in losses.py."""
    if link == "logistic":
        return 1 / (1 + x.exp())
    t = arb.pi() / 2 * x
    return arb.pi() / 4 / (t.cosh() * t.exp().atan())


def fits(case: Case, tallies: Tallies, draws: int) -> list[Fit]:
    """The noise inside is truncated Laplace noise and, with that held fixed, the seal is discrete Laplace noise."""
    plan = plan_of(case)
    scale = plan.lambda_ / plan.grid
    inside = np.array(lattice.truncated_laplace(20 * draws, scale), dtype=np.float64)
    pairs = _pairs(tallies)
    held = _inner(plan, pairs[0])
    exact = [perturbed.to_lattice(_answer(plan, tally, held), plan.step) for tally in pairs]
    with _drawn_by(lambda size, scale: held):  # the noise inside is fixed, to see the seal alone
        sealed = np.array([[one.values for one in trace.cross(tallies, case.calibrated)] for _ in range(draws)]) - exact
    return [
        Fit("noise inside", lattice_fit(inside.astype(np.int64), lambda k: truncated_cdf(k, scale))),
        Fit("seal", lattice_fit(sealed.reshape(-1), lambda k: laplace_cdf(k, plan.seal_scale))),
    ]


def repeated(case: Case, tallies: Tallies) -> list[str]:
    """Whether the noise inside repeats in another group or in the next release: its grid is so fine that two draws
    agree with probability below 10^-9."""
    draws: list[tuple[int, ...]] = []
    with _watched_noise(lambda draw: draws.append(tuple(draw))):
        for _ in range(2):
            trace.cross(tallies, case.calibrated)
    return [] if len(set(draws)) == len(draws) == 2 * len(tallies) else ["the noise inside was used twice"]


def ledger_first(case: Case, tallies: Tallies) -> list[str]:
    """Whether the ledger is debited once, and before the noise of any group is drawn."""

    def release(ledger: WatchedLedger) -> object:
        with _watched_noise(lambda draw: ledger.events.append("draw")):
            return trace.cross(tallies, case.calibrated, ledger)

    return order_of_events(release, len(tallies))


def truncated_cdf(k: Floats, scale: float) -> Floats:
    """P(K ≤ k) of Laplace noise truncated towards zero: real noise below k + 1, or up to k where that is negative."""
    return np.where(k >= 0, 1 - np.exp(-(k + 1) / scale) / 2, np.exp(-np.abs(k) / scale) / 2)


@contextmanager
def _watched_noise(note: Callable[[list[int]], object]) -> Iterator[None]:
    """Record every draw of the noise inside."""
    fresh = lattice.truncated_laplace

    def watched(size: int, scale: float) -> list[int]:
        draw = fresh(size, scale)
        note(draw)
        return draw

    with _drawn_by(watched):
        yield


@contextmanager
def _drawn_by(draw: Callable[[int, float], list[int]]) -> Iterator[None]:
    fresh = lattice.truncated_laplace
    lattice.truncated_laplace = draw  # type: ignore[assignment]
    try:
        yield
    finally:
        lattice.truncated_laplace = fresh


def released(case: Case, tallies: Tallies, runs: int) -> list[Floats]:
    """Whole releases: θ as published, one array per group, one row per run."""
    step = float(plan_of(case).step)
    theta = np.array([[one.values for one in trace.cross(tallies, case.calibrated)] for _ in range(runs)]) * step
    return [theta[:, group] for group in range(len(tallies))]
