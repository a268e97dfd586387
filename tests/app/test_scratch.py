"""The private temporary folder: locked while its process lives, and swept after it was killed, orders first."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quietrank.app import scratch as scratch_module
from quietrank.app.scratch import LOCK, PREFIX, VARIABLES, Scratch, _candidates, remove_tree, sweep

LIVING = """
import sys, tempfile
from quietrank.app.scratch import Scratch
scratch = Scratch.make()
(scratch.path / "votes.csv").write_text("confidential")
(scratch.path / "orders").mkdir()
(scratch.path / "orders" / "one").write_text("paid")
print(scratch.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder, for these tests."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in VARIABLES:
        monkeypatch.setenv(name, str(folder))
    return folder


@contextmanager
def living() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process with a folder of its own, and the folder."""
    with subprocess.Popen([sys.executable, "-c", LIVING], stdin=-1, stdout=-1, text=True) as child:
        assert child.stdout is not None
        try:
            yield child, Path(child.stdout.readline().strip())
        finally:
            child.kill()


def abandoned(place: Path | None = None) -> list[Path]:
    """The folders that a sweep would take."""
    adopted = [scratch for path in _candidates(place) if (scratch := Scratch.adopt(path)) is not None]
    for scratch in adopted:
        scratch.release()
    return [scratch.path for scratch in adopted]


def ignore(orders: Path) -> None:
    """A recovery that has nothing to do."""


def _left(place: Path, name: str = "x") -> Path:
    """A folder as a killed process leaves it."""
    folder = place / f"{PREFIX}{name}"
    (folder / "orders").mkdir(parents=True)
    (folder / "uploads").mkdir()
    (folder / "uploads" / "0.csv").write_text("confidential")
    (folder / LOCK).touch()
    return folder


def test_it_is_the_temporary_folder(place: Path) -> None:
    """For this process and its children, only for their user, and until it is removed."""
    scratch = Scratch.make()
    assert scratch.path.parent == place
    assert scratch.path.name.startswith(PREFIX)
    assert stat.S_IMODE(scratch.path.stat().st_mode) == 0o700
    script = "import tempfile; print(tempfile.mkdtemp())"
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert Path(tempfile.mkdtemp()).parent == Path(child.stdout.strip()).parent == scratch.path
    scratch.remove()
    assert list(place.iterdir()) == []
    assert Path(tempfile.gettempdir()) == place
    assert all(os.environ[name] == str(place) for name in VARIABLES)


def test_a_living_process_keeps_its_folder() -> None:
    """Neither this process nor another is disturbed by a sweep; a second one cannot adopt the folder."""
    scratch = Scratch.make()
    with living() as (_, other):
        place = scratch.path.parent
        assert abandoned(place) == []
        assert Scratch.adopt(scratch.path) is None
        assert Scratch.adopt(other) is None
        assert sweep(ignore, place) == []
        assert (other / "votes.csv").exists()
        assert scratch.path.exists()
    scratch.remove()


def test_a_killed_process_is_swept(place: Path) -> None:
    """Its folder is abandoned; orders are handed over when all else is gone, and then they go too."""
    with living() as (child, folder):
        assert abandoned() == []
        child.send_signal(signal.SIGKILL)
        child.wait(10)
    assert abandoned() == [folder]
    seen: list[tuple[Path, str, list[str]]] = []

    def recover(orders: Path) -> None:
        assert Scratch.adopt(folder) is None  # it is ours now
        seen.append((orders, (orders / "one").read_text(), sorted(os.listdir(folder))))

    assert sweep(recover) == []
    assert seen == [(folder / "orders", "paid", [LOCK, "orders"])]
    assert list(place.iterdir()) == []


def test_a_failed_recovery_is_tried_again(place: Path) -> None:
    """The uploads go at once and the orders stay; the other folders are swept all the same."""
    first, second = _left(place, "a"), _left(place, "b")

    def fail(orders: Path) -> None:
        assert not (second / "uploads").exists()  # before any recovery, which may take long
        if orders.parent == first:
            raise ValueError("no such ledger")

    ((folder, error),) = sweep(fail)
    assert (folder, str(error)) == (first, "no such ledger")
    assert sorted(os.listdir(first)) == [LOCK, "orders"]
    assert not second.exists()
    assert abandoned() == [first]
    assert sweep(ignore) == []
    assert abandoned() == []


def test_a_folder_without_lock_or_orders_is_removed(place: Path) -> None:
    """A process may be killed at any moment; nothing is recovered where nothing was ordered."""
    (place / f"{PREFIX}y").mkdir()

    def recover(orders: Path) -> None:
        raise AssertionError

    assert sweep(recover) == []
    assert list(place.iterdir()) == []


def test_what_is_not_ours_is_left_alone(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links, files, folders of other names, and folders of other users."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "orders").mkdir(parents=True)
    (place / f"{PREFIX}link").symlink_to(elsewhere)
    (place / f"{PREFIX}file").write_text("x")
    (place / "other-app-x").mkdir()
    assert abandoned() == []
    assert sweep(ignore) == []
    assert len(list(place.iterdir())) == 3
    assert (elsewhere / "orders").exists()
    foreign = _left(place)
    monkeypatch.setattr(os, "getuid", lambda: foreign.stat().st_uid + 1)
    assert abandoned() == []
    assert sweep(ignore) == []
    assert (foreign / "uploads" / "0.csv").exists()
    monkeypatch.undo()
    assert abandoned(place) == [foreign]  # this test can fail


def test_links_in_a_folder_are_not_followed(place: Path, tmp_path: Path) -> None:
    """Neither when it is removed, nor as its orders or its lock."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    folder = _left(place)
    (folder / "link").symlink_to(precious)
    (folder / "orders").rmdir()
    (folder / "orders").symlink_to(precious)
    calls: list[Path] = []
    assert sweep(calls.append) == []
    assert calls == []
    assert (precious / "file").exists()
    assert not folder.exists()
    locked = _left(place)
    (locked / LOCK).unlink()
    (locked / LOCK).symlink_to(precious / "lock")
    assert abandoned() == []
    assert not (precious / "lock").exists()


def test_two_sweeps_recover_once(place: Path) -> None:
    """Servers that start at the same moment share the work."""
    for number in range(20):
        _left(place, str(number))
    recovered: list[Path] = []
    ready = threading.Barrier(4)

    def start() -> None:
        ready.wait(10)
        assert sweep(recovered.append) == []

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(recovered) == len(set(recovered)) == 20
    assert list(place.iterdir()) == []


def test_a_lock_without_a_name_counts_for_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another sweep removes the folder after this one opened the lock, and before it took it."""
    folder = _left(place)
    take = scratch_module._take

    def take_too_late(lock: int) -> None:
        remove_tree(folder)
        take(lock)

    monkeypatch.setattr(scratch_module, "_take", take_too_late)
    assert Scratch.adopt(folder) is None
    monkeypatch.undo()
    adopted = Scratch.adopt(_left(place))
    assert adopted is not None
    adopted.remove()


def test_a_new_folder_is_not_swept(place: Path) -> None:
    """However many runs start while others look for abandoned folders, each keeps its own."""
    stop = threading.Event()

    def sweeping() -> None:
        while not stop.is_set():
            assert sweep(ignore, place) == []

    sweeper = threading.Thread(target=sweeping)
    sweeper.start()
    try:
        scratches = [Scratch.make() for _ in range(30)]
        assert all((scratch.path / LOCK).exists() for scratch in scratches)
    finally:
        stop.set()
        sweeper.join(10)
    for scratch in reversed(scratches):
        scratch.remove()


def test_orders_outlive_the_end() -> None:
    """What was ordered and not finished stays for the next run, without the uploads; otherwise nothing stays."""
    scratch = Scratch.make()
    place = scratch.path.parent
    (scratch.path / "orders").mkdir()
    (scratch.path / "upload").write_text("confidential")
    (scratch.path / "orders" / "one").write_text("paid")
    assert not scratch.end()
    assert sorted(os.listdir(scratch.path)) == [LOCK, "orders"]
    assert abandoned(place) == [scratch.path]
    assert Path(tempfile.gettempdir()) == place
    again = Scratch.make()
    (again.path / "orders").mkdir()
    assert again.end()
    assert not again.path.exists()


def test_a_tree_is_removed_while_others_use_it(place: Path) -> None:
    """Files vanish while it is removed; what is not there needs no removing."""
    tree = place / "tree"
    for number in range(300):
        (tree / str(number % 10)).mkdir(parents=True, exist_ok=True)
        (tree / str(number % 10) / str(number)).touch()
    files = sorted(path for path in tree.rglob("*") if path.is_file())

    def delete() -> None:
        for path in reversed(files):
            path.unlink(missing_ok=True)

    other = threading.Thread(target=delete)
    other.start()
    remove_tree(tree)
    other.join(10)
    remove_tree(tree)
    (place / "file").touch()
    remove_tree(place / "file")
    assert list(place.iterdir()) == []
