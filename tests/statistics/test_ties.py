"""Ties beside every statistic: the reaches hold and are attained, by exhaustive search over small neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from quietrank.arrays import Floats
from quietrank.errors import PrivacyError
from quietrank.mechanisms.gaussian import GAUSSIAN, l2_reach
from quietrank.mechanisms.laplace import LAPLACE, l1_reach
from quietrank.mechanisms.perturbed_mle.mechanism import PERTURBED_MLE
from quietrank.mechanisms.zonotope import ZONOTOPE
from quietrank.promise.declare import declare
from quietrank.promise.graph import Graph, complete, double_cover, from_pairs
from quietrank.promise.items import Items
from quietrank.promise.privacy import GroupOf, Neighbours, NeighboursWord, Privacy
from quietrank.promise.promise import Promise
from quietrank.statistics.method import Method, Ties, statistic_for
from quietrank.statistics.net_wins import EXPOSURE_SHARE, NET_WINS, NET_WINS_AND_EXPOSURES, NET_WINS_AND_TOTAL
from quietrank.statistics.ties import WITH_TIES, WithTies
from quietrank.statistics.wins import WINS, WINS_AND_LOSSES
from tests.helpers import PRIVACIES, privacy_id, zonotope_gauge

Said = tuple[tuple[int, tuple[int, int], int], ...]
"""one unit's votes: the group, the pair, and y in halves"""

N = 3
PAIRS = tuple(itertools.combinations(range(N), 2))
IN_L1 = [WithTies(base) for base in (NET_WINS, NET_WINS_AND_TOTAL, WINS_AND_LOSSES)]
KAPPAS = (Fraction(1), Fraction(1, 4))
GROUPS = ("north", "south")


def _vector(
    said: Said, weight: Callable[[tuple[int, int, int]], Fraction], n: int, statistic: WithTies, share: Fraction,
    groups: int = 1,
) -> list[float]:  # fmt: skip
    """What these votes add to the statistic of each group, by its definition."""
    entries: list[Fraction] = []
    for group in range(groups):
        wins, losses, tied, total = [Fraction(0)] * n, [Fraction(0)] * n, Fraction(0), Fraction(0)
        for where, (i, j), halves in said:
            if where != group:
                continue
            w, y = weight((where, i, j)), Fraction(halves, 2)
            wins[i], losses[i] = wins[i] + w * y, losses[i] + w * (1 - y)
            wins[j], losses[j] = wins[j] + w * (1 - y), losses[j] + w * y
            tied, total = tied + w * (halves == 1), total + w
        net = [(won - lost) / 2 for won, lost in zip(wins, losses, strict=True)]
        met = [(statistic.base.fixed or EXPOSURE_SHARE) * (won + lost) for won, lost in zip(wins, losses, strict=True)]
        base = {
            NET_WINS: net,
            NET_WINS_AND_TOTAL: [*net, share * total],
            WINS_AND_LOSSES: wins + losses,
            NET_WINS_AND_EXPOSURES: net + met,
        }[statistic.base]
        entries += [*base, statistic.kappa * tied]
    return [float(entry) for entry in entries]


def _units(privacy: Privacy, groups: int = 1, most: int = 4) -> list[Said]:
    """Everything one unit may have said: one vote, or up to four votes of a person."""
    votes = list(itertools.product(range(groups), PAIRS, (0, 1, 2)))
    most = most if privacy.unit == "person" else 1
    return [said for c in range(1, most + 1) for said in itertools.combinations_with_replacement(votes, c)]


def _by_total(privacy: Privacy, said: Said) -> Callable[[tuple[int, int, int]], Fraction]:
    weight = Fraction(1)
    if privacy.unit == "person":
        weight = Fraction(min(2**20, privacy.limit * 2**20 // len(said)), 2**20)
    return lambda where: weight


def _differences(vectors: Floats, asked: list[Any], neighbours: Neighbours) -> Iterator[Floats]:
    if neighbours is Neighbours.ADD_REMOVE:
        yield vectors
        return
    for k, vector in enumerate(vectors):
        same = [one == asked[k] for one in asked]
        yield (vectors[same] if neighbours is Neighbours.OUTCOME else vectors) - vector


def _asked(said: Said) -> tuple[tuple[int, tuple[int, int]], ...]:
    return tuple((group, pair) for group, pair, _ in said)


CASES = [
    (privacy, statistic.at(kappa))
    for privacy in PRIVACIES
    for statistic in IN_L1
    for kappa in KAPPAS
    if privacy.neighbours is not Neighbours.OUTCOME or statistic.base == NET_WINS
]


def _id(case: object) -> str:
    if isinstance(case, Privacy):
        return privacy_id(case)
    return f"{case}, {case.kappa}" if isinstance(case, WithTies) else str(case)


@pytest.mark.parametrize(("privacy", "statistic"), CASES, ids=_id)
@pytest.mark.few(12)
def test_with_a_bounded_total_weight_the_reach_holds_and_is_attained(privacy: Privacy, statistic: WithTies) -> None:
    """All units of up to four votes, ties and fractional weights among them."""
    promise = Promise(privacy, declare(range(N)))
    units, share = _units(privacy), statistic.share(promise)
    vectors = np.array([_vector(said, _by_total(privacy, said), N, statistic, share) for said in units])
    asked = [_asked(said) for said in units]
    furthest = max(np.abs(d).sum(axis=1).max() for d in _differences(vectors, asked, privacy.neighbours))
    reach = l1_reach(promise, statistic)
    assert furthest <= float(reach)
    # Two disjoint pairs, one of ties and one decided, need four items: in three, (wins, losses) fall short of 4 + κ.
    if statistic.base != WINS_AND_LOSSES or privacy.neighbours is Neighbours.ADD_REMOVE:
        assert furthest == float(reach)


@pytest.mark.parametrize("kappa", KAPPAS)
def test_beside_wins_and_losses_two_disjoint_pairs_attain_the_reach(kappa: Fraction) -> None:
    statistic, privacy = WithTies(WINS_AND_LOSSES, kappa), Privacy(1, "person", max_per_person=2)
    ties: Said = ((0, (0, 1), 1), (0, (0, 1), 1))
    wins: Said = ((0, (2, 3), 2), (0, (2, 3), 2))
    one, other = (np.array(_vector(said, _by_total(privacy, said), 4, statistic, Fraction(1))) for said in (ties, wins))
    assert np.abs(one - other).sum() == float(l1_reach(Promise(privacy, declare(range(4))), statistic))


def test_the_prices_are_those_of_the_design() -> None:
    """Free beside net wins, and beside net wins and the total under `replace`; 5 instead of 4, 3 instead of 2."""
    items = declare(range(5))
    for privacy in PRIVACIES:
        promise, L = Promise(privacy, items), privacy.limit
        assert l1_reach(promise, WithTies(NET_WINS)) == l1_reach(promise, NET_WINS)
        if privacy.neighbours is not Neighbours.OUTCOME:
            assert l1_reach(promise, WithTies(NET_WINS_AND_TOTAL)) == l1_reach(promise, NET_WINS_AND_TOTAL)
            replaced = privacy.neighbours is Neighbours.REPLACE
            assert l1_reach(promise, WithTies(WINS_AND_LOSSES)) == (5 if replaced else 3) * L
    cut = Promise(Privacy(1, "person", one_per_pair=True), items)
    L, m = cut.limits.weight, cut.limits.net_wins
    assert (L, m) == (10, 6)
    assert l1_reach(cut, WithTies(NET_WINS)) == 2 * m + (L - m)
    assert l1_reach(cut.changed(neighbours="add-remove"), WithTies(NET_WINS)) == m + (L - m)


@pytest.mark.parametrize("statistic", IN_L1, ids=str)
@pytest.mark.parametrize("group_of", list(GroupOf))
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_with_groups_the_reach_holds(statistic: WithTies, group_of: GroupOf, neighbours: NeighboursWord) -> None:
    """A K in each group is free beside net wins; over all people of up to three votes in two groups."""
    privacy = Privacy(1, "person", max_per_person=2, neighbours=neighbours)
    promise = Promise(privacy, declare(range(N)), GROUPS, group_of)
    units = [
        said
        for said in _units(privacy, groups=2, most=2)
        if group_of is GroupOf.VOTE or len({group for group, _, _ in said}) == 1
    ]
    share = statistic.share(promise)
    vectors = np.array([_vector(said, _by_total(privacy, said), N, statistic, share, groups=2) for said in units])
    asked = [_asked(said) for said in units]
    furthest = max(np.abs(d).sum(axis=1).max() for d in _differences(vectors, asked, privacy.neighbours))
    assert furthest == float(l1_reach(promise, statistic))
    if statistic.base != WINS_AND_LOSSES:
        assert l1_reach(promise, statistic) == l1_reach(promise, statistic.base)


# ---- one answer per pair --------------------------------------------------------------------------------------------


def _same(weight: Fraction) -> Callable[[tuple[int, int, int]], Fraction]:
    return lambda where: weight


def _answered(graph: Graph, limit: int, statistic: WithTies, share: Fraction) -> tuple[Floats, list[Any]]:
    """What everyone adds who answers each pair of the graph at most once, and what they were asked."""
    vectors, asked = [], []
    for answers in itertools.product((None, 0, 1, 2), repeat=len(graph.edges)):
        said = tuple((0, pair, y) for pair, y in zip(graph.edges, answers, strict=True) if y is not None)
        weight = min(Fraction(1), Fraction(limit, max(len(said), 1)))
        vectors.append(_vector(said, _same(weight), graph.vertices, statistic, share))
        asked.append(_asked(said))
    return np.array(vectors), asked


ONE_PER_PAIR = [
    (graph, limit, neighbours, statistic)
    for graph, limit in ((complete(3), 3), (complete(3), 2), (from_pairs(4, [(0, 1), (2, 3), (1, 2), (0, 2)]), 4))
    for neighbours in ("replace", "add-remove", "outcome")
    for statistic in IN_L1
    if neighbours != "outcome" or statistic.base == NET_WINS
]


def _one_per_pair(graph: Graph, limit: int, neighbours: NeighboursWord) -> Promise:
    design = "public" if neighbours == "outcome" else "private"
    privacy = Privacy(1, "person", neighbours=neighbours, design=design, one_per_pair=True, max_per_person=limit)  # type: ignore[arg-type]
    return Promise(privacy, Items(tuple(f"item {k}" for k in range(graph.vertices)), pairs=graph.edges))


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize(("graph", "limit", "neighbours", "statistic"), ONE_PER_PAIR)
def test_with_one_answer_per_pair_the_reach_holds(
    graph: Graph, limit: int, neighbours: NeighboursWord, statistic: WithTies, kappa: Fraction
) -> None:
    """Attained beside net wins where L is no limit; beside wins and losses 4m + κL is an upper bound."""
    promise, at = _one_per_pair(graph, limit, neighbours), statistic.at(kappa)
    vectors, asked = _answered(graph, limit, at, at.share(promise))
    furthest = max(np.abs(d).sum(axis=1).max() for d in _differences(vectors, asked, Neighbours(neighbours)))
    reach = float(l1_reach(promise, at))
    assert furthest <= reach + 1e-12
    if limit == len(graph.edges) and statistic.base != WINS_AND_LOSSES:
        assert furthest == pytest.approx(reach)


@pytest.mark.parametrize(
    ("graph", "limit", "neighbours", "statistic"), [case for case in ONE_PER_PAIR if case[0].vertices == 3]
)
@pytest.mark.few(1)
def test_with_one_answer_per_pair_every_difference_lies_in_the_body(
    graph: Graph, limit: int, neighbours: NeighboursWord, statistic: WithTies
) -> None:
    """K, and the total, have an interval [−2W, 2W] in the body of zonotope noise; [−W, W] beside a double cover."""
    promise = _one_per_pair(graph, limit, neighbours)
    noise = ZONOTOPE.calibrate(promise, statistic)
    vectors, asked = _answered(graph, limit, statistic, Fraction(1))
    differences = np.unique(np.concatenate(list(_differences(vectors, asked, Neighbours(neighbours)))), axis=0)
    n, size = graph.vertices, statistic.per_item * graph.vertices
    mirrored = statistic.mirrored
    points = np.column_stack([differences[:, :n], -differences[:, n:size]]) if mirrored else differences[:, :n]
    body = double_cover(graph) if mirrored else graph
    gauges = [zonotope_gauge(body, point.tolist()) for point in points]
    widths = np.abs(differences[:, size:]).max(axis=1) / (limit if mirrored else 2 * limit)
    assert dict(noise.law.to_dict())["extra"] == (limit if mirrored else 2 * limit)
    claimed = dict(noise.figures)["sensitivity"]
    assert isinstance(claimed, float)
    assert np.maximum(gauges, widths).max() <= claimed + 1e-9
    assert ZONOTOPE.loss(noise).epsilon == pytest.approx(1.0)


# ---- the L2 norm ----------------------------------------------------------------------------------------------------

IN_L2 = [statistic for statistic in WITH_TIES if statistic.squares]
IN_L2 += [WithTies(NET_WINS_AND_EXPOSURES).with_share(share) for share in (Fraction(1, 2), Fraction(1, 64))]


@pytest.mark.parametrize("statistic", IN_L2, ids=str)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove", "outcome"])
def test_one_vote_moves_no_further_in_l2(statistic: WithTies, neighbours: NeighboursWord) -> None:
    """All pairs of votes; with the κ that the mechanism takes, ties are free."""
    if neighbours == "outcome" and statistic.base != NET_WINS:
        return
    design = "public" if neighbours == "outcome" else "private"
    privacy = Privacy(1, "comparison", delta=1e-6, neighbours=neighbours, design=design)  # type: ignore[arg-type]
    promise = Promise(privacy, declare(range(4)))
    at = statistic.at(GAUSSIAN.ties_share(promise, statistic))
    units: list[Said] = [((0, pair, y),) for pair in itertools.combinations(range(4), 2) for y in (0, 1, 2)]
    vectors = np.array([_vector(said, lambda where: Fraction(1), 4, at, Fraction(1)) for said in units])
    asked = [_asked(said) for said in units]
    furthest = max((d**2).sum(axis=1).max() for d in _differences(vectors, asked, privacy.neighbours))
    assert furthest <= float(l2_reach(promise, at, None)) + 1e-12
    assert l2_reach(promise, at, None) == l2_reach(promise, statistic.base, None)


@pytest.mark.parametrize("statistic", IN_L2, ids=str)
@pytest.mark.few(2)
def test_clipped_people_are_no_further_apart_than_derived(statistic: WithTies) -> None:
    """Random people scaled to norm C in the norm that the clip bounds, K in it."""
    rng = np.random.default_rng(2)
    promise = Promise(Privacy(1, "person", delta=1e-6, max_per_person=6), declare(range(4)))
    at, furthest = statistic.at(GAUSSIAN.ties_share(promise, statistic)), 0.0
    for _ in range(3000):
        people = []
        for _ in range(2):
            said = tuple((0, PAIRS[rng.integers(3)], int(rng.integers(3))) for _ in range(rng.integers(1, 7)))
            vector = np.array(_vector(said, lambda where: Fraction(1), 4, at, Fraction(1)))
            people.append(vector / max(1e-9, np.linalg.norm(vector)))
        furthest = max(furthest, float(((people[0] - people[1]) ** 2).sum()))
    assert furthest <= float(promise.reach(at.l2)) + 1e-12


def test_ties_share_of_people_shrinks_with_their_votes() -> None:
    """K grows like the number of votes, net wins like its root."""
    shares = []
    for limit in (1, 10, 100, 1000):
        promise = Promise(Privacy(1, "person", delta=1e-6, max_per_person=limit), declare(range(20)))
        shares.append(GAUSSIAN.ties_share(promise, WithTies(NET_WINS_AND_EXPOSURES)))
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == Fraction(1, 2)
    assert shares[-1] <= Fraction(1, 16)


# ---- the noise ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("items", [4, 40])
@pytest.mark.parametrize("unit", ["comparison", "person"])
def test_where_ties_are_free_the_noise_on_net_wins_is_the_same(items: int, unit: str) -> None:
    """Laplace noise, a bounded total weight, `uniform`: every figure of the noise, and its law, but for K itself."""
    bound = {"max_per_person": 7} if unit == "person" else {}
    promise = Promise(Privacy(1, unit, design="uniform", **bound), declare(range(items)))  # type: ignore[arg-type]
    free = LAPLACE.total_is_free(promise)
    statistic = statistic_for(Method.AUTO, promise, LAPLACE.statistics, free_total=free, ties=Ties.DAVIDSON)
    assert isinstance(statistic, WithTies)
    with_ties, without = LAPLACE.calibrate(promise, statistic), LAPLACE.calibrate(promise, statistic.base)
    assert dict(with_ties.figures) == dict(without.figures) | {"ties_share": 1.0, "ties_price": 0.0}
    assert (with_ties.step, with_ties.law.spread) == (without.step, without.law.spread)


@pytest.mark.parametrize("statistic", WITH_TIES, ids=str)
@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN, ZONOTOPE], ids=str)
@pytest.mark.parametrize("items", [4, 26])
@pytest.mark.few(2)
def test_the_law_is_that_of_the_noise(statistic: WithTies, mechanism: Any, items: int) -> None:
    """Samples of the law have the size of drawn noise, K among them, and the loss is what was promised."""
    bound = {"one_per_pair": True} if mechanism is ZONOTOPE else {}
    promise = Promise(
        Privacy(1, "person", delta=1e-6 if mechanism is GAUSSIAN else 0, max_per_person=3, **bound),  # type: ignore[arg-type]
        declare(range(items)),
    )
    if mechanism.refusal(promise, statistic) is not None:
        assert statistic.base == (NET_WINS_AND_TOTAL if mechanism is GAUSSIAN else NET_WINS_AND_EXPOSURES)
        return
    noise = mechanism.calibrate(promise, statistic)
    assert noise.cost.covers(mechanism.loss(noise))
    zeros = np.zeros(statistic.size(items), dtype=np.int64)
    drawn = np.array([noise.noise.add_to(zeros) for _ in range(300)]) * float(noise.step)
    sampled = noise.law.sample(np.random.default_rng(3), 4000)
    assert sampled.shape[1] == statistic.size(items)
    assert np.isfinite(noise.law.log_density(sampled[:5]) if items == 4 else [0]).all()
    of_drawn = noise.statistic.read(drawn, float(noise.share))
    of_sampled = noise.statistic.read(sampled, 1.0)
    for one, other in ((of_drawn.net_wins, of_sampled.net_wins), (of_drawn.ties, of_sampled.ties)):
        assert one is not None
        assert other is not None
        # 300 draws of K: a standard deviation of Laplace noise is off by 7 % or so; 45 % is 6 of these.
        assert one.std() == pytest.approx(other.std(), rel=0.45)


@pytest.mark.parametrize("base", [WINS], ids=str)
def test_ties_do_not_go_with_everything(base: Any) -> None:
    with pytest.raises(AssertionError, match="beside wins"):
        WithTies(base)
    promise = Promise(Privacy(1, "comparison"), declare(range(4)))
    for method, mechanism in ((Method.WINS, LAPLACE), (Method.NET_WINS, LAPLACE), (Method.AUTO, PERTURBED_MLE)):
        with pytest.raises(PrivacyError, match="davidson"):
            statistic_for(method, promise, mechanism.statistics, free_total=True, ties=Ties.DAVIDSON)
