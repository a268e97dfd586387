"""A query in; the same query, if it looks at one row at a time, or a refusal, out; and what a view or query assumes.

A promise is about rows of votes. A query that joins, counts, samples or asks whether another row is there makes one
person's rows depend on another's, and then nothing is promised. So a query is taken by itself only if it is one SELECT
over one table, of which every column and the WHERE are made from a row's own columns, by what a condition may consist
of (`where.py`). Its WHERE becomes a column that says whether a row counts, as for `where`: rows and people are counted
before it (docs/proofs/filter.md). Whatever else gives the votes is trusted, and the release says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quietrank.errors import VotesError, option
from quietrank.votes.engines import Engine
from quietrank.votes.where import PASSES, Marked, column_meant, is_allowed

if TYPE_CHECKING:
    import ibis.expr.types as ir

DIALECTS = {"duckdb": "duckdb", "postgres": "postgres", "pyspark": "spark"}
"""what sqlglot calls the language of each engine that takes a query"""

ALONE = (
    "It is assumed, not checked, that {} decides about each row by that row alone; what is promised holds for the rows "
    "that it gave."
)
MADE = "the {} that gave the votes"
QUERY, VIEW, EXPRESSION, PERHAPS_A_VIEW = (
    ALONE.format(what)
    for what in (
        MADE.format("query"), MADE.format("view"), "the Ibis expression of the votes",
        "what gave the votes, which is a table or a view,",
    )
)  # fmt: skip


UNREADABLE = "it cannot be read"


MadeFrom = Mapping[str, tuple[str, ...]]
"""what each column of a query is made from: columns of its table"""


class NotByRowError(Exception):
    """Why a query may look at more than one row."""


@dataclass(frozen=True)
class ByRow:
    """A query that looks at one row at a time."""

    table: tuple[str, ...]
    """the parts of its name"""
    sql: str
    """the query without its WHERE, which is the column PASSES"""
    condition: Marked | None
    made_from: tuple[tuple[str, ...], ...]
    """what each column that it gives is made from, in their order"""

    def lineage(self, columns: Sequence[str]) -> MadeFrom:
        """The same by the names that the engine gave the columns, which may be others than the query says."""
        return dict(zip((name for name in columns if name != PASSES), self.made_from, strict=True))


@dataclass(frozen=True)
class Parsed:
    """A SELECT over one table, whose columns are not known yet."""

    tree: Any
    dialect: str

    @classmethod
    def of(cls, query: str, dialect: str) -> Parsed:
        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import SqlglotError

        try:
            trees = sqlglot.parse(query, dialect=dialect)
        except (SqlglotError, RecursionError):
            raise NotByRowError(UNREADABLE) from None
        if len(trees) != 1 or type(trees[0]) is not exp.Select:
            raise NotByRowError("it is not one SELECT")
        parsed = cls(trees[0], dialect)
        parsed._require_simple()
        return parsed

    def _require_simple(self) -> None:
        """Refuse every part of a SELECT but its columns, one table and a condition."""
        from sqlglot import exp

        known = {"expressions", "from", "from_", "where"}
        for name, value in self.tree.args.items():
            if value not in (None, False, []) and name not in known:
                raise NotByRowError(f"it has {self._words(value)}")
        source = _source_of(self.tree)
        if type(source) is not exp.Table or type(source.this) is not exp.Identifier:
            raise NotByRowError("it does not read from one table")
        more = {name for name, value in source.args.items() if value not in (None, False, [])}
        alias = source.args.get("alias")
        if more - {"this", "db", "catalog", "alias"} or (alias is not None and alias.args.get("columns")):
            raise NotByRowError(f"it reads from {self._words(source)}")

    def _words(self, value: Any) -> str:
        parts = value if isinstance(value, list) else [value]
        text = " ".join(part.sql(dialect=self.dialect) if hasattr(part, "sql") else str(part) for part in parts)
        return text if len(text) <= 60 else f"{text[:57]}…"

    @property
    def table(self) -> tuple[str, ...]:
        """The name of its table; PostgreSQL takes a name without quotes in lower case."""
        parts = (_source_of(self.tree).args.get(part) for part in ("catalog", "db", "this"))
        fold = self.dialect == "postgres"
        return tuple(p.this.lower() if fold and not p.args.get("quoted") else p.this for p in parts if p is not None)

    def over(self, columns: Sequence[str]) -> ByRow:
        """The query, if every column that it looks at is one of the table's: not the number of a row, for one."""
        from sqlglot import exp

        tree = self.tree.copy()
        source = _source_of(tree)
        where = tree.args.get("where")
        made_from: list[tuple[str, ...]] = []
        for one in tree.expressions:
            used = self._columns(one, source, columns)
            made_from += [(column,) for column in used] if _is_star(one) else [tuple(dict.fromkeys(used))]
        if where is None:
            return ByRow(self.table, tree.sql(dialect=self.dialect), None, tuple(made_from))
        used = self._columns(where.this, source, columns)
        met = exp.Coalesce(this=exp.Paren(this=where.this.copy()), expressions=[exp.false()])
        text = where.this.sql(dialect="duckdb", comments=False)
        tree.set("where", None)
        tree.append("expressions", exp.alias_(met, PASSES, quoted=True))
        condition = Marked(text, tuple(dict.fromkeys(used)), None)
        return ByRow(self.table, tree.sql(dialect=self.dialect), condition, tuple(made_from))

    def _columns(self, expression: Any, source: Any, columns: Sequence[str]) -> list[str]:
        """What an expression looks at; refused if it is more than the row's own columns."""
        from sqlglot import exp

        inner = expression.this if type(expression) is exp.Alias else expression
        if _is_star(expression):
            star = inner if type(inner) is exp.Star else inner.this
            if any(value for value in star.args.values()):
                raise NotByRowError(f"it has {self._words(star)}")
            return list(columns)
        used = []
        for node in list(inner.walk()):
            if type(node) is exp.Column and node.args.get("table") is not None:
                if node.args.get("db") or node.table not in (source.alias, source.name):
                    raise NotByRowError(f"{self._words(node)} is not a column of its table")
                node.set("table", None)
            if not is_allowed(node):
                raise NotByRowError(f"it has {self._words(node)}")
            if type(node) is exp.Column:
                meant = column_meant(node, columns)
                if meant is None:
                    raise NotByRowError(f"{self._words(node)} is not a column of its table")
                used.append(meant)
        return used


def _is_star(expression: Any) -> bool:
    """Whether it stands for all columns of the table."""
    from sqlglot import exp

    inner = expression.this if type(expression) is exp.Alias else expression
    return type(inner) is exp.Star or (type(inner) is exp.Column and type(inner.this) is exp.Star)


def _source_of(tree: Any) -> Any:
    """What a SELECT reads from, if it says so; versions of sqlglot differ in the name."""
    clause = tree.args.get("from_") or tree.args.get("from")
    return None if clause is None else clause.this


def refused(reason: str) -> VotesError:
    if reason == UNREADABLE:
        return VotesError(
            f"the query cannot be read here, so nobody knows what it looks at; check it, or say "
            f"{option('trust_query', True)} if each row comes from one vote and depends on no other person's rows"
        )
    return VotesError(
        f"{option('query')}: {reason}, so one person's rows may depend on another's, and nothing could be promised; "
        f"read a table with {option('table')} and {option('where')}, or give one SELECT over one table that looks at "
        f"a row's own columns only; or say {option('trust_query', True)} if each row comes from one vote and depends "
        "on no other person's rows"
    )


def assumed_of(table: ir.Table, engine: Engine) -> str | None:
    """What is assumed about where these rows come from, if that is not simply a table."""
    import ibis.expr.operations as ops

    source = table.op()
    if isinstance(source, ops.InMemoryTable):
        return None
    if not isinstance(source, ops.DatabaseTable):
        return EXPRESSION
    try:
        made_by = engine.made_by(table.get_backend(), source.name, source.namespace.database)
        return None if made_by is None else ALONE.format(MADE.format(made_by))
    except engine.errors:  # who may read a table may not be allowed to ask what it is
        return PERHAPS_A_VIEW
