"""`quietrank app`: a folder in; its votes, ledgers and boards in a browser, until Ctrl-C."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quietrank.errors import QuietrankError, UsageError

if TYPE_CHECKING:
    from shiny import App

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
NEEDED = ("shiny", "uvicorn")


def browse(
    folder: Annotated[
        Path, typer.Argument(help="Where ledgers and boards are looked for; without it here.", show_default=False)
    ] = Path(),
    port: Annotated[int, typer.Option(help="Port on this machine; 0 is any free one.", metavar="N")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open no browser.")] = False,
    max_upload: Annotated[str, typer.Option(help="The largest file that may be uploaded.", metavar="SIZE")] = "2GB",
) -> None:
    """Do all this in a browser. It runs on this machine alone, until Ctrl-C; its address works once."""
    largest = _bytes(max_upload)
    if not (port == 0 or 1024 <= port <= 65535):
        raise UsageError(f"--port must be from 1024 to 65535, or 0 for any free one; got --port {port}")
    if not folder.is_dir():
        raise QuietrankError(f"there is no folder {folder}; make it, or give another one")
    if any(find_spec(name) is None for name in NEEDED):
        raise QuietrankError("the app needs Shiny; install it with pip install 'quietrank[app]'")
    _serve(folder.resolve(), port, not no_browser, largest)


def _serve(folder: Path, port: int, browser: bool, largest: int) -> None:
    from quietrank.app.orders import recover
    from quietrank.app.pages import make_app
    from quietrank.app.serve import serve
    from quietrank.app.work import prepare

    def made(scratch: Path) -> App:
        prepare()
        return make_app(folder, scratch)

    serve(made, port=port, browser=browser, largest=largest, recover=recover)


def _bytes(size: str) -> int:
    """The number of bytes of a size such as 2GB."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]B)\s*", size, flags=re.IGNORECASE)
    number = 0 if match is None else int(float(match[1]) * UNITS[match[2].upper()])
    if number < 1:
        raise UsageError(f"--max-upload must be a size such as 500MB or 2GB; got --max-upload {size}")
    return number
