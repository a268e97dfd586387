"""A PrefLib file of rankings (.soc, .soi, .toc, .toi) in, one row per voter out, and the items of its header.

The header names the alternatives; each line after it is a count and an order of their numbers, `12: 1,{2,3},4`. A line
stands for so many people, each of whom is a row: people are bounded one by one, never a line.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from quietrank.errors import VotesError
from quietrank.votes import files

SUFFIXES = (".soc", ".soi", ".toc", ".toi")
RANKING = "ranking"
_NAME = re.compile(r"#\s*ALTERNATIVE NAME (\d+)\s*:\s*(.*)")
_OLD = "{path} has no header lines such as '# ALTERNATIVE NAME 1: tea'; get the file in PrefLib's current format"

COUNT = "range(CAST(split_part(line, ':', 1) AS BIGINT))"
"""a list with one entry for each person that a line stands for"""

# What is in braces is tied: {2,3} becomes 2=3; the other commas become >.
_ORDER = """array_to_string(list_transform(string_split(split_part(line, ':', 2), '{'), lambda part, k: CASE WHEN k = 1
    THEN replace(part, ',', '>') ELSE replace(split_part(part, '}', 1), ',', '=') ||
    replace(split_part(part, '}', 2), ',', '>') END), '')"""
_WELL_FORMED = r"\s*[1-9][0-9]{0,8}\s*:\s*(\{[0-9 ,]*\}|[0-9]+)(\s*,\s*(\{[0-9 ,]*\}|[0-9]+))*\s*"


def is_preflib(path: Path) -> bool:
    """Whether the file's name says so."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return bool(suffixes) and suffixes[-1] in SUFFIXES


def open_preflib(path: Path) -> tuple[files.Source, tuple[tuple[str, str], ...]]:
    """The voters, one row each, with a column of rankings such as 1>2=3; and the alternatives: name, number."""
    stamp = files.Stamp.of(path)
    head = files._head(path)
    names = [(match[2].strip(), match[1]) for match in map(_NAME.match, head.splitlines()) if match]
    if not names:
        raise VotesError(_OLD.format(path=path))
    connection = files._connect()
    lines = _lines(path)
    _require_well_formed(connection, path, lines)
    order = f"{_ORDER} AS {RANKING}"
    connection.raw_sql(
        f"CREATE TEMP VIEW quietrank_votes AS SELECT {RANKING} FROM (SELECT {order}, unnest({COUNT}) FROM {lines})"
    )
    # For messages, a line is shown once, however many people it stands for.
    connection.raw_sql(
        f"CREATE TEMP VIEW quietrank_rows AS SELECT {order}, row_number() OVER () AS {files.ROW} FROM {lines}"
    )
    votes, rows = connection.table("quietrank_votes"), connection.table("quietrank_rows")
    return replace(files.Source(votes, rows, str(path)), path=path, stamp=stamp), tuple(names)


def _lines(path: Path) -> str:
    """SQL for the lines after the header, as `line`: split at a character that text does not have."""
    return (
        f"(SELECT line FROM read_csv({files._literal(path)}, auto_detect=false, header=false, delim='\x1f', quote='', "
        f"escape='', columns={{'line': 'VARCHAR'}}, {files.PLAIN}) "
        "WHERE trim(line) <> '' AND NOT starts_with(line, '#'))"
    )


def _require_well_formed(connection: Any, path: Path, lines: str) -> None:
    import duckdb

    try:
        bad = connection.con.execute(
            f"SELECT place, line FROM (SELECT line, row_number() OVER () AS place FROM {lines}) "
            "WHERE NOT regexp_full_match(line, ?) LIMIT 1",
            [_WELL_FORMED],
        ).fetchall()
    except duckdb.Error as error:
        raise VotesError(f"{path} cannot be read ({files.first_line(error)}); fix the file") from None
    if bad:
        ((place, line),) = bad
        raise VotesError(
            f"{path}: row {place} is {line[:80]!r}; every line after the header must be a count and an order, such as "
            "12: 1,{2,3},4"
        )
