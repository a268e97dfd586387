"""Plain words about a board in, a `BoardPlan` out: what to expect of it on chosen days, beside other ways to publish.

What limits leave is measured on simulated people (crowd.py, limits.py). The rest is a survey like any other: votes of
weights w, independent of each other, err like (Σw)²/Σw² votes of weight Σw²/Σw each, so that many are simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from quietrank.arrays import Floats
from quietrank.errors import QuietrankError, UsageError, option
from quietrank.estimate.noisy import stands_out
from quietrank.mechanisms.gaussian import GAUSSIAN, GaussianLaw
from quietrank.mechanisms.horizon import LONGEST
from quietrank.mechanisms.mechanism import Law
from quietrank.planning.arguments import whole, whole_or_none
from quietrank.planning.board_result import BoardPlan, BoardPrediction
from quietrank.planning.crowd import PER_VISIT, Crowd, Habit, HabitWord
from quietrank.planning.measures import Measured, Truth, averages, measure
from quietrank.planning.plan import FEWEST, Meter, checked_top_k
from quietrank.planning.scoring import Maker, Noise
from quietrank.planning.survey import Simulated, SpreadWord, Survey, simulate, spread_of
from quietrank.planning.targets import smallest
from quietrank.planning.ways import Exact, Expected, OneBoard, Releases, Sample, Way
from quietrank.promise.arguments import number, parse
from quietrank.promise.every import Every, EveryWord
from quietrank.promise.items import Items
from quietrank.promise.privacy import NeighboursWord, Privacy
from quietrank.promise.promise import FINE, Promise
from quietrank.simulation import item_names
from quietrank.statistics.method import Method, MethodWord
from quietrank.statistics.net_wins import NET_WINS_AND_EXPOSURES

REPETITIONS = 200
USUAL_DAYS = (30, 91)
"""after a month and after three; the end comes in any case"""
CURVE_POINTS = 6
AUTO = "auto"
PLACEHOLDER = 3.0
"""of C, where it is chosen"""
SAMPLING = 10
"""The work of one board's limits, in units of one prediction."""
SHOWN = 0.5
"""ranks are expected to be shown where this part of simulated boards shows them"""


def plan_board(
    items: int,
    people: int,
    votes_per_person: float,
    *,
    epsilon: float,
    delta: float,
    horizon: int = 52,
    every: EveryWord = "week",
    clip: float | Literal["auto"] = "auto",
    habit: HabitWord = "arena",
    votes_per_visit: float | None = None,
    days: Iterable[int] | None = None,
    neighbours: NeighboursWord = "replace",
    method: MethodWord = "bradley-terry",
    top_k: int | None = None,
    spread: SpreadWord = "typical",
    repetitions: int | None = None,
    seed: int = 1,
    curves: bool = True,
    progress: Callable[[float], None] = lambda share: None,
) -> BoardPlan:
    """What to expect of a board before it is made, beside other ways to publish for the same promise; costs no privacy.

    items, people     how many; all items are there from the first day
    votes_per_person  over the whole horizon, on average
    epsilon, delta    the promise to each person, for all days together
    horizon, every    how many weeks, or days, are published: "week" or "day"
    clip              C; "auto": the one with the least expected error on the chosen days
    habit             "arena": most judges cast few votes, few cast very many, and they come on few days.
                      "panel": all cast the same number, evenly over the horizon.
    votes_per_visit   of an arena: how many votes a judge casts on a day, on average; 4 without it
    days              the days to look at, from 1; after 30 and 91 days without it, and at the end in any case
    neighbours        "replace", "add-remove"; not "outcome", since a board protects people
    method            "auto", "net-wins", "wins", "win-rate", "bradley-terry", as for `Board.release`
    spread            how far apart items are: "close", "typical", "clear", "paper", or a number
    top_k, repetitions, seed, curves, progress  as for `plan`

    >>> import quietrank as qr
    >>> plan = qr.plan_board(
    ...     items=5, people=300, votes_per_person=12, epsilon=2, delta=1e-6, horizon=12, habit="panel", clip=3,
    ...     method="win-rate", repetitions=20, curves=False,
    ... )
    >>> [(one.way, one.day) for one in plan.predictions[:2]]
    [('weekly board', 28), ('weekly board', 84)]
    """
    survey = Survey(whole("items", items, 2), 1, 1, spread=spread_of(spread))
    period, length = parse(Every, "every", every), whole("horizon", horizon, 1)
    crowd = Crowd(
        whole("people", people, 1), _number("votes_per_person", votes_per_person), parse(Habit, "habit", habit),
        length * period.days, _per_visit(votes_per_visit, habit),
    )  # fmt: skip
    limit = None if clip == AUTO else _number("clip", clip)
    privacy = Privacy(epsilon, "person", delta=delta, clip=limit or PLACEHOLDER, neighbours=neighbours)
    question = BoardQuestion(
        survey, crowd, privacy, period, length, limit, _days(days, crowd.days), parse(Method, "method", method),
        checked_top_k(top_k, None, survey.items), whole_or_none("repetitions", repetitions, FEWEST) or REPETITIONS,
        whole("seed", seed, 0),
    )  # fmt: skip
    return _answer(question, curves, progress)


# ---- from words to values -------------------------------------------------------------------------------------------


def _number(name: str, given: object) -> float:
    value = number(given)
    if value is None:
        words = f", or {AUTO}" if name == "clip" else ""
        raise QuietrankError(f"{option(name)} must be a number{words}; got {option(name, repr(given))}")
    return value


def _per_visit(given: object, habit: object) -> float:
    if given is None:
        return PER_VISIT
    if habit != Habit.ARENA:
        raise UsageError(f"{option('votes_per_visit')} is for {option('habit', 'arena')}; leave it out")
    return _number("votes_per_visit", given)


def _days(given: Iterable[int] | None, last: int) -> tuple[int, ...]:
    """Ascending, each once; the end is always there."""
    days = USUAL_DAYS if given is None else tuple(whole("days", day, 1) for day in given)
    if given is not None and any(day > last for day in days):
        raise QuietrankError(f"the horizon ends on day {last}; give {option('days')} up to it, or a longer horizon")
    return tuple(sorted({*(day for day in days if day < last), last}))


@dataclass(frozen=True)
class BoardQuestion:
    """What is planned: all of it public."""

    survey: Survey
    """items and their spread"""
    crowd: Crowd
    privacy: Privacy
    """its C is a placeholder if it is chosen"""
    every: Every
    horizon: int
    clip: float | None
    """None: chosen"""
    days: tuple[int, ...]
    method: Method
    top_k: int
    repetitions: int
    seed: int

    @cached_property
    def promise(self) -> Promise:
        return Promise(self.privacy, Items(tuple(item_names(self.survey.items))), leaves_out=True)


# ---- the answer -----------------------------------------------------------------------------------------------------


def _answer(question: BoardQuestion, curves: bool, progress: Callable[[float], None]) -> BoardPlan:
    points = _points(question) if curves else []
    meter = Meter(4 * SAMPLING + 5 * (len(question.days) + len(points)) + SAMPLING, progress)
    sample = Sample(
        question.crowd.sample(question.survey, question.seed), question.crowd, question.promise,
        lambda amount: meter.add(SAMPLING * amount),
    )  # fmt: skip
    board = _board(question, sample, question.every, question.horizon)
    forecast, ways = BoardForecast(question, sample), [board, *_others(question, sample)]
    predictions = [one for way in ways for one in _predicted(forecast, way, question.days, meter)]
    lines = [one for way in ways for one in _predicted(forecast, way, points, meter)]
    first = forecast.shown_from(board)
    progress(1.0)
    return BoardPlan(question, board.clip, tuple(predictions), first, tuple(lines))


def _others(question: BoardQuestion, sample: Sample) -> list[Way]:
    """A board in other periods, separate releases, one release at the end, and no privacy."""
    other = Every.WEEK if question.every is Every.DAY else Every.DAY
    horizon = question.crowd.days // other.days
    boards = [_board(question, sample, other, horizon)] if 1 <= horizon <= LONGEST else []
    separate = Releases(sample, "separate", question.every, question.horizon)
    return [*boards, separate, Releases(sample, "one release", question.every, 1), Exact(sample)]


def _board(question: BoardQuestion, sample: Sample, every: Every, horizon: int) -> OneBoard:
    name = "weekly board" if every is Every.WEEK else "nightly board"
    return OneBoard(sample, name, every, horizon, question.clip, question.days)


def _points(question: BoardQuestion) -> list[int]:
    """Days for the figure: they lie closer in the beginning, where more changes; those of the table are among them."""
    around = np.geomspace(min(7, question.crowd.days), question.crowd.days, CURVE_POINTS)
    return sorted({*(int(day) for day in around), *question.days})


def _predicted(forecast: BoardForecast, way: Way, days: Sequence[int], meter: Meter) -> list[BoardPrediction]:
    """One release is made at the end, and nothing before."""
    predictions = []
    for day in days[-1:] if isinstance(way, Releases) and way.number == 1 else days:
        predictions.append(forecast.predict(way, day))
        meter.add(1)
    return predictions


@dataclass(eq=False)
class BoardForecast:
    """The simulations behind the answers; every repetition has the same strengths on all days and in all ways."""

    question: BoardQuestion
    sample: Sample
    _noise: dict[Law, Floats] = field(default_factory=dict)
    _predictions: dict[tuple[str, int], BoardPrediction] = field(default_factory=dict)

    def predict(self, way: Way, day: int) -> BoardPrediction:
        """What to expect of one way on one day."""
        if (way.name, day) not in self._predictions:
            self._predictions[way.name, day] = self._predict(way.name, way.at(day))
        return self._predictions[way.name, day]

    def _predict(self, name: str, expected: Expected) -> BoardPrediction:
        question, simulated = self.question, self._simulated(expected)
        maker = self._maker(expected)
        noise = Noise(self._unit_noise(maker.law), expected.noise_sd)
        truth = Truth.of(simulated.theta, as_odds=question.method is Method.BRADLEY_TERRY)
        scores = maker.scores(question.method, simulated.plain, noise)
        measured = Measured.joined([measure(some, truth.rows(block), question.top_k) for block, some in scores])
        return BoardPrediction(
            way=name,
            day=expected.day,
            clip=None if expected.noise is None else float(expected.noise.clip.norm),
            votes=expected.votes,
            kept=expected.kept,
            noise_sd=expected.noise_sd,
            noise_per_vote=expected.noise_per_vote,
            relative_noise=self._relative(expected),
            **averages(measured, question.repetitions, question.survey.items, question.top_k),
        )

    def _relative(self, expected: Expected) -> float | None:
        """Noise beside votes as they were cast, over that of a single release of the same votes at the same C."""
        if expected.noise is None:
            return None
        ((noise, sums),) = self.sample.singles(expected.day, [float(expected.noise.clip.norm)])
        single = Expected.of(expected.day, noise, noise.sigma, sums, 1, expected.votes)
        return expected.noise_per_vote / single.noise_per_vote

    def shown_from(self, board: OneBoard) -> int | None:
        """The first day on which ranks are expected to be shown; None if that is after the horizon."""
        periods = list(range(1, board.horizon + 1))
        first = smallest(lambda period: self._shown(board.at(period * board.length)) >= SHOWN, periods, board.horizon)
        return None if first is None else first * board.length

    def _shown(self, expected: Expected) -> float:
        """Which part of simulated boards shows ranks."""
        net_wins, n = self._simulated(expected).plain.net_wins, self.question.survey.items
        noise = self._unit_noise(self._maker(expected).law)[:, :n] * expected.noise_sd
        spreads = np.full(n, expected.noise_sd)
        return float(np.mean([stands_out(np.asarray(row), spreads) for row in np.add(net_wins, noise)]))

    def _simulated(self, expected: Expected) -> Simulated:
        """Strengths, and counts of as many votes of one weight as err like those of all people."""
        question = self.question
        votes = max(1, round(expected.weight**2 / max(expected.squares, 1e-300)))
        survey = Survey(question.survey.items, votes, 1, spread=question.survey.spread)
        alike = simulate(survey, Privacy(1.0, "comparison"), None, question.repetitions, question.seed)
        met = expected.weight / votes
        return Simulated(alike.theta, alike.plain.times(met * expected.signal / expected.kept, met), None)

    def _maker(self, expected: Expected) -> Maker:
        """As the tally of a board is made; without privacy the same with no noise."""
        promise, statistic = self.question.promise, NET_WINS_AND_EXPOSURES
        if expected.noise is not None:
            promise, statistic = expected.noise.promise, expected.noise.statistic
        share = statistic.beta
        law = GaussianLaw(statistic, self.question.survey.items, expected.noise_sd, float(share))
        return Maker(promise, statistic, FINE, share, GAUSSIAN.name, promise.privacy.epsilon, law)

    def _unit_noise(self, law: Law) -> Floats:
        unit = law.of_size(1.0)
        if unit not in self._noise:
            rng = np.random.default_rng([self.question.seed, 2**31])
            self._noise[unit] = unit.sample(rng, self.question.repetitions)
        return self._noise[unit]
