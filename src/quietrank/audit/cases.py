"""Options in, `Case`s out: which promises are attacked. A case is a mechanism, a promise, a method and a few items.

Everything about a case is public. The noise comes from the very functions that calibrate releases, called through
their modules, so that a fault planted there is a fault of the audit's subject.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from quietrank import additive, choice
from quietrank.additive import Calibrated, MechanismName
from quietrank.estimators.methods import Method
from quietrank.items import Items, declare
from quietrank.privacy import Neighbours, Privacy, Unit
from quietrank.sensitivity import Statistic

LIMIT = 3
"""L of the people whose total weight is bounded"""

DELTA = 1e-3

CLIP = 1.0
"""C where answers are averaged: all of a small questionnaire reaches it. The default C is the norm of a typical
person, who answers all pairs consistently; with few items nobody can move as far as two such people apart."""

GAMMA_PER_LOSS = 6.0
"""the ridge of the perturbed MLE, in units of L/ε; declared, as people must"""

RELATIONS = (
    (Neighbours.REPLACE, "private"),
    (Neighbours.REPLACE, "uniform"),
    (Neighbours.ADD_REMOVE, "private"),
    (Neighbours.ADD_REMOVE, "uniform"),
    (Neighbours.OUTCOME, "public"),
)

METHODS = (Method.WIN_RATE, Method.WINS, Method.NET_WINS)


@dataclass(frozen=True)
class Case:
    """One promise under attack."""

    mechanism: MechanismName
    privacy: Privacy
    """with L filled in where one answer per pair gives it"""
    method: Method
    items: Items
    gamma: float | None = None
    """the ridge, for the perturbed MLE"""

    @property
    def calibrated(self) -> Calibrated:
        """The noise that a release of this kind would draw."""
        return choice.choose(self.items, self.privacy, self.method, self.mechanism).noise

    @property
    def statistic(self) -> Statistic | None:
        return None if self.mechanism is MechanismName.PERTURBED_MLE else self.calibrated.statistic

    @property
    def bounding(self) -> str:
        """How a person is bounded, in a word."""
        if self.privacy.unit is Unit.COMPARISON:
            return ""
        return "one per pair" if self.privacy.one_per_pair else f"L = {self.privacy.limit}"

    @property
    def name(self) -> str:
        """For the report: mechanism, unit, neighbours, and what is released."""
        parts = [str(self.mechanism), str(self.privacy.unit), self.bounding, str(self.privacy.neighbours)]
        parts += [str(self.statistic or ""), f"{len(self.items)} items"]
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
    **bounds: Any,
) -> Case:
    """A case in plain words; `bounds` are max_per_person, one_per_pair, delta and clip."""
    design = design or ("public" if neighbours == Neighbours.OUTCOME else "private")
    listed = declare([f"item {k}" for k in range(items)])
    privacy = additive.for_items(Privacy(epsilon, unit, neighbours=neighbours, design=design, **bounds), listed)
    gamma = None
    if mechanism is MechanismName.PERTURBED_MLE:
        gamma, method = GAMMA_PER_LOSS * privacy.limit / epsilon, Method.BRADLEY_TERRY
    return Case(mechanism, privacy, method, listed, gamma)


def boundings(mechanism: MechanismName, unit: Unit) -> list[dict[str, Any]]:
    """The ways to bound a unit that this mechanism knows."""
    if unit is Unit.COMPARISON:
        found: list[dict[str, Any]] = [] if mechanism is MechanismName.ZONOTOPE else [{}]
    elif mechanism is MechanismName.ZONOTOPE:
        found = [{"one_per_pair": True}]
    else:
        found = [{"max_per_person": LIMIT}, {"one_per_pair": True}]
    if mechanism is MechanismName.GAUSSIAN:
        found = [bound | {"delta": DELTA} | ({"clip": CLIP} if "one_per_pair" in bound else {}) for bound in found]
    return found


def all_cases(epsilon: float, *, quick: bool = False) -> Iterator[Case]:
    """Every mechanism × unit × bound × neighbours × statistic that a release can have; with `quick` one or two
    statistics of each."""
    seen = set()
    for mechanism in MechanismName:
        if mechanism is MechanismName.AUTO:
            continue
        for unit in Unit:
            for bounds in boundings(mechanism, unit)[: 1 if quick and mechanism is not MechanismName.LAPLACE else None]:
                for neighbours, design in RELATIONS:
                    for method in _methods(mechanism, neighbours, design, quick=quick):
                        case = make_case(
                            mechanism, unit, neighbours, design=design, method=method, epsilon=epsilon, **bounds
                        )
                        if quick and method is Method.WINS and case.privacy.one_per_pair:
                            continue
                        key = (mechanism, unit, case.bounding, neighbours, case.statistic)
                        if key not in seen:
                            seen.add(key)
                            yield case


def _methods(mechanism: MechanismName, neighbours: Neighbours, design: str, *, quick: bool) -> tuple[Method, ...]:
    if mechanism is MechanismName.PERTURBED_MLE:
        wanted = neighbours is not Neighbours.OUTCOME and design == "private"
        return (Method.BRADLEY_TERRY,) if wanted else ()
    if quick:
        if design == "uniform":
            return ()
        return (Method.WIN_RATE, Method.WINS) if mechanism is MechanismName.LAPLACE else (Method.WIN_RATE,)
    return tuple(m for m in METHODS if not (mechanism is MechanismName.ZONOTOPE and m is Method.WINS))
