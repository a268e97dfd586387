"""Spark's plans: a release passes over the votes three times, and moves them once (docs/engines.md shows the plans)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from quietrank.votes.engines import spark as engine
from quietrank.votes.read import read_votes

PRIVACY = {
    "total": qr.Privacy(1, "person", max_per_person=5),
    "one per pair": qr.Privacy(1, "person", max_per_person=5, one_per_pair=True),
    "clipped": qr.Privacy(1, "person", max_per_person=5, delta=1e-6, clip=2.0),
}
MECHANISM: dict[str, Any] = {"total": "laplace", "one per pair": "laplace", "clipped": "gaussian"}


@pytest.mark.engines
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("name", PRIVACY)
def test_a_release_passes_over_the_votes_three_times(
    spark: Any, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three queries, each of which mentions the votes, or what was kept of them, once; only the first, which splits
    them by person, moves votes. What the others move are sums by item."""
    import ibis
    import pyarrow.parquet as pq

    pq.write_table(qr.simulate(items=6, people=60, per_person=8), tmp_path / "votes.parquet")
    spark.read.parquet(str(tmp_path / "votes.parquet")).createOrReplaceTempView("planned")
    plans: list[str] = []
    honest = engine._frame

    def noted(backend: Any, query: Any) -> Any:
        frame = honest(backend, query)
        plans.append(frame._jdf.queryExecution().executedPlan().toString())
        return frame

    monkeypatch.setattr(engine, "_frame", noted)
    votes = read_votes(ibis.pyspark.connect(spark).table("planned"), items=[f"item-{k}" for k in range(1, 7)])
    qr.rank(votes, PRIVACY[name], mechanism=MECHANISM[name])
    spark.catalog.dropTempView("planned")
    read, tally, scatter = plans
    assert read.count("FileScan parquet") == 1
    assert "Exchange hashpartitioning" not in read  # that by person comes after it, when it is kept
    for plan in (tally, scatter):
        assert plan.count("Scan ExistingRDD") == 1
        keys = re.findall(r"Exchange hashpartitioning\(([^)]*)\)", plan)
        assert len(keys) <= 2
        assert not any("person" in key for key in keys), keys
