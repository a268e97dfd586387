"""Rows of means in; the names used in tables and figures, and one line per experiment, measure and ε, out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from quietrank.paper.phase import Setting
from quietrank.paper.run import Row

METHOD_NAMES = {
    "perturbed_mle": "perturbed MLE (published)",
    "noisy_counts": "noisy counts (published)",
    "one_shot": "one-shot (Qiao, Su, Zhang)",
    "noisy_counts_right": "noisy counts, Laplace(2L/ε)",
    "net_wins_laplace": "net wins, Laplace(2L/ε)",
    "net_wins_zonotope": "net wins, zonotope noise",
    "ours": "ours: noisy net wins",
    "non_private": "not private",
}
PERSON_NAMES = {
    "noisy_counts": "noisy counts, Laplace(L/ε): 2ε in truth",
    "ours": "ours: net wins, with the noise that auto takes",
}
PERSON_PROMISE = "all ε-private when one person is replaced, unless stated"
"""what figures 5 to 8 say of their methods together"""
METRIC_NAMES = {
    "log_rel_l2": "log relative L2 error",
    "log_rel_linf": "log relative L∞ error",
    "topk_error": "top-k error",
    "topk_error_by_position": "top-k error, ties by position",
    "rank_difference": "mean rank difference",
    "recovered": "P(top k recovered)",
    "attack": "score attack",
    "bound": "bound on the attack",
    "excess": "attack minus bound",
}
SHORT_METHODS = {
    "perturbed_mle": "pert. MLE",
    "noisy_counts": "counts",
    "one_shot": "one-shot",
    "noisy_counts_right": "counts 2L",
    "net_wins_laplace": "net wins 2L",
    "net_wins_zonotope": "zonotope",
    "ours": "ours",
}
SHORT_METRICS = {
    "log_rel_l2": "log L2",
    "log_rel_linf": "log L∞",
    "topk_error": "top-k",
    "topk_error_by_position": "top-k, ties by position",
    "rank_difference": "rank diff.",
}
SHOWN = (0.1, 0.5, 1.0, 2.5, 10.0, inf)  # ε in the summary; the table of means has them all


def name(method: str, person: bool = False) -> str:
    """The name of a method; the name of the published counts for people states their real privacy."""
    return (METHOD_NAMES | PERSON_NAMES if person else METHOD_NAMES)[method]


@dataclass(frozen=True)
class Line:
    """Means over an experiment's set-ups, per method."""

    experiment: str
    metric: str
    epsilon: float
    means: dict[str, float]


def summarise(rows: Iterable[Row]) -> tuple[list[Line], list[str]]:
    """The lines, and the methods that occur in them."""
    groups: dict[tuple[str, str, float], dict[str, list[float]]] = {}
    for row in rows:
        if row.metric in SHORT_METRICS and row.metric != "topk_error_by_position" and row.epsilon in SHOWN:
            key = (row.experiment, row.metric, row.epsilon)
            groups.setdefault(key, {}).setdefault(row.method, []).append(row.mean)
    lines = [
        Line(*key, {method: sum(values) / len(values) for method, values in by_method.items()})
        for key, by_method in groups.items()
    ]
    lines.sort(key=lambda line: (line.experiment, list(SHORT_METRICS).index(line.metric), line.epsilon))
    return lines, [method for method in SHORT_METHODS if any(method in line.means for line in lines)]


def phase_curves(rows: Iterable[Row]) -> dict[Setting, list[Row]]:
    """The phase transition's curves, each in the order of its gaps."""
    curves: dict[Setting, list[Row]] = {}
    for row in rows:
        if row.experiment == "phase":
            curves.setdefault(Setting(row.n, row.epsilon, row.p, row.m), []).append(row)
    return {setting: sorted(curve, key=gap) for setting, curve in curves.items()}


def gap(row: Row) -> float:
    """The gap of a point of the phase transition, in units of the sharp threshold."""
    return float(row.data.removeprefix("gap "))


def half_point(curve: list[Row]) -> float:
    """The gap at which the top k are recovered half of the time."""
    import numpy as np

    mean = np.maximum.accumulate([row.mean for row in curve])
    return float(np.interp(0.5, mean + 1e-9 * np.arange(len(mean)), [gap(row) for row in curve]))


def phase_lines(rows: Iterable[Row]) -> list[str]:
    """Where recovery reaches 1/2, in both units, over all n and ε of a unit."""
    lines = []
    curves = phase_curves(rows)
    for unit in ("comparison", "person"):
        halves = {s: half_point(curve) for s, curve in curves.items() if bool(s.m) == (unit == "person")}
        if halves:
            published = sorted(half * s.sharp / s.published for s, half in halves.items())
            sharp = sorted(halves.values())
            lines.append(
                f"phase, unit {unit}: P(top k recovered) = 1/2 at {published[0]:.2f} to {published[-1]:.2f} minimax "
                f"rates, {sharp[0]:.2f} to {sharp[-1]:.2f} thresholds with constants ({len(halves)} curves)"
            )
    return lines


def attack_lines(rows: Iterable[Row]) -> list[str]:
    """The largest attack in units of what ε-privacy allows, per method."""
    means = {(r.method, r.metric, r.epsilon): r.mean for r in rows if r.experiment == "attack"}
    lines = []
    for method in dict.fromkeys(method for method, _, _ in means):
        levels = sorted({epsilon for m, _, epsilon in means if m == method})
        ratio = {e: means[method, "attack", e] / means[method, "bound", e] for e in levels}
        worst = max(ratio, key=lambda e: ratio[e])
        lines.append(f"attack, {METHOD_NAMES[method]}: at most {ratio[worst]:.2f} of what ε allows, at ε = {worst:g}")
    return lines
