"""Items and pairs as people give them: lists, files, and the words of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from quietrank.errors import VotesError
from quietrank.promise.declare import declare, parse_names, read_pairs, with_pairs


@pytest.mark.parametrize(
    "text", ["tea\ncoffee\n", "tea\r\ncoffee", "\ufefftea\rcoffee\n\n"], ids=["plain", "windows", "mark and old mac"]
)
def test_a_file_has_one_name_per_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "items.txt"
    path.write_bytes(text.encode())
    assert parse_names(str(path)) == ("tea", "coffee")
    assert parse_names("tea, coffee") == ("tea", "coffee")


@pytest.mark.parametrize("names", [["1", "2"], [1, 2], (1, "2"), np.array([1, 2]), pa.array(["1", "2"])], ids=str)
def test_names_are_text_or_whole_numbers(names: Any) -> None:
    assert declare(names).names == ("1", "2")


@pytest.mark.parametrize("names", ["tea", 7, [1.5, 2], [None, "tea"], np.array(3)], ids=str)
def test_what_is_no_list_of_names_is_refused(names: Any) -> None:
    with pytest.raises(VotesError, match=r"list|name"):
        declare(names)


@pytest.mark.parametrize(
    ("words", "why"),
    [("  ", "is empty"), ("nothing.txt", "there is no file"), (".", "is a folder"), ("x" * 5000, "there is no file")],
    ids=["empty", "missing", "folder", "too long"],
)
def test_a_list_that_cannot_be_read_is_refused(words: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(VotesError, match=why):
        parse_names(words if words != "nothing.txt" else str(tmp_path / words))


def test_a_list_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes("café,thé\n".encode("latin-1"))
    with pytest.raises(VotesError, match="is not UTF-8 text"):
        parse_names(str(path))
    with pytest.raises(VotesError, match="is not UTF-8 text"):
        read_pairs(path)


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ([("tea", "milk")], "'milk' is not declared"), ([("tea", "tea")], "against itself"), ([], "is empty"),
        ([("tea", "coffee")], "'water' is in no askable pair"), (["tea"], "must be pairs"), (3, "must be pairs"),
    ],
    ids=["undeclared", "itself", "none", "one alone", "text", "a number"],
)  # fmt: skip
def test_pairs_that_make_no_sense_are_refused(pairs: Any, why: str) -> None:
    with pytest.raises(VotesError, match=why):
        with_pairs(declare(["tea", "coffee", "water"]), pairs)


@pytest.mark.parametrize(
    ("text", "why"), [("tea,coffee\ntea,water,milk\n", "line 2 of .* has 3 cells"), (None, "there is no file")]
)
def test_a_file_of_pairs_has_two_items_per_line(text: str | None, why: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(VotesError, match=why):
        read_pairs(path)
    path.write_text("tea, coffee\n\ntea,water\n")
    assert read_pairs(path) == [("tea", "coffee"), ("tea", "water")]
