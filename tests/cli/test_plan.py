"""`quietrank plan`: results to stdout, reasons to stderr, the right exit code."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import quietrank as qr
from quietrank.cli import app as cli
from quietrank.errors import QuietrankError
from quietrank.planning import forecast

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
    page = json.loads(text)
    assert page["format"] == "quietrank/plan/1"
    assert [row["epsilon"] for row in page["predictions"] if row["mechanism"] == "laplace"] == [0.5, 1.0, 2.0]
    assert page["predictions"][-1]["epsilon"] is None
    _, text, _ = run(*SMALL, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["rank_error"]) for row in rows] == [row["rank_error"] for row in page["predictions"]]


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


@pytest.mark.parametrize("wrong", [KeyboardInterrupt, OSError, RuntimeError])
@pytest.mark.few(1)
def test_an_interrupted_figure_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: type[BaseException]
) -> None:
    """Nothing half-written under the final name, and no draft."""
    plan = qr.plan(6, 100, 8, epsilon=1.0, repetitions=30)
    path = tmp_path / "plan.png"

    def half(picture: Figure, draft: Path, **options: object) -> None:
        Path(draft).write_bytes(b"half")
        raise wrong

    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", half)
        with pytest.raises(QuietrankError if wrong is OSError else wrong):
            plan.plot(path)
        assert list(tmp_path.iterdir()) == []
        path.write_bytes(b"old, by quietrank")
        with pytest.raises(QuietrankError if wrong is OSError else wrong):
            plan.plot(path, overwrite=True)
    assert path.read_bytes() == b"old, by quietrank"
    plan.plot(path, overwrite=True)
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_size > 5000


@pytest.mark.parametrize("plot", ["plan.gif", "plan", "nowhere/plan.png", "folder.png"])
def test_the_place_of_a_figure_is_checked_before_anything_is_simulated(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plot: str
) -> None:
    (tmp_path / "folder.png").mkdir()
    monkeypatch.setattr(forecast, "simulate", lambda *args, **kwargs: pytest.fail("it started"))
    code, _, err = run(*SMALL, "--plot", tmp_path / plot)
    assert code in (1, 2)
    assert err.strip().splitlines()[-1].startswith("quietrank: ")


@pytest.mark.parametrize("more", [(), ("--method", "bradley-terry", "--delta", "1e-6")], ids=str)
@pytest.mark.few(1)
def test_a_target_does_not_contradict_the_plan_it_proposes(run: Run, more: tuple[str, ...]) -> None:
    """The ε that is printed, typed in again, prints the same numbers; they meet the target beyond their error."""
    _, out, _ = run(*SMALL, *more, "--target", "rank error 1", "--format", "json")
    solved = json.loads(out)
    for row in solved["predictions"][:-1]:
        _, out, _ = run(*SMALL, *more, "--epsilon", row["epsilon"], "--format", "json")
        assert row in json.loads(out)["predictions"]
        assert row["rank_error"] + 2 * row["rank_precision"] <= 1
    assert solved["target_met_by_standard_errors"] == 2


def test_the_error_of_the_simulation_is_shown(run: Run) -> None:
    """Beside every number, with what it means; and in JSON and CSV."""
    _, out, _ = run(*SMALL, "--epsilon", "1")
    line = next(line for line in out.splitlines() if " * " in line)
    assert re.search(r"(0\.\d{3} ± 0\.\d{3}\s+){2}\d\.\d\d ± 0\.\d\d\s+\d+\.\d% ± \d+\.\d%", line)
    assert "± is the standard error of 50 simulated surveys." in out
    _, out, _ = run(*SMALL, "--target", "rank error 1")
    assert "the target is met by 2 of them" in " ".join(out.split())
    _, out, _ = run(*SMALL, "--epsilon", "1", "--format", "csv")
    for name in ("score", "top_k", "rank", "winner"):
        assert f"{name}_precision" in out


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
        ((*SMALL, "--epsilon", "0"), 2, "> 0"),
        ((*SMALL, "--unit", "voter"), 2, "comparison, person"),
        (("--items", "4", "--people", "9", "--per-person", "7", "--one-per-pair"), 2, "--per-person 6 or less"),
        ((*SMALL, "--target", "rank error 0.05"), 2, "ask more people"),
        ((*SMALL, "--target", "rank error 0.01"), 2, "--repetitions 134"),
    ],
    ids=str,
)
@pytest.mark.few(4)
def test_errors_name_the_remedy(run: Run, words: tuple[str, ...], code: int, remedy: str) -> None:
    """One line on stderr, nothing on stdout; 2 for wrong usage, 1 for what cannot be had."""
    exit_code, out, err = run(*words)
    assert exit_code == code
    assert out == ""
    assert remedy in err
    assert err.strip().splitlines()[-1].startswith("quietrank: ")


def test_the_command_reads_as_the_issue_asked(run: Run) -> None:
    """The words of the design, as they stand."""
    words = "--items 20 --people 500 --per-person 15 --one-per-pair --top-k 5 --epsilon 0.5,1,2 --repetitions 30"
    code, out, _ = run(*words.split())
    assert code == 0
    assert "zonotope" in out
