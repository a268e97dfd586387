"""Votes: a file in, what was read as what out; columns and answers are mapped by clicking, and items declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from quietrank.app import tasks
from quietrank.app.pages.desk import Desk, Runner
from quietrank.app.pages.frame import (
    card,
    errors_for,
    field,
    label,
    message_for,
    more,
    page,
    row,
    sentence,
    step_button,
    table,
    working,
)
from quietrank.app.tasks import Looked
from quietrank.app.wishes import Survey, declared
from quietrank.app.work import Job, State
from quietrank.errors import QuietrankError
from quietrank.votes.check import CONFIDENTIAL

FORM = "form-votes"
ENDINGS = (
    ".csv",
    ".tsv",
    ".txt",
    ".parquet",
    ".json",
    ".jsonl",
    ".ndjson",
    ".xlsx",
    ".gz",
    ".zst",
    ".soc",
    ".soi",
    ".toc",
    ".toi",
)
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
                    ui.input_file(
                        "file", label("CSV, Excel, Parquet, JSON or PrefLib"), accept=list(ENDINGS), width="100%"
                    ),
                    "votes-file",
                ),
                field(
                    ui.input_text(
                        "path", label("Or its path on this machine", "VOTES"), placeholder="/data/votes.parquet"
                    ),
                    "votes-path",
                    "A file, a folder of parts, or a pattern. It is read where it is.",
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


@module.server
def votes_server(input: Inputs, output: Outputs, session: Session, desk: Desk) -> None:
    runner = Runner(desk, "votes-progress")
    source: reactive.Value[Survey | None] = reactive.Value(None, name="source")
    found: reactive.Value[tuple[str, ...]] = reactive.Value((), name="found")
    """all items that were seen in this file, whichever are declared now"""
    typed: reactive.Value[tuple[str, ...] | None] = reactive.Value(None, name="typed")
    """items that were typed in before this file could be read; their field is gone once it can be, its value is not"""

    def look(survey: Survey) -> None:
        """Read a file, and show what it seems to hold."""

        async def then(done: Job) -> None:
            if done.state is State.DONE:
                await understood_as(survey, done.result)
            elif done.failure is not None:
                await desk.complain(FORM, errors_for(survey.in_words(done.failure.message), OPTIONS, "votes-all"))

        runner.start(Job(tasks.look, survey), then)

    async def understood_as(survey: Survey, looked: Looked) -> None:
        source.set(survey)
        found.set(tuple(dict.fromkeys((*found(), *looked.items))))
        desk.looked.set(looked)
        desk.survey.set(survey if _is_ready(survey, looked) else None)
        ui.update_checkbox("has_file", value=True)
        problem = None if looked.problem is None else survey.in_words(looked.problem)
        await desk.complain(FORM, {} if problem is None else errors_for(problem, OPTIONS, "votes-mapping"))
        await desk.say("The file was read." if problem is None else "The file is not understood yet.")

    async def begin(paths: tuple[str, ...], name: str, reading: Mapping[str, Any] | None = None) -> None:
        await desk.complain(FORM, {})
        found.set(())
        typed.set(None)
        source.set(None)
        desk.looked.set(None)
        desk.survey.set(None)
        look(Survey(paths, name, reading or {}))

    @reactive.effect
    @reactive.event(input.file)
    async def _uploaded() -> None:
        chosen = input.file()
        if chosen:
            await begin((chosen[0]["datapath"],), chosen[0]["name"])

    @reactive.effect
    @reactive.event(input.open_path)
    async def _path() -> None:
        path = input.path().strip()
        if path:
            await begin((path,), path)
        else:
            await desk.complain(FORM, {"votes-path": "Type the path of a file or a folder, or choose a file above."})

    @reactive.effect
    @reactive.event(input.bundled)
    async def _bundled() -> None:
        await begin((str(Path(str(files("quietrank") / "data" / "cems.csv"))),), "cems.csv")

    @reactive.effect
    @reactive.event(input.stop)
    def _stop() -> None:
        runner.cancel()

    @reactive.effect
    @reactive.event(input.read_again)
    async def _again() -> None:
        """Read the file as it is mapped now."""
        survey, looked = source(), desk.looked()
        if survey is None or looked is None:
            return
        try:
            chosen = _reading(input, looked)
            if looked.report is None:
                typed.set(_listed(input))
        except QuietrankError as error:
            await desk.complain(FORM, errors_for(error.in_options(), OPTIONS, "votes-mapping"))
            return
        look(replace(survey, reading=chosen, items=typed(), skip_invalid=bool(_value(input, "skip_invalid"))))

    @reactive.effect
    @reactive.event(input.declare)
    async def _declare() -> None:
        """The ticked items, and others, are what is ranked."""
        survey = source()
        if survey is None:
            return
        others = [line.strip() for line in (_value(input, "other_items") or "").splitlines() if line.strip()]
        try:
            ticked = found() if len(found()) > MOST_TICKS else _value(input, "ticked") or ()
            names = declared([*ticked, *others])
        except QuietrankError as error:
            await desk.complain(FORM, {"votes-items_all": sentence(error.in_options())})
            return
        look(replace(survey, items=names, skip_invalid=bool(_value(input, "skip_invalid"))))

    @render.ui
    def understood() -> TagChild:
        looked, survey = desk.looked(), source()
        return None if looked is None or survey is None else _understood(looked, survey)

    @render.ui
    def mapping() -> TagChild:
        looked = desk.looked()
        with reactive.isolate():
            survey = source()
        return None if looked is None or survey is None else _mapping(looked, survey)

    @render.ui
    def items() -> TagChild:
        looked = desk.looked()
        with reactive.isolate():
            survey, names = source(), found()
        if looked is None or survey is None or looked.report is None:
            return None
        return _items(names, survey, looked, ready=desk.survey() is not None)


def _is_ready(survey: Survey, looked: Looked) -> bool:
    """Whether there can be a release: the items are declared, and rows that cannot be used are left out."""
    report = looked.report
    return report is not None and survey.items is not None and (survey.skip_invalid or not report.flaws)


# ---- what was chosen -------------------------------------------------------------------------------------------------


def _value(input: Inputs, name: str) -> Any:
    """What a field has; None where there is no such field now."""
    return input[name]() if name in input else None


def _reading(input: Inputs, looked: Looked) -> dict[str, Any]:
    """The words of `read_votes` that were chosen."""
    names = ("shape", *COLUMNS, *WORDS, *DETAILS)
    chosen = {name: value for name in names if (value := _value(input, name)) not in (None, "")}
    chosen |= {name: _number(name, chosen[name]) for name in NUMBERS if name in chosen}
    answers = {}
    for place, word in enumerate(_words(looked)):
        if meaning := _value(input, f"answer_{place}"):
            answers[word] = meaning
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
        raise QuietrankError(f"--{name.replace('_', '-')} must be a whole number; got {text!r}") from None


def _listed(input: Inputs) -> tuple[str, ...] | None:
    """Items that were typed in before the file could be read; None if none were."""
    names = [line.strip() for line in (_value(input, "listed") or "").splitlines() if line.strip()]
    return declared(names) if names else None


OPTIONS = {
    f"--{name.replace('_', '-')}": f"votes-{name}" for name in ("shape", *COLUMNS, *WORDS, *DETAILS, "skip_invalid")
} | {"--items": "votes-listed", "--outcomes": "votes-answers", "--missing": "votes-answers", "--shape": "votes-shape"}


# ---- what is shown ---------------------------------------------------------------------------------------------------


def _understood(looked: Looked, survey: Survey) -> Tag:
    """What the file seems to hold, for the data holder."""
    banner = tags.p({"class": "banner"}, CONFIDENTIAL)
    if looked.report is None:
        first = table(
            looked.preview.columns[:8], [one[:8] for one in looked.preview.rows], f"First rows of {survey.name}"
        )
        return card(
            "This file is not understood yet",
            banner,
            tags.p(sentence(survey.in_words(looked.problem or ""))),
            first,
            kind="confidential",
        )
    report = looked.report
    columns = [
        ("a row is", SHAPES.get(report.shape, report.shape)),
        *((f"read as {role}", name) for role, name in report.columns.items()),
    ]
    if report.unread:
        columns.append(("not read", ", ".join(report.unread[:12]) + (", …" if len(report.unread) > 12 else "")))
    facts = [(name, f"{value:g}") for name, value in report.counts().items()]
    return card(
        f"What was read from {survey.name}",
        banner,
        *(tags.p(sentence(one if one.startswith("row") else f"row: {one}")) for one in report.understood[:4]),
        *(tags.p({"class": "error"}, one) for one in (*report.examples, *report.codings)),
        tags.div(
            {"class": "beside"},
            table(("what", "column"), columns, "Which column was read as what"),
            table(("count", "exact"), facts, "Exact counts"),
        ),
        *(tags.p({"class": "quiet"}, one) for one in report.notes),
        kind="confidential",
    )


def _mapping(looked: Looked, survey: Survey) -> Tag:
    """Fields that say what is what."""
    reading, understood = survey.reading, looked.report is not None
    columns = {"": "as recognised", **{name: name for name in looked.preview.columns}}

    def column(name: str, text: str, when: str | None) -> Tag:
        known = {"": "as recognised"} if name != "person" else {"": "as recognised, or nobody"}
        control = ui.input_select(name, label(text, _option(name)), columns | known, selected=reading.get(name, ""))
        return field(control, f"votes-{name}", when=_when(when))

    def text(name: str, words: str, example: str = "", when: str | None = None) -> Tag:
        control = ui.input_text(name, label(words, _option(name)), str(reading.get(name, "")), placeholder=example)
        return field(control, f"votes-{name}", when=_when(when))

    parts = TagList(
        field(
            ui.input_select("shape", label("A row is", "--shape"), SHAPES, selected=reading.get("shape", "")),
            "votes-shape",
        ),
        row(*(column(name, *about) for name, about in COLUMNS.items())),
        row(*(text(name, *about) for name, about in WORDS.items())),
        _answers(looked, reading),
        *([] if understood else [_typed_items(survey)]),
        more("Details", row(*(text(name, words) for name, words in DETAILS.items()))),
        message_for("votes-mapping"),
        tags.div({"class": "buttons"}, ui.input_action_button("read_again", "Read it like this")),
    )
    if understood:
        return card(None, more("Something was read wrongly: say what is what", parts))
    return card("Say what is what", parts)


def _when(when: str | None) -> str | None:
    """With the name of this page's fields."""
    return None if when is None else " ".join(f"votes-{term}" for term in when.split(" "))


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
        ui.input_text_area("listed", label("Items, one per line", "--items"), "\n".join(survey.items or ())),
        "votes-listed",
        "For a survey with a column per pair, or a column per item, the items have to be known first.",
    )


def _items(names: tuple[str, ...], survey: Survey, looked: Looked, *, ready: bool) -> Tag:
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
            ui.input_text_area(
                "other_items", "Other items that could have been voted on, one per line", "\n".join(others)
            ),
            "votes-other_items",
        ),
        field(
            ui.input_checkbox(
                "skip_invalid", label("Leave out rows that cannot be used", "--skip-invalid"), survey.skip_invalid
            ),
            "votes-skip_invalid",
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
