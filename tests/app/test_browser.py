"""The pages of `quietrank app` in a real Chromium, on a real server: from a file to a report, and all that goes wrong.

Needs what tests/render/test_report_browser.py needs; the checks of accessibility need axe-core too (`make browser`).
In every test the browser must be silent and ask nobody but 127.0.0.1 (`browsing.Visit.check`).
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from tests.app.browsing import Budget, Visit, Window, arena_votes, is_settled, until

pytestmark = pytest.mark.browser


# ---- from a file to a report -----------------------------------------------------------------------------------------


def test_from_a_file_to_a_report(house: Visit, window: Window, survey: Path, tmp_path: Path) -> None:
    """Choose, look, declare, make a budget, see the price, spend; then the files, other readings, and the history."""
    window.choose(survey)
    seen = window.text("#votes-understood")
    for words in ("Confidential", "read as winner winner", "usable votes 360", "people 60"):
        assert words in seen
    assert "Row 1: 1 preferred item-" in seen
    window.declare()
    assert "4 items are declared" in window.text("#votes-items")
    window.to_release()
    window.page.click("#page-release summary:text('Details')")
    window.page.fill("#release-label", "for the annual report")
    window.make_budget("report", "students 2026")
    assert not window.sees("#release-spend")
    price = window.ask_price()
    assert "From report.db: ε = 4 is left now, 3 afterwards." in price
    budget = Budget(house.folder / "report.db")
    assert budget.paid == 0
    shown = window.spend()
    _is_a_result(window, shown)
    assert (budget.paid, budget.ledger.spent) == (1, 1.0)
    delivered = json.loads(budget.fetched[0])
    _files_are_right(window, delivered["release"], tmp_path)
    _other_readings_cost_nothing(window, budget)
    _history_opens_it(window, shown)


def _is_a_result(window: Window, shown: str) -> None:
    """A sentence, a promise, a figure and a table."""
    for words in ("Private ranking of 4 items", "No single person's votes can be read out of this ranking"):
        assert words in shown
    assert window.page.locator("#the-result table tbody tr").count() == 4
    assert window.sees("#the-result figure svg")


def _files_are_right(window: Window, release: dict[str, Any], folder: Path) -> None:
    """What is saved is what the ledger has."""
    one = qr.Release.from_dict(release)
    assert json.loads(window.download("#result-release_json", folder)) == release
    assert window.download("#result-table", folder) == one.to_csv()
    assert window.download("#result-report", folder) == one.report()
    assert "<svg" in window.download("#result-figure", folder)


def _other_readings_cost_nothing(window: Window, budget: Budget) -> None:
    """Another method and another scale, from the same counts; the ledger does not change by a byte."""
    before = budget.path.read_bytes()
    window.page.select_option("#result-method", "bradley-terry")
    window.page.select_option("#result-scale", "elo")
    window.page.fill("#result-level", "80")
    window.page.click("#result-again")
    window.wait_for_text("by Bradley–Terry", "#the-result")
    window.wait_for_text("80 % interval", "#the-result")
    assert "Elo" in window.text("#the-result")
    assert budget.path.read_bytes() == before


def _history_opens_it(window: Window, shown: str) -> None:
    """With its label; what is opened is what was shown first."""
    window.go("history")
    window.page.select_option("#history-ledger", "report.db")
    window.wait_for_text("for the annual report", "#history-payments")
    assert "ε = 3 is left" in window.text("#history-payments")
    window.page.click("text=Open 1")
    until(lambda: window.sees("#the-result") and window.result() == shown, what="the first reading")


def test_a_survey_with_a_column_per_pair(window: Window, budget: Budget, tmp_path: Path) -> None:
    """Items are typed in first; an answer that is no item is given its meaning by choosing it."""
    path = tmp_path / "wide.csv"
    rows = ["person,tea-coffee,tea-water,coffee-water"]
    rows += [f"p{k},tea,{'tea' if k % 3 else 'water'},{'dunno' if k % 5 == 0 else 'coffee'}" for k in range(40)]
    path.write_text("\n".join(rows) + "\n")
    window.choose(path)
    assert "not understood yet" in window.text("#votes-understood")
    window.page.select_option("#votes-shape", "wide")
    window.page.fill("#votes-listed", "tea\ncoffee\nwater")
    window.read_again()
    window.wait_for_text("What was read from wide.csv", "#votes-understood")
    assert "outcome 'dunno', person 'p0' (unknown outcome)" in window.text("#votes-understood")
    window.page.click("#votes-mapping summary >> nth=0")
    window.page.get_by_label("“dunno” means").select_option("missing")
    window.read_again()
    until(lambda: "dunno" not in window.text("#votes-understood"), what="the new meaning")
    assert "usable votes 112" in window.text("#votes-understood")
    window.declare()
    window.to_release()
    window.pay_from(budget)
    window.ask_price()
    assert "Private ranking of 3 items" in window.spend()


# ---- wrong files -----------------------------------------------------------------------------------------------------


def test_files_that_are_no_tables(house: Visit, window: Window, tmp_path: Path) -> None:
    """The message stands beside the field, and says what to do; another file can be chosen afterwards."""
    picture, empty, fine = (tmp_path / name for name in ("picture.csv", "empty.csv", "fine.csv"))
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40)
    empty.write_bytes(b"")
    fine.write_text("person,winner,loser\n1,a,b\n2,b,a\n")
    for file, words in ((picture, "save it as UTF-8"), (empty, "empty")):
        window.choose(file)
        said = window.error_at("votes-all")
        assert words in said
        assert file.name in said
        assert str(house.server.temporary) not in said
    window.choose(fine)
    window.wait_for_text("What was read from fine.csv", "#votes-understood")
    assert not window.sees(".error:not(:empty)")


def test_unknown_columns_are_mapped(window: Window, tmp_path: Path) -> None:
    """By choosing which is the winner, the loser and the person."""
    path = tmp_path / "odd.csv"
    path.write_text("who,better,worse\n" + "".join(f"{k},{'xy'[k % 2]},{'yx'[k % 2]}\n" for k in range(20)))
    window.choose(path)
    seen = window.text("#votes-understood")
    assert "not understood yet" in seen
    assert "better" in seen
    for role, column in (("winner", "better"), ("loser", "worse"), ("person", "who")):
        window.page.select_option(f"#votes-{role}", column)
    window.read_again()
    window.wait_for_text("people 20", "#votes-understood")
    window.declare()


def test_rows_with_an_undeclared_item(window: Window, survey: Path) -> None:
    """They are an error until somebody says that they are left out."""
    window.choose(survey)
    window.page.uncheck("#votes-ticked input[value=item-4]")
    window.page.click("#votes-declare")
    window.wait_for_text("Now: 175 × undeclared item", "#votes-items")
    assert "row 1: 'item-2' against 'item-4', person '1' (undeclared item 'item-4')" in window.text("#votes-understood")
    assert not window.sees("button.main[data-step=release]")
    window.page.click("#votes-open_path")
    window.wait_for_text("Type the path", "#form-votes")
    assert "undeclared item 'item-4'" in window.text("#votes-understood"), "a message must not erase what was read"
    window.page.check("#votes-skip_invalid")
    window.declare()
    assert "3 items are declared" in window.text("#votes-items")


# ---- the budget ------------------------------------------------------------------------------------------------------


def test_an_exhausted_budget(house: Visit, survey: Path) -> None:
    """The message says what remains; nothing is spent."""
    budget = Budget.make(house.folder, 0.5, "small.db")
    window = house.another()
    window.ready_to_pay(survey, budget)
    window.page.click("#release-prepare")
    said = window.error_at("release-epsilon")
    assert "remaining ε = 0.5" in said
    assert "nothing was spent" in said
    assert not window.sees("#release-spend")
    assert budget.paid == 0


# ---- one payment, whatever happens -----------------------------------------------------------------------------------


TWO_CLICKS = (
    "const spend = document.querySelector('#release-spend'); spend.click(); setTimeout(() => spend.click(), 30)"
)


def test_a_second_click_pays_nothing(house: Visit, window: Window, budget: Budget, survey: Path) -> None:
    """Two fast clicks, and a double click: one entry, and one result."""
    window.ready_to_spend(survey, budget)
    window.page.evaluate(TWO_CLICKS)
    window.result()
    is_settled(house, budget)
    assert (budget.paid, len(budget.fetched)) == (1, 1)
    window.go("release")
    window.double_click(0.5)
    is_settled(house, budget)
    assert (budget.paid, len(budget.fetched)) == (2, 2)


def test_a_reload_after_paying(window: Window, budget: Budget, survey: Path) -> None:
    """The result is a click away, and the same again is not bought by accident."""
    window.ready_to_spend(survey, budget)
    shown = window.spend()
    window.reload()
    window.go("result")
    until(lambda: window.sees("#the-result") and window.result() == shown, what="the same result")
    window.ready_to_spend(survey, budget)
    assert "Exactly this was released once already" in window.text("#release-price")
    window.page.click("#release-spend")
    assert "Tick that you want to spend once more" in window.error_at("release-all")
    assert budget.paid == 1


def test_a_reload_right_after_the_click(house: Visit, window: Window, budget: Budget, survey: Path) -> None:
    """One entry, and the result can be opened."""
    window.ready_to_spend(survey, budget)
    window.page.click("#release-spend")
    window.reload()
    until(lambda: budget.paid == 1, what="the payment")
    is_settled(house, budget)
    window.page.click("text=Open it")
    window.result()
    assert budget.paid == 1


def test_two_windows_order_the_same(house: Visit, window: Window, budget: Budget, survey: Path) -> None:
    """At once: one entry, and both show the same numbers. Again with the tick: a second entry."""
    first, second = window, house.another()
    for one in (first, second):
        one.ready_to_spend(survey, budget)
    for one in (first, second):
        one.page.click("#release-spend")
    until(lambda: first.result() == second.result(), what="the same numbers in both")
    is_settled(house, budget)
    assert budget.paid == 1
    second.go("release")
    second.ask_price()
    second.page.check("#release-again")
    second.page.click("#release-spend")
    until(lambda: budget.paid == 2 and budget.is_even, what="the second release")
    until(lambda: second.sees("#the-result") and second.result() != first.result(), what="other numbers")
    numbers = [json.loads(text)["release"] for text in budget.fetched]
    assert numbers[0] != numbers[1]


# ---- the bundled survey, and boards ----------------------------------------------------------------------------------


def test_the_bundled_survey_in_few_clicks(window: Window, budget: Budget) -> None:
    """From the front page to a release: seven clicks at most, with a budget that is there."""
    clicks, begun = 0, time.monotonic()
    for place in (
        "nav button[data-step=votes]", "#votes-bundled", "#votes-declare", "button.main[data-step=release]",
    ):  # fmt: skip
        window.page.click(place)
        clicks += 1
    window.pay_from(budget)
    for place in ("#release-prepare", "#release-spend"):
        window.page.click(place)
        clicks += 1
    assert "London is first" in window.result()
    print(f"the bundled survey: {clicks} clicks, and one choice, {time.monotonic() - begun:.1f} seconds")
    assert clicks <= 7


def test_a_board(house: Visit, tmp_path: Path) -> None:
    """Votes with a day each are uploaded and published; days that were published before are not published again."""
    ledger = qr.Ledger.create(house.folder / "arena.db", 2, 1e-6, data="arena", unit="person")
    path = house.folder / "arena.board"
    qr.Board.create(path, ["tea", "coffee", "water"], epsilon=2, delta=1e-6, ledger=ledger, start="2026-01-05")
    window = house.another()
    window.choose(arena_votes(tmp_path))
    window.declare()
    window.go("boards")
    window.page.select_option("#boards-day_column", "when")
    window.page.fill("#boards-until", "2026-01-25")
    window.page.click("#boards-update")
    until(lambda: qr.Board.open(path).days == 3, what="the board")
    window.wait_for("#boards-last figure svg")
    assert "Private ranking of 3 items" in window.text("#boards-last")
    assert "<!doctype html>" in window.download("#boards-report", tmp_path)
    paid = len(ledger.entries())
    window.page.fill("#boards-until", "2026-01-25")
    window.page.click("#boards-update")
    window.wait_for("#boards-last figure svg")
    assert (qr.Board.open(path).days, len(ledger.entries())) == (3, paid)
