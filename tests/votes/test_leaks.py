"""What a review found: nothing public may depend on an answer, however it is written down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from quietrank.promise.promise import Promise
from quietrank.votes.read import read_votes
from quietrank.votes.shapes.answer_names import ANSWER_NAMES
from quietrank.votes.tally import count_votes

ASKED = qr.Privacy(1, "person", neighbours="outcome", design="public", max_per_person=1)
PERSON = qr.Privacy(1, "person", max_per_person=1)


def _public(votes: qr.Votes, privacy: qr.Privacy) -> Any:
    """Everything in a saved tally but its noise."""
    values = json.loads(qr.noisy_tally(votes, privacy).to_json())
    return {name: value for name, value in values.items() if name not in ("values", "scatter", "made_with")}


@pytest.mark.parametrize("privacy", [ASKED, ASKED.changed(max_per_person="auto")], ids=["L", "auto"])
@pytest.mark.few(1)
def test_the_answer_to_a_set_without_items_changes_nothing(privacy: qr.Privacy) -> None:
    """Under a public design it is dropped whatever the answer is, before the sets of its person are counted."""
    seen = []
    for best, worst in ((None, None), ("a", "b")):
        table = {
            "person": ["p", "p", "q"], "item1": ["a", None, "a"], "item2": ["b", None, "b"],
            "item3": ["c", None, "d"], "best": ["a", best, "b"], "worst": ["c", worst, "d"],
        }  # fmt: skip
        seen.append(_public(read_votes(_arrow(table), list("abcd"), skip_invalid=True), privacy))
    assert seen[0] == seen[1]


def test_a_set_of_two_without_items_is_no_pair() -> None:
    table = _arrow(
        {"person": ["p", "p"], "x1": ["a", None], "x2": ["b", None], "best": ["a", None], "worst": ["b", None]}
    )
    votes = read_votes(table, ["a", "b", "c"], shape="best-worst", shown=["x1", "x2"])
    assert _public(votes, ASKED)["public"]["exposure"] == [1.0, 1.0, 0.0]


def _arrow(columns: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})


def test_a_condition_reads_a_number_the_same_beside_a_gap() -> None:
    """One missing cell makes a column of whole numbers floating point; as text, 7 stays 7."""
    import pandas as pd

    counted = []
    for age in (8, None):
        frame = pd.DataFrame({"person": ["p", "q", "z"], "winner": "x", "loser": "y", "age": [7, 7, age]})
        votes = read_votes(frame, ["x", "y"], where="CAST(age AS TEXT) = '7'")
        (tally,) = count_votes(votes, Promise(PERSON, votes.items).bounded(None))
        counted.append(tally.by_item.total)
    assert counted[0] == counted[1] > 0


def test_a_sheet_without_ids_does_not_say_who_is_there(tmp_path: Path) -> None:
    """Whether its last row is somebody who answered nothing cannot be told, and their number would be public."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("tea:coffee", "tea:milk"), (1, 1), (-1, 1)):
        book.active.append(row)
    book.save(tmp_path / "votes.xlsx")
    with pytest.raises(qr.QuietrankError, match="names nobody"):
        read_votes(tmp_path / "votes.xlsx", ["tea", "coffee", "milk"])


@pytest.mark.parametrize("words", [{"missing": ["n/a"]}, {"skip_invalid": True}, {"where": "winner IS NOT NULL"}])
def test_a_sheet_does_not_say_how_many_votes_are_left_out(tmp_path: Path, words: dict[str, Any]) -> None:
    """A vote in its last row that becomes an empty one would change the public number of votes."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("winner", "loser"), ("tea", "coffee"), ("coffee", "tea"), (None, None)):
        book.active.append(row)
    book.save(tmp_path / "votes.xlsx")
    votes = read_votes(tmp_path / "votes.xlsx", ["tea", "coffee"], **words)
    with pytest.raises(qr.QuietrankError, match="does not say whether it ends with a vote that is left out"):
        qr.noisy_tally(votes, qr.Privacy(1, "comparison"))
    assert qr.noisy_tally(votes, qr.Privacy(1, "comparison", neighbours="add-remove")).public_total is None


@pytest.mark.parametrize("comment", ["hi", ""])
def test_nobodys_comment_makes_a_header(tmp_path: Path, comment: str) -> None:
    """SurveyMonkey's second row has no ids; a row of votes has."""
    path = tmp_path / "votes.csv"
    path.write_text(f"comment,respondent id,collector id,tea:coffee\n{comment},17,1,\nx,18,1,1\nx,18,1,-1\n")
    votes = read_votes(path, ["tea", "coffee"], person="respondent id")
    assert qr.check(votes).rows == 3
    assert votes.notes() == ()


def test_a_row_without_a_person_is_wrong_even_where_it_is_left_out() -> None:
    """How many people there are is counted over all rows, and may be public."""
    table = _arrow({"person": [None, "x"], "winner": ["tea", "tea"], "loser": ["coffee", "coffee"]})
    votes = read_votes(table, ["tea", "coffee"], where="person = 'x'")
    with pytest.raises(qr.QuietrankError, match="no person is named"):
        qr.noisy_tally(votes, PERSON)


@pytest.mark.parametrize("column", ["winner", "best", "winner_tie", "chosen_model", "win1"])
def test_an_answer_is_no_group_and_no_condition_of_a_public_design(column: str) -> None:
    """Read as an answer, or only called like one: how many votes are in a group, or are counted, is public there."""
    assert column in ANSWER_NAMES
    columns = {"a": ["x", "x"], "b": ["y", "y"], "outcome": ["a", "b"], column: ["x", "y"]}
    privacy = qr.Privacy(1, "comparison", neighbours="outcome", design="public")
    roles: dict[str, Any] = {"a": "a", "b": "b", "outcome": "outcome"}
    grouped = read_votes(_arrow(columns), ["x", "y"], by=column, groups=["x", "y"], **roles)
    with pytest.raises(qr.QuietrankError, match="tells the answer"):
        qr.rank_by_group(grouped, privacy)
    filtered = read_votes(_arrow(columns), ["x", "y"], where=f"{column} = 'x'", **roles)
    with pytest.raises(qr.QuietrankError, match="tells the answer"):
        qr.rank(filtered, privacy)
