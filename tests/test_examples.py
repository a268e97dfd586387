"""The examples that are jobs: examples/arena.py pays once per night, whatever happens to it."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import quietrank as qr
from quietrank.ledger.composition import Budget

FILE = Path(__file__).parent.parent / "examples" / "arena.py"
NIGHTS = ("2026-11-16", "2026-11-17")
FIRST, SECOND = map(date.fromisoformat, NIGHTS)


@pytest.fixture(scope="module")
def job() -> Iterator[ModuleType]:
    """The example, imported as a user would, with fewer judges."""
    spec = importlib.util.spec_from_file_location("arena", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["arena"] = module
    spec.loader.exec_module(module)
    module.JUDGES = 200  # type: ignore[attr-defined]
    yield module
    del sys.modules["arena"]


@pytest.fixture
def arena(job: ModuleType, tmp_path: Path) -> Any:
    """An arena before its second night: the votes of two days, and nothing published."""
    arena = job.Arena(tmp_path, {"source": tmp_path / job.MADE_UP})
    job.make_up_votes(arena, FIRST)
    job.make_up_votes(arena, SECOND)
    job.set_up(arena)
    return arena


@pytest.fixture
def plain(arena: Any, job: ModuleType) -> Any:
    """The same without δ, so that what is spent can be read off: ε = 1 for two nights."""
    arena.file("budget.db").unlink()
    each = arena.each_night.changed(delta=0.0)
    cheap = replace(arena, each_night=each, epsilon=1.0, delta=0.0, nights=2)
    job.set_up(cheap)
    return cheap


def names(arena: Any) -> set[str]:
    """What is in the folder, apart from what was there before the first night."""
    return {path.name for path in arena.folder.iterdir()} - {
        "made-up-votes",
        "models.txt",
        "languages.txt",
        "budget.db",
        "lock",
    }


def of_night(night: str) -> set[str]:
    return {f"{night}.html", f"{night}.json", f"{night}.tally.json"}


def test_it_runs_as_a_script_and_again_for_nothing(
    job: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two nights: their files, their headlines, what is left; the second time nothing is made and nothing is paid."""
    words = [str(tmp_path / "new"), "--nights", "2"]
    assert job.main(words) == 0
    printed = capsys.readouterr().out
    folder = tmp_path / "new"
    ledger = qr.Ledger.open(folder / "budget.db")
    assert [line.split(":")[0] for line in printed.splitlines()[::2]] == list(NIGHTS)
    assert "51 of 52 planned nights" in printed
    assert "50 of 52 planned nights" in printed
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert of_night(NIGHTS[0]) | of_night(NIGHTS[1]) <= {path.name for path in before}
    assert job.main(words) == 0
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    assert len(ledger.entries()) == 2
    _check_releases(folder, ledger)
    _check_nobody_is_counted(folder)


def _check_releases(folder: Path, ledger: qr.Ledger) -> None:
    """Each is by language and overall, with intervals, is named by its payment, and knows the models of its night."""
    for night, entry in zip(NIGHTS, ledger.entries(), strict=True):
        release = qr.GroupedRelease.from_json(folder / f"{night}.json")
        assert release.groups == ("overall", "en", "de", "zh")
        assert release.ledger_entry == entry.id
        assert len(release["overall"]) == (7 if night == NIGHTS[0] else 8)
        assert all(row.score_low is not None and row.rank_low is not None for row in release["overall"])
        assert "planned nights are left" in (folder / f"{night}.html").read_text(encoding="utf-8")


def _check_nobody_is_counted(folder: Path) -> None:
    """A judge who comes on the second day is not there on the first: no exact number of them may be published."""
    tally = qr.GroupedTally.from_json(folder / f"{FIRST}.tally.json")
    assert tally.public_votes is None
    assert all((one.people, one.public_total, one.public_exposure) == (None, None, None) for _, one in tally.tallies)


def test_a_part_that_was_cut_off_is_refused_before_anything_is_paid(arena: Any, job: ModuleType) -> None:
    """A truncated Parquet file is an error and not fewer votes; once it is whole again, the night is published."""
    part = arena.votes["source"] / f"day={FIRST}" / "part-0.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(qr.QuietrankError, match="part-0"):
        job.nightly(arena, FIRST)
    assert names(arena) == set()
    assert arena.ledger().entries() == []
    part.write_bytes(whole)
    job.pay(arena, FIRST, arena.file("counts.json"))
    assert names(arena) == {"counts.json"}


def test_a_model_that_nobody_announced_is_refused_before_anything_is_paid(arena: Any, job: ModuleType) -> None:
    """The list of models is public, so a vote on any other is an error, found with the note already written."""
    arena.file("models.txt").write_text("\n".join(arena.listed("models.txt")[1:]) + "\n")
    with pytest.raises(qr.QuietrankError):
        job.nightly(arena, FIRST)
    assert names(arena) == set()
    assert arena.ledger().entries() == []


def test_an_exhausted_budget_is_refused_in_one_line(
    plain: Any, job: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One night of ε = 1 fits. The second exits with 1, says why and leaves no file; the first stays as it is."""
    once = replace(plain, each_night=plain.each_night.changed(epsilon=1.0), nights=1)
    monkeypatch.setattr(job, "Arena", lambda folder, votes: replace(once, folder=folder, votes=votes))
    assert job.main([str(plain.folder), "--nights", "2"]) == 1
    out, err = capsys.readouterr()
    assert "0 of 1 planned nights are left" in out
    assert err.count("\n") == 1
    assert err.startswith(f"{SECOND}: refused: the budget does not cover this release")
    assert names(plain) == of_night(NIGHTS[0])
    assert plain.ledger().spent == 1
    assert job.nightly(once, FIRST).ledger_entry == plain.ledger().entries()[0].id


def test_a_payment_whose_counts_were_lost_is_not_made_again(
    plain: Any, job: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The night stays refused, the next one is published, and whoever deletes the note pays once more."""

    def full(self: object, path: object = None) -> str:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(qr.GroupedTally, "to_json", full)
        with pytest.raises(OSError, match="No space"):
            job.nightly(plain, FIRST)
    assert names(plain) == {f"{FIRST}.paying"}
    assert plain.ledger().spent == 0.5
    with pytest.raises(qr.QuietrankError, match=r"counts are lost.*delete"):
        job.nightly(plain, FIRST)
    assert plain.ledger().spent == 0.5
    job.nightly(plain, SECOND)
    assert names(plain) == {f"{FIRST}.paying"} | of_night(NIGHTS[1])
    plain.file(f"{FIRST}.paying").unlink()
    with pytest.raises(qr.QuietrankError, match="the budget does not cover"):
        job.nightly(plain, FIRST)


KILLED = """
import os, signal, sys, importlib.util
spec = importlib.util.spec_from_file_location("arena", sys.argv[1])
arena = sys.modules["arena"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(arena)
arena.qr.GroupedTally.to_json = lambda *words: os.kill(os.getpid(), signal.SIGKILL)
arena.main([sys.argv[2], "--nights", "1"])
"""


def test_a_job_that_is_killed_after_the_payment_pays_once(arena: Any, job: ModuleType) -> None:
    """With no chance to tidy up, and with the lock in its hands."""
    program = [sys.executable, "-c", KILLED, str(FILE), str(arena.folder)]
    assert subprocess.run(program, check=False, timeout=60).returncode == -signal.SIGKILL
    assert names(arena) == {f"{FIRST}.paying"}
    with pytest.raises(qr.QuietrankError, match="counts are lost"):
        job.nightly(arena, FIRST)
    assert len(arena.ledger().entries()) == 1


@pytest.mark.parametrize("written", ["all of it", "nothing"])
@pytest.mark.few(1)
def test_a_note_from_before_the_payment_means_nothing(arena: Any, job: ModuleType, written: str) -> None:
    """A job that was killed while it wrote the note, or before the debit, is run again."""
    arena.file(f"{FIRST}.paying").write_text(arena.ledger().verify() if written == "all of it" else "")
    job.pay(arena, FIRST, arena.file(f"{FIRST}.tally.json"))
    assert names(arena) == {f"{FIRST}.tally.json"}
    assert len(arena.ledger().entries()) == 1


def test_a_saved_night_is_finished_for_nothing(plain: Any, job: ModuleType) -> None:
    """The page and the release come from the counts alone; the votes may be gone by then."""
    job.pay(plain, FIRST, plain.file(f"{FIRST}.tally.json"))
    shutil.rmtree(plain.votes["source"])
    assert job.nightly(plain, FIRST).ledger_entry == plain.ledger().verify()
    assert names(plain) == of_night(NIGHTS[0])
    assert plain.ledger().spent == 0.5


def test_a_ledger_that_went_missing_does_not_come_back_full(plain: Any, job: ModuleType) -> None:
    """Once there are releases, no new budget is made for them."""
    job.pay(plain, FIRST, plain.file(f"{FIRST}.tally.json"))
    plain.file("budget.db").unlink()
    job.set_up(plain)
    with pytest.raises(qr.QuietrankError, match=r"budget\.db"):
        job.nightly(plain, SECOND)
    assert names(plain) == {f"{FIRST}.tally.json"}


def test_real_parts_are_published_for_their_last_day(arena: Any, job: ModuleType, tmp_path: Path) -> None:
    """--votes takes a folder that is elsewhere; without --nights or --night, the last day in it."""
    own = tmp_path / "own"
    own.mkdir()
    for name in ("models.txt", "languages.txt"):
        shutil.copy(arena.file(name), own)
    assert job.main([str(own), "--votes", str(arena.votes["source"])]) == 0
    assert of_night(NIGHTS[1]) <= {path.name for path in own.iterdir()}
    assert not (own / job.MADE_UP).exists()
    values = json.loads((own / f"{SECOND}.json").read_text(encoding="utf-8"))
    assert any(f"day <= '{SECOND}'" in note for note in values["overall"]["assumptions"])


@pytest.mark.parametrize(
    ("words", "message"),
    [([], "say where its votes are"), (["--votes", "nowhere"], "there is no folder such as day=2026-11-16 in nowhere")],
)
def test_no_votes_are_made_up_for_a_real_arena(
    job: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    """Where --votes was forgotten, or is wrong, nothing is published and there is not even a ledger."""
    (tmp_path / "models.txt").write_text("mine\nyours\n")
    assert job.main([str(tmp_path), *words]) == 1
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["models.txt"]


def test_a_made_up_arena_does_not_become_a_real_one(
    arena: Any, job: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its nights would be shown as those of your votes, and its ledger has paid for judges who do not exist."""
    job.nightly(arena, FIRST)
    before = {path: path.read_bytes() for path in arena.folder.iterdir() if path.is_file()}
    yours = tmp_path / "yours" / f"day={FIRST}"
    yours.parent.mkdir()
    shutil.copytree(arena.votes["source"] / f"day={FIRST}", yours)
    for where in (["--votes", str(yours.parent)], ["--connect", "duckdb:///votes.db", "--table", "votes", "--loaded"]):
        assert job.main([str(arena.folder), *where, "--night", str(FIRST)]) == 1
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert "holds a made-up arena" in err
    assert {path: path.read_bytes() for path in arena.folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("missing", ["models.txt", "languages.txt"])
def test_a_folder_without_a_list_says_what_to_write(
    arena: Any, job: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    """In words, and before there is a ledger."""
    own = tmp_path / "own"
    own.mkdir()
    for name in {"models.txt", "languages.txt"} - {missing}:
        shutil.copy(arena.file(name), own)
    assert job.main([str(own), "--votes", str(arena.votes["source"])]) == 1
    said = capsys.readouterr().err
    assert f"there is no {own / missing}; write all {missing.removesuffix('.txt')} in it, one per line" in said
    assert len(list(own.iterdir())) == 1


def test_a_night_without_its_folder_is_not_paid(
    plain: Any, job: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be the ranking of the night before once more; an empty folder is a day on which nobody voted."""
    for night in (date(2020, 1, 1), date(2026, 11, 18)):
        with pytest.raises(qr.QuietrankError, match=f"no folder day={night}"):
            job.nightly(plain, night)
    assert names(plain) == set()
    assert plain.ledger().entries() == []
    (plain.votes["source"] / "day=2026-11-18").mkdir()
    job.nightly(plain, date(2026, 11, 18))
    assert plain.ledger().spent == 0.5
    assert job.main([str(tmp_path / "new"), "--night", "2020-01-01"]) == 1
    assert "the made-up arena opened on 2026-11-16" in capsys.readouterr().err


def test_a_table_needs_somebody_to_say_that_the_night_is_in_it(
    job: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing in it shows that, other than votes."""
    words = [str(tmp_path), "--connect", f"duckdb://{tmp_path}/none.db", "--table", "votes"]
    assert job.main(words) == 1
    assert "add --loaded" in capsys.readouterr().err
    assert job.main([*words, "--loaded"]) == 1
    assert "models.txt" in capsys.readouterr().err


PAGE = (FILE.parent.parent / "docs" / "arena.md").read_text(encoding="utf-8")
PLANS = re.findall(r"^\| ([\d.]+) \| (\d+) \| (\d+) \| .*every", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize(("epsilon", "nights", "noise"), PLANS)
@pytest.mark.few(1)
def test_plans_last_as_long_as_the_page_says(
    arena: Any, job: ModuleType, epsilon: str, nights: str, noise: str
) -> None:
    """That many releases fit into the budget and not one more, and each has that much noise."""
    counts = arena.file("counts.json")
    job.pay(replace(arena, each_night=arena.each_night.changed(epsilon=float(epsilon))), SECOND, counts)
    (_, tally), *_ = qr.GroupedTally.from_json(counts).tallies
    assert round(tally.law.spread.net_wins) == int(noise)
    budget, spend = Budget.plans(arena.epsilon, arena.delta)[0], arena.ledger().entries()[0].spend
    spent, covered = budget.untouched, 0
    while budget.covers(spent := budget.after(spent, spend)):
        covered += 1
    assert covered == int(nights)


def test_the_example_has_the_plan_of_the_page(arena: Any, job: ModuleType) -> None:
    """Its numbers and its words."""
    words, each = " ".join((job.__doc__ or "").split()), f"{arena.each_night.epsilon:g}"
    ((nights, noise),) = ((nights, noise) for epsilon, nights, noise in PLANS if epsilon == each)
    assert int(nights) == arena.nights
    assert f"{nights} nights at ε = {each} fit" in words
    assert f"plain addition allows {arena.epsilon / arena.each_night.epsilon:g}" in words
    assert f"at ε = {PLANS[-1][0]}, with {int(PLANS[-1][2]) / int(noise):.1f} times the noise" in words


def test_two_jobs_at_once_pay_once(plain: Any, job: ModuleType) -> None:
    """The second waits for the first, and finds the night done."""
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(job.nightly, [plain, plain], [FIRST, FIRST])
    assert first.ledger_entry == second.ledger_entry
    assert len(plain.ledger().entries()) == 1
