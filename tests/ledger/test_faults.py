"""The ledger under real faults: killed releases, a rush of processes, full disks, read-only places.

Never overspent, never noise without its debit, never a corrupt ledger; and each claim is seen to fail when broken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quietrank.errors import LedgerError
from quietrank.ledger.book import BudgetLedger
from tests.effort import effort
from tests.ledger.faults import EPSILON, PER_ROUND, charge

ROOT = Path(__file__).parent.parent.parent


def fault(work: str, *words: object) -> dict[str, Any]:
    """Run a fault in a process of its own."""
    command = [sys.executable, "-m", "tests.ledger.faults", work, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def sound(found: dict[str, Any]) -> bool:
    """Every draw of noise was paid for before, and every release names its entry."""
    return bool(found["draws"] <= found["entries"] and found["unpaid"] == 0)


def kill_releases(folder: Path, rounds: int, seed: int) -> None:
    found = fault("kills", folder, rounds, "none", seed)
    assert found["killed"] == rounds
    assert sound(found)
    assert found["entries"] + found["more"] == PER_ROUND * rounds  # not one lost, not one too many
    print(f"survived {rounds} kills: {found['entries']} debits, {found['draws']} draws, {found['outputs']} releases")


def test_a_killed_release_never_overspends(tmp_path: Path) -> None:
    """kill -9 within a release: the ledger verifies, every draw is paid for, the rest of the budget is there."""
    kill_releases(tmp_path, effort(6, 20), seed=1)


@pytest.mark.slow
def test_three_hundred_killed_releases_never_overspend(tmp_path: Path) -> None:
    """The same three hundred times."""
    kill_releases(tmp_path, 300, seed=2)


@pytest.mark.parametrize("mutant", ["debit-after-draw", "refund"])
@pytest.mark.few(1)
def test_the_kills_notice_a_late_debit_and_a_refund(tmp_path: Path, mutant: str) -> None:
    """The test above can fail: a debit after the draw and a refund are caught."""
    assert not sound(fault("kills", tmp_path, 9, mutant, 3))


def ledger_for(path: Path, debits: int) -> BudgetLedger:
    return BudgetLedger.create(path, round(debits * EPSILON, 6), data="faults", unit="comparison")


def test_eight_processes_at_once_spend_exactly_the_budget(tmp_path: Path) -> None:
    """Each debit waits for its turn; the count of those that went through is exact."""
    ledger = ledger_for(tmp_path / "ledger", 100)
    found = fault("rush", tmp_path, 8, "none")
    assert (found["paid"], found["errors"]) == (100, [])
    assert len(ledger.entries()) == 100
    print(f"eight processes made {found['paid']} debits: {[one['paid'] for one in found['each']]}")


def test_the_rush_notices_debits_without_a_transaction(tmp_path: Path) -> None:
    """The test above can fail: without BEGIN IMMEDIATE debits run into each other."""
    ledger_for(tmp_path / "ledger", 100)
    assert fault("rush", tmp_path, 8, "no-transaction")["errors"]


# ---- no room ---------------------------------------------------------------------------------------------------


def check_full(path: Path, found: dict[str, Any], budget: int) -> None:
    ledger = BudgetLedger.open(path)
    ledger.verify()
    assert len(ledger.entries()) == found["paid"] < budget
    assert len(found["errors"]) == 3
    for error in found["errors"]:
        assert "\n" not in error
        assert "disk" in error
    print(f"survived {len(found['errors'])} debits without room after {found['paid']} that had it")


@pytest.mark.parametrize("room", [0, 1, 4096, 20000])
@pytest.mark.few(2)
def test_a_limit_on_the_size_of_files_breaks_nothing(tmp_path: Path, room: int) -> None:
    """Debits fail with a clear line, what was paid stays paid, and with room again it goes on."""
    ledger = ledger_for(tmp_path / "ledger", 1000)
    found = fault("fill", tmp_path / "ledger", (tmp_path / "ledger").stat().st_size + room)
    check_full(tmp_path / "ledger", found, 1000)
    ledger.debit(charge())
    ledger.verify()
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small file system can only be mounted by root with the right to mount")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_breaks_nothing(small_disk: Path) -> None:
    """The same on a file system that is really full, and again when there is room."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 20000)
    ledger = ledger_for(small_disk / "ledger", 1000)
    check_full(small_disk / "ledger", fault("fill", small_disk / "ledger", 0), 1000)
    ballast.unlink()
    ledger.debit(charge())
    ledger.verify()


def test_no_ledger_is_made_on_a_full_disk(small_disk: Path) -> None:
    """Whole or not at all."""
    (small_disk / "ballast").write_bytes(b"x" * 61440)
    with pytest.raises(LedgerError, match="disk"):
        ledger_for(small_disk / "ledger", 10)
    assert [path.name for path in small_disk.iterdir()] == ["ballast"]


# ---- places that cannot be written -----------------------------------------------------------------------------


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder with a ledger that has one entry, in a place that has become read-only."""
    place = tmp_path / "place"
    place.mkdir()
    root = os.geteuid() == 0  # whom the bits of a folder do not stop
    if root and subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], capture_output=True).returncode != 0:
        pytest.skip("for root a place is only read-only by mounting, and this root may not mount")
    ledger_for(place / "ledger", 10).debit(charge())
    if root:
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    else:
        (place / "ledger").chmod(0o444)
        place.chmod(0o555)
    yield place
    if root:
        subprocess.run(["umount", str(place)], check=True)
    else:
        place.chmod(0o755)


def test_a_read_only_ledger_can_be_read_and_not_spent(read_only: Path) -> None:
    """It opens, shows and verifies; a debit, and what leads to one, is refused in one line."""
    ledger = BudgetLedger.open(read_only / "ledger")
    ledger.verify()
    assert len(ledger.entries()) == 1
    for refused in (ledger.require_writable, lambda: ledger.debit(charge())):
        with pytest.raises(LedgerError, match="writable") as told:
            refused()
        assert "\n" not in str(told.value)
    assert len(ledger.entries()) == 1


def test_no_ledger_is_made_in_a_read_only_place(read_only: Path) -> None:
    """The reason and the remedy."""
    with pytest.raises(LedgerError, match=r"must be readable and writable|choose another place"):
        ledger_for(read_only / "new", 10)
    assert [path.name for path in read_only.iterdir()] == ["ledger"]
