"""Tasks: what was read, what to expect, what it costs and what is shown, as the pages ask for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.app import orders, tasks
from quietrank.app.orders import Placed
from quietrank.app.wishes import Survey, Wish
from quietrank.errors import BudgetError, QuietrankError
from quietrank.ledger.orders import Order
from tests.app.test_orders import nobody
from tests.helpers import write_csv

WIDE = [("ana", "tea", "dunno"), ("ben", "coffee", "water"), ("eve", "tea", "tea")]
PROMISES: dict[str, dict[str, Any]] = {
    "votes": {"unit": "comparison", "epsilon": 0.5},
    "pairs": {"unit": "person", "epsilon": 1.0, "one_per_pair": True},
    "uniform": {"unit": "person", "epsilon": 1.0, "one_per_pair": True, "design": "uniform"},
    "number": {"unit": "person", "epsilon": 1.0, "max_per_person": 3},
    "auto": {"unit": "person", "epsilon": 1.0, "max_per_person": "auto"},
    "gaussian": {"unit": "person", "epsilon": 1.0, "max_per_person": 40, "delta": 1e-6, "clip": 4.0},
}


@pytest.fixture
def survey(tmp_path: Path) -> Survey:
    path = tmp_path / "votes.csv"
    votes = qr.simulate(items=5, people=60, per_person=4, seed=1)
    rows = list(zip(*(votes.column(name).to_pylist() for name in ("person", "winner", "loser")), strict=True))
    write_csv(path, rows, ("person", "winner", "loser"))
    return Survey((str(path),), "votes.csv", {}, tuple(f"item-{k}" for k in range(1, 6)))


@pytest.fixture
def ledger(tmp_path: Path) -> qr.Ledger:
    return qr.Ledger.create(tmp_path / "budget.db", 4, 1e-5, data="test", unit="person")


def delivered(wish: Wish, ledger: qr.Ledger, folder: Path) -> dict[str, Any]:
    name, _ = orders.name_of(wish, ledger)
    orders.fulfil(nobody, orders.place(folder / "orders", Placed(wish, ledger.path, name), folder))
    return orders.fetch(ledger.path, name)


# ---- votes -----------------------------------------------------------------------------------------------------------


def test_a_file_that_is_understood(survey: Survey) -> None:
    looked = tasks.look(nobody, replace(survey, items=None))
    assert looked.report is not None
    assert (looked.report.votes, looked.items, looked.problem) == (240, survey.items, None)
    assert looked.preview.columns == ("person", "winner", "loser")
    assert len(looked.preview.rows) == 4


def test_a_file_that_is_not_understood_shows_its_columns(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "odd.csv", [("1", "x" * 200), ("2", "")], ("alpha", "beta"))
    looked = tasks.look(nobody, Survey((str(path),), "odd.csv"))
    assert looked.report is None
    assert "--winner" in (looked.problem or "")
    assert looked.preview.columns == ("alpha", "beta")
    assert looked.preview.rows == (("1", "x" * 79 + "…"), ("2", ""))


def test_a_wide_survey_and_its_words(tmp_path: Path) -> None:
    """Items first; then an answer that is no item is offered to be given a meaning."""
    path = write_csv(tmp_path / "wide.csv", WIDE, ("person", "tea:coffee", "tea:water"))
    survey = Survey((str(path),), "wide.csv", {"shape": "wide"}, ("tea", "coffee", "water"))
    looked = tasks.look(nobody, survey)
    assert looked.report is not None
    assert looked.answers == ("coffee", "dunno", "tea", "water")
    assert sum(looked.report.flaws.values()) == 1
    mapped = tasks.look(nobody, replace(survey, reading={"shape": "wide", "missing": ["dunno"]}))
    assert mapped.report is not None
    assert (mapped.report.flaws, mapped.report.votes) == ({}, 5)


def test_the_words_of_a_column_of_outcomes(tmp_path: Path) -> None:
    rows = [("tea", "coffee", word) for word in ("left", "right", "eh", "")]
    path = write_csv(tmp_path / "outcomes.csv", rows, ("item_a", "item_b", "outcome"))
    looked = tasks.look(nobody, Survey((str(path),), "outcomes.csv"))
    assert looked.answers == ("eh", "left", "right")


def test_many_different_words_are_no_answers(tmp_path: Path) -> None:
    rows = [("tea", "coffee", f"word {k}") for k in range(50)]
    path = write_csv(tmp_path / "many.csv", rows, ("item_a", "item_b", "outcome"))
    assert tasks.look(nobody, Survey((str(path),), "many.csv")).answers == ()


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(QuietrankError):
        tasks.look(nobody, Survey((str(tmp_path / "nothing.csv"),), "nothing.csv"))


# ---- planning --------------------------------------------------------------------------------------------------------


def test_a_forecast_has_a_row_per_epsilon() -> None:
    sizes = {"items": 5, "people": 100, "per_person": 5, "one_per_pair": True}
    rows = tasks.forecast(nobody, sizes | {"epsilon": [0.5, 1.0, 2.0]})
    assert [row["epsilon"] for row in rows] == [0.5, 1.0, 2.0, None]
    assert rows[0]["rank_error"] > rows[-1]["rank_error"]


def test_the_smallest_epsilon_for_a_target() -> None:
    best = tasks.epsilon_for(nobody, {"items": 4, "people": 400, "per_person": 6}, "rank error 0.5")
    assert 0 < best["epsilon"] < 5


def test_chances_of_a_list() -> None:
    rows = tasks.chances(nobody, {"items": 5, "people": 100, "per_person": 5, "epsilon": [1.0]}, 1)
    assert sum(row["chosen"] for row in rows) == 1


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("only_top", [None, 2])
@pytest.mark.few(2)
def test_every_promise_can_be_foreseen(survey: Survey, promise: str, only_top: int | None) -> None:
    """The sizes of a file are those that a forecast takes."""
    looked = tasks.look(nobody, survey)
    assert looked.report is not None
    sizes = tasks.sizes_of(looked.report, Wish(survey, PROMISES[promise], {}, only_top)) | {"epsilon": [1.0]}
    if only_top is None:
        assert len(tasks.forecast(nobody, sizes)) == 2
    else:
        assert tasks.chances(nobody, sizes, only_top)


# ---- the price -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("only_top", [None, 1])
@pytest.mark.few(2)
def test_the_offer_is_what_is_paid_and_promised(
    survey: Survey, ledger: qr.Ledger, promise: str, only_top: int | None, tmp_path: Path
) -> None:
    """Price, remainder and sentence before the click are those after it; nothing is spent by asking."""
    wish = Wish(survey, PROMISES[promise], {}, only_top)
    ledger = ledger if promise != "votes" else qr.Ledger.create(tmp_path / "v.db", 4, data="test", unit="comparison")
    offer = tasks.offer(nobody, wish, ledger.path)
    assert ledger.entries() == []
    release = delivered(wish, ledger, tmp_path)["release"]
    entry = ledger.entries()[0]
    assert (offer.epsilon, offer.delta) == (entry.promise["epsilon"], float(entry.spend.delta))
    assert offer.remaining_after == ledger.remaining
    assert offer.what == entry.what
    assert offer.exact == (promise != "auto")
    if offer.exact:
        assert offer.statement == release["privacy"]["statement"]


def test_the_second_offer_says_that_there_was_a_first(survey: Survey, ledger: qr.Ledger, tmp_path: Path) -> None:
    wish = Wish(survey, PROMISES["pairs"])
    first = delivered(wish, ledger, tmp_path)
    offer = tasks.offer(nobody, wish, ledger.path)
    assert (offer.before, offer.paid, offer.order) == (1, False, f"{wish.name}/1")
    assert first["kind"] == "release"


def test_what_was_paid_and_not_delivered_costs_nothing(survey: Survey, ledger: qr.Ledger) -> None:
    wish = Wish(survey, PROMISES["pairs"])
    votes, order = survey.read(), Order(ledger, f"{wish.name}/0")
    qr.rank(votes, wish.privacy, ledger=order)  # and the power is cut
    offer = tasks.offer(nobody, wish, ledger.path)
    assert (offer.paid, offer.before, offer.remaining, offer.remaining_after) == (True, 0, 3.0, 3.0)


def test_a_budget_that_does_not_suffice_is_told_beforehand(survey: Survey, ledger: qr.Ledger) -> None:
    wish = Wish(survey, PROMISES["pairs"] | {"epsilon": 9.0})
    with pytest.raises(BudgetError, match="nothing was spent"):
        tasks.offer(nobody, wish, ledger.path)


# ---- the result ------------------------------------------------------------------------------------------------------


def test_a_release_is_shown_in_other_ways_at_no_cost(survey: Survey, ledger: qr.Ledger, tmp_path: Path) -> None:
    values = delivered(Wish(survey, PROMISES["pairs"]), ledger, tmp_path)
    shown = tasks.show(nobody, values)
    assert shown.methods == ("net-wins", "wins", "win-rate", "bradley-terry")
    assert json.loads(shown.json) == values["release"]
    assert "<svg" in (shown.figure or "")
    assert shown.report.startswith("<!doctype html>")
    assert all(item in shown.html for item in survey.items or ())
    other = tasks.show(nobody, values, {"method": "bradley-terry", "scale": "elo", "level": 0.95})
    assert (other.method, other.scale) == ("bradley-terry", "elo")
    assert other.json != shown.json
    assert len(ledger.entries()) == 1


def test_a_list_of_names_is_shown(survey: Survey, ledger: qr.Ledger, tmp_path: Path) -> None:
    values = delivered(Wish(survey, PROMISES["pairs"], {}, 2), ledger, tmp_path)
    shown = tasks.show(nobody, values)
    assert (shown.methods, shown.figure) == ((), None)
    assert "this list" in shown.html


def test_names_are_text_in_the_page(tmp_path: Path) -> None:
    """An item called like a tag is no tag."""
    table = pa.table({"winner": ["<b>x</b>", "y"], "loser": ["y", "<b>x</b>"]})
    release = qr.rank(qr.read_votes(table, ["<b>x</b>", "y"]), qr.Privacy(1, "comparison"))
    html = tasks.as_shown(release).html
    assert "<b>x" not in html
    assert "&lt;b&gt;x" in html


# ---- boards ----------------------------------------------------------------------------------------------------------


def test_a_board_is_updated_and_shown(tmp_path: Path, ledger: qr.Ledger) -> None:
    path = tmp_path / "arena.board"
    qr.Board.create(path, ["tea", "coffee"], epsilon=2, delta=1e-6, ledger=ledger, start="2026-01-01")
    assert tasks.look_at_board(nobody, path).hidden is not None
    rows = [(f"p{k}", "tea", "coffee", "2026-01-03") for k in range(400)]
    votes = write_csv(tmp_path / "day.csv", rows, ("person", "winner", "loser", "when"))
    survey = Survey((str(votes),), "day.csv", {}, ("tea", "coffee"))
    days = {"day_column": "when", "id": None, "until": "2026-01-14"}
    assert tasks.update_board(nobody, path, survey, days) == [1, 2]
    assert tasks.update_board(nobody, path, survey, days) == []
    shown = tasks.look_at_board(nobody, path)
    assert shown.summary.startswith("2 of 52 weeks")
    assert shown.html is None or "tea" in shown.html
