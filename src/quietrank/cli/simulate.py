"""`quietrank simulate`: synthetic votes go to a file or stdout."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from quietrank.errors import UsageError
from quietrank.publish.files import VOTES, check_output
from quietrank.render.screen import busy, tell


def simulate(
    items: Annotated[int | None, typer.Option(help="How many items.", min=2)] = None,
    people: Annotated[int | None, typer.Option(help="How many people.", min=1)] = None,
    per_person: Annotated[int | None, typer.Option(help="How many pairs each person compares.", min=1)] = None,
    p: Annotated[
        float | None,
        typer.Option("--p", help="Instead of people: each pair is compared once with this probability.", min=0, max=1),
    ] = None,
    strengths: Annotated[
        Path | None,
        typer.Option(help="CSV of item,strength, instead of --items and the paper's strengths.", metavar="FILE.csv"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same votes.", min=0)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to write (.csv, .csv.gz, .parquet); stdout without it.", metavar="FILE"),
    ] = None,
) -> None:
    """Write synthetic votes that `rank` can read."""
    import numpy as np

    from quietrank import simulation

    if (people is None or per_person is None) if p is None else (people is not None or per_person is not None):
        raise UsageError("say how to compare: --people and --per-person, or --p")
    if p is not None and math.isnan(p):
        raise UsageError("--p must be a number from 0 to 1; got nan")
    if (items is None) == (strengths is None):
        raise UsageError("say what is compared: --items N, or --strengths FILE.csv")
    check_output(out, VOTES)
    simulation.require_possible(items or 0, (people or 0) * (per_person or 0))
    rng = np.random.default_rng(seed)
    if strengths is not None:
        names, theta = simulation.read_strengths(strengths)
    else:
        names, theta = simulation.item_names(items or 0), simulation.paper_strengths(items or 0, rng)
    if p is not None:
        batches = simulation.graph_votes(theta, p, rng)
    else:
        batches = simulation.people_votes(theta, people or 0, per_person or 0, rng)
    with busy("writing votes …"):
        count = simulation.write_votes(batches, names, out)
    tell(f"{count} votes on {len(names)} items")
