"""`quietrank simulate`: votes that `rank` can read, the same for the same seed."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import PEOPLE, VOTE, Run


def test_simulate_feeds_rank(run: Run, tmp_path: Path) -> None:
    """People and graph forms, with the same seed the same bytes, straight into rank."""
    first, second, graph = (tmp_path / name for name in ("1.csv", "2.csv", "graph.parquet"))
    for out in (first, second):
        words = ("--items", 20, "--people", 50, "--per-person", 10, "--seed", 7, "--out", out)
        assert run("simulate", *words).code == 0
    assert first.read_bytes() == second.read_bytes()
    assert run("rank", first, *PEOPLE, "--items-from-votes").code == 0
    assert run("simulate", "--items", 20, "--p", 0.5, "--out", graph).code == 0
    assert run("rank", graph, *VOTE, "--items-from-votes", "--design", "uniform").code == 0
    assert run("simulate", "--items", 3, "--people", 2, "--per-person", 1).stdout.startswith("person,winner,loser\n")


def test_simulate_refuses_half_a_design(run: Run) -> None:
    """People need a number of pairs each, and something to compare."""
    assert run("simulate", "--items", 20, "--people", 5).code == 2
    assert run("simulate", "--people", 5, "--per-person", 2).code == 2
    assert run("simulate", "--items", 20, "--p", 0.5, "--people", 5, "--per-person", 2).code == 2
