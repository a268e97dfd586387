"""Davidson's model: its chances and derivatives, the field with ties, and the joint fit of scores and ν."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array

from quietrank.arrays import Floats
from quietrank.errors import SolverError
from quietrank.maths import davidson
from quietrank.maths.clustered import clustered_covariance
from quietrank.maths.davidson import Davidson, centred_rate, difference, slope, tie, win_rate
from quietrank.maths.field import CellField, DenseField
from quietrank.maths.links import LOGISTIC, check_decimals
from quietrank.maths.pairs import Pairs
from quietrank.maths.scores import (
    LARGEST_NU,
    PublicDesign,
    RankOneDesign,
    UniformDesign,
    fit_scores,
    fit_with_ties,
    nu_for,
    ties_expected,
)
from quietrank.maths.tied_fit import fit_tied_pairs

NUS = (0.0, 0.3, 2.0, 50.0)
X = np.linspace(-30, 30, 1201)


@pytest.mark.parametrize("nu", NUS)
def test_derivatives_agree_with_differences(nu: float) -> None:
    """A = ln(2 cosh(x/2) + ν): its first two derivatives, and |A'''| ≤ A''."""
    h = 1e-5
    potential = [np.log(2 * np.cosh((X + step) / 2) + nu) for step in (-h, h)]
    np.testing.assert_allclose((potential[1] - potential[0]) / (2 * h), centred_rate(X, nu), atol=1e-8)
    np.testing.assert_allclose((centred_rate(X + h, nu) - centred_rate(X - h, nu)) / (2 * h), slope(X, nu), atol=1e-9)
    third = (slope(X + h, nu) - slope(X - h, nu)) / (2 * h)
    assert np.all(np.abs(third) <= slope(X, nu) + 1e-9)
    assert np.all((slope(X, nu) > 0) & (slope(X, nu) <= 0.25))


@pytest.mark.parametrize("nu", NUS)
def test_chances_add_up(nu: float) -> None:
    wins, ties = win_rate(X, nu) - tie(X, nu) / 2, tie(X, nu)
    np.testing.assert_allclose(wins + ties + wins[::-1], 1.0, atol=1e-14)
    # e^(x/2) : e^(−x/2) : ν
    np.testing.assert_allclose(wins[700] / wins[500], np.exp(X[700]), rtol=1e-9)
    np.testing.assert_allclose(ties[700] ** 2, nu**2 * wins[700] * wins[500], rtol=1e-9)
    np.testing.assert_allclose(slope(X, nu), (1 - ties) / 4 - centred_rate(X, nu) ** 2, atol=1e-14)
    assert davidson.equal_chance(nu) == pytest.approx(float(tie(np.zeros(1), nu)[0]))


@given(st.floats(-20, 20), st.floats(0, 30))
def test_a_win_rate_gives_its_difference_back(x: float, nu: float) -> None:
    rate = win_rate(np.array([x]), nu)
    assert float(win_rate(difference(rate, nu), nu)[0]) == pytest.approx(float(rate[0]), abs=1e-14)


def test_without_ties_it_is_the_logistic_link() -> None:
    plain = Davidson(0.0)
    for name in ("cdf", "nll", "grad", "curvature"):
        np.testing.assert_allclose(getattr(plain, name)(X), getattr(LOGISTIC, name)(X), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("nu", NUS)
def test_the_solver_can_trust_its_slopes(nu: float) -> None:
    """grad has the stated rounding, and more digits where they are asked for."""
    model = Davidson(nu)
    check_decimals(model)
    exact = np.array([float(model.grad_decimal(Decimal(float(x)))) for x in X[::40]])
    assert np.all(np.abs(model.grad(X[::40]) - exact) <= model.grad_error(30.0) * exact + 1e-300)


@pytest.mark.parametrize("nu", [0.0, 0.7, 30.0, 1e5])
@pytest.mark.few(1)
def test_cells_sum_ties_as_matrices_do(nu: float) -> None:
    rng = np.random.default_rng(1)
    theta, mass = rng.normal(0, 3, 2500), rng.random(2500)
    cells, dense = CellField.at(theta, nu), DenseField.at(theta, nu)
    by_cells, by_matrix = ((*field.pull_and_slope(mass), field.ties(mass)) for field in (cells, dense))
    for one, other in zip(by_cells, by_matrix, strict=True):
        assert np.abs(one - other).max() <= 1e-11 * mass.sum()


# ---- the joint fit --------------------------------------------------------------------------------------------------


def _expected(theta: Floats, nu: float, met: Floats) -> tuple[Floats, float]:
    gap = theta[:, None] - theta
    return (met * centred_rate(gap, nu)).sum(axis=1), float((met * tie(gap, nu)).sum()) / 2


def _met(n: int, votes: float) -> Floats:
    return (np.ones((n, n)) - np.eye(n)) * (votes / (n * (n - 1) / 2))


@pytest.mark.parametrize("kind", ["uniform", "rank-one", "public"])
def test_what_is_expected_gives_the_model_back(kind: str) -> None:
    """With the expected counts of a model in place of counts, scores and ν are those of the model."""
    theta, nu, n = np.array([0.9, 0.2, -0.3, -0.8]), 0.6, 4
    met = _met(n, 6000.0) if kind == "uniform" else np.outer([60, 30, 40, 20], [60, 30, 40, 20]) * (1 - np.eye(n))
    s, ties = _expected(theta, nu, met)
    i, j = np.triu_indices(n, 1)
    designs: dict[str, UniformDesign | RankOneDesign | PublicDesign] = {
        "uniform": UniformDesign(6000.0),
        "rank-one": RankOneDesign(met.sum(axis=1)),
        "public": PublicDesign(i, j, met[i, j]),
    }
    fitted = fit_with_ties(s, ties, designs[kind], gamma=1e-7, noise_sd=0.0)
    np.testing.assert_allclose(fitted.theta, theta, atol=1e-6)
    assert fitted.nu == pytest.approx(nu, rel=1e-6)
    assert ties_expected(fitted.theta, fitted.nu, designs[kind]) == pytest.approx(ties, rel=1e-8)
    assert nu_for(fitted.theta, ties, designs[kind], 0.1) == pytest.approx(nu, rel=1e-6)
    assert nu_for(fitted.theta, -1.0, designs[kind], 0.1) == 0.0
    assert np.isinf(nu_for(fitted.theta, 1e9, designs[kind], 0.1))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-40, 40), min_size=3, max_size=6), st.floats(-50, 250))
def test_the_fit_is_the_minimum_whatever_the_noise_left(net_wins: list[float], ties: float) -> None:
    """Against a general minimiser of the negative log-likelihood; K is clamped to what is possible."""
    s, n = np.array(net_wins), len(net_wins)
    met, gamma = _met(n, 100.0), 2.0
    fitted = fit_with_ties(s, ties, UniformDesign(100.0), gamma=gamma, noise_sd=1.0)
    known = min(max(ties, 0.5), 99.5)

    def objective(point: Floats) -> float:
        theta, log_nu = point[:-1], point[-1]
        gap = np.abs(theta[:, None] - theta) / 2
        potential = gap + np.log1p(np.exp(-2 * gap) + np.exp(log_nu - gap))
        return float((met * potential).sum() / 2 - s @ theta - known * log_nu + gamma / 2 * theta @ theta)

    at = np.append(fitted.theta + (s.mean() / gamma), np.log(fitted.nu))
    if fitted.nu < 0.99 * LARGEST_NU:
        best = minimize(objective, at, method="BFGS").fun
        assert objective(at) <= best + 1e-6 * (1 + abs(best))


def test_the_ridge_is_chosen_with_ties_as_well() -> None:
    theta, met = np.linspace(-1, 1, 12), _met(12, 20_000.0)
    s, ties = _expected(theta, 0.8, met)
    fitted = fit_with_ties(s, ties, UniformDesign(20_000.0), noise_sd=5.0)
    assert fitted.gamma > 0
    assert fitted.nu == pytest.approx(0.8, rel=0.02)
    half = fit_scores(s, UniformDesign(20_000.0), noise_sd=5.0)
    # Half wins pull scores together: log-odds of decisive votes lie further apart.
    assert np.ptp(fitted.theta) > 1.2 * np.ptp(half.theta)


# ---- exact votes ----------------------------------------------------------------------------------------------------


def _votes(n: int, votes: int, nu: float, seed: int) -> tuple[Pairs, float, Floats]:
    """Simulated votes as pairs, the number of ties among them, and the true scores."""
    rng = np.random.default_rng(seed)
    theta = np.linspace(-0.8, 0.8, n)
    i, j = np.triu_indices(n, 1)
    counts = rng.multinomial(votes, np.full(len(i), 1 / len(i)))
    ties = tie(theta[i] - theta[j], nu)
    wins = win_rate(theta[i] - theta[j], nu) - ties / 2
    chances = np.column_stack([wins, ties, 1 - wins - ties])
    drawn = np.array([rng.multinomial(m, chance) for m, chance in zip(counts, chances, strict=True)])
    half = drawn[:, 1] / 2
    pairs = Pairs(n, i.astype(np.int32), j.astype(np.int32), drawn[:, 0] + half, drawn[:, 2] + half)
    return pairs, float(drawn[:, 1].sum()), theta


def test_standard_errors_are_those_of_repeated_samples() -> None:
    """Of scores and of ln ν, in 300 samples: to 15 %, where a standard deviation is off by 4 %."""
    fits = [fit_tied_pairs(pairs, ties, 0.0) for pairs, ties, _ in (_votes(4, 800, 0.5, seed) for seed in range(300))]
    scores = np.array([fit.scores for fit in fits])
    np.testing.assert_allclose(scores.mean(axis=0), np.linspace(-0.8, 0.8, 4), atol=0.04)
    np.testing.assert_allclose(scores.std(axis=0), fits[0].standard_errors, rtol=0.2)
    logs = np.log([fit.nu for fit in fits])
    assert logs.mean() == pytest.approx(np.log(0.5), abs=0.05)
    assert logs.std() == pytest.approx(fits[0].log_error(), rel=0.2)


def test_clustered_errors_of_single_votes_are_near_those_of_the_model() -> None:
    """One vote per person, as many of each kind as expected: the sandwich is the inverse information."""
    pairs, ties, _ = _votes(4, 4000, 0.5, 1)
    fit = fit_tied_pairs(pairs, ties, 0.0)
    gap = fit.scores[pairs.i] - fit.scores[pairs.j]
    chance, rate = tie(gap, fit.nu), centred_rate(gap, fit.nu)
    wins, rows = rate + 0.5 - chance / 2, []
    for place, votes in enumerate(pairs.counts):
        for y, tied, share in ((0.5, 0, wins), (0.0, 1, chance), (-0.5, 0, 1 - wins - chance)):
            row = np.zeros(5)
            row[pairs.i[place]], row[pairs.j[place]] = y - rate[place], rate[place] - y
            row[4] = tied - chance[place]
            rows += [row] * round(votes * share[place])
    gradients = csr_array(np.array(rows))
    errors = np.sqrt(np.diag(clustered_covariance(fit, gradients)))
    np.testing.assert_allclose(errors, fit.standard_errors, rtol=0.02)
    assert fit.log_error(gradients.toarray()) == pytest.approx(fit.log_error(), rel=0.02)


def test_votes_without_ties_have_no_tie_parameter() -> None:
    pairs, _, _ = _votes(3, 100, 0.5, 1)
    for ties in (0.0, float(pairs.counts.sum())):
        with pytest.raises(SolverError, match="davidson"):
            fit_tied_pairs(pairs, ties, 0.0)
