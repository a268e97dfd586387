"""A `Release` or a non-private fit in, a table for the terminal out."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from string import Formatter
from typing import TYPE_CHECKING, Any, Literal

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from quietrank.promise.privacy import Unit
from quietrank.publish.view import Scale
from quietrank.render.cells import SCALES, TIER, columns, possible_ranks, score_of
from quietrank.render.fitting import PARAGRAPH, FittingTable, width_of
from quietrank.render.headline import headline, headline_grouped
from quietrank.render.meaning import notes_of
from quietrank.render.screen import visible

if TYPE_CHECKING:
    from quietrank.promise.privacy import Privacy
    from quietrank.publish.grouped import GroupedRelease
    from quietrank.publish.nonprivate import NonPrivateFit
    from quietrank.publish.release import Release

COLUMNS = {
    "group": ("group", ""),
    "rank": ("rank", "d"),
    "item": ("item", ""),
    "score": ("score", ".3f"),
    "standard_error": ("± standard error", ".3f"),
    "win_rate": ("win rate", ".3f"),
    "net_wins": ("net wins", ".1f"),
    "component": ("component", "d"),
}
"""heading and number format of each column"""
RULED = box.Box("    \n    \n ── \n    \n ── \n ── \n    \n    \n")
"""a rule under the headings and between sections, and nothing else"""
CLIPPING = {"ball", "gaussian"}
"""mechanisms that scale people down"""
MOST_ROWS = 100
FIRST_OF_EACH, MOST_GROUPED_ROWS = 10, 400
"""where groups together have more rows than that: so many of each, and so many in all"""
WARNINGS = {
    "all": "Noise alone could make differences like these between items: this order may mean little.",
    "tier": "Noise alone could make differences like these within a tier: the order there may mean little.",
}
"""by what is in doubt"""
DOUBTS = {
    "all": "Noise alone could make the differences between items in {where}: there the order may mean little.",
    "tier": "Noise alone could make the differences within a tier in {where}: there the order may mean little.",
}
"""the same about groups"""
NOISE_FOR = {
    "items never compared": "This is an upper limit: the more an item was compared, the smaller it is.",
    "items compared equally often": "This holds if all items were compared equally often.",
}
"""what the noise on a score of the perturbed MLE holds for"""


def render(release: Release) -> Group:
    """What the ranking says, the ranking, the promise, and what to know about it."""
    title = f"{len(release.ranking)} items by {release.method}, {release.privacy.strength}"
    return Group(
        Text(headline(release), style="bold"), Text(title, style="dim"), *_ranking(release), *_of_ties(release),
        Text(release.privacy.statement), *noise_notes(release), *_notes(release.assumptions),
    )  # fmt: skip


def render_grouped(grouped: GroupedRelease) -> Group:
    """The rankings of all groups in one table, with the promise that they keep together under it."""
    releases = [release for _, release in grouped.releases]
    title = f"{len(releases)} groups by {visible(grouped.by)}, {len(releases[0].ranking)} items by {releases[0].method}"
    doubts = {doubt: [group for group, release in grouped if _doubt(release) == doubt] for doubt in DOUBTS}
    warnings = [
        Text(DOUBTS[doubt].format(where=visible(", ".join(groups))), style="bold")
        for doubt, groups in doubts.items()
        if groups
    ]
    return Group(
        Text(headline_grouped(grouped), style="bold"),
        Text(f"{title}, {grouped.privacy.strength} for all together", style="dim"), *_rankings(grouped),
        *(Text(f"{visible(group)}: {text.plain}") for group, release in grouped for text in _of_ties(release)),
        Text(grouped.statement), *noise_notes(releases[0])[:1], *warnings, *_notes(notes_of(grouped)),
    )  # fmt: skip


def _of_ties(result: Release | NonPrivateFit) -> list[Text]:
    """The chance of a tie, where ties have a model."""
    return [] if result.ties is None else [Text(result.ties.sentence)]


def _ranking(release: Release) -> list[Table | Text]:
    """The items, with a rule between tiers."""
    shown = [column for column in columns(release) if column.heading != TIER]
    rows = release.ranking[:MOST_ROWS]
    cells = [[column.text(row) for column in shown] for row in rows]
    ends = [row.tier != following.tier for row, following in pairwise(rows)]
    return [filled([column.heading for column in shown], cells, [*ends, False]), *_left_out(len(release.ranking))]


def _rankings(grouped: GroupedRelease) -> list[Table | Text]:
    """The items of all groups, with a rule between groups; of many, the first few of each group."""
    shown = columns(grouped.releases[0][1])
    items = max(len(release) for _, release in grouped)
    most = items if sum(len(release) for _, release in grouped) <= MOST_ROWS else FIRST_OF_EACH
    groups = grouped.boards[: MOST_GROUPED_ROWS // most or 1]
    tops = [(group, release.ranking[:most]) for group, release in groups]
    lines = [(group, row, row is rows[-1]) for group, rows in tops for row in rows]
    cells = [[visible(group), *(column.text(row) for column in shown)] for group, row, _ in lines]
    headings = ["group", *(column.heading for column in shown)]
    table = filled(headings, cells, [end for *_, end in lines])
    return [table, *_cut_short(min(most, items), items, len(groups), len(grouped))]


def _cut_short(most: int, items: int, groups: int, of_groups: int) -> list[Text]:
    """That not all rows of all groups are shown."""
    parts = [f"the first {most} of {items} items of each"] if most < items else []
    parts += [f"the first {groups} of {of_groups} rankings"] if groups < of_groups else []
    said = f"These are {' and '.join(parts)}; the CSV format shows all."
    return [Text(said, style="dim")] if parts else []


def _notes(notes: Sequence[str]) -> list[Text]:
    return [Text(f"Note: {visible(note)}", style="dim") for note in notes]


def noise_notes(release: Release) -> list[Text]:
    """How much noise the release carries, and whether it drowns it; both from what is published anyway."""
    size = _noise_size(release)
    lines = [Text(f"Noise: {size}{_alternatives(release)}")] if size else []
    if lines and (doubt := _doubt(release)):
        lines.append(Text(f"{WARNINGS[doubt]} {_remedy(release.privacy)}", style="bold"))
    return lines


def _noise_size(release: Release) -> str:
    """In the unit of what items are ranked by, where that is known."""
    figures, heading = dict(release.mechanism.figures), score_of(release)[0]
    if release.certainty is not None and _is_share(release) and release.certainty.noise_sd >= 1:
        return f"it moves each {heading} by more than the whole range, from 0 to 1: these values mean nothing."
    if release.certainty is not None:
        unit = " votes" if release.method in ("net-wins", "wins") else ""
        return (
            f"each {heading} is off by about ±{release.certainty.noise_sd:.2g}{unit} (standard deviation), on purpose."
        )
    if isinstance(noise := figures.get("noise_sd"), float):
        return f"each item's count is off by about ±{noise:.3g} votes (standard deviation), on purpose."
    if isinstance(noise := figures.get("score_noise_sd"), float):
        said = f"each item's score is off by about ±{noise:.3g} (standard deviation), on purpose. "
        return said + NOISE_FOR.get(str(figures.get("score_noise_for")), "")
    return ""


def _is_share(release: Release) -> bool:
    """Whether scores are between 0 and 1."""
    return release.method == "win-rate" or (release.method == "bradley-terry" and release.scale is Scale.PROBABILITY)


def _remedy(privacy: Privacy) -> str:
    if privacy.unit is Unit.COMPARISON:
        return "More votes or a larger ε would help."
    if privacy.one_per_pair:
        return "More people, a larger ε, or a limit per person, if each was asked only some of the pairs, would help."
    return "More people, a larger ε or a smaller limit per person would help."


def _alternatives(release: Release) -> str:
    """What the other mechanisms would have cost, where there was a choice."""
    chosen, *others = release.mechanism.alternatives or ((release.mechanism.name, 0.0),)
    if not others:
        return ""
    costs = ", ".join(f"{name} ±{noise:.3g}" for name, noise in (chosen, *others))
    # What ball and Gaussian noise are compared by is more than their noise_sd: clipping takes from the votes as well.
    clips = release.privacy.unit is Unit.PERSON and not CLIPPING.isdisjoint(name for name, _ in (chosen, *others))
    clipped = ", relative to what a clip leaves of those of decided people" if clips else ""
    return (
        f" It is {chosen[0]} noise, the least of those that keep the promise (on counts, in votes{clipped}: {costs})."
    )


def _doubt(release: Release) -> str:
    """What noise alone could have made: the order of all items, or that within a tier; empty if there is no doubt.

    Where rank sets are known they have the last word: what they separate is not called noise.
    """
    if not _drowned(release):
        return ""
    tiers = [row.tier for row in release.ranking]
    # The rank sets of the perturbed MLE rest on what is assumed about the number of votes, which may be wrong.
    assumed = "noise_sd" not in dict(release.mechanism.figures)
    if release.certainty is None or None in tiers or assumed:
        return "all"
    low, high = ((row.rank_low or 0, row.rank_high or 0) for row in (release.ranking[0], release.ranking[-1]))
    if low == high:
        return "all"  # the sets of the first and of the last are the same: so are all between them
    return "tier" if len(set(tiers)) < len(tiers) else ""


def _drowned(release: Release) -> bool:
    """Whether noise alone could have made the differences between the items that are shown."""
    figures = dict(release.mechanism.figures)
    noise = figures.get("noise_sd", figures.get("score_noise_sd"))
    values = [row.score if row.net_wins is None else row.net_wins for row in release.ranking]
    if not isinstance(noise, float) or len(values) < 2:
        return False
    return typical_spread(values) < drowning(len(values), release.mechanism.name) * noise


def typical_spread(values: Sequence[float]) -> float:
    """1.4826 times the median distance from the median: the standard deviation of normal values, whatever a minority
    of them is. Of three values it takes the smaller gap, so that one item far above the others says nothing."""
    middle = median(values)
    return 1.4826 * median(abs(value - middle) for value in values)


def drowning(items: int, mechanism: str) -> float:
    """How many standard deviations of the noise the spread must exceed for an order to count as more than noise.

    Chosen so that fewer than one release of pure noise in ten thousand goes without a warning, while real differences
    of a few standard deviations do. For 2, 3, 6 and 20 items that takes 4.1, 3.8, 2.8 and 2.1 with Gaussian noise; the
    other tails are exponential: 9.7, 7.5, 3.7 and 2.0 with Laplace noise, and up to 9.6, 7.5, 5.1 and 3.1 with
    zonotope noise, whatever the askable pairs, if they are connected. tests/render/test_warning.py computes this from
    samples of u and the exact tail of r: noise is r·u with r and u independent.
    """
    return 2 + {"gaussian": 7, "zonotope": 22}.get(mechanism, 17) / items


def render_fit(fitted: NonPrivateFit) -> Group:
    """Exact scores with their standard errors, intervals and rank sets."""
    title = f"{len(fitted.items)} items by exact Bradley–Terry scores, ridge {fitted.fitted.ridge:g} (not private)"
    rows = fitted.rows()
    parts = [Text(title, style="bold"), *_fit_table(rows, fitted.view.scale), *_of_ties(fitted)]
    if fitted.standard_errors is not None:
        ranks = " and possible ranks" if "rank_low" in rows[0] else ""
        parts.append(Text(f"{fitted.error_kind} Intervals{ranks} at the level {fitted.level:g}."))
    if not fitted.comparable:
        parts.append(Text("Some items never met, directly or through others: compare scores within a component only."))
    return Group(*parts, *(Text(f"Note: {note}", style="dim") for note in fitted.notes))


def fit_columns(scale: Scale) -> dict[str, str]:
    """Heading of each column, and how it is made from a row; left out where the row does not have it."""
    heading, form = SCALES[scale]
    score, ends = (form, form) if scale is Scale.ELO else (".3f", ".2f" if scale is Scale.LOG_ODDS else ".3f")
    return {
        "rank": "{rank:d}",
        "item": "{item}",
        heading: f"{{score:{score}}}",
        "± standard error": f"{{standard_error:{'.1f' if scale is Scale.ELO else '.3f'}}}",
        "interval": f"{{score_low:{ends}}} to {{score_high:{ends}}}",
        "possible ranks": "{possible_ranks}",
        "tier": "{tier:d}",
        "component": "{component:d}",
    }


def _fit_table(rows: Sequence[dict[str, Any]], scale: Scale) -> list[Table | Text]:
    """The first rows, in the columns that they have."""
    table = FittingTable(box=box.SIMPLE_HEAD, keep=3)
    if "rank_low" in rows[0]:
        rows = [{**row, "possible_ranks": possible_ranks(row["rank_low"], row["rank_high"])} for row in rows]
    known = {
        heading: cell
        for heading, cell in fit_columns(scale).items()
        if all(name in rows[0] for _, name, _, _ in Formatter().parse(cell) if name)
    }
    for heading in known:
        table.add_column(heading, justify="left" if heading == "item" else "right", overflow="fold")
    for row in rows[:MOST_ROWS]:
        table.add_row(*(Text(visible(cell.format(**row))) for cell in known.values()))
    left_out = len(rows) - MOST_ROWS
    return [table, *([Text(f"… and {left_out} more; the CSV format shows all.", style="dim")] if left_out > 0 else [])]


def as_text(rendered: Group) -> str:
    """The page as plain text: up to 100 letters wide, or as the terminal, if that is narrower; where there is none, as
    wide as its tables."""
    stream = io.StringIO()
    known = shutil.get_terminal_size((0, 0)).columns
    width = min(known, PARAGRAPH) if known else width_of(rendered, PARAGRAPH)
    Console(file=stream, width=width, color_system=None).print(rendered)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def _table(rows: Sequence[dict[str, Any]]) -> list[Table | Text]:
    """The first rows, in the columns that they have."""
    names = [name for name in COLUMNS if rows[0].get(name) is not None]
    cells = [[visible(format(row[name], COLUMNS[name][1])) for name in names] for row in rows[:MOST_ROWS]]
    return [filled([COLUMNS[name][0] for name in names], cells, [False] * len(cells)), *_left_out(len(rows))]


def filled(headings: Sequence[str], cells: Sequence[Sequence[str]], ends: Sequence[bool]) -> Table:
    """Names on the left, numbers on the right; a rule after rows that end a section."""
    table = FittingTable(box=RULED, keep=4 if headings[0] == "group" else 3)
    for heading in headings:
        side: Literal["left", "right"] = "left" if heading in ("group", "item", "if items are") else "right"
        table.add_column(heading, justify=side, overflow="fold")
    for row, end in zip(cells, ends, strict=False):
        table.add_row(*map(Text, row), end_section=end)
    return table


def _left_out(rows: int) -> list[Text]:
    left_out = rows - MOST_ROWS
    return [Text(f"… and {left_out} more; the CSV format shows all.", style="dim")] if left_out > 0 else []
