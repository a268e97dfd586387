"""`quietrank board`: make a board, publish the days that are over, and look at what was published."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quietrank.cli import options
from quietrank.cli.deliver import Files, check_pictures, check_releases, deliver, print_result
from quietrank.cli.options import Command, Format, VotesOptions, choice, command_group, counting, reads_votes
from quietrank.errors import QuietrankError, UsageError, option
from quietrank.render.screen import progress, show_data, tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

board_app = command_group(
    "A ranking that is published every week or every night, for one promise that is paid once.",
    no_args_is_help=True,
)

crowd = options.in_panel("Who will vote")

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
    from quietrank.boards.board import Board, confidential, first_period, promised
    from quietrank.promise.declare import parse_items, parse_names

    if unit != "person":
        raise UsageError("a board protects people, who may vote on any day: use --unit person, or leave it out")
    with options.command_line():
        promised(epsilon, delta, pure, clip, max_per_person, neighbours)
        begins = QuietrankError(first_period(start, every)).in_options()
    if not (board.exists() or confidential(board).exists()):
        tell(begins)
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


@board_app.command("plan", cls=Command)
def plan_board(
    items: Annotated[int, crowd("How many items are ranked.", min=2)],
    people: Annotated[int, crowd("How many people vote.", min=1)],
    votes_per_person: Annotated[float, crowd("Over the whole horizon, on average.", "N")],
    epsilon: Annotated[float, options.promise("ε of all days of the board together.", "E")],
    delta: Annotated[float, options.promise("δ of all days of the board together.", "D")],
    habit: Annotated[
        str,
        crowd(
            "arena: most judges cast few votes, few cast very many, and they come on few days. panel: all cast the "
            "same number, evenly over the horizon.",
            choice(options.HABITS),
        ),
    ] = "arena",
    votes_per_visit: Annotated[
        float | None, crowd("Of an arena: how many on each day that somebody comes; 4 if not given.", "N")
    ] = None,
    spread: Annotated[
        str, crowd("How far apart items are; a number is a standard deviation.", choice((*options.SPREADS, "NUMBER")))
    ] = "typical",
    neighbours: options.Neighbours = "replace",
    clip: Annotated[
        str, options.promise("C; auto is the one with the least expected error on the chosen days.", "[auto|C]")
    ] = "auto",
    horizon: Annotated[int, options.ranking("How many weeks, or days, are published.", "T")] = 52,
    every: Annotated[str, options.ranking("How often a board is published.", choice(("week", "day")))] = "week",
    days: Annotated[
        str | None, options.ranking("Days to look at; 30,91 if not given, and the last one in any case.", "DAY,DAY,...")
    ] = None,
    method: options.Method = "bradley-terry",
    top_k: options.TopK = None,
    repetitions: Annotated[
        int | None, options.ranking("How many simulated boards; more is more precise.", "R", min=10)
    ] = None,
    seed: options.Seed = 1,
    out: Annotated[
        Path | None, options.result("Also write the plan here: .json, or .csv for the table.", "FILE")
    ] = None,
    plot: Annotated[
        Path | None, options.result("Also draw the errors over time here: .png, .svg or .pdf.", "FILE")
    ] = None,
    overwrite: options.Overwrite = False,
    format: options.Printed = Format.TABLE,
) -> None:
    """Say what to expect of a board before it is made, beside other ways to publish. Needs no votes, costs nothing."""
    from quietrank.planning import board as planner
    from quietrank.planning.board_result import render
    from quietrank.publish.files import PICTURE, PLAN, check_apart, check_output, write_text

    check_output(out, PLAN, overwrite=overwrite)
    check_output(plot, PICTURE, "plot", overwrite=overwrite)
    check_apart(out=out, plot=plot)
    with progress("simulating") as bar, options.command_line():
        forecast = planner.plan_board(
            items, people, votes_per_person, epsilon=epsilon, delta=delta, habit=habit, votes_per_visit=votes_per_visit,
            spread=spread, neighbours=neighbours, clip=_clip(clip), horizon=horizon, every=every,
            days=None if days is None else options.numbers("days", days, "30,91"), method=method, top_k=top_k,
            repetitions=repetitions, seed=seed, curves=plot is not None, progress=bar,
        )  # fmt: skip
    if plot is not None:
        forecast.plot(plot, overwrite=overwrite)
    if out is not None:
        as_csv = out.suffix.lower() == ".csv"
        write_text(out, forecast.to_csv() if as_csv else forecast.to_json(), PLAN, overwrite=overwrite)
    print_result(forecast, render, format)


def _clip(text: str) -> float | str:
    """A number, or auto; what is neither is refused where it is used."""
    try:
        return float(text)
    except ValueError:
        return text


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
        _refuse_beside_since(
            method=method != "bradley-terry", simultaneous=simultaneous, anchor=anchor is not None, overall=overall,
            out=out is not None, plot=plot is not None, report=report is not None,
        )  # fmt: skip
        changed = one.changes(since, day, level=level, group=group, scale=scale)
        print_result(changed, lambda changed: changed.page(), format)
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


def _refuse_beside_since(**given: bool) -> None:
    """Refuse what has no meaning for changes."""
    for name in (name for name, is_given in given.items() if is_given):
        raise UsageError(
            f"--since prints how Bradley-Terry scores have changed, and {option(name)} has nothing to do there; leave "
            "one of them out; --format csv prints a table to save"
        )


@board_app.command("add-items", cls=Command)
def add_items(board: File, items: Names, ledger: Moved = None) -> None:
    """List more items, from the next day on. Votes on them from before are not counted."""
    from quietrank.boards.board import Board

    one = Board.open(board)
    one.add_items(_names(items), ledger=ledger)
    show_data(f"{one.summary()}\n")


def _names(words: list[str]) -> list[str]:
    """One by one, or in a file or a list."""
    from quietrank.promise.arguments import at_home
    from quietrank.promise.declare import parse_names

    first = words[0]
    return list(parse_names(first, "item")) if len(words) == 1 and ("," in first or at_home(first).is_file()) else words


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
