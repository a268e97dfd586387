"""A target in words in, the smallest ε or number of people that meets it out, by mechanism.

Answers have two digits. Errors fall as ε or the number of people grows, and all trials share their random numbers, so
the answer is bracketed in steps of a factor of about four and the bracket is halved. Every trial is the same prediction
that `plan` makes for that number, and a target counts as met only where it is met by two standard errors of the
simulation: the next smaller number does not meet it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TypeVar

from quietrank.errors import QuietrankError, UsageError, option
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.planning.forecast import Forecast, Prediction
from quietrank.planning.measures import NEVER_SEEN, smallest_steps
from quietrank.planning.memory import MOST_BYTES, bytes_needed
from quietrank.planning.question import Question
from quietrank.planning.survey import MOST_PAIRS, MOST_VOTES, Advance, Survey

BEYOND = 2
"""The number of standard errors by which a target has to be met."""
LEAST_EPSILON, MOST_EPSILON = 0.001, 20.0
"""Beyond e^20 there is no promise worth the name."""
MOST_PEOPLE = 10_000_000
STRIDE = 54
"""There are 90 two-digit numbers to a factor of ten; this many make a factor of about four."""
EVALUATIONS = 10
"""About how many trials one answer takes, for the progress bar."""

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Target:
    """`top-k error`, `rank error` (at most) or `winner` (at least), and the value."""

    measure: str
    value: float
    k: int | None = None

    def met(self, prediction: Prediction) -> bool:
        """Whether it is met beyond the error of the simulation."""
        mean, error = self.reached(prediction)
        return mean - BEYOND * error >= self.value if self.measure == "winner" else mean + BEYOND * error <= self.value

    def reached(self, one: Prediction) -> tuple[float, float]:
        """The predicted value of the measure, and its standard error."""
        return {
            "top-k error": (one.top_k_error, one.top_k_precision),
            "rank error": (one.rank_error, one.rank_precision),
            "winner": (one.winner, one.winner_precision),
        }[self.measure]

    def __str__(self) -> str:
        if self.measure == "winner":
            return f"winner right with probability {self.value:g}"
        return f"{self.measure.replace('-k', f'-{self.k}')} {self.value:g}"


def parse_target(text: object) -> Target:
    """From words such as "top-5 error 0.1", "rank error 0.5" or "winner 0.9"."""
    form = r"(?:top-(?P<k>\d{1,9}) error|(?P<rank>rank error)|(?P<winner>winner)) (?P<value>\d*\.?\d+)"
    words = " ".join(text.lower().replace("=", " ").replace("<", " ").split()) if isinstance(text, str) else ""
    parts = re.fullmatch(form, words, flags=re.ASCII)
    if parts is None:
        raise UsageError(
            f'{option("target")} must read like "top-5 error 0.1", "rank error 0.5" or "winner 0.9"; got {text!r}'
        )
    value = float(parts["value"])
    if parts["winner"]:
        target = Target("winner", value)
    else:
        target = Target("rank error", value) if parts["rank"] else Target("top-k error", value, int(parts["k"]))
    if target.measure != "rank error" and not 0 < value < 1:
        raise UsageError(f"a target for {target.measure} lies between 0 and 1; got {text!r}")
    if value == 0:
        raise UsageError(f"no survey has a {target.measure} of 0 for sure; give a larger one than {text!r}")
    return target


def repetitions_needed(target: Target, question: Question) -> int:
    """How many repetitions without a single error are needed to show that the target is met beyond chance."""
    step = smallest_steps(question.survey.items, question.top_k)[target.measure]
    room = 1 - target.value if target.measure == "winner" else target.value
    return ceil(BEYOND * NEVER_SEEN * step / room - 1e-9)


def require_repetitions(target: Target, question: Question) -> None:
    """Refuse a target too strict for any simulation of this length."""
    needed = repetitions_needed(target, question)
    if question.runs < needed:
        raise QuietrankError(
            f"{question.runs} simulated surveys cannot show that the target {target} is met; give "
            f"{option('repetitions', needed)} or more, or relax the target"
        )


def smallest_epsilon(forecast: Forecast, mechanism: Mechanism, target: Target, tick: Advance) -> Prediction | None:
    """The prediction at the smallest ε that meets the target; None if none up to 20 does."""

    def met(epsilon: float) -> bool:
        tick(1 / EVALUATIONS)
        return target.met(forecast.predict(mechanism, epsilon))

    epsilon = smallest(met, two_digit_numbers(LEAST_EPSILON, MOST_EPSILON), 1.0)
    return None if epsilon is None else forecast.predict(mechanism, epsilon)


def require_reachable(forecast: Forecast, target: Target, tick: Advance) -> None:
    """Refuse a target that is missed even without privacy, and say how many people would be enough."""
    floor = forecast.without_privacy
    if target.met(floor):
        return
    people = smallest_people(forecast.question, None, target, tick)
    advice = "no number of people that can be simulated would" if people is None else f"{people} people would"
    mean, error = target.reached(floor)
    raise QuietrankError(
        f"no ε meets the target {target}: even without any privacy it would be {mean:.3g} ± {error:.1g} with "
        f"{floor.people} people ({advice} meet it without privacy by {BEYOND} standard errors of the simulation); ask "
        "more people, or relax the target"
    )


def smallest_people(question: Question, mechanism: Mechanism | None, target: Target, tick: Advance) -> int | None:
    """The smallest number of people that meets the target; without a mechanism, for exact counts."""

    def met(people: int) -> bool:
        tick(1 / EVALUATIONS)
        forecast = Forecast(_with_people(question, people))
        if mechanism is None:
            return target.met(forecast.without_privacy)
        return target.met(forecast.predict(mechanism, question.privacy.epsilon))

    def fits(people: int) -> bool:
        return bytes_needed(_with_people(question, people)) <= MOST_BYTES

    return smallest(met, list(filter(fits, people_numbers(question.survey))), 500)


def people_numbers(survey: Survey) -> list[int]:
    """All numbers below 100 and two-digit numbers from there on, as far as they can be simulated."""
    most = min(MOST_PEOPLE, MOST_VOTES // survey.per_person)
    if survey.pairs > MOST_PAIRS:
        most = min(most, MOST_PAIRS // survey.per_person)
    round_ones = [int(number) for number in two_digit_numbers(100, max(most, 100))]
    return [number for number in (*range(2, 100), *round_ones) if number <= most]


def _with_people(question: Question, people: int) -> Question:
    return replace(question, survey=replace(question.survey, people=people))


def smallest(met: Callable[[Number], bool], numbers: Sequence[Number], start: Number) -> Number | None:
    """The first of the ascending numbers that meets the target, where all larger ones do; None if the last does not.

    Bracketed from `start` and halved: what is returned met the target, and the number before it did not.
    """
    place = min(bisect_left(numbers, start), len(numbers) - 1)
    if place < 0:
        return None
    low, high = -1, len(numbers)
    while high == len(numbers) or (low == -1 and high > 0):
        if met(numbers[place]):
            high, place = place, max(place - STRIDE, low + 1)
        elif place == len(numbers) - 1:
            return None
        else:
            low, place = place, min(place + STRIDE, high - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if met(numbers[middle]) else (middle, high)
    return numbers[high]


def two_digit_numbers(least: float, most: float) -> list[float]:
    """All numbers with two significant digits from `least` to `most`, each as it is written."""
    numbers = (float(f"{digits}e{power}") for power in range(-6, 18) for digits in range(10, 100))
    return [number for number in numbers if least <= number <= most]
