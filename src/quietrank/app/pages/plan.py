"""The page Plan: sizes and ε in, what accuracy to expect out; or the accuracy in, and ε out. No data is involved."""

from __future__ import annotations

from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from quietrank.app import tasks
from quietrank.app.pages.desk import USUAL_EPSILON, Desk, Runner
from quietrank.app.pages.frame import (
    card,
    ends,
    errors_for,
    fields_when,
    label,
    message_for,
    number_field,
    page,
    per_cent,
    row,
    select_field,
    step_button,
    table,
    working,
)
from quietrank.app.work import Job, State
from quietrank.promise.privacy import plain_number

FORM = "form-plan"


@module.ui
def plan_ui() -> Tag:
    return page(
        "plan",
        "Plan",
        "What accuracy to expect of a survey before it is run. Nothing is read and nothing is spent: surveys of this "
        "size are simulated.",
        tags.div(
            {"class": "beside"},
            tags.div(
                {"id": FORM},
                card(
                    "The survey",
                    row(
                        number_field("items", "Items", 6, "--items", min=2),
                        number_field("people", "People", 300, "--people", min=1),
                    ),
                    row(
                        number_field("per_person", "Votes each", 15, "--per-person", min=1),
                        select_field(
                            "one_per_pair",
                            "The same pair",
                            {"yes": "is asked once", "no": "may be asked again"},
                            "--one-per-pair",
                        ),
                    ),
                ),
                card(
                    "The question",
                    ui.input_radio_buttons(
                        "asks",
                        "What do you know?",
                        {"epsilon": "How strong the promise is: ε", "target": "How accurate it has to be"},
                    ),
                    fields_when(
                        "asks=epsilon",
                        number_field("epsilon", "ε", USUAL_EPSILON, "--epsilon", min=0.01, step=0.1),
                        ends(),
                    ),
                    fields_when("asks=target", *_target_fields()),
                    message_for("plan-all"),
                ),
            ),
            card(
                "What to expect",
                working("plan-progress", "stop"),
                ui.output_ui("expected"),
                tags.div({"class": "buttons"}, step_button("votes", "Next: votes")),
                tags.p(
                    {"class": "quiet"},
                    "Assumed: the better of two items wins 65 % of the votes on average; everybody answers; pairs are "
                    "drawn at random. Real surveys differ.",
                ),
            ),
        ),
    )


def _target_fields() -> list[Tag]:
    targets = {"top": "the top items right", "winner": "the winner right", "rank": "ranks that are nearly right"}
    return [
        ui.input_select("target", label("I need", "--target"), targets),
        row(
            number_field("top_k", "How many top items", 3, min=1, when="target=top"),
            number_field(
                "times", "Right how often, of 10", 9, min=1, max=9.99, step=0.1, hint="9 means 9 times in 10.",
                when="target=top target=winner",
            ),
            number_field("places", "Ranks off by at most, on average", 0.5, min=0.01, step=0.1, when="target=rank"),
        ),
    ]  # fmt: skip


OPTIONS = {
    "--items": "plan-items",
    "--people": "plan-people",
    "--per-person": "plan-per_person",
    "--epsilon": "plan-epsilon",
    "--target": "plan-all",
    "--one-per-pair": "plan-one_per_pair",
}


@module.server
def plan_server(input: Inputs, output: Outputs, session: Session, desk: Desk) -> None:
    runner = Runner(desk, "plan-progress")
    answer: reactive.Value[TagChild] = reactive.Value(None, name="answer")

    @reactive.calc
    def sizes() -> dict[str, Any] | None:
        numbers = {"items": input.items(), "people": input.people(), "per_person": input.per_person()}
        if any(number is None for number in numbers.values()):
            return None
        return {name: int(number) for name, number in numbers.items()} | {"one_per_pair": input.one_per_pair() == "yes"}

    @reactive.calc
    def question() -> tuple[str, Any] | None:
        if input.asks() == "epsilon":
            return None if not input.epsilon() else ("epsilon", float(input.epsilon()))
        if input.target() == "rank":
            return None if not input.places() else ("target", f"rank error {plain_number(float(input.places()))}")
        if not input.times():
            return None
        wrong = plain_number(round(1 - float(input.times()) / 10, 6))
        if input.target() == "winner":
            return "target", f"winner {plain_number(round(float(input.times()) / 10, 6))}"
        return None if not input.top_k() else ("target", f"top-{int(input.top_k())} error {wrong}")

    @reactive.effect
    async def _() -> None:
        """Every change asks again; what was asked before is known."""
        about, asked = sizes(), question()
        if about is None or asked is None:
            return
        key = ("plan", *about.items(), asked)
        if key in desk.house.known:
            runner.stop()
            await shown(desk.house.known[key], asked)
            return
        kind, value = asked
        if kind == "epsilon":
            job = Job(tasks.forecast, about | {"epsilon": [value / 2, value, value * 2]})
        else:
            job = Job(tasks.epsilon_for, about, value)

        async def then(done: Job) -> None:
            if done.state is State.DONE:
                await shown(desk.house.remember(key, done.result), asked)
            elif done.failure is not None:
                answer.set(None)
                await desk.complain(FORM, errors_for(done.failure.message, OPTIONS, "plan-all"))

        runner.start(job, then)

    async def shown(result: Any, asked: tuple[str, Any]) -> None:
        await desk.complain(FORM, {})
        if asked[0] == "epsilon":
            answer.set(_expected(result, asked[1]))
            suggest(asked[1])
        else:
            answer.set(_enough(result, asked[1]))
            suggest(result["epsilon"])
        await desk.say("The forecast has changed.")

    def suggest(epsilon: float) -> None:
        """For the release. The first forecast, which nobody asked for, must not undo what was typed there meanwhile."""
        with reactive.isolate():
            before = desk.epsilon() or USUAL_EPSILON
        if epsilon != before:
            desk.epsilon.set(epsilon)

    @reactive.effect
    @reactive.event(input.stop)
    def _stop() -> None:
        runner.cancel()

    @render.ui
    def expected() -> TagChild:
        return answer()


def _expected(rows: list[dict[str, Any]], epsilon: float) -> TagList:
    """What to expect at ε, and at its half and double."""
    own = min(rows[:-1], key=lambda one: abs(one["epsilon"] - epsilon))
    return TagList(
        tags.p({"class": "big"}, f"The winner is right in {per_cent(own['winner'])} of such surveys."),
        tags.p(f"Ranks are off by {own['rank_error']:.2f} places on average, with ε = {plain_number(epsilon)}."),
        table(
            ("ε", "winner right", "ranks off by"),
            [_row(one) for one in rows],
            "Smaller ε is more private, larger ε more accurate",
        ),
    )


def _row(one: dict[str, Any]) -> tuple[str, str, str]:
    name = "without privacy" if one["epsilon"] is None else plain_number(one["epsilon"])
    return name, per_cent(one["winner"]), f"{one['rank_error']:.2f} ± {one['rank_precision']:.2f}"


def _enough(best: dict[str, Any], target: str) -> TagList:
    """The smallest ε that suffices."""
    return TagList(
        tags.p({"class": "big"}, f"ε = {plain_number(best['epsilon'])} is enough."),
        tags.p(
            f"There the winner is right in {per_cent(best['winner'])} of such surveys, and ranks are off by "
            f"{best['rank_error']:.2f} places on average. A smaller ε is more private, and would miss this target: "
            f"{target}."
        ),
    )
