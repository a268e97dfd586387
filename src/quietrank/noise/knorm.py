"""Integers in, integers with zonotope, ball or sum-zero Laplace noise out: density ∝ exp(−ε·‖z‖_K), rounded to steps.

‖z‖_K, the gauge of a symmetric convex body K, is the factor by which K must be scaled up to contain z. If neighbours
differ by a vector in K, real-valued noise of this density is ε-DP (Hardt and Talwar 2010). The values are whole
steps, so rounding the noise is rounding the real-valued result: post-processing. All draws are exact (`exact.py`).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from quietrank.noise.exact import exactly, exponential_sum, normals, rounded
from quietrank.noise.lattice import LaplaceNoise
from quietrank.noise.tiles import corner, generic_heights, positive_weights, spanning_forest
from quietrank.noise.words import saturating_sum
from quietrank.promise.graph import Graph

if TYPE_CHECKING:
    from quietrank.arrays import Integers


@dataclass(frozen=True)
class Zonotope:
    """K = Z(G), or Z(G) × [−t, t] with one more entry: noise r·u, r ~ Gamma(d + 1), u uniform on K."""

    graph: Graph
    unit: Fraction
    """the scale of r: one unit of K at this ε, in lattice steps"""
    extra: Fraction | None = None
    """t: half the width of each extra entry, in units of K"""

    @property
    def extra_entries(self) -> int:
        """How many entries there are beside those of the graph."""
        return 0 if self.extra is None else 1

    @property
    def dimension(self) -> int:
        """d of K."""
        return self.graph.dimension + self.extra_entries

    @property
    def size(self) -> int:
        """How many entries Z(G) has."""
        return self.graph.vertices

    def draw(self) -> list[int]:
        forest = spanning_forest(self.graph, secrets.randbelow)
        centre = corner(self.graph, forest, generic_heights(len(self.graph.edges))).tolist()
        d = self.dimension

        def noise(uniforms: list[arb]) -> list[arb]:
            radius = exponential_sum(uniforms[: d + 1]) * exactly(self.unit)
            point = [arb(entry) for entry in centre]
            coefficients = [2 * uniform - 1 for uniform in uniforms[d + 1 :]]
            for edge, coefficient in zip(forest, coefficients, strict=False):
                i, j = self.graph.edges[edge]
                point[i] += coefficient
                point[j] -= coefficient
            if self.extra is not None:
                point += [coefficient * exactly(self.extra) for coefficient in coefficients[len(forest) :]]
            return [radius * entry for entry in point]

        return rounded(noise, 2 * d + 1)


@dataclass(frozen=True)
class WideZonotope(Zonotope):
    """The same with several more entries, of equal width: K = Z(G) × [−t, t]^k."""

    entries: int = 2
    """k"""

    @property
    def extra_entries(self) -> int:
        return self.entries


@dataclass(frozen=True)
class SumZero:
    """K = the vectors of L1 norm ≤ 2 that sum to zero: Laplace noise of this scale, given that it sums to zero.

    Given which k of the n entries are positive, both the positive and the negative entries sum to ρ in absolute
    value, each uniform on its simplex. Volumes give P(k) ∝ C(n, k)·C(n − 2, k − 1), and ρ ~ Gamma(n − 1, scale/2).
    """

    size: int
    scale: Fraction
    """of the Laplace noise, in lattice steps"""

    def draw(self) -> list[int]:
        n = self.size
        positive = set(secrets.SystemRandom().sample(range(n), self._number_positive()))

        def noise(uniforms: list[arb]) -> list[arb]:
            rho = exponential_sum(uniforms[: n - 1]) * exactly(self.scale / 2)
            sizes = [-uniform.log() for uniform in uniforms[n - 1 :]]
            gained = sum((sizes[k] for k in positive), arb(0))
            lost = sum((sizes[k] for k in range(n) if k not in positive), arb(0))
            return [rho * size / (gained if k in positive else -lost) for k, size in enumerate(sizes)]

        return rounded(noise, 2 * n - 1)

    def _number_positive(self) -> int:
        weights = positive_weights(self.size)
        left = secrets.randbelow(sum(weights))
        for k, weight in enumerate(weights, 1):
            if left < weight:
                return k
            left -= weight
        raise AssertionError("unreachable: the draw is below the sum of the weights")


@dataclass(frozen=True)
class Ball:
    """K = the Euclidean unit ball of all vectors, or of those that sum to zero: noise r·u, density ∝ exp(−‖z‖₂/unit).

    u is uniform on the sphere: normals, less their mean where they must sum to zero, over their length. The density
    of r is then ∝ r^(d−1)·exp(−r/unit): r ~ Gamma(d). (Gamma(d + 1) goes with a point of the ball, not of the sphere.)
    """

    size: int
    unit: Fraction
    """the scale of r: one unit of length at this ε, in lattice steps"""
    sum_zero: bool = False

    @property
    def dimension(self) -> int:
        """d of K."""
        return self.size - 1 if self.sum_zero else self.size

    def draw(self) -> list[int]:
        n, d = self.size, self.dimension

        def noise(uniforms: list[arb]) -> list[arb]:
            radius = exponential_sum(uniforms[:d]) * exactly(self.unit)
            direction = normals(uniforms[d:])[:n]
            mean = sum(direction, arb(0)) / n if self.sum_zero else arb(0)
            direction = [entry - mean for entry in direction]
            factor = radius / sum((entry * entry for entry in direction), arb(0)).sqrt()
            return [factor * entry for entry in direction]

        return rounded(noise, d + n + n % 2)


@dataclass(frozen=True)
class BallNoise:
    """Noise from balls, side by side: each part of the values has its own, drawn by itself."""

    balls: tuple[Ball, ...]

    def add_to(self, values: Integers) -> Integers:
        return saturating_sum(values, [entry for ball in self.balls for entry in ball.draw()])


@dataclass(frozen=True)
class KNormNoise:
    """Noise from a body, on values that may be (wins, losses), with independent noise on one more value if wanted."""

    body: Zonotope | SumZero
    losses_mirrored: bool = False
    """the body is for (wins, −losses): the second half of the noise changes its sign"""
    total: LaplaceNoise | None = None
    """noise on one more value, the total"""

    def add_to(self, values: Integers) -> Integers:
        noise = self.body.draw()
        if self.losses_mirrored:
            size = self.body.size
            noise[size // 2 : size] = [-z for z in noise[size // 2 : size]]
        noisy = saturating_sum(values[: len(noise)], noise)
        return noisy if self.total is None else np.append(noisy, self.total.add_to(values[len(noise) :]))
