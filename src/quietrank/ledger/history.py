"""A ledger in; what was spent on what and what is left, as a table, JSON or CSV, out."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from quietrank.ledger.composition import exact
from quietrank.ledger.records import FORMAT, Entry, Terms
from quietrank.promise.privacy import plain_number
from quietrank.publish.tabular import Tabular
from quietrank.render.screen import visible

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from quietrank.ledger.book import BudgetLedger


WIDEST = 40
"""letters of a description that fit beside the other columns"""


@dataclass(frozen=True)
class History(Tabular):
    """The payments from a ledger, and where that leaves it."""

    columns = ("entry", "when", "what", "unit", "neighbours", "promise", "cost", "remaining")

    terms: Terms
    entries: tuple[Entry, ...]
    spent: float
    remaining: float

    @classmethod
    def of(cls, ledger: BudgetLedger) -> History:
        return cls(ledger.terms, tuple(ledger.entries()), ledger.spent, ledger.remaining)

    def rows(self) -> list[dict[str, Any]]:
        """One row per payment, in words."""
        return [dict(zip(self.columns, _cells(entry), strict=True)) for entry in self.entries]

    def to_dict(self) -> dict[str, Any]:
        terms = self.terms
        return {
            "format": FORMAT,
            "data": terms.data,
            "created": terms.created,
            "unit": terms.unit.value,
            "neighbours": terms.neighbours.value,
            "epsilon": float(terms.epsilon),
            "delta": float(terms.delta),
            "spent": self.spent,
            "remaining": self.remaining,
            "entries": list(map(_values, self.entries)),
        }


def in_words(terms: Terms) -> str:
    """What the ledger promises, and for which votes."""
    promise = _promise(terms.epsilon, terms.delta)
    return f"{promise} per {terms.unit}, neighbours {terms.neighbours}, for {terms.data}"


def _promise(epsilon: Fraction, delta: Fraction) -> str:
    strength = f"ε = {plain_number(float(epsilon))}"
    return strength if delta == 0 else f"{strength}, δ = {float(delta):.3g}"


def _cells(entry: Entry) -> tuple[str, ...]:
    promised, spend = entry.promise, entry.spend
    promise = _promise(exact(promised["epsilon"]), exact(promised["delta"]))
    cost = _promise(spend.epsilon, spend.delta)
    if spend.rho is not None and spend.delta > 0:
        cost = f"ρ = {float(spend.rho):.3g}"
    words = entry.what, promised["unit"], promised["neighbours"]
    return (entry.id, entry.when, *words, promise, cost, f"{entry.remaining:.6g}")


def _values(entry: Entry) -> dict[str, Any]:
    spend = entry.spend
    rho = None if spend.rho is None else float(spend.rho)
    return {
        "entry": entry.id,
        "when": entry.when,
        "what": entry.what,
        "privacy": entry.promise,
        "units": entry.k,
        "cost": {"epsilon": float(spend.epsilon), "delta": float(spend.delta), "rho": rho},
        "remaining": entry.remaining,
    }


def render(history: History) -> Group:
    """The terms, a table of the payments, and what is left."""
    from rich.console import Group
    from rich.text import Text

    entries = history.entries
    left = entries[-1].remaining if entries else history.remaining
    releases = "1 release" if len(entries) == 1 else f"{len(entries)} releases"
    lines = [f"{releases}; one more with δ = 0 may have ε up to {left:.6g}."]
    if history.terms.delta > 0:
        lines.append(f"Together they keep ε = {history.spent:.6g} with the δ of the ledger.")
    title = Text(visible(in_words(history.terms)), style="bold")
    return Group(title, *([_table(entries)] if entries else []), *map(Text, lines))


def _table(entries: tuple[Entry, ...]) -> Table:
    from rich import box
    from rich.text import Text

    from quietrank.render.fitting import FittingTable

    table = FittingTable(box=box.SIMPLE_HEAD, keep=3)
    for name in ("", "when", "what", "unit", "promise", "cost", "remaining"):
        table.add_column(name, justify="right" if name in ("", "remaining") else "left", overflow="fold")
    narrow = any(len(entry.what) > WIDEST for entry in entries)
    for id_, when, what, unit, neighbours, promise, *sums in map(_cells, entries):
        number, minute = id_.partition("-")[0], when[:16].replace("T", " ")
        cells = (number, minute, what, f"{unit}, {neighbours}", promise, *sums)
        table.add_row(*(Text(_in_lines(visible(cell)) if narrow else visible(cell)) for cell in cells))
    return table


def _in_lines(cell: str) -> str:
    """A long cell in lines, and a promise or a unit in its parts, so that a log file has lines of 120 letters."""
    if len(cell) > WIDEST:
        return "\n".join(textwrap.wrap(cell, WIDEST))
    return cell.replace(", ", ",\n")
