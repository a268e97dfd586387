"""`quietrank board`: from a new board to its page, as a user would."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.running import Run

ITEMS = [f"m{k}" for k in range(6)]


def votes_file(folder: Path, days: int, people: int = 400) -> Path:
    """Many people who mostly agree."""
    rng = np.random.default_rng(1)
    lines = ["judge,winner,loser,tstamp,vote"]
    for k in range(people * 6):
        a, b = rng.permutation(6)[:2]
        won, lost = (a, b) if (rng.random() < 1 / (1 + np.exp((a - b) * 0.8))) else (b, a)
        day = 1 + int(rng.integers(0, days))
        lines.append(f"j{k % people},m{won},m{lost},2026-01-{day:02d}T10:00:00,{k}")
    path = folder / "votes.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def call(run: Run, *words: object) -> tuple[int, str, str]:
    one = run("board", *words)
    return one.code, one.stdout, one.stderr


@pytest.fixture
def board(tmp_path: Path, run: Run) -> Path:
    """A board of four weeks, of which two are published."""
    return two_weeks(tmp_path, run, ("--delta", 1e-6), ("--delta", 1e-6))


def two_weeks(tmp_path: Path, run: Run, paid: tuple[object, ...], promised: tuple[object, ...]) -> Path:
    votes, place = votes_file(tmp_path, 14), tmp_path / "arena.board"
    budget = tmp_path / "budget.db"
    words = ("--epsilon", 2)
    assert run("ledger", "new", budget, "--data", "arena", "--unit", "person", *words, *paid).code == 0
    code, out, err = call(
        run, "new", place, "--items", ",".join(ITEMS), *words, *promised, "--ledger", budget, "--horizon", 4, "--start",
        "2026-01-01", "--unit", "person",
    )  # fmt: skip
    assert (code, "0 of 4 weeks published" in out, "confidential" in err) == (0, True, True), err
    columns = ("--day-column", "tstamp", "--id", "vote")
    code, out, err = call(run, "update", place, votes, *columns, "--until", "2026-01-14")
    assert (code, "2 of 4 weeks published, up to 2026-01-14" in out) == (0, True), err
    return place


def test_from_a_new_board_to_its_page(board: Path, tmp_path: Path, run: Run) -> None:
    """Show, show what changed, a page; verified, and every file beside is as it was."""
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, _ = call(run, "show", board)
    assert code == 0
    assert "m0" in out
    assert "all 4 weeks together" in " ".join(out.split())
    code, out, _ = call(run, "show", board, "--since", 1, "--format", "json")
    assert code == 0
    assert {change["item"] for change in json.loads(out)["changes"]} == set(ITEMS)
    assert "in log-odds" in call(run, "show", board, "--since", 1)[1]
    _elo_is_log_odds_times_its_factor(json.loads(out), board, run)
    assert call(run, "report", board, "--out", tmp_path / "page.html")[0] == 0
    assert "The last 2 weeks" in (tmp_path / "page.html").read_text()
    code, out, err = call(run, "verify", board)
    assert (code, "intact" in out) == (0, True), err
    (tmp_path / "page.html").unlink()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_board_without_delta(tmp_path: Path, run: Run) -> None:
    """From a new board to its page, and a model that joins; the promise names no δ, and holds for all weeks."""
    place = two_weeks(tmp_path, run, (), ("--pure", "--max-per-person", 4))
    code, out, err = call(run, "show", place)
    shown = " ".join(out.split())
    assert code == 0, err
    assert "m0" in shown
    assert "total weight of at most 4" in shown
    assert "all 4 weeks together" in shown
    assert "give or take" not in shown
    assert "δ" not in call(run, "verify", place)[1]
    assert call(run, "show", place, "--since", 1)[0] == 0
    assert call(run, "report", place, "--out", tmp_path / "page.html")[0] == 0
    assert call(run, "add-items", place, "m6")[0] == 0
    columns = ("--day-column", "tstamp", "--id", "vote", "--until", "2026-01-21")
    assert "3 of 4 weeks" in call(run, "update", place, tmp_path / "votes.csv", *columns)[1]
    assert "intact" in call(run, "verify", place)[1]


def test_a_new_board_says_when_it_begins(tmp_path: Path, run: Run) -> None:
    """Before it pays: who has votes already must say from when on they count."""
    terms = ("--items", "a,b", "--epsilon", 1, "--delta", 1e-6, "--ledger", tmp_path / "no.db")
    today = datetime.now(UTC).date()
    code, _, err = call(run, "new", tmp_path / "b.board", *terms)
    assert (code, "there is no ledger" in err) == (1, True)
    assert f"first week {today} to {today + timedelta(days=6)}; give --start to begin earlier" in err
    _, _, err = call(run, "new", tmp_path / "b.board", *terms, "--start", "2026-01-05", "--every", "day")
    assert err.startswith("first day 2026-01-05\n")


def test_a_board_that_exists_is_refused_at_once(board: Path, run: Run) -> None:
    """Without a word on when a new one would begin."""
    words = ("--items", "a,b", "--epsilon", 2, "--delta", 1e-6, "--ledger", board.parent / "budget.db")
    code, _, err = call(run, "new", board, *words)
    assert (code, "exists already" in err, "first week" in err) == (1, True, False)


def test_changes_need_two_weeks(board: Path, run: Run, tmp_path: Path) -> None:
    """An empty board says that nothing is published, and the first week that there is none before."""
    (tmp_path / "empty").mkdir()
    budget, paid = tmp_path / "empty/budget.db", ("--epsilon", 1, "--delta", 1e-6)
    run("ledger", "new", budget, "--data", "x", "--unit", "person", *paid)
    assert call(run, "new", tmp_path / "empty/board", "--items", "a,b", "--ledger", budget, *paid)[0] == 0
    code, _, err = call(run, "show", tmp_path / "empty/board", "--since", 4)
    assert (code, "nothing is published yet" in err) == (1, True), err
    code, _, err = call(run, "show", board, "--since", 1, "--day", 1)
    assert (code, "none is published before week 1" in " ".join(err.split())) == (1, True), err


def test_an_exhausted_ledger_says_so_first(board: Path, run: Run) -> None:
    """Not that δ is too large, when no ε is left either."""
    words = ("--items", "a,b", "--epsilon", 2, "--delta", 1e-6, "--ledger", board.parent / "budget.db")
    code, _, err = call(run, "new", board.parent / "other.board", *words)
    assert code == 1
    assert "requested ε = 2, remaining ε = 0, 2 too much" in err
    assert "smaller --delta" not in err


def test_items_and_people(board: Path, run: Run) -> None:
    """More items, items that are shown no longer, and somebody who is forgotten."""
    assert "7 items" in call(run, "add-items", board, "m6")[1]
    assert call(run, "retire", board, "m5")[0] == 0
    assert call(run, "forget", board, "j1")[1] == "erased\n"
    assert "nothing was kept" in call(run, "forget", board, "j1")[1]


def test_a_plan_needs_no_board(tmp_path: Path, run: Run) -> None:
    """A table, or JSON, on stdout; the same in a file, and a figure beside it."""
    words = (
        "plan", "--items", 5, "--people", 50, "--votes-per-person", 8, "--habit", "panel", "--horizon", 8,
        "--epsilon", 2, "--delta", "1e-6", "--clip", 2, "--days", "14", "--method", "win-rate", "--repetitions", 10,
    )  # fmt: skip
    code, out, err = call(run, *words, "--out", tmp_path / "plan.json", "--plot", tmp_path / "plan.svg")
    assert (code, err) == (0, "")
    assert "weekly board" in out
    assert "quietrank board new BOARD" in out
    assert (tmp_path / "plan.svg").exists()
    code, out, _ = call(run, *words, "--format", "json", "--out", tmp_path / "plan.csv")
    assert json.loads(out) == json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert {row["day"] for row in json.loads(out)["predictions"]} == {14, 56}
    assert (tmp_path / "plan.csv").read_text(encoding="utf-8").startswith("way,day,clip,votes,kept,noise_sd,")


def _elo_is_log_odds_times_its_factor(log_odds: dict[str, Any], board: Path, run: Run) -> None:
    elo = json.loads(call(run, "show", board, "--since", 1, "--scale", "elo", "--format", "json")[1])
    assert (log_odds["scale"], elo["scale"]) == ("log-odds", "elo")
    for one, other in zip(log_odds["changes"], elo["changes"], strict=True):
        for name in ("change", "low", "high"):
            assert other[name] == pytest.approx(one[name] * 400 / math.log(10))
        assert other["score"] == pytest.approx(1000 + one["score"] * 400 / math.log(10))
    shown = call(run, "show", board, "--since", 1, "--scale", "elo")[1]
    assert "in Elo points" in shown
    assert "−" in shown
    assert not re.search(r"-\d", shown)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("new", "{board}", "--unit", "comparison"), 2, "protects people"),
        (("new", "{board}"), 1, "exists already"),
        (("new", "{board}", "--pure"), 2, "leave --delta out"),
        (("new", "{board}", "--max-per-person", "5"), 1, "or use it with --pure"),
        (("update", "{board}", "{votes}"), 1, "--day-column"),
        (("update", "{board}", "{votes}", "--day-column", "when"), 1, "no column 'when'"),
        (("update", "{board}", "{votes}", "--day-column", "tstamp", "--items", "a,b"), 1, "fixed when a board is made"),
        (("update", "{board}", "{votes}", "--day-column", "tstamp"), 1, "use --id vote again"),
        (("update", "{board}", "{votes}", "--day-column", "winner"), 1, "use --day-column tstamp again"),
        (("update", "{board}", "{votes}", "--day-column", "tstamp", "--until", "2999-01-01"), 1, "that is over"),
        (("show", "{board}", "--day", "9"), 1, "there is no week 9"),
        (("show", "{board}", "--since", "2"), 1, "an earlier week than 2"),
        (("show", "{board}", "--since", "1", "--scale", "probability"), 1, "a change has no --scale probability"),
        (("show", "{board}", "--since", "1", "--scale", "elo", "--anchor", "m1=1"), 2, "--anchor has nothing to do"),
        (("show", "{board}", "--since", "1", "--out", "r.json"), 2, "--out has nothing to do"),
        (("show", "nowhere.board"), 1, "there is no board"),
        (("verify", "{votes}"), 1, "damaged"),
        (("retire", "{board}", "m9"), 1, "not on this board"),
        (("plan", "--clip", "much"), 2, "--clip must be a number, or auto"),
        (("plan", "--days", "soon"), 2, "--days must be numbers separated by commas"),
        (("plan", "--out", "plan.txt"), 2, "name it .json or .csv"),
        (("plan", "--votes-per-visit", "2", "--habit", "panel"), 2, "is for --habit arena"),
    ],
    ids=str,
)
@pytest.mark.few(1)
def test_wrong_words(board: Path, run: Run, words: tuple[str, ...], code: int, message: str) -> None:
    made = [word.format(board=board, votes=board.parent / "votes.csv") for word in words]
    if words[0] == "new":
        made += ["--items", "a,b,c", "--epsilon", "2", "--delta", "1e-6", "--ledger", str(board.parent / "budget.db")]
    if words[0] == "plan":
        made += ["--items", "5", "--people", "9", "--votes-per-person", "4", "--epsilon", "2", "--delta", "1e-6"]
    got, out, err = call(run, *made)
    assert (got, out) == (code, ""), err
    assert message in " ".join(err.split())
