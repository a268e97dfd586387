"""An estimate and the truth in; one number that says how far apart they are, out."""

from __future__ import annotations

from math import log

import numpy as np

from quietrank.arrays import Floats, Integers, Places


def log_rel_l2(estimate: Floats, theta: Floats) -> float:
    """ln(‖θ̂ − θ‖₂/‖θ‖₂)."""
    return log(float(np.linalg.norm(estimate - theta)) / float(np.linalg.norm(theta)))


def log_rel_linf(estimate: Floats, theta: Floats) -> float:
    """ln(‖θ̂ − θ‖∞/‖θ‖∞)."""
    return log(float(np.abs(estimate - theta).max()) / float(np.abs(theta).max()))


def top(values: Floats, k: int, coin: Floats) -> Places:
    """The k largest; equal values are ordered by the coin, not by position (the true top k come first)."""
    return np.lexsort((coin, values))[-k:]


def topk_error(values: Floats, k: int, coin: Floats) -> float:
    """1 − |Ŝ_k ∩ S_k|/k; the true top k are the first k items."""
    return list_error(top(values, k, coin), k)


def list_error(places: Integers, k: int) -> float:
    """The same for a list of k places."""
    return 1.0 - float(np.count_nonzero(places < k)) / k


def topk_error_by_position(values: Floats, k: int) -> float:
    """The same with the later of equal values first, as in the published figures, which is to the true top's cost."""
    return topk_error(values, k, np.arange(len(values), dtype=np.float64))


def ranks(values: Floats, coin: Floats) -> Places:
    """0 for the largest."""
    order = np.lexsort((coin, values))[::-1]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def rank_difference(values: Floats, reference: Floats, coin: Floats) -> float:
    """Mean absolute difference in rank; ties in both are broken by the same coin."""
    return float(np.abs(ranks(values, coin) - ranks(reference, coin)).mean())
