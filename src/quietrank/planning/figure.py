"""A `Plan` in, a picture of it out: each error against ε, one line per mechanism, and what remains without privacy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietrank.errors import QuietrankError, option
from quietrank.planning.forecast import Prediction
from quietrank.promise.privacy import Unit, plain_number
from quietrank.publish.files import PICTURE, check_output
from quietrank.render.style import STYLE, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from quietrank.planning.result import Plan

COLOURS = {
    "laplace": ("#0072B2", "o"),
    "zonotope": ("#D55E00", "s"),
    "ball": ("#CC79A7", "D"),
    "gaussian": ("#009E73", "^"),
}
"""Okabe and Ito's palette, and a marker for each."""
FLOOR: dict[str, Any] = {"color": "#555555", "linestyle": "--", "linewidth": 1.0}


def draw(plan: Plan, path: Path, *, overwrite: bool = True) -> None:
    """Write the figure, whole or not at all."""
    check_output(path, PICTURE, "path", overwrite=overwrite)
    if not plan.curves:
        raise QuietrankError(f"this plan was made without curves; use {option('curves', True)} to draw it")
    write(lambda: _picture(plan), path, overwrite=overwrite)


def write(picture: Callable[[], Figure], path: Path, *, overwrite: bool = True) -> None:
    """Draw a picture in our style, and write it."""
    from matplotlib import pyplot, rc_context

    check_output(path, PICTURE, "path", overwrite=overwrite)
    pyplot.switch_backend("Agg")
    with rc_context(STYLE):
        drawn = picture()
        try:
            save(drawn, path, overwrite=overwrite)
        finally:
            pyplot.close(drawn)


def _picture(plan: Plan) -> Figure:
    from matplotlib import pyplot

    picture, panels = pyplot.subplots(2, 2, figsize=(7.2, 5.2), sharex=True)
    for panel, (label, value, limit) in zip(panels.flat, _panels(plan), strict=True):
        _panel(panel, plan, value)
        panel.set(ylabel=label)
        panel.set_ylim(0, limit)
    _ticks(panels.flat[0], plan)
    for panel in panels[1]:
        panel.set_xlabel("ε (smaller is more private)")
    picture.align_ylabels()
    picture.suptitle(_title(plan), fontsize=10)
    handles, labels = panels.flat[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return picture


Value = Callable[[Prediction], float]


def _panels(plan: Plan) -> list[tuple[str, Value, float | None]]:
    question = plan.question
    scale = "error of scores (log-odds)" if question.method == "bradley-terry" else "error of win rates"
    widest = max(one.score_error for one in plan.curves)
    rates = None if question.method == "bradley-terry" else min(0.5, 1.05 * widest)
    return [
        (f"top-{question.top_k} error", lambda one: one.top_k_error, None),
        ("mean error in rank", lambda one: one.rank_error, None),
        ("P(the winner is right)", lambda one: one.winner, 1.0),
        (scale, lambda one: one.score_error, rates),
    ]


def _panel(panel: Axes, plan: Plan, value: Value) -> None:
    for name in dict.fromkeys(one.mechanism for one in plan.curves):
        colour, marker = COLOURS[name]
        curve = [one for one in plan.curves if one.mechanism == name]
        panel.plot([one.epsilon for one in curve], [value(one) for one in curve], color=colour, label=_label(curve[0]))
        dots = [one for one in plan.predictions if one.mechanism == name and one.people == plan.question.survey.people]
        panel.plot([one.epsilon for one in dots], [value(one) for one in dots], marker, color=colour, markersize=5)
    panel.axhline(value(plan.without_privacy), label="without privacy", **FLOOR)
    panel.set_xscale("log")


def _label(one: Prediction) -> str:
    return f"{one.mechanism} (δ = {plain_number(one.delta)})" if one.delta > 0 else one.mechanism


def _ticks(panel: Axes, plan: Plan) -> None:
    """Round values of ε."""
    from matplotlib.ticker import NullFormatter, NullLocator

    low, high = min(one.epsilon for one in plan.curves), max(one.epsilon for one in plan.curves)
    round_ones = [step * 10.0**power for power in range(-4, 3) for step in (1, 2, 5)]
    ticks = [value for value in round_ones if low <= value <= high]
    panel.set_xticks(ticks, [plain_number(value) for value in ticks])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_minor_formatter(NullFormatter())


def _title(plan: Plan) -> str:
    survey, privacy = plan.question.survey, plan.question.privacy
    if privacy.unit is Unit.COMPARISON:
        return f"{survey.items} items, {survey.votes} votes; privacy per comparison"
    return f"{survey.items} items, {survey.people} people, {survey.per_person} pairs each; privacy per person"
