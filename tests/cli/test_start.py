"""`quietrank start`: what it asks, that its command and its Python lines run, and that it runs nothing by itself."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from quietrank.cli.guide import Answers, number_of_questions
from quietrank.errors import UsageError
from quietrank.promise.privacy import Privacy
from tests.cli.running import Outcome, Run

ONCE = ("--epsilon", "2", "--once")
ANSWERS = {
    "each pair once": ("--unit", "person", "--questions", "pairs", "--asked", "random", *ONCE),
    "a number": ("--unit", "person", "--questions", "3", "--repeats", "--asked", "secret", *ONCE),
    "nobody knows": ("--unit", "person", "--questions", "unknown", "--repeats", "--asked", "random", *ONCE),
    "only answers": ("--unit", "person", "--questions", "3", "--repeats", "--asked", "public", *ONCE),
    "single votes": ("--unit", "comparison", "--asked", "random", *ONCE),
    "more than once": (
        "--unit",
        "person",
        "--questions",
        "3",
        "--repeats",
        "--asked",
        "public",
        "--epsilon",
        "2",
        "--again",
    ),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quietrank.cli.start.REPETITIONS", 10)


def parts(result: Outcome) -> tuple[list[str], str]:
    """The commands, and the Python lines."""
    shell, _, python = result.stdout.partition("\n\n")
    return shell.splitlines(), python


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.few(1)
def test_the_command_that_it_prints_runs(
    run: Run, votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """On a terminal and from Python; `start` itself makes no file."""
    monkeypatch.chdir(tmp_path)
    before = sorted(os.listdir(tmp_path))
    result = run("start", votes, "--items", "x,y,z", *ANSWERS[name])
    assert result.code == 0, result.stderr
    assert sorted(os.listdir(tmp_path)) == before
    lines, python = parts(result)
    assert len(lines) == (2 if name == "more than once" else 1)
    for line in lines:
        ran = run(*shlex.split(line)[1:])
        assert ran.code == 0, ran.stderr
    assert (tmp_path / "release.json").exists()
    for output in ("release.json", "ranking.html"):
        (tmp_path / output).unlink(missing_ok=True)
    if name != "more than once":  # its budget is spent
        exec(compile(python, "start", "exec"), {})


def test_what_it_reads_is_confidential(run: Run, votes: Path) -> None:
    """Counts go to standard error, under a warning; standard output has none."""
    result = run("start", votes, "--items-from-votes", *ANSWERS["a number"])
    assert result.stderr.startswith("Confidential")
    assert "usable votes" in result.stderr
    assert "winner right" in result.stderr
    assert "people" not in result.stdout


def test_columns_that_were_named_are_in_the_command(run: Run, tmp_path: Path) -> None:
    """What says how to read the file is handed on, quoted where it must be."""
    path = tmp_path / "my votes.csv"
    path.write_text("who is it;better;worse\n1;x y;z\n2;z;x y\n")
    words = ("--winner", "better", "--loser", "worse", "--person", "who is it", "--items", "x y,z", "--delimiter", ";")
    result = run("start", path, *words, *ANSWERS["a number"])
    ((line,), python) = parts(result)
    assert shlex.split(line)[2] == str(path)
    assert run(*shlex.split(line)[1:], "--out", tmp_path / "r.json", "--report", tmp_path / "r.html").code == 0
    assert "person='who is it'" in python


class Terminal:
    """Somebody at a terminal who gives these answers; counts the questions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *said: str) -> None:
        self.said, self.asked = list(said), 0
        monkeypatch.setattr(sys, "stdin", self)
        monkeypatch.setattr("rich.prompt.Prompt.ask", self.ask)

    def isatty(self) -> bool:
        return True

    def ask(self, *words: Any, **options: Any) -> str:
        self.asked += 1
        return self.said.pop(0)


def test_it_asks_seven_questions(run: Run, votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever gives no answer as an option is asked, in plain words."""
    terminal = Terminal(monkeypatch, "no", "person", "unknown", "yes", "random", "1", "once")
    result = run("start", votes)
    assert (result.code, terminal.asked) == (0, 7), result.stderr
    assert "--max-per-person auto" in result.stdout
    assert "--items-from-votes" in result.stdout
    assert "May anybody know who was asked about which pairs?" in result.stderr


def test_a_number_is_asked_for_again(run: Run, votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no number is not taken for one, and nothing is not taken for an answer: each time it says why."""
    terminal = Terminal(monkeypatch, "lots", "", "3", "maybe", "no", "strong", "-1", "1")
    words = ("--items-from-votes", "--unit", "person", "--asked", "secret", "--once")
    result = run("start", votes, *words)
    assert (result.code, terminal.asked) == (0, 8), result.stderr
    for reason in (
        "--questions must be a whole number, pairs or unknown; got 'lots'",
        "an answer is needed here",
        "say one of no, yes; got 'maybe'",
        "'strong' is not a number above 0",
        "'-1' is not a number above 0",
    ):
        assert reason in result.stderr
    assert "--max-per-person 3 --one-per-pair" in result.stdout


QUALTRICS = """StartDate,ResponseId,Q1,Q2,Q3
Start Date,Response ID,Tea or coffee?,Tea or water?,Coffee or water?
"{""ImportId"":""startDate""}","{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2""}","{""ImportId"":""QID3""}"
2026-01-02 10:00:00,R_1,1,2,1
2026-01-02 10:05:00,R_2,2,1,
"""


def test_an_unknown_shape_is_asked_for(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns named after questions: which pairs they are about is said by a file; a wrong one is asked for again."""
    survey, pairs = tmp_path / "qualtrics.csv", tmp_path / "pairs.csv"
    survey.write_text(QUALTRICS)
    pairs.write_text("column,a,b\nQ1,tea,coffee\nQ2,tea,water\nQ3,coffee,water\n")
    terminal = Terminal(monkeypatch, "wide", "nowhere.csv", "wide", str(pairs), "no", "person", "3", "no", "secret")
    result = run("start", survey, *ONCE)
    assert (result.code, terminal.said) == (0, []), result.stderr
    assert "What is a row of this file?" in result.stderr
    assert "no CSV file that can be read: nowhere.csv" in result.stderr
    assert "column read as person" in result.stderr
    ((line,), _) = parts(result)
    assert f"--shape wide --pair-columns {pairs}" in line
    assert "--max-per-person 3 --one-per-pair" in line
    results = ("--out", tmp_path / "r.json", "--report", tmp_path / "r.html")
    ran = run(*shlex.split(line)[1:-4], *results)
    assert ran.code == 0, ran.stderr


def test_without_anybody_an_unknown_shape_is_refused_with_what_works(run: Run, tmp_path: Path) -> None:
    survey = tmp_path / "qualtrics.csv"
    survey.write_text(QUALTRICS)
    result = run("start", survey)
    assert result.code == 1
    assert "--pair-columns FILE, a CSV with the header column,a,b" in " ".join(result.stderr.split())


def test_who_voted_is_asked_for(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where people are protected and no column is called like them."""
    path = tmp_path / "bws.csv"
    path.write_text("who,item1,item2,item3,best,worst\n1,x,y,z,x,z\n2,x,y,z,y,z\n")
    terminal = Terminal(monkeypatch, "person", "nobody", "who", "4", "secret")
    result = run("start", path, "--items-from-votes", *ONCE)
    assert (result.code, terminal.said) == (0, []), result.stderr
    assert "say one of who; got 'nobody'" in result.stderr
    assert "--person who" in result.stdout
    assert "--one-per-pair" not in result.stdout


def test_a_secret_list_is_to_be_declared(run: Run, votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Terminal(monkeypatch, "yes")
    result = run("start", votes)
    assert (result.code, result.stdout) == (2, "")
    assert "--items FILE" in result.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "answer with --items FILE or --items-from-votes"),
        (("--items-from-votes",), "answer with --unit"),
        (("--items-from-votes", "--unit", "person"), "answer with --questions"),
        (("--items-from-votes", "--unit", "people"), "--unit must be one of person, comparison"),
        (("--items-from-votes", "--unit", "person", "--questions", "few"), "--questions must be a whole number"),
        (("--items-from-votes", "--unit", "comparison", "--questions", "3"), "--questions is about people"),
        (("--items-from-votes", *ANSWERS["single votes"], "--asked", "nobody"), "--asked must be one of"),
    ],
)
@pytest.mark.few(3)
def test_where_nobody_can_be_asked_the_option_is_named(
    run: Run, votes: Path, words: tuple[str, ...], reason: str
) -> None:
    result = run("start", votes, *words)
    assert (result.code, result.stdout) == (2, "")
    assert reason in " ".join(result.stderr.split())


def test_people_must_be_named(run: Run, tmp_path: Path) -> None:
    """Protecting people needs a column that says who they are."""
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser\nx,y\n")
    result = run("start", path, "--items-from-votes", *ANSWERS["a number"])
    assert result.code == 1
    assert "--person" in result.stderr


def test_answers_are_a_promise() -> None:
    """Each answer is the argument that it stands for."""
    answers = Answers("person", "pairs", False, "random", 1.0, again=False)
    assert answers.privacy == Privacy(1.0, "person", design="uniform", one_per_pair=True)
    assert Answers("person", "15", True, "public", 1.0, again=False).privacy == Privacy(
        1.0, "person", neighbours="outcome", design="public", max_per_person=15
    )
    both = Answers("person", "10", False, "secret", 1.0, again=False)
    assert both.privacy == Privacy(1.0, "person", max_per_person=10, one_per_pair=True)
    with pytest.raises(UsageError):
        number_of_questions("1e400")


CODED = "person,tea:coffee,tea:water,coffee:water\n" + "".join(
    f"p{k},{'1' if k % 3 else '0'},99,{'0,5' if k % 4 else '1'}\n".replace("0,5", '"0,5"') for k in range(12)
)


def test_answers_that_are_not_known_are_asked_for(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which are none, and what the others mean; a meaning that cannot be read is asked for again. The command runs."""
    survey = tmp_path / "coded.csv"
    survey.write_text(CODED)
    meanings = ("99", "1=first", "99", "1=a,0=b,0,5=tie")
    terminal = Terminal(monkeypatch, *meanings, "no", "person", "3", "no", "secret")
    result = run("start", survey, *ONCE)
    assert (result.code, terminal.said) == (0, []), result.stderr
    assert "Of the answers 0, 0,5, 1, 99: which mean that nothing was answered?" in " ".join(result.stderr.split())
    assert "gives '1' the meaning 'first'" in " ".join(result.stderr.split())
    ((line,), _) = parts(result)
    assert "--missing 99" in line
    assert "--outcomes 1=a,0=b,0,5=tie" in line
    ran = run(*shlex.split(line)[1:-4], "--out", tmp_path / "r.json", "--report", tmp_path / "r.html")
    assert ran.code == 0, ran.stderr


def test_without_anybody_unknown_answers_are_refused(run: Run, tmp_path: Path) -> None:
    """No command is printed that would be refused."""
    survey = tmp_path / "coded.csv"
    survey.write_text(CODED)
    result = run("start", survey, "--items-from-votes", *ANSWERS["a number"])
    assert (result.code, result.stdout) == (2, "")
    assert "say what they mean with --missing or --outcomes" in " ".join(result.stderr.split())
