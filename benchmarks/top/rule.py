"""Public values in, selection or the top of a noisy tally out.

Both ways find the top k better the wider the items are spread, relative to the noise. Averaged over spreads on a
logarithmic scale, permute-and-flip with exponential noise of mean b is as good as a tally with noise of standard
deviation σ at b = κσ; κ depends on n and k, not on b or σ. Measured on a model without data (normal, exponential and
uniform scores), κ is 0.65 to 1.1 for the share of the top k and 0.7 to 1.2 for the exact list; 0.8 + 1.2/n is between.
"""

from __future__ import annotations

GUMBEL = 1.15
"""Gumbel noise of scale b is as good as exponential noise of mean 1.4 b (n = 6, k = 1) to 1.05 b (n = 100, k = 25)"""


def prefers_selection(n: int, selection_sd: float, tally_sd: float) -> bool:
    """`selection_sd` is R_k/ε (1.15·R/ε₀ for Gumbel noise), `tally_sd` the noise on an item's net wins; where people
    are clipped, both are divided by what clipping is expected to leave of a vote."""
    return selection_sd <= (0.8 + 1.2 / n) * tally_sd
