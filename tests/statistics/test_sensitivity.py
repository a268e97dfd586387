"""Sensitivity: every entry is an upper bound, and attained, by exhaustive search over small neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from quietrank.arrays import Floats
from quietrank.errors import PrivacyError
from quietrank.promise.graph import Graph, complete, double_cover, from_pairs
from quietrank.promise.privacy import Design, Neighbours, NeighboursWord, Privacy, Unit, UnitWord
from quietrank.statistics.net_wins import (
    NET_WINS,
    NET_WINS_AND_EXPOSURES,
    NET_WINS_AND_TOTAL,
    SHARES,
    TOTAL_SHARE,
)
from quietrank.statistics.statistic import Statistic
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES
from tests.helpers import PRIVACIES, privacy_id, zonotope_gauge
from tests.steps import COUNTS, gauge, norm_of_one_vote, sensitivity, squared_l2

N = 3
PAIRS = tuple(itertools.combinations(range(N), 2))
Answers = tuple[tuple[tuple[int, int], int], ...]
"""One unit's votes: pairs, each with y in halves."""

WITH_L2 = [statistic for statistic in COUNTS if statistic is not NET_WINS_AND_TOTAL]
WITH_L1 = [statistic for statistic in COUNTS if statistic is not NET_WINS_AND_EXPOSURES]
CASES = [
    (privacy, statistic)
    for privacy in PRIVACIES
    for statistic in WITH_L1
    if not (privacy.design is Design.PUBLIC and statistic not in (NET_WINS, WINS))
]


def _units(privacy: Privacy) -> list[Answers]:
    """Everything one unit may have said: one vote, or up to four votes of a person."""
    vote = list(itertools.product(PAIRS, (0, 1, 2)))
    most = 1 if privacy.unit is Unit.COMPARISON else 4
    return [said for c in range(1, most + 1) for said in itertools.combinations_with_replacement(vote, c)]


def _contribution(
    said: Answers, statistic: Statistic, privacy: Privacy, share: Fraction | None = None
) -> list[Fraction]:
    """What these votes add to the statistic, by its definition and with the design's weights."""
    weight = Fraction(1)
    if privacy.unit is Unit.PERSON and said:
        weight = Fraction(min(2**20, privacy.limit * 2**20 // len(said)), 2**20)
    wins, losses = [Fraction(0)] * N, [Fraction(0)] * N
    for (i, j), halves in said:
        y = Fraction(halves, 2)
        wins[i], losses[i] = wins[i] + weight * y, losses[i] + weight * (1 - y)
        wins[j], losses[j] = wins[j] + weight * (1 - y), losses[j] + weight * y
    net = [(won - lost) / 2 for won, lost in zip(wins, losses, strict=True)]
    share = share or (TOTAL_SHARE if privacy.neighbours is Neighbours.ADD_REMOVE else Fraction(1))
    vectors = {
        NET_WINS: net,
        NET_WINS_AND_TOTAL: [*net, share * weight * len(said)],
        WINS: wins,
        WINS_AND_LOSSES: wins + losses,
    }
    return vectors[statistic]


def _differences(privacy: Privacy, statistic: Statistic, share: Fraction | None = None) -> Iterator[Floats]:
    """Differences of the statistic between neighbours; exact in doubles, all being small multiples of 2^-25."""
    units = _units(privacy)
    vectors = np.array([_contribution(said, statistic, privacy, share) for said in units], dtype=np.float64)
    if privacy.neighbours is Neighbours.ADD_REMOVE:
        yield vectors
        return
    asked = [tuple(pair for pair, _ in said) for said in units]
    for k, vector in enumerate(vectors):
        same = [asked[m] == asked[k] for m in range(len(units))]
        others = vectors[same] if privacy.neighbours is Neighbours.OUTCOME else vectors
        yield others - vector


@pytest.mark.parametrize(
    ("privacy", "statistic"), CASES, ids=lambda case: privacy_id(case) if isinstance(case, Privacy) else str(case)
)
@pytest.mark.few(14)
def test_the_bound_holds_and_is_attained(privacy: Privacy, statistic: Statistic) -> None:
    """No pair of neighbours moves the statistic further than derived, and some pair moves it exactly that far."""
    furthest = max(np.abs(difference).sum(axis=1).max() for difference in _differences(privacy, statistic))
    assert furthest == float(sensitivity(privacy, statistic).l1)


@pytest.mark.parametrize("share", SHARES[::2], ids=str)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_the_reach_of_the_total_holds_at_every_share(share: Fraction, neighbours: NeighboursWord) -> None:
    """(s, αT) for α from 1 to 1/64, with and without one answer per pair: a bound, and attained."""
    statistic = NET_WINS_AND_TOTAL.with_share(share)
    privacy = Privacy(1, "person", neighbours=neighbours, max_per_person=2)
    furthest = max(np.abs(difference).sum(axis=1).max() for difference in _differences(privacy, statistic, share))
    assert furthest == float(sensitivity(privacy, statistic).l1)
    averaged, graph = _one_per_pair(neighbours, 3), complete(3)
    furthest = np.abs(_neighbour_differences(graph, 3, neighbours, statistic, share)).sum(axis=1).max()
    assert furthest == pytest.approx(float(sensitivity(averaged, statistic, graph).l1))


@pytest.mark.parametrize(
    ("privacy", "statistic"), CASES, ids=lambda case: privacy_id(case) if isinstance(case, Privacy) else str(case)
)
def test_every_contribution_lies_on_the_lattice(privacy: Privacy, statistic: Statistic) -> None:
    """The lattice step divides every contribution, so integer noise loses nothing."""
    step = sensitivity(privacy, statistic).step
    for said in _units(privacy)[::7]:
        assert all((value / step).denominator == 1 for value in _contribution(said, statistic, privacy))
    assert sensitivity(privacy, statistic).l1_steps * step == sensitivity(privacy, statistic).l1


@pytest.mark.parametrize("statistic", WITH_L1, ids=str)
@pytest.mark.parametrize("design", ["private", "uniform"])
def test_a_vote_that_becomes_no_vote_moves_net_wins_and_total_no_further(statistic: Statistic, design: Design) -> None:
    """Rows without an answer add nothing: with them among the units, the bound of `replace` holds and is attained.

    The total T is free: 1 for the net wins that go and 1 for the vote that is not counted are the 2 of a vote that
    turns. An exact total beside the net wins would tell them apart.
    """
    privacy = Privacy(1, "comparison", design=design)
    units: list[Answers] = [*_units(privacy), ()]
    vectors = np.array([_contribution(said, statistic, privacy) for said in units], dtype=np.float64)
    moved = np.array([np.abs(vectors - vector).sum(axis=1) for vector in vectors])
    assert moved.max() == float(sensitivity(privacy, statistic).l1)
    totals = [len(said) for said in units]
    assert len(set(totals)) == 2
    if statistic is NET_WINS_AND_TOTAL:
        answered = [bool(said) for said in units]
        assert moved[-1, answered].max() == 2
        squares = ((vectors[:, None, :] - vectors[None, :, :]) ** 2).sum(axis=-1)
        assert squares[-1].max() <= squares.max()


def test_the_published_individual_constant_protects_only_twice_epsilon() -> None:
    """Laplace(L/ε) on a person's wins loses 2ε under `replace`: L wins leave one item and come to another."""
    L, epsilon = 5, 1.0
    wins, replaced, seen = np.array([L, 0.0, 0.0]), np.array([0.0, L, 0.0]), np.array([L + 9.0, -9.0, 0.0])
    scale = L / epsilon
    loss = (np.abs(seen - replaced).sum() - np.abs(seen - wins).sum()) / scale
    assert loss == pytest.approx(2 * epsilon)
    honest = float(sensitivity(Privacy(epsilon, "person", max_per_person=L), WINS).l1) / epsilon
    assert loss * scale / honest == pytest.approx(epsilon)


def test_the_published_statistics_match_the_design_table() -> None:
    """The table of the design, written out."""
    table: dict[tuple[UnitWord, NeighboursWord, Statistic], int] = {
        ("comparison", "replace", NET_WINS): 2,
        ("comparison", "add-remove", NET_WINS): 1,
        ("person", "replace", NET_WINS): 2 * 7,
        ("person", "add-remove", NET_WINS): 7,
        ("person", "replace", WINS_AND_LOSSES): 4 * 7,
        ("person", "add-remove", WINS_AND_LOSSES): 2 * 7,
    }
    for (unit, neighbours, statistic), expected in table.items():
        privacy = Privacy(1, unit, neighbours=neighbours, max_per_person=7 if unit == "person" else None)
        assert sensitivity(privacy, statistic).l1 == expected


def test_a_statistic_that_pays_for_what_is_public_is_refused() -> None:
    """Under a public design exposures and totals are known; there is no sensitivity for buying them."""
    privacy = Privacy(1, "comparison", neighbours="outcome", design="public")
    with pytest.raises(PrivacyError):
        sensitivity(privacy, WINS_AND_LOSSES)


# ---- one answer per pair, clipping, and the gauge ----------------------------------------------------------------


def _answers(graph: Graph, limit: int) -> list[dict[tuple[int, int], tuple[Fraction, Fraction]]]:
    """Everything one person may say with one answer per pair: pairs with a weight and y; at most `limit` in total."""
    choices = [None, Fraction(0), Fraction(1, 2), Fraction(1)]
    units = []
    for said in itertools.product(choices, repeat=len(graph.edges)):
        given = {pair: y for pair, y in zip(graph.edges, said, strict=True) if y is not None}
        weight = min(Fraction(1), Fraction(limit, max(len(given), 1)))
        units.append({pair: (weight, y) for pair, y in given.items()})
    return units


def _moves(
    said: dict[tuple[int, int], tuple[Fraction, Fraction]], n: int, statistic: Statistic, share: Fraction
) -> list[float]:
    wins, losses = [Fraction(0)] * n, [Fraction(0)] * n
    for (i, j), (weight, y) in said.items():
        wins[i], losses[i] = wins[i] + weight * y, losses[i] + weight * (1 - y)
        wins[j], losses[j] = wins[j] + weight * (1 - y), losses[j] + weight * y
    net = [(won - lost) / 2 for won, lost in zip(wins, losses, strict=True)]
    return {
        NET_WINS: [*map(float, net)],
        NET_WINS_AND_TOTAL: [*map(float, net), float(share * sum(wins))],
        WINS: [*map(float, wins)],
        WINS_AND_LOSSES: [*map(float, wins), *map(float, losses)],
        NET_WINS_AND_EXPOSURES: [
            *map(float, net),
            *(float(share * (won + lost)) for won, lost in zip(wins, losses, strict=True)),
        ],
    }[statistic]


ONE_PER_PAIR = [
    (graph, limit, neighbours, statistic)
    for graph, limit in ((complete(3), 3), (complete(3), 2), (complete(4), 6), (from_pairs(4, [(0, 1), (2, 3)]), 2))
    for neighbours in ("replace", "add-remove", "outcome")
    for statistic in WITH_L1
    if neighbours != "outcome" or statistic in (NET_WINS, WINS)
]


def _neighbour_differences(
    graph: Graph, limit: int, neighbours: NeighboursWord, statistic: Statistic, share: Fraction
) -> Floats:
    """Distinct differences of the statistic between two people, or a person and nobody."""
    units = _answers(graph, limit)
    vectors = np.array([_moves(said, graph.vertices, statistic, share) for said in units])
    if neighbours == "add-remove":
        return np.unique(vectors, axis=0)
    if neighbours == "replace":
        distinct = np.unique(vectors, axis=0)
        return np.concatenate([distinct - vector for vector in distinct])
    asked: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for k, said in enumerate(units):
        asked.setdefault(tuple(said), []).append(k)
    return np.concatenate([vectors[same] - vectors[k] for same in asked.values() for k in same])


def _one_per_pair(neighbours: NeighboursWord, limit: int) -> Privacy:
    design = Design.PUBLIC if neighbours == "outcome" else Design.PRIVATE
    return Privacy(1.0, "person", neighbours=neighbours, design=design, one_per_pair=True, max_per_person=limit)


@pytest.mark.parametrize(("graph", "limit", "neighbours", "statistic"), ONE_PER_PAIR)
@pytest.mark.few(3)
def test_one_answer_per_pair_moves_no_further_than_derived(
    graph: Graph, limit: int, neighbours: NeighboursWord, statistic: Statistic
) -> None:
    """Exhaustive search over all people on small graphs: the L1 bound holds, and is attained where L is no limit."""
    reach = sensitivity(_one_per_pair(neighbours, limit), statistic, graph)
    share = TOTAL_SHARE if statistic is NET_WINS_AND_TOTAL else Fraction(1)
    furthest = np.abs(_neighbour_differences(graph, limit, neighbours, statistic, share)).sum(axis=1).max()
    assert furthest <= float(reach.l1) + 1e-12
    if limit == len(graph.edges):
        assert furthest == pytest.approx(float(reach.l1))


@pytest.mark.parametrize(
    ("graph", "limit", "neighbours", "statistic"),
    [case for case in ONE_PER_PAIR if case[3] is not WINS and case[0].vertices < 5 and case[1] < 6],
)
@pytest.mark.few(3)
def test_one_answer_per_pair_stays_in_the_zonotope(
    graph: Graph, limit: int, neighbours: NeighboursWord, statistic: Statistic
) -> None:
    """The gauge of every difference, by a linear program, is at most the derived one, and that is attained."""
    differences = np.unique(_neighbour_differences(graph, limit, neighbours, statistic, Fraction(1)), axis=0)
    n = graph.vertices
    if statistic is WINS_AND_LOSSES:
        body, points, totals = double_cover(graph), np.column_stack([differences[:, :n], -differences[:, n:]]), None
    else:
        body, points, totals = graph, differences[:, :n], differences[:, n:]
    gauges = np.array([zonotope_gauge(body, point.tolist()) for point in points])
    if totals is not None and totals.size:
        gauges = np.maximum(gauges, np.abs(totals[:, 0]) / (2 * limit))
    claimed = float(gauge(_one_per_pair(neighbours, limit), statistic))
    assert gauges.max() <= claimed + 1e-9
    if limit == len(graph.edges):
        assert gauges.max() == pytest.approx(claimed)


def test_a_unit_that_changes_its_group_is_covered() -> None:
    """Twice the add-remove reach never exceeds the reach for groups, in any of the three ways to measure."""
    for statistic in (NET_WINS, NET_WINS_AND_TOTAL, WINS_AND_LOSSES):
        for promise in ({"max_per_person": 4}, {"one_per_pair": True, "max_per_person": 6}):
            replace = Privacy(1.0, "person", **promise)  # type: ignore[arg-type]
            alone = replace.changed(neighbours="add-remove")
            pairs = complete(4)
            grouped = sensitivity(replace, statistic, pairs, groups=True)
            assert 2 * sensitivity(alone, statistic, pairs, groups=True).l1 <= grouped.l1
            if statistic in WITH_L2:
                assert 2 * squared_l2(alone, statistic, Fraction(9)) <= squared_l2(replace, statistic, Fraction(9))
            if replace.one_per_pair:
                assert 2 * gauge(alone, statistic) <= gauge(replace, statistic, groups=True)


AT_SHARES = [(statistic, share) for statistic in WITH_L2 for share in statistic.offered or (Fraction(1),)]
"""(s, βd) at every β that is offered, and those that have none"""


@pytest.mark.parametrize(("statistic", "share"), AT_SHARES, ids=str)
@pytest.mark.few(2)
def test_clipped_vectors_are_no_further_apart_than_derived(statistic: Statistic, share: Fraction) -> None:
    """Random people scaled to norm C: the squared distance never exceeds the bound and comes close to it.

    (s, βd) with exposures taken for not negative alone would allow 2C² + 2C²/(1 + 4β²), which is more.
    """
    rng = np.random.default_rng(1)
    privacy, statistic = Privacy(1.0, "person", delta=1e-6, max_per_person=4), statistic.with_share(share)
    furthest = 0.0
    for _ in range(2500):
        pair = []
        for _ in range(2):
            said = {(0, 1): (Fraction(1), Fraction(int(rng.integers(3)), 2))} if rng.random() < 0.5 else {}
            said[1, 2] = (Fraction(int(rng.integers(1, 5))), Fraction(int(rng.integers(3)), 2))
            vector = np.array(_moves(said, 3, statistic, share))
            norm = np.linalg.norm(vector)
            pair.append(vector / norm if norm > 0 else vector)
        furthest = max(furthest, float(((pair[0] - pair[1]) ** 2).sum()))
    bound = float(squared_l2(privacy, statistic, Fraction(1)))
    assert furthest <= bound + 1e-12
    assert furthest >= 0.98 * bound
    assert squared_l2(privacy.changed(neighbours="add-remove"), statistic, Fraction(1)) == 1


@pytest.mark.parametrize(("statistic", "share"), AT_SHARES, ids=str)
def test_one_vote_has_the_norm_that_is_stated(statistic: Statistic, share: Fraction) -> None:
    """Where the unit is one vote nothing is clipped: the norm of a vote, by its definition."""
    privacy, statistic = Privacy(1.0, "comparison", neighbours="add-remove"), statistic.with_share(share)
    norms = []
    for y in (Fraction(0), Fraction(1, 2), Fraction(1)):
        moved = _moves({(0, 1): (Fraction(1), y)}, 3, statistic, share)
        norms.append(sum(value**2 for value in moved))
    assert max(norms) == pytest.approx(float(norm_of_one_vote(privacy, statistic)))
