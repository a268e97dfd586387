"""A `Release` in, its first sentence out: who is first, and which ranks cannot be told apart.

It never says more than the rank sets do. These refer to all items, also where only the first few are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quietrank.render.screen import visible

if TYPE_CHECKING:
    from quietrank.publish.grouped import GroupedRelease
    from quietrank.publish.release import Release, Row

MOST_NAMES = 3
"""of items that may be first; more are counted"""

MOST_RUNS = 2
"""of ranks that cannot be told apart; more are counted"""

MOST_GROUPS = 6
"""that are named; more are counted"""

FIGURES = {"bradley-terry": "scores", "win-rate": "win rates"}
"""what items are ranked by, where it is not counts"""


def headline(release: Release) -> str:
    """One sentence that answers the question."""
    first = visible(release.ranking[0].item)
    if release.certainty is None or not _known(release):
        return f"{first} is first by these {FIGURES.get(release.method, 'counts')}; how sure that is cannot be said."
    return f"{_claim(release)} at {percent(release.certainty.level)} confidence."


def headline_grouped(grouped: GroupedRelease) -> str:
    """One sentence about all groups: who is first in which; before it, one about all of them together, if there is."""
    overall = "" if grouped.overall is None else f"Overall: {headline(grouped.overall)} "
    return overall + _of_groups(grouped)


def _of_groups(grouped: GroupedRelease) -> str:
    releases = [release for _, release in grouped.releases]
    level = releases[0].certainty
    if level is None or not all(map(_known, releases)):
        leaders = _by_leader([(group, release.ranking[0].item) for group, release in grouped.releases])
        return f"{_firsts(leaders, len(releases))} by these figures; how sure that is cannot be said."
    clear = [(group, release.ranking[0].item) for group, release in grouped.releases if _clear_first(release)]
    still_open = [group for group, release in grouped.releases if not _clear_first(release)]
    parts = [_firsts(_by_leader(clear), len(releases))] if clear else []
    if still_open and clear:
        parts.append(f"who is first cannot be said in {_counted(still_open)}")
    elif still_open:
        parts.append("Who is first cannot be said in any group")
    each = "each " if len(clear) > 1 else ""
    return f"{'; '.join(parts)}, {each}at {percent(level.level)} confidence."


def _known(release: Release) -> bool:
    """Whether there is a rank set for every item that is shown."""
    return release.certainty is not None and all(row.rank_low and row.rank_high for row in release.ranking)


def percent(share: float) -> str:
    """0.9 as 90 %."""
    return f"{round(100 * share, 6):g} %"


def listed(words: Sequence[str], last: str = "and") -> str:
    """a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


# ---- one ranking -----------------------------------------------------------------------------------------------------


def _claim(release: Release) -> str:
    rows = release.ranking
    if len(rows) > 1 and all(_range(row) == (1, len(rows)) for row in rows):
        return f"No two of these {len(rows)} items can be told apart"
    if _all_certain(rows):
        return _everything(release)
    rest = _rest(rows)
    return f"{_who_is_first(rows)}; {rest}" if rest else _who_is_first(rows)


def _everything(release: Release) -> str:
    """What is said where every rank set is a single rank."""
    first = f"{visible(release.ranking[0].item)} is first"
    if len(release) < 3:
        return first
    together = release.certainty is not None and release.certainty.simultaneous
    ranks = f"these {len(release)} ranks together are" if together else "every rank here, taken by itself, is"
    return f"{first}, and {ranks} determined"


def _who_is_first(rows: Sequence[Row]) -> str:
    first, candidates = visible(rows[0].item), _candidates(rows)
    lowest = _range(rows[0])[1]
    if _first_is_clear(rows):
        return f"{first} is first"
    if len(candidates) == 1 or _cut_short(rows):
        return f"{first} is ahead, but may be as low as rank {lowest}"
    if len(candidates) <= MOST_NAMES:
        return f"{listed([visible(row.item) for row in candidates], 'or')} may be first"
    return f"{first} is ahead, but any of {len(candidates)} items may be first"


def _rest(rows: Sequence[Row]) -> str:
    """Which ranks cannot be told apart, beyond those that were named as candidates for the first."""
    candidates = [] if _cut_short(rows) else _candidates(rows)
    runs = [run for run in _runs(rows) if not all(row in candidates for row in run)]
    if not runs:
        unsure = [row for row in rows if row not in candidates and not _certain(row)]
        return _count_of_unsure(len(unsure), len(rows)) if unsure and _first_is_clear(rows) else ""
    if len(runs) > MOST_RUNS:
        tiers = len({row.tier for row in rows})
        return f"these {len(rows)} items form {tiers} tiers, and within a tier none can be told apart from its first"
    lumps = [run for run in runs if _one_lump(run)]
    chains = [_from_the_first(run) for run in runs if not _one_lump(run)]
    return ", and ".join([*([_not_apart(lumps)] if lumps else []), *chains])


def _not_apart(runs: Sequence[Sequence[Row]]) -> str:
    """Of one run or two: any of its items may have any of its ranks."""
    ranks = [f"ranks {run[0].rank} {'and' if len(run) == 2 else 'to'} {run[-1].rank}" for run in runs]
    if len(ranks) == 1:
        return f"{ranks[0]} cannot be told apart"
    return f"neither {' nor '.join(ranks)} can be told apart"


def _count_of_unsure(unsure: int, rows: int) -> str:
    return f"{unsure} of these {rows} ranks {'is' if unsure == 1 else 'are'} not determined"


def _from_the_first(run: Sequence[Row]) -> str:
    """What a tier means to the letter: its members cannot be told apart from its first one."""
    first, second, last = run[0].rank, run[1].rank, run[-1].rank
    others = {2: f"rank {second}", 3: f"ranks {second} and {last}"}.get(len(run), f"ranks {second} to {last}")
    return f"{others} cannot be told apart from rank {first}"


def _runs(rows: Sequence[Row]) -> list[list[Row]]:
    """The tiers with more than one member."""
    tiers: dict[int | None, list[Row]] = {}
    for row in rows:
        tiers.setdefault(row.tier, []).append(row)
    return [run for run in tiers.values() if len(run) > 1]


def _one_lump(run: Sequence[Row]) -> bool:
    """Whether each of them may have each of their ranks."""
    return all(_range(row)[0] <= run[0].rank and _range(row)[1] >= run[-1].rank for row in run)


def _candidates(rows: Sequence[Row]) -> list[Row]:
    """The items that may be first."""
    return [row for row in rows if _range(row)[0] == 1]


def _first_is_clear(rows: Sequence[Row]) -> bool:
    """Whether the first item is certainly first, and no other item's rank set disagrees."""
    return _certain(rows[0]) and len(_candidates(rows)) == 1


def _clear_first(release: Release) -> bool:
    return _first_is_clear(release.ranking)


def _all_certain(rows: Sequence[Row]) -> bool:
    return all(map(_certain, rows))


def _certain(row: Row) -> bool:
    low, high = _range(row)
    return low == high


def _cut_short(rows: Sequence[Row]) -> bool:
    """Whether items that are not shown may have a rank of those that are: the last of all items has the last rank."""
    return max(_range(row)[1] for row in rows) > len(rows)


def _range(row: Row) -> tuple[int, int]:
    """The rank set; the rank itself where there is none."""
    return int(row.rank_low or row.rank), int(row.rank_high or row.rank)


# ---- groups ----------------------------------------------------------------------------------------------------------


def _by_leader(firsts: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Each first item with its groups."""
    leaders: dict[str, list[str]] = {}
    for group, item in firsts:
        leaders.setdefault(item, []).append(group)
    return leaders


def _firsts(leaders: dict[str, list[str]], groups: int) -> str:
    named = sum(map(len, leaders.values()))
    if len(leaders) == 1 and named == groups > 1:
        return f"{visible(next(iter(leaders)))} is first in all {groups} groups"
    if groups > MOST_GROUPS:
        most = max(leaders, key=lambda item: len(leaders[item]))
        return f"{named} of {groups} groups have a first item, {visible(most)} in {len(leaders[most])} of them"
    return ", ".join(f"{visible(item)} is first in {_counted(where)}" for item, where in leaders.items())


def _counted(groups: Sequence[str]) -> str:
    """The groups by name, or how many there are."""
    return listed([visible(group) for group in groups]) if len(groups) <= MOST_NAMES else f"{len(groups)} groups"
