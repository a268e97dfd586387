"""The page Release: what is chosen in `release_form` in; its promise, its price and, after one click, a release out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import TagChild, TagList, tags

from quietrank.app import tasks
from quietrank.app.orders import Placed
from quietrank.app.pages.desk import Desk, Runner
from quietrank.app.pages.frame import card, errors_for, per_cent, select_field, sentence, step_button
from quietrank.app.pages.release_form import (
    FORM,
    OPTIONS,
    OPTIONS_OF_A_BUDGET,
    chosen_wish,
    new_budget,
    new_budget_path,
)
from quietrank.app.tasks import Offer
from quietrank.app.wishes import Wish
from quietrank.app.work import Job, State
from quietrank.errors import QuietrankError
from quietrank.ledger.history import in_words
from quietrank.promise.privacy import plain_number
from quietrank.publish.top import as_list

NEW = ""
STOPPED = "Stopped. Nothing was spent."
STOPPED_AFTER = "It was paid for when it was stopped. Ask for the price again, and finish it at no further cost."


@dataclass(frozen=True)
class Priced:
    """A wish whose price is known."""

    wish: Wish
    ledger: Path
    offer: Offer


@module.server
def release_server(input: Inputs, output: Outputs, session: Session, desk: Desk) -> None:
    places = ("forecast-progress", "offer-progress", "order-progress")
    forecasts, offers, ordering = (Runner(desk, place) for place in places)
    forecast: reactive.Value[TagChild] = reactive.Value(None, name="forecast")
    priced: reactive.Value[Priced | None] = reactive.Value(None, name="priced")
    ready: reactive.Value[bool] = reactive.Value(False, name="ready")
    """whether a price can be asked for; the button is made anew only if that changes, or a click on it may be lost"""
    chosen: list[Any] = [None]
    """wish and ledger, as of the last change"""

    @reactive.calc
    def wish() -> Wish | QuietrankError | None:
        """What is chosen now; why it makes no promise; or None if something is missing."""
        survey = desk.survey()
        if survey is None or not input.epsilon():
            return None
        try:
            return chosen_wish(input, survey)
        except QuietrankError as error:
            return error

    @reactive.calc
    def ledger() -> Path | None:
        desk.ledgers()
        chosen = input.ledger() if "ledger" in input else next(iter(desk.house.ledgers()), NEW)
        return desk.house.folder / chosen if chosen else None

    @reactive.effect
    def _suggested() -> None:
        """The ε of the plan."""
        if (epsilon := desk.epsilon()) is not None:
            ui.update_numeric("epsilon", value=epsilon)

    @reactive.effect
    async def _changed() -> None:
        """A price is for what is chosen now: any change needs another. A field that only appears changes nothing."""
        now, before = wish(), chosen[0]
        chosen[0] = now, ledger()
        if chosen[0] == before:
            return
        ready.set(isinstance(now, Wish))
        offers.stop()
        priced.set(None)
        errors = errors_for(now.in_options(), OPTIONS, "release-all") if isinstance(now, QuietrankError) else {}
        await desk.complain(FORM, errors)

    # ---- what to expect

    @reactive.effect
    async def _foresee() -> None:
        now, looked = wish(), desk.looked()
        forecasts.stop()  # it is about what was chosen before
        if not isinstance(now, Wish) or looked is None or looked.report is None:
            forecast.set(None)
            return
        sizes, epsilon = tasks.sizes_of(looked.report, now), float(now.promise["epsilon"])
        key = ("release", *sizes.items(), epsilon, now.only_top)
        if key in desk.house.known:
            forecast.set(desk.house.known[key])
            return
        if now.only_top is None:
            job = Job(tasks.forecast, sizes | {"epsilon": [epsilon]})
        else:
            job = Job(tasks.chances, sizes | {"epsilon": [epsilon]}, now.only_top)

        async def then(done: Job) -> None:
            if done.state is State.DONE:
                forecast.set(desk.house.remember(key, _expected(done.result, now)))
            elif done.failure is not None:
                forecast.set(tags.p(f"This cannot be simulated: {done.failure.message}."))

        forecasts.start(job, then)

    @render.ui
    def expected() -> TagChild:
        return forecast() or tags.p({"class": "quiet"}, "Votes and a promise come first.")

    # ---- the promise

    @render.ui
    def which() -> TagChild:
        survey = desk.survey()
        if survey is None:
            return card(
                "Votes come first",
                tags.p("Choose a file and declare its items."),
                step_button("votes", "Back to votes"),
            )
        return tags.p({"class": "quiet"}, f"{survey.name}, {len(survey.items or ())} items")

    @render.ui
    def promise() -> TagChild:
        now = wish()
        if not isinstance(now, Wish):
            return tags.p({"class": "quiet"}, "Not complete yet.")
        agreed = priced()
        if agreed is not None:
            offer = agreed.offer
            note = "As it will be printed." if offer.exact else "As it will be printed, with the limit that is chosen."
            return TagList(tags.p({"class": "promise"}, offer.statement), tags.p({"class": "quiet"}, note))
        said = now.privacy.statement if now.only_top is None else as_list(now.privacy.statement)
        note = "With the price comes the exact sentence: how people are bounded depends on the noise."
        return TagList(tags.p({"class": "promise"}, said), tags.p({"class": "quiet"}, note))

    @render.ui
    def command() -> TagChild:
        now, budget = wish(), ledger()
        if not isinstance(now, Wish):
            return tags.p({"class": "quiet"}, "Not complete yet.")
        copy = tags.button({"type": "button", "class": "btn small", "data-copy": "the-command"}, "Copy")
        return TagList(
            tags.pre(
                {"class": "command", "id": "the-command"}, now.command("budget.db" if budget is None else budget.name)
            ),
            copy,
            tags.p({"class": "quiet"}, "It would be a second release, and spend again."),
        )

    # ---- what pays

    @render.ui
    def budgets() -> TagChild:
        desk.ledgers()
        books = desk.house.ledgers()
        words = {name: f"{name}: {in_words(book.terms)}" for name, book in books.items()}
        with reactive.isolate():
            before = input.ledger() if "ledger" in input else None
        selected = before if before in words else next(iter(words), NEW)
        choices = words | {NEW: "a new budget"}
        hint = f"Budgets are files in {desk.house.folder}."
        return select_field("ledger", "Budget", choices, "--ledger", selected=selected, hint=hint)

    @reactive.effect
    @reactive.event(input.make)
    async def _make() -> None:
        try:
            path = new_budget_path(desk.house.folder, input.new_name())
            tasks.make_ledger(path, new_budget(input))
        except QuietrankError as error:
            await desk.complain(FORM, errors_for(error.in_options(), OPTIONS_OF_A_BUDGET, "release-new_name"))
            return
        desk.ledgers.set(desk.ledgers() + 1)
        ui.update_select("ledger", selected=path.name)

    # ---- the price, and the click

    @reactive.effect
    @reactive.event(input.prepare)
    async def _prepare() -> None:
        now, budget = wish(), ledger()
        if not isinstance(now, Wish):
            return
        if budget is None:
            await desk.complain(FORM, {"release-all": "Choose a budget, or make one."})
            return

        async def then(done: Job) -> None:
            if done.state is State.DONE:
                priced.set(Priced(now, budget, done.result))
                await desk.say("The price is known. Nothing was spent.")
            elif done.failure is not None:
                await desk.complain(FORM, errors_for(now.survey.in_words(done.failure.message), OPTIONS, "release-all"))

        await desk.complain(FORM, {})
        offers.start(Job(tasks.offer, now, budget), then)

    @reactive.effect
    @reactive.event(input.spend)
    async def _spend() -> None:
        """The click. A second one finds the order placed, and joins it."""
        agreed = priced()
        if agreed is None:
            return
        budget, offer = agreed.ledger, agreed.offer
        if offer.before and not ("again" in input and input.again()):
            await desk.complain(
                FORM, {"release-all": "Tick that you want to spend once more, or open the earlier one."}
            )
            return
        placed = Placed(agreed.wish, budget, offer.order, (input.label() or "").strip())

        async def then(done: Job) -> None:
            desk.ledgers.set(desk.ledgers() + 1)
            if done.state is State.DONE:
                desk.house.latest = (budget, offer.order)
                desk.result.set(desk.house.latest)
                priced.set(None)
                await desk.go("result")
                return
            priced.set(None)
            if done.failure is not None:
                await desk.complain(FORM, errors_for(done.failure.message, OPTIONS, "release-all"))
            else:
                dropped = desk.house.forget(placed)
                await desk.complain(FORM, {"release-all": STOPPED if dropped else STOPPED_AFTER})

        ordering.start(desk.house.order(placed), then, outlives_window=True)

    @render.ui
    def price() -> TagChild:
        agreed = priced()
        if agreed is None:
            return tags.p(
                {"class": "quiet"},
                "The votes are read and checked, and the price is computed. Nothing is spent by that.",
            )
        return _price(agreed.offer, agreed.ledger.name)

    @render.ui
    def buttons() -> TagChild:
        agreed = priced()
        if agreed is None:
            return ui.input_action_button("prepare", "What does it cost?", class_="main", disabled=not ready())
        offer = agreed.offer
        text = "Release it: it is paid for" if offer.paid else f"Spend ε = {plain_number(offer.epsilon)} and release"
        return ui.input_action_button("spend", text, class_="main spend")

    for name, runner in (("stop_forecast", forecasts), ("stop_offer", offers), ("stop_order", ordering)):
        _stops(input, name, runner)


def _stops(input: Inputs, name: str, runner: Runner) -> None:
    @reactive.effect
    @reactive.event(input[name])
    def _() -> None:
        runner.cancel()


# ---- what is shown ---------------------------------------------------------------------------------------------------


def _expected(rows: list[dict[str, Any]], wish: Wish) -> TagList:
    """What to expect of a survey of this size; the size is confidential."""
    note = tags.p({"class": "quiet"}, "Simulated, for a survey of this size. The size is confidential: for you only.")
    if wish.only_top is not None:
        best = next((one for one in rows if one["chosen"]), rows[0])
        return TagList(
            tags.p({"class": "big"}, f"The list is that of the exact votes {per_cent(best['as_exact'])} of the time."),
            tags.p(f"In {per_cent(best['right'])} it names the truly best, in their order."),
            note,
        )
    own, floor = rows[0], rows[-1]
    return TagList(
        tags.p({"class": "big"}, f"The winner is right in {per_cent(own['winner'])} of such surveys."),
        tags.p(
            f"Ranks are off by {own['rank_error']:.2f} places on average; without privacy by {floor['rank_error']:.2f}."
        ),
        note,
    )


def _price(offer: Offer, ledger: str) -> TagList:
    """Exactly what will be spent, and what remains."""
    delta = f", δ = {plain_number(offer.delta)}" if offer.delta else ""
    left, after = f"{offer.remaining:.6g}", f"{offer.remaining_after:.6g}"
    parts: list[TagChild] = []
    if offer.paid:
        parts.append(tags.p({"class": "big"}, "This was paid for before and never delivered: it costs nothing more."))
    else:
        parts.append(tags.p({"class": "big"}, f"ε = {plain_number(offer.epsilon)}{delta}"))
        parts.append(tags.p(f"From {ledger}: ε = {left} is left now, {after} afterwards."))
    parts.append(tags.p({"class": "quiet"}, sentence(offer.what)))
    if offer.before:
        times = "once" if offer.before == 1 else f"{offer.before} times"
        again = f"Exactly this was released {times} already: open it under History, at no cost."
        parts += [tags.p({"class": "error"}, again), ui.input_checkbox("again", "Spend once more for another draw")]
    return TagList(*parts)
