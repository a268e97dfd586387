"""Plain words in, a `Case` out: one promise under attack. A case is a mechanism, a promise, a method and a few items.

Everything about a case is public. The noise comes from the very functions that calibrate releases, called through
their modules, so that a fault planted there is a fault of the audit's subject. `attacked.py` lists the cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quietrank.maths.links import get_link
from quietrank.mechanisms import additive
from quietrank.mechanisms import choose as choice
from quietrank.mechanisms.additive import Calibrated, MechanismName
from quietrank.mechanisms.perturbed_mle import mechanism as perturbed
from quietrank.mechanisms.perturbed_mle.loss import Calibration, smallest_gamma
from quietrank.promise.items import Items, declare, with_pairs
from quietrank.promise.privacy import Neighbours, Privacy, Unit
from quietrank.statistics.method import Method
from quietrank.statistics.sensitivity import Statistic

GAMMA_PER_LOSS = 6.0
"""the ridge of the perturbed MLE, in units of L/ε; declared, as people must"""


@dataclass(frozen=True)
class Case:
    """One promise under attack."""

    mechanism: MechanismName
    privacy: Privacy
    """with L filled in where one answer per pair gives it"""
    method: Method
    items: Items
    """with the askable pairs, where not all pairs are"""
    gamma: float | None = None
    """the ridge, for the perturbed MLE"""
    groups: tuple[str, ...] | None = None
    """the declared groups, where the votes are split by group"""
    calibration: str = "tight"
    link: str = "logistic"

    @property
    def calibrated(self) -> Calibrated:
        """The noise that a release of this kind would draw."""
        split = self.groups is not None
        return choice.choose(self.items, self.privacy, self.method, self.mechanism, groups=split).noise

    @property
    def statistic(self) -> Statistic | None:
        return None if self.mechanism is MechanismName.PERTURBED_MLE else self.calibrated.statistic

    @property
    def capped(self) -> bool:
        """Whether votes stand alone and only some of each person's count."""
        return self.privacy.unit is Unit.COMPARISON and self.privacy.max_per_person is not None

    @property
    def releases_per_unit(self) -> int:
        """How many releases one unit can change: two where it may leave one group and enter another."""
        return 1 if self.groups is None else 2

    @property
    def bounding(self) -> str:
        """How a person is bounded, in a word."""
        if self.privacy.unit is Unit.COMPARISON:
            return ""
        return "one per pair" if self.privacy.one_per_pair else f"L = {self.privacy.limit}"

    @property
    def kind(self) -> tuple[str, ...]:
        """What is special about the case, in words; nothing for most."""
        n = len(self.items)
        words = {
            f"{self.items.askable} of {n * (n - 1) // 2} pairs": self.items.pairs is not None,
            f"at most {self.privacy.max_per_person} of each person": self.capped,
            f"{len(self.groups or ())} groups": self.groups is not None,
            self.link: self.link != "logistic",
            f"{self.calibration} calibration": self.calibration != Calibration.TIGHT,
        }
        return tuple(word for word, holds in words.items() if holds)

    @property
    def promise(self) -> str:
        """For the report: mechanism, unit, neighbours and kind, which cases of several statistics share."""
        return ", ".join([str(self.mechanism), str(self.privacy.unit), str(self.privacy.neighbours), *self.kind])

    @property
    def name(self) -> str:
        """For the report: the promise, how people are bounded, and what is released."""
        parts = [str(self.mechanism), str(self.privacy.unit), self.bounding, str(self.privacy.neighbours)]
        parts += [str(self.statistic or ""), f"{len(self.items)} items", *self.kind]
        return ", ".join(part for part in parts if part)


def make_case(
    mechanism: MechanismName,
    unit: str,
    neighbours: str = "replace",
    *,
    design: str | None = None,
    method: Method = Method.WIN_RATE,
    epsilon: float = 1.0,
    items: int = 4,
    pairs: tuple[tuple[int, int], ...] | None = None,
    groups: tuple[str, ...] | None = None,
    calibration: str = "tight",
    link: str = "logistic",
    **bounds: Any,
) -> Case:
    """A case in plain words; `pairs` are places on the list, `bounds` max_per_person, one_per_pair, delta and clip."""
    design = design or ("public" if neighbours == Neighbours.OUTCOME else "private")
    listed = declare([f"item {k}" for k in range(items)])
    if pairs is not None:
        listed = with_pairs(listed, [(listed.names[i], listed.names[j]) for i, j in pairs])
    privacy = additive.for_items(Privacy(epsilon, unit, neighbours=neighbours, design=design, **bounds), listed)
    case = Case(mechanism, privacy, method, listed, None, groups, calibration, link)
    if mechanism is MechanismName.PERTURBED_MLE:
        return Case(mechanism, privacy, Method.BRADLEY_TERRY, listed, _ridge(case), groups, calibration, link)
    return case


def _ridge(case: Case) -> float:
    """γ: for the published calibration the smallest that it accepts, where the determinant costs most."""
    privacy = case.privacy
    if case.calibration != Calibration.PUBLISHED:
        return GAMMA_PER_LOSS * privacy.limit / privacy.epsilon
    epsilon, _ = perturbed.split_budget(privacy.epsilon, case.releases_per_unit)
    return smallest_gamma(privacy, epsilon, Calibration.PUBLISHED, get_link(case.link))
