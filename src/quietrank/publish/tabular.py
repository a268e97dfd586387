"""Results in, plain values, JSON, CSV and data frames out, and plain values back: the helpers of all result classes."""

from __future__ import annotations

import csv
import io
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from quietrank.errors import QuietrankError, ReleaseError
from quietrank.promise.arguments import file_path, flag
from quietrank.publish.files import RELEASE, Kind, write_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from rich.console import Group

    from quietrank.mechanisms.limit import ChosenLimit
    from quietrank.mechanisms.mechanism import Figure
    from quietrank.mechanisms.scatter import Scatter
    from quietrank.promise.privacy import Privacy


class Tabular:
    """A result that has rows, and can be written down, shown, and handed to a data frame."""

    kind: ClassVar[Kind] = RELEASE
    columns: ClassVar[tuple[str, ...]] = ()
    """the columns of a result that may have no rows"""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """The table, a row at a time."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, in the published format."""

    @abstractmethod
    def page(self) -> Group:
        """What a terminal and a notebook show: the table, and the sentences that go with it."""

    def __str__(self) -> str:
        from quietrank.render.table import as_text

        return as_text(self.page())

    def _repr_html_(self) -> str:
        """For notebooks."""
        from quietrank.render.html import as_html

        return as_html(self.page())

    def table(self) -> pa.Table:
        """The rows as an Arrow table."""
        import pyarrow

        return pyarrow.Table.from_pylist(self.rows())

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas data frame."""
        return _library("pandas").DataFrame(self.rows())

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars data frame."""
        return _library("polars").from_arrow(self.table())

    def to_json(self, path: str | Path | None = None, *, overwrite: bool = False) -> str:
        """Everything as JSON text; also written to `path`, whole or not at all, in place of an earlier file of the same
        kind only with `overwrite`."""
        return write_if_named(json_text(self.to_dict()), path, self.kind, overwrite=overwrite)

    def to_csv(self, path: str | Path | None = None, *, overwrite: bool = False) -> str:
        """The table as CSV text; also written to `path`, as by `to_json`."""
        return write_if_named(csv_text(self.rows(), self.columns), path, self.kind, overwrite=overwrite)


def _library(name: str) -> Any:
    """An optional library."""
    try:
        return import_module(name)
    except ImportError:
        raise QuietrankError(f"to_{name} needs {name}, which is not installed; pip install {name}") from None


@dataclass(frozen=True)
class NoiseRecord:
    """How the noise was made: a name, and public figures such as sensitivity and scale."""

    name: str
    figures: tuple[tuple[str, Figure], ...]
    alternatives: tuple[tuple[str, float], ...] = ()
    """where the mechanism was chosen: the noise on counts that each candidate would have had (standard deviation)"""

    def to_dict(self) -> dict[str, Any]:
        chosen = {"alternatives": dict(self.alternatives)} if self.alternatives else {}
        return {"name": self.name, **dict(self.figures), **chosen}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> NoiseRecord:
        figures = {name: value for name, value in values.items() if name not in ("name", "alternatives")}
        alternatives = {name: float(sd) for name, sd in values.get("alternatives", {}).items()}
        if not all(isinstance(value, str) or figure(value) is not None for value in figures.values()):
            raise ValueError("the mechanism has a figure that is neither a number nor a word")
        return cls(text(values["name"]), tuple(figures.items()), tuple(alternatives.items()))


DAMAGE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, QuietrankError)
"""what reading plain values raises when they are not what they should be"""


def damage(error: Exception) -> str:
    """What is wrong with a file, without Python's words for it."""
    if isinstance(error, KeyError):
        return f"it has no {error}"
    if isinstance(error, LookupError | TypeError | AttributeError):
        return "a value is of the wrong type"
    return str(error)


def a_list(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError("a list is expected")
    return list(value)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("text is expected")
    return str(value)


def figure(value: Any) -> float | None:
    """A finite number, or nothing."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value)):
        raise ValueError("a finite number is expected")
    return value


def promise(privacy: Privacy) -> dict[str, Any]:
    """The promise as plain values, with the sentence that states it."""
    return promise_arguments(privacy) | {"statement": privacy.statement}


def promise_arguments(privacy: Privacy) -> dict[str, Any]:
    """The arguments of `Privacy` as plain values: words as text."""
    return {name: str(value) if isinstance(value, str) else value for name, value in privacy.arguments.items()}


def privacy_from_dict(values: Mapping[str, Any]) -> Privacy:
    """The promise back from plain values; the sentence follows from it."""
    from quietrank.promise.privacy import Privacy

    return Privacy(**{name: value for name, value in values.items() if name != "statement"})


def limit_to_dict(limit: ChosenLimit | None) -> dict[str, Any] | None:
    return None if limit is None else asdict(limit) | {"counts": list(limit.counts)}


def limit_from_dict(values: Mapping[str, Any] | None) -> ChosenLimit | None:
    from quietrank.mechanisms.limit import ChosenLimit

    if values is None:
        return None
    limit, counts, numbers = values["limit"], tuple(values["counts"]), (values["scale"], values["epsilon"])
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in (limit, *counts))
    if not whole or limit < 1 or any(figure(value) is None or value < 0 for value in numbers):
        raise ValueError("its limit cannot be read")
    return ChosenLimit(limit, counts, *numbers)


def scatter_to_dict(scatter: Scatter | None) -> dict[str, Any] | None:
    """As plain values; without the part of the people it was measured on where that is everybody, as it always was in
    earlier versions."""
    if scatter is None:
        return None
    values = asdict(scatter) | {"around": scatter.around.value}
    return {name: value for name, value in values.items() if name != "part" or value != 1}


def scatter_from_dict(values: Mapping[str, Any] | None) -> Scatter | None:
    from quietrank.mechanisms.scatter import Around, Scatter, is_part

    if values is None:
        return None
    figures = {name: figure(value) for name, value in values.items() if name != "around"}
    if any(value is None for value in figures.values()) or not is_part(figures.get("part", 1.0) or 0.0):
        raise ValueError("its scatter cannot be read")
    return Scatter(Around(values["around"]), **figures)  # type: ignore[arg-type]  # checked above


def json_text(values: Mapping[str, Any]) -> str:
    """Plain values as JSON text for people and programs."""
    return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def read_json(path: str | Path) -> Any:
    """The plain values in a JSON file, or in the text of one."""
    if isinstance(path, str) and path.lstrip().startswith("{"):
        return parsed(path, "this text")
    try:
        content = file_path(path).read_text(encoding="utf-8")
    except OSError as error:
        name = str(path) if len(str(path)) < 1000 else f"{str(path)[:100]}…"
        raise ReleaseError(f"cannot read {name}: {error.strerror}; check the path") from None
    except ValueError:
        raise ReleaseError(f"{path} is not JSON; give a file written by quietrank") from None
    return parsed(content, str(path))


def parsed(content: str, name: str, refusal: str | None = None) -> Any:
    """The plain values in this text. A name that is given twice is refused: readers would differ in which they take."""
    try:
        return json.loads(content, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        raise ReleaseError(refusal or f"{name} is not JSON; give a file written by quietrank") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ReleaseError(
            f"the name {twice!r} appears twice in one object; give an undamaged file written by quietrank"
        )
    return values


READERS = {
    "quietrank/release": "Release",
    "quietrank/grouped-release": "GroupedRelease",
    "quietrank/top": "TopRelease",
    "quietrank/noisy-tally": "NoisyTally",
    "quietrank/grouped-noisy-tally": "GroupedTally",
}
"""which class reads which format"""


def reader_of(kind: object) -> str | None:
    """What reads files of this format."""
    name = READERS.get(kind.rpartition("/")[0]) if isinstance(kind, str) else None
    return None if name is None else f"qr.{name}.from_json"


def require_format(values: object, expected: str, what: str) -> None:
    """Refuse plain values that are something else; if they are something else of ours, say what reads it."""
    kind = values.get("format") if isinstance(values, Mapping) else None
    if kind == expected:
        return
    if reader_of(kind) not in (None, reader_of(expected)):
        raise ReleaseError(f"this is not {what}: its format is {kind}; use {reader_of(kind)}")
    given = f" (its format is {kind!r})" if isinstance(kind, str) else ""
    raise ReleaseError(f"this is not {what} in the format {expected}{given}; give one written by quietrank")


def csv_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Rows with the same keys as CSV text; without rows, only the names of the columns."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(rows[0] if rows else columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def write_if_named(text: str, path: str | Path | None, kind: Kind = RELEASE, *, overwrite: bool = False) -> str:
    """The text, also written to the path if there is one; a file of another kind is not replaced."""
    if path is not None:
        write_text(file_path(path), text, kind, overwrite=flag("overwrite", overwrite))
    return text
