"""The page History: a budget in, every payment from it out, and the release that it bought."""

from __future__ import annotations

from pathlib import Path

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, tags

from quietrank.app.pages.desk import Desk
from quietrank.app.pages.frame import card, label, page, sentence, table
from quietrank.errors import QuietrankError
from quietrank.ledger.book import BudgetLedger
from quietrank.ledger.history import History, in_words
from quietrank.ledger.orders import ordered
from quietrank.ledger.records import Entry

SHOWN = 200
"""the last payments; `quietrank ledger show` lists all"""


@module.ui
def history_ui() -> Tag:
    return page(
        "history",
        "History",
        "What was spent on what, and what is left. Whatever was paid for here can be opened again.",
        ui.output_ui("budgets"),
        ui.output_ui("payments"),
    )


@module.server
def history_server(input: Inputs, output: Outputs, session: Session, desk: Desk) -> None:
    @render.ui
    def budgets() -> TagChild:
        desk.ledgers()
        names = list(desk.house.ledgers())
        if not names:
            return card("No budget yet", tags.p(f"There is none in {desk.house.folder}. The page Release makes one."))
        with reactive.isolate():
            before = input.ledger() if "ledger" in input else None
        selected = before if before in names else names[0]
        return ui.input_select("ledger", label("Budget", "--ledger"), names, selected=selected)

    @render.ui
    def payments() -> TagChild:
        desk.ledgers()
        if "ledger" not in input or not input.ledger():
            return None
        _ = "refresh" in input and input.refresh()
        try:
            return _payments(BudgetLedger.open(desk.house.folder / input.ledger()))
        except QuietrankError as error:
            return tags.p({"class": "error", "role": "alert"}, sentence(error.in_options()))

    @reactive.effect
    @reactive.event(input.open)
    async def _open() -> None:
        """A button of the table: the place of an order among the payments."""
        path: Path = desk.house.folder / input.ledger()
        entry, fetched = ordered(BudgetLedger.open(path))[int(input.open()["place"])]
        if fetched and entry.order is not None:
            desk.result.set((path, entry.order))
            await desk.go("result")


def _payments(ledger: BudgetLedger) -> Tag:
    history, placed = History.of(ledger), ordered(ledger)
    rows = list(enumerate(zip(history.rows(), placed, strict=True)))[-SHOWN:]
    cells = [_cells(place, words, *one) for place, (words, one) in reversed(rows)]
    heads = ("", "when", "what", "promise", "cost", "left after it", "")
    return card(
        f"{ledger.path.name}: {in_words(ledger.terms)}",
        tags.p({"class": "big"}, f"ε = {history.remaining:.6g} is left for one more release with δ = 0."),
        tags.p({"class": "quiet"}, f"Spent so far: ε = {history.spent:.6g}."),
        table(heads, cells, f"Payments: {len(placed)}, the last one first")
        if cells
        else tags.p("Nothing was spent yet."),
        ui.input_action_button("refresh", "Look again", class_="small"),
    )


def _cells(place: int, words: dict[str, str], entry: Entry, fetched: bool) -> tuple[TagChild, ...]:
    when = words["when"][:16].replace("T", " ")
    sums = (words["promise"], words["cost"], words["remaining"])
    return (str(place + 1), when, words["what"], *sums, _button(place, entry, fetched))


def _button(place: int, entry: Entry, fetched: bool) -> TagChild:
    """What can be done with a payment."""
    if not fetched:
        return "released elsewhere" if entry.order is None else "paid for, not delivered: order it again, at no cost"
    return tags.button(
        {"type": "button", "class": "btn small", "data-open": str(place), "data-input": "history-open"},
        f"Open {place + 1}",
    )
