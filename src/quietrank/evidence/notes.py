"""The notes of a release in; the first that quietrank does not write, if any, out.

A note is recognised by how it begins: what follows are numbers and names. Whether it is the note that this release has
to carry is known from the noisy tally alone (`noisy_tally.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

BEGINNINGS = (
    "The list of items was taken from the votes:", "Which pairs were compared, and how often,",
    "Which sets were shown,",
    "It is assumed, not checked, that every pair of items was equally likely",
    "It is assumed, not checked, that every set of ", "It is assumed, not checked, that opponents met at random",
    "It is assumed, not checked, that items were shown beside others at random",
    "It is assumed, not checked, that a tie is likelier",
    "It is assumed, not checked, that the query that gave the votes",
    "It is assumed, not checked, that the view that gave the votes",
    "It is assumed, not checked, that the Ibis expression of the votes", "Items are ranked by counts, which favours",
    "The askable pairs fall into ", "Rows that could not be used were to be skipped;", "The limit of ",
    "Decided people are scaled down more",
    "A vote is the best and the worst of a set", "Scores are those of the maxdiff model:",
    "Win rates are net wins per time shown:", "The weight of all ties was counted apart,",
    "For the intervals it is assumed that ", "For the intervals over all groups it is assumed that ",
    "For the intervals votes are taken to be independent:", "For the intervals the votes of one person are taken",
    "For the interval of the chance of a tie it is assumed", "There are no intervals",
    "Net wins of clipped votes carry no intervals", "Win counts carry no intervals;", "Of ε, ", "δ = ",
    "Only votes with ", "This is week ", "This is day ",
    "The votes name nobody:", "How likely such a list is right ", "The chances are those of a simulation",
)  # fmt: skip
_KNOWN = re.compile("|".join(map(re.escape, BEGINNINGS)))


def unknown_note(notes: Iterable[str]) -> str | None:
    """The first note that begins like none that quietrank writes."""
    return next((note for note in notes if not _KNOWN.match(note)), None)
