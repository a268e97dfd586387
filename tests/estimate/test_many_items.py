"""Intervals without a matrix, for more items than a matrix has room for, beside those with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.estimate import errors, uncertainty
from quietrank.statistics.method import MethodWord, TiesWord

PEOPLE = qr.Privacy(4, "person", max_per_person=8, design="private")


@pytest.fixture(scope="module")
def votes() -> qr.Votes:
    """Of thirty items, in pairs by chance, a fifth of them ties."""
    table = qr.simulate(items=30, people=1500, per_person=8, seed=3)
    tied = pa.array([k % 5 == 0 for k in range(table.num_rows)])
    return qr.read_votes(table.append_column("tied", tied), tie="tied", items_from_votes=True)


def wide(release: qr.Release) -> np.ndarray[Any, Any]:
    return np.array([row.score_high - row.score_low for row in release])  # type: ignore[operator]


@pytest.mark.parametrize(
    ("method", "ties"),
    [("net-wins", "half"), ("win-rate", "half"), ("bradley-terry", "half"), ("bradley-terry", "davidson")],
)
def test_intervals_are_as_wide_as_with_a_matrix(
    method: MethodWord, ties: TiesWord, votes: qr.Votes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a fifth, where opponents are of all strengths; the order is the same, and rank sets hold it."""
    tally = qr.noisy_tally(votes, PEOPLE, method=method, ties=ties)
    dense = qr.rerank(tally, method=method, ties=ties)
    for module in (errors, uncertainty):
        monkeypatch.setattr(module, "MOST_DENSE", 10)
    many = qr.rerank(tally, method=method, ties=ties)
    assert [row.item for row in many] == [row.item for row in dense]
    np.testing.assert_allclose(np.median(wide(many) / wide(dense)), 1, atol=0.2)
    assert all(row.rank_low <= row.rank <= row.rank_high for row in many)  # type: ignore[operator]


def test_where_there_is_nothing_to_say_the_release_says_why(votes: qr.Votes, monkeypatch: pytest.MonkeyPatch) -> None:
    """By wins, and for more items than are tried."""
    tally = qr.noisy_tally(votes, PEOPLE, method="bradley-terry")
    for module in (errors, uncertainty):
        monkeypatch.setattr(module, "MOST_DENSE", 10)
    monkeypatch.setattr(errors, "MOST_ITEMS", 20)
    release = qr.rerank(tally, method="bradley-terry")
    assert release.certainty is None
    assert any("no intervals for more than 20 items" in note for note in release.assumptions)
