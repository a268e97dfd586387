"""Exact counts in, the vector to publish out, and back; and how far one unit can move it: what a statistic is.

Reaches are given per `change` of one unit's contribution; `Promise.reach` takes the largest over all moves. Each is
proven in docs/proofs: noisy-tally.md (L1), gaussian.md (L2) and zonotope.md (the gauge).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from quietrank.errors import PrivacyError, option
from quietrank.promise.privacy import Neighbours
from quietrank.promise.promise import Limits, Promise, Squares

if TYPE_CHECKING:
    from quietrank.arrays import Floats

BY_DESIGN = (("exposure", Fraction(1, 4)),)
"""Under a public design a clipping factor must not depend on the answers: ½‖d‖₂ bounds the norm of net wins whatever
the answers are."""

ONE_VOTE = {"wins": Fraction(1), "losses": Fraction(1), "net_wins": Fraction(1, 2), "exposure": Fraction(2)}
"""The square of the norm of what one vote adds to each of these."""


class Sums(Protocol):
    """Exact counts of each item."""

    @property
    def wins(self) -> Any: ...
    @property
    def losses(self) -> Any: ...
    @property
    def net_wins(self) -> Any: ...
    @property
    def exposure(self) -> Any: ...
    @property
    def total(self) -> Any: ...


@dataclass(frozen=True, eq=False)
class Reading:
    """What noisy values say, in lattice steps; None where they say nothing about it."""

    wins: Floats | None = None
    net_wins: Floats | None = None
    exposure: Floats | None = None
    total: Floats | None = None
    ties: Floats | None = None
    scores: Floats | None = None


@dataclass(frozen=True)
class Spread:
    """Standard deviations of the noise, and the excess kurtosis of the noise on net wins."""

    value: float
    """of each released value except the total"""
    net_wins: float
    exposure: float
    """of wins + losses, where both are released; otherwise 0"""
    kurtosis: float


class Statistic(ABC):
    """A vector computed from the votes, to be published with noise; objects of the same class are equal."""

    name: str
    per_item: int = 1
    """how many entries it has for each item"""
    extra: int = 0
    """how many more it has"""
    by_pair: bool = False
    """whether it is made from the counts of pairs"""
    secret: bool = True
    """whether all of it is worth protecting under a public design, where exposures and totals are known"""
    sums_to_zero: bool = True
    """whether the items' entries sum to zero, with losses counted as negative"""
    mirrored: bool = False
    """whether the second half are losses: noise on (wins, −losses) changes its sign there"""
    of_pairs: bool = False
    """whether its reach holds for votes on pairs only, and not for best–worst sets"""
    counts_ties: bool = False
    """whether its last entry is the weight of all ties (ties.py)"""
    squares: Squares = ()
    """the square of the Euclidean norm of a contribution, as in `Clip.squares`; empty: not for Gaussian noise"""
    offered: tuple[Fraction, ...] = ()
    """what α or β may be, powers of ½; empty: there is none"""
    fixed: Fraction | None = None
    """α or β, where it was chosen (maths/shares.py)"""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def size(self, items: int) -> int:
        """How many entries it has in all."""
        return self.per_item * items + self.extra

    def share(self, promise: Promise) -> Fraction:
        """What the entries after the first n are multiplied by: α or β."""
        return Fraction(1)

    def with_share(self, share: Fraction) -> Statistic:
        """The same with this α or β in its vector and in all its norms; where there is none, the same."""
        return self

    def checked_share(self, share: Fraction | None) -> Fraction | None:
        """The same share, if its reach is derived and its lattice fine enough."""
        if share is not None and share not in self.offered:
            raise AssertionError(f"the share must be one of {', '.join(map(str, self.offered))}, not {share}")
        return share

    def lattice(self, promise: Promise) -> Fraction:
        """The step that contains every contribution, in half votes: the smallest of its shares, all powers of ½."""
        return self.share(promise)

    def shares(self, share: float) -> tuple[float, ...]:
        """What each of the entries after those of items is multiplied by, where a law says what noise it has."""
        return (share,) * self.extra

    # ---- how far one unit can move it ------------------------------------------------------------------------------

    @abstractmethod
    def l1(self, change: Neighbours, limits: Limits, share: Fraction) -> Fraction | int | None:
        """The largest L1 distance, in votes; None: not for noise that is calibrated in this norm."""

    def l2(self, change: Neighbours) -> Fraction:
        """The largest squared L2 distance of contributions of norm C, in units of C²: ‖x‖² or ‖x − x'‖² ≤ (2C)²."""
        return Fraction(1 if change is Neighbours.ADD_REMOVE else 4)

    def l2_parts(self, change: Neighbours) -> tuple[Fraction, ...]:
        """f_k such that Σ_k ‖Δ_k‖²/f_k ≤ C² for the change Δ_k of each of its parts, in the order of `squares`: the
        first moves as `l2` says, and the others are not negative (docs/proofs/ball.md, section 3)."""
        of_others = Fraction(2 if change is Neighbours.REPLACE else 1)
        return (self.l2(change), *(of_others for _ in self.squares[1:]))

    def gauge(self, change: Neighbours) -> Fraction | None:
        """The factor by which the zonotope mechanism's body K must be scaled to contain the difference; None: no K."""
        return None

    def require_secret(self, promise: Promise) -> None:
        """Under a public design exposures and totals are known: there is no reason to spend noise on them."""
        if promise.privacy.neighbours is Neighbours.OUTCOME and not self.secret:
            raise PrivacyError(
                f"{self} is public in part under {option('neighbours', promise.privacy.neighbours)}; release net-wins"
            )

    def norm(self, promise: Promise) -> Squares:
        """The squares that a clip bounds under this promise."""
        by_design = promise.privacy.neighbours is Neighbours.OUTCOME
        return BY_DESIGN if by_design else self.squares

    def one_vote(self, promise: Promise) -> Fraction:
        """The square of the norm of what one vote adds."""
        if promise.privacy.neighbours is Neighbours.OUTCOME:
            return ONE_VOTE["net_wins"]  # whatever its answer, and however many items it shows
        squares = ONE_VOTE | {"exposure": Fraction(promise.items.shown)}
        return sum((weight * squares[name] for name, weight in self.norm(promise)), Fraction(0))

    # ---- its vector, and back --------------------------------------------------------------------------------------

    @abstractmethod
    def parts(self, sums: Sums) -> tuple[Any, ...]:
        """The vector in its parts, in the units of the sums."""

    def vector(self, sums: Any, finer: int, share: Fraction) -> Any:
        """The exact vector on a lattice `finer` times as fine as that of the sums; `finer * share` must be whole."""
        first, *others = self.parts(sums)
        return np.concatenate(
            [_finer(first, finer), *(_finer(np.atleast_1d(part), int(finer * share)) for part in others)]
        )

    @abstractmethod
    def read(self, values: Any, share: float) -> Reading:
        """What values of this statistic say; linear, so that it reads noise as well. Items are the last axis."""

    def unsigned(self, signed: Floats) -> Floats:
        """(wins, −losses) to (wins, losses); other statistics unchanged."""
        if not self.mirrored:
            return signed
        n = signed.shape[-1] // 2
        return np.concatenate([signed[..., :n], -signed[..., n:]], axis=-1)

    def spread(self, variance: float, covariance: float, kurtosis: float, share: float) -> Spread:
        """From the variance of an entry and its covariance with the others; losses are counted as negative."""
        return Spread(sqrt(variance), sqrt(variance), 0.0, kurtosis)

    def ranked_by(self, spread: Spread) -> float:
        """The standard deviation of the noise on what items are ranked by."""
        return spread.net_wins


LARGEST = 2**63 - 1
"""what 64 bits hold"""


def _finer(part: Any, factor: int) -> Any:
    """The part on a finer lattice; a sum that would wrap around there must not come near a draw."""
    largest = max((abs(int(part.min())), abs(int(part.max()))), default=0) if part.size else 0
    if largest * factor > LARGEST:
        raise PrivacyError(
            "these counts are too large for the lattice of the noise; they were not released: give a smaller "
            f"{option('max_per_person')}, or use {option('mechanism', 'laplace')}"
        )
    return part * factor
