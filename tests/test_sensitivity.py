"""Sensitivity: every entry is an upper bound, and attained, by exhaustive search over small neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from quietrank.errors import PrivacyError
from quietrank.privacy import Design, Neighbours, Privacy, Unit
from quietrank.sensitivity import TOTAL_SHARE, Statistic, sensitivity
from tests.helpers import PRIVACIES, privacy_id

N = 3
PAIRS = tuple(itertools.combinations(range(N), 2))
Answers = tuple[tuple[tuple[int, int], int], ...]
"""One unit's votes: pairs, each with y in halves."""

CASES = [
    (privacy, statistic)
    for privacy in PRIVACIES
    for statistic in Statistic
    if not (privacy.design is Design.PUBLIC and statistic not in (Statistic.NET_WINS, Statistic.WINS))
]


def _units(privacy: Privacy) -> list[Answers]:
    """Everything one unit may have said: one vote, or up to four votes of a person."""
    vote = list(itertools.product(PAIRS, (0, 1, 2)))
    most = 1 if privacy.unit is Unit.COMPARISON else 4
    return [said for c in range(1, most + 1) for said in itertools.combinations_with_replacement(vote, c)]


def _contribution(said: Answers, statistic: Statistic, privacy: Privacy) -> list[Fraction]:
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
    share = TOTAL_SHARE if privacy.neighbours is Neighbours.ADD_REMOVE else 1
    vectors = {
        Statistic.NET_WINS: net,
        Statistic.NET_WINS_AND_TOTAL: [*net, share * weight * len(said)],
        Statistic.WINS: wins,
        Statistic.WINS_AND_LOSSES: wins + losses,
    }
    return vectors[statistic]


def _differences(privacy: Privacy, statistic: Statistic) -> Iterator[NDArray[np.float64]]:
    """Differences of the statistic between neighbours; exact in doubles, all being small multiples of 2^-25."""
    units = _units(privacy)
    vectors = np.array([_contribution(said, statistic, privacy) for said in units], dtype=np.float64)
    if privacy.neighbours is Neighbours.ADD_REMOVE:
        yield vectors
        return
    asked = [tuple(pair for pair, _ in said) for said in units]
    for k, vector in enumerate(vectors):
        same = [asked[m] == asked[k] for m in range(len(units))]
        others = vectors[same] if privacy.neighbours is Neighbours.OUTCOME else vectors
        yield others - vector


@pytest.mark.parametrize(
    ("privacy", "statistic"), CASES, ids=lambda case: case if isinstance(case, str) else privacy_id(case)
)
def test_the_bound_holds_and_is_attained(privacy: Privacy, statistic: Statistic) -> None:
    """No pair of neighbours moves the statistic further than derived, and some pair moves it exactly that far."""
    furthest = max(np.abs(difference).sum(axis=1).max() for difference in _differences(privacy, statistic))
    assert furthest == float(sensitivity(privacy, statistic).l1)


@pytest.mark.parametrize(
    ("privacy", "statistic"), CASES, ids=lambda case: case if isinstance(case, str) else privacy_id(case)
)
def test_every_contribution_lies_on_the_lattice(privacy: Privacy, statistic: Statistic) -> None:
    """The lattice step divides every contribution, so integer noise loses nothing."""
    step = sensitivity(privacy, statistic).step
    for said in _units(privacy)[::7]:
        assert all((value / step).denominator == 1 for value in _contribution(said, statistic, privacy))
    assert sensitivity(privacy, statistic).l1_steps * step == sensitivity(privacy, statistic).l1


def test_the_published_individual_constant_protects_only_twice_epsilon() -> None:
    """Laplace(L/ε) on a person's wins loses 2ε under `replace`: L wins leave one item and come to another."""
    L, epsilon = 5, 1.0
    wins, replaced, seen = np.array([L, 0.0, 0.0]), np.array([0.0, L, 0.0]), np.array([L + 9.0, -9.0, 0.0])
    scale = L / epsilon
    loss = (np.abs(seen - replaced).sum() - np.abs(seen - wins).sum()) / scale
    assert loss == pytest.approx(2 * epsilon)
    honest = float(sensitivity(Privacy(epsilon, "person", max_per_person=L), Statistic.WINS).l1) / epsilon
    assert loss * scale / honest == pytest.approx(epsilon)


def test_the_published_statistics_match_the_design_table() -> None:
    """The table of the design, written out."""
    table = {
        ("comparison", "replace", Statistic.NET_WINS): 2,
        ("comparison", "add-remove", Statistic.NET_WINS): 1,
        ("person", "replace", Statistic.NET_WINS): 2 * 7,
        ("person", "add-remove", Statistic.NET_WINS): 7,
        ("person", "replace", Statistic.WINS_AND_LOSSES): 4 * 7,
        ("person", "add-remove", Statistic.WINS_AND_LOSSES): 2 * 7,
    }
    for (unit, neighbours, statistic), expected in table.items():
        privacy = Privacy(1, unit, neighbours=neighbours, max_per_person=7 if unit == "person" else None)
        assert sensitivity(privacy, statistic).l1 == expected


def test_a_statistic_that_pays_for_what_is_public_is_refused() -> None:
    """Under a public design exposures and totals are known; there is no sensitivity for buying them."""
    privacy = Privacy(1, "comparison", neighbours="outcome", design="public")
    with pytest.raises(PrivacyError):
        sensitivity(privacy, Statistic.WINS_AND_LOSSES)
