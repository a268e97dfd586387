"""A target in words in, the smallest ε or number of people that meets it out, by mechanism.

Errors fall as ε or people grow, and all trials share their random numbers, so the answer is bracketed and halved on a
logarithmic scale: first with a quarter of the repetitions, then, near the answer, with all of them. Answers are rounded
up to two digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, sqrt

from quietrank.additive import MechanismName
from quietrank.errors import QuietrankError
from quietrank.planning.forecast import Forecast, Prediction, Question
from quietrank.planning.survey import Advance, two_digits_up

LEAST_EPSILON, MOST_EPSILON = 0.001, 20.0
"""Beyond e^20 there is no promise worth the name."""
MOST_PEOPLE = 10_000_000
COARSE, FINE = 4, 4
"""How often the bracket is halved with few and with all repetitions."""
PEOPLE_RUNS = 500
"""Repetitions for a number of people: each number is simulated anew, which takes longer."""
EVALUATIONS = COARSE + FINE + 6
"""About how many trials one answer takes, for the progress bar."""

Trial = Callable[[float, bool], Prediction]
"""at a value, with all repetitions or with few"""


@dataclass(frozen=True)
class Target:
    """`top-k error`, `rank error` (at most) or `winner` (at least), and the value."""

    measure: str
    value: float
    k: int | None = None

    def met(self, found: Prediction) -> bool:
        if self.measure == "winner":
            return found.winner >= self.value
        return self.reached(found) <= self.value

    def reached(self, found: Prediction) -> float:
        return {"top-k error": found.top_k_error, "rank error": found.rank_error, "winner": found.winner}[self.measure]

    def __str__(self) -> str:
        if self.measure == "winner":
            return f"winner right with probability {self.value:g}"
        return f"{self.measure.replace('-k', f'-{self.k}')} {self.value:g}"


def parse_target(text: str) -> Target:
    """From words such as "top-5 error 0.1", "rank error 0.5" or "winner 0.9"."""
    form = r"(?:top-(?P<k>\d+) error|(?P<rank>rank error)|(?P<winner>winner)) (?P<value>\d*\.?\d+)"
    found = re.fullmatch(form, " ".join(text.lower().replace("=", " ").replace("<", " ").split()))
    if found is None:
        raise QuietrankError(f'target must read like "top-5 error 0.1", "rank error 0.5" or "winner 0.9"; got {text!r}')
    value = float(found["value"])
    if found["winner"]:
        target = Target("winner", value)
    else:
        target = Target("rank error", value) if found["rank"] else Target("top-k error", value, int(found["k"]))
    if target.measure != "rank error" and not 0 < value < 1:
        raise QuietrankError(f"a target for {target.measure} lies between 0 and 1; got {text!r}")
    if value == 0:
        raise QuietrankError(f"no survey has a {target.measure} of 0 for sure; give a larger one than {text!r}")
    return target


# ---- ε ---------------------------------------------------------------------------------------------------------------


def smallest_epsilon(forecast: Forecast, mechanism: MechanismName, target: Target, tick: Advance) -> Prediction | None:
    """The prediction at the smallest ε that meets the target; None if none up to 20 does."""
    runs = forecast.question.runs

    def trial(epsilon: float, all_runs: bool) -> Prediction:
        tick(1 / EVALUATIONS)
        return forecast.predict(mechanism, epsilon, runs if all_runs else max(50, runs // 4))

    return _smallest(trial, target, 1.0, LEAST_EPSILON, MOST_EPSILON, two_digits_up)


def require_reachable(forecast: Forecast, target: Target, tick: Advance) -> None:
    """Refuse a target that is missed even without privacy, and say how many people would meet that."""
    floor = forecast.without_privacy()
    if target.met(floor):
        return
    people = smallest_people(forecast.question, None, target, tick)
    advice = "no number of people that can be simulated would" if people is None else f"{people.people} people would"
    raise QuietrankError(
        f"no ε meets the target {target}: even without any privacy it would be {target.reached(floor):.3g} with "
        f"{floor.people} people ({advice} meet it without privacy); ask more people, or relax the target"
    )


# ---- people ----------------------------------------------------------------------------------------------------------


def smallest_people(
    question: Question, mechanism: MechanismName | None, target: Target, tick: Advance
) -> Prediction | None:
    """The prediction at the smallest number of people; without a mechanism, for exact counts."""
    runs = min(question.runs, PEOPLE_RUNS)
    alone = replace(question, mechanism=mechanism or question.mechanism)  # no clipping for the sake of others

    def trial(people: float, all_runs: bool) -> Prediction:
        tick(1 / EVALUATIONS)
        some = runs if all_runs else max(50, runs // 4)
        survey = replace(question.survey, people=ceil(people))
        forecast = Forecast(replace(alone, survey=survey, repetitions=some))
        return (
            forecast.without_privacy() if mechanism is None else forecast.predict(mechanism, question.privacy.epsilon)
        )

    def rounded(people: float) -> float:
        return ceil(people) if people < 100 else two_digits_up(people)

    return _smallest(trial, target, 500, 2, MOST_PEOPLE, rounded)


def _smallest(
    trial: Trial, target: Target, start: float, least: float, most: float, rounded: Callable[[float], float]
) -> Prediction | None:
    """The first value that meets the target: bracketed from `start`, halved, rounded up and checked."""
    bracket = _bracket(lambda value: target.met(trial(value, False)), start, least, most)
    if bracket is None:
        return None
    low, high = _halved(lambda value: target.met(trial(value, False)), *bracket, COARSE)
    low, high = max(least, low / 1.1), min(most, high * 1.1)
    low, high = _halved(lambda value: target.met(trial(value, True)), low, high, FINE)
    found = trial(value := rounded(high), True)
    while not target.met(found) and value < most:
        found = trial(value := rounded(value * 1.05), True)
    return found if target.met(found) else None


def _bracket(met: Callable[[float], bool], start: float, least: float, most: float) -> tuple[float, float] | None:
    """Two values, a factor of at most 4 apart, of which only the larger meets the target; None if none does."""
    if met(start):
        high = start
        while high > least and met(low := max(least, high / 4)):
            high = low
        return max(least, high / 4), high
    low = start
    while low < most:
        high = min(most, low * 4)
        if met(high):
            return low, high
        low = high
    return None


def _halved(met: Callable[[float], bool], low: float, high: float, times: int) -> tuple[float, float]:
    for _ in range(times):
        middle = sqrt(low * high)
        low, high = (low, middle) if met(middle) else (middle, high)
    return low, high
