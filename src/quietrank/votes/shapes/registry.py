"""Names of columns and what the caller says in, a `Shape` out: recognised where there is no doubt, or as declared.

Only names are looked at, never cells. A new shape is one file and one line of `SHAPES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quietrank.errors import VotesError, option
from quietrank.promise.arguments import parse
from quietrank.promise.items import Items
from quietrank.votes.shapes import long, rankings
from quietrank.votes.shapes.best_worst import looks_like_sets, recognise_sets
from quietrank.votes.shapes.outcomes import COMMON, Words
from quietrank.votes.shapes.pair_columns import PairColumns, pairs_of
from quietrank.votes.shapes.rankings import Rankings, Unranked
from quietrank.votes.shapes.shape import Shape, first_few, person_column, require_column
from quietrank.votes.shapes.wide import Wide

BY_LIST = (
    f"or {option('pair_columns', 'FILE')}, a CSV with the header column,a,b and a line for each column, such as "
    "Q1,tea,coffee"
)
"""how columns that are named after questions are read"""


@dataclass(frozen=True)
class Request:
    """What the caller says about the table."""

    roles: Mapping[str, str | None]
    """of columns: winner, loser, tie, a, b, outcome, count, wins_a, wins_b, person"""
    shape: str | None = None
    pair_columns: PairColumns = None
    ranking: str | None = None
    unranked: str | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)
    """about best–worst sets: best, worst, shown, set_size, positions, design_file, version, set"""
    words: Words = COMMON
    """what cells mean"""
    codes: tuple[tuple[str, str], ...] = ()
    """how rankings write each item, where the file says so: item, code"""
    spoken_for: tuple[str, ...] = ()
    """columns with a meaning of their own, such as that of the group"""

    @property
    def person(self) -> str | None:
        return self.roles["person"]

    @property
    def of_sets(self) -> list[str]:
        """What was said about best–worst sets."""
        return [name for name, value in self.sets.items() if value]

    @property
    def of_long(self) -> list[str]:
        """The roles of a table with one row per vote."""
        return [role for role, column in self.roles.items() if column is not None and role != "person"]


@dataclass(frozen=True)
class Kind:
    """One shape: how it is made of a table's columns, and whether they leave no doubt that the table has it."""

    make: Callable[[Sequence[str], Request, Items | None], Shape]
    is_plain: Callable[[Sequence[str], Request, Items | None], bool]
    says_so: Callable[[Request], bool]
    """whether the caller used an option that only this shape has"""


class UnknownShapeError(VotesError):
    """The names of the columns, and what the caller said, do not tell what a row is."""


def recognise(names: Sequence[str], request: Request, items: Items | None) -> Shape:
    """The shape of a table with these columns; `items` if they are declared."""
    try:
        return _recognised(names, request, items)
    except VotesError as error:
        raise UnknownShapeError(error.message) from None


def _recognised(names: Sequence[str], request: Request, items: Items | None) -> Shape:
    if request.shape is not None:
        if request.shape not in SHAPES:
            raise VotesError(f"{option('shape')} must be one of {', '.join(SHAPES)}; got {request.shape!r}")
        return _make(request.shape, names, request, items)
    said = [name for name, kind in SHAPES.items() if kind.says_so(request)]
    if len(said) > 1:
        raise VotesError(f"these options are about different shapes ({', '.join(said)}); leave those of one out")
    plain = said or _plain(names, request, items)
    if len(plain) > 1:
        raise VotesError(
            f"the columns {first_few(names)} can be read as more than one shape ({', '.join(plain)}); choose one with "
            f"{option('shape')}"
        )
    if plain:
        return _make(plain[0], names, request, items)
    try:
        return _make("long", names, request, items)
    except VotesError as error:
        if items is not None and set(items.names) <= set(names):
            raise VotesError(
                f"the columns {first_few(names)} are named after the items; if they hold places in a ranking, add "
                f"{option('shape', 'rankings')}; if they hold anything else, such as stars, no two items are compared"
            ) from None
        others = " or ".join(option("shape", name) for name in SHAPES if name != "long")
        raise VotesError(
            f"{error.message}; if a row is not one vote, declare the items and say {others}; {BY_LIST}"
        ) from None


def _plain(names: Sequence[str], request: Request, items: Items | None) -> list[str]:
    """The shapes that a table with these columns has without doubt."""
    plain = ["long"] if _is_long(names, request, items) else []
    for name, kind in SHAPES.items():
        try:
            if name != "long" and kind.is_plain(names, request, items):
                plain.append(name)
        except VotesError:
            # Columns that look like several pairs, or like places with a gap: a doubt only if nothing else is plain.
            if "long" not in plain:
                raise
    return plain


def _make(name: str, names: Sequence[str], request: Request, items: Items | None) -> Shape:
    for other, kind in SHAPES.items():
        if other != name and kind.says_so(request):
            raise VotesError(f"{_options_of(other, request)} belongs to {option('shape', other)}; leave it out")
    return SHAPES[name].make(names, request, items)


def _options_of(shape: str, request: Request) -> str:
    """The option of this shape that was given."""
    if shape in ("long", "best-worst"):
        return option((request.of_long if shape == "long" else request.of_sets)[0])
    own = {"pair_columns": request.pair_columns, "ranking": request.ranking, "unranked": request.unranked}
    return next(option(name) for name, value in own.items() if value is not None)


# ---- long -----------------------------------------------------------------------------------------------------------


def _long(names: Sequence[str], request: Request, items: Items | None) -> Shape:
    return long.recognise(names, **request.roles).saying(request.words)


def _is_long(names: Sequence[str], request: Request, items: Items | None) -> bool:
    try:
        long.recognise(names, **request.roles)
    except VotesError:
        return False
    return True


# ---- wide -----------------------------------------------------------------------------------------------------------


def _wide(names: Sequence[str], request: Request, items: Items | None) -> Shape:
    person = person_column(names, request.person)
    pairs = pairs_of(_others(names, request, person), request.pair_columns, items)
    if not pairs:
        declared = f"declare the items with {option('items')}, or " if items is None else ""
        raise VotesError(
            f"no column is named like a pair of items (the columns are {first_few(names)}); {declared}say how they are "
            f"named with {option('pair_columns')}, such as q_{{a}}_{{b}}, {BY_LIST}"
        )
    return Wide(pairs, person, words=request.words)


def _is_wide(names: Sequence[str], request: Request, items: Items | None) -> bool:
    # Without declared items a single column such as meta:language would be a pair.
    if request.codes or request.of_long or (items is None and _is_long(names, request, items)):
        return False
    return bool(pairs_of(_others(names, request, request.person), None, items))


def _others(names: Sequence[str], request: Request, person: str | None) -> list[str]:
    return [name for name in names if name != person and name not in request.spoken_for]


# ---- rankings -------------------------------------------------------------------------------------------------------


def _rankings(names: Sequence[str], request: Request, items: Items | None) -> Shape:
    _require_no_words(request, "rankings")
    require_column(names, "person", request.person)
    person = None if request.codes else person_column(names, request.person)
    unranked = Unranked.MISSING if request.unranked is None else parse(Unranked, "unranked", request.unranked)
    others = _others(names, request, person)
    cell = rankings.ranking_column(others, request.ranking)
    by_place = rankings.place_columns(others, listed=True) if request.ranking is None else ()
    by_item = rankings.item_columns(others, items) if not (cell or by_place) else ()
    if cell and by_place:
        raise VotesError(
            f"the column {cell!r} and the columns of places could both hold rankings; choose the first with "
            f"{option('ranking')}, or remove it"
        )
    if not (cell or by_place or by_item):
        raise VotesError(
            f"no columns hold rankings (the columns are {first_few(names)}); name them 1st, 2nd, …, or like the "
            f"declared items, or name the one with rankings such as A>B=C with {option('ranking')}"
        )
    return Rankings(by_place, by_item, cell, person, unranked=unranked, codes=request.codes)


def _require_no_words(request: Request, what: str) -> None:
    if request.words != COMMON:
        raise VotesError(
            f"{option('outcomes')}, {option('missing')} and {option('bothbad')} are about answers to single questions, "
            f"and these are {what}; leave them out"
        )


def _is_rankings(names: Sequence[str], request: Request, items: Items | None) -> bool:
    others = _others(names, request, request.person)
    if request.of_long:
        return False
    return bool(request.codes or rankings.place_columns(others) or rankings.ranking_column(others, None))


# ---- best–worst sets ------------------------------------------------------------------------------------------------


def _sets(names: Sequence[str], request: Request, items: Items | None) -> Shape:
    _require_no_words(request, "sets")
    return recognise_sets(tuple(names), person=request.person, **request.sets)


def _is_sets(names: Sequence[str], request: Request, items: Items | None) -> bool:
    return not request.of_long and not request.codes and looks_like_sets(tuple(names))


SHAPES = {
    "long": Kind(_long, _is_long, lambda request: bool(request.of_long)),
    "wide": Kind(_wide, _is_wide, lambda request: request.pair_columns is not None),
    "rankings": Kind(
        _rankings, _is_rankings, lambda request: bool(request.ranking or request.unranked is not None or request.codes)
    ),
    "best-worst": Kind(_sets, _is_sets, lambda request: bool(request.of_sets)),
}
"""the shapes, by their names in --shape"""
