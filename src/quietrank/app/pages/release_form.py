"""What the page Release asks: its fields, and what was chosen in them, as arguments of a promise and a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shiny import Inputs, module, ui
from shiny.ui import Tag, tags

from quietrank.app.pages.desk import USUAL_EPSILON
from quietrank.app.pages.frame import (
    card,
    ends,
    fields_when,
    message_for,
    more,
    number_field,
    page,
    radio_field,
    row,
    select_field,
    text_field,
    working,
)
from quietrank.app.tasks import METHODS
from quietrank.app.wishes import Survey, Wish
from quietrank.errors import QuietrankError
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.promise.privacy import AUTO
from quietrank.promise.words import DESIGNS, PUBLIC, RANDOM, SECRET

FORM = "form-release"
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
"""beside which field a message that names an option is shown"""
OPTIONS_OF_A_BUDGET = {
    "--epsilon": "release-new_epsilon",
    "--delta": "release-new_delta",
    "--data": "release-new_data",
}


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
                card("What is promised", *_promise_fields()),
                card("What is published", *_publication_fields()),
                card("What pays", ui.output_ui("budgets"), _new_budget_fields()),
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
                card(None, more("Show the command", ui.output_ui("command"))),
            ),
        ),
    )


def _promise_fields() -> list[Tag]:
    units = {"person": "Anything that one person said", "comparison": "A single vote"}
    bounds = {
        "pairs": "Each pair at most once",
        "number": "At most a number of them",
        "unknown": "Nobody knows: 5 % of ε finds out",
    }
    designs = {
        SECRET: "is a secret",
        RANDOM: "is a secret, but every pair was equally likely to be asked and answered",
        PUBLIC: "is known to all, only answers are secret",
    }
    by_questionnaire = "By the questionnaire, not by the data."
    return [
        radio_field("unit", "What must not come out", units, "--unit"),
        fields_when(
            "unit=person",
            radio_field(
                "bound",
                "How many questions could one person answer?",
                bounds,
                hint=tags.code("--one-per-pair --max-per-person"),
            ),
            number_field(
                "max_per_person", "Votes per person", 15, "--max-per-person", min=1, hint=by_questionnaire,
                when="bound=number",
            ),
        ),
        radio_field("asked", "Who was asked what", designs, "--design"),
        number_field("epsilon", "ε", USUAL_EPSILON, "--epsilon", min=0.001, step=0.1),
        ends(),
    ]  # fmt: skip


def _publication_fields() -> list[Tag]:
    kinds = {"full": "The whole ranking", "top": "Only the first few names"}
    nothing_for_others = "More often right for the same ε: nothing is paid for the others."
    before_the_votes = "Before the votes came in: 2 × votes / items."
    return [
        radio_field("publishes", "What should come out?", kinds),
        number_field(
            "only_top", "How many names", 1, "--only-top", min=1, hint=nothing_for_others, when="publishes=top"
        ),
        more(
            "Details",
            row(
                select_field("method", "Ranked by", [AUTO, *METHODS], "--method"),
                select_field("mechanism", "Noise", [AUTO, *MECHANISMS], "--mechanism"),
                number_field(
                    "comparisons_per_item", "Comparisons per item, as expected", None, "--comparisons-per-item", min=1,
                    hint=before_the_votes, when="mechanism=perturbed-mle",
                ),
                number_field("delta", "δ", 0, "--delta", min=0),
            ),
            text_field("label", "A label for the history", example="for the annual report"),
        ),
    ]  # fmt: skip


def _new_budget_fields() -> Tag:
    return fields_when(
        "ledger=",
        row(
            text_field("new_name", "Name of a new budget", "ledger new", "budget"),
            number_field("new_epsilon", "ε of all releases together", 4, "--epsilon", min=0.01),
        ),
        row(
            text_field("new_data", "Which votes it is for", "--data", example="student survey 2026"),
            number_field("new_delta", "δ of all together", 0, "--delta", min=0),
        ),
        tags.p({"class": "hint"}, "It is for the unit chosen above, and cannot be changed later."),
        ui.input_action_button("make", "Make this budget"),
    )


# ---- what was chosen -------------------------------------------------------------------------------------------------


def chosen_wish(input: Inputs, survey: Survey) -> Wish:
    """What is chosen now; an error says why it makes no promise."""
    only_top = int(input.only_top() or 1) if input.publishes() == "top" else None
    wish = Wish(survey, _promise(input), _request(input), only_top)
    _ = wish.privacy
    _ = wish.full_request() if only_top is None else wish.top_request()
    return wish


def _promise(input: Inputs) -> dict[str, Any]:
    """The arguments of `Privacy`."""
    bound = _bound(input) if input.unit() == "person" else {}
    delta = {"delta": float(input.delta())} if input.delta() else {}
    design = {name: str(word) for name, word in DESIGNS[input.asked()].items()}
    return {"unit": input.unit(), "epsilon": float(input.epsilon()), **bound, **design, **delta}


def _bound(input: Inputs) -> dict[str, Any]:
    """How much one person may contribute."""
    if input.bound() == "pairs":
        return {"one_per_pair": True}
    return {"max_per_person": input.max_per_person() if input.bound() == "number" else AUTO}


def _request(input: Inputs) -> dict[str, Any]:
    """The arguments of a request that are not left to quietrank."""
    words = {"method": input.method(), "mechanism": input.mechanism()}
    if input.mechanism() == "perturbed-mle":
        words["comparisons_per_item"] = input.comparisons_per_item()
    return {name: word for name, word in words.items() if word not in (AUTO, None)}


def new_budget(input: Inputs) -> dict[str, Any]:
    """The arguments of a new ledger."""
    return {
        "epsilon": input.new_epsilon(),
        "delta": input.new_delta() or 0.0,
        "data": input.new_data(),
        "unit": input.unit(),
        "neighbours": DESIGNS[input.asked()].get("neighbours", "replace"),
    }


def new_budget_path(folder: Path, name: str) -> Path:
    """Where a new budget goes; its name may not lead elsewhere."""
    plain = (name or "").strip().removesuffix(".db")
    if not plain or plain.startswith(".") or any(sign in plain for sign in '/\\:*?"<>|'):
        raise QuietrankError("give a name of letters and numbers, such as survey-2026")
    return folder / f"{plain}.db"
