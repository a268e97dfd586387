"""Twelve surveys to check the planner on, and the same surveys through the real pipeline: votes, bounding, noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa

import quietrank as qr
from quietrank.planning.survey import SpreadWord, Survey, spread_of
from quietrank.promise.privacy import UnitWord
from quietrank.simulation import item_names, people_votes


@dataclass(frozen=True)
class Setting:
    """What is asked of the planner, and of `rank`."""

    name: str
    items: int
    people: int
    per_person: int
    top_k: int
    epsilon: float
    unit: UnitWord = "person"
    one_per_pair: bool = False
    spread: SpreadWord = "typical"
    options: dict[str, Any] = field(default_factory=dict)
    """of the promise: design, neighbours, delta"""
    choices: dict[str, Any] = field(default_factory=dict)
    """method and mechanism"""

    def plan(self, **more: Any) -> qr.Plan:
        return qr.plan(
            self.items, self.people, self.per_person, top_k=self.top_k, epsilon=self.epsilon, unit=self.unit,
            one_per_pair=self.one_per_pair, spread=self.spread, curves=False, **self.options, **self.choices, **more,
        )  # fmt: skip

    @property
    def privacy(self) -> qr.Privacy:
        bounded: dict[str, Any] = {"max_per_person": self.per_person} if self.unit == "person" else {}
        return qr.Privacy(self.epsilon, self.unit, one_per_pair=self.one_per_pair, **bounded, **self.options)


SETTINGS = [
    Setting("all pairs of few items", 6, 300, 15, 3, 0.5, one_per_pair=True),
    Setting("Laplace, private design", 20, 500, 15, 5, 1.0),
    Setting("Laplace, uniform design", 20, 500, 15, 5, 1.0, options={"design": "uniform"}),
    Setting("Gaussian, different pairs", 20, 500, 15, 5, 1.0, one_per_pair=True, options={"delta": 1e-6}),
    Setting("Gaussian, many votes", 10, 200, 60, 3, 0.5, options={"design": "uniform", "delta": 1e-6}),
    Setting("add-remove", 12, 300, 10, 4, 1.0, options={"design": "uniform", "neighbours": "add-remove"}),
    Setting("public design, Bradley-Terry", 12, 300, 10, 4, 1.0,
            options={"design": "public", "neighbours": "outcome"}, choices={"method": "bradley-terry"}),
    Setting("zonotope, all pairs", 10, 100, 45, 3, 1.0, one_per_pair=True, spread="clear",
            options={"design": "uniform"}),
    Setting("votes, paper's strengths", 20, 2000, 1, 5, 0.5, "comparison", spread="paper"),
    Setting("votes, Bradley-Terry", 30, 1500, 1, 8, 1.0, "comparison",
            options={"design": "uniform"}, choices={"method": "bradley-terry"}),
    Setting("votes, public design, close", 20, 1000, 1, 5, 0.2, "comparison", spread="close",
            options={"design": "public", "neighbours": "outcome"}),
    Setting("votes, Gaussian, add-remove", 15, 1000, 1, 5, 0.3, "comparison",
            options={"delta": 1e-6, "neighbours": "add-remove"}, choices={"mechanism": "gaussian"}),
]  # fmt: skip


def measured(setting: Setting, releases: int, seed: int) -> tuple[float, float]:
    """The mean top-k error of that many releases of fresh surveys, and its standard error."""
    rng = np.random.default_rng(seed)
    errors = [_error(setting, rng) for _ in range(releases)]
    return float(np.mean(errors)), float(np.std(errors)) / sqrt(releases)


def _error(setting: Setting, rng: np.random.Generator) -> float:
    survey = Survey(setting.items, setting.people, setting.per_person, spread=spread_of(setting.spread))
    theta = survey.strengths(rng)
    person, winner, loser = _votes(setting, theta, rng)
    names = np.array(item_names(setting.items))
    table = pa.table({"person": person.astype(str), "winner": names[winner], "loser": names[loser]})
    release = qr.rank(qr.read_votes(table, items=names.tolist()), setting.privacy, **setting.choices)
    place = {name: index for index, name in enumerate(names.tolist())}
    chosen = [place[row.item] for row in release.ranking[: setting.top_k]]
    least = np.sort(theta)[-setting.top_k]
    sure = sum(theta[index] > least for index in chosen)
    tied = sum(theta[index] == least for index in chosen)
    return float(1 - (sure + min(tied, setting.top_k - (theta > least).sum())) / setting.top_k)


def _votes(setting: Setting, theta: Any, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Person, winner and loser of every vote."""
    if not setting.one_per_pair:
        (batch,) = people_votes(theta, setting.people, setting.per_person, rng)
        return batch.person, batch.winner, batch.loser
    first, second = np.triu_indices(setting.items, 1)
    asked = [rng.choice(len(first), setting.per_person, replace=False) for _ in range(setting.people)]
    pair = np.concatenate(asked)
    i_wins = rng.random(len(pair)) < 1 / (1 + np.exp(theta[second[pair]] - theta[first[pair]]))
    person = np.repeat(np.arange(setting.people), setting.per_person)
    return person, np.where(i_wins, first[pair], second[pair]), np.where(i_wins, second[pair], first[pair])
