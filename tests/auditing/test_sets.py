"""The audit knows best–worst sets: it passes them, and catches what could go wrong with sets alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from quietrank.auditing import checks
from quietrank.auditing.case_lists import _sets
from quietrank.auditing.cases import Case, make_case
from quietrank.auditing.report import Finding
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.promise.promise import Bounded
from quietrank.statistics.method import Method
from quietrank.statistics.net_wins import NetWinsAndShown
from quietrank.votes import bound as bounding
from quietrank.votes import check, tally
from quietrank.votes.sets import size
from quietrank.votes.snapshot import NOT_ANSWERED, NUMBER
from tests.auditing import test_planted_faults as planted
from tests.effort import effort

SMALL = replace(planted.SMALL, pairs=effort(3, 5))
QUICK, REST = ([make_case(**words) for words in part] for part in _sets())
CASES = [*QUICK, *(pytest.param(case, marks=pytest.mark.slow) for case in REST)]
PEOPLE = make_case(LAPLACE, "person", items=6, set_size=3, max_per_person=3)
PUBLIC = make_case(
    LAPLACE, "person", "outcome", method=Method.BRADLEY_TERRY, items=6, set_size=3, max_per_person=3
)  # fmt: skip


def bounds(case: Case) -> Finding:
    return checks.bounds_check([case], SMALL, [case])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(", ", "-"))
@pytest.mark.few(1)
def test_no_unit_moves_the_counts_of_sets_further_than_derived(case: Case) -> None:
    """Files are read, bounded and counted; nothing public differs between neighbours, and the bound is attained."""
    found = bounds(case)
    assert found.passed, found.detail


def the_chosen_pair_as_design(monkeypatch: pytest.MonkeyPatch) -> None:
    """Best and worst are published as if they were the set."""

    def chosen(rows: Any) -> Any:
        pairs = rows.select(weight=rows.weight, shown_1=rows.a.fill_null(-1), shown_2=rows.b.fill_null(-1)).view()
        return pairs.group_by("shown_1", "shown_2").agg(weight=(pairs.weight * 2).sum())

    monkeypatch.setattr(tally, "_set_sums", chosen)


def sizes_weighed_after_bounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set counts as many times as its best is worth, whatever the bound has allowed."""

    def implied(rows: Any, shown: int, weight: str = "weight") -> Any:
        return rows.mutate(**{weight: rows[weight] * (size(rows) - 1)})

    monkeypatch.setattr(bounding, "_sized", implied)


def times_shown_for_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of net wins alone."""
    monkeypatch.setattr(NetWinsAndShown, "l1", lambda self, change, limits, share: 2 * limits.net_wins)


def unanswered_sets_dropped_under_a_public_design(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = check.marked

    def dropping(votes: Any, bounded: Bounded, rows: Any) -> Any:
        return mark(votes, replace(bounded, answers_only=False), rows)

    monkeypatch.setattr(check, "marked", dropping)


def wrong_answers_dropped_under_a_public_design(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only unanswered sets are kept as ties; those with a wrong answer vanish with it."""
    monkeypatch.setattr(check, "UNREADABLE", [NUMBER["unknown outcome"], NOT_ANSWERED])


@pytest.mark.parametrize(
    ("plant", "case", "complaint"),
    [
        (the_chosen_pair_as_design, PUBLIC, "sets differs"),
        (sizes_weighed_after_bounding, PEOPLE, "times as far"),
        (times_shown_for_free, PEOPLE, "times as far"),
        (unanswered_sets_dropped_under_a_public_design, PUBLIC, "sets differs"),
        (wrong_answers_dropped_under_a_public_design, PUBLIC, "sets differs"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.few(1)
def test_every_fault_of_sets_is_caught(monkeypatch: pytest.MonkeyPatch, plant: Any, case: Case, complaint: str) -> None:
    """The check fails, and says why."""
    plant(monkeypatch)
    found = bounds(case)
    assert not found.passed
    assert complaint in found.detail


@pytest.mark.parametrize("case", [PEOPLE, PUBLIC], ids=["private", "public"])
def test_the_noise_costs_what_was_promised(case: Case) -> None:
    found = checks.loss_check([case], SMALL)
    assert found.passed, found.detail
