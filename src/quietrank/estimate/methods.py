"""A `NoisyTally` and a method in, an `Estimate` out: what each item is ranked by, and the figures next to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from quietrank.arrays import Floats
from quietrank.errors import QuietrankError, SolverError, option
from quietrank.estimate.noisy import NoisyTally
from quietrank.estimate.sets import expected_rates, notes_of_sets, scores_of_sets
from quietrank.maths.davidson import Davidson
from quietrank.maths.links import LOGISTIC, Link
from quietrank.maths.scores import PublicDesign, RankOneDesign, Scores, UniformDesign, fit_scores, fit_with_ties
from quietrank.mechanisms.perturbed_mle.mechanism import ScoresLaw
from quietrank.mechanisms.scatter import Around
from quietrank.promise.items import Items
from quietrank.promise.privacy import Design, Privacy, Unit, plain_number
from quietrank.statistics.method import Method, Ties, refuse_unknown_sets


@dataclass(frozen=True, eq=False)
class Estimate:
    """Scores to rank by, in the order of the items; win rates and net wins where they are known."""

    method: Method
    scores: Floats
    win_rate: Floats | None
    net_wins: Floats | None
    assumptions: tuple[str, ...]
    gamma: float | None = None
    """the ridge of Bradley–Terry scores"""
    nu: float | None = None
    """the tie parameter of Davidson's model; None: ties are half wins"""

    @property
    def model(self) -> Link:
        """How scores become win rates."""
        return LOGISTIC if self.nu is None else Davidson(self.nu)


def estimate(
    noisy: NoisyTally, method: Method, gamma: float | Literal["auto"] = "auto", ties: Ties = Ties.HALF
) -> Estimate:
    """Score every item by the method; `gamma` is the ridge of Bradley–Terry scores, `ties` what a tie is to them."""
    method = resolve(noisy, method, ties)
    if noisy.scores is not None:
        return _released_scores(noisy, noisy.scores, method)
    win_rate, net_wins = win_rates(noisy), noisy.net_wins
    ridge = nu = None
    if method is Method.BRADLEY_TERRY:
        fitted = _maxdiff(noisy, gamma) if noisy.items.in_sets else bradley_terry(noisy, gamma, ties)
        scores, ridge, nu = fitted.theta, fitted.gamma, fitted.nu if ties is Ties.DAVIDSON else None
    else:
        counts = {Method.WINS: noisy.wins, Method.NET_WINS: net_wins, Method.WIN_RATE: win_rate}[method]
        scores = _require_released(counts, noisy, method)
    rates = None if win_rate is None else np.clip(win_rate, 0, 1)
    known = noisy.public_pairs is not None
    notes = assumptions(noisy.items, noisy.privacy, method, noisy.rows_skipped, actual_pairs=known)
    if ties is Ties.DAVIDSON:
        notes = (*notes, *_about_ties(noisy))
    return Estimate(method, scores, rates, net_wins, (*notes, *noisy.notes), ridge, nu)


def _released_scores(noisy: NoisyTally, scores: Floats, method: Method) -> Estimate:
    """Scores that are private already."""
    if method is not Method.BRADLEY_TERRY:
        _require_released(None, noisy, method)
    gamma = noisy.law.plan.gamma if isinstance(noisy.law, ScoresLaw) else None
    notes = assumptions(noisy.items, noisy.privacy, method, noisy.rows_skipped, actual_pairs=True)
    return Estimate(method, scores, None, None, (*notes, *noisy.notes), gamma)


def _about_ties(noisy: NoisyTally) -> tuple[str, ...]:
    """What Davidson's model assumes, and what it cost to count ties apart."""
    price = dict(noisy.figures).get("ties_price")
    paid = "at no cost: the noise on all other counts is what it would be without."
    if isinstance(price, float) and price >= 5e-5:
        paid = f"which made the noise on all other counts {100 * price:.2g} % larger."
    return (
        "It is assumed, not checked, that a tie is likelier the more alike two items are, and for all pairs of equal "
        "items equally likely (Davidson's model); scores are log-odds of winning where there is no tie.",
        f"The weight of all ties was counted apart, {paid}",
    )


def bradley_terry(noisy: NoisyTally, gamma: float | Literal["auto"], ties: Ties = Ties.HALF) -> Scores:
    """Bradley–Terry scores from the noisy net wins and what is known of the design."""
    net_wins, noise = _require_released(noisy.net_wins, noisy, Method.BRADLEY_TERRY), noisy.law.spread
    fit = partial(fit_scores, net_wins) if ties is Ties.HALF else partial(fit_with_ties, net_wins, _ties(noisy))
    try:
        return fit(design_of(noisy), gamma=gamma, noise_sd=noise.net_wins, noise_kurtosis=noise.kurtosis)
    except ArithmeticError:
        raise SolverError(
            f"{option('gamma', gamma)} is too small for noise like this; use a larger one, or {option('gamma', 'auto')}"
        ) from None


def _ties(noisy: NoisyTally) -> float:
    if noisy.ties is not None:
        return noisy.ties
    raise QuietrankError(
        f"{option('ties', Ties.DAVIDSON)} needs the weight of all ties, and this tally holds {noisy.statistic} only; "
        f"rank with {option('ties', Ties.DAVIDSON)} in the first place, or use {option('ties', Ties.HALF)} here"
    )


def _maxdiff(noisy: NoisyTally, gamma: float | Literal["auto"]) -> Scores:
    """Scores of the likelihood of best–worst sets, where something is known of the sets."""
    _require_released(noisy.net_wins, noisy, Method.BRADLEY_TERRY)
    by_pairs = noisy.privacy.design is Design.PUBLIC and noisy.public_sets is None
    if noisy.privacy.design is Design.PRIVATE or by_pairs:
        refuse_unknown_sets(noisy.privacy)
    _require_released(noisy.exposure, noisy, Method.BRADLEY_TERRY)
    return scores_of_sets(noisy, gamma)


def design_of(noisy: NoisyTally) -> UniformDesign | RankOneDesign | PublicDesign:
    """Actual pairs where they are public, the noisy total under a uniform design, else the noisy exposures."""
    if noisy.public_pairs is not None:
        return PublicDesign(noisy.public_pairs.i, noisy.public_pairs.j, noisy.public_pairs.counts)
    if noisy.privacy.design is Design.UNIFORM and noisy.total is not None:
        return UniformDesign(noisy.total)
    if noisy.met is not None:
        return PublicDesign(noisy.met.i, noisy.met.j, noisy.met.counts)
    return RankOneDesign(_require_released(noisy.exposure, noisy, Method.BRADLEY_TERRY))


def _require_released(values: Floats | None, noisy: NoisyTally, method: Method) -> Floats:
    """The same values, if they were released."""
    if values is not None:
        return values
    both = "net wins and how often items were compared"
    needed = {Method.WINS: "wins", Method.NET_WINS: "net wins"}.get(method, both)
    raise QuietrankError(
        f"{option('method', method)} needs {needed}, and this tally holds {noisy.statistic} only; rank with "
        f"{option('method', method)} in the first place, or use {option('method', resolve(noisy, Method.AUTO))} here"
    )


def resolve(noisy: NoisyTally, method: Method, ties: Ties = Ties.HALF) -> Method:
    """`auto`: net wins where every item was compared equally often, or nothing else is known; else the win rate; scores
    where ties have a model of their own."""
    if method is not Method.AUTO:
        return method
    if noisy.scores is not None or ties is Ties.DAVIDSON:
        return Method.BRADLEY_TERRY
    if noisy.net_wins is None:
        return Method.WINS
    clipped = noisy.privacy.clip is not None
    if noisy.exposure is None or (noisy.privacy.design is Design.UNIFORM and not clipped):
        return Method.NET_WINS
    exposure = noisy.public_exposure
    equal = exposure is not None and bool(np.all(exposure == exposure[0]))
    return Method.NET_WINS if equal else Method.WIN_RATE


def resolve_for_all(tallies: Sequence[NoisyTally], method: Method) -> Method:
    """One method for all groups: `auto` may differ between them where exposures are public; then the win rate is right
    for all."""
    methods = {resolve(one, method) for one in tallies}
    return methods.pop() if len(methods) == 1 else Method.WIN_RATE


@dataclass(frozen=True, eq=False)
class Expected:
    """What a release expects of a unit, one public number per item; it may be anything, and so may be wrong.

    VOTES: net wins per vote. EXPOSURES: win rates. PAIRS: scores. ZERO: not used.
    """

    around: Around
    values: Floats
    nu: float = 0.0
    """PAIRS: the tie parameter of Davidson's model; 0: ties are half wins"""


def expected_of(noisy: NoisyTally, method: Method, ties: Ties = Ties.HALF) -> Expected:
    """What this method expects of a person, to measure the scatter around: public, because the tally is."""
    resolved, n = resolve(noisy, method, ties), len(noisy.items)
    if noisy.scores is not None:
        return Expected(Around.PAIRS, noisy.scores)
    around = around_of(noisy, resolved)
    if noisy.items.in_sets and around is Around.EXPOSURES and resolved is Method.BRADLEY_TERRY:
        return Expected(around, np.clip(expected_rates(noisy, estimate(noisy, resolved).scores), 0, 1))
    if around is Around.PAIRS:
        known = estimate(noisy, resolved, ties=ties)
        return Expected(around, known.scores, known.nu or 0.0)
    if around is Around.VOTES and noisy.net_wins is not None:
        return Expected(around, np.clip(noisy.net_wins / max(noisy.total or 1.0, 1.0), -0.5, 0.5))
    rates = win_rates(noisy)
    if around is Around.EXPOSURES and rates is not None:
        return Expected(around, np.clip(rates, 0, 1))
    return Expected(Around.ZERO, np.zeros(n))


def around_of(noisy: NoisyTally, method: Method) -> Around:
    """What a method takes as known about who met whom: nothing, the number of votes, how often each item met others,
    or every pair. For best–worst sets nothing is known of pairs, but of how often items were shown."""
    design = noisy.privacy.design
    if method is Method.NET_WINS:
        return Around.ZERO
    if design is Design.PUBLIC and method is Method.BRADLEY_TERRY and not noisy.items.in_sets:
        return Around.PAIRS
    return Around.VOTES if design is Design.UNIFORM else Around.EXPOSURES


def win_rates(noisy: NoisyTally) -> Floats | None:
    """τ̂_i = 1/2 + s̃_i/d_i, or None where the exposure d was not released.

    An exposure below its own noise says nothing, so it is raised to the noise's standard deviation, or to one
    vote: otherwise an item that was hardly compared could come first by a division by almost nothing.
    """
    if noisy.net_wins is None or noisy.exposure is None:
        return None
    return np.asarray(0.5 + noisy.net_wins / np.maximum(noisy.exposure, max(noisy.law.spread.exposure, 1.0)))


def assumptions(
    items: Items, privacy: Privacy, method: Method, rows_skipped: bool, *, actual_pairs: bool
) -> tuple[str, ...]:
    """What a reader has to believe beyond the arithmetic; with `actual_pairs` the method knew who met whom."""
    notes = []
    if items.from_votes:
        notes.append("The list of items was taken from the votes: which items are on it is treated as public.")
    if items.in_sets:
        notes += notes_of_sets(items, privacy.design, method)
        return (*notes, *(SKIPPED,) * rows_skipped, *_of_the_clip(privacy))
    if privacy.design is Design.PUBLIC:
        notes.append("Which pairs were compared, and how often, is treated as public.")
    if privacy.design is Design.UNIFORM and not actual_pairs:
        notes.append(
            "It is assumed, not checked, that every pair of items was equally likely to be compared and answered."
        )
    if privacy.design is Design.PRIVATE and method in (Method.WINS, Method.NET_WINS):
        notes.append("Items are ranked by counts, which favours items that were compared more often.")
    if privacy.design is not Design.UNIFORM and method is Method.WIN_RATE:
        notes.append(
            "It is assumed, not checked, that opponents met at random: otherwise an item that met strong ones ranks "
            "too low."
        )
    if privacy.design is Design.PRIVATE and method is Method.BRADLEY_TERRY and not actual_pairs:
        notes.append(
            "It is assumed, not checked, that opponents met at random given how often each item appeared: where strong "
            "items mostly met strong ones, scores are biased; the perturbed-mle mechanism uses the actual pairs."
        )
    if items.pairs is not None and (parts := len(set(items.graph.component))) > 1:
        notes.append(f"The askable pairs fall into {parts} separate parts: compare items within a part only.")
    if rows_skipped:
        notes.append(SKIPPED)
    return (*notes, *_of_the_clip(privacy))


def _of_the_clip(privacy: Privacy) -> tuple[str, ...]:
    """What a clip does to people; and that L does not bound them where a clip does."""
    if privacy.clip is None:
        return ()
    return (DECIDED,) if privacy.max_per_person is None else (
        DECIDED,
        f"The limit of {privacy.max_per_person} votes a person is not itself enforced with this noise: instead, what "
        f"one person adds to all counts together is scaled down to a length of at most {plain_number(privacy.clip)}, "
        "which follows from that limit and other public values, or was given.",
    )  # fmt: skip


DECIDED = (
    "Decided people are scaled down more than others, because their answers add up to more: rates and scores lean "
    "towards the middle for that, and towards what undecided people prefer, and no interval covers it."
)


def risky_delta(privacy: Privacy, units: float | None) -> tuple[str, ...]:
    """A warning where δ is too large for this many people, or votes, whose number is public."""
    delta, whom = privacy.delta, "people" if privacy.unit is Unit.PERSON else "votes"
    if units is None or delta * units <= MOST_FAILURES:
        return ()
    return (
        f"δ = {plain_number(delta)} is large for {units:,.0f} {whom}: δ times their number is {delta * units:.2g}, and "
        f"should be far below 1. With such a δ, {max(1, math.floor(delta * units))} of them could be published "
        "outright, and the promise be kept.",
    )


MOST_FAILURES = 0.1
"""δ times the number of units, from where on a release warns"""


SKIPPED = "Rows that could not be used were to be skipped; whether there were any is not published."
