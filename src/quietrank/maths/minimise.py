"""An `Objective` made of exact votes and exact noise in; its minimiser, certified, out. It never gives up.

The minimiser has not been sealed yet (mechanisms/perturbed_mle does that), so it is confidential. An error whose
probability depends on the votes would be a leak: where float64 is not enough, decimal arithmetic takes over, with as
many digits as necessary. docs/proofs/perturbed-mle.md says why that terminates for every γ that is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from quietrank.maths.certificate import ZERO, Objective, digits_of, exact_gradient
from quietrank.maths.solver import Solution, solve_nearly


def minimise(objective: Objective, tolerance: float) -> Sequence[float | Decimal]:
    """θ with ‖∇f(θ)‖₂ ≤ τ, certified. It never gives up: an error whose probability depends on votes is a leak.

    float64 is enough for ordinary sizes. Where it is not, or the solver refuses for whatever reason, decimal
    arithmetic continues from where it stopped, with as many digits as the votes require.
    """
    try:
        problem, lost = objective.in_float64()
        with np.errstate(all="ignore"):
            nearest = solve_nearly(problem, tolerance - lost)
        if nearest.converged and nearest.theta_low is None and nearest.gradient_norm + lost <= tolerance:
            return [float(x) for x in nearest.theta]
        start = _as_decimals(nearest)
    except Exception:  # noqa: BLE001
        # Whatever it is, it may depend on the votes; the next step does not need the solver.
        start = [ZERO] * len(objective.draw)
    return minimise_exactly(objective, tolerance, start)


def _as_decimals(nearest: Solution) -> list[Decimal]:
    """The point that the solver reached, exactly; zeros if it is not finite."""
    low = np.zeros_like(nearest.theta) if nearest.theta_low is None else nearest.theta_low
    if not (np.isfinite(nearest.theta).all() and np.isfinite(low).all()):
        return [ZERO] * len(low)
    with digits_of(60):
        return [Decimal(a) + Decimal(b) for a, b in zip(nearest.theta.tolist(), low.tolist(), strict=True)]


def minimise_exactly(objective: Objective, tolerance: float, start: list[Decimal]) -> list[Decimal]:
    """In decimal arithmetic, slow but certain: damped Newton with more and more digits, until the certificate holds.

    f is smooth and strongly convex, so with exact arithmetic every step with the line search below makes progress
    from any start; where rounding stops it, the digits are doubled.
    """
    digits, theta = 60, start
    while True:
        with digits_of(digits):
            try:
                theta, certified = _newton(objective, Decimal(tolerance), [+x for x in theta])
            except ArithmeticError:  # no arithmetic error may end a release: try again with more digits
                certified = False
        if certified:
            return theta
        digits *= 2


def _newton(objective: Objective, tolerance: Decimal, theta: list[Decimal]) -> tuple[list[Decimal], bool]:
    """Newton steps until ‖∇f‖₂ is certainly at most τ; False if these digits cannot tell or do not get there."""
    for _ in range(1000):
        gradient, slack = exact_gradient(objective, theta)
        if _norm([abs(a) + b for a, b in zip(gradient, slack, strict=True)]) <= tolerance:
            return theta, True
        if _norm(slack) > tolerance / 4:
            return theta, False
        theta = _line_search(objective, theta, gradient, _newton_direction(objective, theta, gradient))
    return theta, False


def _newton_direction(objective: Objective, theta: list[Decimal], gradient: list[Decimal]) -> list[Decimal]:
    """−H⁻¹∇f for an H that is right to about twelve digits in every direction, however ill-conditioned it is.

    H = γI + the Laplacian of weights h ≥ 0 is eliminated without a subtraction, after Grassmann, Taksar and Heyman
    (1985): taking out item k, with d = c_k + Σ_r h_kr, adds h_kr·h_ks/d to the weight of r and s, and c_k·h_kr/d to
    c_r, where c is γ at first. So every weight and every c has correct digits in float64, none is negative, and
    every pivot d is at least γ. Only d itself and the right side are computed in decimal arithmetic.
    """
    order, rows = _eliminated(*_weights(objective, theta), objective.gamma)
    right = [-g for g in gradient]
    pivots = []
    for k, (own, row) in zip(order, rows, strict=True):
        pivots.append(sum(row.values(), own))
        for r, weight in row.items():
            right[r] += weight / pivots[-1] * right[k]
    for k, (_, row), pivot in zip(reversed(order), reversed(rows), reversed(pivots), strict=True):
        right[k] = (right[k] + sum((weight * right[r] for r, weight in row.items()), ZERO)) / pivot
    return right


def _weights(objective: Objective, theta: list[Decimal]) -> tuple[list[dict[int, float]], list[int]]:
    """The weights h of each item's pairs, in float64, and the items from the fewest pairs to the most."""
    pairs, link = objective.pairs, objective.link
    ends = list(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True))
    x = np.array([float(theta[i] - theta[j]) for i, j in ends])
    with np.errstate(all="ignore"):
        weight = np.nan_to_num(pairs.wins_i * link.curvature(x) + pairs.wins_j * link.curvature(-x))
    weight = np.clip(weight, 0.0, link.kappa2 * pairs.counts)
    near: list[dict[int, float]] = [{} for _ in theta]
    for (i, j), h in zip(ends, weight.tolist(), strict=True):
        if h > 0:
            near[i][j] = near[j][i] = h
    return near, sorted(range(len(near)), key=lambda k: len(near[k]))


def _eliminated(
    near: list[dict[int, float]], order: list[int], gamma: float
) -> tuple[list[int], list[tuple[Decimal, dict[int, Decimal]]]]:
    """For each item in the order: its c and its weights to the items after it, once those before it are eliminated."""
    own, rows = [gamma] * len(near), []
    for k in order:
        row = near[k]
        pivot = own[k] + sum(row.values())
        rows.append((Decimal(own[k]), {r: Decimal(h) for r, h in row.items()}))
        for r, h in row.items():
            share, others = h / pivot, near[r]
            own[r] += own[k] * share
            del others[k]
            for s, other in row.items():
                if s != r:
                    others[s] = others.get(s, 0.0) + share * other
    return order, rows


def _line_search(
    objective: Objective, theta: list[Decimal], gradient: list[Decimal], direction: list[Decimal]
) -> list[Decimal]:
    """Step to where the slope along the direction, which only increases, has shrunk by a tenth and is hardly uphill.

    Far out a vote's pull falls like e^−x, so a step can be too long by a factor of 10^12: lengths are bisected on a
    logarithmic scale, down from 1 to log(1 + r)/r, which moves no pair by more than a few units.
    """
    slope, reach = abs(_dot(gradient, direction)), _reach(objective, direction)
    length, low, high = Decimal(1), (1 + reach).ln() / reach if reach > 1 else ZERO, ZERO
    ahead = theta
    for _ in range(200):
        ahead = [x + length * p for x, p in zip(theta, direction, strict=True)]
        here = _dot(exact_gradient(objective, ahead)[0], direction)
        if -slope * 9 <= here * 10 <= slope:
            break
        low, high = (low, length) if here > 0 else (length, high)
        if low >= high:  # the first guess of `low` was too long, or no step has been too long yet
            low, length = (low, 2 * length) if here < 0 else (ZERO, length / 2)
        else:
            length = (low * high).sqrt() if high > 4 * low > 0 else (low + high) / 2
    return ahead


def _reach(objective: Objective, direction: list[Decimal]) -> Decimal:
    """The most by which a full step changes the difference of a pair."""
    ends = zip(objective.pairs.i.tolist(), objective.pairs.j.tolist(), strict=True)
    return max((abs(direction[i] - direction[j]) for i, j in ends), default=ZERO)


def _dot(a: list[Decimal], b: list[Decimal]) -> Decimal:
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def _norm(values: list[Decimal]) -> Decimal:
    """The Euclidean norm; the factor covers its own rounding."""
    return _dot(values, values).sqrt() * (1 + Decimal("1e-40"))
