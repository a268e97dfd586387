"""Files that Spark reads: the same tally as from our own engine, and as strict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quietrank.errors import VotesError
from quietrank.promise.privacy import Privacy
from quietrank.votes.read import read_votes
from tests.helpers import write_csv
from tests.steps import tally_votes

PERSON = Privacy(1, "person", max_per_person=2)
ITEMS = ["x", "y, z", "ç"]
VOTES = [("é", "x", "y, z"), ("e\u0301", "ç", "x"), ("é ", "x", "ç"), ("é", "y, z", "ç"), ("", "x", "ç")]
COLUMNS = ("person", "winner", "loser")
pytestmark = [pytest.mark.engines, pytest.mark.xdist_group("spark")]


def _same(source: Any, **options: Any) -> None:
    ours = tally_votes(read_votes(source, ITEMS, skip_invalid=True, **options), PERSON)
    theirs = tally_votes(read_votes(source, ITEMS, skip_invalid=True, engine="spark", **options), PERSON)
    assert theirs.wins.tolist() == ours.wins.tolist()
    assert theirs.losses.tolist() == ours.losses.tolist()
    assert theirs.rows == ours.rows == len(VOTES) * (2 if options else 1)


def test_files_are_counted_alike(spark: Any, tmp_path: Path) -> None:
    """CSV with quotes and accents; Parquet in folders that are columns, whose values stay text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    _same(write_csv(tmp_path / "votes.csv", VOTES, COLUMNS))
    columns = {name: [vote[k] for vote in VOTES] for k, name in enumerate(COLUMNS)}
    for day in ("2026-11-16", "2026-11-17"):
        folder = tmp_path / "parts" / f"day={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table(columns), folder / "part-0.parquet")
    _same(tmp_path / "parts", where="day <= '2026-11-16'")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (b"person,winner,loser\nana,x\n", "cannot be read"),
        (b"person,winner,loser\nana,x,\xe7\n", "not UTF-8|cannot be read"),
    ],
    ids=["ragged", "not UTF-8"],
)
def test_a_broken_file_is_refused(spark: Any, tmp_path: Path, written: bytes, message: str) -> None:
    """And never read as fewer, or as other, votes."""
    path = tmp_path / "votes.csv"
    path.write_bytes(written)
    with pytest.raises(VotesError, match=message):
        tally_votes(read_votes(path, ITEMS, engine="spark"), PERSON)


def test_other_formats_and_words_are_refused(spark: Any, tmp_path: Path) -> None:
    """With the way out."""
    path = tmp_path / "votes.jsonl"
    path.write_text('{"person": "a", "winner": "x", "loser": "ç"}\n')
    with pytest.raises(VotesError, match="leave engine='spark' out, or convert them to Parquet"):
        read_votes(path, ITEMS, engine="spark")
    with pytest.raises(VotesError, match="are for quietrank's own engine"):
        read_votes(write_csv(tmp_path / "v.csv", VOTES, COLUMNS), ITEMS, engine="spark", encoding="cp1252")
