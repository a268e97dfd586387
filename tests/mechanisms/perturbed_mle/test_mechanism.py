"""The sealed perturbed MLE: its exact privacy loss, every inequality of the sealing, and that it never gives up.

The inequalities are those of docs/proofs/perturbed-mle.md, which names these tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal, DivisionByZero, getcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from quietrank.arrays import Floats
from quietrank.errors import PrivacyError, SolverError
from quietrank.maths import minimise as certified
from quietrank.maths.certificate import Objective, certified_gradient_norm, digits_of, exact_gradient
from quietrank.maths.links import HYPERBOLIC_SECANT, LOGISTIC, CustomLink, Link, Logistic
from quietrank.maths.minimise import minimise, minimise_exactly
from quietrank.mechanisms.mechanism import Noised
from quietrank.mechanisms.perturbed_mle import mechanism as perturbed
from quietrank.mechanisms.perturbed_mle.loss import (
    LARGEST_GAMMA,
    Calibration,
    default_gamma,
    noise_scale,
    smallest_gamma,
)
from quietrank.mechanisms.perturbed_mle.mechanism import (
    LARGEST_TALLY,
    Plan,
    ScoresLaw,
    distance_bound,
    make_plan,
    objective_of,
    seal_sensitivity,
    split_budget,
    to_lattice,
)
from quietrank.noise import lattice
from quietrank.promise.accounting import Charge
from quietrank.promise.declare import declare
from quietrank.promise.privacy import Neighbours, Privacy, Unit
from quietrank.promise.promise import Bounded
from quietrank.statistics.net_wins import NET_WINS
from quietrank.votes.tallies import PairTally
from tests.steps import clip_of, perturbed_mle, perturbed_mle_of_groups

TIGHT = Calibration.TIGHT


# ---- the exact privacy loss -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """Many data sets over the same pairs at once: wins of the first and of the second item, (data sets, pairs)."""

    wins: Floats
    losses: Floats

    def __add__(self, other: Data) -> Data:
        return Data(self.wins + other.wins, self.losses + other.losses)


def incidence(n: int) -> Floats:
    """One row e_i − e_j per pair i < j."""
    i, j = np.triu_indices(n, 1)
    return np.eye(n)[i] - np.eye(n)[j]


def log_density(data: Data, theta: Floats, scale: float, gamma: float, link: Link) -> Floats:
    """log density of the output θ, up to a constant: θ ↔ w = −(∇NLL(θ) + γθ) is one to one, so it is the density
    of w times |det ∂w/∂θ| = det(∇²NLL(θ) + γI)."""
    n = theta.shape[1]
    B = incidence(n)
    x = theta @ B.T
    w = -(data.losses * link.grad(-x) - data.wins * link.grad(x)) @ B - gamma * theta
    weight = data.wins * link.curvature(x) + data.losses * link.curvature(-x)
    hessian = np.matmul(B.T, weight[:, :, None] * B) + gamma * np.eye(n)
    return np.asarray(-np.abs(w).sum(axis=1) / scale + np.linalg.slogdet(hessian)[1])


def loss(one: Data, other: Data, theta: Floats, scale: float, gamma: float, link: Link = LOGISTIC) -> Floats:
    """The privacy loss between two data sets at the output θ; its size, so both directions."""
    difference = log_density(one, theta, scale, gamma, link) - log_density(other, theta, scale, gamma, link)
    return np.abs(difference)


def random_votes(rng: np.random.Generator, rows: int, n: int, votes: int, weight: Floats | float = 1.0) -> Data:
    """`votes` random votes in each of `rows` data sets; wins, losses and ties, pairs may repeat."""
    pairs = n * (n - 1) // 2
    wins, losses = np.zeros((rows, pairs)), np.zeros((rows, pairs))
    for _ in range(votes):
        pair, y = rng.integers(pairs, size=rows), rng.choice([0.0, 0.5, 1.0], size=rows)
        np.add.at(wins, (np.arange(rows), pair), y * weight)
        np.add.at(losses, (np.arange(rows), pair), (1 - y) * weight)
    return Data(wins, losses)


def random_unit(rng: np.random.Generator, rows: int, n: int, privacy: Privacy) -> Data:
    """One vote, or one person's bounded votes: c votes of weight min(2^20, ⌊L·2^20/c⌋)/2^20."""
    if privacy.unit is Unit.COMPARISON:
        return random_votes(rng, rows, n, 1)
    votes = int(rng.integers(1, 4 * privacy.limit + 1))
    weight = min(2**20, privacy.limit * 2**20 // votes) / 2**20
    return random_votes(rng, rows, n, votes, weight)


def random_neighbours(rng: np.random.Generator, rows: int, n: int, privacy: Privacy) -> tuple[Data, Data]:
    base = random_votes(rng, rows, n, int(rng.integers(0, 12)), rng.choice([0.25, 1.0, 10.0], size=rows))
    one = base + random_unit(rng, rows, n, privacy)
    if privacy.neighbours is Neighbours.ADD_REMOVE:
        return one, base
    return one, base + random_unit(rng, rows, n, privacy)


def climbed_loss(rng: np.random.Generator, rows: int, n: int, gamma: float, scale: float, privacy: Privacy,
                 link: Link) -> float:  # fmt: skip
    """The largest loss over random neighbours and outputs, each output improved by a random search."""
    one, other = random_neighbours(rng, rows, n, privacy)
    theta = rng.normal(size=(rows, n)) * rng.choice([0.1, 1.0, 5.0, 30.0], size=(rows, 1))
    best = loss(one, other, theta, scale, gamma, link)
    for _ in range(15):
        trial = theta + rng.normal(size=(rows, n)) * rng.choice([0.1, 1.0, 10.0], size=(rows, 1))
        found = loss(one, other, trial, scale, gamma, link)
        theta, best = np.where((found > best)[:, None], trial, theta), np.maximum(best, found)
    return float(best.max())


def constructed_neighbours(parts: int, privacy: Privacy, gamma: float, share: Floats) -> tuple[Data, Data, Floats]:
    """Neighbours and outputs that reach the bound: a unit's weight in `parts` equal parts, each a vote for i_r over
    j_r where it was to lose with probability `share`.

    Two far-out items, low and high, give w the signs that let every change count in full, and add no curvature: low
    has beaten each i_r, and each j_r has beaten high, often and against all odds. Under replace the other unit said
    that low beats high.
    """
    n = 2 * parts + 2
    low, high = n - 2, n - 1
    first, second = np.arange(parts), parts + np.arange(parts)
    gap = np.log1p(-share) - np.log(share)  # σ(θ_i − θ_j) = 1 − share
    theta = np.empty((len(share), n))
    theta[:, first], theta[:, second] = gap[:, None] / 2, -gap[:, None] / 2
    theta[:, low], theta[:, high] = -120.0, 120.0
    often = 200 * (gamma + privacy.limit)
    base = votes_for(n, [low] * parts, first, often) + votes_for(n, second, [high] * parts, often)
    one = base + votes_for(n, first, second, privacy.limit / parts)
    replaced = privacy.neighbours is Neighbours.REPLACE
    return one, base + votes_for(n, [low], [high], privacy.limit if replaced else 0.0), theta


def votes_for(n: int, winners: ArrayLike, losers: ArrayLike, weight: float) -> Data:
    pair = {(int(i), int(j)): index for index, (i, j) in enumerate(zip(*np.triu_indices(n, 1), strict=True))}
    wins, losses = np.zeros((1, len(pair))), np.zeros((1, len(pair)))
    for a, b in zip(np.asarray(winners).tolist(), np.asarray(losers).tolist(), strict=True):
        (wins if a < b else losses)[0, pair[min(a, b), max(a, b)]] += weight
    return Data(wins, losses)


def constructed_loss(privacy: Privacy, gamma: float, scale: float, parts: int = 1) -> float:
    share = np.append(np.linspace(0.3, 0.99, 24), 1 - 1e-12)
    return float(loss(*constructed_neighbours(parts, privacy, gamma, share), scale, gamma).max())


PROMISES = [
    Privacy(1.0, "comparison"),
    Privacy(0.5, "comparison", neighbours="add-remove"),
    Privacy(1.0, "person", max_per_person=1),
    Privacy(2.0, "person", max_per_person=5),
    Privacy(0.3, "person", max_per_person=2, neighbours="add-remove"),
]


def by_name(privacy: Privacy) -> str:
    return f"{privacy.unit}-{privacy.neighbours}-{privacy.limit}"


@pytest.mark.parametrize("privacy", PROMISES, ids=by_name)
@pytest.mark.parametrize("link", [LOGISTIC, HYPERBOLIC_SECANT], ids=lambda link: link.name)
@pytest.mark.few(3)
def test_exact_privacy_loss_is_never_above_epsilon(privacy: Privacy, link: Link) -> None:
    """Thousands of random small data sets, neighbours and outputs, the outputs improved by search."""
    rng = np.random.default_rng(20261107)
    for calibration in Calibration:
        least = smallest_gamma(privacy, privacy.epsilon, calibration, link)
        for gamma in (least, 1.5 * least, 10 * least):
            scale = noise_scale(privacy, privacy.epsilon, gamma, calibration, link)
            for n in (2, 3, 4, 6):
                found = climbed_loss(rng, 150, n, gamma, scale, privacy, link)
                assert found <= privacy.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("privacy", PROMISES, ids=by_name)
@pytest.mark.parametrize("relative_gamma", [0.7, 1.0, 5.0])
def test_exact_privacy_loss_comes_near_epsilon(privacy: Privacy, relative_gamma: float) -> None:
    """So that the calibration is not loose, wherever γ lies. People spread their weight over many pairs."""
    gamma = relative_gamma * privacy.limit / privacy.epsilon
    scale = noise_scale(privacy, privacy.epsilon, gamma, TIGHT, LOGISTIC)
    parts = 1 if privacy.unit is Unit.COMPARISON else 12 * privacy.limit if relative_gamma < 5 else 2
    reached = constructed_loss(privacy, gamma, scale, min(parts, 24)) / privacy.epsilon
    assert 0.95 <= reached <= 1 + 1e-9


@pytest.mark.parametrize("privacy", PROMISES, ids=by_name)
def test_mutant_with_half_the_noise_is_caught(privacy: Privacy) -> None:
    gamma = 5 * privacy.limit / privacy.epsilon
    scale = noise_scale(privacy, privacy.epsilon, gamma, TIGHT, LOGISTIC) / 2
    assert constructed_loss(privacy, gamma, scale) > 1.9 * privacy.epsilon


def test_mutant_without_the_determinant_is_caught() -> None:
    """λ = 4/ε whatever γ."""
    privacy = PROMISES[0]
    assert constructed_loss(privacy, 0.5, 4 / privacy.epsilon) > 1.3 * privacy.epsilon


@pytest.mark.parametrize("limit", [1, 3])
def test_mutant_with_the_logarithm_for_people_is_caught(limit: int) -> None:
    """Fractional weights on many pairs add up to the linear form; L times the logarithm of one vote is too little."""
    privacy = Privacy(1.0 * limit, "person", max_per_person=limit)
    one_vote = Privacy(1.0, "comparison")
    gamma = 1.2 * smallest_gamma(one_vote, 1.0, TIGHT, LOGISTIC)
    mutant = noise_scale(one_vote, 1.0, gamma, TIGHT, LOGISTIC)
    assert constructed_loss(privacy, gamma, mutant, parts=24) > 1.3 * privacy.epsilon


def test_mutant_with_add_remove_noise_under_replace_is_caught() -> None:
    added = Privacy(1.0, "comparison", neighbours="add-remove")
    scale = noise_scale(added, 1.0, 20.0, TIGHT, LOGISTIC)
    assert constructed_loss(Privacy(1.0, "comparison"), 20.0, scale) > 1.9


# ---- the data of the sealing tests ------------------------------------------------------------------------------


def counts(n: int, pairs: Sequence[tuple[int, int, int, int]], step: Fraction = Fraction(1, 2)) -> PairTally:
    """From (i, j, wins of i, wins of j) in whole votes, each of them a unit."""
    table = np.array(pairs, dtype=object).reshape(-1, 4).T
    i, j = (row.astype(np.int64) for row in table[:2])
    wins_i, wins_j = ((row / step).astype(np.int64) for row in table[2:])
    votes = Bounded.by(Privacy(1.0, "comparison"), None)
    return PairTally(declare(range(n)), i, j, wins_i, wins_j, step, int(table[2:].sum()), votes)


def bounded_by(privacy: Privacy, tally: PairTally) -> PairTally:
    """The same counts, said to be bounded as this promise needs."""
    return replace(tally, bounded=Bounded.by(privacy, None))


LADDER = counts(4, [(2, 3, 5, 2), (0, 1, 3, 1), (1, 2, 4, 4)])  # on purpose not sorted
ADDED = Privacy(1.0, "comparison", neighbours="add-remove")

NASTY = {
    "no votes": counts(3, []),
    "separated": counts(4, [(0, 1, 9, 0), (2, 3, 9, 0), (0, 3, 9, 0)]),
    "always wins": counts(5, [(0, j, 50, 0) for j in range(1, 5)] + [(1, 2, 1, 1), (3, 4, 1, 1)]),
    "disconnected": counts(6, [(0, 1, 3, 4), (4, 5, 10**6, 0)]),
    "a billion one way": counts(3, [(0, 1, 10**9, 0), (1, 2, 10**9, 0)]),
    "a trillion both ways": counts(3, [(0, 1, 10**12, 10**12 + 1), (1, 2, 10**12, 10**12)]),
    "light and heavy": counts(4, [(0, 1, 1, 0), (1, 2, 10**15, 10**15), (2, 3, 1, 1)]),
    "beyond float64": counts(3, [(0, 1, 2**60, 2**61), (0, 2, 1, 0)]),
}


def drawn(plan: Plan, n: int, seed: int = 0) -> tuple[list[int], Floats]:
    """Laplace noise as real numbers (float64), and truncated to the grid."""
    real = np.random.default_rng(seed).laplace(scale=plan.lambda_, size=n)
    return [math.trunc(Fraction(x) / Fraction(plan.grid)) for x in real], real


def objective_with_real_noise(tally: PairTally, plan: Plan, real: Floats) -> Objective:
    """The same objective with w̃: every float64 here is a whole multiple of 2^-200."""
    fine = [int(Fraction(x) * 2**200) for x in real]
    like = objective_of(tally, plan, fine)
    return Objective(like.pairs, fine, 2.0**-200, plan.gamma, plan.link)


def true_gradient_norm(objective: Objective, theta: Sequence[float | Decimal]) -> float:
    with digits_of(150):
        gradient, slack = exact_gradient(objective, [Decimal(x) for x in theta])
        assert max(slack) < Decimal("1e-60")
        return float(sum(g * g for g in gradient).sqrt())  # type: ignore[union-attr]


# ---- every inequality of the sealing ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("link", [LOGISTIC, HYPERBOLIC_SECANT], ids=lambda link: link.name)
def test_gradient_is_certified_on_any_data(name: str, link: Link) -> None:
    """‖∇f(θ̂)‖₂ ≤ τ by an independent evaluation with 150 digits; nothing is refused."""
    tally = NASTY[name]
    plan = make_plan(len(tally.items), ADDED, 10.0, link=link)
    objective = objective_of(tally, plan, drawn(plan, len(tally.items))[0])
    assert true_gradient_norm(objective, minimise(objective, plan.tolerance)) <= plan.tolerance


@pytest.mark.parametrize("name", NASTY)
def test_decimal_arithmetic_finishes_what_float64_cannot(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the fast solver refuses, the slow one solves, from any start."""
    tally = NASTY[name]
    plan = make_plan(len(tally.items), ADDED, 2.0)
    objective = objective_of(tally, plan, drawn(plan, len(tally.items))[0])

    def refuse(*_: object) -> None:
        raise SolverError("planted")

    monkeypatch.setattr(certified, "solve_nearly", refuse)
    found = minimise(objective, 1e-40)
    assert isinstance(found[0], Decimal)
    assert true_gradient_norm(objective, found) <= 1e-40


def test_noise_too_large_for_float64_is_not_rounded_away() -> None:
    """A draw of more than 2^53 steps is stored exactly: what float64 loses is counted against the tolerance."""
    plan = make_plan(4, ADDED, 10.0)
    objective = objective_of(NASTY["separated"], plan, [2**53 + 1, -(2**80) - 1, 2**62 + 3, 5])
    assert objective.in_float64()[1] >= (1 + 1 + 3) * plan.grid
    assert true_gradient_norm(objective, minimise(objective, plan.tolerance)) <= plan.tolerance


@pytest.mark.parametrize("link", [LOGISTIC, HYPERBOLIC_SECANT], ids=lambda link: link.name)
def test_decimal_gradient_knows_its_own_error(link: Link) -> None:
    """|computed − true| ≤ slack at 12 digits, true from 150 digits; and the slack is no more than 10^5 ulp."""
    rng = np.random.default_rng(5)
    plan = make_plan(4, ADDED, 10.0, link=link)
    for _ in range(20):
        with digits_of(12):
            theta = [+Decimal(x) for x in rng.normal(scale=5, size=4).tolist()]
            objective = objective_of(LADDER, plan, drawn(plan, 4)[0])
            rough, slack = exact_gradient(objective, theta)
        with digits_of(150):
            fine, _ = exact_gradient(objective, theta)
            assert all(abs(a - b) <= s for a, b, s in zip(rough, fine, slack, strict=True))
            assert max(slack) < Decimal("1e-5")


def test_float64_certificate_is_an_upper_bound() -> None:
    rng = np.random.default_rng(6)
    plan = make_plan(4, ADDED, 10.0)
    objective = objective_of(LADDER, plan, drawn(plan, 4)[0])
    problem = objective.in_float64()[0]
    for size in (1e-9, 1e-3, 1.0, 30.0):
        theta = np.array([float(x) for x in minimise(objective, plan.tolerance)]) + size * rng.normal(size=4)
        assert certified_gradient_norm(problem, theta) >= true_gradient_norm(objective, theta.tolist())


@pytest.mark.parametrize("name", NASTY)
def test_answer_lies_within_beta_of_the_ideal_one(name: str) -> None:
    """‖θ̂ − θ̃‖₁ ≤ β, with θ̃ the exact minimiser under the real-valued noise that was truncated."""
    tally = NASTY[name]
    n = len(tally.items)
    plan = make_plan(n, ADDED, 10.0)
    for seed in range(5):
        draw, real = drawn(plan, n, seed)
        answer = minimise(objective_of(tally, plan, draw), plan.tolerance)
        ideal = minimise_exactly(objective_with_real_noise(tally, plan, real), 1e-30, [Decimal(0)] * n)
        distance = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(answer, ideal, strict=True))
        assert distance <= plan.beta


def test_beta_is_attained() -> None:
    """Without votes f is a parabola: gradient τ/√n in each entry and g lost in each entry give √n(τ + g√n)/γ."""
    n, gamma, tolerance, grid = 9, 4.0, 1e-6, 1e-8
    distance = n * (tolerance / math.sqrt(n) + grid) / gamma
    assert distance_bound(n, gamma, tolerance, grid) == pytest.approx(distance, rel=1e-9)
    assert distance_bound(n, gamma, tolerance, grid) >= distance


@given(st.floats(-1e9, 1e9), st.integers(-40, 3))
def test_truncation_loses_less_than_a_step(x: float, exponent: int) -> None:
    """|w̃ − w| < g, and w never has the larger size."""
    grid = Fraction(2) ** exponent
    w = math.trunc(Fraction(x) / grid) * grid
    assert abs(Fraction(x) - w) < grid
    assert abs(w) <= abs(Fraction(x))


@pytest.mark.parametrize("scale", [0.4, 3.0, 1000.0])
def test_truncated_laplace_noise_is_geometric(scale: float) -> None:
    """P(k ≤ |x| < k + 1) of Laplace noise, by its distribution function, is (1 − q)q^k."""
    q = math.exp(-1 / scale)
    for k in range(6):
        slab = math.exp(-k / scale) - math.exp(-(k + 1) / scale)
        assert slab == pytest.approx((1 - q) * q**k, rel=1e-12)


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-1, 1)), min_size=1, max_size=8))
def test_rounding_adds_at_most_one_step_per_entry(entries: list[tuple[float, float]]) -> None:
    """‖round(x) − round(y)‖₁ ≤ ⌈‖x − y‖₁/q⌉ + n in steps."""
    step = Fraction(1, 8)
    x, y = [a for a, _ in entries], [a + b for a, b in entries]
    apart = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(x, y, strict=True))
    steps = int(np.abs(to_lattice(x, step) - to_lattice(y, step)).sum())
    assert steps <= math.ceil(apart / step) + len(entries)


def test_half_a_step_per_entry_would_not_do() -> None:
    """All entries just below and just above the middle between two lattice points: n steps apart, and no distance."""
    n, step, tiny = 6, Fraction(1), 1e-12
    below, above = to_lattice([0.5 - tiny] * n, step), to_lattice([0.5 + tiny] * n, step)
    assert int(np.abs(above - below).sum()) == n
    assert n > math.ceil(2 * n * Fraction(tiny)) + n // 2
    assert seal_sensitivity(n, n * tiny, step) >= n


def test_saturated_values_do_not_move_apart() -> None:
    far = to_lattice([1e40, -1e40, Decimal("1e300"), Decimal("-1e999999999999")], Fraction(1, 2**30))
    assert far.tolist() == [2**62, -(2**62), 2**62, -(2**62)]


def test_no_decimal_is_too_small_for_the_lattice() -> None:
    """A score can be 10^-(10^12), as the slope of a vote far out; as a fraction it would fill no memory there is."""
    near: list[float | Decimal] = [
        Decimal("1e-999999999999"),
        Decimal("-1e-999999999999"),
        Decimal(0),
        Decimal("0.75"),
        2.0**-910,
    ]
    assert to_lattice(near, Fraction(1, 2)).tolist() == [0, 0, 0, 2, 0]
    assert to_lattice([2.0**-910, Decimal(2) ** -910], Fraction(1, 2**910)).tolist()[0] == 1


@given(st.integers(0, 2**55), st.integers(0, 2**55), st.integers(0, 2**55))
def test_saturated_tallies_are_those_of_lighter_votes(base: int, out: int, into: int) -> None:
    """min(·, 2^53) leaves a unit's wins on a pair non-negative and no heavier, so neighbours stay neighbours."""
    kept = min(base, LARGEST_TALLY)
    for unit in (out, into):
        assert 0 <= min(base + unit, LARGEST_TALLY) - kept <= unit


@given(st.floats(1e-6, 100), st.sampled_from([1, 2]))
def test_the_parts_never_exceed_the_budget(epsilon: float, releases: int) -> None:
    main, seal = split_budget(epsilon, releases)
    assert Fraction(main) + releases * Fraction(seal) <= Fraction(epsilon)
    assert main >= 0.9899 * epsilon
    assert releases * seal <= 0.01 * epsilon * (1 + 1e-12)


@pytest.mark.parametrize("privacy", PROMISES, ids=by_name)
@pytest.mark.parametrize("n", [2, 300, 100_000])
def test_the_plan_keeps_its_promises(privacy: Privacy, n: int) -> None:
    """Sensitivity ⌈2β/q⌉ + n, OpenDP's own map within ε', and sealing noise far below 1/γ."""
    gamma = default_gamma(privacy, 0.99 * privacy.epsilon, TIGHT, LOGISTIC, n, 100.0)
    plan = make_plan(n, privacy, gamma)
    assert plan.beta >= math.sqrt(n) * (plan.tolerance + plan.grid * math.sqrt(n)) / gamma
    assert plan.seal_sensitivity == math.ceil(2 * Fraction(plan.beta) / plan.step) + n
    assert lattice.laplace_privacy_loss(plan.seal_scale, plan.seal_sensitivity) <= plan.epsilon_seal
    assert plan.seal_scale * float(plan.step) <= min(1, plan.lambda_) / gamma / 100
    assert math.frexp(plan.grid)[0] == 0.5  # a power of two, so that λ/g is exact
    assert math.frexp(float(plan.step))[0] == 0.5


# ---- the noise --------------------------------------------------------------------------------------------------


def fits(draws: Sequence[int], scale: float) -> bool:
    """Whether sizes and signs look like truncated Laplace noise of this scale; at most 1e-6 of right ones do not.

    For N draws each of three averages has mean 0 and variance 1/N when standardised: five and a half of these.
    """
    size, N = np.abs(np.array(draws, dtype=float)), len(draws)
    q = math.exp(-1 / scale)
    mean, sd = q / (1 - q), math.sqrt(q) / (1 - q)
    zeros, signs = (size == 0).mean(), np.sign(draws)[size > 0]
    deviations = (
        (size.mean() - mean) / sd,
        (zeros - (1 - q)) / math.sqrt(q * (1 - q)) if N * min(q, 1 - q) > 50 else 0.0,
        float(signs.sum()) / math.sqrt(max(len(signs), 1)) / math.sqrt(N),
    )
    return all(abs(deviation) * math.sqrt(N) < 5.5 for deviation in deviations)


@pytest.mark.parametrize("scale", [0.6, 4.0, 2.0**30, 2.0**50])
def test_noise_has_the_right_scale_and_no_other(scale: float) -> None:
    draws = lattice.truncated_laplace(10_000, scale)
    assert fits(draws, scale)
    assert not fits(draws, scale * 1.25)
    assert not fits(draws, scale / 1.25)


def test_saturated_draws_are_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw at the 64-bit limit means at least that much; what is left is drawn afresh, with no limit."""
    answers = iter([[3, -4, 2**63 - 1, -(2**63)], [5], [-(2**63)], [-1]])
    monkeypatch.setattr(lattice, "_laplace", lambda scale: lambda values: next(answers))
    assert lattice._geometric(4, 1.0) == [3, 3, 2**63 - 1 + 5, 2 * (2**63 - 1)]


def test_useless_noise_is_refused() -> None:
    with pytest.raises(PrivacyError, match="larger epsilon"):
        lattice.truncated_laplace(2, 2.0**57)


# ---- the whole mechanism ----------------------------------------------------------------------------------------


def test_with_no_privacy_to_speak_of_the_scores_are_the_regularised_ones() -> None:
    release = perturbed_mle(LADDER, Privacy(1e7, "comparison", neighbours="add-remove"), gamma=1.0)
    still = minimise_exactly(objective_of(LADDER, release.plan, [0] * 4), 1e-20, [Decimal(0)] * 4)
    exact = np.array([float(x) for x in still])
    np.testing.assert_allclose(release.scores, exact - exact.mean(), atol=1e-5)


@pytest.mark.parametrize("calibration", list(Calibration))
def test_without_votes_the_output_is_the_noise(calibration: Calibration) -> None:
    """θ = −w/γ, so the mean size is λ/γ: within 15 % (a 6.7 σ event otherwise); half or double would be seen."""
    n = 2000
    release = perturbed_mle(counts(n, []), ADDED, gamma=50.0, calibration=calibration)
    size = np.abs(release.values * float(release.plan.step)).mean()
    assert size == pytest.approx({"tight": 2, "published": 8}[calibration] / 0.99 / 50, rel=0.15)


@pytest.mark.parametrize("name", NASTY)
def test_nothing_about_the_votes_stops_a_release(name: str) -> None:
    for privacy in (ADDED, Privacy(0.01, "person", max_per_person=5)):
        release = perturbed_mle(bounded_by(privacy, NASTY[name]), privacy, per_item=10.0)
        assert np.isfinite(release.scores).all()
        assert release.scores.sum() == pytest.approx(0, abs=1e-6)


HEAVY = 2**52  # 2^53 steps of half a vote: where wins saturate

VOTE_SETS: dict[str, Callable[[int], list[tuple[int, int, int, int]]]] = {
    "none": lambda n: [],
    "one": lambda n: [(0, 1, 1, 0)],
    "heavy pair": lambda n: [(0, 1, HEAVY, 0)],
    "chain": lambda n: [(k, k + 1, 3, 0) for k in range(n - 1)],
    "heavy chain": lambda n: [(k, k + 1, HEAVY, 0) for k in range(n - 1)],
    "heavy ties": lambda n: [(k, k + 1, HEAVY, HEAVY) for k in range(n - 1)],
    "1 against 2^53": lambda n: [(k, k + 1, HEAVY if k % 2 else 1, 0 if k % 3 else HEAVY) for k in range(n - 1)],
    "two halves": lambda n: [(k, k + 2, HEAVY, 1) for k in range(n - 2)],
    "separated": lambda n: [(i, j, 9, 0) for i in range(n) for j in range(i + 1, n)],
    "heavy separated": lambda n: [(i, j, HEAVY, 0) for i in range(n) for j in range(i + 1, n)],
}
"""From the number of items: no votes, single ones, complete separation, saturated wins, weak links between strong."""

UNITS: list[dict[str, object]] = [
    {"unit": "comparison", "neighbours": "add-remove"},
    {"unit": "comparison"},
    {"unit": "person", "max_per_person": 5, "neighbours": "add-remove"},
    {"unit": "person", "max_per_person": 5},
]
OWN = CustomLink(
    "own", 1.0, 0.25, LOGISTIC.cdf, LOGISTIC.nll, LOGISTIC.grad, LOGISTIC.curvature, None, LOGISTIC.grad_decimal
)


def accepted_ridges(privacy: Privacy, link: Link, count: int) -> list[float]:
    """γ from the smallest to the largest that is accepted, evenly on the scale of its logarithm."""
    least = smallest_gamma(privacy, split_budget(privacy.epsilon, 1)[0], TIGHT, link)
    middle = np.geomspace(least, 1e6 * least, count - 1)
    return [least, *middle[1:].tolist(), LARGEST_GAMMA]


def released(n: int, link: Link, epsilon: float, unit: dict[str, object], sets: Sequence[str], ridges: int) -> int:
    """Release every set of votes with every ridge; how many there were. Nothing but a refusal by `make_plan`, which
    sees no votes, may come in between."""
    privacy, done = Privacy(epsilon, **unit), 0  # type: ignore[arg-type]
    for gamma in accepted_ridges(privacy, link, ridges):
        try:
            make_plan(n, privacy, gamma, link=link)
        except PrivacyError:
            continue
        for name in sets:
            tally = bounded_by(privacy, counts(n, VOTE_SETS[name](n)))
            assert np.isfinite(perturbed_mle(tally, privacy, gamma=gamma, link=link).scores).all()
            done += 1
    return done


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("link", [LOGISTIC, HYPERBOLIC_SECANT, OWN], ids=lambda link: link.name)
@pytest.mark.few(1)
def test_no_votes_make_a_release_fail(n: int, link: Link) -> None:
    """The whole range of ridges, budgets from next to nothing to next to no privacy, and the worst votes."""
    sets = [name for name in VOTE_SETS if n <= 5 or "separated" not in name]
    budgets = (1e-3, 1.0, 20.0, 150.0, 1e3) if n <= 3 else (1.0, 150.0)
    done = sum(
        released(n, link, epsilon, UNITS[k % len(UNITS)], sets if n < 30 else sets[:5], 3)
        for k, epsilon in enumerate(budgets)
    )
    assert done >= 10


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("link", [LOGISTIC, HYPERBOLIC_SECANT, OWN], ids=lambda link: link.name)
@pytest.mark.parametrize("epsilon", [1e-3, 0.03, 1.0, 20.0, 150.0, 1e3])
def test_no_votes_make_a_release_fail_at_length(n: int, link: Link, epsilon: float) -> None:
    """The same with every unit, relation and set of votes; a release at n = 30 takes up to a minute."""
    assert sum(released(n, link, epsilon, unit, list(VOTE_SETS), 4) for unit in UNITS) >= len(VOTE_SETS)


@pytest.mark.parametrize("failure", [MemoryError, np.linalg.LinAlgError, FloatingPointError, RecursionError, TypeError])
def test_whatever_the_solver_raises_the_release_goes_on(
    failure: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in float64 may depend on the votes, so none is passed on."""

    def fail(*_: object) -> None:
        raise failure("planted")

    monkeypatch.setattr(certified, "solve_nearly", fail)
    assert np.isfinite(perturbed_mle(LADDER, ADDED, gamma=10.0).scores).all()


def test_a_signal_of_the_arithmetic_means_more_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever decimal arithmetic stumbles over, it is tried again with twice the digits."""
    plan, right, tried = make_plan(4, ADDED, 10.0), exact_gradient, []

    def stumble(objective: Objective, theta: list[Decimal]) -> tuple[list[Decimal], list[Decimal]]:
        tried.append(getcontext().prec)
        if tried[-1] < 240:
            raise DivisionByZero
        return right(objective, theta)

    monkeypatch.setattr(certified, "exact_gradient", stumble)
    found = minimise_exactly(objective_of(LADDER, plan, [1, 2, 3, 4]), plan.tolerance, [Decimal(0)] * 4)
    assert tried[:3] == [60, 120, 240]
    assert true_gradient_norm(objective_of(LADDER, plan, [1, 2, 3, 4]), found) <= plan.tolerance


@pytest.mark.parametrize("gamma", [1e-62, 1e-6, 1.0, 1e30])
def test_newtons_direction_is_right_however_ill_conditioned(gamma: float) -> None:
    """Against exact fractions: H with weights from 10^-40 to 2^52, eliminated without a subtraction."""
    rng = np.random.default_rng(3)
    pairs = [(i, j, int(2 ** rng.uniform(0, 52)), 0) for i in range(6) for j in range(i + 1, 6) if rng.random() < 0.8]
    plan = replace(make_plan(6, ADDED, 10.0), gamma=gamma)
    objective = objective_of(counts(6, pairs), plan, [0] * 6)
    theta = [Decimal(x) for x in rng.normal(scale=20, size=6).tolist()]
    gradient = [Decimal(x) for x in rng.normal(size=6).tolist()]
    with digits_of(150):
        direction = certified._newton_direction(objective, theta, gradient)
    exact = solved_exactly(objective, theta, gradient)
    assert sum(abs(Fraction(a) - b) for a, b in zip(direction, exact, strict=True)) < 1e-9 * sum(map(abs, exact))


def solved_exactly(objective: Objective, theta: list[Decimal], gradient: list[Decimal]) -> list[Fraction]:
    """−H⁻¹∇f by elimination in fractions, with the same float64 curvatures taken as exact."""
    near, _ = certified._weights(objective, theta)
    n = len(theta)
    matrix = [[Fraction(-near[r].get(c, 0.0)) for c in range(n)] + [-Fraction(gradient[r])] for r in range(n)]
    for r in range(n):
        matrix[r][r] = Fraction(objective.gamma) + sum(map(Fraction, near[r].values()))
    for k in range(n):
        for r in range(n):
            if r != k:
                factor = matrix[r][k] / matrix[k][k]
                matrix[r] = [a - factor * b for a, b in zip(matrix[r], matrix[k], strict=True)]
    return [matrix[r][n] / matrix[r][r] for r in range(n)]


def test_fractional_weights_of_people_are_exact() -> None:
    tally = counts(4, [(0, 1, 3, 1), (1, 2, 0, 7)], step=Fraction(1, 2**21))
    objective = objective_of(tally, make_plan(4, ADDED, 5.0), [0] * 4)
    assert objective.pairs.wins_i.tolist() == [3.0, 0.0]
    assert objective.pairs.wins_j.tolist() == [1.0, 7.0]


class Noting:
    """A ledger that pays for everything and notes it."""

    def __init__(self) -> None:
        self.charges: list[Charge] = []

    def debit(self, charge: Charge) -> str:
        self.charges.append(charge)
        return "1-0"


class Refusing:
    """A ledger with nothing left."""

    def debit(self, charge: Charge) -> str:
        raise PrivacyError("nothing left")


def test_the_ledger_is_debited_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn_anyway(*_: object) -> None:
        raise AssertionError("noise was drawn without a debit")

    monkeypatch.setattr(lattice, "truncated_laplace", drawn_anyway)
    monkeypatch.setattr(lattice, "add_laplace", drawn_anyway)
    with pytest.raises(PrivacyError, match="nothing left"):
        perturbed_mle(LADDER, ADDED, gamma=5.0, ledger=Refusing())


def test_an_unpaid_count_is_never_used_for_the_ridge() -> None:
    for privacy in (ADDED, Privacy(1.0, "person", max_per_person=2)):
        with pytest.raises(PrivacyError, match="declare gamma, or comparisons_per_item") as refused:
            perturbed_mle(bounded_by(privacy, LADDER), privacy)
        assert "declare --gamma, or --comparisons-per-item" in refused.value.in_options()


def test_a_public_count_gives_the_default_ridge() -> None:
    """Comparison and replace: 2·rows/n comparisons per item, rows counted before any is dropped."""
    privacy = Privacy(3.0, "comparison")
    many = replace(LADDER, rows=20_000)
    expected = default_gamma(privacy, 0.99 * 3.0, TIGHT, LOGISTIC, 4, per_item=10_000)
    assert perturbed_mle(many, privacy).plan.gamma == pytest.approx(expected)


@pytest.mark.parametrize(
    "bounded",
    [
        None,
        Bounded.by(Privacy(1.0, "person", max_per_person=3), None),
        Bounded.by(Privacy(1.0, "comparison", neighbours="add-remove", max_per_person=3), None),
        Bounded.by(Privacy(1.0, "comparison"), clip_of(Privacy(1.0, "comparison"), NET_WINS, 1.0)),
    ],
    ids=["not said", "people", "some votes of each person", "clipped"],
)
def test_votes_must_have_been_bounded_for_the_promise(bounded: Bounded | None) -> None:
    """As at the other crossing: counts that do not say how they were bounded must not be released."""
    tally, paid = replace(LADDER, bounded=bounded), Noting()
    with pytest.raises(AssertionError, match="not bounded in the way"):
        perturbed_mle(tally, ADDED, gamma=10.0, ledger=paid)
    with pytest.raises(AssertionError, match="not bounded in the way"):
        perturbed_mle_of_groups([LADDER, tally], ADDED, gamma=10.0, ledger=paid)
    assert not paid.charges


LARGE = Privacy(150.0, "comparison", neighbours="add-remove")
REFUSED = {
    "a public design": (Privacy(1.0, "comparison", neighbours="outcome", design="public"), 10.0, "not public"),
    "no ridge": (ADDED, 0.0, "gamma must be a finite number > 0"),
    "no number": (ADDED, math.nan, "gamma must be a finite number > 0"),
    "a tiny ridge": (
        Privacy(150.0, "comparison", neighbours="add-remove"),
        1e-62,
        "smallest gamma that works is 1e-06",
    ),
    "a huge ridge": (ADDED, 1e31, "would leave nothing of the votes"),
    "an infeasible ridge": (ADDED, 0.01, "smallest gamma that works"),
    "too much noise": (Privacy(1e-9, "comparison"), 1e10, "larger epsilon"),
    "next to no budget": (Privacy(1e-300, "comparison"), 1e30, "smallest gamma that works|to be of use"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused_before_the_debit_whatever_the_votes(case: str) -> None:
    """In one line, the same for all votes, and nothing is paid."""
    privacy, gamma, reason = REFUSED[case]
    told = set()
    for tally in (counts(4, []), LADDER, counts(4, [(0, 1, 2**60, 0)])):
        paid = Noting()
        with pytest.raises(PrivacyError, match=reason) as refused:
            perturbed_mle(bounded_by(privacy, tally), privacy, gamma=gamma, ledger=paid)
        told.add(str(refused.value))
        assert not paid.charges
    assert len(told) == 1
    assert "\n" not in told.pop()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"lambda_": 0.5}, "would not be kept"),
        ({"seal_scale": 1.0}, "would not be kept"),
        ({"epsilon_main": 1.0}, "exceed it"),
        ({"epsilon_seal": 0.02}, "exceed it"),
        ({"grid": 2.0**-60}, "too small for noise of any use"),
        ({"grid": math.inf}, "too large for noise of any use"),
    ],
)
def test_a_plan_that_breaks_its_promise_is_refused(change: dict[str, float], reason: str) -> None:
    """Each constant of a plan is checked again against the budget, by the loss and by OpenDP's own map."""
    plan = make_plan(4, ADDED, 10.0)
    perturbed._check(plan, ADDED, 1)
    with pytest.raises(PrivacyError, match=reason):
        perturbed._check(replace(plan, **change), ADDED, 1)  # type: ignore[arg-type]


def test_infeasible_ridge_is_refused_and_the_named_one_accepted() -> None:
    with pytest.raises(PrivacyError, match="smallest gamma that works") as refused:
        perturbed_mle(LADDER, ADDED, gamma=0.01)
    named = float(str(refused.value).split("works is ")[1].split(",")[0])
    assert perturbed_mle(LADDER, ADDED, gamma=named).plan.gamma == named


def test_groups_pay_the_sealing_noise_twice() -> None:
    """The scale doubles or better, the sum of the parts stays."""
    one, two = (make_plan(4, Privacy(1.0, "comparison"), 10.0, releases_per_unit=k) for k in (1, 2))
    assert two.epsilon_seal == pytest.approx(one.epsilon_seal / 2)
    assert two.epsilon_main == pytest.approx(one.epsilon_main)
    with pytest.raises(PrivacyError, match="releases_per_unit"):
        make_plan(4, Privacy(1.0, "comparison"), 10.0, releases_per_unit=0)


def test_links_are_checked_before_the_budget_is_spent() -> None:
    bare = CustomLink("bare", 1.0, 0.25, LOGISTIC.cdf, LOGISTIC.nll, LOGISTIC.grad, LOGISTIC.curvature)
    with pytest.raises(SolverError, match="extended-precision"):
        make_plan(4, ADDED, 10.0, link=bare)
    with pytest.raises(SolverError, match="kappa2"):
        make_plan(4, ADDED, 10.0, link=replace(bare, kappa2=0.1))
    with pytest.raises(SolverError, match="name of a built-in link"):
        make_plan(4, ADDED, 10.0, link=Logistic(kappa2=0.1))
    with pytest.raises(SolverError, match="not grad with more digits"):
        make_plan(4, ADDED, 10.0, link=replace(bare, exact=lambda x: Decimal(float(LOGISTIC.grad(np.array(float(x)))))))
    with pytest.raises(SolverError, match="not right to 60 digits at x = 0"):
        make_plan(4, ADDED, 10.0, link=replace(bare, exact=lambda x: +Decimal(1) / getcontext().prec))
    with pytest.raises(SolverError, match="probit"):
        make_plan(4, ADDED, 10.0, link="probit")
    full = CustomLink("full", 1.0, 0.25, LOGISTIC.cdf, LOGISTIC.nll, LOGISTIC.grad, LOGISTIC.curvature, None,
                      LOGISTIC.grad_decimal)  # fmt: skip
    assert np.isfinite(perturbed_mle(LADDER, ADDED, gamma=10.0, link=full).scores).all()


def test_a_release_holds_no_record_of_the_solver() -> None:
    """No certificate, no convergence record, no components: only the noisy vector and public constants."""
    held = {field.name for kind in (Noised, ScoresLaw, Plan) for field in fields(kind)}
    assert held == {
        "people", "scatter", "declared", "unmeasured",
        "items", "plan", "values", "calibration", "link", "gamma", "lambda_", "epsilon_main", "epsilon_seal",
        "tolerance", "grid", "step", "beta", "seal_sensitivity", "seal_scale", "ledger_entry", "per_item",
        "public_exposure", "public_total", "public_pairs", "public_sets",
    }  # fmt: skip
