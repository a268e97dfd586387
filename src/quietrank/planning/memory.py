"""A question in, the memory needed to answer it out; too much is refused before anything is simulated.

In memory for all repetitions at once: strengths, the true ranking, counts, and noise of size 1. One at a time: the
votes or pairs of a repetition, and a block of releases. All of it follows from the public sizes.
"""

from __future__ import annotations

from dataclasses import replace

from quietrank.errors import QuietrankError, option
from quietrank.mechanisms.choose import candidates
from quietrank.mechanisms.registry import MECHANISMS
from quietrank.planning.question import FEWEST_REPETITIONS, Question
from quietrank.planning.scoring import BLOCK
from quietrank.planning.survey import Survey, sampled_people
from quietrank.promise.privacy import Unit
from quietrank.statistics.method import needs_pairs

MOST_BYTES = 2_000_000_000
BASE = 250_000_000
"""Python, NumPy and the other libraries, and the tables of the laws of noise."""

MOST_LISTED = 100_000


def require_memory(question: Question) -> None:
    """Refuse a question that needs more than 2 GB."""
    needed = bytes_needed(question)
    if needed <= MOST_BYTES:
        return
    survey = question.survey
    enough = bytes_needed(replace(question, repetitions=FEWEST_REPETITIONS)) <= MOST_BYTES
    fewer = f"lower {option('repetitions')}, or " if enough else ""
    raise QuietrankError(
        f"a plan for {survey.items} items and {survey.votes} votes takes about {needed / 1e9:.1f} GB of memory, and "
        f"at most {MOST_BYTES / 1e9:.0f} GB are allowed; {fewer}plan for a smaller survey: what counts is the number "
        "of votes per item"
    )


def bytes_needed(question: Question) -> int:
    """An estimate from above."""
    survey = question.survey
    clips = _clips(question)
    held = 8 * question.runs * survey.items * _held(question)
    names = 200 * survey.items
    pairs = _pairs(question) if needs_pairs(question.method, question.privacy) else 0
    return BASE + held + names + pairs * (2 * clips or 1) + _one_repetition(survey, clips > 0) + _block(survey)


def _clips(question: Question) -> int:
    """By how many clips people are bounded: the ball's and, where δ > 0 allows it, that of Gaussian noise."""
    return (2 if question.privacy.delta > 0 else 1) if question.privacy.unit is Unit.PERSON else 0


def _held(question: Question) -> int:
    """Numbers per repetition and item: 4 for the truth, 2 for counts, or 4 for each clip, 2 for each noise, and 4
    temporary ones."""
    return 4 + (4 * _clips(question) or 2) + 2 * _mechanisms(question) + 4


def _mechanisms(question: Question) -> int:
    """How many are compared; at most all, where listing so many items just to find out would take too much itself."""
    if question.survey.items > MOST_LISTED:
        return sum(mechanism.automatic for mechanism in MECHANISMS.values())
    return len(candidates(question.promise, question.method))


def _pairs(question: Question) -> int:
    """Who met whom: two numbers for each pair that met; fitting needs a few matrices of all pairs."""
    survey = question.survey
    return 16 * question.runs * min(survey.votes, survey.pairs) + 3 * 8 * survey.items**2


def _one_repetition(survey: Survey, clipping: bool) -> int:
    """Up to 10 numbers for each vote, or for each pair where these are fewer, plus the sample that is clipped."""
    sample = sampled_people(survey) * (survey.per_person + survey.items) if clipping else 0
    return 10 * 8 * (min(survey.votes, survey.pairs + 200_000) + sample)


def _block(survey: Survey) -> int:
    """Up to 20 numbers for each score that is worked on."""
    return 20 * 8 * max(BLOCK, survey.items)
