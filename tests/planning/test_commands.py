"""`quietrank plan`: results to stdout, reasons to stderr, the right exit code."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from quietrank import cli

SMALL = ("--items", "6", "--people", "100", "--per-person", "8", "--repetitions", "50")


class Run:
    """Calls `quietrank plan` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: object) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["quietrank", "plan", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        captured = self.capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("COLUMNS", "100")
    return Run(monkeypatch, capsys)


def test_a_table_with_the_cost_of_privacy(run: Run) -> None:
    """By mechanism and ε, next to the same without privacy, and how to go on."""
    code, out, _ = run(*SMALL, "--epsilon", "0.5,2", "--delta", "1e-6")
    assert code == 0
    for words in ("laplace", "gaussian", "no privacy", "top-3 error", "rank error", "winner right", "0.5", "∞"):
        assert words in out
    assert "--unit person --epsilon E --max-per-person 8" in out
    assert "65% of its votes" in " ".join(out.split())


def test_a_mechanism_asked_for_is_named_where_auto_would_take_another(run: Run) -> None:
    _, out, _ = run(*SMALL, "--mechanism", "laplace", "--one-per-pair", "--epsilon", "1")
    assert "zonotope" not in out
    assert ("--mechanism laplace" in out) == ("laplace *" not in out)
    _, out, _ = run("--items", 5, "--people", 50, "--repetitions", 30, "--one-per-pair", "--mechanism", "laplace",
                    "--epsilon", "1")  # fmt: skip
    assert "--mechanism laplace" in out
    assert "*" not in out


def test_json_and_csv_hold_the_same(run: Run) -> None:
    _, text, _ = run(*SMALL, "--format", "json")
    found = json.loads(text)
    assert found["format"] == "quietrank/plan/1"
    assert [row["epsilon"] for row in found["predictions"]] == [0.5, 1.0, 2.0, None]
    _, text, _ = run(*SMALL, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["rank_error"]) for row in rows] == [row["rank_error"] for row in found["predictions"]]


def test_a_target_is_answered_with_the_options_of_rank(run: Run) -> None:
    code, out, _ = run(*SMALL, "--target", "winner 0.5")
    assert code == 0
    assert "Target winner right with probability 0.5: ε = " in out
    code, out, _ = run("--items", 6, "--per-person", 8, "--repetitions", 50, "--target", "rank error 0.8",
                       "--solve", "people", "--epsilon", 1)  # fmt: skip
    assert code == 0
    assert "Target rank error 0.8: ε = 1 with " in out


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_figure(run: Run, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"plan.{ending}"
    assert run(*SMALL, "--plot", path)[0] == 0
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "code", "remedy"),
    [
        (("--items", "6"), 2, "--people 500"),
        (("--items", "6", "--people", "10"), 2, "--per-person"),
        ((*SMALL, "--epsilon", "a"), 2, "0.5,1,2"),
        ((*SMALL, "--target", "best"), 2, "top-5 error 0.1"),
        ((*SMALL, "--target", "winner 0.5", "--epsilon", "1"), 2, "leave --epsilon out"),
        ((*SMALL, "--solve", "people"), 2, "--target"),
        ((*SMALL, "--solve", "people", "--target", "winner 0.5"), 2, "--epsilon"),
        ((*SMALL, "--solve", "people", "--target", "winner 0.5", "--epsilon", "1"), 2, "leave --people"),
        ((*SMALL, "--solve", "luck"), 2, "epsilon or people"),
        ((*SMALL, "--votes", "9"), 2, "--unit comparison"),
        ((*SMALL, "--plot", "plan.gif"), 2, ".png"),
        ((*SMALL, "--plot", "nowhere/plan.png"), 1, "no folder"),
        ((*SMALL, "--epsilon", "0"), 1, "> 0"),
        ((*SMALL, "--unit", "voter"), 1, "comparison, person"),
        (("--items", "4", "--people", "9", "--per-person", "7", "--one-per-pair"), 1, "lower --per-person to 6"),
        ((*SMALL, "--target", "rank error 0.01"), 1, "ask more people"),
    ],
    ids=str,
)
def test_errors_name_the_remedy(run: Run, words: tuple[str, ...], code: int, remedy: str) -> None:
    """One line on stderr, nothing on stdout; 2 for wrong usage, 1 for what cannot be had."""
    found, out, err = run(*words)
    assert found == code
    assert out == ""
    assert remedy in err
    assert err.strip().splitlines()[-1].startswith("quietrank: ")


def test_the_command_reads_as_the_issue_asked(run: Run) -> None:
    """The words of the design, as they stand."""
    words = "--items 20 --people 500 --per-person 15 --one-per-pair --top-k 5 --epsilon 0.5,1,2 --repetitions 30"
    code, out, _ = run(*words.split())
    assert code == 0
    assert "zonotope" in out
