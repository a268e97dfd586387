"""The words after `quietrank plan` in; a table, JSON or CSV to stdout, progress to stderr, a figure to a file, out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def plan(
    items: Annotated[int, typer.Option(help="How many items are ranked.", min=2)],
    people: Annotated[int | None, typer.Option(help="How many people are asked.", min=1)] = None,
    per_person: Annotated[
        int | None, typer.Option(help="How many pairs each person compares; with --one-per-pair, all if not given.")
    ] = None,
    votes: Annotated[
        int | None, typer.Option(help="With --unit comparison: how many votes, instead of people.", min=1)
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Values of ε, with commas; 0.5,1,2 if not given.", metavar="E,E,...")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help='Instead of ε: "top-5 error 0.1", "rank error 0.5" or "winner 0.9".', metavar="TARGET"),
    ] = None,
    solve: Annotated[str, typer.Option(help="What meets the target: the smallest epsilon, or people.")] = "epsilon",
    top_k: Annotated[
        int | None, typer.Option(help="How many top items matter; 5, or half of few items, if not given.", min=1)
    ] = None,
    spread: Annotated[
        str, typer.Option(help="How far apart items are: close, typical, clear, paper, or a standard deviation.")
    ] = "typical",
    unit: Annotated[str, typer.Option(help="What is protected: person or comparison.")] = "person",
    max_per_person: Annotated[
        int | None, typer.Option(help="L, if it is not the number given as --per-person.", metavar="L", min=1)
    ] = None,
    one_per_pair: Annotated[
        bool, typer.Option("--one-per-pair", help="Nobody is asked the same pair twice: less noise.")
    ] = False,
    neighbours: Annotated[str, typer.Option(help="replace, add-remove or outcome.")] = "replace",
    design: Annotated[str, typer.Option(help="private, uniform or public.")] = "private",
    delta: Annotated[float, typer.Option(help="Above 0, such as 1e-6, it allows Gaussian noise.")] = 0.0,
    clip: Annotated[float | None, typer.Option(help="C, for Gaussian noise; chosen if not given.")] = None,
    mechanism: Annotated[str, typer.Option(help="auto (all that fit), laplace, zonotope or gaussian.")] = "auto",
    method: Annotated[str, typer.Option(help="auto, net-wins, wins, win-rate or bradley-terry.")] = "auto",
    repetitions: Annotated[
        int | None, typer.Option(help="How many simulated surveys; more is more precise.", metavar="R", min=10)
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.", min=0)] = 1,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the errors against ε (.png, .svg or .pdf).", metavar="FILE")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier picture of ours.")] = False,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.TABLE,
) -> None:
    """Say what accuracy to expect of a survey before it is run. Needs no votes and costs no privacy."""
    from quietrank.planning import plan as planner
    from quietrank.publish.files import PICTURE, check_output

    epsilons = None if epsilon is None else _numbers(epsilon)
    _check(people, per_person, votes, unit, one_per_pair, target, solve, epsilons)
    check_output(plot, PICTURE, "plot", overwrite=overwrite)
    with _progress() as progress:
        found = planner.plan(
            items, people, per_person, votes=votes, epsilon=epsilons, target=target, solve=solve, unit=unit,
            one_per_pair=one_per_pair, max_per_person=max_per_person, neighbours=neighbours, design=design,
            delta=delta, clip=clip, mechanism=mechanism, method=method, top_k=top_k, spread=spread,
            repetitions=repetitions, seed=seed, curves=plot is not None, progress=progress,
        )  # fmt: skip
        if plot is not None:
            found.plot(plot, overwrite=overwrite)
    _print(found, format)


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise _usage(f"--epsilon must be numbers separated by commas, such as 0.5,1,2; got {text!r}") from None


def _check(
    people: int | None,
    per_person: int | None,
    votes: int | None,
    unit: str,
    one_per_pair: bool,
    target: str | None,
    solve: str,
    epsilons: list[float] | None,
) -> None:
    """Refuse what cannot be meant; what is meant and impossible is refused by the planner itself."""
    from quietrank.errors import QuietrankError
    from quietrank.planning.targets import parse_target

    try:
        if target is not None:
            parse_target(target)
    except QuietrankError as error:
        raise _usage(error.message) from None
    solving = target is not None and solve == "people"
    if solve not in ("epsilon", "people"):
        raise _usage(f"--solve must be epsilon or people; got {solve!r}")
    if solve == "people" and target is None:
        raise _usage('--solve people needs a --target, such as "top-5 error 0.1"')
    if solving and (epsilons is None or len(epsilons) != 1):
        raise _usage("--solve people needs one --epsilon: the promise that the people get")
    if target is not None and not solving and epsilons is not None:
        raise _usage("a --target asks for the smallest ε: leave --epsilon out, or add --solve people")
    if solving and (people is not None or votes is not None):
        raise _usage("--solve people finds the number of people: leave --people and --votes out")
    if unit == "person" and votes is not None:
        raise _usage("--votes is for --unit comparison; give --people and --per-person")
    if people is None and votes is None and not solving:
        raise _usage("say how large the survey is: --people 500 --per-person 15, or --unit comparison --votes 7500")
    if unit == "person" and per_person is None and not one_per_pair:
        raise _usage("say how many pairs each person compares: --per-person 15")


def _usage(message: str) -> Exception:
    from quietrank.errors import UsageError

    return UsageError(message)


@contextmanager
def _progress() -> Iterator[Any]:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("simulating"), progress.BarColumn(), progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
    )  # fmt: skip
    console = Console(stderr=True)
    with progress.Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _print(found: Any, format: Format) -> None:
    from rich.console import Console

    from quietrank.planning.result import render

    if format is Format.JSON:
        sys.stdout.write(found.to_json())
    elif format is Format.CSV:
        sys.stdout.write(found.to_csv())
    else:
        Console().print(render(found))
