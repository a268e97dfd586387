"""Choice: the least noise among the promises that were asked for, from public values alone."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

import quietrank as qr
from quietrank.errors import PrivacyError
from quietrank.mechanisms.ball import BALL
from quietrank.mechanisms.choose import expected_noise
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.zonotope import ZONOTOPE
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.simulation import item_names
from quietrank.statistics.method import Method
from tests.steps import candidates, choose, for_items


def _items(n: int) -> Items:
    return Items(tuple(item_names(n)))


def _chosen(n: int, **promise: object) -> Mechanism:
    items = _items(n)
    privacy = for_items(Privacy(1.0, "person", **promise), items)  # type: ignore[arg-type]
    return choose(items, privacy, Method.AUTO).noise.mechanism


def test_sixty_items_and_a_hundred_votes_each_get_gaussian_noise() -> None:
    """The example of many votes per person."""
    assert _chosen(60, delta=1e-6, max_per_person=100) is GAUSSIAN


def test_a_small_survey_with_one_answer_per_pair_gets_the_zonotope() -> None:
    """From three to ten items, whatever is known of the design: a clip would take from decided people."""
    for n, design in product(range(3, 11), ("uniform", "private")):
        assert _chosen(n, one_per_pair=True, design=design) is ZONOTOPE


def test_undecided_people_do_not_outvote_decided_ones() -> None:
    """Most people put a first, and answer all else accordingly; the others put b above a, and toss coins for the rest.
    A clip leaves more of each of the latter: with it, b would be first."""
    rows, coins = [], np.random.default_rng(8)
    for person, (i, j) in product(range(1000), combinations("abcde", 2)):
        decided = person % 100 < 52
        first = i if decided or ((i, j) != ("a", "b") and coins.random() < 0.5) else j
        rows.append((f"p{person}", first, j if first == i else i))
    votes = qr.read_votes(pa.table(dict(zip(("person", "winner", "loser"), zip(*rows, strict=True), strict=True))),
                          items=list("abcde"))  # fmt: skip
    privacy = qr.Privacy(20, "person", one_per_pair=True)
    assert [row.item for row in qr.rank(votes, privacy)][:2] == ["a", "b"]
    assert [row.item for row in qr.rank(votes, privacy, mechanism="ball")][:2] == ["b", "a"]


def test_few_votes_on_many_pairs_get_laplace_noise() -> None:
    """One answer per pair helps little where a person answers three of 190 pairs."""
    assert _chosen(20, one_per_pair=True, max_per_person=3) is LAPLACE


def test_no_weaker_promise_is_ever_chosen() -> None:
    """No δ was given: no Gaussian; no one-per-pair: no zonotope."""
    items = _items(60)
    assert candidates(items, Privacy(1, "person", max_per_person=100), Method.AUTO) == [LAPLACE, BALL]
    assert candidates(items, Privacy(1, "comparison"), Method.AUTO) == [LAPLACE]
    clipped = Privacy(1, "person", delta=1e-6, clip=4.0)
    assert candidates(items, clipped, Method.AUTO) == [BALL, GAUSSIAN]


def test_the_alternatives_are_told_in_order() -> None:
    """All candidates with the size of their noise, the chosen one first."""
    items = _items(6)
    privacy = for_items(Privacy(1, "person", delta=1e-6, one_per_pair=True), items)
    choice = choose(items, privacy, Method.NET_WINS)
    sizes = [size for _, size in choice.alternatives]
    assert {name for name, _ in choice.alternatives} == {"laplace", "zonotope", "gaussian"}
    assert sizes == sorted(sizes)
    assert expected_noise(choice.noise) == sizes[0]


def test_a_mechanism_that_was_asked_for_is_taken() -> None:
    """Without alternatives, because none were weighed."""
    items = _items(6)
    privacy = for_items(Privacy(1, "person", one_per_pair=True), items)
    choice = choose(items, privacy, Method.NET_WINS, LAPLACE)
    assert choice.noise.mechanism is LAPLACE
    assert choice.alternatives == ()


def test_a_clip_alone_cannot_serve_laplace_noise() -> None:
    """A clipped vector has no bounded weight; the message says what is missing."""
    with pytest.raises(PrivacyError, match="max_per_person"):
        choose(_items(3), Privacy(1, "person", delta=1e-6, clip=2.0), Method.AUTO, LAPLACE)
