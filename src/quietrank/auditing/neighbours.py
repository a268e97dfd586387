"""A `Case` in, neighbouring sets of votes out: the extremes that a bound must allow for, then random ones.

The votes are synthetic, so a seed is harmless: it makes a failed audit repeatable. Nothing else in the audit is
seeded; noise is drawn as in releases.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from quietrank.auditing.cases import Case
from quietrank.maths import zonotopes
from quietrank.mechanisms.ball import BALL
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.selection import apart_reach
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design, Neighbours, Unit
from quietrank.statistics.method import Method, Ties
from quietrank.statistics.net_wins import NET_WINS_AND_EXPOSURES

Answer = tuple[int, int, str]
"""two items and `a`, `b`, `tie`, `?` for an outcome that cannot be read, or empty text for none"""
Saying = tuple[Answer, ...]
"""all answers of one unit"""
Row = tuple[str, int, int, str, str]
"""a person, two items, the answer, and the group, which is empty text where there is none"""
Rows = tuple[Row, ...]

SEED = 6
TURNED = {"a": "b", "b": "a", "tie": "tie", "?": "?", "": ""}
NOWHERE = ("",)
"""the groups of votes that are not split"""


@dataclass(frozen=True)
class Neighbouring:
    """Two sets of votes that differ in one unit."""

    one: Rows
    other: Rows
    skip_invalid: bool = False
    by_winner: bool = False
    """written with winner, loser and a tie flag, instead of two items and an outcome"""
    wide: bool = False
    """written with a column for each pair, in which each vote is a row with one answer"""


@dataclass(frozen=True)
class Change:
    """What happens to one unit."""

    one: Rows
    other: Rows
    skip: bool = False
    """whether rows that cannot be used are skipped"""
    stays: Rows = ()
    """the other votes of the same person, where the unit is one vote and only some of each person's votes count"""


def neighbouring(case: Case, number: int, seed: int = SEED) -> Iterator[Neighbouring]:
    """All extremes, each with a crowd around it, then random pairs; `number` pairs in total."""
    rng = np.random.default_rng(seed)
    changes = itertools.chain(_extremes(case), _random_changes(case, rng))
    for index, change in enumerate(itertools.islice(changes, number)):
        crowd = () if index == 0 and case.privacy.neighbours is not Neighbours.REPLACE else _crowd(case, rng)
        around = (*crowd, *change.stays)
        one, other = (*around, *change.one), (*around, *change.other)
        # The replaced unit is elsewhere in the file and, where it is another person, has another name.
        if case.privacy.neighbours is Neighbours.REPLACE and index % 2 == 1:
            other = (*(("v 2", *row[1:]) for row in change.other), *around)
        # A tie flag that is empty says nothing; an outcome that is empty says that there was no answer.
        answered = all(answer for _, _, _, answer, _ in (*one, *other))
        by_winner, wide = index % 3 == 2 and answered, index % 3 == 1 and _can_be_wide(case, change)
        yield Neighbouring(one, other, change.skip, by_winner=by_winner, wide=wide)


def _can_be_wide(case: Case, change: Change) -> bool:
    """Empty cells are secret, and are not public questions; nothing is unreadable, and all pairs have a column."""
    secret = case.privacy.unit is Unit.PERSON and case.privacy.neighbours is not Neighbours.OUTCOME
    return secret and case.items.pairs is None and not case.items.in_sets and not change.skip


def worst(case: Case) -> Neighbouring:
    """The first extreme without any other votes: for the black box, where only the difference matters."""
    change = next(_extremes(case))
    around = (*change.stays, *_leading(case))
    return Neighbouring((*around, *change.one), (*around, *change.other))


def _leading(case: Case) -> Rows:
    """For selection, others who put one item ahead of all, whatever the unit says: only then does a list lose all that
    it may. Of two items just so far that such lists are not rare; of more so far that no third one interferes."""
    if case.selection is None:
        return ()
    calibrated = case.calibrated
    reach = apart_reach(calibrated.promise, calibrated.statistic, calibrated.clip, 1)
    first, _ = _furthest(case)
    homes = case.groups or NOWHERE
    near = [pair for pair in case.items.graph.edges if first in pair]
    many = ceil(reach / 2 if len(case.items) == 2 else 2 * reach)
    answers = [(i, j, "a" if i == first else "b") for i, j in near]
    return tuple((f"p{number} {home}", *answer, home) for home in homes for number in range(many) for answer in answers)


def _rows(person: str, answers: Saying, homes: Sequence[str] = NOWHERE) -> Rows:
    """The votes of a person; where there are several groups, the votes alternate between them."""
    return tuple((person, *answer, home) for answer, home in zip(answers, itertools.cycle(homes), strict=False))


def _crowd(case: Case, rng: np.random.Generator) -> Rows:
    """A few people who never compare the last item: only the unit may."""
    pairs = case.items.graph.edges
    known = [pair for pair in pairs if len(case.items) - 1 not in pair] or pairs
    homes = case.groups or NOWHERE
    rows: list[Row] = []
    for person in range(3):
        answers = tuple(_answer(rng, known) for _ in range(rng.integers(1, 8)))
        rows += _rows(f"p{person}", answers, homes if case.spread else homes[person % len(homes) :][:1])
    return tuple(rows)


def _answer(rng: np.random.Generator, pairs: Sequence[tuple[int, int]]) -> Answer:
    pair = pairs[int(rng.integers(len(pairs)))]
    i, j = pair if rng.random() < 0.5 else pair[::-1]
    return i, j, str(rng.choice(["a", "b", "tie"]))


def _turned(answers: Saying) -> Saying:
    return tuple((i, j, TURNED[answer]) for i, j, answer in answers)


def _extremes(case: Case) -> Iterator[Change]:
    """The worst first; the first few include one of each kind of rows that are skipped."""
    if case.capped:
        yield from _displacing(case)
        return
    constructed = _constructed(case)
    plain = [change for answers, instead in constructed for change in _placed(case, *_related(case, answers, instead))]
    unanswered = _unanswered(case, constructed[0][0])
    yield from (*plain[:2], *_skipped(case, constructed[0][0]), *plain[2:3], unanswered, *plain[3:])


def _unanswered(case: Case, answers: Saying) -> Change:
    """Rows without an answer: they count for nothing, or as ties where the design is public."""
    homes, none = (case.groups or NOWHERE)[:1], tuple((i, j, "") for i, j, _ in answers)
    if case.privacy.neighbours is Neighbours.ADD_REMOVE:
        return Change(_rows("u", (*answers, *none), homes), ())
    return Change(_rows("u", answers, homes), _rows("u", none, homes))


def _related(case: Case, answers: Saying, instead: Saying) -> tuple[Saying, Saying]:
    """The unit's answers, and the answers that replace them, as far as the relation allows it."""
    if case.privacy.neighbours is Neighbours.ADD_REMOVE:
        return answers, ()
    if case.privacy.neighbours is Neighbours.REPLACE:
        return answers, instead
    return answers, _rechosen(case, answers) if case.items.in_sets else _turned(answers)


def _rechosen(case: Case, answers: Saying) -> Saying:
    """Other answers to the same best–worst sets: the worst becomes the best, and a third item the worst."""
    others = [[item for item in set_of(case.items, i, j) if item not in (i, j)] for i, j, _ in answers]
    return tuple((j, (more or [i])[0], answer) for (i, j, answer), more in zip(answers, others, strict=True))


def set_of(items: Items, i: int, j: int) -> tuple[int, ...]:
    """The best–worst set that two items stand for: their block of M on the list, or where they have none in common, the
    two alone, which is a smaller set."""
    start = i // items.shown * items.shown
    block = range(start, start + items.shown)
    return tuple(block) if j in block and block[-1] < len(items) else tuple(sorted((i, j)))


def _placed(case: Case, answers: Saying, instead: Saying) -> list[Change]:
    """The unit in one group and, where it may be replaced, also moving from one group to another; the worse first."""
    first, *others = case.groups or NOWHERE
    stayed = Change(_rows("u", answers, [first]), _rows("u", instead, [first]))
    if not others or (case.privacy.neighbours is not Neighbours.REPLACE and not case.spread):
        return [stayed]
    if case.spread:
        return [*_spread(case, answers, instead), stayed]
    moved = Change(_rows("u", answers, [first]), _rows("u", instead, others[:1]))
    # The squared movements of two groups add up to less than the square of what one group can move by.
    return [stayed, moved] if case.mechanism == GAUSSIAN else [moved, stayed]


def _spread(case: Case, answers: Saying, instead: Saying) -> list[Change]:
    """The unit with votes in all groups: the same in each; all in one, then all in another; and for in one group,
    against in the other, which must not cancel."""
    homes = case.groups or NOWHERE
    everywhere = [tuple(row for home in homes for row in _rows("u", said, [home])) for said in (answers, instead)]
    same = Change(everywhere[0], everywhere[1])
    opposed = [
        tuple(row for k, home in enumerate(homes) for row in _rows("u", _turned(said) if k % 2 else said, [home]))
        for said in (answers, instead)
    ]
    changes = [same, Change(opposed[0], opposed[1])]
    if case.privacy.neighbours is Neighbours.REPLACE:
        moved = Change(_rows("u", answers, homes[:1]), _rows("u", instead, homes[1:2]))
        changes = [same, moved, *changes[1:]] if case.privacy.one_per_pair else [moved, *changes]
    return changes


def _skipped(case: Case, answers: Saying) -> Iterator[Change]:
    """Rows that cannot be read, are on pairs that may not be asked, or belong to a person in several groups: skipping
    them is a map that acts on this unit alone."""
    homes, removed = case.groups or NOWHERE, case.privacy.neighbours is Neighbours.ADD_REMOVE
    unread = tuple((i, j, "?") for i, j, _ in answers)
    yield Change(_rows("u", answers, homes[:1]), () if removed else _rows("u", unread, homes[:1]), skip=True)
    if case.items.pairs is not None:
        everywhere = (*answers, *_not_askable(case) * 5)
        first, second = _related(case, everywhere, _turned(everywhere[:-1]))
        yield Change(_rows("u", first, homes[:1]), _rows("u", second, homes[:1]), skip=True)
    if len(homes) > 1 and case.privacy.unit is Unit.PERSON and not case.spread:
        replaced = case.privacy.neighbours is Neighbours.REPLACE
        first, second = _related(case, answers, _turned(answers))
        yield Change(_rows("u", first, homes), _rows("u", second, homes[:1] if replaced else homes), skip=True)


def _not_askable(case: Case) -> Saying:
    pairs = itertools.combinations(range(len(case.items)), 2)
    return tuple((i, j, "a") for i, j in pairs if (i, j) not in case.items.graph.edges)


def _constructed(case: Case) -> list[tuple[Saying, Saying]]:
    """The answers of a unit, and those that replace them."""
    pairs, last = case.items.graph.edges, len(case.items) - 1
    i, j = pairs[0]
    near = next(pair[0] for pair in pairs if pair[1] == last)
    one: Saying = ((i, j, "a"),)
    far: list[Saying] = [((case.items.shown, case.items.shown + 1, "a"),)] if case.items.in_sets else []
    tie: Saying = ((i, j, "tie"),)
    apart = [*_apart(case), *_ties_and_wins(case)]
    if case.privacy.unit is Unit.COMPARISON:
        return [
            *apart,
            *((one, other) for other in far),
            (one, _turned(one)),
            (tie, ((near, last, "a"),)),
            (one, tie),
            (((last, near, "a"),), one),
        ]
    cut, first, second = _split(case)
    full = (*cut, *first, *second)
    within_tied = tuple((i, j, "tie") for i, j, _ in (*first, *second))
    limit = case.privacy.limit
    # The first pairs also differ in their number of rows and in the items they mention: neither may show.
    whole = [(full, _turned(full) * 2), (cut, _turned(cut)), ((*cut, *first), (*_turned(cut), *second))]
    many = [
        (one * limit, _turned(one) * (20 * limit + 1)),
        # 7 and 5 do not divide 2^20: if a weight is rounded up, it shows.
        (one * 7, ((near, last, "b"),) * 5),
        (one * (20 * limit + 1), _turned(one) * (20 * limit + 1)),
    ]
    rest = [
        ((*cut, *within_tied), _turned(cut)),
        (tie * limit, ((last, near, "b"),) * limit),
        (one * 5 + _turned(one) * 2, ((last, near, "tie"), (near, last, "a"), (j, i, "a"))),
    ]
    if case.items.in_sets:
        many = [*((one * limit, other * (20 * limit + 1)) for other in far), *many]
    first_ones = [*apart, *_wins_and_ties(case)]
    return [*first_ones, *whole, *many, *rest] if case.privacy.one_per_pair else [*first_ones, *many, *whole, *rest]


def _wins_and_ties(case: Case) -> list[tuple[Saying, Saying]]:
    """Where balls side by side add up what net wins and exposures move by: ties on other items make the exposures of a
    clipped person larger, so that both move, and the turned wins of somebody without ties do the rest."""
    if case.mechanism != BALL or case.statistic != NET_WINS_AND_EXPOSURES:
        return []
    (i, j), (k, m) = case.items.graph.edges[0], case.items.graph.edges[-1]
    wins, beta = 8 * case.privacy.limit, float(case.calibrated.share)
    ties = 0 if case.privacy.design is Design.UNIFORM else round(wins * 0.375 / beta)
    said: Saying = ((i, j, "a"),) * wins + ((k, m, "tie"),) * ties
    both = [(said, ((i, j, "b"),) * wins), (said, _turned(said))]
    return both[::-1] if case.groups and not case.spread else both


def _furthest(case: Case) -> tuple[int, tuple[int, ...]]:
    """For selection: the item with the most askable pairs, and the k with the most of those that it may meet."""
    near, k = case.items.graph.neighbours, case.selection.k if case.selection else 1
    first = max(range(len(near)), key=lambda item: len(near[item]))
    met = sorted((item for item, _ in near[first]), key=lambda item: -len(near[item]))
    return first, tuple(met[:k])


def _apart(case: Case) -> list[tuple[Saying, Saying]]:
    """For selection: the answers that bring one item and k others furthest apart, and those that do the opposite."""
    if case.selection is None:
        return []
    first, others = _furthest(case)
    fan: Saying = tuple((first, other, "a") for other in others)
    limit, by_wins = case.privacy.limit, case.method is Method.WINS
    if case.privacy.unit is Unit.COMPARISON:
        return [(fan[:1], _turned(fan[:1]))]
    if case.privacy.one_per_pair:
        won, lost = _all_pairs(case, (first,), "a"), _all_pairs(case, others, "b")
        within = tuple((i, j, "a") for i, j in case.items.graph.edges if i in others and j in others)
        taken = (*_all_pairs(case, others, "a"), *within)
        if by_wins and case.privacy.neighbours is not Neighbours.OUTCOME:
            return [(won, taken)]
        both = (*won, *(answer for answer in lost if first not in answer[:2]))
        return [(both, _turned(both))]
    if by_wins and case.privacy.neighbours is not Neighbours.OUTCOME:
        return [(fan[:1] * (20 * limit + 1), _turned(fan) * (20 * limit + 1)), (fan[:1] * limit, _turned(fan) * limit)]
    return [(fan * limit, _turned(fan) * (20 * limit + 1)), (fan * (20 * limit + 1), _turned(fan) * (20 * limit + 1))]


def _all_pairs(case: Case, items: tuple[int, ...], answer: str) -> Saying:
    """All askable pairs of these items with others, each of them won (`a`) or lost (`b`) by them."""
    pairs = [(i, j) for i, j in case.items.graph.edges if (i in items) != (j in items)]
    return tuple((i, j, answer) if i in items else (j, i, answer) for i, j in pairs)


def _ties_and_wins(case: Case) -> list[tuple[Saying, Saying]]:
    """Where ties are counted apart: nothing but ties on one pair, and nothing but wins on a pair of other items; and so
    many ties that no norm without them would notice. Under `outcome` the pairs stay, and ties become wins."""
    if case.ties is Ties.HALF:
        return []
    (i, j), limit = case.items.graph.edges[0], case.privacy.limit
    k, m = next((pair for pair in case.items.graph.edges if not {i, j} & set(pair)), (i, j))
    if case.privacy.neighbours is Neighbours.OUTCOME:
        return []
    if case.privacy.one_per_pair:
        cut, first, second = _split(case)
        return [((*cut, *((i, j, "tie") for i, j, _ in (*first, *second))), _turned(cut))]
    apart: list[tuple[Saying, Saying]] = [(((i, j, "tie"),) * limit, ((k, m, "a"),) * limit)]
    many = 20 * limit + 1
    if case.privacy.unit is Unit.PERSON:
        apart.append((((i, j, "tie"),) * many, ((k, m, "a"),) * many))
    return apart


def _split(case: Case) -> tuple[Saying, Saying, Saying]:
    """The pairs across the largest cut of the askable ones, won from one side; those within either side."""
    graph = case.items.graph
    inside, _ = max(zonotopes.cuts(graph), key=lambda cut: cut[1])
    across, first, second = list[Answer](), list[Answer](), list[Answer]()
    for i, j in graph.edges:
        if (i in inside) != (j in inside):
            across.append((i, j, "a" if i in inside else "b"))
        else:
            (first if i in inside else second).append((i, j, "a"))
    return tuple(across), tuple(first), tuple(second)


def _displacing(case: Case) -> Iterator[Change]:
    """One more vote of a person who already has as many as count: it takes the place of another.

    Which of two votes comes before the other is the library's choice, so both orders are tried. First comes the one
    that displaces today; with groups, it takes the place of a vote in another group.
    """
    first, *others = case.groups or NOWHERE
    limit, last = case.privacy.max_per_person or 0, len(case.items) - 1
    won, lost, tie, unread = (((0, 1, answer),) for answer in ("a", "b", "tie", "?"))
    added_to = [
        (lost, won * limit, False),
        (won, lost * limit, False),
        (unread, won * (limit + 4), True),
        (lost, won * (20 * limit + 1), False),
        (won, lost * (20 * limit + 1), False),
        (won, (), False),
        (won, ((0, last, "a"), (last, 0, "a")) * limit, False),
        (((0, last, "b"),), won * limit, False),
        (tie, lost * (limit - 1) + won, False),
    ]
    for answers, besides, skip in added_to:
        yield Change(_rows("u", answers, [first]), (), skip, stays=_rows("u", besides, others[:1] or [first]))


def _random_changes(case: Case, rng: np.random.Generator) -> Iterator[Change]:
    homes = case.groups or NOWHERE
    while True:
        answers, instead = _random_saying(case, rng), _random_saying(case, rng)
        if case.privacy.neighbours is Neighbours.OUTCOME:
            said = _rechosen(case, answers) if case.items.in_sets else answers
            instead = tuple((i, j, str(rng.choice(["a", "b", "tie"]))) for i, j, _ in said)
        elif case.privacy.neighbours is Neighbours.ADD_REMOVE:
            instead = ()
        replaced = case.privacy.neighbours is Neighbours.REPLACE
        before = homes[rng.integers(len(homes)) :][: None if case.spread else 1]
        after = homes[rng.integers(len(homes)) :][: None if case.spread else 1] if replaced else before
        stays = _random_besides(case, rng) if case.capped else ()
        yield Change(_rows("u", answers, before), _rows("u", instead, after), stays=_rows("u", stays, homes))


def _random_saying(case: Case, rng: np.random.Generator) -> Saying:
    most = 1 if case.privacy.unit is Unit.COMPARISON else 4 * case.privacy.limit
    return tuple(_answer(rng, case.items.graph.edges) for _ in range(rng.integers(1, most + 1)))


def _random_besides(case: Case, rng: np.random.Generator) -> Saying:
    """Other votes of the same person: from none to twice as many as count."""
    most = 2 * (case.privacy.max_per_person or 0)
    return tuple(_answer(rng, case.items.graph.edges) for _ in range(rng.integers(0, most + 1)))
