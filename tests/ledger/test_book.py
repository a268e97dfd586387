"""The ledger: exact sums, refusals with figures, a history that nobody can change unnoticed, other files."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quietrank as qr
from quietrank.errors import BudgetError, LedgerError, PrivacyError
from quietrank.ledger import file as ledger_file
from quietrank.ledger.book import BudgetLedger
from quietrank.ledger.composition import Budget, Spend, exact
from quietrank.ledger.records import chained
from quietrank.mechanisms.registry import MechanismWord
from quietrank.noise import knorm
from quietrank.promise.accounting import Charge, Cost
from quietrank.promise.curve import curve_rho
from quietrank.promise.privacy import UnitWord
from tests.cli.conftest import run  # noqa: F401
from tests.cli.running import GOOD, Run
from tests.helpers import from_arrow, write_csv
from tests.promise.zcdp import epsilon_of
from tests.steps import tally_votes

VOTES = [("p1", "A1", "ç", "a"), ("p1", "ç", "Ω", "tie"), ("p 2", "A1", "Ω", "b")]


def pure(epsilon: float, unit: str = "comparison", **extra: object) -> Charge:
    return Charge(qr.Privacy(epsilon, unit, **extra), Cost.pure(epsilon), "a test")  # type: ignore[arg-type]


def gaussian(epsilon: float, delta: float) -> Charge:
    return Charge(qr.Privacy(epsilon, "comparison", delta), Cost(epsilon, delta, curve_rho(epsilon, delta)), "gaussian")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


def new(path: Path, epsilon: float = 1.0, delta: float = 0.0, unit: UnitWord = "comparison") -> BudgetLedger:
    return BudgetLedger.create(path, epsilon, delta, data="survey", unit=unit)


# ---- sums and refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("total", "each", "times"), [(1.0, 0.1, 10), (0.3, 0.1, 3), (0.7, 0.07, 10), (2.0, 2.0, 1)])
def test_sums_are_exact(path: Path, total: float, each: float, times: int) -> None:
    """Ten tenths are one: neither refused nor followed by an eleventh, as sums of doubles would have it."""
    ledger = new(path, total)
    for _ in range(times):
        ledger.debit(pure(each))
    assert ledger.remaining == 0
    with pytest.raises(BudgetError):
        ledger.debit(pure(1e-12))
    assert ledger.spent == total


def test_a_little_too_much_is_too_much(path: Path) -> None:
    """The next double above a tenth does not fit ten times."""
    ledger = new(path)
    for _ in range(9):
        ledger.debit(pure(0.10000000000000002))
    with pytest.raises(BudgetError):
        ledger.debit(pure(0.10000000000000002))


@settings(max_examples=40)
@given(st.lists(st.floats(1e-6, 3), min_size=1, max_size=5), st.sampled_from([0.0, 1e-6, 1e-3]), st.booleans())
def test_the_largest_that_fits_fits(
    tmp_path_factory: pytest.TempPathFactory, spends: list[float], delta: float, last_gaussian: bool
) -> None:
    """A refusal says requested, remaining, difference and an ε; asking for exactly that succeeds; it cost nothing."""
    ledger = new(tmp_path_factory.mktemp("ledger") / "l", 2.5, delta)
    for epsilon in spends:
        with suppress(BudgetError):
            ledger.debit(pure(epsilon))
    before, made = len(ledger.entries()), (gaussian if delta and last_gaussian else lambda e, _: pure(e))
    with pytest.raises(BudgetError) as told:
        ledger.debit(made(100, 1e-6))
    assert len(ledger.entries()) == before
    assert (told.value.requested, told.value.difference) == (100, 100 - told.value.remaining)
    if told.value.largest > 0:
        ledger.debit(made(told.value.largest, 1e-6))
        assert len(ledger.entries()) == before + 1
        with pytest.raises(BudgetError):
            ledger.debit(made(max(1.001 * told.value.largest, 1e-3), 1e-6))


@pytest.mark.parametrize("cost", [(-1.0, 0.0, None), (0.0, 0.0, None), (float("nan"), 0.0, None), (1.0, -1e-9, None)])
def test_no_cost_gives_budget_back(path: Path, cost: tuple[float, float, float | None]) -> None:
    """A debit below nothing would be a refund."""
    ledger = new(path, 1.0, 1e-6)
    for wrong in (Cost(*cost), Cost(0.1, 0.0, -1.0), Cost(0.1, 1e-7, float("nan"))):
        with pytest.raises(PrivacyError, match="cannot cost"):
            ledger.debit(Charge(qr.Privacy(0.1, "comparison"), wrong, "a refund"))
    assert ledger.entries() == []


def test_a_refusal_names_the_figures(path: Path) -> None:
    """Requested, remaining, difference, and what would fit, in the words of the release."""
    ledger = new(path, 1.0, unit="person")
    ledger.debit(pure(0.4, "person", max_per_person=3))
    with pytest.raises(BudgetError) as told:
        ledger.debit(pure(0.5, "person", max_per_person=3, neighbours="add-remove"))
    error = told.value
    assert (error.requested, error.remaining, error.largest) == (1.0, 0.6, 0.3)
    for figure in ("ε = 1 (2 × 0.5", "remaining ε = 0.6", "0.4 too much", "still fits is 0.3", "nothing was spent"):
        assert figure in str(error)


def test_delta_needs_a_ledger_that_allows_it(path: Path) -> None:
    """A pure ledger says why it refuses Gaussian noise."""
    with pytest.raises(PrivacyError, match=r"allows no delta.*made with delta"):
        new(path).debit(gaussian(0.1, 1e-9))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-6), (4.0, 1e-9), (30.0, 1e-3)])
def test_one_gaussian_release_may_have_the_whole_budget(path: Path, epsilon: float, delta: float) -> None:
    """As the first release, which decides how releases are counted, by (ε, δ) here; after another one less fits,
    because ρ converts to more than the curve says."""
    ledger = new(path, epsilon, delta)
    ledger.debit(gaussian(epsilon, delta))
    ledger.verify()
    assert ledger.spent == epsilon
    assert ledger.entries()[0].spend == Spend(exact(epsilon), exact(delta), None)
    with pytest.raises(BudgetError):
        ledger.debit(pure(0.001))
    other = new(path.with_name("other"), epsilon, delta)
    other.debit(pure(1e-6))
    with pytest.raises(BudgetError) as told:
        other.debit(gaussian(epsilon, delta))
    assert 0.85 * epsilon < told.value.largest < 0.98 * epsilon
    assert epsilon_of(curve_rho(told.value.largest, delta), delta) == pytest.approx(epsilon, rel=5e-3)


def test_what_is_counted_by_epsilon_and_delta_adds_up_plainly(path: Path) -> None:
    """After such a release: a little ε and δ is left for Gaussian noise, ε alone for noise without δ; and δ that is not
    there is refused with what is left."""
    ledger = new(path, 1.0, 2e-6)
    ledger.debit(gaussian(0.95, 1.5e-6))
    assert ledger.spent == 0.95
    with pytest.raises(BudgetError) as told:
        ledger.debit(gaussian(0.5, 5e-7))
    assert told.value.largest == pytest.approx(0.05)
    ledger.debit(gaussian(0.03, 5e-7))
    with pytest.raises(PrivacyError, match=r"delta=1e-07 and is counted by its \(ε, δ\).*delta 0 is left"):
        ledger.debit(gaussian(0.01, 1e-7))
    ledger.debit(pure(0.02))
    assert ledger.spent == 1
    ledger.verify()


def test_a_group_counted_by_epsilon_and_delta_fits_as_told(path: Path) -> None:
    """Where one unit of the ledger is three of the release, 3ε and δ(1 + e^ε + e^{2ε}) must fit."""
    ledger = BudgetLedger.create(path, 1.0, 1e-6, data="survey", unit="person", neighbours="add-remove")
    privacy = qr.Privacy(0.9, "comparison", 2.5e-7, neighbours="add-remove", max_per_person=3)
    with pytest.raises(BudgetError) as told:
        ledger.debit(Charge(privacy, Cost(0.9, 2.5e-7, curve_rho(0.9, 2.5e-7)), "gaussian"))
    largest = told.value.largest
    assert 0.25 < largest < 1 / 3
    for epsilon, fits in ((1.001 * largest, False), (largest, True)):
        charge = Charge(privacy.changed(epsilon=epsilon), Cost(epsilon, 2.5e-7, curve_rho(epsilon, 2.5e-7)), "gaussian")
        with nullcontext() if fits else pytest.raises(BudgetError):
            ledger.debit(charge)
    ledger.verify()


OLD = json.loads((Path(__file__).parents[1] / "snapshots" / "ledgers-by-rho.json").read_text(encoding="utf-8"))
"""ledgers of all plans as they were written when Gaussian releases were counted by ρ alone, and what was said then"""


@pytest.mark.parametrize("name", OLD)
def test_older_ledgers_mean_the_same(path: Path, name: str) -> None:
    """They verify, and what was spent and what remains is what it was."""
    old = OLD[name]
    ledger_file.create(path, tuple(old["header"]))
    with sqlite3.connect(path) as db:
        db.executemany("INSERT INTO entries VALUES (?, ?, ?)", old["entries"])
    ledger = BudgetLedger.open(path)
    assert ledger.verify() == old["last"]
    assert (ledger.spent, ledger.remaining) == (old["spent"], old["remaining"])
    assert [entry.spend.rho is None for entry in ledger.entries()] == [
        '"rho":null' in text for _, text, _ in old["entries"]
    ]


def numbers(plan: Budget) -> list[float]:
    """Orders and overheads of its filters; the order of the filter that adds up ε is none, here 0."""
    return [float(number or 0) for one in plan.filters for number in (one.order, one.overhead)]


def test_an_older_ledger_pays_for_a_release_at_exactly_its_budget(path: Path) -> None:
    """Its plans are those of today, but for the last digits of the best orders, in which versions of Python differ;
    only what the last of them counts is new."""
    ledger_file.create(path, tuple(OLD["nothing yet"]["header"]))
    ledger = BudgetLedger.open(path)
    for plan, today in zip(ledger.terms.plans, Budget.plans(1.0, 1e-6), strict=True):
        assert replace(plan, filters=()) == replace(today, filters=())
        assert numbers(plan) == pytest.approx(numbers(today), rel=1e-6)
    ledger.debit(gaussian(1.0, 1e-6))
    assert ledger.spent == 1


def test_releases_without_rho_add_up_plainly(path: Path) -> None:
    """As the first releases: Σε up to ε and Σδ up to δ."""
    ledger = new(path, 1.0, 1e-5)
    charge = Charge(qr.Privacy(0.1, "comparison", 1e-6), Cost(0.1, 1e-6, None), "no rho")
    for _ in range(10):
        ledger.debit(charge)
    ledger.verify()
    assert ledger.spent == 1
    with pytest.raises(PrivacyError):
        ledger.debit(charge)


def test_releases_without_rho_draw_on_their_own_share(path: Path) -> None:
    """After others, (ε, δ) without ρ adds up plainly within the δ that is reserved for it."""
    ledger = new(path, 1.0, 64e-6)
    ledger.debit(pure(0.1))
    charge = Charge(qr.Privacy(0.1, "comparison", 4e-7), Cost(0.1, 4e-7, None), "no rho")
    for _ in range(2):
        ledger.debit(charge)
    with pytest.raises(PrivacyError, match="no ρ"):
        ledger.debit(charge)
    assert ledger.spent == 0.3


# ---- releases --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["laplace", "perturbed-mle"])
def test_a_release_carries_the_entry_that_paid_for_it(path: Path, tmp_path: Path, mechanism: MechanismWord) -> None:
    """Also through JSON; and a second one that is not covered does not exist."""
    ledger, privacy = new(path), qr.Privacy(0.6, "comparison")
    release = qr.rank(from_arrow(VOTES), privacy, mechanism=mechanism, ledger=ledger)
    (entry,) = ledger.entries()
    assert release.ledger_entry == entry.id == ledger.verify()
    release.to_json(tmp_path / "r.json")
    assert qr.Release.from_json(tmp_path / "r.json").ledger_entry == entry.id
    with pytest.raises(BudgetError):
        qr.rank(from_arrow(VOTES), privacy, mechanism=mechanism, ledger=ledger)
    assert qr.rank(from_arrow(VOTES), privacy, mechanism=mechanism).ledger_entry is None


@pytest.mark.parametrize(
    "privacy",
    [
        qr.Privacy(1.0, "comparison", 1e-6),
        qr.Privacy(0.3, "comparison", 1e-3, design="uniform"),
        qr.Privacy(1.0, "person", 1e-6, max_per_person=3),
        qr.Privacy(1.0, "person", 1e-6, max_per_person="auto"),
    ],
    ids=lambda privacy: f"{privacy.unit}-{privacy.epsilon}-{privacy.max_per_person}",
)
@pytest.mark.few(2)
def test_a_release_at_exactly_the_budget_is_paid_for(path: Path, privacy: qr.Privacy) -> None:
    """The whole chain, with a limit that is bought first as well; a second release is refused, also without δ."""
    ledger = new(path, privacy.epsilon, privacy.delta, privacy.unit)
    release = qr.rank(from_arrow(VOTES), privacy, mechanism="gaussian", ledger=ledger)
    assert release.ledger_entry == ledger.verify()
    assert (ledger.spent, ledger.remaining) == (privacy.epsilon, 0)
    again = privacy.changed(epsilon=0.001, max_per_person=3 if privacy.unit == "person" else None)
    for refused in (privacy, again, again.changed(delta=0.0)):
        with pytest.raises(PrivacyError, match=r"delta 0 is left|nothing more will fit"):
            qr.rank(from_arrow(VOTES), refused, ledger=ledger)
    assert len(ledger.entries()) == 1


def test_gaussian_releases_are_paid_in_rho(path: Path) -> None:
    """Eight Gaussian releases at ε = 0.3 fit into ε = 1, where plain sums allow three."""
    ledger, privacy = new(path, 1.0, 1e-6), qr.Privacy(0.3, "comparison", 1e-6)
    for _ in range(8):
        qr.rank(from_arrow(VOTES), privacy, mechanism="gaussian", ledger=ledger)
    with pytest.raises(BudgetError) as told:
        qr.rank(from_arrow(VOTES), privacy.changed(epsilon=0.9), mechanism="gaussian", ledger=ledger)
    qr.rank(from_arrow(VOTES), privacy.changed(epsilon=told.value.largest), mechanism="gaussian", ledger=ledger)
    assert ledger.spent <= 1


def test_a_comparison_release_that_a_person_ledger_accepts_keeps_its_limit(path: Path) -> None:
    """The conversion kε rests on max_per_person being enforced."""
    privacy = qr.Privacy(0.1, "comparison", neighbours="add-remove", max_per_person=2)
    tally = tally_votes(from_arrow([("p1", "A1", "ç", "a")] * 5), privacy)
    assert tally.total * tally.step <= 2


def test_a_release_that_fails_after_its_debit_stays_paid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No refund: noise may have been drawn."""
    ledger = new(path)

    def fail(*_: object) -> None:
        raise RuntimeError("out of entropy")

    monkeypatch.setattr(knorm.KNormNoise, "add_to", fail)
    monkeypatch.setattr(knorm.BallNoise, "add_to", fail)
    with pytest.raises(RuntimeError):
        qr.rank(from_arrow(VOTES), qr.Privacy(0.6, "comparison"), ledger=ledger)
    assert len(ledger.entries()) == 1


def test_the_debit_is_durable(path: Path) -> None:
    """The folder is synced too (EXTRA), in a rollback journal that is deleted: without it a power cut can undo it."""
    new(path)
    with ledger_file.writing(path) as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (3,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert db.in_transaction


def test_the_commit_comes_before_the_return(path: Path) -> None:
    """Another connection sees the entry as soon as debit returns."""
    id_ = new(path).debit(pure(0.1))
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT number || '-' || substr(hash, 1, 16) FROM entries").fetchall() == [(id_,)]


# ---- a history that was touched --------------------------------------------------------------------------------

TOUCHES = {
    "edited cost": "UPDATE entries SET content = replace(content, ':\"1/10\"', ':\"1/99\"') WHERE number = 2",
    "edited words": "UPDATE entries SET content = replace(content, 'a test', 'a nest') WHERE number = 3",
    "edited hash": "UPDATE entries SET hash = upper(hash) WHERE number = 4",
    "deleted first": "DELETE FROM entries WHERE number = 1",
    "deleted middle": "DELETE FROM entries WHERE number = 3",
    "deleted last": "DELETE FROM entries WHERE number = 5",
    "deleted all": "DELETE FROM entries",
    "closed the gap": "DELETE FROM entries WHERE number = 2; UPDATE entries SET number = number - 1 WHERE number > 2",
    "reordered": "UPDATE entries SET number = -2 WHERE number = 2; UPDATE entries SET number = 2 WHERE number = 3; "
    "UPDATE entries SET number = 3 WHERE number = -2",
    "added": "INSERT INTO entries SELECT 6, content, hash FROM entries WHERE number = 5",
    "larger budget": """UPDATE header SET terms = replace(terms, '"epsilon":"1"', '"epsilon":"9"')""",
    "smaller sum": """UPDATE header SET state = replace(state, '"1/2"', '"1/9"')""",
    "other plan": """UPDATE header SET state = replace(state, '"plan":0', '"plan":1')""",
    "no header": "DELETE FROM header",
    "two headers": "INSERT INTO header SELECT * FROM header",
    "planted trigger": "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
}


def test_a_forged_header_is_noticed(path: Path) -> None:
    """With the seal recomputed: sums that differ from the entries, another plan, a plan that does not exist."""
    ledger = new(path, 1.0, 1e-6)
    for _ in range(3):
        ledger.debit(pure(0.1))
    with ledger_file.reading(path) as db:
        state = ledger._state(db)
    for forged in (
        replace(state, spent=ledger.terms.plans[0].untouched),
        replace(state, plan=2),
        replace(state, plan=9),
    ):
        seal = chained(ledger.terms.to_text(), forged.to_text())
        with sqlite3.connect(path) as other:
            other.execute("UPDATE header SET state = ?, seal = ?", (forged.to_text(), seal))
        with pytest.raises(LedgerError, match="broken"):
            ledger.verify()


def touched(path: Path, touch: str) -> None:
    db = sqlite3.connect(path)
    db.executescript(touch)
    db.close()


@pytest.mark.parametrize("touch", TOUCHES.values(), ids=TOUCHES.keys())
def test_a_touched_history_is_noticed(path: Path, touch: str) -> None:
    """Edited, deleted, reordered, truncated: verify says so in one line."""
    ledger = new(path)
    for _ in range(5):
        ledger.debit(pure(0.1))
    ledger.verify()
    before = path.read_bytes()
    touched(path, touch)
    assert path.read_bytes() != before
    with pytest.raises(LedgerError) as told:
        ledger.verify()
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", ["deleted last", "deleted all", "added", "larger budget", "smaller sum", "no header"])
def test_nothing_is_added_to_a_history_whose_end_was_touched(path: Path, name: str) -> None:
    """The cheap checks of each debit: the header and the last entry."""
    ledger = new(path)
    for _ in range(5):
        ledger.debit(pure(0.1))
    touched(path, TOUCHES[name])
    with pytest.raises(LedgerError):
        ledger.debit(pure(0.1))


def test_a_rolled_back_file_does_not_match_the_last_release(path: Path, tmp_path: Path) -> None:
    """An old copy is valid in itself; the id in the last release gives it away."""
    ledger = new(path)
    ledger.debit(pure(0.1))
    shutil.copy(path, tmp_path / "old")
    last = ledger.debit(pure(0.1))
    shutil.copy(tmp_path / "old", path)
    assert BudgetLedger.open(path).verify() != last


def test_a_ledger_that_was_swapped_is_noticed(path: Path, tmp_path: Path) -> None:
    """What was opened is what is debited."""
    ledger = new(path)
    new(tmp_path / "other", 100.0)
    shutil.copy(tmp_path / "other", path)
    with pytest.raises(LedgerError, match="replaced"):
        ledger.debit(pure(50.0))


# ---- a ledger with several names -------------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "SECOND_NAME", 0.0)


@pytest.mark.usefixtures("impatient")
def test_a_ledger_with_two_names_is_not_opened(path: Path, tmp_path: Path) -> None:
    """SQLite looks for a journal under the name that was opened: what is cut short under one is unseen under the
    other, and is played back later over what was paid in between."""
    new(path).debit(pure(0.5))
    os.link(path, tmp_path / "second.db")
    for name in (path, tmp_path / "second.db"):
        with pytest.raises(LedgerError, match=r"has 2 names \(hard links\).*; remove the other names") as told:
            BudgetLedger.open(name)
        assert "\n" not in str(told.value)
    path.unlink()
    assert BudgetLedger.open(tmp_path / "second.db").remaining == 0.5


@pytest.mark.usefixtures("impatient")
def test_a_second_name_stops_the_next_debit(path: Path, tmp_path: Path) -> None:
    """Also of a ledger that is open already; nothing is spent, and with one name left it goes on."""
    ledger = new(path)
    ledger.debit(pure(0.1))
    os.link(path, tmp_path / "second.db")
    before = path.read_bytes()
    for use in (lambda: ledger.debit(pure(0.1)), ledger.verify, ledger.entries):
        with pytest.raises(LedgerError, match="2 names"):
            use()
    assert path.read_bytes() == before
    (tmp_path / "second.db").unlink()
    ledger.debit(pure(0.1))
    assert len(ledger.entries()) == 2


def test_a_ledger_that_is_being_made_is_waited_for(path: Path, tmp_path: Path) -> None:
    """It has its own name and that of its draft for a moment."""
    new(path)
    draft = tmp_path / ".budget.db.part"
    os.link(path, draft)
    threading.Timer(0.1, draft.unlink).start()
    assert BudgetLedger.open(path).remaining == 1.0


@pytest.mark.usefixtures("impatient")
def test_the_command_line_refuses_a_ledger_with_two_names(run: Run, tmp_path: Path) -> None:  # noqa: F811
    """Before the votes are read, in one line."""
    book = tmp_path / "budget.db"
    new(book)
    os.link(book, tmp_path / "second.db")
    votes = write_csv(tmp_path / "votes.csv", GOOD, ("person", "winner", "loser"))
    done = run("rank", votes, "--items", "x,y,z", "--unit", "comparison", "--epsilon", 1, "--ledger", book)
    assert (done.code, done.stderr.count("\n")) == (1, 1)
    assert "2 names (hard links)" in done.stderr


# ---- files that are not ledgers --------------------------------------------------------------------------------


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    """A CSV file, another database, an empty file, a folder, nothing at all; none of them is changed."""
    write_csv(tmp_path / "votes.csv", GOOD, ("person", "winner", "loser"))
    (tmp_path / "empty").touch()
    (tmp_path / "zeros").write_bytes(bytes(8192))
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, content TEXT, hash TEXT)")
    for name in ("votes.csv", "empty", "zeros", "other.db", ".", "missing"):
        place = tmp_path / name
        before = place.read_bytes() if place.is_file() else None
        with pytest.raises(LedgerError, match=r"qr\.Ledger\.create\(path, epsilon, ") as told:
            BudgetLedger.open(place)
        assert "\n" not in str(told.value)
        assert (place.read_bytes() if place.is_file() else None) == before


def test_a_truncated_file_is_refused_at_any_length(path: Path) -> None:
    """Cut anywhere, it neither opens nor takes a debit; no such file is taken for a shorter history."""
    ledger = new(path)
    for _ in range(40):
        ledger.debit(pure(0.01))
    whole = path.read_bytes()
    lengths = [*range(0, len(whole), 512), len(whole) - 1]
    for length in lengths:
        path.write_bytes(whole[:length])
        for use in (lambda: BudgetLedger.open(path), lambda: ledger.debit(pure(0.01)), ledger.verify):
            with pytest.raises(LedgerError):
                use()
    print(f"survived {len(lengths)} truncations")


def test_random_damage_never_makes_room(path: Path) -> None:
    """Bytes overwritten anywhere: verify refuses, or the history is still the one that was written."""
    ledger = new(path)
    for _ in range(40):
        ledger.debit(pure(0.01))
    whole, entries, refused = path.read_bytes(), ledger.entries(), 0
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            ledger.verify()
        except LedgerError:
            refused += 1
        else:
            assert ledger.entries() == entries
    assert refused > len(whole) // 97 // 4
    print(f"survived {len(range(0, len(whole), 97))} damaged bytes, {refused} of them noticed, the rest harmless")


def test_nothing_is_overwritten(path: Path, tmp_path: Path) -> None:
    """Not a ledger, not another file, not a link to nowhere; and no journal is played into a new ledger."""
    new(path)
    (tmp_path / "letter").write_text("dear")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "fresh-journal").write_text("old")
    for name in (path.name, "letter", "link", "fresh"):
        with pytest.raises(LedgerError, match="not overwritten"):
            new(tmp_path / name)
    assert (tmp_path / "letter").read_text() == "dear"
    with pytest.raises(LedgerError, match="no folder"):
        new(tmp_path / "nowhere" / "l")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "words",
    [
        {"epsilon": 0.0},
        {"epsilon": float("nan")},
        {"delta": 0.5},
        {"unit": "people"},
        {"neighbours": "x"},
        {"data": " "},
    ],
)
def test_terms_are_checked(path: Path, words: dict[str, object]) -> None:
    """A budget that means nothing is not made."""
    given_ = {"epsilon": 1.0, "delta": 0.0, "data": "survey", "unit": "person"} | words
    with pytest.raises((PrivacyError, LedgerError)):
        BudgetLedger.create(path, **given_)  # type: ignore[arg-type]
    assert not path.exists()


def test_names_with_odd_characters_work(tmp_path: Path) -> None:
    """The path is quoted for SQLite, and a link leads to the file it names."""
    place = tmp_path / "a ?mode=memory&b#c%20ü.db"
    new(place).debit(pure(0.1))
    (tmp_path / "link").symlink_to(place)
    BudgetLedger.open(tmp_path / "link").debit(pure(0.1))
    assert len(BudgetLedger.open(place).entries()) == 2


# ---- the command line ------------------------------------------------------------------------------------------


def test_the_command_line_from_new_to_refusal(
    run: Run,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """new, rank, show in three formats, verify, and a refusal with exit code 1."""
    monkeypatch.setenv("COLUMNS", "200")
    votes = write_csv(tmp_path / "votes.csv", GOOD, ("person", "winner", "loser"))
    book = tmp_path / "budget.db"
    made = run("ledger", "new", book, "--epsilon", 2, "--data", "the survey", "--unit", "person")
    assert (made.code, "ε = 2 per person, neighbours replace, for the survey" in made.stdout) == (0, True)
    rank = ("rank", votes, "--items", "x,y,z", "--unit", "person", "--max-per-person", 2, "--ledger", book)
    release = json.loads(run(*rank, "--epsilon", 1.5, "--format", "json").stdout)
    refused = run(*rank, "--epsilon", 1)
    assert (refused.code, refused.stdout) == (1, "")
    assert "requested ε = 1, remaining ε = 0.5, 0.5 too much" in refused.stderr
    assert run(*rank, "--epsilon", 0.25, "--neighbours", "add-remove").code == 0

    shown = json.loads(run("ledger", "show", book, "--format", "json").stdout)
    assert [entry["cost"]["epsilon"] for entry in shown["entries"]] == [1.5, 0.5]
    assert (shown["spent"], shown["remaining"], shown["data"]) == (2.0, 0.0, "the survey")
    assert shown["entries"][0]["entry"] == release["ledger_entry"]
    rows = list(csv.DictReader(run("ledger", "show", book, "--format", "csv").stdout.splitlines()))
    assert [row["remaining"] for row in rows] == ["0.5", "0"]
    table = run("ledger", "show", book).stdout
    for word in ("when", "what", "unit", "promise", "cost", "remaining", "add-remove", "2 releases"):
        assert word in table
    verified = run("ledger", "verify", book)
    assert (verified.code, shown["entries"][1]["entry"] in verified.stdout) == (0, True)


def test_the_command_line_says_when_a_ledger_is_broken(run: Run, tmp_path: Path) -> None:  # noqa: F811
    """Exit code 1, one line; and rank refuses before it reads the votes."""
    book = tmp_path / "budget.db"
    new(book).debit(pure(0.1))
    touched(book, TOUCHES["deleted all"])
    for words in (("ledger", "verify", book), ("ledger", "show", book)):
        result = run(*words)
        assert (result.code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    result = run("rank", "no-such-votes.csv", "--unit", "comparison", "--epsilon", 1, "--ledger", book)
    assert result.code == 1
    assert "broken" in result.stderr


def test_a_release_does_not_overwrite_its_ledger(run: Run, tmp_path: Path) -> None:  # noqa: F811
    """--out and --ledger are two files."""
    votes = write_csv(tmp_path / "votes.csv", GOOD, ("person", "winner", "loser"))
    new(tmp_path / "l.json")
    both = ("--ledger", tmp_path / "l.json", "--out", tmp_path / "l.json", "--overwrite")
    result = run("rank", votes, "--items", "x,y,z", "--unit", "comparison", "--epsilon", 1, *both)
    assert result.code == 1
    assert "would overwrite" in result.stderr


def test_an_empty_ledger_is_shown(run: Run, tmp_path: Path) -> None:  # noqa: F811
    """Before the first release, in every format; with δ too."""
    new(tmp_path / "l", 1.0, 1e-6)
    assert "0 releases" in run("ledger", "show", tmp_path / "l").stdout
    assert json.loads(run("ledger", "show", tmp_path / "l", "--format", "json").stdout)["entries"] == []
    assert run("ledger", "show", tmp_path / "l", "--format", "csv").stdout.startswith("entry,when,what")
    assert run("ledger", "new", tmp_path / "m").code == 2


def test_the_ledger_loads_nothing_heavy() -> None:
    """`quietrank ledger` needs neither NumPy nor a database engine."""
    script = "import sys, quietrank.ledger.book; print(*({'numpy', 'ibis', 'duckdb', 'opendp'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_fractions_go_both_ways(path: Path) -> None:
    """What is written is what is read, sums included."""
    ledger = new(path, 3.7, 1e-5)
    ledger.debit(pure(0.123456789))
    again = BudgetLedger.open(path)
    assert again.terms == ledger.terms
    assert again.entries()[0].spend.epsilon == Fraction(123456789, 10**9)
