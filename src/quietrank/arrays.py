"""The arrays that this library speaks of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
"""counts in lattice steps, and indices"""
Indices = NDArray[np.int32]
"""places of items among pairs: half the memory"""
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]
"""where something stands, as NumPy's searches return it"""
