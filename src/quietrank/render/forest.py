"""A `Picture` in, a matplotlib `Figure` out: rows of items with points and intervals, and rank sets beside them.

Sizes are inches, from the top of the page down. Nothing here knows what a release is.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

from quietrank.render.style import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Theme(StrEnum):
    """What the figure is shown on."""

    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True)
class Colours:
    """The colours of a theme; marks are from Okabe and Ito's palette."""

    page: str
    text: str
    small_print: str
    grid: str
    rule: str
    mark: str
    exact: str


COLOURS = {
    Theme.LIGHT: Colours("#ffffff", "#1f1f1f", "#595959", "#ececec", "#a3a3a3", "#0072B2", "#D55E00"),
    Theme.DARK: Colours("#16191d", "#ececec", "#b4b4b4", "#2b2f35", "#747474", "#56B4E9", "#E69F00"),
}


@dataclass(frozen=True)
class RowSize:
    """How much room an item has: the height of its row, and the sizes of type, point and line in points."""

    height: float
    type: float
    point: float
    line: float


ROW_SIZES = ((25, RowSize(0.25, 9, 5.5, 1.8)), (60, RowSize(0.18, 7.5, 4.2, 1.4)), (0, RowSize(0.115, 5.6, 2.8, 1.0)))
"""up to so many items; 0 is any number"""

MARGIN, WITHIN, BETWEEN = 0.18, 0.22, 0.45
"""around the page, between scores and ranks, and between panels"""
TITLE_LINE, KEY_LINE, WARNING_LINE, NOTE_LINE = 0.2, 0.22, 0.45, 0.135
"""the heights of lines"""
BELOW_ROWS = 0.55
"""room for ticks and the name of the axis"""
WIDE, NARROW = (3.6, 1.4), (1.75, 0.85)
"""the widths of points and rank sets: for one ranking, and for each of several"""
PANELS_PER_BAND = 3
TALL = 30
"""with more items the axis is repeated at the top"""
TITLE, HEADING, TICK, SMALL_PRINT, WARNING = 10.5, 8.0, 7.5, 6.5, 20.0
"""sizes of type in points"""


BESIDE = 0.15
"""of the range of points: so far an axis goes on beside them where panels share it"""
GOES_ON = "An arrow at the edge means that the interval goes on."


@dataclass(frozen=True)
class Mark:
    """One item in one ranking; an end that is not known is None."""

    score: float
    rank: int
    score_ends: tuple[float, float] | None = None
    rank_ends: tuple[int, int] | None = None
    exact: tuple[float, int] | None = None
    """the confidential score and rank, for the data holder only"""


@dataclass(frozen=True)
class Panel:
    """One ranking: a mark for each item of the picture, or None where the ranking does not show it."""

    title: str
    marks: tuple[Mark | None, ...]

    @property
    def known(self) -> list[tuple[int, Mark]]:
        """The marks that are there, with their rows."""
        return [(place, mark) for place, mark in enumerate(self.marks) if mark is not None]


@dataclass(frozen=True)
class Picture:
    """What is drawn, in words and numbers."""

    title: str
    labels: tuple[tuple[str, str], ...]
    """the rank, if items have one, and the name of each item, from the top down"""
    panels: tuple[Panel, ...]
    headings: tuple[str, str]
    """above the scores and above the ranks"""
    axis: str
    """what the scores are, and their unit"""
    last_rank: int
    notes: tuple[str, ...]
    promise: str
    """the last of the small print"""
    reference: float | None = None
    """a score to compare with, such as that of an average item"""
    tiers: tuple[int, ...] = ()
    """the rows before which a tier begins"""
    warning: str = ""
    """in large type at the top"""
    key: tuple[str, str] | None = None
    """what the marks in the first and in the second colour are"""


def draw(picture: Picture, theme: Theme) -> Figure:
    """The figure; it is not written anywhere, and no window opens."""
    from matplotlib import rc_context

    with rc_context(_settings(COLOURS[theme])), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # whoever writes the figure hears of it
        return _Page(picture, COLOURS[theme]).drawn()


def _settings(colours: Colours) -> dict[Any, Any]:
    return {
        **STYLE,
        "figure.constrained_layout.use": False,
        "figure.facecolor": colours.page,
        "axes.facecolor": "none",
        "axes.axisbelow": True,
        "grid.color": colours.grid,
        "text.color": colours.text,
        "text.parse_math": False,  # a name with $ or _ is a name
        "text.usetex": False,
    }


class _Page:
    """Draws a picture on a page of the size that it needs."""

    def __init__(self, picture: Picture, colours: Colours) -> None:
        self.picture, self.colours = picture, colours
        self.row = next(size for most, size in ROW_SIZES if len(picture.labels) <= most or not most)
        self.is_tall = len(picture.labels) > TALL
        self.bands = list(_bands(picture.panels))
        self.rows_height = len(picture.labels) * self.row.height

    def drawn(self) -> Figure:
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=(self.width, self.height))
        self._fill()
        return self.figure

    # ---- sizes ----

    @cached_property
    def rank_width(self) -> float:
        widest = max(_width(rank, self.row.type) for rank, _ in self.picture.labels)
        return widest + 0.1 if widest else 0.0

    @cached_property
    def label_width(self) -> float:
        return self.rank_width + max(_width(name, self.row.type) for _, name in self.picture.labels) + 0.25

    @cached_property
    def panel_widths(self) -> tuple[float, float]:
        """Of the scores and of the ranks; scores take all of it where no rank sets are known."""
        scores, ranks = WIDE if self._is_alone else NARROW
        return (scores, ranks) if any(mark.rank_ends is not None for mark in self._marks) else (scores + ranks, 0.0)

    @property
    def panel_width(self) -> float:
        return sum(self.panel_widths) + WITHIN

    def band_width(self, panels: Sequence[Panel]) -> float:
        return self.label_width + len(panels) * self.panel_width + (len(panels) - 1) * BETWEEN

    @cached_property
    def width(self) -> float:
        return 2 * MARGIN + self.band_width(self.bands[0])

    @cached_property
    def title(self) -> list[str]:
        return _wrapped(self.picture.title, self.width - 2 * MARGIN, TITLE, bold=True)

    @cached_property
    def notes(self) -> list[str]:
        room, notes = self.width - 2 * MARGIN, [*self.picture.notes, self.picture.promise]
        if any(self._goes_on(mark, side) for mark in self._marks for side in (0, 1)):
            notes.insert(-1, GOES_ON)
        return [line for note in notes for line in _wrapped(note, room, SMALL_PRINT)]

    @cached_property
    def above_rows(self) -> float:
        """Room for the title of a panel, or for its headings, and for the axis if it is repeated."""
        is_headed = any([*self.picture.headings, *(panel.title for panel in self.picture.panels)])
        return (0.28 if is_headed else 0.1) + (0.2 if self.is_tall else 0.0)

    @cached_property
    def band_height(self) -> float:
        return self.above_rows + self.rows_height + BELOW_ROWS

    @cached_property
    def height(self) -> float:
        return self._head_height() + len(self.bands) * self.band_height + NOTE_LINE * len(self.notes) + MARGIN

    def _head_height(self) -> float:
        lines = (WARNING_LINE if self.picture.warning else 0.0) + (KEY_LINE if self.picture.key else 0.0)
        return MARGIN + lines + TITLE_LINE * len(self.title) + 0.1

    # ---- the page from the top down ----

    def _fill(self) -> None:
        self._head()
        top = self._head_height()
        for band in self.bands:
            self._band(band, top + self.above_rows)
            top += self.band_height
        for k, line in enumerate(self.notes):
            self._write(MARGIN, top + NOTE_LINE * k, line, SMALL_PRINT, self.colours.small_print)

    def _head(self) -> None:
        """The warning, the title and the key."""
        top = MARGIN
        if self.picture.warning:
            size = WARNING * min(1.0, (self.width - 2 * MARGIN) / _width(self.picture.warning, WARNING, bold=True))
            self._write(MARGIN, top, self.picture.warning, size, self.colours.exact, weight="bold")
            top += WARNING_LINE
        for line in self.title:
            self._write(MARGIN, top, line, TITLE, self.colours.text, weight="bold")
            top += TITLE_LINE
        if self.picture.key is not None:
            self._key(self.picture.key, top + 0.04)

    def _key(self, key: tuple[str, str], top: float) -> None:
        left = MARGIN
        for words, colour in zip(key, (self.colours.mark, self.colours.exact), strict=True):
            self._write(left, top, words, HEADING, colour)
            left += _width(words, HEADING) + BETWEEN

    def _band(self, panels: Sequence[Panel], top: float) -> None:
        self._labels(panels, top)
        for k, panel in enumerate(panels):
            self._panel(panel, MARGIN + self.label_width + k * (self.panel_width + BETWEEN), top)

    def _labels(self, panels: Sequence[Panel], top: float) -> None:
        """Names at the left, and rules between tiers across the whole width."""
        width = self.band_width(panels)
        axes = self._axes(MARGIN, top, width)
        axes.axis("off")
        axes.set_zorder(1)  # rules lie over the grid
        axes.set_xlim(0, width)
        for place, (rank, name) in enumerate(self.picture.labels):
            style: dict[str, Any] = {"fontsize": self.row.type, "va": "center_baseline"}
            axes.text(self.rank_width - 0.1, place, rank, ha="right", color=self.colours.small_print, **style)
            axes.text(self.rank_width, place, name, ha="left", **style)
        edges = [place - 0.5 for place in self.picture.tiers]
        axes.hlines(edges, 0, width, colors=self.colours.rule, linewidth=0.6, label="tiers")

    def _panel(self, panel: Panel, left: float, top: float) -> None:
        heading = top - self.above_rows + 0.07
        self._write(left, heading, panel.title, HEADING + 0.5, self.colours.text, weight="bold")
        scores_width, ranks_width = self.panel_widths
        self._scores(self._axes(left, top, scores_width), panel)
        self._write(left, heading, self.picture.headings[0], HEADING, self.colours.small_print)
        if ranks_width:
            left += scores_width + WITHIN
            self._ranks(self._axes(left, top, ranks_width), panel)
            self._write(left, heading, self.picture.headings[1], HEADING, self.colours.small_print)

    # ---- one panel ----

    @property
    def _is_alone(self) -> bool:
        return len(self.picture.panels) == 1

    def _scores(self, axes: Axes, panel: Panel) -> None:
        from matplotlib.ticker import MaxNLocator, ScalarFormatter

        axes.set_xlim(*self.score_limits)
        axes.set_xlabel(self.picture.axis, fontsize=HEADING)
        axes.xaxis.set_major_locator(MaxNLocator(7 if self._is_alone else 4, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(_plain(ScalarFormatter(useOffset=False)))
        if self.picture.reference is not None:
            axes.axvline(self.picture.reference, color=self.colours.rule, linewidth=0.8)
        self._guides(axes)
        self._lines(axes, [(place, mark.score_ends) for place, mark in panel.known], "intervals")
        self._arrows(axes, panel)
        self._points(axes, [(place, mark.score) for place, mark in panel.known])
        self._exact(axes, [(place, mark.exact[0]) for place, mark in panel.known if mark.exact is not None])

    def _ranks(self, axes: Axes, panel: Panel) -> None:
        last = self.picture.last_rank
        axes.set_xlim(1 - 0.06 * last, last * 1.06)
        axes.set_xlabel("rank", fontsize=HEADING)
        axes.set_xticks(rank_ticks(last, 6 if self._is_alone else 4))
        self._guides(axes)
        self._lines(axes, [(place, mark.rank_ends) for place, mark in panel.known], "rank sets")
        self._points(axes, [(place, mark.rank) for place, mark in panel.known])
        self._exact(axes, [(place, mark.exact[1]) for place, mark in panel.known if mark.exact is not None])

    def _lines(self, axes: Axes, ends: Sequence[tuple[int, tuple[float, float] | None]], label: str) -> None:
        known = [(place, *both) for place, both in ends if both is not None]
        places, lows, highs = ([row[k] for row in known] for k in range(3))
        axes.hlines(places, lows, highs, colors=self.colours.mark, linewidth=self.row.line, label=label, zorder=2)

    def _arrows(self, axes: Axes, panel: Panel) -> None:
        """At the edges that intervals go beyond."""
        edges = zip(self.score_limits, ("<", ">"), strict=True)
        for side, (edge, marker) in enumerate(edges):
            places = [place for place, mark in panel.known if self._goes_on(mark, side)]
            if places:
                axes.plot(
                    [edge] * len(places), places, marker, color=self.colours.mark, markersize=self.row.point,
                    label="arrows", linestyle="none", zorder=3, clip_on=False,
                )  # fmt: skip

    def _goes_on(self, mark: Mark, side: int) -> bool:
        """Whether the interval goes beyond the left (0) or the right (1) edge."""
        if mark.score_ends is None:
            return False
        end, edge = mark.score_ends[side], self.score_limits[side]
        return end > edge if side else end < edge

    def _points(self, axes: Axes, points: Sequence[tuple[int, float]]) -> None:
        axes.plot(
            [x for _, x in points], [place for place, _ in points], "o", color=self.colours.mark,
            markersize=self.row.point, label="points", zorder=3, clip_on=False,
        )  # fmt: skip

    def _exact(self, axes: Axes, points: Sequence[tuple[int, float]]) -> None:
        if points:
            axes.plot(
                [x for _, x in points], [place for place, _ in points], "D", color=self.colours.exact,
                markerfacecolor="none", markersize=self.row.point * 1.45, markeredgewidth=self.row.line * 0.7,
                label="exact", zorder=4, clip_on=False,
            )  # fmt: skip

    @cached_property
    def score_limits(self) -> tuple[float, float]:
        """Of the axis that all panels share: all points, and of several panels what is near them, for one wide interval
        would make dots of all others."""
        points = [mark.score for mark in self._marks]
        points += [mark.exact[0] for mark in self._marks if mark.exact is not None]
        ends = [end for mark in self._marks if mark.score_ends is not None for end in mark.score_ends]
        low, high = _range([*points, *ends])
        if not self._is_alone:
            first, last = _range(points)
            low, high = max(low, first - BESIDE * (last - first)), min(high, last + BESIDE * (last - first))
        room = 0.04 * (high - low) or max(abs(high), 1.0)
        return low - room, high + room

    @property
    def _marks(self) -> list[Mark]:
        return [mark for panel in self.picture.panels for _, mark in panel.known]

    # ---- the page's own coordinates ----

    def _axes(self, left: float, top: float, width: float) -> Axes:
        """Axes over the rows of a band: row 0 at the top."""
        below = self.height - top - self.rows_height
        inches = (left / self.width, below / self.height, width / self.width, self.rows_height / self.height)
        axes = self.figure.add_axes(inches)
        axes.set_ylim(len(self.picture.labels) - 0.5, -0.5)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.spines["bottom"].set_color(self.colours.rule)
        axes.tick_params(
            axis="x", labelsize=TICK, length=2.5, color=self.colours.rule, labelcolor=self.colours.text,
            labeltop=self.is_tall,
        )  # fmt: skip
        axes.xaxis.label.set_color(self.colours.text)
        return axes

    def _guides(self, axes: Axes) -> None:
        """Where there are many rows, a faint line through each, for the eye to follow."""
        if self.is_tall:
            rows, across = range(len(self.picture.labels)), axes.get_yaxis_transform()
            axes.hlines(rows, 0, 1, transform=across, colors=self.colours.grid, linewidth=0.5, zorder=0.5)

    def _write(self, left: float, top: float, words: str, size: float, colour: str, **more: Any) -> None:
        if words:
            x, y = left / self.width, 1 - top / self.height
            self.figure.text(x, y, words, fontsize=size, color=colour, ha="left", va="top", **more)


def _bands(panels: Sequence[Panel]) -> Iterator[Sequence[Panel]]:
    """Panels, a few side by side."""
    for first in range(0, len(panels), PANELS_PER_BAND):
        yield panels[first : first + PANELS_PER_BAND]


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(filter(isfinite, values)), max(filter(isfinite, values))


def _plain(formatter: Any) -> Any:
    formatter.set_scientific(False)
    return formatter


def rank_ticks(last: int, most: int) -> list[int]:
    """Round ranks from 1 on, about as many as asked for."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, last) if last <= most * step)
    if step < 5:
        return list(range(1, last + 1, step))
    return [1, *range(step, last + 1, step)]


def tier_edges(tiers: Sequence[int | None]) -> tuple[int, ...]:
    """The rows before which another tier begins."""
    return tuple(place for place, (above, below) in enumerate(pairwise(tiers), 1) if above != below)


def _width(words: str, size: float, *, bold: bool = False) -> float:
    """How wide the words are, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    return float(text_to_path.get_text_width_height_descent(words, font, ismath=False)[0]) / 72


def _wrapped(words: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """The words in as few lines as the width needs, of about the same length."""
    letters = max(int(len(words) * width / max(_width(words, size, bold=bold), 0.01) * 0.97), 20)
    lines = textwrap.wrap(words, letters)
    while letters > 20 and len(fewer := textwrap.wrap(words, letters - 1)) == len(lines):
        letters, lines = letters - 1, fewer
    return lines
