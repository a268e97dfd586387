"""The solver against an independent one in 40-digit arithmetic, and its certificate against the true gradient."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quietrank.arrays import Floats
from quietrank.errors import SolverError
from quietrank.maths import hessian, solver
from quietrank.maths.certificate import certified_gradient_norm, decimal_gradient, gradient_with_error
from quietrank.maths.hessian import Hessian
from quietrank.maths.links import HYPERBOLIC_SECANT, LOGISTIC, Link
from quietrank.maths.pairs import Pairs, aggregate
from quietrank.maths.problem import Problem
from quietrank.maths.solver import solve, solve_nearly

RIDGES = [1e-6, 1e-3, 0.1, 1.0, 10.0]
KINDS = ["sparse", "star", "chain", "disconnected", "separated", "champion", "clusters"]
Wins = list[tuple[int, int, float, float]]  # i, j, wins of i, wins of j


def reference(n: int, wins: Wins, ridge: float, linear: list[float], digits: int = 40) -> Floats:
    """Plain damped Newton with the logistic link in decimal arithmetic; shares no code with the solver."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = digits, MAX_EMAX, MIN_EMIN
        one, zero = Decimal(1), Decimal(0)
        gamma, c = Decimal(ridge), [Decimal(v) for v in linear]
        rows = [(i, j, Decimal(a), Decimal(b)) for i, j, a, b in wins]

        def value(t: list[Decimal]) -> Decimal:
            pair = sum(
                (a * (1 + (t[j] - t[i]).exp()).ln() + b * (1 + (t[i] - t[j]).exp()).ln() for i, j, a, b in rows), zero
            )
            return pair + sum((gamma / 2 * x * x + d * x for x, d in zip(t, c, strict=True)), zero)

        theta = [zero] * n
        for _ in range(200):
            g = [gamma * x + d for x, d in zip(theta, c, strict=True)]
            hessian = [[gamma if i == j else zero for j in range(n)] for i in range(n)]
            for i, j, a, b in rows:
                p = one / (1 + (theta[j] - theta[i]).exp())
                slope, weight = b * p - a * (1 - p), (a + b) * p * (1 - p)
                g[i] += slope
                g[j] -= slope
                for x, y, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                    hessian[x][y] += sign * weight
            step = eliminate(hessian, g)
            if max(map(abs, step)) < Decimal(10) ** -14:
                return np.array([float(x) for x in theta])
            size, before = one, value(theta)
            while value([x - size * s for x, s in zip(theta, step, strict=True)]) > before:
                size /= 2
                if size < Decimal(10) ** -12:
                    break
            theta = [x - size * s for x, s in zip(theta, step, strict=True)]
        raise AssertionError("the reference did not converge")


def eliminate(matrix: list[list[Decimal]], right: list[Decimal]) -> list[Decimal]:
    rows = [[*row, r] for row, r in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = rows[k]
        for other in rows[k + 1 :]:
            factor = other[k] / pivot[k]
            other[:] = [x - factor * y for x, y in zip(other, pivot, strict=True)]
    x = [Decimal(0)] * len(rows)
    for k in reversed(range(len(rows))):
        rest = sum((rows[k][j] * x[j] for j in range(k + 1, len(rows))), Decimal(0))
        x[k] = (rows[k][-1] - rest) / rows[k][k]
    return x


def to_pairs(n: int, wins: Wins) -> Pairs:
    wins = sorted(wins)
    i, j = (np.array([row[k] for row in wins], dtype=np.int32) for k in (0, 1))
    a, b = (np.array([row[k] for row in wins], dtype=float) for k in (2, 3))
    return Pairs(n, i, j, a, b)


def edges(draw: st.DrawFn, kind: str, n: int) -> list[tuple[int, int]]:
    everyone = [(i, j) for i in range(n) for j in range(i + 1, n)]
    if kind == "star":
        return [(0, j) for j in range(1, n)]
    if kind == "chain":
        return [(i, i + 1) for i in range(n - 1)]
    some = draw(st.lists(st.sampled_from(everyone), unique=True, min_size=1))
    if kind == "disconnected":
        return [(i, j) for i, j in some if (i % 2) == (j % 2)] or [(0, 2)]
    if kind == "clusters":
        return everyone
    return some


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Wins]:
    n = draw(st.integers(3, 6))
    kind = draw(st.sampled_from(KINDS))
    size = draw(st.sampled_from([1, 3, 1000, 1_000_000]))
    count = st.integers(0, size)
    wins: Wins = []
    for i, j in edges(draw, kind, n):
        a, b = draw(count), draw(count)
        beaten = kind == "separated" or (kind == "champion" and i == 0) or (kind == "clusters" and i < 2 <= j)
        wins.append((i, j, float(a + 1), 0.0 if beaten else float(b)))
    return n, wins


CLUSTERS: Wins = [(0, 1, 7e5, 3e5), (0, 2, 9e5, 0.0), (1, 3, 9e5, 0.0), (2, 3, 4e5, 5e5)]

# item 2 is held a trillion times more weakly than the rest, whose rounding must not leak into its score
HANGING: Wins = [
    (0, 1, 5235273.0, 2765166.0),
    (0, 2, 7338979.0, 0.0),
    (0, 3, 1965860.0, 372834.0),
    (1, 3, 8596756.0, 8889556.0),
]


@settings(deadline=None, max_examples=60)
@given(graph=graphs(), ridge=st.sampled_from(RIDGES))
@example(graph=(4, CLUSTERS), ridge=1e-6)
@example(graph=(4, HANGING), ridge=1.117725892658104e-06)
@example(graph=(3, [(0, 1, 1e6, 0.0), (1, 2, 1e6, 0.0)]), ridge=1e-6)
@example(graph=(3, [(0, 1, 1.0, 0.0)]), ridge=10.0)
def test_agrees_with_an_independent_solver(graph: tuple[int, Wins], ridge: float) -> None:
    """Scores agree with 40-digit Newton to 1e-8 on every kind of graph, separated or not, at every ridge."""
    n, wins = graph
    found = solve(Problem(to_pairs(n, wins), ridge))
    np.testing.assert_allclose(found.scores, reference(n, wins, ridge, [0.0] * n), rtol=0, atol=1e-8)
    assert found.converged
    assert found.error_bound <= 1.01e-8
    assert abs(found.scores.sum()) < 1e-12 * max(1.0, np.abs(found.scores).max())


@settings(deadline=None, max_examples=20)
@given(graph=graphs(), ridge=st.sampled_from(RIDGES), data=st.data())
def test_noisy_tally_agrees_with_an_independent_solver(
    graph: tuple[int, Wins], ridge: float, data: st.DataObject
) -> None:
    """With noisy net wins that no votes could produce, and that do not sum to zero, scores are right to 1e-8."""
    n, wins = graph
    s = np.array(data.draw(st.lists(st.integers(-2000, 2000), min_size=n, max_size=n))) / 16
    pairs = to_pairs(n, wins)
    half = [(i, j, (a + b) / 2, (a + b) / 2) for i, j, a, b in wins]
    exact = reference(n, half, ridge, (-s).tolist())
    found = solve(Problem.from_tally(pairs, s, ridge))
    gap = np.abs(found.scores - (exact - exact.mean())).max()
    assert gap <= 1e-8 + 1e-15 * np.abs(exact).max()


SATURATED = [  # net wins that no votes could give: pairs beyond all odds, components shifted by thousands
    (5, [(0, 3, 145819.0, 635672.0), (1, 4, 3148745.0, 0.0)], 1.7208338724477704e-06),
    (5, [(1, 3, 58815.0, 36332.0), (3, 4, 79133.0, 0.0)], 2.0424865031336983e-05),
    (7, [(0, 4, 348460.0, 0.0), (2, 5, 1.0, 0.0), (2, 6, 772.0, 0.0)], 0.0003526625833667113),
]


@pytest.mark.parametrize(("n", "wins", "ridge"), SATURATED)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.few(3)
def test_tally_beyond_all_odds(n: int, wins: Wins, ridge: float, seed: int) -> None:
    """Where noise exceeds the votes and the ridge is tiny, scores in the thousands are still right to 1e-8."""
    pairs = to_pairs(n, wins)
    s = pairs.net_wins + np.round(np.random.default_rng(seed).laplace(0, 3, n), 3)
    half = [(i, j, (a + b) / 2, (a + b) / 2) for i, j, a, b in wins]
    exact = reference(n, half, ridge, (-s).tolist())
    exact -= exact.mean()
    gap = np.abs(solve(Problem.from_tally(pairs, s, ridge)).scores - exact).max()
    assert gap <= 1e-8 + 1e-14 * np.abs(exact).max()


@settings(deadline=None, max_examples=60)
@given(
    graph=graphs(),
    ridge=st.sampled_from([0.0, *RIDGES]),
    link=st.sampled_from([LOGISTIC, HYPERBOLIC_SECANT]),
    seed=st.integers(0, 2**32 - 1),
)
def test_certificate_is_an_upper_bound(graph: tuple[int, Wins], ridge: float, link: Link, seed: int) -> None:
    """At any θ, also next to the minimiser, the certified norm is at least the true norm, and hardly more."""
    n, wins = graph
    rng = np.random.default_rng(seed)
    problem = Problem(to_pairs(n, wins), ridge, link, rng.laplace(size=n) if ridge else None)
    for theta in (
        rng.normal(0, 10 ** rng.uniform(-3, 2), n),
        solve_nearly(problem, 1.0).theta if ridge else np.ones(n),
    ):
        true = exact_norm(problem, theta)
        certified = certified_gradient_norm(problem, theta)
        assert Decimal(certified) >= true
        size = problem.pairs.counts.sum() + ridge * np.abs(theta).sum() + 1
        assert certified <= float(true) * 1.001 + 1e-14 * (20 + np.ptp(theta)) * size


def exact_norm(problem: Problem, theta: Floats) -> Decimal:
    """‖∇f(θ)‖ at 70 digits, pair by pair."""
    with localcontext() as context:
        context.prec = 70
        p, t = problem.pairs, [Decimal(x) for x in theta.tolist()]
        linear = np.zeros(p.n_items) if problem.linear is None else problem.linear
        g = [Decimal(problem.ridge) * x + Decimal(c) for x, c in zip(t, linear.tolist(), strict=True)]
        for i, j, a, b in zip(*(x.tolist() for x in (p.i, p.j, p.wins_i, p.wins_j)), strict=True):
            x = t[i] - t[j]
            slope = Decimal(b) * problem.link.grad_decimal(-x) - Decimal(a) * problem.link.grad_decimal(x)
            g[i] += slope
            g[j] -= slope
        return sum((x * x for x in g), Decimal(0)).sqrt()


def test_certificate_is_tight_enough_to_fail() -> None:
    """Plain float64 evaluation is below the true norm at some θ, so a certificate without its error term is caught."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(40):
        winner, ahead = rng.integers(0, 5, 200), rng.integers(1, 5, 200)
        problem = Problem(aggregate(winner, (winner + ahead) % 5, 5), 0.5)
        theta = solve(problem).theta
        plain = float(np.linalg.norm(gradient_with_error(problem, theta, None)[0]))
        missed += Decimal(plain) < exact_norm(problem, theta)
    assert missed > 5


@pytest.mark.parametrize("link", [LOGISTIC, HYPERBOLIC_SECANT], ids=lambda link: link.name)
@pytest.mark.parametrize("votes", [1.0, 1e9])
def test_precision_is_raised_until_the_certificate_holds(link: Link, votes: float) -> None:
    """Tolerances far below what float64 can certify are met by two-float64 scores, and truly so."""
    rng = np.random.default_rng(3)
    wins = [(i, j, votes * float(rng.integers(0, 9)), votes) for i in range(6) for j in range(i + 1, 6)]
    problem = Problem(to_pairs(6, wins), 0.5, link, rng.laplace(0, 20, 6))
    found = solve_nearly(problem, 1e-14)
    assert found.theta_low is not None
    assert found.gradient_norm <= 1e-14
    with localcontext() as context:
        context.prec = 70
        again = decimal_gradient(problem, found.theta, found.theta_low)[0]
    assert np.linalg.norm(again) <= found.gradient_norm
    assert certified_gradient_norm(problem, found.theta) > 1e-14


def test_easy_tolerance_needs_no_extra_precision() -> None:
    """A tolerance that float64 can certify returns plain float64 scores."""
    found = solve_nearly(Problem(to_pairs(3, [(0, 1, 5.0, 2.0), (1, 2, 3.0, 1.0)]), 2.0), 1e-9)
    assert found.theta_low is None
    assert found.gradient_norm <= 1e-9


def test_without_ridge_fords_condition_is_checked() -> None:
    """γ = 0 and a group that never lost: an error that names the ridge, not an enormous score."""
    with pytest.raises(SolverError, match="give a ridge"):
        solve(Problem(to_pairs(3, [(0, 1, 5.0, 0.0), (1, 2, 1.0, 1.0)]), 0.0))


def test_without_ridge_two_items_have_the_closed_form() -> None:
    """γ = 0: θ_0 − θ_1 = log(wins_0/wins_1), also per component of a disconnected graph."""
    found = solve(Problem(to_pairs(5, [(0, 1, 30.0, 10.0), (2, 3, 1.0, 4.0)]), 0.0))
    expected = [math.log(3) / 2, -math.log(3) / 2, -math.log(4) / 2, math.log(4) / 2, 0.0]
    np.testing.assert_allclose(found.scores, expected, atol=1e-12)
    assert not found.comparable


def test_noise_needs_a_ridge() -> None:
    """A linear term without a ridge is refused, because the minimiser may not exist."""
    with pytest.raises(SolverError, match="ridge > 0"):
        Problem(to_pairs(2, [(0, 1, 1.0, 1.0)]), 0.0, linear=np.ones(2))
    with pytest.raises(SolverError, match="ridge=-1"):
        Problem(to_pairs(2, [(0, 1, 1.0, 1.0)]), -1.0)


def test_unreachable_accuracy_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that cannot step raises; it never returns a number it cannot vouch for."""
    monkeypatch.setattr(solver._Newton, "step", lambda self, direction: None)
    monkeypatch.setattr(solver, "MAX_REFINE", 1)
    with pytest.raises(SolverError, match="larger ridge"):
        solve(Problem(to_pairs(3, [(0, 1, 5.0, 2.0), (1, 2, 3.0, 1.0)]), 1.0))


def near_neighbours(n: int, width: int, votes: int, seed: int) -> Pairs:
    rng = np.random.default_rng(seed)
    i = rng.integers(0, n - width, votes)
    j = i + rng.integers(1, width + 1, votes)
    first = rng.random(votes) < 1 / (1 + np.exp(rng.normal(0, 1, n)[j]))
    return aggregate(np.where(first, i, j), np.where(first, j, i), n)


@pytest.mark.parametrize("ridge", [1e-6, 0.1])
@pytest.mark.parametrize("shape", ["ladder", "random", "tree", "separated item"])
def test_all_linear_solvers_reach_the_same_scores(shape: str, ridge: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dense, banded, sparse and conjugate-gradient steps lead to the same scores to 2e-8."""
    rng = np.random.default_rng(5)
    n = 150
    if shape == "ladder":
        pairs = near_neighbours(n, 3, 30_000, 1)
    elif shape == "tree":
        child = np.repeat(np.arange(1, n), 40)
        parent = rng.integers(0, n, n)[child] % child
        up = rng.random(len(child)) < 0.4
        pairs = aggregate(np.where(up, child, parent), np.where(up, parent, child), n)
    else:
        won, ahead = rng.integers(0, n - 1, 20_000), rng.integers(1, n - 1, 20_000)
        lost = (won + ahead) % (n - 1)
        if shape == "separated item":
            won, lost = np.append(won, [n - 1] * 3), np.append(lost, [0, 1, 2])
        pairs = aggregate(won, lost, n)
    original = Hessian.__init__
    results = []
    for method in ("dense", "banded", "sparse", "cg"):

        def start(self: Hessian, problem: Problem, method: str = method) -> None:
            original(self, problem)
            self.method = method

        with monkeypatch.context() as patch:
            patch.setattr(Hessian, "__init__", start)
            patch.setattr(hessian, "SLOW_CG", 10**9)
            results.append(solve(Problem(pairs, ridge)).scores)
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], rtol=0, atol=2e-8)


def test_slow_conjugate_gradients_hand_over_to_a_band() -> None:
    """On a long ladder the solver notices that conjugate gradients crawl and factorises instead."""
    newton = solver._Newton(Problem(near_neighbours(3000, 3, 100_000, 2), 1e-3))
    newton.run(lambda: 1e-6)
    assert newton.hessian.method == "banded"


def test_secant_link_matches_scipy() -> None:
    """With the hyperbolic-secant link the scores minimise the objective written out naively."""
    from scipy.optimize import minimize

    wins: Wins = [(0, 1, 5.0, 2.0), (1, 2, 3.0, 1.0), (0, 3, 4.0, 4.0)]

    def f(t: Floats) -> float:
        x = np.array([t[i] - t[j] for i, j, _, _ in wins])
        F = 2 / np.pi * np.arctan(np.exp(np.pi * x / 2))
        a, b = np.array([row[2] for row in wins]), np.array([row[3] for row in wins])
        return float(-(a * np.log(F) + b * np.log(1 - F)).sum() + 0.15 * (t**2).sum())

    rough = minimize(f, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x
    found = solve(Problem(to_pairs(4, wins), 0.3, HYPERBOLIC_SECANT))
    np.testing.assert_allclose(found.scores, rough, atol=1e-6)
    assert found.gradient_norm < 1e-8
