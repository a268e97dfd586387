"""Names in, `Items` out: the public list of what is ranked, checked; `declare.py` makes it from files and arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quietrank.errors import VotesError, option
from quietrank.promise.graph import Graph, complete


@dataclass(frozen=True)
class Items:
    """The declared items, in the order they were declared."""

    names: tuple[str, ...]
    from_votes: bool = False
    """Whether the list was taken from the votes, which treats being on it as public."""
    pairs: tuple[tuple[int, int], ...] | None = None
    """The askable pairs, as positions on the list, i < j; None: all pairs."""
    shown: int = 2
    """How many items a vote is about, at most: 2 for pairs, more for best–worst sets."""

    def __post_init__(self) -> None:
        check_names(self.names)
        if len(self.names) < 2:
            raise VotesError(f"a ranking needs at least two items, got {len(self.names)}; declare more items")
        if self.shown > len(self.names):
            raise VotesError(
                f"a set of {self.shown} different items needs as many, and there are {len(self.names)}; declare more "
                f"items, or a smaller {option('set_size')}"
            )

    @property
    def in_sets(self) -> bool:
        """Whether votes are best–worst answers to sets of more than two items."""
        return self.shown > 2

    @property
    def graph(self) -> Graph:
        """The graph of askable pairs."""
        return complete(len(self.names)) if self.pairs is None else Graph(len(self.names), self.pairs)

    @property
    def askable(self) -> int:
        """The number of askable pairs."""
        return len(self.names) * (len(self.names) - 1) // 2 if self.pairs is None else len(self.pairs)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)


def check_names(names: Sequence[str], what: str = "item") -> None:
    """Refuse names that are empty, not text, or repeated; `what` says what they name, for the message."""
    if any(not name.strip() for name in names):
        raise VotesError(f"one {what} has an empty name; give every {what} a name")
    if any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
        raise VotesError(f"the name of one {what} is not UTF-8 text; give the {what}s in a file saved as UTF-8")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise VotesError(f"the {what} {repeated[0]!r} is declared twice; name every {what} once")
