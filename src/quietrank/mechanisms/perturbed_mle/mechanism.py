"""Confidential `PairTally` in, private `PerturbedScores` out: the published perturbed MLE, sealed.

Minimise NLL(θ) + (γ/2)‖θ‖² + w·θ with Laplace noise w, round the minimiser to a lattice, and add a little more
noise that covers what a computer cannot do: real-valued noise and an exact minimiser. The argument is in
docs/proofs/perturbed-mle.md. Like `mechanism.py` this is a crossing to the public side: everything is planned from
public values, checked, debited, and only then drawn. After the debit nothing can fail because of the votes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from quietrank import noise
from quietrank.errors import PrivacyError, option
from quietrank.estimate.noisy import read_only
from quietrank.maths.links import LOGISTIC, Link, check_decimals, get_link, is_built_in
from quietrank.maths.minimise import Objective, minimise
from quietrank.maths.pairs import FloatArray
from quietrank.mechanisms.perturbed_mle.loss import (
    Calibration,
    default_gamma,
    noise_scale,
    privacy_loss,
    require_protectable,
)
from quietrank.promise.accounting import Charge, Cost, Ledger, as_written
from quietrank.promise.arguments import parse
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.statistics.sensitivity import Bounded
from quietrank.votes.tally import PairTally

SEAL_SHARE = Fraction(1, 100)
"""The part of ε that pays for the sealing noise."""

SEAL_SPREAD = 2.0**-7
"""The sealing noise has at most this scale, relative to min(1, λ)/γ.

With γ of the order √(comparisons per item) the sampling error of a score is of the order 1/γ, so the sealing noise
disappears in it; and the tolerance that follows is within reach of float64 for ordinary sizes."""

LARGEST_VALUE = 2**62
"""Lattice values saturate here before the sealing noise; that brings no two values further apart."""

FAR = 400
"""10^-FAR is less than half of any lattice step (2^-910 at least), and 10^FAR more than LARGEST_VALUE of any."""


@dataclass(frozen=True)
class Plan:
    """Every constant of the mechanism, all from public values."""

    calibration: Calibration
    link: Link
    gamma: float
    lambda_: float
    """the scale of w"""
    epsilon_main: float
    """what the perturbed MLE with real-valued noise and an exact minimiser costs"""
    epsilon_seal: float
    """what the sealing noise costs, per release"""
    tolerance: float
    """τ: the gradient at the minimiser found is certified to be at most this, in Euclidean norm"""
    grid: float
    """g: w is a whole multiple of this; a power of two"""
    step: Fraction
    """q: the lattice of the released values; a power of two"""
    beta: float
    """bound of ‖θ̂ − θ̃‖₁, the distance from the solver's answer to the exact minimiser with real-valued noise"""
    seal_sensitivity: int
    """in lattice steps"""
    seal_scale: float
    """in lattice steps"""


@dataclass(frozen=True, eq=False)
class PerturbedScores:
    """Private scores and how they were made. Holds nothing about the votes beyond the scores."""

    items: Items
    privacy: Privacy
    plan: Plan
    values: NDArray[np.int64]
    """the released vector, in lattice steps"""
    rows_skipped: bool = False
    """whether unusable rows were to be skipped; not whether there were any"""
    ledger_entry: str | None = None
    """the id of the ledger's entry that paid for it"""
    per_item: float | None = None
    """comparisons per item, where the number of votes is public"""

    def __post_init__(self) -> None:
        read_only(self.values)

    @property
    def scores(self) -> FloatArray:
        """θ, centred."""
        theta = self.values * float(self.plan.step)
        return np.asarray(theta - theta.mean(), dtype=np.float64)

    @property
    def noise_sd(self) -> float:
        """The standard deviation of the noise on a score, as far as public values tell."""
        return score_noise(self.plan, len(self.items), self.per_item)


def perturbed_mle(
    tally: PairTally,
    privacy: Privacy,
    *,
    gamma: float | None = None,
    per_item: float | None = None,
    calibration: str = "tight",
    link: str | Link = LOGISTIC,
    releases_per_unit: int = 1,
    ledger: Ledger | None = None,
    rows_skipped: bool = False,
) -> PerturbedScores:
    """Scores of the items that keep the promise of `privacy`.

    `per_item`, the expected comparisons per item, is declared when γ is not and the number of votes is no public
    fact. `releases_per_unit` is 2 when the votes are split by group and a unit may change its group.
    """
    privacy = _as_kept([tally], privacy)
    gamma = _chosen_gamma(tally, privacy, gamma, per_item, calibration, link, releases_per_unit)
    plan = make_plan(len(tally.items), privacy, gamma, calibration, link, releases_per_unit)
    entry = None
    if ledger is not None:
        entry = ledger.debit(Charge(privacy, Cost.pure(privacy.epsilon), "perturbed-mle"))
    per_item = _public_per_item(tally, privacy, releases_per_unit)
    return replace(_drawn(tally, privacy, plan, entry, rows_skipped), per_item=per_item)


def perturbed_mle_of_groups(
    tallies: Sequence[PairTally],
    privacy: Privacy,
    *,
    gamma: float | None = None,
    per_item: float | None = None,
    calibration: str = "tight",
    link: str | Link = LOGISTIC,
    ledger: Ledger | None = None,
    rows_skipped: bool = False,
) -> list[PerturbedScores]:
    """The same for one tally per group: they keep the promise together, and are paid for once, before any noise.

    `per_item` are the comparisons per item expected in one group; no group's number of votes is public.
    """
    privacy = _as_kept(tallies, privacy)
    gamma = _chosen_gamma(tallies[0], privacy, gamma, per_item, calibration, link, 2)
    plan = make_plan(len(tallies[0].items), privacy, gamma, calibration, link, 2)
    entry = None
    if ledger is not None:
        what = f"perturbed-mle, {len(tallies)} groups"
        entry = ledger.debit(Charge(privacy, Cost.pure(privacy.epsilon), what))
    return [_drawn(tally, privacy, plan, entry, rows_skipped) for tally in tallies]


def _as_kept(tallies: Sequence[PairTally], privacy: Privacy) -> Privacy:
    """The promise that this mechanism keeps: δ = 0, nothing clipped; and the votes must have been bounded for it."""
    kept = privacy.changed(delta=0.0, clip=None)
    if any(tally.bounded != Bounded.by(kept, None) for tally in tallies):
        raise AssertionError("these votes were not bounded in the way this promise needs")
    return kept


def _drawn(
    tally: PairTally, privacy: Privacy, plan: Plan, ledger_entry: str | None, rows_skipped: bool
) -> PerturbedScores:
    """Draw, minimise and seal, once it is paid for."""
    draw = noise.truncated_laplace(len(tally.items), plan.lambda_ / plan.grid)
    theta = minimise(objective_of(tally, plan, draw), plan.tolerance)
    values = noise.add_laplace(to_lattice(theta, plan.step), plan.seal_scale)
    return PerturbedScores(tally.items, privacy, plan, values, rows_skipped, ledger_entry)


def objective_of(tally: PairTally, plan: Plan, draw: Sequence[int]) -> Objective:
    """What is minimised: the votes, the ridge, and the noise w = g·draw."""
    return Objective.of(tally, draw, grid=plan.grid, gamma=plan.gamma, link=plan.link)


# ---- public part: constants ------------------------------------------------------------------------------------


def _chosen_gamma(
    tally: PairTally,
    privacy: Privacy,
    gamma: float | None,
    per_item: float | None,
    calibration: str,
    link: str | Link,
    releases_per_unit: int,
) -> float:
    """γ as given, or from the comparisons per item as declared, or from the number of votes where it is public."""
    if gamma is not None:
        return gamma
    if per_item is None:
        per_item = _public_per_item(tally, privacy, releases_per_unit)
    if per_item is None:
        raise PrivacyError(
            f"the number of votes is not public for {option('unit', privacy.unit)} with "
            f"{option('neighbours', privacy.neighbours)}{' in one group' * (releases_per_unit - 1)}, so no default "
            f"gamma can be computed from it; declare {option('gamma')}, or {option('comparisons_per_item')} as it was "
            "expected before the votes came in (2 × votes / items)"
        )
    epsilon, _ = split_budget(privacy.epsilon, releases_per_unit)
    chosen = parse(Calibration, "calibration", calibration)
    return default_gamma(privacy, epsilon, chosen, usable(link), len(tally.items), per_item)


def _public_per_item(tally: PairTally, privacy: Privacy, releases_per_unit: int) -> float | None:
    """Comparisons per item, where all neighbours have the same number of votes; in one group none ever have."""
    return 2 * tally.rows / len(tally.items) if privacy.votes_are_public and releases_per_unit == 1 else None


def make_plan(
    n: int,
    privacy: Privacy,
    gamma: float,
    calibration: str = "tight",
    link: str | Link = LOGISTIC,
    releases_per_unit: int = 1,
) -> Plan:
    """All constants for `n` items, checked against the budget; needs no votes."""
    require_protectable(privacy)
    used, chosen = usable(link), parse(Calibration, "calibration", calibration)
    epsilon_main, epsilon_seal = split_budget(privacy.epsilon, releases_per_unit)
    lambda_ = noise_scale(privacy, epsilon_main, gamma, chosen, used)
    # 2β + nq is to be `width`, so that the sealing noise has scale width/ε' at most: 3/4 for 2β, 1/8 for nq.
    width = epsilon_seal * SEAL_SPREAD * min(1.0, lambda_) / gamma
    step = _power_of_two_below(width / (8 * n))
    reach = gamma * (3 / 8 * width) / math.sqrt(n)  # τ + g√n
    tolerance, grid = 7 / 8 * reach, _power_of_two_below(reach / (8 * math.sqrt(n)))
    beta = distance_bound(n, gamma, tolerance, grid)
    sensitivity = seal_sensitivity(n, beta, Fraction(step))
    scale = noise.laplace_scale(sensitivity, epsilon_seal)
    plan = Plan(
        chosen, used, gamma, lambda_, epsilon_main, epsilon_seal, tolerance, grid, Fraction(step), beta, sensitivity,
        scale,
    )  # fmt: skip
    _check(plan, privacy, releases_per_unit)
    return plan


def usable(link: str | Link) -> Link:
    """A link this mechanism can work with: its constants not refuted, its gradient known to any precision."""
    found = get_link(link)
    if not is_built_in(found):
        check_decimals(found)
    return found


def split_budget(epsilon: float, releases_per_unit: int) -> tuple[float, float]:
    """ε into the part for the perturbed MLE and the part for each sealing; rounded down, towards privacy.

    A unit that can move two releases at once (it leaves one group and enters another) pays for the perturbed MLE
    once, because removing and adding are what `replace` is calibrated for, but for the sealing noise twice.
    """
    if releases_per_unit not in (1, 2):
        raise PrivacyError(f"releases_per_unit must be 1, or 2 for votes split by group; got {releases_per_unit}")
    seal = epsilon * float(SEAL_SHARE) / releases_per_unit
    main = epsilon - releases_per_unit * seal
    while Fraction(main) + releases_per_unit * Fraction(seal) > Fraction(as_written(epsilon)):
        main = math.nextafter(main, 0)
    return main, seal


def distance_bound(n: int, gamma: float, tolerance: float, grid: float) -> float:
    """β = √n(τ + g√n)/γ ≥ ‖θ̂ − θ̃‖₁, rounded up.

    The objective is γ-strongly convex, so ‖θ̂ − θ̃‖₂ ≤ ‖gradient at θ̂ of the objective of θ̃‖₂/γ; that gradient
    is the certified one plus w̃ − w, whose n entries are below g; and ‖·‖₁ ≤ √n‖·‖₂.
    """
    return math.sqrt(n) * (tolerance + grid * math.sqrt(n)) / gamma * (1 + 2.0**-40)


def seal_sensitivity(n: int, beta: float, step: Fraction) -> int:
    """⌈2β/q⌉ + n: two answers lie within 2β, and rounding moves each entry of their difference by less than 1 more."""
    return math.ceil(2 * Fraction(beta) / step) + n


def score_noise(plan: Plan, n: int, per_item: float | None) -> float:
    """The standard deviation of the noise on a centred score.

    w has the variance 2λ² and moves the minimiser by −(H + γI)⁻¹w, H the curvature of the votes. Where nothing about
    them is public it may be 0, and √2·λ/γ is an upper limit. With d = `per_item` comparisons of every item, evenly
    over the others, H = d·h·n/(n − 1) on all that sums to zero, h = −(log F)'' at the differences between scores, for
    which those of the noise itself are taken, √2 standard deviations: the largest solution, found from above. The
    sealing noise comes on top.
    """
    size = math.sqrt(2 * (1 - 1 / n)) * plan.lambda_
    sd = size / plan.gamma
    if per_item is not None:
        for _ in range(200):
            (h,) = plan.link.curvature(np.array([math.sqrt(2) * sd])).tolist()
            sd = size / (plan.gamma + per_item * h * n / (n - 1))
    return math.hypot(sd, math.sqrt(2 * (1 - 1 / n)) * plan.seal_scale * float(plan.step))


def _power_of_two_below(value: float) -> float:
    if not value > 2.0**-900:
        raise PrivacyError(
            f"gamma is too large, or epsilon too small, to be of use; choose {option('gamma')} of the order 1 to 1e6"
        )
    return 2.0 ** math.floor(math.log2(value))


def _check(plan: Plan, privacy: Privacy, releases_per_unit: int) -> None:
    """Recompute what each part costs, by the loss of the calibration and by OpenDP's own privacy map."""
    given = option("epsilon", privacy.epsilon)
    main = privacy_loss(plan.lambda_, plan.gamma, privacy, plan.link)
    seal = noise.laplace_privacy_loss(plan.seal_scale, plan.seal_sensitivity)
    if not (main <= plan.epsilon_main and seal <= plan.epsilon_seal):
        raise PrivacyError(f"{given} would not be kept; nothing was released")
    if Fraction(plan.epsilon_main) + releases_per_unit * Fraction(plan.epsilon_seal) > Fraction(
        as_written(privacy.epsilon)
    ):
        raise PrivacyError(f"the parts of {given} exceed it; nothing was released")
    if not plan.lambda_ / plan.grid <= noise.LARGEST_SCALE:
        raise PrivacyError(f"{given} is too small for noise of any use; choose a larger {option('epsilon')}")
    if not plan.lambda_ / plan.grid > 0:
        raise PrivacyError(f"{given} is too large for noise of any use; choose a smaller {option('epsilon')}")


def to_lattice(theta: Iterable[float | Decimal], step: Fraction) -> NDArray[np.int64]:
    """Each entry rounded to the nearest whole multiple of the step, exactly; saturating far beyond any real score."""
    return np.array([_nearest_step(Decimal(x), step) for x in theta], dtype=np.int64)


def _nearest_step(x: Decimal, step: Fraction) -> int:
    """A decimal as small as 10^-(10^12) is no fraction that fits into a memory, and rounds to 0 all the same."""
    if x.adjusted() < -FAR:
        return 0
    if x.adjusted() > FAR:
        return LARGEST_VALUE if x > 0 else -LARGEST_VALUE
    return max(-LARGEST_VALUE, min(LARGEST_VALUE, round(Fraction(x) / step)))
