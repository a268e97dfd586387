"""What `verify` says about sound releases of every kind, and about releases in which one thing was edited."""

from __future__ import annotations

import copy
import json
import re
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from quietrank.errors import QuietrankError, UsageError
from quietrank.evidence.subject import read_subject
from quietrank.evidence.verify import Verdict, Verification, verify
from quietrank.mechanisms.laplace import Laplace
from quietrank.promise.accounting import Cost
from tests.evidence.published import MADE, PAID_BOARD, PAIRS, PEOPLE, Values, by_country, made, subject_of, votes, write


def verdicts(verification: Verification) -> dict[str, Verdict]:
    return {line.what: line.verdict for line in verification.lines}


@pytest.mark.parametrize("kind", MADE)
def test_a_sound_release_holds(kind: str, tmp_path: Path) -> None:
    """The file, the statement, the noise and its loss, of every kind; what needs more files is not checked."""
    checked = verify(subject_of(made(kind), tmp_path))
    assert checked.holds, checked.reason
    found = verdicts(checked)
    assert {found["format"], found["statement"], found["noise"], found["loss"]} == {Verdict.HOLDS}, checked
    assert found["ledger"] is Verdict.UNKNOWN
    assert any("votes are real" in sentence for sentence in checked.unchecked)


# ---- one thing is edited --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release, the tally it was made from, and the ledger that paid for it and for another one."""
    folder = tmp_path_factory.mktemp("paid")
    ledger = qr.Ledger.create(folder / "budget.db", 3, data="drinks", unit="person")
    qr.rank(votes(), PEOPLE.changed(epsilon=0.5), mechanism="laplace", ledger=ledger)
    tally = qr.noisy_tally(votes(), PEOPLE, mechanism="laplace", ledger=ledger)
    tally.to_json(folder / "tally.json")
    qr.rerank(tally).to_json(folder / "release.json")
    return folder


def set_to(*path: Any) -> Callable[[Values], None]:
    """An edit: the last of these at the place that the others name."""

    def edit(values: Values) -> None:
        *places, last, value = path
        for place in places:
            values = values[place]
        values[last] = value(values[last]) if callable(value) else value

    return edit


def swapped_ranks(values: Values) -> None:
    first, second = values["ranking"][:2]
    first["rank"], second["rank"] = 2, 1


def nobody_first(values: Values) -> None:
    for row in values["ranking"]:
        row["probability_first"] = 0.0


EDITED: dict[str, tuple[Callable[[Values], object], str]] = {
    "a smaller epsilon": (set_to("privacy", "epsilon", 0.5), "statement|scale|scatter"),
    "a larger limit": (set_to("privacy", "max_per_person", 40), "statement"),
    "another unit": (set_to("privacy", "unit", "comparison"), "max_per_person has no meaning"),
    "a scale": (set_to("mechanism", "scale", lambda scale: scale / 2), "noise: scale is"),
    "a sensitivity": (set_to("mechanism", "sensitivity", 1.0), "noise: sensitivity is"),
    "a size of noise": (set_to("mechanism", "noise_sd", 0.1), "noise: noise_sd is"),
    "a mechanism": (set_to("mechanism", "name", "ball"), "no such noise can have been drawn"),
    "a rank": (swapped_ranks, "ranks are not 1, 2, 3"),
    "a score": (set_to("ranking", 3, "score", 9.0), "ranks do not follow"),
    "a rank set": (set_to("ranking", 1, "rank_low", 3), "possible ranks"),
    "an interval": (set_to("ranking", 1, "score_low", 2.0), "outside of its interval"),
    "a probability": (set_to("ranking", 0, "probability_first", 1.5), "no probability"),
    "a sure winner": (set_to("ranking", 3, "probability_first", 0.999), "sum to|likelier"),
    "no winner": (nobody_first, "being first sum to 0"),
    "a note": (set_to("assumptions", 0, "This was approved by the data protection officer."), "notes: «This was"),
    "a statement": (set_to("privacy", "statement", "Nobody can be harmed."), "statement: it says"),
    "an entry": (set_to("ledger_entry", "2-0123456789abcdef"), "has no payment 2-0123456789abcdef"),
    "an earlier entry": (set_to("ledger_entry", None), "names no entry"),
    "a scatter's noise": (set_to("scatter", "scale", lambda scale: scale / 2), "scatter does not have the noise"),
    "a scatter's price": (set_to("scatter", "epsilon", 0.001), "noise: "),
    "something more": (set_to("approved", True), "approved is no part of such a file"),
    "a second statement": (set_to("statement", "Nobody can be harmed."), "statement is no part of such a file"),
    "no certainty": (lambda values: values.pop("certainty"), "certainty is missing"),
    "no scale": (lambda values: values["mechanism"].pop("scale"), "noise: scale is not given"),
    "another program": (set_to("made_with", "Excel"), "no version of quietrank"),
}


def complaint(path: Path, **files: Path | None) -> str:
    """Why the release does not hold, whether it is refused or judged."""
    try:
        return str(verify(read_subject(path), **files).reason)  # type: ignore[arg-type]
    except QuietrankError as error:
        return str(error)


@pytest.mark.parametrize("edit", EDITED)
def test_an_edit_is_caught(edit: str, paid: Path, tmp_path: Path) -> None:
    """This test can fail: without the edit everything holds, and each edit is named."""
    values = json.loads((paid / "release.json").read_text())
    change, message = EDITED[edit]
    edited = copy.deepcopy(values)
    change(edited)
    assert edited != values
    assert re.search(message, complaint(write(edited, tmp_path / "edited.json"), ledger=paid / "budget.db"))


def test_an_entry_that_was_copied_is_not_caught_and_that_is_said(paid: Path, tmp_path: Path) -> None:
    """An entry says what was promised and not what came out; so it is among what cannot be checked."""
    never_paid = qr.rank(votes(), PEOPLE, mechanism="laplace").to_dict()
    never_paid["ledger_entry"] = json.loads((paid / "release.json").read_text())["ledger_entry"]
    checked = verify(read_subject(write(never_paid, tmp_path / "unpaid.json")), ledger=paid / "budget.db")
    assert checked.holds
    assert any("a release that was never paid for can name one" in sentence for sentence in checked.unchecked)


def test_without_the_tally_it_is_said_what_is_not_checked(paid: Path) -> None:
    """Most of what is published."""
    (line,) = (line for line in verify(read_subject(paid / "release.json")).lines if line.what == "tally")
    assert line.verdict is Verdict.UNKNOWN
    assert (
        "not names, scores, intervals, probabilities, the ridge, what the scatter is, notes and the condition"
        in line.why
    )


def test_the_release_that_is_edited_holds(paid: Path) -> None:
    """With its tally and its ledger every line holds."""
    subject = read_subject(paid / "release.json")
    checked = verify(subject, ledger=paid / "budget.db", tally=paid / "tally.json")
    assert set(verdicts(checked).values()) == {Verdict.HOLDS}, checked
    assert any("0.95 (counts) + 0.05 (scatter) = 1" in line.why for line in checked.lines)


def test_a_consistent_edit_of_the_promise_is_caught_by_its_noise(paid: Path, tmp_path: Path) -> None:
    """Somebody who also writes the sentence anew is betrayed by the scale."""
    values = json.loads((paid / "release.json").read_text())
    values["privacy"]["epsilon"] = 0.5
    values["privacy"]["statement"] = PEOPLE.changed(epsilon=0.5).statement
    checked = verify(read_subject(write(values, tmp_path / "edited.json")), ledger=paid / "budget.db")
    assert verdicts(checked)["statement"] is Verdict.HOLDS
    assert verdicts(checked)["noise"] is Verdict.BROKEN
    assert verdicts(checked)["loss"] is Verdict.UNKNOWN


def test_names_that_were_exchanged_are_caught_by_the_tally(paid: Path, tmp_path: Path) -> None:
    """Without the tally nobody can tell; with it the first difference is named."""
    values = json.loads((paid / "release.json").read_text())
    first, last = values["ranking"][0], values["ranking"][-1]
    first["item"], last["item"] = last["item"], first["item"]
    path = write(values, tmp_path / "edited.json")
    assert complaint(path) == "None"
    assert "tally: ranking[0].item is" in complaint(path, tally=paid / "tally.json")


def test_an_edited_tally_is_caught(paid: Path, tmp_path: Path) -> None:
    """Its values give another ranking, and its promise is refused when it is read."""
    tally = json.loads((paid / "tally.json").read_text())
    tally["values"][0] += 10**8
    assert "in the release, and" in complaint(paid / "release.json", tally=write(tally, tmp_path / "values.json"))
    tally["privacy"]["epsilon"] = 2.0
    assert "damaged" in complaint(paid / "release.json", tally=write(tally, tmp_path / "promise.json"))


@pytest.mark.parametrize("scale", ["log-odds", "elo", "probability"])
@pytest.mark.few(2)
def test_a_tally_gives_every_view_again(scale: Any, tmp_path: Path) -> None:
    """Whatever the reader chose: method, ridge, level, scale, anchor, and how many items are shown."""
    tally = qr.noisy_tally(votes(), PEOPLE, method="bradley-terry", mechanism="laplace")
    tally.to_json(tmp_path / "tally.json")
    last = qr.rerank(tally, method="bradley-terry").ranking[-1].item  # which is not shown
    anchor = (last, 1200.0) if scale == "elo" else None
    release = qr.rerank(
        tally, method="bradley-terry", gamma=3.0, level=0.8, simultaneous=True, scale=scale, anchor=anchor
    )
    assert release.anchor == anchor
    checked = verify(subject_of(release.top(3), tmp_path), tally=tmp_path / "tally.json")
    assert verdicts(checked)["tally"] is Verdict.HOLDS, checked.reason


def test_tallies_of_groups_give_their_releases_again(tmp_path: Path) -> None:
    """With the ranking over all groups, which is theirs added up."""
    tally = qr.noisy_tally_by_group(by_country(), PEOPLE, mechanism="laplace")
    tally.to_json(tmp_path / "tally.json")
    checked = verify(subject_of(qr.rerank(tally, overall=True), tmp_path), tally=tmp_path / "tally.json")
    assert verdicts(checked)["tally"] is Verdict.HOLDS, checked.reason


def test_a_list_has_no_tally(tmp_path: Path) -> None:
    """To give one is wrong usage."""
    with pytest.raises(UsageError, match="a list of names has no noisy tally"):
        verify(subject_of(made("list"), tmp_path), tally=tmp_path / "tally.json")


def test_an_edited_list_is_caught(tmp_path: Path) -> None:
    """Its scale, and its promise."""
    subject = subject_of(made("list"), tmp_path)
    for place, value in (("mechanism", "scale"), ("privacy", "epsilon")):
        values = copy.deepcopy(dict(subject.values))
        values[place][value] /= 2
        assert not verify(read_subject(write(values, tmp_path / "edited.json"))).holds


@pytest.mark.parametrize("figure", ["scale", "sensitivity"])
def test_an_edited_board_is_caught(figure: str, tmp_path: Path) -> None:
    """What its noise is follows from the promise, the horizon and the day."""
    values = copy.deepcopy(dict(subject_of(made("board"), tmp_path).values))
    values["mechanism"][figure] *= 0.9
    assert f"noise: {figure} is" in complaint(write(values, tmp_path / "edited.json"))


# ---- what cannot be known -------------------------------------------------------------------------------------------


def test_noise_for_declared_pairs_is_known_by_its_tally_alone(tmp_path: Path) -> None:
    """A release does not list the pairs; that its scale is in proportion to its sensitivity is checked all the same."""
    asked = votes(pairs=PAIRS[:5])
    privacy = qr.Privacy(epsilon=1, unit="person", one_per_pair=True)
    subject = subject_of(qr.rank(asked, privacy, mechanism="zonotope", method="net-wins"), tmp_path)
    checked = verify(subject)
    assert (checked.holds, verdicts(checked)["noise"]) == (True, Verdict.UNKNOWN)
    assert "--tally" in str(checked)
    values = copy.deepcopy(dict(subject.values))
    values["mechanism"]["scale"] /= 2
    assert "noise: scale is" in complaint(write(values, tmp_path / "edited.json"))


def test_a_mechanism_of_somebody_else_is_not_judged(paid: Path, tmp_path: Path) -> None:
    """It is said that it is not known here."""
    values = json.loads((paid / "release.json").read_text())
    values["mechanism"]["name"] = "own"
    checked = verify(read_subject(write(values, tmp_path / "own.json")))
    assert verdicts(checked)["noise"] is Verdict.UNKNOWN
    assert "not one of quietrank's own" in str(checked)


def test_noise_that_does_not_keep_its_promise_is_caught(paid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This test can fail: if a mechanism lost more than it says, the line about the loss would be broken."""
    honest = Laplace.loss
    monkeypatch.setattr(Laplace, "loss", lambda self, noise: honest(self, noise) + Cost.pure(0.01))
    assert "loss: the noise loses ε = 1.01" in str(verify(read_subject(paid / "release.json")).reason)


def test_what_is_given_twice_is_refused(paid: Path, tmp_path: Path) -> None:
    """Of two rankings in one file some readers would take the first."""
    text = (paid / "release.json").read_text()
    twice = text.replace('"format"', '"ranking": [], "format"', 1)
    (tmp_path / "twice.json").write_text(twice)
    assert "'ranking' appears twice" in complaint(tmp_path / "twice.json")
    with pytest.raises(QuietrankError, match="appears twice"):
        qr.Release.from_json(tmp_path / "twice.json")


def test_what_was_removed_is_missed_by_the_tally(paid: Path, tmp_path: Path) -> None:
    """Also in a file that another version could have written, which may know less."""
    values = json.loads((paid / "release.json").read_text()) | {"made_with": "quietrank 0.0.1"}
    for row in values["ranking"]:
        row["net_wins"] = None
    checked = verify(read_subject(write(values, tmp_path / "less.json")), tally=paid / "tally.json")
    assert "tally: ranking[0].net_wins is None in the release" in str(checked.reason)


def test_a_group_that_was_removed_is_missed(tmp_path: Path) -> None:
    """By the tally, and by the entry, which says how many there are."""
    ledger = qr.Ledger.create(tmp_path / "budget.db", 3, data="drinks", unit="person")
    tally = qr.noisy_tally_by_group(by_country(), PEOPLE, mechanism="laplace", ledger=ledger)
    tally.to_json(tmp_path / "tally.json")
    values = qr.rerank(tally).to_dict()
    sound = read_subject(write(values, tmp_path / "both.json"))
    assert verify(sound, ledger=tmp_path / "budget.db", tally=tmp_path / "tally.json").holds
    del values["groups"]["north"]
    path = write(values, tmp_path / "one.json")
    assert "paid for something else" in complaint(path, ledger=tmp_path / "budget.db")
    assert "north is None in the release" in complaint(path, tally=tmp_path / "tally.json")


# ---- ledgers --------------------------------------------------------------------------------------------------------


def test_a_smaller_payment_is_not_enough(paid: Path, tmp_path: Path) -> None:
    """An entry that exists, and paid for less."""
    values = json.loads((paid / "release.json").read_text())
    values["ledger_entry"] = qr.Ledger.open(paid / "budget.db").entries()[0].id
    reason = complaint(write(values, tmp_path / "edited.json"), ledger=paid / "budget.db")
    assert "paid for ε = 0.5, and the release has ε = 1" in reason


def test_a_payment_for_something_else_is_noticed(tmp_path: Path) -> None:
    """The promise in an entry, and its words, are those of one mechanism."""
    ledger = qr.Ledger.create(tmp_path / "budget.db", 3, data="drinks", unit="person")
    other = qr.rank(votes(), PEOPLE, mechanism="laplace", method="wins", ledger=ledger)
    values = qr.rank(votes(), PEOPLE, mechanism="laplace", ledger=ledger).to_dict()
    values["ledger_entry"] = other.ledger_entry
    assert "paid for something else" in complaint(write(values, tmp_path / "r.json"), ledger=tmp_path / "budget.db")


@pytest.mark.parametrize("kind", [kind for kind in MADE if kind != "board"])
def test_what_paid_for_a_release_is_known_again(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every kind, to the last word."""
    unit = made(kind).privacy.unit
    neighbours = made(kind).privacy.neighbours
    ledger = qr.Ledger.create(tmp_path / "budget.db", 3, 1e-5, data="drinks", unit=unit, neighbours=neighbours)
    for name in ("rank", "rank_by_group", "top"):
        monkeypatch.setattr(qr, name, partial(getattr(qr, name), ledger=ledger))
    checked = verify(subject_of(MADE[kind](), tmp_path), ledger=tmp_path / "budget.db")
    assert verdicts(checked)["ledger"] is Verdict.HOLDS, checked.reason


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", 0.01), ("max_per_person", 3), ("design", "uniform"), ("one_per_pair", True)]
)
def test_an_entry_pays_for_its_own_promise_alone(name: str, value: Any, tmp_path: Path) -> None:
    """Also where the other promise is a weaker claim to noise: the entry is of another release."""
    ledger = qr.Ledger.create(tmp_path / "budget.db", 3, data="drinks", unit="person")
    paid = qr.rank(votes(), PEOPLE, mechanism="laplace", ledger=ledger)
    values = qr.rank(votes(), PEOPLE.changed(**{name: value}), mechanism="laplace").to_dict()
    values["ledger_entry"] = paid.ledger_entry
    path = write(values, tmp_path / "other.json")
    assert re.search("paid for", complaint(path, ledger=tmp_path / "budget.db"))


def test_a_broken_chain_is_noticed(paid: Path, tmp_path: Path) -> None:
    """An entry that was edited afterwards."""
    copied = tmp_path / "budget.db"
    copied.write_bytes((paid / "budget.db").read_bytes())
    db = sqlite3.connect(copied)
    db.execute("UPDATE entries SET content = replace(content, '0.5', '0.1') WHERE number = 1")
    db.commit()
    db.close()
    assert "ledger: " in complaint(paid / "release.json", ledger=copied)


def test_the_ledger_of_a_board(tmp_path: Path) -> None:
    """One payment for all weeks; the entry names the board."""
    subject = subject_of(made("board"), tmp_path)
    assert verdicts(verify(subject, ledger=PAID_BOARD))["ledger"] is Verdict.HOLDS
    values = copy.deepcopy(dict(subject.values))
    values["mechanism"]["board"] = "0" * 16
    path = write(values, tmp_path / "edited.json")
    assert "paid for something else" in complaint(path, ledger=PAID_BOARD)
