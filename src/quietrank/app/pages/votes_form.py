"""What the page Votes asks: its fields, and what was chosen in them, as arguments of `read_votes` and items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiny import Inputs, module, ui
from shiny.ui import Tag, TagList, tags

from quietrank.app.pages.frame import (
    card,
    field,
    label,
    message_for,
    more,
    page,
    row,
    select_field,
    step_button,
    text_field,
    working,
)
from quietrank.app.tasks import Looked
from quietrank.app.wishes import Survey, checked_items
from quietrank.errors import QuietrankError

FORM = "form-votes"
ENDINGS = (
    ".csv", ".tsv", ".txt", ".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".xlsx", ".soc", ".soi", ".toc", ".toi",
    ".gz", ".zst",
)  # fmt: skip
SHAPES = {
    "": "as the names of the columns say",
    "long": "a vote",
    "wide": "a person, with a column per pair",
    "rankings": "a person's ranking",
    "best-worst": "a best–worst set",
}
COLUMNS = {
    "winner": ("Winner", "shape= shape=long"),
    "loser": ("Loser", "shape= shape=long"),
    "tie": ("Tie", "shape= shape=long"),
    "a": ("First item", "shape= shape=long"),
    "b": ("Second item", "shape= shape=long"),
    "outcome": ("Who won", "shape= shape=long"),
    "ranking": ("Ranking", "shape=rankings"),
    "best": ("Best", "shape=best-worst"),
    "worst": ("Worst", "shape=best-worst"),
    "person": ("Person", None),
}
"""columns that can be named: what they are, and for which shapes they are asked"""
WORDS = {
    "pair_columns": ("How columns are named after pairs", "q_{a}_{b}", "shape=wide"),
    "shown": ("Columns of the items shown", "item*", "shape=best-worst"),
    "set_size": ("Most items in a set", "", "shape=best-worst"),
}
DETAILS = {
    "delimiter": "What separates columns",
    "encoding": "Encoding",
    "sheet": "Sheet",
    "header_rows": "Header rows",
    "where": "Count only rows where",
}
MEANINGS = {
    "": "as usual",
    "a": "the first item won",
    "b": "the second item won",
    "tie": "a tie",
    "missing": "not answered",
}
MOST_TICKS = 400
"""items; a longer list is taken as a whole"""
NUMBERS = ("set_size", "header_rows")
NAMES = ("shape", *COLUMNS, *WORDS, *DETAILS)
"""the arguments of `read_votes` that have fields of their own"""
OPTIONS = {f"--{name.replace('_', '-')}": f"votes-{name}" for name in (*NAMES, "skip_invalid")} | {
    "--items": "votes-listed",
    "--outcomes": "votes-answers",
    "--missing": "votes-answers",
}
"""beside which field a message that names an option is shown"""


@module.ui
def votes_ui() -> Tag:
    return page(
        "votes",
        "Votes",
        "Choose the file you have. It stays on this machine, in a temporary folder that is removed when this window "
        "closes. Nothing is released here.",
        tags.div(
            {"id": FORM},
            card(
                "The file",
                field(
                    "file",
                    ui.input_file("file", "CSV, Excel, Parquet, JSON or PrefLib", accept=list(ENDINGS), width="100%"),
                ),
                text_field(
                    "path",
                    "Or its path on this machine",
                    "VOTES",
                    example="/data/votes.parquet",
                    hint="A file, a folder of parts, or a pattern. It is read where it is.",
                ),
                tags.div(
                    {"class": "buttons"},
                    ui.input_action_button("open_path", "Read this path"),
                    ui.input_action_button("bundled", "Try the bundled survey"),
                ),
                working("votes-progress", "stop"),
                message_for("votes-all"),
            ),
            ui.output_ui("understood"),
            tags.div(
                {"id": "mapping", "data-when": "votes-has_file=true", "hidden": ""},
                ui.output_ui("mapping"),
            ),
            ui.output_ui("items"),
            tags.div({"hidden": ""}, ui.input_checkbox("has_file", "A file is chosen", False)),
        ),
    )


# ---- fields that depend on the file ----------------------------------------------------------------------------------


def mapping_card(looked: Looked, survey: Survey) -> Tag:
    """Fields that say what is what."""
    reading, understood = survey.reading, looked.report is not None

    def column(name: str, text: str, when: str | None) -> Tag:
        first = "as recognised" if name != "person" else "as recognised, or nobody"
        choices = {"": first, **{column: column for column in looked.preview.columns}}
        return select_field(name, text, choices, _option(name), selected=reading.get(name, ""), when=when)

    def words(name: str, text: str, example: str = "", when: str | None = None) -> Tag:
        return text_field(name, text, _option(name), str(reading.get(name, "")), example=example, when=when)

    parts = TagList(
        select_field("shape", "A row is", SHAPES, "--shape", selected=reading.get("shape", "")),
        row(*(column(name, *about) for name, about in COLUMNS.items())),
        row(*(words(name, *about) for name, about in WORDS.items())),
        _answers(looked, reading),
        *([] if understood else [_typed_items(survey)]),
        more("Details", row(*(words(name, text) for name, text in DETAILS.items()))),
        message_for("votes-mapping"),
        tags.div({"class": "buttons"}, ui.input_action_button("read_again", "Read it like this")),
    )
    if understood:
        return card(None, more("Something was read wrongly: say what is what", parts))
    return card("Say what is what", parts)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _answers(looked: Looked, reading: Mapping[str, Any]) -> TagList:
    """What each answer means, as far as it is not the name of an item."""
    words = _words(looked)
    if not words:
        return TagList()
    said = {**reading.get("outcomes", {}), **dict.fromkeys(reading.get("missing", ()), "missing")}
    fields = [
        ui.input_select(f"answer_{place}", f"“{word}” means", MEANINGS, selected=said.get(word, ""))
        for place, word in enumerate(words)
    ]
    return TagList(
        tags.h2("What answers mean", tags.code({"class": "quiet"}, " --outcomes --missing")),
        row(*fields),
        message_for("votes-answers"),
    )


def _typed_items(survey: Survey) -> Tag:
    return field(
        "listed",
        ui.input_text_area("listed", label("Items, one per line", "--items"), "\n".join(survey.items or ())),
        "For a survey with a column per pair, or a column per item, the items have to be known first.",
    )


def items_card(names: tuple[str, ...], survey: Survey, looked: Looked, *, ready: bool) -> Tag:
    """The list of items, which is public in every release."""
    declared_now = survey.items
    ticked = names if declared_now is None else tuple(name for name in names if name in declared_now)
    others = () if declared_now is None else tuple(name for name in declared_now if name not in names)
    flaws = {} if looked.report is None else looked.report.flaws
    return card(
        "Declare what is ranked",
        tags.p("The list is public in every release. Decide on it by what could be voted on, not by what was."),
        *_ticks(names, ticked),
        field(
            "other_items",
            ui.input_text_area(
                "other_items", "Other items that could have been voted on, one per line", "\n".join(others)
            ),
        ),
        field(
            "skip_invalid",
            ui.input_checkbox(
                "skip_invalid", label("Leave out rows that cannot be used", "--skip-invalid"), survey.skip_invalid
            ),
            "Without it they are an error."
            if not flaws
            else f"Now: {', '.join(f'{n} × {flaw}' for flaw, n in flaws.items())}.",
        ),
        message_for("votes-items_all"),
        tags.div(
            {"class": "buttons"},
            ui.input_action_button("declare", "Declare this list", class_="" if ready else "main"),
            *([step_button("release", "Next: release")] if ready else []),
        ),
        *([tags.p({"role": "status"}, f"{len(declared_now or ())} items are declared.")] if ready else []),
    )


def _ticks(names: tuple[str, ...], ticked: tuple[str, ...]) -> list[Tag]:
    """The items that were found, each with a mark; of very many, only their number."""
    if len(names) > MOST_TICKS:
        return [tags.p(f"All {len(names)} items that were found, from {names[0]} to {names[-1]}.")]
    marks = ui.input_checkbox_group(
        "ticked", label("Items found", "--items"), {name: name for name in names}, selected=list(ticked)
    )
    buttons = [
        tags.button({"type": "button", "class": "btn small", "data-ticks": "votes-ticked", "data-to": to}, text)
        for to, text in (("all", "All"), ("none", "None"))
    ]
    return [tags.div({"class": "ticks"}, marks), tags.div({"class": "buttons"}, *buttons)]


# ---- what was chosen -------------------------------------------------------------------------------------------------


def value_of(input: Inputs, name: str) -> Any:
    """What a field has; None where there is no such field now."""
    return input[name]() if name in input else None


def chosen_reading(input: Inputs, looked: Looked) -> dict[str, Any]:
    """The words of `read_votes` that were chosen."""
    chosen = {name: value for name in NAMES if (value := value_of(input, name)) not in (None, "")}
    chosen |= {name: _number(name, chosen[name]) for name in NUMBERS if name in chosen}
    meanings = {word: value_of(input, f"answer_{place}") for place, word in enumerate(_words(looked))}
    answers = {word: meaning for word, meaning in meanings.items() if meaning}
    missing = [word for word, meaning in answers.items() if meaning == "missing"]
    outcomes = {word: meaning for word, meaning in answers.items() if meaning != "missing"}
    if outcomes:
        chosen["outcomes"] = outcomes
    if missing:
        chosen["missing"] = missing
    return chosen


def _words(looked: Looked) -> list[str]:
    """The answers whose meaning can be said: those that do not name an item."""
    return [word for word in looked.answers if word not in looked.items]


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise QuietrankError(f"{_option(name)} must be a whole number; got {text!r}") from None


def items_in(input: Inputs, name: str) -> list[str]:
    """The items in a field that has one per line."""
    return [line.strip() for line in (value_of(input, name) or "").splitlines() if line.strip()]


def items_before_reading(input: Inputs) -> tuple[str, ...] | None:
    """Items that were typed in before the file could be read; None if none were."""
    names = items_in(input, "listed")
    return checked_items(names) if names else None
