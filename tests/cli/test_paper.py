"""Tests of `quietrank paper`: the quick run, its files and its errors."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from quietrank.cli.paper import paper_app
from quietrank.errors import UsageError
from quietrank.paper.experiments import FIGURES
from quietrank.paper.run import read_rows


def paper(*words: str) -> Result:
    return CliRunner().invoke(paper_app, list(words))


@pytest.mark.slow
def test_quick_run_makes_all_figures(tmp_path: Path) -> None:
    """Every figure as PNG and SVG, a table of means and a summary."""
    result = paper("--quick", "--out", str(tmp_path), "--workers", "2")
    assert result.exit_code == 0, result.output
    for figure in FIGURES:
        assert (tmp_path / f"figure-{figure}.png").stat().st_size > 10_000
        assert "<svg" in (tmp_path / f"figure-{figure}.svg").read_text(encoding="utf-8")[:1000]
    assert {row.experiment for row in read_rows(tmp_path / "means.csv")} == set(FIGURES)
    assert "Means over all set-ups" in result.stdout


def test_one_figure_only(tmp_path: Path) -> None:
    """--figure takes one figure, several with commas, or theory for the last two."""
    result = paper("--figure", "8", "--repetitions", "2", "--out", str(tmp_path), "--workers", "1")
    assert result.exit_code == 0, result.output
    assert {row.experiment for row in read_rows(tmp_path / "means.csv")} == {"8"}
    assert {row.runs for row in read_rows(tmp_path / "means.csv")} == {2}
    assert not (tmp_path / "figure-1.png").exists()


def test_unknown_figure_is_wrong_usage(tmp_path: Path) -> None:
    """Nothing is written; `test_wrong_calls.py` has the exit code."""
    assert isinstance(paper("--figure", "9", "--out", str(tmp_path / "x")).exception, UsageError)
    assert not (tmp_path / "x").exists()


def test_check_needs_results(tmp_path: Path) -> None:
    """Without results the error says how to make them."""
    reference = tmp_path / "r.csv"
    reference.write_text("experiment,method,metric,n,p,epsilon,mean\n")
    result = paper("check", "--reference", str(reference), "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "quietrank paper --out" in str(result.exception)


@pytest.mark.parametrize("module", ["numpy", "scipy", "matplotlib"])
def test_command_definitions_import_nothing_heavy(module: str) -> None:
    """`quietrank --help` must stay quick."""
    code = f"import sys, quietrank.cli.paper; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
