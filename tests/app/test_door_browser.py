"""The door in a real browser: the way in from a file, and what a page of another server can do, which is nothing.

Needs what tests/render/test_report_browser.py needs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from quietrank.app.serve import _entrance
from tests.app.doors import TOKEN, Door, door, until
from tests.render.test_report_browser import browser  # noqa: F401  a fixture

pytestmark = pytest.mark.browser

SHINYS_OWN = "DEPRECATED: "
"""what its calendar says about its languages"""
OPENS = """address => new Promise(done => {
    const socket = new WebSocket(address)
    socket.onopen = () => done("open")
    socket.onerror = () => done("refused")
})"""
READS = "address => fetch(address).then(answer => answer.text(), error => 'refused')"
SENDS = "address => fetch(address, {mode: 'no-cors', credentials: 'include', method: 'POST', body: 'x'})"
FRAMES = "address => { document.body.innerHTML = `<iframe src='${address}'></iframe>` }"


def _begun(page: Any) -> None:
    """Wait for Shiny's session; Playwright's own way to wait would need a policy that allows eval."""
    until(lambda: page.evaluate("Boolean(window.Shiny?.shinyapp?.config?.sessionId)"))


@contextmanager
def window(browser: Any) -> Iterator[tuple[Any, list[str]]]:  # noqa: F811
    """A page in a browser that has no cookies yet, and all that the browser complains about."""
    context, said = browser.new_context(), []
    page = context.new_page()
    page.on("console", lambda message: said.extend([message.text] * (not message.text.startswith(SHINYS_OWN))))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page, said
    context.close()


def _address(place: Door) -> str:
    return f"http://{place.host}/?token={TOKEN}"


def test_the_way_in(browser: Any, tmp_path: Path) -> None:  # noqa: F811
    """A file leads to the entrance, that to the room, and there Shiny works: in silence, with an upload, a reload and
    a second window."""
    with door() as place, window(browser) as (page, said):
        page.goto(_entrance(_address(place), tmp_path).as_uri())
        page.wait_for_url(f"http://{place.host}{place.inside()}")
        (tmp_path / "votes.csv").write_text("winner,loser\na,b\n")
        _begun(page)
        page.set_input_files("#votes", tmp_path / "votes.csv")
        page.get_by_text("Upload complete").wait_for()
        page.reload()
        _begun(page)
        second = page.context.new_page()
        second.goto(page.url)
        _begun(second)
        assert page.evaluate("document.cookie") == ""
        assert said == []


def test_a_stranger_reads_what_to_do(browser: Any) -> None:  # noqa: F811
    """The address works once; who comes later, or knows only the room, sees a page of a few sentences."""
    with door() as place, window(browser) as (page, _), window(browser) as (other, _):
        page.goto(_address(place))
        assert "go on in that window" in other.goto(_address(place)).text()
        assert other.goto(page.url).status == 403
        assert "printed in the terminal" in other.inner_text("body")


def test_a_page_of_another_server_can_do_nothing(browser: Any, tmp_path: Path) -> None:  # noqa: F811
    """On another port of this machine, in the same browser, and even if it knew the room: it can neither read nor
    frame pages, nor open a websocket, nor send a file, and it is not sent the cookie."""
    (tmp_path / "index.html").write_text("<!DOCTYPE html><title>x</title><body></body>")
    with door() as place, _other_server(tmp_path) as other, window(browser) as (page, _):
        page.goto(_address(place))
        _begun(page)
        room = f"{place.host}{place.inside()}"
        session = page.evaluate("Shiny.shinyapp.config.sessionId")
        assert page.evaluate(OPENS, f"ws://{room}websocket/") == "open"
        assert "Votes" in page.evaluate(READS, f"http://{room}")
        page.goto(f"http://127.0.0.1:{other.server_port}/")
        place.answers.clear()
        assert page.evaluate(OPENS, f"ws://{room}websocket/") == "refused"
        assert page.evaluate(READS, f"http://{room}") == "refused"
        page.evaluate(f"address => ({SENDS})(address).catch(() => 0)", f"http://{room}session/{session}/upload/x")
        page.evaluate(FRAMES, f"http://{room}")
        until(lambda: page.evaluate("1") and len(place.answers) >= 4)
        assert set(place.answers) == {403}
        assert set(CookieLog.cookies) == {None}


class CookieLog(SimpleHTTPRequestHandler):
    """Serves files, and notes the cookies that it is sent."""

    cookies: list[str | None] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.cookies.append(self.headers.get("Cookie"))
        super().do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def _other_server(folder: Path) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(CookieLog, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)
