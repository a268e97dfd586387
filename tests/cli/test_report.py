"""`--report` and `--format markdown`: checked before anything is paid, written whole, and the budget only if asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from quietrank.cli import deliver
from quietrank.ledger.book import BudgetLedger
from tests.cli.running import BY_GROUP, PEOPLE, VOTE, Run

ITEMS = ("--items", "x,y,z")


@pytest.mark.parametrize("by", [(), BY_GROUP])
def test_rank_and_rerank_write_a_report(run: Run, lands: Path, tmp_path: Path, by: tuple[str, ...]) -> None:
    """The same release, the same page; a second time only with --overwrite."""
    tally, first, again = tmp_path / "tally.json", tmp_path / "first.html", tmp_path / "again.html"
    made = run("rank", lands, *PEOPLE, *ITEMS, *by, "--save-tally", tally, "--report", first)
    assert made.code == 0
    assert run("rerank", tally, "--report", again).code == 0
    assert first.read_text(encoding="utf-8") == again.read_text(encoding="utf-8")
    refused = run("rerank", tally, "--report", again)
    assert (refused.code, "--overwrite" in refused.stderr) == (1, True)
    assert run("rerank", tally, "--report", again, "--overwrite").code == 0


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("--report", "report.txt"), 2, "name it .html"),
        (("--report", "no/report.html"), 1, "there is no folder"),
        (("--report", "mine.html", "--overwrite"), 1, "is not a report by quietrank"),
        (("--report", "new.html", "--show-budget"), 2, None),
        (("--show-budget",), 2, "add --ledger FILE and --report"),
    ],
)
def test_a_report_is_refused_before_anything_is_paid(
    run: Run, votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...], code: int, reason: str | None,
) -> None:  # fmt: skip
    """Nothing is debited for a page that cannot be written."""
    monkeypatch.chdir(tmp_path)
    Path("mine.html").write_text("<p>mine</p>")
    ledger = BudgetLedger.create("budget.db", 4, data="votes", unit="comparison")
    paying = () if reason is None else ("--ledger", "budget.db")
    result = run("rank", votes, *VOTE, *ITEMS, *paying, *words)
    assert (result.code, result.stdout) == (code, "")
    assert (reason or "add --ledger FILE") in result.stderr
    assert ledger.spent == 0
    assert not Path("new.html").exists()


def test_the_budget_is_shown_only_if_asked(run: Run, votes: Path, tmp_path: Path) -> None:
    """What is left is the owner's to tell."""
    book, quiet, open_page = tmp_path / "budget.db", tmp_path / "quiet.html", tmp_path / "open.html"
    BudgetLedger.create(book, 4, data="votes", unit="comparison")
    run("rank", votes, *VOTE, *ITEMS, "--ledger", book, "--report", quiet)
    run("rank", votes, *VOTE, *ITEMS, "--ledger", book, "--report", open_page, "--show-budget")
    assert "What remains" not in quiet.read_text(encoding="utf-8")
    assert "What remains: one more release with δ = 0 may have ε up to 2." in open_page.read_text(encoding="utf-8")


def test_a_fault_in_the_report_does_not_lose_the_release(
    run: Run, votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was paid for: it is printed whatever happens to the page."""
    monkeypatch.setattr("quietrank.render.report.report", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("rank", votes, *VOTE, *ITEMS, "--format", "csv", "--report", tmp_path / "r.html")
    assert run.capsys.readouterr().out.startswith("rank,item,score")
    assert deliver.NOT_SHOWN == 3


@pytest.mark.parametrize("by", [(), BY_GROUP])
def test_markdown_is_printed(run: Run, lands: Path, by: tuple[str, ...]) -> None:
    """Headline, table, promise."""
    shown = run("rank", lands, *PEOPLE, *ITEMS, *by, "--format", "markdown")
    assert shown.code == 0
    assert shown.stdout.startswith("**")
    assert "| ---: | :--- |" in shown.stdout
    assert "> No single person" in shown.stdout


def test_other_commands_print_markdown_as_well(run: Run, votes: Path, tmp_path: Path) -> None:
    """What a terminal shows, in Markdown."""
    assert "(not private)**" in run("fit", votes, "--items-from-votes", "--format", "markdown").stdout
    BudgetLedger.create(tmp_path / "budget.db", 4, data="votes", unit="comparison")
    assert "votes" in run("ledger", "show", tmp_path / "budget.db", "--format", "markdown").stdout
