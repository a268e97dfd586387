"""Faults planted in selection: the audit, which passes without them, fails with each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quietrank.arrays import Integers
from quietrank.auditing import checks, run
from quietrank.auditing.case_lists import CHORD, GROUPS
from quietrank.auditing.cases import Case, make_case
from quietrank.mechanisms.exponential import EXPONENTIAL
from quietrank.mechanisms.permute_and_flip import PERMUTE_AND_FLIP
from quietrank.noise.selection import TopNoise
from quietrank.promise.privacy import Neighbours
from quietrank.promise.promise import PERSON_GRID, Promise
from quietrank.statistics.method import Method
from quietrank.statistics.top import TopByNetWins, TopByWins
from quietrank.votes import bound as bounding
from tests.auditing.test_planted_faults import RISK, SMALL, black_box, bounds, fit, loss

Plant = Callable[[pytest.MonkeyPatch], None]
NET: dict[str, Any] = {"method": Method.NET_WINS}

VOTES = make_case(PERMUTE_AND_FLIP, "comparison", items=2, **NET)
PEOPLE = make_case(PERMUTE_AND_FLIP, "person", max_per_person=3, **NET)
TWO = make_case(PERMUTE_AND_FLIP.of_top(2), "comparison", items=3, **NET)
TWO_OF_PEOPLE = make_case(PERMUTE_AND_FLIP.of_top(2), "person", max_per_person=3, **NET)
ANSWERS = make_case(PERMUTE_AND_FLIP, "person", one_per_pair=True, pairs=CHORD, **NET)
BY_WINS = make_case(PERMUTE_AND_FLIP, "person", one_per_pair=True, method=Method.WINS)
MOVED = make_case(PERMUTE_AND_FLIP, "comparison", groups=GROUPS, **NET)
GUMBEL = make_case(EXPONENTIAL, "comparison", items=3, delta=1e-3, **NET)


def half_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one person adds, where two people differ."""
    derived = TopByNetWins.apart
    monkeypatch.setattr(TopByNetWins, "apart", lambda self, change, k, promise: derived(self, change, k, promise) / 2)


def half_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where people's votes are kept together."""
    derived = TopByNetWins.apart_in_range
    monkeypatch.setattr(
        TopByNetWins, "apart_in_range", lambda self, change, k, wide: (derived(self, change, k, wide) or 0) / 2
    )


def one_round_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """ε in each of the k rounds."""
    derived = TopByNetWins.apart
    monkeypatch.setattr(TopByNetWins, "apart", lambda self, change, k, promise: derived(self, change, 1, promise))
    in_norm = TopByNetWins.apart_in_norm
    monkeypatch.setattr(TopByNetWins, "apart_in_norm", lambda self, change, k, square: in_norm(self, change, 1, square))
    in_range = TopByNetWins.apart_in_range
    monkeypatch.setattr(TopByNetWins, "apart_in_range", lambda self, change, k, wide: in_range(self, change, 1, wide))


def wins_like_net_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's wins do not go from one item to another."""

    def apart(self: TopByWins, change: Neighbours, k: int, promise: Promise) -> Any:
        return TopByNetWins().apart(Neighbours.ADD_REMOVE, k, promise)

    monkeypatch.setattr(TopByWins, "apart", apart)


def no_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    import ibis

    weight = ibis.literal(PERSON_GRID, type="int64")
    monkeypatch.setattr(bounding, "_clipped", lambda rows, clip, bounded: rows.mutate(weight=weight))


def one_factor_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """One factor for everybody."""
    import ibis

    def of_items(rows: Any, clip: Any, most: int, apart: tuple[str, ...]) -> Any:
        people = rows.group_by("person").agg(votes=rows.count())
        return people.select(who=people.person, factor=ibis.literal(most // 2, type="int64"))

    monkeypatch.setattr(bounding, "_range_factors", of_items)


def half_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    _drawn(monkeypatch, lambda noise, values: (TopNoise(noise.k, noise.scale / 2, noise.gumbel), values))


def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TopNoise, "add_to", lambda self, values: np.argsort(-values, kind="stable")[: self.k])


def flips_charged_as_gumbel(monkeypatch: pytest.MonkeyPatch) -> None:
    """What OpenDP did until 0.15.1: permute-and-flip where an eighth of ε² is declared."""
    _drawn(monkeypatch, lambda noise, values: (TopNoise(noise.k, noise.scale, False), values))


def _drawn(monkeypatch: pytest.MonkeyPatch, change: Callable[[TopNoise, Integers], tuple[TopNoise, Integers]]) -> None:
    draw = TopNoise.add_to

    def changed(self: TopNoise, values: Integers) -> Integers:
        return draw(*change(self, values))

    monkeypatch.setattr(TopNoise, "add_to", changed)


def always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed in every draw."""

    def seeded(self: TopNoise, values: Integers) -> Integers:
        rng = np.random.default_rng(5)
        return np.argsort(-(values + rng.gumbel(0, self.scale, len(values))))[: self.k]

    monkeypatch.setattr(TopNoise, "add_to", seeded)


def a_move_is_one_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are forgotten: a unit that leaves one and enters another changes two lists."""
    from quietrank.promise.promise import Move

    monkeypatch.setattr(Promise, "moves", property(lambda self: (Move(Neighbours.ADD_REMOVE),)))


def long_fit(case: Case) -> Any:
    """With more draws: two laws that are alike."""
    return checks.noise_check(case, replace(SMALL, draws=4000), RISK)


FAULTS: list[tuple[Plant, Callable[[Case], Any], Case]] = [
    (half_the_range, bounds, make_case(PERMUTE_AND_FLIP, "comparison", **NET)),
    (half_the_width, bounds, PEOPLE),
    (half_the_range, bounds, ANSWERS),
    (half_the_range, loss, VOTES),
    (one_round_for_all, bounds, TWO_OF_PEOPLE),
    (one_round_for_all, loss, TWO),
    (wins_like_net_wins, bounds, BY_WINS),
    (no_clip, bounds, PEOPLE),
    (one_factor_for_all, bounds, PEOPLE),
    (half_the_scale, fit, TWO),
    (half_the_scale, black_box, VOTES),
    (no_noise, fit, VOTES),
    (flips_charged_as_gumbel, long_fit, GUMBEL),
    (always_the_same, fit, TWO),
    (a_move_is_one_change, bounds, MOVED),
]


def _ids(part: Any) -> str:
    return getattr(part, "__name__", "")


@pytest.mark.parametrize(("plant", "check", "case"), FAULTS, ids=_ids)
@pytest.mark.few(2)
def test_a_planted_fault_is_caught(
    plant: Plant, check: Callable[[Case], Any], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert not check(case).passed


@pytest.mark.parametrize(
    ("check", "case"),
    [(bounds, TWO_OF_PEOPLE), (bounds, MOVED), (loss, TWO), (fit, TWO), (fit, GUMBEL), (black_box, VOTES)],
    ids=_ids,
)
@pytest.mark.few(1)
def test_without_a_fault_the_audit_passes(check: Callable[[Case], Any], case: Case) -> None:
    assert check(case).passed, check(case).detail


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.few(2)
def test_the_lower_bound_is_near(epsilon: float) -> None:
    """What the black box proves of ε: the exact loss of the pair that it attacks is all of it."""
    finding = loss(VOTES.of_epsilon(epsilon))
    assert finding.measured is not None
    assert 0.99 * epsilon <= finding.measured <= epsilon * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_black_box_finds_nine_tenths(epsilon: float) -> None:
    """With as many runs as the full audit has."""
    case = VOTES.of_epsilon(epsilon)
    runs = run.runs_of(case, checks.FULL)
    parts = [checks.draw_scores(case, of_one, runs) for of_one in (True, False)]
    found = checks.black_box_finding(case, parts, RISK).measured
    assert found is not None
    assert 0.9 * epsilon <= found <= epsilon
