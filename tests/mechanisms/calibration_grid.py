"""Every calibration of a grid of promises as plain values, to be compared with those of earlier code.

`python -m tests.mechanisms.calibration_grid` writes the file; a change of any number in it is a change of what is
promised, or of how much noise that takes, and needs a reason.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from quietrank.errors import QuietrankError
from quietrank.mechanisms.perturbed_mle.mechanism import make_plan
from quietrank.mechanisms.registry import MECHANISMS, named
from quietrank.promise.items import Items
from quietrank.promise.privacy import DesignWord, NeighboursWord, Privacy
from quietrank.statistics.method import Method
from quietrank.statistics.statistic import BY_DESIGN, Statistic
from tests.steps import COUNTS, calibrate, choose, for_items

FILE = Path(__file__).parent.parent / "snapshots" / "calibrations.jsonl.gz"

ITEMS = {
    "all pairs of 4": Items(tuple("abcd")),
    "7 of 15 pairs": Items(tuple("abcdef"), pairs=((0, 1), (0, 5), (1, 2), (1, 4), (2, 3), (3, 4), (4, 5))),
    "all pairs of 30": Items(tuple(f"item {k}" for k in range(30))),
}
BOUNDS: dict[str, dict[str, Any]] = {
    "comparison": {"unit": "comparison"},
    "comparison, 3 per person": {"unit": "comparison", "max_per_person": 3},
    "comparison, δ": {"unit": "comparison", "delta": 1e-6},
    "person, 3": {"unit": "person", "max_per_person": 3},
    "person, 40, δ": {"unit": "person", "max_per_person": 40, "delta": 1e-6},
    "person, one per pair": {"unit": "person", "one_per_pair": True},
    "person, one per pair, 2, δ": {"unit": "person", "one_per_pair": True, "max_per_person": 2, "delta": 1e-5},
    "person, clip": {"unit": "person", "clip": 2.5, "delta": 1e-6},
    "person, 5, clip, one per pair": {
        "unit": "person", "max_per_person": 5, "one_per_pair": True, "clip": 1.3, "delta": 1e-6
    },
}  # fmt: skip
NEIGHBOURS: list[NeighboursWord] = ["replace", "add-remove", "outcome"]
DESIGNS: list[DesignWord] = ["private", "uniform", "public"]


def entries() -> Iterator[tuple[str, Any]]:
    """A name for each promise, and what comes of it: the calibration, or the refusal."""
    for bound, neighbours, design in product(BOUNDS, NEIGHBOURS, DESIGNS):
        name = f"{bound} | {neighbours} | {design}"
        try:
            privacy = Privacy(0.7, neighbours=neighbours, design=design, **BOUNDS[bound])
        except QuietrankError as refusal:
            yield name, _refused(refusal)
            continue
        yield f"{name} | statement", privacy.statement
        for place, groups in product(ITEMS, (False, True)):
            yield from _for_items(f"{name} | {place}{' | groups' if groups else ''}", ITEMS[place], privacy, groups)


def _for_items(name: str, items: Items, privacy: Privacy, groups: bool) -> Iterator[tuple[str, Any]]:
    resolved = for_items(privacy, items)
    yield f"{name} | statement", resolved.statement
    for mechanism, statistic in product(("laplace", "zonotope", "ball", "gaussian"), COUNTS):
        made = _or_refused(_calibrated, items, resolved, mechanism, statistic, groups)
        yield f"{name} | {mechanism} | {statistic}", made
    for method, mechanism in product(("auto", "wins"), ("auto", "laplace", "zonotope", "ball", "gaussian")):
        yield f"{name} | {mechanism} for {method}", _or_refused(_chosen, items, resolved, method, mechanism, groups)
    for gamma, calibration in product((0.01, 4.0, 60.0), ("tight", "published")):
        made = _or_refused(_plan, items, resolved, gamma, calibration, groups)
        yield f"{name} | perturbed-mle, {gamma}, {calibration}", made


def _calibrated(items: Items, privacy: Privacy, mechanism: str, statistic: Statistic, groups: bool) -> dict[str, Any]:
    made = calibrate(items, privacy, statistic, MECHANISMS[mechanism], groups=groups)
    clip = made.clip
    return {
        "promise": made.privacy.statement,
        "limits": [made.privacy.max_per_person, made.privacy.clip],
        "step": str(made.step),
        "share": str(made.share),
        "clip": None if clip is None else [str(clip.norm), clip.squares == BY_DESIGN],
        "cost": [made.cost.epsilon, made.cost.delta, made.cost.rho],
        "figures": dict(made.figures),
        "law": _law(made.law),
        "noise": _noise(made.noise),
    }


def _chosen(items: Items, privacy: Privacy, method: str, mechanism: str, groups: bool) -> dict[str, Any]:
    choice = choose(items, privacy, Method(method), named(mechanism), groups=groups)
    return {
        "mechanism": str(choice.noise.mechanism),
        "statistic": str(choice.noise.statistic),
        "alternatives": [[name, round(size, 6)] for name, size in choice.alternatives],
    }


def _plan(items: Items, privacy: Privacy, gamma: float, calibration: str, groups: bool) -> list[Any]:
    bounded = privacy.max_per_person or privacy.unit == "comparison"
    privacy = privacy.changed(delta=0.0, clip=None) if bounded else privacy
    plan = make_plan(len(items), privacy, gamma, calibration, "logistic", 2 if groups else 1)
    numbers = ("lambda_", "epsilon_main", "epsilon_seal", "tolerance", "grid", "beta", "seal_sensitivity", "seal_scale")
    return [str(plan.step), *(getattr(plan, name) for name in numbers)]


def _law(law: Any) -> dict[str, Any]:
    known = {k: v for k, v in vars(law).items() if k not in ("statistic", "graph") and not k.startswith("_")}
    graph = getattr(law, "graph", None)
    return {"law": type(law).__name__, **known, **({} if graph is None else {"graph": _size(graph)})}


def _noise(noise: Any) -> dict[str, Any]:
    if balls := getattr(noise, "balls", ()):
        return {"balls": [{k: str(v) for k, v in vars(ball).items()} for ball in balls]}
    body = getattr(noise, "body", None)
    if body is None:
        return {"noise": type(noise).__name__, "scale": noise.scale}
    shape = {k: _plain(v) for k, v in vars(body).items()}
    total = None if noise.total is None else noise.total.scale
    return {"body": type(body).__name__, **shape, "mirrored": noise.losses_mirrored, "total": total}


def _plain(value: Any) -> Any:
    return _size(value) if hasattr(value, "edges") else str(value)


def _size(graph: Any) -> list[int]:
    return [graph.vertices, len(graph.edges), graph.dimension]


def _or_refused(make: Any, *words: Any) -> Any:
    try:
        return make(*words)
    except QuietrankError as refusal:
        return _refused(refusal)


def _refused(refusal: QuietrankError) -> dict[str, str]:
    return {"refused": str(refusal), "in options": refusal.in_options()}


def recorded() -> dict[str, Any]:
    """The entries as they were written."""
    return dict(map(json.loads, gzip.decompress(FILE.read_bytes()).decode().splitlines()))


if __name__ == "__main__":
    lines = (json.dumps(entry, ensure_ascii=False) for entry in entries())
    FILE.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
