"""Votes, true strengths and an estimate in; the entrywise score attack and what ε-privacy allows it, out.

The attack on item i and its vote y_ij: A_ij = (θ̂_i − θ_i)(y_ij − σ(θ_i − θ_j)), the estimate's error times the vote's
score. It asks whether the vote was among those the estimate was made from.
- Not used: if y_ij is replaced by a fresh copy before estimating, the original is independent of θ̂ and E A'_ij = 0.
- Used: Σ_j E A_ij = ∂E θ̂_i/∂θ_i (the score identity), about 1 for any estimator that follows the truth.
- ε-private: the two differ in one vote, so E A⁺ ≤ e^ε E A'⁺ and E A⁻ ≥ e^−ε E A'⁻; as E A'⁺ = E A'⁻ = E|A'|/2,
  E A_ij ≤ sinh(ε)·E|A'_ij| = sinh(ε)·E|θ̂_i − θ_i|·2σ(1 − σ).
Summed over j: an ε-private estimator that follows the truth has E|θ̂_i − θ_i| ≥ about 1/(sinh(ε)·Σ_j 2σ(1 − σ)),
the order 1/(npε) of the privacy term in the minimax rate. Below, everything is averaged over the items i.
"""

from __future__ import annotations

from math import sinh

import numpy as np

from quietrank.arrays import Floats
from quietrank.paper.data import Duels, win_probabilities

ITEMS = 24
EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0)


def attack(duels: Duels, theta: Floats, estimate: Floats) -> float:
    """(1/n) Σ_i (θ̂_i − θ_i) Σ_j (y_ij − σ_ij), every pair met once."""
    expected = win_probabilities(theta).sum(axis=1) - 0.5
    return float(np.mean((estimate - theta) * (duels.win_counts - expected)))


def bound(theta: Floats, estimate: Floats, epsilon: float) -> float:
    """sinh(ε)·(1/n) Σ_i |θ̂_i − θ_i| Σ_j 2σ_ij(1 − σ_ij): the mean of this bounds the mean of the attack."""
    probability = win_probabilities(theta)
    weight = (2 * probability * (1 - probability)).sum(axis=1) - 0.5
    return sinh(epsilon) * float(np.mean(np.abs(estimate - theta) * weight))
