"""Noisy tallies: exactly there and back through JSON, ranked again at no cost, and damaged files refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quietrank as qr
from quietrank.errors import PrivacyError, QuietrankError, ReleaseError
from quietrank.estimate.noisy import GroupedTally, NoisyTally
from quietrank.mechanisms.mechanism import PublicPairs
from quietrank.promise.privacy import Privacy
from quietrank.publish import tally_file
from quietrank.statistics.method import MethodWord
from tests.helpers import PRIVACIES, Vote, from_arrow, privacy_id

VOTES: list[Vote] = [("p1", "A1", "ç", "a"), ("p1", "ç", "Ω", "tie"), ("p 2", "A1", "Ω", "b")]
METHODS: list[MethodWord] = ["auto", "net-wins", "wins", "win-rate", "bradley-terry"]
ONE = Privacy(1, "person", one_per_pair=True)
MADE: dict[str, tuple[Privacy, dict[str, Any]]] = {
    **{f"{privacy_id(p)} {method}": (p, {"method": method}) for p in PRIVACIES for method in METHODS},
    "zonotope of the double cover": (ONE, {"mechanism": "zonotope"}),
    "zonotope": (ONE.changed(neighbours="outcome", design="public"), {"mechanism": "zonotope"}),
    "zonotope and total": (ONE.changed(design="uniform"), {"mechanism": "zonotope", "method": "win-rate"}),
    "gaussian": (Privacy(1, "person", delta=1e-6, max_per_person=4), {"mechanism": "gaussian"}),
    "gaussian and total": (
        Privacy(0.3, "person", delta=1e-7, max_per_person=4, design="uniform", neighbours="add-remove"),
        {"mechanism": "gaussian", "method": "bradley-terry"},
    ),
}


def _same(first: object, second: object) -> bool:
    """Equal to the bit, and of the same types."""
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    if isinstance(first, NoisyTally | PublicPairs):
        return all(_same(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))
    return first == second


@pytest.mark.parametrize("made", MADE)
@pytest.mark.few(3)
def test_json_goes_both_ways_exactly(made: str, tmp_path: Path) -> None:
    """Values, law, promise, public design: what is read is what was written, for every mechanism and promise."""
    privacy, words = MADE[made]
    tally = qr.noisy_tally(from_arrow(VOTES, skip_invalid=True), privacy, **words)
    text = tally.to_json(tmp_path / "tally.json")
    assert json.loads(text)["format"] == "quietrank/noisy-tally/1"
    assert json.loads(text)["privacy"]["statement"] == tally.privacy.statement
    back = NoisyTally.from_json(tmp_path / "tally.json")
    assert _same(back, tally)
    method = words.get("method", "auto")
    assert qr.rerank(back, method=method).to_dict() == qr.rerank(tally, method=method).to_dict()


def test_large_values_and_askable_pairs_survive(tmp_path: Path) -> None:
    """The full range of 64 bits, names beyond ASCII, a list of pairs, a ledger's entry."""
    votes = from_arrow(VOTES, pairs=[("A1", "ç"), ("ç", "Ω"), ("A1", "Ω"), ("b c", "Ω")])
    tally = qr.noisy_tally(votes, ONE.changed(design="uniform"), method="net-wins")
    extreme = tally_file.to_dict(tally) | {"values": [2**63 - 1, -(2**63), 0, 1], "ledger_entry": "a1b2"}
    back = tally_file.from_dict(json.loads(json.dumps(extreme)))
    assert isinstance(back, NoisyTally)
    assert back.values.tolist() == [2**63 - 1, -(2**63), 0, 1]
    assert back.items == tally.items
    assert qr.rerank(back).ledger_entry == "a1b2"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.few(1)
def test_rank_is_a_tally_ranked(method: MethodWord, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same noise gives the same release, in one go or by way of a file."""
    from quietrank.noise import knorm, lattice

    for kind in (lattice.LaplaceNoise, knorm.KNormNoise, knorm.BallNoise):
        monkeypatch.setattr(kind, "add_to", lambda self, values: values + np.arange(len(values)) * 2**21)
    for privacy in PRIVACIES:
        votes = from_arrow(VOTES)
        direct = qr.rank(votes, privacy, method=method)
        by_file = qr.rerank(qr.noisy_tally(votes, privacy, method=method), method=method)
        assert direct.to_dict() == by_file.to_dict()


def test_one_payment_serves_every_method_that_it_suffices_for() -> None:
    """Wins and losses give all four methods; the ledger is debited once, by the tally."""
    debits = []

    class Recording:
        def debit(self, charge: Any) -> str:
            debits.append(charge)
            return "entry 1"

    tally = qr.noisy_tally(from_arrow(VOTES), Privacy(1, "comparison"), ledger=Recording())
    releases = [qr.rerank(tally, method=method) for method in METHODS]
    assert [release.method for release in releases] == ["win-rate", *METHODS[1:]]
    assert {release.ledger_entry for release in releases} == {"entry 1"}
    assert len(debits) == 1
    assert qr.rerank(tally, method="bradley-terry", gamma=3.0).gamma == 3.0


@pytest.mark.parametrize(
    ("made_for", "asked", "needs", "instead"),
    [
        ("net-wins", "win-rate", "how often items were compared", "net-wins"),
        ("net-wins", "bradley-terry", "how often items were compared", "net-wins"),
        ("net-wins", "wins", "needs wins", "net-wins"),
        ("wins", "net-wins", "needs net wins", "wins"),
        ("wins", "bradley-terry", "needs net wins", "wins"),
    ],
)
def test_what_was_not_released_cannot_be_ranked_by(
    made_for: MethodWord, asked: MethodWord, needs: str, instead: str
) -> None:
    """The error says what the method would have needed and which one works; `auto` takes what there is."""
    tally = qr.noisy_tally(from_arrow(VOTES), Privacy(1, "comparison"), method=made_for)
    with pytest.raises(QuietrankError, match=needs) as refused:
        qr.rerank(tally, method=asked)
    assert f"use method='{instead}'" in str(refused.value)
    assert qr.rerank(tally).method == instead


def test_a_top_list_is_the_beginning_of_the_ranking() -> None:
    """The first k items; a k that cannot be is refused."""
    release = qr.rerank(qr.noisy_tally(from_arrow(VOTES), Privacy(1, "comparison")))
    assert release.top(2).ranking == release.ranking[:2]
    assert str(release.top(1)).count("may mean little") == 0
    for k in (0, 5):
        with pytest.raises(ReleaseError, match="from 1 to the 4 items"):
            release.top(k)


def test_the_perturbed_mle_has_no_tally() -> None:
    """It releases scores; saying so comes before any payment."""
    with pytest.raises(PrivacyError, match="no tally to save"):
        qr.noisy_tally(from_arrow(VOTES), Privacy(1, "comparison"), mechanism="perturbed-mle")
    with pytest.raises(QuietrankError, match="noisy tally"):
        qr.rerank("tally.json")  # type: ignore[call-overload]


def _without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda values: values.pop(name)


def _with(name: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda values: values.update({name: value})


DAMAGE: dict[str, Callable[[dict[str, Any]], object]] = {
    **{f"no {name}": _without(name) for name in ("items", "values", "law", "privacy", "public", "rows_skipped")},
    "another format": _with("format", "quietrank/release/1"),
    "no format": _without("format"),
    "too few values": lambda v: v["values"].pop(),
    "a fractional value": lambda v: v["values"].__setitem__(0, 1.5),
    "a value beyond 64 bits": lambda v: v["values"].__setitem__(0, 2**63),
    "a text for a value": lambda v: v["values"].__setitem__(0, "1"),
    "a statistic unknown": _with("statistic", "losses"),
    "another statistic": _with("statistic", "net-wins"),
    "a step of zero": _with("step", "0"),
    "a step that is none": _with("step", "a half"),
    "a division by zero": _with("step", "1/0"),
    "a law unknown": lambda v: v["law"].update(kind="cauchy"),
    "no noise": lambda v: v["law"].update(scale=0.0),
    "a promise that cannot be": lambda v: v["privacy"].update(epsilon=-1),
    "an unknown promise": lambda v: v["privacy"].update(gamma=1),
    "items twice": lambda v: v["items"].update(names=["A1", "A1", "ç", "Ω"]),
    "a pair of nobody": lambda v: v["items"].update(pairs=[[0, 9]]),
    "exposures of others": lambda v: v["public"].update(exposure=[1.0]),
    "pairs of others": lambda v: v["public"].update(pairs={"i": [0], "j": [7], "counts": [1.0]}),
    "an entry that is none": _with("ledger_entry", 7),
    "a list of values": _with("privacy", []),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.few(9)
def test_damaged_and_foreign_files_are_refused(damage: str, tmp_path: Path) -> None:
    """With one clear sentence and a remedy, whatever is wrong."""
    values = tally_file.to_dict(qr.noisy_tally(from_arrow(VOTES), Privacy(1, "comparison")))
    DAMAGE[damage](values)
    (tmp_path / "tally.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ReleaseError, match=r"use an undamaged copy|NoisyTally.to_json|use qr.Release.from_json"):
        NoisyTally.from_json(tmp_path / "tally.json")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"not json", b"[1, 2]", b"null", b"{", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(content: bytes, tmp_path: Path) -> None:
    """Empty, binary, cut off or nested beyond reason."""
    (tmp_path / "tally.json").write_bytes(content)
    with pytest.raises(ReleaseError):
        NoisyTally.from_json(tmp_path / "tally.json")
    with pytest.raises(ReleaseError, match="cannot read"):
        NoisyTally.from_json(tmp_path / "nowhere.json")


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path) -> None:
    """Whole or not at all."""
    with pytest.raises(ReleaseError):
        qr.noisy_tally(from_arrow(VOTES), Privacy(1, "comparison")).to_json(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_tallies_of_groups_are_one_file(tmp_path: Path) -> None:
    """All groups there and back; the two kinds of file are told apart."""
    import pyarrow as pa

    table = pa.table({"winner": ["x", "y", "x"], "loser": ["y", "z", "z"], "land": ["a", "b", "a"]})
    votes = qr.read_votes(table, items=["x", "y", "z"], by="land", groups=["a", "b", "c"])
    grouped = qr.noisy_tally_by_group(votes, Privacy(1, "comparison"))
    grouped.to_json(tmp_path / "tally.json")
    back = GroupedTally.from_json(tmp_path / "tally.json")
    assert back.by == "land"
    assert all(g == h and _same(x, y) for (g, x), (h, y) in zip(back.tallies, grouped.tallies, strict=True))
    assert qr.rerank(back, method="net-wins").groups == ("a", "b", "c")
    with pytest.raises(ReleaseError, match=r"GroupedTally\.from_json"):
        NoisyTally.from_json(tmp_path / "tally.json")
    with pytest.raises(ReleaseError, match="damaged"):
        tally_file.from_dict({"format": tally_file.GROUPED_FORMAT, "by": "land", "groups": {}})


@pytest.mark.parametrize("edit", [{"epsilon": 0.01}, {"max_per_person": 1}, {"neighbours": "add-remove"}])
def test_a_promise_edited_alone_is_refused(edit: dict[str, Any]) -> None:
    """The noise in the file is the one that its promise needs, or the file is damaged."""
    tally = qr.noisy_tally(from_arrow(VOTES), qr.Privacy(1.0, "person", max_per_person=3), mechanism="laplace")
    values = tally_file.to_dict(tally)
    assert tally_file.from_dict(values)
    with pytest.raises(ReleaseError, match="its noise is not the one"):
        tally_file.from_dict(values | {"privacy": values["privacy"] | edit})
