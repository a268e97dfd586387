"""Simulate: seeded votes by the Bradley–Terry model, in the forms the paper uses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from quietrank.errors import QuietrankError
from quietrank.promise.privacy import Privacy
from quietrank.simulation import (
    graph_votes,
    item_names,
    paper_strengths,
    people_votes,
    read_strengths,
    write_votes,
)
from quietrank.votes.read import read_votes
from tests.steps import tally_votes


def test_the_papers_strengths() -> None:
    """A quarter share the top strength, the others are e^θ uniform on (0.2, 0.7), all centred."""
    theta = paper_strengths(40, np.random.default_rng(1))
    assert theta.mean() == pytest.approx(0)
    relative = np.exp(theta - theta.max())
    assert (relative[:10] == 1).all()
    assert relative[10:].min() >= 0.2
    assert relative[10:].max() <= 0.7


def test_people_compare_uniform_pairs_and_the_stronger_wins_as_often_as_it_should() -> None:
    """Pairs are uniform over all ordered pairs, and the winner follows 1/(1 + exp(−difference))."""
    theta = np.array([0.0, 1.0, 2.0])
    (batch,) = people_votes(theta, people=20_000, per_person=6, rng=np.random.default_rng(2))
    assert batch.person is not None
    assert (np.bincount(batch.person) == 6).all()
    assert (batch.winner != batch.loser).all()
    met = {frozenset(pair) for pair in ((0, 1), (0, 2), (1, 2))}
    for i, j in (sorted(pair) for pair in met):
        wins = ((batch.winner == j) & (batch.loser == i)).sum()
        losses = ((batch.winner == i) & (batch.loser == j)).sum()
        assert abs((wins + losses) / 120_000 - 1 / 3) < 0.01
        assert abs(wins / (wins + losses) - 1 / (1 + np.exp(theta[i] - theta[j]))) < 0.015


def test_a_graph_compares_each_pair_at_most_once() -> None:
    """About p of all pairs, none twice."""
    batches = list(graph_votes(np.zeros(200), 0.3, np.random.default_rng(3)))
    pairs = {frozenset(pair) for b in batches for pair in zip(b.winner.tolist(), b.loser.tolist(), strict=True)}
    votes = sum(len(b.winner) for b in batches)
    assert len(pairs) == votes
    assert abs(votes / (200 * 199 / 2) - 0.3) < 0.02


def test_a_file_has_one_header(tmp_path: Path) -> None:
    """Also where the first items of a sparse graph met nobody, so that the first parts of the file are empty."""
    theta, rng = np.zeros(30), np.random.default_rng(1)
    sparse = [batch for batch in graph_votes(theta, 0.02, rng) if len(batch.winner)]
    empty = next(graph_votes(theta, 0.0, rng))
    votes = write_votes(iter([empty, empty, *sparse]), item_names(30), tmp_path / "votes.csv")
    lines = (tmp_path / "votes.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == votes + 1
    assert lines.count("winner,loser") == 1


@pytest.mark.parametrize("name", ["votes.csv", "votes.csv.gz", "votes.parquet"])
def test_what_is_written_can_be_ranked(tmp_path: Path, name: str) -> None:
    """Every format goes straight into the tally."""
    names = item_names(12)
    batches = people_votes(np.zeros(12), 30, 4, np.random.default_rng(4))
    assert write_votes(batches, names, tmp_path / name) == 120
    tally = tally_votes(read_votes(tmp_path / name, items=names), Privacy(1, "person", max_per_person=4))
    assert tally.total * tally.step == 120


def test_the_same_seed_gives_the_same_votes() -> None:
    """Seeds make simulations repeatable."""
    first, second = (next(people_votes(np.zeros(9), 50, 3, np.random.default_rng(5))) for _ in range(2))
    assert (first.winner == second.winner).all()


def test_strengths_can_be_given(tmp_path: Path) -> None:
    """A CSV of item and strength; anything else is refused with the columns it needs."""
    path = tmp_path / "s.csv"
    path.write_text("item,strength\nx,0.5\ny,-0.5\n")
    names, theta = read_strengths(path)
    assert (names, theta.tolist()) == (["x", "y"], [0.5, -0.5])
    for text in ("item\nx\n", "item,strength\nx,strong\ny,weak\n", "item,strength\nx,1\n"):
        path.write_text(text)
        with pytest.raises(QuietrankError, match=r"strength"):
            read_strengths(path)
