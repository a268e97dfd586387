"""`quietrank board`: make a board, publish the days that are over, and look at what was published."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quietrank.cli import options
from quietrank.cli.deliver import Files, check_pictures, check_releases, deliver, print_result
from quietrank.cli.options import Command, Format, VotesOptions, choice, command_group, counting, reads_votes
from quietrank.errors import UsageError
from quietrank.render.screen import show_data, tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

board_app = command_group(
    "A ranking that is published every week or every night, for one promise that is paid once.",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(help="The board: its public file.", metavar="BOARD")]
Names = Annotated[
    list[str], typer.Argument(help="Items; or a file with one per line, or a,b,c.", metavar="ITEM...|FILE|a,b,c")
]
Moved = Annotated[Path | None, options.budget("Where the ledger is now, if it was moved.", "FILE")]


@board_app.command(cls=Command)
def new(
    board: File,
    items: Annotated[str, options.ranking("What is ranked: a file with one item per line, or a,b,c.", "FILE|a,b,c")],
    epsilon: Annotated[float, options.promise("ε of all days of the board together.", "E")],
    ledger: Annotated[Path, options.budget("Pay from this budget, once (see quietrank ledger).", "FILE")],
    delta: Annotated[float | None, options.promise("δ of all days of the board together.", "D")] = None,
    pure: Annotated[bool, options.promise("Instead of --delta: promise ε alone, which takes more noise.")] = False,
    unit: Annotated[str, options.promise("A board protects people.", "[person]")] = "person",
    neighbours: options.Neighbours = "replace",
    clip: Annotated[
        float | None,
        options.promise("With --delta, C: how much one person may contribute in all, as a norm; 3 without it.", "C"),
    ] = None,
    max_per_person: Annotated[
        int | None,
        options.promise("With --pure, L: the total weight of one person's votes over all days; 5 without it.", "L"),
    ] = None,
    horizon: Annotated[int, options.ranking("How many weeks, or days, are published.", "T")] = 52,
    every: Annotated[str, options.ranking("How often a board is published.", choice(("week", "day")))] = "week",
    start: Annotated[str | None, options.ranking("The first day; today, in UTC, without it.", "DATE")] = None,
    window: Annotated[
        int | None, options.ranking("Weeks, or days, that a board sums up; all so far without it.", "W")
    ] = None,
    by: options.By = None,
    groups: options.Groups = None,
) -> None:
    """Make a board and pay for its whole horizon. What it fixes cannot be changed later; no file is overwritten."""
    from quietrank.boards.board import Board, confidential
    from quietrank.promise.declare import parse_items, parse_names

    if unit != "person":
        raise UsageError("a board protects people, who may vote on any day: use --unit person, or leave it out")
    made = Board.create(
        board, parse_items(items), epsilon=epsilon, delta=delta, ledger=ledger, horizon=horizon, every=every, pure=pure,
        clip=clip, max_per_person=max_per_person, neighbours=neighbours, start=start, window=window, by=by,
        groups=None if groups is None else parse_names(groups, "group"),
    )  # fmt: skip
    show_data(f"{made.summary()}\n")
    tell(
        f"{board} is public. {confidential(board)} is confidential: keep it, for without it the board cannot go on; an "
        "older copy of it will not do."
    )


@board_app.command(cls=Command)
@reads_votes
def update(
    source: VotesOptions,
    board: File,
    day_column: Annotated[
        str | None, options.column("Column of when a vote was cast: a date, a time, or seconds since 1970.", "COLUMN")
    ] = None,
    id: Annotated[
        str | None, options.column("Column of which vote it is; one that comes again is not counted.", "COLUMN", "--id")
    ] = None,
    until: Annotated[str | None, options.ranking("The last day that is over; yesterday, in UTC.", "DATE")] = None,
    skip_invalid: options.SkipInvalid = False,
    ledger: Moved = None,
) -> None:
    """Count the votes of all days that are over and not yet published, and publish these days, each exactly once.

    VOTES may hold votes that were counted before: they are known, and not counted again.
    """
    from quietrank.boards.board import Board

    fixed = {"items": source.items, "items_from_votes": source.items_from_votes or None, "pairs": source.pairs}
    with counting("opening votes"):
        one = Board.open(board)
        days = one.update(
            source.votes or None, until=until, ledger=ledger, day_column=day_column, id=id, skip_invalid=skip_invalid,
            **source.words, **{name: value for name, value in fixed.items() if value is not None},
        )  # fmt: skip
    every = one.terms.every
    if not days:
        tell(f"no {every} is over that was not published before; {one.days} of {one.terms.horizon} are")
    show_data(f"{one.summary()}\n")
    if one.ends_soon:
        tell(one.ends_soon)


@board_app.command("show", cls=Command)
def show_board(
    board: File,
    day: Annotated[int | None, options.ranking("Which day, or week; the last one without it.", "T")] = None,
    since: Annotated[
        int | None, options.ranking("Show what changed since this day, or week, instead of the ranking.", "T")
    ] = None,
    group: Annotated[str | None, options.ranking("With --since, of a board with groups: which one.", "NAME")] = None,
    method: options.Method = "bradley-terry",
    level: options.Level = 0.9,
    simultaneous: options.Simultaneous = False,
    scale: options.ScoreScale = "log-odds",
    anchor: options.ScoreAnchor = None,
    overall: options.Overall = False,
    out: options.Out = None,
    plot: options.Plot = None,
    plot_theme: options.PlotTheme = "light",
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    format: options.Printed = Format.TABLE,
) -> None:
    """Show the board of any day, or what changed since a day. Costs nothing: all days have been paid for."""
    from quietrank.boards.board import Board

    one = Board.open(board)
    if since is not None:
        print_result(one.changes(since, day, level=level, group=group), lambda changed: changed.page(), format)
        return
    check_releases(out, report=report, overwrite=overwrite, reads=(board,))
    check_pictures(plot_theme, plot=plot, overwrite=overwrite, reads=(board,))
    if (reason := one.hidden(day)) is not None:
        show_data(f"{one.summary()}\n{reason}\n")
        return
    release = one.release(
        day, method=method, level=level, simultaneous=simultaneous, scale=scale, anchor=anchor, overall=overall
    )
    pictures: dict[Path, Callable[[], Figure]] = {} if plot is None else {plot: lambda: release.plot(theme=plot_theme)}
    deliver(release, format, out, Files(overwrite), pictures=pictures, report=report)


@board_app.command("add-items", cls=Command)
def add_items(board: File, items: Names, ledger: Moved = None) -> None:
    """List more items, from the next day on. Votes on them from before are not counted."""
    from quietrank.boards.board import Board

    one = Board.open(board)
    one.add_items(_names(items), ledger=ledger)
    show_data(f"{one.summary()}\n")


def _names(words: list[str]) -> list[str]:
    """One by one, or in a file or a list."""
    from quietrank.promise.declare import parse_names

    first = words[0]
    return list(parse_names(first, "item")) if len(words) == 1 and ("," in first or Path(first).is_file()) else words


@board_app.command(cls=Command)
def retire(board: File, items: Names, ledger: Moved = None) -> None:
    """Show these items no longer; their votes count as before."""
    from quietrank.boards.board import Board

    one = Board.open(board)
    one.retire(_names(items), ledger=ledger)
    show_data(f"{one.summary()}\n")


@board_app.command(cls=Command)
def forget(
    board: File, person: Annotated[str, typer.Argument(help="Their id, as in the votes.", metavar="PERSON")]
) -> None:
    """Erase all that is kept about a person. What was published stays; later votes of theirs do not count."""
    from quietrank.boards.board import Board

    found = Board.open(board).forget(person)
    show_data("erased\n" if found else "nothing was kept under this id; votes under it will not count from now on\n")


@board_app.command(cls=Command)
def verify(board: File, ledger: Moved = None) -> None:
    """Check that the public file, the confidential one and the ledger agree; exit code 1 if they do not."""
    from quietrank.boards.board import Board

    one = Board.open(board)
    one.verify(ledger=ledger)
    show_data(f"{board}: intact; {one.summary()}\n")


@board_app.command("report", cls=Command)
def report_board(
    board: File,
    out: Annotated[Path, options.result("The page to write.", "FILE.html")],
    overwrite: options.Overwrite = False,
) -> None:
    """Write a page with the latest board, its history and its promise."""
    from quietrank.boards.board import Board
    from quietrank.boards.page import page
    from quietrank.publish.files import REPORT, check_output, write_text

    check_output(out, REPORT, "out", overwrite=overwrite, reads=(board,))
    write_text(out, page(Board.open(board)), REPORT, overwrite=overwrite)
    tell(f"wrote {out}")
