"""Nothing in; the figures of docs/choosing.md out, from the planner: `python docs/make_choosing.py` draws them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import quietrank as qr

PLACE = Path(__file__).parent / "choosing"
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
REPETITIONS = 150
SURVEY = {"items": 10, "per_person": 15, "one_per_pair": True, "design": "uniform", "epsilon": EPSILONS}


def main() -> None:
    _draw("people.png", "people", {str(people): {**SURVEY, "people": people} for people in (50, 150, 500, 1500)})
    single = {"items": 10, "votes": 150 * 15, "unit": "comparison", "design": "uniform", "epsilon": EPSILONS}
    person = {**SURVEY, "people": 150}
    often = {**person, "one_per_pair": False}
    _draw(
        "promise.png",
        "protected",
        {
            "each vote": single,
            "people, each pair once": person,
            "people, any pairs": often,
            "people, any pairs, design private": {**often, "design": "private"},
        },
    )


def _draw(name: str, title: str, surveys: dict[str, dict[str, Any]]) -> None:
    """Rank errors against ε, a line for each survey."""
    drawn = Figure(figsize=(7, 3.6), layout="constrained")
    axes = drawn.subplots()
    for label, survey in surveys.items():
        plan = qr.plan(**survey, repetitions=REPETITIONS, curves=False)
        chosen = [one for one in plan.predictions if one.chosen]
        axes.plot([one.epsilon for one in chosen], [one.rank_error for one in chosen], marker="o", label=label)
    axes.set(xscale="log", xlabel="ε: smaller is more private", ylabel="places off, on average", ylim=(0, None))
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.minorticks_off()
    axes.legend(title=title, frameon=False)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    drawn.savefig(PLACE / name, dpi=130)


if __name__ == "__main__":
    main()
