"""Wrong calls: each is refused in one sentence, in the words of whoever called, and leaves everything as it was."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from quietrank import cli
from tests.wrong_calls import CALLS, REFUSED, furnish

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything in a folder: names, and bytes of files."""
    found: dict[str, bytes | None] = {}
    for place, _, names in os.walk(folder):
        found[place] = None
        for name in names:
            path = Path(place, name)
            found[str(path)] = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("calls")
    furnish(made)
    return made


@pytest.fixture(scope="module")
def before(folder: Path) -> dict[str, bytes | None]:
    return contents(folder)


def shown(words: tuple[str, ...]) -> str:
    return ascii(" ".join(word if len(word) < 60 else f"{word[:20]}..." for word in words))


def test_the_table_is_long() -> None:
    """At least 200 different wrong command lines, over all commands."""
    assert len({words for words, _, _ in CALLS}) == len(CALLS) >= 200
    commands = {" ".join(words[: 2 if words[0] in ("ledger", "paper") else 1]) for words, _, _ in CALLS}
    assert commands >= {"rank", "rerank", "check", "fit", "simulate", "demo", "plan", "audit", "paper --figure"}
    assert commands >= {"paper check", "ledger new", "ledger show", "ledger verify"}


@pytest.mark.parametrize(("words", "code", "message"), CALLS, ids=[shown(words) for words, _, _ in CALLS])
def test_a_wrong_command_is_refused_and_changes_nothing(
    folder: Path,
    before: dict[str, bytes | None],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    """The documented exit code, nothing on standard output, one line with the reason, no file made or changed."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["quietrank", *words])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    stdout, stderr = capfd.readouterr()
    assert (stopped.value.code, stdout) == (code, ""), stderr
    said = " ".join(stderr.replace("│", " ").split())
    assert re.search(message, said), stderr
    assert "Traceback" not in stderr
    assert CONTROL.search(stderr) is None, ascii(stderr)
    if code == REFUSED:
        assert stderr.startswith("quietrank: "), stderr
        assert stderr.count("\n") == 1, stderr
    assert contents(folder) == before
