"""Duels, ε and a random generator in; what each method would publish (scores, or counts to rank by) out.

The noise is NumPy's Laplace noise from a seeded generator: right for measuring accuracy, not for a release.
"""

from __future__ import annotations

from math import inf, isinf, log, sqrt

import numpy as np

from quietrank.estimators.scores import UniformDesign, fit_scores
from quietrank.paper import dense
from quietrank.paper.data import Duels, Floats


def scaled(unit: Floats, scale: float) -> Floats:
    """Noise of that scale from unit noise; ε = ∞ means scale 0."""
    return unit * scale


def edge_ridge(n: int, p: float) -> float:
    """γ = 2√(np log n), published for the edge experiments and never re-tuned per ε."""
    return 2 * sqrt(n * p * log(n))


def perturbed_mle(duels: Duels, noise: Floats, gamma: float, start: Floats | None = None) -> Floats:
    """The published estimator; `noise` is w, i.i.d. Laplace(8/ε), for people Laplace(8L/ε)."""
    return dense.fit(duels.counts, duels.net_wins - noise, gamma, start)


def score_estimate(duels: Duels, noisy_net_wins: Floats, noise_scale: float) -> Floats:
    """Ours: Bradley–Terry scores from noisy net wins alone, pairs taken as drawn uniformly, γ chosen after the noise.

    T is free under unit comparison with `replace`, and T = mL is the design when every person answers L pairs.
    """
    design = UniformDesign(total=duels.total)
    return fit_scores(noisy_net_wins, design, noise_sd=sqrt(2) * noise_scale).theta


# --- the one-shot method of Qiao, Su and Zhang on spectral scores


def transition_matrix(duels: Duels, p: float) -> Floats:
    """From i to j with probability 1/d if j beat i, d = np; else stay."""
    chain = duels.wins.T / (duels.n * p)
    np.fill_diagonal(chain, 1 - chain.sum(axis=1))
    return np.asarray(chain)


def stationary(chain: Floats) -> Floats:
    """π with πP = π: (I − Pᵀ + 1·1ᵀ)π = 1."""
    n = len(chain)
    return np.asarray(np.linalg.solve(np.eye(n) - chain.T + 1.0, np.ones(n)))


def ergodicity(chain: Floats) -> float:
    """ρ: half the largest L1 distance between two rows; off the diagonal all rows hold only 0 and one other value.

    For such rows Σ_l |a_l − b_l| = Σa + Σb − 2·a·b/value, one matrix product instead of n² row differences.
    """
    stay = np.diag(chain).copy()
    move = chain - np.diag(stay)
    value = float(move.max()) or 1.0
    out = move.sum(axis=1)
    distance = out[:, None] + out[None, :] - 2 * (move @ move.T) / value
    # columns i and j of the two rows hold a diagonal entry: |0 − P_ji| becomes |P_ii − P_ji|, likewise for j
    distance += np.abs(stay[:, None] - move.T) - move.T
    distance += np.abs(stay[None, :] - move) - move
    np.fill_diagonal(distance, 0.0)
    return float(distance.max()) / 2


def one_shot_scale(n: int, k: int, p: float, rho: float, epsilon: float) -> float:
    """8·s·√(k ln(n/δ))/ε with s = 2/(d(1 − ρ)), δ = 1/n²; no finite scale does for a chain with ρ = 1."""
    if isinf(epsilon):
        return 0.0
    if rho >= 1:
        return inf
    return 8 * (2 / (n * p * (1 - rho))) * sqrt(k * log(n**3)) / epsilon


# --- noise uniform in shape: the K-norm mechanism on the zonotope of all pairs


def zonotope_noise(n: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """Noise for net wins when a person answers each pair at most once: Gamma(n, 1/ε) times a uniform point of Z(K_n).

    Z = Σ_{i<j} [−1, 1](e_i − e_j) is tiled by one parallelepiped per spanning tree (DESIGN.md, "the zonotope"):
    tree edges get uniform coefficients, any other edge (i, j) the sign of (π_i − π_j) − h_ij with π_i − π_j = h_ij
    along the tree, for generic heights h.
    """
    if isinf(epsilon):
        return np.zeros(n)
    return rng.gamma(n, 1 / epsilon) * uniform_zonotope_point(n, rng)


def uniform_zonotope_point(n: int, rng: np.random.Generator) -> Floats:
    i, j = np.triu_indices(n, 1)
    height = 2.0 ** np.arange(len(i))  # sums of distinct powers of two never cancel
    tree = _uniform_tree(n, rng)
    potential = _potentials(n, tree, {(a, b): h for a, b, h in zip(i.tolist(), j.tolist(), height, strict=True)})
    coefficient = np.sign(potential[i] - potential[j] - height)
    in_tree = coefficient == 0
    coefficient[in_tree] = rng.uniform(-1, 1, int(in_tree.sum()))
    point = np.bincount(i, coefficient, n) - np.bincount(j, coefficient, n)
    return np.asarray(point)


def _uniform_tree(n: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """A uniform spanning tree of all pairs, by its Prüfer code."""
    code = rng.integers(n, size=n - 2).tolist()
    degree = [1 + code.count(v) for v in range(n)]
    edges = []
    for parent in code:
        leaf = degree.index(1)
        edges.append((min(leaf, parent), max(leaf, parent)))
        degree[leaf] -= 1
        degree[parent] -= 1
    a, b = (v for v in range(n) if degree[v] == 1)
    return [*edges, (a, b)]


def _potentials(n: int, tree: list[tuple[int, int]], height: dict[tuple[int, int], float]) -> Floats:
    potential: dict[int, float] = {0: 0.0}
    left = list(tree)
    while left:
        for edge in list(left):
            a, b = edge
            if a in potential:
                potential[b] = potential[a] - height[edge]
            elif b in potential:
                potential[a] = potential[b] + height[edge]
            else:
                continue
            left.remove(edge)
    return np.array([potential[v] for v in range(n)])
