"""Rows of means in; per figure and ε, the error of our method relative to that with our earlier noise, out.

Both keep the same promise and see the same votes. Differences are taken repetition by repetition (the measures that
end in `_change`), so that their standard errors are those of paired values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, nan, sqrt

from quietrank.paper.experiments import BEFORE, CHANGE
from quietrank.paper.run import Row
from quietrank.paper.summary import SHORT_METRICS

TOO_FAR = 2.0
"""standard errors above the noise before that are taken for a loss"""


@dataclass(frozen=True)
class Gain:
    """Over the set-ups of a figure at one ε: ours divided by before, below 1 where ours is better."""

    experiment: str
    data: str
    metric: str
    epsilon: float
    ratio: float
    standard_error: float


def gains(rows: Iterable[Row]) -> list[Gain]:
    """One for each figure, survey, measure and ε; L2 and L∞ errors by their geometric mean over set-ups."""
    known = list(rows)
    before = {_place(row): row for row in known if row.method == BEFORE.get(row.experiment)}
    groups: dict[tuple[str, str, str, float], list[Row]] = {}
    for change in changes(known):
        groups.setdefault((change.experiment, change.data, change.metric, change.epsilon), []).append(change)
    return [Gain(*key, *_ratio(group, [before[_place(row)] for row in group])) for key, group in groups.items()]


def changes(rows: Iterable[Row]) -> list[Row]:
    """The differences, under the name of the measure itself."""
    return [replace(row, metric=row.metric.removesuffix(CHANGE)) for row in rows if row.metric.endswith(CHANGE)]


def losses(rows: Iterable[Row]) -> list[Row]:
    """The differences by which ours is worse by more than two standard errors."""
    return [row for row in changes(rows) if row.mean > TOO_FAR * row.standard_error]


def gain_lines(rows: Iterable[Row]) -> list[str]:
    """A line for each figure, survey and ε, and how many points are worse."""
    known = list(rows)
    lines: dict[tuple[str, str, float], list[str]] = {}
    for gain in gains(known):
        words = f"{SHORT_METRICS[gain.metric].removeprefix('log ')} {gain.ratio:.3f} ± {gain.standard_error:.3f}"
        lines.setdefault((gain.experiment, gain.data, gain.epsilon), []).append(words)
    texts = [
        f"ours ÷ before, figure {experiment}{f', {data}' if data else ''}, ε = {epsilon:g}: {', '.join(words)}"
        for (experiment, data, epsilon), words in sorted(lines.items())
    ]
    if texts:
        worse, all_points = len(losses(known)), len(changes(known))
        texts.append(f"ours is worse than before by more than two standard errors at {worse} of {all_points} points")
    return texts


def _place(row: Row) -> tuple[object, ...]:
    return row.experiment, row.data, row.metric, row.n, row.p, row.m, row.epsilon


def _ratio(change: list[Row], before: list[Row]) -> tuple[float, float]:
    """And its standard error: of A/B = 1 + D/B that of (D, B), taken as independent; of e^D that of D."""
    number, difference = len(change), sum(row.mean for row in change)
    error = sqrt(sum(row.standard_error**2 for row in change))
    if change[0].metric.startswith("log_"):
        ratio = exp(difference / number)
        return ratio, ratio * error / number
    level = sum(row.mean for row in before)
    if level <= 0:
        return nan, nan
    blur = sqrt(sum(row.standard_error**2 for row in before)) * abs(difference) / level
    return 1 + difference / level, sqrt(error**2 + blur**2) / level
