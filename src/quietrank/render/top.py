"""A `TopRelease` in, the list for the terminal out, and the sentences that go with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from quietrank.render.headline import percent
from quietrank.render.screen import visible
from quietrank.render.table import filled

if TYPE_CHECKING:
    from quietrank.publish.top import TopRelease

BY = {"net-wins": "net wins", "wins": "wins"}

MEANING = (
    "The list is ordered: the first name is the most likely to be first.",
    "How far apart the items are is not published, and neither is anything about items that are not named.",
)


def render(release: TopRelease) -> Group:
    """Who is first, the promise, and how likely such a list is right."""
    small = f"by {BY.get(release.method, release.method)}, {release.privacy.strength}; no counts are published"
    rows = [[visible(str(value)) for value in row.values()] for row in release.rows()]
    ends = [number % release.k == 0 for number in range(1, len(rows) + 1)] if release.by else [False] * len(rows)
    table = [filled(list(release.rows()[0]), rows, ends)] if len(rows) > 1 else []
    return Group(
        Text(headline(release), style="bold"), Text(small, style="dim"), *table, Text(release.statement),
        *_chances(release), Text(selected(release)),
        *(Text(f"Note: {visible(note)}", style="dim") for note in release.assumptions),
    )  # fmt: skip


def headline(release: TopRelease) -> str:
    """The answer in one line."""
    if release.by is not None:
        return f"The first {release.k} of {release.items} items, by {visible(release.by)}"
    names = ", ".join(visible(name) for name in release.names)
    return f"First of {release.items} items: {names}"


HEADINGS = ("if items are", "as the votes", "names as the votes", "truly right", "right without privacy")
"""of the table of chances"""


def chances(release: TopRelease) -> list[tuple[str, ...]]:
    """How often such a list was right in simulated surveys, a row for each distance between items."""
    return [
        (one.spread, _share(one.as_exact), _share(one.named), _share(one.right), _share(one.exact_right))
        for one in release.chances
    ]


def simulated(release: TopRelease) -> str:
    """What the table of chances is about."""
    number, what = release.chances[0].repetitions, "a name" if release.k == 1 else "a list"
    return f"In {number} simulated surveys of this size, such {what} was:"


def _chances(release: TopRelease) -> list[Text | Table]:
    if not release.chances:
        return []
    return [Text(simulated(release)), filled(HEADINGS, chances(release), [False] * len(release.chances))]


def _share(share: float) -> str:
    return percent(round(share, 2))


def selected(release: TopRelease) -> str:
    """How the names were chosen, and what the alternatives would have found."""
    name, others = release.mechanism.name, release.mechanism.alternatives
    if len(others) < 2:
        return f"Chosen by {name}."
    shares = ", ".join(f"{other} {_share(share)}" for other, share in others)
    return f"Chosen by {name}. As the votes, if items are typical: {shares}."
