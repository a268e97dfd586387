"""Names in Python, words of the command line, or files in; `Items`, their askable pairs, and groups out."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from quietrank.errors import VotesError, option
from quietrank.promise.arguments import at_home, whole_number
from quietrank.promise.graph import from_pairs
from quietrank.promise.items import Items, check_names


def declare(names: Iterable[object]) -> Items:
    """Items from names given in Python; whole numbers become text, as they do in a file."""
    return names if isinstance(names, Items) else Items(_as_names(names, "item"))


def _as_names(names: Iterable[object], what: str) -> tuple[str, ...]:
    """A list of names, or of whole numbers that stand for them."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise VotesError(f"{option(what + 's')} must be a list of names, such as ['tea', 'coffee']; got {names!r}")
    return tuple(_as_name(name, what) for name in _each(names, what + "s"))


def _each(argument: Iterable[object], name: str) -> list[object]:
    try:
        return list(argument)
    except TypeError:  # an array without dimensions looks iterable, but is not
        raise VotesError(f"{option(name)} must be a list; got {argument!r}") from None


def _as_name(argument: object, what: str) -> str:
    plain = argument.as_py() if hasattr(argument, "as_py") else argument  # a pyarrow scalar
    if isinstance(plain, str):
        return str(plain)
    if (value := whole_number(plain)) is not None:
        return str(value)
    raise VotesError(f"every {what} must have a name, as text or a whole number; got {plain!r}")


def is_file(path: Path) -> bool:
    """Whether there is such a file; text too long to be a path is not a file."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether there is such a folder."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def declare_groups(names: Iterable[object]) -> tuple[str, ...]:
    """The public list of groups, from names given in Python."""
    groups = _as_names(names, "group")
    check_names(groups, "group")
    if not groups:
        raise VotesError("the list of groups is empty; declare at least one group")
    return groups


def parse_items(text: str) -> Items:
    """Items from the command line: a file with one name per line, or the names separated by commas."""
    return Items(parse_names(text))


def parse_names(text: str, what: str = "item") -> tuple[str, ...]:
    """Names from the command line: a file with one per line, or the names separated by commas."""
    if not text.strip():
        raise VotesError(
            f"{option(what + 's')} is empty; give a file with one {what} per line, or the {what}s separated by commas"
        )
    path = at_home(text)
    if "," not in text or is_file(path):
        return _read_names(path, what)
    return tuple(name.strip() for name in text.split(","))


def _read_names(path: Path, what: str) -> tuple[str, ...]:
    try:
        lines = re.split("\r\n|\n|\r", path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise VotesError(f"{path} is not UTF-8 text; save the list of {what}s as UTF-8") from None
    except (OSError, ValueError):
        raise VotesError(
            f"{_missing(path)}; give a file with one {what} per line, or the {what}s separated by commas"
        ) from None
    return tuple(line for line in lines if line.strip())


def _missing(path: Path) -> str:
    if is_folder(path):
        return f"{path} is a folder"
    return f"{path} cannot be read" if is_file(path) else f"there is no file {path}"


def with_pairs(items: Items, pairs: Iterable[tuple[object, object]]) -> Items:
    """The items with a public list of the pairs that people may be asked about."""
    place = {name: index for index, name in enumerate(items.names)}
    edges = []
    for first, second in map(_as_pair, pairs if isinstance(pairs, Iterable) else (pairs,)):
        unknown = [name for name in (first, second) if name not in place]
        if unknown:
            raise VotesError(
                f"the list of pairs has {first!r}, {second!r}, but {unknown[0]!r} is not declared; add it to "
                f"{option('items')}, or take the pair out (the list has no header)"
            )
        if first == second:
            raise VotesError(f"the list of pairs has {first!r} against itself; take it out")
        edges.append((place[first], place[second]))
    if not edges:
        raise VotesError("the list of askable pairs is empty; give pairs of items, or leave it out")
    alone = set(items.names) - {items.names[k] for pair in edges for k in pair}
    if alone:
        raise VotesError(f"the item {min(alone)!r} is in no askable pair; take it off {option('items')}, or add a pair")
    return replace(items, pairs=from_pairs(len(items), edges).edges)


def _as_pair(argument: object) -> tuple[str, str]:
    if isinstance(argument, str | bytes) or not isinstance(argument, Iterable) or len(pair := tuple(argument)) != 2:
        raise VotesError(f"{option('pairs')} must be pairs of items, such as ('tea', 'coffee'); got {argument!r}")
    return _as_name(pair[0], "item"), _as_name(pair[1], "item")


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Askable pairs from a CSV file without a header: two items per line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = [[cell.strip() for cell in row] for row in csv.reader(stream) if row]
    except UnicodeDecodeError:
        raise VotesError(f"{path} is not UTF-8 text; save the list of pairs as UTF-8") from None
    except csv.Error as error:
        raise VotesError(f"{path} cannot be read ({error}); give two items per line, separated by a comma") from None
    except OSError:
        raise VotesError(f"{_missing(path)}; give a file with one pair per line, separated by a comma") from None
    for number, row in enumerate(rows, 1):
        if len(row) != 2:
            raise VotesError(
                f"line {number} of {path} has {len(row)} cells; give two items per line, separated by a comma, and no "
                "header"
            )
    return [(first, second) for first, second in rows]
