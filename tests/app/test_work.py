"""Jobs: results, progress, failures in words, and an end at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quietrank.app.work import Job, State, Tell
from quietrank.errors import QuietrankError, option


def doubled(tell: Tell, number: int) -> int:
    tell("doubling", 0.5)
    return 2 * number


def refused(tell: Tell) -> None:
    raise QuietrankError(f"{option('epsilon')} is missing; give one")


def without_space(tell: Tell) -> None:
    raise OSError(28, "No space left on device")


def without_memory(tell: Tell) -> None:
    raise MemoryError


def wrong(tell: Tell) -> None:
    raise AssertionError("a fault of ours")


def endless(tell: Tell, path: str) -> None:
    Path(path).write_text(str(os.getpid()), encoding="utf-8")
    while True:
        tell("waiting", None)
        time.sleep(0.01)


def chatty(tell: Tell, path: str) -> None:
    """Says more than a pipe holds."""
    for number in range(20_000):
        tell(f"step {number} of many, and each has a name of its own", None)
    Path(path).write_text("1", encoding="utf-8")


def large(tell: Tell) -> str:
    return "x" * 10**7


def _ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def _written(path: Path) -> int:
    """The number in a file, once it is there."""
    for _ in range(600):
        if path.exists() and (text := path.read_text(encoding="utf-8")):
            return int(text)
        time.sleep(0.1)
    raise AssertionError("nothing was written")


def _gone(pid: int) -> bool:
    for _ in range(200):
        if _ended(pid):
            return True
        time.sleep(0.1)
    return False


def test_a_job_has_a_result() -> None:
    job = Job(doubled, 21)
    assert job.wait() == 42
    assert (job.state, job.doing, job.share) == (State.DONE, "doubling", 0.5)
    assert Job(large).wait() == "x" * 10**7


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (refused, "--epsilon is missing"),
        (without_space, "free space"),
        (without_memory, "enough memory"),
        (wrong, "try again"),
    ],
)
def test_a_failure_is_told_in_words(function: object, words: str) -> None:
    with pytest.raises(QuietrankError, match=words):
        Job(function).wait()  # type: ignore[arg-type]


def test_a_job_that_nobody_watches_goes_on(tmp_path: Path) -> None:
    """An order whose window was closed: it would wait for ever if nobody heard it."""
    job = Job(chatty, str(tmp_path / "done"))
    job.attend()
    assert _written(tmp_path / "done") == 1
    silent = Job(chatty, str(tmp_path / "never"))
    time.sleep(1)
    assert not (tmp_path / "never").exists()
    silent.stop()


def test_a_job_can_be_stopped(tmp_path: Path) -> None:
    job = Job(endless, str(tmp_path / "pid"))
    pid = _written(tmp_path / "pid")
    assert job.poll() is State.RUNNING
    job.stop()
    assert job.state is State.STOPPED
    assert _gone(pid)
    job.stop()
    assert job.poll() is State.STOPPED


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see which processes live")
def test_a_job_ends_with_its_server(tmp_path: Path) -> None:
    """A killed server leaves no process that goes on reading votes."""
    program = (
        "import sys, time\n"
        "from tests.app.test_work import endless\n"
        "from quietrank.app.work import Job\n"
        "if __name__ == '__main__':\n"
        f"    job = Job(endless, {str(tmp_path / 'pid')!r})\n"
        "    time.sleep(600)\n"
    )
    script = tmp_path / "server.py"
    script.write_text(program, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    server = subprocess.Popen([sys.executable, str(script)], env=environment)
    try:
        pid = _written(tmp_path / "pid")
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
    assert _gone(pid)
