"""A table of rankings in, one row per pair of items out. A row is a person's ranking.

It has a column per place, a column per item that holds its place, or one cell such as A>B=C.

A ranking is all its pairs, each answered once. Items that are left out are not compared, or come below all ranked ones.
The place of every item is computed once per ranking (`places.py`), and then compared for each pair.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from quietrank.errors import VotesError, option
from quietrank.promise.items import Items
from quietrank.votes.cells import Names
from quietrank.votes.engines import engine_of
from quietrank.votes.public_table import public_table
from quietrank.votes.shapes.exact import exact_text, require_quotable, written_text
from quietrank.votes.shapes.expand import of_row
from quietrank.votes.shapes.outcomes import A_WON, B_WON, TIE
from quietrank.votes.shapes.places import Cells, names_in, picked, with_array, with_places
from quietrank.votes.shapes.shape import UNANSWERED, Shape, first_few, require_column

if TYPE_CHECKING:
    import ibis.expr.types as ir

RANKING_NAMES = ("ranking", "ballot")
"""columns that can only hold rankings; others must be named"""
WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
PLACE_NAMES = (
    re.compile(r"()(\d+)(?:st|nd|rd|th)(?:[ _-]?(?:choice|place|preference|rank))?", re.IGNORECASE),
    re.compile(r"((?:rank|choice|place|position|preference|pick)[ _.-]?)(\d+)", re.IGNORECASE),
    re.compile(r"(.*\[(?:rank|choice|place|ranking) ?)(\d+)\]", re.IGNORECASE),
)
"""what comes before the place's number, and the number"""
LISTED_NAMES = re.compile(r"(.*\[)(\d+)\]")
"""as LimeSurvey numbers the places of a ranking, and the parts of any question: read only if rankings are declared"""


class Unranked(StrEnum):
    """What is said about items that a ranking leaves out."""

    MISSING = "missing"
    LAST = "last"


@dataclass(frozen=True)
class Rankings(Shape):
    """The columns of rankings in one of three forms, and what else is read."""

    name = "rankings"
    gives_places = True
    needs_private_design: ClassVar[str] = "which items a person ranked is an answer of theirs"
    by_place: tuple[str, ...] = ()
    """columns that name the item on each place, the first place first"""
    by_item: tuple[tuple[str, str], ...] = ()
    """items, and the columns that hold their places"""
    ranking: str | None = None
    """the column with whole rankings, such as A>B=C"""
    person: str | None = None
    group: str | None = None
    unranked: Unranked = Unranked.MISSING
    codes: tuple[tuple[str, str], ...] = ()
    """how rankings write each item, where not by its name: item, code"""
    item_names: tuple[str, ...] = ()
    """the items in their order, once they are known"""

    @property
    def meaning(self) -> dict[str, str]:
        columns = {"person": self.person, "group": self.group, "ranking": self.ranking}
        columns |= {f"place {k}": name for k, name in enumerate(self.by_place, 1)}
        columns |= {f"place of {item}": name for item, name in self.by_item}
        return {role: name for role, name in columns.items() if name is not None}

    @property
    def names(self) -> tuple[str, ...]:
        known = (self.person, self.group, self.ranking, *self.by_place)
        return tuple(name for name in known if name is not None)

    @property
    def leaves_out(self) -> bool:
        return True

    @property
    def votes_per_row(self) -> int:
        return len(self.item_names) * (len(self.item_names) - 1) // 2

    @property
    def row_is_person(self) -> bool:
        return self.person is None

    def with_group(self, column: str) -> Rankings:
        return replace(self, group=column)

    def with_items(self, items: Items) -> Rankings:
        if items.pairs is not None:
            raise VotesError(f"a ranking compares all pairs of its items; leave {option('pairs')} out")
        if self.ranking is not None and not self.codes:
            for name in items.names:
                if ">" in name or "=" in name or name != name.strip():
                    raise VotesError(
                        f"the item {name!r} cannot be told from the signs of a ranking such as A>B=C; rename it, or "
                        "give a column per place"
                    )
        return replace(self, item_names=items.names)

    def rows(self, table: ir.Table, name: Names, *, numbered: bool) -> ir.Table:
        each, engine = of_row(self, table, name), engine_of(table)

        def exact(column: str) -> ir.Value:
            return exact_text(name(table[column]), engine)

        def place(column: str) -> ir.Value:
            return table[column] if table[column].type().is_integer() else exact(column)

        cells = Cells(
            tuple(exact(column) for column in self.by_place),
            tuple(place(column) for _, column in self.by_item),
            None if self.ranking is None else exact(self.ranking),
        )
        code = dict(self.codes)
        written = [code.get(item, item) for item in self.item_names]
        if not self.by_item:
            require_quotable(written, engine)
        return self._by_pair(with_places(table, each, cells, written, numbered=numbered), list(each), numbered=numbered)

    def items(self, table: ir.Table, *, ours: bool) -> ir.Table:
        """The names in the cells."""
        import ibis

        if self.codes or self.by_item:
            names = [name for name, _ in self.codes or self.by_item]
            return ibis.memtable({"item": names}, schema={"item": "string"})
        if not engine_of(table).arrays:
            raise VotesError(
                f"the items cannot be taken from rankings in {engine_of(table).title}; declare them with "
                f"{option('items')}, or export the votes to a file"
            )
        cells = [written_text(table[column], ours=ours) for column in self.by_place or (self.ranking,)]
        return names_in(table, cells, split=self.ranking is not None)

    def _by_pair(self, placed: ir.Table, each: list[str], *, numbered: bool) -> ir.Table:
        """A row for every pair of items, and if numbered, only one of a ranking that is wrong."""

        columns = [*each, "wrong", *(("said", "culprit") if numbered else ())]
        pairs = self._pairs(numbered=numbered)
        both = with_array(placed, columns, len(self.item_names)).cross_join(pairs)
        read_columns = [*each, "y", "place_a", "place_b", *columns[len(each) :], *(("a", "b") if numbered else ())]
        rows = both.mutate(y=self._y(both)).select(*read_columns)
        if numbered:
            rows = rows.filter((rows.wrong == "") | ((rows.place_a == 0) & (rows.place_b == 1)))
        return rows.view()

    def _pairs(self, *, numbered: bool) -> ir.Table:
        """All pairs of places on the list, with the names of their items if numbered."""
        first, second = zip(*itertools.combinations(range(len(self.item_names)), 2), strict=True)
        names = {name: [self.item_names[k] for k in of] for name, of in (("a", first), ("b", second)) if numbered}
        return public_table(place_a=first, place_b=second, **names)

    def _y(self, both: ir.Table) -> ir.Value:
        """2, 1 or 0 for two ranked items; two that are not ranked are not compared."""
        import ibis

        a, b = (picked(both, both[place], len(self.item_names)) for place in ("place_a", "place_b"))
        above, below = (A_WON, B_WON) if self.unranked is Unranked.LAST else (UNANSWERED, UNANSWERED)
        cases = [
            (both.wrong != "", None), (a.isnull() & b.isnull(), UNANSWERED), (b.isnull(), above), (a.isnull(), below),
            (a < b, A_WON), (a > b, B_WON),
        ]  # fmt: skip
        return ibis.cases(*cases, else_=TIE).cast("int16")


# ---- which columns --------------------------------------------------------------------------------------------------


def place_columns(names: Sequence[str], *, listed: bool = False) -> tuple[str, ...]:
    """The columns of the first place, the second and so on; none if there are fewer than two, or one is missing."""
    families: dict[str, dict[int, str]] = {}
    for name in names:
        for family, place in _place_of(name.strip(), listed=listed):
            families.setdefault(family, {})[place] = name
    whole = [places for places in families.values() if len(places) > 1]
    if len(whole) > 1:
        raise VotesError(
            f"more than one set of columns could hold places ({first_few([one[min(one)] for one in whole])}, …); keep "
            "one of them"
        )
    if not whole:
        return ()
    (places,) = whole
    for place in range(1, len(places) + 1):
        if place not in places:
            raise VotesError(
                f"there are columns for places such as {places[min(places)]!r}, but none for place {place}; give one "
                "column for each place from the first"
            )
    return tuple(places[place] for place in sorted(places))


def _place_of(name: str, *, listed: bool) -> list[tuple[str, int]]:
    bare = re.sub(r"[ _-]?(choice|place|preference)$", "", name.lower())
    if bare in WORDS:
        return [("words", WORDS.index(bare) + 1)]
    for pattern in (*PLACE_NAMES, *([LISTED_NAMES] if listed else [])):
        if match := pattern.fullmatch(name):
            return [(match[1].lower(), int(match[2]))]
    return []


def ranking_column(names: Sequence[str], column: str | None) -> str | None:
    """The column that holds whole rankings."""
    require_column(names, "ranking", column)
    candidates = [name for name in names if name.strip().lower() in RANKING_NAMES]
    if column is None and len(candidates) > 1:
        raise VotesError(f"more than one column could hold rankings ({first_few(candidates)}); say {option('ranking')}")
    return column or (candidates[0] if candidates else None)


def item_columns(names: Sequence[str], items: Items | None) -> tuple[tuple[str, str], ...]:
    """The declared items and the columns of their names, if there are such columns."""
    known = {name.strip(): name for name in names}
    columns = tuple((item, known[item]) for item in items or () if item in known)
    if columns and items is not None and len(columns) < len(items):
        missing = [item for item in items if item not in known]
        raise VotesError(
            f"there is no column with the places of {first_few(missing)}; give one for every item, or take items off "
            f"the list of {option('items')}"
        )
    return columns
