"""A difference of two statistics and the noise that must cover it in; how large it is, and how large it may be, out.

All in exact fractions: a weight rounded up by a millionth breaks the bound. For the L2 norm, squares are used.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.errors import PrivacyError
from quietrank.maths import zonotopes
from quietrank.mechanisms import gaussian, laplace, selection, zonotope
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.noise import knorm, lattice, normal
from quietrank.noise.selection import TopNoise
from quietrank.promise.accounting import as_written

ROUNDING = 1e-9
"""what floating point may add to a computed loss, relative"""

INFINITE = Fraction(10**9)
"""represents a difference outside of the body's plane, which no factor covers"""


def allowed(calibrated: Calibrated) -> Fraction:
    """The sensitivity that was derived, in votes (squared for L2), or in units of K; of balls side by side, and of
    other noise, ε itself."""
    promise, statistic = calibrated.promise, calibrated.statistic
    if isinstance(calibrated.noise, TopNoise):
        return selection.apart_reach(promise, statistic, calibrated.clip, rounds(calibrated.noise))
    if isinstance(calibrated.noise, normal.RoundedGaussianNoise):
        return gaussian.l2_reach(promise, statistic, calibrated.clip)
    if isinstance(calibrated.noise, knorm.BallNoise):
        return Fraction(as_written(calibrated.privacy.epsilon))
    if _body(calibrated) is not None:
        return zonotope.gauge_reach(promise, statistic)
    if is_known(calibrated):
        return laplace.l1_reach(promise, statistic)
    return Fraction(calibrated.privacy.epsilon * (1 + ROUNDING))


def is_known(calibrated: Calibrated) -> bool:
    """Whether the noise is of a kind that this audit has formulas of its own for; other noise is taken at its law."""
    kinds = lattice.LaplaceNoise | normal.RoundedGaussianNoise | knorm.KNormNoise | knorm.BallNoise | TopNoise
    return isinstance(calibrated.noise, kinds)


def rounds(noise: TopNoise) -> int:
    """For how many rounds together a movement counts: Gumbel noise is accounted for round by round."""
    return 1 if noise.gumbel else noise.k


def log_density(calibrated: Calibrated, noise: Floats) -> Floats:
    """Of noise in lattice steps, by its own law."""
    known = calibrated.law.log_density(noise * float(calibrated.step))
    if known is None:
        raise PrivacyError(
            f"the audit cannot judge {calibrated.mechanism}: its law has no log_density; add that, and a cdf if it is "
            "known"
        )
    return known


def moved(calibrated: Calibrated, difference: Integers) -> Fraction:
    """How far apart the two statistics are, in the same measure; one row for each group, whose losses add up."""
    return sum((_moved(calibrated, row) for row in np.atleast_2d(difference)), Fraction(0))


def _moved(calibrated: Calibrated, difference: Integers) -> Fraction:
    step = calibrated.step
    if isinstance(calibrated.noise, TopNoise):
        return max(_apart(difference, calibrated.noise), _apart(-difference, calibrated.noise)) * step
    if isinstance(calibrated.noise, normal.RoundedGaussianNoise):
        return sum(int(x) ** 2 for x in difference) * step**2
    if isinstance(calibrated.noise, knorm.BallNoise):
        return _lengths_below(calibrated.noise, difference)
    body = _body(calibrated)
    if body is not None:
        return zonotope_gauge(body, signed(calibrated, difference).tolist()) * step
    if is_known(calibrated):
        return sum(abs(int(x)) for x in difference) * step
    return Fraction(_loss_at_the_centre(calibrated, difference))


def _apart(difference: Integers, noise: TopNoise) -> Fraction:
    """k times the largest entry minus the k smallest."""
    k, ascending = rounds(noise), sorted(int(x) for x in difference)
    return Fraction(k * ascending[-1] - sum(ascending[:k]))


def _lengths_below(noise: knorm.BallNoise, difference: Integers) -> Fraction:
    """Σ ‖Δ_k‖₂/unit_k over the balls, each length rounded down by less than 2^-64 of a step: a movement that is said to
    be too far is. Without end where values that must sum to zero do not."""
    total, start = Fraction(0), 0
    for ball in noise.balls:
        part = [int(x) for x in difference[start : start + ball.size]]
        if ball.sum_zero and sum(part) != 0:
            return INFINITE
        total += Fraction(math.isqrt(sum(x * x for x in part) << 128), 1 << 64) / ball.unit
        start += ball.size
    return total


def ball_lengths(noise: knorm.BallNoise, points: Floats) -> Floats:
    """‖z_k‖₂/unit_k for many real points: a column for each ball; projected onto the plane of sum zero, because of
    rounding."""
    columns, start = [], 0
    for ball in noise.balls:
        part = points[:, start : start + ball.size]
        part = part - part.mean(axis=1, keepdims=True) if ball.sum_zero else part
        columns.append(np.sqrt((part**2).sum(axis=1)) / float(ball.unit))
        start += ball.size
    return np.column_stack(columns)


def _loss_at_the_centre(calibrated: Calibrated, difference: Integers) -> float:
    """log p(0) − log p(difference): of noise with density ∝ exp(−ε‖z‖) that is ε‖difference‖."""
    there, here = log_density(calibrated, np.array([difference, np.zeros_like(difference)], dtype=np.float64))
    return float(here - there)


def _body(calibrated: Calibrated) -> knorm.Zonotope | None:
    noise = calibrated.noise
    return noise.body if isinstance(noise, knorm.KNormNoise) and isinstance(noise.body, knorm.Zonotope) else None


def signed(calibrated: Calibrated, values: Integers) -> Integers:
    """(wins, −losses) where the body of the noise is for these; otherwise the values unchanged."""
    if not (isinstance(calibrated.noise, knorm.KNormNoise) and calibrated.statistic.mirrored):
        return values
    half = len(calibrated.promise.items)
    wins, losses, others = values[..., :half], values[..., half : 2 * half], values[..., 2 * half :]
    return np.concatenate([wins, -losses, others], axis=-1)


def zonotope_gauge(body: knorm.Zonotope, point: list[int]) -> Fraction:
    """The factor by which K must be scaled up to contain the point, exactly: from all cuts (maths/zonotopes.py)."""
    n = body.graph.vertices
    if sum(point[:n]) != 0:
        return INFINITE
    largest = Fraction(0)
    for inside, leaving in zonotopes.cuts(body.graph):
        through = abs(sum(point[i] for i in inside))
        if through and not leaving:
            return INFINITE
        if through:
            largest = max(largest, Fraction(through, leaving))
    return largest if body.extra is None else max(largest, Fraction(max(map(abs, point[n:]))) / body.extra)


def zonotope_gauges(body: knorm.Zonotope, points: Floats) -> Floats:
    """The same for many real points at once; they are projected onto the plane of K, because of rounding."""
    n = body.graph.vertices
    gauges = zonotopes.gauges(body.graph, points[:, :n])
    if gauges is None:
        raise AssertionError("this graph is too large to be audited")
    if body.extra is None:
        return gauges
    return np.asarray(np.maximum(gauges, np.abs(points[:, n:]).max(axis=1) / float(body.extra)))


def facets(body: knorm.Zonotope, points: Floats) -> Integers:
    """Which facet of K each point lies behind: the number of the cut that gives the gauge, with its sign."""
    inside, leaving = zonotopes.bonds(body.graph)
    through = zonotopes.centred(body.graph, points[:, : body.graph.vertices]) @ inside.T / leaving
    which = np.abs(through).argmax(axis=1)
    return np.asarray(2 * which + (through[np.arange(len(points)), which] > 0), dtype=np.int64)
