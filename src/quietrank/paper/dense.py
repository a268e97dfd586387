"""A dense matrix of counts, net wins, a ridge and noise in; the perturbed maximum-likelihood scores out.

Minimised: Σ_{i<j} M_ij log(2 cosh((θ_i − θ_j)/2)) − s·θ + (γ/2)‖θ‖² + w·θ, by Newton's method.

Why not maths/solver.py: that one is for sparse pairs and certifies its gradient to rounding error, which a
simulation does not need. The experiments make tens of thousands of small fits, on which this one is four times faster,
and it can start from the last fit (measurements in README.md). The tests check that the two agree to 1e-8.
"""

from __future__ import annotations

from math import log1p

import numpy as np
from scipy.linalg.lapack import dposv

from quietrank.arrays import Floats
from quietrank.errors import SolverError

WIDEST = 600.0  # beyond this spread of scores the exponentials overflow
WIDEST_FREE = 30.0  # without a ridge, scores that far apart diverge; only rounding makes them seem to converge
NEAR = 1e-5  # Newton's error is about the square of its last step
MAX_NEWTON = 200


def fit(counts: Floats, pull: Floats, gamma: float, start: Floats | None = None) -> Floats:
    """Centred scores for pull = s − w; γ = 0 gives the plain maximum-likelihood fit, which must exist."""
    theta = np.zeros(len(pull)) if start is None else start - start.mean()
    aim = pull - pull.mean()  # the mean of the minimiser is mean(aim)/γ; it is not reported, so it is left out
    for _ in range(MAX_NEWTON):
        step = _newton_step(counts, aim, gamma, theta)
        reach = float(np.ptp(step))
        # |u''| ≤ u' makes φ(t) = f(θ + tδ) satisfy |φ'''| ≤ Rφ'', R = max δ − min δ, and then φ' ≤ 0 up to
        # t = log(1 + R)/R: that step always descends, and tends to the full one.
        theta = theta + step * (log1p(reach) / reach if reach > 1e-3 else 1.0)
        if reach <= NEAR:
            return np.asarray(theta - theta.mean())
    raise SolverError(f"no finite scores after {MAX_NEWTON} Newton steps with gamma={gamma}; give a larger gamma")


def _newton_step(counts: Floats, aim: Floats, gamma: float, theta: Floats) -> Floats:
    # With e = exp θ: u = σ(x) − 1/2 = (e_i − e_j)/(2(e_i + e_j)) and u' = e_i e_j/(e_i + e_j)² = 1/4 − u²,
    # so that n exponentials are enough for n² pairs.
    if float(np.ptp(theta)) > (WIDEST if gamma > 0 else WIDEST_FREE):
        raise SolverError(f"the scores diverge with gamma={gamma}; give a larger gamma")
    e = np.exp(theta)
    u = e[:, None] / (e[:, None] + e[None, :])
    slope = u * u.T
    u -= 0.5
    slope *= counts
    gradient = np.einsum("ij,ij->i", counts, u) - aim + gamma * theta
    gradient -= gradient.mean()
    diagonal = slope.sum(axis=1)
    hessian = np.negative(slope, out=slope)
    hessian += diagonal.mean() / len(theta)  # a multiple of 11ᵀ: regular for γ = 0, nothing changed orthogonal to 1
    hessian.flat[:: len(theta) + 1] += diagonal + gamma
    _, step, info = dposv(hessian.T, -gradient, overwrite_a=1)
    if info != 0:
        raise SolverError(f"the comparison graph is too weakly connected for gamma={gamma}; give a larger gamma")
    return np.asarray(step - step.mean())
