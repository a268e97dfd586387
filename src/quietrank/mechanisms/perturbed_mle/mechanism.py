"""A promise in, the published perturbed MLE out, sealed: noise inside the likelihood, and a little on its minimiser.

Minimise NLL(θ) + (γ/2)‖θ‖² + w·θ with Laplace noise w, round the minimiser to a lattice, and add a little more
noise, because a computer has neither real-valued noise nor an exact minimiser. The argument is in
docs/proofs/perturbed-mle.md. Everything is planned from public values. After the debit nothing can fail because of the
votes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from quietrank.errors import PrivacyError, option
from quietrank.maths.certificate import Objective
from quietrank.maths.links import LOGISTIC, Link, check_decimals, get_link, is_built_in
from quietrank.maths.minimise import minimise
from quietrank.maths.pairs import Pairs
from quietrank.mechanisms.mechanism import Calibrated, Figure, Law, Mechanism
from quietrank.mechanisms.perturbed_mle.loss import (
    Calibration,
    default_gamma,
    noise_scale,
    privacy_loss,
    require_protectable,
)
from quietrank.noise.lattice import LaplaceNoise, ObjectiveNoise, laplace_privacy_loss, laplace_scale
from quietrank.noise.words import LARGEST_SCALE
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.arguments import parse
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Clip, Promise
from quietrank.promise.rounding import float_above
from quietrank.statistics.scores import SCORES
from quietrank.statistics.statistic import Spread, Statistic

if TYPE_CHECKING:
    from quietrank.arrays import Floats, Integers

SEAL_SHARE = Fraction(1, 100)
"""The part of ε that pays for the sealing noise."""

SEAL_SPREAD = 2.0**-7
"""The sealing noise has at most this scale, relative to min(1, λ)/γ.

With γ of the order √(comparisons per item) the sampling error of a score is of the order 1/γ, so the sealing noise
disappears in it; and the tolerance that follows is within reach of float64 for ordinary sizes."""

LARGEST_TALLY = 2**53
"""Wins of a pair saturate here, in steps, so that they are exact in float64 however many votes there are.

min(·, 2^53) turns the votes of a unit into lighter votes on the same pairs, so neighbours stay neighbours."""

LARGEST_VALUE = 2**62
"""Lattice values saturate here before the sealing noise; that brings no two values further apart."""

FAR = 400
"""10^-FAR is less than half of any lattice step (2^-910 at least), and 10^FAR more than LARGEST_VALUE of any."""


class PairWins(Protocol):
    """Exact wins of each side of each pair that was compared, in lattice steps."""

    @property
    def i(self) -> Integers: ...
    @property
    def j(self) -> Integers: ...
    @property
    def wins_i(self) -> Integers: ...
    @property
    def wins_j(self) -> Integers: ...
    @property
    def step(self) -> Fraction: ...


@dataclass(frozen=True)
class PerturbedMLE(Mechanism):
    """The mechanism with its options: γ, or the comparisons per item that were expected before the votes came in, from
    which a default follows; the calibration of the noise; and the link of the model."""

    gamma: float | None = None
    comparisons_per_item: float | None = None
    calibration: Calibration = Calibration.TIGHT
    link: Link = LOGISTIC

    name: ClassVar[str] = "perturbed-mle"
    about: ClassVar[str] = "inside the likelihood"
    statistics: ClassVar[tuple[Statistic, ...]] = (SCORES,)
    uses_votes: ClassVar[bool] = True

    def with_options(
        self, gamma: float | None, comparisons_per_item: float | None, calibration: object, link: str | Link
    ) -> PerturbedMLE:
        """The same with these options, given as the user gives them."""
        chosen = parse(Calibration, "calibration", calibration)
        return replace(
            self, gamma=gamma, comparisons_per_item=comparisons_per_item, calibration=chosen, link=usable(link)
        )

    def require(self, promise: Promise, statistic: Statistic) -> None:
        promise.require_pairs(option("mechanism", self.name))
        require_protectable(promise.pure.privacy)

    def noise_for(self, promise: Promise, statistic: Statistic, clip: Clip | None, votes: int | None) -> Calibrated:
        n, per_item = len(promise.items), None if votes is None else 2 * votes / len(promise.items)
        gamma = self._gamma(promise, per_item)
        plan = make_plan(n, promise.privacy, gamma, self.calibration, self.link, promise.tallies_changed)
        law = ScoresLaw(plan, n, per_item, self.comparisons_per_item)
        figures: dict[str, Figure] = {
            "calibration": plan.calibration.value,
            "link": plan.link.name,
            "scale": plan.lambda_,
            "epsilon_main": plan.epsilon_main,
            "epsilon_seal": plan.epsilon_seal,
            "seal_scale": plan.seal_scale * float(plan.step),
        }
        inside = ObjectiveNoise(n, plan.lambda_ / plan.grid, plan.minimised, LaplaceNoise(plan.seal_scale))
        cost = Cost.pure(promise.privacy.epsilon)
        return Calibrated(self, promise, statistic, inside, plan.step, law, cost, tuple(figures.items()))

    def _gamma(self, promise: Promise, per_item: float | None) -> float:
        """γ as given, or from the comparisons per item as declared, or from the number of votes where it is public."""
        if self.gamma is not None:
            return self.gamma
        privacy, declared = promise.privacy, self.comparisons_per_item or per_item
        if declared is None:
            raise PrivacyError(
                f"the number of votes is not public for {option('unit', privacy.unit)} with "
                f"{option('neighbours', privacy.neighbours)}{' in one group' if promise.groups else ''}, so no default "
                f"gamma can be computed from it; declare {option('gamma')}, or {option('comparisons_per_item')} as it "
                "was expected before the votes came in (2 × votes / items)"
            )
        epsilon, _ = split_budget(privacy.epsilon, promise.tallies_changed)
        return default_gamma(privacy, epsilon, self.calibration, self.link, len(promise.items), declared)

    def loss(self, calibrated: Calibrated) -> Cost:
        """The loss of the noise inside, from the calibration, plus that of each seal, from OpenDP's own privacy map."""
        noise, law = calibrated.noise, calibrated.law
        if not (isinstance(noise, ObjectiveNoise) and isinstance(law, ScoresLaw)):
            raise AssertionError(f"{type(noise).__name__} is not the noise of the perturbed MLE")
        plan, n = law.plan, len(calibrated.promise.items)
        main = privacy_loss(noise.scale * plan.grid, plan.gamma, calibrated.privacy, plan.link)
        reach = seal_sensitivity(n, distance_bound(n, plan.gamma, plan.tolerance, plan.grid), plan.step)
        seal = laplace_privacy_loss(noise.seal.scale, reach)
        return Cost.pure(float_above(Fraction(main) + calibrated.promise.tallies_changed * Fraction(seal)))

    def charged_as(self, statistic: Statistic) -> str:
        return self.name


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

    def minimised(self, pairs: PairWins, draw: Sequence[int]) -> Integers:
        """The minimiser with noise w = g·draw inside, on the lattice; not yet sealed."""
        return to_lattice(minimise(objective_of(pairs, self, draw), self.tolerance), self.step)


def objective_of(pairs: PairWins, plan: Plan, draw: Sequence[int]) -> Objective:
    """What is minimised: the votes, the ridge, and the noise w = g·draw."""
    order = np.lexsort((pairs.j, pairs.i))
    i, j = (index[order].astype(np.int32) for index in (pairs.i, pairs.j))
    wins_i, wins_j = (
        np.minimum(wins[order], LARGEST_TALLY) * float(pairs.step) for wins in (pairs.wins_i, pairs.wins_j)
    )
    return Objective(Pairs(len(draw), i, j, wins_i, wins_j), draw, plan.grid, plan.gamma, plan.link)


@dataclass(frozen=True)
class ScoresLaw(Law):
    """The noise on scores, as far as it follows from public values."""

    plan: Plan
    items: int
    per_item: float | None
    """comparisons per item, where the number of votes is public"""
    declared: float | None = None
    """comparisons per item, as they were expected"""

    @property
    def size(self) -> float:
        return self.plan.lambda_

    @property
    def spread(self) -> Spread:
        return Spread(score_noise(self.plan, self.items, self.per_item), 0.0, 0.0, 3.0)

    @property
    def holds_for(self) -> str:
        return "items never compared" if self.per_item is None else "items compared equally often"

    def of_size(self, size: float) -> ScoresLaw:
        raise AssertionError("the noise of the perturbed MLE depends on the votes, so it cannot be planned")

    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        raise AssertionError("the noise of the perturbed MLE depends on the votes, so it cannot be planned")

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "scores", "scale": self.plan.lambda_}


# ---- public part: constants ------------------------------------------------------------------------------------


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
    model, chosen = usable(link), parse(Calibration, "calibration", calibration)
    epsilon_main, epsilon_seal = split_budget(privacy.epsilon, releases_per_unit)
    lambda_ = noise_scale(privacy, epsilon_main, gamma, chosen, model)
    # 2β + nq is to be `width`, so that the sealing noise has scale width/ε' at most: 3/4 for 2β, 1/8 for nq.
    width = epsilon_seal * SEAL_SPREAD * min(1.0, lambda_) / gamma
    step = _power_of_two_below(width / (8 * n))
    reach = gamma * (3 / 8 * width) / math.sqrt(n)  # τ + g√n
    tolerance, grid = 7 / 8 * reach, _power_of_two_below(reach / (8 * math.sqrt(n)))
    beta = distance_bound(n, gamma, tolerance, grid)
    sensitivity = seal_sensitivity(n, beta, Fraction(step))
    scale = laplace_scale(sensitivity, epsilon_seal)
    plan = Plan(
        chosen, model, gamma, lambda_, epsilon_main, epsilon_seal, tolerance, grid, Fraction(step), beta, sensitivity,
        scale,
    )  # fmt: skip
    _check(plan, privacy, releases_per_unit)
    return plan


def usable(link: str | Link) -> Link:
    """A link that this mechanism can use: its constants are not refuted, and its gradient is known to any precision."""
    checked = get_link(link)
    if not is_built_in(checked):
        check_decimals(checked)
    return checked


def split_budget(epsilon: float, releases_per_unit: int) -> tuple[float, float]:
    """ε into the part for the perturbed MLE and the part for each sealing; rounded down, towards privacy.

    A unit that can move several releases at once (it leaves one group and enters another, or its votes are spread over
    many) pays for the perturbed MLE once, because its weight is bounded over all of them and removing and adding are
    what `replace` is calibrated for, but for the sealing noise of each release.
    """
    if releases_per_unit < 1:
        raise PrivacyError(f"releases_per_unit must be 1 or more; got {releases_per_unit}")
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

    w has variance 2λ² and moves the minimiser by −(H + γI)⁻¹w, where H is the curvature of the votes. Where nothing
    about them is public, H may be 0, and √2·λ/γ is an upper limit. With d = `per_item` comparisons of every item,
    evenly spread, H = d·h·n/(n − 1) on vectors that sum to zero, h = −(log F)'' at the differences between scores.
    Those of the noise itself are used, √2 standard deviations: the largest solution, approached from above. The
    sealing noise is added to it.
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
    epsilon = option("epsilon", privacy.epsilon)
    main = privacy_loss(plan.lambda_, plan.gamma, privacy, plan.link)
    seal = laplace_privacy_loss(plan.seal_scale, plan.seal_sensitivity)
    if not (main <= plan.epsilon_main and seal <= plan.epsilon_seal):
        raise PrivacyError(f"{epsilon} would not be kept; nothing was released")
    if Fraction(plan.epsilon_main) + releases_per_unit * Fraction(plan.epsilon_seal) > Fraction(
        as_written(privacy.epsilon)
    ):
        raise PrivacyError(f"the parts of {epsilon} exceed it; nothing was released")
    if not plan.lambda_ / plan.grid <= LARGEST_SCALE:
        raise PrivacyError(f"{epsilon} is too small for noise of any use; choose a larger {option('epsilon')}")
    if not plan.lambda_ / plan.grid > 0:
        raise PrivacyError(f"{epsilon} is too large for noise of any use; choose a smaller {option('epsilon')}")


def to_lattice(theta: Iterable[float | Decimal], step: Fraction) -> Integers:
    """Each entry rounded to the nearest whole multiple of the step, exactly; saturating far beyond any real score."""
    return np.array([_nearest_step(Decimal(x), step) for x in theta], dtype=np.int64)


def _nearest_step(x: Decimal, step: Fraction) -> int:
    """A decimal as small as 10^-(10^12) does not fit into memory as a fraction, and rounds to 0 anyway."""
    if x.adjusted() < -FAR:
        return 0
    if x.adjusted() > FAR:
        return LARGEST_VALUE if x > 0 else -LARGEST_VALUE
    return max(-LARGEST_VALUE, min(LARGEST_VALUE, round(Fraction(x) / step)))


PERTURBED_MLE = PerturbedMLE()
