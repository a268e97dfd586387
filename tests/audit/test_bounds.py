"""Bounds: they hold and are reached through the real path, and the neighbours are what they are called."""

from __future__ import annotations

import itertools
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest

from quietrank import mechanism
from quietrank.additive import MechanismName
from quietrank.audit import bounds, neighbours, norms, observe
from quietrank.audit.cases import Case, all_cases, make_case
from quietrank.estimators.methods import Method
from quietrank.privacy import Neighbours, Unit

CASES = list(all_cases(1.0))
FEW = [
    make_case(MechanismName.LAPLACE, "person", design="uniform", max_per_person=3),
    make_case(MechanismName.LAPLACE, "person", method=Method.WINS, one_per_pair=True),
    make_case(MechanismName.ZONOTOPE, "person", one_per_pair=True),
    make_case(MechanismName.GAUSSIAN, "person", "outcome", one_per_pair=True, delta=1e-3, clip=1.0),
]


@pytest.mark.parametrize("case", FEW, ids=lambda case: case.name)
def test_bounds_hold_and_are_reached(case: Case) -> None:
    """Short form: one case of each norm."""
    found = bounds.check(case, 4)
    assert found.passed, found.complaints
    assert 0.99 <= found.furthest <= 1


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bounds_hold_and_are_reached_everywhere(case: Case) -> None:
    """Long form: every mechanism × unit × bound × neighbours × statistic, extremes and random pairs."""
    found = bounds.check(case, 30, 3)
    assert found.passed, found.complaints


def test_every_promise_has_a_case() -> None:
    """Mechanism × unit × neighbours, as far as they go together: 19 combinations."""
    assert len({(case.mechanism, case.privacy.unit, case.privacy.neighbours) for case in CASES}) == 19
    assert len(CASES) > 60
    assert {case.privacy.neighbours for case in CASES} == set(Neighbours)


@pytest.mark.parametrize("case", [CASES[0], CASES[-1], *FEW], ids=lambda case: case.name)
def test_neighbours_differ_in_one_unit(case: Case) -> None:
    """Taking the unit out leaves the same crowd; under outcome the questions are the same."""
    for pair in neighbours.neighbouring(case, 30):
        one, other = ([row for row in rows if row[0] not in ("u", "v 2")] for rows in (pair.one, pair.other))
        assert sorted(one) == sorted(other)
        units = [[row for row in rows if row[0] in ("u", "v 2")] for rows in (pair.one, pair.other)]
        if case.privacy.unit is Unit.COMPARISON:
            assert all(len(unit) <= 1 for unit in units)
        if case.privacy.neighbours is Neighbours.OUTCOME:
            assert [row[:3] for row in units[0]] == [row[:3] for row in units[1]]
        if case.privacy.neighbours is Neighbours.ADD_REMOVE:
            assert not units[1]


def test_a_vote_more_moves_no_further_where_only_some_count() -> None:
    """unit=comparison, add-remove, with at most L votes of each person counted: one more can displace one that counted.

    Found by this audit: calibrated for one vote added, the noise kept 2ε only.
    """
    case = make_case(MechanismName.LAPLACE, "comparison", "add-remove", method=Method.WINS, max_per_person=1)
    pairs = [(0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (2, 0)]
    furthest = Fraction(0)
    with tempfile.TemporaryDirectory() as folder:
        for first, second in itertools.permutations(pairs, 2):
            rows = [("u", *first, "a"), ("u", *second, "a")]
            (both, calibrated), (one, _) = (observe.exact(case, kept, Path(folder)) for kept in (rows, rows[:1]))
            difference = mechanism.exact_values(both, calibrated) - mechanism.exact_values(one, calibrated)
            furthest = max(furthest, norms.moved(calibrated, difference))
            assert furthest <= norms.allowed(case.items, calibrated)
