"""`quietrank paper`: tables go to stdout, progress to stderr, files into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quietrank.cli.options import Command, command_group
from quietrank.errors import QuietrankError
from quietrank.render.screen import busy, show, tell

if TYPE_CHECKING:
    from rich.table import Table

    from quietrank.paper.reference import Deviation
    from quietrank.paper.run import Row, Settings

DEFAULT_OUT = Path("paper-results")


def _folder(text: str | Path) -> Path:
    """The folder; an empty name does not mean the current folder."""
    if not str(text):
        raise typer.BadParameter("give the name of a folder, or . for this one", param_hint="--out")
    return Path(text)


paper_app = command_group(
    "The published experiments: figures, a table of means, and a comparison with the published numbers.",
)


@paper_app.callback(invoke_without_command=True)
def paper(
    context: typer.Context,
    figure: Annotated[
        str,
        typer.Option(
            help="Several are separated by commas; theory is phase and attack.",
            metavar="[1|…|8|phase|attack|theory|all]",
        ),
    ] = "all",
    repetitions: Annotated[
        int | None, typer.Option(help="Per set-up; as published when not given.", metavar="R", min=1)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few set-ups, few repetitions: under a minute.")] = False,
    out: Annotated[
        Path, typer.Option(help="Where results are saved; a run continues there.", metavar="DIR", parser=_folder)
    ] = DEFAULT_OUT,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.", min=0)] = 1,
    workers: Annotated[
        int | None, typer.Option(help="Processes; the numbers do not depend on it.", metavar="W", min=1)
    ] = None,
) -> None:
    """Run the published experiments, with our method next to each published curve."""
    if context.invoked_subcommand is not None:
        return
    import os

    from quietrank.paper.run import Settings

    chosen = workers or min(os.cpu_count() or 1, 8)
    _run(Settings(out, _figures(figure), repetitions, quick, seed, chosen))


@paper_app.command(cls=Command)
def check(
    reference: Annotated[
        list[Path], typer.Option(help="CSV file of published figures; may be given twice.", metavar="FILE")
    ],
    out: Annotated[Path, typer.Option(help="Results of `quietrank paper`.", metavar="DIR")] = DEFAULT_OUT,
    strict: Annotated[
        bool, typer.Option("--strict", help="No allowance for the single noise vector behind each published mean.")
    ] = False,
) -> None:
    """Compare results with the published figures; exit code 1 if one is outside its tolerance."""
    from quietrank.paper.reference import compare, read_published
    from quietrank.paper.run import read_rows

    rows = read_rows(out / "means.csv")
    deviations = compare(rows, [point for path in reference for point in read_published(path)], strict)
    if not deviations:
        raise QuietrankError(f"{out} and the reference have no point in common; run the figures of the reference")
    show(_table_of(deviations))
    if not all(deviation.within for deviation in deviations):
        raise typer.Exit(1)


def _figures(text: str) -> tuple[str, ...]:
    from quietrank.paper.experiments import FIGURES

    named = {"all": FIGURES, "theory": ("phase", "attack")}
    chosen = [figure for word in text.split(",") for figure in named.get(word.strip(), (word.strip(),))]
    for figure in chosen:
        if figure not in FIGURES:
            raise typer.BadParameter(
                f"{figure!r} is not one of {', '.join(FIGURES)}, theory, all", param_hint="--figure"
            )
    return tuple(dict.fromkeys(chosen))


def _run(settings: Settings) -> None:
    from quietrank.paper.figures import draw
    from quietrank.paper.run import require_place

    require_place(settings.out)
    try:
        rows = _with_progress(settings)
    except KeyboardInterrupt:
        tell(f"interrupted; finished parts are in {settings.out}; the same command continues there")
        raise
    with busy("drawing …"):
        paths = [path for figure in settings.figures for path in draw(figure, rows, settings.out)]
    _print_summary(rows)
    tell(f"{len(rows)} means in {settings.out / 'means.csv'}, {len(paths)} pictures next to it")


def _print_summary(rows: list[Row]) -> None:
    from rich.text import Text

    from quietrank.paper.gains import gain_lines
    from quietrank.paper.summary import attack_lines, phase_lines

    if any(row.experiment not in ("phase", "attack") for row in rows):
        show(_summary(rows))
    for line in (*gain_lines(rows), *phase_lines(rows), *attack_lines(rows)):
        show(Text(line))


def _with_progress(settings: Settings) -> list[Row]:
    from rich import progress
    from rich.console import Console

    from quietrank.paper.run import run

    columns = (
        progress.TextColumn("experiments"), progress.BarColumn(), progress.TaskProgressColumn(),
        progress.TextColumn("elapsed"), progress.TimeElapsedColumn(),
        progress.TextColumn("left"), progress.TimeRemainingColumn(elapsed_when_finished=False),
    )  # fmt: skip
    with progress.Progress(*columns, console=Console(stderr=True), speed_estimate_period=120) as bar:
        task = bar.add_task("")
        return run(settings, lambda done, total: bar.update(task, advance=done, total=total))


def _summary(rows: list[Row]) -> Table:
    from rich.table import Table

    from quietrank.paper.summary import SHORT_METHODS, SHORT_METRICS, summarise

    table = Table(title="Means over all set-ups of an experiment (smaller is better)")
    lines, methods = summarise(rows)
    for column in ("exp.", "measure", "ε", *(SHORT_METHODS[method] for method in methods)):
        table.add_column(column, justify="left" if column in ("exp.", "measure") else "right")
    for line in lines:
        values = [f"{line.means[m]:.3f}" if m in line.means else "" for m in methods]
        epsilon = f"{line.epsilon:g}".replace("inf", "∞")
        table.add_row(line.experiment, SHORT_METRICS[line.metric], epsilon, *values)
    return table


def _table_of(deviations: list[Deviation]) -> Table:
    from rich.table import Table

    from quietrank.paper.summary import SHORT_METHODS, SHORT_METRICS

    table = Table(title="Ours minus published: the largest deviation, in units of the stated tolerance")
    for column in ("exp.", "method", "measure", "n", "largest", "stated", "at", ""):
        table.add_column(column, justify="right" if column in ("n", "largest", "stated") else "left")
    for d in sorted(deviations, key=lambda d: (d.experiment, d.method, d.metric)):
        numbers = (str(d.points), f"{d.largest:+.3f}", f"±{d.stated:.3f}")
        table.add_row(d.experiment, SHORT_METHODS[d.method], SHORT_METRICS[d.metric], *numbers, d.where, d.verdict)
    return table
