"""Ties as a model, from votes to releases: counted exactly, paid for, estimated, saved, shown."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import quietrank as qr
from quietrank.arrays import Floats
from quietrank.cli.app import app
from quietrank.errors import QuietrankError
from quietrank.estimate.methods import Expected
from quietrank.maths.davidson import centred_rate, equal_chance, tie, win_rate
from quietrank.mechanisms.choose import choose
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.scatter import STEPS, Around
from quietrank.promise.declare import declare
from quietrank.promise.privacy import DesignWord
from quietrank.promise.promise import FINE, Bounded, Promise
from quietrank.publish.view import Scale, View
from quietrank.statistics.method import Method, Ties
from quietrank.votes.read import Votes
from quietrank.votes.tallies import Tally
from quietrank.votes.tally import count_votes, counting
from tests.steps import add_noise

NAMES = ["tea", "coffee", "milk", "water"]
THETA = np.array([0.9, 0.2, -0.3, -0.8])
NU = 0.6


def simulated(votes: int, *, per_person: int = 5, seed: int = 1) -> pa.Table:
    """Votes by Davidson's model."""
    rng = np.random.default_rng(seed)
    i = rng.integers(4, size=votes)
    j = (i + rng.integers(1, 4, size=votes)) % 4
    gap, drawn = THETA[i] - THETA[j], rng.random(votes)
    tied = drawn >= 1 - tie(gap, NU)
    won = drawn < win_rate(gap, NU) - tie(gap, NU) / 2
    names = np.array(NAMES)
    return pa.table(
        {
            "winner": names[np.where(won, i, j)],
            "loser": names[np.where(won, j, i)],
            "tie": tied,
            "person": (np.arange(votes) // per_person).astype(str),
            "country": np.array(["de", "fr"])[np.arange(votes) % 2],
        }
    )


def said(*rows: tuple[str, str, str, str], **options: Any) -> Votes:
    """Votes in words: person, a, b, outcome."""
    names = ("person", "item_a", "item_b", "outcome")
    return qr.read_votes(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), NAMES, **options)


@pytest.fixture(scope="module")
def votes() -> Votes:
    return qr.read_votes(simulated(4000), NAMES)


# ---- K --------------------------------------------------------------------------------------------------------------


def _ties(votes: Votes, privacy: qr.Privacy, clip: Any = None, **options: Any) -> list[Fraction]:
    """K of each group, in votes."""
    bounded = Promise(privacy, votes.items, votes.groups, votes.group_of).bounded(clip)
    counted = count_votes(votes, bounded, may_be_empty=True, **options)
    return [(tally.by_item.ties or 0) * tally.step for tally in counted]


ROWS = (
    ("ann", "tea", "milk", "tie"),
    ("ann", "milk", "tea", "a"),
    ("ann", "tea", "water", "tie"),
    ("bob", "coffee", "milk", "a"),
    ("bob", "coffee", "milk", "b"),
    ("bob", "water", "milk", "tie"),
    ("bob", "water", "tea", "tie"),
)


@pytest.mark.parametrize("by_pair", [False, True])
def test_every_tie_is_counted_once(by_pair: bool) -> None:
    """Alone, by total weight, and with one answer per pair, where a tie and a win are half a tie, a win and a loss
    none."""
    votes = said(*ROWS)
    assert _ties(votes, qr.Privacy(1, "comparison"), by_pair=by_pair) == [4]
    assert _ties(votes, qr.Privacy(1, "person", max_per_person=4), by_pair=by_pair) == [4]
    thirds, halves = Fraction(2 * 2**20 // 3, 2**20), Fraction(1, 2)
    assert _ties(votes, qr.Privacy(1, "person", max_per_person=2), by_pair=by_pair) == [2 * thirds + 2 * halves]
    assert _ties(votes, qr.Privacy(1, "person", one_per_pair=True), by_pair=by_pair) == [halves + 1 + 0 + 1 + 1]


def test_every_group_has_its_ties() -> None:
    table = simulated(300)
    read = {"items": NAMES, "by": "country", "groups": ["de", "fr"]}
    votes = qr.read_votes(table, **read)  # type: ignore[arg-type]
    flags, where = np.array(table["tie"]), np.array(table["country"])
    for privacy in (qr.Privacy(1, "comparison"), qr.Privacy(1, "person", max_per_person=5)):
        assert _ties(votes, privacy) == [flags[where == group].sum() for group in ("de", "fr")]
        whole = qr.read_votes(table, NAMES)
        assert _ties(whole, privacy) == [flags.sum()]


def test_votes_without_a_tie_flag_have_no_ties() -> None:
    table = qr.simulate(strengths=dict(zip(NAMES, THETA, strict=True)), people=20, per_person=3, seed=1)
    votes = qr.read_votes(table, NAMES)
    for privacy in (qr.Privacy(1, "comparison"), qr.Privacy(1, "person", max_per_person=3)):
        assert _ties(votes, privacy) == [0]


@pytest.mark.parametrize("group_of", ["none", "vote"])
def test_a_clip_knows_ties(group_of: str) -> None:
    """Nobody adds more than C to (s, βd, κK), K of each group on its own; a person who only ties is scaled down."""
    rows = [("ann", "tea", "milk", "tie", "de")] * 40 + [("ann", "tea", "milk", "tie", "fr")] * 9
    names = ("person", "item_a", "item_b", "outcome", "country")
    table = pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))
    options = {} if group_of == "none" else {"by": "country", "groups": ["de", "fr"]}
    votes = qr.read_votes(table, NAMES, **options)  # type: ignore[arg-type]
    promise = Promise(qr.Privacy(1, "person", max_per_person=20, delta=1e-6), votes.items, votes.groups, votes.group_of)
    noise = choose(promise, Method.AUTO, GAUSSIAN, ties=Ties.DAVIDSON).noise
    assert noise.clip is not None
    assert dict(noise.clip.squares)["ties"] > 0
    squares = Fraction(0)
    for tally in count_votes(votes, noise.promise.bounded(noise.clip)):
        values = noise.statistic.vector(tally.by_item, int(tally.step / noise.step), noise.share)
        squares += sum(int(value) ** 2 for value in values) * noise.step**2
    assert Fraction(98, 100) * noise.clip.norm**2 <= squares <= noise.clip.norm**2


# ---- estimates ------------------------------------------------------------------------------------------------------


def _tally_of(votes: int) -> Tally:
    """The expected counts of so many votes, every pair equally often, as if each had been cast by itself."""
    met = (np.ones((4, 4)) - np.eye(4)) * votes / 6
    gap = THETA[:, None] - THETA
    net = (met * centred_rate(gap, NU)).sum(axis=1)
    half_wins = np.rint(met.sum(axis=1) + 2 * net).astype(np.int64)
    half_wins[0] += 2 * votes - half_wins.sum()
    half_losses = np.rint(2 * met.sum(axis=1)).astype(np.int64) - half_wins
    ties = int(np.rint((met * tie(gap, NU)).sum()))  # in half votes: twice the sum over pairs
    bounded = Bounded.by(qr.Privacy(1, "comparison"), None)
    return Tally(declare(NAMES), half_wins, half_losses, Fraction(1, 2), votes, bounded, ties)


@pytest.mark.parametrize("design", ["uniform", "private"])
def test_on_a_million_votes_the_tie_parameter_is_within_five_per_cent(design: str) -> None:
    """ε = 1: fresh noise on the expected counts of a million votes; what is left is the noise's own error."""
    tally = _tally_of(1_000_000)
    promise = Promise(qr.Privacy(1, "comparison", design=design), tally.items)  # type: ignore[arg-type]
    noise = choose(promise, Method.AUTO, LAPLACE, ties=Ties.DAVIDSON).noise
    for _ in range(5):
        release = qr.rerank(add_noise(tally, noise), ties="davidson")
        assert release.ties is not None
        assert release.ties.parameter == pytest.approx(NU, rel=0.05)
        by_name = {row.item: row.score for row in release}
        np.testing.assert_allclose([by_name[name] for name in NAMES], THETA, atol=0.05)


@pytest.mark.slow
def test_on_a_million_drawn_votes_as_well() -> None:
    """From a table of a million votes of 100,000 people, each of whom is protected."""
    votes = qr.read_votes(simulated(1_000_000, per_person=10), NAMES)
    designs: tuple[DesignWord, ...] = ("uniform", "private")
    for design in designs:
        privacy = qr.Privacy(1, "person", max_per_person=10, design=design)
        release = qr.rank(votes, privacy, ties="davidson")
        assert release.ties is not None
        assert release.ties.parameter == pytest.approx(NU, rel=0.05)


PROMISES: list[dict[str, Any]] = [
    {"unit": "comparison"},
    {"unit": "comparison", "design": "uniform"},
    {"unit": "person", "max_per_person": 5, "design": "uniform"},
    {"unit": "person", "max_per_person": "auto"},
    {"unit": "person", "one_per_pair": True},
    {"unit": "person", "max_per_person": 5, "delta": 1e-6},
    {"unit": "person", "max_per_person": 5, "design": "public", "neighbours": "outcome"},
]


@pytest.mark.parametrize("words", PROMISES, ids=str)
@pytest.mark.few(2)
def test_a_release_has_a_chance_of_ties(votes: Votes, words: dict[str, Any]) -> None:
    """At a generous ε it is near the truth and inside its interval or near it; the release comes back from JSON."""
    release = qr.rank(votes, qr.Privacy(50, **words), ties="davidson")
    assert release.method == "bradley-terry"
    assert release.ties is not None
    assert release.ties.chance == pytest.approx(equal_chance(release.ties.parameter))
    # The sample alone gives a standard error of 0.008; 0.05 is six of these.
    assert release.ties.chance == pytest.approx(equal_chance(NU), abs=0.05)
    assert release.ties.chance_low is not None
    assert release.ties.chance_high is not None
    assert 0 <= release.ties.chance_low < release.ties.chance < release.ties.chance_high <= 1
    assert qr.Release.from_dict(json.loads(release.to_json())) == release
    assert any("ties was counted apart" in note for note in release.assumptions)
    assert [row.item for row in release] == NAMES


def test_the_price_is_said_where_there_is_one(votes: Votes) -> None:
    free = qr.rank(votes, qr.Privacy(1, "comparison", design="uniform"), ties="davidson")
    paid = qr.rank(votes, qr.Privacy(1, "comparison"), ties="davidson")
    assert any("at no cost" in note for note in free.assumptions)
    assert any("6.2 % larger" in note or "6.3 % larger" in note for note in paid.assumptions)
    assert dict(paid.mechanism.figures)["sensitivity"] == 4.25


def test_more_noise_than_ties_still_gives_a_release() -> None:
    """Ten votes at ε = 0.01: K is lost in its noise, clamped, and its interval is everything."""
    few = qr.read_votes(simulated(10), NAMES)
    for _ in range(5):
        release = qr.rank(few, qr.Privacy(0.01, "comparison"), ties="davidson")
        assert release.ties is not None
        assert 0 <= (release.ties.chance_low or 0.0) <= release.ties.chance <= (release.ties.chance_high or 1.0) <= 1


@pytest.mark.parametrize(
    "words", [{"method": "wins"}, {"method": "win-rate"}, {"method": "net-wins"}, {"mechanism": "perturbed-mle"}]
)
def test_ties_go_with_scores_from_counts_only(votes: Votes, words: dict[str, Any]) -> None:
    with pytest.raises(QuietrankError, match="ties='half'"):
        qr.rank(votes, qr.Privacy(1, "comparison"), ties="davidson", **words)
    with pytest.raises(QuietrankError, match="ties must be"):
        qr.rank(votes, qr.Privacy(1, "comparison"), ties="third")  # type: ignore[arg-type]


# ---- saved, and again -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", PROMISES, ids=str)
@pytest.mark.few(1)
def test_a_saved_tally_gives_both_models(votes: Votes, words: dict[str, Any], tmp_path: Path) -> None:
    tally = qr.noisy_tally(votes, qr.Privacy(50, **words), ties="davidson")
    tally.to_json(tmp_path / "tally.json")
    again = qr.NoisyTally.from_json(tmp_path / "tally.json")
    one, other = (qr.rerank(each, ties="davidson") for each in (tally, again))
    assert one == other
    assert one.ties is not None
    assert qr.rerank(again).ties is None
    assert qr.rerank(again, method="bradley-terry").ties is None


def test_a_tally_without_ties_says_so(votes: Votes) -> None:
    tally = qr.noisy_tally(votes, qr.Privacy(1, "comparison"))
    with pytest.raises(QuietrankError, match="needs the weight of all ties"):
        qr.rerank(tally, ties="davidson")


def test_files_of_earlier_versions_are_read(votes: Votes) -> None:
    release = qr.rank(votes, qr.Privacy(1, "comparison"))
    values = release.to_dict()
    assert values.pop("ties") is None
    assert qr.Release.from_dict(values) == release


@pytest.mark.parametrize("change", [{"parameter": -1}, {"chance": 2}, {"model": "rao-kupper"}, {"parameter": None}])
def test_a_damaged_model_is_refused(votes: Votes, change: dict[str, Any]) -> None:
    values = qr.rank(votes, qr.Privacy(1, "comparison"), ties="davidson").to_dict()
    values["ties"] |= change
    with pytest.raises(QuietrankError, match="damaged"):
        qr.Release.from_dict(values)


def test_groups_have_their_own_chances_and_one_overall(tmp_path: Path) -> None:
    options = {"by": "country", "groups": ["de", "fr"]}
    votes = qr.read_votes(simulated(6000), NAMES, **options)  # type: ignore[arg-type]
    privacy = qr.Privacy(50, "person", max_per_person=5)
    tally = qr.noisy_tally_by_group(votes, privacy, ties="davidson")
    tally.to_json(tmp_path / "tally.json")
    boards = qr.rerank(qr.GroupedTally.from_json(tmp_path / "tally.json"), ties="davidson", overall=True)
    assert list(boards.groups) == ["overall", "de", "fr"]
    for _, release in boards:
        assert release.ties is not None
        assert release.ties.chance == pytest.approx(equal_chance(NU), abs=0.06)
    assert str(boards).count("Two equal items tie") == 3
    assert qr.GroupedRelease.from_dict(boards.to_dict()) == boards


# ---- shown ----------------------------------------------------------------------------------------------------------


def test_every_form_says_the_chance_in_one_sentence(votes: Votes) -> None:
    release = qr.rank(votes, qr.Privacy(1, "comparison"), ties="davidson")
    assert release.ties is not None
    sentence = release.ties.sentence
    assert sentence.startswith("Two equal items tie with an estimated chance of ")
    assert sentence in " ".join(str(release).split())
    assert sentence in release.to_markdown()
    assert f"<p>{sentence.replace(' %', '&nbsp;%')}</p>" in release.report()


@pytest.mark.parametrize("scale", [Scale.ELO, Scale.PROBABILITY])
def test_scales_know_ties(votes: Votes, scale: Scale) -> None:
    """A probability is P(win) + P(tie)/2 against an average item; synthetic votes find the model again."""
    tally = qr.noisy_tally(votes, qr.Privacy(50, "comparison"), ties="davidson")
    plain, scaled = (qr.rerank(tally, ties="davidson", scale=one) for one in (Scale.LOG_ODDS, scale))
    assert plain.ties is not None
    scores = np.array([row.score for row in plain])
    expected = View(scale=scale).scaled(scores, plain.ties.parameter)
    np.testing.assert_allclose([row.score for row in scaled], expected)
    if scale is Scale.PROBABILITY:
        np.testing.assert_allclose(expected, win_rate(scores, plain.ties.parameter))
    one, other = (qr.synthetic(each, 200, seed=1) for each in (plain, scaled))
    assert one.equals(other)


@pytest.mark.parametrize("shape", ["long", "arena"])
def test_synthetic_votes_have_ties(votes: Votes, shape: str) -> None:
    release = qr.rank(votes, qr.Privacy(50, "comparison"), ties="davidson")
    assert release.ties is not None
    table = qr.synthetic(release, 20_000, shape=shape, seed=3)  # type: ignore[arg-type]
    read = qr.read_votes(table, NAMES)
    scores = {row.item: row.score for row in release}
    theta = np.array([scores[name] for name in NAMES])
    i, j = np.triu_indices(4, 1)
    expected = float(tie(theta[i] - theta[j], release.ties.parameter).mean())
    # 20,000 draws: a standard error of 0.003, five of which fail less than once in a million runs.
    assert qr.check(read).ties / 20_000 == pytest.approx(expected, abs=0.015)
    fitted = qr.fit(read, ties="davidson")
    np.testing.assert_allclose(fitted.scores, theta, atol=0.15)


# ---- the scatter ----------------------------------------------------------------------------------------------------


def _scatter(votes: Votes, expected: Expected) -> Floats:
    bounded = Promise(qr.Privacy(1, "person", max_per_person=5), votes.items).bounded(None)
    with counting(votes, bounded, may_be_empty=True, again=True) as counted:
        return np.array(counted.scatter([expected], 100.0)) / STEPS * 100.0


def test_the_scatter_is_taken_around_what_the_model_expects() -> None:
    """One vote per person: Σ 2(y − ½ − A'(x))², by hand."""
    table = simulated(60, per_person=1)
    votes = qr.read_votes(table, NAMES)
    place = {name: k for k, name in enumerate(NAMES)}
    rounded = np.rint(THETA * 64) / 64
    total = 0.0
    for winner, loser, tied in zip(*(table[name].to_pylist() for name in ("winner", "loser", "tie")), strict=True):
        gap = rounded[place[winner]] - rounded[place[loser]]
        total += 2 * ((0.0 if tied else 0.5) - float(centred_rate(np.array([gap]), NU)[0])) ** 2
    found = _scatter(votes, Expected(Around.PAIRS, THETA, NU))
    assert found[0] == pytest.approx(total, rel=1e-3)
    assert _scatter(votes, Expected(Around.PAIRS, THETA))[0] != pytest.approx(total, rel=1e-3)


# ---- fits, and the command line -------------------------------------------------------------------------------------


def test_a_fit_without_privacy(votes: Votes) -> None:
    """Maximum likelihood near the truth, errors clustered by person or not, the same in its dictionary."""
    clustered, alone = (qr.fit(votes, ties="davidson", cluster=cluster) for cluster in (None, False))
    for fitted in (clustered, alone):
        np.testing.assert_allclose(fitted.scores, THETA, atol=6 * 0.05)
        assert fitted.ties is not None
        assert fitted.ties.parameter == pytest.approx(NU, rel=0.25)
        assert fitted.to_dict()["ties"]["chance"] == pytest.approx(equal_chance(fitted.ties.parameter))
        assert "Two equal items tie" in str(fitted)
    assert clustered.clustered
    assert clustered.standard_errors is not None
    # Votes are independent here, so both kinds of error are alike.
    np.testing.assert_allclose(clustered.standard_errors, alone.standard_errors, rtol=0.25)  # type: ignore[arg-type]
    assert qr.fit(votes).ties is None
    with pytest.raises(QuietrankError, match="link='logistic'"):
        qr.fit(votes, ties="davidson", link="hyperbolic-secant")


def test_the_command_line_knows_ties(tmp_path: Path) -> None:
    import pyarrow.csv

    path, items = tmp_path / "votes.csv", ",".join(NAMES)
    pyarrow.csv.write_csv(simulated(600), path)
    run = CliRunner()
    saved, out = tmp_path / "tally.json", tmp_path / "release.json"
    words = ["--items", items, "--unit", "comparison", "--epsilon", "5", "--ties", "davidson"]
    made = run.invoke(app, ["rank", str(path), *words, "--save-tally", str(saved), "--out", str(out)])
    assert made.exit_code == 0, made.output
    assert qr.Release.from_json(out).ties is not None
    assert "Two equal items tie" in made.output
    for ties in ("davidson", "half"):
        again = run.invoke(app, ["rerank", str(saved), "--ties", ties])
        assert again.exit_code == 0, again.output
        assert ("Two equal items tie" in again.output) is (ties == "davidson")
    fitted = run.invoke(app, ["fit", str(path), "--items", items, "--ties", "davidson"])
    assert "Two equal items tie" in fitted.output
    refused = run.invoke(app, ["rank", str(path), *words, "--method", "wins"])
    assert refused.exit_code == 1


def test_a_lattice_contains_every_weight() -> None:
    """κK of any person is a whole number of steps: the smallest weight is 2^-20 votes."""
    for limit, delta in ((3, 0.0), (3, 1e-6), (500, 1e-6)):
        promise = Promise(qr.Privacy(1, "person", max_per_person=limit, delta=delta), declare(NAMES))
        noise = choose(promise, Method.AUTO, GAUSSIAN if delta else LAPLACE, ties=Ties.DAVIDSON).noise
        kappa = Fraction(dict(noise.figures)["ties_share"])
        assert (kappa * 2 * FINE / noise.step).denominator == 1
