"""Points θ and masses m in; the all-pairs sums Σ_j m_j f(θ_i − θ_j) out, without forming the pairs.

f is the centred logistic function u(x) = σ(x) − 1/2 = tanh(x/2)/2 or its slope u'(x) = σ'(x); or, with a tie parameter
ν > 0, the centred win rate of Davidson's model, its slope, or its chance of a tie (davidson.py).

How. The line is cut into cells of width w. Inside a cell a point is t ∈ [−1, 1], and f(x − y) is replaced by
its Chebyshev interpolant with p nodes in both x and y. A cell then only needs p moments of its masses, two
cells talk through a p × p table that depends on their distance alone, and beyond R cells f is constant to
rounding. Cost: O(np) per sum plus O(p²R) per occupied cell, whatever the range of θ.

Error. u(z) and u'(z) are analytic for |Im z| < π. On the Bernstein ellipse of a cell that reaches |Im z| = β < π
the parameter is ρ = b + √(b² + 1) with b = 2β/w, and there |σ| ≤ V = 1/sin β (so |u| ≤ V + 1/2) and
|u'| = 1/(2|cosh x + cos y|) ≤ V' = 1/(2(1 + cos β)). Chebyshev interpolation of degree p − 1 errs by at most
4Vρ^{-(p−1)}/(ρ − 1) (Trefethen, Approximation Theory and Approximation Practice, theorem 8.2); interpolating in y
as well adds the same times the Lebesgue constant Λ ≤ 1 + (2/π) log p. The cut at distance c = (R − 1)w adds e^{−c}.
So |error_i| ≤ ERROR_BOUND · Σ_j |m_j|, with ERROR_BOUND about 5e-12 for the constants below.

With ν > 0: 2 cosh(z/2) has a positive real part for |Im z| < π, so |2 cosh(z/2) + ν| is at least |2 cosh(z/2)| and at
least ν. Hence all three functions are analytic in the same strip, |A'| ≤ V + 1/2, |A''| ≤ V' + 1/4 and P(tie) ≤ 1
there, and the bound holds, but for a few per cent. They are constant beyond c to νe^{−c/2}, so cells reach more than
twice as far.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import cos, log, pi, sin, sqrt
from typing import Protocol

import numpy as np

from quietrank.arrays import Floats, Integers, Places
from quietrank.maths import davidson

CELL = 0.5
NODES = 10
REACH = 70
DENSE_LIMIT = 1000  # up to this many points the n × n tables are about as fast as the cells, and exact


def _error_bound() -> float:
    """The bound on |error_i| / Σ_j |m_j| derived at the head of this module, for u and u' alike."""
    beta = 0.9 * pi
    b = 2 * beta / CELL
    rho = b + sqrt(b * b + 1)
    size = max(1 / sin(beta) + 0.5, 1 / (2 * (1 + cos(beta))))
    one_variable = 4 * size * rho ** (1 - NODES) / (rho - 1)
    lebesgue = 1 + 2 / pi * log(NODES)
    cut = float(np.exp(-(REACH - 1) * CELL))
    return one_variable * (1 + lebesgue) + cut


ERROR_BOUND = _error_bound()


class Field(Protocol):
    """All-pairs sums over a fixed set of points."""

    def pull_and_slope(self, mass: Floats) -> tuple[Floats, Floats]:
        """Σ_j m_j u(θ_i − θ_j) and Σ_j m_j u'(θ_i − θ_j), for every i."""

    def slope(self, mass: Floats) -> Floats:
        """Σ_j m_j u'(θ_i − θ_j), for every i."""

    def ties(self, mass: Floats) -> Floats:
        """Σ_j m_j P(tie of i and j), for every i."""


def all_pairs(theta: Floats, nu: float = 0.0) -> Field:
    """The field of the points θ: exact for few points, by cells (to ERROR_BOUND) for many."""
    return DenseField.at(theta, nu) if theta.size <= DENSE_LIMIT else CellField.at(theta, nu)


def u(x: Floats, nu: float = 0.0) -> Floats:
    """σ(x) − 1/2, or with ties P(win) + P(tie)/2 − 1/2."""
    return davidson.centred_rate(x, nu) if nu > 0 else 0.5 * np.tanh(0.5 * x)


def u_slope(x: Floats, nu: float = 0.0) -> Floats:
    """Its derivative."""
    if nu > 0:
        return davidson.slope(x, nu)
    # σ' = σ(1 − σ) = 1/4 − u² loses all digits in the tails; e/(1 + e)² with e = exp(−|x|) keeps them.
    e = np.exp(-np.abs(x))
    return np.asarray(e / (1 + e) ** 2)


@dataclass(frozen=True)
class DenseField:
    """The sums as two n × n matrices."""

    theta: Floats
    nu: float
    pull_matrix: Floats
    slope_matrix: Floats

    @classmethod
    def at(cls, theta: Floats, nu: float = 0.0) -> "DenseField":
        difference = theta[:, None] - theta[None, :]
        return cls(theta, nu, u(difference, nu), u_slope(difference, nu))

    def pull_and_slope(self, mass: Floats) -> tuple[Floats, Floats]:
        return self.pull_matrix @ mass, self.slope_matrix @ mass

    def slope(self, mass: Floats) -> Floats:
        return self.slope_matrix @ mass

    def ties(self, mass: Floats) -> Floats:
        return davidson.tie(self.theta[:, None] - self.theta[None, :], self.nu) @ mass


@dataclass(frozen=True)
class CellField:
    """The sums through Chebyshev moments of the occupied cells."""

    order: Places | None  # sorts the points by cell; None: they are already sorted
    cells: Integers  # the numbers of the occupied cells, ascending
    neighbours: list[tuple[Places, Places]]  # pairs of occupied cells 1, 2, …, R apart
    edges: list[int]  # points edges[c] … edges[c + 1] − 1, in that order, are in cell c
    basis: list[Floats]  # for each cell, T_0(t_i), …, T_{p−1}(t_i) in column i
    nu: float = 0.0

    @classmethod
    def at(cls, theta: Floats, nu: float = 0.0) -> "CellField":
        scaled = theta / CELL
        number = np.floor(scaled)
        order = None if bool(np.all(number[1:] >= number[:-1])) else _argsort(number)
        if order is not None:
            scaled, number = scaled[order], number[order]
        starts = np.concatenate([[0], np.flatnonzero(number[1:] != number[:-1]) + 1])
        edges = [*starts.tolist(), theta.size]
        t = 2 * (scaled - number) - 1
        basis = [_chebyshev(t[start:stop]) for start, stop in pairwise(edges)]
        cells = number[starts].astype(np.int64)
        return cls(order, cells, _neighbours(cells, _reach(nu)), edges, basis, nu)

    def pull_and_slope(self, mass: Floats) -> tuple[Floats, Floats]:
        moments, tables = self._moments(mass), _tables(self.nu)
        pull = _near(self.neighbours, moments, tables.pull) + _far(self.cells, moments, tables.reach)
        slope = _near(self.neighbours, moments, tables.slope)
        both = self._values(np.stack([pull, slope], axis=1))
        return both[0], both[1]

    def slope(self, mass: Floats) -> Floats:
        received = _near(self.neighbours, self._moments(mass), _tables(self.nu).slope)
        return np.asarray(self._values(received[:, None, :])[0])

    def ties(self, mass: Floats) -> Floats:
        received = _near(self.neighbours, self._moments(mass), _tables(self.nu).ties)
        return np.asarray(self._values(received[:, None, :])[0])

    def _moments(self, mass: Floats) -> Floats:
        """Σ m_j T_l(t_j) over the points j of each cell: cells × p."""
        mass = mass if self.order is None else mass[self.order]
        moments = np.empty((self.cells.size, NODES))
        for c, (start, stop) in enumerate(pairwise(self.edges)):
            moments[c] = self.basis[c] @ mass[start:stop]
        return moments

    def _values(self, coefficients: Floats) -> Floats:
        """Σ_l c_l T_l(t_i) with the coefficients of i's cell (cells × functions × p): functions × points."""
        values = np.empty((coefficients.shape[1], self.edges[-1]))
        for c, (start, stop) in enumerate(pairwise(self.edges)):
            np.matmul(coefficients[c], self.basis[c], out=values[:, start:stop])
        if self.order is None:
            return values
        in_place = np.empty_like(values)
        in_place[:, self.order] = values
        return in_place


def _argsort(number: Floats) -> Places:
    # NumPy sorts 16-bit integers by radix, several times faster than floats.
    shifted = number - number.min()
    return np.argsort(shifted.astype(np.uint16) if shifted.max() < 2**16 else shifted, kind="stable")


def _chebyshev(t: Floats) -> Floats:
    """T_l(t_i) in row l and column i, by T_l = 2t·T_{l−1} − T_{l−2}."""
    rows = np.empty((NODES, t.size))
    rows[0], rows[1] = 1, t
    twice = 2 * t
    for row in range(2, NODES):
        np.multiply(twice, rows[row - 1], out=rows[row])
        rows[row] -= rows[row - 2]
    return rows


@dataclass(frozen=True)
class _Tables:
    """table[R + o]: Chebyshev coefficients (source m, target l) of f between cells o apart (target − source)."""

    pull: Floats
    slope: Floats
    ties: Floats

    @property
    def reach(self) -> int:
        return len(self.pull) // 2


def _reach(nu: float) -> int:
    """R: how many cells away f is constant to rounding."""
    return REACH if nu == 0 else int(2 * (27 + log(1 + nu)) / CELL) + 2


@lru_cache(maxsize=8)
def _tables(nu: float = 0.0) -> _Tables:
    angle = pi * (np.arange(NODES) + 0.5) / NODES
    node = np.cos(angle)
    # Values at the first-kind nodes to Chebyshev coefficients: c_m = (2 − [m = 0])/p Σ_k f(x_k) T_m(x_k).
    to_coefficients = np.cos(np.outer(np.arange(NODES), angle)) * 2 / NODES
    to_coefficients[0] /= 2
    reach = _reach(nu)
    offset = np.arange(-reach, reach + 1)[:, None, None]
    x = CELL * (offset + (node[None, None, :] - node[None, :, None]) / 2)
    return _Tables(*(to_coefficients @ f(x, nu) @ to_coefficients.T for f in (u, u_slope, davidson.tie)))


def _neighbours(cells: Integers, reach: int) -> list[tuple[Places, Places]]:
    """For each offset 1, …, R: the positions (left, right) of occupied cells that far apart."""
    neighbours = []
    for offset in range(1, min(reach, int(cells[-1] - cells[0])) + 1):
        right = np.searchsorted(cells, cells + offset)
        left = np.flatnonzero(cells[np.minimum(right, cells.size - 1)] == cells + offset)
        neighbours.append((left, right[left]))
    return neighbours


def _near(neighbours: list[tuple[Places, Places]], moments: Floats, table: Floats) -> Floats:
    """What every cell receives from the cells at most R away, as Chebyshev coefficients."""
    reach = len(table) // 2
    received = moments @ table[reach]
    for offset, (left, right) in enumerate(neighbours, start=1):
        received[right] += moments[left] @ table[reach + offset]
        received[left] += moments[right] @ table[reach - offset]
    return np.asarray(received)


def _far(cells: Integers, moments: Floats, reach: int) -> Floats:
    """What every cell receives from cells more than R away, where u = ±1/2; the 0-th moment is the mass."""
    cumulative = np.concatenate([[0.0], np.cumsum(moments[:, 0])])
    left = cumulative[np.searchsorted(cells, cells - reach, side="left")]
    right = cumulative[-1] - cumulative[np.searchsorted(cells, cells + reach, side="right")]
    received = np.zeros_like(moments)
    received[:, 0] = 0.5 * (left - right)
    return received
