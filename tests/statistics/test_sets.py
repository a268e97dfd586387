"""Best–worst sets: the identity of the design, and every reach by exhaustive search over small neighbours."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietrank.arrays import Floats
from quietrank.errors import PrivacyError
from quietrank.mechanisms.gaussian import GAUSSIAN, l2_reach
from quietrank.mechanisms.laplace import LAPLACE, l1_reach
from quietrank.mechanisms.perturbed_mle.mechanism import PERTURBED_MLE
from quietrank.mechanisms.zonotope import ZONOTOPE
from quietrank.promise.items import Items
from quietrank.promise.privacy import Neighbours, Privacy
from quietrank.promise.promise import PERSON_GRID, Promise
from quietrank.statistics.method import Method, statistic_for
from quietrank.statistics.net_wins import (
    NET_WINS,
    NET_WINS_AND_SHOWN,
    NET_WINS_AND_TOTAL,
    SHARES,
    SHOWN_SHARE,
    TOTAL_SHARE,
)
from quietrank.statistics.statistic import Statistic

Answer = tuple[tuple[int, ...], int, int]
"""a set, its best and its worst"""


@given(st.permutations(range(9)), st.integers(2, 9))
def test_the_pairs_that_an_answer_implies_add_up_to_one_pair(order: list[int], m: int) -> None:
    """Best beats all, all beat worst: net wins of these 2m − 3 pairs are (m − 1)/2·(e_best − e_worst)."""
    shown, best, worst = order[:m], order[0], order[1]
    middle = [item for item in shown if item not in (best, worst)]
    pairs = [(best, worst), *((best, item) for item in middle), *((item, worst) for item in middle)]
    assert len(pairs) == len(set(pairs)) == 2 * m - 3
    net = [Fraction(0)] * 9
    for winner, loser in pairs:
        net[winner] += Fraction(1, 2)
        net[loser] -= Fraction(1, 2)
    expected = [Fraction(0)] * 9
    expected[best], expected[worst] = Fraction(m - 1, 2), Fraction(1 - m, 2)
    assert net == expected


def _items(n: int, shown: int) -> Items:
    return Items(tuple(f"item {k}" for k in range(n)), shown=shown)


def _answers(n: int, shown: int) -> list[Answer]:
    sets = [s for m in range(2, shown + 1) for s in itertools.combinations(range(n), m)]
    return [(s, best, worst) for s in sets for best, worst in itertools.permutations(s, 2)]


def _contribution(said: tuple[Answer, ...], n: int, shown: int, L: int | None, statistic: Statistic) -> list[float]:
    """What these sets add to the statistic, by its definition and with the design's weights."""
    full = PERSON_GRID if L is None else min(PERSON_GRID, L * PERSON_GRID // max(len(said), 1))
    s, d, total = [Fraction(0)] * n, [Fraction(0)] * n, Fraction(0)
    for items, best, worst in said:
        weight = Fraction(full * (len(items) - 1) // (shown - 1), PERSON_GRID)
        s[best], s[worst], total = s[best] + weight / 2, s[worst] - weight / 2, total + weight
        for item in items:
            d[item] += weight
    vectors: dict[Statistic, list[Fraction]] = {
        NET_WINS: s,
        NET_WINS_AND_TOTAL: [*s, total],
        NET_WINS_AND_SHOWN: [*s, *((statistic.fixed or SHOWN_SHARE) * value for value in d)],
    }
    return [float(value) for value in vectors[statistic]]


def _units(n: int, shown: int, L: int | None) -> list[tuple[Answer, ...]]:
    """Everything one unit may have said: one set, or up to three of a person; in small cases."""
    answers, most = _answers(n, shown), 1 if L is None else L + 1
    if len(answers) ** most > 20_000:  # enough to attain what is attained
        answers = [answer for answer in answers if len(answer[0]) == shown or answer[0] == (0, 1)]
        most = min(most, 2)
    units = [said for c in range(1, most + 1) for said in itertools.combinations_with_replacement(answers, c)]
    return [(), *units] if L is not None else units


def _furthest(vectors: Floats, asked: list[object], neighbours: Neighbours) -> float:
    if neighbours is Neighbours.ADD_REMOVE:
        return float(np.abs(vectors).sum(axis=1).max())
    if neighbours is Neighbours.REPLACE:
        distinct = np.unique(vectors, axis=0)
        return float(max(np.abs(distinct - one).sum(axis=1).max() for one in distinct))
    same: dict[object, list[int]] = {}
    for k, shown in enumerate(asked):
        same.setdefault(shown, []).append(k)
    return max(
        float(np.abs(vectors[k] - vectors[places]).sum(axis=1).max()) for places in same.values() for k in places
    )


AT_SHARES = [NET_WINS_AND_SHOWN.with_share(share) for share in (SHARES[1], SHARES[-1])]
"""(s, βd) at the largest and at the smallest β that is offered"""

CASES = [
    (n, shown, L, neighbours, statistic)
    for n, shown, L in ((4, 3, None), (4, 4, None), (6, 3, None), (8, 4, None), (4, 3, 1), (4, 3, 2), (4, 4, 2))
    for neighbours in Neighbours
    for statistic in (NET_WINS, NET_WINS_AND_TOTAL, NET_WINS_AND_SHOWN, *AT_SHARES)
    if neighbours is not Neighbours.OUTCOME or statistic == NET_WINS
]


def _privacy(L: int | None, neighbours: Neighbours, **more: object) -> Privacy:
    design = "public" if neighbours is Neighbours.OUTCOME else "private"
    unit = "comparison" if L is None else "person"
    return Privacy(1.0, unit, neighbours=neighbours, design=design, max_per_person=L, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "shown", "L", "neighbours", "statistic"), CASES)
@pytest.mark.few(35)
def test_no_unit_moves_a_statistic_further_than_derived(
    n: int, shown: int, L: int | None, neighbours: Neighbours, statistic: Statistic
) -> None:
    """The reach in the L1 norm holds for sets of all sizes, and is attained wherever two disjoint sets fit."""
    promise, units = Promise(_privacy(L, neighbours), _items(n, shown)), _units(n, shown, L)
    vectors = np.array([_contribution(said, n, shown, L, statistic) for said in units])
    if statistic == NET_WINS_AND_TOTAL and neighbours is Neighbours.ADD_REMOVE:
        vectors[:, -1] *= float(TOTAL_SHARE)
    furthest = _furthest(vectors, [tuple(items for items, _, _ in said) for said in units], neighbours)
    reach = float(l1_reach(promise, statistic))
    assert furthest <= reach + 1e-12
    if statistic != NET_WINS_AND_SHOWN or neighbours is Neighbours.ADD_REMOVE or n >= 2 * shown:
        assert furthest == pytest.approx(reach, abs=1e-9)


def test_times_shown_cost_as_the_design_page_says() -> None:
    """(s, βd) costs 1 + βM per set added, twice that replaced; s and (s, T) as for pairs."""
    for L, M in itertools.product((1, 12), (3, 4, 7)):
        promise = Promise(_privacy(L, Neighbours.REPLACE), _items(20, M))
        assert l1_reach(promise, NET_WINS_AND_SHOWN) == 2 * L * (1 + SHOWN_SHARE * M)
        assert l1_reach(promise.changed(neighbours="add-remove"), NET_WINS_AND_SHOWN) == L * (1 + SHOWN_SHARE * M)
        assert l1_reach(promise, NET_WINS) == l1_reach(promise, NET_WINS_AND_TOTAL) == 2 * L


@pytest.mark.parametrize("statistic", [NET_WINS, NET_WINS_AND_SHOWN, *AT_SHARES])
@pytest.mark.few(2)
def test_clipped_people_are_no_further_apart_than_derived(statistic: Statistic) -> None:
    """|s_i| ≤ d_i/2 in sets as in pairs, so that the L2 reach of (s, βd) carries over; opposite answers come near."""
    rng = np.random.default_rng(7)
    promise = Promise(_privacy(4, Neighbours.REPLACE, delta=1e-6), _items(5, 3))
    bound = float(l2_reach(promise, statistic, None) / statistic.one_vote(promise))
    answers, furthest = _answers(5, 3), 0.0
    for _ in range(3000):
        pair = []
        for _ in range(2):
            said = tuple(answers[k] for k in rng.integers(0, len(answers), rng.integers(1, 4)))
            vector = np.array(_contribution(said, 5, 3, None, statistic))
            pair.append(vector / (np.linalg.norm(vector) or 1.0))
        furthest = max(furthest, float(((pair[0] - pair[1]) ** 2).sum()))
    assert 0.97 * bound <= furthest <= bound + 1e-12


@pytest.mark.parametrize("statistic", [NET_WINS, NET_WINS_AND_SHOWN, *AT_SHARES])
def test_one_set_has_the_norm_that_is_stated(statistic: Statistic) -> None:
    promise = Promise(_privacy(None, Neighbours.ADD_REMOVE), _items(4, 4))
    squares = [sum(v * v for v in _contribution((one,), 4, 4, None, statistic)) for one in _answers(4, 4)]
    assert max(squares) == pytest.approx(float(statistic.one_vote(promise)))
    public = Promise(_privacy(None, Neighbours.OUTCOME, delta=1e-6), _items(4, 4))
    assert l2_reach(public, NET_WINS, None) == 2


def test_what_is_about_pairs_is_refused_for_sets() -> None:
    """One answer per pair, the zonotope, the perturbed MLE, win counts, and scores where the sets are not known."""
    items = _items(6, 4)
    with pytest.raises(PrivacyError, match="one_per_pair=True is for votes on pairs"):
        Promise(Privacy(1.0, "person", one_per_pair=True), items)
    promise = Promise(_privacy(3, Neighbours.REPLACE), items)
    for mechanism in (ZONOTOPE, PERTURBED_MLE):
        with pytest.raises(PrivacyError, match=f"mechanism='{mechanism}' is for votes on pairs"):
            mechanism.require(promise, mechanism.statistics[0])
    offered = LAPLACE.statistics
    with pytest.raises(PrivacyError, match="method='wins' is for votes on pairs"):
        statistic_for(Method.WINS, promise, offered, free_total=True)
    with pytest.raises(PrivacyError, match="declare design='uniform'"):
        statistic_for(Method.BRADLEY_TERRY, promise, offered, free_total=True)


def test_what_is_released_for_each_method_and_design() -> None:
    """Net wins where the rest is public or not needed; the total for uniform designs; times shown for private ones."""

    def released(method: Method, **design: object) -> Statistic:
        promise = Promise(Privacy(1.0, "person", max_per_person=3, **design), _items(6, 4))  # type: ignore[arg-type]
        return statistic_for(method, promise, LAPLACE.statistics, free_total=LAPLACE.total_is_free(promise))

    assert released(Method.AUTO) == released(Method.WIN_RATE) == NET_WINS_AND_SHOWN
    assert released(Method.NET_WINS) == NET_WINS
    assert released(Method.BRADLEY_TERRY, design="uniform") == NET_WINS_AND_TOTAL
    assert released(Method.BRADLEY_TERRY, design="public", neighbours="outcome") == NET_WINS
    clipped = Promise(Privacy(1.0, "person", max_per_person=3, delta=1e-6, design="uniform"), _items(6, 4))
    assert statistic_for(Method.WIN_RATE, clipped, GAUSSIAN.statistics, free_total=False) == NET_WINS_AND_SHOWN
