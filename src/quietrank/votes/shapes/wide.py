"""A wide table in, one row per vote out. It has a row per person and a column per pair, such as `tea:coffee`.

A cell says who won: 1 or −1, 1 or 2, an item's name, a, b or tie, or what a map of outcomes says. A 0 is a tie in one
coding and a loss in another, so it is read only where it is declared. An empty cell is not answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quietrank.errors import VotesError, option
from quietrank.promise.items import Items
from quietrank.votes.cells import Names, lowered, text, trimmed
from quietrank.votes.shapes.expand import expanded, of_row
from quietrank.votes.shapes.outcomes import A_WON, B_WON, CODES, COMMON, Words, spellings
from quietrank.votes.shapes.pair_columns import PairColumn
from quietrank.votes.shapes.shape import UNANSWERED, Shape

if TYPE_CHECKING:
    import ibis.expr.types as ir

SPELT_CODES = {spelt: y for code, y in CODES.items() for spelt in spellings(code)}
UNSETTLED = spellings("0")
"""numbers that are read only where they are declared, also where an item is called so"""


@dataclass(frozen=True)
class Wide(Shape):
    """The columns of pairs and what else is read."""

    name = "wide"
    gives_places = True
    unasked = True
    pairs: tuple[PairColumn, ...]
    person: str | None = None
    group: str | None = None
    words: Words = COMMON
    """what the caller said about cells"""
    places: tuple[tuple[int, int], ...] = ()
    """of the two items of each pair on their list, once it is known"""

    @property
    def meaning(self) -> dict[str, str]:
        first = self.pairs[0]
        columns = {"person": self.person, "group": self.group, f"{first.a} against {first.b}": first.column}
        if len(self.pairs) > 1:
            columns |= {"other pairs": f"{len(self.pairs) - 1} columns, up to {self.pairs[-1].column}"}
        return {role: name for role, name in columns.items() if name is not None}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.person, self.group) if name is not None)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.names, *(pair.column for pair in self.pairs))

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(pair.column for pair in self.pairs)

    @property
    def verdicts(self) -> tuple[str, ...]:
        return self.answers

    @property
    def leaves_out(self) -> bool:
        return True

    @property
    def votes_per_row(self) -> int:
        return len(self.pairs)

    @property
    def row_is_person(self) -> bool:
        return self.person is None

    def with_group(self, column: str) -> Wide:
        return replace(self, group=column)

    def with_items(self, items: Items) -> Wide:
        """The places of all items; a column on a pair that may not be asked is refused."""
        place = {name: k for k, name in enumerate(items.names)}
        places = tuple((place[pair.a], place[pair.b]) for pair in self.pairs)
        if items.pairs is not None:
            askable = set(items.pairs)
            for pair, (a, b) in zip(self.pairs, places, strict=True):
                if (min(a, b), max(a, b)) not in askable:
                    raise VotesError(
                        f"the column {pair.column!r} is about a pair that {option('pairs')} does not list; add it to "
                        f"the list, or name the columns to read with {option('pair_columns')}"
                    )
        return replace(self, places=places)

    def rows(self, table: ir.Table, name: Names, *, numbered: bool) -> ir.Table:
        """Every cell is a vote, answered or not."""
        constants = {"place_a": [a for a, _ in self.places], "place_b": [b for _, b in self.places]}
        cells = {"y": [self._y(table[pair.column], pair) for pair in self.pairs]}
        if not numbered:
            return expanded(table, of_row(self, table, name), cells, constants, coded=self.person is not None)
        cells["said"] = [text(table[pair.column]) for pair in self.pairs]
        named = {"a": [pair.a for pair in self.pairs], "b": [pair.b for pair in self.pairs]}
        return expanded(table, of_row(self, table, name), cells, {**constants, **named})

    def by_row(self, table: ir.Table, name: Names) -> ir.Table:
        """One row per row: the person, and y_0, y_1, … for the pairs."""
        ys = {f"y_{k}": self._y(table[pair.column], pair) for k, pair in enumerate(self.pairs)}
        return table.select(person=of_row(self, table, name)["person"], **ys)

    def items(self, table: ir.Table, *, ours: bool) -> ir.Table:
        """The two sides of the columns' names, not of cells: the list is as public as the questions."""
        import ibis

        names = dict.fromkeys(side for pair in self.pairs for side in (pair.a, pair.b))
        return ibis.memtable({"item": list(names)}, schema={"item": "string"})

    def _y(self, cell: ir.Value, pair: PairColumn) -> ir.Value:
        """What the cell says; NULL if it cannot be read."""
        import ibis

        exact, plain = self._readings(pair)
        if cell.type().is_integer():
            whole = {int(word): y for word, y in exact.items() if _is_whole(word)}
            read = [(cell.isin(words), y) for y, words in _by_meaning(whole)]
            return ibis.cases((cell.isnull(), UNANSWERED), *read, else_=None).cast("int8")
        written = text(cell)
        plain_text = trimmed(written)
        bare = lowered(plain_text)
        # Common cells first, which need neither be trimmed nor lowered: a case that holds ends the search.
        read = [(written.isin(words), y) for y, words in _by_meaning(exact)]
        others = [(bare.isin(words), y) for y, words in _by_meaning(plain)]
        empty = (written.isnull() | (written == "") | (plain_text == ""), UNANSWERED)
        return ibis.cases(*read, empty, *others, else_=None).cast("int8")

    def _readings(self, pair: PairColumn) -> tuple[dict[str, int], dict[str, int]]:
        """What a cell means exactly as written, and what it means without spaces and case."""
        missing = dict.fromkeys(self.words.missing, UNANSWERED)
        if self.words.declared:
            declared = dict(self.words.declared) | missing
            return declared, declared
        words = SPELT_CODES | self.words.common_words | missing
        names = {pair.a: A_WON, pair.b: B_WON}
        # An item may have a word as its name: where the two readings differ, the cell cannot be read.
        doubts = words | dict.fromkeys(UNSETTLED)
        torn = {side for side, y in names.items() if doubts.get(side.strip().lower(), y) != y}
        exact = {word: y for word, y in (CODES | names | missing).items() if word not in torn}
        return exact, {word: y for word, y in words.items() if word not in {side.strip().lower() for side in torn}}


def _by_meaning(words: dict[str, int] | dict[int, int]) -> Iterator[tuple[int, list[str] | list[int]]]:
    for y in sorted(set(words.values()), reverse=True):
        yield y, [word for word, meaning in words.items() if meaning == y]  # type: ignore[misc]


def _is_whole(word: str) -> bool:
    """Whether a column of whole numbers can hold it."""
    return word.removeprefix("-").isdecimal() and str(int(word)) == word
