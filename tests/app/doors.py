"""A small Shiny app behind a door on a free port, and what knocks at it: over real HTTP, and over real websockets."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from shiny import App, Inputs, Outputs, Session, reactive, ui
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from quietrank.app import serve
from quietrank.app.guard import Guard, guarded, inline_scripts

TOKEN = "the-token"
LARGEST = 5000
Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    """with names in small letters"""
    text: str


def small_app(folder: Path | None = None) -> App:
    """A page with a file input, which counts the bytes of what it is given; the folder is not used."""

    def server(input: Inputs, output: Outputs, session: Session) -> None:
        @reactive.effect
        async def _() -> None:
            if files := input.votes():
                await session.send_custom_message("file", {"bytes": Path(files[0]["datapath"]).stat().st_size})

    no_icon = ui.head_content(ui.tags.link(rel="icon", href="data:,"))  # a browser asks for one outside the room
    return App(ui.page_fluid(no_icon, ui.h1("Votes"), ui.input_file("votes", "Votes")), server)


@dataclass
class Door:
    """A guard that runs, and how to knock."""

    guard: Guard
    port: int
    answers: list[int]
    """the status of every answer; of a websocket 101, or 403"""

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def cookie(self) -> tuple[str, str]:
        return ("Cookie", f"quietrank={self.guard.key}")

    def inside(self, path: str = "") -> str:
        return f"/{self.guard.room}/{path}"

    def ask(
        self, path: str, headers: Headers = (), method: str = "GET", hosts: Sequence[str] | None = None,
        body: bytes | Sequence[bytes] = b"",
    ) -> Reply:  # fmt: skip
        """One request, with exactly these headers; a body in parts is sent in chunks."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in [*(("Host", host) for host in hosts or [self.host]), *headers]:
                connection.putheader(name, value)
            if not isinstance(body, bytes):
                connection.putheader("Transfer-Encoding", "chunked")
            with suppress(BrokenPipeError, ConnectionResetError):  # it may refuse before all is sent
                connection.endheaders(None if body == b"" else body, encode_chunked=not isinstance(body, bytes))
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, named, answer.read().decode())

    def ask_inside(self, path: str = "", *headers: tuple[str, str], **more: Any) -> Reply:
        """The same with room and cookie."""
        return self.ask(self.inside(path), [self.cookie, *headers], **more)

    def connect(
        self, *, origin: str | None, cookie: bool = True, path: str | None = None, host: str | None = None
    ) -> ClientConnection:
        """A websocket as Shiny's page opens it."""
        address = f"ws://{host or self.host}{path or self.inside('websocket/')}"
        return connect(
            address, sock=socket.create_connection(("127.0.0.1", self.port), 10), close_timeout=1,
            origin=None if origin is None else Origin(origin), additional_headers=[self.cookie] if cookie else [],
        )  # fmt: skip

    @property
    def origin(self) -> str:
        return f"http://{self.host}"


class Window:
    """A session of Shiny, as its page begins one."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        socket.send(json.dumps({"method": "init", "data": {}}))
        self.session = self.hear("config")["config"]["sessionId"]

    def hear(self, word: str) -> dict[str, Any]:
        """The next message that has this word."""
        while True:
            message: dict[str, Any] = json.loads(self._socket.recv(timeout=10))
            if word in message:
                return message

    def begin_upload(self, size: int) -> tuple[str, str]:
        """The job of an upload, and its address below the room."""
        about = [{"name": "votes.csv", "size": size, "type": "text/csv"}]
        self._socket.send(json.dumps({"method": "uploadInit", "args": [about], "tag": 1}))
        value = self.hear("response")["response"]["value"]
        return value["jobId"], value["uploadUrl"]

    def end_upload(self, job: str) -> int:
        """The number of bytes that the app was given."""
        self._socket.send(json.dumps({"method": "uploadEnd", "args": [job, "votes"], "tag": 2}))
        return int(self.hear("custom")["custom"]["file"]["bytes"])


@contextmanager
def door(app: Any = None) -> Iterator[Door]:
    """The app, or the small one, behind a new door."""
    app = app or small_app()
    listener = serve._listening(0)
    port = listener.getsockname()[1]
    html = app.ui["html"] if isinstance(app, App) else ""  # type: ignore[index]
    guard = guarded(app, port=port, token=TOKEN, largest=LARGEST, scripts=inline_scripts(html))
    answers: list[int] = []
    with running(serve._server(_noting(guard, answers)), listener):
        yield Door(guard, port, answers)


def _noting(app: Guard, answers: list[int]) -> Any:
    """The same app, with the status of its answers noted."""
    statuses = {"websocket.accept": 101, "websocket.close": 403}

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        async def note(message: Any) -> None:
            if status := message.get("status", statuses.get(message["type"])):
                answers.append(status)
            await send(message)

        await app(scope, receive, note)

    return noting


@contextmanager
def running(server: uvicorn.Server, listener: Any) -> Iterator[None]:
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)


def until(condition: Any, seconds: float = 20) -> None:
    """Wait until something is true, however busy the machine is."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)
