"""Outputs and two statistics in, the exact privacy loss log P(output | one)/P(output | other) out.

For K-norm and Gaussian noise the density before rounding is used: rounding can only lower the loss. docs/proofs derives
each line.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from quietrank.arrays import Floats, Integers
from quietrank.auditing import list_law, norms
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.mechanisms.perturbed_mle.mechanism import Plan
from quietrank.noise import knorm, lattice, normal
from quietrank.noise.selection import TopNoise
from quietrank.votes.tallies import PairTally


def losses(calibrated: Calibrated, one: Integers, other: Integers, outputs: Integers) -> Floats:
    """The loss at each output (a row), in the direction from `one` to `other`."""
    noise = calibrated.noise
    if isinstance(noise, TopNoise):
        return list_law.log_probabilities(noise, one, outputs) - list_law.log_probabilities(noise, other, outputs)
    from_one = norms.signed(calibrated, outputs - one).astype(np.float64)
    from_other = norms.signed(calibrated, outputs - other).astype(np.float64)
    if isinstance(noise, lattice.LaplaceNoise):
        return _l1(from_other, from_one) / noise.scale
    if isinstance(noise, normal.RoundedGaussianNoise):
        apart = (other - one).astype(np.float64)
        return np.asarray((apart @ apart - 2 * from_one @ apart) / (2 * noise.scale**2))
    if isinstance(noise, knorm.BallNoise):
        lengths = [norms.ball_lengths(noise, points).sum(axis=1) for points in (from_other, from_one)]
        return np.asarray(lengths[0] - lengths[1])
    if not isinstance(noise, knorm.KNormNoise):
        return norms.log_density(calibrated, from_one) - norms.log_density(calibrated, from_other)
    if isinstance(noise.body, knorm.Zonotope):
        gauges = [norms.zonotope_gauges(noise.body, points) for points in (from_other, from_one)]
        return np.asarray((gauges[0] - gauges[1]) / float(noise.body.unit))
    n = noise.body.size
    loss = _l1(_centred(from_other[:, :n]), _centred(from_one[:, :n])) / float(noise.body.scale)
    return loss if noise.total is None else loss + _l1(from_other[:, n:], from_one[:, n:]) / noise.total.scale


def _l1(a: Floats, b: Floats) -> Floats:
    """‖a‖₁ − ‖b‖₁, row by row."""
    return np.asarray((np.abs(a) - np.abs(b)).sum(axis=1))


def _centred(points: Floats) -> Floats:
    """Rounding leaves the plane of sum zero by less than a step per entry; this removes it."""
    return np.asarray(points - points.mean(axis=1, keepdims=True))


def gaussian_delta(scale: float, apart: Integers, epsilon: float) -> float:
    """δ(ε) = E[(1 − exp(ε − loss))⁺] for Gaussian noise on two statistics that far apart.

    The loss is N(μ²/2, μ²), μ = ‖apart‖/σ. So δ = Φ(−a) − e^ε·Φ(−b) with a, b = ε/μ ∓ μ/2, and because b² − a² = 2ε
    both terms are φ(a) times a Mills ratio, whose difference loses no digits: δ = φ(a)·(R(a) − R(b)).
    """
    d = apart.astype(np.float64)
    mu = math.sqrt(float(d @ d)) / scale
    if mu == 0:
        return 0.0
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a < 0:
        return float(special.ndtr(-a) - math.exp(epsilon) * special.ndtr(-b))
    return float(math.exp(-(a**2) / 2) * (_scaled_tail(a) - _scaled_tail(b)))


def _scaled_tail(x: float) -> float:
    """Φ(−x)·e^{x²/2}."""
    return float(special.erfcx(x / math.sqrt(2))) / 2


def gaussian_epsilon(scale: float, apart: Integers, delta: float) -> float:
    """The exact ε at this δ: the smallest with δ(ε) ≤ δ. Noise on all entries, of all groups, is independent."""
    apart = apart.reshape(-1)
    low, high = 0.0, 1.0
    while gaussian_delta(scale, apart, high) > delta:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(scale, apart, middle) > delta else (low, middle)
    return high


def perturbed_losses(plan: Plan, one: PairTally, other: PairTally, outputs: Floats) -> Floats:
    """The loss of the exact minimiser with real-valued noise at each output θ (a row).

    θ ↔ w = −(∇NLL(θ) + γθ) is one to one, so the density of θ is that of w times det(∇²NLL(θ) + γI).
    """
    return np.asarray(_log_density(plan, one, outputs) - _log_density(plan, other, outputs))


def _log_density(plan: Plan, tally: PairTally, theta: Floats) -> Floats:
    n, step = theta.shape[1], float(tally.step)
    B = np.eye(n)[tally.i] - np.eye(n)[tally.j]
    wins, lost = tally.wins_i * step, tally.wins_j * step
    (slope, bend), (slope_back, bend_back) = (_slope_and_bend(plan.link.name, x) for x in (theta @ B.T, -theta @ B.T))
    w = (wins * slope - lost * slope_back) @ B - plan.gamma * theta
    weight = wins * bend + lost * bend_back
    hessian = np.matmul(B.T, weight[:, :, None] * B) + plan.gamma * np.eye(n)
    return np.asarray(-np.abs(w).sum(axis=1) / plan.lambda_ + np.linalg.slogdet(hessian)[1])


def _slope_and_bend(link: str, x: Floats) -> tuple[Floats, Floats]:
    """ψ = (log F)' and −ψ' at score differences x, written down independently of the links' own code.

    Logistic: ψ = 1 − σ(x), −ψ' = ψ(1 − ψ). Hyperbolic secant, with t = πx/2, β = 2·arctan(e^t) and r = sech(t)/β:
    ψ = (π/2)·r and −ψ' = (π²/4)·r·(r + tanh t), because sin β = sech t and cos β = −tanh t.
    """
    if link == "logistic":
        p = np.asarray(special.expit(-x))
        return p, p * (1 - p)
    if link != "hyperbolic-secant":
        raise AssertionError(f"no density is known for the link {link}")
    t = np.pi / 2 * x
    r = 1 / (np.cosh(t) * 2 * np.arctan(np.exp(t)))
    return np.pi / 2 * r, np.pi**2 / 4 * r * (r + np.tanh(t))
