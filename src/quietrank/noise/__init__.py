"""Integers in, integers with privacy noise out: the only package that draws privacy noise.

Every draw comes from the operating system's entropy, and none passes through floating point: OpenDP samples the
discrete distributions (`lattice.py`), interval arithmetic rounds the real-valued ones (`exact.py`, `knorm.py`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quietrank.noise.knorm import KNormNoise, SumZero, Zonotope
from quietrank.noise.lattice import (
    LARGEST_SCALE,
    GaussianNoise,
    LaplaceNoise,
    add_laplace,
    gaussian_rho,
    gaussian_scale,
    laplace_privacy_loss,
    laplace_scale,
    laplace_standard_deviation,
    truncated_laplace,
)


class Noise(Protocol):
    """Calibrated noise: values in lattice steps in, the same with fresh noise out."""

    def add(self, values: NDArray[np.int64]) -> NDArray[np.int64]: ...


__all__ = [
    "LARGEST_SCALE",
    "GaussianNoise",
    "KNormNoise",
    "LaplaceNoise",
    "Noise",
    "SumZero",
    "Zonotope",
    "add_laplace",
    "gaussian_rho",
    "gaussian_scale",
    "laplace_privacy_loss",
    "laplace_scale",
    "laplace_standard_deviation",
    "truncated_laplace",
]
