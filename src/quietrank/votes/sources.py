"""A path, data frame or Ibis table in, an opened `Source` out; the engine's errors become ours.

Nothing here loads rows into Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quietrank.errors import VotesError, option
from quietrank.votes import engines, files, paths
from quietrank.votes.formats.csv import ragged_rows
from quietrank.votes.formats.preflib import Codes
from quietrank.votes.formats.scan import Dialect
from quietrank.votes.formats.text import first_undecodable

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


def open_votes(source: object, dialect: Dialect) -> Opened:
    # Recognised by module, not by class, so that none of these libraries is imported needlessly.
    library, data = type(source).__module__.partition(".")[0], source
    if paths.is_paths(source):
        file = files.open_files(source, dialect)
        return Opened(tuple(file.table.columns), lambda needed: file, file.codes)
    if library == "ibis" and hasattr(source, "get_backend"):
        table: Any = source
        votes = files.Source(table, None, "an Ibis table", engines.require_supported(table))
        return Opened(tuple(table.columns), lambda needed: votes)
    if library in _FRAMES:
        frame: Any = data.collect() if type(data).__name__ == "LazyFrame" else data  # type: ignore[attr-defined]
        names = getattr(frame, "column_names" if library == "pyarrow" else "columns", None)
        if names is not None:
            columns = tuple(map(str, names))
            return Opened(columns, lambda needed: _copied(frame, library, columns, needed))
    kind = f"{library}.{type(source).__name__}" if library in _FRAMES else type(source).__name__
    raise VotesError(f"cannot read votes from a {kind}; give a path, a list of paths, a data frame or an Ibis table")


_FRAMES = ("pandas", "polars", "pyarrow")


def _copied(frame: Any, library: str, columns: tuple[str, ...], needed: tuple[str, ...]) -> files.Source:
    """A copy of the needed columns of a data frame."""
    import pyarrow as pa

    repeated = [name for name in needed if columns.count(name) > 1]
    if repeated:
        raise VotesError(f"the {library} table has two columns called {repeated[0]!r}; rename one of them")
    places = [columns.index(name) for name in dict.fromkeys(needed)]
    try:
        if library == "pandas":
            table = pa.Table.from_pandas(frame.iloc[:, places], preserve_index=False)
        else:
            table = (frame if library == "pyarrow" else frame.to_arrow()).select(places)
        return files.open_arrow(table.rename_columns([columns[place] for place in places]), f"a {library} table")
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise VotesError(
            f"cannot read the {library} table ({files.first_line(error)}); give each column one type and its own name"
        ) from None


def collect(source: files.Source, query: ir.Table) -> Any:
    """Run a query over the votes and fetch its (small) result as a pyarrow table."""
    with reading(source):
        return query.to_pyarrow()


@contextmanager
def reading(source: files.Source) -> Iterator[None]:
    """Turn the engine's errors into ours."""
    try:
        yield
    except engines.errors_of(source.engine) as error:
        if type(error).__name__ == "InterruptException" or "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None
        raise _unreadable(source, error) from None


def no_votes(source: files.Source) -> VotesError:
    """The error for an empty source, where its being empty is no secret."""
    return VotesError(f"{source.name} has no votes; give a file with a header and one row per vote")


def _unreadable(source: files.Source, error: Exception) -> VotesError:
    """Our error for what the engine could not read."""
    if "unicode" in str(error).lower() or "utf-8" in str(error).lower():
        for file in source.ready:
            if (problem := first_undecodable(file)) is not None:
                return problem
    for text in source.texts:
        if bad := ragged_rows(text):
            return VotesError(
                f"{text.file.name} has rows that do not fit its header, such as {'; '.join(bad)}; fix them, "
                f"or say which character separates the columns with {option('delimiter')}"
            )
    return VotesError(f"{source.name} cannot be read ({source.in_words(files.first_line(error))}); fix the file")
