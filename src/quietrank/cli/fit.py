"""`quietrank fit`: exact scores, which are not private, go to stdout."""

from __future__ import annotations

from typing import Annotated

from quietrank.cli.deliver import print_result
from quietrank.cli.options import (
    LINKS,
    Format,
    Printed,
    ScoreAnchor,
    ScoreScale,
    SkipInvalid,
    Ties,
    VotesOptions,
    choice,
    command_line,
    counting,
    ranking,
    reads_votes,
)
from quietrank.render.screen import warn


@reads_votes
def fit(
    source: VotesOptions,
    ridge: Annotated[float, ranking("γ in (γ/2)‖θ‖²; 0 is maximum likelihood.", min=0)] = 0.0,
    link: Annotated[str, ranking("The model of a vote.", choice(LINKS))] = "logistic",
    ties: Ties = "half",
    cluster: Annotated[
        bool | None,
        ranking(
            "Standard errors that allow for votes of one person that hang together: usual where people are named. "
            "--no-cluster takes all votes as independent.",
            None,
            "--cluster/--no-cluster",
            show_default=False,
        ),
    ] = None,
    level: Annotated[float, ranking("Of the intervals and rank sets, from 0.5 to 0.999.", "P")] = 0.9,
    scale: ScoreScale = "log-odds",
    anchor: ScoreAnchor = None,
    skip_invalid: SkipInvalid = False,
    format: Printed = Format.TABLE,
) -> None:
    """Fit exact Bradley-Terry scores with standard errors. NOT private: for votes you may look at."""
    from quietrank import pipeline
    from quietrank.maths.problem import require_ridge
    from quietrank.publish.nonprivate import WARNING
    from quietrank.publish.view import View
    from quietrank.render.table import render_fit

    with command_line():
        require_ridge(ridge)
        View.of(level, False, scale, anchor)
    with counting("opening votes"):
        votes = source.read(any_items=True, skip_invalid=skip_invalid)
        scores = pipeline.fit(
            votes, ridge=ridge, link=link, ties=ties, cluster=cluster, level=level, scale=scale, anchor=anchor
        )
    warn(WARNING)
    print_result(scores, render_fit, format)
