"""A figure's name and the rows of means in; a picture of it, as PNG and SVG, out.

Small multiples: one panel per measure and per ε (or p, or m), so that a panel holds one curve per method. A method has
the same colour (Okabe and Ito's palette), marker and line in every figure; bands are ±2 standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from quietrank.paper.phase import Setting
from quietrank.paper.run import Row
from quietrank.paper.summary import METHOD_NAMES, METRIC_NAMES, PERSON_PROMISE, gap, name, phase_curves
from quietrank.render.style import STYLE, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Look:
    """How a method is drawn."""

    colour: str
    marker: str
    line: Literal["-", "--", "-.", ":"]
    width: float = 1.4
    size: float = 3.5

    def style(self) -> dict[str, Any]:
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.line,
            "linewidth": self.width,
            "markersize": self.size,
            "markerfacecolor": "none" if self.size > 5 else self.colour,
        }


LOOKS = {
    "perturbed_mle": Look("#D55E00", "s", "-"),
    "noisy_counts": Look("#56B4E9", "^", "--", size=6.5),  # large and hollow: visible even under another curve
    "noisy_counts_right": Look("#0072B2", "v", "--"),
    "one_shot": Look("#CC79A7", "D", "-."),
    "ours": Look("#009E73", "o", "-", 2.0),
    "net_wins_laplace": Look("#000000", "x", ":", 1.2),
    "net_wins_zonotope": Look("#E69F00", "D", "-."),
    "non_private": Look("#E69F00", "X", "-"),
}
PHASE_LINES: tuple[Literal[":", "--", "-"], ...] = (":", "--", "-")
SHADES = ("#0072B2", "#D55E00", "#009E73")
ERRORS = ("log_rel_l2", "log_rel_linf", "topk_error")
PERSON_FIGURES = ("5", "6", "7", "8")
SMALL = {**STYLE, "font.size": 8}
"""the experiments' figures have many panels"""


def draw(figure: str, rows: Iterable[Row], out: Path) -> list[Path]:
    """Draw one figure from the rows that belong to it; no rows, no picture."""
    from matplotlib import rc_context

    own = [row for row in rows if row.experiment == figure]
    if not own:
        return []
    with rc_context(SMALL):
        return _save(picture(figure, own), out / f"figure-{figure}")


def picture(figure: str, rows: list[Row]) -> Figure:
    """The figure of these rows, which are its own."""
    import matplotlib

    matplotlib.use("Agg")
    return _DRAW[figure](rows)


def _save(picture: Figure, stem: Path) -> list[Path]:
    from matplotlib import pyplot

    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    save(picture, paths[0])
    picture.set_layout_engine("none")  # laid out once is enough
    save(picture, paths[1])
    pyplot.close(picture)
    return paths


Value = Callable[[Row], Any]


def _grid(rows: list[Row], metrics: Sequence[str], facet: Value, facet_name: str, x: Value, x_name: str) -> Figure:
    """Measures down, facets across, one curve per method in each panel."""
    from matplotlib import pyplot

    facets = sorted({facet(row) for row in rows})
    size = (1.2 + 1.75 * len(facets), 0.9 + 1.75 * len(metrics))
    picture, panels = pyplot.subplots(len(metrics), len(facets), figsize=size, sharex=True, sharey="row", squeeze=False)
    for across, metric in zip(panels, metrics, strict=True):
        for panel, value in zip(across, facets, strict=True):
            _curves(panel, [row for row in rows if row.metric == metric and facet(row) == value], x)
        across[0].set_ylabel(METRIC_NAMES[metric])
    for panel, value in zip(panels[0], facets, strict=True):
        panel.set_title(f"{facet_name} = {_number(value)}", fontsize=9)
    for panel in panels[-1]:
        panel.set_xlabel(x_name)
    _legend(picture, rows)
    return picture


def _number(value: float) -> str:
    return "∞ (no privacy)" if isinf(value) else f"{value:g}"


def _curves(panel: Axes, rows: list[Row], x: Value) -> None:
    for method in [method for method in LOOKS if any(row.method == method for row in rows)]:
        curve = sorted((row for row in rows if row.method == method), key=x)
        finite = [row for row in curve if not isinf(x(row))]
        _curve(panel, method, [x(row) for row in finite], finite)
        for row in curve:
            if isinf(x(row)):  # no privacy: a level to approach
                panel.axhline(row.mean, color=LOOKS[method].colour, linestyle=":", linewidth=0.9)


def _curve(panel: Axes, method: str, x: list[float], rows: list[Row]) -> None:
    look = LOOKS[method]
    mean = np.array([row.mean for row in rows])
    error = np.nan_to_num(np.array([row.standard_error for row in rows]))
    panel.fill_between(x, mean - 2 * error, mean + 2 * error, color=look.colour, alpha=0.25, linewidth=0)
    panel.plot(x, mean, **look.style())


def _legend(picture: Figure, rows: list[Row], extra: Sequence[Any] = ()) -> None:
    from matplotlib.lines import Line2D

    person = rows[0].experiment in PERSON_FIGURES
    methods = [method for method in METHOD_NAMES if any(row.method == method for row in rows)]
    handles = [Line2D([], [], label=name(method, person), **LOOKS[method].style()) for method in methods]
    title = PERSON_PROMISE if person else None
    columns = 2 if len(handles) > 3 else 3
    picture.legend(handles=[*handles, *extra], loc="outside upper center", ncols=columns, title=title)


def _by_size(x: Value, x_name: str) -> Callable[[list[Row]], Figure]:
    return lambda rows: _grid(rows, ERRORS, lambda r: r.epsilon, "ε", x, x_name)


def _no_privacy_note() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color="#777777", linestyle=":", linewidth=0.9, label="same method without privacy")


def _by_epsilon(facet: Value, facet_name: str) -> Callable[[list[Row]], Figure]:
    def figure(rows: list[Row]) -> Figure:
        picture = _grid(rows, ERRORS, facet, facet_name, lambda r: r.epsilon, "privacy ε")
        picture.axes[0].set_xscale("log")
        _epsilon_ticks(picture.axes, rows)
        return picture

    return figure


def _epsilon_ticks(panels: Sequence[Axes], rows: list[Row]) -> None:
    from matplotlib.ticker import NullLocator

    values = {row.epsilon for row in rows}
    ticks = [e for e in (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 5, 10) if min(values) <= e and e in values]
    for panel in panels:
        panel.set_xscale("log")
        panel.set_xticks(ticks, [f"{e:g}" for e in ticks])
        panel.xaxis.set_minor_locator(NullLocator())


def _figure_4(rows: list[Row]) -> Figure:
    """Top-k error against n at three ε, and against ε at n = 350."""
    from matplotlib import pyplot

    picture, panels = pyplot.subplots(1, 4, figsize=(8.2, 2.9), sharey=True)
    top = [row for row in rows if row.metric == "topk_error"]
    levels = [e for e in (0.1, 2.0, float("inf")) if any(row.epsilon == e for row in top)]
    for panel, epsilon in zip(panels, levels, strict=False):
        _curves(panel, [row for row in top if row.epsilon == epsilon], lambda r: r.n)
        panel.set(title=f"ε = {_number(epsilon)}", xlabel="number of items n")
    last = [row for row in top if row.n == 350]
    _curves(panels[-1], last, lambda r: r.epsilon)
    _epsilon_ticks([panels[-1]], last)
    panels[-1].set(title="n = 350", xlabel="privacy ε")
    panels[0].set(ylabel=METRIC_NAMES["topk_error"], ylim=(-0.02, 0.85))
    for panel in panels:
        panel.axhline(0.75, color="#999999", linewidth=0.7)
    panels[0].text(0.98, 0.77, "guessing", color="#666666", ha="right", transform=panels[0].get_yaxis_transform())
    _legend(picture, rows, [_no_privacy_note()])
    return picture


def _figure_8(rows: list[Row]) -> Figure:
    from matplotlib import pyplot

    rows = [row for row in rows if row.metric == "rank_difference"]
    data = sorted({row.data for row in rows})
    picture, panels = pyplot.subplots(1, len(data), figsize=(7.2, 3.4), sharey=True, squeeze=False)
    for panel, which in zip(panels[0], data, strict=True):
        own = [row for row in rows if row.data == which]
        _curves(panel, own, lambda r: r.epsilon)
        panel.set(title=f"{which}: {own[0].m} people, {own[0].n} items", xlabel="privacy ε")
    _epsilon_ticks(panels[0], rows)
    panels[0][0].set(ylabel="mean difference in rank\nfrom the same method without privacy", ylim=(-0.03, None))
    _legend(picture, rows)
    return picture


def _figure_phase(rows: list[Row]) -> Figure:
    """Rows: the two units. Left: gap in units of the minimax rate; right: with the constants of the mechanism."""
    from matplotlib import pyplot

    picture, panels = pyplot.subplots(2, 2, figsize=(7.2, 5.6), sharey=True)
    for across, unit in zip(panels, ("comparison", "person"), strict=True):
        curves = {s: curve for s, curve in phase_curves(rows).items() if bool(s.m) == (unit == "person")}
        for panel, published in zip(across, (True, False), strict=True):
            _phase_panel(panel, curves, published)
        across[0].set(ylabel=f"P(top k recovered)\nunit {unit}", xlabel="gap ÷ minimax rate (no constants)")
        across[1].set(xlabel="gap ÷ threshold with the mechanism's constants")
        across[1].legend(fontsize=6.5, loc="upper left")
    return picture


def _phase_panel(panel: Axes, curves: dict[Setting, list[Row]], published: bool) -> None:
    sizes, levels = sorted({s.n for s in curves}), sorted({s.epsilon for s in curves})
    for setting, curve in curves.items():
        colour, line = SHADES[levels.index(setting.epsilon)], PHASE_LINES[sizes.index(setting.n)]
        unit = setting.sharp / setting.published if published else 1.0
        x, mean = [unit * gap(row) for row in curve], np.array([row.mean for row in curve])
        error = np.nan_to_num(np.array([row.standard_error for row in curve]))
        panel.fill_between(x, mean - error, mean + error, color=colour, alpha=0.12, linewidth=0)
        panel.plot(x, mean, color=colour, linestyle=line, label=f"n = {setting.n}, ε = {setting.epsilon:g}")


def _divided(row: Row, by: float) -> Row:
    return replace(row, mean=row.mean / by, standard_error=row.standard_error / by)


def _figure_attack(rows: list[Row]) -> Figure:
    """The attack in units of what ε-privacy allows, against ε."""
    from matplotlib import pyplot

    picture, panel = pyplot.subplots(figsize=(5.2, 3.2))
    allowed = {(row.method, row.epsilon): row.mean for row in rows if row.metric == "bound"}
    share = [_divided(row, allowed[row.method, row.epsilon]) for row in rows if row.metric == "attack"]
    _curves(panel, share, lambda r: r.epsilon)
    _epsilon_ticks([panel], rows)
    panel.axhline(1, color="#444444", linewidth=1.0)
    panel.text(2.0, 1.06, "most that ε-privacy allows", ha="right", color="#444444")
    panel.set(xlabel="privacy ε", ylabel="score attack ÷ its bound at ε")
    _legend(picture, rows)
    return picture


_DRAW: dict[str, Callable[[list[Row]], Figure]] = {
    "1": _by_size(lambda r: r.n, "number of items n"),
    "2": _by_size(lambda r: r.p, "share of pairs compared, p"),
    "3": _by_epsilon(lambda r: r.p, "p"),
    "4": _figure_4,
    "5": _by_size(lambda r: r.n, "number of items n"),
    "6": _by_size(lambda r: r.m, "number of people m"),
    "7": _by_epsilon(lambda r: r.m, "m"),
    "8": _figure_8,
    "phase": _figure_phase,
    "attack": _figure_attack,
}
