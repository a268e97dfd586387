"""Paths, folders and patterns in, the list of files they stand for out; nothing is opened.

A folder stands for every file in it and below, except for those that are hidden or that writers leave behind
(_SUCCESS, .crc). Folders called key=value, as Hive, Spark and DuckDB write them, are columns: only those below the
folder that was given, or below the part of a pattern that is fixed. A path of one file has none.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from quietrank.errors import VotesError
from quietrank.promise.arguments import at_home, file_path
from quietrank.promise.declare import is_file, is_folder

STANDARD_INPUT = Path("-")
NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""how Hive writes a key without a value"""

Keys = tuple[tuple[str, str | None], ...]
"""names and values of the folders that a file lies in"""


@dataclass(frozen=True)
class Part:
    """One file of votes."""

    path: Path
    keys: Keys = ()

    @property
    def is_standard_input(self) -> bool:
        return self.path == STANDARD_INPUT

    @property
    def name(self) -> str:
        """As messages call it."""
        return "standard input" if self.is_standard_input else str(self.path)


def name_of(names: Sequence[str]) -> str:
    """How messages call several files."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def is_paths(source: object) -> bool:
    """Whether this is a path, or a list of paths."""
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(one, str | os.PathLike) for one in source)
    return isinstance(source, str | os.PathLike)


def find(source: object) -> tuple[Part, ...]:
    """The files that a path, or each of several, stands for; in the order given, and by name within a folder."""
    arguments = source if isinstance(source, list | tuple) else [source]
    parts = tuple(part for one in arguments for part in _parts(one))
    _require_same_keys(parts)
    return parts


def inputs(paths: Iterable[Path]) -> list[Path]:
    """Every file that these paths stand for, as far as they exist, so that no output replaces one of them."""
    return [part.path for path in paths for part in _parts_if_any(path) if not part.is_standard_input]


def _parts_if_any(path: Path) -> list[Part]:
    try:
        return _parts(path)
    except VotesError:
        return []


def _parts(argument: object) -> list[Part]:
    path = file_path(argument, "source")
    if not os.fspath(argument):  # type: ignore[call-overload]  # checked above
        raise VotesError("the path of the votes is empty; give a file, a folder or a pattern")
    if path == STANDARD_INPUT or is_file(path):
        return [Part(path)]
    if is_folder(path):
        return _in_folder(path)
    if glob.has_magic(str(path)):
        return _matching(path)
    raise VotesError(f"there is no file {path}; check the path")


def base_of(argument: str) -> Path:
    """The folder below which the names of folders are columns: as given, or the fixed part of a pattern."""
    path = at_home(argument)
    return path if is_folder(path) else _fixed(path)


def _in_folder(folder: Path) -> list[Part]:
    parts = [Part(path, _keys(path.relative_to(folder))) for path in _walk(folder, frozenset())]
    if not parts:
        raise VotesError(
            f"there is no file of votes in the folder {folder}; put CSV, Parquet or JSON files there, or give a file"
        )
    return parts


def _matching(pattern: Path) -> list[Part]:
    fixed = _fixed(pattern)
    parts: dict[Path, Part] = {}
    for path in map(Path, sorted(glob.glob(str(pattern), recursive=True))):
        if any(_is_ignored(name) for name in path.relative_to(fixed).parts):
            continue
        for file in _walk(path, frozenset()) if is_folder(path) else [path]:
            parts[file] = Part(file, _keys(file.relative_to(fixed)))
    if not parts:
        raise VotesError(
            f"there is no file {pattern}, and as a pattern it matches none; check it, and put patterns into quotes"
        )
    return list(parts.values())


def _fixed(pattern: Path) -> Path:
    """The part of a pattern before its first *, ? or [."""
    parts = pattern.parts
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first])


def _walk(folder: Path, above: frozenset[tuple[int, int]]) -> Iterator[Path]:
    """Every file in a folder and below, by name; a link to a folder above is not followed for ever."""
    try:
        status, entries = folder.stat(), sorted(folder.iterdir())
    except OSError as error:
        raise VotesError(f"the folder {folder} cannot be read ({error.strerror}); check its permissions") from None
    here = status.st_dev, status.st_ino
    if here in above:
        raise VotesError(f"the folder {folder} is a link to a folder that it lies in; remove the link")
    if (folder / "_delta_log").is_dir():
        raise VotesError(
            f"{folder} is a Delta table, whose folder also has files that are no longer part of it; export the table "
            "to Parquet files"
        )
    for path in entries:
        if _is_ignored(path.name):
            continue
        if is_folder(path):
            yield from _walk(path, above | {here})
        else:
            yield path


def _is_ignored(name: str) -> bool:
    """Hidden files, and what writers leave beside their parts: _SUCCESS, _metadata, checksums."""
    return name.startswith((".", "_")) or name.endswith(".crc")


def _keys(path: Path) -> Keys:
    """The keys in the names of a file's folders."""
    folders = [name.partition("=") for name in path.parts[:-1]]
    keys = [
        (unquote(key), None if value == NOTHING else unquote(value)) for key, sign, value in folders if sign and key
    ]
    names = [name.lower() for name, _ in keys]
    if len(set(names)) < len(names):
        raise VotesError(f"the folders of {path} give the same key twice; rename one of them")
    return tuple(keys)


def _require_same_keys(parts: Sequence[Part]) -> None:
    """Every file must lie in folders with the same keys: they are columns."""
    first = parts[0]
    for part in parts:
        if {name for name, _ in part.keys} != {name for name, _ in first.keys}:
            raise VotesError(
                f"the folders of {part.name} give the columns {_named(part)}, but those of {first.name} "
                f"{_named(first)}; give files with the same columns"
            )


def _named(part: Part) -> str:
    return ", ".join(name for name, _ in part.keys) or "none"
