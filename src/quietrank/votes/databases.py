"""The URL of a database in, with the name of a table or a query; an Ibis table in that database out.

Who connects, and with what password, stands in the URL, in the environment (PGPASSWORD) or in a password file
(~/.pgpass): the driver looks there. Nothing of it is printed: not in an error, not in a release, not in a ledger.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from quietrank.errors import UsageError, VotesError, either, option
from quietrank.promise.arguments import at_home
from quietrank.votes import queries
from quietrank.votes.engines import ENGINES
from quietrank.votes.formats.scan import first_line
from quietrank.votes.private import Resources
from quietrank.votes.queries import assumed_of
from quietrank.votes.where import Marked

if TYPE_CHECKING:
    import ibis.expr.types as ir

EXAMPLES = "postgres://user@host:5432/database, or duckdb:///folder/votes.duckdb"
HIDDEN = "•••"


@dataclass(frozen=True)
class Place:
    """Where votes are, if not in files: a table, or the rows of a query."""

    table: str | None = None
    query: str | None = None
    connect: str | None = field(default=None, repr=False)
    """the URL of the database; a secret, because a password may stand in it"""
    engine: str | None = None
    """what reads files, or has the table: None is quietrank's own engine"""
    trust_query: bool = False
    """whether the user answers for it that the query makes each row from one vote alone"""

    @property
    def is_files(self) -> bool:
        return self.connect is None and self.table is None and self.query is None

    @property
    def name(self) -> str:
        return f"the table {self.table}" if self.table is not None else "the query"

    def require_sound(self, files: object) -> None:
        """Refuse words that contradict each other."""
        if self.trust_query and self.query is None:
            raise VotesError(f"{option('trust_query', True)} is about {option('query')}; leave it out")
        if self.engine not in (None, "duckdb", "spark"):
            raise VotesError(
                f"{option('engine')} must be duckdb, which is quietrank's own, or spark; got {self.engine!r}; votes in "
                f"another database are exported to Parquet or CSV files, or read with {option('connect')}"
            )
        if files is not None and not self.is_files:
            raise VotesError(f"votes are in files or in a database; give files, or {option('connect')}, and not both")
        if self.is_files:
            if files is None:
                raise UsageError(
                    f"say where the votes are: {either('give a path, a data frame or a table', 'give VOTES')}, or "
                    f"{option('connect')} and {option('table')}"
                )
            return
        if (self.table is None) == (self.query is None):
            raise VotesError(f"say what to read with {option('table')} or with {option('query')}; give one of the two")
        if (self.connect is None) == (self.engine != "spark"):
            raise VotesError(
                f"say where {self.name} is: {option('connect')}, the URL of a database such as {EXAMPLES}; or "
                f"{option('engine', 'spark')}"
            )

    def of(self, backend: Any) -> Rows:
        """The table, or the rows of the query; refused before anything is read if these may depend on each other."""
        import ibis.common.exceptions as ibis_errors
        import sqlglot.errors

        engine = ENGINES[backend.name]
        try:
            if self.query is not None:
                return self._of_query(backend, self.query.strip().rstrip(";"))
            table = _table(backend, _parts(self.table or ""))
            return Rows(table, assumed_of(table, engine))
        except ibis_errors.TableNotFound:
            raise VotesError(
                f"there is no {self.name[4:]} there, or this role may not see it; check its name"
            ) from None
        except (ibis_errors.IbisError, sqlglot.errors.SqlglotError) as error:
            raise VotesError(f"{self.name} cannot be read ({first_line(error)}); check it") from None
        except engine.errors as error:
            reason = engine.explained(error) or f"{first_line(error)}; check it"
            raise VotesError(f"{self.name} cannot be read: {reason}") from None

    def _of_query(self, backend: Any, query: str) -> Rows:
        """Its rows, with its WHERE as a column, if it looks at one row at a time; else if it is trusted."""
        import ibis.common.exceptions as ibis_errors

        try:
            parsed = queries.Parsed.of(query, queries.DIALECTS[backend.name])
            table = _table(backend, parsed.table)
            by_row = parsed.over(table.columns)
        except (queries.NotByRowError, ibis_errors.TableNotFound) as reason:
            if self.trust_query:
                return Rows(_rows_of(backend, query), queries.QUERY)
            if isinstance(reason, ibis_errors.TableNotFound):
                raise VotesError(
                    f"{option('query')} reads from {'.'.join(parsed.table)}, and there is no such table, or this role "
                    "may not see it; check its name"
                ) from None
            raise queries.refused(str(reason)) from None
        rows = _rows_of(backend, by_row.sql)
        return Rows(rows, assumed_of(table, ENGINES[backend.name]), by_row.condition, by_row.lineage(rows.columns))


@dataclass(frozen=True)
class Rows:
    """Where the votes are, in an engine."""

    table: ir.Table
    assumed: str | None
    """what is assumed about where they come from, if that is not simply a table"""
    condition: Marked | None = None
    """the WHERE of a query"""
    made_from: queries.MadeFrom = field(default_factory=dict)
    """what the columns of a query are made from"""


def _table(backend: Any, parts: Sequence[str]) -> ir.Table:
    *above, name = parts
    return backend.table(name, database=tuple(above) if len(above) > 1 else above[0] if above else None)


def _rows_of(backend: Any, query: str) -> ir.Table:
    if backend.name != "duckdb":
        return backend.sql(query)
    # Ibis 12 cannot ask DuckDB 2 for the columns of a query, but for those of a view.
    view = f"quietrank_{uuid.uuid4().hex}"
    backend.con.execute(f"CREATE TEMP VIEW {view} AS {query}")
    return backend.table(view)


def _parts(name: str) -> list[str]:
    """The parts of a name such as schema.table; a part in double quotes may have dots in it."""
    parts, inside = [""], False
    for letter in name:
        if letter == '"':
            inside = not inside
        elif letter == "." and not inside:
            parts.append("")
        else:
            parts[-1] += letter
    if inside or not all(parts) or len(parts) > 3:
        raise VotesError(f"{option('table')} must be the name of a table, such as votes or schema.votes; got {name!r}")
    return parts


def connect(url: object, resources: Resources) -> Any:
    """An Ibis connection to the database at this URL."""
    scheme, sign, _ = url.partition("://") if isinstance(url, str) else ("", "", "")
    if not sign or not isinstance(url, str):
        raise VotesError(f"{option('connect')} must be the URL of a database, such as {EXAMPLES}")
    if scheme not in SCHEMES:
        raise VotesError(
            f"{option('connect')}: votes in {scheme} cannot be counted there; export them to a Parquet or CSV file "
            f"(supported are {', '.join(SCHEMES)}, and {option('engine', 'spark')})"
        )
    return SCHEMES[scheme](url, resources)


def _postgres(url: str, resources: Resources) -> Any:
    resources.require_none("PostgreSQL")
    import ibis

    try:
        import psycopg
    except ImportError:
        raise VotesError("PostgreSQL needs its driver; pip install 'quietrank[postgres]'") from None
    try:
        connection = psycopg.connect(url, autocommit=True, application_name="quietrank")
        # Compiling our long expressions takes it minutes, and saves seconds.
        connection.execute("SET jit = off")
    except psycopg.Error as error:
        reason = without_secrets(first_line(error), url)
        raise VotesError(
            f"cannot connect to the database ({reason}); check the URL, the password in it, in PGPASSWORD or in "
            "~/.pgpass, and whether the server can be reached"
        ) from None
    return ibis.postgres.from_connection(connection)


def _duckdb(url: str, resources: Resources) -> Any:
    import duckdb
    import ibis

    path = at_home(unquote(url.partition("://")[2]))
    if not path.is_file():
        raise VotesError(f"there is no DuckDB file {path}; give its path, as in duckdb:///folder/votes.duckdb")
    try:
        connection = ibis.duckdb.connect(path, read_only=True)
    except duckdb.Error as error:
        raise VotesError(
            f"the DuckDB file {path} cannot be opened ({first_line(error)}); close what writes to it, or copy it"
        ) from None
    resources.apply(connection)
    return connection


SCHEMES: dict[str, Callable[[str, Resources], Any]] = {
    "duckdb": _duckdb, "postgres": _postgres, "postgresql": _postgres
}  # fmt: skip


def public_url(url: str) -> str:
    """The URL without who connects."""
    scheme, _, rest = url.partition("://")
    if scheme == "duckdb":  # a path, in which @ is a letter like any other
        return url
    return f"{scheme}://{rest.removeprefix(_who(url)).partition('?')[0].rpartition('@')[2]}"


def without_secrets(message: str, url: str) -> str:
    """The message without what a URL says about who connects."""
    for secret in sorted(_secrets(url), key=len, reverse=True):
        # A password of a letter or two is hidden where it stands alone: in other words it says nothing.
        written = re.escape(secret) if len(secret) > 3 else rf"(?<!\w){re.escape(secret)}(?!\w)"
        message = re.sub(written, HIDDEN, message)
    return message


def _secrets(url: str) -> set[str]:
    """User and password as they are written and as they are meant, and the URL itself."""
    who = _who(url)
    user, _, password = who.partition(":")
    query = url.partition("://")[2].removeprefix(who).partition("?")[2]
    named = [value for key, value in parse_qsl(query) if "password" in key or key in ("user", "passfile")]
    return {form for secret in (url, who, user, password, *named) if secret for form in (secret, unquote(secret))}


def _who(url: str) -> str:
    """User and password, as PostgreSQL's driver finds them: before an @ and the first /. Unlike in other URLs, a ? or a
    # may be part of a password."""
    return url.partition("://")[2].partition("/")[0].rpartition("@")[0]
