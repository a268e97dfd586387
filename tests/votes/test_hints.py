"""What the holder of votes is shown before ranking: unknown words, blanks, ids that look alike, repeated rows."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.errors import VotesError
from quietrank.promise.privacy import Privacy
from quietrank.votes import hints

DRINKS = ["tea", "coffee", "water", "Bürgerrechte"]
PERSON = Privacy(1, "person", max_per_person=3)


def _table(**columns: list[Any]) -> pa.Table:
    return pa.table({name.replace("__", ":"): cells for name, cells in columns.items()})


def _refused(votes: qr.Votes) -> str:
    with pytest.raises(VotesError) as refused:
        qr.rank(votes, PERSON)
    return str(refused.value)


def test_unknown_answers_are_listed_with_their_remedies() -> None:
    """Each once, the most frequent first, with the item it may have been meant to be; check says the same."""
    cells = ["9", "9", "9", "tea", "Burgerrechte"]
    votes = qr.read_votes(_table(person=list("pqrst"), tea__Bürgerrechte=cells), DRINKS)
    message = _refused(votes)
    assert "unknown answers: '9': 3 rows, 'Burgerrechte': 1 row (did you mean 'Bürgerrechte'?)" in message
    assert "if 9 means not answered, add missing=9; say what each value means with outcomes" in message
    shown = repr(qr.check(votes))
    assert "unknown answers: '9': 3 rows, 'Burgerrechte': 1 row (did you mean 'Bürgerrechte'?)" in shown
    assert "if 9 means not answered, add --missing 9" in shown
    kept = qr.read_votes(_table(person=list("pqr"), tea__coffee=["9", "9", "1"]), DRINKS, missing=[9])
    assert qr.check(kept).votes == 1


@pytest.mark.parametrize(
    "table",
    [
        _table(person=["p", "q", "r"], winner=["tea", "coffe", "coffe"], loser=["rum", "tea", "tea"]),
        _table(person=["p", "q", "r"], ranking=["tea>rum", "coffe>tea", "coffe>tea"]),
        _table(
            person=["p", "q", "r"], item1=["tea", "coffe", "coffe"], item2=["rum", "tea", "tea"], item3=["water"] * 3,
            best=["tea"] * 3, worst=["water"] * 3,
        ),
    ],
    ids=["long", "rankings", "best-worst"],
)  # fmt: skip
@pytest.mark.few(2)
def test_unknown_items_are_listed(table: pa.Table) -> None:
    """In every shape, by how many rows have them."""
    message = _refused(qr.read_votes(table, DRINKS))
    assert "unknown items: 'coffe': 2 rows (did you mean 'coffee'?), 'rum': 1 row" in message


def test_bad_rows_of_nobody_have_no_invented_person() -> None:
    """The number of a row is said as such, and is no id."""
    for table in (_table(tea__coffee=["1", "x"]), _table(ranking=["tea>coffee", "tea>rum"])):
        message = _refused(qr.read_votes(table, DRINKS))
        assert "row 2: " in message
        assert "person" not in message


def test_half_of_a_best_worst_answer_is_called_empty() -> None:
    table = _table(person=["p"], item1=["tea"], item2=["coffee"], item3=["water"], best=["tea"], worst=[""])
    assert "best 'tea' and worst is empty of 'tea', 'coffee', 'water'" in _refused(qr.read_votes(table, DRINKS))


def test_blanks_are_counted_for_each_item() -> None:
    """So that its holder sees whether an item was skipped more often than others; of a wide table alone."""
    table = _table(person=["p", "q"], tea__coffee=["1", ""], tea__water=["2", "1"])
    report = qr.check(qr.read_votes(table, DRINKS))
    assert report.blanks == {"tea": (3, 1), "coffee": (1, 1), "water": (2, 0), "Bürgerrechte": (0, 0)}
    assert any(line.split() == ["answers", "on", "coffee", "1", "(1", "blank)"] for line in report.lines())
    full = qr.check(qr.read_votes(_table(person=["p"], tea__coffee=["1"]), DRINKS))
    assert not any("blank" in line for line in full.lines())
    assert qr.check(qr.read_votes(_table(person=["p"], winner=["tea"], loser=["water"]), DRINKS)).blanks == {}


def test_ids_that_look_alike_are_shown() -> None:
    """Case, blanks and the form in which accents are written; they stay different people."""
    accented = [unicodedata.normalize(form, "zoé") for form in ("NFC", "NFD")]
    people = ["ana", " ana", "Ana", "ben", *accented]
    table = _table(person=people, winner=["tea"] * 6, loser=["water"] * 6)
    report = qr.check(qr.read_votes(table, DRINKS))
    assert report.people == 6
    assert report.alike.startswith("5 ids in 2 sets differ only in case, blanks around them or Unicode normal form")
    assert report.alike.endswith("to quietrank these are different people; fix them first")
    assert any("5 ids in 2 sets" in line for line in report.lines())
    assert qr.check(qr.read_votes(table.slice(2, 2), DRINKS)).alike == ""


def test_rows_that_repeat_another_are_counted() -> None:
    """Where a row is more than an answer: two people may well say the same."""
    named = _table(person=["p", "p", "q"], winner=["tea"] * 3, loser=["water"] * 3)
    report = qr.check(qr.read_votes(named, DRINKS))
    assert report.repeated == 1
    assert any(line.split() == ["rows", "that", "repeat", "another", "1"] for line in report.lines())
    assert qr.check(qr.read_votes(named.drop_columns("person"), DRINKS)).repeated == 0


def test_files_with_the_same_content_are_noted(tmp_path: Path) -> None:
    """A part that was delivered again under another name; parts of the same size are not taken for it."""
    for name, winner in (("a.csv", "tea"), ("b.csv", "tea"), ("c.csv", "rum")):
        (tmp_path / name).write_text(f"person,winner,loser\np,{winner},water\n")
    votes = qr.read_votes(tmp_path, ["tea", "rum", "water"])
    (line,) = hints.same_content(votes)
    assert line.startswith(str(tmp_path / "b.csv"))
    assert line.endswith("a.csv: votes in both count twice")
    assert f"note: {line}" in qr.check(votes).lines()


def test_columns_that_may_name_people_are_shown() -> None:
    """Where no column was recognised, and each row is taken to be a person."""
    shown = repr(qr.check(qr.read_votes(_table(id=["7"], tea__coffee=["1"]), DRINKS)))
    assert "No column was read as the person: each row is taken to be one person" in shown
    assert "if one of id names people, say which with --person" in shown


def test_long_names_leave_room_for_the_value() -> None:
    """Two blanks at least."""
    items = ["Arbeitsmarktpolitik des Bundes", "Bürgerrechte und Datenschutz"]
    votes = qr.read_votes(pa.table({"person": ["p"], ":".join(items): ["1"]}), items)
    (line,) = [line for line in qr.check(votes).lines() if "against" in line]
    assert line == f"column read as {items[0]} against {items[1]}  {':'.join(items)}"


def test_qualtrics_names_the_person_by_the_response() -> None:
    """Beside another of its columns; a column that is called like a person comes first."""
    table = _table(StartDate=["x"], ResponseId=["R_1"], tea__coffee=["1"])
    assert qr.read_votes(table, DRINKS).shape.person == "ResponseId"
    assert qr.read_votes(table.drop_columns("StartDate"), DRINKS).shape.person is None
    assert qr.read_votes(table.append_column("person", [["p"]]), DRINKS).shape.person == "person"
