"""Plain words in, a `Case` out: one promise under attack. A case is a mechanism, a promise, a method and a few items.

Everything about a case is public. The noise comes from the same functions that calibrate releases, called through
their modules, so that the audit sees a fault planted there. `case_lists.py` lists the cases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from quietrank.maths.links import LOGISTIC, get_link
from quietrank.mechanisms import choose as choice
from quietrank.mechanisms.mechanism import Calibrated, Mechanism
from quietrank.mechanisms.perturbed_mle import mechanism as perturbed
from quietrank.mechanisms.perturbed_mle.loss import Calibration, smallest_gamma
from quietrank.mechanisms.perturbed_mle.mechanism import PERTURBED_MLE, PerturbedMLE
from quietrank.mechanisms.selection import Selection
from quietrank.noise import normal
from quietrank.noise.selection import TopNoise
from quietrank.promise.declare import declare, with_pairs
from quietrank.promise.items import Items
from quietrank.promise.privacy import DesignWord, GroupOf, Neighbours, NeighboursWord, Privacy, Unit, UnitWord
from quietrank.promise.promise import Promise
from quietrank.statistics.method import Method, Ties
from quietrank.statistics.statistic import Statistic

GAMMA_PER_LOSS = 6.0
"""the ridge of the perturbed MLE, in units of L/ε; declared, as users must do"""


@dataclass(frozen=True)
class Case:
    """One promise under attack."""

    mechanism: Mechanism
    """with its options, where it has any"""
    promise: Promise
    method: Method
    ties: Ties = Ties.HALF

    @property
    def privacy(self) -> Privacy:
        return self.promise.privacy

    @property
    def items(self) -> Items:
        """With the list of askable pairs, where not all pairs may be asked."""
        return self.promise.items

    def with_items(self, items: Items) -> Case:
        """The same case with the items with which the votes were read."""
        return replace(self, promise=replace(self.promise, items=items))

    def of_epsilon(self, epsilon: float) -> Case:
        """The same case at another ε."""
        return replace(self, promise=self.promise.changed(epsilon=epsilon))

    @property
    def groups(self) -> tuple[str, ...] | None:
        return self.promise.groups

    @property
    def perturbed(self) -> PerturbedMLE | None:
        """The mechanism, if it adds noise inside the likelihood: its parts are attacked separately."""
        return self.mechanism if isinstance(self.mechanism, PerturbedMLE) else None

    @property
    def selection(self) -> Selection | None:
        """The mechanism, if it names the first few items: what is released is a list."""
        return self.mechanism if isinstance(self.mechanism, Selection) else None

    @property
    def calibrated(self) -> Calibrated:
        """The noise that a release of this kind would draw."""
        return choice.choose(self.promise, self.method, self.mechanism, ties=self.ties).noise

    @property
    def has_exact_loss(self) -> bool:
        """Whether the loss is known at every output; of δ > 0 only for Gaussian noise."""
        return self.privacy.delta == 0 or isinstance(self.calibrated.noise, normal.RoundedGaussianNoise | TopNoise)

    @property
    def statistic(self) -> Statistic | None:
        return None if self.perturbed else self.calibrated.statistic

    @property
    def capped(self) -> bool:
        """Whether the unit is one vote and only some of each person's votes count."""
        return self.privacy.unit is Unit.COMPARISON and self.privacy.max_per_person is not None

    @property
    def releases_per_unit(self) -> int:
        """How many releases one unit can change: two where it may leave one group and enter another, and all groups'
        where a person's votes are spread over them. Written down again, so that a fault in the promise is seen."""
        if self.groups is None:
            return 1
        return len(self.groups) if self.spread else 2

    @property
    def spread(self) -> bool:
        """Whether one person's votes may be in several groups."""
        people = self.privacy.unit is Unit.PERSON and self.promise.group_of is GroupOf.VOTE
        return people and self.groups is not None and len(self.groups) > 1

    @property
    def bounding(self) -> str:
        """How a person is bounded, in a few words."""
        if self.privacy.unit is Unit.COMPARISON:
            return ""
        return "one per pair" if self.privacy.one_per_pair else f"L = {self.privacy.limit}"

    @property
    def kind(self) -> tuple[str, ...]:
        """What is special about the case, in words; nothing for most."""
        n, inside = len(self.items), self.perturbed or PERTURBED_MLE
        words = {
            f"{self.items.askable} of {n * (n - 1) // 2} pairs": self.items.pairs is not None,
            f"sets of {self.items.shown}": self.items.in_sets,
            f"at most {self.privacy.max_per_person} of each person": self.capped,
            f"{len(self.groups or ())} groups{' of votes' if self.spread else ''}": self.groups is not None,
            "rows without an answer": self.promise.leaves_out,
            inside.link.name: inside.link is not LOGISTIC,
            f"the first {self.selection.k if self.selection else 0}": self.selection is not None,
            f"{inside.calibration} calibration": inside.calibration is not Calibration.TIGHT,
        }
        return tuple(word for word, holds in words.items() if holds)

    @property
    def subject(self) -> str:
        """For the report: mechanism, unit, neighbours and kind, which are the same for several statistics."""
        return ", ".join([str(self.mechanism), str(self.privacy.unit), str(self.privacy.neighbours), *self.kind])

    @property
    def name(self) -> str:
        """For the report: the promise, how people are bounded, and what is released."""
        parts = [str(self.mechanism), str(self.privacy.unit), self.bounding, str(self.privacy.neighbours)]
        parts += [str(self.statistic or ""), f"{len(self.items)} items", *self.kind]
        return ", ".join(part for part in parts if part)


def make_case(
    mechanism: Mechanism,
    unit: UnitWord,
    neighbours: NeighboursWord = "replace",
    *,
    design: DesignWord | None = None,
    method: Method = Method.WIN_RATE,
    epsilon: float = 1.0,
    items: int = 4,
    pairs: tuple[tuple[int, int], ...] | None = None,
    set_size: int = 2,
    groups: tuple[str, ...] | None = None,
    group_of: GroupOf = GroupOf.PERSON,
    leaves_out: bool = False,
    calibration: str = "tight",
    link: str = "logistic",
    ties: Ties = Ties.HALF,
    **bounds: Any,
) -> Case:
    """A case in plain words; `pairs` are places on the list, `bounds` max_per_person, one_per_pair, delta and clip.
    With a `set_size` above 2 votes are best–worst sets."""
    design = design or ("public" if neighbours == Neighbours.OUTCOME else "private")
    listed = declare([f"item {k}" for k in range(items)])
    if pairs is not None:
        listed = with_pairs(listed, [(listed.names[i], listed.names[j]) for i, j in pairs])
    listed = replace(listed, shown=set_size)
    privacy = Privacy(epsilon, unit, neighbours=neighbours, design=design, **bounds)
    promise = Promise(privacy, listed, groups, group_of, leaves_out or listed.in_sets)
    if isinstance(mechanism, PerturbedMLE):
        ridge = _ridge(promise, calibration, link)
        return Case(mechanism.with_options(ridge, None, calibration, link), promise, Method.BRADLEY_TERRY)
    return Case(mechanism, promise, Method.BRADLEY_TERRY if ties is Ties.DAVIDSON else method, ties)


def _ridge(promise: Promise, calibration: str, link: str) -> float:
    """γ: for the published calibration the smallest accepted one, at which the determinant costs most."""
    privacy = promise.privacy
    if calibration != Calibration.PUBLISHED:
        return GAMMA_PER_LOSS * privacy.limit / privacy.epsilon
    epsilon, _ = perturbed.split_budget(privacy.epsilon, promise.tallies_changed)
    return smallest_gamma(privacy, epsilon, Calibration.PUBLISHED, get_link(link))
