"""`quietrank demo`: the bundled survey, its report and its figure."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.running import Run

PAGE, FIGURE = "quietrank-demo.html", "quietrank-demo.png"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which the demo runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_demo_ranks_the_six_universities(run: Run, here: Path) -> None:
    """The bundled survey, the person as unit: a table on stdout, two files, and on stderr where they are."""
    result = run("demo")
    assert result.code == 0
    for name in ("Barcelona", "London", "Milano", "Paris", "St.Gallen", "Stockholm"):
        assert name in result.stdout
        assert name in (here / PAGE).read_text(encoding="utf-8")
    assert "No single person" in result.stdout
    assert names(here) == {PAGE, FIGURE}
    assert (here / FIGURE).read_bytes().startswith(b"\x89PNG")
    assert result.stderr.splitlines() == [f"Report: {PAGE} (open it in a browser)", f"Figure: {FIGURE}"]


def test_demo_writes_where_it_is_told_and_replaces_its_own_files(run: Run, here: Path) -> None:
    """A second run is another release: its files take the place of the first ones."""
    (here / "there").mkdir()
    pages = []
    for _ in range(2):
        result = run("demo", "--folder", "there")
        assert (result.code, f"there/{PAGE}" in result.stderr) == (0, True)
        pages.append((here / "there" / PAGE).read_text(encoding="utf-8"))
    assert pages[0] != pages[1]
    assert (names(here), names(here / "there")) == ({"there"}, {PAGE, FIGURE})


@pytest.mark.parametrize("format", ["json", "csv"])
def test_demo_prints_only_data_where_data_is_asked_for(run: Run, format: str) -> None:
    """What a program reads."""
    result = run("demo", "--format", format)
    assert result.code == 0
    first = json.loads(result.stdout)["ranking"][0]["item"] if format == "json" else result.stdout.split(",")[1]
    assert first == ("London" if format == "json" else "item")
    assert PAGE in result.stderr
    assert "Report" not in result.stdout


@pytest.mark.parametrize("folder", ["nowhere", "a-file"])
def test_demo_shows_the_table_where_nothing_can_be_written(run: Run, here: Path, folder: str) -> None:
    """Exit code 1 and a remedy, but the ranking all the same."""
    (here / "a-file").write_text("mine")
    result = run("demo", "--folder", folder)
    assert (result.code, "London" in result.stdout) == (1, True)
    assert result.stderr == f"quietrank: there is no folder {folder}; make it, or choose another with --folder DIR\n"
    assert names(here) == {"a-file"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is read-only for root")
def test_demo_shows_the_table_where_nothing_may_be_written(run: Run, here: Path) -> None:
    """A folder that is there, but closed."""
    (here / "closed").mkdir(mode=0o500)
    result = run("demo", "--folder", "closed")
    assert (result.code, "London" in result.stdout) == (1, True)
    assert "choose another folder with --folder DIR" in result.stderr


def test_demo_replaces_nobody_elses_file(run: Run, here: Path) -> None:
    """A file of the same name that quietrank did not write stays; the other one is written, and said to be."""
    (here / FIGURE).write_bytes(b"mine")
    result = run("demo")
    assert (result.code, "London" in result.stdout) == (1, True)
    assert (here / FIGURE).read_bytes() == b"mine"
    report, error = result.stderr.splitlines()
    assert report == f"Report: {PAGE} (open it in a browser)"
    assert "is not a picture by quietrank and is not replaced; move it" in error
