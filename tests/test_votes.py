"""Votes: both shapes and the common column names are recognised; nothing is guessed silently."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from quietrank.errors import VotesError
from quietrank.privacy import Privacy
from quietrank.tally import tally_votes
from quietrank.votes import Columns, read_votes, recognise
from tests.helpers import write_csv

EACH_VOTE = Privacy(1, "comparison")
NOTHING = dict.fromkeys(("winner", "loser", "tie", "a", "b", "outcome", "person"))


def _recognise(*names: str, **given: str) -> Columns:
    return recognise(names, **(NOTHING | given))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("winner", "loser"), Columns("winner", "loser")),
        (("Winner", "LOSER", "tie", "User"), Columns("Winner", "LOSER", tie="tie", person="User")),
        (("chosen", "rejected", "annotator_id"), Columns("chosen", "rejected", person="annotator_id")),
        (("model_a", "model_b", "winner", "judge"), Columns("model_a", "model_b", outcome="winner", person="judge")),
        (("left", "right", "winner"), Columns("left", "right", outcome="winner")),
        (("item_a", "item_b", "outcome", "voter"), Columns("item_a", "item_b", outcome="outcome", person="voter")),
        (("user", "judge", "winner", "loser"), Columns("winner", "loser")),
    ],
)
def test_common_names_are_recognised(names: tuple[str, ...], expected: Columns) -> None:
    """Two possible person columns leave the person open, to be asked for when it is needed."""
    assert _recognise(*names) == expected


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        (("x", "y"), {}, "x, y do not say which"),
        (("winner", "loser", "a", "b", "outcome"), {}, "more than one way"),
        (("x", "y"), {"winner": "z", "loser": "y"}, "no column 'z' for --winner; the columns are x, y"),
        (("x", "y"), {"winner": "x"}, "--winner and --loser together"),
        (("x", "y", "z"), {"a": "x", "b": "y"}, "--a, --b and --outcome together"),
        (("x", "y", "z", "t"), {"a": "x", "b": "y", "outcome": "z", "tie": "t"}, "--tie goes with"),
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


def test_an_item_called_like_an_outcome_is_never_taken_for_one(tmp_path: Path) -> None:
    """With items named a and b, outcome `a` means the first column, whoever stands there."""
    path = write_csv(tmp_path / "v.csv", [("b", "a", "a")], ("item_a", "item_b", "outcome"))
    assert _wins(path, ("a", "b")) == [0, 1]


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


def test_items_can_be_taken_from_the_votes_only_when_told(tmp_path: Path) -> None:
    """Being on the list is a fact about the data, so it is never read off silently."""
    path = write_csv(tmp_path / "v.csv", [("é", "x"), ("x", "a")], ("winner", "loser"))
    with pytest.raises(VotesError, match="--items-from-votes"):
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
