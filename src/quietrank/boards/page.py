"""A board in; a figure of ranks over time, a page for readers, and a table of what changed out. All of it is public."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from quietrank.boards.history import Reading
from quietrank.estimate.methods import estimate
from quietrank.publish.release import Release, order
from quietrank.render.report import report
from quietrank.render.screen import visible
from quietrank.statistics.method import Method

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from quietrank.arrays import Floats
    from quietrank.boards.board import Board

MOST_DAYS, MOST_LINES = 60, 10
"""in a figure: the days lie evenly among all, and the items are the first of the latest board"""
TICKS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000)


def page(board: Board) -> str:
    """The latest board, its history and its promise, as one HTML page."""
    release = board.release()
    if not isinstance(release, Release) or board.days < 2:
        return report(release)
    terms = board.terms
    said = (
        f"Ranks of the first items, {terms.every} by {terms.every}; where ranks would be mostly noise there are none."
    )
    return report(release, history=(f"The last {board.days} {terms.every}s", said, history_svg(board)))


def ranks_over_time(board: Board) -> tuple[list[int], tuple[str, ...], Floats]:
    """Days, items, and the rank of each item on each of these days; NaN where it has none, or none is shown."""
    last = board.days
    days = sorted({int(day) for day in np.linspace(1, last, min(last, MOST_DAYS)).round()})
    shown = tuple(item for item in board.items if item not in board.log.retired)
    ranks = np.full((len(days), len(shown)), np.nan)
    for row, day in zip(ranks, days, strict=True):
        reading = Reading(board.log, day)
        if not reading.ranks_are_shown:
            continue
        tally = reading.tally()
        places = order(estimate(tally, Method.BRADLEY_TERRY).scores, tally.items.names)
        listed = [name for name in (tally.items.names[k] for k in places) if name not in board.log.retired]
        for rank, name in enumerate(listed, 1):
            row[shown.index(name)] = rank
    return days, shown, ranks


def history_figure(board: Board) -> Figure:
    """The ranks of the first items of the latest board, over time."""
    from matplotlib.figure import Figure

    days, items, ranks = ranks_over_time(board)
    now = np.where(np.isnan(ranks[-1]), np.inf, ranks[-1])
    first = [int(k) for k in np.argsort(now, kind="stable")[:MOST_LINES] if np.isfinite(now[k])]
    drawn = Figure(figsize=(8, 4.5), layout="constrained")
    axes = drawn.subplots()
    dates = [board.terms.last_day(day) for day in days]
    for k in first:
        (line,) = axes.plot(dates, ranks[:, k], marker="o", markersize=2.5, linewidth=1.4)  # type: ignore[arg-type]
        axes.annotate(
            visible(items[k]), (dates[-1], ranks[-1, k]), xytext=(6, 0),
            textcoords="offset points", va="center", fontsize=8, color=line.get_color(),
        )  # fmt: skip
    # On a logarithmic axis the first ranks have most of the room, and an item that came from far behind fits.
    lowest = float(np.nanmax(ranks[:, first], initial=2.0))
    ticks = [rank for rank in TICKS if rank <= lowest]
    axes.set(ylabel="rank", yscale="log", ylim=(1.1 * lowest, 0.9))
    axes.set_yticks(ticks, [str(rank) for rank in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    drawn.autofmt_xdate()
    return drawn


def history_svg(board: Board) -> str:
    """The same figure as a picture."""
    written = io.StringIO()
    history_figure(board).savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()
