"""JSON files in, a scan out: one object per line, or one array of objects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from quietrank.errors import VotesError
from quietrank.votes.formats.scan import (
    FILE,
    PLAIN,
    Ready,
    Scan,
    all_text,
    cannot_read,
    check_header,
    identifier,
    literals,
    quoted,
    require_same,
)
from quietrank.votes.formats.text import head, last_character

EXAMPLE = '{"winner": "A", "loser": "B"}'


@dataclass(frozen=True)
class _Objects:
    """A file of objects, and the keys of the first."""

    file: Ready
    layout: str
    """as DuckDB calls it: newline_delimited or array"""
    keys: tuple[str, ...]

    def alike(self) -> tuple[str, str]:
        return self.layout, self.file.compression


def scan_json(ready: Sequence[Ready], kind: str, connection: Any) -> Scan:
    """All files; `kind` is jsonl, or json for either layout."""
    files = [_objects(file, kind) for file in ready]
    keys = files[0].keys
    for file in files:
        require_same(files[0].file.name, keys, file.file.name, file.keys)
    groups = [list(group) for _, group in groupby(files, _Objects.alike)]
    reads = tuple(_read("read_json", group, f", columns={all_text(keys)}") for group in groups)
    scan = Scan(keys, reads)
    for group in groups:
        _require_same_keys(connection, group, keys)
    return replace(scan, inexact=_inexact_numbers(connection, groups, keys))


def _read(function: str, files: Sequence[_Objects], more: str = "") -> str:
    layout, compression = files[0].alike()
    paths = literals(file.file for file in files)
    packed = "uncompressed" if compression == "none" else compression  # DuckDB before 2.0 knows no other word here
    return f"{function}({paths}, format={quoted(layout)}, compression={quoted(packed)}, {PLAIN}{more}"


def _objects(file: Ready, kind: str) -> _Objects:
    text = head(file).lstrip()
    array = kind == "json" and text.startswith("[")
    record = _first_of_array(text) if array else _first_of_lines(text)
    if array and text[1:].lstrip().startswith("]"):
        raise VotesError(f"{file.name} holds an empty array; give a file with one object per vote")
    if not (isinstance(record, dict) and record):
        layout = (
            f"an array of JSON objects, such as [{EXAMPLE}]"
            if array
            else f"one JSON object per line, such as {EXAMPLE}"
        )
        raise VotesError(f"{file.name} must hold {layout}")
    if array and last_character(file) != b"]":
        # DuckDB takes an array that was cut off behind a comma for one that ends there.
        raise VotesError(f"{file.name} cannot be read: its array does not end with ]; fix the file")
    check_header(file.name, tuple(record), ",")
    return _Objects(file, "array" if array else "newline_delimited", tuple(record))


def _first_of_lines(text: str) -> Any:
    try:
        return json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return None


def _first_of_array(text: str) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text[1:].lstrip())[0]
    except (ValueError, RecursionError):
        return None


def _inexact_numbers(connection: Any, groups: Sequence[Sequence[_Objects]], keys: Sequence[str]) -> dict[str, str]:
    """The keys with a number that the engine would write differently, such as 0.10, each with an example.

    Whole numbers and text are preserved exactly; 0.1 and 0.10 become the same.
    """
    import duckdb

    columns = ", columns={" + ", ".join(f"{quoted(name)}: 'JSON'" for name in keys) + "}"
    first = ", ".join(f"min({name}) FILTER ({_INEXACT.format(name=name)})" for name in map(identifier, keys))
    inexact: dict[str, str] = {}
    for group in groups:
        try:
            (examples,) = connection.con.execute(
                f"SELECT {first} FROM {_read('read_json', group, columns)})"
            ).fetchall()
        except duckdb.Error as error:
            raise cannot_read(_names(group), error) from None
        inexact |= {name: str(example) for name, example in zip(keys, examples, strict=True) if example is not None}
    return inexact


_INEXACT = (
    "WHERE json_type({name}) IN ('OBJECT', 'ARRAY') OR (json_type({name}) = 'DOUBLE' AND {name}::VARCHAR SIMILAR TO "
    "'.*[.a-zA-Z].*')"
)
"""A fraction, an exponent or infinity; an object or a list."""


def _require_same_keys(connection: Any, files: Sequence[_Objects], keys: Sequence[str]) -> None:
    """Every object must have the same keys: otherwise one would decide how all others are read."""
    import duckdb

    objects = _read("read_json_objects", files, f", filename={quoted(FILE)})")
    known = ", ".join(quoted(key) for key in keys)
    other = f"list_sort(json_keys(json)) IS DISTINCT FROM list_sort([{known}])"
    numbered = f"SELECT json, {FILE}, row_number() OVER () AS row FROM {objects}"
    query = f"SELECT row, {FILE}, json FROM ({numbered}) WHERE {other} ORDER BY row LIMIT 1"
    try:
        odd = connection.con.execute(query).fetchall()
        if not odd:
            return
        row, path, text = odd[0]
        first = f"SELECT min(row) FROM ({numbered}) WHERE {FILE} = ?"
        ((start,),) = connection.con.execute(first, [path]).fetchall()
    except duckdb.Error as error:
        raise cannot_read(_names(files), error) from None
    name = next((file.file.name for file in files if str(file.file.path) == path), path)
    each = "line" if files[0].layout != "array" else "object"
    raise VotesError(
        f"{name}: every {each} must have the keys of the first ({', '.join(keys)}), but row {row - start + 1} is "
        f"{text[:80]}; write every key in every {each}, with null where there is nothing"
    )


def _names(files: Sequence[_Objects]) -> str:
    more = f" (or one of {len(files) - 1} more files)" if len(files) > 1 else ""
    return f"{files[0].file.name}{more}"
