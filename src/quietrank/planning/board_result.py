"""Predictions in, a `BoardPlan` out: what to expect of a board; as a table, JSON, CSV or a figure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from quietrank import __version__
from quietrank.planning.crowd import Habit
from quietrank.planning.result import precise, strengths_assumed
from quietrank.promise.arguments import file_path
from quietrank.promise.privacy import plain_number
from quietrank.publish.files import PLAN, Kind
from quietrank.publish.tabular import Tabular, promise_arguments

if TYPE_CHECKING:
    from rich.console import Group

    from quietrank.planning.board import BoardQuestion

FORMAT = "quietrank/board-plan/1"


@dataclass(frozen=True)
class BoardPrediction:
    """What to expect of one way to publish on one day."""

    way: str
    day: int
    """up to which votes are counted: the last period that is over"""
    clip: float | None
    """C; None without privacy"""
    votes: float
    """that were cast"""
    kept: float
    """the share of them that the limit leaves"""
    noise_sd: float
    """on the net wins of an item, in votes"""
    noise_per_vote: float
    """noise_sd/kept: beside votes as they were cast"""
    relative_noise: float | None
    """noise_per_vote, over that of a single release of the same votes at the same C"""
    score_error: float
    """this and the following as in `Prediction`"""
    top_k_error: float
    rank_error: float
    winner: float
    score_precision: float
    top_k_precision: float
    rank_precision: float
    winner_precision: float


@dataclass(frozen=True, eq=False, repr=False)
class BoardPlan(Tabular):
    """What to expect of a board, beside other ways to publish; `plan_board` makes it, and `print` shows it.

    >>> import quietrank as qr
    >>> plan = qr.plan_board(
    ...     items=5, people=300, votes_per_person=12, epsilon=2, delta=1e-6, horizon=12, habit="panel", clip=3,
    ...     method="win-rate", repetitions=20, curves=False,
    ... )
    >>> plan.end("one release").day
    84
    """

    kind: ClassVar[Kind] = PLAN

    question: BoardQuestion
    clip: float
    """C of the board: as given, or the best"""
    predictions: tuple[BoardPrediction, ...]
    shown_from: int | None
    """the day from which on ranks are expected to be shown; None: on no day of the horizon"""
    curves: tuple[BoardPrediction, ...] = ()
    """for the figure: more days"""

    @property
    def board(self) -> tuple[BoardPrediction, ...]:
        """The predictions for the board itself."""
        return tuple(one for one in self.predictions if one.way == self.predictions[0].way)

    def end(self, way: str) -> BoardPrediction:
        """The last prediction for one way."""
        return [one for one in self.predictions if one.way == way][-1]

    def rows(self) -> list[dict[str, Any]]:
        """One row per way and day."""
        return [asdict(one) for one in self.predictions]

    def to_dict(self) -> dict[str, Any]:
        question = self.question
        return {
            "format": FORMAT,
            "items": question.survey.items,
            "spread": question.survey.spread,
            "crowd": asdict(question.crowd) | {"habit": question.crowd.habit.value},
            "privacy": promise_arguments(question.privacy) | {"clip": self.clip},
            "horizon": question.horizon,
            "every": question.every.value,
            "clip_was_chosen": question.clip is None,
            "method": question.method.value,
            "top_k": question.top_k,
            "shown_from": self.shown_from,
            "predictions": self.rows(),
            "assumptions": list(assumptions(question)),
            "repetitions": question.repetitions,
            "seed": question.seed,
            "made_with": f"quietrank {__version__}",
        }

    def plot(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Draw the errors over time, one line for each way."""
        from quietrank.planning.board_figure import draw

        draw(self, file_path(path), overwrite=overwrite)

    def page(self) -> Group:
        return render(self)

    def __repr__(self) -> str:
        return str(self)


def board_options(plan: BoardPlan) -> str:
    """The options of `quietrank board new` that go with the plan."""
    question, privacy = plan.question, plan.question.privacy
    words = [f"--epsilon {plain_number(privacy.epsilon)} --delta {plain_number(privacy.delta)}"]
    words += [f"--clip {plain_number(plan.clip)} --horizon {question.horizon} --every {question.every}"]
    words += [f"--neighbours {privacy.neighbours}"] if privacy.neighbours != "replace" else []
    return " ".join(words)


def assumptions(question: BoardQuestion) -> tuple[str, ...]:
    """What the simulation assumes."""
    crowd = question.crowd
    if crowd.habit is Habit.PANEL:
        habit = f"Everybody casts {crowd.votes_per_person:g} votes, evenly over {crowd.days} days"
    else:
        habit = (
            f"Judges cast {crowd.votes_per_person:g} votes on average, with a heavy tail, about "
            f"{crowd.votes_per_visit:g} on each day they come"
        )
    return (strengths_assumed(question.survey), f"{habit}; pairs are random; all items are there from the first day.")


# ---- for the terminal ------------------------------------------------------------------------------------------------


def render(plan: BoardPlan) -> Group:
    """The table, when ranks are shown, the assumptions, and what to run then."""
    from rich.console import Group
    from rich.text import Text

    parts = [Text(_title(plan), style="bold"), _table(plan), Text(_shown(plan), style="bold")]
    parts.append(Text(f"Then: quietrank board new BOARD --items ITEMS {board_options(plan)} --ledger LEDGER"))
    parts += [Text(f"Note: {note}", style="dim") for note in (*_notes(plan), *assumptions(plan.question))]
    return Group(*parts)


def _title(plan: BoardPlan) -> str:
    question, privacy = plan.question, plan.question.privacy
    return (
        f"{question.horizon} {question.every}s, {question.survey.items} items, {question.crowd.people} people with "
        f"{question.crowd.votes_per_person:g} votes each ({question.crowd.habit}), by {question.method}; ε = "
        f"{plain_number(privacy.epsilon)}, δ = {plain_number(privacy.delta)} per person ({privacy.neighbours}) for all "
        f"{question.every}s together"
    )


def _shown(plan: BoardPlan) -> str:
    if plan.shown_from is None:
        return (
            "Ranks would be shown on no day: the noise stays above the differences between items. More votes, fewer "
            "items or a larger ε would help."
        )
    return f"Ranks will be shown from about day {plan.shown_from} on; before that they would be mostly noise."


def _notes(plan: BoardPlan) -> tuple[str, ...]:
    chosen = "" if plan.question.clip is not None else " C is the one of the least error on these days."
    return (
        f"kept: the share of votes that C leaves. Noise is on an item's net wins, in votes.{chosen}",
        "× one: noise per vote that is kept, over that of a single release at the same C.",
        f"separate: a release of its own each {plan.question.every}, of all votes so far, at its own best C.",
        "winner: how often the best item comes first.",
        f"± is the standard error of {plan.question.repetitions} simulated boards.",
    )


def _table(plan: BoardPlan) -> Any:
    from rich import box

    from quietrank.render.fitting import FittingTable

    table = FittingTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), keep=3)
    k = plan.question.top_k
    for column in ("", "day", "C", "kept", "noise", "× one", "rank error", f"top-{k} error", "winner"):
        table.add_column(column, justify="left" if column == "" else "right", no_wrap=True)
    before = None
    for one in plan.predictions:
        if before not in (None, one.way):
            table.add_section()
        table.add_row(one.way if one.way != before else "", str(one.day), *_limits(one), *_measures(one))
        before = one.way
    return table


def _limits(one: BoardPrediction) -> tuple[str, ...]:
    if one.clip is None or one.relative_noise is None:
        return ("", "100%", "0", "")
    return plain_number(one.clip), f"{one.kept:.0%}", f"{one.noise_sd:.3g}", f"{one.relative_noise:.2f}"


def _measures(one: BoardPrediction) -> tuple[str, ...]:
    return (
        precise(one.rank_error, one.rank_precision, 2),
        f"{one.top_k_error:.3f}",
        f"{one.winner:.0%}",
    )
