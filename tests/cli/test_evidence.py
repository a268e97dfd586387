"""`quietrank verify` and `quietrank evidence`: exit codes, what is printed, and which files are written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import quietrank as qr
from quietrank.auditing.checks import Sizes
from quietrank.evidence import pack, promise_audit
from tests.cli.running import COLUMNS, GOOD, Run
from tests.helpers import write_csv

TINY = Sizes(1, 0, 200, 50, 100, 100, 8, 1, 0, beside=0)
FILES = ("evidence.html", "evidence.json", "registry.yaml")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, its tally, the ledger that paid for it, and votes."""
    folder = tmp_path_factory.mktemp("once")
    votes = qr.read_votes(write_csv(folder / "votes.csv", GOOD, COLUMNS), items=["x", "y", "z"])
    ledger = qr.Ledger.create(folder / "budget.db", 3, data="drinks", unit="person")
    privacy = qr.Privacy(epsilon=1, unit="person", max_per_person=2)
    tally = qr.noisy_tally(votes, privacy, mechanism="laplace", ledger=ledger)
    tally.to_json(folder / "tally.json")
    qr.rerank(tally).to_json(folder / "release.json")
    return folder


@pytest.fixture
def paid(once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of these files."""
    monkeypatch.setattr(promise_audit, "QUICK", TINY)
    return Path(shutil.copytree(once, tmp_path / "paid"))


@pytest.fixture
def no_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack is run where it is the question."""
    monkeypatch.setattr(
        pack, "audit_promise", lambda subject, **options: promise_audit.PromiseAudit(None, "it takes long")
    )


def test_verify_prints_line_by_line(run: Run, paid: Path) -> None:
    """What holds, what was not checked, and what nobody can check; as a table or as JSON."""
    alone = run("verify", paid / "release.json")
    assert (alone.code, alone.stderr) == (0, "")
    assert "give the ledger as --ledger FILE" in " ".join(alone.stdout.split())
    both = ("--ledger", paid / "budget.db", "--tally", paid / "tally.json")
    values = json.loads(run("verify", paid / "release.json", *both, "--format", "json").stdout)
    assert values["holds"]
    assert {row["verdict"] for row in values["checks"]} == {"holds"}


def test_verify_ends_with_the_first_reason(run: Run, paid: Path) -> None:
    """Exit code 1, the table on standard output, and one line on standard error."""
    values = json.loads((paid / "release.json").read_text())
    values["mechanism"]["scale"] /= 2
    (paid / "edited.json").write_text(json.dumps(values))
    ended = run("verify", paid / "edited.json")
    assert ended.code == 1
    assert "BROKEN" in ended.stdout
    assert ended.stderr.count("\n") == 1
    assert "edited.json does not hold: noise: scale is" in ended.stderr


def test_evidence_writes_three_files(run: Run, paid: Path) -> None:
    """Into a folder that it makes; they are replaced only on request, and other files never."""
    call = ("evidence", paid / "release.json", "--out", paid / "pack", "--ledger", paid / "budget.db", "--workers", 1)
    first = run(*call)
    assert (first.code, first.stderr) == (0, "")
    assert first.stdout.splitlines() == [str(paid / "pack" / name) for name in FILES]
    assert json.loads((paid / "pack" / "evidence.json").read_text())["audit"]["passed"]
    again = run(*call)
    assert (again.code, "use --overwrite" in again.stderr) == (1, True)
    (paid / "pack" / "registry.yaml").write_text("mine: 1\n")
    mine = run(*call, "--overwrite")
    assert (mine.code, "not replaced" in mine.stderr) == (1, True)


@pytest.mark.usefixtures("no_attack")
def test_evidence_about_an_edited_release_is_written_and_fails(run: Run, paid: Path) -> None:
    """The pack says what is wrong, and so does the exit code."""
    values = json.loads((paid / "release.json").read_text())
    values["privacy"]["statement"] = "Nobody can be harmed."
    (paid / "edited.json").write_text(json.dumps(values))
    ended = run("evidence", paid / "edited.json", "--out", paid / "pack", "--workers", 1)
    assert (ended.code, "does not hold: statement" in ended.stderr) == (1, True)
    assert "This release does not hold" in (paid / "pack" / "evidence.html").read_text()


@pytest.mark.usefixtures("no_attack")
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("verify", "votes.csv"), 1, "is not JSON"),
        (("verify", "tally.json"), 1, "a noisy tally as --tally"),
        (("verify", "nowhere.json"), 1, "cannot read nowhere.json"),
        (("verify", "release.json", "--ledger", "votes.csv"), 1, "is not a ledger"),
        (("verify", "release.json", "--tally", "release.json"), 1, "not a noisy tally"),
        (("evidence", "release.json"), 2, "Missing option"),
        (("evidence", "release.json", "--out", "votes.csv"), 1, "--out takes a folder"),
        (("evidence", "release.json", "--out", "no/pack"), 1, "there is no folder no"),
        (("evidence", "release.json", "--out", "pack", "--quick", "--full"), 2, "give one of them"),
    ],
)
def test_a_wrong_call_names_the_remedy(
    run: Run, paid: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int, message: str
) -> None:
    """And writes nothing."""
    monkeypatch.chdir(paid)
    ended = run(*words)
    assert ended.code == code
    assert message in " ".join(ended.stderr.split())
    assert not (paid / "pack").exists()
