"""Outputs and two statistics in, the exact privacy loss log P(output | one)/P(output | other) out.

For K-norm noise the density before rounding is used: rounding can only lower the loss. docs/proofs derives each line.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import signal, special

from quietrank.arrays import Floats, Integers
from quietrank.auditing import norms, selected
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.mechanisms.perturbed_mle.mechanism import Plan
from quietrank.noise import knorm, lattice
from quietrank.noise.selection import TopNoise
from quietrank.votes.tallies import PairTally

FINE_SCALE = 200.0
"""From this σ on, in steps, δ is computed for the continuous Gaussian: within some 1/4σ² of δ, relative."""


def losses(calibrated: Calibrated, one: Integers, other: Integers, outputs: Integers) -> Floats:
    """The loss at each output (a row), in the direction from `one` to `other`."""
    noise = calibrated.noise
    if isinstance(noise, TopNoise):
        return selected.log_probabilities(noise, one, outputs) - selected.log_probabilities(noise, other, outputs)
    from_one = norms.signed(calibrated, outputs - one).astype(np.float64)
    from_other = norms.signed(calibrated, outputs - other).astype(np.float64)
    if isinstance(noise, lattice.LaplaceNoise):
        return _l1(from_other, from_one) / noise.scale
    if isinstance(noise, lattice.GaussianNoise):
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
    """δ(ε) = E[(1 − exp(ε − loss))⁺], exactly, for discrete Gaussian noise on two statistics that far apart."""
    d = apart.astype(np.float64)
    square = float(d @ d)
    if square == 0:
        return 0.0
    if scale >= FINE_SCALE:
        mu = math.sqrt(square) / scale  # the loss is N(μ²/2, μ²)
        return float(special.ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * special.ndtr(-mu / 2 - epsilon / mu))
    inner, weight = _inner_products(scale, tuple(abs(int(x)) for x in apart if x))
    loss = (square + 2 * inner) / (2 * scale**2)
    return float(np.sum(weight * np.maximum(0.0, -np.expm1(epsilon - loss))))


@lru_cache(maxsize=8)
def _inner_products(scale: float, apart: tuple[int, ...]) -> tuple[Floats, Floats]:
    """The values of Σ d_i·z_i over independent discrete Gaussians z_i, with their probabilities."""
    reach = math.ceil(40 * scale)
    z = np.arange(-reach, reach + 1)
    weight = np.exp(-(z**2) / (2 * scale**2))
    weight /= weight.sum()
    total: Floats = np.ones(1)
    for d in apart:
        spread = np.zeros(2 * reach * d + 1)
        spread[::d] = weight
        total = np.asarray(signal.fftconvolve(total, spread), dtype=np.float64)
    return np.arange(len(total), dtype=np.float64) - len(total) // 2, total


def gaussian_epsilon(scale: float, apart: Integers, delta: float) -> float:
    """The exact ε at this δ: the smallest with δ(ε) ≤ δ. Noise of all entries, of all groups, is independent."""
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
