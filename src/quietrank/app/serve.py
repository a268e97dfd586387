"""An app in, a server on this machine alone out, which runs until Ctrl-C and leaves no file behind."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from html import escape
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import TYPE_CHECKING

from quietrank.app import work
from quietrank.app.guard import guarded, inline_scripts
from quietrank.app.scratch import Scratch, sweep
from quietrank.errors import QuietrankError, option
from quietrank.render.screen import tell

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Message

HOST = "127.0.0.1"
LARGEST_MESSAGE = 2**20
"""of a websocket, in bytes; files do not come that way"""
GRACE = 1
"""seconds that open connections have to end"""
ENTRANCE = "open.html"


def serve(
    app_of: Callable[[Path], ASGIApp],
    *,
    port: int = 0,
    browser: bool = True,
    largest: int,
    recover: Callable[[Path], None],
) -> None:
    """Serve an app on this machine until Ctrl-C, SIGTERM, or the end of the terminal.

    `app_of` makes the app, and is told its private temporary folder; `port` 0 is any free one; `largest` is the most
    bytes of one upload; `recover` is called, in a thread of its own, with the orders of each run that was killed.
    """
    place = Path(tempfile.gettempdir())
    with _ending_by_signal() as stopper, closing(_listening(port)) as listener, _scratch() as scratch:
        threading.Thread(target=_sweep, args=(recover, place), daemon=True).start()
        app, token, number = app_of(scratch), secrets.token_urlsafe(32), listener.getsockname()[1]
        scripts = inline_scripts(asyncio.run(_front_page(app)))
        server = _server(guarded(app, port=number, token=token, largest=largest, scripts=scripts))
        stopper.append(server)
        _invite(f"http://{HOST}:{number}/?token={token}", scratch if browser else None)
        server.run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    """A socket that others on this machine can reach, and nobody else."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    exclusive = getattr(
        socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR
    )  # the former is how Windows keeps others out
    listener.setsockopt(socket.SOL_SOCKET, exclusive, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise QuietrankError(
                f"{option('port', port)} is in use, or not allowed; choose another one, or leave it out for a free one"
            ) from None
        raise
    return listener


@contextmanager
def _scratch() -> Iterator[Path]:
    """The private temporary folder of this run; at the end nobody writes there any more."""
    # Python's own folder, for the sockets of its processes, is made elsewhere: it is used until the very end.
    get_temp_dir()
    scratch = Scratch.make()
    try:
        yield scratch.path
    finally:
        work.finish()
        if not scratch.end():
            tell("quietrank app: a release was not finished; the next start finishes it, and it costs nothing more")


def _sweep(recover: Callable[[Path], None], place: Path) -> None:
    for path, error in sweep(recover, place):
        tell(f"quietrank app: what an earlier run left in {path} could not be finished ({error}); the next start tries")


# ---- signals ---------------------------------------------------------------------------------------------------------


@contextmanager
def _ending_by_signal() -> Iterator[list[uvicorn.Server]]:
    """Until the end, a signal that asks to stop stops the server that is put into the list; before there is one, it
    is as Ctrl-C. Uvicorn raises signals once more when it has stopped: by then they change nothing."""
    servers: list[uvicorn.Server] = []

    def stop(number: int, frame: object) -> None:
        if not servers:
            raise KeyboardInterrupt
        for server in servers:
            server.should_exit = True

    if threading.current_thread() is not threading.main_thread():
        yield servers
        return
    before = {number: signal.signal(number, stop) for number in _stopping_signals()}
    try:
        yield servers
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stopping_signals() -> list[signal.Signals]:
    """Ctrl-C, SIGTERM, and the closed terminal unless that is ignored, as with nohup."""
    names = ("SIGINT", "SIGTERM", "SIGBREAK" if sys.platform == "win32" else "SIGHUP")
    numbers = [signal.Signals[name] for name in names]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


# ---- the server ------------------------------------------------------------------------------------------------------


def _server(app: ASGIApp) -> uvicorn.Server:
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            ws_max_size=LARGEST_MESSAGE,
            ws_ping_interval=None,  # a computer that slept would lose its pages; the connection itself does not sleep
            timeout_graceful_shutdown=GRACE,
        )
    )


async def _front_page(app: ASGIApp) -> str:
    """The page that the app answers with, asked for without a network: its inline scripts must be known beforehand."""
    parts: list[bytes] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        parts.append(message.get("body", b""))

    about = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http"}
    where = {"path": "/", "raw_path": b"/", "root_path": "", "query_string": b"", "headers": [(b"host", b"localhost")]}
    await app({**about, **where, "server": (HOST, 80), "client": (HOST, 80)}, receive, send)
    return b"".join(parts).decode()


# ---- the invitation --------------------------------------------------------------------------------------------------


def _invite(address: str, folder: Path | None) -> None:
    """Print the address, and open it in the browser if there is a folder for the page that leads there."""
    tell(f"quietrank app: {address} (works once; Ctrl-C stops it)")
    if folder is not None:
        page = _entrance(address, folder)
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()  # some browsers block


def _entrance(address: str, folder: Path) -> Path:
    """A page that leads to the address. Other users can read what programs are started with, but not this file."""
    page = folder / ENTRANCE
    handle = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(
            '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>quietrank app</title>'
            f'<meta http-equiv="refresh" content="0; url={escape(address)}"></head>\n'
            f'<body><p><a href="{escape(address)}">quietrank app</a></p></body>\n</html>\n'
        )
    return page
