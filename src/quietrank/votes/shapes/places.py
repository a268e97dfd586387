"""The cells of rankings in; the place of every item on each, and what is wrong with it, out: in any engine.

Only the order of places matters. Names are found in one text per ranking, in which every name stands between two marks:
where a name is found says its place, and how often it is found, whether it is there twice.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, or_
from typing import TYPE_CHECKING

from quietrank.votes.engines import engine_of

if TYPE_CHECKING:
    import ibis.expr.types as ir

SIGNS = (">", "=")
SPACES = " \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""what is not part of a name at its ends: Unicode's separators of words"""
BLANKS = r" \t\n\r\f\x0b"
"""what is not part of a number at its ends, as regular expressions write it in every engine"""
PLACE = "place_of_{}"


@dataclass(frozen=True)
class Cells:
    """Rankings in one of three forms. Text is exact (`exact.py`), and an empty cell is NULL."""

    by_place: Sequence[ir.Value] = ()
    """the name on each place, the first place first"""
    by_item: Sequence[ir.Value] = ()
    """the place of each item, as text or as a whole number"""
    ranking: ir.Value | None = None
    """a whole ranking, such as A>B=C"""


def with_places(
    table: ir.Table, each: Mapping[str, ir.Value], cells: Cells, names: Sequence[str], *, numbered: bool
) -> ir.Table:
    """`each`, the place of item k as PLACE.format(k), NULL if it is not ranked, and `wrong`: a flaw's name, or empty.

    `names`: how the cells call the items. If `numbered`, also `said`, the ranking as it is written, and `culprit`.
    """
    if cells.by_item:
        return _with_numbers(table, each, cells.by_item, numbered=numbered)
    return _MarkedText.of(table, each, cells, names).places(numbered=numbered)


def with_array(placed: ir.Table, columns: Sequence[str], items: int) -> ir.Table:
    """These columns and, where the engine has arrays, all places in one, from which `picked` is faster."""
    import ibis

    places = [PLACE.format(k) for k in range(items)]
    if not engine_of(placed).arrays:
        return engine_of(placed).computed_once(placed.select(*columns, *places))
    return engine_of(placed).computed_once(
        placed.select(*columns, places=ibis.array([placed[place] for place in places]))
    )


def picked(rankings: ir.Table, number: ir.Value, items: int) -> ir.Value:
    """The place of the item of this number, from a table that `with_array` made."""
    import ibis

    if "places" in rankings.columns:
        return rankings.places[number.cast("int32")]
    return ibis.cases(*((number == k, rankings[PLACE.format(k)]) for k in range(items)), else_=None)


def names_in(table: ir.Table, cells: Sequence[ir.Value], *, split: bool) -> ir.Table:
    """Every name in these cells, which are exact text, once: `item`. `split`: they are rankings such as A>B=C."""
    import ibis

    lists = cells[0].replace("=", ">").split(">") if split else ibis.array(list(cells))
    names = table.select(item=lists.unnest()).view()
    if split:
        names = names.select(item=names.item.re_replace(f"^[{SPACES}]+|[{SPACES}]+$", "")).view()
    # A connection may have a collation for all text; beside their bytes, names that it takes for one stay two.
    return names.mutate(written=engine_of(table).as_bytes(names.item)).distinct().select("item")


# ---- a column per item ----------------------------------------------------------------------------------------------


def _with_numbers(
    table: ir.Table, each: Mapping[str, ir.Value], cells: Sequence[ir.Value], *, numbered: bool
) -> ir.Table:
    import ibis

    written = {f"cell_{k}": _stripped(cell) for k, cell in enumerate(cells)}
    plain = engine_of(table).computed_once(table.select(**each, **written))
    numbers = {PLACE.format(k): _place(plain[cell], len(cells)) for k, cell in enumerate(written)}
    read = engine_of(plain).computed_once(
        plain.select(*each, **numbers, **({name: plain[name] for name in written} if numbered else {}))
    )
    bad = [read[place] == 0 for place in numbers]
    wrong = {"wrong": ibis.ifelse(reduce(or_, bad).fill_null(False), "unknown place", "")}
    if numbered:
        first = ibis.cases(*zip(bad, (read[cell].cast("string") for cell in written), strict=True), else_=None)
        wrong |= {"said": ibis.null("string"), "culprit": first}
    return read.select(*each, *numbers, **wrong)


def _stripped(cell: ir.Value) -> ir.Value:
    return cell if cell.type().is_integer() else cell.re_replace(f"^[{BLANKS}]+|[{BLANKS}]+$", "")


def _place(cell: ir.Value, places: int) -> ir.Value:
    """The whole number in a cell; NULL if that is empty, and 0 if it is no place."""
    import ibis

    if cell.type().is_integer():
        return ibis.cases((cell.isnull(), None), (cell.between(1, places), cell), else_=0).cast("int64")
    # In Java's expressions the end of a text is also before a line's end, which the second condition excludes.
    is_number = cell.re_search("^[0-9]{1,9}([.]0+)?$") & ~cell.re_search("[^0-9.]")
    # What is cast has digits in any case: an engine may evaluate both branches.
    number = ibis.ifelse(is_number, cell.re_replace("[.].*$", ""), "0").cast("int64")
    return ibis.cases((cell.isnull() | (cell.length() == 0), None), (number <= places, number), else_=0).cast("int64")


# ---- names ----------------------------------------------------------------------------------------------------------


def marks(names: Iterable[str]) -> tuple[str, str]:
    """Two characters that are in none of the names: one to mark names with, and one that replaces it in cells."""
    used = set("".join(names))
    # Without those from 7 to 13, some of which Spark misreads.
    free = (chr(code) for code in (*range(1, 7), *range(14, sys.maxunicode)) if chr(code) not in used)
    return next(free), next(free)


@dataclass(frozen=True)
class _MarkedText:
    """Where the items are in the marked text of each ranking."""

    table: ir.Table
    """`each`, marked (the text), parts (how many names it has), said, and position_k, −1 where item k is not there"""
    each: tuple[str, ...]
    names: Sequence[str]
    mark: str
    tiers: bool
    """whether names may be tied, or missing between two signs"""

    @classmethod
    def of(cls, table: ir.Table, each: Mapping[str, ir.Value], cells: Cells, names: Sequence[str]) -> _MarkedText:
        mark, other = marks(names)
        if cells.ranking is not None:
            read = _marked_ranking(cells.ranking, mark, other)
        else:
            read = _marked_cells(cells.by_place, mark, other)
        marked = engine_of(table).computed_once(table.select(**each, **read))
        positions = {f"position_{k}": marked.marked.find(f"{mark}{name}{mark}") for k, name in enumerate(names)}
        with_positions = engine_of(marked).computed_once(marked.mutate(**positions))
        return cls(with_positions, tuple(each), names, mark, cells.ranking is not None)

    @property
    def positions(self) -> list[ir.Value]:
        return [self.table[f"position_{k}"] for k in range(len(self.names))]

    def places(self, *, numbered: bool) -> ir.Table:
        import ibis

        places = {
            PLACE.format(k): ibis.ifelse(position >= 0, self._place(position).cast("int64"), ibis.null("int64"))
            for k, position in enumerate(self.positions)
        }
        wrong = self._wrong()
        culprit = ibis.ifelse(wrong == "missing item", ibis.null("string"), self._culprit())
        more = {"said": self.table.said, "culprit": culprit} if numbered else {}
        return self.table.select(*self.each, **places, wrong=wrong, **more)

    def _place(self, position: ir.Value) -> ir.Value:
        """What orders names: where they are or, if some may be tied, how many signs > are before them."""
        return _number_of(">", self.table.marked.left(position)) if self.tiers else position

    def _wrong(self) -> ir.Value:
        import ibis

        text, parts = self.table.marked, self.table.parts
        ranked = _total([ibis.ifelse(position >= 0, 1, 0) for position in self.positions])
        times = _total([self._times(name) for name in self.names])
        # As many declared names as names: each is there once. Only otherwise is it counted how often.
        cases = [(ranked == parts, ""), (times < parts, "undeclared item")]
        if self.tiers:
            cases.insert(0, (text.contains(self.mark * 2) & (parts > 0), "missing item"))
        return ibis.cases(*cases, else_="item twice")

    def _times(self, name: str) -> ir.Value:
        """How often a name is there."""
        text = self.table.marked
        return text.length() - text.replace(f"{self.mark}{name}{self.mark}", f"{name}{self.mark}").length()

    def _culprit(self) -> ir.Value:
        """The first name that is not declared, or else the first one that is there twice."""
        import ibis

        declared = f"{self.mark}({'|'.join(map(re.escape, self.names))}){self.mark}"
        others = self.table.marked.re_replace(declared, "")
        after = others.re_replace(f"^[{self.mark}{''.join(SIGNS) if self.tiers else ''}]+", "")
        return ibis.ifelse(after.length() > 0, after.left(after.find(self.mark)), self._first_twice())

    def _first_twice(self) -> ir.Value:
        import ibis

        positions = zip(self.names, self.positions, strict=True)
        twice = [(name, ibis.ifelse(self._times(name) > 1, position, NOWHERE)) for name, position in positions]
        first = ibis.least(*(position for _, position in twice))
        name = ibis.cases(*((position == first, name) for name, position in twice), else_=None)
        return ibis.ifelse(first < NOWHERE, name, ibis.null("string"))


NOWHERE = 2**31 - 1
"""beyond every position"""


def _marked_cells(cells: Sequence[ir.Value], mark: str, other: str) -> dict[str, ir.Value]:
    """Each name between two marks, one after the other."""
    import ibis

    marked = [ibis.coalesce(mark + cell.replace(mark, other) + mark, "") for cell in cells]
    said = [ibis.coalesce(" > " + cell, "") for cell in cells]
    parts = [ibis.ifelse(cell.isnull(), 0, 1) for cell in cells]
    return {"marked": _total(marked), "parts": _total(parts), "said": _total(said).substr(len(" > "))}


def _marked_ranking(cell: ir.Value, mark: str, other: str) -> dict[str, ir.Value]:
    """Each name between two marks, and each tier between two signs >."""
    import ibis

    marked = ">" + ibis.coalesce(cell, "").replace(mark, other) + ">"
    for sign in SIGNS:
        marked = marked.re_replace(f"[{SPACES}]*{sign}[{SPACES}]*", f"{mark}{sign}{mark}")
    bare = 2 * len(f"{mark}>{mark}")
    parts = ibis.ifelse(marked.length() == bare, 0, _number_of(">", marked) + _number_of("=", marked) - 1)
    return {"marked": marked, "parts": parts, "said": cell}


def _number_of(sign: str, text: ir.Value) -> ir.Value:
    return text.length() - text.replace(sign, "").length()


def _total(values: Sequence[ir.Value]) -> ir.Value:
    """The sum, or the text of all, in a tree that is not deep: engines and parsers limit its depth."""
    middle = len(values) // 2
    return values[0] if len(values) == 1 else add(_total(values[:middle]), _total(values[middle:]))
