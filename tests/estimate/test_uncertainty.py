"""What is said about certainty, whatever the noise has made of the counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import quietrank as qr
from quietrank.demo import demo_votes
from quietrank.statistics.method import MethodWord


@pytest.mark.parametrize("design", ["uniform", "private"])
@pytest.mark.parametrize("method", ["net-wins", "win-rate", "bradley-terry"])
@pytest.mark.few(2)
def test_no_release_is_lost_for_want_of_intervals(design: str, method: MethodWord) -> None:
    """Counts that noise has moved anywhere, up to a million times too far, still give a release: it was paid for."""
    privacy = qr.Privacy(1, "person", max_per_person=15, design=design)  # type: ignore[arg-type]
    tally, rng = qr.noisy_tally(demo_votes(), privacy, method=method), np.random.default_rng(1)
    for size in (1e2, 1e4, 1e6, 1e8):
        values = np.rint(rng.normal(0, size, len(tally.values)) / float(tally.step)).astype(np.int64)
        for gamma in (1e-6, 1.0) if method == "bradley-terry" else ("auto",):
            release = qr.rerank(replace(tally, values=values), method=method, gamma=gamma)  # type: ignore[arg-type]
            assert all(np.isfinite(row.score) for row in release)
