"""ε in, the `Case`s that each check attacks out.

First every mechanism × unit × bound × neighbours × statistic; then everything that changes what one unit can move:
votes split by group, declared pairs, capped votes, rows without an answer, and the other forms of the perturbed MLE.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from quietrank.auditing.cases import Case, make_case
from quietrank.mechanisms.ball import BALL
from quietrank.mechanisms.choose import released_by
from quietrank.mechanisms.exponential import EXPONENTIAL
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.laplace import LAPLACE
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.permute_and_flip import PERMUTE_AND_FLIP
from quietrank.mechanisms.perturbed_mle.mechanism import PERTURBED_MLE
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.mechanisms.selection import Selection
from quietrank.mechanisms.zonotope import ZONOTOPE
from quietrank.promise.privacy import DesignWord, GroupOf, Neighbours, Unit
from quietrank.statistics.method import Method, Ties
from quietrank.statistics.scores import SCORES

Words = dict[str, Any]
"""the words of one case, for `make_case`"""

LIMIT = 3
"""L, where the total weight of people is bounded"""

DELTA = 1e-3

CLIP = 1.0
"""C where answers are averaged: a small questionnaire reaches it when all of it is answered. The default C is the norm
of a typical person, who answers all pairs consistently; with few items no two people can differ by twice that norm."""

GROUPS = ("north", "south")

CHORD = ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2))
"""askable pairs of four items, a cycle with a chord: the largest cut does not split the list in the middle"""
PATH = ((0, 1), (1, 2), (2, 3))
"""no cycle: the zonotope is a box, and the double cover has two components"""

RELATIONS: tuple[tuple[Neighbours, DesignWord], ...] = (
    (Neighbours.REPLACE, "private"),
    (Neighbours.REPLACE, "uniform"),
    (Neighbours.ADD_REMOVE, "private"),
    (Neighbours.ADD_REMOVE, "uniform"),
    (Neighbours.OUTCOME, "public"),
)

METHODS = (Method.WIN_RATE, Method.WINS, Method.NET_WINS)

PERTURBED = PERTURBED_MLE

VOTES: Words = {"unit": "comparison"}
CAPPED: Words = {"unit": "comparison", "neighbours": "add-remove", "max_per_person": LIMIT}
PEOPLE: Words = {"unit": "person", "max_per_person": LIMIT}
ANSWERS: Words = {"unit": "person", "one_per_pair": True}
SPLIT: Words = {"groups": GROUPS}
SPREAD: Words = {"groups": GROUPS, "group_of": GroupOf.VOTE}
"""one person's votes may be in several groups"""
CLIPPED: Words = ANSWERS | {"delta": DELTA, "clip": CLIP}


def all_cases(epsilon: float, *, quick: bool = False) -> Iterator[Case]:
    """The cases for bounds and loss, each statistic of a promise once; with `quick` one or two statistics of each."""
    seen = set()
    for case in itertools.chain(_plain(epsilon, quick=quick), _special(epsilon, quick=quick)):
        key = (case.mechanism, case.privacy.unit, case.bounding, case.privacy.neighbours, case.statistic, case.kind)
        if key not in seen:
            seen.add(key)
            yield case


# ---- every mechanism × unit × bound × neighbours × statistic --------------------------------------------------------


def _plain(epsilon: float, *, quick: bool) -> Iterator[Case]:
    for mechanism, unit in itertools.product(MECHANISMS.values(), Unit):
        for bounds in _boundings(mechanism, unit)[: 1 if quick and mechanism is not LAPLACE else None]:
            for neighbours, design in RELATIONS:
                for method in _methods(mechanism, neighbours, design, quick=quick):
                    if quick and method is Method.WINS and "one_per_pair" in bounds:
                        continue
                    words = {"neighbours": neighbours, "design": design, "method": method, "epsilon": epsilon}
                    yield from _accepted(mechanism, unit=unit, **words, **bounds)


def _boundings(mechanism: Mechanism, unit: Unit) -> list[Words]:
    """The ways to bound a unit that this mechanism accepts: without δ if it can."""
    bounds: list[Words] = [{}] if unit is Unit.COMPARISON else [{"max_per_person": LIMIT}, {"one_per_pair": True}]
    clip = {} if isinstance(mechanism, Selection) else {"clip": CLIP}
    with_delta = [bound | {"delta": DELTA} | (clip if "one_per_pair" in bound else {}) for bound in bounds]
    if mechanism is BALL:
        return bounds[:1]  # what it releases with one answer per pair is among the special cases
    accepted = [bound for bound in bounds if _accepts(mechanism, unit, bound)]
    return accepted or [bound for bound in with_delta if _accepts(mechanism, unit, bound)]


def _accepts(mechanism: Mechanism, unit: Unit, bound: Words) -> bool:
    return any(True for _ in _by_any_method(mechanism, bound, unit=unit))


def _accepted(mechanism: Mechanism, **words: Any) -> Iterator[Case]:
    """The case in these words, if the mechanism makes such a promise."""
    case = make_case(mechanism, **words)
    if mechanism.refusal(case.promise, released_by(mechanism, case.promise, case.method, case.ties)) is None:
        yield case


def _methods(mechanism: Mechanism, neighbours: Neighbours, design: str, *, quick: bool) -> tuple[Method, ...]:
    if isinstance(mechanism, Selection):
        first = (Method.NET_WINS,) if quick else (Method.NET_WINS, Method.WINS)
        return first if design != "uniform" else ()
    if mechanism is PERTURBED:
        wanted = neighbours is not Neighbours.OUTCOME and design == "private"
        return (Method.BRADLEY_TERRY,) if wanted else ()
    if quick:
        if design == "uniform":
            return ()
        if mechanism in _others():
            return METHODS
        wins = mechanism is LAPLACE and neighbours is Neighbours.REPLACE
        return (Method.WIN_RATE, Method.WINS) if wins else (Method.WIN_RATE,)
    return METHODS


# ---- groups, pairs, caps, links and calibrations --------------------------------------------------------------------


def _special(epsilon: float, *, quick: bool) -> Iterator[Case]:
    for first, rest in (
        _grouped(), _spread(), _askable(), _capped(), _unanswered(), _tied(), _sets(), _balls(), _lists(),
        _other_perturbed(),
    ):  # fmt: skip
        yield from (make_case(**words, epsilon=epsilon) for words in (first if quick else [*first, *rest]))
    for mechanism in _others():
        for words in (VOTES | SPLIT, ANSWERS | SPLIT, ANSWERS | {"pairs": CHORD}, CAPPED):
            delta = {"delta": DELTA} | ({"clip": CLIP} if "one_per_pair" in words else {})
            yield from itertools.islice(_by_any_method(mechanism, words, words | delta, epsilon=epsilon), 1)


def _by_any_method(mechanism: Mechanism, *forms: Words, **words: Any) -> Iterator[Case]:
    """What the mechanism accepts of these, by whichever method."""
    methods = (Method.NET_WINS, Method.WINS) if isinstance(mechanism, Selection) else (Method.NET_WINS, *METHODS)
    for form, method in itertools.product(forms, methods):
        yield from _accepted(mechanism, method=method, **form, **words)


def _others() -> list[Mechanism]:
    """Mechanisms that this list knows nothing special about."""
    known = (LAPLACE, ZONOTOPE, BALL, GAUSSIAN)
    return [
        one
        for one in MECHANISMS.values()
        if one not in known and SCORES not in one.statistics and not isinstance(one, Selection)
    ]


def _lists() -> tuple[list[Words], list[Words]]:
    """Lists of two names, with groups, askable pairs, caps and sets, in the quick form and beyond."""
    two, net_wins = {"mechanism": PERMUTE_AND_FLIP.of_top(2)}, {"method": Method.NET_WINS}
    one = {"mechanism": PERMUTE_AND_FLIP} | net_wins
    gumbel = {"mechanism": EXPONENTIAL.of_top(2), "delta": DELTA} | net_wins
    first: list[Words] = [
        two | net_wins | PEOPLE,
        one | VOTES | SPLIT,
        one | ANSWERS | SPREAD,
        one | ANSWERS | {"pairs": CHORD},
    ]
    rest: list[Words] = [
        *(two | words | {"method": method} for words in (VOTES, ANSWERS) for method in (Method.NET_WINS, Method.WINS)),
        two | PEOPLE | {"method": Method.WINS},
        *(two | net_wins | words | {"neighbours": "outcome"} for words in (VOTES, PEOPLE, ANSWERS)),
        two | net_wins | PEOPLE | {"neighbours": "add-remove"},
        *(one | words | SPLIT for words in (PEOPLE, ANSWERS)),
        *(one | words | SPREAD for words in (PEOPLE, PEOPLE | {"neighbours": "add-remove"})),
        one | ANSWERS | {"pairs": PATH},
        one | CAPPED,
        one | VOTES | {"items": 6, "set_size": 3},
        gumbel | PEOPLE,
        gumbel | ANSWERS | {"neighbours": "outcome"},
        gumbel | VOTES | SPLIT,
        gumbel | ANSWERS | {"pairs": CHORD},
        gumbel | CAPPED,
    ]
    return first, rest


def _grouped() -> tuple[list[Words], list[Words]]:
    """Votes split by group, in the quick form and beyond: one unit may leave one group and enter another."""
    first: list[Words] = [
        VOTES | {"mechanism": LAPLACE},
        ANSWERS | {"mechanism": ZONOTOPE},
        PEOPLE | {"mechanism": PERTURBED},
    ]
    rest: list[Words] = [
        PEOPLE | {"mechanism": GAUSSIAN, "delta": DELTA, "method": Method.NET_WINS},
        PEOPLE | {"mechanism": LAPLACE, "design": "uniform"},
        PEOPLE | {"mechanism": LAPLACE},
        PEOPLE | {"mechanism": LAPLACE, "neighbours": "add-remove"},
        PEOPLE | {"mechanism": LAPLACE, "neighbours": "outcome"},
        ANSWERS | {"mechanism": LAPLACE, "method": Method.WINS},
        ANSWERS | {"mechanism": ZONOTOPE, "design": "uniform"},
        ANSWERS | {"mechanism": ZONOTOPE, "neighbours": "add-remove"},
        CAPPED | {"mechanism": LAPLACE},
        CAPPED | {"mechanism": LAPLACE, "design": "uniform"},
        VOTES | {"mechanism": GAUSSIAN, "delta": DELTA},
        CLIPPED | {"mechanism": GAUSSIAN, "method": Method.WINS},
        VOTES | {"mechanism": PERTURBED},
    ]
    return [words | SPLIT for words in first], [words | SPLIT for words in rest]


def _spread() -> tuple[list[Words], list[Words]]:
    """Votes with groups of their own, in the quick form and beyond: one person's votes are in several groups."""
    first: list[Words] = [
        PEOPLE | {"mechanism": LAPLACE},
        ANSWERS | {"mechanism": LAPLACE, "method": Method.NET_WINS},
        PEOPLE | {"mechanism": GAUSSIAN, "delta": DELTA, "clip": CLIP, "method": Method.NET_WINS},
    ]
    rest: list[Words] = [
        PEOPLE | {"mechanism": LAPLACE, "design": "uniform"},
        PEOPLE | {"mechanism": LAPLACE, "neighbours": "add-remove"},
        PEOPLE | {"mechanism": LAPLACE, "neighbours": "outcome"},
        ANSWERS | {"mechanism": LAPLACE},
        ANSWERS | {"mechanism": LAPLACE, "method": Method.WINS},
        ANSWERS | {"mechanism": LAPLACE, "neighbours": "add-remove", "design": "uniform"},
        ANSWERS | {"mechanism": LAPLACE, "pairs": CHORD},
        CLIPPED | {"mechanism": GAUSSIAN},
        CLIPPED | {"mechanism": GAUSSIAN, "neighbours": "outcome"},
        PEOPLE | {"mechanism": PERTURBED, "groups": (*GROUPS, "west")},
    ]
    return [SPREAD | words for words in first], [SPREAD | words for words in rest]


def _askable() -> tuple[list[Words], list[Words]]:
    """One answer per askable pair, in the quick form and beyond: noise for a graph that is not complete."""
    chord, path = ANSWERS | {"pairs": CHORD}, ANSWERS | {"pairs": PATH}
    first: list[Words] = [
        chord | {"mechanism": LAPLACE},
        chord | {"mechanism": ZONOTOPE},
        chord | {"mechanism": ZONOTOPE, "design": "uniform"},
    ]
    rest: list[Words] = [
        chord | CLIPPED | {"mechanism": GAUSSIAN},
        *(words | {"mechanism": LAPLACE, "method": Method.WINS} for words in (chord, path)),
        path | {"mechanism": LAPLACE, "design": "uniform"},
        path | {"mechanism": ZONOTOPE},
        path | {"mechanism": ZONOTOPE, "design": "uniform"},
        chord | {"mechanism": ZONOTOPE, "neighbours": "add-remove"},
        chord | {"mechanism": ZONOTOPE, "neighbours": "outcome"},
        path | CLIPPED | {"mechanism": GAUSSIAN, "method": Method.NET_WINS},
        chord | {"mechanism": ZONOTOPE, "groups": GROUPS},
        chord | {"mechanism": PERTURBED},
    ]
    return first, rest


def _capped() -> tuple[list[Words], list[Words]]:
    """L votes of each person count, in the quick form and beyond: one additional vote may displace another."""
    first = [CAPPED | {"mechanism": LAPLACE}]
    rest = [
        CAPPED | {"mechanism": PERTURBED},
        CAPPED | {"mechanism": LAPLACE, "method": Method.WINS},
        CAPPED | {"mechanism": LAPLACE, "method": Method.NET_WINS},
        CAPPED | {"mechanism": LAPLACE, "design": "uniform"},
        CAPPED | {"mechanism": GAUSSIAN, "delta": DELTA},
        CAPPED | {"mechanism": GAUSSIAN, "delta": DELTA, "method": Method.WINS},
    ]
    return first, rest


def _unanswered() -> tuple[list[Words], list[Words]]:
    """Votes of which some have no answer, in the quick form and beyond: how many count is not public."""
    unanswered = VOTES | {"leaves_out": True}
    first = [unanswered | {"mechanism": LAPLACE, "design": "uniform"}]
    rest = [
        unanswered | {"mechanism": LAPLACE, "design": "uniform", "groups": GROUPS},
        unanswered | {"mechanism": GAUSSIAN, "design": "uniform", "delta": DELTA},
        unanswered | {"mechanism": PERTURBED},
    ]
    return first, rest


def _sets() -> tuple[list[Words], list[Words]]:
    """Best–worst sets of three of six items, and smaller ones, in the quick form and beyond."""
    sets: Words = {"mechanism": LAPLACE, "items": 6, "set_size": 3}
    first: list[Words] = [
        sets | PEOPLE,
        sets | PEOPLE | {"neighbours": "outcome", "method": Method.BRADLEY_TERRY},
    ]
    rest: list[Words] = [
        *(sets | VOTES | {"neighbours": neighbours} for neighbours in ("replace", "add-remove")),
        sets | PEOPLE | {"neighbours": "add-remove"},
        sets | PEOPLE | {"design": "uniform"},
        sets | PEOPLE | {"method": Method.NET_WINS},
        sets | VOTES | {"neighbours": "outcome", "method": Method.BRADLEY_TERRY},
        sets | PEOPLE | SPLIT,
        sets | PEOPLE | SPREAD,
        sets | VOTES | {"mechanism": GAUSSIAN, "delta": DELTA, "method": Method.NET_WINS},
    ]
    return first, rest


def _balls() -> tuple[list[Words], list[Words]]:
    """Noise of the ball in other settings, in the quick form and beyond.

    With exposures its bound is reached by people with wins and ties in the right proportion, which one answer per pair
    does not allow; tests/mechanisms/test_ball.py searches there, and for ties that are counted apart.
    """
    ball: Words = {"mechanism": BALL}
    net_wins, wins, clipped = {"method": Method.NET_WINS}, {"method": Method.WINS}, ANSWERS | {"clip": CLIP}
    first: list[Words] = [
        VOTES | ball | net_wins,
        PEOPLE | ball | net_wins | SPREAD,
    ]
    rest: list[Words] = [
        PEOPLE | ball | SPLIT,
        PEOPLE | ball | net_wins | SPLIT,
        PEOPLE | ball | SPREAD,
        PEOPLE | ball | SPREAD | {"neighbours": "outcome"},
        *(clipped | ball | net_wins | {"neighbours": neighbours} for neighbours in Neighbours),
        clipped | ball | wins,
        clipped | ball | net_wins | {"pairs": CHORD},
        CAPPED | ball | net_wins,
        PEOPLE | ball | net_wins | {"items": 6, "set_size": 3},
    ]
    return first, rest


def _tied() -> tuple[list[Words], list[Words]]:
    """The weight of all ties beside other counts, in the quick form and beyond.

    Where a bound is not attained (docs/proofs/ties.md) the case is not among them: Laplace noise on wins and losses
    with one answer per pair, which tests/statistics/test_ties.py searches through, and clips under a public design and
    over groups of votes, whose reach follows from the clip.
    """
    laplace, gaussian = {"mechanism": LAPLACE}, {"mechanism": GAUSSIAN, "delta": DELTA}
    added, zonotope = {"neighbours": "add-remove"}, ANSWERS | {"mechanism": ZONOTOPE}
    first: list[Words] = [
        VOTES | laplace,
        PEOPLE | laplace | {"design": "uniform"},
        zonotope,
    ]
    rest: list[Words] = [
        PEOPLE | gaussian,  # its bound is reached by later pairs of files only
        VOTES | laplace | added,
        VOTES | laplace | {"neighbours": "outcome"},
        VOTES | gaussian,
        PEOPLE | laplace,
        PEOPLE | laplace | added,
        PEOPLE | laplace | added | {"design": "uniform"},
        PEOPLE | laplace | {"neighbours": "outcome"},
        ANSWERS | laplace | {"design": "uniform"},
        CLIPPED | {"mechanism": GAUSSIAN},
        zonotope | {"design": "uniform"},
        zonotope | added,
        SPLIT | PEOPLE | laplace | {"design": "uniform"},
        SPREAD | PEOPLE | laplace | {"design": "uniform"},
    ]
    return [words | {"ties": Ties.DAVIDSON} for words in first], [words | {"ties": Ties.DAVIDSON} for words in rest]


def _other_perturbed() -> tuple[list[Words], list[Words]]:
    """The other link and the other calibration of the perturbed MLE, in the quick form and beyond."""
    secant = {"mechanism": PERTURBED, "link": "hyperbolic-secant"}
    published = {"mechanism": PERTURBED, "calibration": "published"}
    rest = [
        *(form | VOTES | {"neighbours": "add-remove"} for form in (secant, published)),
        *(form | PEOPLE for form in (secant, published)),
        secant | published | VOTES,
    ]
    return [form | VOTES for form in (secant, published)], rest


# ---- the cases of the other checks ----------------------------------------------------------------------------------


def black_box_cases(epsilons: Sequence[float], *, quick: bool) -> Iterator[Case]:
    """Two items, where the worst case is attained most often; the first of each kind at every ε."""
    first = {
        LAPLACE: partial(make_case, LAPLACE, "comparison"),
        ZONOTOPE: partial(make_case, ZONOTOPE, "person", one_per_pair=True),
        BALL: partial(make_case, BALL, "person", max_per_person=LIMIT),
        GAUSSIAN: partial(make_case, GAUSSIAN, "comparison", delta=DELTA),
        PERMUTE_AND_FLIP: partial(make_case, PERMUTE_AND_FLIP, "comparison"),
    }
    for name, make in first.items():
        for epsilon in epsilons:
            if not (name is GAUSSIAN and epsilon < 1 and len(epsilons) > 1):
                yield make(method=Method.NET_WINS, epsilon=epsilon, items=2)
    for mechanism, unit, epsilon in itertools.product(_others(), Unit, epsilons):
        for bounds in _boundings(mechanism, unit)[:1]:
            yield from itertools.islice(_by_any_method(mechanism, bounds, unit=unit, epsilon=epsilon, items=2), 1)
    middle = 1.0 if 1.0 in epsilons else epsilons[0]
    yield make_case(LAPLACE, "person", method=Method.WINS, epsilon=middle, items=2, max_per_person=LIMIT)
    yield make_case(PERTURBED, "comparison", "add-remove", epsilon=middle, items=2)
    if not quick:
        yield make_case(ZONOTOPE, "person", method=Method.NET_WINS, epsilon=middle, items=3, one_per_pair=True)
        yield make_case(PERMUTE_AND_FLIP.of_top(2), "comparison", method=Method.NET_WINS, epsilon=middle, items=3)
        yield from _other_black_boxes(middle)
        yield from (make_case(**words, epsilon=middle) for words in _special_black_boxes())


def _other_black_boxes(epsilon: float) -> Iterator[Case]:
    """The remaining combinations of mechanism × unit × neighbours."""
    for mechanism, unit, relation in itertools.product(MECHANISMS.values(), Unit, Neighbours):
        method = Method.WINS if mechanism is LAPLACE and unit is Unit.COMPARISON else Method.NET_WINS
        for bounds in _boundings(mechanism, unit)[:1]:
            words = {"neighbours": relation, "method": method, "epsilon": epsilon, "items": 2}
            yield from _accepted(mechanism, unit=unit, **words, **bounds)


def _special_black_boxes() -> Iterator[Words]:
    """Groups, pairs, caps, the other link and the other calibration, each as small as it can be."""
    two: Words = {"items": 2}
    yield two | VOTES | {"mechanism": LAPLACE, "groups": GROUPS, "method": Method.WINS}
    yield two | ANSWERS | {"mechanism": ZONOTOPE, "groups": GROUPS}
    yield two | VOTES | {"mechanism": GAUSSIAN, "groups": GROUPS, "method": Method.NET_WINS, "delta": DELTA}
    yield ANSWERS | {"mechanism": ZONOTOPE, "items": 3, "pairs": PATH[:2], "method": Method.NET_WINS}
    yield two | CAPPED | {"mechanism": LAPLACE, "method": Method.WINS}
    yield two | VOTES | {"mechanism": PERTURBED, "neighbours": "add-remove", "link": "hyperbolic-secant"}
    yield two | VOTES | {"mechanism": PERTURBED, "neighbours": "add-remove", "calibration": "published"}
    yield two | VOTES | {"mechanism": PERTURBED, "groups": GROUPS}


def noise_cases(epsilon: float, *, quick: bool) -> Iterator[Case]:
    """Every kind of noise: independent, conditioned to sum to zero, with a total, from both bodies, coarse and fine."""
    people, pairs = PEOPLE | {"epsilon": epsilon}, ANSWERS | {"epsilon": epsilon}
    coarse = VOTES | {"method": Method.NET_WINS, "items": 3, "delta": DELTA, "epsilon": epsilon}
    yield make_case(LAPLACE, "comparison", method=Method.WINS, epsilon=epsilon, items=3)
    yield make_case(LAPLACE, method=Method.WIN_RATE, design="uniform", items=3, **people)
    yield make_case(ZONOTOPE, method=Method.NET_WINS, items=3, **pairs)
    yield make_case(ZONOTOPE, method=Method.WIN_RATE, items=3, **pairs)
    yield make_case(GAUSSIAN, **coarse)
    yield make_case(BALL, method=Method.WIN_RATE, items=3, **people)
    yield make_case(LAPLACE, method=Method.WINS, items=3, groups=GROUPS, **people)
    yield make_case(PERMUTE_AND_FLIP.of_top(2), method=Method.NET_WINS, items=3, **people)
    yield make_case(EXPONENTIAL.of_top(2), method=Method.NET_WINS, items=3, delta=DELTA, **pairs)
    yield make_case(LAPLACE, design="uniform", items=3, ties=Ties.DAVIDSON, **people)
    yield make_case(ZONOTOPE, design="uniform", items=3, ties=Ties.DAVIDSON, **pairs)
    for mechanism, unit in itertools.product(_others(), Unit):
        for bounds in _boundings(mechanism, unit):
            yield from itertools.islice(_by_any_method(mechanism, bounds, unit=unit, epsilon=epsilon, items=3), 1)
    if quick:
        return
    yield make_case(LAPLACE, neighbours="add-remove", method=Method.WINS, items=4, **people)
    yield make_case(LAPLACE, "comparison", method=Method.WIN_RATE, items=3, epsilon=epsilon)
    yield make_case(LAPLACE, "comparison", "outcome", method=Method.NET_WINS, items=5, epsilon=epsilon)
    yield make_case(ZONOTOPE, neighbours="add-remove", design="uniform", items=4, **pairs)
    yield make_case(ZONOTOPE, neighbours="outcome", method=Method.NET_WINS, items=6, **pairs)
    yield make_case(GAUSSIAN, method=Method.WIN_RATE, items=3, delta=DELTA, **people)
    yield make_case(ZONOTOPE, items=3, groups=GROUPS, **pairs)
    yield make_case(GAUSSIAN, groups=GROUPS, **coarse)
    yield make_case(BALL, method=Method.WINS, items=5, groups=GROUPS, **people)
    yield make_case(BALL, "comparison", method=Method.NET_WINS, items=4, epsilon=epsilon)
    yield make_case(ZONOTOPE, method=Method.NET_WINS, pairs=PATH, **pairs)
    yield make_case(ZONOTOPE, pairs=CHORD, **pairs)
    yield make_case(LAPLACE, method=Method.WINS, items=3, epsilon=epsilon, **CAPPED)


def growing_cases(epsilon: float, *, quick: bool) -> Iterator[Case]:
    """Promises to people whose file grows while it is counted: one answer per pair, and a clip."""
    for words in (ANSWERS | {"mechanism": LAPLACE}, CLIPPED | {"mechanism": GAUSSIAN}):
        yield make_case(**words, method=Method.NET_WINS, epsilon=epsilon)
    if not quick:
        for words in (PEOPLE | {"mechanism": LAPLACE}, PEOPLE | {"mechanism": GAUSSIAN, "delta": DELTA}):
            yield make_case(**words, method=Method.NET_WINS, epsilon=epsilon)
