"""The noise of a list of names to be made and its public size in, an `Outlook` out: how often such lists are right.

Surveys of this size are simulated (top.py); the votes themselves do not enter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quietrank.errors import QuietrankError
from quietrank.mechanisms.choose import Choice
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.planning.question import Question
from quietrank.planning.survey import SPREADS, Survey
from quietrank.planning.top import TopForecast
from quietrank.promise.privacy import Unit
from quietrank.publish.top import Chance
from quietrank.statistics.method import Method

CHANCE_RUNS = 200
CHANCE_VOTES = 20_000
"""larger surveys are simulated by pair, which is quick"""

UNKNOWN_SIZE = (
    "How likely such a list is right depends on the size of the survey, which is not public here; quietrank plan "
    "--only-top says it for any size."
)
NOT_SIMULATED = (
    "How likely such a list is right is not known: a survey like this one cannot be simulated here ({}). "
    "quietrank plan --only-top simulates surveys that you describe, such as smaller ones."
)
SIMULATED = "The chances are those of a simulation of {} {}; these votes did not enter it."
UNKNOWN_KIND = "How likely such a list is right is not known: the planner simulates votes on all pairs, without groups."


@dataclass(frozen=True)
class Outlook:
    """What a simulation says about a list before it is made; nothing in it depends on the votes."""

    chances: tuple[Chance, ...] = ()
    by_mechanism: tuple[tuple[str, float], ...] = ()
    """for items of typical distance: how often each candidate gives the list of the exact votes, the best first"""
    notes: tuple[str, ...] = ()


def outlook(
    choice: Choice, k: int, method: Method, units: int | None, delta: float = 0.0,
    tell: Callable[[float], None] = lambda share: None,
) -> Outlook:  # fmt: skip
    """How often such a list is right in simulated surveys of this size.

    `units` is the number of people, or of votes where single votes are protected, if all neighbours have the same;
    `delta` that of the promise, which the mechanism that was chosen may not use.
    """
    promise = choice.noise.promise
    if promise.groups is not None or promise.items.in_sets or promise.items.pairs is not None:
        return Outlook(notes=(UNKNOWN_KIND,))
    if units is None or units < 1:
        return Outlook(notes=(UNKNOWN_SIZE,))
    try:
        return _outlook(choice, k, method, units, delta, tell)
    except QuietrankError as error:
        reason = error.in_options().partition(";")[0]  # what follows is a remedy for whoever calls the planner
        return Outlook(notes=(NOT_SIMULATED.format(reason),))


def _outlook(
    choice: Choice, k: int, method: Method, units: int, delta: float, tell: Callable[[float], None]
) -> Outlook:
    noise, chances, by_mechanism = choice.noise, list[Chance](), dict[str, float]()
    for word in SPREADS:
        forecast = TopForecast(_like(noise, k, method, units, delta, word), by_person=CHANCE_VOTES)
        expected = forecast.predict(noise.mechanism, noise.privacy.epsilon)
        right = forecast.without_privacy.right
        chances.append(Chance(word, expected.as_exact, expected.exact_found, expected.right, right, CHANCE_RUNS))
        if word == "typical":
            others = (MECHANISMS[name] for name, _ in choice.alternatives if name != noise.mechanism.name)
            by_mechanism = {noise.mechanism.name: expected.as_exact} | {
                other.name: forecast.predict(other, noise.privacy.epsilon).as_exact for other in others
            }
        tell(len(chances) / len(SPREADS))
    best_first = sorted(by_mechanism.items(), key=lambda pair: -pair[1])
    who = "votes" if noise.privacy.unit is Unit.COMPARISON else f"people with {_votes_each(noise)} votes each"
    return Outlook(tuple(chances), tuple(best_first) if len(best_first) > 1 else (), (SIMULATED.format(units, who),))


def _like(noise: Calibrated, k: int, method: Method, units: int, delta: float, word: str) -> Question:
    """A survey like this one, as far as its size is public."""
    privacy, alone = noise.privacy, noise.privacy.unit is Unit.COMPARISON
    each = 1 if alone else _votes_each(noise)
    survey = Survey(len(noise.promise.items), units, each, privacy.one_per_pair, SPREADS[word])
    clip = None if privacy.max_per_person else privacy.clip
    return Question(survey, privacy.changed(clip=clip, delta=delta), method, None, k, CHANCE_RUNS)


def _votes_each(noise: Calibrated) -> int:
    """L, or where only a clip is given, the votes of somebody who comes up to it."""
    return noise.privacy.max_per_person or max(1, round(2 * (noise.privacy.clip or 1.0) ** 2))
