"""`quietrank demo`: a ranking of the bundled survey goes to stdout."""

from __future__ import annotations

from typing import Annotated

from quietrank.cli.deliver import print_release
from quietrank.cli.options import Format, Printed, promise
from quietrank.render.screen import busy


def demo(
    epsilon: Annotated[float, promise("Strength of the promise; smaller is stronger.", "E")] = 1.0,
    format: Printed = Format.TABLE,
) -> None:
    """Rank six universities from a bundled survey of 303 students, protecting every student."""
    from quietrank import pipeline
    from quietrank.demo import demo_privacy, demo_votes

    with busy("ranking …"):
        release = pipeline.rank(demo_votes(), demo_privacy(epsilon), method="bradley-terry")
    print_release(release, format)
