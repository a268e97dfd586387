"""A table of best–worst sets (MaxDiff) in, one row per set out: the items shown, the best and the worst of them.

The items stand in columns of their own, in one cell (separated by ; or | or ,), or in a design file that is joined by
version and set. Best and worst are named, or given by their position in the set, counted from 1.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from quietrank.errors import VotesError, option
from quietrank.promise.arguments import whole_number
from quietrank.votes.cells import Names, as_number, first_of, text, trimmed
from quietrank.votes.engines import engine_of
from quietrank.votes.shapes.design_file import SEPARATORS, SET_NAMES, VERSION_NAMES, DesignFile
from quietrank.votes.shapes.shape import (
    CARRIED,
    PERSON_NAMES,
    UNANSWERED,
    Shape,
    carried,
    listed,
    only_one,
    require_column,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

SET_FLAWS = ("set not in the design file", "too many items in a set", "too few items in a set", "item twice in a set")
ANSWER_FLAWS = ("half an answer", "position beyond the set", "choice not in the set", "best is worst")
"""What can be wrong with a set, and with its answer; in rows, `set_flaw` and `answer_flaw` are places from 1."""

MOST_SHOWN = 30
"""Sets of more items are nobody's survey, and would take as many joins."""

BEST_NAMES, WORST_NAMES = ("best", "most", "most_preferred"), ("worst", "least", "least_preferred")
NUMBERED = re.compile(r"(?:item|shown|option|alternative|alt|position)[ _.-]?([1-9]\d?)", re.IGNORECASE)
CELL_NAMES = ("shown", "items", "set_items", "items_shown")
PARTS = "__quietrank_parts__"
"""the column of the parts of a cell"""


@dataclass(frozen=True)
class BestWorst(Shape):
    """Which columns name the best, the worst and the items shown; without `shown`, the design file has these."""

    name = "best-worst"
    in_sets = True
    best: str
    worst: str
    shown: tuple[str, ...]
    set_size: int
    positions: bool = False
    person: str | None = None
    group: str | None = None
    design: DesignFile | None = None
    version: str | None = None
    set: str | None = None

    @property
    def meaning(self) -> dict[str, str]:
        shown = {f"shown {k}": name for k, name in enumerate(self.shown, 1)} if self.in_columns else {}
        cell = {"items shown": self.shown[0]} if self.in_a_cell else {}
        columns = {"best": self.best, "worst": self.worst, **shown, **cell, "version": self.version, "set": self.set}
        columns |= {"person": self.person, "group": self.group}
        return {role: name for role, name in columns.items() if name is not None}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for role, name in self.meaning.items() if not (self.positions and role in ("best", "worst")))

    @property
    def answers(self) -> tuple[str, ...]:
        return self.best, self.worst

    @property
    def verdicts(self) -> tuple[str, ...]:
        return self.answers

    @property
    def of_design(self) -> tuple[str, ...]:
        return tuple(column for role, column in self.meaning.items() if role not in ("best", "worst"))

    @property
    def leaves_out(self) -> bool:
        """A set without best and worst was not answered."""
        return True

    @property
    def in_columns(self) -> bool:
        return len(self.shown) > 1

    @property
    def in_a_cell(self) -> bool:
        return len(self.shown) == 1

    def with_group(self, column: str) -> BestWorst:
        return replace(self, group=column)

    def rows(self, table: ir.Table, name: Names, *, numbered: bool) -> ir.Table:
        """a is the best and b the worst; y is 2, −1 where neither is given, and NULL where they cannot be read. With
        shown_1 to shown_M, set_flaw and answer_flaw."""
        plain = self._plain(table, name)
        shown = [plain[f"shown_{k}"] for k in range(1, self.set_size + 1)]
        a, b = (self._chosen(plain[said], shown) for said in ("said_best", "said_worst"))
        answer_flaw = self._answer_flaw(plain, a, b)
        nothing = plain.said_best.isnull() & plain.said_worst.isnull()
        others = [column for column in plain.columns if column in ("person", "group", *CARRIED)]
        read = {"a": a, "b": b, "y": first_of([(nothing, UNANSWERED), (answer_flaw.isnull(), 2)])}
        read |= {"set_flaw": self._set_flaw(plain, shown, nothing), "answer_flaw": answer_flaw}
        if numbered:
            read |= {"best": plain.said_best, "worst": plain.said_worst}
        return plain.select(*others, *(f"shown_{k}" for k in range(1, self.set_size + 1)), **read)

    def items(self, table: ir.Table, *, ours: bool) -> ir.Table:
        """What is shown; with a design file, all of its items: these are declared, not votes."""
        if self.design is not None:
            return self.design.items()
        table = self._taken_apart(table)
        parts = [table.select(item=part) for part in self._parts(table)]
        return reduce(lambda one, other: one.union(other, distinct=True), parts)

    def _plain(self, table: ir.Table, name: Names) -> ir.Table:
        """The columns that are read, with the items of each set beside its answer, from one mention of the table."""
        table = self._taken_apart(table)
        read = {"said_best": self._choice(table, self.best, name), "said_worst": self._choice(table, self.worst, name)}
        if self.person is not None:
            read["person"] = name.person(table[self.person])
        if self.group is not None:
            read["group"] = name(table[self.group])
        read |= carried(table)
        if self.design is None:
            shown = {f"shown_{k}": name(part) for k, part in enumerate(self._parts(table), 1)}
            return table.select(**read, **shown, items_in_cell=self._items_in_cell(table)).view()
        keys = {f"of_{role}": text(table[column]) for role, column in self._keys.items()}
        joined = self.design.joined(table.select(**read, **keys).view(), self.set_size)
        shown = {f"shown_{k}": name(joined[f"shown_{k}"]) for k in range(1, self.set_size + 1)}
        others = [column for column in joined.columns if not column.startswith("shown_")]
        return joined.select(*others, **shown).view()

    @property
    def _keys(self) -> dict[str, str]:
        return _without_none(version=self.version, set=self.set)

    def _choice(self, table: ir.Table, column: str, name: Names) -> ir.Value:
        return trimmed(text(table[column])).nullif("") if self.positions else name(table[column])

    def _taken_apart(self, table: ir.Table) -> ir.Table:
        """The table with the parts of its cells, which are mentioned often, as a column."""
        if not self.in_a_cell:
            return table
        _require_split(table)
        return table.mutate(**{PARTS: _split(table[self.shown[0]])}).view()

    def _parts(self, table: ir.Table) -> list[ir.Value]:
        """The text of each item shown, NULL where there are fewer."""
        import ibis

        if self.in_a_cell:
            parts = table[PARTS]
            # Spark refuses to look beyond the end of a list.
            known = [ibis.ifelse(parts.length() > k, parts[k], None) for k in range(self.set_size)]
            return [trimmed(part).nullif("") for part in known]
        missing = [ibis.null("string")] * (self.set_size - len(self.shown))
        return [*(text(table[column]).nullif("") for column in self.shown), *missing]

    def _items_in_cell(self, table: ir.Table) -> ir.Value:
        """How many items a cell lists; in columns there are never more than columns."""
        import ibis

        return table[PARTS].length() if self.in_a_cell else ibis.literal(0)

    def _chosen(self, said: ir.Value, shown: Sequence[ir.Value]) -> ir.Value:
        """The item that is meant, if it was shown."""
        import ibis

        if self.positions:
            return ibis.cases(*((said == str(k), item) for k, item in enumerate(shown, 1)), else_=None)
        return ibis.ifelse(reduce(or_, (_equal(said, item) for item in shown)), said, None)

    def _answer_flaw(self, plain: ir.Table, a: ir.Value, b: ir.Value) -> ir.Value:
        best, worst = plain.said_best, plain.said_worst
        half = best.isnull() != worst.isnull()
        outside = best.notnull() & worst.notnull() & (a.isnull() | b.isnull())
        return first_of([(half, 1), (outside, 2 if self.positions else 3), (_equal(a, b), 4)])

    def _set_flaw(self, plain: ir.Table, shown: Sequence[ir.Value], nothing: ir.Value) -> ir.Value:
        """A row with neither a set nor an answer is not wrong: somebody stopped early."""
        none = reduce(and_, (item.isnull() for item in shown))
        number = reduce(lambda one, other: one + other, (as_number(item.notnull()) for item in shown))
        pairs = [(one, other) for k, one in enumerate(shown) for other in shown[k + 1 :]]
        twice = (reduce(or_, (_equal(one, other) for one, other in pairs)), 4)
        few = ((number < 2) & ~(none & nothing), 3)
        if self.design is not None:
            stopped = nothing & plain.of_set.nullif("").isnull()
            return first_of([(plain.known.isnull() & ~stopped, 1), few, twice])
        return first_of([(plain.items_in_cell > self.set_size, 2), few, twice])


def _split(cell: ir.Value) -> ir.Value:
    """The parts of a cell, by the first separator of the list that is in it; one at its end separates nothing.

    Spark takes a separator for a regular expression, in which | is a sign of its own: so it is replaced.
    """
    import ibis

    whole = text(cell).re_replace(r"[;|, \t\n\r]+$", "")
    first, second, last = SEPARATORS
    return ibis.ifelse(
        whole.contains(first),
        whole.split(first),
        ibis.ifelse(whole.contains(second), whole.replace(second, first).split(first), whole.split(last)),
    )


def _require_split(table: ir.Table) -> None:
    engine = engine_of(table)
    if not engine.splits_text:
        raise VotesError(
            f"{engine.title} cannot take a cell with several items apart; give each item of a set a column of its own, "
            "or export the votes to a file"
        )


def _equal(one: ir.Value, other: ir.Value) -> ir.Value:
    """Whether two names are there and equal."""
    return (one == other).fill_null(False)


def _without_none(**columns: str | None) -> dict[str, str]:
    return {role: column for role, column in columns.items() if column is not None}


# ---- which columns --------------------------------------------------------------------------------------------------


def looks_like_sets(names: Sequence[str]) -> bool:
    """Whether there is no doubt that a row is a best–worst set: best, worst, and at least three numbered items."""
    lower = {name.lower() for name in names}
    return {"best", "worst"} <= lower and len(_numbered(names)) >= 3


def recognise_sets(
    names: Sequence[str],
    *,
    best: str | None = None,
    worst: str | None = None,
    shown: str | Sequence[str] | None = None,
    set_size: object = None,
    positions: bool = False,
    person: str | None = None,
    design_file: object = None,
    version: str | None = None,
    set: str | None = None,
) -> BestWorst:
    """The meaning of the columns: by their given roles, or by their common names."""
    for role, column in _without_none(best=best, worst=worst, person=person, version=version, set=set).items():
        require_column(names, role, column)
    chosen = {"best": best or only_one(names, BEST_NAMES), "worst": worst or only_one(names, WORST_NAMES)}
    for role, name in chosen.items():
        if name is None:
            raise VotesError(
                f"no column is called {role}; say which names the {role} item of a set with {option(role)} (the "
                f"columns are {listed(names)})"
            )
    size, who = _size(set_size), person or only_one(names, PERSON_NAMES)
    common = BestWorst(str(chosen["best"]), str(chosen["worst"]), (), size or 2, positions, who)
    if design_file is not None:
        if shown is not None:
            raise VotesError(f"the sets stand in the votes or in a design file; give {option('shown')} or "
                             f"{option('design_file')}")  # fmt: skip
        return _with_design(common, names, DesignFile.read(design_file, version, set), size, version, set)
    if version is not None or set is not None:
        raise VotesError(
            f"{option('version')} and {option('set')} are found in a design file; add {option('design_file')}"
        )
    return _with_columns(common, _shown_columns(names, shown), size)


def _size(argument: object) -> int | None:
    size = None if argument is None else whole_number(argument)
    if argument is not None and (size is None or not 2 <= size <= MOST_SHOWN):
        raise VotesError(
            f"{option('set_size')} must be a whole number from 2 to {MOST_SHOWN}; got "
            f"{option('set_size', repr(argument))}"
        )
    return size


def _with_columns(common: BestWorst, columns: tuple[str, ...], size: int | None) -> BestWorst:
    if answers := [column for column in columns if column in (common.best, common.worst)]:
        raise VotesError(
            f"the column {answers[0]!r} names the best or the worst item, which is the answer, and {option('shown')} "
            "is about the items that were shown; name the columns of the set"
        )
    if len(columns) == 1 and size is None:
        raise VotesError(
            f"how many items the cells of {columns[0]!r} have is not looked up, because it must be public; give the "
            f"largest number of items in a set with {option('set_size')}"
        )
    return replace(common, shown=columns, set_size=_largest(size, len(columns), "columns of items"))


def _with_design(
    common: BestWorst, names: Sequence[str], design: DesignFile, size: int | None, version: str | None, set: str | None
) -> BestWorst:
    version = version or (only_one(names, VERSION_NAMES) if design.has_versions else None)
    set = set or only_one(names, SET_NAMES)
    if set is None or (design.has_versions and version is None):
        missing = "set" if set is None else "version"
        raise VotesError(
            f"no column says which {missing} of the design file was shown; say which does with {option(missing)} (the "
            f"columns are {listed(names)})"
        )
    size = _largest(size, design.largest, "items in the largest set of the design file")
    return replace(common, set_size=size, design=design, version=version if design.has_versions else None, set=set)


def _largest(size: int | None, number: int, what: str) -> int:
    """M, which is public: as declared, or the number of columns, or the largest set of the design file."""
    if number > MOST_SHOWN:
        raise VotesError(f"there are {number} {what}; at most {MOST_SHOWN} can be used")
    if size is not None and number > size:
        raise VotesError(f"there are {number} {what}; give {option('set_size', number)}, or leave it out")
    return max(size or number, 2)


def _shown_columns(names: Sequence[str], shown: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns of the items: as named, by a pattern such as item*, or by their common names."""
    if shown is None:
        columns = _numbered(names)
        if len(columns) < 2:
            cell = only_one(names, CELL_NAMES)
            columns = () if cell is None else (cell,)
    elif isinstance(shown, str) and shown not in names and any(sign in shown for sign in "*?"):
        columns = tuple(name for name in names if fnmatch.fnmatchcase(name, shown))
    else:
        columns = _words(shown, names)
        for column in columns:
            require_column(names, "shown", column)
    if not columns:
        raise VotesError(
            f"no columns hold the items that were shown; name them with {option('shown')} (a column, several, or a "
            f"pattern such as item*), or give {option('design_file')} (the columns are {listed(names)})"
        )
    return columns


def _words(shown: str | Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(shown, str):
        return tuple(map(str, shown))
    return (shown,) if shown in names else tuple(word.strip() for word in shown.split(","))


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Columns called item1, item2, … (or shown_1, …), in the order of their numbers; none where two have one number."""
    matches = [(int(match[1]), name) for name in names if (match := NUMBERED.fullmatch(name.strip()))]
    numbers = [number for number, _ in matches]
    return tuple(name for _, name in sorted(matches)) if len({*numbers}) == len(numbers) else ()
