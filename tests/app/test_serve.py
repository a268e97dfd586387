"""The server of the app: it says where it is, leads the browser there in private, and ends when it is told to."""

from __future__ import annotations

import http.client
import multiprocessing
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.util import get_temp_dir
from pathlib import Path

import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from quietrank.app import serve as module
from quietrank.app.serve import serve
from quietrank.errors import QuietrankError
from tests.app.doors import Window, small_app, until

ROOT = Path(__file__).parents[2]
SERVING = """
import multiprocessing, sys, time
from quietrank.app.serve import serve
from tests.app.doors import small_app

def app(folder):
    if sys.argv[1] == "busy":
        multiprocessing.get_context("forkserver").Process(target=time.sleep, args=(60,), daemon=True).start()
    return small_app(folder)

recover = lambda orders: print("recovered", *sorted(path.name for path in orders.iterdir()), flush=True)
serve(app, port=0, browser=sys.argv[1] == "browser", largest=100_000_000, recover=recover)
"""
SECONDS = 5
"""in which it ends; it takes 1 to 2, of which 1 is for open connections, and more on a busy machine"""


@dataclass
class Run:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    address: str

    @property
    def port(self) -> int:
        return urllib.parse.urlsplit(self.address).port or 0

    def enter(self) -> tuple[str, str]:
        """The room's path, and its cookie."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request("GET", self.address.partition(str(self.port))[2])
            answer = connection.getresponse()
            assert answer.status == 303
            return answer.getheader("location") or "", (answer.getheader("set-cookie") or "").partition(";")[0]

    def end(self, number: int) -> tuple[int, float, str]:
        """Its exit code, how long it took, and what it said."""
        start = time.monotonic()
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, time.monotonic() - start, said


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The system's temporary folder, for the servers of a test."""
    get_temp_dir()  # that of this process is made where it belongs
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


@contextmanager
def run(place: Path, mode: str = "no-browser", **variables: str) -> Iterator[Run]:
    paths = {"TMPDIR": str(place), "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    process = subprocess.Popen(
        [sys.executable, "-c", SERVING, mode], env={**os.environ, **paths, **variables}, stdout=-1, stderr=-1, text=True
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        address = r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}"
        match = re.fullmatch(rf"quietrank app: ({address}) \(works once; Ctrl-C stops it\)\n", line)
        assert match is not None, line + process.stderr.read()
        yield Run(process, match[1])
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.few(1)
def test_it_ends_at_once(place: Path, number: int) -> None:
    """With a window open, half a request, half an upload and a job: soon, quietly, and without a file."""
    with run(place, "busy") as server:
        room, cookie = server.enter()
        host, address = f"127.0.0.1:{server.port}", ("127.0.0.1", server.port)
        where, origin = f"ws://{host}{room}websocket/", Origin(f"http://{host}")
        with (
            connect(where, origin=origin, additional_headers={"Cookie": cookie}, close_timeout=0) as window,
            socket.create_connection(address) as half_request,
            socket.create_connection(address) as half_upload,
        ):
            half_request.sendall(b"GET / HTTP/1.1\r\n")
            _, upload = Window(window).begin_upload(50_000_000)
            head = f"POST {room}{upload} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nContent-Length: 50000000"
            half_upload.sendall(f"{head}\r\n\r\n".encode() + b"x" * 500_000)
            until(lambda: any(path.is_file() and path.stat().st_size for path in place.rglob("fileupload-*/**/*")))
            code, seconds, said = server.end(number)
    assert (code, said) == (0, "")
    assert seconds < SECONDS
    assert list(place.iterdir()) == []


def test_what_still_runs_is_ended(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the folder is removed, so that nobody writes there afterwards."""
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with module._scratch():
        child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
        child.start()
    assert not child.is_alive()


def test_a_killed_server_is_swept_by_the_next(place: Path) -> None:
    """Its folder stays with the orders in it; the next one hands these over, and has a folder of its own."""
    with run(place) as server:
        (folder,) = place.glob("quietrank-app-*")
        (folder / "orders").mkdir()
        (folder / "orders" / "one").touch()
        server.end(signal.SIGKILL)
    assert folder.exists()
    with run(place) as server:
        assert server.process.stdout is not None
        assert server.process.stdout.readline() == "recovered one\n"
        until(lambda: not folder.exists())
        (other,) = place.glob("quietrank-app-*")
        (other / "orders").mkdir()
        (other / "orders" / "two").touch()
        code, _, said = server.end(signal.SIGINT)
    assert code == 0
    assert said == "quietrank app: a release was not finished; the next start finishes it, and it costs nothing more\n"
    assert [path.name for path in other.iterdir() if path.is_dir()] == ["orders"]


def test_the_browser_is_led_there_in_private(place: Path, tmp_path: Path) -> None:
    """It is started with the name of a file that only this user can read, and not with the address."""
    words, browser = tmp_path / "words", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {words}.new\nmv {words}.new {words}\nexec sleep 5 > /dev/null 2>&1\n')
    browser.chmod(0o755)
    with run(place, "browser", BROWSER=str(browser)) as server:
        until(words.exists)
        (word,) = words.read_text().split()
        page = Path(urllib.parse.urlsplit(word).path)
        assert word == page.as_uri()
        assert page.parent.parent == place
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        assert f'content="0; url={server.address}"' in page.read_text()
        code, seconds, said = server.end(signal.SIGINT)
    assert (code, said, seconds < SECONDS) == (0, "", True)
    assert list(place.iterdir()) == []


def test_a_port_in_use_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a remedy, and before anything is made."""
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with closing(module._listening(0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(QuietrankError, match=rf"port={port} is in use.*choose another one, or leave it out"):
            serve(small_app, port=port, browser=False, largest=1, recover=print)
    assert list(place.iterdir()) == []


def test_it_listens_on_this_machine_alone() -> None:
    """At 127.0.0.1, and at no other address of this machine."""
    with closing(module._listening(0)) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", listener.getsockname()[1]), 5)


def test_an_app_that_cannot_be_made_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is removed, and signals do what they did before."""
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    before = signal.getsignal(signal.SIGTERM)

    def fail(folder: Path) -> None:
        assert folder.parent == place
        raise QuietrankError("no app")

    with pytest.raises(QuietrankError, match="no app"):
        serve(fail, browser=False, largest=1, recover=print)  # type: ignore[arg-type]
    assert list(place.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before
