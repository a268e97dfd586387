"""ε, γ and what is protected in; the noise scale λ of the perturbed MLE out. Pure functions, no data.

The perturbed MLE minimises NLL(θ) + (γ/2)‖θ‖² + w·θ with w i.i.d. Laplace(λ). Its output θ has the density of w
at −(∇NLL(θ) + γθ) times det(∇²NLL(θ) + γI), so its privacy loss has a gradient term and a determinant term. One
vote of weight 1 for i over j, with d = θ_i − θ_j and ψ = (log F)', moves the gradient by ψ(d)(e_j − e_i), of L1
norm 2ψ(d), and multiplies the determinant by at most 1 + 2h/γ, h = −(log F)''(d). Derived in
docs/proofs/perturbed-mle.md.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Literal

from quietrank.errors import PrivacyError, either, option
from quietrank.maths.links import LOGISTIC, Link
from quietrank.promise.privacy import Neighbours, Privacy, Unit

SAFETY = 1 + 2.0**-40
"""Computed losses are raised by this factor, far above their rounding error of some 20 ulp: towards privacy."""

NEAREST = 1 + 2.0**-10
"""How close γ may come to the limit below which no λ works; there the noise is already a thousand times too large."""

SMALLEST_GAMMA = 1e-6
LARGEST_GAMMA = 1e30
"""The ridges that are accepted, far beyond all useful ones: with γ = 1e-6 an item without votes has a score of about
λ·10⁶. Within these limits the minimiser is found for all votes, with a number of digits that a computer can handle."""


class Calibration(StrEnum):
    """How λ follows from ε and γ."""

    TIGHT = "tight"
    """the smallest λ that the bounds of this module allow"""
    PUBLISHED = "published"
    """λ = 8Lκ1/ε with γ ≥ 4κ2/ε for comparisons, γ ≥ 8Lκ2/ε for people"""


CalibrationWord = Calibration | Literal["tight", "published"]
"""what callers may write: the word, or the member it stands for"""


GAMMA_FACTOR = {Calibration.TIGHT: 0.2, Calibration.PUBLISHED: 2.0}
"""c in the default γ = c·√(comparisons per item · log n).

2 is the published choice. 0.2 was chosen by simulation under the tight calibration at the published settings
(n = 300, p from 0.1 to 1, ε from 0.5 to 2.5); docs/proofs/perturbed-mle.md has the table."""

TYPICAL_SPREAD = 0.5
"""τ, the standard deviation of scores that the default γ expects, on the logit scale."""


def noise_scale(privacy: Privacy, epsilon: float, gamma: float, calibration: Calibration, link: Link) -> float:
    """λ: the scale of w that keeps ε, rounded up, towards privacy."""
    require_protectable(privacy)
    _require_gamma(privacy, epsilon, gamma, calibration, link)
    if calibration is Calibration.PUBLISHED:
        scale = 8 * privacy.limit * link.kappa1 / epsilon * SAFETY
    else:
        scale = _smallest_scale(privacy, epsilon, gamma, link)
    if not privacy_loss(scale, gamma, privacy, link) <= epsilon:
        raise PrivacyError(
            f"noise of scale {scale:g} with {option('gamma', f'{gamma:g}')} does not keep epsilon={epsilon:g}; nothing "
            "was released"
        )
    return scale


def privacy_loss(scale: float, gamma: float, privacy: Privacy, link: Link) -> float:
    """The largest privacy loss of Laplace(λ) noise and ridge γ over all data, neighbours and outputs, rounded up.

    The determinant only ever helps one direction: adding a vote can cost both terms, removing one only 2ψ/λ. So
    add-remove costs the worst of both terms together, and replace that much plus 2·sup ψ/λ for the vote taken out.
    """
    require_protectable(privacy)
    logarithm = privacy.unit is Unit.COMPARISON
    if link is LOGISTIC:
        share, worst = _worst_share(scale, gamma, logarithm), 1.0
        added = 2 * share / scale + _determinant(share * (1 - share), gamma, logarithm)
    else:
        # F'/(F(1−F)) ≤ κ1 gives ψ ≤ κ1(1 − F) ≤ κ1; nothing links ψ to the curvature, so each is at its worst.
        worst = link.kappa1
        added = 2 * worst / scale + _determinant(link.kappa2, gamma, logarithm)
    removed = 2 * worst / scale if privacy.counted_as is Neighbours.REPLACE else 0.0
    return privacy.limit * (added + removed) * SAFETY


def _determinant(curvature: float, gamma: float, logarithm: bool) -> float:
    """What a unit of vote weight can add to log det: ln(1 + 2h/γ), or 2h/γ for people.

    A person's weight can be spread over many pairs in small parts, for which Σ ln(1 + 2v·h/γ) tends to 2Lh/γ: the
    logarithm is right for a single vote only.
    """
    excess = 2 * curvature / gamma
    return math.log1p(excess) if logarithm else excess


def _worst_share(scale: float, gamma: float, logarithm: bool) -> float:
    """The p = 1 − σ(d) in [0, 1] at which 2p/λ + determinant(p(1 − p)) is largest (logistic link).

    Logarithm: the derivative vanishes where 2p² + 2(λ − 1)p − (γ + λ) = 0, so p = (1 − λ + r)/2 with
    r = √(λ² + 1 + 2γ), written without cancellation for λ > 1. Linear: 1/λ + (1 − 2p)/γ = 0.
    """
    if not logarithm:
        return min(1.0, (1 + gamma / scale) / 2)
    root = math.hypot(scale, math.sqrt(1 + 2 * gamma))  # a square could overflow
    share = (gamma + scale) / (scale - 1 + root) if scale > 1 else (1 - scale + root) / 2
    return min(1.0, share)


def smallest_gamma(privacy: Privacy, epsilon: float, calibration: Calibration, link: Link) -> float:
    """The smallest γ that is accepted, rounded up to four digits."""
    if calibration is Calibration.PUBLISHED:
        factor = 4 if privacy.unit is Unit.COMPARISON else 8 * privacy.limit
        least = factor * link.kappa2 / epsilon * SAFETY
    else:
        least = _limit_gamma(privacy, epsilon, link) * NEAREST
    return max(_round_up(least), SMALLEST_GAMMA)


def _limit_gamma(privacy: Privacy, epsilon: float, link: Link) -> float:
    """The γ at which the determinant alone costs ε, so that no λ is large enough.

    ln(1 + 2κ2/γ) = ε, or 2Lκ2/γ = ε; κ2 = 1/4 for the logistic link.
    """
    if privacy.unit is Unit.COMPARISON:
        return 2 * link.kappa2 / math.expm1(min(epsilon, 700.0))
    return 2 * privacy.limit * link.kappa2 / epsilon


def default_gamma(
    privacy: Privacy, epsilon: float, calibration: Calibration, link: Link, n_items: int, per_item: float
) -> float:
    """γ = c·√(comparisons per item · log n), plus what the noise calls for under the tight calibration, and raised
    to where the determinant costs at most half of ε.

    `per_item` must be public: declared by the user, or the number of votes where all neighbours share it.
    """
    if not (math.isfinite(per_item) and per_item > 0):
        argument = either(f"per_item={per_item}", f"--comparisons-per-item {per_item}")
        raise PrivacyError(f"the expected comparisons per item must be a finite number > 0, got {argument}")
    ridge = GAMMA_FACTOR[calibration] * math.sqrt(per_item * math.log(n_items))
    if calibration is Calibration.TIGHT:
        ridge += _ridge_for_noise(privacy, epsilon, link, per_item)
    # ln(1 + x) ≤ x: 4Lκ2/γ ≤ ε is 2Lκ2/γ ≤ ε/2 for people, and at least that good for comparisons.
    half_free = 4 * privacy.limit * link.kappa2 / epsilon
    return max(ridge, half_free, smallest_gamma(privacy, epsilon, calibration, link))


def _ridge_for_noise(privacy: Privacy, epsilon: float, link: Link, per_item: float) -> float:
    """The ridge that noise of variance 2λ² calls for: V/(A·τ²) minimises (γ²τ² + V)/(A + γ)², the squared error.

    A = (comparisons per item)/4 is the curvature of the likelihood at θ = 0, and λ the gradient's share alone.
    """
    moves = 2 if privacy.counted_as is Neighbours.REPLACE else 1
    scale = 2 * moves * privacy.limit * link.kappa1 / epsilon
    return 2 * scale**2 / (per_item / 4 * TYPICAL_SPREAD**2)


def require_protectable(privacy: Privacy) -> None:
    """Refuse the promises that this mechanism cannot keep."""
    if privacy.neighbours is Neighbours.OUTCOME:
        raise PrivacyError(
            f"the perturbed MLE is for designs that are not public, got {option('neighbours', 'outcome')}: with a "
            f"public design {option('method', 'bradley-terry')} from a noisy tally needs less noise; use that, or "
            f"{option('neighbours', 'replace')}"
        )


def _require_gamma(privacy: Privacy, epsilon: float, gamma: float, calibration: Calibration, link: Link) -> None:
    if not (math.isfinite(gamma) and gamma > 0):
        raise PrivacyError(f"gamma must be a finite number > 0, got {option('gamma', gamma)}")
    if gamma > LARGEST_GAMMA:
        raise PrivacyError(
            f"{option('gamma', f'{gamma:g}')} would leave nothing of the votes; choose one up to {LARGEST_GAMMA:g}"
        )
    least = smallest_gamma(privacy, epsilon, calibration, link)
    if gamma < least:
        free = 4 * privacy.limit * link.kappa1 / epsilon
        raise PrivacyError(
            f"{option('gamma', f'{gamma:g}')} is too small for the {calibration} calibration at ε = {epsilon:g}: "
            f"the smallest gamma that works is {least:g}, and from about {free:.3g} on more gamma saves no noise; "
            f"choose a larger {option('gamma')} or {option('epsilon')}"
        )


def _smallest_scale(privacy: Privacy, epsilon: float, gamma: float, link: Link) -> float:
    """The smallest λ whose loss is at most ε, by bisection: the loss falls as λ grows."""
    low = high = 2 * privacy.limit * link.kappa1 / epsilon  # the gradient term of add-remove alone
    while privacy_loss(high, gamma, privacy, link) > epsilon:
        low, high = high, 2 * high
    while high - low > 2.0**-45 * high:
        middle = (low + high) / 2
        if privacy_loss(middle, gamma, privacy, link) > epsilon:
            low = middle
        else:
            high = middle
    return high


def _round_up(value: float) -> float:
    """To four digits, upwards, so that the number printed in an error is one that works."""
    if not (math.isfinite(value) and value > 1e-290):
        return max(value, 1e-290)
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    near = float(f"{math.ceil(value / unit) * unit:.4g}")
    return near if near >= value else float(f"{near + unit:.4g}")
