"""Files as people have them, each read to the same tally as a plain long file beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quietrank.promise.privacy import Privacy
from quietrank.votes.read import read_votes
from tests.steps import tally_pairs

FOLDER = Path(__file__).parent.parent / "fixtures"
DRINKS = ["tea", "coffee", "water"]
RANKINGS = {"shape": "rankings"}
PRIVACIES = [
    Privacy(1, "person", max_per_person=2),
    Privacy(1, "person", one_per_pair=True, max_per_person=3),
]

FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "wide/signs.csv": ("wide/long.csv", {"outcomes": "1/-1/0"}),
    "wide/codes.csv": ("wide/long.csv", {"outcomes": "1/2/0"}),
    "wide/names.csv": ("wide/long.csv", {}),
    "wide/words.csv": ("wide/long.csv", {}),
    "wide/pattern.csv": ("wide/long.csv", {"pair_columns": "q_{a}_{b}", "outcomes": "1/2/0"}),
    "wide/listed.csv": ("wide/long.csv", {"pair_columns": FOLDER / "wide/listed_pairs.csv", "outcomes": "1/2/0"}),
    "wide/turned.csv": ("wide/long.csv", {}),
    "wide/two_rows.csv": ("wide/long.csv", {"outcomes": "1/2/0"}),
    "wide/wide.jsonl": ("wide/long.csv", {"outcomes": "1/-1/0"}),
    "rankings/ordinals.csv": ("rankings/long.csv", {}),
    "rankings/choices.csv": ("rankings/long.csv", {}),
    "rankings/words.csv": ("rankings/long.csv", {}),
    "rankings/cells.csv": ("rankings/long.csv", {}),
    "rankings/cells_tied.csv": ("rankings/long_tied.csv", {}),
    "rankings/places_tied.csv": ("rankings/long_tied.csv", RANKINGS),
    "rankings/places.jsonl": ("rankings/long.csv", RANKINGS),
    "exports/qualtrics_wide.csv": ("exports/long.csv", {}),
    "exports/qualtrics_ranking.csv": ("exports/long_ranking.csv", RANKINGS),
    "exports/limesurvey_wide.csv": ("exports/long.csv", {}),
    "exports/limesurvey_ranking.csv": ("exports/long_ranking.csv", RANKINGS),
    "exports/limesurvey_labels.csv": ("exports/long_ranking.csv", {}),
    "exports/surveymonkey_wide.csv": ("exports/long.csv", {}),
    "exports/surveymonkey_ranking.csv": ("exports/long_ranking.csv", RANKINGS),
    "exports/two_headers.csv": ("exports/long.csv", {"header_rows": 1, "outcomes": "1/2/0"}),
    "preflib/drinks.soc": ("preflib/long_soc.csv", {"items": None}),
    "preflib/drinks.soi": ("preflib/long_soi.csv", {"items": None}),
    "preflib/drinks.toc": ("preflib/long_toc.csv", {"items": None}),
    "preflib/drinks.toi": ("preflib/long_toi.csv", {"items": None}),
}
LAST = ["ordinals.csv", "choices.csv", "words.csv", "cells.csv"]


def _tallies(file: str, **words: Any) -> list[tuple[list[int], ...]]:
    votes = read_votes(FOLDER / file, **{"items": DRINKS, **words})
    tallies = [tally_pairs(votes, privacy) for privacy in PRIVACIES]
    assert len({one.items for one in tallies}) == 1
    return [tuple(column.tolist() for column in (one.i, one.j, one.wins_i, one.wins_j)) for one in tallies]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.few(3)
def test_a_file_gives_the_tally_of_its_long_form(file: str) -> None:
    """The same pairs, wins and losses, person by person and answer by answer."""
    long, words = FILES[file]
    items = ["tea", "coffee, black", "water"] if file.startswith("preflib") else DRINKS
    assert _tallies(file, **words) == _tallies(long, items=items)


@pytest.mark.parametrize("file", LAST)
@pytest.mark.few(1)
def test_items_left_out_may_come_last(file: str) -> None:
    """Every ranked item beats every other, and those are not compared with each other."""
    assert _tallies(f"rankings/{file}", unranked="last") == _tallies("rankings/long_last.csv")


def test_every_fixture_is_read() -> None:
    """No file lies there without a test."""
    files = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.*") if path.parent.name in _folders()}
    helpers = {file for file in files if Path(file).name.startswith("long") or file.endswith("listed_pairs.csv")}
    assert files - helpers == set(FILES)
    assert len(FILES) >= 24


def _folders() -> set[str]:
    return {Path(file).parts[0] for file in FILES}


@pytest.mark.parametrize("file", ["wide/signs.csv", "wide/names.csv", "rankings/cells.csv", "rankings/ordinals.csv"])
def test_items_may_come_from_the_file(file: str) -> None:
    """From the names of a wide file's columns, or from the cells of rankings."""
    votes = read_votes(FOLDER / file, items_from_votes=True)
    assert votes.items.names == ("coffee", "tea", "water")
    assert votes.items.from_votes
