"""Outputs: nothing that was paid for is lost, no file of another kind is replaced, no half file is left."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from quietrank.errors import QuietrankError, ReleaseError, UsageError
from quietrank.publish.files import PICTURE, RELEASE, TALLY, VOTES, check_apart, check_output, write_text, written_whole
from tests.cli.running import Run
from tests.effort import effort
from tests.helpers import write_csv

ROWS = [("1", "x", "y"), ("1", "y", "z"), ("2", "x", "z"), ("3", "é\x1b[31m", "y")]
COMMAND = ("rank", "votes.csv", "--items", "items.txt", "--unit", "comparison", "--epsilon", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_csv(tmp_path / "votes.csv", ROWS, ("person", "winner", "loser"))
    (tmp_path / "items.txt").write_text("x\ny\nz\né\x1b[31m\n", encoding="utf-8")
    return tmp_path


def _run(folder: Path, *words: object, env: dict[str, str] | None = None, stdout: Any = subprocess.PIPE) -> Any:
    command = [sys.executable, "-m", "quietrank", *map(str, words)]
    environment = os.environ | (env or {})
    return subprocess.run(command, cwd=folder, env=environment, stdout=stdout, stderr=subprocess.PIPE, check=False)


def _ledger(folder: Path) -> tuple[object, ...]:
    qr.Ledger.create(folder / "b.db", epsilon=9, data="v", unit="comparison")
    return ("--ledger", "b.db")


def _releases(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("quietrank-release-*.json")]


# ---- whatever standard output is ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=["cp1252", "ascii", "LC_ALL=C"],
)
@pytest.mark.parametrize("format", ["table", "json", "csv"])
@pytest.mark.few(1)
def test_a_terminal_without_epsilon_shows_it_in_words(folder: Path, env: dict[str, str], format: str) -> None:
    """The release is printed with what can be shown, and data as UTF-8 for the program that reads it."""
    done = _run(folder, *COMMAND, "--format", format, env=env)
    assert done.returncode == 0, done.stderr
    if format == "table":
        shown = done.stdout.decode("cp1252")
        assert "epsilon = 1 per comparison" in shown
        assert "\x1b" not in shown
    else:
        text = done.stdout.decode("utf-8")
        assert "é\x1b[31m" in (text if format == "csv" else [row["item"] for row in json.loads(text)["ranking"]])
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("format", ["table", "json", "csv"])
@pytest.mark.few(1)
def test_a_full_standard_output_loses_nothing(folder: Path, format: str) -> None:
    """With --out the file is there; without it the release is in a new file, which the error names."""
    ledger = _ledger(folder)
    with Path("/dev/full").open("wb") as full:
        kept = _run(folder, *COMMAND, *ledger, "--format", format, "--out", "r.json", stdout=full)
        rescued = _run(folder, *COMMAND, *ledger, "--format", format, stdout=full)
    assert (kept.returncode, rescued.returncode) == (3, 3)
    assert b"r.json" in kept.stderr
    release = qr.Release.from_json(folder / "r.json")
    assert release.ledger_entry is not None
    assert release.ledger_entry.startswith("1-")
    (second,) = _releases(folder)
    assert second["ledger_entry"].startswith("2-")
    assert b"quietrank-release-" in rescued.stderr


def test_a_closed_standard_output_loses_nothing(folder: Path) -> None:
    """Python prints into nothing without a word when standard output was closed from the start."""
    ledger = " ".join(map(str, _ledger(folder)))
    command = f"{sys.executable} -m quietrank {' '.join(COMMAND)} {ledger}"
    for number, closing in enumerate((">&-", ">&- 2>&-"), 1):
        done = subprocess.run(["bash", "-c", f"{command} {closing}"], cwd=folder, capture_output=True, check=False)
        assert done.returncode == 3, done.stderr
        assert len(_releases(folder)) == number


def test_a_reader_that_went_away_is_no_failure(folder: Path) -> None:
    """`| head -0`: exit code 0, everywhere; a release that was paid for is kept even so."""
    others = [("check", "votes.csv"), ("fit", "votes.csv", "--ridge", "1")]
    for words in (COMMAND, ("--help",), *others[: effort(0, 2)]):
        receive, send = os.pipe()
        os.close(receive)
        done = _run(folder, *words, stdout=send)
        os.close(send)
        assert done.returncode == 0, (words, done.stderr)
        assert b"Traceback" not in done.stderr
    assert len(_releases(folder)) == 1


def test_the_release_is_written_before_it_is_printed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong on the screen, the file is there."""
    from quietrank.cli import app as cli
    from quietrank.cli import deliver

    def broken(*_: object) -> None:
        assert Path("r.json").exists()
        raise OSError("no screen")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(deliver, "print_release", broken)
    monkeypatch.setattr(deliver, "silence_stdout", lambda: None)
    monkeypatch.setattr(sys, "argv", ["quietrank", *COMMAND, "--out", "r.json"])
    with pytest.raises(SystemExit) as done:
        cli.main()
    assert done.value.code == 3


def test_the_tally_is_written_before_anything_is_made_of_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noisy counts that were paid for outlive whatever fails afterwards."""
    from quietrank import pipeline
    from quietrank.cli import app as cli

    def broken(*_: object, **__: object) -> None:
        raise QuietrankError("no ranking today")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(pipeline, "release_of", broken)
    monkeypatch.setattr(sys, "argv", ["quietrank", *COMMAND, "--save-tally", "t.json"])
    with pytest.raises(SystemExit) as done:
        cli.main()
    assert done.value.code == 1
    assert qr.NoisyTally.from_json(folder / "t.json").privacy.epsilon == 1


# ---- what stands there already -------------------------------------------------------------------------------------


def test_only_an_earlier_one_of_the_same_kind_is_replaced_and_only_when_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release is not replaced without --overwrite; a ledger, a tally, the votes and other files never are."""
    ledger, run = _ledger(folder), Run(monkeypatch, capsys)
    monkeypatch.chdir(folder)
    assert run(*COMMAND, *ledger, "--out", "r.json", "--save-tally", "t.json").code == 0
    (folder / "mine.json").write_text('{"mine": 1}')
    (folder / "mine.csv").write_text("a,b\n1,2\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused: list[tuple[str, ...]] = [("--out", "r.json"), ("--save-tally", "t.json")]
    for name in ("t.json", "mine.json", "mine.csv", "votes.csv"):
        refused += [("--out", name), ("--out", name, "--overwrite")]
    refused += [("--save-tally", name, "--overwrite") for name in ("r.json", "mine.json")]
    for words in refused:
        done = run(*COMMAND, *ledger, *words)
        assert done.code == 1, words
        assert "choose another name" in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert run(*COMMAND, *ledger, "--out", "r.json", "--overwrite").code == 0
    assert (folder / "r.json").read_bytes() != before["r.json"]


def test_a_ledger_is_never_replaced(folder: Path) -> None:
    """Under whatever name it is kept."""
    _ledger(folder)
    (folder / "b.db").rename(folder / "budget.json")
    before = (folder / "budget.json").read_bytes()
    done = _run(folder, *COMMAND, "--ledger", "budget.json", "--out", "budget.json", "--overwrite")
    assert done.returncode == 1
    release = qr.rank(qr.read_votes(folder / "votes.csv", items_from_votes=True), qr.Privacy(1, "comparison"))
    with pytest.raises(ReleaseError, match="not replaced"):
        release.to_json(folder / "budget.json")
    assert (folder / "budget.json").read_bytes() == before


def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    """What a link will point to one day is not ours to make."""
    (tmp_path / "r.json").symlink_to(tmp_path / "nowhere.json")
    with pytest.raises(ReleaseError, match="not replaced"):
        check_output(tmp_path / "r.json", RELEASE)


@pytest.mark.parametrize(
    ("path", "kind", "error"),
    [
        ("r.txt", RELEASE, UsageError), ("r", RELEASE, UsageError), (".json", RELEASE, None),
        ("t.csv", TALLY, UsageError), ("p.jpg", PICTURE, UsageError), ("v.csv.gz", VOTES, None),
        ("v.gz", VOTES, UsageError),
        ("no/r.json", RELEASE, ReleaseError), ("R.JSON", RELEASE, None),
    ],
)  # fmt: skip
def test_endings_and_folders_are_checked_first(
    tmp_path: Path, path: str, kind: Any, error: type[QuietrankError] | None
) -> None:
    """The ending says what is written; anything else is refused before there is anything to write."""
    if error is None:
        check_output(tmp_path / path, kind)
    else:
        with pytest.raises(error):
            check_output(tmp_path / path, kind)


def test_one_file_is_not_used_twice(tmp_path: Path) -> None:
    """Also under two spellings."""
    with pytest.raises(UsageError, match="out and save_tally"):
        check_apart(out=tmp_path / "a.json", save_tally=tmp_path / "b" / ".." / "a.json")


def test_a_file_that_came_up_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """Between the check and the writing."""
    path = tmp_path / "r.json"

    def write() -> None:
        with written_whole(path, RELEASE, overwrite=False) as draft:
            draft.write_text("{}")
            path.write_text("mine")

    with pytest.raises(ReleaseError):
        write()
    assert path.read_text() == "mine"
    assert [place.name for place in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """What was paid for is written there as well, whatever the file system calls it."""

    def refuse(*names: Path) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    write_text(tmp_path / "r.json", "whole", RELEASE, overwrite=False)
    assert [(place.name, place.read_text()) for place in tmp_path.iterdir()] == [("r.json", "whole")]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device"), RuntimeError])
def test_nothing_half_is_left(tmp_path: Path, error: Any) -> None:
    """Neither under the final name nor under another."""

    def write() -> None:
        with written_whole(tmp_path / "r.json", RELEASE) as draft:
            draft.write_text("half")
            raise error

    with pytest.raises((KeyboardInterrupt, QuietrankError, RuntimeError)):
        write()
    assert not list(tmp_path.iterdir())


def test_writing_is_whole(tmp_path: Path) -> None:
    """Line ends stay what they are, and the text is UTF-8."""
    write_text(tmp_path / "r.csv", "é\r\nx\n", RELEASE)
    assert (tmp_path / "r.csv").read_bytes() == "é\r\nx\n".encode()


# ---- interrupted commands ------------------------------------------------------------------------------------------

LONG = {
    "simulate": ("simulate", "--items", 50, "--people", 2_000_000, "--per-person", 50, "--out", "v.csv"),
    "simulate parquet": ("simulate", "--items", 50, "--people", 2_000_000, "--per-person", 50, "--out", "v.parquet"),
    "plan": ("plan", "--items", 60, "--people", 3000, "--per-person", 100, "--repetitions", 5000, "--plot", "p.png"),
    "audit": ("audit", "--plot", "a.png"),
    "paper": ("paper", "--figure", "1", "--out", "."),
}


def _interrupted(process: Any) -> bytes:
    """What it says; on a slow machine the first Ctrl-C may come while libraries are loaded, some of which ignore it."""
    for _ in range(6):
        os.killpg(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return bytes(process.communicate(timeout=20)[1])
    raise AssertionError("it cannot be interrupted")


@pytest.mark.parametrize("command", LONG)
@pytest.mark.few(1)
def test_an_interrupted_command_leaves_no_half_file(tmp_path: Path, command: str) -> None:
    """Ctrl-C after a while: exit code 130, and nothing under a final name."""
    words = [sys.executable, "-m", "quietrank", *map(str, LONG[command])]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    process = subprocess.Popen(words, cwd=tmp_path, **pipes)
    try:
        time.sleep(4)
        stderr = _interrupted(process)
    finally:  # whatever happens, nothing goes on in the background
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, stderr.decode()
    assert b"Traceback" not in stderr
    left = [path for path in tmp_path.rglob("*") if path.is_file() and "parts" not in path.parts]
    assert left == []
