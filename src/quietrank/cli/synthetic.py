"""`quietrank synthetic`: votes drawn from a published model go to a file or stdout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quietrank.cli.options import SHAPES, choice
from quietrank.publish.files import VOTES, check_output
from quietrank.render.screen import busy, tell


def synthetic(
    published: Annotated[
        Path,
        typer.Argument(
            help="A release with Bradley-Terry scores, or what rank --save-tally wrote.", metavar="RELEASE.json"
        ),
    ],
    votes: Annotated[int, typer.Option(help="How many votes to draw.", metavar="N", min=1)],
    shape: Annotated[str, typer.Option(help="Which columns to write.", metavar=choice(SHAPES))] = "long",
    group: Annotated[
        str | None, typer.Option(help="Whose ranking, where there is one for each group.", metavar="NAME")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same votes.", min=0)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to write (.csv, .csv.gz, .parquet); stdout without it.", metavar="FILE"),
    ] = None,
) -> None:
    """Draw votes from a published model, for those who need a file. Costs nothing: nobody cast them."""
    from quietrank import simulation
    from quietrank.publish.model import published_model, read_published

    check_output(out, VOTES, reads=(published,))
    model = published_model(read_published(published), group)
    with busy("writing votes …"):
        parts = simulation.synthetic_columns(model, votes, shape, seed)
        count = simulation.write_columns(parts, out, simulation.SYNTHETIC)
    tell(f"{count} {simulation.SYNTHETIC}; the column synthetic says so in every row")
