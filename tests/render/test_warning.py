"""The warning that an order may mean little: always there for pure noise, silenced by clear differences only."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import quietrank as qr
from quietrank.arrays import Floats
from quietrank.demo import demo_privacy, demo_votes
from quietrank.mechanisms.gaussian import GaussianLaw
from quietrank.mechanisms.laplace import LaplaceLaw
from quietrank.mechanisms.perturbed_mle.mechanism import make_plan, score_noise
from quietrank.mechanisms.zonotope import ZonotopeLaw
from quietrank.promise.declare import declare
from quietrank.promise.graph import Graph
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Bounded
from quietrank.publish.release import Release, Row
from quietrank.publish.tabular import NoiseRecord
from quietrank.render.table import drowning, typical_spread
from quietrank.statistics.net_wins import NET_WINS
from quietrank.statistics.wins import WINS_AND_LOSSES
from quietrank.votes.tallies import PairTally
from tests.helpers import Vote, from_arrow
from tests.render.test_headline import release as headlined
from tests.steps import perturbed_mle

WARNING = "Noise alone could make differences like these"
"""between items, or within a tier"""


# ---- how often pure noise goes without it --------------------------------------------------------------------------


class RadiusOne:
    """A generator whose gamma variables are all 1: what a law draws with it is u alone."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rng, name)

    def gamma(self, shape: float, scale: float, size: tuple[int, ...]) -> Floats:
        return np.ones(size)


def spreads(noise: Floats) -> Floats:
    """`typical_spread` of every row."""
    middle = np.median(noise, axis=1, keepdims=True)
    return np.asarray(1.4826 * np.median(np.abs(noise - middle), axis=1))


def escapes(law: LaplaceLaw | GaussianLaw | ZonotopeLaw, n: int, rows: int, factor: float) -> float:
    """The probability that net wins of pure noise are spread over more than `factor` of their standard deviations.

    They are r·u with r and u independent: E over u of P(r > factor·sd/spread(u)). For independent Laplace or Gaussian
    entries r is their L1 or L2 norm; for all entries that are drawn, losses too.
    """
    rng = np.random.default_rng(20261116)
    if isinstance(law, ZonotopeLaw):
        noise, size = law.sample(RadiusOne(rng), rows), np.ones(rows)  # type: ignore[arg-type]
        tail, scale = stats.gamma(law.graph.dimension + 1).sf, law.unit
    elif isinstance(law, GaussianLaw):
        noise = law.sample(rng, rows)
        size, tail, scale = np.linalg.norm(noise, axis=1), stats.chi(noise.shape[1]).sf, law.sigma
    else:
        noise = law.sample(rng, rows)
        size, scale = np.abs(noise).sum(axis=1), law.scale
        tail = stats.gamma(noise.shape[1] - law.sum_zero).sf
    net_wins = noise if law.statistic is NET_WINS else (noise[:, :n] - noise[:, n:]) / 2
    with np.errstate(divide="ignore"):
        return float(np.mean(tail(factor * law.spread.net_wins / (spreads(net_wins) / size * scale))))


def path(n: int) -> Graph:
    return Graph(n, tuple((k, k + 1) for k in range(n - 1)))


def star(n: int) -> Graph:
    return Graph(n, tuple((0, k) for k in range(1, n)))


def everyone(n: int) -> Graph:
    return Graph(n, tuple(itertools.combinations(range(n), 2)))


def laws(n: int) -> dict[str, LaplaceLaw | GaussianLaw | ZonotopeLaw]:
    net, joint = NET_WINS, WINS_AND_LOSSES
    return {
        "laplace": LaplaceLaw(net, n, 1.0, False),
        "laplace, sum zero": LaplaceLaw(net, n, 1.0, True),
        "laplace, wins and losses": LaplaceLaw(joint, n, 1.0, False),
        "laplace, wins and losses, sum zero": LaplaceLaw(joint, n, 1.0, True),
        "gaussian": GaussianLaw(net, n, 1.0),
        "zonotope": ZonotopeLaw(net, everyone(n), 1.0),
        "zonotope of a path": ZonotopeLaw(net, path(n), 1.0),
        "zonotope of a star": ZonotopeLaw(net, star(n), 1.0),
    }


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 10, 20])
@pytest.mark.parametrize("name", laws(2))
@pytest.mark.few(3)
def test_pure_noise_goes_without_a_warning_less_than_once_in_ten_thousand(name: str, n: int) -> None:
    """Whatever the noise and the askable pairs, if they are connected; twice the standard deviation would not do."""
    law = laws(n)[name]
    rows = min(40_000, 400_000 // n) if not isinstance(law, ZonotopeLaw) else min(4000, 12_000 // n)
    mechanism = name.partition(",")[0].partition(" ")[0]
    assert escapes(law, n, rows, drowning(n, mechanism)) < 1e-4
    assert escapes(law, n, rows, 2.0) > (1e-3 if n < 7 else 1e-5)


def test_the_spread_is_that_of_most() -> None:
    """One value far out, of any number of values, changes little; of two there is no telling which."""
    assert typical_spread([0.0, 10.0]) == pytest.approx(1.4826 * 5)
    assert typical_spread([0.0, 1.0, 1000.0]) == pytest.approx(1.4826)
    assert typical_spread([1.0, 1.0, 1.0, 5.0]) == 0
    rng = np.random.default_rng(2)
    for n in (4, 6, 20, 101):
        values = rng.normal(size=n).tolist()
        assert typical_spread([*values[1:], 1e9]) < 3 * np.std(values)
    assert typical_spread(rng.normal(scale=7, size=100_001).tolist()) == pytest.approx(7, rel=0.03)


# ---- releases --------------------------------------------------------------------------------------------------------

PEOPLE: dict[str, Any] = {"unit": "person", "neighbours": "add-remove"}
PROMISES: dict[str, dict[str, Any]] = {
    "laplace": {**PEOPLE, "max_per_person": 3},
    "zonotope": {**PEOPLE, "one_per_pair": True},
    "gaussian": {**PEOPLE, "max_per_person": 3, "delta": 1e-6},
    "perturbed-mle": {**PEOPLE, "max_per_person": 3},
}


def names(n: int) -> list[str]:
    return [f"item {k}" for k in range(n)]


def ties(n: int, each: int) -> list[Vote]:
    pairs = itertools.combinations(names(n), 2)
    return [(f"p{k} {a} {b}", a, b, "tie") for a, b in pairs for k in range(each)]


def printed(release: Release) -> str:
    return " ".join(str(release).split())


def assert_warned(releases: list[Release]) -> None:
    """Each has a chance of 10⁻⁴ to go without: of ten, all are warned about but once in a thousand runs, and two
    missing are less than once in a million."""
    assert len(releases) == 10
    assert sum(WARNING in printed(release) for release in releases) >= 9


def ranked(votes: list[Vote], n: int, mechanism: Any, **options: Any) -> Release:
    more = {"gamma": 5.0} if mechanism == "perturbed-mle" and not options else options
    return qr.rank(from_arrow(votes, names(n)), Privacy(1.0, **PROMISES[mechanism]), mechanism=mechanism, **more)


@pytest.mark.parametrize("n", [3, 6, 20])
@pytest.mark.parametrize("mechanism", PROMISES)
@pytest.mark.few(1)
def test_ten_releases_of_pure_noise_are_all_warned_about(mechanism: str, n: int) -> None:
    """No votes, or ties alone."""
    releases = [ranked(votes, n, mechanism) for votes in ([], ties(n, 1)) for _ in range(5)]
    assert {release.mechanism.name for release in releases} == {mechanism}
    assert all(
        re.search(
            "Noise: (each (win rate|score|item's score) is off by|it moves each win rate by more)", printed(release)
        )
        for release in releases
    )
    assert_warned(releases)


@pytest.mark.parametrize("each", [1, 30])
@pytest.mark.parametrize("n", [3, 6, 20])
@pytest.mark.few(1)
def test_ties_are_warned_about_where_the_number_of_votes_is_public(n: int, each: int) -> None:
    """There the size of the noise comes from that number, and from what is said to be assumed."""
    votes = from_arrow(ties(n, each), names(n))
    releases = [qr.rank(votes, Privacy(1.0, "comparison"), mechanism="perturbed-mle") for _ in range(10)]
    assumed = f"it is assumed that every pair met equally often, {each} time"
    assert all(assumed in printed(release) for release in releases)
    assert_warned(releases)


def test_without_public_votes_the_noise_of_a_score_is_an_upper_limit() -> None:
    """Where nothing is said about the number of votes either, as here with a ridge alone."""
    release = ranked([], 6, "perturbed-mle")
    assert "This is an upper limit: the more an item was compared, the smaller it is." in printed(release)


def test_what_was_declared_about_votes_does_not_silence_the_warning() -> None:
    """It is no fact, and said to be assumed: a release of no votes at all is warned about all the same."""
    releases = [ranked([], 6, "perturbed-mle", comparisons_per_item=1000.0) for _ in range(10)]
    assumed = "it is assumed that every pair met equally often, 200 times"
    assert all(assumed in printed(release) for release in releases)
    assert_warned(releases)


def test_a_clear_survey_is_not_warned_about() -> None:
    """The bundled survey: differences of seven standard deviations of the noise, so few are."""
    releases = [qr.rank(demo_votes(), demo_privacy(1.0), method="bradley-terry") for _ in range(10)]
    assert sum(WARNING in printed(release) for release in releases) <= 6


@pytest.mark.parametrize("each", [0, 8])
def test_the_noise_on_scores_is_as_printed(each: int) -> None:
    """Against the scores of 300 releases of ties; 15 % is more than six standard errors of what is measured."""
    n = 6
    i, j = np.triu_indices(n, 1)
    wins = np.full(len(i), each, dtype=np.int64)  # in half votes: that many ties
    privacy = Privacy(2.0, "comparison") if each else Privacy(2.0, "comparison", neighbours="add-remove")
    bounded = Bounded.by(privacy, None)
    tally = PairTally(declare(range(n)), i, j, wins, wins, Fraction(1, 2), each * len(i), bounded)
    releases = [perturbed_mle(tally, privacy, gamma=4.0) for _ in range(300)]
    said = releases[0].noise_sd
    assert said == pytest.approx(score_noise(make_plan(n, privacy, 4.0), n, 5.0 * each if each else None))
    measured = math.sqrt(np.mean([release.scores**2 for release in releases]))
    assert measured == pytest.approx(said, rel=0.15)


def made(values: list[float], mechanism: str, figure: str, noise: float) -> Release:
    """A release of these scores with this much noise."""
    rows = (Row(rank, f"item {rank}", value) for rank, value in enumerate(sorted(values, reverse=True), 1))
    how = NoiseRecord(mechanism, ((figure, noise),))
    return Release(tuple(rows), Privacy(1.0, "comparison"), how, "wins")


FIGURES = [("laplace", "noise_sd"), ("gaussian", "noise_sd"), ("zonotope", "noise_sd"),
           ("perturbed-mle", "score_noise_sd")]  # fmt: skip


@pytest.mark.parametrize(("mechanism", "figure"), FIGURES)
@pytest.mark.parametrize("n", [2, 3, 4, 6, 20, 100])
def test_clear_differences_are_not_warned_about(mechanism: str, figure: str, n: int) -> None:
    """Evenly spread over a hundred standard deviations per item, with one far above the others or without."""
    values = [100.0 * k for k in range(n)]
    for clear in (values, [*values[:-1], 1e6]):
        assert WARNING not in printed(made(clear, mechanism, figure, 1.0))
    assert WARNING in printed(made(values, mechanism, figure, 100.0 * n))


@pytest.mark.parametrize(("mechanism", "figure"), FIGURES)
@pytest.mark.parametrize("n", [3, 4, 6, 20, 100])
def test_one_outlier_does_not_silence_the_warning(mechanism: str, figure: str, n: int) -> None:
    """One item far above, all others noise; the standard deviation of all would be far above that of the noise."""
    values = [*np.random.default_rng(n).laplace(scale=1 / math.sqrt(2), size=n - 1).tolist(), 1e6]
    assert np.std(values) > 1e4
    assert WARNING in printed(made(values, mechanism, figure, 1.0))


def test_a_release_without_figures_is_not_warned_about() -> None:
    """A file of an older version says nothing about its noise, so nothing is said."""
    release = made([1.0, 2.0], "laplace", "noise_sd", 9.0)
    assert WARNING in printed(release)
    assert "Noise" not in printed(replace(release, mechanism=NoiseRecord("laplace", ())))


# ---- beside rank sets ------------------------------------------------------------------------------------------------


def judged(sets: list[tuple[int, int]], tiers: list[int], shown: int | None = None) -> str:
    """What is printed about differences that are small beside the noise, with these rank sets."""
    made = headlined(sets, tiers)
    rows = tuple(replace(row, net_wins=0.1 * row.rank) for row in made.ranking)
    figures = (("noise_sd", 10.0),)
    quiet = replace(made, ranking=rows, mechanism=replace(made.mechanism, figures=figures))
    return printed(quiet if shown is None else quiet.top(shown))


def test_what_rank_sets_separate_is_not_called_noise() -> None:
    """The headline and the warning never contradict each other, whatever is shown of the ranking."""
    alone = "Noise alone could make differences like these"
    apart = judged([(1, 1), (2, 2), (3, 3), (4, 4)], [1, 2, 3, 4], 3)
    assert "is determined at 90 % confidence" in apart
    assert alone not in apart
    assert f"{alone} within a tier: the order there may mean little." in judged(
        [(1, 2), (1, 2), (3, 4), (3, 4)], [1, 1, 2, 2]
    )
    assert f"{alone} between items: this order may mean little." in judged([(1, 4)] * 4, [1] * 4)
