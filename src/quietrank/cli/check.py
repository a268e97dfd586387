"""The words after `quietrank check` in; exact counts to stdout, and exit code 1 if a row cannot be used, out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from quietrank.cli.options import UNIT, By, Groups, VotesOptions, promise, reads_votes
from quietrank.errors import UsageError
from quietrank.promise.privacy import Unit
from quietrank.render.screen import busy, show_data, visible, warn

if TYPE_CHECKING:
    from quietrank.votes.check import Report


@reads_votes
def check(
    source: VotesOptions,
    unit: Annotated[str | None, promise("With person, rows that name nobody are flaws too.", UNIT)] = None,
    by: By = None,
    groups: Groups = None,
) -> None:
    """Say what is in a file of votes and what is wrong with it. For the data holder only."""
    from quietrank.votes import check as checks

    if unit not in (None, *Unit):
        raise UsageError(f"--unit must be comparison or person; got {unit!r}")
    with busy("reading votes …"):
        votes = source.read(any_items=True, by=by, groups=groups)
        if unit == Unit.PERSON:
            votes.require_person()
        report = checks.report(votes, people=unit == Unit.PERSON)
    warn("Confidential: exact counts, for the data holder only; do not publish.")
    show_data("".join(f"{line}\n" for line in _lines(report)))
    if report.flaws:
        raise typer.Exit(1)


def _lines(report: Report) -> list[str]:
    lines = [_line(f"column read as {role}", visible(name)) for role, name in report.columns.items()]
    if report.unread:
        lines.append(_line("columns not read", visible(", ".join(report.unread))))
    lines += [_line(name, count) for name, count in _counts(report).items()]
    if report.unmentioned:
        some = visible(", ".join(report.unmentioned[:5])) + (", …" if len(report.unmentioned) > 5 else "")
        lines.append(f"{_line('items without votes', len(report.unmentioned))}  ({some})")
    return lines + [f"  {example}" for example in report.examples]


def _line(name: str, value: object) -> str:
    return f"{name:28}{value!s:>12}"


def _counts(report: Report) -> dict[str, float]:
    counts: dict[str, float] = {
        "rows": report.rows, "usable votes": report.votes, "of them ties": report.ties, "items": report.items
    }  # fmt: skip
    if report.people is not None:
        counts["people"] = report.people
        counts |= {f"votes per person, {name}": value for name, value in report.votes_per_person.items()}
    return counts | {f"invalid: {flaw}": count for flaw, count in report.flaws.items()}
