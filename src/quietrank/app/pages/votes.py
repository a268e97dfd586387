"""The page Votes: a file in, what was read as what out; once that is right, the list of items is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, tags

from quietrank.app import tasks
from quietrank.app.pages.desk import Desk, Runner
from quietrank.app.pages.frame import card, errors_for, sentence, table
from quietrank.app.pages.votes_form import (
    FORM,
    MOST_TICKS,
    OPTIONS,
    SHAPES,
    chosen_reading,
    items_before_reading,
    items_card,
    items_in,
    mapping_card,
    value_of,
)
from quietrank.app.tasks import Looked
from quietrank.app.wishes import Survey, checked_items
from quietrank.app.work import Job, State
from quietrank.errors import QuietrankError
from quietrank.votes.check import CONFIDENTIAL


@module.server
def votes_server(input: Inputs, output: Outputs, session: Session, desk: Desk) -> None:
    runner = Runner(desk, "votes-progress")
    source: reactive.Value[Survey | None] = reactive.Value(None, name="source")
    seen_items: reactive.Value[tuple[str, ...]] = reactive.Value((), name="seen_items")
    """all items that were seen in this file, whichever are declared now"""
    typed_items: reactive.Value[tuple[str, ...] | None] = reactive.Value(None, name="typed_items")
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
        seen_items.set(tuple(dict.fromkeys((*seen_items(), *looked.items))))
        desk.looked.set(looked)
        desk.survey.set(survey if _is_ready(survey, looked) else None)
        ui.update_checkbox("has_file", value=True)
        problem = None if looked.problem is None else survey.in_words(looked.problem)
        await desk.complain(FORM, {} if problem is None else errors_for(problem, OPTIONS, "votes-mapping"))
        await desk.say("The file was read." if problem is None else "The file is not understood yet.")

    async def begin(paths: tuple[str, ...], name: str, reading: Mapping[str, Any] | None = None) -> None:
        await desk.complain(FORM, {})
        seen_items.set(())
        typed_items.set(None)
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
            chosen = chosen_reading(input, looked)
            if looked.report is None:
                typed_items.set(items_before_reading(input))
        except QuietrankError as error:
            await desk.complain(FORM, errors_for(error.in_options(), OPTIONS, "votes-mapping"))
            return
        look(replace(survey, reading=chosen, items=typed_items(), skip_invalid=bool(value_of(input, "skip_invalid"))))

    @reactive.effect
    @reactive.event(input.declare)
    async def _declare() -> None:
        """The ticked items, and others, are what is ranked."""
        survey = source()
        if survey is None:
            return
        try:
            ticked = seen_items() if len(seen_items()) > MOST_TICKS else value_of(input, "ticked") or ()
            names = checked_items([*ticked, *items_in(input, "other_items")])
        except QuietrankError as error:
            await desk.complain(FORM, {"votes-items_all": sentence(error.in_options())})
            return
        look(replace(survey, items=names, skip_invalid=bool(value_of(input, "skip_invalid"))))

    @render.ui
    def understood() -> TagChild:
        looked, survey = desk.looked(), source()
        return None if looked is None or survey is None else _understood(looked, survey)

    @render.ui
    def mapping() -> TagChild:
        looked = desk.looked()
        with reactive.isolate():
            survey = source()
        return None if looked is None or survey is None else mapping_card(looked, survey)

    @render.ui
    def items() -> TagChild:
        looked = desk.looked()
        with reactive.isolate():
            survey, names = source(), seen_items()
        if looked is None or survey is None or looked.report is None:
            return None
        return items_card(names, survey, looked, ready=desk.survey() is not None)


def _is_ready(survey: Survey, looked: Looked) -> bool:
    """Whether there can be a release: the items are declared, and rows that cannot be used are left out."""
    report = looked.report
    return report is not None and survey.items is not None and (survey.skip_invalid or not report.flaws)


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
