"""What several tests need: small sets of votes, and ways to write them down."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from scipy.optimize import linprog

from quietrank.estimate.noisy import NoisyTally
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.noise import knorm, lattice, normal
from quietrank.promise.accounting import Charge
from quietrank.promise.graph import Graph
from quietrank.promise.items import Items
from quietrank.promise.privacy import DesignWord, NeighboursWord, Privacy, Unit
from quietrank.promise.promise import Bounded
from quietrank.statistics.statistic import Statistic
from quietrank.votes.read import Votes, read_votes
from quietrank.votes.tallies import Tally
from tests.steps import add_noise, calibrate, vote_weight

ITEMS = ("A1", "b c", "ç", "Ω")
COLUMNS = ("person", "item_a", "item_b", "outcome")
Vote = tuple[str, str, str, str]


class NotedLedger:
    """Pays for everything, and remembers it."""

    def __init__(self) -> None:
        self.charges: list[Charge] = []

    def debit(self, charge: Charge) -> str:
        self.charges.append(charge)
        return "1"


Pairing = tuple[NeighboursWord, DesignWord]
PAIRINGS: tuple[Pairing, ...] = (
    ("replace", "private"),
    ("replace", "uniform"),
    ("add-remove", "private"),
    ("add-remove", "uniform"),
    ("outcome", "public"),
)
PRIVACIES = [
    Privacy(1.0, unit, neighbours=neighbours, design=design, max_per_person=3 if unit is Unit.PERSON else None)
    for unit in Unit
    for neighbours, design in PAIRINGS
]


def privacy_id(privacy: Privacy) -> str:
    bound = "-one-per-pair" if privacy.one_per_pair else "-clip" if privacy.clip else ""
    return f"{privacy.unit}-{privacy.neighbours}-{privacy.design}{bound}"


def vote_lists(max_size: int = 30) -> st.SearchStrategy[list[Vote]]:
    """Votes of a few people on four items, ties among them."""
    pair = st.permutations(ITEMS).map(lambda order: (order[0], order[1]))
    vote = st.tuples(st.sampled_from(["p1", "p 2", "pé"]), pair, st.sampled_from(["a", "b", "tie"]))
    return st.lists(vote.map(lambda v: (v[0], *v[1], v[2])), min_size=1, max_size=max_size)


def write_csv(path: Path, votes: Sequence[Sequence[str]], columns: Sequence[str] = COLUMNS) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([columns, *votes])
    return path


def write_json_lines(path: Path, votes: Sequence[Vote]) -> Path:
    path.write_text("".join(json.dumps(dict(zip(COLUMNS, vote, strict=True))) + "\n" for vote in votes))
    return path


def columns_of(votes: Sequence[Vote]) -> dict[str, list[str]]:
    return {name: [vote[k] for vote in votes] for k, name in enumerate(COLUMNS)}


def from_arrow(votes: Sequence[Vote], items: Sequence[str] = ITEMS, **options: object) -> Votes:
    import pyarrow as pa

    schema = pa.schema([(name, pa.string()) for name in COLUMNS])
    return read_votes(pa.table(columns_of(votes), schema=schema), items=items, **options)  # type: ignore[arg-type]


def make_tally(wins: Sequence[int], losses: Sequence[int], privacy: Privacy) -> Tally:
    """A tally of whole votes, without a file behind it."""
    weight = vote_weight(privacy)
    from fractions import Fraction

    return Tally(
        items=Items(tuple(f"item {k}" for k in range(len(wins)))),
        wins=np.array(wins, dtype=np.int64) * 2 * weight,
        losses=np.array(losses, dtype=np.int64) * 2 * weight,
        step=Fraction(1, 2 * weight),
        rows=sum(wins),
        bounded=Bounded.by(privacy, None),
    )


def add_laplace_noise(tally: Tally, privacy: Privacy, statistic: Statistic, **options: Any) -> NoisyTally:
    """The crossing with Laplace noise, calibrated for this tally's items."""
    return add_noise(tally, calibrate(tally.items, privacy, statistic, LAPLACE), **options)


def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch off every kind of noise."""
    monkeypatch.setattr(lattice, "add_laplace", lambda values, scale: values)
    monkeypatch.setattr(lattice.LaplaceNoise, "add_to", lambda self, values: values)
    monkeypatch.setattr(knorm.KNormNoise, "add_to", lambda self, values: values)
    monkeypatch.setattr(knorm.BallNoise, "add_to", lambda self, values: values)
    monkeypatch.setattr(normal.RoundedGaussianNoise, "add_to", lambda self, values: values)


def zonotope_gauge(graph: Graph, x: Sequence[float]) -> float:
    """‖x‖ in the gauge of Z(G), by a linear program: the least t with x = Σ c_e(e_i − e_j), |c_e| ≤ t."""
    i, j = graph.ends
    edges = len(graph.edges)
    flow = np.zeros((graph.vertices, edges + 1))
    flow[i, np.arange(edges)], flow[j, np.arange(edges)] = 1, -1
    within = np.block([[np.eye(edges), -np.ones((edges, 1))], [-np.eye(edges), -np.ones((edges, 1))]])
    optimum = linprog(
        np.append(np.zeros(edges), 1.0), within, np.zeros(2 * edges), flow, x, [(None, None)] * edges + [(0, None)]
    )
    return np.inf if optimum.fun is None else float(optimum.fun)
