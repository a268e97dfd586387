"""`quietrank rerank`: another release from noisy counts goes to a file and stdout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quietrank.cli.deliver import Files, check_pictures, check_releases, deliver
from quietrank.cli.options import (
    Format,
    Gamma,
    Level,
    Method,
    Out,
    Overall,
    Overwrite,
    Plot,
    PlotTheme,
    Printed,
    Report,
    ScoreAnchor,
    ScoreScale,
    Simultaneous,
    Ties,
    command_line,
    result,
)
from quietrank.cli.rank import parse_auto
from quietrank.render.screen import progress


def rerank(
    tally: Annotated[Path, typer.Argument(help="What rank --save-tally wrote.", metavar="TALLY.json")],
    method: Method = "auto",
    ties: Ties = "half",
    gamma: Gamma = "auto",
    level: Level = 0.9,
    simultaneous: Simultaneous = False,
    scale: ScoreScale = "log-odds",
    anchor: ScoreAnchor = None,
    overall: Overall = False,
    top: Annotated[int | None, result("Show only the first K items.", "K")] = None,
    out: Out = None,
    plot: Plot = None,
    plot_theme: PlotTheme = "light",
    report: Report = None,
    overwrite: Overwrite = False,
    format: Printed = Format.TABLE,
) -> None:
    """Make another ranking from noisy counts that were saved. Costs nothing: the counts have been paid for."""
    from quietrank import pipeline
    from quietrank.publish.tally_file import load_any
    from quietrank.publish.view import View

    ridge = parse_auto("gamma", gamma)
    with command_line():
        view = View.of(level, simultaneous, scale, anchor)
        request = pipeline.Request.of("auto", method, ridge, view=view, overall=overall, ties=ties)
    check_releases(out, report=report, overwrite=overwrite, reads=(tally,))
    check_pictures(plot_theme, plot=plot, overwrite=overwrite, reads=(tally,))
    with progress("comparing items …") as tell:
        release = pipeline.release_of(load_any(tally), request, tell)
    shown = release if top is None else release.top(top)
    pictures = {} if plot is None else {plot: lambda: shown.plot(theme=plot_theme)}
    deliver(shown, format, out, Files(overwrite), pictures=pictures, report=report)
