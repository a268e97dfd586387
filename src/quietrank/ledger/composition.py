"""Charges in, whether a fixed budget (ε, δ) still covers all of them out: conversion between units, and composition.

A budget has several *filters*. Each is a bound on the privacy loss of a whole sequence of releases that holds even
if every release is chosen after looking at the earlier ones, and each has its own share of δ; the shares add up to
δ. A sequence is covered as long as at least one filter has covered every step of it. docs/proofs/composition.md has
the proofs, and shows why simpler rules would be wrong. All sums are exact; all rounding is towards privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from quietrank.errors import PrivacyError, option
from quietrank.promise.accounting import SLACK, Cost, lowest_point
from quietrank.promise.curve import curve_epsilon, curve_rho
from quietrank.promise.privacy import Neighbours, Privacy, Unit

GRAIN = 2**80
"""Losses at a Rényi order are rounded up to whole multiples of 1/GRAIN, so that sums stay of bounded length."""

SHARE_WITHOUT_RHO = Fraction(1, 64)
"""The share of δ reserved for (ε, δ)-DP releases without ρ, where those with ρ are counted by it; none of quietrank's
mechanisms makes releases without."""

SHARE_MIXED = Fraction(1, 192)
"""The share of δ of each filter for mixtures of pure and Gaussian releases."""

MIXED_OVERHEADS = (4, 8, 16)
"""A filter for mixtures spends this fraction (one over the number) of ε on turning Rényi privacy into (ε, δ)."""


def exact(number: float) -> Fraction:
    """The number as it is written: 0.1 is exactly a tenth, so that ten of them are 1."""
    return Fraction(repr(float(number)))


# ---- what one release costs in the unit of the ledger ----------------------------------------------------------


@dataclass(frozen=True)
class Spend:
    """A release is (ε, δ)-DP, and ρ-zCDP where ρ is not None, in the unit and for the neighbours of the ledger."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None


def spend_of(cost: Cost, k: int = 1) -> Spend:
    """What a cost for one unit amounts to for k of them: kε, δ(e^{kε} − 1)/(e^ε − 1) and k²ρ.

    By Dwork and Roth (2014, theorem 2.2), with the sum of the geometric series, and by Bun and Steinke (2016,
    proposition 1.9).
    """
    if not (0 < cost.epsilon < math.inf and 0 <= cost.delta <= 1 and (cost.rho is None or 0 < cost.rho < math.inf)):
        raise PrivacyError(f"a release cannot cost {cost}: it must cost ε > 0, δ from 0 to 1 and ρ > 0, if any")
    epsilon, rho = k * exact(cost.epsilon), None if cost.rho is None else k**2 * Fraction(cost.rho)
    return Spend(epsilon, _group_delta(cost.epsilon, cost.delta, k), rho)


def _group_delta(epsilon: float, delta: float, k: int) -> Fraction:
    """δ(e^{kε} − 1)/(e^ε − 1), rounded up; at most 1, which is no promise at all."""
    if k == 1 or delta == 0:
        return exact(delta)
    # The quotient is e^{(k−1)ε}·(1 − e^{−kε})/(1 − e^{−ε}); where the power would overflow, δ is 1 anyway.
    growth = math.exp(min((k - 1) * epsilon, 700.0)) * math.expm1(-k * epsilon) / math.expm1(-epsilon)
    return min(Fraction(1), exact(delta) * Fraction(growth * SLACK))


def units_apart(release: Privacy, unit: Unit, neighbours: Neighbours) -> int:
    """k: how many steps between neighbours of the release lead from one neighbour of the ledger to the other."""
    if release.unit is unit and release.neighbours is neighbours:
        return 1
    theirs = f"a release for {option('unit', release.unit)} with {option('neighbours', release.neighbours)}"
    ours = f"a ledger for {option('unit', unit)} with {option('neighbours', neighbours)}"
    if Neighbours.OUTCOME in (release.neighbours, neighbours):
        raise PrivacyError(
            f"{theirs} cannot be paid from {ours}: with {option('neighbours', 'outcome')} the design is public, which "
            f"no other relation allows; use the same {option('neighbours')} in both"
        )
    if release.neighbours is Neighbours.REPLACE and neighbours is Neighbours.ADD_REMOVE:
        raise PrivacyError(
            f"{theirs} cannot be paid from {ours}: it promises nothing for votes that are added or removed, whose "
            f"number it may publish; make it with {option('neighbours', 'add-remove')}"
        )
    if release.unit is unit:
        return 2  # replacing is removing and adding
    if unit is Unit.COMPARISON:
        raise PrivacyError(
            f"{theirs} cannot be paid from {ours}: one vote that is replaced can change the votes of two people, and "
            "a ledger for votes promises something even where people are unknown; use a ledger for "
            f"{option('unit', 'person')}"
        )
    return _votes_per_person(release, theirs, ours) * (1 if neighbours is Neighbours.ADD_REMOVE else 2)


def _votes_per_person(release: Privacy, theirs: str, ours: str) -> int:
    """L, where a person is at most L votes that are added or removed."""
    if release.neighbours is not Neighbours.ADD_REMOVE:
        raise PrivacyError(
            f"{theirs} cannot be paid from {ours}: two people may have different numbers of votes, so no number of "
            f"replaced votes leads from one to the other; make it with {option('unit', 'person')}, or with "
            f"{option('neighbours', 'add-remove')} and {option('max_per_person')}"
        )
    if release.max_per_person is None:
        raise PrivacyError(
            f"{theirs} and no {option('max_per_person')} cannot be paid from {ours}: nothing bounds how many votes one "
            f"person has; give {option('max_per_person')}, or make it with {option('unit', 'person')}"
        )
    return release.max_per_person


# ---- filters ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Filter:
    """A bound on a sequence: the sum of its losses plus the overhead must not exceed ε.

    Without an order it is the plain sum of ε (no δ, no overhead). With an order α it is the Rényi divergence of that
    order, and the overhead turns it into (ε, δ); α is fixed when the budget is made, before any release.
    """

    order: Fraction | None
    overhead: Fraction

    def loss(self, spend: Spend) -> Fraction | None:
        """What the release adds to the sum; None if this filter cannot bound it."""
        approximate = spend.delta > 0
        if self.order is None:
            # A release that is counted by ρ never draws on the δ reserved for those without ρ.
            return None if approximate and spend.rho is not None else spend.epsilon
        rho = spend.epsilon**2 / 2 if spend.rho is None else spend.rho
        renyi = self.order * rho
        # The loss of an ε-DP release never exceeds ε, at any order.
        return _up(renyi if approximate and spend.rho is not None else min(spend.epsilon, renyi))


def _up(loss: Fraction) -> Fraction:
    """Rounded up, towards privacy."""
    return Fraction(math.ceil(loss * GRAIN), GRAIN)


def overhead(order: float, delta: float) -> float:
    """The c for which total Rényi divergence τ at this order implies (τ + c, δ)-DP; rounded up.

    From δ = exp((α − 1)(τ − ε))·(1 − 1/α)^α/(α − 1), Canonne, Kamath and Steinke (2020), as in accounting.py.
    """
    terms = (-math.log(delta), order * math.log1p(-1 / order), -math.log(order - 1))
    return (sum(terms) + 2.0**-46 * sum(map(abs, terms))) / (order - 1) * (1 + 2.0**-50)


def delta_of_filter(one: Filter) -> float:
    """The δ that a filter needs: the formula above solved for δ."""
    if one.order is None:
        return 0.0
    order, c = float(one.order), float(one.overhead)
    return math.exp(-(order - 1) * c + order * math.log1p(-1 / order) - math.log(order - 1))


@dataclass(frozen=True)
class Spent:
    """What a sequence of releases has used up so far."""

    losses: tuple[Fraction | None, ...]
    """per filter; None once a release was made that it cannot bound"""
    delta: Fraction = Fraction(0)
    """the sum of δ over releases that are counted by (ε, δ)"""


@dataclass(frozen=True)
class Budget:
    """(ε, δ) for all releases together, however each is chosen after seeing the ones before."""

    epsilon: Fraction
    delta: Fraction
    filters: tuple[Filter, ...]
    reserve: Fraction
    """the part of δ for releases that are counted by (ε, δ): those without ρ and, where no filter uses ρ, all"""

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Budget:
        """δ divided among filters, for releases of all kinds in any order."""
        total = exact(delta)
        if total == 0:
            return cls._with_orders(epsilon, total, [], Fraction(0))
        mixed = float(total * SHARE_MIXED)
        main = float(total * (1 - SHARE_WITHOUT_RHO - len(MIXED_OVERHEADS) * SHARE_MIXED))
        orders = [(_best_order(epsilon, main), main)]
        orders += [(1 + max(0.001, part * math.log(1 / mixed) / epsilon), mixed) for part in MIXED_OVERHEADS]
        return cls._with_orders(epsilon, total, orders, total * SHARE_WITHOUT_RHO)

    @classmethod
    def plans(cls, epsilon: float, delta: float) -> tuple[Budget, ...]:
        """The ways to divide δ; the first release takes the first one that covers it. δ is divided among all filters;
        or all goes to ρ; or none, and every release is counted by its (ε, δ), so that one Gaussian release, whose ρ
        converts to more than the ε of its own curve, may use the whole budget."""
        divided, total = cls.of(epsilon, delta), exact(delta)
        if total == 0:
            return (divided,)
        all_rho = cls._with_orders(epsilon, total, [(_best_order(epsilon, delta), delta)], Fraction(0))
        return divided, all_rho, cls._with_orders(epsilon, total, [], total)

    @classmethod
    def _with_orders(
        cls, epsilon: float, delta: Fraction, orders: list[tuple[float, float]], reserve: Fraction
    ) -> Budget:
        filters = (Filter(Fraction(order), Fraction(overhead(order, share))) for order, share in orders)
        return cls(exact(epsilon), delta, (Filter(None, Fraction(0)), *filters), reserve)

    @property
    def untouched(self) -> Spent:
        """What is used up before the first release: nothing."""
        return Spent((Fraction(0),) * len(self.filters))

    @property
    def uses_rho(self) -> bool:
        """Whether some filter counts releases by ρ; otherwise each is counted by its (ε, δ)."""
        return any(one.order is not None for one in self.filters)

    def counted(self, spend: Spend) -> Spend:
        """The release as this plan counts it."""
        return spend if self.uses_rho or spend.delta == 0 else replace(spend, rho=None)

    def after(self, spent: Spent, spend: Spend) -> Spent:
        """What is used up once this release is made too."""
        spend = self.counted(spend)
        new = (one.loss(spend) for one in self.filters)
        losses = (None if a is None or b is None else a + b for a, b in zip(spent.losses, new, strict=True))
        return Spent(tuple(losses), spent.delta + (spend.delta if spend.rho is None else 0))

    def covers(self, spent: Spent) -> bool:
        """Whether (ε, δ) still holds. Sums only grow, so a filter that was exceeded once stays exceeded."""
        return spent.delta <= self.reserve and any(room >= 0 for room, _ in self._room(spent))

    def _room(self, spent: Spent) -> list[tuple[Fraction, Filter]]:
        """For each filter that is still in use: how much loss it can take."""
        pairs = zip(self.filters, spent.losses, strict=True)
        return [(self.epsilon - one.overhead - loss, one) for one, loss in pairs if loss is not None]

    def proven(self, spent: Spent) -> Fraction:
        """The smallest ε that some filter proves for the releases so far, with the δ of the budget."""
        return max(Fraction(0), min(self.epsilon - room for room, _ in self._room(spent)))

    def remaining(self, spent: Spent, k: int = 1) -> float:
        """The largest ε of one more release with δ = 0 that is covered, at a group size of k; rounded down."""
        largest = max((_largest_pure(room, one) for room, one in self._room(spent) if room > 0), default=0.0)
        return _down_until(largest / k, lambda epsilon: self.covers(self.after(spent, spend_of(Cost.pure(epsilon), k))))

    def remaining_gaussian(self, spent: Spent, delta: float, k: int = 1) -> float:
        """The same for Gaussian noise that promises (ε, δ) with this δ, by its curve."""
        if not 0 < delta < 1 or (not self.uses_rho and exact(delta) > self.reserve - spent.delta):
            return 0.0

        def fits(epsilon: float) -> bool:
            rho = curve_rho(epsilon, delta) if self.uses_rho else None
            return self.covers(self.after(spent, spend_of(Cost(epsilon, delta, rho), k)))

        if not self.uses_rho:
            return _largest(float(self.epsilon - (spent.losses[0] or 0)) / k, fits)
        rho = max(float(room / one.order) for room, one in self._room(spent) if one.order is not None) / k**2
        return _down_until(curve_epsilon(math.sqrt(2 * rho), delta), fits) if rho > 0 else 0.0


def _largest_pure(room: Fraction, one: Filter) -> float:
    """The ε with min(ε, αε²/2) equal to the room."""
    free = float(room)
    return free if one.order is None else max(free, math.sqrt(2 * free / float(one.order)))


def _down_until(number: float, fits: Callable[[float], bool]) -> float:
    """The number itself, or one a little below it that fits; 0 if none does."""
    for step in (0, *(2.0**k for k in range(-53, -20))):
        lower = number * (1 - step)
        if 1e-150 < lower < math.inf and fits(lower):
            return lower
    return 0.0


def _largest(high: float, fits: Callable[[float], bool]) -> float:
    """The largest number up to this one that fits, where all smaller ones do too; 0 if none does."""
    if (whole := _down_until(high, fits)) > 0:
        return whole
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and fits(middle) else (low, middle)
    return low


def _best_order(epsilon: float, delta: float) -> float:
    """The α that allows the largest Σρ, the maximum of (ε − c(α))/α, by golden section; any α would be sound."""

    def lost(u: float) -> float:
        order = 1 + math.exp(u)
        return (overhead(order, delta) - epsilon) / order

    # With ε = ρ + 2√(ρ log(1/δ)) the best order is near 1 + √(log(1/δ)/ρ), which is about 1 + 2·log(1/δ)/ε.
    centre = math.log(2 * math.log(1 / delta) / epsilon + 1e-3)
    return 1 + math.exp(lowest_point(lost, centre - 6, centre + 6))
