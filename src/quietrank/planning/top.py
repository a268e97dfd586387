"""A survey that has not been run and k in, the chance that the list of its first k items is right out, by mechanism.

The counts are simulated once (survey.py) and shared by all mechanisms and all ε. A list is compared with the one that
the exact counts of the same survey would give, and with the truly best items, which even exact counts may miss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import inf, isinf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from quietrank import __version__
from quietrank.arrays import Floats, Integers
from quietrank.mechanisms.choose_top import choose_top, first_places, for_top, top_candidates
from quietrank.mechanisms.mechanism import Calibrated, Mechanism
from quietrank.mechanisms.registry import MechanismWord, named
from quietrank.mechanisms.selection import checked_k
from quietrank.planning import arguments
from quietrank.planning.arguments import whole
from quietrank.planning.measures import error_of_mean
from quietrank.planning.memory import require_memory
from quietrank.planning.plan import FEWEST, USUAL_EPSILONS, Sizes, limit_for
from quietrank.planning.question import Question
from quietrank.planning.result import assumptions, survey_title
from quietrank.planning.scoring import NO_PRIVACY
from quietrank.planning.survey import (
    MOST_BY_PERSON,
    Advance,
    Simulated,
    SpreadWord,
    simulate,
    spread_of,
)
from quietrank.promise.arguments import parse
from quietrank.promise.privacy import DesignWord, NeighboursWord, Privacy, Unit, UnitWord, plain_number
from quietrank.promise.promise import Clip
from quietrank.publish.files import PLAN, Kind
from quietrank.publish.tabular import Tabular, promise_arguments
from quietrank.statistics.method import Method, TopMethodWord, require_counts

if TYPE_CHECKING:
    from rich.console import Group

FORMAT = "quietrank/top-plan/1"

MEASURES = ("as_exact", "exact_found", "right", "found")


@dataclass(frozen=True)
class TopPrediction:
    """How often a list is expected to be right."""

    mechanism: str
    epsilon: float
    delta: float
    people: int
    as_exact: float
    """the chance of the list that exact counts would give, in its order"""
    exact_found: float
    """the share of its items that are named, in whatever order"""
    right: float
    """the chance of the truly best items, in their order"""
    found: float
    """the share of the truly best items that are named"""
    as_exact_precision: float
    """standard errors of the simulation"""
    exact_found_precision: float
    right_precision: float
    found_precision: float
    chosen: bool = False
    """whether mechanism=auto would use it"""


@dataclass(eq=False)
class TopForecast:
    """The simulations behind the answers to one question."""

    question: Question
    advance: Advance = lambda amount: None
    by_person: int = MOST_BY_PERSON
    """as for `simulate`: less is quicker"""

    def __post_init__(self) -> None:
        require_memory(self.question)

    def mechanisms(self, epsilon: float) -> list[Mechanism]:
        """The one that was requested, or those that fit the promise; which noise on counts is least depends on ε."""
        question = self.question
        if question.mechanism is not None:
            return [question.mechanism]
        return top_candidates(question.promise.changed(epsilon=epsilon), question.top_k, question.method)

    def predict(self, mechanism: Mechanism, epsilon: float) -> TopPrediction:
        """The accuracy of one mechanism at one ε."""
        question, seed = self.question, self.question.seed
        promise, k = question.promise.changed(epsilon=epsilon), question.top_k
        noise = for_top(promise, k, question.method, mechanism)
        simulated = self._simulated(noise.clip)
        counts = self._ranked_by(simulated, noise)
        draws = min(len(counts), noise.law.most_draws or len(counts))
        unit = noise.law.of_size(1.0).sample(np.random.default_rng([seed, 2**31]), draws)
        drawn = noise.law.size * unit[np.arange(len(counts)) % draws]
        places = first_places(noise.law, k, counts, drawn)
        best = None if question.mechanism is not None else choose_top(promise, k, question.method).noise.mechanism
        prediction = self._prediction(places, noise.mechanism.name, draws)
        return replace(prediction, epsilon=epsilon, delta=noise.privacy.delta, chosen=best == noise.mechanism)

    @cached_property
    def without_privacy(self) -> TopPrediction:
        """The list that exact counts give."""
        places = np.argsort(-self._exact, axis=1, kind="stable")[:, : self.question.top_k]
        return self._prediction(places, NO_PRIVACY, len(places))

    @cached_property
    def _plain(self) -> Simulated:
        return self._run(None, self.advance)

    def _simulated(self, clip: Clip | None) -> Simulated:
        """The same people, once more with this clip: a repetition has the same votes whatever the clip is."""
        if clip is None:
            return self._plain
        if clip not in self._clipped:
            self._clipped[clip] = self._run(clip)
        return self._clipped[clip]

    @cached_property
    def _clipped(self) -> dict[Clip, Simulated]:
        return {}

    def _run(self, clip: Clip | None, advance: Advance = lambda amount: None) -> Simulated:
        question = self.question
        return simulate(
            question.survey, question.promise.privacy, clip, question.runs, question.seed, by_person=self.by_person,
            advance=advance,
        )  # fmt: skip

    def _ranked_by(self, simulated: Simulated, noise: Calibrated | None = None) -> Floats:
        counts = simulated.plain if noise is None or noise.clip is None else simulated.clipped
        assert counts is not None
        return counts.wins if self.question.method is Method.WINS else counts.net_wins

    @property
    def _exact(self) -> Floats:
        return self._ranked_by(self._plain)

    def _prediction(self, places: Integers, name: str, draws: int) -> TopPrediction:
        question, k, runs = self.question, self.question.top_k, len(places)
        measured = [*compare(places, self._exact), *compare(places, self._plain.theta)]
        means = [float(values.mean()) for values in measured]
        steps = (1.0, 1 / k, 1.0, 1 / k)
        precise = [error_of_mean(values, min(draws, runs), step) for values, step in zip(measured, steps, strict=True)]
        return TopPrediction(
            name, inf, 0.0, question.survey.people, means[0], means[1], means[2], means[3],
            precise[0], precise[1], precise[2], precise[3],
        )  # fmt: skip


def compare(places: Integers, values: Floats) -> tuple[Floats, Floats]:
    """Whether each list (a row) has the largest values in their order, and which share of them it names; items of
    equal value may stand for each other."""
    best = -np.sort(-values, axis=1)[:, : places.shape[1]]
    named = np.take_along_axis(values, places, axis=1)
    return (named == best).all(axis=1).astype(np.float64), (named >= best[:, -1:]).mean(axis=1)


# ---- the answer ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class TopPlan(Tabular):
    """What to expect of a list of the first few; `plan_top` makes it, and `print` shows it.

    >>> import quietrank as qr
    >>> plan = qr.plan_top(items=6, k=2, people=200, per_person=5, epsilon=[1, 2], repetitions=20)
    >>> [row["epsilon"] for row in plan.rows() if row["mechanism"] == "permute-and-flip"]
    [1.0, 2.0]
    """

    question: Question
    predictions: tuple[TopPrediction, ...]
    without_privacy: TopPrediction

    kind: ClassVar[Kind] = PLAN

    @property
    def best(self) -> TopPrediction:
        """What mechanism=auto would use, at the largest ε."""
        return max(self.predictions, key=lambda one: (one.epsilon, one.chosen))

    def rows(self) -> list[dict[str, Any]]:
        """One row per prediction, the one without privacy last; its ε is None."""
        rows = [asdict(one) for one in (*self.predictions, self.without_privacy)]
        return [row | {"epsilon": None if isinf(row["epsilon"]) else row["epsilon"]} for row in rows]

    def to_dict(self) -> dict[str, Any]:
        question = self.question
        return {
            "format": FORMAT,
            "survey": asdict(question.survey),
            "privacy": {
                name: value for name, value in promise_arguments(question.privacy).items() if name != "epsilon"
            },
            "method": question.method.value,
            "only_top": question.top_k,
            "predictions": self.rows(),
            "assumptions": list(assumptions(question)),
            "repetitions": question.runs,
            "seed": question.seed,
            "made_with": f"quietrank {__version__}",
        }

    def page(self) -> Group:
        return render(self)

    def __repr__(self) -> str:
        return str(self)


def plan_top(
    items: int,
    k: int,
    people: int | None = None,
    per_person: int | None = None,
    *,
    votes: int | None = None,
    epsilon: float | Iterable[float] | None = None,
    unit: UnitWord = "person",
    one_per_pair: bool = False,
    max_per_person: int | None = None,
    neighbours: NeighboursWord = "replace",
    design: DesignWord = "private",
    delta: float = 0.0,
    clip: float | None = None,
    mechanism: MechanismWord = "auto",
    method: TopMethodWord = "auto",
    spread: SpreadWord = "typical",
    repetitions: int | None = None,
    seed: int = 1,
    progress: Callable[[float], None] = lambda share: None,
) -> TopPlan:
    """How likely a list of the first k items will be right, for a survey that has not been run; costs no privacy.

    k          how many are to be named, as for `top`
    mechanism  "auto": all that keep the promise: selection ("permute-and-flip", and "exponential" where delta is above
               0), and of "laplace", "zonotope", "gaussian" and "ball" the best; or one of them. Not "perturbed-mle".
    method     "net-wins" or "wins"; "auto" is net wins

    The others are as for `plan`:

    items, people, per_person, votes  how large the survey is
    epsilon    the ε to look at, one or several; 0.5, 1 and 2 without it
    unit, neighbours, design  "person", "comparison"; "replace", "add-remove", "outcome"; "private", "uniform", "public"
    delta, one_per_pair, max_per_person, clip  as for `Privacy`
    spread     how far apart items are: "close", "typical", "clear", "paper", or a number
    repetitions, seed, progress  how many surveys are simulated; the same seed gives the same numbers

    >>> import quietrank as qr
    >>> plan = qr.plan_top(items=6, k=1, people=200, per_person=5, epsilon=1, repetitions=20)
    >>> plan.best.epsilon
    1.0
    """
    ranked_by = parse(Method, "method", method)
    require_counts(ranked_by)
    protected = parse(Unit, "unit", unit)
    sizes = Sizes.of(items, people, per_person, votes, one_per_pair)
    survey = sizes.survey(protected, False, spread_of(spread))
    epsilons = arguments.epsilons(epsilon) or list(USUAL_EPSILONS)
    limit = None if clip is not None and max_per_person is None else limit_for(max_per_person, protected, survey)
    privacy = Privacy(epsilons[0], protected, delta, neighbours, design, limit, survey.distinct, clip)
    question = Question(
        survey, privacy, ranked_by, named(mechanism), checked_k(k, survey.items),
        arguments.whole_or_none("repetitions", repetitions, FEWEST), whole("seed", seed, 0),
    )  # fmt: skip
    return _answer(question, epsilons, progress)


def _answer(question: Question, epsilons: Sequence[float], progress: Callable[[float], None]) -> TopPlan:
    forecast = TopForecast(question, lambda amount: progress(0.0))
    tasks = [(mechanism, epsilon) for epsilon in epsilons for mechanism in forecast.mechanisms(epsilon)]
    names = list(dict.fromkeys(mechanism.name for mechanism, _ in tasks))
    tasks.sort(key=lambda task: names.index(task[0].name))
    predictions = []
    for number, task in enumerate(tasks, 1):
        predictions.append(forecast.predict(*task))
        progress(number / len(tasks))
    return TopPlan(question, tuple(predictions), forecast.without_privacy)


# ---- for the terminal ------------------------------------------------------------------------------------------------


def render(plan: TopPlan) -> Group:
    """The chances by mechanism, and what they assume."""
    from rich import box
    from rich.console import Group
    from rich.text import Text

    from quietrank.render.fitting import FittingTable

    table = FittingTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), keep=3)
    k = plan.question.top_k
    every = ("as exact, %", "of it, %", "right, %", "of it, %")
    for column in ("mechanism", "ε", *every[:: 1 if k > 1 else 2]):
        table.add_column(column, justify="left" if column == "mechanism" else "right", no_wrap=True)
    for one in (*plan.predictions, plan.without_privacy):
        epsilon = "∞" if isinf(one.epsilon) else plain_number(one.epsilon)
        table.add_row(one.mechanism + (" *" if one.chosen else ""), epsilon, *_shares(one)[:: 1 if k > 1 else 2])
    if any(one.chosen for one in plan.predictions):
        table.caption, table.caption_justify = "* what mechanism=auto uses", "left"
    notes = (
        "As exact: the list that the votes would give without privacy, in its order. Right: the truly best items, in "
        "their order. Of it: the share of these items that are named, in whatever order.",
        f"± is the standard error of {plan.question.runs} simulated surveys.",
        *assumptions(plan.question),
    )
    survey = survey_title(plan.question, [one.people for one in plan.predictions])
    title = f"The first {k} of {survey}" if k > 1 else f"The first of {survey}"
    return Group(Text(title, style="bold"), table, *(Text(f"Note: {note}", style="dim") for note in notes))


def _shares(one: TopPrediction) -> tuple[str, ...]:
    values = asdict(one)
    return tuple(f"{100 * values[name]:.1f} ± {100 * values[f'{name}_precision']:.1f}" for name in MEASURES)
