"""Lists of the first few: from votes to a release, and back from JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.errors import PrivacyError, QuietrankError, ReleaseError
from quietrank.planning import outlook
from quietrank.promise.privacy import Privacy
from quietrank.votes.read import Votes

NAMES = ["tea", "coffee", "water", "juice", "milk"]


def votes(people: int = 40, **options: Any) -> Votes:
    """Everybody prefers each item to those after it, and answers all pairs."""
    pairs = [(a, b) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]]
    rows = [(f"p{person}", *pair) for person in range(people) for pair in pairs]
    columns = [list(column) for column in zip(*rows, strict=True)]
    table = pa.table(dict(zip(("person", "winner", "loser"), columns, strict=True)))
    if "by" in options:
        half = [("north", "south")[int(name[1:]) % 2] for name in columns[0]]
        table = table.append_column(options["by"], pa.array(half))
    return qr.read_votes(table, NAMES, **options)


@pytest.fixture(autouse=True)
def _few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlook, "CHANCE_RUNS", 20)


EVERY = [
    Privacy(50, "comparison"),
    Privacy(50, "comparison", neighbours="add-remove"),
    Privacy(50, "comparison", neighbours="outcome", design="public"),
    Privacy(50, "person", max_per_person=10),
    Privacy(50, "person", max_per_person=10, neighbours="add-remove"),
    Privacy(50, "person", max_per_person=10, neighbours="outcome", design="public"),
    Privacy(50, "person", one_per_pair=True),
    Privacy(50, "person", max_per_person=10, delta=1e-3),
    Privacy(50, "person", clip=2.0),
    Privacy(50, "person", max_per_person="auto"),
]


@pytest.mark.parametrize("privacy", EVERY, ids=lambda privacy: f"{privacy.unit}-{privacy.neighbours}")
@pytest.mark.few(3)
def test_the_first_are_named(privacy: Privacy) -> None:
    """At an ε that promises little, the list is the one of the votes."""
    release = qr.top(votes(), privacy, 2)
    assert release.names == ("tea", "coffee")
    assert release.privacy.epsilon == 50
    assert list(release) == ["tea", "coffee"]


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential", "laplace", "gaussian"])
@pytest.mark.parametrize("method", ["net-wins", "wins"])
@pytest.mark.few(3)
def test_every_mechanism_names_them(mechanism: Any, method: Any) -> None:
    privacy = Privacy(50, "person", max_per_person=10, delta=1e-3)
    release = qr.top(votes(), privacy, 1, mechanism=mechanism, method=method)
    assert release.names == ("tea",)
    assert release.mechanism.name == mechanism
    assert release.method == method


@pytest.mark.parametrize("by_person", [True, False])
def test_groups_have_lists_of_their_own(by_person: bool) -> None:
    """Of people, or of votes; for one payment."""
    read = votes(by="half", groups=["north", "south", "west"], by_person=by_person)
    release = qr.top(read, Privacy(50, "person", max_per_person=10), 1)
    assert release["north"] == release["south"] == ("tea",)
    assert release["west"][0] in NAMES
    assert len(release) == 3
    assert dict(release).keys() == {"north", "south", "west"}
    assert "all groups together" in release.statement
    with pytest.raises(ReleaseError, match="a list for each group"):
        _ = release.names
    with pytest.raises(ReleaseError, match="no group 'east'"):
        _ = release["east"]


def test_nothing_but_names_is_published() -> None:
    """No counts, and nothing that depends on the votes: two files of the same size differ in the names alone."""
    privacy = Privacy(1, "person", max_per_person=10)
    one, other = (qr.top(read, privacy, 2).to_dict() for read in (votes(), votes()))
    assert one.pop("top").keys() == other.pop("top").keys()
    assert one == other
    assert not {"ranking", "net_wins", "scores"} & one.keys()


def test_the_size_is_used_only_where_it_is_public() -> None:
    """Under add-remove nobody knows how many people there are, so no chance is given."""
    known = qr.top(votes(), Privacy(1, "person", max_per_person=10), 1)
    assert [chance.spread for chance in known.chances] == ["close", "typical", "clear"]
    assert {name for name, _ in known.mechanism.alternatives} >= {"permute-and-flip"}
    secret = qr.top(votes(), Privacy(1, "person", max_per_person=10, neighbours="add-remove"), 1)
    assert secret.chances == ()
    assert any("not public" in note for note in secret.assumptions)


def test_the_ledger_pays_first(tmp_path: Path) -> None:
    """A release at exactly the budget is paid for; a second one is refused, and nothing is drawn."""
    privacy = Privacy(1, "person", max_per_person=10)
    ledger = qr.Ledger.create(tmp_path / "budget.db", epsilon=1, data="drinks", unit="person")
    release = qr.top(votes(), privacy, 2, mechanism="permute-and-flip", ledger=ledger)
    (entry,) = ledger.entries()
    assert release.ledger_entry == entry.id
    assert "the first 2 by net wins" in entry.what
    assert ledger.remaining == 0
    with pytest.raises(PrivacyError, match="budget does not cover"):
        qr.top(votes(), privacy, 1, ledger=ledger)


def test_a_chosen_limit_is_paid_with_the_list(tmp_path: Path) -> None:
    """One debit of the whole ε, before the histogram."""
    ledger = qr.Ledger.create(tmp_path / "budget.db", epsilon=1, data="drinks", unit="person")
    release = qr.top(votes(), Privacy(1, "person", max_per_person="auto"), 2, ledger=ledger)
    assert release.limit is not None
    assert len(ledger.entries()) == 1
    assert ledger.remaining == 0


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ({"method": "bradley-terry"}, {}),
        ({"method": "win-rate", "mechanism": "laplace"}, {}),
        ({"mechanism": "exponential"}, {}),
        ({"mechanism": "permute-and-flip"}, {"epsilon": 1e-11}),
    ],
)
def test_what_is_refused_is_not_paid_for(words: Any, more: Any, tmp_path: Path) -> None:
    """Also where a limit is to be chosen first, which has to be paid for before."""
    ledger = qr.Ledger.create(tmp_path / "budget.db", epsilon=1, data="drinks", unit="person")
    privacy: dict[str, Any] = {"epsilon": 1, "unit": "person", "max_per_person": "auto"} | more
    with pytest.raises(PrivacyError):
        qr.top(votes(), Privacy(**privacy), 2, ledger=ledger, **words)
    assert ledger.entries() == []


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-6, 1e-8])
@pytest.mark.few(1)
def test_any_delta_goes_with_a_chosen_limit(delta: float, tmp_path: Path) -> None:
    """However it rounds in binary; and a budget of exactly this pays for it."""
    privacy = Privacy(1, "person", delta=delta, max_per_person="auto")
    ledger = qr.Ledger.create(tmp_path / "budget.db", epsilon=1, delta=delta, data="drinks", unit="person")
    assert qr.top(votes(), privacy, 1, mechanism="exponential").privacy.delta == delta
    assert qr.rank(votes(), privacy, ledger=ledger).privacy.delta == delta


def test_json_and_back(tmp_path: Path) -> None:
    release = qr.top(votes(), Privacy(1, "person", max_per_person=10), 3)
    release.to_json(tmp_path / "top.json")
    assert qr.TopRelease.from_json(tmp_path / "top.json") == release
    values = json.loads((tmp_path / "top.json").read_text("utf-8"))
    assert values["format"] == "quietrank/top/1"
    damaged: list[dict[str, Any]] = [
        values | {"top": {"": ["tea", "tea", "milk"]}},
        values | {"top": {"": NAMES}},
        values | {"items": None},
        values | {"chances_in_simulation": [{"spread": "close"}]},
        values | {"by": "half"},
        {name: value for name, value in values.items() if name != "privacy"},
    ]
    for broken in damaged:
        with pytest.raises(ReleaseError):
            qr.TopRelease.from_dict(broken)
    with pytest.raises(ReleaseError, match="not a list: its format is"):
        qr.TopRelease.from_dict({"format": "quietrank/release/1"})


def test_it_can_be_looked_at(tmp_path: Path) -> None:
    """Text, Markdown, CSV and a page; each names the items and the promise."""
    release = qr.top(votes(), Privacy(50, "person", max_per_person=10), 2)
    assert release.to_csv() == "rank,item\n1,tea\n2,coffee\n"
    for shown in (str(release), release.to_markdown(), release.report(tmp_path / "top.html")):
        assert "tea" in shown
        assert "This is a weak promise" in shown
        assert "simulated surveys" in shown
    assert (tmp_path / "top.html").read_text("utf-8").startswith("<!doctype html>")
    assert repr(release) == "<TopRelease: first 2 of 5 items; ε = 50 per person>"
    assert release._repr_html_().count("<table") >= 1


@pytest.mark.parametrize(
    ("k", "words", "message"),
    [
        (0, {}, "k must be a whole number, 1 or more"),
        (5, {}, "below the number of items, 5"),
        ("two", {}, "whole number"),
        (1.5, {}, "whole number"),
        (1, {"mechanism": "perturbed-mle"}, "publishes the scores of all items"),
        (1, {"mechanism": "zonotope"}, "needs unit='person' and one_per_pair"),
        (1, {"mechanism": "exponential"}, "needs delta above 0"),
        (1, {"method": "bradley-terry"}, "by net wins or by wins"),
        (1, {"mechanism": "nonsense"}, "must be one of"),
    ],
)
def test_wrong_calls(k: Any, words: dict[str, Any], message: str) -> None:
    with pytest.raises(PrivacyError, match=message):
        qr.top(votes(), Privacy(1, "person", max_per_person=10), k, **words)


def test_rank_does_not_select() -> None:
    with pytest.raises(PrivacyError, match="use top"):
        qr.rank(votes(), Privacy(1, "comparison"), mechanism="permute-and-flip")


def test_an_empty_file_names_somebody() -> None:
    """Under add-remove an empty file is a file like any other."""
    table = pa.table({name: pa.array([], pa.string()) for name in ("person", "winner", "loser")})
    release = qr.top(qr.read_votes(table, NAMES), Privacy(1, "person", max_per_person=3, neighbours="add-remove"), 1)
    assert release.names[0] in NAMES


def test_sets_are_selected_from(tmp_path: Path) -> None:
    """Best–worst answers: net wins of sets; wins are refused."""
    path = tmp_path / "sets.csv"
    rows = "".join(f"p{k},tea,water,milk,tea,milk\n" for k in range(30))
    path.write_text("person,item1,item2,item3,best,worst\n" + rows, "utf-8")
    read = qr.read_votes(path, NAMES)
    privacy = Privacy(50, "person", max_per_person=1)
    assert qr.top(read, privacy, 1).names == ("tea",)
    with pytest.raises(PrivacyError, match="best-worst sets"):
        qr.top(read, privacy, 1, method="wins")


@pytest.mark.parametrize("runs", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_the_planner_agrees_with_releases(runs: int) -> None:
    """The chance that plan_top gives is the share of real selections that are right."""
    rng = np.random.default_rng(3)
    plan = qr.plan_top(items=4, k=1, people=60, per_person=6, epsilon=0.3, repetitions=200, spread=0.5)
    chosen = next(one for one in plan.predictions if one.chosen)
    hits = 0
    privacy = Privacy(0.3, "person", max_per_person=6)
    for _ in range(runs):
        theta = rng.normal(0, 0.5, 4)
        i, j = rng.integers(4, size=360), rng.integers(3, size=360)
        j += j >= i
        first = rng.random(360) < 1 / (1 + np.exp(theta[j] - theta[i]))
        winner, loser = np.where(first, i, j), np.where(first, j, i)
        table = pa.table({"person": np.arange(360) // 6, "winner": winner, "loser": loser})
        (name,) = qr.top(qr.read_votes(table, range(4)), privacy, 1, mechanism=chosen.mechanism).names  # type: ignore[arg-type]
        net = np.bincount(winner, minlength=4) - np.bincount(loser, minlength=4)
        hits += net[int(name)] == net.max()
    error = (chosen.as_exact * (1 - chosen.as_exact) / runs) ** 0.5
    assert abs(hits / runs - chosen.as_exact) < 5 * error + 0.05


def test_what_cannot_be_simulated_says_why_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason of the planner, without its remedy, which is for other arguments; and the command to try."""

    def refuse(*_: object) -> None:
        raise QuietrankError("such a survey would take 99 GB; ask for less")

    monkeypatch.setattr(outlook, "_outlook", refuse)
    table = pa.table({"winner": ["x", "y", "x"], "loser": ["y", "z", "z"]})
    made = qr.top(qr.read_votes(table, ["x", "y", "z"]), qr.Privacy(epsilon=1, unit="comparison"), 1)
    (note,) = [note for note in made.assumptions if "simulated" in note]
    assert "(such a survey would take 99 GB). quietrank plan --only-top simulates" in note
