"""A question about a survey in, the expected accuracy of its release out, by mechanism and ε; takes no votes.

The counts are simulated once and shared by all mechanisms and all ε, and so is the noise: a law is sampled at size 1
and scaled. So two predictions differ because the questions differ, and hardly by chance. Noise comes calibrated from
mechanisms/, and scores come from the estimators that releases use.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from quietrank.arrays import Floats
from quietrank.errors import PrivacyError, either, option
from quietrank.mechanisms.choose import candidates, choose, expected_noise
from quietrank.mechanisms.mechanism import Calibrated, Law, Mechanism
from quietrank.mechanisms.selection import Selection
from quietrank.planning.measures import Measured, Truth, averages, measure
from quietrank.planning.memory import require_memory
from quietrank.planning.question import Question
from quietrank.planning.scoring import Maker, Noise
from quietrank.planning.survey import Advance, Counts, Simulated, plain_weight, simulate
from quietrank.promise.promise import Clip
from quietrank.statistics.method import Method, needs_pairs
from quietrank.statistics.scores import SCORES


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
    score_precision: float
    """standard errors of the simulation"""
    top_k_precision: float
    rank_precision: float
    winner_precision: float
    noise_sd: float
    """of the noise on an item's count, in votes"""
    kept: float
    """the share of net wins that remains after bounding people"""
    chosen: bool = False
    """whether mechanism=auto would use it"""


@dataclass(eq=False)
class Forecast:
    """The simulations behind the answers to one question; made when first needed."""

    question: Question
    advance: Advance = lambda amount: None
    _noise: dict[Law, Floats] = field(default_factory=dict)
    _simulated: dict[Clip | None, Simulated] = field(default_factory=dict)
    _predictions: dict[tuple[str, float], Prediction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mechanism = self.question.mechanism
        if isinstance(mechanism, Selection):
            raise PrivacyError(
                f"{option('mechanism', mechanism.name)} names the first few items and ranks no others; "
                f"{either('use plan_top', 'add --only-top K')}, or choose another mechanism"
            )
        if mechanism is not None and SCORES in mechanism.statistics:
            raise PrivacyError(
                f"plan covers noise on the counts, not {option('mechanism', 'perturbed-mle')}; use auto, or simulate it"
            )
        require_memory(self.question)
        if not self.mechanisms:
            raise PrivacyError(f"no mechanism fits: give {option('per_person')}, or a {option('clip')}")

    # ---- what can be asked -----------------------------------------------------------------------------------------

    @property
    def mechanisms(self) -> list[Mechanism]:
        """The one that was requested, or all that fit the promise."""
        question = self.question
        return candidates(question.promise, question.method) if question.mechanism is None else [question.mechanism]

    def chosen(self, epsilon: float) -> Mechanism:
        """What mechanism=auto would use."""
        return choose(self.question.counts_at(epsilon), self.question.method).noise.mechanism

    def expected_noise(self, mechanism: Mechanism) -> float:
        """The standard deviation of the noise on an item's count, relative to the weight that clipping leaves."""
        return expected_noise(self._calibrated(mechanism, self.question.privacy.epsilon))

    def predict(self, mechanism: Mechanism, epsilon: float) -> Prediction:
        """The accuracy of one mechanism at one ε: always over all repetitions, whoever asks for it."""
        key = mechanism.name, epsilon
        if key not in self._predictions:
            self._predictions[key] = self._predict(mechanism, epsilon)
        return self._predictions[key]

    def _predict(self, mechanism: Mechanism, epsilon: float) -> Prediction:
        calibrated = self._calibrated(mechanism, epsilon)
        simulated = self.simulated if calibrated.clip is None else self._simulated_with(calibrated.clip)
        counts = simulated.plain if simulated.clipped is None or calibrated.clip is None else simulated.clipped
        noise = Noise(self._unit_noise(calibrated.law), calibrated.law.size)
        return replace(self._prediction(Maker.of(calibrated), counts, noise), epsilon=epsilon)

    @cached_property
    def without_privacy(self) -> Prediction:
        """The same estimator on the exact counts: what no ε can improve on."""
        exact = Maker.exact(self.question.promise.pure, self.question.method)
        return self._prediction(exact, self.simulated.plain, Noise(np.zeros((1, exact.entries)), 0.0))

    # ---- the simulations -------------------------------------------------------------------------------------------

    @cached_property
    def simulated(self) -> Simulated:
        """Counts without a clip, and beside them with that of the first mechanism that has one."""
        epsilon = self.question.promise.privacy.epsilon
        clips = [self._calibrated(mechanism, epsilon).clip for mechanism in self.mechanisms]
        return self._simulated_with(next((clip for clip in clips if clip is not None), None))

    def _simulated_with(self, clip: Clip | None) -> Simulated:
        """The same surveys for every clip: the counts beside it are the same."""
        question, privacy = self.question, self.question.promise.privacy
        if clip not in self._simulated:
            self._simulated[clip] = simulate(
                question.survey, privacy, clip, question.runs, question.seed,
                keep_pairs=needs_pairs(question.method, privacy), advance=self.advance,
            )  # fmt: skip
        return self._simulated[clip]

    def _calibrated(self, mechanism: Mechanism, epsilon: float) -> Calibrated:
        return choose(self.question.counts_at(epsilon), self.question.method, mechanism).noise

    def _unit_noise(self, law: Law) -> Floats:
        """Noise of size 1, a row for each repetition, or fewer to be used in turn; the same for every ε."""
        unit = law.of_size(1.0)
        if unit not in self._noise:
            draws = min(self.question.runs, unit.most_draws or self.question.runs)
            self._noise[unit] = unit.sample(np.random.default_rng([self.question.seed, 2**31]), draws)
        return self._noise[unit]

    @cached_property
    def _truth(self) -> Truth:
        return Truth.of(self.simulated.theta, as_odds=self.question.method is Method.BRADLEY_TERRY)

    def _prediction(self, maker: Maker, counts: Counts, noise: Noise) -> Prediction:
        question, truth = self.question, self._truth
        scores = maker.scores(question.method, counts, noise)
        measured = Measured.joined([measure(some, truth.rows(block), question.top_k) for block, some in scores])
        return Prediction(
            mechanism=maker.mechanism,
            epsilon=maker.epsilon,
            delta=maker.promise.privacy.delta,
            people=question.survey.people,
            **averages(measured, noise.draws or question.runs, question.survey.items, question.top_k),
            noise_sd=maker.noise_sd,
            kept=self._remaining_share(counts),
        )

    def _remaining_share(self, counts: Counts) -> float:
        """The share of net wins that remains: the regression of the bounded counts on the answers as given."""
        whole = self.simulated.plain.net_wins / plain_weight(self.question.survey, self.question.privacy)
        return float(np.vdot(counts.net_wins, whole)) / max(float(np.vdot(whole, whole)), 1e-9)
