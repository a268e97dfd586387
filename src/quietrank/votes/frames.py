"""A data frame in, an Arrow table of the columns that are needed out, in which no cell changes how others are read.

A column of pandas has the type that its cells gave it: one missing cell makes whole numbers floating point, and one
Decimal with more digits gives all others as many. So whole numbers that floating point may have changed are refused,
decimals become text one by one, and a column of Python's objects has cells of one kind.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

from quietrank.errors import VotesError

LIBRARIES = ("pandas", "polars", "pyarrow")
EXACT = 2**53
"""from here on floating point skips whole numbers"""


def to_arrow(frame: Any, library: str, columns: Sequence[str], needed: Sequence[str]) -> Any:
    """The needed columns of a data frame with these columns."""
    places = [columns.index(name) for name in dict.fromkeys(needed)]
    names = [columns[place] for place in places]
    if library == "pandas":
        return _of_pandas(frame.iloc[:, places], names)
    return (frame if library == "pyarrow" else frame.to_arrow()).select(places).rename_columns(names)


def _of_pandas(frame: Any, names: Sequence[str]) -> Any:
    import pyarrow as pa

    series = (frame.iloc[:, place] for place in range(len(names)))
    read = {name: _read_alone(column, name) for name, column in zip(names, series, strict=True)}
    columns = dict(enumerate(read.values()))  # pandas takes places for names as well
    return pa.Table.from_pandas(type(frame)(columns), preserve_index=False).rename_columns(list(names))


def _read_alone(column: Any, name: str) -> Any:
    """The column of pandas, in which each cell is read by itself."""
    if column.dtype.kind == "f":
        sizes = column.abs()
        if ((sizes >= EXACT) & (sizes < float("inf"))).any():
            raise VotesError(
                f"the column {name!r} holds whole numbers of 2^53 or more as floating point, which may be others than "
                "were written; make it text, or whole numbers with gaps (astype('Int64')), where it is made"
            )
    return column if column.dtype != object else _of_objects(column, name)


def _of_objects(column: Any, name: str) -> Any:
    known = column[column.notna()]
    kinds = sorted(set(map(_kind, known.map(type).unique())))
    if len(kinds) > 1:
        raise VotesError(
            f"the column {name!r} has cells of several types ({', '.join(kinds)}); give each column one type, such as "
            "text"
        )
    return column.where(column.isna(), column.map(_digits)) if kinds == ["Decimal"] else column


def _kind(of_cell: type) -> str:
    """What a cell is; whole numbers and others are read alike."""
    for kind, name in ((bool, "bool"), (dt.datetime, "datetime"), (dt.date, "date"), (Real, "number"), (str, "text")):
        if issubclass(of_cell, kind):
            return name
    return of_cell.__name__.rstrip("_")  # bool_ of numpy


def _digits(cell: Any) -> Any:
    """A Decimal as text, without zeros at its end: 7.50 is 7.5, and 7.00 is 7."""
    if not isinstance(cell, Decimal) or not cell.is_finite():
        return None
    digits = format(cell, "f")
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if digits == "-0" else digits
