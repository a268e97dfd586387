"""A number of draws in; exact exponential real numbers, whole parts of their multiples, discrete Laplace noise out.

Everything is decided by comparing uniform real numbers (`words.py`), and multiplied in integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from quietrank.errors import PrivacyError
from quietrank.noise.words import LARGEST_SCALE, Reals, Source, Words, entropy, exponential_coins, fair_coins, joined

if TYPE_CHECKING:
    from quietrank.arrays import Flags, Integers

BLOCK = 2**15
"""draws that are made together: their words stay in the processor's cache"""

WholeNumbers = NDArray[Any]
"""64-bit integers, or Python's where these are too short"""


def exponential(size: int, source: Source) -> tuple[Integers, Reals]:
    """Real numbers v + x of density exp(−(v + x)), as whole parts v and fractions x.

    Uniform x are tried in turn, and accepted with probability exp(−x), in all 1 − 1/e; v is how many failed since the
    last success: P(v) = e^−v·(1 − 1/e), whatever x is (von Neumann 1951).
    """
    outcomes: list[Flags] = []
    fractions: list[Reals] = []
    while (missing := size - sum(part.size for part in fractions)) > 0:
        tried = Reals(enough(missing, 0.63), source)
        accepted = exponential_coins(tried, np.arange(tried.size), source)
        outcomes.append(accepted)
        fractions.append(tried.taken(np.flatnonzero(accepted)))
    successes = np.flatnonzero(np.concatenate(outcomes))[:size]
    return np.diff(successes, prepend=-1) - 1, joined(fractions).taken(slice(size))


def enough(missing: int, accepted: float) -> int:
    """How many to try so that one round is mostly enough; any number would do."""
    return math.ceil((missing + 4 * math.sqrt(missing)) / accepted)


def whole_parts(scale: float, whole: Integers, fraction: Reals) -> WholeNumbers:
    """⌊scale·(v + x)⌋, exactly, for scale < 2^58: with scale = m/2^f it is (m·v + ⌊m·x⌋) >> f.

    Uses the fractions up.
    """
    m, denominator = scale.as_integer_ratio()
    f = denominator.bit_length() - 1
    multiple, rest = _product(m, fraction.word(0))
    open_ = np.flatnonzero(rest > np.uint64(2**64 - m))  # the words to come could still carry
    product = multiple.astype(np.int64)
    product[open_] = _whole_product(m, fraction.taken(open_))
    if m * (int(whole.max(initial=0)) + 1) < 2**63:
        return np.asarray(m * whole + product >> min(f, 63))
    return np.asarray(m * whole.astype(object) + product.astype(object) >> f)


def _product(m: int, words: Words) -> tuple[Words, Words]:
    """The upper and the lower 64 bits of m·words, for m < 2^58, by halves."""
    half, low = np.uint64(32), np.uint64(2**32 - 1)
    m1, m0 = np.uint64(m >> 32), np.uint64(m & 0xFFFFFFFF)
    w1, w0 = words >> half, words & low
    bottom = m0 * w0
    middle = m1 * w0 + (bottom >> half)
    other = m0 * w1 + (middle & low)
    return m1 * w1 + (middle >> half) + (other >> half), other << half | bottom & low


def _whole_product(m: int, fraction: Reals) -> WholeNumbers:
    """⌊m·x⌋ with as many words as it takes: x lies in [known, known + 1)/2^(64·depth)."""
    known, depth = np.zeros(fraction.size, dtype=object), 0
    while True:
        known = (known << 64) + fraction.word(depth).astype(object)
        depth += 1
        product = m * known >> 64 * depth
        if (product == (m * (known + 1) - 1 >> 64 * depth)).all():
            return np.asarray(product)


def discrete_laplace(size: int, scale: float, source: Source = entropy) -> Integers | list[int]:
    """P(z) ∝ exp(−|z|/scale) on the integers."""
    return in_blocks(size, scale, lambda block: _two_sided(block, scale, source))


def _two_sided(size: int, scale: float, source: Source) -> WholeNumbers:
    """⌊scale·e⌋ of exponential e, with a fair sign; a negative zero is drawn again, since there is only one zero."""
    draws: list[WholeNumbers] = []
    while (missing := size - sum(map(len, draws))) > 0:
        sizes = whole_parts(scale, *exponential(missing, source))
        negative = fair_coins(missing, source)
        draws.append(np.where(negative, -sizes, sizes)[(sizes > 0) | ~negative])
    return np.concatenate(draws)


def in_blocks(size: int, scale: float, draw: Callable[[int], WholeNumbers]) -> Integers | list[int]:
    """`size` draws, some at a time; Python's integers where 64 bits are too short for one of them."""
    if not 0 < scale < 2 * LARGEST_SCALE:  # calibration can round up to a little more than the largest
        raise PrivacyError(f"the noise scale must be > 0 and at most 2^56 lattice steps, got {scale:g}")
    blocks = [draw(min(BLOCK, size - start)) for start in range(0, size, BLOCK)]
    noise = np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.int64)
    return noise.tolist() if noise.dtype == object else noise
