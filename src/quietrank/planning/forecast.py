"""A question about a survey in, the expected accuracy of a release of it out, by mechanism and ε; takes no votes.

The counts are simulated once and shared by all mechanisms and all ε, and so is the noise: a law is sampled at size 1
and scaled. So two predictions differ by what was asked and little else. Noise comes calibrated from additive.py, and
scores from the estimators of a release.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from quietrank.additive import Calibrated, MechanismName, for_items
from quietrank.choice import candidates, choose, expected_noise
from quietrank.errors import PrivacyError
from quietrank.estimators.methods import Method, needs_pairs
from quietrank.items import Items
from quietrank.laws import Law, ZonotopeLaw
from quietrank.planning.measures import measure
from quietrank.planning.releases import Maker, of_size_one, size
from quietrank.planning.survey import Advance, Counts, Floats, Simulated, Survey, plain_weight, simulate
from quietrank.privacy import Privacy
from quietrank.simulate import item_names

REPETITIONS = 2000
BRADLEY_TERRY_REPETITIONS = 300
"""Fitting scores takes a millisecond, counting wins a fiftieth of that."""
MOST_WORK = 60_000_000
"""About how many votes and pairs are simulated in all: a few seconds."""
FEWEST_REPETITIONS = 100
MOST_DRAWS = 2_000_000
"""The edges of spanning trees and their graphs that zonotope noise may look at; draws are used again beyond that."""


@dataclass(frozen=True)
class Question:
    """What is planned: all of it public."""

    survey: Survey
    privacy: Privacy
    """the promise; its ε stands for any"""
    method: Method
    mechanism: MechanismName
    top_k: int
    repetitions: int | None = None
    seed: int = 1

    @property
    def items(self) -> Items:
        return Items(tuple(item_names(self.survey.items)))

    @property
    def runs(self) -> int:
        """How many repetitions: fewer where each takes long."""
        if self.repetitions is not None:
            return self.repetitions
        usual = BRADLEY_TERRY_REPETITIONS if self.method is Method.BRADLEY_TERRY else REPETITIONS
        survey = self.survey
        each = min(survey.votes, survey.pairs + 200_000) + survey.pairs
        return max(FEWEST_REPETITIONS, min(usual, MOST_WORK // each))


@dataclass(frozen=True)
class Prediction:
    """How accurate a release is expected to be."""

    mechanism: str
    epsilon: float
    delta: float
    people: int
    score_error: float
    """root mean square over the items, of win rates or Bradley–Terry scores; of the median release, because the mean
    of heavy tails says little"""
    top_k_error: float
    """1 − |Ŝ ∩ S|/k"""
    rank_error: float
    """mean absolute difference to the true rank"""
    winner: float
    """the probability that the best item comes first"""
    top_k_precision: float
    """standard errors of the simulation"""
    rank_precision: float
    winner_precision: float
    noise_sd: float
    """of the noise on an item's count, in votes"""
    kept: float
    """the share of net wins that is left by bounding people"""
    chosen: bool = False
    """whether mechanism=auto would use it"""


@dataclass(eq=False)
class Forecast:
    """The simulations behind the answers to one question; made when first needed."""

    question: Question
    advance: Advance = lambda amount: None
    _simulated: Simulated | None = None
    _noise: dict[Law, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.question.mechanism is MechanismName.PERTURBED_MLE:
            raise PrivacyError("plan covers noise on the counts, not mechanism=perturbed-mle; use auto, or simulate it")
        if not self.mechanisms:
            raise PrivacyError("no mechanism fits: give --per-person, or --delta 1e-6 with a clip")

    # ---- what can be asked -----------------------------------------------------------------------------------------

    @property
    def mechanisms(self) -> list[MechanismName]:
        """The one asked for, or all whose promise was asked for."""
        asked = self.question
        if asked.mechanism is not MechanismName.AUTO:
            return [asked.mechanism]
        return candidates(asked.items, for_items(asked.privacy, asked.items), asked.method)

    def chosen(self, epsilon: float) -> MechanismName:
        """What mechanism=auto would use."""
        asked = self.question
        privacy = for_items(asked.privacy.changed(epsilon=epsilon), asked.items)
        return choose(asked.items, privacy, asked.method, MechanismName.AUTO).noise.mechanism

    def expected_noise(self, mechanism: MechanismName) -> float:
        """The standard deviation of the noise on an item's count, in votes that are kept."""
        return expected_noise(self._calibrated(mechanism, self.question.privacy.epsilon))

    def predict(self, mechanism: MechanismName, epsilon: float, repetitions: int | None = None) -> Prediction:
        """The accuracy of one mechanism at one ε; `repetitions` to look at the first few only."""
        calibrated = self._calibrated(mechanism, epsilon)
        found = self.simulated
        counts = found.plain if calibrated.clip is None or found.clipped is None else found.clipped
        noise = self._unit_noise(calibrated.law) * size(calibrated.law)
        return self._measured(Maker.of(calibrated, self.question.items), counts, noise, repetitions)

    def without_privacy(self, repetitions: int | None = None) -> Prediction:
        """The same estimator on the exact counts: what no ε can improve on."""
        asked = self.question
        privacy = for_items(asked.privacy, asked.items)
        exact = Maker.exact(asked.items, privacy.changed(delta=0.0, clip=None), asked.method)
        nothing = np.zeros((1, exact.entries))
        return self._measured(exact, self.simulated.plain, nothing, repetitions)

    # ---- the simulations -------------------------------------------------------------------------------------------

    @property
    def simulated(self) -> Simulated:
        if self._simulated is None:
            asked = self.question
            privacy = for_items(asked.privacy, asked.items)
            clips = [self._calibrated(mechanism, privacy.epsilon).clip for mechanism in self.mechanisms]
            self._simulated = simulate(
                asked.survey, privacy, next((clip for clip in clips if clip is not None), None), asked.runs, asked.seed,
                keep_pairs=needs_pairs(asked.method, privacy), advance=self.advance,
            )  # fmt: skip
        return self._simulated

    def _calibrated(self, mechanism: MechanismName, epsilon: float) -> Calibrated:
        asked = self.question
        privacy = for_items(asked.privacy.changed(epsilon=epsilon), asked.items)
        return choose(asked.items, privacy, asked.method, mechanism).noise

    def _unit_noise(self, law: Law) -> Floats:
        """Noise of size 1, a row for each repetition, or fewer to be used in turn; the same for every ε."""
        unit = of_size_one(law)
        if unit not in self._noise:
            draws = self.question.runs
            if isinstance(unit, ZonotopeLaw):
                draws = min(draws, max(FEWEST_REPETITIONS, MOST_DRAWS // len(unit.graph.edges)))
            self._noise[unit] = unit.sample(np.random.default_rng([self.question.seed, 2**31]), draws)
        return self._noise[unit]

    def _measured(self, made: Maker, counts: Counts, noise: Floats, repetitions: int | None) -> Prediction:
        asked, simulated = self.question, self.simulated
        runs = min(repetitions or asked.runs, asked.runs)
        scores = made.scores(asked.method, counts, noise, runs)
        found = measure(scores, simulated.theta[:runs], asked.top_k, as_odds=asked.method is Method.BRADLEY_TERRY)
        whole = simulated.plain.net_wins / plain_weight(asked.survey, asked.privacy)
        return Prediction(
            mechanism=made.mechanism,
            epsilon=made.epsilon,
            delta=made.privacy.delta,
            people=asked.survey.people,
            score_error=float(np.median(found.score_error)),
            top_k_error=float(found.top_k_error.mean()),
            rank_error=float(found.rank_error.mean()),
            winner=float(found.winner.mean()),
            top_k_precision=_precision(found.top_k_error),
            rank_precision=_precision(found.rank_error),
            winner_precision=_precision(found.winner),
            noise_sd=made.noise_sd,
            kept=float((counts.net_wins * whole).sum() / max((whole**2).sum(), 1e-9)),
        )


def _precision(values: Floats) -> float:
    return float(values.std() / sqrt(len(values)))
