"""`quietrank check`: what is in a file, for the data holder only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.helpers import write_csv


def test_check_counts_and_says_it_is_confidential(run: Run, votes: Path) -> None:
    """Counts on stdout, the warning beside them."""
    result = run("check", votes)
    assert result.code == 0
    assert "Confidential" in result.stderr
    figures, understood = result.stdout.split("as understood:\n")
    assert understood.splitlines()[0] == "  row 1: 1 preferred x to y"
    counts = dict(line.rsplit(maxsplit=1) for line in figures.splitlines())
    assert counts == {
        "shape": "long",
        "column read as winner": "winner",
        "column read as loser": "loser",
        "column read as person": "person",
        "rows": "4",
        "usable votes": "4",
        "of them ties": "0",
        "items": "3",
        "people": "3",
        "votes per person, least": "1",
        "votes per person, median": "1.0",
        "votes per person, most": "2",
    }


def test_check_reports_flaws_of_groups(run: Run, lands: Path) -> None:
    """The data holder hears of undeclared groups before ranking."""
    result = run("check", lands, "--by", "land", "--groups", "n,w")
    assert result.code == 1
    assert "undeclared group" in result.stdout


def test_check_names_items_without_votes(run: Run, votes: Path, tmp_path: Path) -> None:
    """A heading in the list of items would become an item, and be paid for."""
    listed = tmp_path / "items.txt"
    listed.write_text("name\nx\ny\nz\n", encoding="utf-8")
    result = run("check", votes, "--items", listed)
    assert result.code == 0
    assert re.search(r"items without votes +1  \(name\)", result.stdout)


def test_home_is_expanded_where_no_shell_has_seen_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In votes, lists and outputs, as in `--items=~/items.txt`, which a shell leaves alone."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "votes.csv").write_text("winner,loser\nx,y\ny,z\n")
    (tmp_path / "items.txt").write_text("x\ny\nz\n")
    words = ("~/votes.csv", "--items=~/items.txt")
    assert run("check", *words).code == 0
    ranked = run("rank", *words, "--unit", "comparison", "--epsilon", 1, "--out=~/release.json", "--scale", "elo")
    assert ranked.code == 0, ranked.stderr
    assert (tmp_path / "release.json").is_file()
    assert "Elo score" in ranked.stdout


def test_two_columns_that_could_name_people_are_mentioned(run: Run, tmp_path: Path) -> None:
    """`rank --unit person` would refuse them."""
    table = write_csv(tmp_path / "two.csv", [("1", "7", "x", "y")], ("judge", "user_id", "winner", "loser"))
    said = "more than one column could name the person: judge, user_id; name it with --person"
    assert f"note: {said}\n" in run("check", table).stdout
    assert "could name the person" not in run("check", table, "--person", "judge").stdout
    refused = run("check", table, "--unit", "person")
    assert (refused.code, "more than one column" in refused.stderr) == (1, True)
