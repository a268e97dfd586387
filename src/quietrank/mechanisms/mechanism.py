"""A promise and a statistic in, calibrated noise, its loss and its public law out: what a mechanism is.

A mechanism is one object in one file; `registry.py` lists those of the library, and `register` adds others
(examples/own_mechanism.py). All of it is computed from public values: the promise, the list of items and askable pairs,
and, where all neighbours share it, the number of votes. Nothing here draws the noise of a release: `crossing.py` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from quietrank.errors import PrivacyError, option
from quietrank.maths import shares
from quietrank.promise.accounting import Cost
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Clip, Promise
from quietrank.statistics.statistic import Spread, Statistic
from quietrank.statistics.ties import WithTies

if TYPE_CHECKING:
    from quietrank.arrays import Floats, Integers
    from quietrank.mechanisms.scatter import Scatter

Figure = float | str
"""what a release says about its noise: a number or a word"""


class Noise(Protocol):
    """Calibrated noise: exact values in lattice steps in, the same values with fresh noise out."""

    def add_to(self, values: Any) -> Integers: ...


class Law(ABC):
    """How the noise on the released values is distributed; public, in votes.

    It serves planning, intervals and estimators, which need to know how far off a noisy value may be.
    """

    @property
    @abstractmethod
    def spread(self) -> Spread:
        """Standard deviations of the noise."""

    @property
    @abstractmethod
    def size(self) -> float:
        """What the noise is proportional to."""

    @abstractmethod
    def of_size(self, size: float) -> Law:
        """The same law at another size."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, draws: int) -> Floats:
        """`draws` rows of pseudo-random noise, in votes; never used for a release."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What a saved tally says about it."""

    @property
    def most_draws(self) -> int | None:
        """How many draws a plan should sample at most, where they take long."""
        return None

    def log_density(self, noise: Floats) -> Floats | None:
        """The logarithm of the density of each row of noise; None where no formula is known."""
        return None

    def cdf(self, x: Floats) -> Floats | None:
        """P(noise on an item's first entry ≤ x); None where no formula is known."""
        return None

    def quantile(self, p: float) -> float | None:
        """The x with cdf(x) = p, 0 < p < 1; None where no formula is known."""
        if self.cdf(np.zeros(1)) is None:
            return None
        low, high = -self.spread.value, self.spread.value
        while self._below(low) > p:
            low *= 2
        while self._below(high) < p:
            high *= 2
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if self._below(middle) < p else (low, middle)
        return (low + high) / 2

    def _below(self, x: float) -> float:
        (share,) = np.asarray(self.cdf(np.array([x])))
        return float(share)


@dataclass(frozen=True)
class Calibrated:
    """Noise that keeps a promise, and everything that is public about it."""

    mechanism: Mechanism
    promise: Promise
    """the promise that is kept: δ = 0 for pure mechanisms, the clipping bound filled in"""
    statistic: Statistic
    noise: Noise
    step: Fraction
    """the lattice of the released values, in votes"""
    law: Law
    cost: Cost
    figures: tuple[tuple[str, Figure], ...]
    share: Fraction = Fraction(1)
    """α or β, where the statistic is (s, αT) or (s, βd)"""
    clip: Clip | None = None

    @property
    def privacy(self) -> Privacy:
        return self.promise.privacy

    @property
    def noise_sd(self) -> float:
        """The standard deviation of the noise on what items are ranked by, in votes."""
        return self.statistic.ranked_by(self.law.spread)


@dataclass(frozen=True, eq=False)
class PublicPairs:
    """Under a public design: the pairs that met, i < j, and the weight of their votes."""

    i: Integers
    j: Integers
    counts: Floats

    def __post_init__(self) -> None:
        read_only(self.i, self.j, self.counts)


@dataclass(frozen=True, eq=False)
class PublicSets:
    """Under a public design: the best–worst sets that were shown, and the weight of their votes; no answers."""

    sets: Integers
    """a row for each: its items in ascending order, then −1 where it has fewer than the largest"""
    counts: Floats

    def __post_init__(self) -> None:
        read_only(self.sets, self.counts)


@dataclass(frozen=True, eq=False)
class Noised:
    """Everything that leaves the confidential side, for one tally."""

    values: Integers
    """the noisy statistic, in lattice steps"""
    public_exposure: Floats | None
    """under a public design, the total weight of each item's comparisons"""
    public_total: float | None
    """the number of votes, where it is the same for all neighbours"""
    public_pairs: PublicPairs | None
    """under a public design, who met whom, if the votes were counted by pair"""
    ledger_entry: str | None
    """the id of the ledger entry that paid for it"""
    people: int | None = None
    """the number of people, where it is the same for all neighbours"""
    scatter: Scatter | None = None
    """how much the votes of people vary, if that was bought"""
    public_sets: PublicSets | None = None
    """under a public design, the best–worst sets that were shown, if they were counted"""
    unmeasured: float = 0.0
    """the part of ε that was spent on a scatter which could then not be measured"""

    def __post_init__(self) -> None:
        read_only(self.values, self.public_exposure)


def read_only(*arrays: NDArray[Any] | None) -> None:
    """Released values must not change: writing to these arrays is an error from now on."""
    for array in arrays:
        if array is not None:
            array.flags.writeable = False


class Mechanism(ABC):
    """Noise of one kind; objects of the same class are equal, unless they are data classes with options."""

    name: ClassVar[str]
    about: ClassVar[str]
    """a few words for whoever has to choose"""
    statistics: ClassVar[tuple[Statistic, ...]]
    """what it can release; if two of them would do, the first is used"""
    uses_votes: ClassVar[bool] = False
    """whether its calibration uses the number of votes, where that is public"""
    automatic: ClassVar[bool] = False
    """whether `auto` may choose it where it applies"""
    for_rates: ClassVar[bool] = False
    """whether `auto` chooses it for rates and scores rather than for counts: it clips people without being asked to,
    and clipped counts are not counts of votes, and carry no intervals"""
    with_ties: ClassVar[bool] = False
    """whether it can release the weight of all ties beside its statistics"""

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def require(self, promise: Promise, statistic: Statistic) -> None:
        """Raise the reason why it cannot release this statistic under this promise, if there is one."""
        if statistic not in self.statistics:
            raise PrivacyError(
                f"the {self} mechanism does not release {statistic}; choose another {option('method')} or "
                f"{option('mechanism')}"
            )

    def _require(self, promise: Promise, statistic: Statistic) -> None:
        if statistic.counts_ties and not self.with_ties:
            raise PrivacyError(
                f"the {self} mechanism does not count ties apart, as {option('ties', 'davidson')} needs; use "
                f"{option('ties', 'half')}, or another {option('mechanism')}"
            )
        if statistic.of_pairs:
            promise.require_pairs(str(statistic))
        self.require(promise, statistic)

    def refusal(self, promise: Promise, statistic: Statistic) -> PrivacyError | None:
        """The reason why it cannot release this statistic under this promise; None if it can."""
        try:
            self._require(promise, statistic)
        except PrivacyError as reason:
            return reason
        return None

    def keeps(self, promise: Promise, statistic: Statistic) -> tuple[Promise, Clip | None]:
        """The promise it keeps, and the clip, if any, by which contributions must be bounded."""
        return promise.pure, None

    def calibrate(self, promise: Promise, statistic: Statistic, votes: int | None = None) -> Calibrated:
        """The noise that keeps the promise; `votes` is their number, given only where all neighbours have the same."""
        self._require(promise, statistic)
        statistic = self._fitted(promise, statistic)
        if not isinstance(statistic, WithTies):
            return self._calibrated(promise, statistic, votes)
        fitted = statistic.at(self.ties_share(promise, statistic))
        with_ties = self._calibrated(promise, fitted, votes)
        without = self._calibrated(promise, statistic.base, votes)
        price: dict[str, Figure] = {
            "ties_share": float(fitted.kappa), "ties_price": with_ties.noise_sd / without.noise_sd - 1
        }  # fmt: skip
        return replace(with_ties, figures=(*with_ties.figures, *price.items()))

    def _calibrated(self, promise: Promise, statistic: Statistic, votes: int | None) -> Calibrated:
        kept, clip = self.keeps(promise, statistic)
        return self.noise_for(kept, statistic, clip, votes)

    def _fitted(self, promise: Promise, statistic: Statistic) -> Statistic:
        """With the share of the least expected error; ties are counted beside it, so that they do not matter here."""
        if isinstance(statistic, WithTies):
            return replace(statistic, base=self._fitted(promise, statistic.base))
        if self.growth(promise, statistic) is None:
            return statistic
        share = shares.best_share(statistic, promise, lambda one: self.growth(promise, one) or 0.0)
        return statistic if share is None else statistic.with_share(share)

    def growth(self, promise: Promise, statistic: Statistic) -> float | None:
        """What the variance of the noise on net wins is proportional to when the statistic's share changes; None: the
        usual share is taken."""
        return None

    def require_share(self, calibrated: Calibrated) -> None:
        """The values must be multiplied by the share that their reach was computed with."""
        if calibrated.share != calibrated.statistic.share(calibrated.promise):
            raise AssertionError("this noise was calibrated for another share")

    def ties_share(self, promise: Promise, statistic: WithTies) -> Fraction:
        """κ, by which the weight of all ties is multiplied, from public values; whatever it is, the reach is right."""
        return Fraction(1)

    @abstractmethod
    def noise_for(self, promise: Promise, statistic: Statistic, clip: Clip | None, votes: int | None) -> Calibrated:
        """The noise, where the mechanism applies: for the promise that it keeps and the clip, as `keeps` gave them."""

    @abstractmethod
    def loss(self, calibrated: Calibrated) -> Cost:
        """The privacy loss of this noise, recomputed from the sensitivity before every draw."""

    def charged_as(self, statistic: Statistic) -> str:
        """A few words for whoever reads the ledger."""
        return f"{self.name} noise on {statistic}"

    def total_is_free(self, promise: Promise) -> bool:
        """Whether it charges nothing for the total in addition to net wins."""
        return False
