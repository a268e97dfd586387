"""`quietrank fit`: exact scores, and a warning beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.helpers import write_csv


@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_fit_says_that_it_is_not_private(run: Run, votes: Path, format: str) -> None:
    """Exact scores with standard errors, and a warning beside them."""
    result = run("fit", votes, "--format", format)
    assert result.code == 0
    assert "Not private" in result.stderr
    assert {"table": "± standard", "csv": "standard_error", "json": '"private": false'}[format] in result.stdout


def test_fit_refuses_scores_that_do_not_exist(run: Run, tmp_path: Path) -> None:
    """An item that always wins has no maximum-likelihood score; the remedy is a ridge."""
    path = write_csv(tmp_path / "v.csv", [("x", "y"), ("x", "z"), ("y", "z"), ("z", "y")], ("winner", "loser"))
    refused = run("fit", path)
    assert refused.code == 1
    assert "ridge" in refused.stderr
    assert run("fit", path, "--ridge", 0.1).code == 0


def test_fit_flags_items_that_never_met(run: Run, tmp_path: Path) -> None:
    """Scores of different components are not comparable, and the table says so."""
    rows = [("x", "y"), ("y", "x"), ("u", "v"), ("v", "u")]
    result = run("fit", write_csv(tmp_path / "v.csv", rows, ("winner", "loser")))
    assert "component" in result.stdout
