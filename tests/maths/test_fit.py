"""Non-private fits: published scores, symmetries, standard errors and what is flagged."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quietrank
from quietrank.arrays import Floats
from quietrank.errors import SolverError
from quietrank.estimators import fit_arrays
from quietrank.maths import fit as module
from quietrank.maths.hessian import Hessian

CEMS = Path(quietrank.__file__).parent / "data" / "cems.csv"
IMMIGRATION = Path(__file__).parents[3] / "shared" / "data" / "immigration.csv"
CEMS_SCORES = {
    "London": 0.9384, "Paris": 0.2473, "Barcelona": -0.1212,
    "St.Gallen": -0.1340, "Milano": -0.2713, "Stockholm": -0.6591,
}  # fmt: skip
IMMIGRATION_SCORES = {"crimRate": 0.4384, "socBurd": 0.4060, "position": -0.3269, "culture": -0.5174}


@pytest.mark.parametrize(("path", "published"), [(CEMS, CEMS_SCORES), (IMMIGRATION, IMMIGRATION_SCORES)])
def test_published_scores(path: Path, published: dict[str, float]) -> None:
    """Ties as halves and no ridge give the published scores to four decimals."""
    if not path.exists():
        pytest.skip(f"{path} is not part of this checkout")
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    items = list(published)
    a, b = (np.array([items.index(row[column]) for row in rows]) for column in ("item_a", "item_b"))
    outcome = np.array([row["outcome"] for row in rows])
    second = outcome == "b"
    fit = fit_arrays(np.where(second, b, a), np.where(second, a, b), len(items), ridge=0.0, tie=outcome == "tie")
    np.testing.assert_allclose(fit.scores, list(published.values()), atol=5.1e-5)
    assert fit.comparable


Votes = tuple[np.ndarray, np.ndarray, np.ndarray]


@st.composite
def votes(draw: st.DrawFn) -> tuple[int, Votes]:
    n = draw(st.integers(2, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(0, 80))
    winner = rng.integers(0, n, m)
    return n, (winner, (winner + rng.integers(1, n, m)) % n, rng.random(m) < 0.2)


@settings(deadline=None, max_examples=40)
@given(data=votes(), ridge=st.sampled_from([1e-6, 0.1, 1.0]), seed=st.integers(0, 99))
def test_symmetries(data: tuple[int, Votes], ridge: float, seed: int) -> None:
    """Relabelling items permutes the scores, swapping winners negates them, row order does not matter."""
    n, (winner, loser, tie) = data
    rng = np.random.default_rng(seed)
    scores = fit_arrays(winner, loser, n, ridge, tie).scores
    name, row = rng.permutation(n), rng.permutation(len(winner))
    np.testing.assert_allclose(fit_arrays(name[winner], name[loser], n, ridge, tie).scores[name], scores, atol=2e-8)
    np.testing.assert_allclose(fit_arrays(loser, winner, n, ridge, tie).scores, -scores, atol=2e-8)
    np.testing.assert_array_equal(fit_arrays(winner[row], loser[row], n, ridge, tie[row]).scores, scores)


def dense_errors(hessian: Hessian) -> Floats:
    """√diag of the pseudo-inverse, projected per component, written out."""
    off = hessian.weight.toarray()
    labels = hessian.problem.components
    same = labels[:, None] == labels
    project = np.eye(hessian.n) - same / same.sum(axis=1)
    errors: Floats = np.sqrt(np.diag(project @ np.linalg.pinv(np.diag(hessian.diagonal) - off - off.T) @ project))
    return errors


@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize(("n", "reach"), [(12, 11), (12, 2), (300, 299), (300, 2)])
def test_standard_errors_are_those_of_the_pseudo_inverse(n: int, reach: int, ridge: float) -> None:
    """Sweep, LAPACK and banded inverses, and single items, all give √diag(P H⁺ P), on two components."""
    rng = np.random.default_rng(n + reach)
    winner = rng.integers(0, n, 60 * n)
    loser = (winner + rng.integers(1, reach + 1, 60 * n) * rng.choice([-1, 1], 60 * n)) % n
    winner, loser = np.concatenate([winner, [n, n + 1]]), np.concatenate([loser, [n + 1, n]])
    fit = fit_arrays(winner, loser, n + 2, ridge)
    expected = dense_errors(fit._hessian)
    np.testing.assert_allclose(fit.standard_errors, expected, rtol=1e-7)
    np.testing.assert_allclose(fit.standard_errors_of([3, n]), expected[[3, n]], rtol=1e-7)
    assert not fit.comparable


def test_standard_errors_cover() -> None:
    """Scores err by about their standard errors: the mean squared ratio over many simulated items is near 1."""
    rng = np.random.default_rng(8)
    n, m = 200, 400_000
    truth = rng.normal(0, 0.7, n)
    i = rng.integers(0, n, m)
    j = (i + rng.integers(1, n, m)) % n
    first = rng.random(m) < 1 / (1 + np.exp(truth[j] - truth[i]))
    fit = fit_arrays(np.where(first, i, j), np.where(first, j, i), n, ridge=0.0)
    ratio = (fit.scores - (truth - truth.mean())) / fit.standard_errors
    assert 0.75 < (ratio**2).mean() < 1.3


def test_too_many_items_for_an_inverse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard errors that would need a huge inverse are refused with the remedy."""
    monkeypatch.setattr(module, "MAX_STANDARD_ERRORS", 300)
    rng = np.random.default_rng(0)
    winner = rng.integers(0, 2500, 30_000)
    fit = fit_arrays(winner, (winner + rng.integers(1, 2500, 30_000)) % 2500, 2500)
    with pytest.raises(SolverError, match="standard_errors_of"):
        _ = fit.standard_errors


def test_no_votes_and_lone_items() -> None:
    """Items nobody compared score 0 and are flagged as not comparable."""
    fit = fit_arrays(np.array([], dtype=int), np.array([], dtype=int), 3)
    np.testing.assert_array_equal(fit.scores, np.zeros(3))
    assert not fit.comparable
    assert fit.converged
    assert len(set(fit.components.tolist())) == 3
    np.testing.assert_array_equal(fit_arrays([], [], 3, ridge=0.0).scores, np.zeros(3))


def test_lazy_import() -> None:
    """`quietrank.estimators` offers fit_arrays without importing SciPy before it is used."""
    import subprocess
    import sys

    code = "import sys, quietrank.estimators as e; assert 'scipy' not in sys.modules; e.fit_arrays"
    subprocess.run([sys.executable, "-c", code], check=True)
