"""Synthetic votes: drawn from what was published, by its model, and marked as nobody's votes."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import quietrank as qr
from quietrank.errors import QuietrankError, ReleaseError
from quietrank.maths.links import HYPERBOLIC_SECANT, LOGISTIC, Link
from quietrank.publish.model import published_model
from quietrank.publish.release import Row
from quietrank.publish.view import Scale, View
from quietrank.simulation import Layout, LayoutWord
from quietrank.votes.read import Votes

STRENGTHS = {"tea": 1.2, "coffee": 0.5, "milk": -0.4, "water": -1.3}
FALSE_ALARM = 1e-6


def some_votes() -> Votes:
    table = qr.simulate(strengths=STRENGTHS, people=200, per_person=5, seed=1)
    return qr.read_votes(table, items=list(STRENGTHS))


@pytest.fixture(scope="module")
def release() -> qr.Release:
    """A real release, with scores that are known: those above."""
    made = qr.rank(some_votes(), qr.Privacy(1, "comparison"), method="bradley-terry")
    ranking = tuple(Row(rank, *pair) for rank, pair in enumerate(STRENGTHS.items(), 1))
    return replace(made, ranking=ranking)


@pytest.fixture(scope="module")
def tally() -> qr.NoisyTally:
    return qr.noisy_tally(some_votes(), qr.Privacy(1, "comparison", design="uniform"))


def on_scale(release: qr.Release, scale: Scale) -> qr.Release:
    view = View(scale=scale)
    scores = view.scaled(np.array([row.score for row in release]))
    rows = tuple(replace(row, score=float(score)) for row, score in zip(release, scores, strict=True))
    return replace(release, ranking=rows, scale=scale)


def with_link(release: qr.Release, link: str) -> qr.Release:
    return replace(release, mechanism=replace(release.mechanism, figures=(("link", link),)))


def misfit(table: Any, strengths: dict[str, float], link: Link = LOGISTIC) -> float:
    """Σ (observed − expected)²/expected over who beat whom."""
    columns = [table[name].to_pylist() for name in ("winner", "loser")]
    seen = list(zip(*columns, strict=True))
    cells = list(permutations(strengths, 2))
    gaps = np.array([strengths[one] - strengths[other] for one, other in cells])
    expected = len(seen) * link.cdf(gaps) / (len(cells) / 2)
    observed = np.array([seen.count(cell) for cell in cells])
    assert observed.sum() == len(seen)
    return float(((observed - expected) ** 2 / expected).sum())


LIMIT = float(chi2.isf(FALSE_ALARM, 4 * 3 - 1))


@pytest.mark.parametrize("scale", Scale)
def test_votes_follow_the_published_scores(release: qr.Release, scale: Scale) -> None:
    """Pairs are uniform and winners as the model says, whatever scale the scores are given on."""
    table = qr.synthetic(on_scale(release, scale), votes=40_000, seed=2)
    assert misfit(table, STRENGTHS) < LIMIT


def test_scores_a_little_off_would_be_seen(release: qr.Release) -> None:
    """This test can fail: scores shrunk by a tenth are told from the published ones."""
    table = qr.synthetic(release, votes=40_000, seed=2)
    assert misfit(table, {name: 0.9 * theta for name, theta in STRENGTHS.items()}) > LIMIT


def test_another_link_is_drawn_from_by_its_own_formula(release: qr.Release) -> None:
    """Votes of a hyperbolic-secant release fit that link and no other; an unknown link is refused."""
    table = qr.synthetic(with_link(release, "hyperbolic-secant"), votes=40_000, seed=3)
    assert misfit(table, STRENGTHS, HYPERBOLIC_SECANT) < LIMIT < misfit(table, STRENGTHS)
    with pytest.raises(ReleaseError, match="link 'mine', which is not known here"):
        qr.synthetic(with_link(release, "mine"), votes=1)


def test_a_perturbed_mle_release_is_a_model() -> None:
    """Its link is on record, and its scores are drawn from."""
    made = qr.rank(
        some_votes(), qr.Privacy(1, "comparison"), mechanism="perturbed-mle", link="hyperbolic-secant"
    )  # fmt: skip
    assert published_model(made).link is HYPERBOLIC_SECANT
    assert qr.synthetic(made, votes=5).num_rows == 5


@pytest.mark.parametrize("shape", Layout)
def test_ranking_them_gives_the_published_order(release: qr.Release, shape: LayoutWord) -> None:
    """Both shapes are read again, and many votes give back the scores: within five standard errors."""
    votes = qr.read_votes(qr.synthetic(release, votes=50_000, shape=shape, seed=4), items=list(STRENGTHS))
    fitted = qr.fit(votes)
    assert [row["item"] for row in fitted.rows()] == list(STRENGTHS)
    assert fitted.clustered
    assert fitted.standard_errors is not None
    assert (np.abs(fitted.scores - list(STRENGTHS.values())) < 5.5 * fitted.standard_errors).all()


def test_every_row_says_that_nobody_cast_it(release: qr.Release) -> None:
    """A column that is always true, people who do not exist, and a note in the schema."""
    for shape, person in (("long", "person"), ("arena", "judge")):
        table = qr.synthetic(release, votes=3, shape=shape)  # type: ignore[arg-type]
        assert table["synthetic"].to_pylist() == [True] * 3
        assert table[person].to_pylist() == ["synthetic-1", "synthetic-2", "synthetic-3"]
        assert b"nobody cast them" in table.schema.metadata[b"quietrank"]


def test_sides_say_nothing_about_winners(release: qr.Release) -> None:
    """In the arena's shape the winner is on either side equally often (five standard deviations)."""
    table = qr.synthetic(release, votes=40_000, shape="arena", seed=5)
    left = table["winner"].to_pylist().count("model_a")
    assert abs(left - 20_000) < 5 * 100


def test_the_same_seed_gives_the_same_votes(release: qr.Release) -> None:
    """And another seed, or none, gives others."""
    first, again, other, none = (qr.synthetic(release, votes=100, seed=seed) for seed in (6, 6, 7, None))
    assert first == again
    assert other != first
    assert none != first


def test_a_noisy_tally_is_a_model_too(tally: qr.NoisyTally) -> None:
    """Its scores are those that rerank gives; it costs nothing."""
    scores = {row.item: row.score for row in qr.rerank(tally, method="bradley-terry")}
    table = qr.synthetic(tally, votes=40_000, seed=8)
    assert misfit(table, scores) < LIMIT


def test_a_top_list_is_drawn_from_what_it_shows(release: qr.Release) -> None:
    """Only its items meet; one item alone is refused."""
    table = qr.synthetic(release.top(2), votes=200, seed=9)
    assert set(table["winner"].to_pylist()) == {"tea", "coffee"}
    with pytest.raises(ReleaseError, match="a vote needs two"):
        qr.synthetic(release.top(1), votes=1)


@pytest.mark.parametrize("method", ["net-wins", "wins", "win-rate"])
def test_counts_are_on_no_scale_of_a_model(method: Any) -> None:
    """Refused, with the method that would do."""
    made = qr.rank(some_votes(), qr.Privacy(1, "comparison"), method=method)
    with pytest.raises(ReleaseError, match=rf"ranks by {method}.*method='bradley-terry'"):
        qr.synthetic(made, votes=1)


def test_groups_are_chosen_by_name() -> None:
    """One ranking for each group: say which; releases and tallies alike."""
    table = qr.simulate(strengths=STRENGTHS, people=40, per_person=5, seed=1)
    table = table.append_column("land", [["n" if k % 2 else "s" for k in range(table.num_rows)]])
    votes = qr.read_votes(table, items=list(STRENGTHS), by="land", groups=["n", "s"])
    tallies = qr.noisy_tally_by_group(votes, qr.Privacy(1, "comparison"))
    releases = qr.rerank(tallies, method="bradley-terry")
    for published in (tallies, releases):
        one = qr.synthetic(published, votes=50, group="s", seed=1)
        assert one == qr.synthetic(releases["s"], votes=50, seed=1)
        for group in (None, "w"):
            with pytest.raises(ReleaseError, match="group must be one of n, s"):
                qr.synthetic(published, votes=50, group=group)
    with pytest.raises(ReleaseError, match="leave group out"):
        qr.synthetic(releases["s"], votes=50, group="s")


def test_huge_scores_are_drawn_from_in_silence(release: qr.Release) -> None:
    """One item always wins then; no warning, which this test would raise."""
    far = (replace(release.ranking[0], score=1.7e308), replace(release.ranking[1], score=-1.7e308))
    table = qr.synthetic(replace(release, ranking=far), votes=50)
    assert set(table["winner"].to_pylist()) == {"tea"}
    sure = (replace(far[0], score=1.0), replace(far[1], score=0.0))
    table = qr.synthetic(replace(release, ranking=sure, scale=Scale.PROBABILITY), votes=50)
    assert set(table["winner"].to_pylist()) == {"tea"}


def test_damaged_probabilities_are_refused(release: qr.Release) -> None:
    """A probability above 1 is none."""
    with pytest.raises(ReleaseError, match="not from 0 to 1"):
        qr.synthetic(replace(release, scale=Scale.PROBABILITY), votes=1)


def test_items_called_like_columns_need_the_long_shape(release: qr.Release) -> None:
    """The outcome model_a would mean two things."""
    values = json.loads(release.to_json())
    values["ranking"][0]["item"] = "model_b"
    named = qr.Release.from_dict(values)
    with pytest.raises(QuietrankError, match="use the shape long"):
        qr.synthetic(named, votes=1, shape="arena")
    assert qr.synthetic(named, votes=1).num_rows == 1
