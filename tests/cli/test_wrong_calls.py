"""Wrong calls: each is refused in one sentence, in the words of whoever called, and leaves everything as it was."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from quietrank.cli import app as cli
from tests.cli.wrong_calls import CALLS, NOT_ROOT, furnish

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

PYTHON_WORDS = re.compile(r"\b(unit|neighbours|design|method|mechanism|epsilon|delta|gamma|ridge|clip|[a-z]+_[a-z_]+)=")
IN_PYTHON_STILL = re.compile("noisy tally is damaged")
"""A file has Python's names for its values."""


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything in a folder: names, and bytes of files."""
    files: dict[str, bytes | None] = {}
    for place, _, names in os.walk(folder):
        files[place] = None
        for name in names:
            path = Path(place, name)
            files[str(path)] = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
    return files


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
    assert commands >= {
        "rank",
        "rerank",
        "check",
        "fit",
        "simulate",
        "synthetic",
        "demo",
        "plan",
        "audit",
        "paper --figure",
    }
    assert commands >= {"paper check", "ledger new", "ledger show", "ledger verify"}


def refused(
    words: tuple[str, ...], code: int, message: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Run the command: the exit code, nothing on standard output, and a reason on standard error."""
    monkeypatch.setattr(sys, "argv", ["quietrank", *words])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    stdout, stderr = capfd.readouterr()
    assert (stopped.value.code, stdout) == (code, ""), stderr
    said = " ".join(stderr.split())
    assert re.search(message, said), stderr
    assert "Traceback" not in stderr
    assert CONTROL.search(stderr) is None, ascii(stderr)
    assert PYTHON_WORDS.search(said) is None or IN_PYTHON_STILL.search(said) is not None, stderr
    assert stderr.startswith("quietrank: "), stderr
    assert stderr.count("\n") == 1, stderr


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
    """The documented exit code, one line with the reason, and no file made or changed: no debit either."""
    monkeypatch.chdir(folder)
    refused(words, code, message, monkeypatch, capfd)
    assert contents(folder) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is read-only for root")
@pytest.mark.parametrize(("words", "code", "message"), NOT_ROOT, ids=[shown(words) for words, _, _ in NOT_ROOT])
def test_what_is_read_only_is_left_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    """A ledger or a folder that may not be written, and a file that may not be read."""
    furnish(tmp_path)
    for name in ("read-only.db", "votes.csv", "tally.json", "items.txt"):
        (tmp_path / name).chmod(0o400)
    for name in ("unreadable.csv", "unreadable.json", "unreadable.db"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0)
    (tmp_path / "folder").chmod(0o500)
    monkeypatch.chdir(tmp_path)
    refused(words, code, message, monkeypatch, capfd)
