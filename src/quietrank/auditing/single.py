"""One promise in, an `Audit` of it out: every check of the audit on this promise alone.

The audit of the library demands that its bounds are reached, so that no noise is wasted. Here a promise is given, with
whatever bounds its users chose, and few items may not suffice to reach them: what is judged is whether it is kept.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import partial

from quietrank.auditing import bounds
from quietrank.auditing.cases import Case
from quietrank.auditing.checks import (
    FULL,
    Scores,
    Sizes,
    black_box_finding,
    board_loss_check,
    board_noise_check,
    growing_check,
    loss_check,
    noise_check,
    seal_check,
)
from quietrank.auditing.report import Audit, Finding
from quietrank.auditing.run import RISK, Job, Progress, black_box_jobs, outcomes_of, place_of
from quietrank.auditing.streams import BoardCase
from quietrank.promise.privacy import Unit


@dataclass(frozen=True)
class Attack:
    """One promise in the sizes in which it is attacked."""

    case: Case
    """for bounds and losses"""
    drawn: Case
    """with as few items as the fit of the noise needs"""
    smallest: Case
    """for the black box, where the worst case should come up often"""


def attack(
    promise: Attack | BoardCase,
    sizes: Sizes,
    *,
    workers: int | None = None,
    risk: float = RISK,
    progress: Progress | None = None,
) -> Audit:
    """Try to break one promise; `risk` is the probability that one which is kept fails somewhere."""
    began = time.perf_counter()
    each = risk / 2
    jobs = (
        _jobs_of_a_case(promise, sizes, each) if isinstance(promise, Attack) else _jobs_of_a_board(promise, sizes, each)
    )
    outcomes = list(outcomes_of(jobs, workers or os.cpu_count() or 1, progress))
    findings = [result for result in outcomes if isinstance(result, Finding)]
    if isinstance(promise, Attack):
        scores = [result for result in outcomes if isinstance(result, Scores)]
        findings += [black_box_finding(promise.smallest, scores, each)]
    return Audit(tuple(sorted(findings, key=place_of)), risk, sizes is not FULL, time.perf_counter() - began)


def _jobs_of_a_case(promise: Attack, sizes: Sizes, risk: float) -> list[Job]:
    """The longest first."""
    case, drawn, smallest = promise.case, promise.drawn, promise.smallest
    jobs = black_box_jobs(smallest, sizes)
    jobs.append(partial(_bounds_check, case, sizes))
    jobs.append(partial(seal_check if drawn.perturbed else noise_check, drawn, sizes, risk))
    if case.has_exact_loss:
        jobs.append(partial(loss_check, [case], sizes))
    if sizes is FULL and case.privacy.unit is Unit.PERSON and not case.perturbed and not case.selection:
        jobs.append(partial(growing_check, case, sizes))
    return jobs


def _jobs_of_a_board(case: BoardCase, sizes: Sizes, risk: float) -> list[Job]:
    jobs: list[Job] = [partial(board_loss_check, case, sizes, risk, tight=False)]
    if case.shows_draws:
        jobs.append(partial(board_noise_check, case, sizes, risk))
    return jobs


def _bounds_check(case: Case, sizes: Sizes) -> Finding:
    """On neighbouring files the statistic moves no further than derived, and nothing else moves."""
    began = time.perf_counter()
    moves = bounds.check(case, sizes.pairs, sizes.releases, sizes.beside, all_pairs=sizes.all_pairs)
    wrong = replace(moves, tight=False).complaints
    beside = {"scatter": moves.scatter, "histogram of votes per person": moves.histogram}
    seen = "".join(f"; a {what}, if one is bought, {part:.3f} of its own" for what, part in beside.items() if part)
    return Finding(
        check="bounds",
        subject=case.name,
        epsilon=case.privacy.epsilon,
        measured=case.privacy.epsilon * moves.furthest,
        passed=not wrong,
        runs=moves.pairs,
        seconds=time.perf_counter() - began,
        detail="; ".join(wrong) or f"moves at most {moves.furthest:.3f} of the bound{seen}; nothing else moves",
        unit="pairs of files",
    )
