"""A `Case` in, a `Finding` out: each check of the audit, as it runs in a process of its own.

Four checks. `bounds`: on neighbouring files, and on one that grows while it is read, no statistic moves further than
derived, and nothing else moves. `loss`: where the density of the output is known, no output distinguishes neighbours by
more than ε. `black box`: many runs give a lower bound of ε that holds with a stated confidence. `noise`: the noise has
the distribution that it claims, it is fresh, and the ledger was debited first.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quietrank.arrays import Floats, Integers
from quietrank.auditing import (
    blackbox,
    boards,
    bounds,
    distribution,
    growing,
    list_law,
    losses,
    neighbours,
    norms,
    seal,
    streams,
    trace,
)
from quietrank.auditing.cases import Case
from quietrank.auditing.neighbours import Neighbouring
from quietrank.auditing.report import Finding, Histogram
from quietrank.auditing.streams import BoardCase
from quietrank.mechanisms.mechanism import Calibrated
from quietrank.noise import normal
from quietrank.noise.selection import TopNoise
from quietrank.votes.tallies import Tallies


@dataclass(frozen=True)
class Sizes:
    """How much work each check does."""

    pairs: int
    """neighbouring files per case"""
    releases: int
    """how many of these are taken to the end, as whole releases"""
    draws: int
    """of noise, for the fit"""
    runs: float
    """black-box runs per neighbour at ε ≥ 1, as 1/ε² below; four times as many for the first of each kind"""
    most_runs: int
    gaussian_runs: int
    """for the case that shows how close the bound comes; fewer for others"""
    slow_runs: int
    """of the perturbed MLE, which takes a millisecond per run"""
    tries: int
    """counts of a file that grows while it is read"""
    streams: int
    """of votes for a board, by chance; with none, only some of the others"""
    beside: int = 4
    """neighbouring files whose scatter and histogram are compared as well, around another expectation each"""
    all_pairs: bool = True
    """whether the rest is looked at once something is wrong"""


FULL = Sizes(9, 2, 4000, 30_000, 2_800_000, 1_000_000, 3_000, 24, 3)
QUICK = Sizes(3, 1, 1000, 5_000, 30_000, 20_000, 200, 3, 0)


def bounds_check(cases: Sequence[Case], sizes: Sizes, buying: Collection[Case]) -> Finding:
    """All statistics of one promise; `buying`: the cases of which what is bought beside the counts is looked at too."""
    began = time.perf_counter()
    reaches = []
    for case in cases:
        beside = sizes.beside if case in buying else 0
        moves = bounds.check(case, sizes.pairs, sizes.releases, beside, all_pairs=sizes.all_pairs)
        reaches.append((case, moves))
    first = cases[0]
    wrong = [f"{case.name}: {what}" for case, moves in reaches for what in moves.complaints]
    return Finding(
        check="bounds",
        subject=first.subject,
        epsilon=first.privacy.epsilon,
        measured=first.privacy.epsilon * max(moves.furthest for _, moves in reaches),
        passed=not wrong,
        runs=sum(moves.pairs for _, moves in reaches),
        seconds=time.perf_counter() - began,
        detail="; ".join(wrong) or f"{len(reaches)} statistics reach their bound and stay within; nothing else moves",
        unit="pairs of files",
    )


def growing_check(case: Case, sizes: Sizes) -> Finding:
    """A person's votes are appended to the file while it is counted."""
    began = time.perf_counter()
    growth = growing.check(case, sizes.tries)
    return Finding(
        check="bounds",
        subject=f"{case.name}, a file that grows",
        epsilon=case.privacy.epsilon,
        measured=case.privacy.epsilon * growth.furthest,
        passed=not growth.complaints,
        runs=growth.tries,
        seconds=time.perf_counter() - began,
        detail="; ".join(growth.complaints) or f"counted as one file or another, or refused ({growth.refused} times)",
        unit="counts",
    )


def loss_check(cases: Sequence[Case], sizes: Sizes) -> Finding:
    """The exact loss at sampled outputs of a few pairs of neighbours, of one promise and ε."""
    began = time.perf_counter()
    first, largest, runs = cases[0], 0.0, 0
    with tempfile.TemporaryDirectory(prefix="quietrank-audit-") as folder:
        for case in cases:
            for pair, outputs in _for_loss(case, sizes):
                loss, draws = _pair_loss(case, pair, outputs, Path(folder), sizes.draws // 10)
                largest, runs = max(largest, loss), runs + draws
    exact = f"exact ε at δ = {first.privacy.delta:g}" if first.privacy.delta else "largest loss"
    return Finding(
        check="loss",
        subject=first.subject,
        epsilon=first.privacy.epsilon,
        measured=largest,
        passed=largest <= first.privacy.epsilon * (1 + norms.ROUNDING),
        runs=runs,
        seconds=time.perf_counter() - began,
        detail=f"{exact} at any output, {len(cases)} statistics",
        unit="outputs",
    )


def _for_loss(case: Case, sizes: Sizes) -> Iterator[tuple[Neighbouring, Floats | None]]:
    """Pairs of neighbours, with outputs where these are constructed, not drawn."""
    usable = (pair for pair in neighbours.neighbouring(case, sizes.pairs) if not pair.skip_invalid)
    yield from ((pair, None) for pair in itertools.islice(usable, 3 if sizes is FULL else 1))
    if case.selection:
        yield neighbours.worst(case), None
    # The construction asks four pairs of four items, and noise inside the likelihood does not use declared ones.
    if case.perturbed and len(case.items) == 4 and case.items.pairs is None:
        yield seal.constructed(case)


def _pair_loss(case: Case, pair: Neighbouring, outputs: Floats | None, folder: Path, draws: int) -> tuple[float, int]:
    if case.perturbed:
        first, second = _tallies(case, pair, folder)
        at = [outputs] * len(first) if outputs is not None else seal.ideal_outputs(case, first, max(10, draws // 8))
        return seal.largest_loss(case, first, second, at), len(at[0])
    calibrated, one, other = _statistics(case, pair, folder)
    if isinstance(calibrated.noise, normal.RoundedGaussianNoise):
        # A loss above ε is allowed, with probability δ: what counts is the tail of its distribution.
        return losses.gaussian_epsilon(calibrated.noise.scale, other - one, calibrated.privacy.delta), 2 * draws
    if isinstance(calibrated.noise, TopNoise):
        return list_law.exact_epsilon(calibrated.noise, one, other, calibrated.privacy.delta), 2 * draws
    scores = [blackbox.scores(calibrated, one, other, draws, of_one=of_one) for of_one in (True, False)]
    return float(np.abs(scores).max()), 2 * draws


def noise_check(case: Case, sizes: Sizes, risk: float) -> Finding:
    """The noise fits and is fresh, and the ledger is debited first."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="quietrank-audit-") as folder:
        calibrated, sides = case.calibrated, _tallies(case, neighbours.worst(case), Path(folder))
        fits = (
            distribution.list_fits(calibrated, sides, sizes.draws)
            if case.selection
            else distribution.fits(calibrated, distribution.deviations(calibrated, sides, sizes.draws))
        )
        wrong = [f"{fit.part}: p = {fit.p_value:.1e}" for fit in fits if fit.p_value < risk / len(fits)]
        wrong += distribution.repeated(calibrated, sides)
        wrong += distribution.ledger_first(calibrated, sides[0])
    return _noise_finding(case, wrong, fits, sizes.draws, began)


def seal_check(case: Case, sizes: Sizes, risk: float) -> Finding:
    """The perturbed MLE: the noise inside, the solver, the seal, and the ledger debited first."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="quietrank-audit-") as folder:
        one, other = _tallies(case, next(neighbours.neighbouring(case, 1)), Path(folder))
        fits = seal.fits(case, one, sizes.draws // 4)
        wrong = [f"{fit.part}: p = {fit.p_value:.1e}" for fit in fits if fit.p_value < risk / len(fits)]
        wrong += seal.flaws(case, [one, other], sizes.draws // 40)
        wrong += [*seal.repeated(case, one), *seal.ledger_first(case, one)]
    return _noise_finding(case, wrong, fits, sizes.draws // 4, began)


def _noise_finding(
    case: Case | BoardCase, wrong: list[str], fits: list[distribution.Fit], draws: int, began: float
) -> Finding:
    parts = ", ".join(fit.part for fit in fits)
    return Finding(
        check="noise",
        subject=case.name,
        epsilon=case.privacy.epsilon,
        measured=None,
        passed=not wrong,
        runs=draws,
        seconds=time.perf_counter() - began,
        detail="; ".join(wrong) or f"as claimed ({parts}; smallest p {min(fit.p_value for fit in fits):.2g}), fresh",
        unit="draws",
    )


def board_loss_check(case: BoardCase, sizes: Sizes, risk: float, *, tight: bool = True) -> Finding:
    """The exact loss of whole streams of votes, and all else that a board may do wrong on the way.

    `tight`: the loss must also come as close to what is claimed as the case says, so that no noise is wasted.
    """
    began, claimed = time.perf_counter(), case.privacy.epsilon
    moves = boards.check(case, streams.schedules(case, sizes.streams), risk)
    wrong = list(moves.complaints)
    least = case.least * claimed if tight else 0.0
    if not least <= moves.epsilon <= claimed * (1 + norms.ROUNDING):
        wrong.append(f"whole streams lose {moves.epsilon / claimed:.4f} of what is claimed")
    lost = (
        f"exact ε of all days together at δ = {case.privacy.delta:g}, {moves.epsilon / claimed:.4f} of what is claimed"
    )
    return Finding(
        check="loss",
        subject=case.subject,
        epsilon=claimed,
        measured=moves.epsilon,
        passed=not wrong,
        runs=moves.pairs,
        seconds=time.perf_counter() - began,
        detail="; ".join(wrong) or f"{lost}; nothing else moves",
        unit="pairs of streams",
    )


def board_noise_check(case: BoardCase, sizes: Sizes, risk: float) -> Finding:
    """The noise of a board's days fits, and is fresh."""
    began = time.perf_counter()
    draws = sizes.draws // 2
    fits = boards.fits(case, draws)
    wrong = [f"{fit.part}: p = {fit.p_value:.1e}" for fit in fits if fit.p_value < risk / len(fits)]
    return _noise_finding(case, [*wrong, *boards.repeated(case)], fits, draws, began)


@dataclass(frozen=True, eq=False)
class Scores:
    """Likelihood ratios at outputs of one side."""

    case: Case
    of_one: bool
    values: Floats
    seconds: float


def draw_scores(case: Case, of_one: bool, runs: int) -> Scores:
    """Part of the runs of a black-box attack."""
    began = time.perf_counter()
    pair = neighbours.worst(case)
    with tempfile.TemporaryDirectory(prefix="quietrank-audit-") as folder:
        if case.perturbed:
            first, second = _tallies(case, pair, Path(folder))
            values = seal.all_losses(case, first, second, seal.released(case, first if of_one else second, runs))
        else:
            calibrated, one, other = _statistics(case, pair, Path(folder))
            values = blackbox.scores(calibrated, one, other, runs, of_one=of_one)
    return Scores(case, of_one, values, time.perf_counter() - began)


def black_box_finding(case: Case, parts: Sequence[Scores], risk: float) -> Finding:
    one, other = (np.concatenate([part.values for part in parts if part.of_one is side]) for side in (True, False))
    bound = blackbox.lower_bound(one, other, delta=case.privacy.delta, risk=risk)
    return Finding(
        check="black box",
        subject=case.name,
        epsilon=case.privacy.epsilon,
        measured=bound.epsilon,
        passed=bound.epsilon <= case.privacy.epsilon,
        runs=2 * bound.runs,
        seconds=sum(part.seconds for part in parts),
        detail=f"ε is at least this, {bound.epsilon / case.privacy.epsilon:.2f} of what is claimed"
        + (f", at δ = {case.privacy.delta:g}" if case.privacy.delta else ""),
        unit="runs",
        histogram=Histogram.of(one, other, case.privacy.epsilon),
    )


def _statistics(case: Case, pair: Neighbouring, folder: Path) -> tuple[Calibrated, Integers, Integers]:
    """The noise and the exact statistics of both sides, one row per group."""
    calibrated = case.calibrated
    one, other = (trace.statistics(side, calibrated) for side in _tallies(case, pair, folder))
    return calibrated, one, other


def _tallies(case: Case, pair: Neighbouring, folder: Path) -> tuple[Tallies, Tallies]:
    one, other = (trace.count(case, trace.read_rows(case, rows, folder)) for rows in (pair.one, pair.other))
    return one, other
