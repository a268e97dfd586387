"""`quietrank fit`: exact scores, which are not private, go to stdout."""

from __future__ import annotations

from typing import Annotated

from quietrank.cli.deliver import print_result
from quietrank.cli.options import LINKS, Format, Printed, SkipInvalid, VotesOptions, choice, ranking, reads_votes
from quietrank.render.screen import busy, warn


@reads_votes
def fit(
    source: VotesOptions,
    ridge: Annotated[float, ranking("γ in (γ/2)‖θ‖²; 0 is maximum likelihood.", min=0)] = 0.0,
    link: Annotated[str, ranking("The model of a vote.", choice(LINKS))] = "logistic",
    skip_invalid: SkipInvalid = False,
    format: Printed = Format.TABLE,
) -> None:
    """Fit exact Bradley-Terry scores with standard errors. NOT private: for votes you may look at."""
    from quietrank import pipeline
    from quietrank.publish.nonprivate import WARNING
    from quietrank.render.table import render_fit

    with busy("fitting …"):
        scores = pipeline.fit(source.read(any_items=True, skip_invalid=skip_invalid), ridge=ridge, link=link)
    warn(WARNING)
    print_result(scores, render_fit, format)
