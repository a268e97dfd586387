"""The command line as a whole: usage, the version, help that is quick and shows what can be given."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from quietrank import __version__
from quietrank.cli.app import app
from quietrank.cli.options import CALIBRATIONS, LINKS, METHODS, PANELS, Format
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.promise.privacy import Design, Neighbours
from tests.cli.running import Run


def test_an_unknown_flag_is_wrong_usage(run: Run, votes: Path) -> None:
    """Exit code 2, as everywhere."""
    assert run("rank", votes, "--no-such-flag").code == 2
    assert run("no-such-command").code == 2


def test_the_version_is_one(run: Run) -> None:
    """One version, in the package and on the command line."""
    assert run("--version").stdout == f"quietrank {__version__}\n"


HEAVY = ("ibis", "duckdb", "numpy", "scipy", "pyarrow", "pandas", "polars", "opendp", "matplotlib")


@pytest.mark.parametrize(
    "code", ["import quietrank", "from quietrank.cli.app import app; app(['--help'], standalone_mode=False)"]
)
def test_nothing_heavy_is_imported_for_nothing(code: str) -> None:
    """`import quietrank` and `--help` load none of the heavy modules."""
    script = f"{code}\nimport sys\nprint('LOADED', sorted(set(sys.modules) & set({HEAVY!r})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command and group of commands, as words."""
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from _commands(command, (*path, name))


COMMANDS = list(_commands(typer.main.get_command(app)))


def test_there_are_many_commands() -> None:
    """This test can fail: those that are compared below are found."""
    assert {("rank",), ("plan",), ("ledger", "new"), ("paper", "check")} <= set(COMMANDS)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.few(7)
def test_help_shows_no_type_behind_a_switch(run: Run, words: tuple[str, ...]) -> None:
    """A switch takes no value; --help is one as well."""
    shown = run(*words, "--help")
    assert shown.code == 0
    assert "--help" in shown.stdout
    assert "bool" not in shown.stdout.lower()


@pytest.mark.parametrize("width", ["80", "120"])
def test_the_options_of_rank_stand_in_panels(run: Run, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    """In the order of the questions that they answer; --help alone stands apart."""
    monkeypatch.setenv("COLUMNS", width)
    shown = run("rank", "--help").stdout
    titles = re.findall(r"╭─ (.+?) ─+╮", shown)
    assert titles == ["Arguments", "Options", *PANELS]
    assert PANELS == ("What is protected", "What was asked", "Where the votes are", "Columns", "Result", "Budget")
    first = {
        "--unit": 0, "--items": 1, "--mechanism": 1, "--connect": 2, "--threads": 2, "--winner": 3, "--skip-invalid": 3,
        "--out": 4, "--ledger": 5,
    }  # fmt: skip
    for option, panel in first.items():
        assert f"│ {option} " in shown.split(f"─ {PANELS[panel]} ─")[1].split("╰")[0]


@pytest.mark.parametrize("width", ["80", "120"])
def test_help_shows_what_can_be_given(run: Run, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    """In brackets behind the option, never broken within a word."""
    monkeypatch.setenv("COLUMNS", width)
    for command in ("rank", "plan"):
        shown = run(command, "--help").stdout
        assert "[comparison|person]" in shown
        assert "[table|json|csv|" in shown
        for word in (
            *Format,
            *Neighbours,
            *Design,
            *METHODS,
            *MECHANISMS,
            *(LINKS + CALIBRATIONS if command == "rank" else ()),
        ):
            assert re.search(rf"[\[| ]{word}[\]|]", shown), word
