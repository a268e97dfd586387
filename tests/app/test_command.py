"""`quietrank app`: what it hands on, and what it refuses."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quietrank.app import serve
from tests.cli.conftest import run  # noqa: F401  a fixture
from tests.cli.running import Run


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """With what the server was called, which does not start; the pages are not those of the app."""
    calls: list[dict[str, Any]] = []
    pages = SimpleNamespace(make_app=lambda folder, scratch: (folder, scratch))
    monkeypatch.setitem(sys.modules, "quietrank.app.pages", pages)
    monkeypatch.setitem(sys.modules, "quietrank.app.orders", SimpleNamespace(recover=print))
    monkeypatch.setattr(serve, "serve", lambda app_of, **words: calls.append({"app_of": app_of, **words}))
    return calls


def test_it_serves_this_folder(
    run: Run, served: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    """Without a word: any port, a browser, files up to 2 GB."""
    monkeypatch.chdir(tmp_path)
    assert run("app").code == 0
    (call,) = served
    assert call.pop("app_of")(Path("scratch")) == (tmp_path, Path("scratch"))
    assert call == {"port": 0, "browser": True, "largest": 2 * 10**9, "recover": print}


def test_its_words_are_handed_on(run: Run, served: list[dict[str, Any]], tmp_path: Path) -> None:  # noqa: F811
    """Another folder, a port, no browser, and a smaller file."""
    assert run("app", tmp_path, "--port", "8123", "--no-browser", "--max-upload", "1.5 mb").code == 0
    (call,) = served
    assert call["app_of"](Path("scratch"))[0] == tmp_path
    assert (call["port"], call["browser"], call["largest"]) == (8123, False, 1_500_000)


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("--port", "80"), 2, "--port must be from 1024 to 65535, or 0"),
        (("--port", "65536"), 2, "--port must be from 1024"),
        (("--max-upload", "much"), 2, "--max-upload must be a size such as"),
        (("--max-upload", "0GB"), 2, "--max-upload must be a size such as"),
        (("--max-upload", "5"), 2, "--max-upload must be a size such as"),
        (("nowhere",), 1, "there is no folder nowhere"),
    ],
)
def test_what_it_refuses(
    run: Run, served: list[dict[str, Any]], words: tuple[str, ...], code: int, reason: str  # noqa: F811
) -> None:  # fmt: skip
    """With a remedy, before anything starts."""
    outcome = run("app", *words)
    assert (outcome.code, served) == (code, [])
    assert reason in " ".join(outcome.stderr.split())


def test_without_the_extra(run: Run, served: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """It says what to install."""
    find = importlib.util.find_spec
    monkeypatch.setattr("quietrank.cli.browser.find_spec", lambda name: None if name == "shiny" else find(name))
    outcome = run("app")
    assert (outcome.code, served) == (1, [])
    assert "the app needs Shiny; install it with pip install 'quietrank[app]'" in " ".join(outcome.stderr.split())
