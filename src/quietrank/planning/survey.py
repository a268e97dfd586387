"""The plan of a survey in, simulated exact counts out: pseudo-random, without anybody's real votes.

People compare pairs drawn uniformly, as in `simulate.people_votes`; with `distinct` nobody is asked a pair twice. What
the confidential side does to a person's votes (votes/bound.py) is done here to simulated people: all votes weigh the
same, or every person is scaled down to the clipping bound.

Simulating person by person is too slow for surveys with many more votes than pairs. Then all votes on a pair are
counted at once: their numbers are multinomial, or for distinct questions drawn from the normal distribution that they
tend to, and their wins binomial; what clipping leaves is measured on a sample of people. No array is larger than the
votes, or the pairs where these are fewer. The counts without clipping are the same whether clipping is used or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import nan
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quietrank.arrays import Floats, Integers
from quietrank.errors import QuietrankError, option
from quietrank.promise.privacy import Privacy, Unit
from quietrank.promise.promise import PERSON_GRID, Clip, RangeClip
from quietrank.simulation import paper_strengths

Advance = Callable[[float], None]

SPREADS = {"close": 0.3, "typical": 0.6, "clear": 1.2}
"""Standard deviations of strengths: between two random items the better wins 58 %, 65 %, 75 % of the votes."""
PAPER = "paper"
SpreadWord = float | Literal["close", "typical", "clear", "paper"]
"""what callers may write: a standard deviation, or a word"""

MOST_BY_PERSON = 200_000
"""How many votes and counts of people are simulated one by one, for each repetition."""
SAMPLED = 30_000
"""How many of them where a sample is enough to measure what clipping leaves."""
MOST_PAIRS = 5_000_000
"""How many votes or pairs, whichever are fewer, one repetition may hold in memory: about half a gigabyte."""
MOST_VOTES = 10**15
"""Beyond this, counts are no longer exact in a double."""
MOST_SHUFFLED = 20_000_000
"""How many pairs may be shuffled for all people at once; beyond this, it is done one person at a time."""
ANSWER_GRID = 2**10
"""The grid of clipping factors where answers are averaged, as in votes/bound.py."""


@dataclass(frozen=True)
class Survey:
    """How many items, people and questions, and how far apart the items are."""

    items: int
    people: int
    per_person: int
    distinct: bool = False
    """nobody is asked the same pair twice"""
    spread: float | str = SPREADS["typical"]
    """the standard deviation of normal strengths, or "paper" for the published ones"""

    def __post_init__(self) -> None:
        if self.items < 2:
            raise QuietrankError(f"a ranking needs at least two items; got {option('items', self.items)}")
        if self.people < 1 or self.per_person < 1:
            raise QuietrankError(
                f"a survey needs people and questions; got {option('people', self.people)}, "
                f"{option('per_person', self.per_person)}"
            )
        if self.distinct and self.per_person > self.pairs:
            raise QuietrankError(
                f"{self.items} items have {self.pairs} pairs, so with one answer per pair nobody can answer "
                f"{self.per_person}; use {option('per_person', self.pairs)} or less, or leave {option('one_per_pair')} "
                "out"
            )
        if min(self.votes, self.pairs) > MOST_PAIRS or self.votes > MOST_VOTES:
            raise QuietrankError(
                f"{self.items} items and {self.votes} votes are too many to simulate; plan for fewer of both: what "
                "counts is the number of votes per item"
            )

    @property
    def pairs(self) -> int:
        return self.items * (self.items - 1) // 2

    @property
    def votes(self) -> int:
        return self.people * self.per_person

    def strengths(self, rng: np.random.Generator) -> Floats:
        """θ of every item."""
        if self.spread == PAPER:
            return paper_strengths(self.items, rng)
        return rng.normal(0, float(self.spread), self.items)


@dataclass(frozen=True, eq=False)
class PairWeights:
    """The weight of the votes on each pair that met in one repetition; pairs are numbered as in `pair_ends`."""

    pair: Integers
    weight: Floats


@dataclass(frozen=True, eq=False)
class Counts:
    """Exact, weighted counts of every repetition (rows) and item (columns), in votes."""

    wins: Floats
    losses: Floats
    pairs: list[PairWeights]
    """one for each repetition, if asked for"""

    @classmethod
    def empty(cls, shape: tuple[int, int]) -> Counts:
        return cls(np.empty(shape), np.empty(shape), [])

    def put(self, row: int, once: _Once) -> None:
        """Fill in the counts of one repetition."""
        self.wins[row], self.losses[row] = once.wins, once.losses
        if once.pairs is not None:
            self.pairs.append(once.pairs)

    @property
    def net_wins(self) -> Floats:
        return np.asarray((self.wins - self.losses) / 2)

    @property
    def exposure(self) -> Floats:
        return self.wins + self.losses

    @property
    def total(self) -> Floats:
        return np.asarray(self.wins.sum(axis=1))

    @property
    def ties(self) -> None:
        """Simulated people decide."""

    def times(self, net: float, met: float) -> Counts:
        """With net wins and exposures times these factors; without pairs."""
        net_wins, exposure = self.net_wins * net, self.exposure * met
        return Counts(exposure / 2 + net_wins, exposure / 2 - net_wins, [])

    def rows(self, block: slice) -> Counts:
        """The counts of some repetitions."""
        return Counts(self.wins[block], self.losses[block], self.pairs[block])


@dataclass(frozen=True, eq=False)
class Simulated:
    """True strengths and counts, without clipping and with it."""

    theta: Floats
    plain: Counts
    clipped: Counts | None


def simulate(
    survey: Survey,
    privacy: Privacy,
    clip: Clip | None,
    repetitions: int,
    seed: int,
    *,
    keep_pairs: bool = False,
    by_person: int = MOST_BY_PERSON,
    advance: Advance = lambda amount: None,
) -> Simulated:
    """Run the survey many times; a repetition has the same strengths whatever the other arguments are.

    Surveys with up to `by_person` votes and counts of people are simulated person by person.
    """
    theta = np.empty((repetitions, survey.items))
    plain, clipped = Counts.empty(theta.shape), None if clip is None else Counts.empty(theta.shape)
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, repetition])
        theta[repetition] = survey.strengths(rng)
        without, with_clip = _once(survey, privacy, clip, theta[repetition], keep_pairs, by_person, rng)
        plain.put(repetition, without)
        if clipped is not None and with_clip is not None:
            clipped.put(repetition, with_clip)
        advance(1 / repetitions)
    return Simulated(theta, plain, clipped)


@dataclass(frozen=True, eq=False)
class _Once:
    """The counts of one repetition."""

    wins: Floats
    losses: Floats
    pairs: PairWeights | None


def _once(
    survey: Survey, privacy: Privacy, clip: Clip | None, theta: Floats, keep_pairs: bool, by_person: int,
    rng: np.random.Generator,
) -> tuple[_Once, _Once | None]:  # fmt: skip
    """The counts without and with clipping."""
    weight = plain_weight(survey, privacy)
    if survey.people * (survey.per_person + survey.items) <= by_person:
        group = _ask(survey, theta, survey.people, rng)
        return group.counted(weight, keep_pairs), None if clip is None else group.clipped(clip, keep_pairs)
    if survey.votes <= survey.pairs:
        plain = _ask(survey, theta, survey.people, rng).counted(weight, keep_pairs)
    else:
        plain = _count_pairs(survey, theta, weight, keep_pairs, rng)
    if clip is None:
        return plain, None
    sample = _ask(survey, theta, sampled_people(survey), rng)
    return plain, _shrunk(plain, weight, *sample.left_by(clip))


def sampled_people(survey: Survey) -> int:
    """How many people are enough to measure what clipping leaves."""
    return max(50, SAMPLED // (survey.per_person + survey.items))


def plain_weight(survey: Survey, privacy: Privacy) -> float:
    """What each vote counts where people's total weight is bounded by L: min(1, L/c), rounded down to 2^-20."""
    if privacy.unit is Unit.COMPARISON or privacy.max_per_person is None:
        return 1.0
    return min(PERSON_GRID, privacy.limit * PERSON_GRID // survey.per_person) / PERSON_GRID


# ---- person by person -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Group:
    """The answers of some simulated people: one row per person, one column per question."""

    items: int
    winner: Integers
    loser: Integers
    distinct: bool

    def counted(self, weight: float, keep_pairs: bool) -> _Once:
        """All votes weigh the same."""
        wins, losses = (
            np.asarray(np.bincount(chosen.ravel(), minlength=self.items) * weight, dtype=np.float64)
            for chosen in (self.winner, self.loser)
        )
        pairs = self._pair_weights(np.full(len(self.winner), weight)) if keep_pairs else None
        return _Once(wins, losses, pairs)

    def clipped(self, clip: Clip, keep_pairs: bool) -> _Once:
        """Every person scaled down to the clipping bound."""
        won, lost = self._by_person(self.winner), self._by_person(self.loser)
        factor = self._factors(won, lost, clip)
        return _Once(factor @ won, factor @ lost, self._pair_weights(factor) if keep_pairs else None)

    def left_by(self, clip: Clip) -> tuple[float, float]:
        """The shares of net wins and of exposures that clipping leaves."""
        won, lost = self._by_person(self.winner), self._by_person(self.loser)
        factor = self._factors(won, lost, clip)
        net, met = (won - lost).sum(axis=0), (won + lost).sum(axis=0)
        left_net, left_met = factor @ (won - lost), factor @ (won + lost)
        return float(left_net @ net / max(net @ net, 1e-9)), float(left_met.sum() / met.sum())

    def _by_person(self, chosen: Integers) -> Floats:
        people = len(chosen)
        place = np.arange(people)[:, None] * self.items + chosen
        return np.bincount(place.ravel(), minlength=people * self.items).reshape(people, self.items).astype(np.float64)

    def _factors(self, won: Floats, lost: Floats, clip: Clip) -> Floats:
        """min(1, C/norm) of every person's contribution, rounded down to the grid of weights."""
        if isinstance(clip, RangeClip):
            return self._range_factors(won, lost, clip)
        columns = {"wins": won, "losses": lost, "net_wins": (won - lost) / 2, "exposure": won + lost}
        square = np.sum([float(weight) * (columns[name] ** 2).sum(axis=1) for name, weight in clip.squares], axis=0)
        grid = ANSWER_GRID if self.distinct else PERSON_GRID
        factor = np.minimum(1, float(clip.norm) / np.sqrt(np.maximum(square, 1e-12)))
        return np.asarray(np.floor(factor * grid) / grid)

    def _range_factors(self, won: Floats, lost: Floats, clip: RangeClip) -> Floats:
        """The same where no two items may be brought apart by more than ρ, and the total weight is at most L."""
        net, votes = (won - lost) / 2, won.sum(axis=1)
        wide = np.maximum(net.max(axis=1) - net.min(axis=1), 1e-12)
        factor = np.minimum(np.minimum(1, clip.limit / np.maximum(votes, 1)), float(clip.norm) / wide)
        return np.asarray(np.floor(factor * PERSON_GRID) / PERSON_GRID)

    def _pair_weights(self, factor: Floats) -> PairWeights:
        low, high = np.minimum(self.winner, self.loser), np.maximum(self.winner, self.loser)
        pair, place = np.unique(pair_index(self.items, low, high).ravel(), return_inverse=True)
        return _positive(pair, np.bincount(place, weights=np.repeat(factor, self.winner.shape[1])))


def _ask(survey: Survey, theta: Floats, people: int, rng: np.random.Generator) -> Group:
    n, shape = survey.items, (people, survey.per_person)
    if survey.distinct:
        pair = _distinct(survey.pairs, shape, rng)
        i, j = pair_ends(n, pair)
    else:
        i, j = rng.integers(n, size=shape), rng.integers(n - 1, size=shape)
        j += j >= i  # uniform over the other items
    i_wins = rng.random(shape) < 1 / (1 + np.exp(theta[j] - theta[i]))
    return Group(n, np.where(i_wins, i, j), np.where(i_wins, j, i), survey.distinct)


def _distinct(pairs: int, shape: tuple[int, int], rng: np.random.Generator) -> Integers:
    """Rows of different pairs, every set of them equally likely."""
    people, each = shape
    often_twice = each * each > 3 * pairs  # fewer than one row in five would do: e^−(each²/2 pairs)
    if often_twice and people * pairs <= MOST_SHUFFLED:
        return np.argpartition(rng.random((people, pairs)), each - 1, axis=1)[:, :each]
    if often_twice:
        return np.array([rng.choice(pairs, each, replace=False, shuffle=False) for _ in range(people)])
    questions = rng.integers(pairs, size=shape)
    again = np.arange(people)
    while again.size:
        ordered = np.sort(questions[again], axis=1)
        again = again[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        questions[again] = rng.integers(pairs, size=(again.size, each))
    return questions


# ---- all at once ----------------------------------------------------------------------------------------------------


def _count_pairs(survey: Survey, theta: Floats, weight: float, keep: bool, rng: np.random.Generator) -> _Once:
    """How often each pair was asked, and how often its first item won."""
    i, j = pair_ends(survey.items, np.arange(survey.pairs))
    votes = _votes_distinct(survey, rng) if survey.distinct else _votes(survey, rng)
    first = rng.binomial(votes, 1 / (1 + np.exp(theta[j] - theta[i])))

    def by_item(of_i: Integers, of_j: Integers) -> Floats:
        n = survey.items
        return np.asarray((np.bincount(i, of_i, n) + np.bincount(j, of_j, n)) * weight)

    pairs = _positive(np.arange(survey.pairs), votes * weight) if keep else None
    return _Once(by_item(first, votes - first), by_item(votes - first, first), pairs)


def _votes(survey: Survey, rng: np.random.Generator) -> Integers:
    return rng.multinomial(survey.votes, np.full(survey.pairs, 1 / survey.pairs))


def _votes_distinct(survey: Survey, rng: np.random.Generator) -> Integers:
    """Normal, with the mean and the covariance of the sum of many random subsets of pairs."""
    share, pairs = survey.per_person / survey.pairs, survey.pairs
    z = rng.normal(size=pairs)
    sd = np.sqrt(survey.people * share * (1 - share) * pairs / max(pairs - 1, 1))
    votes = np.rint(survey.people * share + sd * (z - z.mean()))
    return np.asarray(np.clip(votes, 0, survey.people), dtype=np.int64)


def _shrunk(plain: _Once, weight: float, net: float, met: float) -> _Once:
    """Net wins and exposures times the shares that clipping leaves; the weight already in `plain` is divided out."""
    net, met = net / weight, met / weight
    net_wins, exposure = (plain.wins - plain.losses) * net, (plain.wins + plain.losses) * met
    pairs = None if plain.pairs is None else _positive(plain.pairs.pair, plain.pairs.weight * met)
    return _Once((exposure + net_wins) / 2, (exposure - net_wins) / 2, pairs)


# ---- pairs by number ------------------------------------------------------------------------------------------------


def pair_ends(n: int, pair: Integers) -> tuple[Integers, Integers]:
    """The items i < j of pairs given by number: (0, 1), (0, 2), …, (1, 2), … of n items."""
    first = np.arange(n - 1)
    starts = first * n - first * (first + 1) // 2  # the number of the pair (i, i + 1)
    i = np.searchsorted(starts, pair, side="right") - 1
    return i, pair - starts[i] + i + 1


def pair_index(n: int, low: Integers, high: Integers) -> Integers:
    """The number of a pair, as in `pair_ends`."""
    return low * n - low * (low + 1) // 2 + high - low - 1


def _positive(pair: Integers, weight: NDArray[Any]) -> PairWeights:
    met = weight > 0
    return PairWeights(pair[met], np.asarray(weight[met], dtype=np.float64))


# ---- words ----------------------------------------------------------------------------------------------------------


def spread_of(word: object) -> float | str:
    """A standard deviation of strengths from a number or a word."""
    if isinstance(word, str) and (word in SPREADS or word == PAPER):
        return SPREADS.get(word, word)
    value = _number(word)
    if not 0 < value <= 10:
        words = ", ".join((*SPREADS, PAPER))
        raise QuietrankError(
            f"{option('spread')} must be one of {words}, or a number > 0 and at most 10; got {option('spread', word)}"
        )
    return value


def _number(word: object) -> float:
    """The number that a text or a number stands for; NaN for anything else."""
    if isinstance(word, bool) or not isinstance(word, str | Real | Decimal):
        return nan
    try:
        return float(word)
    except (ValueError, OverflowError):
        return nan
