"""The words after `quietrank plan` in; a table, JSON or CSV to stdout, progress to stderr, a figure to a file, out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quietrank.cli.deliver import print_result
from quietrank.cli.options import (
    MECHANISMS,
    SOLUTIONS,
    SPREADS,
    UNIT,
    Delta,
    Design,
    Format,
    Method,
    Neighbours,
    Overwrite,
    Printed,
    choice,
    promise_option,
    ranking_option,
    result_option,
)
from quietrank.errors import UsageError
from quietrank.publish.files import PICTURE, check_output
from quietrank.render.screen import progress

PLANNED = tuple(name for name in MECHANISMS if name != "perturbed-mle")  # a plan is about noise on counts
survey_option = partial(typer.Option, rich_help_panel="The survey")


def plan(
    items: Annotated[int, survey_option(help="How many items are ranked.", min=2)],
    people: Annotated[int | None, survey_option(help="How many people are asked.", min=1)] = None,
    per_person: Annotated[
        int | None, survey_option(help="How many pairs each person compares; with --one-per-pair, all if not given.")
    ] = None,
    votes: Annotated[
        int | None, survey_option(help="With --unit comparison: how many votes, instead of people.", min=1)
    ] = None,
    spread: Annotated[
        str,
        survey_option(
            help="How far apart items are; a number is a standard deviation.", metavar=choice((*SPREADS, "NUMBER"))
        ),
    ] = "typical",
    unit: Annotated[str, promise_option(help="Each vote, or all votes of a person.", metavar=UNIT)] = "person",
    epsilon: Annotated[
        str | None,
        promise_option(help="Values of ε, separated by commas; 0.5,1,2 if not given.", metavar="E,E,..."),
    ] = None,
    max_per_person: Annotated[
        int | None, promise_option(help="L, if it is not the number given as --per-person.", metavar="L", min=1)
    ] = None,
    one_per_pair: Annotated[
        bool, promise_option("--one-per-pair", help="Nobody is asked the same pair twice: less noise.")
    ] = False,
    neighbours: Neighbours = "replace",
    design: Design = "private",
    delta: Delta = 0.0,
    clip: Annotated[
        float | None, promise_option(help="C, for Gaussian noise; chosen if not given.", metavar="C")
    ] = None,
    target: Annotated[
        str | None,
        ranking_option(help='Instead of ε: "top-5 error 0.1", "rank error 0.5" or "winner 0.9".', metavar="TARGET"),
    ] = None,
    solve: Annotated[
        str, ranking_option(help="The smallest of what meets the target.", metavar=choice(SOLUTIONS))
    ] = "epsilon",
    top_k: Annotated[
        int | None, ranking_option(help="How many top items matter; 5, or half of few items, if not given.", min=1)
    ] = None,
    method: Method = "auto",
    mechanism: Annotated[
        str,
        ranking_option(help="What noise is drawn; auto shows all that fit.", metavar=choice(("auto", *PLANNED))),
    ] = "auto",
    repetitions: Annotated[
        int | None, ranking_option(help="How many simulated surveys; more is more precise.", metavar="R", min=10)
    ] = None,
    seed: Annotated[int, ranking_option(help="The same seed gives the same numbers.", min=0)] = 1,
    plot: Annotated[
        Path | None,
        result_option(help="Also draw the errors against ε here: .png, .svg or .pdf.", metavar="FILE"),
    ] = None,
    overwrite: Overwrite = False,
    format: Printed = Format.TABLE,
) -> None:
    """Say what accuracy to expect of a survey before it is run. Needs no votes and costs no privacy."""
    from quietrank.planning import plan as planner
    from quietrank.planning.result import render

    epsilons = None if epsilon is None else _numbers(epsilon)
    check_output(plot, PICTURE, "plot", overwrite=overwrite)
    with progress("simulating") as bar:
        forecast = planner.plan(
            items, people, per_person, votes=votes, epsilon=epsilons, target=target, solve=solve, unit=unit,
            one_per_pair=one_per_pair, max_per_person=max_per_person, neighbours=neighbours, design=design,
            delta=delta, clip=clip, mechanism=mechanism, method=method, top_k=top_k, spread=spread,
            repetitions=repetitions, seed=seed, curves=plot is not None, progress=bar,
        )  # fmt: skip
        if plot is not None:
            forecast.plot(plot, overwrite=overwrite)
    print_result(forecast, render, format)


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"--epsilon must be numbers separated by commas, such as 0.5,1,2; got {text!r}") from None
