"""The page Result: a release that was paid for in; its files, and other readings of the same noisy counts, out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, tags

from quietrank.app import tasks
from quietrank.app.orders import fetch
from quietrank.app.pages.desk import Desk, Runner
from quietrank.app.pages.frame import (
    card,
    html,
    label,
    message_for,
    page,
    row,
    select_field,
    sentence,
    step_button,
    working,
)
from quietrank.app.tasks import Shown
from quietrank.app.work import Job, State
from quietrank.errors import QuietrankError
from quietrank.publish.view import Scale

FORM = "form-result"


@module.ui
def result_ui() -> Tag:
    return page(
        "result",
        "Result",
        "What was released. It is kept in its budget, and can be fetched again at any time.",
        tags.div(
            {"id": FORM},
            working("result-progress", "stop"),
            message_for("result-all"),
            ui.output_ui("files"),
            ui.output_ui("views"),
            ui.output_ui("answer"),
        ),
    )


@module.server
def result_server(input: Inputs, output: Outputs, session: Session, desk: Desk) -> None:
    runner = Runner(desk, "result-progress")
    delivered: reactive.Value[dict[str, Any] | None] = reactive.Value(None, name="delivered")
    shown: reactive.Value[Shown | None] = reactive.Value(None, name="shown")
    possible: reactive.Value[tuple[tuple[str, ...], str, str]] = reactive.Value(((), "", ""), name="possible")

    @reactive.effect
    async def _fetched() -> None:
        """The release that this window is about, from its ledger."""
        about = desk.result()
        if about is None:
            return
        try:
            text = fetch(*about)
        except QuietrankError as error:
            await desk.complain(FORM, {"result-all": sentence(error.in_options())})
            return
        delivered.set(text)
        shown.set(None)
        draw(text, None)

    def draw(text: dict[str, Any], view: dict[str, Any] | None) -> None:
        async def then(done: Job) -> None:
            if done.state is State.DONE:
                result: Shown = done.result
                if view is None:
                    possible.set((result.methods, result.method, result.scale))
                shown.set(result)
                await desk.complain(FORM, {})
            elif done.failure is not None:
                await desk.complain(FORM, {"result-all": sentence(done.failure.message)})

        runner.start(Job(tasks.show, text, view), then)

    @reactive.effect
    @reactive.event(input.again)
    def _again() -> None:
        text = delivered()
        if text is not None:
            scale = {"scale": input.scale()} if input.method() == "bradley-terry" else {}
            level = float(input.level() or 90) / 100
            draw(text, {"method": input.method(), "level": level, "simultaneous": input.simultaneous(), **scale})

    @reactive.effect
    @reactive.event(input.stop)
    def _stop() -> None:
        runner.cancel()

    @render.ui
    def answer() -> TagChild:
        result = shown()
        if result is None:
            if desk.result() is None:
                return card(
                    "Nothing is released yet",
                    step_button("release", "To the release"),
                    step_button("history", "Open an earlier one", main=False),
                )
            return None
        return tags.div({"class": "card", "id": "the-result"}, html(result.html))

    @render.ui
    def views() -> TagChild:
        methods, method, scale = possible()
        if not methods:
            return None
        return card(
            "Look at it in another way",
            tags.p({"class": "quiet"}, "Made from the same noisy counts. It costs nothing, however often you do it."),
            row(
                ui.input_select("method", label("Ranked by", "--method"), list(methods), selected=method),
                select_field(
                    "scale",
                    "Scale",
                    list(Scale),
                    "--scale",
                    selected=scale or Scale.LOG_ODDS,
                    when="method=bradley-terry",
                ),
                ui.input_numeric("level", label("Level in %", "--level"), 90, min=50, max=99.9),
                ui.input_checkbox("simultaneous", label("For all items together", "--simultaneous")),
            ),
            ui.input_action_button("again", "Show it like this"),
        )

    @render.ui
    def files() -> TagChild:
        if shown() is None:
            return None
        return tags.div(
            {"class": "buttons"},
            ui.download_button("report", "Report (HTML)", class_="main"),
            ui.download_button("release_json", "Release (JSON)"),
            ui.download_button("table", "Table (CSV)"),
            *([ui.download_button("figure", "Figure (SVG)")] if _now().figure else []),
        )

    def _now() -> Shown:
        result = shown()
        if result is None:
            raise QuietrankError("nothing is shown yet")
        return result

    @render.download_button(filename="ranking.html")
    def report() -> Iterator[str]:
        yield _now().report

    @render.download_button(filename="release.json")
    def release_json() -> Iterator[str]:
        yield _now().json

    @render.download_button(filename="release.csv")
    def table() -> Iterator[str]:
        yield _now().csv

    @render.download_button(filename="ranking.svg")
    def figure() -> Iterator[str]:
        yield _now().figure or ""
