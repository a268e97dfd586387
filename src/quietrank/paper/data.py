"""A setting and a random generator in; strengths, and who beat whom how often, out."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np

from quietrank.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Duels:
    """wins[i, j]: how often i beat j."""

    wins: Floats

    @property
    def n(self) -> int:
        return len(self.wins)

    @cached_property
    def counts(self) -> Floats:
        """M: how often i met j."""
        return self.wins + self.wins.T

    @cached_property
    def win_counts(self) -> Floats:
        """Plain wins, what the published count methods rank by."""
        return np.asarray(self.wins.sum(axis=1))

    @cached_property
    def net_wins(self) -> Floats:
        """s_i = (wins_i − losses_i)/2."""
        return np.asarray(self.win_counts - self.wins.sum(axis=0)) / 2

    @cached_property
    def total(self) -> float:
        """T: all votes."""
        return float(self.wins.sum())


def top_size(n: int) -> int:
    """k = n/4, halves rounded to even: the published means are multiples of 1/(runs·k) for this k and no other."""
    return round(n / 4)


def strengths(n: int, rng: np.random.Generator) -> Floats:
    """Published strengths, the k strongest first: e^θ = 1 for k items, uniform on (0.2, 0.7) for the rest; centred."""
    return np.asarray((theta := raw_strengths(n, rng)) - theta.mean())


def raw_strengths(n: int, rng: np.random.Generator) -> Floats:
    """The same before centring."""
    k = top_size(n)
    return np.asarray(np.log(np.concatenate([np.ones(k), rng.uniform(0.2, 0.7, n - k)])))


def win_probabilities(theta: Floats) -> Floats:
    """P(i beats j) under Bradley–Terry."""
    weight = np.exp(theta)
    return np.asarray(weight[:, None] / (weight[:, None] + weight[None, :]))


def hard_instance(n: int, k: int, delta: float) -> Floats:
    """P(i beats j) on the lower bound's instance: the first k beat the others with 1/2 + Δ; other pairs are even."""
    probability = np.full((n, n), 0.5)
    probability[:k, k:] += delta
    probability[k:, :k] -= delta
    return probability


@cache
def _pairs(n: int) -> tuple[Integers, Integers]:
    i, j = np.triu_indices(n, 1)
    return i, j


def graph_duels(probability: Floats, p: float, rng: np.random.Generator) -> Duels:
    """Each pair meets once with probability p. `probability[i, j]`: i beats j."""
    n = len(probability)
    i, j = _pairs(n)
    if p < 1:
        met = rng.random(len(i)) < p
        i, j = i[met], j[met]
    won = rng.random(len(i)) < probability[i, j]
    wins = np.zeros((n, n))
    wins[i, j] = won
    wins[j, i] = ~won
    return Duels(wins)


@dataclass(frozen=True, eq=False)
class Crowd:
    """The votes of people, a row for each person and a column for each of their votes."""

    n: int
    winner: Integers
    loser: Integers

    @cached_property
    def duels(self) -> Duels:
        cell = self.winner * self.n + self.loser
        return Duels(np.bincount(cell.ravel(), minlength=self.n**2).reshape(self.n, self.n).astype(np.float64))

    @cached_property
    def net_wins(self) -> Floats:
        """x: what each person adds to the net wins, a row for each."""
        net = np.zeros((len(self.winner), self.n))
        row = np.arange(len(self.winner))[:, None]
        np.add.at(net, (row, self.winner), 0.5)
        np.subtract.at(net, (row, self.loser), 0.5)
        return net


def crowd(probability: Floats, people: int, per_person: int, rng: np.random.Generator) -> Crowd:
    """Each person compares `per_person` pairs drawn uniformly with replacement."""
    first, second = _pairs(len(probability))
    pair = rng.integers(len(first), size=people * per_person)
    i, j = first[pair], second[pair]
    won = rng.random(len(pair)) < probability[i, j]
    shape = people, per_person
    return Crowd(len(probability), np.where(won, i, j).reshape(shape), np.where(won, j, i).reshape(shape))


def people_duels(probability: Floats, people: int, per_person: int, rng: np.random.Generator) -> Duels:
    """The same, without who cast which vote."""
    return crowd(probability, people, per_person, rng).duels


@dataclass(frozen=True, eq=False)
class Survey:
    """Real votes with ties dropped; each of `people` answered at most `per_person` pairs, each pair at most once."""

    name: str
    items: tuple[str, ...]
    people: int
    per_person: int
    duels: Duels
    net_wins: Floats | None = None
    """what each person adds to the net wins, a row for each; None where only the table of wins was published"""


@cache
def cems() -> Survey:
    """303 students on six management schools: the bundled survey (see quietrank/data/README.md)."""
    text = files("quietrank").joinpath("data/cems.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    items = tuple(sorted({row["item_a"] for row in rows} | {row["item_b"] for row in rows}))
    index = {item: number for number, item in enumerate(items)}
    people = {name: number for number, name in enumerate(dict.fromkeys(row["person"] for row in rows))}
    wins, net_wins = np.zeros((len(items), len(items))), np.zeros((len(people), len(items)))
    for row in rows:
        if row["outcome"] != "tie":
            a, b = index[row["item_a"]], index[row["item_b"]]
            winner, loser = (a, b) if row["outcome"] == "a" else (b, a)
            wins[winner, loser] += 1
            net_wins[people[row["person"]], [winner, loser]] += (0.5, -0.5)
    return Survey("cems", items, len(people), len(items) * (len(items) - 1) // 2, Duels(wins), net_wins)


@cache
def immigration() -> Survey:
    """98 students on which of four statements against immigrants is more acceptable; row beats column.

    D. Weber and R. Hatzinger, "A novel approach for modelling paired comparisons data with non-ignorable missing
    values on students' attitudes towards foreigners", Data Analysis Bulletin 12 (2011), 11–22; the object `immig`
    of the R package prefmod.
    """
    wins = [[0, 53, 34, 48], [12, 0, 20, 31], [38, 43, 0, 50], [15, 21, 14, 0]]
    items = ("crimRate", "position", "socBurd", "culture")
    return Survey("immigration", items, 98, 6, Duels(np.array(wins, dtype=np.float64)))


def survey(name: str) -> Survey:
    return {"cems": cems, "immigration": immigration}[name]()
