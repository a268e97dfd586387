"""`quietrank check`: exact counts go to stdout; the exit code is 1 if a row cannot be used."""

from __future__ import annotations

from typing import Annotated

import typer

from quietrank.cli.options import UNIT, By, ByPerson, Groups, VotesOptions, counting, promise, reads_votes
from quietrank.errors import UsageError
from quietrank.promise.privacy import Unit
from quietrank.render.screen import show_data, warn


@reads_votes
def check(
    source: VotesOptions,
    unit: Annotated[str | None, promise("With person, rows that name nobody are flaws too.", UNIT)] = None,
    by: By = None,
    groups: Groups = None,
    by_person: ByPerson = False,
) -> None:
    """Say what is in a file of votes and what is wrong with it. For the data holder only."""
    from quietrank.votes import check as checks

    if unit not in (None, *Unit):
        raise UsageError(f"--unit must be comparison or person; got {unit!r}")
    with counting("opening votes"):
        votes = source.read(any_items=True, by=by, groups=groups, by_person=by_person)
        report = checks.check(votes, unit=unit)
    warn(checks.CONFIDENTIAL)
    show_data("".join(f"{line}\n" for line in report.lines()))
    if report.flaws:
        raise typer.Exit(1)
