"""Plain words in, a checked `Privacy` out: what is protected, how strongly, and the sentence that says so."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Literal

from quietrank.errors import PrivacyError, option
from quietrank.promise.arguments import flag, number, parse, whole_number

MAX_PER_PERSON = 2**32
"""The largest limit L: weights are counted in steps of 2^-20, and L·2^20 must stay exact in a double."""

AUTO = "auto"
"""instead of L: to be chosen from the votes"""

LARGEST_CLIP = 2.0**20
"""The largest clipping bound C: its square in steps of 2^-20 must fit a 38-digit decimal, with room to spare."""

SMALLEST_CLIP = 2.0**-20
"""The smallest: a weight has no smaller unit."""

WEAK_EPSILON = 4.0
"""From here on, results may be more than fifty times as likely, so the statement must not sound safe."""

WEAK_DELTA = 1e-4
"""From here on the same: one person in ten thousand could be published, and the promise be kept."""

LARGEST_EPSILON = 1e9
"""Beyond this, computing the noise would overflow; the promise is empty long before."""

LARGEST_FACTOR = 1e7
"""The largest factor that is written as a number."""

LARGEST_DELTA = 0.01
"""With a larger δ a mechanism could publish one person in a hundred and keep its promise."""


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


class GroupOf(StrEnum):
    """Whose group it is, where votes are split by group."""

    VOTE = "vote"
    """each vote has its own: one person's votes may be in several groups"""
    PERSON = "person"
    """all votes of a person are in one group"""


UnitWord = Unit | Literal["comparison", "person"]
NeighboursWord = Neighbours | Literal["replace", "add-remove", "outcome"]
DesignWord = Design | Literal["public", "uniform", "private"]
"""what callers may write: the word, or the member it stands for"""


@dataclass(frozen=True, init=False)
class Privacy:
    """A promise of ε-differential privacy, or of (ε, δ) where `delta` is given.

    `unit` and `epsilon` have no default, because no default would be safe.

    epsilon         how strong: results are at most e^ε times as likely with one unit changed; 1 is a usual choice
    unit            what is protected. "comparison": each single vote. "person": everything that one person said.
    delta           0, or the small probability with which the promise may fail; above 0 it allows Gaussian noise
    neighbours      what may change. "replace": one unit becomes any other. "add-remove": there is one unit more or
                    less. "outcome": only the answers; with design="public", and only with it.
    design          who met whom. "private": a secret. "uniform": a secret, but every pair was equally likely
                    to be asked and answered, which
                    takes less noise. "public": known to all.
    max_per_person  L: a person's votes are scaled down to this total weight; "auto": chosen when the votes are counted,
                    from a noisy histogram of votes per person, for 5 % of ε. For "comparison" under "add-remove", no
                    more than L votes of each person count, so that a ledger for people can account for the release.
    one_per_pair    True: what a person said about one pair is averaged into one answer
    clip            C: a person's votes are scaled down until they add no more than this Euclidean norm to the
                    counts; for ball noise and, with delta, Gaussian noise

    A person is bounded by at least one of the last three.

    >>> import quietrank as qr
    >>> privacy = qr.Privacy(epsilon=1, unit="person", max_per_person=15)
    >>> privacy.statement.partition(":")[0]
    "No single person's votes can be read out of this ranking"
    """

    epsilon: float
    unit: Unit
    delta: float
    neighbours: Neighbours
    design: Design
    max_per_person: int | None
    one_per_pair: bool
    clip: float | None
    chooses_limit: bool
    """whether L is to be chosen from the votes, for a part of ε; there is none until then"""

    def __init__(
        self,
        epsilon: float,
        unit: UnitWord,
        delta: float = 0.0,
        neighbours: NeighboursWord = "replace",
        design: DesignWord = "private",
        max_per_person: float | Literal["auto"] | None = None,
        one_per_pair: bool = False,
        clip: float | None = None,
    ) -> None:
        auto = isinstance(max_per_person, str) and max_per_person == AUTO
        values = {
            "epsilon": checked_epsilon(epsilon),
            "unit": parse(Unit, "unit", unit),
            "delta": checked_delta(delta),
            "neighbours": parse(Neighbours, "neighbours", neighbours),
            "design": parse(Design, "design", design),
            "max_per_person": None if auto else _checked_limit(max_per_person),
            "one_per_pair": flag("one_per_pair", one_per_pair),
            "clip": _checked_clip(clip),
            "chooses_limit": auto,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check_combination()

    def _check_combination(self) -> None:
        if (self.neighbours is Neighbours.OUTCOME) != (self.design is Design.PUBLIC):
            raise PrivacyError(
                f"{option('neighbours', self.neighbours)} does not go with {option('design', self.design)}: a public "
                f"design is protected with {option('neighbours', 'outcome')}, and only that; say both or neither"
            )
        if self.unit is Unit.PERSON:
            self._check_person()
        else:
            self._check_comparison()

    def _check_person(self) -> None:
        if self.chooses_limit and self.clip is not None:
            raise PrivacyError(
                f"{option('max_per_person', AUTO)} chooses the clip as well; leave {option('clip')} out, or give a "
                "number"
            )
        bounded = self.max_per_person is not None or self.clip is not None or self.one_per_pair or self.chooses_limit
        if not bounded:
            raise PrivacyError(
                f"{option('unit', 'person')} needs {option('max_per_person')}, the total weight one person's votes may "
                f"have, for instance the number of questions each person was asked; or {option('one_per_pair', True)} "
                f"if nobody is asked the same pair twice; or {option('max_per_person', AUTO)} where there is no such "
                "number"
            )

    def _check_comparison(self) -> None:
        if self.chooses_limit:
            raise PrivacyError(
                f"{option('max_per_person', AUTO)} is for {option('unit', 'person')}, and single votes are protected "
                "here; leave it out, or give a number"
            )
        if self.max_per_person is not None and self.neighbours is not Neighbours.ADD_REMOVE:
            raise PrivacyError(
                f"{option('max_per_person')} has no meaning for {option('unit', 'comparison')} with "
                f"{option('neighbours', self.neighbours)}, where each vote stands alone; leave it out, or protect "
                f"people with {option('unit', 'person')}"
            )
        if self.one_per_pair or self.clip is not None:
            raise PrivacyError(
                f"{option('one_per_pair')} and {option('clip')} bound what one person contributes and have no meaning "
                f"for {option('unit', 'comparison')}; leave them out, or protect people with {option('unit', 'person')}"
            )

    @property
    def limit(self) -> int:
        """L: the largest total weight of one unit, in votes."""
        if self.unit is Unit.COMPARISON:
            return 1
        if self.chooses_limit:
            raise PrivacyError(
                f"{option('max_per_person', AUTO)} is chosen when votes are counted, and there are none here; give a "
                "number"
            )
        if self.max_per_person is None:
            raise PrivacyError(f"{option('max_per_person')} is needed here: a clip bounds ball and Gaussian noise only")
        return self.max_per_person

    @property
    def counts_people(self) -> bool:
        """Whether it matters who cast a vote, so that every vote must name its person."""
        return self.unit is Unit.PERSON or self.max_per_person is not None

    @property
    def counted_as(self) -> Neighbours:
        """How the votes that count differ between neighbours.

        Where only some votes of each person count, one vote more can displace one that counted: one in, one out.
        """
        displaced = self.unit is Unit.COMPARISON and self.max_per_person is not None
        return Neighbours.REPLACE if displaced else self.neighbours

    def changed(self, **values: object) -> Privacy:
        """The same promise with these values changed."""
        return Privacy(**(self.arguments | values))

    @property
    def arguments(self) -> dict[str, Any]:
        """What it was made from."""
        values = asdict(self)
        return values | {"max_per_person": AUTO} if values.pop("chooses_limit") else values

    @property
    def votes_are_public(self) -> bool:
        """Whether the number of votes, before any is dropped, is the same for all neighbours.

        This means all votes: where they are split by group, a vote may change its group, so the number of votes in
        one group is public under a public design only.
        """
        if self.design is Design.PUBLIC:
            return True
        return self.unit is Unit.COMPARISON and self.neighbours is Neighbours.REPLACE

    @property
    def strength(self) -> str:
        """What is protected and how strongly, in a few words."""
        delta = f", δ = {plain_number(self.delta)}" if self.delta else ""
        return f"ε = {plain_number(self.epsilon)}{delta} per {self.unit}"

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        factor = _factor(self.epsilon)
        if self.delta == 0:
            conclusion = (
                f"any given result would have been at most {factor} times as likely, or as unlikely, to come out"
            )
        else:
            conclusion = (
                f"the chance of any given kind of result would have been at most {factor} times as large, or as "
                f"small, give or take {plain_number(self.delta)}"
            )
        weak = self.epsilon >= WEAK_EPSILON or self.delta >= WEAK_DELTA
        return f"{WEAK if weak else _SUBJECT[self.unit]}: {self._hypothesis()}, {conclusion}."

    def _hypothesis(self) -> str:
        return _HYPOTHESIS[self.unit, self.neighbours].format(weight=self._weight())

    def _weight(self) -> str:
        """How a person's votes are bounded, in brackets."""
        if self.clip is not None and self.neighbours is Neighbours.OUTCOME:
            length, most = plain_number(self.clip), plain_number(2 * self.clip)
            return (
                " (scaled down where there are many, so that what one person adds to all counts together has a length "
                f"of at most {length}, and other answers change it by at most {most})"
            )
        if self.clip is not None:
            return (
                " (scaled down where there are many, so that what one person adds to all counts together has a length "
                f"of at most {plain_number(self.clip)})"
            )
        if self.max_per_person is not None and self.unit is Unit.PERSON:
            each = ", one answer per pair" if self.one_per_pair else ""
            return f" (counted with a total weight of at most {self.limit}{each})"
        if self.max_per_person is not None:
            return f" (of which at most {self.max_per_person} of each person count)"
        return " (one answer per pair)" if self.one_per_pair else ""


WEAK = "This is a weak promise"
_SUBJECT = {
    Unit.COMPARISON: "No single vote can be read out of this ranking",
    Unit.PERSON: "No single person's votes can be read out of this ranking",
}

_HYPOTHESIS = {
    (Unit.COMPARISON, Neighbours.REPLACE): "had any one vote been replaced by any other vote",
    (Unit.COMPARISON, Neighbours.ADD_REMOVE): "had any one vote{weight} been added or left out",
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
    """A number with all of its digits, but no needless ones."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _factor(epsilon: float) -> str:
    """e^ε for a reader, rounded up so that the sentence stays true; e^ε itself where nobody could read it."""
    if epsilon > math.log(LARGEST_FACTOR):
        return f"e^{plain_number(epsilon)}"
    if epsilon > math.log(100):
        return f"{math.ceil(math.exp(epsilon)):,}"
    return f"{math.ceil(math.exp(epsilon) * 100) / 100:g}"


def checked_epsilon(epsilon: object) -> float:
    value = number(epsilon)
    if value is None or not 0 < value <= LARGEST_EPSILON:
        raise PrivacyError(
            f"{option('epsilon')} must be a number > 0, such as 1, and at most {LARGEST_EPSILON:g}, where it "
            f"promises nothing; got {option('epsilon', repr(epsilon))}"
        )
    return value


def checked_delta(delta: object) -> float:
    value = number(delta)
    if value is None or not 0 <= value <= LARGEST_DELTA:
        raise PrivacyError(
            f"{option('delta')} must be 0, or a small number such as 1e-6, far below one over the number of people and "
            f"at most {LARGEST_DELTA}; got {option('delta', repr(delta))}"
        )
    return value


def _checked_clip(clip: object) -> float | None:
    if clip is None:
        return None
    value = number(clip)
    if value is None or not SMALLEST_CLIP <= value <= LARGEST_CLIP:
        raise PrivacyError(
            f"{option('clip')} must be a number from 2^-20 to 2^20, such as 5; got {option('clip', repr(clip))}"
        )
    return value


def _checked_limit(limit: object) -> int | None:
    if limit is None:
        return None
    value = whole_number(limit)
    if value is None or not 1 <= value <= MAX_PER_PERSON:
        name = "max_per_person"
        raise PrivacyError(
            f"{option(name)} must be a whole number from 1 to {MAX_PER_PERSON}, or {AUTO}; got "
            f"{option(name, repr(limit))}"
        )
    return value
