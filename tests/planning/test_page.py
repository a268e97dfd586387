"""docs/planning.md and docs/boards.md cannot drift: the numbers keep the tolerance; test_pages.py runs the examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.planning.settings import SETTINGS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "planning.md").read_text(encoding="utf-8")


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
