"""Spark as a cluster: a master and two workers count what one process counts, also when a worker is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quietrank.demo import demo_votes
from tests.servers.spark import spark_cluster
from tests.votes.counted import figures

pytestmark = [pytest.mark.engines, pytest.mark.slow, pytest.mark.xdist_group("spark")]

BOUND = "person, one per pair"
COUNT = """
import json, sys
import ibis
from quietrank.demo import UNIVERSITIES
from quietrank.errors import VotesError
from quietrank.votes.read import read_votes
from tests.votes.counted import figures

session.read.parquet(sys.argv[1]).repartition(4).createOrReplaceTempView("votes")
votes = read_votes(ibis.pyspark.connect(session).table("votes"), items=UNIVERSITIES)
print(json.dumps(figures(votes, sys.argv[2], scatter=False).by_item), flush=True)
print("once", flush=True)
for _ in range(3):
    try:
        print(json.dumps(figures(votes, sys.argv[2], scatter=False).by_item), flush=True)
    except VotesError as error:
        print(json.dumps(str(error)), flush=True)
"""


def test_a_cluster_counts_alike_and_a_lost_worker_changes_no_number(tmp_path: Path) -> None:
    """A snapshot that is lost with its worker may be an error, because it is never read a second time; but whatever
    is counted is the same."""
    import pyarrow.parquet as pq

    pq.write_table(demo_votes().source.table.to_pyarrow(), tmp_path / "votes.parquet")
    expected = json.loads(json.dumps(figures(demo_votes(), BOUND, scatter=False).by_item))
    with spark_cluster(tmp_path) as cluster:
        driver = cluster.drive(COUNT, str(tmp_path / "votes.parquet"), BOUND)
        assert json.loads(cluster.read_line(driver)) == expected
        cluster.wait_for(driver, "once")
        cluster.kill_worker(0)
        later = [json.loads(line) for line in cluster.finish(driver).splitlines()]
    assert len(later) == 3
    assert all(numbers == expected for numbers in later if not isinstance(numbers, str))
    assert later[-1] == expected
