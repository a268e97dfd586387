"""`quietrank ledger`: make a ledger, show its history, or verify its hash chain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quietrank.cli.deliver import print_result
from quietrank.cli.options import UNIT, Command, Format, Neighbours, Printed, command_group, command_line, promise
from quietrank.errors import PrivacyError
from quietrank.render.screen import show_data

ledger_app = command_group(
    "A privacy budget that outlives the process: make one, look at it, check that it is intact.",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(help="The ledger.", metavar="FILE")]


@ledger_app.command(cls=Command)
def new(
    file: File,
    data: Annotated[str, typer.Option(help="Which votes it is for, in your words.", metavar="NAME")],
    unit: Annotated[str, promise("Each vote, or all votes of a person.", UNIT)],
    epsilon: Annotated[float, promise("ε of all releases together.", "E")],
    delta: Annotated[float, promise("δ of all releases together; 0 allows no Gaussian noise.", "D")] = 0.0,
    neighbours: Neighbours = "replace",
) -> None:
    """Make a budget for one set of votes. What it fixes cannot be changed later; no file is overwritten."""
    from quietrank.ledger.book import BudgetLedger
    from quietrank.ledger.history import in_words

    with command_line(PrivacyError):
        ledger = BudgetLedger.create(file, epsilon, delta, data=data, unit=unit, neighbours=neighbours)
    show_data(f"{file}: {in_words(ledger.terms)}\n")


@ledger_app.command(cls=Command)
def show(file: File, format: Printed = Format.TABLE) -> None:
    """Show what was spent on what, and what is left."""
    from quietrank.ledger.book import BudgetLedger
    from quietrank.ledger.history import History, render

    print_result(History.of(BudgetLedger.open(file)), render, format)


@ledger_app.command(cls=Command)
def verify(file: File) -> None:
    """Check the whole history; exit code 1 if its hashes or sums do not fit together.

    That notices accidents and naive edits: an entry edited, removed, moved or cut off. It does not notice somebody who
    computes all hashes anew, or who puts an old copy of the file in its place.
    """
    from quietrank.ledger.book import BudgetLedger

    last = BudgetLedger.open(file).verify()
    show_data(f"{file}: intact; the last entry is {last}, and the last release paid from it must name the same one\n")
