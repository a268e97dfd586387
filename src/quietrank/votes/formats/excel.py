"""An Excel workbook in, one sheet of it as CSV out. openpyxl reads it row by row, and does not run anything."""

from __future__ import annotations

import csv
import datetime as dt
import io
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from quietrank.errors import VotesError, option

DELIMITER = ","


def write_sheet(path: Path, name: str, sheet: str | None, target: Any) -> None:
    """Write one sheet as UTF-8: the first, or the one with this name."""
    openpyxl = _openpyxl(name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about formats and extensions, which are not read
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            try:
                _write(_rows(_chosen(book, name, sheet).iter_rows(values_only=True), name), target)
            finally:
                book.close()
    except (zipfile.BadZipFile, openpyxl.utils.exceptions.InvalidFileException, KeyError, OSError, ValueError) as error:
        raise VotesError(
            f"{name} is not an Excel workbook that can be read ({error}); save it again as .xlsx"
        ) from None


def _openpyxl(name: str) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise VotesError(
            f"reading {name} needs openpyxl; pip install 'quietrank[excel]', or save the sheet as CSV"
        ) from None
    return openpyxl


def _chosen(book: Any, name: str, sheet: str | None) -> Any:
    titles = [one.title for one in book.worksheets]
    if not titles or (sheet is not None and sheet not in titles):
        raise VotesError(
            f"{name} has no sheet {'with cells' if sheet is None else repr(sheet)}; choose one with {option('sheet')} "
            f"(the sheets are {', '.join(titles) or 'none'})"
        )
    return book.worksheets[0 if sheet is None else titles.index(sheet)]


def _rows(rows: Iterable[tuple[Any, ...]], name: str) -> Iterator[list[str]]:
    """The header, and every row up to the last one with a cell; cells to the right of the header must be empty."""
    width, empty = 0, 0
    for number, row in enumerate(rows):
        cells = [_text(cell) for cell in row]
        used = max((place for place, cell in enumerate(cells, 1) if cell), default=0)
        if number == 0:
            width = used
            if not width:
                raise VotesError(f"{name} begins with an empty row; the first row of the sheet must name the columns")
        elif used > width:
            raise VotesError(f"{name}: row {number} has a cell in column {used}, which has no name; name every column")
        if not used:
            empty += 1  # written only if something follows
            continue
        yield from ([""] * width for _ in range(empty))
        empty = 0
        yield (cells + [""] * width)[:width]


def _text(cell: Any) -> str:
    """A cell as text: whole numbers as such, dates and times in ISO form."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    if isinstance(cell, dt.datetime):
        return cell.date().isoformat() if cell.time() == dt.time() else cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, dt.date | dt.time) else str(cell)


def _write(rows: Iterable[list[str]], target: Any) -> None:
    with io.TextIOWrapper(target, encoding="utf-8", newline="") as text:
        csv.writer(text, delimiter=DELIMITER, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
