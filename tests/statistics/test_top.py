"""How far apart one unit moves the counts: every bound holds, and is attained, by exhaustive search."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import pytest

from quietrank.promise.declare import declare, with_pairs
from quietrank.promise.privacy import GroupOf, Neighbours, Privacy
from quietrank.promise.promise import Promise
from quietrank.statistics.top import TOP_BY_NET_WINS, TOP_BY_WINS, Top

N = 4
PAIRS = tuple(itertools.combinations(range(N), 2))
Counts = tuple[Fraction, ...]
CHORD = ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2))
STAR = ((0, 1), (0, 2), (0, 3))


def _promise(neighbours: str, pairs: tuple[tuple[int, int], ...] | None = None, **bounds: object) -> Promise:
    design = "public" if neighbours == "outcome" else "private"
    unit = "person" if bounds else "comparison"
    items = declare([f"i{k}" for k in range(N)])
    if pairs is not None:
        items = with_pairs(items, [(f"i{i}", f"i{j}") for i, j in pairs])
    return Promise(Privacy(1, unit, neighbours=neighbours, design=design, **bounds), items)  # type: ignore[arg-type]


def _answers(promise: Promise) -> Iterator[dict[tuple[int, int], Fraction]]:
    """What a unit may have said: of some pairs, the weight of the first item's wins minus losses, from −w to w."""
    pairs, limit = promise.items.graph.edges, promise.privacy.limit
    if promise.privacy.one_per_pair:
        # Corners: so many whole answers as the limit allows. Others are mixtures of them.
        for size in range(min(limit, len(pairs)) + 1):
            for chosen in itertools.combinations(pairs, size):
                for signs in itertools.product((-1, 1), repeat=size):
                    yield {pair: Fraction(sign) for pair, sign in zip(chosen, signs, strict=True)}
        return
    for pair in pairs:
        yield from ({pair: Fraction(sign * limit)} for sign in (-1, 1))
    if limit > 1:
        for one, other in itertools.permutations(pairs, 2):
            for signs in itertools.product((-1, 1), repeat=2):
                yield {one: Fraction(signs[0]), other: Fraction(signs[1] * (limit - 1))}
    yield {}


def _counts(said: dict[tuple[int, int], Fraction], statistic: Top) -> Counts:
    counts = [Fraction(0)] * N
    for (i, j), sign in said.items():
        if statistic == TOP_BY_WINS:
            counts[i if sign > 0 else j] += abs(sign)
        else:
            counts[i] += sign / 2
            counts[j] -= sign / 2
    return tuple(counts)


def apart(difference: Counts, k: int) -> Fraction:
    """k·max − (the sum of the k smallest), written down again."""
    return max(
        sum((difference[i] - difference[s] for s in others), Fraction(0))
        for i in range(N)
        for others in itertools.combinations([item for item in range(N) if item != i], k)
    )


def _differences(promise: Promise, statistic: Top) -> set[Counts]:
    said = list(_answers(promise))
    if promise.privacy.neighbours is Neighbours.ADD_REMOVE:
        alone = [_counts(one, statistic) for one in said]
        return {tuple(sign * x for x in counts) for counts in alone for sign in (-1, 1)}
    if promise.privacy.neighbours is Neighbours.OUTCOME:
        pairs = [(one, other) for one in said for other in said if one.keys() == other.keys()]
        pairs = [(a, b) for a, b in pairs if all(abs(a[pair]) == abs(b[pair]) for pair in a)]
    else:
        pairs = [(one, other) for one in said for other in said]
    made = {id(one): _counts(one, statistic) for one in said}
    return {tuple(b - a for a, b in zip(made[id(x)], made[id(y)], strict=True)) for x, y in pairs}


BOUNDS = {
    "votes": {},
    "weight 3": {"max_per_person": 3},
    "two answers": {"one_per_pair": True, "max_per_person": 2},
    "four answers": {"one_per_pair": True, "max_per_person": 4},
    "all pairs": {"one_per_pair": True},
}


@pytest.mark.few(10)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("statistic", [TOP_BY_NET_WINS, TOP_BY_WINS])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove", "outcome"])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_bound_holds_and_is_attained(bounds: str, neighbours: str, statistic: Top, k: int) -> None:
    """Over all that a unit may say, with four items."""
    if bounds in ("all pairs", "four answers") and neighbours == "replace":
        pytest.skip("too many pairs of answers; both people do their worst by themselves, see add-remove")
    promise = _promise(neighbours, **BOUNDS[bounds])  # type: ignore[arg-type]
    largest = max(apart(difference, k) for difference in _differences(promise, statistic))
    assert largest == statistic.apart(promise.privacy.counted_as, k, promise)


@pytest.mark.parametrize("pairs", [CHORD, STAR])
@pytest.mark.parametrize("statistic", [TOP_BY_NET_WINS, TOP_BY_WINS])
def test_askable_pairs(pairs: tuple[tuple[int, int], ...], statistic: Top) -> None:
    """Attained for one name; for more, the bound holds."""
    promise = _promise("add-remove", pairs, one_per_pair=True)
    differences = _differences(promise, statistic)
    assert max(apart(one, 1) for one in differences) == statistic.apart(Neighbours.ADD_REMOVE, 1, promise)
    for k in (2, 3):
        assert max(apart(one, k) for one in differences) <= statistic.apart(Neighbours.ADD_REMOVE, k, promise)


def test_the_table_of_the_design() -> None:
    """R of one name, as the design page has it."""
    assert TOP_BY_NET_WINS.apart(Neighbours.REPLACE, 1, _promise("replace")) == 2
    assert TOP_BY_NET_WINS.apart(Neighbours.REPLACE, 1, _promise("replace", max_per_person=5)) == 10
    twenty = Promise(Privacy(1, "person", one_per_pair=True), declare([f"i{k}" for k in range(20)]))
    assert TOP_BY_NET_WINS.apart(Neighbours.REPLACE, 1, twenty) == 38
    few = twenty.changed(max_per_person=10)
    assert TOP_BY_NET_WINS.apart(Neighbours.REPLACE, 1, few) == 11
    grouped = Promise(few.privacy, few.items, ("a", "b", "c"), GroupOf.VOTE)
    assert TOP_BY_NET_WINS.apart(Neighbours.REPLACE, 1, grouped) == 13
    assert TOP_BY_WINS.apart(Neighbours.REPLACE, 1, twenty) == 38


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_clip_bounds_it_too(k: int) -> None:
    """√(k² + k)·C is attained by k at one item and −1 at k others, and no direction goes further."""
    import numpy as np

    directions = np.random.default_rng(1).normal(size=(2000, 8))
    worst = np.array([k, *[-1] * k, *[0] * (7 - k)], dtype=float)
    directions = np.vstack([directions, worst])
    directions -= directions.mean(axis=1, keepdims=True)
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    ascending = np.sort(unit, axis=1)
    reached = k * ascending[:, -1] - ascending[:, :k].sum(axis=1)
    bound = float(TOP_BY_NET_WINS.apart_in_norm(Neighbours.ADD_REMOVE, k, Fraction(1)))
    assert reached.max() == pytest.approx(bound, rel=1e-8)
    positive = np.abs(unit)
    comes = np.sort(positive, axis=1)
    bound = float(TOP_BY_WINS.apart_in_norm(Neighbours.ADD_REMOVE, k, Fraction(1)))
    assert (k * comes[:, -1] - comes[:, :k].sum(axis=1)).max() <= bound
    assert (comes[:, -k:].sum(axis=1) - k * comes[:, 0]).max() <= bound
