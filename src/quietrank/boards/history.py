"""A public `Log` in; the noisy tally of any day, and of what changed since a day, out. All of it is post-processing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quietrank.boards.log import Log
from quietrank.errors import BoardError
from quietrank.estimate.noisy import GroupedTally, NoisyTally, shrunk, stands_out
from quietrank.maths.scores import RankOneDesign, rank_one_weights
from quietrank.mechanisms.board_law import BoardLaw
from quietrank.mechanisms.horizon import FULL, STEP
from quietrank.mechanisms.mechanism import PublicPairs
from quietrank.promise.items import Items
from quietrank.promise.privacy import GroupOf
from quietrank.promise.promise import FINE
from quietrank.publish.release import Release

if TYPE_CHECKING:
    from quietrank.arrays import Floats

MONTH = 30
"""days; exposures are kept by month, because items that join later are often stronger"""


@dataclass(frozen=True)
class Reading:
    """The board of one day, decoded, for one group; public."""

    log: Log
    day: int
    part: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.day <= len(self.log.days):
            raise BoardError(
                f"this board has {len(self.log.days)} of {self.log.terms.horizon} {self.log.terms.every}s; there is no "
                f"{self.log.terms.every} {self.day}"
            )

    @property
    def since(self) -> tuple[int, ...]:
        return self.log.since[: self.log.listed(self.day)]

    def board(self) -> tuple[Floats, Floats]:
        """Net wins and exposures on this day, in votes."""
        net_wins, exposures = self.published
        c = self.log.terms.noise.reading(self.day)
        return c @ net_wins, c @ exposures

    @cached_property
    def published(self) -> tuple[Floats, Floats]:
        """y: what was published on each day up to this one, of the items that are listed now, in votes."""
        net_wins, exposures = np.zeros((2, self.day, len(self.since)))
        for k, day in enumerate(self.log.days[: self.day]):
            listed = self.log.listed(day.number)
            place = slice(self.part * listed, (self.part + 1) * listed)
            net_wins[k, :listed], exposures[k, :listed] = day.net_wins[place], day.exposures[place]
        if max(np.abs(net_wins).max(), np.abs(exposures).max()) > FULL:
            raise BoardError("an item has more votes than a board can hold, 2^28 on a day; publish more often")
        return net_wins * float(STEP), exposures * float(STEP)

    @property
    def spreads(self) -> Floats:
        """The standard deviation of the noise on each item's net wins, in votes."""
        noise = self.log.terms.noise
        of_joined = {since: noise.spread(self.day, since) for since in set(self.since)}
        return np.array([of_joined[since] for since in self.since])

    def tally(self) -> NoisyTally:
        """All that a release is made from."""
        terms, (net_wins, exposures) = self.log.terms, self.board()
        noise, spreads = terms.noise, self.spreads
        share, sigma, n = noise.statistic.beta, float(spreads.max()), len(self.since)
        values = np.concatenate([net_wins, float(share) * exposures]) / float(FINE)
        figures: dict[str, Any] = {
            **noise.figures(sigma), "board": terms.board, terms.every.value: self.day, "horizon": terms.horizon,
        }  # fmt: skip
        relative, draws = tuple((spreads / sigma).tolist()), noise.equal_draws(self.day)
        law = BoardLaw(noise.statistic, n, sigma, float(share), relative, draws)
        where = None if self.log.rules is None else self.log.rules.where
        return NoisyTally(
            Items(self.log.items[:n]), terms.privacy, noise.statistic, np.round(values).astype(np.int64), FINE, share,
            noise.name, tuple(figures.items()), law, None, None, None, rows_skipped=False,
            notes=(self._about_the_board(), *self.log.assumed), ledger_entry=self.log.entry, met=self._met(),
            where=where,
        )  # fmt: skip

    def _about_the_board(self) -> str:
        terms = self.log.terms
        whole, last = f"{terms.horizon} {terms.every}s", terms.last_day(self.day)
        summed = "all votes" if terms.window is None else f"the votes of the last {terms.window} {terms.every}s"
        return (
            f"This is {terms.every} {self.day} of a board of {whole}, over {summed} up to {last}; the promise holds "
            f"for all {whole} together."
        )

    def _met(self) -> PublicPairs:
        """How often each pair met, as expected from the exposures of each month: Σ_months of rank-one terms."""
        terms, n = self.log.terms, len(self.since)
        noise, beta = terms.noise, float(terms.noise.statistic.beta)
        first = 0 if terms.window is None else max(0, self.day - terms.window)
        length = max(1, round(MONTH / terms.every.days))
        starts = list(range(first, self.day, length))
        met = np.zeros((n, n))
        for start, end in zip(starts, [*starts[1:], self.day], strict=True):
            there = np.flatnonzero(np.array(self.since) <= end)
            exposure = (self._exposures_until(end) - self._exposures_until(start))[there]
            exposure = shrunk(exposure, noise.spread_of_days(start, end) / beta)
            if len(there) > 1:
                a = rank_one_weights(RankOneDesign(exposure), len(there))
                met[np.ix_(there, there)] += np.outer(a, a)
        i, j = np.triu_indices(n, 1)
        return PublicPairs(i, j, met[i, j])

    def _exposures_until(self, day: int) -> Floats:
        """Of all votes up to a day, whatever the window."""
        if day == 0:
            return np.zeros(len(self.since))
        return np.asarray(self.log.terms.noise.in_all(day) @ self.published[1][:day])

    @property
    def ranks_are_shown(self) -> bool:
        """Whether the noise is below the spread of the scores; before that a ranking would be mostly noise."""
        net_wins, _ = self.board()
        return stands_out(net_wins, self.spreads)


def without(release: Release, retired: frozenset[str]) -> Release:
    """The release without some of its items. Who is left moves up by as many of them as were above, which may be any
    number: so far the lower end of a rank set moves."""
    left = [row for row in release.ranking if row.item not in retired]
    gone = len(release.ranking) - len(left)
    rows = (
        replace(
            row, rank=rank, rank_low=None if row.rank_low is None else max(1, row.rank_low - gone),
            rank_high=None if row.rank_high is None else max(rank, min(len(left), row.rank_high)),
        )
        for rank, row in enumerate(left, 1)
    )  # fmt: skip
    return replace(release, ranking=tuple(rows))


def tally_of(log: Log, day: int) -> NoisyTally | GroupedTally:
    """The noisy tally of a day, or one for each group."""
    groups = log.terms.groups
    if groups is None:
        return Reading(log, day).tally()
    tallies = tuple((group, Reading(log, day, part).tally()) for part, group in enumerate(groups))
    return GroupedTally(log.terms.by or "", tallies, GroupOf.VOTE)
