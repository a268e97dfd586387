"""docs/planning.md cannot drift: its example is what the planner says, and its numbers keep the tolerance."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from quietrank.cli import app as cli
from tests.planning.settings import SETTINGS

PAGE = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_example_is_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The seed is fixed, so the table is too."""
    command = re.search(r"```console\n\$ (.*)\n", PAGE)
    shown = re.search(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    assert command is not None
    assert shown is not None
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "argv", shlex.split(command[1]))
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert not stopped.value.code
    printed = {line.strip() for line in capsys.readouterr().out.splitlines()}
    for line in shown[1].strip().splitlines():
        assert line.strip() in printed


def test_the_twelve_settings_are_those_tested_and_within_the_tolerance() -> None:
    """Predicted and measured, as the page shows them."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \| (0\.\d+) \| (0\.\d+) ± 0\.\d+ \|$", PAGE, flags=re.MULTILINE)
    assert sorted(name for name, _, _ in rows) == sorted(setting.name for setting in SETTINGS)
    for name, predicted, measured in rows:
        assert abs(float(predicted) - float(measured)) <= max(0.02, 0.15 * float(measured)) + 1e-9, name
