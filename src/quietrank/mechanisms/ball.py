"""A promise in, noise of the Euclidean ball out: on the tally of clipped people, calibrated in the L2 norm; without δ.

docs/proofs/ball.md proves the promise and the draw. Every part of a statistic (net wins, exposures, ties) has a ball of
its own, so that exposures take little from the net wins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.errors import PrivacyError, option
from quietrank.maths import laws
from quietrank.maths.shares import RATE_VARIANCE
from quietrank.mechanisms.gaussian import GAUSSIAN, default_clip
from quietrank.mechanisms.mechanism import Calibrated, Figure, Law, Mechanism
from quietrank.noise.knorm import Ball, BallNoise
from quietrank.promise.accounting import Cost, as_written
from quietrank.promise.privacy import Design, Neighbours, Unit
from quietrank.promise.promise import FINE, Clip, Promise
from quietrank.promise.rounding import float_above, root_above
from quietrank.statistics.net_wins import NET_WINS, NET_WINS_AND_EXPOSURES, NET_WINS_AND_SHOWN
from quietrank.statistics.statistic import Spread, Statistic
from quietrank.statistics.ties import WithTies
from quietrank.statistics.wins import WINS

if TYPE_CHECKING:
    from quietrank.arrays import Floats

Weights = tuple[Fraction, ...]
"""of the parts of a statistic: the noise on a part has the size 1 over its weight"""

EXPOSURES, TIES = Fraction(3, 4), Fraction(1, 4)
"""the weights of exposures and of ties, where that of net wins is 1: docs/proofs/ball.md, section 5, has the
measurements"""

FOR_THE_TOTAL = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8))
"""weights of exposures that are almost equal by design: only their sum matters"""

OF_THE_TYPICAL = 0.8
"""C is this part of a typical norm, so most people are clipped: from there down, noise shrinks like what is left of the
votes, and further up faster (docs/proofs/ball.md, section 5)"""


class BallMechanism(Mechanism):
    name = "ball"
    about = "on the tally of clipped people, calibrated in the L2 norm, without delta"
    statistics = (WINS, NET_WINS, NET_WINS_AND_EXPOSURES, NET_WINS_AND_SHOWN)
    automatic = True
    for_rates = True
    with_ties = True

    def require(self, promise: Promise, statistic: Statistic) -> None:
        super().require(promise, statistic.base if isinstance(statistic, WithTies) else statistic)
        statistic.require_secret(promise)
        if promise.privacy.unit is Unit.COMPARISON and len(statistic.squares) > 1:
            raise PrivacyError(
                f"of single votes the ball mechanism releases net wins or wins alone, not {statistic}; use "
                f"{option('mechanism', 'laplace')}, or {option('method', 'net-wins')}"
            )

    def keeps(self, promise: Promise, statistic: Statistic) -> tuple[Promise, Clip | None]:
        """People are clipped to C, and there is no δ; single votes need no clipping, because their norm is known."""
        if promise.privacy.unit is Unit.COMPARISON:
            return promise.pure, None
        norm = promise.privacy.clip or usual_clip(promise, statistic)
        return promise.changed(delta=0.0, clip=norm), Clip(Fraction(norm), statistic.norm(promise))

    def ties_share(self, promise: Promise, statistic: WithTies) -> Fraction:
        return GAUSSIAN.ties_share(promise, statistic)

    def noise_for(self, promise: Promise, statistic: Statistic, clip: Clip | None, votes: int | None) -> Calibrated:
        share, weights = statistic.share(promise), usual_weights(promise, statistic)
        step = min(promise.half_vote * statistic.lattice(promise), FINE)
        reach = l2_sum_reach(promise, statistic, clip, weights)
        unit = float_above(reach / Fraction(as_written(promise.privacy.epsilon)))  # in votes
        noise = _noise(statistic, len(promise.items), [Fraction(unit) / weight / step for weight in weights])
        figures: dict[str, Figure] = {
            "sensitivity": float(reach), "norm": "L2", "scale": unit, "dimension": float(noise.balls[0].dimension)
        }  # fmt: skip
        return Calibrated(
            self, promise, statistic, noise, step,
            BallLaw(statistic, len(promise.items), unit, tuple(map(float, weights)), float(share)),
            Cost.pure(promise.privacy.epsilon), tuple(figures.items()), share, clip,
        )  # fmt: skip

    def loss(self, calibrated: Calibrated) -> Cost:
        """What these balls cost, if they are those of this statistic's parts."""
        self.require_share(calibrated)
        promise, statistic, clip = calibrated.promise, calibrated.statistic, calibrated.clip
        people = None if promise.privacy.unit is Unit.COMPARISON else statistic.norm(promise)
        if (None if clip is None else clip.squares) != people:
            raise AssertionError("people are clipped in another norm than that of the statistic, or not at all")
        balls = calibrated.noise.balls if isinstance(calibrated.noise, BallNoise) else ()
        units = [ball.unit for ball in balls]
        if len(balls) != len(statistic.squares) or balls != _noise(statistic, len(promise.items), units).balls:
            return Cost.pure(inf)
        weights = tuple(1 / (unit * calibrated.step) for unit in units)
        return Cost.pure(float_above(l2_sum_reach(promise, statistic, clip, weights)))


def usual_clip(promise: Promise, statistic: Statistic) -> float:
    """C from public values, to two digits."""
    return float(f"{OF_THE_TYPICAL * default_clip(promise, statistic):.2g}")


def usual_weights(promise: Promise, statistic: Statistic) -> Weights:
    """From public values; whatever they are, the reach is right."""
    weights = {"exposure": EXPOSURES, "ties": TIES}
    if promise.privacy.design is Design.UNIFORM and statistic.per_item > 1:
        weights["exposure"] = min(FOR_THE_TOTAL, key=lambda weight: _error(weight, promise, statistic))
    return tuple(weights.get(name, Fraction(1)) for name, _ in statistic.squares)


def _error(weight: Fraction, promise: Promise, statistic: Statistic) -> float:
    """What the squared error of a win rate ½ + s/d̄ is proportional to, d̄ the mean exposure.

    Noise on s has the variance σ² ∝ f_s + w²·f_d, and that on d̄ about σ²/(n·β²w²); d̄ is a factor of all rates and does
    not change their order, so it counts half (maths/shares.py).
    """
    of_s, of_d, *_ = map(float, statistic.l2_parts(promise.moves[0].change))
    n, share = len(promise.items), float(statistic.share(promise) * weight)
    return (of_s + float(weight) ** 2 * of_d) * (1 + RATE_VARIANCE / (2 * n * share**2))


def l2_sum_reach(promise: Promise, statistic: Statistic, clip: Clip | None, weights: Weights) -> Fraction:
    """The most by which neighbours differ in Σ_k w_k·‖Δ_k‖₂ over the parts of all tallies, in votes; rounded up.

    With Σ_k ‖Δ_k‖²/f_k ≤ C², by Cauchy and Schwarz at most C·√(Σ_k w_k²·f_k); and √G times that where the votes of a
    person, clipped as a whole, are spread over G tallies. A person who leaves a tally for another changes both.
    """
    square = statistic.one_vote(promise) if clip is None else clip.norm**2

    def distance(change: Neighbours) -> Fraction:
        parts = zip(weights, statistic.l2_parts(change), strict=True)
        return root_above(promise.spread * square * sum(weight**2 * part for weight, part in parts))

    return promise.reach(distance)


def _noise(statistic: Statistic, items: int, units: list[Fraction]) -> BallNoise:
    """A ball for each part: net wins sum to zero, and so does their noise; ties are one number."""
    names = [name for name, _ in statistic.squares]
    sizes = [1 if name == "ties" else items for name in names]
    parts = zip(names, sizes, units, strict=True)
    return BallNoise(tuple(Ball(size, unit, name == "net_wins") for name, size, unit in parts))


@dataclass(frozen=True)
class BallLaw(Law):
    """r·u for each part, u uniform on the sphere of its dimension d, r ~ Gamma(d) times a unit."""

    statistic: Statistic
    items: int
    unit: float
    """of the first part"""
    weights: tuple[float, ...]
    """the unit of a part is that of the first over its weight"""
    share: float = 1.0

    @property
    def size(self) -> float:
        return self.unit

    def of_size(self, size: float) -> BallLaw:
        return replace(self, unit=size)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "ball", "unit": self.unit, "weights": list(self.weights)}

    @property
    def _parts(self) -> list[laws.BallPart]:
        """In votes: exposures are released as βd."""
        parts = []
        for (name, _), weight in zip(self.statistic.squares, self.weights, strict=True):
            unit = self.unit / weight / (self.share if name == "exposure" else 1.0)
            parts.append(laws.BallPart(1 if name == "ties" else self.items, name == "net_wins", unit))
        return parts

    @property
    def spread(self) -> Spread:
        """An entry is a coordinate of d dimensions, whose excess kurtosis is 6/(d + 1)."""
        first, *others = self._parts
        exposure = next((part.deviation for part in others if part.size == self.items), 0.0)
        return Spread(first.deviation, first.deviation, exposure, 6 / (first.dimension + 1))

    def cdf(self, x: Floats) -> Floats | None:
        return self._parts[0].cdf(x)

    def log_density(self, noise: Floats) -> Floats | None:
        parts, start = self._parts, np.cumsum([0, *(part.size for part in self._parts)])
        each = (part.log_density(noise[..., a : a + part.size]) for part, a in zip(parts, start, strict=False))
        return np.asarray(sum(each))

    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        return np.concatenate([sampled(part, rng, draws) for part in self._parts], axis=1)


def sampled(part: laws.BallPart, rng: np.random.Generator, draws: int) -> Floats:
    """Rows of pseudo-random r·u; never used for a release."""
    z = rng.normal(size=(draws, part.size))
    if part.sum_zero:
        z -= z.mean(axis=1, keepdims=True)
    radius = rng.gamma(part.dimension, part.unit, (draws, 1))
    return np.asarray(z * (radius / np.linalg.norm(z, axis=1, keepdims=True)))


BALL = BallMechanism()
