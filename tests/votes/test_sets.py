"""Best–worst sets are weighed and counted by their definition, computed again in plain Python."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import PERSON_GRID, Clip, Promise
from quietrank.statistics.net_wins import NET_WINS_AND_SHOWN, SHOWN_SHARE
from quietrank.statistics.statistic import BY_DESIGN
from quietrank.votes.read import Votes, read_votes
from quietrank.votes.tallies import SetTally
from quietrank.votes.tally import count_votes
from tests.effort import effort

ITEMS = ("p", "q", "r", "s", "t")
M = 4
Row = tuple[str, tuple[int, ...], int, int]
"""a person, the items shown, and the places of best and worst among them"""


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    said = []
    for _ in range(draw(st.integers(1, 9))):
        m = draw(st.integers(2, M))
        shown = tuple(draw(st.permutations(range(len(ITEMS))))[:m])
        best, worst = draw(st.permutations(range(m)))[:2]
        said.append((draw(st.sampled_from(["ana", "ben"])), shown, best, worst))
    return said


def read(said: list[Row]) -> Votes:
    table: dict[str, list[Any]] = {"person": [person for person, *_ in said]}
    for k in range(M):
        table[f"item{k + 1}"] = [ITEMS[shown[k]] if k < len(shown) else None for _, shown, _, _ in said]
    table["best"] = [ITEMS[shown[best]] for _, shown, best, _ in said]
    table["worst"] = [ITEMS[shown[worst]] for _, shown, _, worst in said]
    schema = pa.schema([(name, pa.string()) for name in table])
    return read_votes(pa.table(table, schema=schema), ITEMS)


def counted(said: list[Row], privacy: Privacy, clip: Clip | None = None) -> SetTally:
    votes = read(said)
    (tally,) = count_votes(votes, Promise(privacy, votes.items).bounded(clip), by_pair=True)
    assert isinstance(tally, SetTally)
    return tally


def reference(said: list[Row], weights: list[int]) -> tuple[list[int], list[int], dict[tuple[int, ...], int]]:
    """Net wins, times shown and the weight of each set, in half votes of 2^-20."""
    net, shown_times, sets = [0] * len(ITEMS), [0] * len(ITEMS), dict[tuple[int, ...], int]()
    for (_, shown, best, worst), weight in zip(said, weights, strict=True):
        net[shown[best]] += weight
        net[shown[worst]] -= weight
        for item in shown:
            shown_times[item] += 2 * weight
        sets[tuple(sorted(shown))] = sets.get(tuple(sorted(shown)), 0) + 2 * weight
    return net, shown_times, sets


def same(tally: SetTally, said: list[Row], weights: list[int]) -> None:
    net, shown, sets = reference(said, weights)
    assert tally.by_item.net_wins.tolist() == net
    assert tally.by_item.exposure.tolist() == shown
    assert tally.by_item.total == 2 * sum(weights)
    found = {
        tuple(item for item in row if item >= 0): w for row, w in zip(tally.sets.tolist(), tally.weights, strict=True)
    }
    assert found == sets


@settings(max_examples=effort(5, 25), deadline=None)
@given(rows(), st.integers(1, 3))
def test_people_are_scaled_down_and_then_small_sets_weigh_less(said: list[Row], limit: int) -> None:
    """⌊min(2^20, ⌊L·2^20/c⌋)·(m − 1)/(M − 1)⌋, so that nobody's sets weigh more than L in all."""
    number = {name: sum(person == name for person, *_ in said) for name in ("ana", "ben")}
    full = [min(PERSON_GRID, limit * PERSON_GRID // number[person]) for person, *_ in said]
    weights = [w * (len(shown) - 1) // (M - 1) for w, (_, shown, _, _) in zip(full, said, strict=True)]
    same(counted(said, Privacy(1, "person", max_per_person=limit)), said, weights)
    assert all(
        sum(w for w, (who, *_) in zip(weights, said, strict=True) if who == name) <= limit * PERSON_GRID
        for name in number
    )


@settings(max_examples=effort(3, 25), deadline=None)
@given(rows())
def test_single_sets_weigh_by_their_size(said: list[Row]) -> None:
    same(
        counted(said, Privacy(1, "comparison")),
        said,
        [PERSON_GRID * (len(shown) - 1) // (M - 1) for _, shown, *_ in said],
    )


@settings(max_examples=effort(5, 25), deadline=None)
@given(rows(), st.sampled_from([Fraction(1, 2), Fraction(13, 10), Fraction(4)]), st.booleans())
def test_people_are_clipped_as_far_as_needed_and_no_further(said: list[Row], norm: Fraction, public: bool) -> None:
    """The largest whole factor at which ‖(s, βd)‖, or ½‖d‖ where only answers change, is at most C."""
    squares = BY_DESIGN if public else NET_WINS_AND_SHOWN.squares
    weights = [0] * len(said)
    for name in ("ana", "ben"):
        own = [row if row[0] == name else ("", (), 0, 0) for row in said]
        parts = [2**10 * (len(shown) - 1) // (M - 1) if shown else 0 for _, shown, *_ in own]
        net, shown_times, _ = reference([row for row in own if row[1]], [p for p in parts if p])
        terms = {"net_wins": net, "exposure": shown_times}
        square = sum(weight * sum(Fraction(v, 2) ** 2 for v in terms[term]) for term, weight in squares)
        most = math.isqrt(math.floor((norm * PERSON_GRID) ** 2 / square)) if square else 2**10
        weights = [w + part * min(2**10, most) for w, part in zip(weights, parts, strict=True)]
    neighbours: Any = {"neighbours": "outcome", "design": "public"} if public else {}
    privacy = Privacy(1, "person", max_per_person=3, delta=1e-6, clip=float(norm), **neighbours)
    same(counted(said, privacy, Clip(norm, squares)), said, weights)


BOUNDS: dict[str, tuple[dict[str, Any], Clip | None]] = {
    "scaled down": ({"unit": "person", "max_per_person": 2}, None),
    "clipped": ({"unit": "person", "max_per_person": 2, "delta": 1e-6, "clip": 1.0}, Clip(Fraction(1), BY_DESIGN)),
}


@pytest.mark.parametrize("bound", BOUNDS)
@settings(max_examples=effort(4, 25), deadline=None)
@given(data=st.data())
@pytest.mark.few(1)
def test_under_a_public_design_the_sets_do_not_depend_on_the_answers(bound: str, data: st.DataObject) -> None:
    """Other answers to the same sets: the same sets with the same weights, times shown and total."""
    said = data.draw(rows())
    again = [
        (person, shown, *data.draw(st.permutations(range(len(shown))))[:2]) for person, shown, _, _ in said
    ]  # fmt: skip
    words, clip = BOUNDS[bound]
    privacy = Privacy(1, neighbours="outcome", design="public", **words)
    one, other = counted(said, privacy, clip), counted(again, privacy, clip)  # type: ignore[arg-type]
    assert one.sets.tolist() == other.sets.tolist()
    assert one.weights.tolist() == other.weights.tolist()
    assert one.by_item.exposure.tolist() == other.by_item.exposure.tolist()
    assert one.by_item.total == other.by_item.total


def test_a_capped_person_has_as_many_sets_as_allowed() -> None:
    said: list[Row] = [("ana", (0, 1, 2, 3), k % 4, (k + 1) % 4) for k in range(7)]
    tally = counted(said, Privacy(1, "comparison", neighbours="add-remove", max_per_person=3))
    assert tally.by_item.total * tally.step == 3
    assert SHOWN_SHARE * 16 == 1


def test_a_small_set_weighs_the_same_whatever_others_were_shown() -> None:
    """M is declared: were the largest set looked up, one person's large set would change everybody's weights."""
    small: Row = ("ana", (0, 1), 0, 1)
    for others in ([], [("ben", (2, 3, 4), 0, 1)], [("ben", (2, 3, 4, 1), 0, 2)]):
        tally = counted([small, *others], Privacy(1, "person", max_per_person=1))
        assert tally.by_item.net_wins[0] * tally.step == Fraction(PERSON_GRID // 3, 2 * PERSON_GRID)
