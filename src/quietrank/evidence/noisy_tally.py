"""A release and its noisy tally in; the first difference between the release and what the tally gives, if any, out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from quietrank.errors import QuietrankError
from quietrank.estimate.noisy import GroupedTally, NoisyTally
from quietrank.evidence.subject import Subject
from quietrank.pipeline import Request, release_of
from quietrank.publish.grouped import GroupedRelease
from quietrank.publish.view import View
from quietrank.statistics.method import Ties

ALIKE = 1e-7
"""relative: scores are fitted and intervals are sampled, and other machines round differently"""


def difference(
    subject: Subject, tally: NoisyTally | GroupedTally, tell: Callable[[float], None] = lambda done: None
) -> str | None:
    """The first thing in which the release made again from the tally is another; None if it is the same."""
    first: str | None = None
    for request in _requests(subject):
        try:
            remade = release_of(tally, request, tell).top(_shown(subject))
        except QuietrankError as error:
            return f"the tally cannot give such a release: {error}"
        here = next(_differences(subject.values, remade.to_dict()), None)
        if here is None:
            return None
        first = first or here
    return first


def _shown(subject: Subject) -> int:
    """How many items the release shows."""
    return max((len(release) for _, release in subject.releases), default=1)


def _requests(subject: Subject) -> Iterator[Request]:
    """What was asked for, from what the release says: its ridge was chosen or given, so both are tried."""
    _, release = subject.releases[0]
    certainty = release.certainty
    view = View(scale=release.scale, anchor=release.anchor)
    if certainty is not None:
        view = replace(view, level=certainty.level, simultaneous=certainty.simultaneous)
    overall = isinstance(subject.result, GroupedRelease) and subject.result.overall is not None
    ties = Ties.HALF if release.ties is None else Ties.DAVIDSON
    ridges = {"auto": None} | ({} if release.gamma is None else {release.gamma: None})
    for gamma in ridges:
        yield Request.of("auto", release.method, gamma, view=view, overall=overall, ties=ties)  # type: ignore[arg-type]


def _differences(published: Any, remade: Any, place: str = "") -> Iterator[str]:
    """Where two sets of plain values differ; which version wrote them does not matter."""
    if isinstance(published, dict) and isinstance(remade, dict):
        for name in dict.fromkeys([*published, *remade]):
            if name != "made_with":
                here = f"{place}.{name}" if place else name
                yield from _differences(published.get(name), remade.get(name), here)
    elif isinstance(published, list) and isinstance(remade, list) and len(published) == len(remade):
        for k, (one, other) in enumerate(zip(published, remade, strict=True)):
            yield from _differences(one, other, f"{place}[{k}]")
    elif not _alike(published, remade):
        yield f"{place} is {_short(published)} in the release, and {_short(remade)} from the tally"


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool) or not _are_numbers(one, other):
        return bool(one == other)
    return math.isclose(one, other, rel_tol=ALIKE, abs_tol=1e-12)


def _are_numbers(one: Any, other: Any) -> bool:
    return isinstance(one, int | float) and isinstance(other, int | float)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
