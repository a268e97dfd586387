"""docs/planning.md and docs/boards.md cannot drift: their examples are what the planner says, and the numbers keep the
tolerance."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from quietrank.cli import app as cli
from tests.planning.settings import SETTINGS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "planning.md").read_text(encoding="utf-8")


EXAMPLES = {"planning.md": "quietrank plan", "boards.md": "quietrank board plan"}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_what_is_printed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The seed is fixed, so the table is too."""
    page = (DOCS / name).read_text(encoding="utf-8")
    example = re.search(rf"```console\n\$ ({EXAMPLES[name]} .*)\n```\n\n```text\n(.*?)```", page, flags=re.DOTALL)
    assert example is not None
    command, shown = example.groups()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "104")
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert not stopped.value.code
    printed = {line.strip() for line in capsys.readouterr().out.splitlines()}
    for line in shown.strip().splitlines():
        assert line.strip() in printed


def test_the_python_of_the_page_about_boards_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The plan of a panel: its limit, when ranks are shown, and noise of at most twice a single release."""
    page = (DOCS / "boards.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(import quietrank as qr\n\nplan = .*?)```", page, flags=re.DOTALL)
    exec(compile(example, "boards.md", "exec"), {})
    clip, _, relative = capsys.readouterr().out.split()
    assert float(clip) == 5.5
    assert float(relative) <= 2


def test_the_twelve_settings_are_those_tested_and_within_the_tolerance() -> None:
    """Predicted and measured, as the page shows them."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \| (0\.\d+) \| (0\.\d+) ± 0\.\d+ \|$", PAGE, flags=re.MULTILINE)
    assert sorted(name for name, _, _ in rows) == sorted(setting.name for setting in SETTINGS)
    for name, predicted, measured in rows:
        assert abs(float(predicted) - float(measured)) <= max(0.02, 0.15 * float(measured)) + 1e-9, name
