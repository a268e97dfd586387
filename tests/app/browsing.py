"""`quietrank app` as a process, and its pages in a real Chromium: a folder in, what a person does and sees out.

A `Server` is started, stopped and killed. A `Window` does the steps of a person, and notes all that the browser said
and asked for. A `Visit` is both, and at its end checks what must hold in every test: silence, no request to another
machine, and no word of the server but its address.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import quietrank as qr
from quietrank.ledger.book import BudgetLedger
from quietrank.ledger.orders import Order, ordered

PHONE, DESK = 360, 1200
PATIENCE = 60.0
"""seconds for anything, on a busy machine"""
LOST = re.compile(r"WebSocket connection to 'ws://127\.0\.0\.1:|net::ERR_(CONNECTION_(REFUSED|RESET)|EMPTY_RESPONSE)")
"""what a browser says of a server that was killed"""
NO_WORDS_FOR_PEOPLE = re.compile(r"Traceback|Exception|Error\b|\bNone\b|<class|0x[0-9a-f]{6}")
BUDGET = "budget.db"


def until(condition: Callable[[], Any], seconds: float = PATIENCE, what: str = "it") -> Any:
    """Wait until something is true, and return it. Playwright's own way to wait needs a policy that allows eval."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} took longer than {seconds:g} seconds"
        time.sleep(0.02)
    return value


@contextmanager
def launched() -> Iterator[Any]:
    """A Chromium. Skipped, or failed, as the tests of the report are, where there is none."""
    from tests.render.test_report_browser import missing

    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("Playwright is not installed: it is the extra browser")
    chromium = shutil.which("chromium")
    if chromium is None:
        missing("there is no chromium on the path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        yield browser
        browser.close()


# ---- the server ------------------------------------------------------------------------------------------------------


@dataclass
class Server:
    """Runs of `quietrank app` over one folder, one after the other, with a temporary folder that can be looked into."""

    folder: Path
    temporary: Path
    said: list[str] = field(default_factory=list)
    """on stderr, in all runs"""
    _process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        """The address, which works once."""
        self._process = process = subprocess.Popen(
            [sys.executable, "-m", "quietrank", "app", str(self.folder), "--no-browser"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "TMPDIR": str(self.temporary)}, start_new_session=True,
        )  # fmt: skip
        lines: list[str] = []
        threading.Thread(target=_hear, args=(process, lines, self.said), daemon=True).start()

        def address() -> re.Match[str] | None:
            assert process.poll() is None, f"the server has ended: {lines}"
            return re.search(r"http://127\.0\.0\.1:\S+", "".join(lines))

        return str(until(address, what="the start of the server")[0])

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self) -> int:
        """End it as Ctrl-C does; returns its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(PATIENCE)

    def kill(self, *, whole_family: bool = False) -> None:
        """End it as a crash does; with its family, as the end of the machine."""
        assert self._process is not None
        family = self.family()
        if whole_family:
            os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait(PATIENCE)
        until(lambda: not _alive(family), what="the end of its other processes")

    def close(self) -> None:
        """Whatever is left; politely first, because only then is it known which lines it ran (make coverage)."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.stop()
            if self._process.poll() is None:
                self.kill(whole_family=True)

    def family(self) -> set[int]:
        """It, and the processes that it started."""
        return {pid for pid in _numbers(Path("/proc")) if _session(pid) == self.pid}

    @property
    def peak(self) -> int:
        """The most memory that the server itself has had, in bytes."""
        return _peak(self.pid)

    @property
    def peak_of_jobs(self) -> int:
        """The same of the largest of the processes that it started and that live."""
        return max((_peak(pid) for pid in self.family() - {self.pid}), default=0)

    # ---- what it keeps

    def scratches(self) -> list[Path]:
        """The temporary folders of its runs."""
        return sorted(self.temporary.glob("quietrank-app-*"))

    def kept(self) -> list[Path]:
        """All files in them that came from an upload, or from an order."""
        return [path for path in self.temporary.glob("quietrank-app-*/**/*") if path.suffix in (".csv", ".json")]

    def orders(self) -> list[Path]:
        """Orders that are placed and not delivered."""
        return list(self.temporary.glob("quietrank-app-*/orders/*/wish.json"))


def _hear(process: subprocess.Popen[str], *places: list[str]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        for place in places:
            place.append(line)


def _numbers(folder: Path) -> Iterator[int]:
    return (int(path.name) for path in folder.iterdir() if path.name.isdigit())


def _stat(pid: int) -> list[str]:
    """The fields of /proc/…/stat after the name, which may have blanks: state, parent, group, session, …"""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return []


def _session(pid: int) -> int:
    return int((_stat(pid) or ["0"] * 4)[3])


def _alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if (_stat(pid) or "Z")[0] not in "ZX"}


def _peak(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


# ---- the budget ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Budget:
    """The budget of a folder, looked at from outside the server."""

    path: Path

    @classmethod
    def make(cls, folder: Path, epsilon: float = 4, name: str = BUDGET) -> Budget:
        qr.Ledger.create(folder / name, epsilon, data="a test", unit="person")
        return cls(folder / name)

    @property
    def ledger(self) -> BudgetLedger:
        return BudgetLedger.open(self.path)

    @property
    def paid(self) -> int:
        return len(self.ledger.entries())

    @property
    def fetched(self) -> list[str]:
        """What can be fetched, as it was delivered, from the first payment on."""
        ledger = self.ledger
        names = [entry.order for entry, is_there in ordered(ledger) if is_there]
        return [str(Order(ledger, name).delivered) for name in names if name is not None]

    @property
    def is_even(self) -> bool:
        """Whether every payment has its release."""
        return all(is_there for _, is_there in ordered(self.ledger))


# ---- the window ------------------------------------------------------------------------------------------------------


@dataclass
class Window:
    """A page of the app, the steps of a person in it, and what the browser said and asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    pictures: Path | None = None

    def __post_init__(self) -> None:
        page = self.page
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(f"page error: {error}"))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: self.requests.append(socket.url))

    def open(self, address: str) -> Window:
        self.page.goto(address)
        self.wait_for("html[data-ready]")
        return self

    def reload(self) -> Window:
        self.page.reload()
        self.wait_for("html[data-ready]")
        return self

    # ---- looking

    def wait_for(self, selector: str) -> Any:
        """The first such element, as soon as it can be seen."""
        found = self.page.locator(selector).first
        found.wait_for()
        return found

    def sees(self, selector: str) -> bool:
        return bool(self.page.locator(selector).first.is_visible())

    def text(self, selector: str = "body") -> str:
        return " ".join(str(self.wait_for(selector).inner_text()).split())

    def wait_for_text(self, text: str, selector: str = "body") -> None:
        until(lambda: text in self.text(selector), what=f"“{text}” in {selector}, which has “{self.text(selector)}”,")

    def error_at(self, name: str) -> str:
        """The message beside a field; it is for people, and the field is marked."""
        said = self.text(f".error[data-for='{name}']:not(:empty)")
        assert not NO_WORDS_FOR_PEOPLE.search(said), said
        assert said.endswith((".", "!", "?"))
        return said

    @property
    def overflow(self) -> int:
        """How many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    # ---- steps

    def go(self, step: str) -> None:
        self.page.click(f"nav button[data-step={step}]")

    def choose(self, file: Path) -> None:
        """Upload a file, and wait until it was looked at."""
        self.go("votes")
        self.page.set_input_files("#votes-file", file)
        self.wait_for(f"#votes-understood :text('{file.name}'), #page-votes .error:text('{file.name}')")

    def declare(self) -> None:
        self.page.click("#votes-declare")
        self.wait_for("button.main[data-step=release]")

    def read_again(self) -> None:
        self.page.click("#votes-read_again")

    def to_release(self) -> None:
        self.page.click("button.main[data-step=release]")
        self.wait_for("#release-prepare:enabled")

    def make_budget(self, name: str, data: str) -> None:
        """A new one, which then pays."""
        self.page.select_option("#release-ledger", "")
        self.page.fill("#release-new_name", name)
        self.page.fill("#release-new_data", data)
        self.page.click("#release-make")
        until(lambda: self.page.input_value("#release-ledger") == f"{name}.db", what="the new budget")

    def pay_from(self, budget: Budget) -> None:
        self.page.select_option("#release-ledger", budget.path.name)

    def set_epsilon(self, epsilon: float) -> None:
        """Whatever was offered before is taken back."""
        self.page.fill("#release-epsilon", f"{epsilon:g}")
        self.page.press("#release-epsilon", "Tab")
        self.wait_for("#release-prepare:enabled")

    def ask_price(self) -> str:
        """The price that is shown."""
        self.page.click("#release-prepare")
        self.wait_for("#release-spend")
        return self.text("#release-price")

    def spend(self) -> str:
        """The result."""
        self.page.click("#release-spend")
        return self.result()

    def result(self) -> str:
        return self.text("#the-result")

    def ready_to_pay(self, file: Path, budget: Budget) -> None:
        """From a file to the button that asks for the price."""
        self.choose(file)
        self.declare()
        self.to_release()
        self.pay_from(budget)

    def ready_to_spend(self, file: Path, budget: Budget) -> None:
        """From a file to the button that spends."""
        self.ready_to_pay(file, budget)
        self.ask_price()

    def double_click(self, epsilon: float) -> None:
        """On the page of the release: order one that was not ordered before, with a double click, and wait for it."""
        self.set_epsilon(epsilon)
        self.ask_price()
        self.page.dblclick("#release-spend")
        self.wait_for_text(f"ε = {epsilon:g} per person", "#the-result")

    def download(self, selector: str, folder: Path) -> str:
        with self.page.expect_download() as download:
            self.page.click(selector)
        path = folder / str(download.value.suggested_filename)
        download.value.save_as(path)
        return path.read_text(encoding="utf-8")

    # ---- pictures

    def in_all_looks(self) -> Iterator[tuple[str, int]]:
        """Light and dark, wide and narrow; afterwards as it was."""
        for scheme in ("dark", "light"):
            for width in (PHONE, DESK):
                self.page.emulate_media(color_scheme=scheme)
                self.page.set_viewport_size({"width": width, "height": 900})
                yield scheme, width

    def screenshot(self, name: str) -> None:
        """The whole page as it is now."""
        assert self.pictures is not None
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.pictures / f"{name}.png", full_page=True)


# ---- a visit ---------------------------------------------------------------------------------------------------------


@dataclass
class Visit:
    """A server, a browser without a memory, and the windows that were opened."""

    server: Server
    context: Any
    pictures: Path
    windows: list[Window] = field(default_factory=list)
    room: str = ""
    """the address of the windows"""
    may_lose_server: bool = False
    """the test kills it: what the browser says of that is expected"""

    @property
    def folder(self) -> Path:
        return self.server.folder

    def enter(self) -> Window:
        """Start the server, and open its address."""
        window = self._window().open(self.server.start())
        self.room = window.page.url
        return window

    def another(self) -> Window:
        """One more window, at the address of the first."""
        return self._window().open(self.room)

    def _window(self) -> Window:
        self.windows.append(Window(self.context.new_page(), pictures=self.pictures))
        return self.windows[-1]

    def leave(self) -> None:
        """Check, and close all windows."""
        self.check()
        while self.windows:
            self.windows.pop().page.close()

    def restart(self) -> Window:
        """Start the server once more, and wait until it has finished what the run before had begun."""
        self.leave()
        window = self.enter()
        until(lambda: len(self.server.scratches()) == 1, what="recovery")
        return window

    def check(self) -> None:
        """What must hold of every visit."""
        for window in self.windows:
            loud = [text for text in window.said if not (self.may_lose_server and LOST.search(text))]
            assert loud == [], loud
            assert {_host(url) for url in window.requests} <= {"127.0.0.1", ""}
        told = [
            line for line in self.server.said if not re.match(r"quietrank app: http://127\.0\.0\.1:\d+/\?token=", line)
        ]
        assert told == [], told


def arena_votes(folder: Path) -> Path:
    """A file of votes with the day of each, over three weeks."""
    pairs = ("tea,coffee", "tea,water", "water,coffee")
    rows = [f"p{k},{pairs[k % 3]},2026-01-{5 + k % 21:02}" for k in range(600)]
    path = folder / "arena.csv"
    path.write_text("\n".join(["person,winner,loser,when", *rows]) + "\n")
    return path


def is_settled(visited: Visit, budget: Budget) -> None:
    """Wait until no order is open; then every payment has its release."""
    until(lambda: not visited.server.orders() and budget.is_even, what="the delivery")


def _host(url: str) -> str:
    """Whom a request goes to; nobody, if its address is its content."""
    parts = urlsplit(url)
    return "" if parts.scheme in ("data", "blob") else str(parts.hostname)


@contextmanager
def visit(browser: Any, folder: Path, pictures: Path, **more: Any) -> Iterator[Visit]:
    """A visit to the ledgers and boards of a folder; it is checked at its end, and what was seen last is kept."""
    (folder / "data").mkdir()
    short = tempfile.TemporaryDirectory(prefix="qr-")  # sockets lie in it, whose paths may have 107 signs
    server = Server(folder / "data", Path(short.name))
    context = browser.new_context(viewport={"width": DESK, "height": 900}, accept_downloads=True, **more)
    one = Visit(server, context, pictures)
    try:
        yield one
        one.check()
    finally:
        for number, window in enumerate(one.windows):
            if not window.page.is_closed():
                window.page.screenshot(path=folder / f"last-{number}.png", full_page=True)
        print("".join(server.said))  # shown if the test failed
        context.close()
        server.close()
        short.cleanup()
