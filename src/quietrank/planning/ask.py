"""Plain words about a survey in, a `Plan` out: the edge that the API and the command line share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from quietrank.additive import MechanismName
from quietrank.errors import QuietrankError
from quietrank.estimators.methods import Method
from quietrank.planning.forecast import Forecast, Prediction, Question
from quietrank.planning.result import Plan
from quietrank.planning.survey import Survey, spread_of
from quietrank.planning.targets import (
    EVALUATIONS,
    MOST_PEOPLE,
    Target,
    parse_target,
    require_reachable,
    smallest_epsilon,
    smallest_people,
)
from quietrank.privacy import Privacy, Unit
from quietrank.words import parse

USUAL_EPSILONS = (0.5, 1.0, 2.0)
CURVE_POINTS = 9


def plan(
    items: int,
    people: int | None = None,
    per_person: int | None = None,
    *,
    votes: int | None = None,
    epsilon: float | Iterable[float] | None = None,
    target: str | None = None,
    solve: str = "epsilon",
    unit: str = "person",
    one_per_pair: bool = False,
    max_per_person: int | None = None,
    neighbours: str = "replace",
    design: str = "private",
    delta: float = 0.0,
    clip: float | None = None,
    mechanism: str = "auto",
    method: str = "auto",
    top_k: int | None = None,
    spread: float | str = "typical",
    repetitions: int | None = None,
    seed: int = 1,
    curves: bool = True,
    progress: Callable[[float], None] = lambda share: None,
) -> Plan:
    """What accuracy to expect of a survey that has not been run; needs no votes and costs no privacy.

    Give `epsilon` (one or several) to see the accuracy, or a `target` such as "top-5 error 0.1", "rank error 0.5" or
    "winner 0.9" for the smallest ε that meets it; with solve="people", for the smallest number of people at the given
    ε. `spread` says how far apart the items are: close, typical, clear, the standard deviation of their strengths on
    the logit scale, or paper. `curves` computes what a figure needs. The same seed gives the same numbers.
    """
    wanted = None if target is None else parse_target(target)
    if solve not in ("epsilon", "people"):
        raise QuietrankError(f"solve must be epsilon or people; got solve={solve!r}")
    for_people = wanted is not None and solve == "people"
    epsilons = _epsilons(epsilon, wanted, for_people)
    people, per_person = _sizes(items, people, per_person, votes, unit, one_per_pair, for_people)
    survey = Survey(items, people, per_person, one_per_pair, spread_of(spread))
    bounded = per_person if max_per_person is None else max_per_person
    privacy = Privacy(
        epsilons[0], unit, delta, neighbours, design, bounded if unit == Unit.PERSON else None, one_per_pair, clip
    )
    named = wanted.k if wanted is not None and wanted.k is not None else top_k
    k = max(1, min(5, items // 2)) if named is None else named
    if not 1 <= k < items:
        raise QuietrankError(f"top_k must be from 1 to {items - 1}, one less than the items; got top_k={k}")
    asked = Question(
        survey, privacy, parse(Method, "method", method), parse(MechanismName, "mechanism", mechanism), k,
        repetitions, seed,
    )  # fmt: skip
    if wanted is None:
        return _accuracy(asked, epsilons, curves, progress)
    if for_people:
        return _people(asked, wanted, curves, progress)
    return _epsilon(asked, wanted, curves, progress)


# ---- from words to values -------------------------------------------------------------------------------------------


def _epsilons(given: float | Iterable[float] | None, target: Target | None, for_people: bool) -> list[float]:
    values = [] if given is None else ([given] if isinstance(given, int | float) else list(given))
    if for_people and len(values) != 1:
        raise QuietrankError("to solve for people, give one epsilon (--epsilon 1): the promise that they get")
    if target is not None and not for_people and values:
        raise QuietrankError("a target asks for the smallest epsilon: leave epsilon out, or solve for people")
    return sorted(set(values)) or list(USUAL_EPSILONS)


def _sizes(
    items: int,
    people: int | None,
    per_person: int | None,
    votes: int | None,
    unit: str,
    one_per_pair: bool,
    for_people: bool,
) -> tuple[int, int]:
    """How many people, and how many votes of each."""
    if votes is not None:
        if unit != Unit.COMPARISON or people is not None or per_person is not None:
            raise QuietrankError("votes (--votes) is for unit=comparison, instead of people and per_person")
        return votes, 1
    if per_person is None and one_per_pair:
        per_person = items * (items - 1) // 2
    if per_person is None and unit == Unit.COMPARISON:
        per_person = 1
    if per_person is None:
        raise QuietrankError("say how many pairs each person is asked: per_person (--per-person 15)")
    if people is None and not for_people:
        raise QuietrankError("say how many people are asked (--people 500), or --solve people with a --target")
    return people or 1, per_person


# ---- the three kinds of question ------------------------------------------------------------------------------------


@dataclass
class _Meter:
    """Counts pieces of work, and tells the share that is done."""

    total: float
    progress: Callable[[float], None]
    done: float = 0.0

    def add(self, amount: float) -> None:
        self.done += amount
        self.progress(min(self.done / self.total, 1.0))


SIMULATION = 4
"""The work of simulating the counts, in units of one prediction."""


def _accuracy(asked: Question, epsilons: list[float], curves: bool, progress: Callable[[float], None]) -> Plan:
    points = _grid(epsilons) if curves else []
    names = Forecast(asked).mechanisms
    meter = _Meter(SIMULATION + 1 + len(names) * (len(epsilons) + len(points)), progress)
    forecast = Forecast(asked, advance=lambda amount: meter.add(SIMULATION * amount))
    floor = forecast.without_privacy()
    meter.add(1)
    found = [_predicted(forecast, *each, meter) for each in product(names, epsilons)]
    return Plan(asked, tuple(found), floor, curves=_curves(forecast, points, meter))


def _epsilon(asked: Question, target: Target, curves: bool, progress: Callable[[float], None]) -> Plan:
    names = Forecast(asked).mechanisms
    meter = _Meter(SIMULATION + len(names) * (EVALUATIONS + (CURVE_POINTS if curves else 0)), progress)
    forecast = Forecast(asked, advance=lambda amount: meter.add(SIMULATION * amount))
    work = lambda amount: meter.add(EVALUATIONS * amount)  # noqa: E731
    require_reachable(forecast, target, work)
    answers = {name: smallest_epsilon(forecast, name, target, work) for name in _promising(forecast)}
    found = [_marked(forecast, one) for one in answers.values() if one is not None]
    if not found:
        raise QuietrankError(
            f"no ε up to 20 meets the target {target} with {asked.survey.people} people, though it would be met "
            "without privacy; ask more people (--solve people --epsilon 1 says how many)"
        )
    points = _grid([one.epsilon for one in found]) if curves else []
    unmet = tuple(name.value for name, one in answers.items() if one is None)
    return Plan(asked, tuple(found), forecast.without_privacy(), target, unmet, _curves(forecast, points, meter))


def _people(asked: Question, target: Target, curves: bool, progress: Callable[[float], None]) -> Plan:
    """Solved for the mechanism with the least noise; the others at the number of people that it needs."""
    first, epsilon = Forecast(asked), asked.privacy.epsilon
    best = first.chosen(epsilon) if asked.mechanism is MechanismName.AUTO else asked.mechanism
    points = len(first.mechanisms) * CURVE_POINTS if curves else 0
    meter = _Meter(EVALUATIONS + SIMULATION + len(first.mechanisms) + points, progress)
    answer = smallest_people(asked, best, target, lambda amount: meter.add(EVALUATIONS * amount))
    if answer is None:
        raise QuietrankError(
            f"up to {MOST_PEOPLE} people do not meet the target {target} at ε = {epsilon:g}; relax it, "
            "or raise epsilon or per_person"
        )
    solved = replace(asked, survey=replace(asked.survey, people=answer.people))
    forecast = Forecast(solved, advance=lambda amount: meter.add(SIMULATION * amount))
    others = [_predicted(forecast, name, epsilon, meter) for name in forecast.mechanisms if name is not best]
    found = (_marked(forecast, answer), *others)
    grid = _grid([epsilon]) if curves else []
    return Plan(solved, found, forecast.without_privacy(), target, (), _curves(forecast, grid, meter))


def _promising(forecast: Forecast) -> list[MechanismName]:
    """The mechanisms worth solving for: those with at most three times the least noise."""
    noise = {name: forecast.expected_noise(name) for name in forecast.mechanisms}
    return [name for name, size in noise.items() if size <= 3 * min(noise.values())]


def _predicted(forecast: Forecast, name: MechanismName, epsilon: float, meter: _Meter) -> Prediction:
    found = forecast.predict(name, epsilon)
    meter.add(1)
    return _marked(forecast, found)


def _marked(forecast: Forecast, found: Prediction) -> Prediction:
    return replace(found, chosen=found.mechanism == forecast.chosen(found.epsilon))


def _grid(epsilons: list[float]) -> list[float]:
    return [float(f"{value:.3g}") for value in np.geomspace(min(epsilons) / 2.5, max(epsilons) * 2.5, CURVE_POINTS)]


def _curves(forecast: Forecast, points: list[float], meter: _Meter) -> tuple[Prediction, ...]:
    """Fewer repetitions will do for a line."""
    found = []
    for name, epsilon in product(forecast.mechanisms, points):
        found.append(forecast.predict(name, epsilon, max(100, forecast.question.runs // 2)))
        meter.add(1)
    return tuple(found)
