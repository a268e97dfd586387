"""The beginning of a CSV file in, the names of its columns out, and how many further rows belong to its header.

Survey tools write more than one header row. Which tool wrote the file is decided from its header alone.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import islice

from quietrank.errors import VotesError, option
from quietrank.promise.arguments import whole_number

QUALTRICS = {"StartDate", "EndDate", "RecordedDate", "ResponseId", "Progress", "Finished"}
"""columns that Qualtrics adds to every export, some of which people take out"""
IMPORT_ID = '"ImportId"'
"""it writes {"ImportId":"QID1"} in every cell of the third row"""
SURVEY_MONKEY = {"respondent id", "collector id"}
"""two columns of every export by SurveyMonkey, whose second row has the choices of each question"""
OF_RESPONDENTS = {
    *SURVEY_MONKEY,
    "start date",
    "end date",
    "startdate",
    "enddate",
    "date created",
    "date modified",
    "ip address",
    "email address",
    "first name",
    "last name",
    "custom data 1",
    "custom 1",
}
"""columns that say who answered and when, under which that row is empty"""
RESPONSE = "Response"
OPEN_ENDED = "Open-Ended Response"
"""where a question has a single answer"""
MOST = 20
"""rows that a header may have"""

Record = tuple[str, ...]


def read(name: str, head: str, delimiter: str, rows: int | None) -> tuple[Record, int]:
    """The names of the columns, and how many rows after them are no votes: `rows` of them, or as recognised."""
    names, *others = _records(name, head, delimiter)
    if rows is not None:
        return names, _whole_rows(rows)
    if len(others) > 1 and _is_qualtrics(names, others[1]):
        return names, 2
    if others and _is_survey_monkey(names, others[0]):
        return _combined(names, others[0]), 1
    return names, 0


def _records(name: str, head: str, delimiter: str) -> list[Record]:
    reader = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
    try:
        first = [tuple(next(reader))]
    except csv.Error as error:
        raise VotesError(
            f"the header of {name} cannot be read ({error}); its first line must name the columns"
        ) from None
    try:
        return first + [tuple(record) for record in islice(reader, 2)]
    except csv.Error:  # a row of votes, which is not the header's business
        return first


def _is_qualtrics(names: Sequence[str], record: Sequence[str]) -> bool:
    # The names as well: nobody's answers alone may decide that other rows are skipped.
    known = bool(QUALTRICS.intersection(names) and record)
    return known and all(IMPORT_ID in cell and cell.lstrip().startswith("{") for cell in record)


def _is_survey_monkey(names: Sequence[str], second: Sequence[str]) -> bool:
    """Nobody's answers decide: columns without a name get theirs here, and without any, no vote says what is here."""
    plain = [name.strip().lower().replace("_", " ") for name in names]
    if len(second) != len(names) or not set(plain) >= SURVEY_MONKEY:
        return False
    cells = [cell.strip() for cell in second]
    if any(cell for name, cell in zip(plain, cells, strict=True) if name in SURVEY_MONKEY):
        return False
    questions = [cell for name, cell in zip(plain, cells, strict=True) if name not in OF_RESPONDENTS]
    return "" in plain or (bool(questions) and all(cell in (RESPONSE, OPEN_ENDED) for cell in questions))


def _combined(names: Record, second: Record) -> Record:
    """The choice where a question has several, else the question."""
    single = ("", RESPONSE, OPEN_ENDED)
    return tuple(name if choice.strip() in single else choice for name, choice in zip(names, second, strict=True))


def _whole_rows(rows: object) -> int:
    number = whole_number(rows)
    if number is None or not 0 <= number <= MOST:
        raise VotesError(
            f"{option('header_rows')} must be a whole number from 0 to {MOST}, the rows between the names and the "
            f"votes; got {rows!r}"
        )
    return number
