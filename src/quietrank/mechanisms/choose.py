"""A promise and a method in, the additive mechanism with the least expected error out; from public values alone.

Candidates are the mechanisms whose promise was asked for: Laplace noise always (where a person's total weight is
bounded), the zonotope with one answer per pair, Gaussian noise only where δ > 0 was given. They are compared by the
standard deviation of the noise on what items are ranked by, per unit of a vote that is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from quietrank.errors import PrivacyError, option
from quietrank.mechanisms.additive import MOST_ZONOTOPE_PAIRS, Calibrated, MechanismName, calibrate
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy, Unit
from quietrank.statistics.method import Method, statistic_for
from quietrank.statistics.sensitivity import Statistic, total_is_free

KEPT_BY_CLIPPING = 0.9
"""Clipping at the typical norm scales about half of all people down, by 10 % on average and often less."""


@dataclass(frozen=True)
class Choice:
    """The noise to use, and the expected size of the noise of all candidates, where there was a choice."""

    noise: Calibrated
    alternatives: tuple[tuple[str, float], ...] = ()


def choose(items: Items, privacy: Privacy, method: Method, mechanism: MechanismName, *, groups: bool = False) -> Choice:
    """The mechanism asked for, or the best of those that keep the promise; `privacy` has its L filled in."""
    if mechanism is not MechanismName.AUTO:
        return Choice(_calibrated(items, privacy, method, mechanism, groups))
    found = [_calibrated(items, privacy, method, name, groups) for name in candidates(items, privacy, method)]
    if not found:
        raise PrivacyError(
            f"no mechanism fits: give {option('max_per_person')}, or {option('delta', '1e-6')} with a {option('clip')}"
        )
    found.sort(key=expected_noise)
    return Choice(found[0], tuple((noise.mechanism.value, expected_noise(noise)) for noise in found))


def candidates(items: Items, privacy: Privacy, method: Method) -> list[MechanismName]:
    """The mechanisms whose promise was asked for and that can serve the method."""
    found = []
    if privacy.unit is Unit.COMPARISON or privacy.max_per_person is not None:
        found.append(MechanismName.LAPLACE)
    if privacy.one_per_pair and method is not Method.WINS and items.askable <= MOST_ZONOTOPE_PAIRS:
        found.append(MechanismName.ZONOTOPE)
    if privacy.delta > 0:
        found.append(MechanismName.GAUSSIAN)
    return found


def _calibrated(items: Items, privacy: Privacy, method: Method, mechanism: MechanismName, groups: bool) -> Calibrated:
    statistic = statistic_for(
        method,
        privacy,
        free_total=mechanism is MechanismName.LAPLACE and total_is_free(privacy, groups),
        cheap_exposures=mechanism is MechanismName.GAUSSIAN,
        groups=groups,
    )
    return calibrate(items, privacy, statistic, mechanism, groups=groups)


def expected_noise(noise: Calibrated) -> float:
    """The standard deviation of the noise on an item's count, in votes that are kept."""
    spread = noise.law.spread
    sd = spread.value if noise.statistic is Statistic.WINS else spread.net_wins
    return sd if noise.clip is None else sd / KEPT_BY_CLIPPING
