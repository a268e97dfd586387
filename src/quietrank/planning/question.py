"""Sizes and options in, a `Question` out: what is planned, and how many repetitions answer it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.scatter import price, rest_of
from quietrank.planning.survey import MOST_BY_PERSON, Survey
from quietrank.promise.items import Items
from quietrank.promise.privacy import Privacy
from quietrank.promise.promise import Promise
from quietrank.simulation import item_names
from quietrank.statistics.method import Method

REPETITIONS = 1000
"""For every survey that is not too large: Bradley–Terry scores of 20 items then take a second for each ε."""
MOST_WORK = 60_000_000
"""About how many votes and pairs are looked at in all."""
FEWEST_REPETITIONS = 100


@dataclass(frozen=True)
class Question:
    """What is planned: all of it public."""

    survey: Survey
    privacy: Privacy
    """the promise; its ε is a placeholder"""
    method: Method
    mechanism: Mechanism | None
    """None: all that keep the promise"""
    top_k: int
    repetitions: int | None = None
    seed: int = 1

    @cached_property
    def items(self) -> Items:
        return Items(tuple(item_names(self.survey.items)))

    @cached_property
    def promise(self) -> Promise:
        return Promise(self.privacy, self.items)

    def counts_at(self, epsilon: float) -> Promise:
        """The promise that the counts of a release at this ε keep, after the usual price of the scatter."""
        promise = self.promise.changed(epsilon=epsilon)
        part = 0.0 if self.method is Method.WINS else price("auto", promise)
        return promise.changed(epsilon=rest_of(epsilon, part)) if part else promise

    @property
    def runs(self) -> int:
        """How many repetitions: it depends on the size of the survey, not on the target or the method."""
        if self.repetitions is not None:
            return self.repetitions
        survey = self.survey
        # Simulating looks at votes, or at pairs where these are fewer; fitting scores looks at all pairs several times.
        each = min(survey.votes, survey.pairs + MOST_BY_PERSON) + 5 * survey.pairs
        return max(FEWEST_REPETITIONS, min(REPETITIONS, MOST_WORK // each))
