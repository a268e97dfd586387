"""Paths, a data frame, an Ibis table or a database in, an opened `Source` out; the engine's errors become ours.

Nothing here loads rows into Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quietrank.errors import VotesError, option
from quietrank.votes import databases, files, frames, paths, watch
from quietrank.votes.databases import Place
from quietrank.votes.engines import SPARK, engine_of
from quietrank.votes.formats.csv import ragged_rows
from quietrank.votes.formats.parquet import first_damaged
from quietrank.votes.formats.preflib import Codes
from quietrank.votes.formats.scan import Dialect, Ready, first_line
from quietrank.votes.formats.text import first_undecodable, mixed_ends
from quietrank.votes.private import Resources
from quietrank.votes.queries import MadeFrom, assumed_of
from quietrank.votes.where import PASSES, Marked

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True)
class Opened:
    """A source of votes whose columns are known."""

    columns: tuple[str, ...]
    read: Callable[[tuple[str, ...]], files.Source]
    """the source, of which only these columns are needed"""
    codes: Codes = ()
    """where the file itself lists the items: each one's name, and what rankings call it"""
    condition: Marked | None = None
    """the WHERE of a query that was read"""
    made_from: MadeFrom = field(default_factory=dict)
    """what the columns of that query are made from"""


def open_votes(source: object, dialect: Dialect, place: Place, resources: Resources) -> Opened:
    place.require_sound(source)
    if place.engine == "spark":
        resources.require_none(SPARK.title)
    if not place.is_files:
        return _in_database(place, resources)
    # Recognised by module, not by class, so that none of these libraries is imported needlessly.
    library = type(source).__module__.partition(".")[0]
    if paths.is_paths(source):
        return _opened(_in_files(source, dialect, place, resources))
    if place.engine == "spark":
        raise VotesError(f"{option('engine', 'spark')} reads files; give their paths, or leave it out")
    if library == "ibis" and hasattr(source, "get_backend"):
        table: Any = source
        engine = engine_of(table)
        resources.require_none(f"the {engine.title} of this Ibis table")
        return _opened(files.Source(table, None, "an Ibis table", engine, assumed=assumed_of(table, engine)))
    if library in frames.LIBRARIES:
        data: Any = source
        whole = {"LazyFrame": "collect", "RecordBatchReader": "read_all"}.get(type(data).__name__)
        frame = data if whole is None else getattr(data, whole)()
        names = getattr(frame, "column_names" if library == "pyarrow" else "columns", None)
        if names is not None:
            columns = tuple(map(str, names))
            return Opened(columns, lambda needed: _copied(frame, library, columns, needed, resources))
    if library in ("duckdb", "_duckdb"):
        raise VotesError(
            f"cannot read votes from a {type(source).__name__} of DuckDB, whose rows are there once; give "
            f"relation.to_arrow_table() or relation.pl(), or {option('connect')} and {option('table')} to count there"
        )
    kind = f"{library}.{type(source).__name__}" if library in frames.LIBRARIES else type(source).__name__
    raise VotesError(f"cannot read votes from a {kind}; give a path, a list of paths, a data frame or an Ibis table")


def _opened(source: files.Source) -> Opened:
    return Opened(tuple(source.table.columns), lambda needed: source, source.codes)


def _in_files(source: object, dialect: Dialect, place: Place, resources: Resources) -> files.Source:
    if place.engine != "spark":
        return files.open_files(source, dialect, resources)
    from quietrank.votes.spark_files import open_in_spark

    return open_in_spark(source, dialect)


def _in_database(place: Place, resources: Resources) -> Opened:
    if place.engine == "spark":
        from quietrank.votes.spark_files import connect_spark

        backend = connect_spark()
    else:
        backend = databases.connect(place.connect, resources)
    rows = place.of(backend)
    engine = engine_of(rows.table)
    source = files.Source(rows.table, None, place.name, engine, secret=place.connect, assumed=rows.assumed)
    columns = tuple(name for name in rows.table.columns if name != PASSES)
    return Opened(columns, lambda needed: source, condition=rows.condition, made_from=rows.made_from)


def _copied(
    frame: Any, library: str, columns: tuple[str, ...], needed: tuple[str, ...], resources: Resources
) -> files.Source:
    """A copy of the needed columns of a data frame."""
    import pyarrow as pa

    repeated = [name for name in needed if columns.count(name) > 1]
    if repeated:
        raise VotesError(f"the {library} table has two columns called {repeated[0]!r}; rename one of them")
    try:
        return files.open_arrow(frames.to_arrow(frame, library, columns, needed), f"a {library} table", resources)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise VotesError(
            f"cannot read the {library} table ({first_line(error)}); give each column one type and its own name"
        ) from None


def collect(source: files.Source, query: ir.Table, doing: str = "counting votes") -> Any:
    """Run a query over the votes and fetch its (small) result as a pyarrow table; `doing`: for whoever watches."""
    with reading(source, doing):
        return source.engine.fetch(query)


def collect_all(source: files.Source, queries: Mapping[str, ir.Table]) -> dict[str, Any]:
    """The same for several queries of whole numbers, by their names; together, where the engine is better at that."""
    with reading(source, "counting votes"):
        return dict(zip(queries, source.engine.fetch_all(list(queries.values())), strict=True))


@contextmanager
def temporary_table(source: files.Source, rows: ir.Table, doing: str = "reading votes") -> Iterator[ir.Table]:
    """The rows in a table of the engine's own, which is dropped afterwards: they are read exactly once."""
    by = "person" if "person" in rows.columns else None
    with ExitStack() as stack:
        with reading(source, doing):
            table = stack.enter_context(source.engine.temporary_table(rows, by))
        yield table


@contextmanager
def reading(source: files.Source, doing: str) -> Iterator[None]:
    """Turn the engine's errors into ours, and tell whoever watches what is being done and how far it is."""
    backend, engine = source.table.get_backend(), source.engine
    try:
        with engine.working(backend), watch.step(doing, lambda: engine.progress(backend)):
            yield
    except engine.errors as error:
        if type(error).__name__ == "InterruptException" or "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None
        raise _unreadable(source, error) from None


def no_votes(source: files.Source) -> VotesError:
    """The error for an empty source, where its being empty is no secret."""
    return VotesError(f"{source.name} has no votes; give a file with a header and one row per vote")


def _unreadable(source: files.Source, error: Exception) -> VotesError:
    """Our error for what the engine could not read."""
    if reason := source.engine.explained(error):
        return VotesError(f"{source.name} cannot be read: {source.in_words(reason)}")
    if "unicode" in str(error).lower() or "utf-8" in str(error).lower():
        for file in source.ready:
            if (problem := first_undecodable(file)) is not None:
                return problem
    if "state machine" in str(error):
        for text in source.texts:
            if line := mixed_ends(text.file):
                return VotesError(
                    f"{text.file.name} cannot be read: it has mixed line ends: line {line} is the first that ends in "
                    "another way than the lines above it (CR LF or LF); save it with one kind, for example from a text "
                    "editor or with dos2unix"
                )
    for text in source.texts:
        if bad := ragged_rows(text):
            return VotesError(
                f"{text.file.name} has rows that do not fit its header, such as {'; '.join(bad)}; fix them, "
                f"or say which character separates the columns with {option('delimiter')}"
            )
    name = damaged.name if (damaged := _damaged(source)) else source.name
    return VotesError(f"{name} cannot be read ({source.in_words(first_line(error))}); fix the file")


def _damaged(source: files.Source) -> Ready | None:
    """The first of several Parquet files that cannot be read by itself."""
    are_parquet = source.ours and all(file.path.suffix in (".parquet", ".pq") for file in source.ready)
    return first_damaged(source.ready) if are_parquet and len(source.ready) > 1 else None
