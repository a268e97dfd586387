"""Our means and a file of published figures in; the largest deviation per curve, and whether it is tolerable, out.

Tolerances. Experiments 1, 2 and 4: ±0.2 for the log L2 error, ±0.3 for the log L∞ error and ±0.06 for the top-k error
of the perturbed MLE; ±0.04 for counts and the one-shot method. A published mean of the perturbed MLE is based on one
noise vector, so it is as uncertain as one repetition, however many there were: where two standard deviations of our
repetitions are more than the stated number (few items, small ε), they are the tolerance, unless `strict`.
Experiment 8 was read off a figure to ±0.02, and both sides are means of about 1000 repetitions:
0.02 + 3·√2·(our standard error).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf, isclose, sqrt
from pathlib import Path

from quietrank.errors import QuietrankError
from quietrank.paper.run import Row

READING_ERROR = 0.02
MLE_TOLERANCE = {"log_rel_l2": 0.2, "log_rel_linf": 0.3, "topk_error": 0.06}
COUNT_TOLERANCE = 0.04


@dataclass(frozen=True)
class Published:
    """One published mean."""

    experiment: str
    method: str
    metric: str
    n: int | None
    p: float | None
    data: str
    epsilon: float
    mean: float

    def is_of(self, row: Row) -> bool:
        """Whether the row is our value for it."""
        same = (self.experiment, self.method, self.metric) == (row.experiment, row.method, row.metric)
        return (
            same
            and self.n in (None, row.n)
            and (self.p is None or isclose(self.p, row.p or 0.0))
            and self.data == row.data
            and (self.epsilon == row.epsilon or isclose(self.epsilon, row.epsilon, rel_tol=1e-4))
        )


@dataclass(frozen=True)
class Deviation:
    """The worst point of one experiment, method and metric: the largest deviation relative to the stated tolerance."""

    experiment: str
    method: str
    metric: str
    points: int
    largest: float
    stated: float
    tolerance: float
    where: str

    @property
    def within(self) -> bool:
        return abs(self.largest) <= self.tolerance

    @property
    def verdict(self) -> str:
        if abs(self.largest) <= self.stated:
            return "within"
        return f"one noise vector: ±{self.tolerance:.3f}" if self.within else "OUTSIDE"


def read_published(path: Path) -> list[Published]:
    """Either of the two reference files, told apart by their columns."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return [_published(row) for row in csv.DictReader(stream)]
    except (OSError, csv.Error, KeyError, TypeError, ValueError):
        raise QuietrankError(
            f"cannot read published figures from {path}; give a CSV file with the columns "
            "experiment,method,metric,n,p,epsilon,mean or figure,data,method,epsilon,mean_rank_difference"
        ) from None


def _published(row: dict[str, str]) -> Published:
    epsilon = inf if row["epsilon"] == "inf" else float(row["epsilon"])
    if "mean_rank_difference" in row:
        mean = float(row["mean_rank_difference"])
        return Published(row["figure"], row["method"], "rank_difference", None, None, row["data"], epsilon, mean)
    n, p, mean = int(row["n"]), float(row["p"]), float(row["mean"])
    return Published(row["experiment"], row["method"], row["metric"], n, p, "", epsilon, mean)


def tolerance(row: Row, strict: bool = False) -> float:
    """How far our mean may be from the published one; `strict` makes no allowance for the single noise vector."""
    if row.metric == "rank_difference":
        return READING_ERROR + 3 * sqrt(2) * row.standard_error
    if row.method != "perturbed_mle":
        return COUNT_TOLERANCE
    one_repetition = row.standard_error * sqrt(row.runs)
    return max(MLE_TOLERANCE[row.metric], 0.0 if strict else 2 * one_repetition)


def compare(rows: Iterable[Row], published: Iterable[Published], strict: bool = False) -> list[Deviation]:
    """The largest deviation of every experiment, method and metric that both sides have."""
    ours: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        ours.setdefault((row.experiment, row.method, row.metric), []).append(row)
    pairs: dict[tuple[str, str, str], list[tuple[Row, float]]] = {}
    for point in map(_like_with_like, published):
        key = (point.experiment, point.method, point.metric)
        for row in ours.get(key, []):
            if point.is_of(row):
                pairs.setdefault(key, []).append((row, row.mean - point.mean))
    return [_largest(key, differences, strict) for key, differences in pairs.items()]


def _like_with_like(point: Published) -> Published:
    """Without noise counts have ties, and the published figures break them by position, to the true top's cost."""
    if (point.method, point.metric, point.epsilon) == ("noisy_counts", "topk_error", inf):
        return replace(point, metric="topk_error_by_position")
    return point


def _largest(key: tuple[str, str, str], differences: list[tuple[Row, float]], strict: bool) -> Deviation:
    def badness(pair: tuple[Row, float]) -> tuple[bool, float]:
        row, difference = pair
        return abs(difference) > tolerance(row, strict), abs(difference) / tolerance(row, strict=True)

    row, difference = max(differences, key=badness)
    where = row.data or f"n={row.n}, p={row.p:g}"
    limits = (tolerance(row, strict=True), tolerance(row, strict))
    return Deviation(*key, len(differences), difference, *limits, f"{where}, ε={row.epsilon:g}")
