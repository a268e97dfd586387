"""`Noised` values in, a `NoisyTally` out: the private statistic, with everything that estimators may look at.

Whatever is computed from it is post-processing: it may be wrong, it cannot leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.mechanisms.limit import ChosenLimit
from quietrank.mechanisms.mechanism import Calibrated, Law, Noised, PublicPairs, PublicSets, read_only
from quietrank.mechanisms.perturbed_mle.mechanism import ScoresLaw
from quietrank.mechanisms.scatter import Scatter
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design, GroupOf, Privacy
from quietrank.publish.tabular import NoiseRecord
from quietrank.statistics.statistic import Reading, Statistic


@dataclass(frozen=True)
class JointScatter:
    """The scatters of several groups whose counts were added up (estimate/overall.py)."""

    scatters: tuple[Scatter, ...]
    group_of: GroupOf
    """PERSON: nobody is in two of them"""


@dataclass(frozen=True, eq=False, repr=False)
class NoisyTally:
    """A statistic with noise on it, what the noise was, and what was public from the start.

    `noisy_tally` makes it, `to_json` and `from_json` save and load it, and `rerank` makes releases from it at no cost.

    >>> import quietrank as qr
    >>> votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
    >>> tally = qr.noisy_tally(votes, qr.Privacy(epsilon=1, unit="comparison"), method="net-wins")
    >>> tally.mechanism, len(tally.values)
    ('laplace', 4)
    """

    items: Items
    privacy: Privacy
    statistic: Statistic
    values: Integers
    """the noisy statistic in lattice steps"""
    step: Fraction
    """one lattice step, in votes"""
    share: Fraction
    """α or β, where the statistic is (s, αT) or (s, βd); else 1"""
    mechanism: str
    figures: tuple[tuple[str, float | str], ...]
    """what is public about the noise: sensitivity, scale and the like"""
    law: Law
    """how the noise on the values is distributed"""
    public_exposure: Floats | None
    """under a public design, how much weight each item's comparisons have"""
    public_total: float | None
    """the number of votes, where it is the same for all neighbours"""
    public_pairs: PublicPairs | None
    """under a public design, who met whom, if the method needs it"""
    rows_skipped: bool
    """whether unusable rows were to be skipped; not whether there were any"""
    notes: tuple[str, ...] = ()
    """how the votes were read, as far as readers must know it; nothing in it depends on the votes"""
    ledger_entry: str | None = None
    """the id of the ledger's entry that paid for it"""
    alternatives: tuple[tuple[str, float], ...] = ()
    """where the mechanism was chosen: the noise on counts that each candidate would have had (standard deviation)"""
    people: int | None = None
    """the number of people, where it is the same for all neighbours"""
    scatter: Scatter | None = None
    """how much the votes of people vary, if that was bought"""
    limit: ChosenLimit | None = None
    """how the limit on people's votes was chosen, if it was not given"""
    scatter_of_groups: JointScatter | None = None
    """the same, where these are the counts of several groups added up"""
    where: str | None = None
    """the condition that rows had to meet to be counted"""
    public_sets: PublicSets | None = None
    """under a public design, the best–worst sets that were shown, if the method needs it"""
    unmeasured: float = 0.0
    """the part of ε that was spent on a scatter which could then not be measured"""
    met: PublicPairs | None = None
    """how often each pair met, as estimated from what was released, where exposures are known by month"""

    def __post_init__(self) -> None:
        read_only(self.values, self.public_exposure)

    def __repr__(self) -> str:
        size = f"{self.statistic.name} of {len(self.items)} items"
        return f"<NoisyTally: {size}; {self.privacy.strength}, {self.mechanism}>"

    def to_json(self, path: str | Path | None = None, *, overwrite: bool = False) -> str:
        """The noisy tally as JSON text; also written to `path`, whole or not at all, in place of an earlier one only
        with `overwrite`."""
        from quietrank.publish.tally_file import save

        return save(self, path, overwrite=overwrite)

    @classmethod
    def from_json(cls, path: str | Path) -> NoisyTally:
        """Read a noisy tally from a file, or from the text of one."""
        from quietrank.publish.tally_file import load

        return load(path, cls)

    @classmethod
    def of(
        cls,
        calibrated: Calibrated,
        noised: Noised,
        *,
        epsilon: float | None = None,
        rows_skipped: bool = False,
        notes: tuple[str, ...] = (),
        alternatives: tuple[tuple[str, float], ...] = (),
        limit: ChosenLimit | None = None,
        where: str | None = None,
    ) -> NoisyTally:
        """What left the confidential side, and all that is public about its noise; `epsilon` is that of
        counts and scatter together, where that was bought."""
        return cls(
            items=calibrated.promise.items,
            privacy=calibrated.privacy if epsilon is None else calibrated.privacy.changed(epsilon=epsilon),
            statistic=calibrated.statistic,
            values=noised.values,
            step=calibrated.step,
            share=calibrated.share,
            mechanism=calibrated.mechanism.name,
            figures=calibrated.figures,
            law=calibrated.law,
            public_exposure=noised.public_exposure,
            public_total=noised.public_total,
            public_pairs=noised.public_pairs,
            rows_skipped=rows_skipped,
            notes=notes,
            ledger_entry=noised.ledger_entry,
            alternatives=alternatives,
            people=noised.people,
            scatter=noised.scatter,
            limit=limit,
            where=where,
            public_sets=noised.public_sets,
            unmeasured=noised.unmeasured,
        )

    @cached_property
    def _reading(self) -> Reading:
        return self.statistic.read(self.values, float(self.share))

    def _votes(self, steps: Floats | None) -> Floats | None:
        return None if steps is None else np.asarray(steps * float(self.step), dtype=np.float64)

    @property
    def wins(self) -> Floats | None:
        """Noisy win counts, if they were released."""
        return self._votes(self._reading.wins)

    @property
    def net_wins(self) -> Floats | None:
        """Noisy s = (wins − losses)/2, if it was released."""
        return self._votes(self._reading.net_wins)

    @property
    def scores(self) -> Floats | None:
        """θ, centred, if scores were released instead of counts."""
        theta = self._votes(self._reading.scores)
        return None if theta is None else np.asarray(theta - theta.mean())

    @property
    def released_exposure(self) -> Floats | None:
        """d with noise on it, if it was released."""
        return self._votes(self._reading.exposure)

    @property
    def ties(self) -> float | None:
        """K, the weight of all ties, with noise on it, if it was released."""
        known = self._votes(self._reading.ties)
        return None if known is None else float(known)

    @property
    def count_sd(self) -> float:
        """The standard deviation of the noise on what items are ranked by: net wins, or wins."""
        return self.statistic.ranked_by(self.law.spread)

    @property
    def knows_people(self) -> bool:
        """Whether it was bought how much the votes of people vary."""
        return self.scatter is not None or self.scatter_of_groups is not None

    @property
    def counted_total(self) -> float | None:
        """T, the total weight of all votes: public, noisy, or unknown."""
        if self.public_total is not None:
            return self.public_total
        released, exposure = self._votes(self._reading.total), self.released_exposure
        if released is not None:
            return float(released)
        return None if exposure is None else float(exposure.sum()) / self.items.shown

    @property
    def total(self) -> float | None:
        """The same, raised where it is too small to be true."""
        weight = self.counted_total
        if weight is None or self.public_total is not None:
            return weight
        if self.privacy.design is not Design.UNIFORM or self.net_wins is None:
            return weight
        # s_i = d_i(τ_i − ½) with d_i = MT/n for all items, M = 2 for pairs: a total at which a win rate passes 1 is too
        # small.
        return max(weight, 2 * len(self.items) / self.items.shown * float(np.abs(self.net_wins).max()))

    @property
    def record(self) -> NoiseRecord:
        """What a release says about its noise."""
        spread, step = self.count_sd, float(self.step)
        if isinstance(self.law, ScoresLaw):
            figures = dict(self.figures) | {
                "step": step, "score_noise_sd": spread, "score_noise_for": self.law.holds_for
            }  # fmt: skip
        else:
            figures = {"statistic": self.statistic.name} | dict(self.figures) | {"step": step, "noise_sd": spread}
        return NoiseRecord(self.mechanism, tuple(figures.items()), self.alternatives)

    @property
    def exposure(self) -> Floats | None:
        """d, the weight of the comparisons each item was in: public, noisy, by the uniform design, or unknown."""
        n = len(self.items)
        if self.public_exposure is not None:
            return self.public_exposure
        if self.privacy.design is Design.UNIFORM and self.total is not None:
            return np.full(n, self.items.shown * self.total / n)
        if self.released_exposure is not None:
            return shrunk(self.released_exposure, self.law.spread.exposure)
        return None


def shrunk(noisy: Floats, noise_sd: float) -> Floats:
    """Noisy exposures moved towards their mean, the more so the more of their variance is noise (empirical Bayes)."""
    mean = noisy.mean()
    return np.asarray(mean + (noisy - mean) * kept_share(noisy, noise_sd))


def kept_share(noisy: Floats, noise_sd: float) -> float:
    """The part of the variance of noisy values that is not noise."""
    variance = float(noisy.var())
    return max(0.0, variance - noise_sd**2) / variance if variance > 0 else 1.0


def stands_out(noisy: Floats, noise_sds: Floats) -> bool:
    """Whether values differ by more than their noise, so that their order is not mostly noise: whether of their
    variance more than half is left without the mean variance of the noise."""
    square = float(np.square(noise_sds).mean())
    return float(noisy.var()) - square > square


@dataclass(frozen=True, eq=False, repr=False)
class GroupedTally:
    """One noisy tally per group, which keep one promise together; `noisy_tally_by_group` makes it for `rerank`.

    >>> import pyarrow as pa
    >>> import quietrank as qr
    >>> table = pa.table({"winner": ["tea", "tea"], "loser": ["water", "water"], "country": ["fr", "de"]})
    >>> votes = qr.read_votes(table, ["tea", "water"], by="country", groups=["de", "fr"])
    >>> tally = qr.noisy_tally_by_group(votes, qr.Privacy(epsilon=1, unit="comparison"))
    >>> [(country, one.mechanism) for country, one in tally.tallies]
    [('de', 'laplace'), ('fr', 'laplace')]
    """

    by: str
    """what the votes were split by"""
    tallies: tuple[tuple[str, NoisyTally], ...]
    """each group with its tally, in the order in which the groups were declared"""
    group_of: GroupOf = GroupOf.VOTE
    """whose group it is"""
    public_votes: int | None = None
    """the number of votes in all groups together, where it is the same for all neighbours; that of one group never is,
    unless the design is public"""

    def __repr__(self) -> str:
        first = self.tallies[0][1]
        size = f"{len(self.tallies)} groups by {self.by!r}, {first.statistic.name} of {len(first.items)} items each"
        return f"<GroupedTally: {size}; {first.privacy.strength}, {first.mechanism}>"

    def to_json(self, path: str | Path | None = None, *, overwrite: bool = False) -> str:
        """All groups as JSON text; also written to `path`, as by `NoisyTally.to_json`."""
        from quietrank.publish.tally_file import save

        return save(self, path, overwrite=overwrite)

    @classmethod
    def from_json(cls, path: str | Path) -> GroupedTally:
        """Read the noisy tallies of all groups from a file, or from the text of one."""
        from quietrank.publish.tally_file import load

        return load(path, cls)
