"""`quietrank synthetic`: votes from a published model, which say that they are."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.running import BY_GROUP, PEOPLE, VOTE, Run

SCORES = ("--items", "x,y,z", "--method", "bradley-terry")


@pytest.fixture
def release(run: Run, lands: Path, tmp_path: Path) -> Path:
    assert run("rank", lands, *VOTE, *SCORES, "--out", tmp_path / "release.json").code == 0
    return tmp_path / "release.json"


@pytest.mark.parametrize("shape", ["long", "arena"])
@pytest.mark.parametrize("name", ["s.csv", "s.csv.gz", "s.parquet"])
@pytest.mark.few(2)
def test_synthetic_votes_feed_rank(run: Run, release: Path, tmp_path: Path, shape: str, name: str) -> None:
    """Every shape and format is read again, and standard error says what they are."""
    drawn = run("synthetic", release, "--votes", 50, "--shape", shape, "--out", tmp_path / name)
    assert (drawn.code, drawn.stdout) == (0, "")
    assert "50 synthetic votes, drawn from a published model: nobody cast them" in drawn.stderr
    assert run("rank", tmp_path / name, *VOTE, "--items", "x,y,z").code == 0
    again = run("synthetic", release, "--votes", 50, "--shape", shape, "--out", tmp_path / name)
    assert (again.code, "not replaced" in again.stderr) == (1, True)


def test_synthetic_votes_are_marked(run: Run, release: Path, tmp_path: Path) -> None:
    """In a column, in the names of people, and in the metadata of a Parquet file."""
    printed = run("synthetic", release, "--votes", 2, "--seed", 1).stdout
    assert printed.splitlines()[0] == "person,winner,loser,synthetic"
    assert [line.split(",")[::3] for line in printed.splitlines()[1:]] == [
        ["synthetic-1", "True"],
        ["synthetic-2", "True"],
    ]
    assert printed == run("synthetic", release, "--votes", 2, "--seed", 1).stdout
    run("synthetic", release, "--votes", 2, "--out", tmp_path / "s.parquet")
    assert b"nobody cast them" in pq.read_schema(tmp_path / "s.parquet").metadata[b"quietrank"]


def test_saved_tallies_and_groups(run: Run, lands: Path, tmp_path: Path) -> None:
    """A tally is as good as a release; with groups, --group says whose."""
    tally, grouped = tmp_path / "tally.json", tmp_path / "grouped.json"
    assert run("rank", lands, *PEOPLE, *SCORES, *BY_GROUP, "--save-tally", tally, "--out", grouped).code == 0
    for path in (tally, grouped):
        assert run("synthetic", path, "--votes", 3).code == 1
        assert run("synthetic", path, "--votes", 3, "--group", "n").stdout.count("\n") == 4
