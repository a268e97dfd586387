"""Release: both ways through JSON, ties broken without the data, and nothing in it that was not paid for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quietrank as qr
from quietrank.errors import ReleaseError
from quietrank.noise import knorm, lattice, normal
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design, Privacy
from quietrank.promise.promise import Promise
from quietrank.publish.release import Release, order
from quietrank.statistics.method import Method, MethodWord
from tests.helpers import PAIRINGS, PRIVACIES, Vote, from_arrow, privacy_id

VOTES: list[Vote] = [("p1", "A1", "ç", "a"), ("p1", "ç", "Ω", "tie"), ("p 2", "A1", "Ω", "b")]
METHODS: list[MethodWord] = ["auto", "net-wins", "wins", "win-rate", "bradley-terry"]


@pytest.fixture(params=PRIVACIES, ids=privacy_id)
def privacy(request: pytest.FixtureRequest) -> qr.Privacy:
    promise: qr.Privacy = request.param
    return promise


@pytest.mark.parametrize("method", ["auto", "bradley-terry"])
@pytest.mark.few(3)
def test_json_goes_both_ways(tmp_path: Path, privacy: qr.Privacy, method: MethodWord) -> None:
    """What is written is what is read, for every promise."""
    release = qr.rank(from_arrow(VOTES), privacy, method=method)
    text = release.to_json(tmp_path / "release.json")
    assert qr.Release.from_json(tmp_path / "release.json") == release
    kept = privacy if release.privacy.clip is None else privacy.changed(clip=release.privacy.clip)
    assert json.loads(text)["privacy"]["statement"] == kept.statement


def _replace_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of every kind that leaves nothing of the values."""
    for kind in (lattice.LaplaceNoise, knorm.KNormNoise, knorm.BallNoise, normal.RoundedGaussianNoise):
        monkeypatch.setattr(kind, "add_to", lambda self, values: np.arange(len(values)) * 1000)


BOUNDED_OTHERWISE = [
    qr.Privacy(1.0, "person", delta=delta, neighbours=neighbours, design=design, one_per_pair=not clip, clip=clip)
    for delta, clip in ((0.0, None), (1e-6, 3.0))
    for neighbours, design in PAIRINGS[:3]
]
"""promises that the zonotope and the Gaussian mechanism keep"""
SECRET_DESIGNS = [*(p for p in PRIVACIES if p.design is not Design.PUBLIC), *BOUNDED_OTHERWISE]


@pytest.mark.parametrize("privacy", SECRET_DESIGNS, ids=privacy_id)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.few(2)
def test_a_release_is_a_function_of_the_noisy_values(
    monkeypatch: pytest.MonkeyPatch, privacy: qr.Privacy, method: MethodWord
) -> None:
    """Two files with nothing in common that draw the same noisy values release the same.

    Here the noise replaces the values outright: whatever still differs would have been published unpaid. Only where
    the number of votes or of people is public do both files have as many.
    """
    _replace_values(monkeypatch)
    other: list[Vote] = [("p9", "Ω", "b c", "b"), ("p8", "b c", "A1", "b"), ("p8", "b c", "A1", "a")]
    if not privacy.votes_are_public:
        other += [("p8", "A1", "ç", "tie"), ("p8", "A1", "ç", "a"), ("p8", "Ω", "ç", "b")]
    if not Promise(privacy, Items(("A1", "ç"))).people_are_public:
        other += [("p7", "A1", "ç", "tie"), ("p6", "A1", "ç", "a"), ("p5", "A1", "ç", "a"), ("p5", "Ω", "ç", "b")][
            : 0 if privacy.votes_are_public else 4
        ]
    first, second = (qr.rank(from_arrow(votes), privacy, method=method) for votes in (VOTES, other))
    assert first.to_dict() == second.to_dict()


def test_a_public_design_publishes_the_design_and_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turning answers round, the noise replacing the values, changes nothing."""
    _replace_values(monkeypatch)
    privacy = qr.Privacy(1, "comparison", neighbours="outcome", design="public")
    turned = [(person, a, b, "b") for person, a, b, _ in VOTES]
    for method in METHODS:
        first, second = (qr.rank(from_arrow(votes), privacy, method=method) for votes in (VOTES, turned))
        assert first.to_dict() == second.to_dict()


def test_skipping_is_recorded_whether_or_not_a_row_was_skipped() -> None:
    """The release says that the flag was given, not what it did."""
    privacy = qr.Privacy(1, "comparison")
    notes = [
        qr.rank(from_arrow(votes, skip_invalid=True), privacy).assumptions
        for votes in (VOTES, [*VOTES, ("p1", "A1", "A1", "a")])
    ]
    assert notes[0] == notes[1]
    assert any("skipped" in note for note in notes[0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.few(3)
def test_ranks_follow_the_scores(privacy: qr.Privacy, method: MethodWord) -> None:
    """Every item once, from the highest score to the lowest."""
    release = qr.rank(from_arrow(VOTES), privacy, method=method)
    assert [row.rank for row in release.ranking] == [1, 2, 3, 4]
    scores = [row.score for row in release.ranking]
    assert scores == sorted(scores, reverse=True)
    assert sorted(row.item for row in release.ranking) == sorted(["A1", "b c", "ç", "Ω"])


@given(st.lists(st.text(min_size=1), min_size=2, max_size=8, unique=True), st.data())
def test_ties_are_broken_by_neither_data_nor_input_order(names: list[str], data: st.DataObject) -> None:
    """Equal scores rank the same names the same way, however the items were ordered."""
    shuffled = data.draw(st.permutations(names))
    level = np.zeros(len(names))
    assert [names[k] for k in order(level, tuple(names))] == [shuffled[k] for k in order(level, tuple(shuffled))]


def test_ties_favour_no_part_of_the_alphabet() -> None:
    """Level items do not come out sorted by name."""
    names = tuple(f"item {k:02d}" for k in range(50))
    places = order(np.zeros(50), names)
    assert abs(np.corrcoef(places, range(50))[0, 1]) < 0.5


def test_the_auto_method_follows_the_design() -> None:
    """Net wins for uniform designs and equal public exposures, the win rate otherwise."""
    cycle: list[Vote] = [("p", "A1", "ç", "a"), ("p", "ç", "Ω", "a"), ("p", "Ω", "b c", "b"), ("p", "b c", "A1", "b")]
    public = {"neighbours": "outcome", "design": "public"}
    cases = [({"design": "uniform"}, VOTES), (public, cycle), (public, VOTES), ({}, VOTES)]
    chosen = [qr.rank(from_arrow(votes), qr.Privacy(1, "comparison", **extra)).method for extra, votes in cases]  # type: ignore[arg-type]
    assert chosen == [Method.NET_WINS, Method.NET_WINS, Method.WIN_RATE, Method.WIN_RATE]


def test_the_table_and_csv_leave_out_what_is_unknown() -> None:
    """Columns that were not released are absent, not empty."""
    release = qr.rank(from_arrow(VOTES), qr.Privacy(1, "comparison"), method="wins")
    assert release.table().column_names == ["rank", "item", "score"]
    assert release.to_csv().splitlines()[0] == "rank,item,score"
    assert release.privacy.statement in " ".join(str(release).split())


def test_a_release_cannot_be_changed() -> None:
    """Frozen all the way down."""
    release = qr.rank(from_arrow(VOTES), qr.Privacy(1, "comparison"))
    for target, name in ((release, "method"), (release.ranking[0], "rank"), (release.privacy, "epsilon")):
        with pytest.raises(AttributeError):
            setattr(target, name, 7)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "quietrank/release/1"}', '{"format": "other"}'])
def test_what_is_no_release_is_refused(tmp_path: Path, text: str) -> None:
    """Damaged or foreign files say so."""
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(ReleaseError):
        Release.from_json(tmp_path / "r.json")


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path) -> None:
    """Whole or not at all."""
    release = qr.rank(from_arrow(VOTES), qr.Privacy(1, "comparison"))
    with pytest.raises(ReleaseError):
        release.to_json(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_released_arrays_are_read_only() -> None:
    """Nobody changes by accident what was paid for: of noisy tallies, public designs and perturbed scores."""
    public = Privacy(1, "person", neighbours="outcome", design="public", max_per_person=3)
    tally = qr.noisy_tally(from_arrow([("p1", "A1", "ç", "a")]), public)
    assert tally.public_pairs is not None
    arrays = [
        tally.values,
        tally.public_exposure,
        tally.public_pairs.i,
        tally.public_pairs.j,
        tally.public_pairs.counts,
    ]
    for array in arrays:
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(("delta", "warned"), [(0.01, True), (1e-6, False)])
def test_a_delta_that_is_large_for_the_people_is_warned_about(delta: float, warned: bool) -> None:
    """Where their number is public, and only there."""
    votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
    for neighbours in ("replace", "add-remove"):
        privacy = qr.Privacy(1, "person", delta=delta, max_per_person=6, neighbours=neighbours)
        notes = (*qr.rank(votes, privacy, mechanism="gaussian").assumptions,)
        notes += qr.top(votes, privacy, 1, mechanism="gaussian").assumptions
        said = sum("is large for 50 people" in note for note in notes)
        assert said == (2 if warned and neighbours == "replace" else 0)


def test_a_limit_that_the_noise_does_not_use_is_explained() -> None:
    """The number that was given, and the norm that takes its place."""
    votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
    release = qr.rank(votes, qr.Privacy(1, "person", max_per_person=10), mechanism="ball", method="win-rate")
    (note,) = (note for note in release.assumptions if note.startswith("The limit of 10 votes a person"))
    assert f"a length of at most {release.privacy.clip:g}" in note
    plain = qr.rank(votes, qr.Privacy(1, "person", max_per_person=10), mechanism="laplace")
    assert not any("is not itself enforced" in note for note in plain.assumptions)


def test_a_limit_that_is_too_large_is_named() -> None:
    """And not the clip, which nobody gave."""
    votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
    with pytest.raises(qr.QuietrankError, match="max_per_person=1000000000 is too large"):
        qr.rank(votes, qr.Privacy(1, "person", max_per_person=10**9))


def test_noise_beyond_the_range_of_a_rate_is_said() -> None:
    """A win rate that is off by more than 1 means nothing; and numbers that allow for clipping say so."""
    votes = qr.read_votes(qr.simulate(items=4, people=10, per_person=6), items_from_votes=True)
    release = qr.rank(votes, qr.Privacy(1, "person", max_per_person=6), method="win-rate")
    assert release.certainty is not None
    shown = " ".join(str(replace(release, certainty=replace(release.certainty, noise_sd=5.7))).split())
    assert "by more than the whole range, from 0 to 1: these values mean nothing" in shown
    assert "relative to what a clip leaves of those of decided people" in shown
