"""A `Release` or a `GroupedRelease` in, a figure out: items from the best to the last, intervals, rank sets, tiers.

`forest.py` draws; this module says what, in words and numbers. Exact values come in as plain numbers, for the data
holder's comparison only.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from quietrank.errors import ReleaseError
from quietrank.promise.arguments import file_path, parse
from quietrank.publish.files import PICTURE, check_output
from quietrank.publish.view import Scale
from quietrank.render.cells import PER_TIME_SHOWN
from quietrank.render.forest import PANELS_PER_BAND, Mark, Panel, Picture, Theme, draw, tier_edges
from quietrank.render.headline import percent
from quietrank.render.screen import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from quietrank.publish.grouped import GroupedRelease
    from quietrank.publish.release import Release, Row

ThemeWord = Theme | Literal["light", "dark"]
"""what callers may write: the word, or the member it stands for"""

Exact = Mapping[str, Mapping[str, float]]
"""confidential: for each group, or for "" where there are none, the exact score of each item"""

MOST_ROWS, MOST_GROUPS = 400, 60
"""more would be illegible: the first so many are shown"""
LONGEST_NAME = 30
NO_BREAK = "\u00a0"
"""a space at which no line ends"""

AS_DRAWN: dict[Any, Any] = {
    "figure.constrained_layout.use": False, "savefig.bbox": "standard", "savefig.facecolor": "auto",
    "savefig.transparent": False,
}  # fmt: skip
"""a reader's own settings must not change the page; the font is theirs"""
MISSING = "Glyph .* missing"
BOXES = (
    "some letters are not in the font and are drawn as boxes; write the figure as .svg, or set font.family in "
    "matplotlib's settings to a font that has them"
)

METHODS = {
    "net-wins": ("net wins", "net wins (votes)", 0.0),
    "wins": ("wins", "wins (votes)", None),
    "win-rate": ("win rate", "win rate", 0.5),
}
"""of each method but Bradley–Terry: its name in a sentence, its axis, and the score of an average item"""
SCALES = {
    Scale.LOG_ODDS: ("score (log-odds)", 0.0),
    Scale.ELO: ("score (Elo points)", None),
    Scale.PROBABILITY: ("chance to win against an average item", 0.5),
}
"""of Bradley–Terry scores: the axis, and the score of an average item"""


def figure_of(result: Release | GroupedRelease, theme: ThemeWord = "light") -> Figure:
    """The figure of a release."""
    return draw(_picture(result), parse(Theme, "theme", theme))


def comparison_of(result: Release | GroupedRelease, exact: Exact, theme: ThemeWord = "light") -> Figure:
    """The same figure with the exact values beside the private ones. CONFIDENTIAL: for the data holder only."""
    return draw(_confidential(_picture(result, exact), result), parse(Theme, "theme", theme))


def plot(
    result: Release | GroupedRelease, path: str | Path | None, theme: ThemeWord, *, overwrite: bool = False
) -> Figure:
    """The figure of a release, also written to the path if there is one, whole or not at all."""
    place = None if path is None else _picture_path(path)
    check_output(place, PICTURE, "path", overwrite=overwrite)
    figure = figure_of(result, theme)
    if place is not None:
        write(figure, place, overwrite=overwrite)
    return figure


def write(figure: Figure, path: Path, *, overwrite: bool = True) -> None:
    """Write a figure, whole or not at all; the same figure is the same file."""
    from matplotlib import rc_context

    from quietrank.render.style import STYLE, save

    with rc_context({**STYLE, **AS_DRAWN}), warnings.catch_warnings(record=True) as heard:
        warnings.filterwarnings("always", MISSING)
        save(figure, path, overwrite=overwrite)
    if heard and path.suffix.lower() != ".svg":  # which holds text, and leaves the font to its viewer
        warnings.warn(BOXES, stacklevel=2)


def _picture_path(path: str | Path) -> Path:
    place = file_path(path)
    if not place.name.lower().endswith(PICTURE.endings):
        raise ReleaseError(f"a figure is written as .png, .svg or .pdf; give its file such a name, not {place.name!r}")
    return place


# ---- from releases to marks ----


def _picture(result: Release | GroupedRelease, exact: Exact | None = None) -> Picture:
    from quietrank.publish.release import Release

    if isinstance(result, Release):
        return _single(result, exact or {})
    return _grouped(result, exact or {})


def _single(release: Release, exact: Exact) -> Picture:
    rows = release.ranking[:MOST_ROWS]
    left_out = [] if len(rows) == len(release) else [f"The first {len(rows)} of {len(release)} items are shown."]
    return Picture(
        title=f"{len(release)} items by {_method(release)}, {release.privacy.strength}{_with_level(release)}",
        labels=tuple((str(row.rank), label(row.item)) for row in rows),
        panels=(_panel("", release, [row.item for row in rows], exact.get("", {})),),
        headings=_headings(release),
        axis=_axis(release)[0],
        last_rank=_last_rank([rows]),
        notes=(*left_out, *_reading(release, tiers=True)),
        promise=visible(release.statement),
        reference=_axis(release)[1],
        tiers=tier_edges([row.tier for row in rows]),
    )


def _grouped(grouped: GroupedRelease, exact: Exact) -> Picture:
    """Small multiples: the same items in the same order in each, by their mean rank over the groups."""
    groups = grouped.releases[:MOST_GROUPS]
    shown = (*grouped.boards[: len(grouped) - len(grouped.releases)], *groups)
    first, items = shown[0][1], _by_mean_rank([release for _, release in groups])
    bands = -(-len(shown) // PANELS_PER_BAND)
    most = items[: max(MOST_ROWS // bands, 10)]
    left_out = [] if len(most) == len(items) else [f"The first {len(most)} of {len(items)} items are shown."]
    if len(shown) < len(grouped):
        left_out.append(f"The first {len(groups)} of {len(grouped.releases)} groups are shown.")
    order = "Items are in the order of their mean rank over these groups, which is the same in every panel."
    return Picture(
        title=f"{len(grouped.releases)} groups by {label(grouped.by)}, {len(items)} items by {_method(first)}, "
        f"{first.privacy.strength} for all together{_with_level(first)}",
        labels=tuple(("", label(item)) for item in most),
        panels=tuple(_panel(label(group), release, most, exact.get(group, {})) for group, release in shown),
        headings=("", ""),
        axis=_axis(first)[0],
        last_rank=_last_rank([release.ranking for _, release in shown]),
        notes=(*left_out, order, *_reading(first, tiers=False)),
        promise=visible(grouped.statement),
        reference=_axis(first)[1],
    )


def _by_mean_rank(releases: Sequence[Release]) -> list[str]:
    """All items, by their mean rank; one that a release does not show is counted after its last."""
    ranks = [{row.item: row.rank for row in release} for release in releases]
    items = list(dict.fromkeys(item for known in ranks for item in known))
    return sorted(items, key=lambda item: sum(known.get(item, len(known) + 1) for known in ranks))


def _panel(title: str, release: Release, items: Sequence[str], exact: Mapping[str, float]) -> Panel:
    rows, places = {row.item: row for row in release}, _exact_ranks(exact)
    marks = (
        None if item not in rows else _mark(rows[item], (exact[item], places[item]) if exact else None)
        for item in items
    )
    return Panel(title, tuple(marks))


def _mark(row: Row, exact: tuple[float, int] | None) -> Mark:
    scores = None if row.score_low is None or row.score_high is None else (row.score_low, row.score_high)
    ranks = None if row.rank_low is None or row.rank_high is None else (row.rank_low, row.rank_high)
    return Mark(row.score, row.rank, scores, ranks, exact)


def _exact_ranks(exact: Mapping[str, float]) -> dict[str, int]:
    import numpy as np

    from quietrank.publish.release import order

    names = tuple(exact)
    places = order(np.array([exact[name] for name in names]), names)
    return {names[k]: rank for rank, k in enumerate(places, 1)}


def _last_rank(rankings: Sequence[Sequence[Row]]) -> int:
    return max(int(row.rank_high or row.rank) for ranking in rankings for row in ranking)


# ---- the words ----


def label(name: str) -> str:
    """A name as it is shown: control characters written out, and the middle of a long one left out."""
    shown = visible(name)
    if _columns(shown) <= LONGEST_NAME:
        return shown
    return f"{_first_columns(shown, LONGEST_NAME * 2 // 3)}…{_first_columns(shown[::-1], LONGEST_NAME // 3 - 1)[::-1]}"


def _columns(text: str) -> int:
    """The width of a text, in letters: Chinese and Japanese ones count twice."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _first_columns(text: str, most: int) -> str:
    """As many letters as fit."""
    return next(text[:k] for k in range(min(most, len(text)), -1, -1) if _columns(text[:k]) <= most)


def _method(release: Release) -> str:
    if release.method == "bradley-terry":
        return "score" if release.set_size > 2 else "Bradley–Terry score"
    if release.method == "win-rate" and release.set_size > 2:
        return PER_TIME_SHOWN
    return METHODS[release.method][0] if release.method in METHODS else visible(release.method)


def _axis(release: Release) -> tuple[str, float | None]:
    """What the scores are, with their unit, and the score of an average item."""
    if release.method == "bradley-terry":
        return SCALES[release.scale]
    if release.method == "win-rate" and release.set_size > 2:
        return PER_TIME_SHOWN, 0.5
    return METHODS[release.method][1:] if release.method in METHODS else ("score", None)


def _level(release: Release) -> str:
    return "" if release.certainty is None else percent(release.certainty.level).replace(" ", NO_BREAK)


def _with_level(release: Release) -> str:
    return f", {_level(release)} intervals" if release.certainty is not None else ""


def _headings(release: Release) -> tuple[str, str]:
    """Above the scores and above the ranks."""
    if release.certainty is None:
        return "", ""
    return f"{_level(release)} interval", "possible ranks"


def _reading(release: Release, *, tiers: bool) -> list[str]:
    """How to read points, lines and rules."""
    if release.certainty is None:
        return ["There are no intervals; the notes of the release say why."]
    all_or_each = "all items together" if release.certainty.simultaneous else "each item by itself"
    rules = " A rule begins a tier, whose items cannot be told apart from its first." if tiers else ""
    return [f"Lines are intervals and possible ranks at {_level(release)} confidence, for {all_or_each}.{rules}"]


def _confidential(picture: Picture, result: Release | GroupedRelease) -> Picture:
    """The picture, marked as what it is; the promise, which exact values do not keep, is left out."""
    limited = result.privacy.max_per_person is not None or result.privacy.one_per_pair
    counts = picture.axis.endswith("(votes)")
    note = " Private counts are of votes limited per person, exact ones of all votes." if limited and counts else ""
    return replace(
        picture,
        warning="CONFIDENTIAL – do not publish",
        key=("● private", "◇ exact: same method, every vote, no noise"),
        notes=(
            f"For the data holder only: ε protects the private values, nothing the exact ones.{note}",
            *picture.notes,
        ),
        promise="",
    )
