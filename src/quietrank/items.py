"""Names in, a checked list of `Items` out: the public list of what is being ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from quietrank.errors import VotesError


@dataclass(frozen=True)
class Items:
    """The declared items, in the order they were declared."""

    names: tuple[str, ...]
    from_votes: bool = False
    """Whether the list was read off the votes, which treats being on it as public."""

    def __post_init__(self) -> None:
        if any(not name.strip() for name in self.names):
            raise VotesError("an item has an empty name; give every item a name")
        if any("\ud800" <= letter <= "\udfff" for name in self.names for letter in name):
            raise VotesError("an item's name is not UTF-8 text; give the items in a file saved as UTF-8")
        repeated = [name for name, count in Counter(self.names).items() if count > 1]
        if repeated:
            raise VotesError(f"the item {repeated[0]!r} is declared twice; name every item once")
        if len(self.names) < 2:
            raise VotesError(f"a ranking needs at least two items, got {len(self.names)}; declare more items")

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)


def declare(names: Iterable[object]) -> Items:
    """Items from names given in Python; numbers become text, as they do in a file."""
    if isinstance(names, str):
        raise VotesError(f"items must be a list of names, such as ['tea', 'coffee']; got the text {names!r}")
    return Items(tuple(str(name) for name in names))


def is_file(path: Path) -> bool:
    """Whether there is such a file; a text too long to be a path is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def parse_items(text: str) -> Items:
    """Items from the command line: a file with one name per line, or the names parted by commas."""
    path = Path(text)
    if "," not in text or is_file(path):
        return _read_items(path)
    return Items(tuple(name.strip() for name in text.split(",")))


def _read_items(path: Path) -> Items:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise VotesError(f"{path} is not UTF-8 text; save the list of items as UTF-8") from None
    except OSError:
        raise VotesError(
            f"there is no file {path}; give a file with one item per line, or the items parted by commas"
        ) from None
    return Items(tuple(line for line in lines if line.strip()))
