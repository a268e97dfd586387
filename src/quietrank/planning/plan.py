"""Plain words about a survey in, a `Plan` out: the edge that the API and the command line share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, get_args

import numpy as np

from quietrank.errors import QuietrankError, UsageError, either, option
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.registry import MechanismWord, named
from quietrank.planning import arguments
from quietrank.planning.arguments import whole, whole_or_none
from quietrank.planning.forecast import Forecast, Prediction
from quietrank.planning.question import Question
from quietrank.planning.result import Plan
from quietrank.planning.survey import SpreadWord, Survey, spread_of
from quietrank.planning.targets import (
    EVALUATIONS,
    MOST_EPSILON,
    Target,
    parse_target,
    people_numbers,
    repetitions_needed,
    require_reachable,
    require_repetitions,
    smallest_epsilon,
    smallest_people,
)
from quietrank.promise.arguments import flag, parse
from quietrank.promise.privacy import DesignWord, NeighboursWord, Privacy, Unit, UnitWord
from quietrank.statistics.method import Method, MethodWord

VOTES_INSTEAD = (
    f"{option('votes')} is for {option('unit', 'comparison')}, instead of {option('people')} and {option('per_person')}"
)
USUAL_EPSILONS = (0.5, 1.0, 2.0)
CURVE_POINTS = 9
SolveWord = Literal["epsilon", "people"]
FEWEST = 10
"""Fewer repetitions say nothing about their own error."""


def plan(
    items: int,
    people: int | None = None,
    per_person: int | None = None,
    *,
    votes: int | None = None,
    epsilon: float | Iterable[float] | None = None,
    target: str | None = None,
    solve: SolveWord = "epsilon",
    unit: UnitWord = "person",
    one_per_pair: bool = False,
    max_per_person: int | None = None,
    neighbours: NeighboursWord = "replace",
    design: DesignWord = "private",
    delta: float = 0.0,
    clip: float | None = None,
    mechanism: MechanismWord = "auto",
    method: MethodWord = "auto",
    top_k: int | None = None,
    spread: SpreadWord = "typical",
    repetitions: int | None = None,
    seed: int = 1,
    curves: bool = True,
    progress: Callable[[float], None] = lambda share: None,
) -> Plan:
    """What accuracy to expect of a survey that has not been run; needs no votes and costs no privacy.

    items, people, per_person  how many items, people, and pairs that each person is asked
    votes      instead of people and per_person, for unit="comparison": how many votes
    epsilon    the ε to look at, one or several; 0.5, 1 and 2 if there is no target
    target     find what meets it: "top-5 error 0.1", "rank error 0.5", "winner 0.9" and the like
    solve      what to find for a target. "epsilon": the smallest ε. "people": the fewest people at the given ε.
    unit, neighbours, design  "person", "comparison"; "replace", "add-remove", "outcome"; "private", "uniform", "public"
    delta, one_per_pair, max_per_person, clip  as for `Privacy`; without max_per_person the limit is per_person
    mechanism  "auto": all that keep the promise; "laplace", "zonotope", "ball", "gaussian", a `Mechanism`; not
               "perturbed-mle"
    method     "auto", "net-wins", "wins", "win-rate", "bradley-terry", as for `rank`
    top_k      how many of the best items the top error is about; 5 if there are enough
    spread     how far apart items are. "close", "typical", "clear": the better of two wins 58, 65 or 75 % of the votes.
               "paper": the published strengths. A number: the standard deviation of strengths on the logit scale.
    repetitions, seed  how many surveys are simulated; the same seed gives the same numbers
    curves     False: leave out what only a figure needs
    progress   called with the share of the work that is done

    Every number comes from one simulation, with its standard error; a target must be met by two standard errors.

    >>> import quietrank as qr
    >>> plan = qr.plan(items=5, people=200, per_person=5, epsilon=1, repetitions=20, curves=False)
    >>> plan.best.epsilon
    1.0
    """
    goal = None if target is None else parse_target(target)
    for_people = _solves_for_people(solve, goal)
    epsilons = _epsilons(epsilon, goal, for_people)
    protected = parse(Unit, "unit", unit)
    survey = Sizes.of(items, people, per_person, votes, one_per_pair).survey(protected, for_people, spread_of(spread))
    limit = limit_for(max_per_person, protected, survey)
    privacy = Privacy(epsilons[0], protected, delta, neighbours, design, limit, survey.distinct, clip)
    question = _question(survey, privacy, goal, method, mechanism, top_k, repetitions, seed)
    return _answer(question, epsilons, goal, for_people, curves, progress)


# ---- from words to values -------------------------------------------------------------------------------------------


def _question(
    survey: Survey, privacy: Privacy, target: Target | None,
    method: object, mechanism: object, top_k: object, repetitions: object, seed: object,
) -> Question:  # fmt: skip
    return Question(
        survey, privacy, parse(Method, "method", method), named(mechanism),
        checked_top_k(top_k, target, survey.items), whole_or_none("repetitions", repetitions, FEWEST),
        whole("seed", seed, 0),
    )  # fmt: skip


def _solves_for_people(solve: object, target: Target | None) -> bool:
    if solve not in get_args(SolveWord):
        raise UsageError(f"{option('solve')} must be epsilon or people; got {option('solve', repr(solve))}")
    if solve == "people" and target is None:
        raise UsageError(f'{option("solve", "people")} needs a {option("target")}, such as "top-5 error 0.1"')
    return solve == "people"


def _epsilons(epsilon: object, target: Target | None, for_people: bool) -> list[float]:
    if target is not None and not for_people and epsilon is not None:
        raise UsageError(
            f"a {option('target')} asks for the smallest ε: leave {option('epsilon')} out, or add "
            f"{option('solve', 'people')}"
        )
    values = arguments.epsilons(epsilon)
    if for_people and (values is None or len(values) != 1):
        raise UsageError(f"{option('solve', 'people')} needs one {option('epsilon')}: the promise that the people get")
    return values or list(USUAL_EPSILONS)


@dataclass(frozen=True)
class Sizes:
    """The numbers that say how large a survey is; None if not given."""

    one_per_pair: bool
    items: int
    people: int | None
    per_person: int | None
    votes: int | None

    @classmethod
    def of(cls, items: object, people: object, per_person: object, votes: object, one_per_pair: object) -> Sizes:
        return cls(
            flag("one_per_pair", one_per_pair), whole("items", items, 2), whole_or_none("people", people, 1),
            whole_or_none("per_person", per_person, 1), whole_or_none("votes", votes, 1),
        )  # fmt: skip

    def survey(self, unit: Unit, for_people: bool, spread: float | str) -> Survey:
        people, per_person = self._people(unit, for_people), self._per_person(unit)
        return Survey(self.items, people, per_person, self.one_per_pair, spread)

    def _people(self, unit: Unit, for_people: bool) -> int:
        """How many people; 1 stands for the number that is solved for."""
        if for_people and (self.people is not None or self.votes is not None):
            raise UsageError(
                f"{option('solve', 'people')} finds the number of people: leave {option('people')} and "
                f"{option('votes')} out"
            )
        if self.votes is not None and unit is Unit.PERSON:
            raise UsageError(VOTES_INSTEAD)
        if self.votes is not None and (self.people is not None or self.per_person is not None):
            raise QuietrankError(VOTES_INSTEAD)
        known = self.votes or self.people
        if known is None and not for_people:
            people = either("people=500, per_person=15", "--people 500 --per-person 15")
            votes = either("unit='comparison', votes=7500", "--unit comparison --votes 7500")
            raise UsageError(f"say how large the survey is: {people}, or {votes}")
        return known or 1

    def _per_person(self, unit: Unit) -> int:
        """How many votes each person casts."""
        if self.per_person is not None:
            return self.per_person
        if self.one_per_pair:
            return self.items * (self.items - 1) // 2
        if unit is Unit.PERSON:
            raise UsageError(f"say how many pairs each person compares: {option('per_person', 15)}")
        return 1


def limit_for(max_per_person: object, unit: Unit, survey: Survey) -> int | None:
    """L: as given, or the number of questions."""
    limit = whole_or_none("max_per_person", max_per_person, 1)
    if unit is Unit.PERSON:
        return survey.per_person if limit is None else limit
    if limit is not None:
        raise QuietrankError(
            f"plan does not use {option('max_per_person')} with {option('unit', 'comparison')}; leave it out, and "
            f"give the number of votes that count as {option('votes')}"
        )
    return None


def checked_top_k(top_k: object, target: Target | None, items: int) -> int:
    """k: of the target, or as given, or 5, or half of the items if they are few."""
    k = whole_or_none("top_k", top_k, 1)
    if target is not None and target.k is not None:
        if k is not None and k != target.k:
            raise QuietrankError(f"the target is about the top {target.k}, not {option('top_k', k)}; leave that out")
        k = target.k
    k = max(1, min(5, items // 2)) if k is None else k
    if not 1 <= k < items:
        raise QuietrankError(
            f"{option('top_k')} must be from 1 to {items - 1}, one less than the items; got {option('top_k', k)}"
        )
    return k


# ---- the three kinds of question ------------------------------------------------------------------------------------


def _answer(
    question: Question, epsilons: list[float], target: Target | None, for_people: bool, curves: bool,
    progress: Callable[[float], None],
) -> Plan:  # fmt: skip
    if target is None:
        return _accuracy(question, epsilons, curves, progress)
    require_repetitions(target, question)
    return (_people if for_people else _epsilon)(question, target, curves, progress)


@dataclass
class Meter:
    """Counts pieces of work, and reports the share that is done."""

    total: float
    progress: Callable[[float], None]
    done: float = 0.0

    def add(self, amount: float) -> None:
        self.done += amount
        self.progress(min(self.done / self.total, 1.0))

    def last(self, amount: float) -> Callable[[float], None]:
        """For the last piece of work, of this amount, which reports its own share."""
        return lambda share: self.progress(1 - amount / self.total * (1 - share))


SIMULATION = 4
"""The work of simulating the counts, in units of one prediction."""


def _accuracy(question: Question, epsilons: list[float], curves: bool, progress: Callable[[float], None]) -> Plan:
    points = _grid(epsilons) if curves else []
    names = Forecast(question).mechanisms
    meter = Meter(SIMULATION + 1 + len(names) * (len(epsilons) + len(points)), progress)
    forecast = Forecast(question, advance=lambda amount: meter.add(SIMULATION * amount))
    floor = forecast.without_privacy
    meter.add(1)
    predictions = [_predicted(forecast, *each, meter) for each in product(names, epsilons)]
    return Plan(question, tuple(predictions), floor, curves=_curves(forecast, points, meter))


def _epsilon(question: Question, target: Target, curves: bool, progress: Callable[[float], None]) -> Plan:
    names = Forecast(question).mechanisms
    meter = Meter(SIMULATION + len(names) * (EVALUATIONS + (CURVE_POINTS if curves else 0)), progress)
    forecast = Forecast(question, advance=lambda amount: meter.add(SIMULATION * amount))
    work = lambda amount: meter.add(EVALUATIONS * amount)  # noqa: E731
    require_reachable(forecast, target, work)
    answers = {name: smallest_epsilon(forecast, name, target, work) for name in _promising(forecast)}
    predictions = [_marked(forecast, one) for one in answers.values() if one is not None]
    if not predictions:
        raise QuietrankError(
            f"no ε up to {MOST_EPSILON:g} meets the target {target} with {question.survey.people} people, though it "
            f"would be met without privacy; ask more people ({option('solve', 'people')} with {option('epsilon', 1)} "
            "says how many)"
        )
    points = _grid([one.epsilon for one in predictions]) if curves else []
    unmet = tuple(mechanism.name for mechanism, one in answers.items() if one is None)
    lines = _curves(forecast, points, meter)
    return Plan(question, tuple(predictions), forecast.without_privacy, target, unmet, lines)


def _people(question: Question, target: Target, curves: bool, progress: Callable[[float], None]) -> Plan:
    """Solved for the mechanism with the least noise; then all of them at the number of people that it needs."""
    first, epsilon = Forecast(question), question.privacy.epsilon
    best = question.mechanism or first.chosen(epsilon)
    points = len(first.mechanisms) * CURVE_POINTS if curves else 0
    meter = Meter(EVALUATIONS + SIMULATION + 1 + len(first.mechanisms) + points, progress)
    people = smallest_people(question, best, target, lambda amount: meter.add(EVALUATIONS * amount))
    if people is None:
        raise QuietrankError(
            f"up to {max(people_numbers(question.survey), default=1)} people do not meet the target {target} at ε = "
            f"{epsilon:g}; relax it, or raise {option('epsilon')} or {option('per_person')}{_too_few(question, target)}"
        )
    solved = replace(question, survey=replace(question.survey, people=people))
    return replace(_accuracy(solved, [epsilon], curves, meter.last(meter.total - EVALUATIONS)), target=target)


def _too_few(question: Question, target: Target) -> str:
    """The remedy where larger surveys, which are simulated less often, have too few repetitions for the target."""
    largest = replace(question.survey, people=max(people_numbers(question.survey), default=1))
    needed = repetitions_needed(target, question)
    return f", or give {option('repetitions', needed)}" if replace(question, survey=largest).runs < needed else ""


def _promising(forecast: Forecast) -> list[Mechanism]:
    """The mechanisms worth solving for: those with at most three times the least noise."""
    noise = {name: forecast.expected_noise(name) for name in forecast.mechanisms}
    return [name for name, size in noise.items() if size <= 3 * min(noise.values())]


def _predicted(forecast: Forecast, mechanism: Mechanism, epsilon: float, meter: Meter) -> Prediction:
    prediction = forecast.predict(mechanism, epsilon)
    meter.add(1)
    return _marked(forecast, prediction)


def _marked(forecast: Forecast, one: Prediction) -> Prediction:
    return replace(one, chosen=one.mechanism == forecast.chosen(one.epsilon).name)


def _grid(epsilons: list[float]) -> list[float]:
    """Values of ε around the given ones, and these too, so that the lines go through the points."""
    around = np.geomspace(min(epsilons) / 2.5, max(epsilons) * 2.5, CURVE_POINTS)
    return sorted({*(float(f"{value:.3g}") for value in around), *epsilons})


def _curves(forecast: Forecast, points: list[float], meter: Meter) -> tuple[Prediction, ...]:
    return tuple(_predicted(forecast, *each, meter) for each in product(forecast.mechanisms, points))
