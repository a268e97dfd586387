"""The attack on exactly one promise: what is the same as in the release, what is smaller, and that it can fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quietrank as qr
from quietrank.auditing.checks import Sizes
from quietrank.auditing.single import Attack
from quietrank.auditing.streams import BoardCase
from quietrank.evidence import promise_audit
from quietrank.evidence.promise_audit import attack_on, audit_promise
from quietrank.noise import knorm
from tests.evidence.published import MADE, PEOPLE, made, subject_of, votes

TINY = Sizes(1, 0, 400, 100, 200, 200, 8, 1, 0, beside=0)


@pytest.mark.parametrize("kind", MADE)
def test_the_promise_that_is_attacked_is_that_of_the_release(kind: str, tmp_path: Path) -> None:
    """Mechanism, unit, neighbours, design, δ, bounds and statistic; only numbers of things are smaller."""
    subject = subject_of(made(kind), tmp_path)
    promise, same, _ = attack_on(subject)
    assert f"unit {subject.privacy.unit}" in same
    if isinstance(promise, BoardCase):
        assert (promise.privacy, promise.horizon) == (subject.privacy, 4)
        return
    figures = dict(subject.one.mechanism.figures)
    for case in (promise.case, promise.drawn, promise.smallest):
        ours, theirs = case.privacy, subject.privacy
        assert (ours.unit, ours.neighbours, ours.design, ours.delta, ours.one_per_pair, ours.clip) == (
            theirs.unit, theirs.neighbours, theirs.design, theirs.delta, theirs.one_per_pair, theirs.clip
        )  # fmt: skip
        assert case.mechanism.name == subject.one.mechanism.name
        assert case.calibrated.statistic.name == figures.get("statistic", case.calibrated.statistic.name)
        assert case.releases_per_unit == (1 if subject.groups is None else 2)


def differs(release: qr.Release | qr.TopRelease | qr.GroupedRelease, folder: Path) -> str:
    _, _, said = attack_on(subject_of(release, folder))
    return " ".join(said)


def test_what_is_smaller_is_said(tmp_path: Path) -> None:
    """Items, votes per person, names on a list, and the part of ε that the counts have."""
    many = qr.read_votes(qr.simulate(items=30, people=40, per_person=4), items_from_votes=True)
    said = differs(qr.rank(many, PEOPLE.changed(max_per_person=100), mechanism="laplace"), tmp_path)
    assert "13 items; the release has 30" in said
    assert "A person has at most 50 votes; in the release it is 100." in said
    assert "its own part of ε = 1: 0.96, beside 0.04 for the width of the intervals" in said
    assert "the scale 208.333, and that of the release 416.667" in said
    said = differs(qr.top(many, PEOPLE, 5, mechanism="permute-and-flip"), tmp_path)
    assert "2 items are named; in the release 5 are." in said
    assert "Attacked are the noisy counts" in differs(qr.top(many, PEOPLE, 5, mechanism="laplace"), tmp_path)


def test_noise_has_the_form_that_it_has_in_the_release(tmp_path: Path) -> None:
    """Many items have independent noise, and few have noise that sums to zero: so more items are attacked."""
    many = qr.read_votes(qr.simulate(items=30, people=40, per_person=4), items_from_votes=True)
    for source, form in ((many, "independent"), (votes(), "given a sum of zero")):
        release = qr.rank(source, qr.Privacy(epsilon=1, unit="comparison"), method="net-wins")
        promise, _, _ = attack_on(subject_of(release, tmp_path))
        assert isinstance(promise, Attack)
        cases = (promise.case, promise.drawn, promise.smallest)
        assert {dict(case.calibrated.figures)["form"] for case in cases} == {form}


def test_a_promise_that_is_too_weak_to_attack_says_so(tmp_path: Path) -> None:
    """In plain words, and without a verdict."""
    known = audit_promise(subject_of(qr.rank(votes(), PEOPLE.changed(epsilon=50), mechanism="laplace"), tmp_path))
    assert (known.audit, known.passed) == (None, None)
    assert "an attack shows something for ε from 0.001 to 20; this one has" in known.reason


def test_the_attack_on_a_sound_release_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds, loss, noise and black box of this promise, in their smallest form."""
    monkeypatch.setattr(promise_audit, "QUICK", TINY)
    known = audit_promise(subject_of(made("people"), tmp_path), workers=1)
    assert known.audit is not None
    assert known.passed, known.audit
    assert [finding.check for finding in known.audit.findings] == ["bounds", "loss", "noise", "black box"]
    assert "has the scale of the release" in " ".join(known.differs)


def test_a_library_that_draws_too_little_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This test can fail: with half of the noise that is claimed, the promise is broken."""
    honest = knorm.KNormNoise.add_to

    def half(self: Any, values: Any) -> Any:
        drawn = honest(self, values)
        return values + np.round((drawn - values) / 2).astype(np.int64)

    subject = subject_of(made("single votes"), tmp_path)
    monkeypatch.setattr(promise_audit, "QUICK", TINY)
    monkeypatch.setattr(knorm.KNormNoise, "add_to", half)
    known = audit_promise(subject, workers=1)
    assert known.audit is not None
    assert not known.passed
