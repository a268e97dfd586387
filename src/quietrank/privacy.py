"""Plain words in, a checked `Privacy` out: what is protected, how strongly, and the sentence that says so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from quietrank.errors import PrivacyError
from quietrank.words import parse

MAX_PER_PERSON = 2**32
"""The largest limit L: weights are counted in steps of 2^-20, and L·2^20 must stay exact in a double."""


class Unit(StrEnum):
    """What is protected."""

    COMPARISON = "comparison"
    PERSON = "person"


class Neighbours(StrEnum):
    """When two sets of votes count as adjacent."""

    REPLACE = "replace"
    ADD_REMOVE = "add-remove"
    OUTCOME = "outcome"


class Design(StrEnum):
    """What is known about who was compared with whom."""

    PUBLIC = "public"
    UNIFORM = "uniform"
    PRIVATE = "private"


@dataclass(frozen=True, init=False)
class Privacy:
    """A promise of ε-differential privacy.

    `unit` and `epsilon` have no default, because no default would be safe. `max_per_person` is the limit L on
    the total weight of one person's votes; it belongs to `unit="person"` and is needed there.
    """

    epsilon: float
    unit: Unit
    delta: float
    neighbours: Neighbours
    design: Design
    max_per_person: int | None
    one_per_pair: bool

    def __init__(
        self,
        epsilon: float,
        unit: str,
        delta: float = 0.0,
        neighbours: str = "replace",
        design: str = "private",
        max_per_person: float | None = None,
        one_per_pair: bool = False,
    ) -> None:
        values = {
            "epsilon": _checked_epsilon(epsilon),
            "unit": parse(Unit, "unit", unit),
            "delta": _checked_delta(delta),
            "neighbours": parse(Neighbours, "neighbours", neighbours),
            "design": parse(Design, "design", design),
            "max_per_person": _checked_limit(max_per_person),
            "one_per_pair": one_per_pair,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check_combination()

    def _check_combination(self) -> None:
        if (self.neighbours is Neighbours.OUTCOME) != (self.design is Design.PUBLIC):
            raise PrivacyError(
                f"neighbours={self.neighbours} does not go with design={self.design}: a public design is "
                "protected with neighbours=outcome, and only that; say both or neither"
            )
        if self.unit is Unit.PERSON and self.max_per_person is None:
            raise PrivacyError(
                "unit=person needs max_per_person (--max-per-person), the total weight one person's votes may have, "
                "for instance the number of questions each person was asked"
            )
        if self.unit is Unit.COMPARISON and self.max_per_person is not None:
            raise PrivacyError(
                "max_per_person has no meaning for unit=comparison, where each vote stands alone; "
                "leave it out, or protect people with unit=person"
            )
        if self.one_per_pair:
            raise PrivacyError("one_per_pair is not available in this version; leave it out")

    @property
    def limit(self) -> int:
        """L: the largest total weight of one unit, in votes."""
        return 1 if self.max_per_person is None else self.max_per_person

    @property
    def votes_are_public(self) -> bool:
        """Whether the number of votes, before any is dropped, is the same for all neighbours."""
        if self.design is Design.PUBLIC:
            return True
        return self.unit is Unit.COMPARISON and self.neighbours is Neighbours.REPLACE

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        return (
            f"{_SUBJECT[self.unit]}: {self._hypothesis()}, any given result would have been at most "
            f"{_factor(self.epsilon)} times as likely, or as unlikely, to come out."
        )

    def _hypothesis(self) -> str:
        weight = "" if self.max_per_person is None else f" (counted with a total weight of at most {self.limit})"
        return _HYPOTHESIS[self.unit, self.neighbours].format(weight=weight)


_SUBJECT = {
    Unit.COMPARISON: "No single vote can be read out of this ranking",
    Unit.PERSON: "No single person's votes can be read out of this ranking",
}

_HYPOTHESIS = {
    (Unit.COMPARISON, Neighbours.REPLACE): "had any one vote been replaced by any other vote",
    (Unit.COMPARISON, Neighbours.ADD_REMOVE): "had any one vote been added or left out",
    (Unit.COMPARISON, Neighbours.OUTCOME): (
        "which pairs were compared is treated as public, and had any one comparison gone differently"
    ),
    (Unit.PERSON, Neighbours.REPLACE): "had any one person given entirely different votes{weight}",
    (
        Unit.PERSON,
        Neighbours.ADD_REMOVE,
    ): "had any one person, with all of their votes{weight}, joined or stayed away",
    (Unit.PERSON, Neighbours.OUTCOME): (
        "who was asked about which pairs is treated as public, and had any one person answered differently{weight}"
    ),
}


def plain_number(value: float) -> str:
    """A number without needless digits, and with all that it has."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _factor(epsilon: float) -> str:
    """e^ε for a reader, rounded up so that the sentence stays true; e^ε itself where it is large."""
    if epsilon > math.log(1000):
        return f"e^{plain_number(epsilon)}"
    return f"{math.ceil(math.exp(epsilon) * 100) / 100:g}"


def _checked_epsilon(epsilon: float) -> float:
    if not (isinstance(epsilon, int | float) and math.isfinite(epsilon) and epsilon > 0):
        raise PrivacyError(f"epsilon must be a finite number > 0, such as 1; got epsilon={epsilon!r}")
    return float(epsilon)


def _checked_delta(delta: float) -> float:
    if delta != 0:
        raise PrivacyError(f"delta must be 0, got delta={delta}: Laplace noise keeps the stronger promise with delta=0")
    return 0.0


def _checked_limit(limit: float | None) -> int | None:
    if limit is None:
        return None
    if isinstance(limit, bool) or limit != limit or not 1 <= limit <= MAX_PER_PERSON or limit != int(limit):
        raise PrivacyError(
            f"max_per_person must be a whole number from 1 to {MAX_PER_PERSON}; got max_per_person={limit}"
        )
    return int(limit)
