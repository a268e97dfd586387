"""Bradley–Terry scores from noisy net wins, against a slow dense minimiser, and the automatic choice of γ."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietrank.arrays import Floats, Places
from quietrank.errors import SolverError
from quietrank.maths.field import DENSE_LIMIT
from quietrank.maths.scores import (
    Design,
    PublicDesign,
    RankOneDesign,
    UniformDesign,
    clamped_exposure,
    fit_scores,
    rank_one_weights,
)


def counts(design: Design, n: int) -> Floats:
    """The n × n matrix M of a design."""
    if isinstance(design, PublicDesign):
        m = np.zeros((n, n))
        m[design.i, design.j] = design.counts
        return m + m.T
    if isinstance(design, UniformDesign):
        m = np.full((n, n), design.total / (n * (n - 1) / 2))
    else:
        a = rank_one_weights(design, n)
        m = np.outer(a, a)
    np.fill_diagonal(m, 0)
    return m


def reference(m: Floats, s: Floats, gamma: float) -> Floats:
    """The minimiser by damped Newton steps with the dense Hessian, decreasing the objective at each."""

    def objective(theta: Floats) -> float:
        x = np.abs(theta[:, None] - theta[None, :])
        pairs = m * (x / 2 + np.log1p(np.exp(-x)))
        return float(pairs.sum() / 2 - s @ theta + gamma / 2 * theta @ theta)

    theta = np.zeros(s.size)
    for _ in range(500):
        u = np.tanh((theta[:, None] - theta[None, :]) / 2) / 2
        gradient = (m * u).sum(axis=1) - s + gamma * theta
        weight = m * (0.25 - u**2)
        hessian = np.diag(weight.sum(axis=1) + gamma) - weight
        step = np.linalg.solve(hessian, -gradient)
        size = 1.0
        while objective(theta + size * step) > objective(theta) + 1e-12 * abs(objective(theta)) and size > 1e-10:
            size /= 2
        theta = theta + size * step
        if np.abs(step).max() < 1e-11:
            break
    return np.asarray(theta - theta.mean())


def a_design(kind: str, n: int, rng: np.random.Generator) -> Design:
    if kind == "uniform":
        return UniformDesign(float(rng.integers(1, 50 * n)))
    if kind == "rank-one":
        return RankOneDesign(rng.gamma(1.0, 20.0, n) + rng.laplace(0, 5, n))
    i, j = np.triu_indices(n, 1)
    met = rng.random(i.size) < 0.6
    met[rng.integers(i.size)] = True
    return PublicDesign(i[met], j[met], rng.integers(1, 20, met.sum()).astype(np.float64))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(2, 25),
    kind=st.sampled_from(["uniform", "rank-one", "public"]),
    gamma=st.sampled_from([1e-2, 0.1, 1.0, 10.0]),
    noise=st.sampled_from([0.5, 5.0, 50.0]),
)
def test_equals_the_slow_minimiser(seed: int, n: int, kind: str, gamma: float, noise: float) -> None:
    """The scores are the minimiser of the dense objective, to 1e-8 of the largest score or of 1."""
    rng = np.random.default_rng(seed)
    design, s = a_design(kind, n, rng), rng.laplace(0, noise, n)
    expected = reference(counts(design, n), s, gamma)
    fit = fit_scores(s, design, gamma=gamma, noise_sd=noise)
    assert fit.gamma == gamma
    assert np.abs(fit.theta - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize(("kind", "lattice"), [("uniform", False), ("uniform", True), ("rank-one", False)])
@pytest.mark.few(1)
def test_many_items_equal_the_slow_minimiser(kind: str, lattice: bool) -> None:
    """So they are beyond the number of items where the sums turn from dense to fast, with s̃ tied or not."""
    rng = np.random.default_rng(7)
    n = DENSE_LIMIT + 50
    design, s = a_design(kind, n, rng), rng.laplace(0, 8, n)
    s = np.round(2 * s) / 2 if lattice else s
    expected = reference(counts(design, n), s, 0.5)
    assert np.abs(fit_scores(s, design, gamma=0.5, noise_sd=8).theta - expected).max() <= 1e-8


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(2, 60),
    scale=st.sampled_from([0.1, 1.0, 30.0, 1e6]),
    heavy=st.sampled_from([1.0, 10.0, 1e9]),
)
def test_rank_one_row_sums_match_the_exposures(seed: int, n: int, scale: float, heavy: float) -> None:
    """Σ_{j≠i} a_i a_j = d_i with a > 0, also for negative noisy exposures and one item with half of all votes."""
    rng = np.random.default_rng(seed)
    exposure = scale * (rng.gamma(0.7, 2.0, n) + rng.laplace(0, 0.5, n))
    exposure[0] *= heavy
    a = rank_one_weights(RankOneDesign(exposure), n)
    d = clamped_exposure(exposure)
    assert np.all(a > 0)
    np.testing.assert_allclose(a * (a.sum() - a), d, rtol=1e-7)


def test_possible_exposures_are_left_alone() -> None:
    """Clamping changes nothing when the exposures come from real votes with more than one pair."""
    exposure = np.array([10.0, 6.0, 7.0, 3.0])
    np.testing.assert_array_equal(clamped_exposure(exposure), exposure)


@dataclass(frozen=True)
class Case:
    """A tally of 30 items under one of the designs, and the same with its items relabelled."""

    s: Floats
    design: Design
    order: Places
    relabelled: Design


def a_case(kind: str) -> Case:
    rng = np.random.default_rng(11)
    s, design, order = rng.laplace(0, 10, 30), a_design(kind, 30, rng), rng.permutation(30)
    place = np.argsort(order)
    if isinstance(design, PublicDesign):
        return Case(s, design, order, PublicDesign(place[design.i], place[design.j], design.counts))
    if isinstance(design, RankOneDesign):
        return Case(s, design, order, RankOneDesign(design.exposure[order]))
    return Case(s, design, order, design)


@pytest.mark.parametrize("kind", ["uniform", "rank-one", "public"])
def test_relabelling_permutes(kind: str) -> None:
    """Items in another order get the same scores in that order, with the same automatic γ."""
    case = a_case(kind)
    fit = fit_scores(case.s, case.design, noise_sd=10.0)
    relabelled = fit_scores(case.s[case.order], case.relabelled, noise_sd=10.0)
    assert relabelled.gamma == pytest.approx(fit.gamma)
    np.testing.assert_allclose(relabelled.theta, fit.theta[case.order], atol=1e-8)


@pytest.mark.parametrize("kind", ["uniform", "rank-one", "public"])
def test_swapping_winners_mirrors(kind: str) -> None:
    """−s̃ gives −θ."""
    case = a_case(kind)
    fit, mirrored = (fit_scores(s, case.design, noise_sd=10.0) for s in (case.s, -case.s))
    np.testing.assert_allclose(mirrored.theta, -fit.theta, atol=1e-8)


@pytest.mark.parametrize(
    ("kind", "n"),
    [("uniform", 20), ("uniform", DENSE_LIMIT + 50), ("rank-one", 20), ("rank-one", 200), ("public", 20)],
)
@pytest.mark.parametrize("gamma", ["auto", 1e-3, 1.0])
@pytest.mark.few(9)
def test_absurd_noise_still_gives_an_answer(kind: str, gamma: float, n: int) -> None:
    """One s̃_i = 1e9 gives item i a huge score and leaves the others finite, for any γ."""
    rng = np.random.default_rng(5)
    s = rng.laplace(0, 10, n)
    s[3] = 1e9
    theta = fit_scores(s, a_design(kind, n, rng), gamma=gamma, noise_sd=10.0).theta
    assert np.isfinite(theta).all()
    assert np.argmax(theta) == 3


def test_an_outlier_does_not_cost_the_others_their_digits() -> None:
    """Differences between the other scores are those of an outlier a thousand times smaller."""
    s = np.random.default_rng(6).laplace(0, 10, 300)
    others = np.arange(1, 300)
    fits = []
    for s[0] in (1e6, 1e9):
        theta = fit_scores(s, UniformDesign(300 * 100.0), gamma=1.0, noise_sd=10.0).theta[others]
        fits.append(theta - theta.mean())
    np.testing.assert_allclose(fits[0], fits[1], atol=1e-6)


def test_no_signal_shrinks_and_no_noise_does_not() -> None:
    """The automatic γ grows with the noise, stays finite when nothing can be seen, and is mild without noise."""
    rng = np.random.default_rng(8)
    design = UniformDesign(100 * 50.0)
    gammas = [fit_scores(rng.laplace(0, b, 100), design, noise_sd=2**0.5 * b).gamma for b in (1e3, 1e5)]
    assert 1e4 < gammas[0] < gammas[1] < 1e12
    theta = rng.standard_normal(100)
    s = 100 / 99 * np.tanh((theta[:, None] - theta) / 2).sum(axis=1) / 2
    assert 0.3 < fit_scores(s, design, noise_sd=0.0).gamma < 3


def simulated(
    n: int, p: float, epsilon: float, kind: str, rng: np.random.Generator
) -> tuple[Floats, Floats, Design, float]:
    """The published setting: true scores, noisy net wins, design and the noise's standard deviation."""
    strength = np.concatenate([np.ones(n // 4), rng.uniform(0.2, 0.7, n - n // 4)])
    theta = np.log(strength) - np.log(strength).mean()
    i, j = (index[met] for met in [rng.random(n * (n - 1) // 2) < p] for index in np.triu_indices(n, 1))
    wins_i = rng.random(i.size) < 1 / (1 + np.exp(theta[j] - theta[i]))
    wins = np.bincount(np.where(wins_i, i, j), minlength=n).astype(np.float64)
    losses = np.bincount(np.where(wins_i, j, i), minlength=n).astype(np.float64)
    if kind == "rank-one":
        wins, losses = wins + rng.laplace(0, 4 / epsilon, n), losses + rng.laplace(0, 4 / epsilon, n)
        return theta, (wins - losses) / 2, RankOneDesign(wins + losses), 4 / epsilon
    s = (wins - losses) / 2 + rng.laplace(0, 2 / epsilon, n)
    design = UniformDesign(float(i.size)) if kind == "uniform" else PublicDesign(i, j, np.ones(i.size))
    return theta, s, design, 2**0.5 * 2 / epsilon


@pytest.mark.parametrize("kind", ["uniform", "rank-one", "public"])
@pytest.mark.parametrize(("p", "epsilon"), [(0.25, 0.5), (1.0, 0.5), (0.5, 1.0), (1.0, 2.5)])
@pytest.mark.few(2)
def test_automatic_gamma_is_within_five_percent_of_the_best(kind: str, p: float, epsilon: float) -> None:
    """Its mean relative L2 error is at most 1.05 times that of the best fixed γ, on 100 items."""
    rng = np.random.default_rng(1)
    data = [simulated(100, p, epsilon, kind, rng) for _ in range(10)]

    def error(gamma: float | None) -> float:
        fits = [fit_scores(s, d, noise_sd=sd, gamma=gamma or "auto") for _, s, d, sd in data]
        return float(
            np.mean([np.linalg.norm(f.theta - t) / np.linalg.norm(t) for f, (t, *_) in zip(fits, data, strict=True)])
        )

    best = min(error(float(gamma)) for gamma in np.geomspace(2.5, 80, 14))
    assert error(None) <= 1.05 * best


def test_known_error_of_the_uniform_design() -> None:
    """At n = 300, p = 0.5, ε = 0.5 the relative L2 error is about 0.44, as the design page measured."""
    rng = np.random.default_rng(2)
    errors = []
    for _ in range(10):
        theta, s, design, sd = simulated(300, 0.5, 0.5, "uniform", rng)
        errors.append(np.linalg.norm(fit_scores(s, design, noise_sd=sd).theta - theta) / np.linalg.norm(theta))
    assert 0.40 < np.mean(errors) < 0.48


@pytest.mark.parametrize(
    ("net_wins", "gamma", "noise_sd", "named"),
    [
        ([1.0, np.nan], 1.0, 0.0, "net_wins"),
        ([1.0, -1.0], 0.0, 0.0, "gamma=0.0"),
        ([1.0, -1.0], 1.0, -1.0, "noise_sd=-1"),
    ],
)
def test_refusals_name_what_was_given(net_wins: list[float], gamma: float, noise_sd: float, named: str) -> None:
    """Unusable arguments are refused by name."""
    with pytest.raises(SolverError, match=named):
        fit_scores(net_wins, UniformDesign(10.0), gamma=gamma, noise_sd=noise_sd)
