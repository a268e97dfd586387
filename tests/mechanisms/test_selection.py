"""Selection keeps its promise: the exact loss of every list is within ε, and the bound is attained."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietrank.auditing import list_law
from quietrank.errors import PrivacyError
from quietrank.mechanisms.choose_top import blur, choose_top, top_candidates
from quietrank.mechanisms.exponential import EXPONENTIAL
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.mechanisms.permute_and_flip import PERMUTE_AND_FLIP
from quietrank.mechanisms.selection import Selection
from quietrank.noise.selection import TopNoise
from quietrank.promise.accounting import delta_of
from quietrank.promise.declare import declare
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Promise, RangeClip
from quietrank.statistics.method import Method
from quietrank.statistics.net_wins import NET_WINS
from quietrank.statistics.top import TOP_BY_NET_WINS, TOP_BY_WINS


def promised(items: int = 4, groups: tuple[str, ...] | None = None, **words: Any) -> Promise:
    privacy: dict[str, Any] = {"epsilon": 1.0, "unit": "comparison"} | words
    return Promise(Privacy(**privacy), declare([f"i{k}" for k in range(items)]), groups)


def flip(k: int, **words: Any) -> Calibrated:
    return PERMUTE_AND_FLIP.of_top(k).calibrate(promised(**words), TOP_BY_NET_WINS)


def reach(difference: np.ndarray[Any, Any], k: int) -> float:
    """k·max − (the sum of the k smallest)."""
    ascending = np.sort(difference)
    return float(k * ascending[-1] - ascending[:k].sum())


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(-30, 30), min_size=4, max_size=4),
    change=st.lists(st.integers(-6, 6), min_size=4, max_size=4),
    k=st.integers(1, 3),
    scale=st.sampled_from([2.0, 6.5, 20.0]),
)
def test_no_list_loses_more(counts: list[int], change: list[int], k: int, scale: float) -> None:
    """Whatever the counts and their change: the loss of every list is at most R_k/scale."""
    noise, other = TopNoise(k, scale), [a + b for a, b in zip(counts, change, strict=True)]
    one, two = list_law.all_lists(noise, tuple(counts)), list_law.all_lists(noise, tuple(other))
    losses = [math.log(one[names] / two[names]) for names in one]
    assert max(losses) <= reach(np.array(change), k) / scale + 1e-9
    assert -min(losses) <= reach(-np.array(change), k) / scale + 1e-9


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_loss_is_attained(k: int) -> None:
    """One item far ahead, k others that fall behind: a list that names them loses ε, to four digits."""
    calibrated = flip(k, items=5, epsilon=2.0)
    noise = calibrated.noise
    assert isinstance(noise, TopNoise)
    counts = np.array([400, 0, 0, 0, 0])
    change = np.array([1, -1, 0, 0, 0]) * 2  # one vote turned around, in half votes
    one, other = (list_law.all_lists(noise, tuple(side.tolist())) for side in (counts, counts + change))
    names = next(names for names in one if names[0] == 1 and 0 not in names)
    assert math.log(one[names] / other[names]) == pytest.approx(2.0, rel=1e-4)


def test_permute_and_flip_has_no_bounded_range() -> None:
    """At some order its Rényi divergence is more than ε²/8-zCDP allows, and within what is charged."""
    epsilon, counts = 1.0, (0, 0)
    noise = TopNoise(1, 2 / epsilon)
    one, other = (np.array(list(list_law.all_lists(noise, pair).values())) for pair in (counts, (1, -1)))
    orders = np.array([1.01, 2.0, 8.0, 40.0])
    divergence = [math.log(np.sum(one**a * other ** (1 - a))) / (a - 1) for a in orders]
    assert any(value > order * epsilon**2 / 8 for value, order in zip(divergence, orders, strict=True))
    assert all(value <= order * epsilon**2 / 2 for value, order in zip(divergence, orders, strict=True))


def test_what_is_charged() -> None:
    """ε in all; in zCDP what k rounds of R_1/scale cost, and not an eighth of it."""
    for k, rho in ((1, 0.5), (3, 3 / 2 * (2 / 4) ** 2)):
        cost = PERMUTE_AND_FLIP.of_top(k).loss(flip(k, items=8))
        assert cost.epsilon <= 1.0
        assert cost.epsilon == pytest.approx(1.0)
        assert cost.rho == pytest.approx(rho)
        assert cost.delta == 0
    made = EXPONENTIAL.of_top(3).calibrate(promised(items=8, delta=1e-6), TOP_BY_NET_WINS)
    cost = EXPONENTIAL.of_top(3).loss(made)
    assert cost.delta <= 1e-6
    assert cost.rho == pytest.approx(3 * (2 / dict(made.figures)["scale"]) ** 2 / 8, rel=1e-6)  # type: ignore[operator]
    assert delta_of(cost.rho or 0.0, 1.0) <= 1e-6


def test_the_exponential_mechanism_keeps_its_delta() -> None:
    """The exact ε at δ of the worst lists is within what is claimed."""
    made = EXPONENTIAL.of_top(2).calibrate(promised(items=4, delta=1e-3), TOP_BY_NET_WINS)
    assert isinstance(made.noise, TopNoise)
    counts = np.array([6, 2, 2, 2])
    change = np.array([2, -2, 0, 0])
    assert list_law.exact_epsilon(made.noise, counts, counts + change, 1e-3) <= 1.0


def test_half_the_noise_is_refused() -> None:
    """The loss is recomputed from the reach before every draw."""
    from quietrank.crossing import require_kept

    made = flip(2)
    assert isinstance(made.noise, TopNoise)
    require_kept(made)
    with pytest.raises(PrivacyError, match="costs more"):
        require_kept(replace(made, noise=replace(made.noise, scale=made.noise.scale / 2)))
    with pytest.raises(AssertionError, match="does not select"):
        require_kept(replace(made, noise=replace(made.noise, k=3)))
    with pytest.raises(AssertionError, match="does not select"):
        require_kept(replace(made, noise=replace(made.noise, gumbel=True)))


def test_people_are_kept_together_where_that_is_better() -> None:
    """Fifty votes on random pairs: R falls from 100 to less than a tenth; full questionnaires keep their own bound."""
    person = {"unit": "person", "items": 20}
    many = flip(1, **person, max_per_person=50)
    assert isinstance(many.clip, RangeClip)
    assert dict(many.figures)["sensitivity"] == 2 * dict(many.figures)["person_range"] < 10  # type: ignore[operator]
    assert many.privacy.clip is None
    assert many.promise.bounded(many.clip).max_per_person == 50
    assert flip(1, **person, one_per_pair=True).clip is None
    moved = PERMUTE_AND_FLIP.calibrate(promised(20, ("a", "b"), unit="person", max_per_person=50), TOP_BY_NET_WINS)
    assert moved.noise_sd == pytest.approx(many.noise_sd, rel=1e-6)


def test_a_norm_that_was_asked_for_is_used() -> None:
    """And over groups of votes it costs the root of their number."""
    words = {"unit": "person", "max_per_person": 50, "clip": 3.0}
    given = flip(1, items=20, **words)
    assert given.clip is not None
    assert given.clip.norm == 3
    spread = PERMUTE_AND_FLIP.calibrate(promised(20, ("a", "b"), **words), TOP_BY_NET_WINS)
    assert spread.noise_sd == pytest.approx(given.noise_sd * math.sqrt(2), rel=1e-6)


def test_wins_and_answers_are_clipped_by_a_norm() -> None:
    """The range of wins is not bounded by people who are kept together, and a public design allows no such factor."""
    by_wins = PERMUTE_AND_FLIP.calibrate(promised(20, unit="person", max_per_person=50), TOP_BY_WINS)
    public = flip(1, items=20, unit="person", max_per_person=50, neighbours="outcome", design="public")
    for made in (by_wins, public):
        assert made.clip is not None
        assert made.privacy.clip == float(made.clip.norm)


def test_another_limit_is_refused() -> None:
    """People who are kept together are also bounded by L, and it must be the promise's."""
    from quietrank.crossing import require_kept

    made = flip(1, items=20, unit="person", max_per_person=50)
    assert isinstance(made.clip, RangeClip)
    with pytest.raises(AssertionError, match="another limit"):
        require_kept(replace(made, clip=replace(made.clip, limit=60)))


@pytest.mark.parametrize("k", [0, 4, 9])
def test_as_many_as_there_are_is_refused(k: int) -> None:
    with pytest.raises(PrivacyError, match="k must be a whole number from 1 to 3"):
        flip(k)


def test_wrong_uses_are_refused() -> None:
    """Counts cannot be released by selection, nor lists by noise on counts; Gumbel noise needs δ."""
    for mechanism in (PERMUTE_AND_FLIP, EXPONENTIAL):
        assert "use top" in str(mechanism.refusal(promised(delta=1e-6), NET_WINS))
    assert "delta above 0" in str(EXPONENTIAL.refusal(promised(), TOP_BY_NET_WINS))
    from quietrank.mechanisms.laplace import LAPLACE

    assert LAPLACE.refusal(promised(), TOP_BY_NET_WINS) is not None


def test_wins_move_like_wins() -> None:
    """Selection by wins has its own reach."""
    made = PERMUTE_AND_FLIP.of_top(2).calibrate(promised(unit="person", max_per_person=1), TOP_BY_WINS)
    assert dict(made.figures)["sensitivity"] == 3.0


@pytest.mark.parametrize(
    ("words", "items", "k", "selects"),
    [
        ({"unit": "person", "one_per_pair": True}, 20, 1, True),
        ({"unit": "person", "one_per_pair": True}, 20, 10, False),
        ({"unit": "person", "max_per_person": 15}, 20, 1, True),
        ({"unit": "comparison"}, 20, 1, True),
        ({"unit": "comparison"}, 20, 8, False),
    ],
)
def test_auto_knows_when_to_select(words: dict[str, Any], items: int, k: int, selects: bool) -> None:
    """A few names: selection. Many: the top of a noisy tally."""
    chosen = choose_top(promised(items, **words), k).noise
    assert isinstance(chosen.mechanism, Selection) is selects


def test_auto_takes_the_least_blur() -> None:
    """Of all candidates, and the same for every ε and number of groups."""
    promise = promised(10, unit="person", max_per_person=6, delta=1e-6)
    choice = choose_top(promise, 3)
    assert choice.alternatives[0][0] == choice.noise.mechanism.name
    assert blur(choice.noise) == min(size for _, size in choice.alternatives)
    assert {each.name for each in top_candidates(promise, 3)} >= {"permute-and-flip", "exponential"}
    for epsilon in (0.01, 20.0):
        assert choose_top(promise.pure.changed(epsilon=epsilon), 3).noise.mechanism == (
            choose_top(promise.pure, 3).noise.mechanism
        )


def test_only_methods_of_counts() -> None:
    with pytest.raises(PrivacyError, match="net wins or by wins"):
        choose_top(promised(), 1, Method.WIN_RATE)


def test_equal_counts_are_a_coin() -> None:
    """Nothing favours a place on the list of items."""
    known = list_law.all_lists(TopNoise(1, 3.0), (5, 5, 5))
    assert all(share == pytest.approx(1 / 3) for share in known.values())
