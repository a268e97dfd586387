"""The votes and words that the tests of commands share, and what calls the command line in this process."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from quietrank.cli import app as cli

GOOD = [("1", "x", "y"), ("1", "y", "z"), ("2", "x", "z"), ("3", "z", "x")]
COLUMNS = ("person", "winner", "loser")
VOTE = ("--unit", "comparison", "--epsilon", "1")
PEOPLE = ("--unit", "person", "--epsilon", "1", "--max-per-person", "2")
BY_GROUP = ("--by", "land", "--groups", "n,s")


@dataclass(frozen=True)
class Outcome:
    code: int
    stdout: str
    stderr: str


class Run:
    """Calls the command line in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: object) -> Outcome:
        self.monkeypatch.setattr(sys, "argv", ["quietrank", *map(str, words)])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        captured = self.capsys.readouterr()
        return Outcome(int(stopped.value.code or 0), captured.out, captured.err)
