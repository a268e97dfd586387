"""`quietrank plan`: a table, JSON or CSV goes to stdout, progress to stderr, a figure to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from quietrank.cli import options
from quietrank.cli.deliver import print_result
from quietrank.cli.options import Format, choice
from quietrank.errors import UsageError
from quietrank.publish.files import PICTURE, check_output
from quietrank.render.screen import progress

survey = options.in_panel("The survey")


def plan(
    items: Annotated[int, survey("How many items are ranked.", min=2)],
    people: Annotated[int | None, survey("How many people are asked.", min=1)] = None,
    per_person: Annotated[
        int | None, survey("How many pairs each person compares; with --one-per-pair, all if not given.")
    ] = None,
    votes: Annotated[int | None, survey("With --unit comparison: how many votes, instead of people.", min=1)] = None,
    spread: Annotated[
        str, survey("How far apart items are; a number is a standard deviation.", choice((*options.SPREADS, "NUMBER")))
    ] = "typical",
    unit: Annotated[str, options.promise("Each vote, or all votes of a person.", options.UNIT)] = "person",
    epsilon: Annotated[
        str | None, options.promise("Values of ε, separated by commas; 0.5,1,2 if not given.", "E,E,...")
    ] = None,
    max_per_person: Annotated[
        int | None, options.promise("L, if it is not the number given as --per-person.", "L", min=1)
    ] = None,
    one_per_pair: Annotated[
        bool, options.promise("Nobody is asked the same pair twice: less noise.", None, "--one-per-pair")
    ] = False,
    neighbours: options.Neighbours = "replace",
    design: options.Design = "private",
    delta: options.Delta = 0.0,
    clip: Annotated[float | None, options.promise("C, for ball and Gaussian noise; chosen if not given.", "C")] = None,
    target: Annotated[
        str | None, options.ranking('Instead of ε: "top-5 error 0.1", "rank error 0.5" or "winner 0.9".', "TARGET")
    ] = None,
    solve: Annotated[
        str, options.ranking("What to minimise while meeting the target.", choice(options.SOLUTIONS))
    ] = "epsilon",
    only_top: options.OnlyTop = None,
    top_k: options.TopK = None,
    method: options.Method = "auto",
    mechanism: Annotated[
        str, options.ranking("What noise is drawn; auto shows all that fit.", options.MECHANISM)
    ] = "auto",
    repetitions: Annotated[
        int | None, options.ranking("How many simulated surveys; more is more precise.", "R", min=10)
    ] = None,
    seed: options.Seed = 1,
    plot: Annotated[
        Path | None, options.result("Also draw the errors against ε here: .png, .svg or .pdf.", "FILE")
    ] = None,
    overwrite: options.Overwrite = False,
    format: options.Printed = Format.TABLE,
) -> None:
    """Say what accuracy to expect of a survey before it is run. Needs no votes and costs no privacy."""
    from quietrank.planning import plan as planner
    from quietrank.planning import top
    from quietrank.planning.result import render

    epsilons = None if epsilon is None else options.numbers("epsilon", epsilon, "0.5,1,2")
    check_output(plot, PICTURE, "plot", overwrite=overwrite)
    if only_top is not None:
        if target is not None or solve != "epsilon" or top_k is not None or plot is not None:
            raise UsageError("--only-top has a table of chances only; leave --target, --solve, --top-k and --plot out")
        with progress("simulating") as bar, options.command_line():
            chances = top.plan_top(
                items, only_top, people, per_person, votes=votes, epsilon=epsilons, unit=unit,
                one_per_pair=one_per_pair, max_per_person=max_per_person, neighbours=neighbours, design=design,
                delta=delta, clip=clip, mechanism=mechanism, method=method, spread=spread, repetitions=repetitions,
                seed=seed, progress=bar,
            )  # fmt: skip
        print_result(chances, top.render, format)
        return
    with progress("simulating") as bar, options.command_line():
        forecast = planner.plan(
            items, people, per_person, votes=votes, epsilon=epsilons, target=target, solve=solve, unit=unit,
            one_per_pair=one_per_pair, max_per_person=max_per_person, neighbours=neighbours, design=design,
            delta=delta, clip=clip, mechanism=mechanism, method=method, top_k=top_k, spread=spread,
            repetitions=repetitions, seed=seed, curves=plot is not None, progress=bar,
        )  # fmt: skip
    if plot is not None:
        forecast.plot(plot, overwrite=overwrite)
    print_result(forecast, render, format)
