"""One row per person that ranks items: a column per place, a column per item that holds its place, or one cell A>B=C.

A ranking is all its pairs, each answered once. Items that are left out are not compared, or come below all ranked ones.
It is expanded to pairs in quietrank's own engine, by SQL, because Ibis has no functions over lists.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from quietrank.errors import VotesError, option
from quietrank.promise.items import Items
from quietrank.votes.cells import Names, text
from quietrank.votes.shapes.shape import Shape, carried, first_few, require_column

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
    any_engine = False
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
    listed: tuple[str, ...] = ()
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
        return len(self.listed) * (len(self.listed) - 1) // 2

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
        return replace(self, listed=items.names)

    def rows(self, table: ir.Table, name: Names, *, numbered: bool) -> ir.Table:
        import ibis

        each = self._each(table, name)
        cells = [name(table[column]) for column in self.by_place] or [
            text(table[column]).strip().nullif("") for _, column in self.by_item
        ]
        cells = cells or [text(table[self.ranking])]
        plain = table.select(**each, **{f"cell_{k}": cell for k, cell in enumerate(cells)})
        query = self._sql(ibis.to_sql(plain, dialect="duckdb"), list(each), len(cells), numbered=numbered)
        types = {"y": "int16", "place_a": "int64", "place_b": "int64", "wrong": "string"}
        kinds = {column: str(plain[column].type()) for column in each} | types
        if numbered:
            kinds |= dict.fromkeys(("said", "culprit", "a", "b"), "string")
        return table.get_backend().sql(query, schema=ibis.schema(kinds))

    def items(self, table: ir.Table, *, ours: bool) -> ir.Table:
        """The names in the cells."""
        import ibis

        if self.codes or self.by_item:
            names = [name for name, _ in self.codes or self.by_item]
            return ibis.memtable({"item": names}, schema={"item": "string"})
        cells = [text(table[column]).nullif("") for column in self.by_place] or [text(table[self.ranking])]
        plain = table.select(**{f"cell_{k}": cell for k, cell in enumerate(cells)})
        flat = _FLAT if self.ranking is not None else _cell_list(len(cells))
        query = f"SELECT DISTINCT unnest({flat}) AS item FROM ({ibis.to_sql(plain, dialect='duckdb')})"
        return table.get_backend().sql(query, schema=ibis.schema({"item": "string"}))

    def _each(self, table: ir.Table, name: Names) -> dict[str, ir.Value]:
        from quietrank.votes.shapes.expand import row_number

        each = {"person": row_number(table) if self.person is None else name.person(table[self.person])}
        if self.group is not None:
            each["group"] = name(table[self.group])
        return each | carried(table)

    def _sql(self, source: str, each: list[str], cells: int, *, numbered: bool) -> str:
        """Cells, then the place of every item and what is wrong, then a row for every pair."""
        same = ", ".join(map(_identifier, each))
        code = dict(self.codes)
        items = _list(code.get(name, name) for name in self.listed)
        parsed, places, wrong, culprit, said = self._by_form(cells)
        more, shown, only = "", "", ""
        if numbered:
            more = f", {culprit} AS culprit, {said} AS said"
            names = _list(self.listed)
            shown = f", said, culprit, {names}[place_a + 1] AS a, {names}[place_b + 1] AS b"
            only = "WHERE wrong = '' OR (place_a = 0 AND place_b = 1)"
        first, second = zip(*itertools.combinations(range(len(self.listed)), 2), strict=True)
        return f"""
            SELECT {same}, CAST({self._y()} AS SMALLINT) AS y, place_a, place_b, wrong{shown}
            FROM (SELECT *, CAST(unnest([{_numbers(first)}]) AS BIGINT) AS place_a,
                         CAST(unnest([{_numbers(second)}]) AS BIGINT) AS place_b
                  FROM (SELECT {same}, {places} AS places, {wrong} AS wrong{more}
                        FROM (SELECT *, {parsed}, {items} AS items FROM ({source})))) {only}"""

    def _by_form(self, cells: int) -> tuple[str, str, str, str, str]:
        """SQL for what is parsed, the places of all items, what is wrong, the cell at fault, the ranking as written."""
        if self.by_item:
            listed = _cell_list(cells)
            number = f"lambda c: CASE WHEN {_IS_PLACE} THEN TRY_CAST(split_part(c, '.', 1) AS INT) END"
            bad = (
                f"list_filter({listed}, lambda c: NOT coalesce({_IS_PLACE} AND {_IN_LIST.format(n=cells)}, c IS NULL))"
            )
            parsed = f"list_transform({_all_cells(cells)}, {number}) AS found, {bad} AS bad"
            return parsed, "found", "CASE WHEN len(bad) > 0 THEN 'unknown place' ELSE '' END", "bad[1]", "NULL::VARCHAR"
        undeclared = "list_filter(flat, lambda c: NOT list_contains(items, c))"
        twice = "list_filter(flat, lambda c: len(list_filter(flat, lambda other: other = c)) > 1)"
        wrong = f"""CASE WHEN list_contains(flat, '') THEN 'missing item' WHEN len({undeclared}) > 0
                    THEN 'undeclared item' WHEN len(list_distinct(flat)) < len(flat) THEN 'item twice' ELSE '' END"""
        culprit = f"coalesce({undeclared}[1], {twice}[1])"
        if self.ranking is not None:
            places = f"list_transform(items, lambda item: {_TIER_OF})"
            return f"{_TIERS} AS tiers, {_FLAT} AS flat", places, wrong, culprit, "cell_0"
        places = f"list_transform(items, lambda item: list_position({_all_cells(cells)}, item))"
        return f"{_cell_list(cells)} AS flat", places, wrong, culprit, "array_to_string(flat, ' > ')"

    def _y(self) -> str:
        """2, 1 or 0 for two ranked items; two that are not ranked are not compared."""
        a, b = "places[place_a + 1]", "places[place_b + 1]"
        above, below = ("2", "0") if self.unranked is Unranked.LAST else ("-1", "-1")
        return f"""CASE WHEN wrong <> '' THEN NULL WHEN {a} IS NULL AND {b} IS NULL THEN -1 WHEN {b} IS NULL
                   THEN {above} WHEN {a} IS NULL THEN {below} WHEN {a} < {b} THEN 2 WHEN {a} > {b} THEN 0 ELSE 1 END"""


_TIERS = """list_transform(string_split(nullif(trim(cell_0), ''), '>'),
            lambda tier: list_transform(string_split(tier, '='), lambda item: trim(item)))"""
_FLAT = f"coalesce(flatten({_TIERS}), [])"
_TIER_OF = "list_position(list_transform(tiers, lambda tier: list_contains(tier, item)), true)"
_IS_PLACE = "regexp_full_match(c, '[0-9]{1,9}([.]0+)?')"
_IN_LIST = "TRY_CAST(split_part(c, '.', 1) AS INT) BETWEEN 1 AND {n}"


def _all_cells(cells: int) -> str:
    return "[" + ", ".join(f"cell_{k}" for k in range(cells)) + "]"


def _cell_list(cells: int) -> str:
    """The cells that are not empty."""
    return f"list_filter({_all_cells(cells)}, lambda cell: cell IS NOT NULL)"


def _list(names: Iterable[str]) -> str:
    return "[" + ", ".join(_quoted(name) for name in names) + "]"


def _numbers(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


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


def ranking_column(names: Sequence[str], given: str | None) -> str | None:
    """The column that holds whole rankings."""
    require_column(names, "ranking", given)
    found = [name for name in names if name.strip().lower() in RANKING_NAMES]
    if given is None and len(found) > 1:
        raise VotesError(f"more than one column could hold rankings ({first_few(found)}); say {option('ranking')}")
    return given or (found[0] if found else None)


def item_columns(names: Sequence[str], items: Items | None) -> tuple[tuple[str, str], ...]:
    """The declared items and the columns of their names, if there are such columns."""
    known = {name.strip(): name for name in names}
    found = tuple((item, known[item]) for item in items or () if item in known)
    if found and items is not None and len(found) < len(items):
        missing = [item for item in items if item not in known]
        raise VotesError(
            f"there is no column with the places of {first_few(missing)}; give one for every item, or take items off "
            f"the list of {option('items')}"
        )
    return found
