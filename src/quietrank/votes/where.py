"""A condition in SQL in, a column of true and false out: which rows of a table count.

A condition looks at a row's own columns only, and always says the same about the same row: then it is a map applied to
each unit by itself (docs/proofs/filter.md). So what may be in it is listed here, and everything else is refused: other
functions, subqueries, aggregates, windows, whatever depends on the time or on chance. It is built from the parsed
condition as an Ibis expression, never from its text, so that it means the same in every engine.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quietrank.errors import VotesError, option
from quietrank.votes.cells import lowered, trimmed
from quietrank.votes.cells import text as as_text
from quietrank.votes.engines import SQLITE, Engine, engine_of
from quietrank.votes.formats.scan import first_line

if TYPE_CHECKING:
    import ibis.expr.types as ir

LONGEST = 10_000
PASSES = "__quietrank_passes__"
"""the column that says whether a row meets the condition"""

SECONDS = "for a moment most often the seconds since 1970, such as 1789430400"
EXAMPLE = "\"language = 'de' and day >= '2026-01-01'\""
ALLOWED = (
    "columns, text in 'single quotes', numbers, = <> < <= > >=, AND, OR, NOT, IN (…), BETWEEN, LIKE, ILIKE, IS NULL, "
    "+ - * /, lower, upper, trim, length, and CAST to integer, double, date, timestamp or text"
)


@dataclass(frozen=True)
class Where:
    """A condition that rows have to meet to be counted: declared, public, and a matter of each row by itself."""

    text: str
    """as it was understood"""
    columns: tuple[str, ...]
    """what it looks at"""
    tree: Any = field(repr=False, compare=False)

    def marked(self, table: ir.Table) -> ir.Table:
        """The table with PASSES: whether each row meets the condition; a row where it is unknown (NULL) does not."""
        value = _Reader(table).read(self.tree)
        if not value.type().is_boolean():
            raise _refusal(f"{self.text} is a {_kind(value)}, not a condition that is true or false")
        return table.mutate(**{PASSES: value.fill_null(False)})


class Marked(Where):
    """A condition that was applied where the rows come from: they have the column PASSES already."""

    def marked(self, table: ir.Table) -> ir.Table:
        return table


def parse_where(condition: object, columns: Sequence[str]) -> Where:
    """The condition, if it is allowed and all of its columns are there."""
    from sqlglot import exp

    tree = _parsed(condition)
    used: dict[str, None] = {}
    for node in tree.walk():
        _require_allowed(node)
        if isinstance(node, exp.Column):
            used[_column(node, columns)] = None
    return Where(_sql(tree), tuple(used), tree)


def _parsed(condition: object) -> Any:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if not isinstance(condition, str) or not condition.strip():
        raise _refusal("it is empty" if isinstance(condition, str) else f"it must be text, got {condition!r}")
    if len(condition) > LONGEST:
        raise _refusal(f"it is longer than {LONGEST} characters")
    try:
        clause = sqlglot.parse_one(f"WHERE {condition}", into=exp.Where, dialect="duckdb")
    except RecursionError:
        raise _refusal("it cannot be read (it is nested too deeply)") from None
    except SqlglotError as error:
        raise _refusal(f"it cannot be read ({first_line(error)})") from None
    return clause.this


_OPERANDS = {"this", "expression"}
_NODES: dict[str, set[str]] = {
    "Column": {"this"}, "Identifier": {"this", "quoted"}, "Literal": {"this", "is_string"}, "Boolean": {"this"},
    "Null": set(), "Paren": {"this"}, "Not": {"this"}, "Neg": {"this"}, "And": _OPERANDS, "Or": _OPERANDS,
    "EQ": _OPERANDS, "NEQ": _OPERANDS, "LT": _OPERANDS, "LTE": _OPERANDS, "GT": _OPERANDS, "GTE": _OPERANDS,
    "Is": _OPERANDS, "In": {"this", "expressions"}, "Between": {"this", "low", "high"},
    "Like": {*_OPERANDS, "negate"}, "ILike": {*_OPERANDS, "negate"},
    "Add": _OPERANDS, "Sub": _OPERANDS, "Mul": _OPERANDS, "Div": {*_OPERANDS, "typed", "safe"},
    "Lower": {"this"}, "Upper": {"this"}, "Trim": {"this"}, "Length": {"this"},
    "Cast": {"this", "to"}, "DataType": {"this"},
}  # fmt: skip
"""what a condition may consist of: sqlglot's classes by their exact names (a subclass, such as TryCast, is something
else), each with the arguments that are understood here"""


def is_allowed(node: Any) -> bool:
    """Whether this part of a parsed condition, without what is below it, is on the list."""
    given = {name for name, value in node.args.items() if value not in (None, False, [])}
    known = _NODES.get(type(node).__name__)
    return known is not None and not given - known


def _require_allowed(node: Any) -> None:
    if not is_allowed(node):
        raise _not_allowed(node)


def _sql(node: Any) -> str:
    return str(node.sql(dialect="duckdb", comments=False))


def column_meant(node: Any, columns: Sequence[str]) -> str | None:
    """The column of the table that is meant; None if it has none."""
    name = str(node.name)
    alike = [column for column in columns if column.lower() == name.lower()]
    if name in columns:
        return name
    return alike[0] if len(alike) == 1 and not node.this.args.get("quoted") else None


def _column(node: Any, columns: Sequence[str]) -> str:
    """The column of the table that is meant."""
    meant, name = column_meant(node, columns), node.name
    if meant is not None:
        return meant
    text = f"; text is written in single quotes: '{name}'" if node.this.args.get("quoted") else ""
    raise _refusal(f"there is no column {name!r}{text} (the columns are {', '.join(columns)})")


def _refusal(reason: str) -> VotesError:
    return VotesError(f"{option('where')}: {reason}; give a condition such as {EXAMPLE}")


def _not_allowed(node: Any) -> VotesError:
    return VotesError(
        f"{option('where')}: {_sql(node)} is not allowed; it may look at a row's own columns only, by {ALLOWED}"
    )


@dataclass(frozen=True)
class _Reader:
    """Parsed conditions to Ibis expressions over one table."""

    table: ir.Table

    def read(self, node: Any) -> Any:
        kind = type(node).__name__
        if kind in _COMPARISONS:
            return _COMPARISONS[kind](*self._alike(node.this, node.expression))
        if kind in _ARITHMETIC:
            return _ARITHMETIC[kind](self._number(node.this), self._number(node.expression))
        if kind in _TEXT:
            return _TEXT[kind](self._text(node.this))
        other: Callable[[Any], Any] = getattr(self, f"_read_{kind.lower()}", self._read_unknown)
        return other(node)

    def _read_unknown(self, node: Any) -> Any:
        raise _not_allowed(node)

    def _read_column(self, node: Any) -> Any:
        column = self.table[_column(node, self.table.columns)]
        kind = column.type()
        if kind.is_timestamp() and kind.timezone is not None:
            raise _refusal(f"the column {node.name} has a time zone; convert it to text or to a time without one")
        return as_text(column) if kind.is_string() else column

    def _read_literal(self, node: Any) -> Any:
        import ibis

        if node.is_string:
            return ibis.literal(node.this)
        number = int(node.this) if node.this.isdigit() else float(node.this)
        if abs(number) >= 2**63:
            raise _refusal(f"the number {node.this} is too large")
        return ibis.literal(number)

    def _read_boolean(self, node: Any) -> Any:
        import ibis

        return ibis.literal(bool(node.this))

    def _read_paren(self, node: Any) -> Any:
        return self.read(node.this)

    def _read_and(self, node: Any) -> Any:
        return self._condition(node.this) & self._condition(node.expression)

    def _read_or(self, node: Any) -> Any:
        return self._condition(node.this) | self._condition(node.expression)

    def _read_not(self, node: Any) -> Any:
        return ~self._condition(node.this)

    def _read_neg(self, node: Any) -> Any:
        return -self._number(node.this)

    def _read_is(self, node: Any) -> Any:
        if type(node.expression).__name__ != "Null":
            raise _refusal(f"{_sql(node)} is not allowed: IS is for NULL")
        return self.read(node.this).isnull()

    def _read_in(self, node: Any) -> Any:
        if not node.expressions:
            raise _refusal(f"the list of {_sql(node)} is empty")
        alike = [self._alike(node.this, value) for value in node.expressions]
        return alike[0][0].isin([value for _, value in alike])

    def _read_between(self, node: Any) -> Any:
        value, low = self._alike(node.this, node.args["low"])
        _, high = self._alike(node.this, node.args["high"])
        return (value >= low) & (value <= high)

    def _read_like(self, node: Any) -> Any:
        return self._negated(node, self._text(node.this).like(self._pattern(node)))

    def _read_ilike(self, node: Any) -> Any:
        # Lower case as everywhere here, not as the engine folds case.
        pattern = "".join(sign.lower() for sign in self._pattern(node))
        return self._negated(node, lowered(self._text(node.this)).like(pattern))

    def _negated(self, node: Any, condition: Any) -> Any:
        return ~condition if node.args.get("negate") else condition

    def _pattern(self, node: Any) -> str:
        pattern = node.expression
        if type(pattern).__name__ != "Literal" or not pattern.is_string:
            raise _refusal(f"the pattern of {_sql(node)} must be text in single quotes")
        return str(pattern.this)

    def _read_cast(self, node: Any) -> Any:
        name, value = node.to.this.name, self.read(node.this)
        if name not in _TYPES:
            raise _not_allowed(node)
        if value.type().is_string() and _TYPES[name] != "string" and self._engine is SQLITE:
            raise _refusal("SQLite turns text that is no number into 0 without a word; convert the column beforehand")
        _require_castable(node, value, _TYPES[name])
        # One gap makes a column of whole numbers floating point, and every other 7 in it 7.0: as text it stays 7.
        return as_text(value) if _TYPES[name] == "string" else value.cast(_TYPES[name])

    @property
    def _engine(self) -> Engine:
        return engine_of(self.table)

    def _condition(self, node: Any) -> Any:
        value = self.read(node)
        if not value.type().is_boolean():
            raise _refusal(f"{_sql(node)} is a {_kind(value)}, not a condition")
        return value

    def _number(self, node: Any) -> Any:
        value = self.read(node)
        if _kind(value) != "number":
            raise _refusal(f"{_sql(node)} is a {_kind(value)}, not a number; {_as_number(node)}")
        return value

    def _text(self, node: Any) -> Any:
        value = self.read(node)
        if not value.type().is_string():
            raise _refusal(f"{_sql(node)} is a {_kind(value)}, not text; write CAST({_sql(node)} AS TEXT)")
        return value

    def _alike(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Both sides of a comparison, if they are of one kind; text beside a date is read as a date."""
        a, b = self.read(left), self.read(right)
        a, b = _as_date(left, a, b), _as_date(right, b, a)
        if _kind(a) != _kind(b):
            texts = [node for node, value in ((left, a), (right, b)) if value.type().is_string()]
            remedy = f"; {_as_number(texts[0])}" if texts and "number" in (_kind(a), _kind(b)) else ""
            raise _refusal(
                f"{_sql(left)} is a {_kind(a)} and {_sql(right)} a {_kind(b)}, which cannot be compared{remedy}"
            )
        return (self._engine.comparable(a), self._engine.comparable(b)) if a.type().is_string() else (a, b)


def _as_number(node: Any) -> str:
    """What to write instead of a text that is to be a number."""
    if type(node).__name__ == "Literal" and not _is_number(node.this):
        return f"compare with a number, {SECONDS}"
    return f"write CAST({_sql(node)} AS DOUBLE)"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _require_castable(node: Any, value: Any, kind: str) -> None:
    """Refuse a cast that cannot be done: the condition is wrong then, and not the votes."""
    source, number = node.this, kind in ("int64", "float64")
    if type(source).__name__ == "Literal" and source.is_string and number and not _is_number(source.this):
        raise _refusal(f"{_sql(source)} is no number; compare with a number, {SECONDS}")
    if _kind(value) == "number" and kind in ("date", "timestamp"):
        raise _refusal(f"{_sql(source)} is a number, which is no {kind}; compare it with a number, {SECONDS}")


def _as_date(node: Any, value: Any, other: Any) -> Any:
    """Text written beside a date or a time, as such."""
    import ibis

    kind = other.type()
    if type(node).__name__ != "Literal" or not node.is_string or not (kind.is_date() or kind.is_timestamp()):
        return value
    parse = dt.date.fromisoformat if kind.is_date() else dt.datetime.fromisoformat
    try:
        moment = parse(node.this)
    except ValueError:
        example = "2026-01-31" if kind.is_date() else "2026-01-31 12:00:00"
        raise _refusal(f"'{node.this}' is not a {_kind(other)}; write it like '{example}'") from None
    return ibis.literal(moment, type="date" if kind.is_date() else "timestamp")


def _kind(value: Any) -> str:
    """What a value is, in a word."""
    kind = value.type()
    if kind.is_numeric() and not kind.is_boolean():
        return "number"
    words = {"is_string": "text", "is_boolean": "condition", "is_date": "date", "is_timestamp": "time"}
    return next((word for check, word in words.items() if getattr(kind, check)()), f"value of type {kind}")


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": lambda a, b: a == b,
    "NEQ": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LTE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GTE": lambda a, b: a >= b,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
}
_TEXT: dict[str, Callable[[Any], Any]] = {
    "Lower": lowered,
    "Upper": lambda text: text.upper(),
    "Trim": trimmed,
    "Length": lambda text: text.length(),
}
_TYPES = {
    "INT": "int64", "BIGINT": "int64", "SMALLINT": "int64", "TINYINT": "int64", "FLOAT": "float64",
    "DOUBLE": "float64", "DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMPNTZ": "timestamp",
    "TEXT": "string", "VARCHAR": "string",
}  # fmt: skip
