"""Names in order in, a `TopRelease` out: who is first, and nothing about how far ahead; to and from JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from quietrank import __version__
from quietrank.errors import ReleaseError
from quietrank.mechanisms.limit import ChosenLimit
from quietrank.promise.items import check_names
from quietrank.promise.privacy import GroupOf, Privacy
from quietrank.publish.files import REPORT
from quietrank.publish.published import Published, of_groups
from quietrank.publish.tabular import (
    DAMAGE,
    NoiseRecord,
    a_list,
    damage,
    figure,
    limit_from_dict,
    limit_to_dict,
    privacy_from_dict,
    promise,
    read_json,
    require_format,
    text,
    write_if_named,
)

if TYPE_CHECKING:
    from rich.console import Group

FORMAT = "quietrank/top/1"


@dataclass(frozen=True)
class Chance:
    """How often such a list was right in simulated surveys of this size; it says nothing about these votes."""

    spread: str
    """how far apart the simulated items were: "close", "typical" or "clear" """
    as_exact: float
    """the chance of the list that the exact counts would give, in its order"""
    named: float
    """the share of its names that are named, in whatever order"""
    right: float
    """the chance of the truly best items, in their order"""
    exact_right: float
    """the same for exact counts, without any privacy"""
    repetitions: int


@dataclass(frozen=True, repr=False)
class TopRelease(Published):
    """Who is first: an ordered list of the first k items, in each group if there are groups; `top` makes it.

    Iterating over it gives the names, from the first on; with groups, each group with its names.

    >>> import quietrank as qr
    >>> votes = qr.read_votes(qr.simulate(items=4, people=50, per_person=6), items_from_votes=True)
    >>> release = qr.top(votes, qr.Privacy(epsilon=1, unit="person", max_per_person=6), 2)
    >>> len(release.names), release.privacy.epsilon
    (2, 1.0)
    >>> qr.TopRelease.from_dict(release.to_dict()) == release
    True
    """

    scatter: ClassVar[None] = None
    ties: ClassVar[None] = None

    lists: tuple[tuple[str, tuple[str, ...]], ...]
    """each group and its names in order; without groups one list, under empty text"""
    items: int
    """how many were declared"""
    privacy: Privacy
    mechanism: NoiseRecord
    method: str
    assumptions: tuple[str, ...] = ()
    by: str | None = None
    """what the votes were split by"""
    group_of: GroupOf = GroupOf.VOTE
    chances: tuple[Chance, ...] = ()
    """of one list; empty where the size of the survey is not public"""
    ledger_entry: str | None = None
    limit: ChosenLimit | None = None
    """how the limit on people's votes was chosen, where it was not given"""
    where: str | None = None
    """the condition that rows had to meet to be counted"""
    made_with: str = f"quietrank {__version__}"

    def __post_init__(self) -> None:
        sizes = {len(names) for _, names in self.lists}
        if len(sizes) != 1 or not 1 <= min(sizes) < self.items:
            raise ReleaseError("the lists must all name the same number of items, from one to all but one")
        if (self.by is None) != (self.groups == ("",)):
            raise ReleaseError("a list without groups has no name, and lists of groups have one each")

    @property
    def k(self) -> int:
        """How many are named."""
        return len(self.lists[0][1])

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(group for group, _ in self.lists)

    @property
    def names(self) -> tuple[str, ...]:
        """The list, where there are no groups."""
        if self.by is not None:
            raise ReleaseError(f"there is a list for each group: take one of {', '.join(self.groups)} in brackets")
        return self.lists[0][1]

    @property
    def statement(self) -> str:
        """The promise in plain sentences."""
        together = "" if self.by is None else of_groups(self.privacy, self.by, self.group_of, "lists")
        return as_list(self.privacy.statement) + together

    def __getitem__(self, group: str) -> tuple[str, ...]:
        if group not in self.groups:
            raise ReleaseError(f"there is no group {group!r}; the groups are {', '.join(self.groups)}")
        return dict(self.lists)[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.lists if self.by is not None else self.names)

    def __len__(self) -> int:
        return len(self.lists if self.by is not None else self.names)

    def __repr__(self) -> str:
        from quietrank.render.screen import visible

        groups = "" if self.by is None else f" in {len(self.lists)} groups by {visible(self.by)}"
        return f"<TopRelease: first {self.k} of {self.items} items{groups}; {self.privacy.strength}>"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each name; with groups, each with its group."""
        named = ((group, place, name) for group, names in self.lists for place, name in enumerate(names, 1))
        if self.by is None:
            return [{"rank": place, "item": name} for _, place, name in named]
        return [{"group": group, "rank": place, "item": name} for group, place, name in named]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values, in the published format."""
        return {
            "format": FORMAT,
            "top": {group: list(names) for group, names in self.lists},
            "items": self.items,
            "by": self.by,
            "group_of": self.group_of.value,
            "privacy": promise(self.privacy) | {"statement": self.statement},
            "mechanism": self.mechanism.to_dict(),
            "method": self.method,
            "chances_in_simulation": [asdict(chance) for chance in self.chances],
            "assumptions": list(self.assumptions),
            "limit": limit_to_dict(self.limit),
            "where": self.where,
            "ledger_entry": self.ledger_entry,
            "made_with": self.made_with,
        }

    def report(
        self,
        path: str | Path | None = None,
        *,
        figure: str | Path | None = None,
        remaining: str | None = None,
        overwrite: bool = False,
    ) -> str:
        """One self-contained HTML page for readers; also written to `path`, whole or not at all."""
        from quietrank.render.report import report_top

        if figure is not None:
            raise ReleaseError("a list of names has no figure; leave figure out")
        return write_if_named(report_top(self, remaining), path, REPORT, overwrite=overwrite)

    def to_markdown(self) -> str:
        """The list, its promise and its notes as Markdown, for a README or an issue."""
        from quietrank.render.markdown import page_as_markdown

        return page_as_markdown(self.page())

    def page(self) -> Group:
        from quietrank.render.top import render

        return render(self)

    @classmethod
    def from_json(cls, path: str | Path) -> TopRelease:
        """Read a release from a file, or from the text of one."""
        return cls.from_dict(read_json(path))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TopRelease:
        """Read a release from plain values, and check them."""
        require_format(values, FORMAT, "a list")
        try:
            return cls(
                lists=tuple((text(group), _names(names)) for group, names in values["top"].items()),
                items=int(values["items"]),
                privacy=privacy_from_dict(values["privacy"]),
                mechanism=NoiseRecord.from_dict(values["mechanism"]),
                method=text(values["method"]),
                assumptions=tuple(text(note) for note in a_list(values["assumptions"])),
                by=None if values["by"] is None else text(values["by"]),
                group_of=GroupOf(values["group_of"]),
                chances=tuple(_chance(one) for one in a_list(values["chances_in_simulation"])),
                ledger_entry=None if values["ledger_entry"] is None else text(values["ledger_entry"]),
                limit=limit_from_dict(values["limit"]),
                where=None if values["where"] is None else text(values["where"]),
                made_with=text(values["made_with"]),
            )
        except DAMAGE as error:
            raise ReleaseError(f"this list is damaged ({damage(error)}); use an undamaged copy") from None


def _names(names: Any) -> tuple[str, ...]:
    listed = tuple(text(name) for name in a_list(names))
    check_names(listed)
    return listed


def _chance(values: Mapping[str, Any]) -> Chance:
    names = ("as_exact", "named", "right", "exact_right")
    shares = {name: figure(values[name]) for name in names}
    if any(share is None or not 0 <= share <= 1 for share in shares.values()):
        raise ValueError("its chances are not between 0 and 1")
    known = {name: float(share or 0.0) for name, share in shares.items()}
    return Chance(spread=text(values["spread"]), repetitions=int(values["repetitions"]), **known)


def as_list(statement: str) -> str:
    """A promise about a ranking as one about a list of names."""
    return statement.replace("this ranking", "this list")
