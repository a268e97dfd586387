"""Best–worst sets in many dialects: each is read to the same tally, and what is wrong is refused with its row."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import quietrank as qr
from quietrank.errors import VotesError
from quietrank.promise.promise import PERSON_GRID, Bounded, Promise
from quietrank.votes.read import Votes, read_votes
from quietrank.votes.tallies import SetTally, Tally
from quietrank.votes.tally import count_votes

FOLDER = Path(__file__).parent.parent / "fixtures" / "best_worst"
ITEMS = ["tea", "coffee", "water", "juice", "milk", "cola"]
DIALECTS: dict[str, dict[str, Any]] = {
    "columns.csv": {},
    "shown_columns.csv": {"shape": "best-worst", "shown": "shown_*"},
    "cell.csv": {"shape": "best-worst", "set_size": 4},
    "cell_bars.csv": {"shape": "best-worst", "set_size": 4},
    "cell_commas.csv": {"best": "good", "worst": "bad", "shown": "set of", "set_size": 4},
    "positions.csv": {"positions": True},
    "with_design.csv": {"design_file": FOLDER / "design.csv"},
    "with_design_positions.csv": {"design_file": FOLDER / "design.csv", "positions": True, "set": "task"},
    "with_design_cell.csv": {"design_file": FOLDER / "design_cell.csv"},
}
PERSON = qr.Privacy(1, "person", max_per_person=2)


def bounded(votes: Votes, privacy: qr.Privacy = PERSON) -> Bounded:
    return Promise(privacy, votes.items).bounded(None)


def counted(votes: Votes, privacy: qr.Privacy = PERSON) -> SetTally:
    (tally,) = count_votes(votes, bounded(votes, privacy), by_pair=True)
    assert isinstance(tally, SetTally)
    return tally


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.few(1)
def test_every_dialect_is_read_to_the_same_tally(name: str) -> None:
    """By columns, cells, positions or a design file; the largest set is public and the same."""
    votes = read_votes(FOLDER / name, ITEMS, **DIALECTS[name])
    plain = counted(read_votes(FOLDER / "columns.csv", ITEMS))
    tally = counted(votes)
    assert votes.items.shown == 4
    for field in ("wins", "losses"):
        assert getattr(tally.by_item, field).tolist() == getattr(plain.by_item, field).tolist()
    assert (tally.by_item.total, tally.rows) == (plain.by_item.total, plain.rows)
    assert tally.sets.tolist() == plain.sets.tolist()
    assert tally.weights.tolist() == plain.weights.tolist()


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.few(2)
def test_check_says_what_was_read(name: str) -> None:
    report = qr.check(read_votes(FOLDER / name, ITEMS, **DIALECTS[name]), unit="person")
    assert (report.rows, report.votes, report.ties, report.people) == (7, 6, 0, 3)
    assert not report.flaws
    assert not report.unmentioned
    assert {"best", "worst", "person"} <= set(report.columns)


def test_the_tally_is_what_the_design_page_derives() -> None:
    """Best ½, worst −½, of a set of m weighed (m − 1)/3; exposures are times shown. Written out by hand."""
    tally = counted(read_votes(FOLDER / "columns.csv", ITEMS)).by_item
    full, two, one = Fraction(1), Fraction(PERSON_GRID * 2 // 3, PERSON_GRID), Fraction(PERSON_GRID // 3, PERSON_GRID)
    best = [full * 2, two + full, one, Fraction(0), full, Fraction(0)]
    worst = [Fraction(0), Fraction(0), full, one + full, two, full * 2]
    net = [(won - lost) / 2 for won, lost in zip(best, worst, strict=True)]
    shown = [3 * full, 2 * full + two, 3 * full + one, 2 * full + two + one, 3 * full + two, 3 * full]
    assert [value * tally.step for value in tally.net_wins.tolist()] == net
    assert [value * tally.step for value in tally.exposure.tolist()] == shown
    assert tally.total * tally.step == 4 * full + two + one


def test_sets_of_two_are_votes_on_pairs() -> None:
    """Then everything that is for pairs applies again."""
    table = {"person": ["a", "b"], "left": ["x", "y"], "right": ["y", "z"], "best": ["y", "z"], "worst": ["x", "y"]}
    votes = read_votes(pa.table(table), ["x", "y", "z"], best="best", worst="worst", shown=["left", "right"])
    assert votes.items.shown == 2
    long = read_votes(pa.table({"person": ["a", "b"], "winner": ["y", "z"], "loser": ["x", "y"]}), ["x", "y", "z"])
    one, other = (count_votes(each, bounded(each)) for each in (votes, long))
    (first,), (second,) = one, other
    assert isinstance(first, Tally)
    assert isinstance(second, Tally)
    assert (first.wins.tolist(), first.losses.tolist()) == (second.wins.tolist(), second.losses.tolist())


def test_an_unanswered_set_is_left_out_or_a_tie_under_a_public_design() -> None:
    """Empty best and worst: no vote; but where the sets are public it stays among them, and counts for nobody."""
    votes = read_votes(FOLDER / "columns.csv", ITEMS)
    private, public = counted(votes), counted(votes, PERSON.changed(neighbours="outcome", design="public"))
    place = private.sets.tolist().index([0, 1, 2, 3])
    assert public.sets.tolist() == private.sets.tolist()
    assert private.weights[place] * private.step == 1
    assert public.weights[place] * public.step == 1 + Fraction(PERSON_GRID * 2 // 3, PERSON_GRID)
    assert votes.leaves_out


def _table(**columns: list[Any]) -> pa.Table:
    usual: dict[str, list[Any]] = {
        "person": ["a", "b"], "item1": ["x", "x"], "item2": ["y", "y"], "item3": ["z", "z"],
        "best": ["x", "x"], "worst": ["z", "z"],
    }  # fmt: skip
    return pa.table(usual | columns)


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "position beyond the set": (
        {"best": [1, 4], "worst": [3, 3]}, {"positions": True}, "row 2: best '4' and worst '3'", "fix them"
    ),
    "best is worst": ({"worst": ["z", "x"]}, {}, "row 2: best 'x' and worst 'x' of 'x', 'y', 'z'", "fix them"),
    "choice not in the set": ({"best": ["x", "w"]}, {}, "row 2: best 'w' and worst 'z'", "positions=True"),
    "half an answer": ({"worst": ["z", None]}, {}, "row 2: best 'x' and worst is empty", "fix them"),
    "item twice in a set": ({"item2": ["y", "x"]}, {}, "row 2", "fix them"),
    "too few items in a set": ({"item2": ["y", None], "item3": ["z", None]}, {}, "row 2", "fix them"),
    "undeclared item": ({"item2": ["y", "Y"]}, {}, "undeclared item 'Y', which differs from the declared 'y'", "items"),
    "missing person": ({"person": ["a", None]}, {}, "row 2", "skip_invalid"),
}  # fmt: skip


@pytest.mark.parametrize("flaw", WRONG)
@pytest.mark.few(1)
def test_what_is_wrong_is_refused_with_its_row_and_a_remedy(flaw: str) -> None:
    columns, options, row, remedy = WRONG[flaw]
    votes = read_votes(_table(**columns), ["x", "y", "z", "w"], **options)
    with pytest.raises(VotesError) as refusal:
        counted(votes)
    assert row in str(refusal.value)
    assert remedy in str(refusal.value)
    assert qr.check(votes, unit="person").flaws == {flaw: 1}
    skipped = read_votes(_table(**columns), ["x", "y", "z", "w"], skip_invalid=True, **options)
    assert counted(skipped).weights.sum() * counted(skipped).step == 1


@pytest.mark.parametrize(
    "flaw", ["position beyond the set", "best is worst", "choice not in the set", "half an answer"]
)
@pytest.mark.few(1)
def test_under_a_public_design_no_answer_changes_the_sets(flaw: str) -> None:
    """A wrong answer that is skipped leaves its set in place, as a tie: otherwise the sets would give it away."""
    columns, options, _, _ = WRONG[flaw]
    wrong, right = (
        read_votes(_table(**table), ["x", "y", "z", "w"], skip_invalid=True, **options)
        for table in (columns, {name: [cells[0]] * 2 for name, cells in columns.items()})
    )
    public = PERSON.changed(neighbours="outcome", design="public")
    one, other = counted(wrong, public), counted(right, public)
    assert one.sets.tolist() == other.sets.tolist()
    assert one.weights.tolist() == other.weights.tolist()
    assert one.by_item.exposure.tolist() == other.by_item.exposure.tolist()
    assert np.abs(one.by_item.net_wins).sum() * one.step == 1


def test_more_items_than_declared_and_sets_that_are_not_in_the_design_file(tmp_path: Path) -> None:
    votes = read_votes(FOLDER / "cell.csv", ITEMS, shape="best-worst", set_size=3)
    with pytest.raises(VotesError, match=r"row 1: .*too many items in a set.*give a larger set_size"):
        counted(votes)
    design = tmp_path / "design.csv"
    design.write_text("version,set,item1,item2,item3\n1,1,tea,coffee,water\n")
    votes = read_votes(FOLDER / "with_design.csv", ITEMS, design_file=design)
    with pytest.raises(VotesError, match=r"row 2: .*set not in the design file.*give the design_file"):
        counted(votes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version,set,item1,item2\n1,1,tea,tea\n", "line 2 of .* has 'tea' twice"),
        ("version,set,item1,item2\n1,1,tea,\n", "line 2 of .* has 1 items; a set needs at least 2"),
        ("version,set,item1,item2\n1,1,tea,milk\n1,1,tea,cola\n", "line 3 of .* for the second time"),
        ("version,number,item1\n1,1,tea\n", "no column that numbers its sets"),
        ("version,set,item1\n", "has no sets"),
        ("version,set,item1\n1,1\n", "line 2 of .* has 2 cells, and the header 3"),
        ("version,set,item1,item2\n\n1,1,tea,tea\n", "line 3 of .* has 'tea' twice"),
        ("", "is empty"),
        ("\n\n", "is empty"),
    ],
)
def test_a_design_file_that_makes_no_sense_is_refused(text: str, message: str, tmp_path: Path) -> None:
    design = tmp_path / "design.csv"
    design.write_text(text)
    with pytest.raises(VotesError, match=message):
        read_votes(FOLDER / "with_design.csv", ITEMS, design_file=design)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("cell.csv", {"shape": "best-worst"}, "give the largest number of items in a set with set_size"),
        ("columns.csv", {"set_size": 3}, "there are 4 columns of items; give set_size=4"),
        ("columns.csv", {"set_size": 1}, "set_size must be a whole number from 2"),
        ("columns.csv", {"winner": "best", "loser": "worst", "positions": True}, "about different shapes"),
        ("columns.csv", {"shape": "best-worst", "tie": "item1"}, "tie belongs to shape='long'"),
        ("columns.csv", {"shape": "wild"}, "shape must be one of long, wide, rankings, best-worst"),
        ("columns.csv", {"pairs": [("tea", "milk")]}, "pairs is for votes on pairs"),
        ("columns.csv", {"shown": "nothing*"}, "no columns hold the items"),
        ("columns.csv", {"version": "item1"}, "add design_file"),
        ("with_design.csv", {"shape": "best-worst"}, "no columns hold the items that were shown"),
        ("with_design.csv", {"design_file": FOLDER / "none.csv"}, "there is no design file"),
        ("cell_commas.csv", {"shape": "best-worst"}, "no column is called best"),
        ("columns.csv", {"shape": "best-worst", "shown": ["best", "worst"]}, "'best' names the best or the worst item"),
    ],
)
def test_options_that_make_no_sense_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(VotesError, match=message):
        read_votes(FOLDER / name, ITEMS, **options)


def test_items_can_be_taken_from_what_was_shown() -> None:
    for name, options in DIALECTS.items():
        votes = read_votes(FOLDER / name, items_from_votes=True, **options)
        assert votes.items.names == tuple(sorted(ITEMS)), name
    with pytest.raises(VotesError, match="a set of 4 different items needs as many"):
        read_votes(FOLDER / "columns.csv", ["tea", "coffee", "water"])


def test_another_engine_gives_the_same_tally() -> None:
    """SQLite compares names as bytes; it cannot take cells apart, and says so."""
    connection, plain = ibis.sqlite.connect(), counted(read_votes(FOLDER / "columns.csv", ITEMS))
    options = pa_csv.ConvertOptions(strings_can_be_null=True)
    for name in ("columns.csv", "positions.csv", "with_design.csv", "cell.csv"):
        connection.create_table(name, pa_csv.read_csv(FOLDER / name, convert_options=options))
    for name in ("columns.csv", "positions.csv", "with_design.csv"):
        tally = counted(read_votes(connection.table(name), ITEMS, **DIALECTS[name]))
        assert tally.by_item.net_wins.tolist() == plain.by_item.net_wins.tolist()
        assert tally.sets.tolist() == plain.sets.tolist()
    with pytest.raises(VotesError, match="SQLite cannot take a cell with several items apart"):
        counted(read_votes(connection.table("cell.csv"), ITEMS, **DIALECTS["cell.csv"]))
