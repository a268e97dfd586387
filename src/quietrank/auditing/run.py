"""Options in, an `Audit` out: every check on every case, in as many processes as there are cores."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from quietrank.auditing import streams
from quietrank.auditing.case_lists import all_cases, black_box_cases, growing_cases, noise_cases
from quietrank.auditing.cases import Case
from quietrank.auditing.checks import (
    FULL,
    QUICK,
    Scores,
    Sizes,
    black_box_finding,
    board_loss_check,
    board_noise_check,
    bounds_check,
    draw_scores,
    growing_check,
    loss_check,
    noise_check,
    seal_check,
)
from quietrank.auditing.report import Audit, Finding
from quietrank.auditing.streams import BoardCase
from quietrank.errors import PrivacyError, option
from quietrank.mechanisms.gaussian import GAUSSIAN
from quietrank.mechanisms.mechanism import Mechanism
from quietrank.mechanisms.registry import MechanismWord, named
from quietrank.processes import results
from quietrank.promise.arguments import flag, number, parse, whole_number
from quietrank.promise.privacy import Neighbours, NeighboursWord, Unit, UnitWord
from quietrank.statistics.method import Method

AnyCase = TypeVar("AnyCase", Case, BoardCase)
Progress = Callable[[int, int], None]
Job = Callable[[], Any]

EPSILONS = (0.1, 1.0, 4.0)
RISK = 1e-3
"""the probability with which a correct library fails somewhere: 99.9 % confidence, shared by all random tests"""
PART = 100_000
"""black-box runs are drawn in parts of this many, so that all cores have work"""


def audit(
    *,
    mechanism: MechanismWord | None = None,
    unit: UnitWord | None = None,
    neighbours: NeighboursWord | None = None,
    epsilon: float | None = None,
    quick: bool = False,
    workers: int | None = None,
    risk: float = RISK,
    progress: Progress | None = None,
) -> Audit:
    """Try to break the promise of every mechanism, or of the chosen ones, on synthetic votes with real noise.

    mechanism   only this one: "laplace", "zonotope", "gaussian", "perturbed-mle", or a registered `Mechanism`; None or
                "auto": all
    unit        only promises to a "comparison" or a "person"; None: both
    neighbours  only "replace", "add-remove" or "outcome"; None: all
    epsilon     the promise to attack, from 0.001 to 20; None: 0.1, 1 and 4, or only 1 with quick
    quick       True: fewer cases and runs, in some minutes
    workers     how many processes; None: one per core. With one, everything runs in this process.
    risk        the probability that a correct library fails the audit somewhere
    progress    called with the number of jobs that are done, and of all jobs

    >>> import quietrank as qr
    >>> one_kind = {"mechanism": "laplace", "unit": "comparison", "neighbours": "outcome"}
    >>> audit = qr.audit(**one_kind, quick=True, workers=1, risk=1e-6)
    >>> audit.passed
    True
    """
    chosen = _Chosen(
        None if mechanism is None else named(mechanism),
        None if unit is None else parse(Unit, "unit", unit),
        None if neighbours is None else parse(Neighbours, "neighbours", neighbours),
    )
    only = None if epsilon is None else _checked_epsilon(epsilon)
    quick, workers = flag("quick", quick), None if workers is None else _checked_workers(workers)
    risk = _checked_risk(risk)
    sizes = QUICK if quick else FULL
    epsilons = (1.0,) if quick else EPSILONS
    epsilons = epsilons if only is None else (only,)
    middle = 1.0 if 1.0 in epsilons else epsilons[0]
    black_boxes = chosen.among(black_box_cases(epsilons, quick=quick))
    jobs, risk_each = _jobs(chosen, black_boxes, sizes, middle, quick=quick, risk=risk)
    if not jobs:
        raise PrivacyError(
            f"no mechanism makes such a promise; leave out one of {option('mechanism')}, {option('unit')} and "
            f"{option('neighbours')}"
        )
    began = time.perf_counter()
    outcomes = list(outcomes_of(jobs, workers or os.cpu_count() or 1, progress))
    findings = [result for result in outcomes if isinstance(result, Finding)]
    for case in black_boxes:
        parts = [result for result in outcomes if isinstance(result, Scores) and result.case == case]
        findings.append(black_box_finding(case, parts, risk_each))
    return Audit(tuple(sorted(findings, key=place_of)), risk, quick, time.perf_counter() - began)


def _checked_epsilon(argument: object) -> float:
    value = number(argument)
    if value is None or not 0.001 <= value <= 20:
        raise PrivacyError(
            f"{option('epsilon')} must lie between 0.001 and 20 for an audit to be meaningful; got "
            f"{option('epsilon', repr(argument))}"
        )
    return value


def _checked_risk(argument: object) -> float:
    value = number(argument)
    if value is None or not 0 < value < 1:
        raise PrivacyError(f"risk must be a probability between 0 and 1; got risk={argument!r}")
    return value


def _checked_workers(argument: object) -> int:
    value = whole_number(argument)
    if value is None or value < 1:
        raise PrivacyError(
            f"{option('workers')} must be a whole number, 1 or more; got {option('workers', repr(argument))}"
        )
    return value


@dataclass(frozen=True)
class _Chosen:
    mechanism: Mechanism | None
    unit: Unit | None
    neighbours: Neighbours | None

    def among(self, cases: Iterable[AnyCase]) -> list[AnyCase]:
        """The chosen cases, each once."""
        matches = [
            case
            for case in cases
            if (self.mechanism is None or case.mechanism.name == self.mechanism.name)
            and self.unit in (None, case.privacy.unit)
            and self.neighbours in (None, case.privacy.neighbours)
        ]
        return list(dict.fromkeys(matches))


def _jobs(
    chosen: _Chosen, black_boxes: list[Case], sizes: Sizes, epsilon: float, *, quick: bool, risk: float
) -> tuple[list[Job], float]:
    """The work, the longest first, and the risk of each random test."""
    cases = chosen.among(all_cases(epsilon, quick=quick))
    growing = chosen.among(growing_cases(epsilon, quick=quick))
    drawn = chosen.among(noise_cases(epsilon, quick=quick))
    perturbed = [case for case in cases if case.perturbed]
    # one case without groups and one with
    perturbed = _first_of_each(perturbed, lambda case: case.releases_per_unit) if quick else perturbed
    exact = [case for case in cases if case.has_exact_loss]
    boards = chosen.among(streams.board_cases(epsilon, quick=quick))
    each = risk / max(1, len(black_boxes) + len(drawn) + len(perturbed) + 2 * len(boards))
    jobs: list[Job] = []
    for case in sorted(black_boxes, key=lambda case: -runs_of(case, sizes)):
        jobs += black_box_jobs(case, sizes)
    jobs += [partial(board_loss_check, case, sizes, each) for case in boards]
    jobs += [partial(growing_check, case, sizes) for case in growing]
    buying = _first_of_each(cases, _way_to_bound) if quick else cases
    jobs += [partial(bounds_check, alike, sizes, buying) for alike in _by_promise(cases)]
    jobs += [partial(seal_check, case, sizes, each) for case in perturbed]
    jobs += [partial(noise_check, case, sizes, each) for case in drawn]
    jobs += [partial(board_noise_check, case, sizes, each) for case in boards if case.shows_draws]
    jobs += [partial(loss_check, alike[:1] if quick else alike, sizes) for alike in _by_promise(exact)]
    if not quick:
        others = (case for case in black_boxes if case.privacy.epsilon != epsilon and case.has_exact_loss)
        jobs += [partial(loss_check, [case], sizes) for case in others]
    return jobs, each


def black_box_jobs(case: Case, sizes: Sizes) -> list[Job]:
    """The runs of one black-box attack on both neighbours, in parts."""
    runs = runs_of(case, sizes)
    parts = [min(PART, runs - start) for start in range(0, runs, PART)]
    return [partial(draw_scores, case, of_one, part) for of_one, part in itertools.product((True, False), parts)]


def _by_promise(cases: list[Case]) -> list[list[Case]]:
    """The cases of each promise."""
    promises: dict[str, list[Case]] = {}
    for case in cases:
        promises.setdefault(case.subject, []).append(case)
    return list(promises.values())


def _first_of_each(cases: list[Case], kind: Callable[[Case], object]) -> list[Case]:
    """The first case of each kind."""
    return list({kind(case): case for case in reversed(cases)}.values())


def _way_to_bound(case: Case) -> tuple[object, ...]:
    """What is bought beside the counts depends on this, and not on the noise of the counts."""
    clipped = case.calibrated.clip is not None
    return case.bounding, clipped, case.privacy.neighbours, case.spread, case.promise.leaves_out


def runs_of(case: Case, sizes: Sizes) -> int:
    """Black-box runs per neighbour: enough for 0.9 ε, or as many as the time allows."""
    if case.perturbed:
        return sizes.slow_runs
    if case.mechanism == GAUSSIAN:
        first = case.privacy.unit is Unit.COMPARISON and case.privacy.neighbours is Neighbours.REPLACE
        return sizes.gaussian_runs if first else min(sizes.gaussian_runs, 60_000)
    first = case.method is Method.NET_WINS and case.privacy.neighbours is Neighbours.REPLACE
    runs = sizes.runs * max(1.0, 1 / case.privacy.epsilon**2)
    return min(sizes.most_runs, round(4 * runs if first else runs))


def place_of(finding: Finding) -> tuple[int, str, float]:
    return ("bounds", "loss", "noise", "black box").index(finding.check), finding.subject, finding.epsilon


def outcomes_of(jobs: list[Job], workers: int, progress: Progress | None) -> Iterator[Any]:
    """The results as they come; several workers are copies of this process, made before anything else is done.

    A process that has already used the database engine has its threads, and a copy of it may crash: then this
    process does everything.
    """
    report = progress or (lambda done, total: None)
    if workers == 1 or not hasattr(os, "fork") or "duckdb" in sys.modules:
        for number, job in enumerate(jobs, 1):
            yield job()
            report(number, len(jobs))
        return
    for done, (_, result) in enumerate(results(jobs, workers, "fork"), 1):
        yield result
        report(done, len(jobs))
