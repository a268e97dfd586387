"""The words after `quietrank audit` in; the table to stdout, progress to stderr, exit code 1 if a check fails, out."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class AuditFormat(StrEnum):
    TABLE = "table"
    JSON = "json"


def audit(
    mechanism: Annotated[
        str | None, typer.Option(help="Only laplace, zonotope, gaussian or perturbed-mle.", metavar="NAME")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Only comparison or person.", metavar="UNIT")] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="Only replace, add-remove or outcome.", metavar="RELATION")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The claim to attack; 0.1, 1 and 4 when not given.", metavar="E")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer cases and runs: under a minute.")] = False,
    workers: Annotated[int | None, typer.Option(help="Processes.", metavar="W", min=1)] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the distributions of the privacy loss.", metavar="FILE.png")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier picture of ours.")] = False,
    format: Annotated[AuditFormat, typer.Option(help="What to print.")] = AuditFormat.TABLE,
) -> None:
    """Try to break the privacy promise on synthetic votes, and print how near the attack comes.

    No votes are needed and none are read. Exit code 1 if any check fails.
    """
    from rich.console import Console
    from rich.progress import Progress

    from quietrank.auditing import report, run
    from quietrank.publish.files import PICTURE, check_output

    check_output(plot, PICTURE, "plot", overwrite=overwrite)
    stderr = Console(stderr=True)
    with Progress(console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
        task = bar.add_task("attacking …", total=None)
        found = run.audit(
            mechanism=mechanism,
            unit=unit,
            neighbours=neighbours,
            epsilon=epsilon,
            quick=quick,
            workers=workers,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    if plot is not None:
        found.plot(plot, overwrite=overwrite)
    if format is AuditFormat.JSON:
        sys.stdout.write(found.to_json())
    else:
        console = Console()
        Console(width=console.width if console.is_terminal else report.WIDTH).print(report.render(found))
    if not found.passed:
        raise typer.Exit(1)
