"""The words after `quietrank ledger` in; a new ledger, its history or the state of its hash chain out."""

from __future__ import annotations

import csv
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fractions import Fraction

    from rich.table import Table

    from quietrank.ledger.book import BudgetLedger
    from quietrank.ledger.records import Entry

ledger_app = typer.Typer(
    help="A privacy budget that outlives the process: make one, look at it, check that nobody touched it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

COLUMNS = ("entry", "when", "what", "unit", "neighbours", "promise", "cost", "remaining")


class LedgerFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


File = Annotated[Path, typer.Argument(help="The ledger.", metavar="FILE")]


def open_ledger(path: Path) -> BudgetLedger:
    """A ledger to pay from; refused if it could not be written."""
    from quietrank.ledger.book import BudgetLedger

    found = BudgetLedger.open(path)
    found.require_writable()
    return found


@ledger_app.command()
def new(
    file: File,
    epsilon: Annotated[float, typer.Option(help="ε of all releases together. Required.", metavar="E")],
    data: Annotated[str, typer.Option(help="Which votes it is for, in your words. Required.", metavar="NAME")],
    unit: Annotated[str, typer.Option(help="What is protected: comparison or person. Required.", metavar="UNIT")],
    delta: Annotated[float, typer.Option(help="δ of all releases together; 0 allows no Gaussian noise.")] = 0.0,
    neighbours: Annotated[str, typer.Option(help="replace, add-remove or outcome.")] = "replace",
) -> None:
    """Make a budget for one set of votes. What it fixes cannot be changed later; no file is overwritten."""
    from quietrank.ledger.book import BudgetLedger

    made = BudgetLedger.create(file, epsilon, delta, data=data, unit=unit, neighbours=neighbours)
    print(f"{file}: {_terms(made)}")


@ledger_app.command()
def show(
    file: File,
    format: Annotated[LedgerFormat, typer.Option(help="What to print.")] = LedgerFormat.TABLE,
) -> None:
    """Show what was spent on what, and what is left."""
    from quietrank.ledger.book import BudgetLedger

    ledger = BudgetLedger.open(file)
    entries = ledger.entries()
    if format is LedgerFormat.JSON:
        print(json.dumps(_as_values(ledger, entries), indent=1, ensure_ascii=False))
    elif format is LedgerFormat.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([COLUMNS, *map(_cells, entries)])
    else:
        _print_table(ledger, entries)


@ledger_app.command()
def verify(file: File) -> None:
    """Check the whole history; exit code 1 if an entry was edited, removed, moved or cut off."""
    from quietrank.ledger.book import BudgetLedger

    last = BudgetLedger.open(file).verify()
    print(f"{file}: whole; the last entry is {last}, and the last release paid from it must say the same")


def _terms(ledger: BudgetLedger) -> str:
    terms = ledger.terms
    promise = _promise(terms.epsilon, terms.delta)
    return f"{promise} per {terms.unit}, neighbours {terms.neighbours}, for {terms.data}"


def _promise(epsilon: Fraction, delta: Fraction) -> str:
    from quietrank.promise.privacy import plain_number

    strength = f"ε = {plain_number(float(epsilon))}"
    return strength if delta == 0 else f"{strength}, δ = {float(delta):.3g}"


def _cells(entry: Entry) -> tuple[str, ...]:
    from quietrank.ledger.composition import exact

    asked = entry.promise
    promise = _promise(exact(asked["epsilon"]), exact(asked["delta"]))
    cost = _promise(entry.spend.epsilon, entry.spend.delta)
    if entry.spend.rho is not None and entry.spend.delta > 0:
        cost = f"ρ = {float(entry.spend.rho):.3g}"
    words = entry.what, asked["unit"], asked["neighbours"]
    return (entry.id, entry.when, *words, promise, cost, f"{entry.remaining:.6g}")


def _as_values(ledger: BudgetLedger, entries: list[Entry]) -> dict[str, Any]:
    from quietrank.ledger.records import FORMAT

    terms = ledger.terms
    return {
        "format": FORMAT,
        "data": terms.data,
        "created": terms.created,
        "unit": terms.unit.value,
        "neighbours": terms.neighbours.value,
        "epsilon": float(terms.epsilon),
        "delta": float(terms.delta),
        "spent": ledger.spent,
        "remaining": ledger.remaining,
        "entries": [
            {
                "entry": entry.id,
                "when": entry.when,
                "what": entry.what,
                "privacy": entry.promise,
                "units": entry.k,
                "cost": {
                    "epsilon": float(entry.spend.epsilon),
                    "delta": float(entry.spend.delta),
                    "rho": None if entry.spend.rho is None else float(entry.spend.rho),
                },
                "remaining": entry.remaining,
            }
            for entry in entries
        ],
    }


def _print_table(ledger: BudgetLedger, entries: list[Entry]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    console.print(Text(_terms(ledger), style="bold"))
    if entries:
        console.print(_table(entries))
    left = entries[-1].remaining if entries else ledger.remaining
    releases = "1 release" if len(entries) == 1 else f"{len(entries)} releases"
    console.print(Text(f"{releases}; one more with δ = 0 may have ε up to {left:.6g}."))
    if ledger.terms.delta > 0:
        console.print(Text(f"Together they keep ε = {ledger.spent:.6g} with the δ of the ledger."))


def _table(entries: list[Entry]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for name in ("", "when", "what", "unit", "promise", "cost", "remaining"):
        table.add_column(name, justify="right" if name in ("", "remaining") else "left", overflow="fold")
    for entry in entries:
        id_, when, what, unit, neighbours, *sums = _cells(entry)
        number, minute = id_.partition("-")[0], when[:16].replace("T", " ")
        table.add_row(*map(Text, (number, minute, what, f"{unit}, {neighbours}", *sums)))
    return table
