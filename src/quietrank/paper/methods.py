"""Duels, ε and a random generator in; what each method would publish (scores, or counts to rank by) out.

The noise is NumPy's Laplace noise from a seeded generator: right for measuring accuracy, not for a release.
"""

from __future__ import annotations

from math import inf, isinf, log, sqrt

import numpy as np

from quietrank.arrays import Floats
from quietrank.maths.scores import UniformDesign, fit_scores
from quietrank.mechanisms.zonotope import ZonotopeLaw
from quietrank.paper import dense
from quietrank.paper.data import Duels
from quietrank.promise.graph import complete
from quietrank.statistics.net_wins import NET_WINS


def edge_ridge(n: int, p: float) -> float:
    """γ = 2√(np log n), published for the edge experiments and never re-tuned per ε."""
    return 2 * sqrt(n * p * log(n))


def perturbed_mle(duels: Duels, noise: Floats, gamma: float, start: Floats | None = None) -> Floats:
    """The published estimator; `noise` is w, i.i.d. Laplace(8/ε), for people Laplace(8L/ε)."""
    return dense.fit(duels.counts, duels.net_wins - noise, gamma, start)


def score_estimate(duels: Duels, noisy_net_wins: Floats, noise_scale: float) -> Floats:
    """Ours: Bradley–Terry scores from noisy net wins alone, as if pairs were drawn uniformly, γ chosen after the noise.

    T is free under unit comparison with `replace`, and T = mL by design when every person answers L pairs.
    """
    design = UniformDesign(total=duels.total)
    return fit_scores(noisy_net_wins, design, noise_sd=sqrt(2) * noise_scale).theta


def transition_matrix(duels: Duels, p: float) -> Floats:
    """Of the one-shot method of Qiao, Su and Zhang, on spectral scores.

    From i to j with probability 1/d if j beat i, d = np; otherwise stay.
    """
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
    """8·s·√(k ln(n/δ))/ε with s = 2/(d(1 − ρ)), δ = 1/n²; no finite scale is enough for a chain with ρ = 1."""
    if isinf(epsilon):
        return 0.0
    if rho >= 1:
        return inf
    return 8 * (2 / (n * p * (1 - rho))) * sqrt(k * log(n**3)) / epsilon


def zonotope_noise(n: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """Noise for net wins when a person answers each pair at most once: the K-norm mechanism on Z(K_n)."""
    if isinf(epsilon):
        return np.zeros(n)
    return ZonotopeLaw(NET_WINS, complete(n), 1 / epsilon).sample(rng, 1).ravel()
