"""A PrefLib file of rankings (.soc, .soi, .toc, .toi) in, the SQL that reads one row per voter out, and its items.

The header names the alternatives; each line after it is a count and an order of their numbers, `12: 1,{2,3},4`. A line
stands for so many people, each of whom is a row: people are bounded one by one, never a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from quietrank.errors import VotesError
from quietrank.votes.formats.scan import PLAIN, Ready, cannot_read, literal, quoted
from quietrank.votes.formats.text import head

SUFFIXES = (".soc", ".soi", ".toc", ".toi")
RANKING = "ranking"
_NAME = re.compile(r"#\s*ALTERNATIVE NAME (\d+)\s*:\s*(.*)")

# What is in braces is tied: {2,3} becomes 2=3; the other commas become >.
_ORDER = f"""array_to_string(list_transform(string_split(split_part(line, ':', 2), '{{'), lambda part, k: CASE
    WHEN k = 1 THEN replace(part, ',', '>') ELSE replace(split_part(part, '}}', 1), ',', '=') ||
    replace(split_part(part, '}}', 2), ',', '>') END), '') AS {RANKING}"""
COUNT = "range(CAST(split_part(line, ':', 1) AS BIGINT))"
"""a list with one entry for each person that a line stands for"""
_WELL_FORMED = r"\s*[1-9][0-9]{0,8}\s*:\s*(\{[0-9 ,]*\}|[0-9]+)(\s*,\s*(\{[0-9 ,]*\}|[0-9]+))*\s*"

Codes = tuple[tuple[str, str], ...]
"""where a file itself lists the items: each one's name, and what rankings call it"""


@dataclass(frozen=True)
class Voters:
    """The SQL of a file's voters, a row each, and of its lines, for messages, however many people a line stands for;
    and its alternatives."""

    voters: str
    lines: str
    codes: Codes


def scan_preflib(file: Ready, connection: Any) -> Voters:
    """One row per voter, with a column of rankings such as 1>2=3."""
    names = [(match[2].strip(), match[1]) for match in map(_NAME.match, head(file).splitlines()) if match]
    if not names:
        raise VotesError(
            f"{file.name} has no header lines such as '# ALTERNATIVE NAME 1: tea'; get the file in PrefLib's current "
            "format"
        )
    lines = _lines(file)
    _require_well_formed(connection, file, lines)
    voters = f"(SELECT {RANKING} FROM (SELECT {_ORDER}, unnest({COUNT}) FROM {lines}))"
    return Voters(voters, f"(SELECT {_ORDER} FROM {lines})", tuple(names))


def _lines(file: Ready) -> str:
    """SQL for the lines after the header, as `line`: split at a character that text does not have."""
    return (
        f"(SELECT line FROM read_csv({literal(file.path)}, auto_detect=false, header=false, delim='\x1f', quote='', "
        f"escape='', compression={quoted(file.compression)}, columns={{'line': 'VARCHAR'}}, {PLAIN}) "
        "WHERE trim(line) <> '' AND NOT starts_with(line, '#'))"
    )


def _require_well_formed(connection: Any, file: Ready, lines: str) -> None:
    import duckdb

    query = (
        f"SELECT place, line FROM (SELECT line, row_number() OVER () AS place FROM {lines}) "
        "WHERE NOT regexp_full_match(line, ?) LIMIT 1"
    )
    try:
        bad = connection.con.execute(query, [_WELL_FORMED]).fetchall()
    except duckdb.Error as error:
        raise cannot_read(file.name, error) from None
    if bad:
        ((place, line),) = bad
        raise VotesError(
            f"{file.name}: row {place} is {line[:80]!r}; every line after the header must be a count and an order, "
            "such as 12: 1,{2,3},4"
        )
