"""A folder of ledgers and boards in, the app out: a head, a list of steps, and a section for each page."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from htmltools import HTMLDependency
from shiny import App, Inputs, Outputs, Session, reactive, render, ui
from shiny.ui import Tag, TagChild, tags

from quietrank import __version__
from quietrank.app.pages.boards import boards_server, boards_ui
from quietrank.app.pages.desk import Desk, House, Runner
from quietrank.app.pages.frame import step_button, working
from quietrank.app.pages.history import history_server, history_ui
from quietrank.app.pages.plan import plan_server, plan_ui
from quietrank.app.pages.release import release_server
from quietrank.app.pages.release_form import release_ui
from quietrank.app.pages.result import result_server, result_ui
from quietrank.app.pages.votes import votes_server
from quietrank.app.pages.votes_form import votes_ui
from quietrank.app.work import Job, State

STEPS = {"plan": "1 Plan", "votes": "2 Votes", "release": "3 Release", "result": "4 Result"}
STATIC = {"quietrank.render": ["report.css"], "quietrank.app.pages.static": ["app.css", "app.js"]}
BESIDE = {"boards": "Boards", "history": "History"}


def make_app(folder: Path, scratch: Path) -> App:
    """The app over the ledgers and boards of a folder; uploads and orders are kept in `scratch`."""
    house = House(folder.resolve(), scratch.resolve())

    def server(input: Inputs, output: Outputs, session: Session) -> None:
        desk = Desk(house, session)
        plan_server("plan", desk)
        votes_server("votes", desk)
        release_server("release", desk)
        result_server("result", desk)
        boards_server("boards", desk)
        history_server("history", desk)
        _rejoin(desk)

        opened: reactive.Value[tuple[Path, str] | None] = reactive.Value(None, name="opened")

        @reactive.effect
        def _opened() -> None:
            if input.step() == "result":
                opened.set(desk.result())

        @render.ui
        def notice() -> TagChild:
            """After a reload, or in a second window: what was released before is a click away."""
            if desk.result() in (None, opened()):
                return None
            return tags.div({"class": "notice"}, "A release is ready. ", step_button("result", "Open it", main=False))

    return App(_page(_static(house.scratch)), server)


def _rejoin(desk: Desk) -> None:
    """Wait for an order that another window placed, which may be this one before it was reloaded."""
    for about, job in desk.house.running.items():
        if job.poll() is not State.RUNNING:
            continue

        async def then(done: Job, about: tuple[Path, str] = about) -> None:
            desk.ledgers.set(desk.ledgers() + 1)
            if done.state is State.DONE:
                desk.house.latest = about
                desk.result.set(about)

        Runner(desk, "rejoined").start(job, then, outlives_window=True)


def _page(static: Path) -> Tag:
    return tags.html(
        {"lang": "en"},
        ui.head_content(
            tags.meta(name="viewport", content="width=device-width, initial-scale=1"),
            tags.meta(name="color-scheme", content="light dark"),
            tags.title("quietrank"),
            tags.link(rel="icon", href="data:,"),
        ),
        tags.body(
            _style(static),
            tags.a({"class": "skip", "href": "#main"}, "To the page"),
            tags.header(
                {"class": "top"},
                tags.div(
                    tags.div({"class": "brand"}, "quietrank", tags.small(f"on this machine · {__version__}")), _steps()
                ),
            ),
            tags.main(
                {"id": "main"},
                ui.output_ui("notice"),
                working("rejoined"),
                plan_ui("plan"),
                votes_ui("votes"),
                release_ui("release"),
                result_ui("result"),
                boards_ui("boards"),
                history_ui("history"),
            ),
            tags.p({"id": "said", "class": "skip", "role": "status", "aria-live": "polite"}),
            tags.div(
                {"id": "lost", "class": "lost", "role": "alert", "hidden": ""},
                tags.p(
                    "The connection to quietrank is lost. Nothing is spent twice: what was paid for is finished, and "
                    "is under History. If quietrank was stopped, start it again, and use the new address."
                ),
                tags.button({"type": "button", "class": "btn", "id": "reload"}, "Reload"),
            ),
        ),
    )


def _steps() -> Tag:
    def entry(step: str, text: str, kind: str = "") -> Tag:
        return tags.li({"class": kind}, tags.button({"type": "button", "data-step": step}, text))

    first, *others = BESIDE.items()
    return tags.nav(
        {"aria-label": "Steps"},
        tags.ol(*(entry(*one) for one in STEPS.items()), entry(*first, "aside"), *(entry(*one) for one in others)),
    )


def _static(scratch: Path) -> Path:
    """The style of reports, ours, and the script, together in a folder that is served whole."""
    folder = scratch / "static"
    folder.mkdir()
    for package, names in STATIC.items():
        for name in names:
            (folder / name).write_text((files(package) / name).read_text(encoding="utf-8"), encoding="utf-8")
    return folder


def _style(static: Path) -> HTMLDependency:
    return HTMLDependency(
        "quietrank",
        __version__,
        source={"subdir": str(static)},
        stylesheet=[{"href": "report.css"}, {"href": "app.css"}],
        script=[{"src": "app.js", "defer": ""}],
    )
