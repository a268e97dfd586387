"""A wish: the same promise as the command that is shown for it, and a name that follows from it."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import quietrank as qr
from quietrank.app.wishes import Survey, Wish
from tests.cli.conftest import run  # noqa: F401
from tests.cli.running import Run
from tests.helpers import write_csv

VOTES = [("ana", "tea", "coffee"), ("ben", "tea", "water, still"), ("eve", "coffee", "water, still")]
ITEMS = ("tea", "coffee", "water, still")
PROMISES: dict[str, dict[str, Any]] = {
    "votes": {"unit": "comparison", "epsilon": 0.5},
    "pairs": {"unit": "person", "epsilon": 1.0, "one_per_pair": True, "design": "uniform"},
    "number": {"unit": "person", "epsilon": 2.0, "max_per_person": 3},
    "auto": {"unit": "person", "epsilon": 1.0, "max_per_person": "auto"},
    "public": {"unit": "comparison", "epsilon": 1.0, "neighbours": "outcome", "design": "public"},
    "gaussian": {"unit": "person", "epsilon": 1.0, "max_per_person": 3, "delta": 1e-6},
}


@pytest.fixture
def survey(tmp_path: Path) -> Survey:
    path = write_csv(tmp_path / "votes of a day.csv", VOTES, ("who", "better", "worse"))
    reading = {"person": "who", "winner": "better", "loser": "worse"}
    return Survey((str(path),), str(path), reading, ITEMS)


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("only_top", [None, 1])
@pytest.mark.few(2)
def test_the_command_makes_the_same_promise(
    survey: Survey,
    promise: str,
    only_top: int | None,
    tmp_path: Path,
    run: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is shown is typed: it runs, and the release promises what the wish does."""
    monkeypatch.chdir(tmp_path)
    Path("items.txt").write_text("\n".join(ITEMS), encoding="utf-8")
    wish = Wish(survey, PROMISES[promise], {}, only_top)
    neighbours, unit = wish.privacy.neighbours, wish.privacy.unit
    qr.Ledger.create("budget.db", 9, 1e-3, data="test", unit=unit, neighbours=neighbours)
    result = run(*shlex.split(wish.command("budget.db"))[1:])
    assert result.code == 0, result.stderr
    made = json.loads(Path("release.json").read_text(encoding="utf-8"))["privacy"]
    assert made["delta"] <= wish.privacy.delta  # a mechanism that needs none may be the best
    asked = {name: value for name, value in PROMISES[promise].items() if name not in ("max_per_person", "delta")}
    assert {name: made[name] for name in asked} == asked


def test_equal_wishes_have_one_name(survey: Survey) -> None:
    """A second window has the file elsewhere; that makes no other order."""
    first = Wish(survey, PROMISES["pairs"])
    again = Wish(replace(survey, votes=("/tmp/other.csv",), name="other.csv"), dict(PROMISES["pairs"]))
    assert first.name == again.name
    assert first.name == Wish.from_dict(json.loads(json.dumps(first.to_dict()))).name


@pytest.mark.parametrize("other", [name for name in PROMISES if name != "pairs"])
def test_other_wishes_have_other_names(survey: Survey, other: str) -> None:
    names = [Wish(survey, PROMISES[one]).name for one in ("pairs", other)]
    assert len(set(names)) == 2


def test_items_and_columns_make_another_wish(survey: Survey) -> None:
    others = [
        survey,
        replace(survey, items=ITEMS[:2]),
        replace(survey, reading={**survey.reading, "where": "who <> 'eve'"}),
        replace(survey, skip_invalid=True),
    ]
    assert len({Wish(one, PROMISES["votes"]).name for one in others}) == 4
    assert len({Wish(survey, PROMISES["votes"], {}, top).name for top in (None, 1, 2)}) == 3


def test_a_wish_survives_being_written_down(survey: Survey) -> None:
    wish = Wish(
        replace(survey, reading={"outcomes": {"x": "a"}, "missing": ["?"]}), PROMISES["auto"], {"method": "wins"}
    )
    back = Wish.from_dict(json.loads(json.dumps(wish.to_dict())))
    assert back == wish
    assert "--outcomes x=a --missing '?'" in back.command("budget.db")
