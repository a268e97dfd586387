"""`quietrank audit`: the table goes to stdout, progress to stderr; the exit code is 1 if a check fails."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quietrank.cli.deliver import print_result
from quietrank.cli.options import MECHANISM, NEIGHBOURS, UNIT, Format, Overwrite, Printed, command_line, result
from quietrank.publish.files import PICTURE, check_output
from quietrank.render.screen import progress


def audit(
    mechanism: Annotated[str | None, typer.Option(help="Only this one.", metavar=MECHANISM)] = None,
    unit: Annotated[str | None, typer.Option(help="Only this one.", metavar=UNIT)] = None,
    neighbours: Annotated[str | None, typer.Option(help="Only this relation.", metavar=NEIGHBOURS)] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The claim to attack; 0.1, 1 and 4 when not given.", metavar="E")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer cases and runs: some minutes.")] = False,
    workers: Annotated[int | None, typer.Option(help="Processes.", metavar="W", min=1)] = None,
    plot: Annotated[
        Path | None, result("Also draw the distributions of the privacy loss here: .png, .svg or .pdf.", "FILE")
    ] = None,
    overwrite: Overwrite = False,
    format: Printed = Format.TABLE,
) -> None:
    """Try to break the privacy promise on synthetic votes, and print how close the attack comes.

    No votes are needed and none are read. Exit code 1 if any check fails.
    """
    from quietrank.auditing import report, run

    check_output(plot, PICTURE, "plot", overwrite=overwrite)
    with progress("attacking …") as bar, command_line():
        findings = run.audit(
            mechanism=mechanism, unit=unit, neighbours=neighbours, epsilon=epsilon, quick=quick, workers=workers,
            progress=bar,
        )  # fmt: skip
    if plot is not None:
        findings.plot(plot, overwrite=overwrite)
    print_result(findings, report.render, format, report.WIDTH)
    if not findings.passed:
        raise typer.Exit(1)
