"""One `Release` per group in, a `GroupedRelease` out: rankings that keep one promise together; to and from JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietrank.errors import ReleaseError
from quietrank.estimate.overall import OVERALL, require_overall
from quietrank.promise.items import check_names
from quietrank.promise.privacy import GroupOf, Privacy, Unit
from quietrank.publish.published import Published, of_groups
from quietrank.publish.release import Release
from quietrank.publish.tabular import DAMAGE, damage, promise, read_json, require_format

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

    from quietrank.render.plot import ThemeWord

FORMAT = "quietrank/grouped-release/1"


@dataclass(frozen=True, repr=False)
class GroupedRelease(Published):
    """Private rankings of the same items, one for each group of votes, ready to publish; `rank_by_group` makes it.

    Iterating over it gives each group with its `Release`; the name of a group in brackets gives that release.

    >>> import pyarrow as pa
    >>> import quietrank as qr
    >>> table = pa.table({"winner": ["tea", "tea"], "loser": ["water", "water"], "country": ["fr", "de"]})
    >>> votes = qr.read_votes(table, ["tea", "water"], by="country", groups=["de", "fr"])
    >>> releases = qr.rank_by_group(votes, qr.Privacy(epsilon=1, unit="comparison"))
    >>> [(country, len(release)) for country, release in releases]
    [('de', 2), ('fr', 2)]
    >>> sorted(row.item for row in releases["fr"])
    ['tea', 'water']
    """

    by: str
    """what the votes were split by"""
    releases: tuple[tuple[str, Release], ...]
    """each group with its release, in the order in which the groups were declared"""
    group_of: GroupOf = GroupOf.VOTE
    """whose group it is: that of each vote, or that of the person, who is in one group only"""
    overall: Release | None = None
    """the ranking over all groups together, if it was asked for; it comes first, as a group of this name"""

    def __post_init__(self) -> None:
        if len({(release.privacy, release.ledger_entry) for _, release in self.boards}) != 1 or not self.releases:
            raise ReleaseError("the groups do not have one promise and one payment; rank them together")
        if self.overall is not None:
            require_overall([group for group, _ in self.releases])

    @property
    def boards(self) -> tuple[tuple[str, Release], ...]:
        """Every ranking with its name: that over all groups, if there is one, and those of the groups."""
        return self.releases if self.overall is None else ((OVERALL, self.overall), *self.releases)

    def __getitem__(self, group: str) -> Release:
        if group not in self:
            raise ReleaseError(f"there is no group {group!r}; the groups are {', '.join(self.groups)}")
        return dict(self.boards)[group]

    def __iter__(self) -> Iterator[tuple[str, Release]]:
        return iter(self.boards)

    def __contains__(self, group: object) -> bool:
        return group in self.groups

    def __len__(self) -> int:
        return len(self.boards)

    def __repr__(self) -> str:
        from quietrank.render.screen import visible

        first = self.releases[0][1]
        total = "" if self.overall is None else " and overall"
        size = f"{len(self.releases)} groups by {visible(self.by)}{total}, {len(first)} items each"
        return f"<GroupedRelease: {size}; {self.privacy.strength}, {first.mechanism.name}>"

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of all rankings, the one over all groups first."""
        return tuple(group for group, _ in self.boards)

    @property
    def privacy(self) -> Privacy:
        """The promise, which all groups keep together."""
        return self.releases[0][1].privacy

    @property
    def ledger_entry(self) -> str | None:
        """The ledger's entry that paid for all groups."""
        return self.releases[0][1].ledger_entry

    @property
    def statement(self) -> str:
        """The promise in plain sentences."""
        return self.privacy.statement + of_groups(self.privacy, self.by, self.group_of, "rankings")

    @property
    def grouping(self) -> str:
        """Whose groups these are, in a sentence."""
        if self.privacy.unit is Unit.COMPARISON:
            return f"Each vote has its own {self.by}."
        if self.group_of is GroupOf.PERSON:
            return f"Each person belongs to one {self.by}, with all of their votes."
        each = ", and each pair is answered once in each group" if self.privacy.one_per_pair else ""
        return (
            f"Each vote has its own {self.by}: a person's votes may be in several groups. A person is bounded over all "
            f"groups together{each}."
        )

    def top(self, k: int) -> GroupedRelease:
        """The first k items of each group; they are public already, so it costs nothing."""
        releases = tuple((group, release.top(k)) for group, release in self.releases)
        return replace(self, releases=releases, overall=None if self.overall is None else self.overall.top(k))

    def rows(self) -> list[dict[str, Any]]:
        """The rows of all rankings, each with its group, without the columns that were not released."""
        return [{"group": group, **row} for group, release in self.boards for row in release.rows()]

    def to_dict(self) -> dict[str, Any]:
        """The releases as plain values, in the published format."""
        return {
            "format": FORMAT,
            "by": self.by,
            "group_of": self.group_of.value,
            "groups": {group: release.to_dict() for group, release in self.releases},
            "overall": None if self.overall is None else self.overall.to_dict(),
            "privacy": promise(self.privacy) | {"statement": self.statement},
        }

    def plot(self, path: str | Path | None = None, *, theme: ThemeWord = "light", overwrite: bool = False) -> Figure:
        """A figure with a panel for each group: the same items in the same order, by their mean rank over the groups.

        path       where it is also written, whole or not at all: .png, .svg or .pdf; None: nowhere
        theme      "light" or "dark"
        overwrite  True: in place of an earlier picture; never of a file of another kind

        >>> import pyarrow as pa
        >>> import quietrank as qr
        >>> table = pa.table({"winner": ["tea", "tea"], "loser": ["water", "water"], "country": ["fr", "de"]})
        >>> votes = qr.read_votes(table, ["tea", "water"], by="country", groups=["de", "fr"])
        >>> figure = qr.rank_by_group(votes, qr.Privacy(epsilon=1, unit="comparison")).plot()
        >>> len({axes.get_xlim() for axes in figure.axes if axes.get_xlabel() == "win rate"})
        1
        """
        from quietrank.render.plot import plot

        return plot(self, path, theme, overwrite=overwrite)

    def page(self) -> Group:
        from quietrank.render.table import render_grouped

        return render_grouped(self)

    @classmethod
    def from_json(cls, path: str | Path) -> GroupedRelease:
        """Read the releases of all groups from a file, or from the text of one."""
        return cls.from_dict(read_json(path))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> GroupedRelease:
        """Read the releases of all groups from plain values, and check them."""
        require_format(values, FORMAT, "a release of groups")
        try:
            check_names(tuple(values["groups"]), "group")
            releases = tuple((group, Release.from_dict(one)) for group, one in values["groups"].items())
            overall = None if values.get("overall") is None else Release.from_dict(values["overall"])
            return cls(str(values["by"]), releases, _group_of(values, releases), overall)
        except DAMAGE as error:
            raise ReleaseError(f"these releases are damaged ({damage(error)}); use an undamaged copy") from None


def _group_of(values: Mapping[str, Any], releases: tuple[tuple[str, Release], ...]) -> GroupOf:
    """Whose groups these are; earlier versions knew those of people only, and each single vote has its own."""
    votes = any(release.privacy.unit is Unit.COMPARISON for _, release in releases)
    return GroupOf(values.get("group_of", GroupOf.VOTE if votes else GroupOf.PERSON))
