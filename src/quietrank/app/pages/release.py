"""Release: the promise, what it costs, and one deliberate click that spends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from quietrank.app import tasks
from quietrank.app.orders import Placed
from quietrank.app.pages.desk import USUAL_EPSILON, Desk, Runner
from quietrank.app.pages.frame import (
    card,
    ends,
    errors_for,
    field,
    label,
    message_for,
    more,
    page,
    per_cent,
    row,
    sentence,
    step_button,
    working,
)
from quietrank.app.tasks import Offer
from quietrank.app.wishes import Wish
from quietrank.app.work import Job, State
from quietrank.errors import QuietrankError
from quietrank.ledger.history import in_words
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.promise.privacy import AUTO, plain_number
from quietrank.promise.words import DESIGNS, PUBLIC, RANDOM, SECRET
from quietrank.publish.top import as_list

FORM = "form-release"
NEW = ""
STOPPED = "Stopped. Nothing was spent."
STOPPED_AFTER = "It was paid for when it was stopped. Ask for the price again, and finish it at no further cost."
METHODS = ("auto", "net-wins", "wins", "win-rate", "bradley-terry")


@module.ui
def release_ui() -> Tag:
    return page(
        "release",
        "Release",
        "Say what is promised. You see the price and the sentence of the promise before anything is spent.",
        ui.output_ui("which"),
        tags.div(
            {"class": "beside", "id": FORM},
            tags.div(
                card(
                    "What is promised",
                    field(
                        ui.input_radio_buttons(
                            "unit",
                            label("What must not come out", "--unit"),
                            {"person": "Anything that one person said", "comparison": "A single vote"},
                        ),
                        "release-unit",
                    ),
                    tags.div(
                        {"data-when": "release-unit=person"},
                        field(
                            ui.input_radio_buttons(
                                "bound",
                                "How many questions could one person answer?",
                                {
                                    "pairs": "Each pair at most once",
                                    "number": "At most a number of them",
                                    "unknown": "Nobody knows: 5 % of ε finds out",
                                },
                            ),
                            "release-bound",
                            tags.code("--one-per-pair --max-per-person"),
                        ),
                        field(
                            ui.input_numeric(
                                "max_per_person", label("Votes per person", "--max-per-person"), 15, min=1
                            ),
                            "release-max_per_person",
                            "By the questionnaire, not by the data.",
                            when="release-bound=number",
                        ),
                    ),
                    field(
                        ui.input_radio_buttons(
                            "asked",
                            label("Who was asked what", "--design"),
                            {
                                SECRET: "is a secret",
                                RANDOM: "is a secret, but every pair was equally likely to be asked and answered",
                                PUBLIC: "is known to all, only answers are secret",
                            },
                        ),
                        "release-asked",
                    ),
                    field(
                        ui.input_numeric("epsilon", label("ε", "--epsilon"), USUAL_EPSILON, min=0.001, step=0.1),
                        "release-epsilon",
                    ),
                    ends(),
                ),
                card(
                    "What is published",
                    field(
                        ui.input_radio_buttons(
                            "publishes",
                            "What should come out?",
                            {"full": "The whole ranking", "top": "Only the first few names"},
                        ),
                        "release-publishes",
                    ),
                    field(
                        ui.input_numeric("only_top", label("How many names", "--only-top"), 1, min=1),
                        "release-only_top",
                        "More often right for the same ε: nothing is paid for the others.",
                        when="release-publishes=top",
                    ),
                    more(
                        "Details",
                        row(
                            field(
                                ui.input_select("method", label("Ranked by", "--method"), list(METHODS)),
                                "release-method",
                            ),
                            field(
                                ui.input_select("mechanism", label("Noise", "--mechanism"), [AUTO, *MECHANISMS]),
                                "release-mechanism",
                            ),
                            field(
                                ui.input_numeric(
                                    "comparisons_per_item",
                                    label("Comparisons per item, as expected", "--comparisons-per-item"),
                                    None,  # type: ignore[arg-type]
                                    min=1,
                                ),
                                "release-comparisons_per_item",
                                "Before the votes came in: 2 × votes / items.",
                                when="release-mechanism=perturbed-mle",
                            ),
                            field(ui.input_numeric("delta", label("δ", "--delta"), 0, min=0), "release-delta"),
                        ),
                        field(
                            ui.input_text("label", "A label for the history", placeholder="for the annual report"),
                            "release-label",
                        ),
                    ),
                ),
                card(
                    "What pays",
                    ui.output_ui("budgets"),
                    tags.div(
                        {"data-when": "release-ledger="},
                        row(
                            field(
                                ui.input_text("new_name", label("Name of a new budget", "ledger new"), "budget"),
                                "release-new_name",
                            ),
                            field(
                                ui.input_numeric(
                                    "new_epsilon", label("ε of all releases together", "--epsilon"), 4, min=0.01
                                ),
                                "release-new_epsilon",
                            ),
                        ),
                        row(
                            field(
                                ui.input_text(
                                    "new_data",
                                    label("Which votes it is for", "--data"),
                                    placeholder="student survey 2026",
                                ),
                                "release-new_data",
                            ),
                            field(
                                ui.input_numeric("new_delta", label("δ of all together", "--delta"), 0, min=0),
                                "release-new_delta",
                            ),
                        ),
                        tags.p({"class": "hint"}, "It is for the unit chosen above, and cannot be changed later."),
                        ui.input_action_button("make", "Make this budget"),
                    ),
                ),
            ),
            tags.div(
                card(
                    "What to expect",
                    working("forecast-progress", "stop_forecast"),
                    ui.output_ui("expected"),
                    kind="confidential",
                ),
                card("The promise", ui.output_ui("promise")),
                card(
                    "The price",
                    working("offer-progress", "stop_offer"),
                    ui.output_ui("price"),
                    message_for("release-all"),
                    working("order-progress", "stop_order"),
                    tags.div({"class": "buttons"}, ui.output_ui("buttons")),
                ),
                card(
                    None,
                    more(
                        "Show the command",
                        ui.output_ui("command"),
                    ),
                ),
            ),
        ),
    )


OPTIONS = {
    "--unit": "release-unit",
    "--max-per-person": "release-max_per_person",
    "--one-per-pair": "release-bound",
    "--design": "release-asked",
    "--neighbours": "release-asked",
    "--epsilon": "release-epsilon",
    "--delta": "release-delta",
    "--only-top": "release-only_top",
    "--method": "release-method",
    "--mechanism": "release-mechanism",
    "--clip": "release-mechanism",
    "--person": "release-unit",
    "--data": "release-new_data",
    "--comparisons-per-item": "release-comparisons_per_item",
}


@module.server
def release_server(input: Inputs, output: Outputs, session: Session, desk: Desk) -> None:
    foresees, offers, ordering = (
        Runner(desk, "forecast-progress"),
        Runner(desk, "offer-progress"),
        Runner(desk, "order-progress"),
    )
    foreseen: reactive.Value[TagChild] = reactive.Value(None, name="foreseen")
    offered: reactive.Value[tuple[Wish, Path, Offer] | None] = reactive.Value(None, name="offered")
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
        made = Wish(survey, _promise(input), _request(input), _names(input))
        try:
            _ = made.privacy
            _ = made.full_request() if made.only_top is None else made.top_request()
        except QuietrankError as error:
            return error
        return made

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
        offered.set(None)
        errors = errors_for(now.in_options(), OPTIONS, "release-all") if isinstance(now, QuietrankError) else {}
        await desk.complain(FORM, errors)

    # ---- what to expect

    @reactive.effect
    async def _foresee() -> None:
        now, looked = wish(), desk.looked()
        if not isinstance(now, Wish) or looked is None or looked.report is None:
            foreseen.set(None)
            return
        sizes, epsilon = tasks.sizes_of(looked.report, now), float(now.promise["epsilon"])
        key = ("release", *sizes.items(), epsilon, now.only_top)
        if key in desk.house.known:
            foreseen.set(desk.house.known[key])
            return
        if now.only_top is None:
            job = Job(tasks.forecast, sizes | {"epsilon": [epsilon]})
        else:
            job = Job(tasks.chances, sizes | {"epsilon": [epsilon]}, now.only_top)

        async def then(done: Job) -> None:
            if done.state is State.DONE:
                foreseen.set(desk.house.remember(key, _expected(done.result, now)))
            elif done.failure is not None:
                foreseen.set(tags.p(f"This cannot be simulated: {done.failure.message}."))

        foresees.start(job, then)

    @render.ui
    def expected() -> TagChild:
        return foreseen() or tags.p({"class": "quiet"}, "Votes and a promise come first.")

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
        agreed = offered()
        if agreed is not None:
            note = (
                "As it will be printed." if agreed[2].exact else "As it will be printed, with the limit that is chosen."
            )
            return TagList(tags.p({"class": "promise"}, agreed[2].statement), tags.p({"class": "quiet"}, note))
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
        return field(
            ui.input_select("ledger", label("Budget", "--ledger"), choices, selected=selected),
            "release-ledger",
            f"Budgets are files in {desk.house.folder}.",
        )

    @reactive.effect
    @reactive.event(input.make)
    async def _make() -> None:
        try:
            path = _new_path(desk.house.folder, input.new_name())
            words = {
                "epsilon": input.new_epsilon(),
                "delta": input.new_delta() or 0.0,
                "data": input.new_data(),
                "unit": input.unit(),
                "neighbours": DESIGNS[input.asked()].get("neighbours", "replace"),
            }
            tasks.make_ledger(path, words)
        except QuietrankError as error:
            places = {"--epsilon": "release-new_epsilon", "--delta": "release-new_delta", "--data": "release-new_data"}
            await desk.complain(FORM, errors_for(error.in_options(), places, "release-new_name"))
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
                offered.set((now, budget, done.result))
                await desk.say("The price is known. Nothing was spent.")
            elif done.failure is not None:
                await desk.complain(FORM, errors_for(now.survey.in_words(done.failure.message), OPTIONS, "release-all"))

        await desk.complain(FORM, {})
        offers.start(Job(tasks.offer, now, budget), then)

    @reactive.effect
    @reactive.event(input.spend)
    async def _spend() -> None:
        """The click. A second one finds the order placed, and joins it."""
        agreed = offered()
        if agreed is None:
            return
        now, budget, offer = agreed
        if offer.before and not ("again" in input and input.again()):
            await desk.complain(
                FORM, {"release-all": "Tick that you want to spend once more, or open the earlier one."}
            )
            return
        placed = Placed(now, budget, offer.order, (input.label() or "").strip())

        async def then(done: Job) -> None:
            desk.ledgers.set(desk.ledgers() + 1)
            if done.state is State.DONE:
                desk.house.latest = (budget, offer.order)
                desk.result.set(desk.house.latest)
                offered.set(None)
                await desk.go("result")
                return
            offered.set(None)
            if done.failure is not None:
                await desk.complain(FORM, errors_for(done.failure.message, OPTIONS, "release-all"))
            else:
                dropped = desk.house.forget(placed)
                await desk.complain(FORM, {"release-all": STOPPED if dropped else STOPPED_AFTER})

        ordering.start(desk.house.order(placed), then, outlives_window=True)

    @render.ui
    def price() -> TagChild:
        agreed = offered()
        if agreed is None:
            return tags.p(
                {"class": "quiet"},
                "The votes are read and checked, and the price is computed. Nothing is spent by that.",
            )
        return _price(agreed[2], agreed[1].name)

    @render.ui
    def buttons() -> TagChild:
        agreed = offered()
        if agreed is None:
            return ui.input_action_button("prepare", "What does it cost?", class_="main", disabled=not ready())
        offer = agreed[2]
        text = "Release it: it is paid for" if offer.paid else f"Spend ε = {plain_number(offer.epsilon)} and release"
        return ui.input_action_button("spend", text, class_="main spend")

    for name, runner in (("stop_forecast", foresees), ("stop_offer", offers), ("stop_order", ordering)):
        _stops(input, name, runner)


def _stops(input: Inputs, name: str, runner: Runner) -> None:
    @reactive.effect
    @reactive.event(input[name])
    def _() -> None:
        runner.cancel()


# ---- what was chosen -------------------------------------------------------------------------------------------------


def _promise(input: Inputs) -> dict[str, Any]:
    """The arguments of `Privacy`."""
    bounds: dict[str, Callable[[], dict[str, Any]]] = {
        "pairs": lambda: {"one_per_pair": True},
        "number": lambda: {"max_per_person": input.max_per_person()},
        "unknown": lambda: {"max_per_person": AUTO},
    }
    bound = bounds[input.bound()]() if input.unit() == "person" else {}
    delta = {"delta": float(input.delta())} if input.delta() else {}
    design = {name: str(word) for name, word in DESIGNS[input.asked()].items()}
    return {"unit": input.unit(), "epsilon": float(input.epsilon()), **bound, **design, **delta}


def _request(input: Inputs) -> dict[str, Any]:
    words = {"method": input.method(), "mechanism": input.mechanism()}
    if input.mechanism() == "perturbed-mle":
        words["comparisons_per_item"] = input.comparisons_per_item()
    return {name: word for name, word in words.items() if word not in (AUTO, None)}


def _names(input: Inputs) -> int | None:
    return int(input.only_top() or 1) if input.publishes() == "top" else None


def _new_path(folder: Path, name: str) -> Path:
    """Where a new budget goes; its name may not lead elsewhere."""
    plain = (name or "").strip()
    plain = plain.removesuffix(".db")
    if not plain or plain.startswith(".") or any(sign in plain for sign in '/\\:*?"<>|'):
        raise QuietrankError("give a name of letters and numbers, such as survey-2026")
    return folder / f"{plain}.db"


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
