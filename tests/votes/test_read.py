"""Votes: both shapes and the common column names are recognised; nothing is guessed silently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from quietrank.errors import VotesError
from quietrank.promise.privacy import Privacy
from quietrank.votes.check import check
from quietrank.votes.read import read_votes
from quietrank.votes.shapes.long import Long, recognise
from tests.helpers import write_csv
from tests.steps import tally_votes

EACH_VOTE = Privacy(1, "comparison")
NOTHING = dict.fromkeys(("winner", "loser", "tie", "a", "b", "outcome", "person"))


def _recognise(*names: str, **given: str) -> Long:
    return recognise(names, **(NOTHING | given))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("winner", "loser"), Long("winner", "loser")),
        (("Winner", "LOSER", "tie", "User"), Long("Winner", "LOSER", tie="tie", person="User")),
        (
            ("chosen_model", "rejected_model", "annotator_id"),
            Long("chosen_model", "rejected_model", person="annotator_id"),
        ),
        (("model_a", "model_b", "winner", "judge"), Long("model_a", "model_b", outcome="winner", person="judge")),
        (("left", "right", "winner"), Long("left", "right", outcome="winner")),
        (("item_a", "item_b", "outcome", "voter"), Long("item_a", "item_b", outcome="outcome", person="voter")),
        (("user", "judge", "winner", "loser"), Long("winner", "loser")),
        (("player1", "player2", "winner", "loser"), Long("winner", "loser")),
        (("player1", "player2", "win1", "win2"), Long("player1", "player2", wins=("win1", "win2"))),
    ],
)
def test_common_names_are_recognised(names: tuple[str, ...], expected: Long) -> None:
    """Two possible person columns leave the person open, to be asked for when it is needed."""
    assert _recognise(*names) == expected


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        (("x", "y"), {}, "x, y do not say which"),
        (("winner", "loser", "a", "b", "outcome"), {}, "more than one way"),
        (("x", "y"), {"winner": "z", "loser": "y"}, "no column 'z' for winner; the columns are x, y"),
        (("x", "y"), {"winner": "x"}, "winner and loser together"),
        (("x", "y", "z"), {"a": "x", "b": "y"}, "a, b and outcome together"),
        (("x", "y", "z", "t"), {"a": "x", "b": "y", "outcome": "z", "tie": "t"}, "tie goes with"),
        (("model_a", "model_b", "winner", "eq"), {"tie": "eq"}, "do not say which"),
        (("winner", "loser", "tie", "draw"), {}, "choose one with tie"),
    ],
)
def test_unclear_columns_are_refused(names: tuple[str, ...], given: dict[str, str], message: str) -> None:
    """The columns that exist are named, and so is the option to give."""
    with pytest.raises(VotesError, match=message):
        _recognise(*names, **given)


def _wins(path: Path, items: tuple[str, ...], **options: str) -> list[float]:
    tally = tally_votes(read_votes(path, items=items, **options), EACH_VOTE)  # type: ignore[arg-type]
    return [float(wins) for wins in tally.wins / 2]


@pytest.mark.parametrize(
    ("columns", "outcomes"),
    [
        (("model_a", "model_b", "winner"), ("model_a", "model_b", "tie", "tie (bothbad)")),
        (("left", "right", "winner"), ("left", "right", "tie", "draw")),
        (("item_a", "item_b", "outcome"), ("A", " b ", "Tie", "tie")),
        (("left", "right", "label"), ("x", "y", "tie", "tie")),
    ],
)
def test_outcomes_are_read_in_every_common_spelling(
    tmp_path: Path, columns: tuple[str, ...], outcomes: tuple[str, ...]
) -> None:
    """a wins, b wins, and two ties: one win and a half each and half of each tie."""
    path = write_csv(tmp_path / "v.csv", [("x", "y", outcome) for outcome in outcomes], columns)
    assert _wins(path, ("x", "y")) == [2, 2]


@pytest.mark.parametrize(
    ("items", "row"),
    [
        (("a", "b"), ("b", "a", "a")),
        (("Left", "Right"), ("Right", "Left", "Left")),
        (("Draw", "x"), ("Draw", "x", "Draw")),
    ],
)
@pytest.mark.few(2)
def test_an_outcome_that_can_be_read_in_two_ways_is_refused(
    tmp_path: Path, items: tuple[str, str], row: tuple[str, ...]
) -> None:
    """An item called like an outcome: where word and name disagree nothing is guessed; where they agree, it is read."""
    columns = ("item_a", "item_b", "outcome")
    with pytest.raises(VotesError, match="the two readings differ"):
        _wins(write_csv(tmp_path / "v.csv", [row], columns), items)
    assert _wins(write_csv(tmp_path / "w.csv", [("a", "b", "a")], columns), ("a", "b")) == [1, 0]


def test_a_column_called_like_the_other_side_is_taken_by_its_name(tmp_path: Path) -> None:
    """--a right --b left: the outcome `left` is the column left, although the word commonly means the first."""
    path = write_csv(
        tmp_path / "v.csv", [("x", "y", "left"), ("x", "y", "left"), ("x", "y", "right")], ("right", "left", "w")
    )
    assert _wins(path, ("x", "y"), a="right", b="left", outcome="w") == [1, 2]


def test_tie_flags_are_read(tmp_path: Path) -> None:
    """Winner and loser with a flag column: a flagged row is half a win each."""
    rows = [("x", "y", "0"), ("x", "y", "false"), ("x", "y", "True"), ("y", "x", "no")]
    path = write_csv(tmp_path / "v.csv", rows, ("winner", "loser", "tie"))
    assert _wins(path, ("x", "y")) == [2.5, 1.5]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_quotes_and_a_byte_order_mark_are_read(tmp_path: Path, delimiter: str) -> None:
    """Quoted names may hold the delimiter and quotes; a mark at the start of the file is no part of a name."""
    path = tmp_path / "v.csv"
    name = f'x{delimiter}"1"'
    quoted = '"' + name.replace('"', '""') + '"'
    path.write_text(f"winner{delimiter}loser\n{quoted}{delimiter}y\n", encoding="utf-8-sig")
    assert _wins(path, (name, "y")) == [1, 0]


def test_numbers_are_names(tmp_path: Path) -> None:
    """Integer columns of a Parquet file match items declared as numbers or text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"winner": [1, 1, 10], "loser": [10, 10, 1]}), tmp_path / "v.parquet")
    for items in ([1, 10], ["1", "10"]):
        tally = tally_votes(read_votes(tmp_path / "v.parquet", items=items), EACH_VOTE)
        assert (tally.wins // 2).tolist() == [2, 1]


def test_missing_values_in_a_data_frame_are_missing_cells() -> None:
    """None and NaN in pandas are refused as empty cells, and not taken for items called nan."""
    import pandas as pd

    frame = pd.DataFrame({"winner": ["x", None, np.nan], "loser": ["y", "y", "x"]})
    with pytest.raises(VotesError, match="cell is empty: 2 rows"):
        tally_votes(read_votes(frame, items=["x", "y"]), EACH_VOTE)


def test_a_gap_does_not_change_how_other_cells_are_read() -> None:
    """pandas turns integers with a gap into floats: 7.0 is still 7, NaN is a missing cell and no item or person."""
    import pandas as pd
    import polars as pl

    whole = pd.DataFrame({"winner": [1, 1, 2], "loser": [2, 2, 1], "user": [7, 7, 8]})
    gap = pd.DataFrame({"winner": [1, 1, 2, None], "loser": [2, 2, 1, 1], "user": [7, 7, 8, np.nan]})
    nan = pl.DataFrame({"winner": [1.0, 1.0, 2.0, np.nan], "loser": [2, 2, 1, 1], "user": [7.0, 7.0, 8.0, np.nan]})
    privacy = Privacy(1, "person", max_per_person=1)
    expected = tally_votes(read_votes(whole, items=[1, 2]), privacy)
    for frame in (gap, nan):
        found = tally_votes(read_votes(frame, items=[1, 2], skip_invalid=True), privacy)
        assert (found.wins == expected.wins).all()
        with pytest.raises(VotesError, match="no person is named: 1 row"):
            tally_votes(read_votes(frame, items=[1, 2]), privacy)


@pytest.mark.parametrize("name", ["votes[1].csv", "v*.csv", "v?.csv", "v'1.csv", "{a,b}.csv"])
def test_a_file_name_is_no_pattern(tmp_path: Path, name: str) -> None:
    """Only the file that was named is read, whatever its name and its neighbours."""
    for other in ("votes1.csv", "vx.csv", "a.csv", "v1.csv"):
        write_csv(tmp_path / other, [("y", "x")] * 5, ("winner", "loser"))
    assert _wins(write_csv(tmp_path / name, [("x", "y")], ("winner", "loser")), ("x", "y")) == [1, 0]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_a_folder_name_fills_no_column(tmp_path: Path, suffix: str) -> None:
    """A folder called winner=y is only a folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path / "winner=y"
    folder.mkdir()
    if suffix == "csv":
        write_csv(folder / "v.csv", [("x", "y")], ("winner", "loser"))
    elif suffix == "jsonl":
        (folder / "v.jsonl").write_text('{"winner": "x", "loser": "y"}\n')
    else:
        pq.write_table(pa.table({"winner": ["x"], "loser": ["y"]}), folder / "v.parquet")
    assert _wins(folder / f"v.{suffix}", ("x", "y")) == [1, 0]


@pytest.mark.parametrize("skip_invalid", [False, True])
def test_one_json_line_cannot_decide_how_the_others_are_read(tmp_path: Path, skip_invalid: bool) -> None:
    """Lines with different keys are refused, whichever comes first: a key that comes and goes would be a leak."""
    tied, plain = '{"winner": "x", "loser": "y", "tie": true}', '{"winner": "x", "loser": "y"}'
    for lines in ([tied, plain, plain], [plain, tied, tied]):
        (tmp_path / "v.jsonl").write_text("\n".join(lines))
        with pytest.raises(VotesError, match="every line must have the keys of the first"):
            read_votes(tmp_path / "v.jsonl", items=["x", "y"], skip_invalid=skip_invalid)
    (tmp_path / "v.jsonl").write_text('{"winner": "x", "loser": "y"}\n{"loser": "x", "winner": "y"}\n')
    assert _wins(tmp_path / "v.jsonl", ("x", "y")) == [1, 1]


def test_names_are_compared_as_bytes_whatever_the_collation() -> None:
    """Under a case-insensitive collation two people would share a weight, and one vote count for two items."""
    import ibis

    engine = ibis.duckdb.connect()
    engine.raw_sql("CREATE TABLE v (winner VARCHAR COLLATE NOCASE, loser VARCHAR, person VARCHAR COLLATE NOCASE)")
    engine.raw_sql("INSERT INTO v VALUES ('A', 'B', 'ann'), ('A', 'B', 'Ann'), ('a', 'B', 'Ann')")
    counted = tally_votes(read_votes(engine.table("v"), items=["A", "B", "a"]), Privacy(1, "person", max_per_person=1))
    assert (counted.wins / 2**21).tolist() == [1.5, 0, 0.5]
    assert (tally_votes(read_votes(engine.table("v"), items=["A", "B", "a"]), EACH_VOTE).wins / 2).tolist() == [2, 0, 1]


def test_an_engine_that_is_not_known_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not known how names are compared, nothing is counted, and the error says what to do instead."""
    import ibis

    engine = ibis.duckdb.connect()
    engine.raw_sql("CREATE TABLE v AS SELECT 'A' AS winner, 'B' AS loser")
    monkeypatch.setattr(type(engine), "name", "mysql")
    with pytest.raises(VotesError, match=r"engine mysql .* export them to a Parquet"):
        read_votes(engine.table("v"), items=["A", "B"])


def test_items_can_be_taken_from_the_votes_only_when_told(tmp_path: Path) -> None:
    """Being on the list is a fact about the data, so it is never read off silently."""
    path = write_csv(tmp_path / "v.csv", [("é", "x"), ("x", "a")], ("winner", "loser"))
    with pytest.raises(VotesError, match="items_from_votes=True"):
        read_votes(path)
    assert read_votes(path, items_from_votes=True).items.names == ("a", "x", "é")


def test_what_is_no_table_is_refused() -> None:
    """A list of tuples is not a table of votes."""
    with pytest.raises(VotesError, match="list"):
        read_votes([("x", "y")], items=["x", "y"])


def test_no_query_returns_more_rows_than_items(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Rows stay in the engine: what comes back to Python grows with the items, not with the votes."""
    import ibis.expr.types as ir

    fetched: list[int] = []
    fetch = ir.Table.to_pyarrow

    def spy(self: ir.Table) -> object:
        table = fetch(self)
        fetched.append(table.num_rows)
        return table

    monkeypatch.setattr(ir.Table, "to_pyarrow", spy)
    path = write_csv(tmp_path / "v.csv", [("1", "x", "y")] * 5000, ("person", "winner", "loser"))
    tally_votes(read_votes(path, items_from_votes=True), Privacy(1, "person", max_per_person=2))
    assert fetched
    assert max(fetched) <= 2


@pytest.mark.parametrize(("name", "program"), [("v.sav", "SPSS"), ("v.dta", "Stata"), ("v.RDS", "R")])
def test_files_of_other_programs_are_to_be_exported(tmp_path: Path, name: str, program: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(VotesError, match=f"is a file of {program}, .* export it as CSV from {program}"):
        read_votes(tmp_path / name, ["x", "y"])


def test_row_names_of_r_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text('"","winner","loser"\n"1","x","y"\n')
    with pytest.raises(VotesError, match=r"column 1 has no name.*in R: write.csv\(…, row.names = FALSE\)"):
        read_votes(path, ["x", "y"])


def test_mixed_line_ends_are_named(tmp_path: Path) -> None:
    """With the first line that ends otherwise."""
    path = tmp_path / "v.csv"
    rows = [b"person,winner,loser\r\n", *(b"p%d,x,y\r\n" % k for k in range(50)), b"q,x,y\n", b"r,y,x\r\n"]
    path.write_bytes(b"".join(rows))
    with pytest.raises(VotesError, match=r"has mixed line ends: line 52 is the first.*save it with one kind"):
        check(read_votes(path, ["x", "y"]))


def test_wins_of_single_votes_are_read_as_outcomes() -> None:
    """A row with 1 and 0 in two columns is read as counts, which name nobody; the message says what works."""
    table = pa.table({"id": ["p", "q"], "player1": ["x", "x"], "player2": ["y", "y"], "win1": [1, 0], "win2": [0, 1]})
    votes = read_votes(table, ["x", "y"], person="id")
    with pytest.raises(VotesError, match=r"say a=player1 b=player2 outcome=win1 outcomes=1/0.5/0"):
        votes.require_person()
    words: dict[str, Any] = {"a": "player1", "b": "player2", "outcome": "win1", "outcomes": "1/0.5/0"}
    report = check(read_votes(table, ["x", "y"], person="id", **words), unit="person")
    assert (report.votes, report.ties) == (2, 0)


def test_columns_named_after_the_items_may_hold_places() -> None:
    table = pa.table({"person": ["p"], "x": ["1"], "y": ["2"]})
    with pytest.raises(
        VotesError, match="are named after the items; if they hold places in a ranking, add shape='rank"
    ):
        read_votes(table, ["x", "y"])
