"""Written and read back: under the home folder, from text, by the right class; and nothing is replaced unasked."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.errors import QuietrankError, ReleaseError
from quietrank.publish.nonprivate import NonPrivateFit

VOTE = qr.Privacy(epsilon=1, unit="comparison")
TABLE = pa.table(
    {
        "person": ["a", "a", "b", "b", "c", "c"],
        "winner": ["x", "x", "y", "z", "x", "y"],
        "loser": ["y", "z", "z", "x", "y", "x"],
        "land": ["n", "s", "n", "s", "n", "s"],
    }
)
ITEMS = ["x", "y", "z"]


def votes(**more: Any) -> qr.Votes:
    return qr.read_votes(TABLE, ITEMS, **more)


def by_land() -> qr.Votes:
    return votes(by="land", groups=["n", "s"])


MADE: dict[str, Callable[[], Any]] = {
    "Release": lambda: qr.rank(votes(), VOTE),
    "GroupedRelease": lambda: qr.rank_by_group(by_land(), VOTE, overall=True),
    "TopRelease": lambda: qr.top(votes(), VOTE, 1),
    "NoisyTally": lambda: qr.noisy_tally(votes(), VOTE),
    "GroupedTally": lambda: qr.noisy_tally_by_group(by_land(), VOTE),
}


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return {name: make() for name, make in MADE.items()}


@pytest.mark.parametrize("name", MADE)
def test_text_and_the_wrong_class(made: dict[str, Any], name: str, tmp_path: Path) -> None:
    """What `to_json` returned can be read; another class says what the file is, and which class reads it."""
    text = made[name].to_json(tmp_path / "made.json")
    assert getattr(qr, name).from_json(text).to_json() == text
    for other in set(MADE) - {name}:
        with pytest.raises(ReleaseError) as told:
            getattr(qr, other).from_json(tmp_path / "made.json")
        assert json.loads(text)["format"] in str(told.value)
        assert f"use qr.{name}.from_json" in str(told.value)


def test_what_is_no_file_gets_a_short_answer() -> None:
    for text in ("{" + "x" * 20_000, "x y " * 5000):
        with pytest.raises(ReleaseError) as told:
            qr.Release.from_json(text)
        assert len(str(told.value)) < 300


@pytest.mark.parametrize("name", MADE)
def test_nothing_is_replaced_unasked(made: dict[str, Any], name: str, tmp_path: Path) -> None:
    """An earlier one only with `overwrite`, a file of another kind never."""
    one, path = made[name], tmp_path / "made.json"
    writers = {path: one.to_json}
    if hasattr(one, "to_csv"):
        writers |= {tmp_path / "made.csv": one.to_csv, tmp_path / "made.html": one.report}
    if hasattr(one, "plot"):
        writers[tmp_path / "made.png"] = one.plot
    for place, write in writers.items():
        write(place)
        before = place.read_bytes()
        with pytest.raises(ReleaseError, match="overwrite=True"):
            write(place)
        assert place.read_bytes() == before
        write(place, overwrite=True)
        place.write_text("mine")
        with pytest.raises(ReleaseError, match="by quietrank and is not replaced"):
            write(place, overwrite=True)
        assert place.read_text() == "mine"


def test_home_is_where_it_is_in_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In votes, releases, ledgers and figures."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "votes.csv").write_text("winner,loser\nx,y\ny,z\n")
    qr.Ledger.create("~/budget.db", 1, data="votes", unit="comparison")
    release = qr.rank(qr.read_votes("~/votes.csv", ITEMS), VOTE, ledger="~/budget.db")
    release.to_json("~/release.json")
    release.plot("~/release.svg")
    assert qr.Release.from_json("~/release.json") == release
    assert {path.name for path in tmp_path.iterdir()} >= {"budget.db", "release.json", "release.svg"}


def test_a_release_has_rows_by_item(made: dict[str, Any]) -> None:
    """By name; a place is in `ranking`, and an unknown name is a KeyError with what is there."""
    release = made["Release"]
    assert [release[row.item] for row in release] == list(release.ranking)
    assert "x" in release
    assert "w" not in release
    with pytest.raises(KeyError) as told:
        release["xx"]
    assert str(told.value).startswith("there is no item 'xx' in this release, but 'x'; ")
    with pytest.raises(ReleaseError, match=r"got 0: use release\.ranking"):
        release[0]


def test_tallies_are_short_in_words(made: dict[str, Any]) -> None:
    assert repr(made["NoisyTally"]).startswith("<NoisyTally: ")
    assert repr(made["NoisyTally"]).endswith("of 3 items; ε = 1 per comparison, laplace>")
    assert repr(made["GroupedTally"]).startswith("<GroupedTally: 2 groups by 'land', ")
    assert len(repr(made["GroupedTally"])) < 150


def test_a_scale_asks_for_scores(made: dict[str, Any]) -> None:
    """Without a method it implies Bradley–Terry; with another method it is refused, in Python's words."""
    assert qr.rank(votes(), VOTE, scale="elo").method == "bradley-terry"
    assert qr.rerank(made["NoisyTally"], scale="probability").method == "bradley-terry"
    with pytest.raises(QuietrankError) as told:
        qr.rerank(made["NoisyTally"], method="win-rate", scale="elo")
    assert str(told.value) == (
        "scale='elo' is for Bradley-Terry scores; use method='bradley-terry', or leave out scale (items are ranked by "
        "method='win-rate')"
    )


def scores(fitted: NonPrivateFit, name: str = "score") -> dict[str, float]:
    return {row["item"]: row[name] for row in fitted.rows()}


def test_a_fit_has_the_scales_of_a_release() -> None:
    """Elo points are log-odds times 400/ln 10, and with an anchor its interval is a point."""
    plain, elo, chance = (qr.fit(votes(), scale=scale) for scale in ("log-odds", "elo", "probability"))
    factor = 400 / math.log(10)
    for item, score in scores(plain).items():
        assert scores(elo)[item] == pytest.approx(1000 + factor * score)
        assert scores(elo, "standard_error")[item] == pytest.approx(factor * scores(plain, "standard_error")[item])
        assert scores(elo, "score_low")[item] == pytest.approx(1000 + factor * scores(plain, "score_low")[item])
        assert scores(chance)[item] == pytest.approx(1 / (1 + math.exp(-score)))
    assert "standard_error" not in chance.rows()[0]
    anchored = qr.fit(votes(), scale="elo", anchor=("y", 1200))
    assert scores(anchored)["y"] == scores(anchored, "score_low")["y"] == scores(anchored, "score_high")["y"] == 1200
    assert scores(anchored)["x"] - 1200 == pytest.approx(factor * (scores(plain)["x"] - scores(plain)["y"]))
    assert "Elo score" in str(elo)
    assert json.loads(anchored.to_json())["anchor"] == ["y", 1200]
    with pytest.raises(QuietrankError, match="not an item"):
        qr.fit(votes(), scale="elo", anchor=("w", 1200))
