"""A promise in, Gaussian noise out: on the tally of clipped people, calibrated in the L2 norm; it needs δ > 0.

The noise is a real number, and the sum is rounded to the lattice: post-processing, so that the exact curve of Gaussian
noise holds (`promise/curve.py`). docs/proofs/gaussian.md proves the promise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from quietrank.errors import PrivacyError, option
from quietrank.maths.shares import RATE_VARIANCE
from quietrank.mechanisms.mechanism import Calibrated, Figure, Law, Mechanism
from quietrank.noise.normal import RoundedGaussianNoise
from quietrank.noise.words import LARGEST_SCALE
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.curve import curve_delta, curve_mu
from quietrank.promise.privacy import LARGEST_CLIP, Unit
from quietrank.promise.promise import FINE, Clip, Promise, Squares
from quietrank.promise.rounding import float_above, root_above
from quietrank.statistics.net_wins import NET_WINS, NET_WINS_AND_EXPOSURES, NET_WINS_AND_SHOWN
from quietrank.statistics.statistic import Spread, Statistic
from quietrank.statistics.ties import WithTies
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES

if TYPE_CHECKING:
    from quietrank.arrays import Floats

TYPICAL_TIES = 1 / 3
"""The part of somebody's votes that are ties, at most, as a rule."""

LEAST_TIES_SHARE = Fraction(1, 2**10)
"""of κ; the lattice becomes finer with it"""


LEFT_BY_CLIPPING = 0.9
"""Clipping at the typical norm scales about half of all people down, by 10 % on average and often less; clipping
further down scales most people down, in proportion."""


class Gaussian(Mechanism):
    name = "gaussian"
    about = "on the tally, calibrated in the L2 norm, for delta above 0"
    statistics = (WINS, NET_WINS, NET_WINS_AND_EXPOSURES, WINS_AND_LOSSES, NET_WINS_AND_SHOWN)
    automatic = True
    with_ties = True

    def require(self, promise: Promise, statistic: Statistic) -> None:
        if promise.privacy.delta == 0:
            raise PrivacyError(
                f"the Gaussian mechanism needs {option('delta')} above 0; add {option('delta', '1e-6')}, or use "
                f"{option('mechanism', 'laplace')}"
            )
        l2_reach(promise, statistic, None)

    def keeps(self, promise: Promise, statistic: Statistic) -> tuple[Promise, Clip | None]:
        """People are clipped to C; single votes need no clipping, because their norm is known."""
        if promise.privacy.unit is Unit.COMPARISON:
            return promise, None
        norm = promise.privacy.clip or default_clip(promise, statistic)
        return promise.changed(clip=norm), Clip(Fraction(norm), statistic.norm(promise))

    def growth(self, promise: Promise, statistic: Statistic) -> float:
        return l2_growth(promise, statistic)

    def ties_share(self, promise: Promise, statistic: WithTies) -> Fraction:
        """½ for single votes, where that is free; for people so little that the ties of a typical person make up an
        eighth of the square of their norm: K grows like the number of their votes, and net wins like its root."""
        if promise.privacy.unit is Unit.COMPARISON:
            return Fraction(1, 2)
        votes, n = _typical_votes(promise), len(promise.items)
        most = typical_square(votes, n, statistic.base.norm(promise)) / 8
        kappa = Fraction(1, 2)
        while typical_square(votes, n, (("ties", kappa**2),)) > most and kappa > LEAST_TIES_SHARE:
            kappa /= 2
        return kappa

    def noise_for(self, promise: Promise, statistic: Statistic, clip: Clip | None, votes: int | None) -> Calibrated:
        share, privacy = statistic.share(promise), promise.privacy
        # Fine for single votes as well, so that rounding adds nothing to the noise.
        step = min(promise.half_vote * statistic.lattice(promise), FINE)
        squared = l2_reach(promise, statistic, clip) / step**2
        scale = scale_for(squared, curve_mu(as_written(privacy.epsilon), as_written(privacy.delta)))
        rho, sigma = float_above(squared / Fraction(scale) ** 2 / 2), scale * float(step)
        figures: dict[str, Figure] = {
            "sensitivity": sqrt(squared) * float(step), "norm": "L2", "scale": sigma, "rho": rho
        }  # fmt: skip
        return Calibrated(
            self, promise, statistic, RoundedGaussianNoise(scale), step,
            GaussianLaw(statistic, len(promise.items), sigma, float(share)),
            Cost(privacy.epsilon, privacy.delta, rho), tuple(figures.items()), share, clip,
        )  # fmt: skip

    def loss(self, calibrated: Calibrated) -> Cost:
        self.require_share(calibrated)
        promise, clip, noise = calibrated.promise, calibrated.clip, calibrated.noise
        people = None if promise.privacy.unit is Unit.COMPARISON else calibrated.statistic.norm(promise)
        if (None if clip is None else clip.squares) != people:
            raise AssertionError("people are clipped in another norm than that of the statistic, or not at all")
        if not isinstance(noise, RoundedGaussianNoise):
            raise AssertionError(f"{type(noise).__name__} is not Gaussian noise")
        squared = l2_reach(promise, calibrated.statistic, clip) / (calibrated.step * Fraction(noise.scale)) ** 2
        epsilon = as_written(calibrated.privacy.epsilon)
        return Cost(epsilon, curve_delta(epsilon, float_above(root_above(squared))), float_above(squared / 2))


def scale_for(squared: Fraction, mu: float) -> float:
    """σ = Δ/μ, in lattice steps, from Δ²: the smallest double with σ²μ² ≥ Δ², rounded up towards privacy."""
    if squared <= 0:
        raise PrivacyError(f"sensitivity must be positive, got its square {squared}")
    if squared > (Fraction(LARGEST_SCALE) * Fraction(mu)) ** 2:
        raise PrivacyError("epsilon and delta are too small for noise of any use; choose larger ones")
    return float_above(root_above(squared / Fraction(mu) ** 2))


def l2_reach(promise: Promise, statistic: Statistic, clip: Clip | None) -> Fraction:
    """The square of the L2 sensitivity, in votes²: squared distances add up over tallies with independent noise."""
    statistic.require_secret(promise)
    if not statistic.squares:
        raise PrivacyError(f"{statistic} is for other noise; with Gaussian noise release net-wins-and-exposures")
    square = statistic.one_vote(promise) if clip is None else clip.norm**2
    return promise.reach(statistic.l2) * square


def l2_growth(promise: Promise, statistic: Statistic) -> float:
    """The square of the reach of one vote, or of people who are clipped to their typical norm. Where C is given it is
    the same for all shares, and what a larger norm costs is the weight that votes lose."""
    square = float(statistic.one_vote(promise))
    if promise.privacy.unit is not Unit.COMPARISON:
        items = promise.items
        square = typical_square(_typical_votes(promise), len(items), statistic.norm(promise), items.shown)
    return float(promise.reach(statistic.l2)) * square


def default_clip(promise: Promise, statistic: Statistic) -> float:
    """C from public values: the norm of a typical person's contribution, to two digits."""
    items = promise.items
    square = typical_square(promise.privacy.limit, len(items), statistic.norm(promise), items.shown)
    if square > LARGEST_CLIP**2:
        raise PrivacyError(
            f"{option('max_per_person', promise.privacy.limit)} is too large for ball and Gaussian noise to bound a "
            "person by; give a smaller one, such as the number of questions that each person was asked"
        )
    return float(f"{sqrt(square):.2g}")


def _typical_votes(promise: Promise) -> float:
    """L, or where only a clip is given, the votes of somebody who comes up to it."""
    privacy = promise.privacy
    return privacy.max_per_person or max(1.0, 2 * (privacy.clip or 1.0) ** 2)


FIXED_ORDER = 1 / 12
"""The variance of the win rates of somebody with one order in mind: they are spread evenly from 0 to 1."""


def typical_square(votes: float, n: int, squares: Squares, shown: int = 2, rates: float = RATE_VARIANCE) -> float:
    """The square of the norm that somebody's contribution is expected to have.

    A person who casts L votes on random pairs of n items has E‖s‖² = L/2 + L(L − 1)·(4/n)·v, v the variance of this
    person's win rates (by default that of items of typical spread), and E‖d‖² = 2L(1 − 2/n) + 4L²/n; ‖wins‖² and
    ‖losses‖² are (‖d‖² + 4‖s‖²)/4 each. For sets of M items M takes the place of 2, and M² that of 4.
    """
    net_wins = votes / 2 + votes * (votes - 1) * shown**2 / n * rates
    met = shown * votes * (1 - shown / n) + shown**2 * votes**2 / n
    counted = (met + 4 * net_wins) / 4
    typical = {
        "net_wins": net_wins, "exposure": met, "wins": counted, "losses": counted, "total": votes**2,
        "ties": (TYPICAL_TIES * votes) ** 2,
    }  # fmt: skip
    return sum(float(weight) * typical[name] for name, weight in squares)


@dataclass(frozen=True)
class GaussianLaw(Law):
    """Gaussian noise on every entry."""

    statistic: Statistic
    items: int
    sigma: float
    share: float = 1.0

    @property
    def size(self) -> float:
        return self.sigma

    def of_size(self, size: float) -> GaussianLaw:
        return replace(self, sigma=size)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "gaussian", "sigma": self.sigma}

    @property
    def spread(self) -> Spread:
        return self.statistic.spread(self.sigma**2, 0.0, 0.0, self.share)

    def _sigmas(self) -> Floats:
        """Of each entry: exposures are released as βd, ties as κK."""
        sigmas = np.full(self.statistic.per_item * self.items, self.sigma)
        sigmas[self.items :] /= self.share
        others = [self.sigma / share for share in self.statistic.shares(self.share)]
        return np.concatenate([sigmas, others])

    def cdf(self, x: Floats) -> Floats | None:
        return np.asarray(special.ndtr(np.asarray(x) / self.sigma))

    def log_density(self, noise: Floats) -> Floats | None:
        sigmas = self._sigmas()
        return np.asarray(-((noise / sigmas) ** 2).sum(axis=-1) / 2 - np.log(sigmas * sqrt(2 * pi)).sum())

    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        sigmas = self._sigmas()
        return rng.normal(0, 1.0, (draws, len(sigmas))) * sigmas


GAUSSIAN = Gaussian()
