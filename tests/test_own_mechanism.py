"""A mechanism from outside: examples/own_mechanism.py goes wherever those of the library go."""

from __future__ import annotations

import importlib.util
import json
import runpy
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import quietrank as qr
from quietrank.errors import PrivacyError, QuietrankError
from quietrank.ledger.book import BudgetLedger
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.mechanisms.registry import MECHANISMS, register
from quietrank.promise.accounting import Cost
from quietrank.promise.privacy import UnitWord
from tests.helpers import ITEMS, Vote, from_arrow

FILE = Path(__file__).parent.parent / "examples" / "own_mechanism.py"
CUBE: Any = "cube"
"""a name that only run time knows; typed code hands over the object"""
PRIVACY = qr.Privacy(1.0, "person", one_per_pair=True, design="uniform")
VOTES: list[Vote] = [(f"p{k}", "A1", "ç", "a") for k in range(40)] + [(f"p{k}", "ç", "b c", "a") for k in range(40)]


@pytest.fixture(scope="module")
def own() -> Iterator[ModuleType]:
    """The example, imported as a user would; its mechanism is taken off the list again afterwards."""
    spec = importlib.util.spec_from_file_location("own_mechanism", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["own_mechanism"] = module
    spec.loader.exec_module(module)
    yield module
    del MECHANISMS["cube"], sys.modules["own_mechanism"]


def test_it_is_one_short_file(own: ModuleType) -> None:
    """All of it, with its proof and what it is used for, in under 120 lines."""
    assert len(FILE.read_text(encoding="utf-8").splitlines()) < 120


@pytest.mark.parametrize("by_name", [True, False])
def test_it_ranks_by_name_or_as_an_object(own: ModuleType, by_name: bool) -> None:
    """`rank` takes either, and the release says what the noise was."""
    release = qr.rank(from_arrow(VOTES), PRIVACY, mechanism=CUBE if by_name else own.CUBE)
    assert release.mechanism.name == "cube"
    assert dict(release.mechanism.figures)["sensitivity"] == len(ITEMS) - 1
    assert json.loads(release.to_json())["mechanism"]["norm"] == "largest entry"


def test_a_saved_tally_is_ranked_again(own: ModuleType, tmp_path: Path) -> None:
    """The law comes back from the registered mechanism, and a promise that was edited is refused."""
    tally = qr.noisy_tally(from_arrow(VOTES), PRIVACY, mechanism=CUBE)
    text = tally.to_json(tmp_path / "tally.json")
    again = qr.NoisyTally.from_json(tmp_path / "tally.json")
    assert again.law == tally.law
    assert (again.values == tally.values).all()
    for method in ("net-wins", "win-rate", "bradley-terry") if tally.total is not None else ("net-wins",):
        assert len(qr.rerank(again, method=method).ranking) == len(ITEMS)
    (tmp_path / "tally.json").write_text(text.replace('"epsilon": 1.0', '"epsilon": 0.5'))
    with pytest.raises(QuietrankError, match="its noise is not the one that its promise needs"):
        qr.NoisyTally.from_json(tmp_path / "tally.json")


def test_a_tally_of_an_unknown_mechanism_says_so(own: ModuleType, tmp_path: Path) -> None:
    """Whoever reads it must register the mechanism first."""
    qr.noisy_tally(from_arrow(VOTES), PRIVACY, mechanism=CUBE).to_json(tmp_path / "tally.json")
    del MECHANISMS["cube"]
    try:
        with pytest.raises(QuietrankError, match="register"):
            qr.NoisyTally.from_json(tmp_path / "tally.json")
    finally:
        register(own.CUBE)


def test_it_is_planned(own: ModuleType) -> None:
    """By name, with the noise of its law."""
    plan = qr.plan(6, 300, one_per_pair=True, design="uniform", epsilon=1, mechanism=CUBE, repetitions=50)
    (prediction,) = plan.predictions
    assert prediction.mechanism == "cube"
    assert prediction.noise_sd == pytest.approx(5 * np.sqrt(56 / 3) / 0.95)  # Δ = 5, n = 6, and the scatter's share


def test_a_ledger_is_charged(own: ModuleType, tmp_path: Path) -> None:
    """Before noise is drawn, by its cost, and under its name."""
    ledger = BudgetLedger.create(tmp_path / "budget.db", 1.5, data="votes", unit="person")
    release = qr.rank(from_arrow(VOTES), PRIVACY, mechanism=CUBE, ledger=ledger)
    (entry,) = ledger.entries()
    assert (release.ledger_entry, entry.what) == (entry.id, "cube noise on net-wins, and its scatter")
    assert entry.spend.epsilon == 1
    with pytest.raises(QuietrankError):
        qr.rank(from_arrow(VOTES), PRIVACY, mechanism=CUBE, ledger=ledger)


@pytest.mark.parametrize("unit", ["comparison", pytest.param("person", marks=pytest.mark.slow)])
def test_it_keeps_its_promise_by_the_audit(own: ModuleType, unit: UnitWord) -> None:
    """Bounds are reached and not exceeded, the loss is ε, the noise fits its law, and the black box stays below."""
    result = qr.audit(mechanism=CUBE, unit=unit, neighbours="replace", quick=True, workers=1, risk=1e-7)
    assert result.passed, str(result)
    assert {finding.check for finding in result.findings} == {"bounds", "loss", "noise", "black box"}
    subjects = {finding.subject for finding in result.findings}
    assert f"cube, {unit}, replace, 2 groups" in subjects


@pytest.mark.parametrize("fault", ["half the reach", "half the noise", "another law"])
@pytest.mark.few(1)
def test_the_audit_finds_what_is_wrong_with_it(own: ModuleType, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """This check can fail: too small a reach, noise that is not drawn as said, a law that is not the noise's."""
    draw, reach = own.Draw.__call__, own._reach
    if fault == "half the reach":
        monkeypatch.setattr(own, "_reach", lambda promise: reach(promise) / 2)
    elif fault == "half the noise":
        halved = lambda self, uniforms: draw(replace(self, unit=self.unit / 2), uniforms)  # noqa: E731
        monkeypatch.setattr(own.Draw, "__call__", halved)
    else:
        monkeypatch.setattr(own.CubeLaw, "cdf", lambda self, x: np.asarray(x) * 0 + 0.5)
    asked = {"mechanism": "cube", "unit": "comparison", "neighbours": "outcome" if "reach" in fault else "replace"}
    assert not qr.audit(**asked, quick=True, workers=1, risk=1e-7).passed  # type: ignore[arg-type]


def test_the_crossing_checks_a_foreign_mechanism_too(own: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that loses more than was promised, or more than is charged for it, is not drawn."""
    calibrate = own.Cube.calibrate

    def smaller(self: object, *words: object) -> Calibrated:
        calibrated: Calibrated = calibrate(self, *words)
        noise: Any = calibrated.noise
        quieter = replace(noise.formula, unit=noise.formula.unit * Fraction(99, 100))
        return replace(calibrated, noise=replace(noise, formula=quieter))

    monkeypatch.setattr(own.Cube, "calibrate", smaller)
    with pytest.raises(PrivacyError, match="nothing was released"):
        qr.rank(from_arrow(VOTES), PRIVACY, mechanism=CUBE)
    monkeypatch.setattr(own.Cube, "calibrate", lambda *words: replace(calibrate(*words), cost=Cost.pure(0.5)))
    with pytest.raises(PrivacyError, match="costs more than it charges"):
        qr.rank(from_arrow(VOTES), PRIVACY, mechanism=CUBE)


def test_what_it_does_not_release_is_refused(own: ModuleType) -> None:
    """Win rates of a private design need exposures, which it does not have."""
    with pytest.raises(PrivacyError, match="does not release wins-and-losses"):
        qr.rank(from_arrow(VOTES), qr.Privacy(1.0, "person", one_per_pair=True), mechanism=CUBE)


def test_names_are_not_taken_twice(own: ModuleType) -> None:
    """A mechanism cannot take the place of another under its name."""

    class Impostor(own.Cube):  # type: ignore[name-defined, misc]
        name = "laplace"

    with pytest.raises(PrivacyError, match="laplace"):
        register(Impostor())


def test_the_example_runs_as_a_script(own: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranked, saved, ranked again, planned, and audited; the audit here is that of one promise."""
    whole, audits = qr.audit, list[Any]()

    def one_promise(**words: Any) -> object:
        audits.append(whole(**words, unit="comparison", neighbours="outcome", workers=1))
        return audits[-1]

    monkeypatch.setattr(qr, "audit", one_promise)
    del MECHANISMS["cube"]  # the script registers its own
    try:
        runpy.run_path(str(FILE), run_name="__main__")
    finally:
        MECHANISMS["cube"] = own.CUBE
    assert [audit.passed for audit in audits] == [True]
