"""A seed and the shape of a survey in, strengths and exact tallies of many repetitions out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Survey:
    """People whose own strengths are the common ones plus Gumbel noise of their own; their answers never contradict."""

    n: int
    people: int
    spread: float
    """standard deviation of the common strengths, drawn anew in each repetition"""
    votes: int | None = None
    """how many random pairs each person answers; None: all of them"""

    @property
    def pairs(self) -> int:
        return self.n * (self.n - 1) // 2

    @property
    def norm(self) -> float:
        """C of ball noise: the norm of a full ranking, or that of votes on pairs without an item in common."""
        return float(np.sqrt(self.n * (self.n**2 - 1) / 12 if self.votes is None else self.votes / 2))

    @property
    def typical_range(self) -> float:
        """Of a person's net wins: n − 1 for a full ranking, else that of n normal values of variance L/2n."""
        return self.n - 1 if self.votes is None else float(np.sqrt(4 * self.votes * np.log(self.n) / self.n))

    @property
    def range_clip(self) -> float:
        """ρ: three quarters of the typical range, but no less than one vote, and nothing for full rankings."""
        return self.n - 1 if self.votes is None else max(1.0, 0.75 * self.typical_range)


@dataclass(frozen=True, eq=False)
class Tallies:
    strengths: Floats
    net_wins: Floats
    by_norm: Floats
    """people scaled down to the norm C"""
    by_range: Floats
    """people scaled down to the range ρ"""


def tallies(survey: Survey, repetitions: int, seed: int) -> Tallies:
    rng = np.random.default_rng([seed, survey.n, survey.people, int(100 * survey.spread), survey.votes or 0])
    rows = [one_tally(survey, rng) for _ in range(repetitions)]
    return Tallies(*(np.stack(column) for column in zip(*rows, strict=True)))


def one_tally(survey: Survey, rng: np.random.Generator) -> tuple[Floats, ...]:
    strengths = rng.normal(0, survey.spread, survey.n)
    tastes = strengths + rng.gumbel(size=(survey.people, survey.n))
    of_people = rankings(tastes) if survey.votes is None else answers(tastes, survey, rng)
    norms, ranges = np.linalg.norm(of_people, axis=1), np.ptp(of_people, axis=1)
    scaled = (np.minimum(1, limit / np.maximum(size, 1e-9)) for limit, size in (
        (survey.norm, norms), (survey.range_clip, ranges)
    ))  # fmt: skip
    return strengths, of_people.sum(axis=0), *(factor @ of_people for factor in scaled)


@cache
def left(survey: Survey) -> tuple[float, float]:
    """What clipping to the norm and to the range leaves of a vote, on average, of people who rank at random: from n and
    L alone, so public."""
    rng = np.random.default_rng(1)
    tastes = rng.gumbel(size=(600, survey.n))
    of_people = rankings(tastes) if survey.votes is None else answers(tastes, survey, rng)
    sizes = np.linalg.norm(of_people, axis=1), np.ptp(of_people, axis=1)
    by_norm, by_range = (
        float(np.minimum(1, limit / np.maximum(size, 1e-9)).mean())
        for limit, size in zip((survey.norm, survey.range_clip), sizes, strict=True)
    )
    return by_norm, by_range


def rankings(tastes: Floats) -> Floats:
    """Net wins of people who answer every pair: centred positions."""
    return np.asarray(tastes.argsort(axis=1).argsort(axis=1) - (tastes.shape[1] - 1) / 2)


def answers(tastes: Floats, survey: Survey, rng: np.random.Generator) -> Floats:
    """Net wins of people who answer random pairs: drawn with replacement where few are asked of many."""
    people, n, votes = len(tastes), survey.n, survey.votes or 0
    first, second = np.triu_indices(n, 1)
    if votes > 1 and votes > len(first) / 20:
        drawn = np.argpartition(rng.random((people, len(first)), dtype=np.float32), votes - 1, axis=1)[:, :votes]
    else:
        drawn = rng.integers(0, len(first), (people, votes))
    i, j = first[drawn], second[drawn]
    won = np.take_along_axis(tastes, i, axis=1) > np.take_along_axis(tastes, j, axis=1)
    rows = np.arange(people)[:, None] * n
    winner, loser = rows + np.where(won, i, j), rows + np.where(won, j, i)
    counts = np.bincount(winner.ravel(), minlength=people * n) - np.bincount(loser.ravel(), minlength=people * n)
    return counts.reshape(people, n) / 2
