"""A `Release` in, a picture for an HTML page out: each item's score as a dot, its interval as a line.

Labels are HTML, so that they wrap, shorten and turn around as text does; the picture beside them is SVG whose places
along the axis are per cent of its width, so that it fits any screen with letters of the same size. Colours come from
the page's style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from quietrank.render.cells import number, score_of
from quietrank.render.headline import percent
from quietrank.render.screen import visible

if TYPE_CHECKING:
    from quietrank.publish.release import Release, Row

ROW, FOOT = 26, 42
"""pixels per item, and for the axis below; report.css has the same height for labels"""

MOST_ITEMS = 60
"""in a picture; the table has all"""

BESIDE = 0.15
"""of the range of scores: so far an axis goes on beside them where pictures share it"""
MARGIN = 0.04
"""of the width, on either side"""


@dataclass(frozen=True)
class Axis:
    """From a score to a place on the picture."""

    low: float
    high: float

    @classmethod
    def of(cls, releases: Sequence[Release]) -> Axis:
        """Wide enough for everything in these releases: pictures side by side share an axis. Of several, intervals
        that go far beyond all scores are cut, for they would make dots of all others."""
        rows = [row for release in releases for row in release.ranking[:MOST_ITEMS]]
        values = [value for row in rows for value in (row.score, row.score_low, row.score_high) if value is not None]
        low, high = min(values), max(values)
        if len(releases) > 1:
            first, last = min(row.score for row in rows), max(row.score for row in rows)
            low, high = max(low, first - BESIDE * (last - first)), min(high, last + BESIDE * (last - first))
        return cls(low, high) if high > low else cls(low - 1, high + 1)

    def place(self, value: float) -> str:
        """Per cent of the width; what is beyond the axis is at the edge."""
        share = MARGIN + (1 - 2 * MARGIN) * (value - self.low) / (self.high - self.low)
        return f"{100 * min(max(share, 0.0), 1.0):.2f}%"

    def cuts(self, release: Release) -> bool:
        """Whether an interval goes on beyond the picture."""
        rows = release.ranking[:MOST_ITEMS]
        ends = [end for row in rows for end in (row.score_low, row.score_high) if end is not None]
        return any(self.place(end) in ("0.00%", "100.00%") for end in ends)

    def ticks(self) -> list[float]:
        """Round values along the axis, two to six of them."""
        step = self._step()
        first = math.ceil(self.low / step)
        return [step * k for k in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _step(self) -> float:
        """1, 2 or 5 times a power of ten, at least a fifth of the range."""
        least = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(least))
        return power * min(k for k in (1, 2, 5, 10) if k * power >= least * (1 - 1e-9))

    def tick_format(self) -> str:
        """As many decimals as tell the ticks apart."""
        step = self._step()
        return f".{max(0, -math.floor(math.log10(step) + 1e-9))}f"


def forest(release: Release, axis: Axis, key: str = "") -> str:
    """Labels and picture, side by side; `key` makes the ids unique on a page."""
    rows = release.ranking[:MOST_ITEMS]
    height = ROW * len(rows) + FOOT
    marks = "\n".join((*_grid(axis, ROW * len(rows)), *_tiers(rows), *(_mark(row, axis) for row in rows)))
    heading, _ = score_of(release)
    middle = f'<text class="axis" x="50%" y="{height - 6}" text-anchor="middle">{escape(heading)}</text>'
    return (
        f'<div class="forest">\n<ol class="labels" aria-hidden="true">\n{_labels(rows)}\n</ol>\n'
        f'<svg role="img" aria-labelledby="title{key} desc{key}" width="100%" height="{height}">\n'
        f'<title id="title{key}">{escape(title(release))}</title>\n<desc id="desc{key}">{escape(description(release))}'
        f"</desc>\n{marks}\n{middle}\n</svg>\n</div>"
    )


def title(release: Release) -> str:
    """What the picture shows."""
    shown = min(len(release), MOST_ITEMS)
    known = "" if release.certainty is None else f" with its {percent(release.certainty.level)} interval"
    return f"{score_of(release)[0]} of {shown} items{known}".capitalize()


def description(release: Release) -> str:
    """The picture in words; the table has the numbers."""
    rows = release.ranking[:MOST_ITEMS]
    _, form = score_of(release)
    best, last = rows[0], rows[-1]
    ends = f"from {visible(best.item)} at {number(best.score, form)} to {visible(last.item)} at "
    return f"One line per item, {ends}{number(last.score, form)}. The table below has all numbers."


def caption(release: Release, axis: Axis | None = None) -> str:
    """What dots and lines are."""
    more = len(release) - MOST_ITEMS
    cut = f" The first {MOST_ITEMS} of {len(release)} items; the table has all." if more > 0 else ""
    if release.certainty is None:
        return f"Each dot is an item.{cut}"
    together = "all together" if release.certainty.simultaneous else "each by itself"
    tiers = " Dotted lines separate tiers." if len({row.tier for row in release.ranking[:MOST_ITEMS]}) > 1 else ""
    beyond = " A bar that reaches the edge goes on." if axis is not None and axis.cuts(release) else ""
    return f"Dots are items, bars their {percent(release.certainty.level)} intervals, {together}.{tiers}{cut}{beyond}"


def _labels(rows: Sequence[Row]) -> str:
    return "\n".join(
        f'<li><span class="rank">{row.rank}</span> <bdi>{escape(visible(row.item))}</bdi></li>' for row in rows
    )


def _grid(axis: Axis, bottom: int) -> Iterator[str]:
    form = axis.tick_format()
    for tick in axis.ticks():
        x = axis.place(tick)
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{bottom}"/>'
        yield f'<text class="tick" x="{x}" y="{bottom + 15}" text-anchor="middle">{number(tick, form)}</text>'


def _tiers(rows: Sequence[Row]) -> Iterator[str]:
    """A line wherever a tier starts."""
    for k in range(1, len(rows)):
        if rows[k].tier != rows[k - 1].tier:
            yield f'<line class="tier" x1="0" x2="100%" y1="{ROW * k}" y2="{ROW * k}"/>'


def _mark(row: Row, axis: Axis) -> str:
    y = ROW * row.rank - ROW // 2
    dot = f'<circle class="dot" cx="{axis.place(row.score)}" cy="{y}" r="4.5"/>'
    if row.score_low is None or row.score_high is None:
        return dot
    ends = f'x1="{axis.place(row.score_low)}" x2="{axis.place(row.score_high)}"'
    return f'<line class="interval" {ends} y1="{y}" y2="{y}"/>{dot}'
