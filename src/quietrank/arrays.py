"""The array types of this library."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
"""counts in lattice steps, and indices"""
Indices = NDArray[np.int32]
"""the items of pairs, by position: half the memory"""
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]
"""positions, as NumPy's searches return them"""
