"""A `BoardPlan` in, a picture of it out: errors over time, one line for each way to publish."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietrank.errors import QuietrankError, option
from quietrank.planning.board_result import BoardPrediction
from quietrank.planning.figure import FLOOR, write
from quietrank.planning.scoring import NO_PRIVACY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from quietrank.planning.board_result import BoardPlan

LINES: dict[str, dict[str, Any]] = {
    "weekly board": {"color": "#0072B2", "marker": "o"},
    "nightly board": {"color": "#009E73", "marker": "^"},
    "separate": {"color": "#D55E00", "marker": "s"},
    "one release": {"color": "#CC79A7", "marker": "D", "linestyle": ""},
    NO_PRIVACY: FLOOR,
}
"""Okabe and Ito's palette, and a marker for each."""
SHOWN: dict[str, Any] = {"color": "#999999", "linestyle": ":", "linewidth": 1.0}

Value = Callable[[BoardPrediction], float]


def draw(plan: BoardPlan, path: Path, *, overwrite: bool = True) -> None:
    """Write the figure, whole or not at all."""
    if not plan.curves:
        raise QuietrankError(f"this plan was made without curves; use {option('curves', True)} to draw it")
    write(lambda: _picture(plan), path, overwrite=overwrite)


def _picture(plan: BoardPlan) -> Figure:
    from matplotlib import pyplot

    picture, panels = pyplot.subplots(1, 2, figsize=(7.2, 3.4), sharex=True)
    values: list[tuple[str, Value]] = [
        ("mean error in rank", lambda one: one.rank_error),
        (f"top-{plan.question.top_k} error", lambda one: one.top_k_error),
    ]
    for panel, (label, value) in zip(panels, values, strict=True):
        _panel(panel, plan, value)
        panel.set(xlabel="day", ylabel=label)
        panel.set_ylim(bottom=0)
    handles, labels = panels[0].get_legend_handles_labels()
    picture.suptitle(_title(plan), fontsize=10)
    picture.legend(handles, labels, loc="outside lower center", ncols=3)
    return picture


def _panel(panel: Axes, plan: BoardPlan, value: Value) -> None:
    for way in dict.fromkeys(one.way for one in plan.curves):
        line = [one for one in plan.curves if one.way == way]
        panel.plot([one.day for one in line], [value(one) for one in line], label=way, markersize=4, **LINES[way])
    if plan.shown_from is not None:
        panel.axvline(plan.shown_from, label="ranks are shown", **SHOWN)
    panel.set_xscale("log")
    days = [one.day for one in plan.board]
    panel.set_xticks(days, [str(day) for day in days])
    panel.minorticks_off()


def _title(plan: BoardPlan) -> str:
    crowd = plan.question.crowd
    voting = f"{crowd.people} people, {crowd.votes_per_person:g} votes each ({crowd.habit})"
    return f"{plan.question.survey.items} items, {voting}"
