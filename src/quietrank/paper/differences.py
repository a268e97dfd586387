"""A seed in; numbers that show why the published figures differ from a correct computation, out.

Each function repeats one of the mistakes on purpose and measures its effect. docs/paper.md quotes the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import log

import numpy as np

from quietrank.arrays import Floats, Places
from quietrank.paper import metrics
from quietrank.paper.data import graph_duels, people_duels, raw_strengths, strengths, top_size, win_probabilities
from quietrank.paper.dense import fit
from quietrank.paper.experiments import PER_PERSON, mean_and_error
from quietrank.paper.methods import edge_ridge, perturbed_mle


@dataclass(frozen=True)
class Spread:
    """Means of the log relative L2 error, each over `runs` repetitions, for several noise vectors."""

    stated_error: float  # the standard error one would state from the repetitions of one noise vector
    between: float  # standard deviation of those means between noise vectors
    fresh_error: float  # standard error with fresh noise in every repetition


def one_noise_vector(n: int, epsilon: float, vectors: int, runs: int, rng: np.random.Generator) -> Spread:
    """Perturbed MLE with the noise drawn once for all repetitions, as in the published edge experiments."""
    theta = strengths(n, rng)
    probability, gamma = win_probabilities(theta), edge_ridge(n, 1.0)

    def error(w: Floats) -> float:
        return metrics.log_rel_l2(perturbed_mle(graph_duels(probability, 1.0, rng), w, gamma), theta)

    def noise() -> Floats:
        return rng.laplace(scale=8 / epsilon, size=n)

    fixed = [np.array([error(w) for _ in range(runs)]) for w in (noise() for _ in range(vectors))]
    fresh = np.array([error(noise()) for _ in range(runs * vectors)])
    stated = float(np.mean([mean_and_error(values)[1] for values in fixed]))
    between = float(np.std([values.mean() for values in fixed], ddof=1))
    return Spread(stated, between, float(fresh.std(ddof=1)) / runs**0.5)


def centring_floor(n: int, draws: int, rng: np.random.Generator) -> float:
    """Mean log relative L2 error of the true strengths, centred, measured against the same strengths uncentred."""
    raw = [raw_strengths(n, rng) for _ in range(draws)]
    return float(np.mean([metrics.log_rel_l2(theta - theta.mean(), theta) for theta in raw]))


def partial_sort(values: Floats, k: int) -> Places:
    """The last k entries of a partial sort at position k: all that is certain is that they are not the k smallest.

    Long doubles make NumPy use its plain quickselect; for other types its vectorised one happens to sort short arrays
    completely, which hides the mistake on recent processors.
    """
    return np.argpartition(values.astype(np.longdouble), k)[-k:]


def partial_sort_errors(n: int, m: int, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """Top-k error of exact win counts, no privacy, true top first: with that selection, and with the k largest."""
    k = top_size(n)
    wrong, right = [], []
    for _ in range(runs):
        counts = people_duels(win_probabilities(strengths(n, rng)), m, PER_PERSON, rng).win_counts
        wrong.append(1 - np.count_nonzero(partial_sort(counts, k) < k) / k)
        right.append(metrics.topk_error(counts, k, rng.random(n)))
    return float(np.mean(wrong)), float(np.mean(right))


def win_count_sensitivity(n: int, limit: int) -> int:
    """Largest L1 change of win counts when one person's L votes are replaced, by trying all of them."""
    ordered = [(i, j) for i in range(n) for j in range(n) if i != j]
    counts = {tuple(np.bincount([i for i, _ in votes], minlength=n)) for votes in product(ordered, repeat=limit)}
    return max(int(np.abs(np.subtract(a, b)).sum()) for a in counts for b in counts)


def count_privacy_loss(n: int, limit: int, epsilon: float) -> float:
    """Privacy loss of win counts with the published Laplace(L/ε): the largest log ratio of two output densities."""
    return win_count_sensitivity(n, limit) * epsilon / limit


@dataclass(frozen=True)
class Density:
    """P(θ̂_1 − θ̂_2 > t) for two items: simulated, and from the density with det(H) to the power +1 and −1."""

    simulated: float
    with_determinant: float
    with_inverse: float
    mass: float  # integral of the density with the power +1
    mass_inverse: float  # the same with the power −1


def determinant_sign(rng: np.random.Generator, t: float = 0.5, draws: int = 20000) -> Density:
    """Two items, four votes, γ = 0.5, w ~ Laplace(1): the minimiser solves w = s − u(θ) − γθ, so its density is
    f_w(w(θ))·|∂w/∂θ| = f_w(w(θ))·det(H(θ)), H = γI + Laplacian: the determinant itself, not its inverse."""
    votes, s, gamma = 4.0, np.array([1.0, -1.0]), 0.5
    counts = np.array([[0.0, votes], [votes, 0.0]])
    scores = [fit(counts, s - rng.laplace(size=2), gamma) for _ in range(draws)]
    simulated = float(np.mean([score[0] - score[1] > t for score in scores]))
    a = np.linspace(-30, 30, 1501)  # coordinates d = θ_1 − θ_2 and c = θ_1 + θ_2; dθ = dd·dc/2
    d, c = a[:, None], a[None, :]
    pull = votes * 0.5 * np.tanh(d / 2)
    w1, w2 = s[0] - pull - gamma * (c + d) / 2, s[1] + pull - gamma * (c - d) / 2
    noise = np.exp(-np.abs(w1) - np.abs(w2)) / 4
    determinant = gamma * (gamma + 2 * votes / (4 * np.cosh(d / 2) ** 2))
    cell = (a[1] - a[0]) ** 2 / 2
    right, wrong = noise * determinant * cell, noise / determinant * cell
    above = a > t
    return Density(
        simulated, float(right[above].sum()), float(wrong[above].sum()), float(right.sum()), float(wrong.sum())
    )


def report(seed: int = 1) -> str:
    """All of the above as text; takes about half a minute."""
    rng = np.random.default_rng(seed)
    spread = one_noise_vector(100, 0.5, 30, 120, rng)
    wrong, right = partial_sort_errors(16, 2000, 500, rng)
    density = determinant_sign(rng)
    return "\n".join(
        [
            f"one noise vector: stated standard error {spread.stated_error:.4f}, between vectors {spread.between:.4f}, "
            f"fresh noise {spread.fresh_error:.4f}",
            f"centring: floor {centring_floor(16, 2000, rng):.3f} (ln 0.82 = {log(0.82):.3f})",
            f"partial sort: top-k error {wrong:.3f} instead of {right:.3f}",
            f"Laplace(L/ε): privacy loss {count_privacy_loss(3, 3, 1.0):.2f} at ε = 1, L = 3, n = 3",
            f"determinant: simulated {density.simulated:.4f}, power +1 {density.with_determinant:.4f} (mass "
            f"{density.mass:.4f}), power −1 {density.with_inverse:.4f} (mass {density.mass_inverse:.4f})",
        ]
    )
