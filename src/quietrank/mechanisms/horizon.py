"""The days of a board in, what they publish and how it is read back out: what all noise of boards has in common.

Day t publishes, for the increments x_j of the tally and for independent draws z_k,

    y_t = Σ_{j ≤ t} M_tj·x_j + Σ_k B_tk·z_k,

in whole numbers: counts in steps of FINE, M in multiples of 1/GRID, and both sums in steps of STEP. Boards are read
back from all y so far, which is post-processing. docs/proofs/boards.md proves what each kind of noise promises.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from quietrank.errors import PrivacyError, option
from quietrank.mechanisms.mechanism import Figure
from quietrank.promise.accounting import Cost
from quietrank.promise.privacy import Neighbours, Privacy, Unit
from quietrank.promise.promise import FINE, PERSON_GRID, Clip, Promise, whole_squares
from quietrank.statistics.net_wins import NetWinsAndExposures

if TYPE_CHECKING:
    from quietrank.arrays import Floats, Integers

GRID = 2**12
"""M is a whole number of 1/GRID; with people's weights of 2^-20 and 64 bits, an item may have 2^29 votes"""
LONGEST = 4000
"""days of a horizon"""
STEP = FINE / GRID
"""the lattice of what is published, in votes"""
FULL = 2**61
"""steps: sums beyond this many are not shown; what is published ends at 2^63"""


class Drawing(Protocol):
    """Independent draws of noise, as whole numbers of any size."""

    def draw_fresh(self, size: int) -> Integers | list[int]: ...


class Limit(Protocol):
    """How much one person may add over the whole horizon, in whole numbers, decided day by day.

    What the votes of one day add is A = G_tt·Σ over items of (net·n² + met·d² + each·d), n twice the net wins and d the
    exposures of a person; together with those of the days u before, B = Σ_u G_tu·(net·n·n_u + met·d·d_u)."""

    @property
    def net(self) -> int: ...
    @property
    def met(self) -> int: ...
    @property
    def each(self) -> int: ...

    def weight(self, before: int, mixed: int, added: int) -> tuple[int, int]:
        """W, the largest weight of the day's votes that the limit allows, in units of 2^-20, and what is then reached:
        from N, what was reached before, B and A."""
        ...


@dataclass(frozen=True)
class Norm:
    """The squared Euclidean norm of what is encoded, Σ_tu G_tu⟨x_t, x_u⟩, is at most K."""

    net: int
    """the weight of the squares of twice the net wins"""
    met: int
    """of the squares of exposures"""
    most: int
    """K"""
    each: ClassVar[int] = 0

    @classmethod
    def of(cls, clip: Clip, square: int) -> Norm:
        """From C and S·GRID²."""
        terms, finer = whole_squares(clip)
        room = (2 * clip.norm * PERSON_GRID * finer) ** 2 * square
        return cls(terms["net_wins"], terms["exposure"], math.floor(room))

    def weight(self, before: int, mixed: int, square: int) -> tuple[int, int]:
        """The largest W with N + 2W·B + W²·A ≤ K."""
        room = self.most - before
        if room < 0 or square < 0:
            raise AssertionError("somebody's limit was exceeded before")
        if square == 0:
            return PERSON_GRID, before  # what adds nothing is not bounded
        # m ≤ (√(B² + A·room) − B)/A for whole m, if and only if mA + B ≤ ⌊√…⌋.
        largest = (math.isqrt(mixed * mixed + square * room) - mixed) // square
        chosen = max(0, min(PERSON_GRID, largest))
        return chosen, before + 2 * chosen * mixed + chosen * chosen * square


@dataclass(frozen=True)
class Weight:
    """The total weight of a person's votes is at most L: the sum of their exposures is at most K = 2L, in units."""

    most: int
    """K"""
    net: ClassVar[int] = 0
    met: ClassVar[int] = 0
    each: ClassVar[int] = 1

    @classmethod
    def of(cls, limit: int) -> Weight:
        return cls(2 * limit * PERSON_GRID)

    def weight(self, before: int, mixed: int, added: int) -> tuple[int, int]:
        """The largest W with N + W·A ≤ K; rounded down, towards privacy."""
        room = self.most - before
        if room < 0 or mixed or added <= 0:
            raise AssertionError("somebody's limit was exceeded before")
        chosen = min(PERSON_GRID, room // added)
        return chosen, before + chosen * added


@dataclass(frozen=True)
class BoardNoise(ABC):
    """The noise of every day of a board, and everything that is public about it."""

    promise: Promise
    statistic: NetWinsAndExposures
    name: ClassVar[str]
    """of the mechanism"""
    norm: ClassVar[str]
    """in which its reach is measured"""
    keeps_draws: ClassVar[bool]
    """whether a draw is used on more than one day, so that it has to be kept, confidentially"""

    @classmethod
    @abstractmethod
    def is_for(cls, privacy: Privacy) -> bool:
        """Whether it is the noise for such a promise."""

    @classmethod
    @abstractmethod
    def over(cls, promise: Promise, horizon: int, window: int | None) -> Self:
        """The least noise that keeps the promise over the whole horizon."""

    # ---- what one person may add, and what that costs --------------------------------------------------------------

    @property
    @abstractmethod
    def limit(self) -> Limit:
        """What bounds each person."""

    @abstractmethod
    def gram(self, day: int) -> list[int]:
        """G_tu for u = 1, …, t, as in `Limit`."""

    @property
    @abstractmethod
    def sensitivity(self) -> float:
        """How far one person moves everything that is published, in votes and in `norm`."""

    @property
    @abstractmethod
    def loss(self) -> Cost:
        """Of all days together; recomputed before every draw."""

    @property
    def cost(self) -> Cost:
        """What the whole horizon is charged."""
        privacy = self.promise.privacy
        return Cost(privacy.epsilon, privacy.delta, self.loss.rho)

    # ---- what a day publishes --------------------------------------------------------------------------------------

    @abstractmethod
    def weights(self, day: int) -> list[int]:
        """M_t1, …, M_tt, in multiples of 1/GRID."""

    @abstractmethod
    def mixing(self, day: int) -> dict[int, int]:
        """B_tk by k, where it is not 0: what a draw is multiplied by to be in steps of STEP."""

    @abstractmethod
    def last_day(self, draw: int) -> int:
        """The last day whose votes this draw protects: an item that joins later needs none of it."""

    @abstractmethod
    def noises(self, draw: int) -> tuple[Drawing, Drawing]:
        """The noise of z_k on net wins and on exposures."""

    # ---- how it is read back ---------------------------------------------------------------------------------------

    @abstractmethod
    def reading(self, day: int) -> Floats:
        """c with board_t = Σ_{j ≤ t} c_j·y_j: over all days, or those of the window."""

    @abstractmethod
    def in_all(self, day: int) -> Floats:
        """The same for the sum of all days so far, whatever the window."""

    @abstractmethod
    def drawn(self, day: int, joined: int = 1) -> Floats:
        """The noise on the net wins of this day's board as a combination of draws of standard deviation 1, in votes,
        for an item that joined on day `joined`."""

    @abstractmethod
    def drawn_in_all(self, day: int) -> Floats:
        """The same on the sum of all days so far, whatever the window; nothing on day 0."""

    def spread(self, day: int, joined: int = 1) -> float:
        """The standard deviation of the noise on a board's net wins, in votes."""
        return float(np.linalg.norm(self.drawn(day, joined)))

    def spread_of_days(self, start: int, end: int) -> float:
        """The same of the sum of the days after `start`, up to `end`, whatever the window: the difference between two
        sums, which share noise."""
        return float(np.linalg.norm(self.drawn_in_all(end) - self.drawn_in_all(start)))

    def equal_draws(self, day: int) -> float:
        """How many equal draws of Laplace noise the noise of a board is like: (Σc²)²/Σc⁴; infinite if it is normal."""
        return math.inf

    def figures(self, spread: float) -> dict[str, Figure]:
        """What a release says about the noise of a board with this spread."""
        return {"sensitivity": self.sensitivity, "norm": self.norm, "scale": spread}

    @property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """What the public file of a board says about it."""


def require_days(horizon: int, window: int | None) -> None:
    """Refuse a horizon or a window that is out of range."""
    if not 1 <= horizon <= LONGEST:
        raise PrivacyError(f"{option('horizon')} must be a whole number from 1 to {LONGEST}; got {horizon}")
    if window is not None and not 1 <= window <= horizon:
        raise PrivacyError(f"{option('window')} must be a whole number from 1 to the horizon, {horizon}; got {window}")


def require_people(promise: Promise) -> None:
    """Refuse what no board promises."""
    privacy = promise.privacy
    if privacy.unit is not Unit.PERSON or privacy.neighbours is Neighbours.OUTCOME:
        raise PrivacyError(
            f"a board protects people: use {option('unit', 'person')}, and {option('neighbours')} replace or add-remove"
        )
    if privacy.one_per_pair or privacy.chooses_limit:
        raise PrivacyError(
            f"on a board people are bounded over the whole horizon, by a number that is fixed when it is made; leave "
            f"{option('one_per_pair')} and {option('max_per_person', 'auto')} out"
        )
    promise.require_pairs("a board")
