"""Standard errors of exact fits: clustered by person where people are named, and what follows from them."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.arrays import Floats
from quietrank.demo import UNIVERSITIES, demo_votes
from quietrank.estimators import fit_arrays
from quietrank.maths.clustered import ClusterError
from quietrank.maths.links import LinkWord
from quietrank.promise.promise import EVERY_VOTE
from quietrank.votes import gradients
from quietrank.votes.gradients import gradients_by_person
from quietrank.votes.read import Votes
from quietrank.votes.tally import counting
from tests.effort import effort

RESAMPLES = 400


def read(person: list[Any] | None, winner: list[str], loser: list[str]) -> Votes:
    people = {} if person is None else {"person": person}
    return qr.read_votes(pa.table({**people, "winner": winner, "loser": loser}), items_from_votes=True)


def survey() -> tuple[list[np.ndarray[Any, Any]], list[Any]]:
    """The bundled survey as arrays, read without the library: person, winner, loser; and whether it was a tie."""
    with (files("quietrank") / "data" / "cems.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    place = {name: k for k, name in enumerate(UNIVERSITIES)}
    first_won = np.array([row["outcome"] != "b" for row in rows])
    a, b = (np.array([place[row[side]] for row in rows]) for side in ("item_a", "item_b"))
    person = np.unique([row["person"] for row in rows], return_inverse=True)[1]
    return [person, np.where(first_won, a, b), np.where(first_won, b, a)], [row["outcome"] == "tie" for row in rows]


def bootstrap_errors() -> Floats:
    """The standard deviation of the scores when people are drawn anew, each with all their votes."""
    (person, winner, loser), ties = survey()
    tie, rng = np.array(ties), np.random.default_rng(1)
    rows_of = [np.flatnonzero(person == one) for one in range(person.max() + 1)]
    scores = []
    for _ in range(RESAMPLES):
        rows = np.concatenate([rows_of[one] for one in rng.integers(len(rows_of), size=len(rows_of))])
        scores.append(fit_arrays(winner[rows], loser[rows], len(UNIVERSITIES), ridge=0, tie=tie[rows]).scores)
    return np.asarray(np.std(scores, axis=0, ddof=1))


def test_clustered_errors_are_those_of_drawing_people_anew() -> None:
    """On the bundled survey: within 10 % of a bootstrap over people, where independent votes claim far too little."""
    truth = bootstrap_errors()
    clustered, independent = qr.fit(demo_votes()), qr.fit(demo_votes(), cluster=False)
    assert clustered.standard_errors is not None
    assert independent.standard_errors is not None
    by_person, by_vote = clustered.standard_errors / truth, independent.standard_errors / truth
    print(f"clustered {by_person.min():.3f} to {by_person.max():.3f}, model {by_vote.min():.3f} to {by_vote.max():.3f}")
    assert np.abs(by_person - 1).max() < 0.1
    assert by_vote.max() < 0.9


def test_both_kinds_agree_where_votes_are_independent() -> None:
    """People whose votes do not hang together: the same errors, but for chance."""
    votes = qr.read_votes(qr.simulate(items=6, people=4000, per_person=5, seed=3), items_from_votes=True)
    clustered, independent = qr.fit(votes), qr.fit(votes, cluster=False)
    assert clustered.standard_errors is not None
    assert independent.standard_errors is not None
    np.testing.assert_allclose(clustered.standard_errors, independent.standard_errors, rtol=0.05)


def test_two_people_by_hand() -> None:
    """Ana says tea twice, Ben water once: F = 2/3, g = ±2/3, h = 3·2/9, so √(2·Σg²)/(2h) = (4/3)/(4/3) = 1."""
    votes = read(["ana", "ana", "ben"], ["tea", "tea", "water"], ["water", "water", "tea"])
    assert qr.fit(votes).standard_errors == pytest.approx([1.0, 1.0], rel=1e-6)
    assert qr.fit(votes, cluster=False).standard_errors == pytest.approx([np.sqrt(3 / 8)] * 2, rel=1e-6)


def test_saying_it_twice_adds_nothing() -> None:
    """Every vote four times, by the same person: half the errors if votes were independent, the same if clustered."""
    table = qr.simulate(items=4, people=60, per_person=5, seed=4)
    once, often = (
        qr.read_votes(pa.concat_tables([table] * times), items_from_votes=True) for times in (1, 4)
    )  # fmt: skip
    np.testing.assert_allclose(qr.fit(often).standard_errors, qr.fit(once).standard_errors, rtol=1e-6)  # type: ignore[arg-type]
    independent = [qr.fit(votes, cluster=False).standard_errors for votes in (once, often)]
    np.testing.assert_allclose(independent[1], independent[0] / 2, rtol=1e-6)  # type: ignore[operator,arg-type]


@pytest.mark.parametrize("link", ["logistic", "hyperbolic-secant"])
def test_gradients_add_up_to_that_of_the_fit(link: LinkWord) -> None:
    """At the maximum of the likelihood they sum to 0, ties included; with a ridge to γθ; and each row sums to 0."""
    for ridge in (0.0, 5.0):
        fitted = qr.fit(demo_votes(), link=link, ridge=ridge).fitted
        with counting(demo_votes(), EVERY_VOTE, by_pair=True, again=True) as counted:
            by_person = gradients_by_person(counted, fitted)
        assert by_person.shape == (303, 6)
        np.testing.assert_allclose(by_person.sum(axis=0), ridge * fitted.scores, atol=1e-6)
        np.testing.assert_allclose(by_person.sum(axis=1), 0, atol=1e-9)


def test_it_says_which_kind_it_is() -> None:
    """As an attribute, on the page, and in the file; without a column of people the errors are model-based."""
    named, unnamed = qr.fit(demo_votes()), qr.fit(read(None, ["x", "y"], ["y", "x"]))
    assert (named.clustered, unnamed.clustered) == (True, False)
    assert "Standard errors clustered by person" in " ".join(str(named).split())
    assert "Standard errors are model-based" in " ".join(str(unnamed).split())
    assert named.to_dict()["standard_errors"].startswith("Standard errors clustered by person")
    assert unnamed.to_dict()["notes"] == []


CANNOT: dict[str, tuple[list[str | None], str]] = {
    "nobody": (["a", None, "b", "b"], "some votes name no person"),
    "alone": (["a"] * 4, "only one person"),
}


@pytest.mark.parametrize("case", CANNOT)
def test_errors_that_cannot_be_clustered(case: str) -> None:
    """Model-based errors and the reason, or, if clusters were asked for, an error."""
    person, reason = CANNOT[case]
    votes = read(person, ["x", "y", "x", "y"], ["y", "x", "y", "x"])
    fitted = qr.fit(votes)
    assert not fitted.clustered
    assert reason in fitted.notes[0]
    assert reason in str(fitted)
    with pytest.raises(ClusterError, match=reason):
        qr.fit(votes, cluster=True)


def test_too_many_sums_are_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a limit the errors are model-based, and say so."""
    monkeypatch.setattr(gradients, "MOST_SUMS", 1000)
    assert "more than 1000 combinations" in qr.fit(demo_votes()).notes[0]


def test_few_people_are_mentioned() -> None:
    """With a handful of people the sandwich is too small."""
    votes = read(["a", "a", "b", "c"], ["x", "y", "x", "y"], ["y", "x", "y", "x"])
    assert "only 3 people" in qr.fit(votes).notes[0]
    assert qr.fit(demo_votes()).notes == ()


def test_intervals_and_rank_sets_follow_the_level() -> None:
    """A higher level is wider; an interval is the score ± z standard errors; rank sets contain the rank."""
    narrow, wide = (qr.fit(demo_votes(), level=level).rows() for level in (0.5, 0.99))
    for one, other in zip(narrow, wide, strict=True):
        assert other["score_low"] < one["score_low"] < one["score"] < one["score_high"] < other["score_high"]
        assert other["rank_low"] <= one["rank_low"] <= one["rank"] <= one["rank_high"] <= other["rank_high"]
    assert wide[0]["score_high"] - wide[0]["score"] == pytest.approx(2.5758 * wide[0]["standard_error"], rel=1e-4)
    assert [row["tier"] for row in wide] == [1, 2, 3, 3, 3, 4]


def test_items_that_never_met_have_no_rank_sets() -> None:
    """Scores of two components cannot be compared, and nor can ranks."""
    fitted = qr.fit(read(None, ["x", "y", "u", "v"], ["y", "x", "v", "u"]))
    assert fitted.rank_sets is None
    assert "rank_low" not in fitted.rows()[0]
    assert "score_low" in fitted.rows()[0]


def test_rank_sets_hold_the_true_ranks() -> None:
    """Of many simulated surveys with five close items, at the level 0.8, no item's set misses its rank in over 20 %."""
    strengths = {"v": 0.4, "w": 0.2, "x": 0.0, "y": -0.2, "z": -0.4}
    misses = np.zeros(5)
    surveys = effort(25, 60)
    for seed in range(surveys):
        table = qr.simulate(strengths=strengths, people=100, per_person=4, seed=seed)
        fitted = qr.fit(qr.read_votes(table, items=list(strengths)), level=0.8)
        assert fitted.rank_sets is not None
        true = np.arange(1, 6)
        misses += (true < fitted.rank_sets.low) | (true > fitted.rank_sets.high)
    print(misses)
    assert misses.max() / surveys <= 0.2
