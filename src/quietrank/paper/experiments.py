"""The number of an experiment in, its cells out; a cell, a repetition and a seed in, one value per curve point out.

A cell is one set-up (n, p, m or a survey) with all its ε. Within a repetition all methods see the same votes, and
counts and net wins get the same noise, or noise in the same order, so that differences between curves are differences
between methods.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from math import inf, isinf, sqrt

import numpy as np

from quietrank.arrays import Floats
from quietrank.errors import QuietrankError
from quietrank.mechanisms.zonotope import ZonotopeLaw
from quietrank.paper import attack, metrics, ours, phase
from quietrank.paper.data import (
    Crowd,
    Duels,
    Survey,
    crowd,
    graph_duels,
    strengths,
    survey,
    top_size,
    win_probabilities,
)
from quietrank.paper.methods import (
    edge_ridge,
    ergodicity,
    one_shot_scale,
    perturbed_mle,
    score_estimate,
    stationary,
    transition_matrix,
    zonotope_noise,
)

PER_PERSON = 5  # L in experiments 5 to 7
ROOMS = ("maths", "mechanisms", "noise", "promise", "statistics")
FIGURES = ("1", "2", "3", "4", "5", "6", "7", "8", "phase", "attack")
SOME_EPSILONS = (0.5, 1.0, 2.5, inf)
MANY_EPSILONS = (0.2, 0.25, 1 / 3, 0.5, 1.0, 1.5, 2.0, 2.5, 5.0, inf)

# Repetitions: 1, 2 and 4 as published (the `runs` of the reference file), 8 as published; 3 and 5 to 7 ours.
REPETITIONS = {
    "1": 120, "2": 120, "3": 100, "4": 45, "5": 100, "6": 100, "7": 100, "8": 1000, "phase": 100, "attack": 300,
}  # fmt: skip
QUICK = {
    "1": 6, "2": 6, "3": 2, "4": 4, "5": 8, "6": 8, "7": 4, "8": 60, "phase": 8, "attack": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Point:
    """One point of one curve."""

    method: str
    metric: str
    epsilon: float
    data: str = ""


Values = dict[Point, float]

BEFORE = {**dict.fromkeys("567", "net_wins_laplace"), "8": "net_wins_zonotope"}
"""what `ours` is compared with, repetition by repetition: the noise that was ours, at this promise, before the ball,
selection and noise given a sum of zero"""
CHANGE = "_change"
"""ends the name of a measure that is the difference of `ours` from that, on the same votes"""


@dataclass(frozen=True)
class Cell:
    """One set-up; `cost` is an estimate of the seconds one repetition takes, for the progress bar and the chunks."""

    experiment: str
    n: int
    epsilons: tuple[float, ...]
    p: float | None = None
    m: int | None = None
    data: str = ""
    cost: float = field(default=0.01, compare=False)

    @property
    def key(self) -> tuple[int, ...]:
        """The seed of a repetition, together with its number: it does not depend on which other cells are run."""
        alone = round(1e6 * self.epsilons[0]) if len(self.epsilons) == 1 else 0
        p = round(1e6 * (self.p or 0))
        return (FIGURES.index(self.experiment), self.n, p, self.m or 0, sum(self.data.encode()), alone)

    @property
    def name(self) -> str:
        alone = self.epsilons[0] if len(self.epsilons) == 1 else None
        parts = {"n": self.n, "p": self.p, "m": self.m, "eps": alone}
        words = [f"{letter}{value:g}" for letter, value in parts.items() if value]
        return "-".join([*words, *([self.data] if self.data else [])])

    def fingerprint(self, seed: int) -> str:
        """Changes with everything that a repetition's values depend on, so that outdated parts are not reused."""
        settings = asdict(replace(self, cost=0.0)) | {"seed": seed, "code": code_fingerprint()}
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def chunk(self) -> int:
        """Repetitions that are computed and stored together: about two seconds' worth."""
        return max(1, round(2.0 / self.cost))


@cache
def code_fingerprint() -> str:
    """A hash of the modules that compute a repetition: results of different versions must not be mixed."""
    root = files("quietrank")
    return hashlib.sha256(b"".join((root / source).read_bytes() for source in sources())).hexdigest()


def sources() -> list[str]:
    """The files of these modules: of paper/ those that compute, and all of the packages that they use."""
    root = files("quietrank")
    here = ("attack", "data", "dense", "experiments", "methods", "metrics", "ours", "phase")
    used = [f"{room}/{source.name}" for room in ROOMS for source in (root / room).iterdir()]
    return [f"paper/{name}.py" for name in here] + sorted(name for name in used if name.endswith(".py"))


def cells(experiment: str, quick: bool = False) -> list[Cell]:
    """The cells of an experiment, or with `quick` a few of them."""
    if experiment not in FIGURES:
        raise QuietrankError(f"no figure {experiment!r}; choose one of {', '.join(FIGURES)} or all")
    every = _CELLS[experiment]()
    return _few(experiment, every) if quick else every


def _edge(experiment: str, n: int, p: float, epsilons: tuple[float, ...]) -> Cell:
    return Cell(experiment, n, epsilons, p=p, cost=len(epsilons) * (0.04 + 3e-7 * n * n))


def _person(experiment: str, n: int, m: int, epsilons: tuple[float, ...]) -> Cell:
    return Cell(experiment, n, epsilons, m=m, cost=len(epsilons) * 0.03)


def _cells_4() -> list[Cell]:
    epsilons = dict.fromkeys((150, 250, 350, 450, 550, 650), (0.1, 2.0, inf)) | {350: (0.1, 0.5, 1.0, 2.0, 5.0, inf)}
    return [_edge("4", n, 1.0, epsilons[n]) for n in epsilons]


def _cells_8() -> list[Cell]:
    epsilons = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
    real = [survey(name) for name in ("cems", "immigration")]
    return [Cell("8", s.duels.n, epsilons, m=s.people, data=s.name, cost=0.01) for s in real]


def _cells_phase() -> list[Cell]:
    edge = [Cell("phase", n, (e,), p=1.0, cost=3e-7 * n * n) for n in (250, 500, 1000) for e in (0.3, 1.0, 4.0)]
    sizes = ((32, 4000), (64, 16000), (128, 64000))
    person = [Cell("phase", n, (e,), m=m, cost=2e-3 + 2e-6 * m) for n, m in sizes for e in (0.3, 1.0, 4.0)]
    return edge + person


_CELLS: dict[str, Callable[[], list[Cell]]] = {
    "1": lambda: [_edge("1", n, 1.0, SOME_EPSILONS) for n in range(100, 701, 75)],
    "2": lambda: [_edge("2", 300, round(0.1 + 0.075 * i, 3), SOME_EPSILONS) for i in range(13)],
    "3": lambda: [_edge("3", 300, p, MANY_EPSILONS) for p in (0.25, 0.5, 0.75, 1.0)],
    "4": _cells_4,
    "5": lambda: [_person("5", n, 1000, SOME_EPSILONS) for n in range(12, 33, 4)],
    "6": lambda: [_person("6", 16, m, SOME_EPSILONS) for m in (250, 500, 750, 1000, 1500, 2000)],
    "7": lambda: [_person("7", 16, m, (0.25, 1.0, 2.0, 4.0, 8.0, 10.0)) for m in (250, 500, 1000, 2000)],
    "8": _cells_8,
    "phase": _cells_phase,
    "attack": lambda: [Cell("attack", attack.ITEMS, attack.EPSILONS, p=1.0, cost=0.1)],
}


def _few(experiment: str, every: list[Cell]) -> list[Cell]:
    keep: dict[str, Callable[[Cell], bool]] = {
        "1": lambda c: c.n in (100, 250, 400),
        "2": lambda c: c.p in (0.1, 0.25, 0.55, 1.0),
        "4": lambda c: c.n in (150, 350),
        "5": lambda c: c.n in (12, 20, 32),
        "6": lambda c: c.m in (250, 1000, 2000),
        "phase": lambda c: c.n in (32, 64, 250, 500),
    }
    return [cell for cell in every if experiment not in keep or keep[experiment](cell)]


def repeat(cell: Cell, repetition: int, seed: int) -> Values:
    """All values of one repetition: a function of the cell, the repetition's number and the seed alone."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*cell.key, repetition)))
    return _RUN[cell.experiment](cell, rng, seed)


def fixed_strengths(n: int, seed: int) -> Floats:
    """θ of experiments 1 to 4: one draw per n, the same in all repetitions and experiments."""
    return strengths(n, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(FIGURES), n))))


@dataclass(frozen=True, eq=False)
class Truth:
    """What an estimate is measured against."""

    theta: Floats
    k: int
    coin: Floats

    def of_scores(self, method: str, epsilon: float, scores: Floats) -> Values:
        return {
            Point(method, "log_rel_l2", epsilon): metrics.log_rel_l2(scores, self.theta),
            Point(method, "log_rel_linf", epsilon): metrics.log_rel_linf(scores, self.theta),
        }

    def of_order(self, method: str, epsilon: float, values: Floats) -> Values:
        return {Point(method, "topk_error", epsilon): metrics.topk_error(values, self.k, self.coin)}


def _run_edge(cell: Cell, rng: np.random.Generator, seed: int) -> Values:
    truth, duels = _edge_votes(cell, rng, seed)
    return _edge_values(cell, truth, duels, rng)


def _edge_votes(cell: Cell, rng: np.random.Generator, seed: int) -> tuple[Truth, Duels]:
    truth = Truth(fixed_strengths(cell.n, seed), top_size(cell.n), rng.random(cell.n))
    return truth, graph_duels(win_probabilities(truth.theta), cell.p or 1.0, rng)


def _edge_values(cell: Cell, truth: Truth, duels: Duels, rng: np.random.Generator) -> Values:
    gamma = edge_ridge(cell.n, cell.p or 1.0)
    values: Values = {}
    start = None
    for epsilon in sorted(cell.epsilons, reverse=True):  # from little noise to much: the last fit is a good start
        unit = rng.laplace(size=cell.n)
        start = perturbed_mle(duels, rng.laplace(scale=8 / epsilon, size=cell.n), gamma, start)
        values |= truth.of_scores("perturbed_mle", epsilon, start)
        values |= truth.of_order("perturbed_mle", epsilon, start)
        values |= truth.of_order("noisy_counts", epsilon, duels.win_counts + unit * 2 / epsilon)
        values |= _net_wins("ours", duels, truth, epsilon, unit, 2 / epsilon)
    by_position = metrics.topk_error_by_position(duels.win_counts, truth.k)
    return values | {Point("noisy_counts", "topk_error_by_position", inf): by_position}


def _net_wins(method: str, duels: Duels, truth: Truth, epsilon: float, unit: Floats, scale: float) -> Values:
    """Scores from noisy net wins; under a uniform design they are in the order of the noisy net wins themselves."""
    noisy = duels.net_wins + unit * scale
    values = truth.of_scores(method, epsilon, score_estimate(duels, noisy, scale))
    return values | truth.of_order(method, epsilon, noisy)


def _run_one_shot(cell: Cell, rng: np.random.Generator, seed: int) -> Values:
    """Experiment 4: the edge methods and the one-shot method on the same votes."""
    truth, duels = _edge_votes(cell, rng, seed)
    values = _edge_values(cell, truth, duels, rng)
    p = cell.p or 1.0
    chain = transition_matrix(duels, p)
    scores, rho = stationary(chain), ergodicity(chain)
    for epsilon in cell.epsilons:
        scale, unit = one_shot_scale(cell.n, truth.k, p, rho, epsilon), rng.laplace(size=cell.n)
        values |= truth.of_order("one_shot", epsilon, unit if scale == inf else scores + scale * unit)
    return values


def _run_person(cell: Cell, rng: np.random.Generator, seed: int) -> Values:
    n, limit = cell.n, PER_PERSON
    theta = strengths(n, rng)
    truth = Truth(theta, top_size(n), rng.random(n))
    people = crowd(win_probabilities(theta), cell.m or 0, limit, rng)
    duels, values, units = people.duels, Values(), dict[float, Floats]()
    for epsilon in cell.epsilons:
        unit = units[epsilon] = rng.laplace(size=n)
        scores = perturbed_mle(duels, rng.laplace(scale=8 * limit / epsilon, size=n), 2 * limit / epsilon)
        values |= truth.of_scores("perturbed_mle", epsilon, scores)
        values |= truth.of_order("perturbed_mle", epsilon, scores)
        # Laplace(L/ε) as published: changing a person moves the L1 norm by 2L, so it is only 2ε-DP. Then the right one.
        values |= truth.of_order("noisy_counts", epsilon, duels.win_counts + unit * limit / epsilon)
        values |= truth.of_order("noisy_counts_right", epsilon, duels.win_counts + unit * 2 * limit / epsilon)
        values |= _net_wins("net_wins_laplace", duels, truth, epsilon, unit, 2 * limit / epsilon)
    for epsilon, unit in units.items():
        values |= _without_noise(values) if isinf(epsilon) else _ours(people, truth, epsilon, unit, rng)
    return values | _changes(cell.experiment, values)


def _without_noise(values: Values) -> Values:
    """Ours at ε = ∞: nobody is clipped, and all noise on net wins is alike."""
    return {
        replace(point, method="ours"): value
        for point, value in values.items()
        if point.method == "net_wins_laplace" and isinf(point.epsilon)
    }


def _ours(people: Crowd, truth: Truth, epsilon: float, unit: Floats, rng: np.random.Generator) -> Values:
    """Scores from net wins with the noise that `auto` takes, and the list of the first k that it would publish."""
    promise = ours.random_pairs(people.n, epsilon, PER_PERSON)
    noise = ours.noise_on_counts(promise)
    noisy = ours.noisy_net_wins(noise, people.net_wins, unit, rng)
    values = truth.of_scores("ours", epsilon, ours.scores(noise, noisy, len(people.winner)))
    places = ours.selected(ours.noise_on_top(promise, truth.k), people.net_wins, rng)
    if places is None:
        return values | truth.of_order("ours", epsilon, noisy)
    return values | {Point("ours", "topk_error", epsilon): metrics.list_error(places, truth.k)}


def _changes(experiment: str, values: Values) -> Values:
    """How much larger each measure of `ours` is than that of the noise before it, on the same votes."""
    return {
        replace(point, metric=point.metric + CHANGE): value - values[replace(point, method=BEFORE[experiment])]
        for point, value in values.items()
        if point.method == "ours" and not isinf(point.epsilon)
    }


def _run_survey(cell: Cell, rng: np.random.Generator, seed: int) -> Values:
    real = survey(cell.data)
    n, limit, duels = cell.n, real.per_person, real.duels
    coin, plain = rng.random(n), perturbed_mle(duels, np.zeros(n), 0.0)
    values, noises = Values(), dict[float, tuple[Floats, Floats]]()
    for epsilon in cell.epsilons:
        unit, w = rng.laplace(size=n), rng.laplace(scale=8 * limit / epsilon, size=n)
        private = {
            "perturbed_mle": (perturbed_mle(duels, w, 2 * limit / epsilon), plain),
            "noisy_counts": (duels.win_counts + unit * limit / epsilon, duels.win_counts),
            "noisy_counts_right": (duels.win_counts + unit * 2 * limit / epsilon, duels.win_counts),
            "net_wins_laplace": (duels.net_wins + unit * 2 * limit / epsilon, duels.net_wins),
            "net_wins_zonotope": (duels.net_wins + (zonotope := zonotope_noise(n, epsilon, rng)), duels.net_wins),
        }
        noises[epsilon] = unit, zonotope
        for method, (noisy, exact) in private.items():
            values[Point(method, "rank_difference", epsilon)] = metrics.rank_difference(noisy, exact, coin)
    for epsilon, (unit, zonotope) in noises.items():
        noisy = _survey_ours(real, epsilon, unit, zonotope, rng)
        difference = metrics.rank_difference(noisy, duels.net_wins, coin)
        values[Point("ours", "rank_difference", epsilon)] = difference
    return values | _changes(cell.experiment, values)


def _survey_ours(real: Survey, epsilon: float, unit: Floats, zonotope: Floats, rng: np.random.Generator) -> Floats:
    """Net wins with the noise that `auto` takes, which may be the zonotope's, already drawn."""
    noise = ours.noise_on_counts(ours.every_pair_once(real.duels.n, epsilon))
    if isinstance(noise.law, ZonotopeLaw):
        return real.duels.net_wins + zonotope
    if real.net_wins is None:
        raise QuietrankError(f"nobody knows the answers of single people in {real.name}, so they cannot be clipped")
    return ours.noisy_net_wins(noise, real.net_wins, unit, rng)


def _run_phase(cell: Cell, rng: np.random.Generator, seed: int) -> Values:
    (epsilon,) = cell.epsilons
    setting = phase.Setting(cell.n, epsilon, cell.p, cell.m)
    return {
        Point("ours", "recovered", epsilon, data=f"gap {gap:g}"): phase.recovered(setting, gap, rng)
        for gap in phase.GAPS
    }


def _run_attack(cell: Cell, rng: np.random.Generator, seed: int) -> Values:
    theta = fixed_strengths(cell.n, seed)
    duels = graph_duels(win_probabilities(theta), 1.0, rng)
    plain = score_estimate(duels, duels.net_wins, 0.0)
    values: Values = {}
    for epsilon in cell.epsilons:
        noisy = duels.net_wins + rng.laplace(scale=2 / epsilon, size=cell.n)
        w = rng.laplace(scale=8 / epsilon, size=cell.n)
        values |= _attacked("ours", duels, theta, score_estimate(duels, noisy, 2 / epsilon), epsilon)
        values |= _attacked("perturbed_mle", duels, theta, perturbed_mle(duels, w, edge_ridge(cell.n, 1.0)), epsilon)
        values |= _attacked("non_private", duels, theta, plain, epsilon)
    return values


def _attacked(method: str, duels: Duels, theta: Floats, scores: Floats, epsilon: float) -> Values:
    success, allowed = attack.attack(duels, theta, scores), attack.bound(theta, scores, epsilon)
    measures = {"attack": success, "bound": allowed, "excess": success - allowed}
    return {Point(method, metric, epsilon): value for metric, value in measures.items()}


_RUN: dict[str, Callable[[Cell, np.random.Generator, int], Values]] = {
    **dict.fromkeys("123", _run_edge),
    "4": _run_one_shot,
    **dict.fromkeys("567", _run_person),
    "8": _run_survey,
    "phase": _run_phase,
    "attack": _run_attack,
}


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean and standard error; the latter is nan for a single repetition."""
    error = float(values.std(ddof=1)) / sqrt(len(values)) if len(values) > 1 else float("nan")
    return float(values.mean()), error
