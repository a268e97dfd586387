"""The page Boards: a board of the folder in, how it stands out; and the days that are over are published."""

from __future__ import annotations

from collections.abc import Iterator

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from quietrank.app import tasks
from quietrank.app.pages.desk import Desk, Runner
from quietrank.app.pages.frame import (
    card,
    errors_for,
    html,
    label,
    message_for,
    page,
    row,
    select_field,
    sentence,
    text_field,
    working,
)
from quietrank.app.tasks import BoardShown
from quietrank.app.work import Job, State

FORM = "form-boards"


@module.ui
def boards_ui() -> Tag:
    return page(
        "boards",
        "Boards",
        "A ranking that is published every week or night, for one payment. Boards are made with quietrank board new.",
        tags.div(
            {"id": FORM},
            ui.output_ui("listed"),
            working("board-progress", "stop"),
            message_for("boards-all"),
            ui.output_ui("last"),
            ui.output_ui("update_form"),
        ),
    )


OPTIONS = {"--day-column": "boards-day_column", "--id": "boards-id", "--until": "boards-until"}


@module.server
def boards_server(input: Inputs, output: Outputs, session: Session, desk: Desk) -> None:
    runner = Runner(desk, "board-progress")
    shown: reactive.Value[BoardShown | None] = reactive.Value(None, name="shown")

    @render.ui
    def listed() -> TagChild:
        names = desk.house.boards()
        if not names:
            return card(
                "No board yet",
                tags.p(f"There is none in {desk.house.folder}."),
                tags.pre(
                    {"class": "command"},
                    "quietrank board new arena.board --items models.txt --epsilon 2 --delta 1e-6 --ledger budget.db",
                ),
            )
        return ui.input_select("board", label("Board", "BOARD"), names)

    @reactive.effect
    def _look() -> None:
        if "board" in input and input.board():
            look(input.board())

    def look(name: str) -> None:
        async def then(done: Job) -> None:
            if done.state is State.DONE:
                shown.set(done.result)
            elif done.failure is not None:
                await desk.complain(FORM, {"boards-all": sentence(done.failure.message)})

        shown.set(None)
        runner.start(Job(tasks.look_at_board, desk.house.folder / name), then)

    @reactive.effect
    @reactive.event(input.update)
    async def _update() -> None:
        survey = desk.survey()
        if survey is None:
            await desk.complain(FORM, {"boards-all": "Choose the file of votes on the page Votes first."})
            return
        days = {"day_column": input.day_column(), "id": input.id() or None, "until": input.until().strip() or None}

        async def then(done: Job) -> None:
            if done.state is State.DONE:
                published: list[int] = done.result
                await desk.say(f"{len(published)} published.")
                look(input.board())
            elif done.failure is not None:
                await desk.complain(FORM, errors_for(done.failure.message, OPTIONS, "boards-all"))

        await desk.complain(FORM, {})
        job = Job(tasks.update_board, desk.house.folder / input.board(), survey, days)
        runner.start(job, then)

    @reactive.effect
    @reactive.event(input.stop)
    def _stop() -> None:
        runner.cancel()

    @render.ui
    def last() -> TagChild:
        board = shown()
        return None if board is None else _last(board)

    @render.ui
    def update_form() -> TagChild:
        if shown() is None:
            return None
        looked, survey = desk.looked(), desk.survey()
        if looked is None or survey is None:
            return card(
                "Publish the days that are over",
                tags.p("Choose the file of votes on the page Votes; it is read again here."),
            )
        columns = {name: name for name in looked.preview.columns}
        return card(
            "Publish the days that are over",
            tags.p(f"From {survey.name}. Days that were counted are not counted again; this costs nothing more."),
            row(
                select_field("day_column", "When a vote was cast", columns, "--day-column"),
                select_field("id", "Which vote it is", {"": "no such column"} | columns, "--id"),
                text_field("until", "Last day that is over", "--until", example="yesterday"),
            ),
            ui.input_action_button("update", "Publish them", class_="main"),
        )

    @render.download_button(filename="board.html")
    def report() -> Iterator[str]:
        board = shown()
        yield "" if board is None else board.report or ""


def _last(board: BoardShown) -> TagList:
    parts: list[TagChild] = [tags.p({"class": "big"}, sentence(board.summary))]
    if board.ends_soon is not None:
        parts.append(tags.p({"class": "warning"}, sentence(board.ends_soon)))
    if board.hidden is not None:
        parts.append(tags.p(sentence(board.hidden)))
    if board.report is not None:
        parts.append(tags.div({"class": "buttons"}, ui.download_button("report", "Report (HTML)")))
    if board.html is not None:
        parts.append(tags.div(html(board.html)))
    return TagList(card(None, *parts))
