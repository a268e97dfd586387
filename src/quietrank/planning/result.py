"""Predictions in, a `Plan` out: what to expect of a survey; as a table, JSON, CSV or a figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import ceil, isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietrank import __version__
from quietrank.mechanisms.registry import AUTO
from quietrank.planning.forecast import Prediction
from quietrank.planning.question import Question
from quietrank.planning.scoring import NO_PRIVACY
from quietrank.planning.survey import PAPER, SPREADS, Survey
from quietrank.planning.targets import BEYOND, Target
from quietrank.promise.arguments import file_path
from quietrank.promise.privacy import Design, Unit, plain_number
from quietrank.publish.files import PLAN
from quietrank.publish.tabular import Tabular, promise_arguments

if TYPE_CHECKING:
    from rich.console import Group

FORMAT = "quietrank/plan/1"


@dataclass(frozen=True, eq=False)
class Plan(Tabular):
    """What accuracy to expect, by mechanism and ε, next to the same without privacy; `plan` makes it.

    >>> import quietrank as qr
    >>> plan = qr.plan(items=5, people=200, per_person=5, epsilon=[1, 2], repetitions=20, curves=False)
    >>> [row["epsilon"] for row in plan.rows() if row["mechanism"] == "laplace"]
    [1.0, 2.0]
    """

    kind = PLAN

    question: Question
    predictions: tuple[Prediction, ...]
    without_privacy: Prediction
    target: Target | None = None
    unmet: tuple[str, ...] = ()
    """mechanisms that miss the target at any ε or number of people"""
    curves: tuple[Prediction, ...] = ()
    """for the figure: a finer grid of ε"""

    @property
    def best(self) -> Prediction:
        """With a target, the smallest answer; else the last ε, with the mechanism of `auto` if it is there."""
        if self.target is not None:
            answers = [one for one in self.predictions if self.target.met(one)]
            return min(answers, key=lambda one: (one.epsilon, one.people, not one.chosen))
        return ([one for one in self.predictions if one.chosen] or list(self.predictions))[-1]

    def rows(self) -> list[dict[str, Any]]:
        """One row per prediction, the one without privacy last; its ε is None."""
        rows = [asdict(one) for one in (*self.predictions, self.without_privacy)]
        return [row | {"epsilon": None if isinf(row["epsilon"]) else row["epsilon"]} for row in rows]

    def to_dict(self) -> dict[str, Any]:
        question, privacy = self.question, self.question.privacy
        return {
            "format": FORMAT,
            "survey": asdict(question.survey),
            "privacy": {name: value for name, value in promise_arguments(privacy).items() if name != "epsilon"},
            "method": question.method.value,
            "mechanism": AUTO if question.mechanism is None else question.mechanism.name,
            "top_k": question.top_k,
            "target": None if self.target is None else str(self.target),
            "target_met_by_standard_errors": BEYOND,
            "predictions": self.rows(),
            "unmet": list(self.unmet),
            "assumptions": list(assumptions(question)),
            "repetitions": question.runs,
            "seed": question.seed,
            "made_with": f"quietrank {__version__}",
        }

    def plot(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Draw the errors against ε, with what would remain without privacy."""
        from quietrank.planning.figure import draw

        draw(self, file_path(path), overwrite=overwrite)

    def page(self) -> Group:
        return render(self)

    def __repr__(self) -> str:
        return str(self)


def rank_options(plan: Plan) -> str:
    """The options of `quietrank rank` that go with the best prediction."""
    privacy, best, question = plan.question.privacy, plan.best, plan.question
    several = len({one.epsilon for one in plan.predictions}) > 1 and plan.target is None
    words = [f"--unit {privacy.unit} --epsilon {'E' if several else plain_number(best.epsilon)}"]
    if privacy.unit is Unit.PERSON and privacy.max_per_person is not None:
        words.append(f"--max-per-person {privacy.max_per_person}")
    words += ["--one-per-pair"] if privacy.one_per_pair else []
    words += [f"--neighbours {privacy.neighbours}"] if privacy.neighbours != "replace" else []
    words += [f"--design {privacy.design}"] if privacy.design is not Design.PRIVATE else []
    words += [f"--delta {plain_number(best.delta)}"] if best.delta > 0 else []
    words += [f"--clip {plain_number(privacy.clip)}"] if privacy.clip is not None else []
    words += [f"--mechanism {best.mechanism}"] if not best.chosen else []
    words += [f"--method {question.method}"] if question.method != "auto" else []
    return " ".join(words)


def assumptions(question: Question) -> tuple[str, ...]:
    """What the simulation assumes."""
    asking = "different pairs for each person" if question.survey.distinct else "also more than once"
    strengths = strengths_assumed(question.survey)
    return (strengths, f"Pairs are drawn uniformly at random, {asking}; everybody answers; there are no ties.")


def strengths_assumed(survey: Survey) -> str:
    """How far apart the items are."""
    if survey.spread == PAPER:
        return "A quarter of the items are equally good and best, the others spread below, as in the paper."
    words = {value: f" ({word})" for word, value in SPREADS.items()}
    spread = float(survey.spread)
    return (
        f"Strengths are normal with a standard deviation of {spread:g}{words.get(spread, '')}: the better of two "
        f"random items wins {_better_wins(spread):.0%} of its votes."
    )


def _better_wins(spread: float) -> float:
    """E 1/(1 + exp(−|θ_i − θ_j|)) for normal strengths."""
    import numpy as np

    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    better = 1 / (1 + np.exp(-np.abs(nodes) * spread * 2**0.5))
    return float(weights @ better / weights.sum())


# ---- for the terminal ------------------------------------------------------------------------------------------------


def render(plan: Plan, *, then: bool = True) -> Group:
    """The table with the answer and the assumptions under it, and what to run `then`."""
    from rich.console import Group
    from rich.text import Text

    parts = [Text(survey_title(plan.question, [one.people for one in plan.predictions]), style="bold"), _table(plan)]
    if plan.target is not None:
        parts.append(Text(_answer(plan), style="bold"))
    parts += [Text(f"{name}: misses the target.") for name in plan.unmet]
    if then:
        parts.append(Text(f"Then: quietrank rank VOTES --items ITEMS {rank_options(plan)}"))
    parts += [Text(f"Note: {note}", style="dim") for note in (_precision(plan), *assumptions(plan.question))]
    return Group(*parts)


def survey_title(question: Question, numbers: Iterable[int]) -> str:
    """What is asked of whom, how it is ranked and what is promised; `numbers` of people that were looked at."""
    method, survey, privacy = question.method, question.survey, question.privacy
    if privacy.unit is Unit.PERSON:
        people = sorted(set(numbers))
        size = f"{people[0]} people" if len(people) == 1 else "people"
        asking = f"{size} with {survey.per_person} {'different pairs' if survey.distinct else 'votes'} each"
    else:
        asking = f"{survey.votes} votes"
    delta = f", δ = {plain_number(privacy.delta)}" if privacy.delta > 0 else ""
    return f"{survey.items} items, {asking}, by {method}; privacy per {privacy.unit} ({privacy.neighbours}{delta})"


def _precision(plan: Plan) -> str:
    margin = f"; the target is met by {BEYOND} of them" if plan.target is not None else ""
    return f"± is the standard error of {plan.question.runs} simulated surveys{margin}."


def _table(plan: Plan) -> Any:
    from rich import box

    from quietrank.render.fitting import FittingTable

    with_people = plan.target is not None and len({one.people for one in plan.predictions}) > 1
    scale = "score error" if plan.question.method == "bradley-terry" else "win rate error"
    table = FittingTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), keep=3)
    for column in (
        "mechanism", "ε", *(["people"] if with_people else []), scale, f"top-{plan.question.top_k} error", "rank error",
        "winner right",
    ):  # fmt: skip
        table.add_column(column, justify="left" if column == "mechanism" else "right")
    for one in (*plan.predictions, plan.without_privacy):
        name = one.mechanism + (" *" if one.chosen else "")
        epsilon = "∞" if one.mechanism == NO_PRIVACY else plain_number(one.epsilon)
        people = [str(one.people)] if with_people else []
        table.add_row(name, epsilon, *people, *_measures(one))
    if any(one.chosen for one in plan.predictions):
        table.caption = "* what mechanism=auto uses"
        table.caption_justify = "left"
    return table


def _measures(one: Prediction) -> tuple[str, ...]:
    """Each with its standard error, which is rounded up."""
    return (
        precise(one.score_error, one.score_precision, 3),
        precise(one.top_k_error, one.top_k_precision, 3),
        precise(one.rank_error, one.rank_precision, 2),
        f"{one.winner:.1%} ± {_up(one.winner_precision, 3):.1%}",
    )


def precise(value: float, error: float, digits: int) -> str:
    """A value and its standard error, which is rounded up."""
    return f"{value:.{digits}f} ± {_up(error, digits):.{digits}f}"


def _up(value: float, digits: int) -> float:
    unit = 0.1**digits
    return ceil(value / unit) * unit


def _answer(plan: Plan) -> str:
    best, survey = plan.best, plan.question.survey
    who = (
        f"{best.people} people"
        if plan.question.privacy.unit is Unit.PERSON
        else f"{best.people * survey.per_person} votes"
    )
    return f"Target {plan.target}: ε = {plain_number(best.epsilon)} with {who} ({best.mechanism})."
